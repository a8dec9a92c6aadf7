//! The tables of filters with a sliding window.

use crate::tables::{items, number, text};
use serde_json::Value;
use std::fmt::Write;

/// Every table with the name of its markers.
pub fn all(results: &Value) -> Vec<(&'static str, String)> {
    vec![
        ("window-filters", figures(&results["figures"])),
        ("window-filter-commands", figures(&results["commands"])),
        ("window-filter-loads", loads(&results["loads"])),
        (
            "window-filter-alternatives",
            alternatives(&results["alternatives"]),
        ),
    ]
}

/// Three significant digits; no decimals from 100 on.
fn shown(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.5}").trim_end_matches('0').to_owned(),
    }
}

fn figures(figures: &Value) -> String {
    let mut table = String::from("| figure | measured |\n|---|---:|\n");
    for figure in items(figures) {
        let (name, unit) = (text(&figure["name"]), text(&figure["unit"]));
        let value = shown(number(&figure["value"]));
        let _ = writeln!(table, "| {name} | {value} {unit} |");
    }
    table
}

fn loads(rows: &Value) -> String {
    let mut table = String::new();
    for row in items(rows) {
        if table.is_empty() {
            let loads: Vec<_> = items(&row["loads"]).map(number).collect();
            let heads = loads.iter().map(|load| format!(" {load} % |"));
            let _ = writeln!(table, "| filter |{}", heads.collect::<String>());
            let _ = writeln!(table, "|---|{}", "---:|".repeat(loads.len()));
        }
        let times = items(&row["ns"]).map(|time| format!(" {:.0} |", number(time)));
        let _ = writeln!(
            table,
            "| {} |{}",
            text(&row["name"]),
            times.collect::<String>()
        );
    }
    table
}

fn alternatives(results: &Value) -> String {
    let mut table = String::from(
        "| structure | bits per item | cache lines of a miss | ns per hit | ns per miss | lifetime of items, in windows |\n\
         |---|---:|---:|---:|---:|---|\n",
    );
    for row in items(&results["rows"]) {
        let or_dash = |value: &Value, decimals: usize| {
            let value = value.as_f64();
            value.map_or("–".to_owned(), |value| format!("{value:.decimals$}"))
        };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} |",
            text(&row["name"]),
            or_dash(&row["bits"], 1),
            or_dash(&row["lines"], 1),
            or_dash(&row["times"][0], 0),
            or_dash(&row["times"][1], 0),
            text(&row["counts"]),
        );
    }
    table
}
