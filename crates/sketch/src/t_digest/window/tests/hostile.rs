//! Validation rules of stored forms.

use super::stored::leveled;
use super::*;
use crate::testing::check_rules;
use crate::window::Panes;
use roughly_dump::Value::{Bytes, Double, Integer};

fn nodes(nodes: &[(f64, u64)]) -> roughly_dump::Value {
    let bytes =
        (nodes.iter()).flat_map(|&(mean, weight)| [mean.to_le_bytes(), weight.to_le_bytes()]);
    Bytes(bytes.flatten().collect())
}

#[test]
fn every_rule_of_the_values_is_checked() {
    // Values 6 to 11 are the closed pane of the units 0 to 15, 12 to 17 that of unit 90, 18 to 23 that of unit 102, and 24 to
    // 29 the newest.
    let base = saved(&leveled());
    let load_values = |values: &mut Values| load(values.clone());
    let with_last = |mean, weight| nodes(&[(1.0, 1), (2.0, 1), (mean, weight)]);
    let order = "a pane is not live or not in order";
    let compressions = "the number of compressions is out of range";
    let bounds = "means are outside minimum and maximum";
    let unordered = "the means are not in order";
    let weight = "a weight is out of range";
    let unmerged = "the number of unmerged nodes is out of range";
    check_rules(
        &base,
        load_values,
        &[
            (0, Integer(0), "the window is out of range"),
            (1, Integer(101), "the window is out of range"),
            (2, Integer(500), order),
            (2, Integer(u64::MAX), "the newest pane is out of range"),
            (3, Integer(20_001), "the window is out of range"),
            (3, Integer(0), "the window is out of range"),
            (4, Integer(0), "the compression is out of range"),
            (5, Integer(38), "the number of panes is out of range"),
            (6, Integer(8), order),
            (12, Integer(91), order),
            (12, Integer(0), order),
            (12, Integer(102), order),
            (18, Integer(110), "the newest pane is closed"),
            (18, Integer(111), order),
            (7, Integer(0), "a pane is not closed"),
            (7, Integer(1 << 63), compressions),
            (8, Double(2.5), bounds),
            (8, Double(f64::NEG_INFINITY), bounds),
            (9, Double(2.5), bounds),
            (9, Double(f64::NAN), bounds),
            (10, Integer(251), "the number of nodes is out of range"),
            (10, Integer(1), "a string has another length"),
            (11, with_last(1.0, 1), unordered),
            (11, with_last(f64::NAN, 1), unordered),
            (11, with_last(f64::INFINITY, 1), unordered),
            (11, with_last(3.0, 0), weight),
            (11, nodes(&[(1.0, 1), (2.0, 1 << 63), (3.0, 1)]), weight),
            (11, with_last(3.0, i64::MAX as u64 - 1), weight),
            (
                11,
                with_last(3.0, i64::MAX as u64 - 5),
                "the weights overflow",
            ),
            (24, Integer(1 << 63), compressions),
            (25, Integer(3), unmerged),
            (28, Integer(611), "the number of nodes is out of range"),
        ],
    );
    let mut full = base.clone();
    full.values[11] = with_last(3.0, i64::MAX as u64 - 6);
    let mut full = load(full).unwrap();
    assert_eq!(full.observations_at(Panes::ALL), i64::MAX);
    let refused = full.add_within(&[3.0], Budget::UNLIMITED);
    assert_eq!(refused, Err(DigestError::Overflow));
    answers(&full, 111);
}

#[test]
fn a_closed_pane_has_nodes_and_a_newest_pane_need_not() {
    let empty = |values: &mut Values, first: usize| {
        values.values[first] = Double(f64::MAX);
        values.values[first + 1] = Double(f64::MIN);
        values.values[first + 2] = Integer(0);
        values.values.remove(first + 3);
    };
    let mut closed = saved(&leveled());
    empty(&mut closed, 8);
    assert!(load(closed).is_err());
    let mut newest = saved(&leveled());
    newest.values[25] = Integer(0);
    empty(&mut newest, 26);
    assert_eq!(load(newest.clone()).unwrap().observations_at(Panes::ALL), 5);
    for (at, value) in [
        (24, Integer(1)),
        (25, Integer(1)),
        (26, Double(1.0)),
        (27, Double(1.0)),
    ] {
        let mut changed = newest.clone();
        changed.values[at] = value;
        assert!(load(changed).is_err());
    }
}
