//! Benchmark of sketches with a sliding window: the figures of docs/performance.md, "Sliding windows".
//!
//! `cargo bench --bench windows` writes target/bench/windows.json. Each figure has a target, from the specification
//! (spec: window.md, "Figures to reach"). Times of commands are the server's CPU time per command under pipelined load;
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
mod sketches;

use serde_json::{Value, json};

/// A measured figure.
struct Figure {
    name: String,
    value: f64,
    /// `×`, `µs`, or nothing for a fraction.
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

fn main() {
    let load_before = record::load_average();
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let mut figures = commands::all(if is_quick { 1 } else { 7 });
    figures.extend(sketches::all());
    let figures: Vec<Value> = figures.iter().map(Figure::to_json).collect();
    record::write("windows.json", json!({ "figures": figures }), load_before);
}
