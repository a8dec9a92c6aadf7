//! The arithmetic of the benchmarks' reports.

// This test uses only a part of these modules.
#[allow(dead_code)]
#[path = "report/comparison.rs"]
mod comparison;
#[allow(dead_code)]
#[path = "rounds/mod.rs"]
mod rounds;

use comparison::{Comparison, Row};
use rounds::{Rounds, until_agreement};
use serde_json::{Value, json};

/// Results of commit 99b6e68 beside another module, as they were recorded without ranges.
fn recorded() -> Value {
    json!({
        "server": "Redis 8.0.2",
        "roughly": "99b6e68",
        "peer": "RedisBloom 8.10",
        "cases": {
            "A": {"roughly": 60, "peer": 100},
            "B": {"roughly": 50, "peer": 200},
        },
    })
}

fn baseline(commit: &str) -> Value {
    json!({
        "server": "Redis 7.0.15",
        "roughly": "0123456789ab",
        "peer": commit,
        "cases": {"A": {
            "roughly": 45, "peer": 50, "ratio_low": 0.8, "ratio_high": 1.0, "rounds": 4, "agree": false,
        }},
    })
}

fn row(comparison: &Comparison, name: &str) -> Row {
    comparison.row(name).expect("the case")
}

fn assert_close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} {b}");
}

#[test]
fn without_a_baseline_the_ratio_is_the_measured_one() {
    let comparison = Comparison::new(recorded(), None);
    let a = row(&comparison, "A");
    assert_close(a.newest().value, 0.6);
    assert_eq!((a.product, a.newest().range), (None, None));
    assert_eq!(comparison.newer(), None);
    assert_eq!(comparison.row("C"), None);
}

#[test]
fn with_a_baseline_the_ratio_is_a_product() {
    let comparison = Comparison::new(recorded(), Some(baseline("99b6e685004e")));
    assert_eq!(comparison.newer(), Some(("0123456789ab", "Redis 7.0.15")));
    let a = row(&comparison, "A");
    assert_close(a.measured.value, 0.6);
    assert_close(a.newest().value, 0.6 * 0.9);
    let (low, high) = a.newest().range.expect("a range");
    assert_close(low, 0.6 * 0.8);
    assert_close(high, 0.6 * 1.0);
    assert!(a.measured.agree && !a.newest().agree);
    // The baseline has no such case.
    assert_close(row(&comparison, "B").newest().value, 0.25);
    assert_eq!(row(&comparison, "B").product, None);
}

#[test]
fn ranges_of_both_runs_are_multiplied() {
    let mut results = recorded();
    results["cases"]["A"]["ratio_low"] = json!(0.5);
    results["cases"]["A"]["ratio_high"] = json!(0.7);
    let comparison = Comparison::new(results, Some(baseline("99b6e68")));
    let (low, high) = row(&comparison, "A").newest().range.expect("a range");
    assert_close(low, 0.5 * 0.8);
    assert_close(high, 0.7 * 1.0);
}

#[test]
fn a_baseline_of_another_commit_is_ignored() {
    for commit in ["0123456789ab", ""] {
        let comparison = Comparison::new(recorded(), Some(baseline(commit)));
        assert_eq!(row(&comparison, "A").product, None, "{commit:?}");
    }
}

#[test]
fn rounds_end_when_two_agree() {
    let measure = |times: &[f64], min, max| {
        let mut next = times.iter().copied();
        until_agreement(min, max, || next.next().expect("a round"))
    };
    let rounds = measure(&[130.0, 100.0, 120.0, 102.0, 1.0], 3, 12);
    assert_eq!(rounds.to_json()["rounds"], 4);
    assert!(rounds.agree());
    assert_close(rounds.fastest(), 100.0);
    assert_close(rounds.spread(), 0.3);
    // At least the minimum, at most the maximum.
    assert_eq!(
        measure(&[100.0, 100.0, 100.0], 3, 12).to_json()["rounds"],
        3
    );
    let rounds = measure(&[100.0, 110.0, 120.0], 2, 3);
    assert_eq!(rounds.to_json()["rounds"], 3);
    assert!(!rounds.agree());
    assert!(!Rounds::default().agree());
}
