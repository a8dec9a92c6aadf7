//! Validation rules of stored forms.

use super::super::TopKWindow;
use super::{digest, saved, sketch};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{check_rules, with};
use crate::window::Timed;
use roughly_dump::Value::{self, Bytes, Double, Integer};
use roughly_dump::Values;

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

fn load(values: &Values) -> Result<TopKWindow, FormatError> {
    TopKWindow::load(&mut values.clone(), TopKWindow::ENCODING_VERSION, &())
}

/// The elements of a heap: counts and candidates.
fn elements(pairs: [(u32, u32); 3]) -> Value {
    let numbers = pairs
        .into_iter()
        .flat_map(|(count, number)| [count, number]);
    Bytes(numbers.flat_map(u32::to_le_bytes).collect())
}

#[test]
fn every_rule_of_the_values_is_checked() {
    let values = saved(&small());
    // Values 8 and 9 are the heap and the list, 10 to 17 the panes, 18 the number of candidates; then the candidates.
    check_rules(
        &values,
        |values| load(values),
        &[
            (0, Integer(0), "the window is out of range"),
            (1, Integer(0), "the window is out of range"),
            (1, Integer(1001), "the window is out of range"),
            (2, Integer(u64::MAX), "the newest pane is out of range"),
            (3, Integer(0), "k is out of range"),
            (3, Integer(1 << 32), "k is out of range"),
            (4, Integer(0), "the width is out of range"),
            (4, Integer(1 << 32), "the width is out of range"),
            (5, Integer(0), "the depth is out of range"),
            (5, Integer(1 << 32), "the depth is out of range"),
            (6, Double(0.0), "the decay is out of range"),
            (6, Double(-1.0), "the decay is out of range"),
            (6, Double(1.0 + f64::EPSILON), "the decay is out of range"),
            (6, Double(f64::NAN), "the decay is out of range"),
            (7, Integer(0), "the random state is not sound"),
            (
                8,
                elements([(1, 1), (1, 1), (1, 2)]),
                "a candidate is in a heap twice",
            ),
            (
                8,
                elements([(1, 1), (1, 2), (1, 1000)]),
                "a candidate does not exist",
            ),
            (
                8,
                elements([(1, 0), (1, 1), (1, 2)]),
                "a count has no candidate",
            ),
            (8, Bytes(vec![0; 16]), "a heap has not k elements"),
            (8, Bytes(vec![0; 32]), "a heap has not k elements"),
            (
                9,
                elements([(1, 1), (1, 1), (1, 2)]),
                "a candidate is in a heap twice",
            ),
            (
                9,
                elements([(1, 1), (1, 2), (1, 1000)]),
                "a candidate does not exist",
            ),
            (
                9,
                elements([(1, 0), (1, 1), (1, 2)]),
                "a count has no candidate",
            ),
            (9, Bytes(vec![0; 16]), "a heap has not k elements"),
            (9, Bytes(vec![0; 32]), "a heap has not k elements"),
            (
                11,
                Bytes(vec![0; 40]),
                "a table has not width x depth buckets",
            ),
            (
                13,
                Bytes(vec![0; 40]),
                "a table has not width x depth buckets",
            ),
            (
                15,
                Bytes(vec![0; 40]),
                "a table has not width x depth buckets",
            ),
            (
                17,
                Bytes(vec![0; 40]),
                "a table has not width x depth buckets",
            ),
            (12, Integer(1), "a pane with counts has no table"),
            (17, Bytes(Vec::new()), "a pane with counts has no table"),
            (20, Integer(2), "nothing keeps a candidate"),
            (20, Integer(4), "nothing keeps a candidate"),
            (20, Integer(1000), "nothing keeps a candidate"),
            (20, Integer(u64::MAX), "nothing keeps a candidate"),
            (19, values.values[22].clone(), "a candidate is stored twice"),
            (21, Integer(1 << 40), "a sum is out of range"),
            (
                19,
                Bytes(vec![0; (16 << 20) + 1]),
                "the candidates have too many bytes",
            ),
        ],
    );
    let Integer(candidates) = values.values[18] else {
        panic!("the number of candidates");
    };
    assert!(load(&with(&values, 18, Integer(candidates + 1))).is_err());
    // The heap has the counts of the newest pane.
    let without_table = with(&with(&values, 16, Integer(0)), 17, Bytes(Vec::new()));
    let rule = "the newest pane has no table";
    assert_eq!(load(&without_table), Err(FormatError::Invalid(rule)));
    // A candidate that nothing keeps, and more candidates than the heap of a pane has elements.
    for (number, age, rule) in [
        (1, 0, "nothing keeps a candidate"),
        (3, 1, "a pane keeps more than k candidates"),
    ] {
        let mut more = with(&values, 18, Integer(candidates + number));
        for number in 0..number {
            let candidate = [Bytes(vec![number as u8; 9]), Integer(age), Integer(0)];
            more.values.extend(candidate);
        }
        assert_eq!(load(&more), Err(FormatError::Invalid(rule)));
    }
}

/// Only a stored total can be that large.
#[test]
fn an_addition_to_saturated_counts_changes_nothing() {
    let mut saturated = sketch(1, 1, 1, 0.9, 1);
    saturated.add(b"a", u32::MAX).unwrap();
    let mut saturated = load(&with(&saved(&saturated), 10, Integer(u64::MAX))).unwrap();
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
