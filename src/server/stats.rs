//! Counters of each family, for INFO.

use std::sync::atomic::{AtomicI64, Ordering};

/// Counters of one family. They are atomic because values may be freed on a background thread; each is independent of
/// the others, so relaxed order is enough.
#[derive(Debug, Default)]
pub struct Stats {
    keys: AtomicI64,
    bytes: AtomicI64,
    items_added: AtomicI64,
    growths: AtomicI64,
    refusals: AtomicI64,
}

/// 63 bits are sufficient: a billion counts per second would take 292 years.
fn add(counter: &AtomicI64, more: u64) {
    counter.fetch_add(more.cast_signed(), Ordering::Relaxed);
}

impl Stats {
    /// All zero.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            keys: AtomicI64::new(0),
            bytes: AtomicI64::new(0),
            items_added: AtomicI64::new(0),
            growths: AtomicI64::new(0),
            refusals: AtomicI64::new(0),
        }
    }

    /// Counts a value that was created (1) or freed (-1) with this size in bytes.
    pub(super) fn count_value(&self, values: i64, bytes: usize) {
        self.keys.fetch_add(values, Ordering::Relaxed);
        self.count_bytes(values * i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Counts a change of the size of a value, in bytes.
    pub(super) fn count_bytes(&self, change: i64) {
        self.bytes.fetch_add(change, Ordering::Relaxed);
    }

    /// Counts items that commands added to values of the family.
    pub fn count_items(&self, items: u64) {
        add(&self.items_added, items);
    }

    /// Counts sub-filters that were added to full filters.
    pub fn count_growths(&self, growths: u64) {
        add(&self.growths, growths);
    }

    /// Counts items that were refused because the value was full or could not grow.
    pub fn count_refusals(&self, refusals: u64) {
        add(&self.refusals, refusals);
    }

    /// The fields of INFO: name and value.
    pub(super) fn fields(&self) -> [(&'static str, i64); 5] {
        [
            ("keys", &self.keys),
            ("bytes", &self.bytes),
            ("items_added", &self.items_added),
            ("growths", &self.growths),
            ("refusals", &self.refusals),
        ]
        .map(|(name, counter)| (name, counter.load(Ordering::Relaxed)))
    }
}
