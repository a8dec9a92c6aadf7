//! Payloads that RedisBloom wrote (tests/golden/dumps).

use super::super::TopK;
use super::super::random::Random;
use super::{saved, sketch};
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
