//! A window and its newest pane.

use super::levels::Levels;
use super::{Timed, UnitRange, Window, WindowError};
use crate::format::{FormatError, Sink, Source};
use crate::memory::{OutOfMemory, with_capacity};
use std::ops::RangeInclusive;

/// The panes that count for a read: those that begin at a unit or later, and before another unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panes {
    /// Negative if the window begins before unit 0.
    oldest: i64,
    /// The unit after the last one, at most 2^63. [`WHOLE`], [`LATER`] or [`PART`] if the newest pane counts whatever its number is.
    /// An integer, because Rust would store the tag of a `Result` in a smaller type.
    end: u64,
}

/// All live panes, while the newest one is the current one.
const WHOLE: u64 = u64::MAX;
/// The panes that are live in a later pane.
const LATER: u64 = u64::MAX - 1;
/// The panes of a part of the window, up to the newest one.
const PART: u64 = u64::MAX - 2;

impl Panes {
    /// All panes.
    pub const ALL: Self = Self {
        oldest: i64::MIN,
        end: WHOLE,
    };

    /// Those that begin at `first` or later and before `end`; without `end`, all up to the newest one.
    pub(super) fn part(first: u64, end: Option<u64>) -> Self {
        Self {
            // The number of a unit has 63 bits, unless the clock is hundreds of millions of years ahead.
            oldest: i64::try_from(first).unwrap_or(i64::MAX),
            end: end.map_or(PART, |end| end.min(PART - 1)),
        }
    }

    /// Whether the reader asked for less than the window, see [`Timeline::panes_within`] and [`Timeline::panes_of`].
    #[must_use]
    #[inline]
    pub fn is_part(self) -> bool {
        self.end <= PART
    }

    /// Whether these are panes of a period that ends before the time of the read, see [`Timeline::panes_of`].
    #[must_use]
    #[inline]
    pub fn is_past(self) -> bool {
        self.end < PART
    }

    /// Whether these are the panes that are live in a pane after the newest one, see [`Timeline::panes_in`].
    #[must_use]
    #[inline]
    pub fn is_later(self) -> bool {
        self.end == LATER
    }

    /// The first unit that counts. The panes before it do not.
    #[must_use]
    #[inline]
    pub fn oldest(self) -> u64 {
        self.oldest.max(0).cast_unsigned()
    }

    /// The first unit that does not count after [`Panes::oldest`]. Above all units if the newest pane counts in any case.
    #[must_use]
    #[inline]
    pub fn end(self) -> u64 {
        self.end
    }

    /// Whether a pane that begins with this unit counts.
    #[must_use]
    #[inline]
    pub fn contains(self, first: u64) -> bool {
        (self.oldest()..self.end).contains(&first)
    }
}

/// The window of a value and its newest pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    window: Window,
    newest: u64,
}

impl Timeline {
    /// The timeline of a sketch of type `T`, which begins with pane 0.
    ///
    /// # Errors
    /// Those of [`Window::of`].
    pub fn new<T: Timed>(window: Window) -> Result<Self, WindowError> {
        let window = Window::of::<T>(window.ms(), window.panes(), Some(window.pane_ms()))?;
        Ok(Self { window, newest: 0 })
    }

    /// The window.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// The number of the newest pane in units, at most [`Window::max_pane`].
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// The first unit of the oldest live pane, while the newest pane is the current one.
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.window.oldest(self.newest)
    }

    /// The units of the live panes while the newest pane is the current one. In a uniform window, each is a pane.
    #[must_use]
    pub fn live(&self) -> RangeInclusive<u64> {
        self.oldest()..=self.newest
    }

    /// The live panes while the newest one is the current one, oldest first. At most [`Window::live_panes`].
    pub fn panes(&self) -> impl Iterator<Item = UnitRange> + Clone + use<> {
        self.levels().panes()
    }

    /// The live panes that count, also those without increments, oldest first.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn counted_panes(&self, panes: Panes) -> Result<Vec<UnitRange>, OutOfMemory> {
        let mut ranges = with_capacity(self.window.live_panes())?;
        ranges.extend(self.panes().filter(|range| panes.contains(range.first)));
        Ok(ranges)
    }

    /// The live pane that contains this unit.
    #[must_use]
    pub fn pane_of(&self, unit: u64) -> Option<UnitRange> {
        self.levels().pane_of(unit).map(|(range, _)| range)
    }

    /// The level of the live pane that begins with this unit; `None` if none does.
    #[must_use]
    pub fn level_of(&self, first: u64) -> Option<u32> {
        let (range, level) = self.levels().pane_of(first)?;
        (range.first == first).then_some(level)
    }

    /// A function that returns the live pane that contains a unit, and its level, for units in ascending order. Cheaper than
    /// [`Timeline::pane_of`] for each.
    pub fn ascending(&self) -> impl FnMut(u64) -> Option<(UnitRange, u32)> + use<> {
        self.levels().ascending()
    }

    fn levels(&self) -> Levels {
        Levels::of(self.window, self.newest)
    }

    /// The panes that are live at this time, in milliseconds since the Unix epoch.
    #[must_use]
    #[inline]
    pub fn panes_at(&self, unix_ms: u64) -> Panes {
        self.panes_in(self.window.pane_at(unix_ms))
    }

    /// The panes that are live when `current` is the current pane: those that count after an advance to it. A `current` below
    /// the newest pane counts as the newest: time never runs backwards for a value.
    #[must_use]
    #[inline]
    pub fn panes_in(&self, current: u64) -> Panes {
        Panes {
            oldest: self.window.oldest_signed(current.max(self.newest)),
            end: if current > self.newest { LATER } else { WHOLE },
        }
    }

    /// The panes of the last `ms` milliseconds before this time, in milliseconds since the Unix epoch: those whose end is
    /// later. What was added at most `ms` ago counts; what was added more than `ms` and a unit ago, or more than
    /// `ms · (1 + 1 / panes)`, whichever is longer, does not. From the length of the window on, as [`Timeline::panes_at`].
    #[must_use]
    pub fn panes_within(&self, unix_ms: u64, ms: u64) -> Panes {
        if ms >= self.window.ms() {
            return self.panes_at(unix_ms);
        }
        let unit = self.window.pane_at(unix_ms.saturating_sub(ms));
        let first = match self.window.levels() {
            0 => unit,
            _ => self.pane_of(unit).map_or(unit, |pane| pane.first),
        };
        Panes::part(first, None)
    }

    /// Whether all live panes count.
    #[must_use]
    #[inline]
    pub fn counts_all(&self, panes: Panes) -> bool {
        panes.oldest <= self.window.oldest_signed(self.newest) && panes.end > self.newest
    }

    /// The units of [`Timeline::live`] that count. Empty if none does.
    #[must_use]
    pub fn counted(&self, panes: Panes) -> RangeInclusive<u64> {
        panes.oldest().max(self.oldest())..=self.newest.min(panes.end - 1)
    }

    /// The milliseconds that a read of these panes at this time covers: from the start of the first pane that counts to this
    /// time, or to the start of the newest pane if the time is before it; at most to the end of the last pane of a period.
    #[must_use]
    pub fn covered_ms(&self, unix_ms: u64, panes: Panes) -> u64 {
        let now = unix_ms.max(self.window.start_of(self.newest));
        let end = now.min(panes.end.saturating_mul(self.window.pane_ms()));
        end.saturating_sub(panes.oldest().saturating_mul(self.window.pane_ms()))
    }

    /// Makes `pane` the newest, and returns the units of panes that were live and have expired. Returns `None`, and changes
    /// nothing, if `pane` is not above the newest. A pane above [`Window::max_pane`] counts as the largest.
    pub fn advance(&mut self, pane: u64) -> Option<RangeInclusive<u64>> {
        let pane = pane.min(self.window.max_pane());
        if pane <= self.newest {
            return None;
        }
        let (oldest, newest) = (self.oldest(), self.newest);
        self.newest = pane;
        // If no pane has expired, the range is empty: its end is below its start.
        let Some(last_expired) = self.oldest().checked_sub(1) else {
            return Some(RangeInclusive::new(1, 0));
        };
        Some(oldest..=last_expired.min(newest))
    }

    /// Writes the length of the window, the number of panes and the newest pane, and for a sketch of type `T` with levels the
    /// length of a unit: three or four unsigned integers.
    pub fn save<T: Timed>(&self, sink: &mut dyn Sink) {
        sink.write_three([self.window.ms(), self.window.panes(), self.newest]);
        if T::HAS_LEVELS {
            sink.write_unsigned(self.window.pane_ms());
        }
    }

    /// Reads what [`Timeline::save`] writes, for a sketch of type `T`.
    ///
    /// # Errors
    /// [`FormatError::Invalid`] if a number is out of range, and the errors of the source.
    pub fn load<T: Timed>(source: &mut dyn Source) -> Result<Self, FormatError> {
        let (ms, panes) = (source.read_unsigned()?, source.read_unsigned()?);
        let newest = source.read_unsigned()?;
        let finest = T::HAS_LEVELS.then(|| source.read_unsigned());
        let window = Window::of::<T>(ms, panes, finest.transpose()?)
            .map_err(|_| FormatError::Invalid("the window is out of range"))?;
        refuse_if!(window.panes() != panes => "the window has more panes than fill it");
        refuse_if!(newest > window.max_pane() => "the newest pane is out of range");
        Ok(Self { window, newest })
    }
}
