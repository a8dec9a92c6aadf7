//! Writes the generated tables and charts of docs/performance.md and README.md (`scripts/bench.sh report`).
//!
//! benches/record contains the data of the tables. To record new results, copy their file from target/bench to benches/record.
//! benches/record/memory.json was measured once with MEMORY USAGE.
//!
//! A generated text is between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. The report does not change the text around it.

mod figure;
mod record;

use figure::{Axis, LineChart, Point, Scale, Series};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// Reads recorded results.
fn recorded(name: &str) -> Value {
    let file = path("benches/record").join(name);
    let text =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).expect("JSON")
}

fn path(name: &str) -> PathBuf {
    record::repository().join(name)
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

    /// The smallest and the largest ratio of the cases that `selects` accepts.
    fn range(&self, selects: impl Fn(&str) -> bool) -> String {
        let names = self.cases().keys().filter(|name| selects(name));
        range(names.filter_map(|name| self.ratio(name)))
    }
}

/// The smallest and the largest ratio, such as `0.31 to 0.64`.
fn range(ratios: impl Iterator<Item = f64>) -> String {
    let (low, high) = ratios.fold((f64::INFINITY, 0.0f64), |(low, high), ratio| {
        (low.min(ratio), high.max(ratio))
    });
    match low.is_finite() {
        true if low == high => shown(low),
        true => format!("{} to {}", shown(low), shown(high)),
        false => "–".to_owned(),
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

fn has_many(case: &str) -> bool {
    case.contains('×')
}

/// Whether a case belongs to a row of the summary.
type Selects = fn(&str) -> bool;

/// Commands whose time does not depend on the number of items: they are summarized in rows of their own.
fn is_special(case: &str) -> bool {
    ["TOPK.INCRBY by 1,000", "TDIGEST.QUANTILE", "TDIGEST.CDF"].contains(&case)
}

/// The modules with which README.md and docs/performance.md compare Roughly, in the order of the columns.
type Peers<'a> = [&'a Comparison; 3];

/// The summary of README.md: ranges of ratios by kind of command.
fn summary(peers: Peers<'_>) -> String {
    let names = peers.map(Comparison::peer).join(" | ");
    let mut table = format!("| commands | {names} |\n|---|---|---|---|\n");
    let kinds: [(&str, Selects); 4] = [
        ("with one item", |case| {
            is_of_module(case) && !has_many(case) && !is_special(case)
        }),
        ("with 50 or 100 items", |case| {
            is_of_module(case) && has_many(case)
        }),
        ("`TDIGEST.QUANTILE`, `TDIGEST.CDF`", |case| {
            is_special(case) && case.starts_with("TDIGEST")
        }),
        ("`TOPK.INCRBY` by 1,000", |case| {
            is_special(case) && case.starts_with("TOPK")
        }),
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
    let mut table = format!(
        "| command | Roughly, ns | {} |\n|---|---:|---:|---:|---:|\n",
        names.join(" | ")
    );
    for (name, case) in peers[1].cases() {
        let roughly = grouped(number(&case["roughly"]));
        let ratios = peers.map(|peer| peer.ratio(name).map_or("–".to_owned(), shown));
        let _ = writeln!(table, "| {name} | {roughly} | {} |", ratios.join(" | "));
    }
    table
}

/// A row per case, from top to bottom, with points at its ratios.
fn chart_of_ratios(title: &str, label: &str, cases: Vec<String>, series: Vec<Series>) -> LineChart {
    let rows = cases.len();
    let ticks = cases.into_iter().enumerate();
    LineChart {
        title: title.to_owned(),
        x: Axis::new(
            label,
            Scale::Linear,
            (0.0, 1.05),
            [0.0, 0.25, 0.5, 0.75, 1.0],
            |x| x.to_string(),
        ),
        y: Axis {
            label: String::new(),
            scale: Scale::Linear,
            from: 0.0,
            to: rows as f64,
            ticks: ticks
                .map(|(i, name)| ((rows - i) as f64 - 0.5, name))
                .collect(),
        },
        series,
    }
}

/// The ratios of all cases.
fn ratios(redisbloom: &Comparison, valkey_bloom: &Comparison) -> LineChart {
    let cases: Vec<_> = redisbloom
        .cases()
        .keys()
        .filter(|name| is_of_module(name))
        .cloned()
        .collect();
    let row = |i: usize| (cases.len() - i) as f64 - 0.5;
    let series = |peer: &Comparison| Series {
        name: format!("divided by {}", peer.peer()),
        points: (cases.iter().enumerate())
            .filter_map(|(i, name)| Some(Point::from((peer.ratio(name)?, row(i)))))
            .collect(),
    };
    let series = [redisbloom, valkey_bloom].map(series).to_vec();
    chart_of_ratios(
        "Server CPU time of Roughly per command,\ndivided by that of another module",
        "below 1: Roughly takes less time",
        cases,
        series,
    )
}

/// The chart of README.md: a command of each family.
fn families(redisbloom: &Comparison) -> LineChart {
    let cases = [
        "BF.MEXISTS ×100",
        "CF.MEXISTS ×100",
        "CMS.QUERY ×50",
        "TOPK.ADD, k 100",
        "TDIGEST.ADD ×100",
    ]
    .map(str::to_owned);
    let row = |i: usize| (cases.len() - i) as f64 - 0.5;
    let ratio = |name| redisbloom.ratio(name).expect("a recorded case");
    let points = (cases.iter().enumerate()).map(|(i, name)| Point::from((ratio(name), row(i))));
    let series = Series {
        name: format!("divided by {}", redisbloom.peer()),
        points: points.collect(),
    };
    chart_of_ratios(
        "Server CPU time of Roughly",
        "below 1: Roughly takes less time",
        cases.to_vec(),
        vec![series],
    )
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

/// The comparison of huge pages with ordinary ones.
struct HugePages(Value);

impl HugePages {
    fn cases(&self) -> &Map<String, Value> {
        self.0["cases"].as_object().expect("cases")
    }

    /// The cases and pauses of [`HUGE_PAGE_ROWS`], with and without huge pages.
    fn table(&self) -> String {
        let mut table = "| | with | without | ratio |\n|---|---:|---:|---:|\n".to_owned();
        let pauses = self.0["pauses"].as_object().expect("pauses");
        let rows = self.cases().iter().chain(pauses);
        let rows: Vec<_> = rows
            .filter(|(name, _)| HUGE_PAGE_ROWS.contains(&name.as_str()))
            .collect();
        assert_eq!(rows.len(), HUGE_PAGE_ROWS.len(), "a missing case");
        for (name, row) in rows {
            let value = |field: &str| {
                // Without huge pages, there is nothing to wait for.
                if row[field].is_null() {
                    return "–".to_owned();
                }
                let (value, unit) = match (number(&row[field]), text(&row["unit"])) {
                    (value @ 1e3.., "ns") => (value / 1e3, "µs"),
                    (value @ 1e3.., "µs") => (value / 1e3, "ms"),
                    other => other,
                };
                match value {
                    ..100.0 => format!("{value:.1} {unit}"),
                    _ => format!("{} {unit}", grouped(value)),
                }
            };
            let ratio = row["ratio"].as_f64().map_or("–".to_owned(), shown);
            let _ = writeln!(
                table,
                "| {name} | {} | {} | {ratio} |",
                value("yes"),
                value("no")
            );
        }
        table
    }

    /// The ratios of all cases, a row per case.
    fn chart(&self) -> LineChart {
        let cases: Vec<_> = self.cases().iter().collect();
        let row = |i: usize| (cases.len() - i) as f64 - 0.5;
        let points = cases.iter().enumerate();
        let points = points.map(|(i, (_, case))| Point::from((number(&case["ratio"]), row(i))));
        chart_of_ratios(
            "Server CPU time per command with huge pages,\ndivided by that without",
            "below 1: huge pages take less time",
            cases.iter().map(|(name, _)| (*name).clone()).collect(),
            vec![Series {
                name: "200 million items".to_owned(),
                points: points.collect(),
            }],
        )
    }
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
        let _ = writeln!(
            table,
            "| {name} | {} | {} | {} | {} |",
            grouped(number(&kind["keys"])),
            grouped(ours),
            shown(ours / theirs),
            ratios.join(" | ")
        );
    }
    table
}

/// The points of a curve of memory.json: items and bytes.
fn curve(curve: &Value) -> Vec<(f64, f64)> {
    let points = curve["points"].as_array().expect("points").iter();
    points
        .map(|point| (number(&point[0]), number(&point[1])))
        .collect()
}

/// Bytes per item.
fn memory_table(curves: &[Value]) -> String {
    let mut table =
        "| structure | 1,000 items | 1 million items | 10 million items |\n|---|---:|---:|---:|\n"
            .to_owned();
    for of_curve in curves {
        let points = curve(of_curve);
        let at = |items: f64| {
            let point = points
                .iter()
                .find(|point| point.0 == items)
                .expect("a point");
            format!("{:.1}", point.1 / items)
        };
        let name = text(&of_curve["name"]);
        let _ = writeln!(
            table,
            "| {name} | {} | {} | {} |",
            at(1e3),
            at(1e6),
            at(1e7)
        );
    }
    table
}

fn memory_chart(curves: &[Value]) -> LineChart {
    // The curve of a Valkey set would cover that of a Redis set.
    let curves = curves
        .iter()
        .filter(|curve| curve["name"] != "Set of Valkey");
    let series = curves.map(|of_curve| Series {
        name: text(&of_curve["name"]).to_owned(),
        points: curve(of_curve).into_iter().map(Point::from).collect(),
    });
    let items = (3..=7).map(|power| 10f64.powi(power));
    let label = |items: f64| match items {
        1e6.. => format!("{}M", items / 1e6),
        _ => grouped(items),
    };
    let bytes = |bytes: f64| match bytes {
        1048576.0.. => format!("{} MiB", bytes / 1048576.0),
        _ => format!("{} KiB", bytes / 1024.0),
    };
    let sizes = (0..=5).map(|step| f64::from(1024 << (4 * step)));
    LineChart {
        title: "Memory by number of items of 20 bytes".to_owned(),
        x: Axis::new("items", Scale::Logarithmic, (1e3, 1e7), items, label),
        y: Axis::new(
            "memory usage (logarithmic)",
            Scale::Logarithmic,
            (1024.0, f64::from(1 << 30)),
            sizes,
            bytes,
        ),
        series: series.collect(),
    }
}

/// Replaces generated texts in a document. Each has the name of its markers.
fn replace(file: &str, texts: &[(&str, &str)]) {
    let mut document = fs::read_to_string(path(file)).expect("a document");
    for (name, text) in texts {
        let (begin, end) = (
            format!("<!-- begin: {name} -->\n"),
            format!("<!-- end: {name} -->"),
        );
        let (before, rest) = document.split_once(&begin).expect("a marker");
        let (_, after) = rest.split_once(&end).expect("a marker");
        document = format!("{before}{begin}{text}{end}{after}");
    }
    fs::write(path(file), document).expect("a file that can be written");
}

fn main() {
    let redisbloom_2 = Comparison(recorded("redisbloom-2.8.2.json"));
    let redisbloom = Comparison(recorded("redisbloom-8.10.json"));
    let valkey_bloom = Comparison(recorded("valkey-bloom.json"));
    let memory = recorded("memory.json");
    let curves = memory["curves"].as_array().expect("curves");
    let peers = [&redisbloom_2, &redisbloom, &valkey_bloom];
    let huge_pages = HugePages(recorded("huge-pages.json"));
    replace("README.md", &[("peers", &summary(peers))]);
    let page = [
        ("peers", &*table(peers)),
        ("huge pages", &huge_pages.table()),
        ("memory", &memory_table(curves)),
        ("small keys", &small_keys(&recorded("small-keys.json"))),
    ];
    replace("docs/performance.md", &page);
    let charts = [
        (
            "docs/performance/families.svg",
            families(&redisbloom_2).rows(),
        ),
        (
            "docs/performance/peers.svg",
            ratios(&redisbloom, &valkey_bloom).rows(),
        ),
        ("docs/performance/huge-pages.svg", huge_pages.chart().rows()),
        ("docs/plots/memory.svg", memory_chart(curves).svg()),
    ];
    for (file, chart) in charts {
        fs::write(path(file), chart).expect("a file that can be written");
    }
}
