//! The tables of docs/performance.md.

use crate::Results;
use serde_json::Value;
use std::fmt::Write;

/// Every table with the name of its markers.
pub fn all(results: &Results) -> Vec<(&'static str, String)> {
    vec![
        ("machine", machine(results)),
        ("per-core", per_core(&results.server["cases"])),
        ("overhead", overhead(&results.server["cases"])),
        ("memory", memory(&results.memory)),
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
        &format!("{least:.0} to {most:.0} ns, measured for each case"),
    );
    let curves = items(&results.server["curves"]).flat_map(|curve| items(&curve["points"]));
    let rounds = [
        (
            "rounds per case",
            agreement(items(&results.server["cases"]).map(|case| &case["rounds"])),
        ),
        (
            "rounds per point of a curve, with a server",
            agreement(curves.map(|point| &point[2])),
        ),
    ];
    for (name, rounds) in rounds {
        if let Some(rounds) = rounds {
            row(name, &rounds);
        }
    }
    table
}

/// Number of rounds, and in how many measurements the two fastest agree. `None` if it was not recorded.
fn agreement<'a>(measurements: impl Iterator<Item = &'a Value>) -> Option<String> {
    let recorded: Vec<_> = measurements.filter(|rounds| rounds.is_object()).collect();
    let numbers = || {
        recorded
            .iter()
            .filter_map(|rounds| rounds["rounds"].as_u64())
    };
    let agreeing = recorded.iter().filter(|rounds| rounds["agree"] == true);
    let (least, most) = numbers().min().zip(numbers().max())?;
    Some(format!(
        "{least} to {most}; the two fastest differ by at most 3 % in {} of {} measurements",
        agreeing.count(),
        recorded.len()
    ))
}
/// The number of items per command of a case, if its name contains one: ` x100`.
fn items_per_command(name: &str) -> Option<f64> {
    let (_, rest) = name.split_once(" x")?;
    let digits = rest.split([',', ' ']).next()?;
    digits.parse().ok()
}

/// Three significant digits.
fn rounded(value: f64) -> String {
    let unit = 10f64.powi(value.log10().floor() as i32 - 2);
    grouped((value / unit).round() * unit)
}

/// The spread of rounds; a mark if no two rounds agree. Older results have no rounds.
fn spread(rounds: &Value) -> String {
    let mark = if rounds["agree"] == false { " \\*" } else { "" };
    let spread = rounds["spread"].as_f64();
    spread.map_or("–".to_owned(), |spread| {
        format!("{:.1} %{mark}", spread * 100.0)
    })
}

/// Commands and items per second of server CPU time.
fn per_core(cases: &Value) -> String {
    let mut table = String::from(
        "| case | commands per second | items per second | ns per command | spread |\n|---|---:|---:|---:|---:|\n",
    );
    // Commands on missing keys measure the call overhead.
    for case in items(cases).filter(|case| !text(&case["name"]).contains("no such key")) {
        let (name, ns) = (text(&case["name"]), number(&case["ns"]));
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            name.replace(" x", " ×"),
            rounded(1e9 / ns),
            items_per_command(name).map_or(String::new(), |items| rounded(items * 1e9 / ns)),
            grouped(ns),
            spread(&case["rounds"]),
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

/// Times in multiples of EXISTS, and the parts of the module's commands.
fn overhead(cases: &Value) -> String {
    let mut table = String::from(
        "| case | × EXISTS | call overhead (× EXISTS) | remainder (× EXISTS) |\n|---|---:|---:|---:|\n",
    );
    for case in items(cases) {
        let own = number(&case["multiple"]);
        let share = server_share(case, cases);
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} |",
            text(&case["name"]).replace(" x", " ×"),
            multiple(own),
            share.map_or(String::new(), multiple),
            share.map_or(String::new(), |share| multiple(own - share)),
        );
    }
    table
}

/// Bytes per item of sets and filters.
fn memory(results: &Value) -> String {
    const ITEMS: [f64; 3] = [1e3, 1e6, 1e7];
    let mut table = String::from("| structure | commands |");
    for count in ITEMS {
        let _ = write!(table, " {} items |", grouped(count));
    }
    table += "\n|---|---|---:|---:|---:|\n";
    for curve in items(&results["curves"]) {
        let (name, commands) = (text(&curve["name"]), text(&curve["commands"]));
        let _ = write!(table, "| {name} | `{}` |", commands.replace(", ", "`, `"));
        for count in ITEMS {
            let point = items(&curve["points"]).find(|point| number(&point[0]) == count);
            let bytes = number(&point.expect("a measured number of items")[1]);
            let _ = write!(table, " {:.1} |", bytes / count);
        }
        table.push('\n');
    }
    table
}

fn instructions(results: &Value) -> String {
    let mut table = format!(
        "{}:\n\n| command | instructions | in the module | in functions that it calls | per item | per item in the module |\n|---|---:|---:|---:|---:|---:|\n",
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
            "| {} | {} | {} | {} | {} | {} |",
            text(&case["name"]),
            grouped(all),
            grouped(ours),
            case["called"].as_f64().map_or_else(String::new, grouped),
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
    let mut table = String::from("| figure | measured |\n|---|---:|\n");
    for figure in items(figures) {
        let value = number(&figure["value"]);
        let measured = match text(&figure["unit"]) {
            "" => format!("{value:.3}"),
            "µs" if value >= 10.0 => format!("{value:.0} µs"),
            unit => format!("{value:.2} {unit}"),
        };
        let _ = writeln!(table, "| {} | {measured} |", text(&figure["name"]));
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
