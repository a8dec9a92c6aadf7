//! The fingerprints that a filter has beyond its count of items.

use super::sub_filter::SubFilter;

/// The fingerprints in the slots less the count of items, at least 0. It is 0 in filters that only commands have changed. In a
/// loaded filter, the count can be smaller, and compactions that follow it would repeat without an effect. Counted when it
/// is first needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Excess(Option<u64>);

impl Excess {
    /// That of an empty filter.
    pub const NONE: Self = Self(Some(0));
    /// That of a filter whose slots were loaded.
    pub const UNKNOWN: Self = Self(None);

    /// The fingerprints in these sub-filters if the count of items is `items`, or `items` if that is more.
    pub fn fingerprints(&mut self, items: u64, sub_filters: &[SubFilter]) -> u64 {
        let excess = self.0.get_or_insert_with(|| {
            let counts = sub_filters.iter().map(SubFilter::num_fingerprints);
            counts.sum::<u64>().saturating_sub(items)
        });
        items.saturating_add(*excess)
    }

    /// A fingerprint was removed that the count of items lacked.
    pub fn remove_one(&mut self) {
        self.0 = self.0.map(|excess| excess.saturating_sub(1));
    }
}

/// It follows from the slots and the count of items.
impl PartialEq for Excess {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Excess {}
