//! Sliding windows: the panes of a sketch that forgets what is older than its window (docs/sliding-windows.md).
//!
//! Time is divided into panes of equal length, which are aligned to the Unix epoch. A sketch with a window of `n` panes
//! keeps the counts of each pane apart. At any time, its live panes are the current one and the `n` full panes before
//! it. So whatever was added at most one window ago counts, and whatever was added more than one window and one pane
//! ago does not.
//!
//! The crate has no clock. [`Timed::advance`] moves a sketch to a later pane, and each read takes the [`Panes`] that
//! count, which [`Timeline::panes_at`] and [`Timeline::panes_within`] compute.

use crate::blocks::{BlockChanges, BlockVisitor, Blocks};
use crate::format::{Fields, FormatError, Sink, Source};
use std::ops::RangeInclusive;

/// The length of a window and the number of its panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    ms: u64,
    panes: u64,
}

/// Why there is no such window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// The length is not in [1, [`Window::MAX_MS`]].
    #[error("the length of the window is out of range")]
    InvalidLength,
    /// The number of panes is not in [1, [`Window::MAX_PANES`]], exceeds the milliseconds of the window, or exceeds
    /// [`Timed::MAX_PANES`] of the sketch.
    #[error("the number of panes is out of range")]
    InvalidPanes,
}

impl Window {
    /// The longest window in milliseconds: ten years.
    pub const MAX_MS: u64 = 315_360_000_000;
    /// The largest number of panes of any sketch; see [`Timed::MAX_PANES`].
    pub const MAX_PANES: u64 = 1000;
    /// The default number of panes.
    pub const DEFAULT_PANES: u64 = 12;

    /// A window of `ms` milliseconds, 1 to [`Window::MAX_MS`], with 1 to [`Window::MAX_PANES`] panes, at most one per
    /// millisecond. It has fewer panes if panes of the same length, in whole milliseconds, fill the window: 1,001 ms in 1,000
    /// panes are 501 panes of 2 ms.
    ///
    /// # Errors
    /// [`WindowError`]; its variants are checked in order.
    pub fn new(ms: u64, panes: u64) -> Result<Self, WindowError> {
        if !(1..=Self::MAX_MS).contains(&ms) {
            return Err(WindowError::InvalidLength);
        }
        if !(1..=Self::MAX_PANES.min(ms)).contains(&panes) {
            return Err(WindowError::InvalidPanes);
        }
        let pane_ms = ms.div_ceil(panes);
        Ok(Self {
            ms,
            panes: ms.div_ceil(pane_ms),
        })
    }

    /// As [`Window::new`], for a sketch of type `T`.
    ///
    /// # Errors
    /// As [`Window::new`], and [`WindowError::InvalidPanes`] above [`Timed::MAX_PANES`].
    pub fn of<T: Timed>(ms: u64, panes: u64) -> Result<Self, WindowError> {
        let window = Self::new(ms, panes)?;
        match panes <= T::MAX_PANES {
            true => Ok(window),
            false => Err(WindowError::InvalidPanes),
        }
    }

    /// The length of the window in milliseconds.
    #[must_use]
    pub fn ms(self) -> u64 {
        self.ms
    }

    /// The number of full panes in the window.
    #[must_use]
    pub fn panes(self) -> u64 {
        self.panes
    }

    /// The number of live panes: the full ones and the current one.
    #[must_use]
    pub fn live_panes(self) -> usize {
        self.panes as usize + 1
    }

    /// The length of a pane in milliseconds: that of the window divided by the number of panes, rounded up.
    #[must_use]
    pub fn pane_ms(self) -> u64 {
        self.ms.div_ceil(self.panes)
    }

    /// The number of the pane at this time, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn pane_at(self, unix_ms: u64) -> u64 {
        unix_ms / self.pane_ms()
    }

    /// The start of a pane in milliseconds since the Unix epoch. `pane` is at most [`Window::max_pane`].
    #[must_use]
    pub fn start_of(self, pane: u64) -> u64 {
        pane * self.pane_ms()
    }

    /// The largest number of a pane: its start in milliseconds fits in 63 bits.
    #[must_use]
    pub fn max_pane(self) -> u64 {
        i64::MAX.cast_unsigned() / self.pane_ms()
    }

    /// The oldest live pane when `current` is the current one.
    #[must_use]
    pub fn oldest(self, current: u64) -> u64 {
        current.saturating_sub(self.panes)
    }
}

/// The panes that count for a read: the oldest one and all later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panes {
    /// Negative if the window begins before pane 0.
    oldest: i64,
    /// Not 0 for a part of the window. An integer, because Rust would store the tag of a `Result` in a `bool`.
    part: u64,
}

impl Panes {
    /// All panes.
    pub const ALL: Self = Self {
        oldest: i64::MIN,
        part: 0,
    };

    /// Whether the reader asked for less than the window, see [`Timeline::panes_within`].
    #[must_use]
    #[inline]
    pub fn is_part(self) -> bool {
        self.part != 0
    }

    /// The oldest pane that counts.
    #[must_use]
    #[inline]
    pub fn oldest(self) -> u64 {
        self.oldest.max(0).cast_unsigned()
    }
}

/// The window of a value and its newest pane. Each live pane has a slot in a ring of [`Window::live_panes`] slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    window: Window,
    newest: u64,
}

impl Timeline {
    /// The bytes of [`Timeline::to_bytes`].
    pub const BYTES: usize = 24;

    /// The timeline of a sketch of type `T`, which begins with pane 0.
    ///
    /// # Errors
    /// [`WindowError::InvalidPanes`] above [`Timed::MAX_PANES`].
    pub fn new<T: Timed>(window: Window) -> Result<Self, WindowError> {
        let window = Window::of::<T>(window.ms, window.panes)?;
        Ok(Self { window, newest: 0 })
    }

    /// The window.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// The number of the newest pane, at most [`Window::max_pane`].
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// The oldest pane that is live while the newest pane is the current one.
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.window.oldest(self.newest)
    }

    /// The panes that are live while the newest pane is the current one, in order.
    #[must_use]
    pub fn live(&self) -> RangeInclusive<u64> {
        self.oldest()..=self.newest
    }

    /// The panes that are live at this time, in milliseconds since the Unix epoch.
    #[must_use]
    #[inline]
    pub fn panes_at(&self, unix_ms: u64) -> Panes {
        self.panes_in(self.window.pane_at(unix_ms))
    }

    /// The panes that are live when `current` is the current pane. A `current` below the newest pane counts as the
    /// newest: time never runs backwards for a value.
    #[must_use]
    #[inline]
    pub fn panes_in(&self, current: u64) -> Panes {
        let current = i64::try_from(current.max(self.newest)).unwrap_or(i64::MAX);
        Panes {
            oldest: current - self.window.panes.cast_signed(),
            part: 0,
        }
    }

    /// Those panes that are live at this time, in milliseconds since the Unix epoch, and belong to the `ms` milliseconds before
    /// it. What was added at most `ms` ago counts, and what was added more than `ms` and one pane ago does not. From the
    /// length of the window on, as [`Timeline::panes_at`].
    #[must_use]
    pub fn panes_within(&self, unix_ms: u64, ms: u64) -> Panes {
        let live = self.panes_at(unix_ms);
        if ms >= self.window.ms {
            return live;
        }
        let oldest = self.window.pane_at(unix_ms.saturating_sub(ms));
        Panes {
            // The number of a pane has 63 bits.
            oldest: oldest.cast_signed().max(live.oldest),
            part: 1,
        }
    }

    /// The number of slots before the first one that counts, in the order of their panes. Slots of panes before pane 0 are
    /// empty.
    #[must_use]
    #[inline]
    pub fn skipped_slots(&self, panes: Panes) -> u64 {
        let first = self.newest.cast_signed() - self.window.panes.cast_signed();
        panes.oldest.saturating_sub(first).max(0).cast_unsigned()
    }

    /// Whether all panes of [`Timeline::live`] count.
    #[must_use]
    #[inline]
    pub fn counts_all(&self, panes: Panes) -> bool {
        self.skipped_slots(panes) == 0
    }

    /// Those of [`Timeline::live`] that count. Empty if none does.
    #[must_use]
    pub fn counted(&self, panes: Panes) -> RangeInclusive<u64> {
        panes.oldest().max(self.oldest())..=self.newest
    }

    /// The milliseconds that a read at this time covers: the full panes, and what has passed of the current one. It is the
    /// newest pane if the time is before it.
    #[must_use]
    pub fn covered_ms(&self, unix_ms: u64) -> u64 {
        let current = self.window.pane_at(unix_ms).max(self.newest);
        let passed = unix_ms.saturating_sub(self.window.start_of(current));
        let pane_ms = self.window.pane_ms();
        self.window.panes() * pane_ms + passed.min(pane_ms)
    }

    /// The slot of a pane in the ring. Different live panes have different slots.
    #[must_use]
    pub fn slot(&self, pane: u64) -> usize {
        (pane % (self.window.panes + 1)) as usize
    }

    /// Makes `pane` the newest, and returns the panes that were live and have expired. Returns `None`, and changes
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

    /// Writes the window and the newest pane: three unsigned integers.
    pub fn save(&self, sink: &mut dyn Sink) {
        sink.write_unsigned(self.window.ms);
        sink.write_unsigned(self.window.panes);
        sink.write_unsigned(self.newest);
    }

    /// Reads what [`Timeline::save`] writes, for a sketch of type `T`.
    ///
    /// # Errors
    /// [`FormatError::Invalid`] if a number is out of range, and the errors of the source.
    pub fn load<T: Timed>(source: &mut dyn Source) -> Result<Self, FormatError> {
        let [ms, panes, newest] = [
            source.read_unsigned()?,
            source.read_unsigned()?,
            source.read_unsigned()?,
        ];
        Self::checked::<T>(ms, panes, newest)
    }

    /// The three numbers of [`Timeline::save`], little-endian, as headers and digests contain them.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let numbers = [self.window.ms, self.window.panes, self.newest];
        for (place, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        bytes
    }

    /// Reads what [`Timeline::to_bytes`] returns, for a sketch of type `T`.
    ///
    /// # Errors
    /// [`FormatError`] if a number is out of range or missing.
    pub fn from_fields<T: Timed>(fields: &mut Fields<'_>) -> Result<Self, FormatError> {
        let [ms, panes, newest] = [fields.u64()?, fields.u64()?, fields.u64()?];
        Self::checked::<T>(ms, panes, newest)
    }

    fn checked<T: Timed>(ms: u64, panes: u64, newest: u64) -> Result<Self, FormatError> {
        let window = Window::of::<T>(ms, panes)
            .map_err(|_| FormatError::Invalid("the window is out of range"))?;
        if window.panes != panes {
            return Err(FormatError::Invalid(
                "the window has more panes than fill it",
            ));
        }
        if newest > window.max_pane() {
            return Err(FormatError::Invalid("the newest pane is out of range"));
        }
        Ok(Self { window, newest })
    }
}

/// Bytes of cells that a call of [`Timed::expire`] processes.
pub const EXPIRED_BYTES: usize = 4 << 20;

/// Bytes that a call of [`Timed::release_recorded`] frees: 32 pages. To free many megabytes at once takes milliseconds.
pub const RELEASED_BYTES: usize = 1 << 17;

/// The largest number of panes if each pane is a sketch of its own: the time of reads and of expiry depends on the number of
/// panes.
pub const MAX_SKETCHES: u64 = 100;

/// A sketch, which may have a window. By default, it has none.
pub trait Timed: Blocks {
    /// The largest number of panes; 0 without a window.
    const MAX_PANES: u64 = 0;

    /// Its window and newest pane; `None` without a window.
    #[inline]
    fn timeline(&self) -> Option<&Timeline> {
        None
    }

    /// The panes that are live when `current` is the current pane, see [`Timeline::panes_in`]; all without a window.
    fn panes_in(&self, current: u64) -> Panes {
        self.timeline()
            .map_or(Panes::ALL, |timeline| timeline.panes_in(current))
    }

    /// Makes `pane` the newest pane and drops the panes that expire. Returns false, and changes nothing, if `pane` is
    /// not above the newest pane, and without a window.
    fn advance(&mut self, _pane: u64) -> bool {
        false
    }

    /// As [`Timed::advance`]; `changes` records the blocks that are freed and allocated. Cost: in addition one call per
    /// block, twice, unless the sketch has a cheaper implementation.
    fn advance_recorded(
        &mut self,
        pane: u64,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> bool {
        if self
            .timeline()
            .is_none_or(|timeline| pane <= timeline.newest())
        {
            return false;
        }
        self.for_each_block(&mut changes.freed);
        let advanced = self.advance(pane);
        self.for_each_block(&mut changes.allocated);
        advanced
    }

    /// Removes what expired panes have left, if [`Timed::advance`] leaves that to later writes: processes at least
    /// [`EXPIRED_BYTES`] of cells, or all. Returns whether the state changed. Copies of the sketch stay equal if they do the
    /// same. If no live pane has an increment, the sketch is then empty, and [`Timed::release_recorded`] can free all
    /// that a new sketch does not have.
    fn expire(&mut self) -> bool {
        false
    }

    /// Frees a part, about [`RELEASED_BYTES`], of the memory that is no longer used. It is not part of the state.
    /// `changes` records the blocks that change. Returns false if there is nothing to free. Cost: constant.
    fn release_recorded(&mut self, _changes: &mut BlockChanges<impl BlockVisitor>) -> bool {
        false
    }

    /// Bytes of memory that [`Timed::release_recorded`] will free.
    fn retired_bytes(&self) -> u64 {
        0
    }

    /// The sum of all increments in a pane, for sketches that count; the number of samples or items for others. 0 for
    /// a pane that is not live.
    fn pane_total(&self, _pane: u64) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count_min::CountMinWindow;
    use crate::t_digest::TDigestWindow;
    use crate::top_k::TopKWindow;
    use crate::window_filter::{WindowMultiset, WindowSet};
    use proptest::prelude::*;

    #[test]
    fn windows_are_in_range() {
        use WindowError::{InvalidLength, InvalidPanes};
        assert_eq!(Window::new(0, 1), Err(InvalidLength));
        assert_eq!(Window::new(Window::MAX_MS + 1, 0), Err(InvalidLength));
        assert_eq!(Window::new(1000, 0), Err(InvalidPanes));
        assert_eq!(Window::new(5000, 1001), Err(InvalidPanes));
        assert_eq!(Window::new(5, 6), Err(InvalidPanes));
        for (ms, panes, pane_ms) in [(1, 1, 1), (5, 5, 1), (10, 3, 4), (3_600_000, 12, 300_000)] {
            assert_eq!(Window::new(ms, panes).unwrap().pane_ms(), pane_ms);
        }
        assert!(Window::new(Window::MAX_MS, Window::MAX_PANES).is_ok());
    }

    #[test]
    fn a_window_has_as_many_panes_as_fill_it() {
        for (ms, specified, panes, pane_ms) in [
            (1001, 1000, 501, 2),
            (1000, 1000, 1000, 1),
            (5, 4, 3, 2),
            (13, 12, 7, 2),
            (3_600_000, 7, 7, 514_286),
        ] {
            let window = Window::new(ms, specified).unwrap();
            assert_eq!((window.panes(), window.pane_ms()), (panes, pane_ms));
        }
    }

    /// Stored windows have the numbers that [`Window::new`] makes, and not more panes than the sketch allows.
    #[test]
    fn other_stored_windows_are_refused() {
        fn is_loaded<T: Timed>(ms: u64, panes: u64) -> bool {
            let numbers = [ms, panes, 0];
            let mut bytes = Vec::new();
            let mut values = roughly_dump::Values::default();
            for number in numbers {
                bytes.extend(number.to_le_bytes());
                values.write_unsigned(number);
            }
            let loaded = Timeline::from_fields::<T>(&mut Fields::new(&bytes));
            assert_eq!(Timeline::load::<T>(&mut values), loaded);
            loaded.is_ok()
        }
        fn check<T: Timed>(max_panes: u64) {
            assert_eq!(T::MAX_PANES, max_panes);
            assert!(is_loaded::<T>(max_panes, max_panes));
            assert!(!is_loaded::<T>(max_panes + 1, max_panes + 1));
            assert!(is_loaded::<T>(13, 7));
            assert!(!is_loaded::<T>(13, 8) && !is_loaded::<T>(13, 12));
            let more = Window::new(max_panes + 1, max_panes + 1);
            let timeline = more.map(Timeline::new::<T>);
            assert!(matches!(
                timeline,
                Err(_) | Ok(Err(WindowError::InvalidPanes))
            ));
        }
        check::<WindowSet>(1000);
        check::<WindowMultiset>(1000);
        check::<CountMinWindow>(100);
        check::<TopKWindow>(100);
        check::<TDigestWindow>(100);
    }

    #[test]
    fn early_panes_have_no_negative_numbers() {
        let mut timeline = Timeline::new::<WindowSet>(Window::new(10, 5).unwrap()).unwrap();
        assert_eq!(timeline.live(), 0..=0);
        assert!(timeline.advance(3).unwrap().is_empty());
        assert_eq!(timeline.live(), 0..=3);
        assert_eq!(timeline.advance(6), Some(0..=0));
        assert_eq!(timeline.advance(6), None);
        assert_eq!(timeline.advance(2), None);
        assert_eq!(timeline.live(), 1..=6);
        assert_eq!(timeline.counted(timeline.panes_in(2)), 1..=6);
        assert_eq!(timeline.counted(timeline.panes_in(8)), 3..=6);
        assert!(timeline.counted(timeline.panes_in(100)).is_empty());
        assert_eq!(timeline.advance(100), Some(1..=6));
        assert_eq!(timeline.advance(u64::MAX), Some(95..=100));
        assert_eq!(timeline.newest(), timeline.window().max_pane());
        assert!(i64::try_from(timeline.window().start_of(timeline.newest())).is_ok());
    }

    proptest! {
        /// What was added at most a window ago is in a live pane; what was added more than a window and a pane ago is
        /// not.
        #[test]
        fn nothing_is_forgotten_early_or_kept_long(
            ms in 1u64..100_000, panes in 1u64..=1000, added in 0u64..1 << 45, age in 0u64..300_000,
        ) {
            let window = Window::new(ms, panes.min(ms)).unwrap();
            prop_assert_eq!(Window::new(ms, window.panes()), Ok(window));
            prop_assert!(window.panes() * window.pane_ms() < ms + window.pane_ms());
            let mut timeline = Timeline::new::<WindowSet>(window).unwrap();
            timeline.advance(window.pane_at(added));
            let pane = timeline.newest();
            let is_live = timeline.counted(timeline.panes_at(added + age)).contains(&pane);
            if age <= ms {
                prop_assert!(is_live);
            }
            if age > window.pane_ms() * (window.panes() + 1) {
                prop_assert!(!is_live);
            }
            let before = timeline.live();
            let expired = timeline.advance(window.pane_at(added + age));
            let expired = expired.map_or(0, |range| range.count());
            prop_assert_eq!(before.filter(|pane| timeline.live().contains(pane)).count() + expired,
                before_count(window, pane));
        }

        #[test]
        fn live_panes_have_different_slots(panes in 1u64..50, newest in 0u64..1000) {
            let mut timeline = Timeline::new::<WindowSet>(Window::new(1000, panes).unwrap()).unwrap();
            timeline.advance(newest);
            let mut slots: Vec<_> = timeline.live().map(|pane| timeline.slot(pane)).collect();
            slots.sort_unstable();
            slots.dedup();
            prop_assert_eq!(slots.len(), timeline.live().count());
            prop_assert!(slots.iter().all(|&slot| slot < timeline.window().live_panes()));
        }

        #[test]
        fn a_timeline_is_stored_exactly(ms in 1u64..=Window::MAX_MS, panes in 1u64..=1000, newest: u64) {
            let mut timeline = Timeline::new::<WindowSet>(Window::new(ms, panes.min(ms)).unwrap()).unwrap();
            timeline.advance(newest);
            let bytes = timeline.to_bytes();
            prop_assert_eq!(Timeline::from_fields::<WindowSet>(&mut Fields::new(&bytes)), Ok(timeline));
            let mut values = roughly_dump::Values::default();
            timeline.save(&mut values);
            prop_assert_eq!(Timeline::load::<WindowSet>(&mut values), Ok(timeline));
        }
    }

    fn before_count(window: Window, newest: u64) -> usize {
        (window.oldest(newest)..=newest).count()
    }
}
