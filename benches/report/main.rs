//! Writes the tables and figures of docs/performance.md (`make bench-report`).
//!
//! The report copies the results of the benchmarks from target/bench to benches/record/measured, so that the repository
//! contains the data of its tables and figures. Results that are missing in target/bench keep their recorded values.
//! The comparison with other modules is in benches/record/peers, and the memory of sets and filters in
//! benches/record/memory.json.
//!
//! A table is between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. The report does not change the text around it.

#[path = "../figure/mod.rs"]
mod figure;
#[path = "../record/mod.rs"]
mod record;

mod plots;
mod restart;
mod tables;
mod window_filters;

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
    /// Comparisons with RedisBloom and with valkey-bloom.
    peers: [Value; 2],
    memory: Value,
}

fn recorded(name: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.join("benches/record").join(name)
}

fn read(file: &Path) -> Value {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Records the results in target/bench, if there are any, and reads the recorded results.
fn measured(name: &str) -> Value {
    let new = record::directory().join(name);
    let file = recorded("measured").join(name);
    if new.exists() {
        fs::copy(&new, &file).expect("a file that can be written");
        println!("wrote {}", file.display());
    }
    read(&file)
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
        peers: [
            "redisbloom-on-redis-8.0.2.json",
            "valkey-bloom-on-valkey-8.1.1.json",
        ]
        .map(|name| read(&recorded("peers").join(name))),
        memory: read(&recorded("memory.json")),
    };
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let file = docs.join("performance.md");
    let mut document = fs::read_to_string(&file).expect("docs/performance.md");
    let tables = tables::all(&results);
    let of_filters = window_filters::all(&results.window_filters);
    let of_restarts = restart::all(&measured("restart.json"));
    for (name, text) in tables.into_iter().chain(of_filters).chain(of_restarts) {
        document = replace(&document, name, &text);
    }
    fs::write(&file, document).expect("docs/performance.md");
    println!("wrote {}", file.display());
    plots::draw(&results, &docs);
}
