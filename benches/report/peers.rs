//! The comparison with RedisBloom and valkey-bloom: results, tables and figures.

use crate::comparison::{Comparison, Ratio, Row};
use crate::figure::{Axis, DotChart, Dots, Panel, Reference, Scale};
use crate::tables::grouped;
use std::fmt::Write;

/// A kind of commands whose ratios are summarized as one range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    One,
    Many,
    Quantile,
    Increment,
}

/// A measured case.
struct Case {
    /// Name in the results.
    name: &'static str,
    label: &'static str,
    kind: Kind,
    /// Whether the figure of the README has the case. It has at least one write and one read of each family.
    is_selected: bool,
}

const fn case(name: &'static str, label: &'static str, kind: Kind) -> Case {
    Case {
        name,
        label,
        kind,
        is_selected: false,
    }
}

const fn selected(name: &'static str, label: &'static str, kind: Kind) -> Case {
    Case {
        is_selected: true,
        ..case(name, label, kind)
    }
}

/// The cases, in the order of the rows.
const CASES: [Case; 22] = [
    selected("BF.ADD 10M/0.001", "BF.ADD", Kind::One),
    case("BF.ADD 200M/0.001 (cold)", "BF.ADD, 200M", Kind::One),
    selected("BF.EXISTS hit+miss 10M", "BF.EXISTS", Kind::One),
    selected("BF.MADD x100 200M (cold)", "BF.MADD ×100", Kind::Many),
    selected("BF.MEXISTS x100 200M (cold)", "BF.MEXISTS ×100", Kind::Many),
    case(
        "BF.MEXISTS x100 scaled 12 filters",
        "BF.MEXISTS ×100, grown",
        Kind::Many,
    ),
    selected("CF.ADD 10M", "CF.ADD", Kind::One),
    selected("CF.EXISTS 10M", "CF.EXISTS", Kind::One),
    case("CF.EXISTS default, grown", "CF.EXISTS, grown", Kind::One),
    selected("CF.INSERT x100 cold 200M", "CF.INSERT ×100", Kind::Many),
    selected("CF.MEXISTS x100 cold 200M", "CF.MEXISTS ×100", Kind::Many),
    selected("CMS.INCRBY 0.001/0.01", "CMS.INCRBY", Kind::One),
    case("CMS.INCRBY x50 1e-5/0.001", "CMS.INCRBY ×50", Kind::Many),
    selected("CMS.QUERY x50 1e-5/0.001", "CMS.QUERY ×50", Kind::Many),
    case("TOPK.ADD k100 zipf-ish", "TOPK.ADD, k 100", Kind::One),
    selected("TOPK.ADD k1000 wide", "TOPK.ADD, k 1,000", Kind::One),
    case(
        "TOPK.INCRBY k100 x1000",
        "TOPK.INCRBY by 1,000",
        Kind::Increment,
    ),
    selected("TOPK.QUERY k1000", "TOPK.QUERY, k 1,000", Kind::One),
    selected("TDIGEST.ADD c100", "TDIGEST.ADD", Kind::One),
    case("TDIGEST.ADD c1000 x100", "TDIGEST.ADD ×100", Kind::Many),
    selected(
        "TDIGEST.QUANTILE p50 c1000",
        "TDIGEST.QUANTILE",
        Kind::Quantile,
    ),
    case("TDIGEST.CDF c1000", "TDIGEST.CDF", Kind::Quantile),
];

/// The comparisons with RedisBloom and with valkey-bloom.
pub struct Peers {
    redisbloom: Comparison,
    valkey_bloom: Comparison,
}

fn shown(ratio: f64) -> String {
    match ratio {
        ..0.1 => format!("{ratio:.3}"),
        _ => format!("{ratio:.2}"),
    }
}

impl Peers {
    /// # Panics
    /// If the results have a case that the tables do not show.
    pub fn new(redisbloom: Comparison, valkey_bloom: Comparison) -> Self {
        let peers = Self {
            redisbloom,
            valkey_bloom,
        };
        for comparison in peers.both() {
            let unknown = comparison.names().find(|name| {
                // The results also have a built-in command.
                *name != "floor EXISTS" && CASES.iter().all(|case| case.name != *name)
            });
            assert_eq!(unknown, None);
        }
        peers
    }

    fn both(&self) -> [&Comparison; 2] {
        [&self.redisbloom, &self.valkey_bloom]
    }

    /// The smallest and the largest ratio of the cases of a kind, such as `0.31 to 0.64`.
    fn range(comparison: &Comparison, kind: Kind) -> Option<String> {
        let of_kind = CASES.iter().filter(|case| case.kind == kind);
        let ratios = of_kind.filter_map(|case| Some(comparison.row(case.name)?.newest().value));
        let (low, high) = ratios.fold((f64::INFINITY, 0.0f64), |(low, high), ratio| {
            (low.min(ratio), high.max(ratio))
        });
        let (from, to) = (shown(low), shown(high));
        match low.is_finite() {
            true if from == to => Some(from),
            true => Some(format!("{from} to {to}")),
            false => None,
        }
    }

    /// The texts of docs/performance.md, with the names of their markers.
    pub fn of_page(&self) -> Vec<(&'static str, String)> {
        vec![
            ("result", self.result()),
            ("peers", self.tables()),
            (
                "peers-chart",
                format!(
                    "![{}](performance/peers-all.svg)\n",
                    self.alternative_text()
                ),
            ),
        ]
    }

    /// The ratios in sentences.
    fn result(&self) -> String {
        let redisbloom = |kind| Self::range(&self.redisbloom, kind).expect("ratios");
        let valkey_bloom = |kind| {
            let range = Self::range(&self.valkey_bloom, kind);
            range.map_or(String::new(), |range| {
                format!(", and {range} times that of {}", self.valkey_bloom.peer())
            })
        };
        let peer = self.redisbloom.peer();
        let mut text = format!(
            "Commands with one item take {} times the server CPU time of {peer}{}.\n\
             Commands with 50 or 100 items take {} times the time of {peer}{}.\n\
             Quantiles and ranks of t-digests take {} times the time of {peer}, and `TOPK.INCRBY` by 1,000 takes {} times.\n",
            redisbloom(Kind::One),
            valkey_bloom(Kind::One),
            redisbloom(Kind::Many),
            valkey_bloom(Kind::Many),
            redisbloom(Kind::Quantile),
            redisbloom(Kind::Increment),
        );
        if let Some(peers) = self.with_products() {
            let _ = writeln!(
                text,
                "The ratios to {peers} are products of two measurements: see the table."
            );
        }
        text
    }

    /// The modules whose ratios are products of two runs.
    fn with_products(&self) -> Option<String> {
        let peers = self.both().into_iter();
        let peers = peers.filter(|peer| peer.newer().is_some());
        let names: Vec<_> = peers.map(Comparison::peer).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }

    fn tables(&self) -> String {
        self.both().map(table).join("\n")
    }

    /// The table of the README and its figure.
    pub fn of_readme(&self) -> String {
        let [redisbloom, valkey_bloom] = self.both();
        let mut text = format!(
            "| commands | {} | {} |\n|---|---|---|\n",
            redisbloom.peer(),
            valkey_bloom.peer()
        );
        for (name, kind) in [
            ("with one item", Kind::One),
            ("with 50 or 100 items", Kind::Many),
            ("`TDIGEST.QUANTILE`, `TDIGEST.CDF`", Kind::Quantile),
            ("`TOPK.INCRBY` by 1,000", Kind::Increment),
        ] {
            let range = |comparison| Self::range(comparison, kind).unwrap_or("–".to_owned());
            let (first, second) = (range(redisbloom), range(valkey_bloom));
            let _ = writeln!(text, "| {name} | {first} | {second} |");
        }
        if let Some(peers) = self.with_products() {
            let _ = writeln!(
                text,
                "\nThe ratios to {peers} are products of two measurements: see [performance](docs/performance.md)."
            );
        }
        let _ = writeln!(
            text,
            "\n![{}](docs/performance/peers.svg)",
            self.alternative_text()
        );
        text
    }

    fn alternative_text(&self) -> String {
        let mut text =
            "Server CPU time per command of Roughly, divided by that of another module.".to_owned();
        for (name, kind) in [
            ("One item", Kind::One),
            ("50 or 100 items", Kind::Many),
            ("Quantiles and ranks", Kind::Quantile),
        ] {
            let ranges = self.both().map(|comparison| {
                let range = Self::range(comparison, kind)?;
                Some(format!("{range} of {}", comparison.peer()))
            });
            let ranges: Vec<_> = ranges.into_iter().flatten().collect();
            let _ = write!(text, " {name}: {}.", ranges.join(", "));
        }
        text
    }

    /// The figure of the README, with few enough rows for a phone.
    pub fn small_figure(&self) -> String {
        self.figure(|case| case.is_selected)
    }

    /// The figure of docs/performance.md.
    pub fn full_figure(&self) -> String {
        self.figure(|_| true)
    }

    fn figure(&self, selects: impl Fn(&Case) -> bool) -> String {
        let chosen = CASES.iter().filter(|case| selects(case));
        let rows = chosen.map(|case| {
            let values = self.both().into_iter().enumerate();
            let values = values.filter_map(|(series, comparison)| {
                let ratio = comparison.row(case.name)?.newest().value;
                Some((series, ratio, shown(ratio)))
            });
            Dots {
                label: case.label.to_owned(),
                values: values.collect(),
            }
        });
        let rows: Vec<_> = rows.collect();
        let values = rows.iter().flat_map(|row| &row.values);
        let largest = values.map(|value| value.1).fold(0.0, f64::max);
        let mut notes = vec![
            "Below 1, Roughly takes less time. The gray band".to_owned(),
            "is ±5 %: repeated runs differ by as much.".to_owned(),
        ];
        if self.with_products().is_some() {
            notes.push("Some ratios are products of two runs.".to_owned());
        }
        DotChart {
            title: "Server CPU time per command:\nRoughly divided by another module".to_owned(),
            notes,
            series: (self.both())
                .map(|peer| format!("{}, {}", peer.peer(), peer.server()))
                .into(),
            reference: Some(Reference {
                value: 1.0,
                tolerance: 0.05,
            }),
            panels: vec![Panel {
                axis: Axis::new(
                    "",
                    Scale::Linear,
                    (0.0, (largest * 1.05).max(1.12)),
                    [0.0, 0.5, 1.0],
                    |value| format!("{value}"),
                ),
                rows,
            }],
        }
        .svg()
    }
}

/// The quartiles of a ratio, for a table.
fn spread(ratio: Ratio) -> String {
    let range = ratio.range.map_or("–".to_owned(), |(low, high)| {
        format!("{} to {}", shown(low), shown(high))
    });
    let mark = if ratio.agree { "" } else { " \\*" };
    format!("{range}{mark}")
}

/// A commit, in seven digits.
fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// The results beside one module.
fn table(comparison: &Comparison) -> String {
    let (peer, server) = (comparison.peer(), comparison.server());
    let commit = short(comparison.commit());
    let mut table = match comparison.newer() {
        None => format!(
            "{peer} and commit {commit} of Roughly, on {server}:\n\n\
             | command | Roughly, ns | {peer}, ns | ratio | spread |\n|---|---:|---:|---:|---:|\n"
        ),
        Some((newer, newer_server)) => {
            let newer = short(newer);
            format!(
                "{peer} and commit {commit} of Roughly, on {server}. The column \"now\" is for commit {newer}: the measured ratio, multiplied by\n\
                 the ratio of commit {newer} to commit {commit}, which another run measured on {newer_server}. The spread is that of the product:\n\n\
                 | command | Roughly, ns | {peer}, ns | ratio, measured | ratio, now | spread |\n|---|---:|---:|---:|---:|---:|\n"
            )
        }
    };
    let rows = CASES
        .iter()
        .filter_map(|case| Some((case, comparison.row(case.name)?)));
    for (case, row) in rows {
        let Row {
            roughly,
            peer,
            measured,
            product,
        } = row;
        let now = match (comparison.newer(), product) {
            (None, _) => String::new(),
            (Some(_), None) => " – |".to_owned(),
            (Some(_), Some(product)) => format!(" {} |", shown(product.value)),
        };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} |{now} {} |",
            case.label,
            grouped(roughly),
            grouped(peer),
            shown(measured.value),
            spread(row.newest()),
        );
    }
    table
}
