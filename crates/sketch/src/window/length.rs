//! The parameters of a window.

use super::Timed;

/// The length of a window and that of its panes.
///
/// A *unit* is the length of the newest pane. Panes of level j have 2^j units. In a uniform window, all panes have level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    ms: u64,
    panes: u64,
    finest: u64,
    /// The length of the window in units, rounded up.
    units: u64,
    /// The highest level of a pane.
    levels: u32,
}

/// Why there is no such window, with the text that a command replies after the error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// The length is not in [1, [`Window::MAX_MS`]].
    #[error("WINDOW must be between 1 and 315360000000 milliseconds")]
    InvalidLength,
    /// The number of panes is not in [1, [`Window::MAX_PANES`]], exceeds the milliseconds of the window, or exceeds
    /// [`Timed::MAX_PANES`] of the sketch.
    #[error("the number of panes is out of range")]
    InvalidPanes,
    /// The length of the newest pane is not in [1, length of the window / number of panes, rounded up], or the panes of
    /// the sketch cannot have different lengths ([`Timed::HAS_LEVELS`]).
    #[error("FINEST must be between 1 millisecond and the length of WINDOW / PANES")]
    InvalidFinest,
    /// There would be more than [`Window::MAX_LIVE_PANES`] live panes of different lengths.
    #[error("WINDOW, PANES and FINEST make more than 255 panes")]
    TooManyPanes,
}

impl Window {
    /// The longest window in milliseconds: ten years.
    pub const MAX_MS: u64 = 315_360_000_000;
    /// The largest number of panes of any sketch; see [`Timed::MAX_PANES`].
    pub const MAX_PANES: u64 = 1000;
    /// The default number of panes.
    pub const DEFAULT_PANES: u64 = 12;
    /// The largest number of live panes of a window that is not uniform.
    pub const MAX_LIVE_PANES: usize = 255;
    /// The largest highest level: that of the longest window with the shortest units.
    pub const MAX_LEVELS: u32 = 37;

    /// A window of `ms` milliseconds, 1 to [`Window::MAX_MS`], with 1 to [`Window::MAX_PANES`] panes, at most one per
    /// millisecond.
    ///
    /// `finest` is the length of the newest pane, at most that of a pane of the uniform window, which is the default:
    /// `ms / panes`, rounded up. The uniform window has fewer panes if panes of this length fill it: 1,001 ms in 1,000
    /// panes are 501 panes of 2 ms. Otherwise the older panes are longer, so that a read of a part of the window is as
    /// exact as a read of a window of that length with `panes` panes.
    ///
    /// # Errors
    /// [`WindowError`]; its variants are checked in order.
    pub fn new(ms: u64, panes: u64, finest: Option<u64>) -> Result<Self, WindowError> {
        refuse_if!(!(1..=Self::MAX_MS).contains(&ms) => WindowError::InvalidLength);
        refuse_if!(!(1..=Self::MAX_PANES.min(ms)).contains(&panes) => WindowError::InvalidPanes);
        let longest = ms.div_ceil(panes);
        let finest = finest.unwrap_or(longest);
        refuse_if!(!(1..=longest).contains(&finest) => WindowError::InvalidFinest);
        let units = ms.div_ceil(finest);
        let is_uniform = finest == longest;
        let window = Self {
            ms,
            panes: if is_uniform { units } else { panes },
            finest,
            units,
            // The largest number with (panes + 1) · 2^levels ≤ units. Then two panes are merged before the older one could
            // expire.
            levels: (units / (panes + 1)).checked_ilog2().unwrap_or(0),
        };
        if !is_uniform && window.live_panes() > Self::MAX_LIVE_PANES {
            return Err(WindowError::TooManyPanes);
        }
        Ok(window)
    }

    /// As [`Window::new`], for a sketch of type `T`.
    ///
    /// # Errors
    /// As [`Window::new`], with the largest number of panes and the lengths of panes of `T`.
    pub fn of<T: Timed>(ms: u64, panes: u64, finest: Option<u64>) -> Result<Self, WindowError> {
        let window = Self::new(ms, panes, finest);
        if window != Err(WindowError::InvalidLength) && panes > T::MAX_PANES {
            return Err(WindowError::InvalidPanes);
        }
        match window {
            Ok(window) if !window.is_uniform() && !T::HAS_LEVELS => Err(WindowError::InvalidFinest),
            window => window,
        }
    }

    /// The length of the window in milliseconds.
    #[must_use]
    pub fn ms(self) -> u64 {
        self.ms
    }

    /// The number of full panes in a uniform window. In another one, the number of panes that a uniform window of the same
    /// precision would have.
    #[must_use]
    pub fn panes(self) -> u64 {
        self.panes
    }

    /// The largest number of live panes, the newest one included.
    #[must_use]
    pub fn live_panes(self) -> usize {
        let of_highest = self.units.div_ceil(1 << self.levels);
        ((self.panes + 1) * u64::from(self.levels) + of_highest + 1) as usize
    }

    /// The largest number of live panes of level 0, the newest one included, in a window whose panes grow with age. With n
    /// [`Window::panes`], they begin at unit 2 · (⌊(newest - 1) / 2⌋ - n): there are 2n + 2 if the newest unit is odd, otherwise
    /// 2n + 3.
    #[must_use]
    pub fn finest_panes(self) -> u64 {
        2 * self.panes + 3
    }

    /// The length of the newest pane in milliseconds: a unit.
    #[must_use]
    pub fn pane_ms(self) -> u64 {
        self.finest
    }

    /// Whether all panes have the default length.
    #[must_use]
    pub fn is_uniform(self) -> bool {
        self.finest == self.ms.div_ceil(self.panes)
    }

    /// The length of the window in units, rounded up.
    #[must_use]
    pub fn units(self) -> u64 {
        self.units
    }

    /// The highest level of a pane.
    #[must_use]
    pub fn levels(self) -> u32 {
        self.levels
    }

    /// The number of the newest pane at this time, in milliseconds since the Unix epoch: its unit.
    #[must_use]
    pub fn pane_at(self, unix_ms: u64) -> u64 {
        unix_ms / self.finest
    }

    /// The start of a unit in milliseconds since the Unix epoch. `unit` is at most [`Window::max_pane`].
    #[must_use]
    pub fn start_of(self, unit: u64) -> u64 {
        unit * self.finest
    }

    /// The largest number of a newest pane: its start in milliseconds fits in 63 bits.
    #[must_use]
    pub fn max_pane(self) -> u64 {
        i64::MAX.cast_unsigned() / self.finest
    }

    /// The first unit of the oldest live pane when `current` is the number of the newest one.
    #[must_use]
    pub fn oldest(self, current: u64) -> u64 {
        self.oldest_signed(current).max(0).cast_unsigned()
    }

    /// [`Window::oldest`], negative if the window begins before unit 0.
    #[inline]
    pub(super) fn oldest_signed(self, current: u64) -> i64 {
        let current = i64::try_from(current).unwrap_or(i64::MAX);
        (current - self.units.cast_signed()) >> self.levels << self.levels
    }
}
