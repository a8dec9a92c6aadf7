//! Comparisons of items, which can have a mebibyte and differ in the last byte only.

use std::cmp::Ordering;

/// Whether two items are equal. Reads no bytes if their lengths differ.
#[inline]
pub(super) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    #[cfg(test)]
    if one.len() == other.len() {
        count(one.len());
    }
    one == other
}

/// The order of two items by their bytes.
#[inline]
pub(super) fn order(one: &[u8], other: &[u8]) -> Ordering {
    #[cfg(test)]
    count(one.len().min(other.len()));
    one.cmp(other)
}

/// Counts a comparison of up to this many bytes.
#[cfg(test)]
pub(super) fn count(bytes: usize) {
    crate::testing::COMPARED_BYTES.with(|work| work.add(1 + bytes as u64));
}
