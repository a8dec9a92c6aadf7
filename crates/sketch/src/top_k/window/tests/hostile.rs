//! Corrupt and hostile stored forms are refused, or every operation works on the loaded sketch.

use super::super::TopKWindow;
use super::RankingCache;
use super::{digest, listed, listed_with, saved, sketch, through_chunks, through_values};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::window::Timed;
use proptest::prelude::*;
use roughly_dump::{Value, Values};
use std::collections::HashSet;

/// The budget for loading a header, in bytes.
const BUDGET_BYTES: u64 = 1 << 20;

/// A sketch with four live panes, one of them without a table, and candidates in every place.
fn small() -> TopKWindow {
    let mut sketch = sketch(3, 3, 2, 0.9, 3);
    for pane in [4, 6, 7] {
        sketch.advance(pane);
        for (item, increment) in [(&b"a"[..], 5), (b"", 7), (b"bc\0d", 100), (b"e", 3)] {
            sketch.add(item, increment + pane as u32).unwrap();
            sketch
                .add(&[item, &[pane as u8]].concat(), increment)
                .unwrap();
        }
    }
    sketch
}

/// Calls every operation on a loaded sketch.
fn exercise(mut sketch: TopKWindow) {
    let check = |sketch: &TopKWindow| {
        let newest = sketch.timeline().newest();
        for current in [0, newest, newest + 1, newest + 3, newest + 4, u64::MAX] {
            let mut cache = RankingCache::default();
            let list = listed_with(&mut cache, sketch, current);
            assert!(list.len() as u64 <= u64::from(sketch.k()));
            assert!(list.is_sorted_by(|left, right| {
                left.1 > right.1 || left.1 == right.1 && left.0 < right.0
            }));
            let items: HashSet<_> = list.iter().map(|(item, _)| item).collect();
            assert_eq!(items.len(), list.len(), "an item is listed once only");
            for (item, count) in &list {
                assert_eq!(
                    sketch.query_at(item, sketch.panes_in(current), &mut cache),
                    Ok(true)
                );
                assert!(*count > 0);
            }
            let _ = (
                sketch.query_at(b"new", sketch.panes_in(current), &mut cache),
                sketch.count_at(b"new", sketch.panes_in(current)),
            );
        }
        for other in [through_values(sketch), through_chunks(sketch)] {
            assert_eq!(&other, sketch);
            assert_eq!(digest(&other), digest(&sketch.try_clone().unwrap()));
        }
    };
    check(&sketch);
    for ahead in [0, 1, 1, 2, 5, u64::MAX] {
        for increment in [0, 1, 100_000, u32::MAX] {
            for item in [&b""[..], b"a", b"bc\0d", b"new", b"newer"] {
                sketch.add(item, increment).unwrap();
            }
        }
        check(&sketch);
        let pane = sketch.timeline().newest().saturating_add(ahead);
        sketch.advance(pane);
        check(&sketch);
    }
    assert_eq!(listed(&sketch, 0), []);
    assert_eq!(sketch.candidate_count(), 0);
}

fn load(values: &Values) -> Result<TopKWindow, FormatError> {
    TopKWindow::load(&mut values.clone(), TopKWindow::ENCODING_VERSION, &())
}

/// The values with one of them replaced.
fn with(values: &Values, index: usize, value: Value) -> Values {
    let mut values = values.clone();
    values.values[index] = value;
    values
}

const NUMBERS: [u64; 12] = [
    0,
    1,
    2,
    3,
    5,
    1001,
    1 << 31,
    u32::MAX as u64,
    1 << 32,
    (1 << 61) + 1,
    (1 << 63) - 1,
    u64::MAX,
];

#[test]
fn replaced_values_are_refused_or_harmless() {
    let values = saved(&small());
    exercise(load(&values).unwrap());
    for index in 0..values.values.len() {
        for number in NUMBERS {
            if let Ok(sketch) = load(&with(&values, index, Value::Integer(number))) {
                exercise(sketch);
            }
        }
        for double in [0.0, -0.5, 1.0, f64::from_bits(1), f64::NAN, f64::INFINITY] {
            if let Ok(sketch) = load(&with(&values, index, Value::Double(double))) {
                exercise(sketch);
            }
        }
        let mut missing = values.clone();
        missing.values.truncate(index);
        assert!(load(&missing).is_err());
        let Value::Bytes(bytes) = &values.values[index] else {
            continue;
        };
        for len in [
            0,
            1,
            bytes.len().saturating_sub(1),
            bytes.len() + 1,
            bytes.len() + 8,
        ] {
            let mut bytes = bytes.clone();
            bytes.resize(len, 0);
            if let Ok(sketch) = load(&with(&values, index, Value::Bytes(bytes))) {
                exercise(sketch);
            }
        }
    }
}

proptest! {
    #[test]
    fn corrupt_arrays_are_refused_or_harmless(
        index in 8usize..40, changes in prop::collection::vec((any::<usize>(), 0u8..12), 1..10),
    ) {
        let values = saved(&small());
        let Some(Value::Bytes(mut bytes)) = values.values.get(index).cloned() else {
            return Ok(());
        };
        let len = bytes.len();
        for (at, byte) in changes {
            if len > 0 {
                bytes[at % len] = byte;
            }
        }
        if let Ok(sketch) = load(&with(&values, index, Value::Bytes(bytes))) {
            exercise(sketch);
        }
    }

    #[test]
    fn corrupt_headers_are_refused_or_harmless(
        at: usize, number in prop::sample::select(NUMBERS.to_vec()), len in 0usize..700,
        byte: u8, other: usize,
    ) {
        let header = small().header().unwrap();
        let try_header = |header: &[u8]| {
            let budget = Budget::new(&|bytes| bytes <= BUDGET_BYTES);
            if let Ok(sketch) = TopKWindow::from_header(header, budget) {
                exercise(sketch);
            }
        };
        let mut field = header.clone();
        let field_at = at % (header.len() / 8) * 8;
        field[field_at..field_at + 8].copy_from_slice(&number.to_le_bytes());
        try_header(&field);
        let mut resized = header.clone();
        resized.resize(len, byte);
        try_header(&resized);
        let mut changed = header;
        let len = changed.len();
        changed[at % len] = byte;
        changed[other % len] ^= byte;
        try_header(&changed);
    }
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    let values = saved(&small());
    let refused = |index, value| load(&with(&values, index, value)).is_err();
    // The window, its panes, the newest pane.
    assert!(refused(0, Value::Integer(0)));
    assert!(refused(1, Value::Integer(0)));
    assert!(refused(1, Value::Integer(1001)));
    assert!(refused(2, Value::Integer(u64::MAX)));
    for index in 3..6 {
        assert!(refused(index, Value::Integer(0)));
        assert!(refused(index, Value::Integer(1 << 32)));
    }
    for decay in [0.0, -1.0, 1.0 + f64::EPSILON, f64::NAN] {
        assert!(refused(6, Value::Double(decay)));
    }
    assert!(refused(7, Value::Integer(0)));
    // The heap and the list: a candidate twice, one that does not exist, a count without one, a wrong length.
    let elements = |pairs: [(u32, u32); 3]| {
        let numbers = pairs
            .into_iter()
            .flat_map(|(count, number)| [count, number]);
        Value::Bytes(numbers.flat_map(u32::to_le_bytes).collect())
    };
    for index in 8..10 {
        assert!(refused(index, elements([(1, 1), (1, 1), (1, 2)])));
        assert!(refused(index, elements([(1, 1), (1, 2), (1, 1000)])));
        assert!(refused(index, elements([(1, 0), (1, 1), (1, 2)])));
        assert!(refused(index, Value::Bytes(vec![0; 16])));
        assert!(refused(index, Value::Bytes(vec![0; 32])));
    }
    // The panes: a wrong length, and counts or a heap without a table.
    for pane in 0..4 {
        assert!(refused(11 + 2 * pane, Value::Bytes(vec![0; 40])));
    }
    assert!(refused(12, Value::Integer(1)));
    assert!(refused(17, Value::Bytes(Vec::new())));
    // The candidates: one that nothing keeps, one that a pane keeps that is not live or has no table, one twice.
    let Value::Integer(candidates) = values.values[18] else {
        panic!("the number of candidates");
    };
    assert!(refused(18, Value::Integer(candidates + 1)));
    let first = 19;
    for age in [2, 4, 1000, u64::MAX] {
        assert!(refused(first + 1, Value::Integer(age)), "{age}");
    }
    assert!(refused(first, values.values[first + 3].clone()));
    let mut unused = values.clone();
    unused.values[18] = Value::Integer(candidates + 1);
    unused.values.push_back(Value::Bytes(b"unused".to_vec()));
    unused.values.push_back(Value::Integer(0));
    unused.values.push_back(Value::Integer(0));
    assert!(load(&unused).is_err());
    // A sum that no panes have.
    assert!(refused(first + 2, Value::Integer(1 << 40)));
    // More candidates than the heap of a pane has elements.
    let mut many = values;
    many.values[18] = Value::Integer(candidates + 3);
    for number in 0..3 {
        for value in [
            Value::Bytes(vec![number; 9]),
            Value::Integer(1),
            Value::Integer(0),
        ] {
            many.values.push_back(value);
        }
    }
    assert!(load(&many).is_err());
}

/// Only a stored total can be that large.
#[test]
fn an_addition_to_saturated_counts_changes_nothing() {
    let mut saturated = sketch(1, 1, 1, 0.9, 1);
    saturated.add(b"a", u32::MAX).unwrap();
    let mut saturated = load(&with(&saved(&saturated), 10, Value::Integer(u64::MAX))).unwrap();
    assert_eq!(saturated.pane_total(0), u64::MAX);
    let before = digest(&saturated);
    assert!(!saturated.add(b"a", 1).unwrap().changed);
    assert_eq!(digest(&saturated), before);
}

#[test]
fn memory_is_requested_before_a_header_is_loaded() {
    let header = small().header().unwrap();
    let refused = TopKWindow::from_header(&header, Budget::new(&|_| false));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    // The largest dimensions: 2^40 bytes.
    let mut largest = header;
    for (field, number) in [(4, 1), (5, u64::from(u32::MAX)), (6, 32)] {
        largest[field * 8..field * 8 + 8].copy_from_slice(&number.to_le_bytes());
    }
    let refused = TopKWindow::from_header(&largest, Budget::new(&|bytes| bytes < 1 << 39));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
}
