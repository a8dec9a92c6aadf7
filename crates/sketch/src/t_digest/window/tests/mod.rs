//! Error bounds, memory, golden bytes, hostile bytes.

mod accuracy;
mod hostile;
mod memory;
mod stored;

use super::*;
use crate::stored::Stored;
use crate::testing::{bits, fed, saved};
use crate::window::Timed;
use roughly_dump::Values;

fn window(compression: i64, panes: u64) -> TDigestWindow {
    let window = Window::new(1_000_000, panes, None).unwrap();
    TDigestWindow::new(compression, window, Budget::UNLIMITED).unwrap()
}

fn add(digest: &mut TDigestWindow, values: &[f64]) {
    digest.add_within(values, Budget::UNLIMITED).unwrap();
}

fn load(mut values: Values) -> Result<TDigestWindow, crate::format::FormatError> {
    TDigestWindow::load(&mut values, TDigestWindow::ENCODING_VERSION, &())
}

/// The answers to a fixed set of queries, as bits.
fn answers_of(compressed: &Compressed, min: f64, max: f64) -> Vec<u64> {
    let mut answers = vec![bits(min), bits(max)];
    for step in 0..=40 {
        answers.push(bits(compressed.quantile(f64::from(step) / 40.0)));
        let x = f64::from(step) - 20.0;
        answers.push(bits(compressed.cdf(x)));
        answers.push(compressed.rank(x).cast_unsigned());
        answers.push(compressed.revrank(x).cast_unsigned());
        answers.push(bits(compressed.by_rank(i64::from(step))));
        answers.push(bits(compressed.by_revrank(i64::from(step))));
    }
    answers.push(bits(compressed.trimmed_mean(0.1, 0.8)));
    answers
}

fn answers(digest: &TDigestWindow, current: u64) -> Vec<u64> {
    answers_with(&mut WindowCache::default(), digest, current)
}

fn answers_with(cache: &mut WindowCache, digest: &TDigestWindow, current: u64) -> Vec<u64> {
    let panes = digest.panes_in(current);
    let compressed = digest.compressed_at(panes, cache).unwrap();
    answers_of(compressed, digest.min_at(panes), digest.max_at(panes))
}

/// A generator of uniform numbers in [0, 1) (xorshift).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An integer below `end`.
    fn below(&mut self, end: u64) -> u64 {
        (self.next() * end as f64) as u64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.next()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.next()).cos()
    }
}
