//! Validation rules of stored forms.

use super::*;
use crate::format::FormatError;
use crate::testing::{check_rules, with};
use roughly_dump::Value::{Double, Integer};

#[test]
fn every_rule_of_the_values_is_checked() {
    let integer = |value: i64| Integer(value.cast_unsigned());
    let compression = "the compression is out of range";
    let nodes = "the number of nodes is out of range";
    let order = "the means are not in order";
    let weight = "a weight is out of range";
    let sum = "the weights have another sum";
    let around = "means are outside minimum and maximum";
    let capacity = "the capacity does not go with the compression";
    let rules = [
        (0, Double(f64::NAN), compression),
        (0, Double(f64::INFINITY), compression),
        (0, Double(0.0), compression),
        (0, Double(-2.0), compression),
        (0, Double(2.5), compression),
        (0, Double(357_913_940.0), compression),
        (1, Double(1.5), around),
        (1, Double(f64::NAN), around),
        (1, Double(f64::NEG_INFINITY), around),
        (1, Double(4.0), around),
        (2, Double(2.5), around),
        (2, Double(f64::INFINITY), around),
        (3, integer(21), capacity),
        (3, integer(23), capacity),
        (3, integer(-1), capacity),
        (4, integer(-1), nodes),
        (4, integer(23), nodes),
        (4, integer(i64::MAX), nodes),
        (5, integer(1), "there are unmerged nodes"),
        (5, integer(-1), "there are unmerged nodes"),
        (7, Double(4.0), sum),
        (7, Double(f64::NAN), sum),
        (7, Double(-3.0), sum),
        (9, Double(f64::NAN), order),
        (9, Double(f64::NEG_INFINITY), order),
        (9, Double(2.5), order),
        (11, Double(1.5), order),
        (12, Double(0.5), weight),
        (12, Double(1.5), weight),
        (12, Double(-1.0), weight),
        (12, Double(f64::NAN), weight),
        (12, Double(2.0), sum),
    ];
    let three = saved(&digest_of(2, &[1.0, 2.0, 3.0]));
    check_rules(&three, |values| TDigest::load(values, 0, &()), &rules);
    // Rounding to doubles does not explain a sum of 1.5 * 2^63.
    let large = Double((1u64 << 62) as f64);
    let mut values = (12..15).fold(three, |values, weight| with(&values, weight, large.clone()));
    let refused = TDigest::load(&mut values, 0, &());
    assert_eq!(refused.err(), Some(FormatError::Invalid(sum)));
}

#[test]
fn memory_grows_only_with_the_nodes_that_are_read() {
    let mut values = saved(&digest(1));
    values.values[0] = Double(MAX_COMPRESSION.into());
    values.values[3] = Integer(capacity(MAX_COMPRESSION).into());
    values.values[4] = Integer(2_000_000_000);
    let refused = TDigest::load(&mut values, 0, &());
    assert_eq!(refused, Err(FormatError::Truncated));
}
