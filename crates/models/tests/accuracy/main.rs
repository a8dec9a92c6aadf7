//! Measures the accuracy of each family, and compares the tables and plots in docs/ with the results.
//!
//! Streams and seeds are fixed, so every run gives the same results. In a sample, some are measured ([`MEASUREMENTS`]), and of tables
//! with a row per stream of the collection some rows. `make pages` (ROUGHLY_WRITE=1) writes the tables and plots. Without
//! ROUGHLY_WRITE, a difference fails the test.

#[path = "../../../../benches/figure.rs"]
mod figure;
#[path = "../../../../tests/support/repeated_values.rs"]
mod repeated_values;
#[path = "../../../../tests/support/sample.rs"]
mod sample;
#[path = "../../../../tests/support/streams.rs"]
mod streams;

mod calculator;
mod clients;
mod default_filters;
mod digests;
mod families;
mod limits;
mod merged_filters;
mod periods;
mod rate_filters;
mod recall;
mod repeated;
mod reported_counts;
mod reported_lists;
mod reported_ranks;
mod reported_rates;
mod sizes;
mod small_filters;
mod stream_filters;
mod stream_memory;
mod stream_recall;
mod window_memory;
mod windows;

use figure::LineChart;
use sample::Sample;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use streams::{Pane, Stream};

/// The marker after a table. The marker before it begins with the name of the table.
const END: &str = "<!-- end -->";

/// The results for a family.
#[derive(Debug)]
pub struct Measured {
    /// A table in Markdown.
    table: String,
    plot: LineChart,
}

/// Formats a row of a Markdown table.
fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<_> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Formats a Markdown table.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = line(head);
    table += &line(&vec!["---"; head.len()]);
    for row in rows {
        assert_eq!(row.len(), head.len());
        table += &line(row);
    }
    table
}

/// Formats a share as a percentage.
fn per_cent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Formats the largest share of a stream, with the stream if it is above 0.
fn largest_share(name: &str, share: f64) -> String {
    match share {
        0.0 => per_cent(share),
        _ => format!("{} ({name})", per_cent(share)),
    }
}

/// Formats a size in bytes with a unit.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    (units.iter().find(|(shift, _)| bytes >> shift > 0)).map_or_else(
        || format!("{bytes} bytes"),
        |(shift, unit)| format!("{:.1} {unit}", bytes as f64 / f64::from(1 << shift)),
    )
}

/// The path of a file of the repository.
fn page(path: &str) -> PathBuf {
    (Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).join(path)
}

/// The contents of a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(page(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares a file of the repository with the expected contents; with ROUGHLY_WRITE set, writes it.
fn check_or_write(path: &str, expected: &str) {
    if fs::read_to_string(page(path)).unwrap_or_default() == expected {
        return;
    }
    assert!(
        std::env::var_os("ROUGHLY_WRITE").is_some(),
        "{path} differs from the results; `make pages` updates it"
    );
    fs::write(page(path), expected).expect("a file that can be written");
}

/// Compares the page and the plot of a family with the results; with ROUGHLY_WRITE set, writes them.
fn check_page(family: &str, sizes: &str, measured: &Measured) {
    println!("{family}\n\n{sizes}\n{}", measured.table);
    let plot = format!("docs/families/plots/{family}.svg");
    check_or_write(&plot, &measured.plot.svg());
    let path = format!("docs/families/{family}.md");
    let link = format!("(plots/{family}.svg)");
    assert!(read(&path).contains(&link), "{path} does not show its plot");
    check_table(&path, "sizes", sizes);
    check_table(&path, "accuracy", &measured.table);
}

/// A page in three parts: the text until the marker of the table with this name, the table, and the marker after it with the rest.
fn split<'p>(page: &'p str, path: &str, name: &str) -> [&'p str; 3] {
    const MARKER_END: &str = "-->\n";
    let begin = page.find(&format!("<!-- {name}: "));
    let begin = begin.unwrap_or_else(|| panic!("{path} has no marker of the table {name}"));
    let table = page[begin..].find(MARKER_END).expect("the end of a marker") + MARKER_END.len();
    let (before, rest) = page.split_at(begin + table);
    let end = rest.find(END).expect("a marker after the table");
    [before, &rest[..end], &rest[end..]]
}

/// Compares the table with this name on a page with the results; with ROUGHLY_WRITE set, writes it.
fn check_table(path: &str, name: &str, table: &str) {
    let page = read(path);
    let [before, _, after] = split(&page, path, name);
    check_or_write(path, &format!("{before}\n{table}\n{after}"));
}

/// The measurements of this run: in a [`Sample`], half of its cases.
fn sample() -> Sample {
    Sample::of_run().thinned(2)
}

/// Compares a table with the rows of each stream of the collection, as [`check_table`] does. In a sample, it has the rows of some
/// streams.
fn check_streams(path: &str, name: &str, head: &[&str], rows_of: fn(&Stream) -> Vec<Vec<String>>) {
    let sample = sample();
    let rows: Vec<_> = sample.of(&streams::STREAMS).flat_map(rows_of).collect();
    println!("{}", table(head, &rows));
    if sample.is_all() {
        check_table(path, name, &table(head, &rows));
        return;
    }
    let page = read(path);
    let [_, section, _] = split(&page, path, name);
    for row in rows {
        assert!(section.contains(&line(&row)), "{path}: {row:?}");
    }
}

/// The functions that measure the tables and plots, and compare them with the pages.
const MEASUREMENTS: &[fn()] = &[
    the_bloom_page_shows_the_measured_accuracy,
    the_cuckoo_page_shows_the_measured_accuracy,
    the_count_min_page_shows_the_measured_accuracy,
    the_top_k_page_shows_the_measured_accuracy,
    the_top_k_page_shows_the_measured_accuracy_of_windows,
    the_top_k_page_shows_the_recall_of_items_of_every_third_unit,
    the_t_digest_page_shows_the_measured_accuracy,
    the_t_digest_page_shows_the_measured_accuracy_of_windows,
    the_t_digest_page_shows_the_measured_accuracy_of_repeated_values,
    repeated::repeated_values_are_exact_or_nearly,
    the_recipes_show_the_measured_accuracy,
    as_few_users_miss_an_impression_as_documented,
    ages_are_wrong_as_rarely_as_documented,
    reported_false_positive_rates_are_those_of_look_ups,
    reported_errors_of_counts_are_those_of_other_items,
    the_page_of_sketch_accuracy_shows_the_coverage_of_rank_errors,
    calculator::the_calculator_has_the_measured_values,
    merged_filters::the_page_of_the_merge_shows_its_false_positives,
    default_filters::the_cuckoo_page_shows_the_false_positives_of_the_defaults,
];

/// In a [`Sample`], some of them.
#[test]
fn the_pages_show_what_is_measured() {
    thread::scope(|scope| {
        for measure in sample().of(MEASUREMENTS) {
            scope.spawn(measure);
        }
    });
}

fn the_bloom_page_shows_the_measured_accuracy() {
    check_page("bloom", &sizes::bloom(), &families::bloom());
    let path = "docs/families/bloom.md";
    check_table(path, "growth", &families::bloom_growth());
    check_table(path, "small filters", &small_filters::rates());
}

fn the_cuckoo_page_shows_the_measured_accuracy() {
    check_page("cuckoo", &sizes::cuckoo(), &families::cuckoo());
}

fn the_count_min_page_shows_the_measured_accuracy() {
    check_page(
        "count-min-sketch",
        &sizes::count_min(),
        &families::count_min(),
    );
    let path = "docs/families/count-min-sketch.md";
    check_table(path, "windows", &families::count_min_windows());
}

fn the_top_k_page_shows_the_measured_accuracy() {
    check_page("top-k", &sizes::top_k(), &recall::top_k());
    let path = "docs/families/top-k.md";
    check_table(path, "order", &recall::by_order());
    check_table(path, "merges", &recall::of_merges());
}

fn the_top_k_page_shows_the_measured_accuracy_of_windows() {
    let path = "docs/families/top-k.md";
    check_table(path, "streams", &stream_recall::by_size());
}

fn the_t_digest_page_shows_the_measured_accuracy() {
    check_page("t-digest", &sizes::t_digest(), &families::t_digest());
    check_or_write(
        "docs/families/plots/t-digest-tail.svg",
        &families::t_digest_tail().svg(),
    );
    let path = "docs/families/t-digest.md";
    check_table(path, "numbers of samples", &digests::by_number());
    check_table(path, "second modes", &digests::second_modes());
    check_table(path, "merges", &digests::merges());
}

fn the_t_digest_page_shows_the_measured_accuracy_of_repeated_values() {
    let path = "docs/families/t-digest.md";
    check_table(path, "repeated values", &repeated::by_load());
}

fn the_t_digest_page_shows_the_measured_accuracy_of_windows() {
    check_table("docs/families/t-digest.md", "windows", &windows::t_digest());
}

fn the_recipes_show_the_measured_accuracy() {
    let path = "docs/recipes/rate-limiting.md";
    check_table(path, "rate limits", &limits::rate_limits());
    let path = "docs/recipes/now-and-then.md";
    check_table(path, "periods", &periods::shortest());
    let recipe = read("docs/recipes/rate-limiting.md");
    let [fixed, sliding] = clients::early_refusals();
    let sentence =
        format!("at most {sliding} requests early, and without a window at most {fixed}");
    assert!(recipe.contains(&sentence), "{sentence}");
}

/// The shares in docs/recipes/ad-frequency-capping.md.
fn as_few_users_miss_an_impression_as_documented() {
    clients::check_missed_impressions();
}

/// The shares in "Last seen" of docs/sliding-windows.md.
fn ages_are_wrong_as_rarely_as_documented() {
    let wrong = clients::wrong_ages().map(|share| format!("{share:.2}"));
    assert_eq!(wrong, ["0.03", "0.07"]);
}

fn reported_false_positive_rates_are_those_of_look_ups() {
    let path = "docs/commands/sketch.accuracy.md";
    check_table(path, "rates", &reported_rates::rates());
    check_table(path, "valkey rates", &reported_rates::valkey_rates());
}

fn reported_errors_of_counts_are_those_of_other_items() {
    let path = "docs/commands/sketch.accuracy.md";
    check_table(path, "counts", &reported_counts::errors_by_sketch());
}

/// In a sample, the lists of some streams have the recall that the page states.
#[test]
fn the_page_of_sketch_accuracy_shows_the_agreement_of_lists() {
    if let Some(table) = reported_lists::agreement(sample()) {
        check_table("docs/commands/sketch.accuracy.md", "lists", &table);
    }
}

fn the_page_of_sketch_accuracy_shows_the_coverage_of_rank_errors() {
    let path = "docs/commands/sketch.accuracy.md";
    check_table(path, "ranks", &reported_ranks::ranks());
}

/// The tables with rows for each stream of the collection.
#[test]
fn the_pages_show_what_is_measured_by_stream_of_the_collection() {
    check_streams(
        "docs/families/top-k.md",
        "collection",
        &stream_recall::HEAD,
        stream_recall::rows,
    );
    check_streams(
        "docs/families/count-min-sketch.md",
        "memory",
        &stream_memory::HEAD,
        stream_memory::rows,
    );
    check_streams(
        "docs/performance.md",
        "memory",
        &window_memory::HEAD,
        window_memory::rows,
    );
    check_streams(
        "docs/commands/sketch.accuracy.md",
        "stream rates",
        &stream_filters::HEAD,
        stream_filters::rows,
    );
    check_streams(
        "docs/commands/sketch.accuracy.md",
        "stream ranks",
        &reported_ranks::HEAD,
        reported_ranks::rows_of_stream,
    );
}

fn the_top_k_page_shows_the_recall_of_items_of_every_third_unit() {
    let page = read("docs/families/top-k.md");
    let [mean, lowest] = stream_recall::of_every_third_unit().map(|recall| recall * 100.0);
    let sentence = format!("of a quarter is {mean:.0} % on average, at least {lowest:.0} %");
    assert!(page.contains(&sentence), "{sentence}");
}

/// A pane of a stream.
fn pane(number: u32, events: usize, k: usize) -> Pane {
    Pane { number, events, k }
}

/// The Python tests use the same streams.
#[test]
fn the_streams_of_the_python_tests_are_those_of_the_collection() {
    let streams: Vec<String> = (streams::STREAMS.iter())
        .map(|stream| {
            let events = |number| stream.events(pane(number, 200, 5), 1);
            let panes: Vec<_> = (0..3).map(events).collect();
            format!("  {:?}: {panes:?}", stream.name)
        })
        .collect();
    let json = format!("{{\n{}\n}}\n", streams.join(",\n"));
    check_or_write("python/tests/streams.json", &json);
}

#[test]
fn the_flow_chart_has_the_style_of_the_other_figures() {
    let chart = read("docs/plots/choosing.svg");
    assert!(chart.contains(figure::STYLE));
}
