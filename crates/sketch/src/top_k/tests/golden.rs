//! Payloads that RedisBloom wrote (tests/golden/dumps).

use super::super::TopK;
use super::super::random::Random;
use super::{listed, saved, sketch};
use crate::stored::Stored;
use crate::testing::{GOLDEN_VERSIONS, golden_values};
use roughly_dump::{Value, Values};

fn golden(version: &str, name: &str) -> Values {
    golden_values(version, name, b"TopK-TYPE", 0)
}

/// The values with zeros in the bytes that RedisBloom ignores: bytes 8 to 15 and 20 to 23 of each
/// element of the heap.
fn without_ignored_bytes(mut values: Values) -> Values {
    let Some(Value::Bytes(heap)) = values.values.get_mut(5) else {
        panic!("the sixth value is the heap");
    };
    for record in heap.as_chunks_mut::<24>().0 {
        record[8..16].fill(0);
        record[20..24].fill(0);
    }
    values
}

/// Items NAME-1, NAME-2, ... except the one numbered `left_out`, with the increments of the manifest.
fn built(name: &str, mut sketch: TopK, numbers: u32, left_out: u32) -> TopK {
    let items = (1..=numbers).filter(|&number| number != left_out);
    for (i, number) in (0..).zip(items) {
        let item = format!("{name}-{number}");
        sketch.add(item.as_bytes(), i * 37 % 211 + 1).unwrap();
    }
    sketch
}

#[test]
fn golden_payloads_are_saved_byte_for_byte_after_a_load() {
    for version in GOLDEN_VERSIONS {
        for name in ["default", "empty", "full", "one", "part"] {
            let values = golden(version, &format!("topk-{name}"));
            let sketch = TopK::load(&mut values.clone(), 0, &()).unwrap();
            let again = saved(&sketch);
            let found = without_ignored_bytes(again.clone());
            assert_eq!(found, without_ignored_bytes(values.clone()));
            // The recorded payload and the saved one give the same random state.
            assert_eq!(TopK::load(&mut values.clone(), 0, &()).unwrap(), sketch);
            assert_eq!(TopK::load(&mut again.clone(), 0, &()).unwrap(), sketch);
        }
    }
}

#[test]
fn sketches_without_decay_equal_those_of_redisbloom_byte_for_byte() {
    let all = [
        ("topk-empty", sketch(5, 50, 3, 0.9), 0, 0),
        ("topk-full", sketch(10, 5000, 4, 0.9), 61, 57),
        ("topk-one", sketch(1, 500, 2, 1.0), 21, 18),
        ("topk-part", sketch(20, 2000, 3, 0.5), 8, 0),
    ];
    for (name, sketch, numbers, left_out) in all {
        let ours = without_ignored_bytes(saved(&built(name, sketch, numbers, left_out)));
        for version in GOLDEN_VERSIONS {
            let expected = without_ignored_bytes(golden(version, name));
            assert_eq!(ours, expected, "{version} {name}");
        }
    }
}

#[test]
fn a_loaded_sketch_replies_as_recorded() {
    let lists: [[(&str, u32); 10]; 2] = [
        [
            ("topk-default..............14", 197),
            ("topk-default é 7", 186),
            ("topk-default é 57", 177),
            ("topk-default-20", 171),
            ("102959", 160),
            ("topk-default-5", 149),
            ("topk-default é 27", 145),
            ("topk-default..................................34", 135),
            ("topk-default...................19", 134),
            ("topk-default..............114", 133),
        ],
        [
            ("topk-default..............14", 197),
            ("topk-default é 7", 186),
            ("topk-default-20", 171),
            ("340529", 170),
            ("102959", 160),
            ("topk-default-5", 149),
            (
                "topk-default.................................................49",
                148,
            ),
            ("topk-default é 27", 145),
            ("topk-default..................................34", 139),
            ("topk-default...................19", 134),
        ],
    ];
    for (version, list) in GOLDEN_VERSIONS.into_iter().zip(lists) {
        let sketch = TopK::load(&mut golden(version, "topk-default"), 0, &()).unwrap();
        let wanted = list.map(|(item, count)| (item.as_bytes().to_vec(), count));
        assert_eq!(listed(&sketch), wanted);
        for (item, count) in wanted {
            assert!(sketch.query(&item));
            // This item lost all its buckets after it entered the heap.
            let lost = version == "8.10" && item.ends_with(b".114");
            assert_eq!(sketch.count(&item), if lost { 0 } else { count });
        }
        assert!(!sketch.query(b"absent"));
        assert_eq!(sketch.count(b"absent"), 0);
        let (k, width, depth) = (sketch.k(), sketch.width(), sketch.depth());
        assert_eq!((k, width, depth, sketch.decay()), (10, 8, 7, 0.9));
    }
}

#[test]
fn the_random_state_is_stored_in_a_field_that_redisbloom_ignores() {
    let sketch = sketch(2, 8, 7, 0.9);
    let values = saved(&sketch);
    let Some(Value::Bytes(heap)) = values.values.get(5) else {
        panic!("the sixth value is the heap");
    };
    let stored = u64::from_le_bytes(heap[8..16].try_into().unwrap());
    assert_eq!(Random::from_stored(stored), Some(sketch.random));
    assert!((heap.iter().enumerate()).all(|(i, &byte)| byte == 0 || (8..16).contains(&i)));
}
