//! What the test prints: the slowest call of each command.

use std::collections::BTreeMap;

/// The slowest call of each command of a type.
pub type Rows = BTreeMap<String, Row>;

/// The slowest call of a command.
#[derive(Debug, Clone)]
pub struct Row {
    /// CPU time on the reference machine in nanoseconds.
    pub ns: f64,
    pub bound: f64,
    pub key: String,
    pub arguments: String,
}

impl Row {
    /// One line for messages.
    pub fn describe(&self) -> String {
        let (time, bound) = (duration(self.ns), duration(self.bound));
        format!("{} ({}): {time}, bound {bound}", self.arguments, self.key)
    }
}

/// A time in a readable unit.
pub fn duration(ns: f64) -> String {
    let digits = |value: f64| match value < 9.95 {
        true => format!("{value:.1}"),
        false => grouped(value.round() as u64),
    };
    match ns {
        0.0..999_500.0 => format!("{} µs", grouped((ns / 1e3).ceil() as u64)),
        0.0..99_500_000.0 => format!("{} ms", digits(ns / 1e6)),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

/// A number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[test]
fn durations_are_readable() {
    let text = [1.0, 12_300.0, 999_400.0, 1.23e6, 12.3e6, 0.1e9, 2.08e9].map(duration);
    let expected = "1 µs; 13 µs; 1,000 µs; 1.2 ms; 12 ms; 0.10 s; 2.08 s";
    assert_eq!(text.join("; "), expected);
}
