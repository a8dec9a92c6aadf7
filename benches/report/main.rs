//! Writes docs/performance.md's tables, between their markers, and its pictures, from what the benches left
//! in target/bench. `make bench-report`.
//!
//! A table is between `<!-- begin: NAME -->` and `<!-- end: NAME -->`; the text around is written by
//! hand.

#[path = "../record/mod.rs"]
mod record;

mod plots;
mod tables;

use serde_json::Value;
use std::fs;
use std::path::Path;

/// The results of all benches.
struct Results {
    server: Value,
    references: Value,
    growth: Value,
    instructions: Value,
}

fn read(name: &str) -> Value {
    let file = record::directory().join(name);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!("{}: {error}. `make bench` makes it", file.display());
    });
    serde_json::from_str(&text).expect("JSON")
}

/// Puts a text between its markers.
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
        server: read("server.json"),
        references: read("references.json"),
        growth: read("growth.json"),
        instructions: read("instructions.json"),
    };
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let file = docs.join("performance.md");
    let mut document = fs::read_to_string(&file).expect("docs/performance.md");
    for (name, text) in tables::all(&results) {
        document = replace(&document, name, &text);
    }
    fs::write(&file, document).expect("docs/performance.md");
    println!("wrote {}", file.display());
    let pictures = docs.join("performance");
    fs::create_dir_all(&pictures).expect("docs/performance");
    plots::draw(&results, &pictures);
}
