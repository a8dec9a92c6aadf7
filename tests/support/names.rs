//! Comparison of lists of names.

use std::collections::BTreeMap;
use std::fmt::Display;

/// Checks that two lists have the same names, each as often, in any order. A failure prints only the names that differ.
#[track_caller]
pub fn assert_same_names<F: Display, E: Display>(
    found: impl IntoIterator<Item = F>,
    expected: impl IntoIterator<Item = E>,
    subject: &str,
) {
    let mut surplus = BTreeMap::new();
    for name in found {
        *surplus.entry(name.to_string()).or_insert(0) += 1;
    }
    for name in expected {
        *surplus.entry(name.to_string()).or_insert(0) -= 1;
    }
    surplus.retain(|_, count| *count != 0);
    let (unexpected, missing): (Vec<_>, Vec<_>) =
        surplus.iter().partition(|&(_, &count)| count > 0);
    let names = |differing: &[(&String, &i32)]| {
        let names = differing.iter().map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    assert!(
        surplus.is_empty(),
        "{subject}: missing: [{}], unexpected: [{}]",
        names(&missing),
        names(&unexpected)
    );
}
