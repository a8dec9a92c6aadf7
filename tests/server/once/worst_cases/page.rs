//! The tables of docs/contributing/worst-cases.md.

use crate::families::Family;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The slowest call of each command of a type.
pub type Rows = BTreeMap<String, Row>;

/// The slowest call of a command.
#[derive(Debug, Clone)]
pub struct Row {
    /// CPU time on the reference machine in nanoseconds.
    pub ns: f64,
    /// The bound.
    pub bound: f64,
    /// The key.
    pub key: String,
    /// The arguments.
    pub arguments: String,
}

const PAGE: &str = "docs/contributing/worst-cases.md";
/// With this variable, the test writes the tables instead of comparing their commands.
const WRITE: &str = "ROUGHLY_WRITE";
/// The line after a table.
const END: &str = "<!-- end -->";
const HEAD: &str = "| command | time |\n|---|---|\n";
/// The page has the calls that take at least this time in nanoseconds.
const SHORTEST: f64 = 20e6;

impl Row {
    /// One line for messages.
    pub fn describe(&self) -> String {
        let (time, bound) = (duration(self.ns), duration(self.bound));
        format!("{} ({}): {time}, bound {bound}", self.arguments, self.key)
    }
}

/// A time in a readable unit.
pub fn duration(ns: f64) -> String {
    let digits = |value: f64| {
        if value < 9.95 {
            format!("{value:.1}")
        } else {
            grouped(value.round() as u64)
        }
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
    let groups: Vec<_> = groups
        .map(|group| std::str::from_utf8(group).expect("digits"))
        .collect();
    groups.join(",")
}

/// The table of a type.
fn table(rows: &Rows) -> String {
    let mut text = HEAD.to_owned();
    for (command, row) in rows.iter().filter(|(_, row)| row.ns >= SHORTEST) {
        writeln!(text, "| {command} | {} |", duration(row.ns)).expect("a string");
    }
    text
}

/// The commands of a table, without the measured numbers.
fn commands(table: &str) -> Vec<&str> {
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" | ").next()).collect()
}

/// Writes the table of a type, or checks that its commands were measured. The times vary.
pub fn check_or_write(family: &Family, rows: &Rows) {
    // The tests of several types run at the same time.
    static FILE: Mutex<()> = Mutex::new(());
    let _guard = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = fs::read_to_string(&path).expect("the page");
    let begin = format!("<!-- begin: {} -->", family.type_name);
    let (before, rest) = page.split_once(&begin).expect("a marker before the table");
    let (found, after) = rest.split_once(END).expect("a marker after the table");
    if std::env::var_os(WRITE).is_some() {
        let page = format!("{before}{begin}\n{}{END}{after}", table(rows));
        fs::write(&path, page).expect("a file that can be written");
        return;
    }
    let listed = commands(found);
    assert!(listed.len() > 1, "no table of {}", family.type_name);
    let mut unknown = listed[1..].iter().copied();
    assert_eq!(
        unknown.find(|command| !rows.contains_key(*command)),
        None,
        "not measured: run `scripts/pages.sh worst-cases`"
    );
}

#[test]
fn durations_are_readable() {
    let text = [1.0, 12_300.0, 999_400.0, 1.23e6, 12.3e6, 0.1e9, 2.08e9].map(duration);
    assert_eq!(
        text,
        [
            "1 µs",
            "13 µs",
            "1,000 µs",
            "1.2 ms",
            "12 ms",
            "0.10 s",
            "2.08 s"
        ]
    );
}
