//! Examples, recall, golden payloads, hostile bytes, items of one fingerprint.

mod accuracy;
mod decay;
mod fingerprints;
mod golden;
mod hostile;
mod memory;
mod merge;
mod recall;

use super::{Added, TopK, TopKError};
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{from_chunks, reloaded, saved};
use roughly_dump::Value;

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

/// All items share one bucket, and every trial succeeds. `d` has 40 when it loses the bucket to `e`. With 15 it is only
/// sifted down, as in RedisBloom, so it stays below `b` with 20. When `f` enters, `b` becomes the root although it
/// is not the smallest.
#[test]
fn a_decayed_count_leaves_the_heap_out_of_order() {
    let mut sketch = sketch(4, 1, 1, 1.0);
    let steps = [
        ("a", 10),
        ("b", 29),
        ("c", 49),
        ("d", 69),
        ("e", 26),
        ("d", 1),
    ];
    for (item, increment) in steps {
        sketch.add(item.as_bytes(), increment).unwrap();
    }
    let in_heap_order = |sketch: &TopK| -> Vec<_> {
        let elements = sketch.heap.iter();
        let shown = elements.map(|element| (element.item.to_vec(), element.count));
        shown.collect()
    };
    let shown = |elements: [(&str, u32); 4]| {
        elements.map(|(item, count)| (item.as_bytes().to_vec(), count))
    };
    let wanted = shown([("a", 10), ("b", 20), ("c", 30), ("d", 15)]);
    assert_eq!(in_heap_order(&sketch), wanted);
    assert_eq!(sketch.add(b"f", 39).unwrap().expelled, Some(&b"a"[..]));
    let wanted = shown([("b", 20), ("d", 15), ("c", 30), ("f", 25)]);
    assert_eq!(in_heap_order(&sketch), wanted);

    // With a stored random state the heap keeps its order; otherwise the order is restored.
    let mut values = saved(&sketch);
    let loaded = TopK::load(&mut values.clone(), 0, &()).unwrap();
    assert_eq!(in_heap_order(&loaded), wanted);
    assert_eq!(in_heap_order(&from_chunks(&sketch, 10)), wanted);
    let Some(Value::Bytes(heap)) = values.values.get_mut(5) else {
        panic!("the sixth value is the heap");
    };
    heap[8..16].fill(0);
    let loaded = TopK::load(&mut values, 0, &()).unwrap();
    let wanted = shown([("d", 15), ("b", 20), ("c", 30), ("f", 25)]);
    assert_eq!(in_heap_order(&loaded), wanted);
}

#[test]
fn an_item_added_zero_times_is_in_the_heap_but_not_listed() {
    let mut sketch = sketch(3, 1000, 3, 0.9);
    let Added { expelled, changed } = sketch.add(b"a", 0).unwrap();
    assert_eq!((expelled, changed), (None, true));
    assert_eq!(listed(&sketch), []);
    assert!(sketch.query(b"a"));
    assert_eq!(sketch.item_count(), 1);
    sketch.add(b"a", 1).unwrap();
    assert_eq!(listed(&sketch), [(b"a".to_vec(), 1)]);
}

#[test]
fn items_may_be_empty_or_contain_a_nul() {
    let mut sketch = sketch(5, 1000, 3, 0.9);
    for item in [&b"nul\0tail"[..], b"\0lead", b"", b"plain"] {
        sketch.add(item, 1).unwrap();
    }
    assert!(!sketch.query(b"nul"));
    // The order of the recorded reply (golden: quirks-101).
    let items: Vec<_> = listed(&sketch).into_iter().map(|(item, _)| item).collect();
    assert_eq!(items, [&b""[..], b"plain", b"nul\0tail", b"\0lead"]);
    assert_eq!(reloaded(&sketch), sketch);
}

#[test]
fn counts_saturate_at_their_maximum() {
    let mut sketch = sketch(1, 8, 2, 0.9);
    sketch.add(b"a", u32::MAX - 1).unwrap();
    sketch.add(b"a", 100_000).unwrap();
    assert_eq!(sketch.count(b"a"), u32::MAX);
    assert_eq!(listed(&sketch), [(b"a".to_vec(), u32::MAX)]);
}
