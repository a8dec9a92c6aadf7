//! Validation rules of stored forms, and stored forms that RedisBloom can write.

use super::super::TopK;
use super::{listed, saved, sketch};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{check_header_rules, check_rules};
use roughly_dump::Value::{Bytes, Double, Integer};
use roughly_dump::Values;

fn small() -> TopK {
    let mut sketch = sketch(4, 3, 2, 0.9);
    for (item, increment) in [(&b"a"[..], 5), (b"", 7), (b"bc\0d", 100), (b"e", 3)] {
        sketch.add(item, increment).unwrap();
    }
    sketch
}

fn load(values: &Values) -> Result<TopK, FormatError> {
    TopK::load(&mut values.clone(), 0, &())
}

#[test]
fn every_rule_of_the_values_is_checked() {
    let buckets = "the bucket array has not width x depth buckets";
    let heap = "the heap has not k elements";
    let mut rules = vec![
        (4, Bytes(vec![0; 47]), buckets),
        (4, Bytes(vec![0; 56]), buckets),
        // The product wraps to the right one.
        (1, Integer((1 << 31) + 3), buckets),
        (5, Bytes(vec![0; 4 * 24 - 1]), heap),
        (5, Bytes(vec![0; 5 * 24]), heap),
        (6, Bytes(Vec::new()), "an item does not end with a NUL"),
        (6, Bytes(b"a".to_vec()), "an item does not end with a NUL"),
    ];
    let ranges = [
        "k is out of range",
        "the width is out of range",
        "the depth is out of range",
    ];
    for (position, rule) in ranges.into_iter().enumerate() {
        rules.extend([0, 1 << 32, u64::MAX].map(|number| (position, Integer(number), rule)));
    }
    let decays = [0.0, -0.0, -1.0, 1.0 + f64::EPSILON, f64::NAN];
    rules.extend(decays.map(|decay| (3, Double(decay), "the decay is out of range")));
    let values = saved(&small());
    check_rules(&values, |values| TopK::load(values, 0, &()), &rules);
}

#[test]
fn every_rule_of_a_header_is_checked() {
    let place = "a heap element is out of place";
    let header = small().header().unwrap();
    // Elements: position, count, length, item.
    let rules: [(usize, &[u8], _); 5] = [
        (0, b"X", "not the header of a top-k sketch"),
        (8, &[0; 8], "k is out of range"),
        (47, &[0], "the random state is not sound"),
        (32, &[0; 8], "the decay is out of range"),
        (16, &[0; 8], "the width is out of range"),
    ];
    let empty = sketch(4, 3, 2, 0.9).header().unwrap();
    check_header_rules::<TopK>(&empty, &rules);
    let load = |header: &[u8]| TopK::from_header(header, Budget::UNLIMITED).map(drop);
    for position in [1, 4] {
        let mut header = header.clone();
        // The second position must be above the first and below k.
        let first = header[56] as usize;
        header[48 + 16 + first] = position;
        header[48] = 1;
        assert_eq!(load(&header), Err(FormatError::Invalid(place)));
    }
}

/// The values of a sketch with k = 3 whose heap holds these (item, fingerprint, count).
fn crafted(elements: [(&[u8], u32, u32); 3]) -> Values {
    let mut values = saved(&sketch(3, 3, 2, 0.9));
    let mut heap = Vec::new();
    for (index, (item, fingerprint, count)) in elements.into_iter().enumerate() {
        heap.extend_from_slice(&fingerprint.to_le_bytes());
        heap.extend_from_slice(&[0; 12]);
        heap.extend_from_slice(&count.to_le_bytes());
        heap.extend_from_slice(&[0; 4]);
        values.values[6 + index] = Bytes([item, b"\0"].concat());
    }
    values.values[5] = Bytes(heap);
    values
}

#[test]
fn the_order_of_a_loaded_heap_is_restored() {
    let sketch = load(&crafted([(b"a", 0, 9), (b"b", 0, 2), (b"c", 0, 5)])).unwrap();
    let counts: Vec<u32> = sketch.heap.iter().map(|element| element.count).collect();
    assert_eq!(counts, [2, 9, 5]);
}

#[test]
fn an_item_stored_twice_is_kept_once_with_its_larger_count() {
    let sketch = load(&crafted([(b"a", 0, 1), (b"b", 0, 2), (b"a", 0, 5)])).unwrap();
    assert_eq!(listed(&sketch), [(b"a".to_vec(), 5), (b"b".to_vec(), 2)]);
}

/// RedisBloom cuts items at a NUL, so the stored fingerprint can be that of a longer item.
#[test]
fn items_that_redisbloom_cut_are_found_unless_nothing_is_left() {
    let values = crafted([(b"", 77, 1), (b"nul", 78, 2), (b"", 0x4a85_66e0, 3)]);
    let sketch = load(&values).unwrap();
    assert_eq!(listed(&sketch), [(Vec::new(), 3), (b"nul".to_vec(), 2)]);
    assert!(sketch.query(b"nul") && sketch.query(b""));
}

#[test]
fn memory_is_requested_before_a_header_is_loaded() {
    let header = small().header().unwrap();
    let refused = TopK::from_header(&header, Budget::new(&|_| false));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    // The largest dimensions: 2^67 bytes.
    let mut largest = header;
    for field in 2..4 {
        largest[field * 8..field * 8 + 8].copy_from_slice(&u64::from(u32::MAX).to_le_bytes());
    }
    let refused = TopK::from_header(&largest, Budget::UNLIMITED);
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
}
