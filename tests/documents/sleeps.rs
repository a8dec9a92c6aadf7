//! Tests wait for events, not for times: no test, and no script that .ci/run calls, sleeps for more than 50 ms at once. The tests of the
//! examples in the documents move the clock of the server instead.

use super::citations::listed;
use std::fs;

const MAX_MS: f64 = 50.0;

/// Files that .ci/run does not run: a server that defragments, benchmarks, recorded figures, browsers, and a program of users.
const OTHERS: &str =
    "benches/ scripts/copy-sketches scripts/bench.sh scripts/site/ tests/defrag.rs";

/// Calls that sleep: the start, and the unit of the argument in milliseconds, or none if it is a `Duration`.
const CALLS: &[(&str, Option<f64>)] = &[
    ("thread::sleep(", None),
    ("time.sleep(", Some(1e3)),
    ("DEBUG SLEEP ", Some(1e3)),
];

/// Constructors of `Duration`, and their units in milliseconds.
const DURATIONS: &[(&str, f64)] = &[
    ("from_secs(", 1e3),
    ("from_millis(", 1.0),
    ("from_micros(", 1e-3),
    ("from_nanos(", 1e-6),
];

/// The text up to the parenthesis that closes it.
fn argument(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|char| {
        depth += i32::from(char == '(') - i32::from(char == ')');
        depth == 0
    });
    &text[..end.unwrap_or(text.len())]
}

/// The largest number in an expression.
fn largest(text: &str) -> Option<f64> {
    let numbers = text.split(|char: char| !char.is_ascii_digit() && !['.', '_'].contains(&char));
    let numbers = numbers.filter_map(|number| number.replace('_', "").parse().ok());
    numbers.reduce(f64::max)
}

/// An expression with the values of the constants of its source.
fn with_constants(expression: &str, source: &str) -> String {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let mut text = expression.to_owned();
    for name in expression.split(|char: char| !is_part(char)) {
        let definition = source.split_once(&format!("const {name}: "));
        let value = definition.and_then(|(_, rest)| rest.split(';').next()?.split_once('='));
        text = text.replace(name, value.map_or(name, |(_, value)| value));
    }
    text
}

/// The milliseconds of each sleep in a source; infinite if neither the call nor a constant of the source has a number.
fn sleeps(source: &str) -> Vec<f64> {
    let mut found = Vec::new();
    for line in source.lines() {
        for (call, unit) in CALLS {
            // A quotation mark follows the start of a line of a document (tests/server/each_server/documents/environment.rs).
            let rest = line.split_once(call).map(|(_, rest)| rest);
            let Some(rest) = rest.filter(|rest| !rest.starts_with('"')) else {
                continue;
            };
            let text = with_constants(argument(rest), source);
            let ms = match unit {
                Some(unit) => largest(&text).map(|number| number * unit),
                None => DURATIONS.iter().find_map(|(constructor, unit)| {
                    let (_, rest) = text.split_once(constructor)?;
                    Some(largest(argument(rest))? * unit)
                }),
            };
            found.push(ms.unwrap_or(f64::INFINITY));
        }
        // In a shell.
        if let Some(seconds) = line.trim().strip_prefix("sleep ") {
            found.push(largest(seconds).map_or(f64::INFINITY, |number| number * 1e3));
        }
    }
    found
}

#[test]
fn nothing_sleeps_for_long() {
    let mut count = 0;
    let mut long = Vec::new();
    for path in listed(&["*.rs", "*.py", "*.sh", "*.mjs", ".ci/run", "Makefile"]) {
        let name = path.display().to_string();
        let mut others = OTHERS.split(' ');
        if others.any(|start| name.starts_with(start)) || name.ends_with("/sleeps.rs") {
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source");
        for ms in sleeps(&source) {
            count += 1;
            if ms > MAX_MS {
                long.push(format!("{name}: {ms} ms"));
            }
        }
    }
    assert!(count > 20, "{count} sleeps");
    assert!(long.is_empty(), "wait for an event: {long:#?}");
}

#[test]
fn long_sleeps_are_found() {
    for (source, expected) in [
        ("thread::sleep(Duration::from_millis(51));", 51.0),
        ("std::thread::sleep(Duration::from_secs(1));", 1e3),
        (
            "const A: u64 = 70;\nthread::sleep(Duration::from_millis(A + 1));",
            70.0,
        ),
        (
            "const B: Duration = Duration::from_millis(700);\n  thread::sleep(B);",
            700.0,
        ),
        (
            "const B: Duration = Duration::from_millis(8);\nthread::sleep(B * below(1000));",
            8.0,
        ),
        ("thread::sleep(time);", f64::INFINITY),
        (
            "thread::sleep(Duration::from_micros(random.below(5_000)));",
            5.0,
        ),
        ("    time.sleep(0.2)", 200.0),
        ("    sleep 0.1", 100.0),
        ("sleep \"$seconds\"", f64::INFINITY),
        ("call(\"DEBUG SLEEP 2\")", 2e3),
    ] {
        assert_eq!(sleeps(source), [expected], "{source}");
    }
    assert!(sleeps("// It sleeps.\nsleeper(1000);").is_empty());
}
