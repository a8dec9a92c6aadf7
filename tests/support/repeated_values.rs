//! Kinds of samples with repeated values, and rank errors of their quantiles.

use super::streams::{Random, Weights};

/// A kind of samples.
#[derive(Debug)]
pub struct Load {
    pub name: &'static str,
    samples: fn(&mut Random) -> Vec<f64>,
    /// The maximum rank error of a digest with COMPRESSION 100 and 300.
    pub max_error: f64,
    /// The rank error of RedisBloom 2.8.2 with COMPRESSION 100, with two significant digits, as a server test measures it.
    pub redisbloom: f64,
}

impl Load {
    /// The samples, in random order and sorted.
    pub fn samples(&self) -> [Vec<f64>; 2] {
        let samples = (self.samples)(&mut Random(72));
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        [samples, sorted]
    }
}

const SAMPLES: usize = 30_000;

/// Independent samples.
fn drawn(random: &mut Random, mut sample: impl FnMut(&mut Random) -> f64) -> Vec<f64> {
    (0..SAMPLES).map(|_| sample(random)).collect()
}

/// Numbers from 0, each with a relative frequency.
fn weighted(random: &mut Random, weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let drawn = Weights::new(weights).draws(SAMPLES, random);
    drawn.into_iter().map(f64::from).collect()
}

/// Whole numbers from 1.
fn whole(random: &mut Random, max: f64) -> Vec<f64> {
    drawn(random, |random| 1.0 + (max * random.fraction()).floor())
}

fn exponential(random: &mut Random) -> f64 {
    -100.0 * (1.0 - random.fraction()).ln()
}

const fn load(
    name: &'static str,
    max_error: f64,
    redisbloom: f64,
    samples: fn(&mut Random) -> Vec<f64>,
) -> Load {
    Load {
        name,
        samples,
        max_error,
        redisbloom,
    }
}

pub const LOADS: [Load; 14] = [
    load("one value", 0.0, 0.0, |random| whole(random, 1.0)),
    load("0 or 1000", 0.0, 0.15, |random| {
        drawn(random, |random| 1000.0 * (2.0 * random.fraction()).floor())
    }),
    load("status codes: 80 %, 15 %, 5 %", 0.0, 0.071, |random| {
        weighted(random, [0.8, 0.15, 0.05].into_iter())
    }),
    load("ratings from 0 to 4", 0.0, 0.15, |random| {
        weighted(random, [0.05, 0.05, 0.1, 0.3, 0.5].into_iter())
    }),
    load("1 to 20", 0.0, 0.036, |random| whole(random, 20.0)),
    load("1 to 90", 0.0, 0.011, |random| whole(random, 90.0)),
    load("1 to 100", 0.0, 0.0097, |random| whole(random, 100.0)),
    load("Zipf of 60 values", 0.0, 0.062, |random| {
        weighted(random, (1..=60).map(|rank| 1.0 / f64::from(rank)))
    }),
    load("1 to 300", 0.008, 0.0067, |random| whole(random, 300.0)),
    load("whole milliseconds, log-normal", 0.008, 0.015, |random| {
        drawn(random, |random| (3.5 + 0.8 * random.normal()).exp().round())
    }),
    load("85 % zeros, the others exponential", 0.01, 0.14, |random| {
        drawn(random, |random| match random.fraction() < 0.85 {
            true => 0.0,
            false => exponential(random),
        })
    }),
    load("half 2.5, half normal", 0.012, 0.21, |random| {
        drawn(random, |random| match random.fraction() < 0.5 {
            true => 2.5,
            false => 2.5 + random.normal(),
        })
    }),
    load("prices: 70 % end with .99", 0.008, 0.013, |random| {
        drawn(random, |random| match random.fraction() < 0.7 {
            true => (40.0 * random.fraction()).ceil() - 0.01,
            false => 40.0 * random.fraction(),
        })
    }),
    load("Zipf of 2,000 values", 0.02, 0.039, |random| {
        weighted(random, (1..=2000).map(|rank| 1.0 / f64::from(rank)))
    }),
];

/// The shares of the samples that are below a value, and up to it.
pub fn ranks(sorted: &[f64], value: f64) -> (f64, f64) {
    let share = |samples: usize| samples as f64 / sorted.len() as f64;
    let below = sorted.partition_point(|&sample| sample < value);
    let up_to = sorted.partition_point(|&sample| sample <= value);
    (share(below), share(up_to))
}

/// The quantiles of which the errors are measured.
pub fn quantiles() -> impl Iterator<Item = f64> {
    (0..=1000).map(|step| f64::from(step) / 1000.0)
}

/// The largest error of the answers to [`quantiles`], as a share of the samples.
pub fn rank_error(sorted: &[f64], answers: impl Iterator<Item = f64>) -> f64 {
    let errors = quantiles().zip(answers).map(|(quantile, answer)| {
        let (below, up_to) = ranks(sorted, answer);
        (below - quantile).max(quantile - up_to)
    });
    errors.fold(0.0, f64::max)
}
