//! The tables of restarts and copies.

use crate::tables::{grouped, items, number, text};
use serde_json::Value;
use std::fmt::Write;

/// Every table with the name of its markers.
pub fn all(results: &Value) -> Vec<(&'static str, String)> {
    vec![
        ("restart", restart(&results["data_sets"])),
        ("t-digest-rdb", digests(&results["t_digests"])),
    ]
}

/// The measured operation with this name.
fn operation<'a>(operations: &'a Value, name: &Value) -> &'a Value {
    items(operations)
        .find(|operation| operation["name"] == *name)
        .unwrap_or_else(|| panic!("no operation {name}"))
}

/// `~` if the two fastest rounds differ by more than 3 %. Nothing if the results do not contain whether they agree.
fn mark(operation: &Value) -> &'static str {
    match operation["seconds"]["agree"].as_bool() {
        Some(false) => "~",
        Some(true) | None => "",
    }
}

/// Seconds with three significant digits, and [`mark`].
fn seconds(operation: &Value) -> String {
    let seconds = number(&operation["seconds"]["fastest"]);
    let digits = match seconds {
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{}{seconds:.digits$}", mark(operation))
}

fn mebibytes(bytes: f64) -> String {
    grouped(bytes / f64::from(1 << 20))
}

fn restart(sets: &Value) -> String {
    let names: String = items(sets)
        .map(|set| format!(" {} |", text(&set["name"])))
        .collect();
    let head = |first: &str| {
        let columns = "---:|".repeat(items(sets).count());
        format!("| {first} |{names}\n|---|{columns}\n")
    };
    let mut tables = head("seconds (× plain strings)");
    each_operation(sets, &mut tables, |operation, of_strings| {
        let fastest = |of: &Value| number(&of["seconds"]["fastest"]);
        let ratio = fastest(operation) / fastest(of_strings);
        format!("{} ({ratio:.2} ×)", seconds(operation))
    });
    let peaks = |tables: &mut String, field: &str| {
        each_operation(sets, tables, |operation, of_strings| {
            let peak = |of: &Value| of[field].as_f64();
            match (peak(operation), peak(of_strings)) {
                (Some(bytes), Some(string_bytes)) => {
                    format!("{} ({:.2} ×)", mebibytes(bytes), bytes / string_bytes)
                }
                _ => String::new(),
            }
        });
    };
    let _ = write!(
        tables,
        "\n{}",
        head("peak memory of the server, MiB (× plain strings)")
    );
    peaks(&mut tables, "peak_bytes");
    let _ = write!(
        tables,
        "\n{}",
        head("peak memory of the replica, MiB (× plain strings)")
    );
    peaks(&mut tables, "replica_peak_bytes");
    let _ = write!(tables, "\n{}", head("sizes"));
    for (name, size) in SIZES {
        if let Some(sizes) = items(sets).map(size).collect::<Option<Vec<_>>>() {
            let _ = writeln!(tables, "| {name} | {} |", sizes.join(" | "));
        }
    }
    tables
}

/// A row of the table of sizes: its name, and its cell for a data set.
type Size = (&'static str, fn(&Value) -> Option<String>);

const SIZES: [Size; 4] = [
    ("keys", |set| set["keys"].as_f64().map(grouped)),
    ("RDB file, MiB", |set| {
        set["rdb_bytes"].as_f64().map(mebibytes)
    }),
    ("append-only file, MiB", |set| {
        let rewrite = operation(&set["operations"], &Value::from("BGREWRITEAOF"));
        rewrite["file_bytes"].as_f64().map(mebibytes)
    }),
    ("plain strings", |set| {
        set["strings"]["keys"].as_f64().map(grouped)
    }),
];

/// A row per operation, with a cell per data set from the operation on the data set and on the plain strings. Omits rows
/// without any contents.
fn each_operation(sets: &Value, table: &mut String, cell: impl Fn(&Value, &Value) -> String) {
    let Some(first) = items(sets).next() else {
        return;
    };
    for name in items(&first["operations"]).map(|operation| &operation["name"]) {
        let cells: Vec<String> = items(sets)
            .map(|set| {
                let of_strings = operation(&set["strings"]["operations"], name);
                cell(operation(&set["operations"], name), of_strings)
            })
            .collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(table, "| {} | {} |", text(name), cells.join(" | "));
        }
    }
}

fn digests(rows: &Value) -> String {
    let mut table = String::from(
        "| samples per digest | bytes per key | save, µs per key | load, µs per key | after a merge: bytes | save, µs | load, µs |\n\
         |---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in items(rows).filter(|row| row["is_merged"] == false) {
        let merged = items(rows)
            .find(|other| other["is_merged"] == true && other["samples"] == row["samples"])
            .expect("the same digests after a merge");
        let cells: String = [row, merged]
            .into_iter()
            .flat_map(|row| {
                let keys = number(&row["keys"]);
                let micros = |operation: &Value| {
                    let micros = number(&operation["seconds"]["fastest"]) * 1e6 / keys;
                    format!("{}{micros:.2}", mark(operation))
                };
                let [save, load] = &row["operations"].as_array().expect("an array")[..] else {
                    panic!("expected a save and a load");
                };
                let bytes = grouped(number(&row["rdb_bytes"]) / keys);
                [bytes, micros(save), micros(load)]
            })
            .map(|cell| format!(" {cell} |"))
            .collect();
        let _ = writeln!(table, "| {} |{cells}", grouped(number(&row["samples"])));
    }
    table
}
