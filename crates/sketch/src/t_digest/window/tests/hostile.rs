//! Validation rules of stored forms.

use super::*;
use crate::testing::check_rules;
use roughly_dump::Value::{Bytes, Double, Integer};

#[test]
fn every_rule_of_the_values_is_checked() {
    let mut digest = window(100, 4);
    digest.advance(4);
    add(&mut digest, &[2.0, 1.0]);
    digest.advance(6);
    add(&mut digest, &[-7.25]);
    let base = saved(&digest);
    let load_values = |values: &mut Values| load(values.clone());
    // Values 5 to 16 are the closed pane 4, values 17 to 28 the newest.
    check_rules(
        &base,
        load_values,
        &[
            (2, Integer(9), "a pane is not live or not in order"),
            (4, Integer(6), "the number of panes is out of range"),
            (5, Integer(1), "a pane is not live or not in order"),
            (5, Integer(6), "a pane is not live or not in order"),
            (3, Integer(99), "a pane has another compression"),
            (
                6,
                Double(99.0),
                "the capacity does not go with the compression",
            ),
            (11, Integer(1), "a pane is not closed"),
            (12, Integer(0), "a pane is not closed"),
            (14, Double(1.0), "a pane is not closed"),
            (
                23,
                Integer(2),
                "the number of unmerged nodes is out of range",
            ),
            (24, Integer(u64::MAX), "a pane has no samples"),
            (
                26,
                Double(2.0),
                "the number of unmerged nodes is out of range",
            ),
        ],
    );
    let closed_weights = 16;
    // The weights of both panes overflow only together.
    let half = 2f64.powi(62);
    let mut values = base;
    values.values[13] = Double(half + 1024.0);
    values.values[closed_weights] = Bytes(string_of(&[half, 1024.0]));
    let mut full = load(values.clone()).unwrap();
    assert_eq!(full.observations_at(Panes::ALL), (1 << 62) + 1025);
    values.values[25] = Double(half);
    values.values[28] = Bytes(string_of(&[half]));
    values.values[23] = Integer(0);
    values.values[26] = Double(0.0);
    assert!(load(values).is_err());
    add(&mut full, &[3.0]);
    answers(&full, 6);
}
