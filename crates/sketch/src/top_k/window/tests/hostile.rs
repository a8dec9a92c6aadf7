//! Validation rules of stored forms.

use super::super::TopKWindow;
use super::{fed, leveled, saved, sketch};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{check_rules, with};
use crate::window::Timed;
use roughly_dump::Value::{self, Bytes, Double, Integer};
use roughly_dump::Values;
use std::cell::Cell;

/// A sketch with four live panes, one of them without a table, and candidates in every place.
fn small() -> TopKWindow {
    let mut sketch = sketch(3, 30, 2, 0.9, 3);
    for pane in [4, 6, 7] {
        sketch.advance(pane);
        for (item, increment) in [(&b"a"[..], 5), (b"", 7), (b"bc\0d", 100), (b"e", 3)] {
            sketch.add(item, increment + pane as u32).unwrap();
            (sketch.add(&[item, &[pane as u8]].concat(), increment)).unwrap();
        }
    }
    sketch
}

const BAD_NUMBER: &str = "the number of a candidate is out of range or not in order";

fn load(values: &Values) -> Result<TopKWindow, FormatError> {
    TopKWindow::load(&mut values.clone(), TopKWindow::ENCODING_VERSION, &())
}

/// The elements of a heap: counts and candidates.
fn elements(pairs: [(u32, u32); 3]) -> Value {
    let numbers = (pairs.into_iter()).flat_map(|(count, number)| [count, number]);
    Bytes(numbers.flat_map(u32::to_le_bytes).collect())
}

#[test]
fn every_rule_of_the_values_is_checked() {
    let values = saved(&small());
    // Values 11 and 12 are the heap and the list. From 13 on: three panes; first unit, total, table, number of candidates and three
    // candidates of those with the numbers 4 and 6; pane 7 without candidates; then the candidates.
    assert_eq!(values.values[13], Integer(3));
    let panes = [14, 21, 28].map(|value| values.values[value].clone());
    assert_eq!(panes, [4, 6, 7].map(Integer));
    let Integer(candidates) = values.values[32] else {
        panic!("the number of candidates");
    };
    assert_eq!(values.values.len() as u64, 33 + 2 * candidates);
    const TWICE: &str = "a candidate is in a heap twice";
    const NOT_LIVE: &str = "a pane is not live or not in order";
    let too_long = Bytes(vec![0; (16 << 20) + 1]);
    let mut rules = vec![
        (0, Integer(0), "the window is out of range"),
        (1, Integer(0), "the window is out of range"),
        (1, Integer(1001), "the window is out of range"),
        (2, Integer(u64::MAX), "the newest pane is out of range"),
        (3, Integer(0), "the window is out of range"),
        (3, Integer(1001), "the window is out of range"),
        (4, Integer(0), "k is out of range"),
        (4, Integer(1 << 32), "k is out of range"),
        (5, Integer(0), "the width is out of range"),
        (5, Integer(1 << 32), "the width is out of range"),
        (6, Integer(0), "the depth is out of range"),
        (6, Integer(1 << 32), "the depth is out of range"),
        (7, Double(0.0), "the decay is out of range"),
        (7, Double(-1.0), "the decay is out of range"),
        (7, Double(1.0 + f64::EPSILON), "the decay is out of range"),
        (7, Double(f64::NAN), "the decay is out of range"),
        (10, Integer(0), "the random state is not sound"),
        (13, Integer(5), "the number of panes is out of range"),
        (14, Integer(3), NOT_LIVE),
        (14, Integer(8), NOT_LIVE),
        (21, Integer(4), NOT_LIVE),
        (28, Integer(u64::MAX), NOT_LIVE),
        (15, Integer(0), "a closed pane has no counts"),
        (17, Integer(4), "a pane lists too many candidates"),
        (18, Integer(u64::MAX), BAD_NUMBER),
        (19, values.values[18].clone(), BAD_NUMBER),
        (20, Integer(candidates), BAD_NUMBER),
        (33, values.values[35].clone(), "a candidate is stored twice"),
        (34, Integer(1 << 40), "a sum is out of range"),
        (33, too_long, "the candidates have too many bytes"),
    ];
    for heap in [11, 12] {
        let [none, twice, no_count] =
            [1000, 1, 0].map(|number| elements([(1, 1), (1, 2), (1, number)]));
        rules.push((heap, none, BAD_NUMBER));
        rules.push((heap, twice, TWICE));
        rules.push((heap, no_count, "a count has no candidate"));
        for len in [16, 32] {
            rules.push((heap, Bytes(vec![0; len]), "a heap has not k elements"));
        }
    }
    for table in [16, 23, 30] {
        for len in [0, 40, 56] {
            rules.push((table, Bytes(vec![0; len]), "a string has another length"));
        }
    }
    check_rules(&values, |values| load(values), &rules);
    assert!(load(&with(&values, 32, Integer(candidates + 1))).is_err());
}

fn refused(values: &Values, rule: &'static str) {
    assert_eq!(load(values), Err(FormatError::Invalid(rule)));
}

/// A pane of level 0 in a window whose panes grow with age lists up to 2k candidates, every other one k.
#[test]
fn only_the_shortest_panes_list_more_than_k_candidates() {
    const RULE: &str = "a pane lists too many candidates";
    let mut sketch = leveled((2, 500, 2, 0.9), 1, 16);
    sketch.advance(1);
    sketch.add(b"a", 9).unwrap();
    sketch.advance(2);
    for (item, count) in [(b"a", 2), (b"b", 5), (b"d", 4)] {
        sketch.add(item, count).unwrap();
    }
    sketch.advance(6);
    let values = saved(&sketch);
    // Value 14 is the first unit of the older pane, which lists one candidate; 19 that of the other one.
    let counts = [&values.values[19], &values.values[22]];
    assert_eq!(counts, [&Integer(2), &Integer(3)]);
    assert_eq!(load(&values), Ok(sketch));
    refused(&with(&values, 22, Integer(5)), RULE);
    // The pane becomes one of level 1.
    refused(&with(&values, 2, Integer(7)), RULE);
}

/// Values of panes and candidates that contradict each other.
#[test]
fn what_contains_a_candidate_is_checked() {
    let values = saved(&small());
    let Integer(candidates) = values.values[32] else {
        panic!("the number of candidates");
    };
    let mut more = with(&values, 32, Integer(candidates + 1));
    more.values.extend([Bytes(vec![7; 9]), Integer(0)]);
    refused(&more, "nothing contains a candidate");
    // Without the heap and the list, nothing contains the candidates that were added last.
    let empty = elements([(0, 0); 3]);
    let unplaced = with(&with(&values, 11, empty.clone()), 12, empty.clone());
    refused(&unplaced, "nothing contains a candidate");
    // The newest pane lists none.
    let mut listing = with(&values, 31, Integer(1));
    listing.values.insert(32, Integer(0));
    refused(&listing, "the newest pane lists candidates");
    // Without the newest pane there is no heap, and every candidate is listed.
    let mut closed = with(&values, 13, Integer(2));
    closed.values.drain(28..32);
    refused(&closed, "no pane contains a candidate");
    let mut sketch = small();
    sketch.advance(8);
    let closed = saved(&sketch);
    assert_eq!(load(&closed), Ok(sketch));
    let heap = with(&closed, 11, elements([(0, 0), (0, 0), (5, 1)]));
    refused(&heap, "the newest pane has no table");
    // Pane 6 lists a new candidate instead of one that only the heap has then.
    let Integer(number) = values.values[27] else {
        panic!("the number of a candidate");
    };
    let numbers = [number as u32 + 1, candidates as u32];
    let heap = elements([(0, 0), (1, numbers[0]), (1, numbers[1])]);
    let mut moved = with(&with(&more, 11, heap), 27, Integer(candidates));
    let rule = "a listed candidate is not before the others";
    refused(&moved, rule);
    moved.values.truncate(values.values.len());
    moved.values[32] = Integer(candidates);
    refused(&moved, BAD_NUMBER);
}

/// Only a stored total can be that large.
#[test]
fn an_addition_to_saturated_counts_changes_nothing() {
    let mut saturated = sketch(1, 1, 1, 0.9, 1);
    saturated.add(b"a", u32::MAX).unwrap();
    let mut saturated = load(&with(&saved(&saturated), 15, Integer(u64::MAX))).unwrap();
    assert_eq!(saturated.pane_total(0), u64::MAX);
    let before = fed(&saturated);
    assert!(!saturated.add(b"a", 1).unwrap().changed);
    assert_eq!(fed(&saturated), before);
}

#[test]
fn memory_is_requested_before_a_header_is_loaded() {
    let header = small().header().unwrap();
    let refused = TopKWindow::from_header(&header, Budget::new(&|_| false));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    // The three tables, one after another.
    for allowed in 0..3 {
        let left = Cell::new(allowed);
        let allows = |bytes: u64| {
            assert_eq!(bytes, 480);
            left.set(left.get() - 1);
            left.get() >= 0
        };
        let refused = TopKWindow::from_header(&header, Budget::new(&allows));
        assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    }
}
