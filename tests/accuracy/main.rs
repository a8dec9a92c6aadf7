//! Measures how accurate each family is, and compares the tables and plots of docs/families/ with the results.
//!
//! Streams and seeds are fixed, so the figures are the same every time. `make plots` (ROUGHLY_WRITE=1)
//! writes the tables and plots; without it, a difference is a failure.

#[path = "../../benches/figure/mod.rs"]
mod figure;

mod families;
mod sizes;
mod streams;

use figure::LineChart;
use std::fs;
use std::path::Path;

/// The markers before and after a table on a page.
const BEGIN: [&str; 2] = [
    "<!-- sizes: computed by tests/accuracy, written by `make plots` -->\n",
    "<!-- accuracy: measured by tests/accuracy, written by `make plots` -->\n",
];
const END: &str = "<!-- end -->";

/// What was measured of a family.
#[derive(Debug)]
pub struct Measured {
    /// A table in Markdown.
    table: String,
    plot: LineChart,
}

/// Rows of cells as a table in Markdown.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut table = line(head.iter().map(ToString::to_string).collect());
    table += &line(head.iter().map(|_| "---".to_owned()).collect());
    for row in rows {
        assert_eq!(row.len(), head.len());
        table += &line(row.clone());
    }
    table
}

/// A share for the eye.
fn per_cent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Bytes for the eye.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    units
        .iter()
        .find(|(shift, _)| bytes >> shift > 0)
        .map_or_else(
            || format!("{bytes} bytes"),
            |(shift, unit)| format!("{:.1} {unit}", bytes as f64 / f64::from(1 << shift)),
        )
}

/// Compares a file with its wanted contents, or writes it.
fn check_or_write(path: &Path, wanted: &str) {
    let found = fs::read_to_string(path).unwrap_or_default();
    if found == wanted {
        return;
    }
    assert!(
        std::env::var_os("ROUGHLY_WRITE").is_some(),
        "{} is not what was measured; `make plots` writes it anew",
        path.display()
    );
    fs::write(path, wanted).expect("a file that can be written");
}

/// Compares a family's page and plot with what was measured, or writes them.
fn check_page(family: &str, sizes: &str, measured: &Measured) {
    println!("{family}\n\n{sizes}\n{}", measured.table);
    let dir = Path::new("docs/families");
    check_or_write(
        &dir.join(format!("plots/{family}.svg")),
        &measured.plot.svg(),
    );
    let path = dir.join(format!("{family}.md"));
    let mut page = fs::read_to_string(&path).expect("the family's page");
    let link = format!("(plots/{family}.svg)");
    assert!(
        page.contains(&link),
        "{} does not show its plot",
        path.display()
    );
    for (begin, table) in BEGIN.iter().zip([sizes, &measured.table]) {
        let (before, rest) = page.split_once(begin).expect("a place for the table");
        let (_, after) = rest.split_once(END).expect("an end of the table");
        page = format!("{before}{begin}\n{table}\n{END}{after}");
    }
    check_or_write(&path, &page);
}

#[test]
fn bloom_filters() {
    check_page("bloom", &sizes::bloom(), &families::bloom());
}

#[test]
fn cuckoo_filters() {
    check_page("cuckoo", &sizes::cuckoo(), &families::cuckoo());
}

#[test]
fn count_min_sketches() {
    check_page(
        "count-min-sketch",
        &sizes::count_min(),
        &families::count_min(),
    );
}

#[test]
fn top_k_sketches() {
    check_page("top-k", &sizes::top_k(), &families::top_k());
}

#[test]
fn t_digests() {
    check_page("t-digest", &sizes::t_digest(), &families::t_digest());
    check_or_write(
        Path::new("docs/families/plots/t-digest-tail.svg"),
        &families::t_digest_tail().svg(),
    );
}

#[test]
fn the_flow_chart_has_the_style_of_the_other_figures() {
    let chart = fs::read_to_string("docs/plots/choosing.svg").expect("the flow chart");
    assert!(chart.contains(figure::STYLE));
}
