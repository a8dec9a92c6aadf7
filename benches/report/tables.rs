//! The tables of docs/performance.md.

use crate::Results;
use serde_json::Value;
use std::fmt::Write;

/// Every table with the name of its markers.
pub fn all(results: &Results) -> Vec<(&'static str, String)> {
    vec![
        ("machine", machine(results)),
        ("summary", summary(&results.server["cases"])),
        ("cases", cases(&results.server["cases"])),
        ("instructions", instructions(&results.instructions)),
        ("pauses", pauses(&results.server["pauses"])),
        ("windows", windows(&results.windows["figures"])),
        ("references", references(&results.references["filters"])),
        ("digests", digests(&results.references["digests"])),
    ]
}

pub fn items(of: &Value) -> impl Iterator<Item = &Value> {
    of.as_array().expect("an array").iter()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Digits in groups of three.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut grouped = sign.to_owned();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A multiple, with at most two decimals.
fn multiple(of: f64) -> String {
    match of {
        10.0.. => format!("{of:.1}"),
        _ => format!("{of:.2}"),
    }
}

fn machine(results: &Results) -> String {
    let machine = &results.server["machine"];
    let loads = [&results.server, &results.references, &results.growth];
    let loads = loads.map(|bench| {
        let load = |when| number(&bench["machine"][when]);
        format!(
            "{:.1} before and {:.1} after",
            load("load_before"),
            load("load_after")
        )
    });
    let exists = items(&results.server["cases"]).map(|case| number(&case["exists_ns"]));
    let (least, most) = exists.fold((f64::INFINITY, 0.0f64), |(least, most), ns| {
        (least.min(ns), most.max(ns))
    });
    let mut table = String::from("| | |\n|---|---|\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(table, "| {name} | {value} |");
    };
    row("date", text(&machine["date"]));
    row(
        "processor",
        &format!(
            "{}, {} cores of a virtual machine",
            text(&machine["processor"]),
            machine["processors"]
        ),
    );
    row("caches", text(&machine["caches"]));
    row("memory", text(&machine["memory"]));
    row(
        "transparent huge pages",
        text(&machine["transparent_huge_pages"]),
    );
    row("operating system", text(&machine["kernel"]));
    row("compiler", text(&machine["compiler"]));
    row(
        "server",
        &format!(
            "{}, {}",
            text(&results.server["server"]),
            text(&results.server["allocator"])
        ),
    );
    row("load average, server benchmark", &loads[0]);
    row("load average, comparison", &loads[1]);
    row("load average, curves", &loads[2]);
    row(
        "`EXISTS nokey`",
        &format!(
            "{least:.0} to {most:.0} ns (fastest of {} rounds, measured for each case)",
            results.server["rounds"]
        ),
    );
    table
}

/// An operation, its case with one item, and its case with many items and their number.
type SummaryRow = (&'static str, &'static str, Option<(&'static str, f64)>);

const SUMMARY: [SummaryRow; 12] = [
    (
        "Bloom filter: add",
        "BF.ADD, 10M",
        Some(("BF.MADD x100, 10M", 100.0)),
    ),
    (
        "Bloom filter: test",
        "BF.EXISTS, 10M",
        Some(("BF.MEXISTS x100, 200M cold", 100.0)),
    ),
    (
        "Cuckoo filter: add",
        "CF.ADD, 10M",
        Some(("CF.INSERT x100, 200M cold, pre-faulted", 100.0)),
    ),
    (
        "Cuckoo filter: test",
        "CF.EXISTS, 10M",
        Some(("CF.MEXISTS x100, 200M cold", 100.0)),
    ),
    (
        "Count-min sketch: increment",
        "CMS.INCRBY, 0.001/0.01",
        Some(("CMS.INCRBY x50, 1e-5/0.001", 50.0)),
    ),
    (
        "Count-min sketch: query",
        "CMS.QUERY, 0.001/0.01",
        Some(("CMS.QUERY x50, 1e-5/0.001", 50.0)),
    ),
    ("Top-k: add", "TOPK.ADD, k 1,000", None),
    ("Top-k: query", "TOPK.QUERY, k 1,000", None),
    (
        "t-digest: add",
        "TDIGEST.ADD, c 100",
        Some(("TDIGEST.ADD x100, c 1,000", 100.0)),
    ),
    ("t-digest: quantile", "TDIGEST.QUANTILE, c 1,000", None),
    (
        "Set with 1,000,000 members: test",
        "SISMEMBER, 1,000,000 members",
        Some(("SMISMEMBER x100, 1,000,000 members", 100.0)),
    ),
    (
        "Missing key: test",
        "EXISTS, no such key",
        Some(("EXISTS x100, no such keys", 100.0)),
    ),
];

fn summary(cases: &Value) -> String {
    let ns = |name: &str| {
        let case = items(cases).find(|case| case["name"] == name);
        number(&case.unwrap_or_else(|| panic!("no case {name}"))["ns"])
    };
    let command = |name: &str| name.split(',').next().unwrap_or(name).to_owned();
    let mut table = String::from(
        "| operation | one item per command | many items per command |\n|---|---|---|\n",
    );
    for (operation, one, many) in SUMMARY {
        let many = many.map_or(String::new(), |(name, items)| {
            format!(
                "{} ns per item (`{} items)",
                grouped(ns(name) / items),
                command(name).replace(" x", "`, ")
            )
        });
        let _ = writeln!(
            table,
            "| {operation} | {} ns (`{}`) | {many} |",
            grouped(ns(one)),
            command(one)
        );
    }
    table
}

/// The call overhead of a case: the sum of the cases that `server_share` lists.
fn server_share(case: &Value, cases: &Value) -> Option<f64> {
    let parts = case["server_share"]
        .as_array()
        .filter(|parts| !parts.is_empty())?;
    let of = |name: &str| items(cases).find(|case| case["name"] == name);
    parts
        .iter()
        .map(|part| {
            let part = text(part);
            match part.strip_prefix('-') {
                Some(name) => Some(-number(&of(name)?["multiple"])),
                None => Some(number(&of(part)?["multiple"])),
            }
        })
        .sum()
}

fn cases(cases: &Value) -> String {
    let mut table = String::from(
        "| case | ns | × EXISTS | call overhead (× EXISTS) | remainder (× EXISTS) |\n|---|---:|---:|---:|---:|\n",
    );
    for case in items(cases) {
        let own = number(&case["multiple"]);
        let share = server_share(case, cases);
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            text(&case["name"]),
            grouped(number(&case["ns"])),
            multiple(own),
            share.map_or(String::new(), multiple),
            share.map_or(String::new(), |share| multiple(own - share)),
        );
    }
    table
}

fn instructions(results: &Value) -> String {
    let mut table = format!(
        "{}:\n\n| command | instructions | of these in the module | per item | of these in the module |\n|---|---:|---:|---:|---:|\n",
        text(&results["server"])
    );
    for case in items(&results["cases"]) {
        let (all, ours, items) = (
            number(&case["all"]),
            number(&case["ours"]),
            number(&case["items"]),
        );
        let per_item = |of: f64| {
            if items > 1.0 {
                grouped(of / items)
            } else {
                String::new()
            }
        };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            text(&case["name"]),
            grouped(all),
            grouped(ours),
            per_item(all),
            per_item(ours),
        );
    }
    table
}

fn pauses(pauses: &Value) -> String {
    let mut table =
        String::from("| command | fastest attempt | slowest attempt |\n|---|---:|---:|\n");
    let shown = |us: i64| match us {
        10_000.. => format!("{:.1} ms", us as f64 / 1e3),
        1_000.. => format!("{:.2} ms", us as f64 / 1e3),
        _ => format!("{us} µs"),
    };
    for pause in items(pauses) {
        let us: Vec<i64> = items(&pause["us"]).filter_map(Value::as_i64).collect();
        let end = |end: Option<&i64>| shown(end.copied().unwrap_or(0));
        let _ = writeln!(
            table,
            "| {} | {} | {} |",
            text(&pause["name"]),
            end(us.iter().min()),
            end(us.iter().max())
        );
    }
    table
}

fn windows(figures: &Value) -> String {
    let mut table = String::from("| figure | measured | target |\n|---|---:|---:|\n");
    let shown = |value: f64, unit: &str| match unit {
        "" => format!("{value:.3}"),
        "µs" if value >= 10.0 => format!("{value:.0} µs"),
        unit => format!("{value:.2} {unit}"),
    };
    for figure in items(figures) {
        let unit = text(&figure["unit"]);
        let target = figure["target"]
            .as_f64()
            .map_or("none".to_owned(), |target| {
                let bound = if unit.is_empty() {
                    "at least"
                } else {
                    "at most"
                };
                format!("{bound} {}", shown(target, unit))
            });
        let measured = shown(number(&figure["value"]), unit);
        let _ = writeln!(
            table,
            "| {} | {measured} | {target} |",
            text(&figure["name"])
        );
    }
    table
}

fn references(filters: &Value) -> String {
    let mut sizes: Vec<u64> = items(filters)
        .filter_map(|row| row["mebibytes"].as_u64())
        .collect();
    sizes.dedup();
    let mut tables = String::new();
    for size in sizes {
        let of_size = || items(filters).filter(|row| row["mebibytes"] == size);
        let part = of_size().find_map(|row| row["filled_to"].as_u64().filter(|&part| part > 1));
        let note = part.map_or(String::new(), |part| {
            format!(", filled to 1/{part} of the capacity")
        });
        let _ = writeln!(
            tables,
            "{size} MiB{note}:\n\n| filter | ns per insert | ns per hit | ns per miss | MiB | items | bits per item | error rate |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|"
        );
        for row in of_size() {
            let _ = writeln!(
                tables,
                "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {} | {:.2} | {:.4} % |",
                text(&row["name"]),
                number(&row["insert_ns"]),
                number(&row["hit_ns"]),
                number(&row["miss_ns"]),
                number(&row["bytes"]) / f64::from(1 << 20),
                grouped(number(&row["items"])),
                number(&row["bits_an_item"]),
                number(&row["error_rate"]) * 100.0,
            );
        }
        tables.push('\n');
    }
    tables.pop();
    tables
}

fn digests(digests: &Value) -> String {
    let mut table = String::from(
        "| digest | compression | centroids | ns per sample | ns per quantile | largest rank error |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for row in items(digests) {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {:.1} | {:.1} | {:.6} |",
            text(&row["name"]),
            row["compression"],
            row["centroids"],
            number(&row["add_ns"]),
            number(&row["quantile_ns"]),
            number(&row["worst_rank_error"]),
        );
    }
    table
}
