//! Times that tolerate a busy machine: many short segments are timed, and the median is reported. A segment
//! that the system interrupts is long, and is as if it were any long one.

use std::time::Instant;

/// Times of segments, in ns for each operation.
#[derive(Debug, Default)]
pub struct Segments(Vec<f64>);

impl Segments {
    /// Runs a segment of so many operations.
    pub fn time<T>(&mut self, operations: u64, segment: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = segment();
        let ns = start.elapsed().as_nanos() as f64;
        self.0.push(ns / operations as f64);
        made
    }

    /// The middle time; not a number if there is none.
    pub fn median(mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
