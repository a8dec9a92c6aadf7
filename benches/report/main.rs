//! Writes the tables and figures of docs/performance.md (`make bench-report`).
//!
//! The report copies the results of the benchmarks from target/bench to benches/record/measured, so that the repository
//! contains the data of its tables and figures. Results that are missing in target/bench keep their recorded values.
//! The comparison with other modules is copied from target/bench to benches/record/peers. The memory of sets and filters is in
//! benches/record/memory.json.
//!
//! A table is between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. The report does not change the text around it. It also
//! writes the comparison in README.md.

#[path = "../figure/mod.rs"]
mod figure;
#[path = "../record/mod.rs"]
mod record;

mod comparison;
mod latency;
mod peers;
mod plots;
mod restart;
mod scaling;
mod tables;
mod window_filters;

use comparison::Comparison;
use peers::Peers;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The results of all benchmarks.
struct Results {
    server: Value,
    references: Value,
    growth: Value,
    instructions: Value,
    windows: Value,
    window_filters: Value,
    /// `None` if no complete measurement was recorded.
    latency: Option<Value>,
    scaling: Value,
    restart: Value,
    /// Comparisons with RedisBloom and with valkey-bloom.
    peers: Peers,
    memory: Value,
}

fn recorded(name: &str) -> PathBuf {
    record::repository().join("benches/record").join(name)
}

fn read_text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&read_text(file)).expect("JSON")
}

/// Copies a result from target/bench to benches/record, if target/bench has it.
fn copy_to_record(new: &str, file: &Path) {
    let new = record::directory().join(new);
    if new.exists() {
        fs::copy(&new, file).expect("a file that can be written");
        println!("wrote {}", file.display());
    }
}

/// Records the results in target/bench, if there are any, and reads the recorded results.
fn measured(name: &str) -> Value {
    let file = recorded("measured").join(name);
    copy_to_record(name, &file);
    read(&file)
}

/// Like [`measured`], for a comparison of modules. `None` if it was never measured.
fn compared(name: &str) -> Option<Value> {
    let file = recorded("peers").join(format!("{name}.json"));
    copy_to_record(&format!("peers-{name}.json"), &file);
    file.exists().then(|| read(&file))
}

/// The comparison with another module, and that of a newer commit with a baseline if there is one.
fn comparison(name: &str, baseline: &str) -> Comparison {
    let results = compared(name).unwrap_or_else(|| panic!("no recorded comparison with {name}"));
    Comparison::new(results, compared(baseline))
}

/// As [`measured`]; `None` if there are no results.
fn measured_if_any(name: &str) -> Option<Value> {
    let files = [
        record::directory().join(name),
        recorded("measured").join(name),
    ];
    files
        .iter()
        .any(|file| file.exists())
        .then(|| measured(name))
}

/// Replaces the text between the markers with this name.
fn replace(document: &str, name: &str, text: &str) -> String {
    let begin = format!("<!-- begin: {name} -->\n");
    let end = format!("<!-- end: {name} -->");
    let from = document
        .find(&begin)
        .unwrap_or_else(|| panic!("no marker {begin}"))
        + begin.len();
    let to = from
        + document[from..]
            .find(&end)
            .unwrap_or_else(|| panic!("no marker {end}"));
    format!("{}{text}{}", &document[..from], &document[to..])
}

fn main() {
    let results = Results {
        server: measured("server.json"),
        references: measured("references.json"),
        growth: measured("growth.json"),
        instructions: measured("instructions.json"),
        windows: measured("windows.json"),
        window_filters: measured("window_filters.json"),
        peers: Peers::new(
            comparison("redisbloom", "baseline"),
            comparison("valkey-bloom", "baseline-valkey"),
        ),
        latency: measured_if_any("latency.json"),
        scaling: measured("scaling.json"),
        restart: measured("restart.json"),
        memory: read(&recorded("memory.json")),
    };
    let repository = record::repository();
    let docs = repository.join("docs");
    let of_filters = window_filters::all(&results.window_filters);
    let of_page = (tables::all(&results).into_iter())
        .chain(of_filters)
        .chain(results.latency.iter().flat_map(latency::all))
        .chain(scaling::all(&results.scaling))
        .chain(restart::all(&results.restart));
    write(
        &docs.join("performance.md"),
        of_page.chain(results.peers.of_page()),
    );
    let of_readme = [("peers", results.peers.of_readme())];
    write(&repository.join("README.md"), of_readme.into_iter());
    plots::draw(&results, &docs);
}

/// Replaces texts in a document. Each has the name of its markers.
fn write(file: &Path, texts: impl Iterator<Item = (&'static str, String)>) {
    let mut document = read_text(file);
    for (name, text) in texts {
        document = replace(&document, name, &text);
    }
    fs::write(file, document).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    println!("wrote {}", file.display());
}
