//! Benchmark of sketches with a sliding window: the figures of docs/performance.md, "Sliding windows" and "Filters with a
//! sliding window".
//!
//! `cargo bench -p benches --bench windows` writes target/bench/windows.json and window_filters.json. `-- sketches` and `-- filters`
//! measure one of the two parts; `-- filters commands` only the commands of the second. With `--quick`, the sizes are small.
//! The environment variable `ADDITIONS` is the number of additions in each of the longest tests of filters; by default
//! 100 million.
//!
//! Most figures have a target, from the specification (spec: window.md, "Figures to reach"). Times of commands are the server's CPU time per command under pipelined load;
//! the sketch without a window and the sketch with a window are measured in turn, and the result is the ratio of
//! the fastest rounds. Other times are those of one operation of the sketch, without a server.

#[path = "../record/mod.rs"]
mod record;
#[path = "../stream/mod.rs"]
mod stream;
#[path = "../../tests/support/mod.rs"]
mod support;

#[path = "../server/load.rs"]
mod load;

mod commands;
mod filter_commands;
mod filters;
mod memory;
mod sketches;

use serde_json::{Value, json};

/// A measured figure.
struct Figure {
    name: String,
    value: f64,
    /// `×`, `µs`, another unit, or nothing for a fraction.
    unit: &'static str,
    /// The largest value, or the smallest for a recall, that the specification allows. `None` if it has no target.
    target: Option<f64>,
}

impl Figure {
    fn new(name: impl Into<String>, value: f64, unit: &'static str, target: Option<f64>) -> Self {
        let figure = Self {
            name: name.into(),
            value,
            unit,
            target,
        };
        println!("{:<72} {:>9.3} {}", figure.name, figure.value, figure.unit);
        figure
    }

    fn to_json(&self) -> Value {
        json!({"name": self.name, "value": self.value, "unit": self.unit, "target": self.target})
    }
}

fn to_json(figures: &[Figure]) -> Vec<Value> {
    figures.iter().map(Figure::to_json).collect()
}

fn measure_sketches(is_quick: bool) {
    let load_before = record::load_average();
    let mut figures = commands::all(if is_quick { 1 } else { 7 });
    figures.extend(sketches::all());
    let results = json!({ "figures": to_json(&figures) });
    record::write("windows.json", results, load_before);
}

fn measure_filters(is_quick: bool, only_commands: bool) {
    let load_before = record::load_average();
    let commands = to_json(&filter_commands::all(is_quick));
    if only_commands {
        return;
    }
    let additions = std::env::var("ADDITIONS").ok();
    let additions = additions.map_or(100_000_000, |text| text.parse().expect("a number"));
    let sizes = if is_quick {
        filters::Sizes::quick()
    } else {
        filters::Sizes::full(additions)
    };
    let (figures, mut results) = filters::all(sizes);
    results["figures"] = to_json(&figures).into();
    results["commands"] = commands.into();
    record::write("window_filters.json", results, load_before);
}

fn main() {
    record::enter_repository();
    let arguments: Vec<String> = std::env::args().collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let is_quick = has("--quick");
    if has("sketches") || !has("filters") {
        measure_sketches(is_quick);
    }
    if has("filters") || !has("sketches") {
        measure_filters(is_quick, has("commands"));
    }
}
