//! Writes the generated tables and charts of docs/performance.md and README.md (`scripts/bench.sh report`).
//!
//! benches/record contains the data of the tables. To record new results, copy their file from target/bench to benches/record.
//! benches/record/memory.json was measured once with MEMORY USAGE.
//!
//! A generated text is between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. The report does not change the text around it.

mod figure;

use figure::{Axis, LineChart, Point, Scale, Series};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads recorded results.
fn recorded(name: &str) -> Value {
    let file = path(&format!("benches/record/{name}.json"));
    let text =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).expect("JSON")
}

fn path(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(name)
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// A number with a comma after each group of three digits.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let from_end = |i: usize| digits.len() - i;
    let letters = digits.chars().enumerate().map(|(i, digit)| match i {
        1.. if from_end(i).is_multiple_of(3) => format!(",{digit}"),
        _ => digit.to_string(),
    });
    letters.collect()
}

/// The comparison with another module.
struct Comparison(Value);

impl Comparison {
    fn peer(&self) -> &str {
        text(&self.0["peer"])
    }

    fn cases(&self) -> &Map<String, Value> {
        self.0["cases"].as_object().expect("cases")
    }

    /// The time of Roughly divided by that of the other module.
    fn ratio(&self, case: &str) -> Option<f64> {
        let case = self.cases().get(case)?;
        let measured = case["ratio"].as_f64();
        Some(measured.unwrap_or_else(|| number(&case["roughly"]) / number(&case["peer"])))
    }

    /// The smallest and the largest ratio of the cases that `selects` accepts, such as `0.31 to 0.64`.
    fn range(&self, selects: impl Fn(&str) -> bool) -> String {
        let names = self.cases().keys().filter(|name| selects(name));
        let ratios = names.filter_map(|name| self.ratio(name));
        let (low, high) = ratios.fold((f64::INFINITY, 0.0f64), |(low, high), ratio| {
            (low.min(ratio), high.max(ratio))
        });
        match low.is_finite() {
            true if low == high => shown(low),
            true => format!("{} to {}", shown(low), shown(high)),
            false => "–".to_owned(),
        }
    }
}

fn shown(ratio: f64) -> String {
    let digits = if ratio < 0.1 { 3 } else { 2 };
    format!("{ratio:.digits$}")
}

/// Whether a case measures a command of the modules, not one of the server.
fn is_of_module(case: &str) -> bool {
    case.contains('.')
}

/// Commands whose time does not depend on the number of items: they are summarized in rows of their own.
const SPECIAL: [&str; 3] = ["TOPK.INCRBY by 1,000", "TDIGEST.QUANTILE", "TDIGEST.CDF"];

/// The modules with which README.md and docs/performance.md compare Roughly, in the order of the columns.
type Peers<'a> = [&'a Comparison; 3];

/// The summary of README.md: ranges of ratios by kind of command.
fn summary(peers: Peers<'_>) -> String {
    let names = peers.map(Comparison::peer).join(" | ");
    let mut table = format!("| commands | {names} |\n|---|---|---|---|\n");
    let has_many = |case: &str| case.contains('×');
    type Kind<'a> = (&'a str, &'a dyn Fn(&str) -> bool);
    let kinds: [Kind<'_>; 4] = [
        ("with one item", &|case| {
            is_of_module(case) && !has_many(case) && !SPECIAL.contains(&case)
        }),
        ("with 50 or 100 items", &|case| {
            is_of_module(case) && has_many(case)
        }),
        ("`TDIGEST.QUANTILE`, `TDIGEST.CDF`", &|case| {
            SPECIAL[1..].contains(&case)
        }),
        ("`TOPK.INCRBY` by 1,000", &|case| case == SPECIAL[0]),
    ];
    for (name, selects) in kinds {
        let ranges = peers.map(|peer| peer.range(selects)).join(" | ");
        let _ = writeln!(table, "| {name} | {ranges} |");
    }
    table
}

/// All cases: times beside the second module, whose measurement was the quietest, and ratios.
fn table(peers: Peers<'_>) -> String {
    let names = peers.map(|peer| format!("ratio to {}", peer.peer()));
    let names = names.join(" | ");
    let mut table = format!("| command | Roughly, ns | {names} |\n|---|---:|---:|---:|---:|\n");
    for (name, case) in peers[1].cases() {
        let roughly = grouped(number(&case["roughly"]));
        let ratios = peers.map(|peer| peer.ratio(name).map_or("–".to_owned(), shown));
        let _ = writeln!(table, "| {name} | {roughly} | {} |", ratios.join(" | "));
    }
    table
}

/// A row per case, from top to bottom, with points at its ratios in each comparison.
fn chart_of_ratios(
    title: &str,
    label: &str,
    cases: &[&str],
    comparisons: &[(String, &Comparison)],
) -> String {
    let rows = cases.iter().enumerate();
    let rows: Vec<_> = rows
        .map(|(i, name)| ((cases.len() - i) as f64 - 0.5, *name))
        .collect();
    let series = comparisons.iter().map(|(name, comparison)| Series {
        name: name.clone(),
        points: (rows.iter())
            .filter_map(|(row, name)| Some(Point::from((comparison.ratio(name)?, *row))))
            .collect(),
    });
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0];
    let names = rows.iter().map(|(row, name)| (*row, (*name).to_owned()));
    let chart = LineChart {
        title: title.to_owned(),
        x: Axis::new(label, Scale::Linear, (0.0, 1.05), ticks, |x| x.to_string()),
        y: Axis {
            label: String::new(),
            scale: Scale::Linear,
            from: 0.0,
            to: rows.len() as f64,
            ticks: names.collect(),
        },
        series: series.collect(),
    };
    chart.rows()
}

/// The cases and pauses in the table of huge pages: the figure has all cases.
const HUGE_PAGE_ROWS: [&str; 9] = [
    "BF.ADD",
    "BF.EXISTS",
    "BF.MADD ×100",
    "BF.MADD ×100, first fill",
    "BF.MEXISTS ×100",
    "CMS.QUERY ×50",
    "BF.ADD during a save, median",
    "BF.ADD during a save, longest",
    "fork after the fill",
];

/// The cases and pauses of [`HUGE_PAGE_ROWS`], with and without huge pages.
fn huge_pages(results: &Comparison) -> String {
    let mut table = "| | with | without | ratio |\n|---|---:|---:|---:|\n".to_owned();
    let pauses = results.0["pauses"].as_object().expect("pauses");
    let rows = results.cases().iter().chain(pauses);
    for (name, row) in rows.filter(|(name, _)| HUGE_PAGE_ROWS.contains(&name.as_str())) {
        let [yes, no] =
            ["yes", "no"].map(|field| match (number(&row[field]), text(&row["unit"])) {
                (value @ 1e5.., "ns") => format!("{} µs", grouped(value / 1e3)),
                (value @ 1e3.., "ns") => format!("{:.1} µs", value / 1e3),
                (value @ 1e3.., "µs") => format!("{:.1} ms", value / 1e3),
                (value @ ..100.0, unit) => format!("{value:.1} {unit}"),
                (value, unit) => format!("{} {unit}", grouped(value)),
            });
        let ratio = shown(number(&row["ratio"]));
        let _ = writeln!(table, "| {name} | {yes} | {no} | {ratio} |");
    }
    let rows = table.lines().count() - 2;
    assert_eq!(rows, HUGE_PAGE_ROWS.len(), "a missing case");
    table
}

/// Small keys: memory, and the ratios to RedisBloom, which is the second module.
fn small_keys(results: &Value) -> String {
    const MEASURES: [&str; 4] = ["creation", "random write", "random read", "deletion"];
    let mut table = format!(
        "| key | keys | bytes | ratio | {} |\n|---|---:|---:|---:|{}\n",
        MEASURES.join(" | "),
        "---:|".repeat(MEASURES.len())
    );
    for (name, kind) in results["kinds"].as_object().expect("kinds") {
        let [ours, theirs] = [0, 1].map(|i| number(&kind["memory"]["bytes"][i]));
        let ratios = MEASURES.map(|measure| shown(number(&kind[measure]["ratios"][0])));
        let (keys, bytes) = (grouped(number(&kind["keys"])), grouped(ours));
        let (ratio, ratios) = (shown(ours / theirs), ratios.join(" | "));
        let _ = writeln!(table, "| {name} | {keys} | {bytes} | {ratio} | {ratios} |");
    }
    table
}

/// The curves of memory.json, each with its points of items and bytes.
fn memory_curves(memory: &Value) -> Vec<Series> {
    let curves = memory["curves"].as_array().expect("curves").iter();
    let curves = curves.map(|curve| {
        let points = curve["points"].as_array().expect("points").iter();
        Series {
            name: text(&curve["name"]).to_owned(),
            points: points
                .map(|point| Point::from((number(&point[0]), number(&point[1]))))
                .collect(),
        }
    });
    curves.collect()
}

/// Bytes per item.
fn memory_table(curves: &[Series]) -> String {
    let mut table =
        "| structure | 1,000 items | 1 million items | 10 million items |\n|---|---:|---:|---:|\n"
            .to_owned();
    for curve in curves {
        let bytes = [1e3, 1e6, 1e7].map(|items| {
            let point = curve.points.iter().find(|point| point.x == items);
            format!("{:.1}", point.expect("a point").y / items)
        });
        let _ = writeln!(table, "| {} | {} |", curve.name, bytes.join(" | "));
    }
    table
}

fn memory_chart(mut curves: Vec<Series>) -> String {
    // The curve of a Valkey set would cover that of a Redis set.
    curves.retain(|curve| curve.name != "Set of Valkey");
    let scale = Scale::Logarithmic;
    let numbers = (3..=7).map(|power| 10f64.powi(power));
    let number = |items: f64| match items {
        1e6.. => format!("{}M", items / 1e6),
        _ => grouped(items),
    };
    let label = "memory usage (logarithmic)";
    let sizes = (0..=5).map(|step| f64::from(1024 << (4 * step)));
    let size = |bytes: f64| match bytes {
        1048576.0.. => format!("{} MiB", bytes / 1048576.0),
        _ => format!("{} KiB", bytes / 1024.0),
    };
    let chart = LineChart {
        title: "Memory by number of items of 20 bytes".to_owned(),
        x: Axis::new("items", scale, (1e3, 1e7), numbers, number),
        y: Axis::new(label, scale, (1024.0, f64::from(1 << 30)), sizes, size),
        series: curves,
    };
    chart.svg()
}

/// Replaces generated texts in a document. Each has the name of its markers.
fn replace(file: &str, texts: &[(&str, String)]) {
    let mut document = fs::read_to_string(path(file)).expect("a document");
    for (name, text) in texts {
        let begin = format!("<!-- begin: {name} -->\n");
        let end = format!("<!-- end: {name} -->");
        let (before, rest) = document.split_once(&begin).expect("a marker");
        let (_, after) = rest.split_once(&end).expect("a marker");
        document = format!("{before}{begin}{text}{end}{after}");
    }
    fs::write(path(file), document).expect("a file that can be written");
}

fn main() {
    let names = ["redisbloom-2.8.2", "redisbloom-8.10", "valkey-bloom"];
    let peers = names.map(|name| Comparison(recorded(name)));
    let peers = peers.each_ref();
    let results_of_huge_pages = Comparison(recorded("huge-pages"));
    let curves = memory_curves(&recorded("memory"));
    replace("README.md", &[("peers", summary(peers))]);
    let page = [
        ("peers", table(peers)),
        ("huge pages", huge_pages(&results_of_huge_pages)),
        ("memory", memory_table(&curves)),
        ("small keys", small_keys(&recorded("small-keys"))),
    ];
    replace("docs/performance.md", &page);

    let divided_by = |peer: usize| (format!("divided by {}", peers[peer].peer()), peers[peer]);
    let below_1 = "below 1: Roughly takes less time";
    // A command of each family, for README.md.
    let families = [
        "BF.MEXISTS ×100",
        "CF.MEXISTS ×100",
        "CMS.QUERY ×50",
        "TOPK.ADD, k 100",
        "TDIGEST.ADD ×100",
    ];
    let title = "Server CPU time of Roughly";
    let families = chart_of_ratios(title, below_1, &families, &[divided_by(0)]);
    let cases = peers[1].cases().keys().map(String::as_str);
    let cases: Vec<_> = cases.filter(|name| is_of_module(name)).collect();
    let title = "Server CPU time of Roughly per command,\ndivided by that of another module";
    let all = chart_of_ratios(title, below_1, &cases, &[divided_by(1), divided_by(2)]);
    let cases = results_of_huge_pages.cases().keys().map(String::as_str);
    let huge_pages = chart_of_ratios(
        "Server CPU time per command with huge pages,\ndivided by that without",
        "below 1: huge pages take less time",
        &cases.collect::<Vec<_>>(),
        &[("200 million items".to_owned(), &results_of_huge_pages)],
    );
    for (file, chart) in [
        ("docs/performance/families.svg", families),
        ("docs/performance/peers.svg", all),
        ("docs/performance/huge-pages.svg", huge_pages),
        ("docs/plots/memory.svg", memory_chart(curves)),
    ] {
        fs::write(path(file), chart).expect("a file that can be written");
    }
}
