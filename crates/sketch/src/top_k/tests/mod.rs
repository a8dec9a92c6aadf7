//! Parameters, golden payloads, hostile bytes, items of one fingerprint.

mod accuracy;
mod decay;
mod fingerprints;
mod golden;
mod hostile;
mod memory;
mod merge;

use super::{TopK, TopKError};
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{from_chunks, reloaded, saved};

/// An empty sketch. Every allocation is allowed.
fn sketch(k: u64, width: u64, depth: u64, decay: f64) -> TopK {
    TopK::new(k, width, depth, decay, Budget::UNLIMITED).unwrap()
}

/// The reply of TOPK.LIST WITHCOUNT.
fn listed(sketch: &TopK) -> Vec<(Vec<u8>, u32)> {
    let items = sketch.list().unwrap();
    items.map(|(item, count)| (item.to_vec(), count)).collect()
}

#[test]
fn parameters_out_of_range_are_refused() {
    let new = |k, width, depth, decay| TopK::new(k, width, depth, decay, Budget::UNLIMITED).err();
    let above = 1 << 32;
    assert_eq!(new(0, 0, 0, 0.0), Some(TopKError::InvalidK));
    assert_eq!(new(above, 8, 7, 0.9), Some(TopKError::InvalidK));
    assert_eq!(new(1, 0, 0, 0.0), Some(TopKError::InvalidWidth));
    assert_eq!(new(1, above, 7, 0.9), Some(TopKError::InvalidWidth));
    assert_eq!(new(1, 8, 0, 0.0), Some(TopKError::InvalidDepth));
    assert_eq!(new(1, 8, above, 0.9), Some(TopKError::InvalidDepth));
    for decay in [0.0, -0.0, -0.5, 1.0 + f64::EPSILON, f64::INFINITY, f64::NAN] {
        assert_eq!(new(1, 8, 7, decay), Some(TopKError::InvalidDecay));
    }
    assert_eq!(new(1, 8, 7, f64::from_bits(1)), None);
    assert_eq!(new(1, 1, 1, 1.0), None);
}
