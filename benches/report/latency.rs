//! The tables of latencies under load.

use crate::tables::{grouped, items, number, text};
use serde_json::Value;
use std::fmt::Write;

/// Every table with the name of its markers.
pub fn all(results: &Value) -> Vec<(&'static str, String)> {
    vec![
        ("latency", latencies(results)),
        ("latency-pauses", pauses(results)),
    ]
}

/// A time with its unit and three significant digits.
fn time(us: f64) -> String {
    match us {
        1_000_000.0.. => format!("{:.2} s", us / 1e6),
        100_000.0.. => format!("{:.0} ms", us / 1e3),
        10_000.0.. => format!("{:.1} ms", us / 1e3),
        1_000.0.. => format!("{:.2} ms", us / 1e3),
        100.0.. => format!("{us:.0} µs"),
        _ => format!("{us:.1} µs"),
    }
}

/// The values without repetitions, in order.
fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

fn events(results: &Value) -> Vec<String> {
    distinct(items(&results["cells"]).map(|cell| text(&cell["event"]).to_owned()))
}

fn latencies(results: &Value) -> String {
    let cells: Vec<&Value> = items(&results["cells"]).collect();
    let mut table = String::from(
        "| command | during | saturation, commands/s | p50 at 50 % | p99 | p99.9 | p50 at 90 % | p99 | p99.9 |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let commands = distinct(cells.iter().map(|cell| text(&cell["command"]).to_owned()));
    for command in commands {
        for event in events(results) {
            let of_load = |load: u32| {
                let mut cells = cells.iter();
                cells.find(|cell| {
                    cell["command"] == command && cell["event"] == event && cell["load"] == load
                })
            };
            let times = |cell: &Value| {
                let fields = ["p50_us", "p99_us", "p999_us"];
                fields.map(|field| time(number(&cell[field]))).join(" | ")
            };
            if let (Some(half), Some(most)) = (of_load(50), of_load(90)) {
                let rates = [half, most].map(|cell| number(&cell["saturation"]["per_second"]));
                let rate = (rates[0] + rates[1]) / 2.0;
                let _ = writeln!(
                    table,
                    "| {command} | {event} | {} | {} | {} |",
                    grouped(rate.round()),
                    times(half),
                    times(most),
                );
            }
        }
    }
    let _ = writeln!(table, "\n{}", method(results, &cells));
    table
}

/// The server, the connections, the CPU time at saturation, and how much the rounds differ.
fn method(results: &Value, cells: &[&Value]) -> String {
    let mut line = format!(
        "{}, {} connections, {:.0} MiB of resident memory.",
        text(&results["server"]),
        results["connections"],
        number(&results["resident_bytes"]) / f64::from(1 << 20)
    );
    match results["defragmenting_server"].as_str() {
        Some(server) => _ = write!(line, " Active defragmentation: {server}, other data."),
        None => line.push_str(" Active defragmentation was not measured."),
    }
    let loops = cells.iter().map(|cell| &cell["saturation"]);
    let shares = loops.map(|closed| 100.0 * number(&closed["server_cpu_share"]));
    let (least, most) = shares.fold((f64::INFINITY, 0.0f64), |(least, most), share| {
        (least.min(share), most.max(share))
    });
    let _ = write!(
        line,
        " At saturation, the main thread of the server runs {least:.0} to {most:.0} % of the time."
    );
    let rounds = &results["rounds"];
    let repeated = cells.iter().map(|cell| &cell["p99_ns_of_rounds"]);
    let mut spreads: Vec<f64> = repeated
        .filter(|rounds| number(&rounds["rounds"]) > 1.0)
        .map(|rounds| number(&rounds["spread"]))
        .collect();
    spreads.sort_by(f64::total_cmp);
    if let (Some(median), Some(most)) = (spreads.get(spreads.len() / 2), spreads.last()) {
        let _ = write!(
            line,
            " The largest p99 of the rounds (at most {rounds}) is in the median {:.1} times and at most {:.1} times the smallest.",
            median + 1.0,
            most + 1.0
        );
    }
    line
}

fn pauses(results: &Value) -> String {
    let mut table = String::from(
        "| during | load | longest pause | command | cause | fork | server waited for a processor | server ran | page faults | longest command in SLOWLOG | median of the commands |\n\
         |---|---:|---:|---|---|---:|---:|---:|---:|---|---:|\n",
    );
    let ms = |value: &Value| time(number(value) * 1e3);
    for event in events(results) {
        for load in [50, 90] {
            let of_row = items(&results["cells"])
                .filter(|cell| cell["event"] == *event && cell["load"] == load);
            let mut cells: Vec<&Value> = of_row.collect();
            cells.sort_by(|a, b| number(&a["pause"]["ms"]).total_cmp(&number(&b["pause"]["ms"])));
            let Some(longest) = cells.last() else {
                continue;
            };
            let pause = &longest["pause"];
            let fork = match number(&pause["fork_ms"]) {
                0.0 => "none".to_owned(),
                _ => ms(&pause["fork_ms"]),
            };
            let command = match text(&pause["longest_command"]) {
                "" => "none above 100 µs".to_owned(),
                name => format!("{name}, {}", ms(&pause["longest_command_ms"])),
            };
            let _ = writeln!(
                table,
                "| {event} | {load} % | {} | {} | {} | {fork} | {} | {} | {} | {command} | {} |",
                ms(&pause["ms"]),
                text(&longest["command"]),
                text(&pause["cause"]),
                ms(&pause["server_waiting_ms"]),
                ms(&pause["server_running_ms"]),
                grouped(number(&pause["server_page_faults"])),
                ms(&cells[cells.len() / 2]["pause"]["ms"]),
            );
        }
    }
    table
}
