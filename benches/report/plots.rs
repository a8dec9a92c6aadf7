//! The figures of docs/performance, and docs/plots/memory.svg.

use crate::Results;
use crate::figure::{Axis, DotChart, Dots, LineChart, Panel, Point, Scale, Series};
use crate::scaling;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Writes all figures to docs/performance and docs/plots.
pub fn draw(results: &Results, docs: &Path) {
    let server = &results.server["curves"];
    let growth = &results.growth["curves"];
    let size = "size of the filter, bytes";
    let figures = [
        (
            "sizes-server.svg",
            curves(
                "Commands with 100 items:\nserver CPU time by size of the filter",
                series(server, size),
                (Scale::Logarithmic, "size of the filter", bytes),
                "ns per item",
            ),
        ),
        (
            "sizes-sketches.svg",
            curves(
                "Look-ups without a server, by size of the filter",
                series(growth, size),
                (Scale::Logarithmic, "size of the filter", bytes),
                "ns per look-up",
            ),
        ),
        (
            "items.svg",
            curves(
                "Server CPU time per item, by items per command",
                series(server, "items per command"),
                (Scale::Logarithmic, "items per command", plain),
                "ns per item",
            ),
        ),
        (
            "sub-filters.svg",
            curves(
                "Look-ups without a server,\nby number of sub-filters",
                series(growth, "sub-filters"),
                (Scale::Linear, "sub-filters", plain),
                "ns per look-up",
            ),
        ),
        (
            "k.svg",
            curves(
                "Top-k without a server, by k\n(width 8 × k, depth 7)",
                series(growth, "k"),
                (Scale::Logarithmic, "k", plain),
                "ns per operation",
            ),
        ),
        (
            "compression.svg",
            curves(
                "t-digest without a server, by compression",
                series(growth, "compression"),
                (Scale::Logarithmic, "compression", plain),
                "ns per operation",
            ),
        ),
        (
            "rows.svg",
            curves(
                "Count-min sketch without a server, by rows",
                series(growth, "rows"),
                (Scale::Linear, "rows (depth)", plain),
                "ns per increment",
            ),
        ),
        ("scaling.svg", scaling::figure(&results.scaling)),
        ("overview.svg", overview(&results.server["cases"])),
        ("peers.svg", results.peers.small_figure()),
        ("peers-all.svg", results.peers.full_figure()),
    ];
    let figures = figures.map(|(name, figure)| (docs.join("performance").join(name), figure));
    let memory = (docs.join("plots/memory.svg"), memory(&results.memory));
    for (file, figure) in figures.into_iter().chain([memory]) {
        fs::write(&file, figure).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        println!("wrote {}", file.display());
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn curve(curve: &Value) -> Series {
    let points = curve["points"].as_array().expect("points").iter();
    Series {
        name: text(&curve["name"]).replace(" x", " ×"),
        points: points
            .map(|point| Point::from((number(&point[0]), number(&point[1]))))
            .collect(),
    }
}

/// The curves whose numbers have this unit.
fn series(curves: &Value, unit: &str) -> Vec<Series> {
    let curves = curves.as_array().expect("curves").iter();
    let of_unit = curves.filter(|curve| curve["unit"] == unit);
    of_unit.map(curve).collect()
}

fn plain(number: f64) -> String {
    match number {
        1_000.0.. => format!("{:.0},000", number / 1_000.0),
        _ => format!("{number}"),
    }
}

/// A number of bytes with its unit.
pub fn bytes(number: f64) -> String {
    let exponent = number.log2().round() as u32;
    let (unit, shift) = match exponent {
        30.. => ("GiB", 30),
        20.. => ("MiB", 20),
        _ => ("KiB", 10),
    };
    format!("{} {unit}", 1u64 << (exponent - shift))
}

/// About five round numbers from 0 to `to`, at equal intervals.
fn round_numbers(to: f64) -> Vec<f64> {
    let rough = to / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let step = step.into_iter().find(|&step| step >= rough);
    let step = step.unwrap_or(power * 10.0);
    (0..20)
        .map(|i| f64::from(i) * step)
        .take_while(|&mark| mark <= to * 1.001)
        .collect()
}

/// Lines with ticks at the measured points. The y axis is logarithmic if the largest value is more than 8 times the smallest.
pub fn curves(
    title: &str,
    series: Vec<Series>,
    (x_scale, x_label, x_text): (Scale, &str, fn(f64) -> String),
    y_label: &str,
) -> String {
    let points = || series.iter().flat_map(|series| &series.points);
    let mut measured: Vec<f64> = points().map(|point| point.x).collect();
    measured.sort_by(f64::total_cmp);
    measured.dedup();
    let least = points().map(|point| point.y).fold(f64::INFINITY, f64::min);
    let most = points().map(|point| point.y).fold(0.0, f64::max);
    let (y_scale, y_range) = match most / least > 8.0 {
        true => (Scale::Logarithmic, (least * 0.85, most * 1.15)),
        false => (Scale::Linear, (0.0, most * 1.08)),
    };
    let y_ticks = match y_scale {
        Scale::Linear => round_numbers(y_range.1),
        Scale::Logarithmic => (0..9)
            .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)))
            .filter(|mark| (y_range.0..=y_range.1).contains(mark))
            .collect(),
    };
    let y_label = match y_scale {
        Scale::Linear => y_label.to_owned(),
        Scale::Logarithmic => format!("{y_label} (logarithmic)"),
    };
    let x_range = (measured[0], measured[measured.len() - 1]);
    LineChart {
        title: title.to_owned(),
        x: Axis::new(x_label, x_scale, x_range, measured, x_text),
        y: Axis::new(&y_label, y_scale, y_range, y_ticks, plain),
        series,
    }
    .svg()
}

/// The series of a command: one per family, and one for the built-in commands.
fn family(name: &str) -> usize {
    let families = ["BF.", "CF.", "CMS.", "TOPK.", "TDIGEST."];
    let family = families.iter().position(|prefix| name.starts_with(prefix));
    family.unwrap_or(families.len())
}

/// CPU time per command in multiples of EXISTS: a panel for commands with one item, and one for commands with many.
fn overview(cases: &Value) -> String {
    let cases = cases.as_array().expect("cases");
    let has_many = |name: &str| name.contains(" x") || name.contains(".LIST");
    let panel = |label: &str, many: bool| {
        let of_panel = cases
            .iter()
            .filter(|case| has_many(text(&case["name"])) == many);
        let rows: Vec<_> = of_panel
            .map(|case| {
                let (name, multiple) = (text(&case["name"]), number(&case["multiple"]));
                let shown = match multiple {
                    100.0.. => format!("{multiple:.0}"),
                    10.0.. => format!("{multiple:.1}"),
                    _ => format!("{multiple:.2}"),
                };
                Dots {
                    label: name.replace(" x", " ×"),
                    values: vec![(family(name), multiple, shown)],
                }
            })
            .collect();
        let values = rows.iter().flat_map(|row| &row.values);
        let most = values.map(|value| value.1).fold(0.0, f64::max);
        let ticks = round_numbers(most * 1.04);
        Panel {
            axis: Axis::new(label, Scale::Linear, (0.0, most * 1.04), ticks, plain),
            rows,
        }
    };
    DotChart {
        title: "Server CPU time per command,\nin multiples of EXISTS on a missing key".to_owned(),
        notes: Vec::new(),
        series: Vec::new(),
        reference: None,
        panels: vec![
            panel("One item per command, × EXISTS", false),
            panel("Several items or replies per command, × EXISTS", true),
        ],
    }
    .svg()
}

/// Memory of a set and of filters, by number of items.
fn memory(memory: &Value) -> String {
    let curves = memory["curves"].as_array().expect("curves").iter();
    // In the figure, the curve of a Valkey set would cover that of a Redis set.
    let series = curves
        .filter(|curve| curve["name"] != "Set of Valkey")
        .map(curve);
    let items = (3..=7).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    let text = |items: f64| match items {
        _ if items.log10().fract() != 0.0 => String::new(),
        1_000_000.0.. => format!("{} million", items / 1e6),
        _ => plain(items),
    };
    LineChart {
        title: "Memory by number of items of 20 bytes".to_owned(),
        x: Axis::new(
            "items",
            Scale::Logarithmic,
            (1e3, 1e7),
            items.filter(|items| *items <= 1e7),
            text,
        ),
        y: Axis::new(
            "memory usage (logarithmic)",
            Scale::Logarithmic,
            (1024.0, f64::from(1 << 30)),
            (0..=5).map(|step| f64::from(1024 << (4 * step))),
            bytes,
        ),
        series: series.collect(),
    }
    .svg()
}
