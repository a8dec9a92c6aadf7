//! The tables and the chart of scaling.

use crate::figure::{Point, Scale, Series};
use crate::plots::{bytes, curves};
use crate::tables::{grouped, items, number, text};
use serde_json::Value;
use std::fmt::Write;

/// Every table with the name of its markers.
pub fn all(results: &Value) -> Vec<(&'static str, String)> {
    let tables = [
        sizes(&results["sizes"]),
        throughput("items per command", &results["items"]),
        throughput("number of keys, one item per command", &results["keys"]),
        throughput(
            "sub-filters per chain, 100 items per command",
            &results["sub_filters"],
        ),
        agreement(results),
    ];
    vec![("scaling", tables.join("\n"))]
}

/// Look-ups and their limits by size of the filter, for docs/performance/scaling.svg.
pub fn figure(results: &Value) -> String {
    let of_size = |name: &str, field: &str, value: fn(&Value) -> f64| Series {
        name: format!("{name}{field}"),
        points: items(&results["sizes"])
            .filter_map(|size| {
                let look_up = items(&size["look_ups"]).find(|look_up| look_up["name"] == *name)?;
                Some(Point::from((number(&size["bytes"]), value(look_up))))
            })
            .collect(),
    };
    let names = ["Bloom, miss", "Bloom, hit", "cuckoo, miss"];
    let measured = names.map(|name| of_size(name, "", |look_up| number(&look_up["ns"]["fastest"])));
    let limits = names.map(|name| of_size(name, ": reads", |look_up| number(&look_up["limit_ns"])));
    curves(
        "Look-ups without a server,\nand the random reads that they need",
        [measured, limits].concat(),
        (Scale::Logarithmic, "size of the filter", bytes),
        "ns per look-up",
    )
}

fn sizes(sizes: &Value) -> String {
    let mut table = String::new();
    for size in items(sizes) {
        let look_ups = || items(&size["look_ups"]);
        if table.is_empty() {
            let heads = look_ups().map(|look_up| {
                format!(
                    " {} ({:.1} lines) |",
                    text(&look_up["name"]),
                    number(&look_up["lines"])
                )
            });
            let _ = writeln!(
                table,
                "| size | dependent read | overlapped read |{}",
                heads.collect::<String>()
            );
            let _ = writeln!(
                table,
                "|---:|---:|---:|{}",
                "---:|".repeat(look_ups().count())
            );
        }
        let cells = look_ups().map(|look_up| {
            format!(
                " {:.1} ns (limit {:.1}; {:.2} ×) |",
                number(&look_up["ns"]["fastest"]),
                number(&look_up["limit_ns"]),
                number(&look_up["ratio"])
            )
        });
        let _ = writeln!(
            table,
            "| {} | {:.1} ns | {:.1} ns |{}",
            bytes(number(&size["bytes"])),
            number(&size["dependent_ns"]["fastest"]),
            number(&size["overlapped_ns"]),
            cells.collect::<String>()
        );
    }
    table
}

/// Millions of items per second of CPU time.
fn throughput(label: &str, curves: &Value) -> String {
    let mut table = String::new();
    for curve in items(curves) {
        let points = || items(&curve["points"]);
        if table.is_empty() {
            let heads = points().map(|point| format!(" {} |", grouped(number(&point["number"]))));
            let heads: String = heads.collect();
            let _ = writeln!(table, "Million items per second and core, by {label}:\n");
            let _ = writeln!(table, "| command |{heads}");
            let _ = writeln!(table, "|---|{}", "---:|".repeat(points().count()));
        }
        let cells = points().map(|point| match 1e3 / number(&point["ns"]["fastest"]) {
            millions @ 10.0.. => format!(" {millions:.1} |"),
            millions => format!(" {millions:.2} |"),
        });
        let cells: String = cells.collect();
        let _ = writeln!(table, "| {} |{cells}", text(&curve["name"]));
    }
    table
}

/// How many times are reliable.
fn agreement(results: &Value) -> String {
    let of_curves = ["items", "keys", "sub_filters"]
        .into_iter()
        .flat_map(|kind| items(&results[kind]))
        .flat_map(|curve| items(&curve["points"]));
    let of_sizes = items(&results["sizes"]).flat_map(|size| items(&size["look_ups"]));
    let rounds: Vec<&Value> = of_curves
        .chain(of_sizes)
        .map(|point| &point["ns"])
        .collect();
    let agreeing = rounds
        .iter()
        .filter(|rounds| rounds["agree"] == true)
        .count();
    format!(
        "Server: {}. The fastest two rounds differ by at most 3 % for {agreeing} of {} times.\n",
        text(&results["server"]),
        rounds.len()
    )
}
