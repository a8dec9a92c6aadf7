//! Time measurements for a busy machine: the median of many short segments. A segment that the system interrupts is
//! an outlier and hardly changes the median.

use std::time::Instant;

/// Times of segments, in ns per operation.
#[derive(Debug, Default)]
pub struct Segments(Vec<f64>);

impl Segments {
    /// Runs and times a segment that executes `operations` operations.
    pub fn time<T>(&mut self, operations: u64, segment: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = segment();
        let ns = start.elapsed().as_nanos() as f64;
        self.0.push(ns / operations as f64);
        result
    }

    /// The median time; NaN if no segment was timed.
    pub fn median(mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
