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

pub const LOADS: [Load; 14] = [
    Load {
        name: "one value",
        samples: |random| whole(random, 1.0),
        max_error: 0.0,
        redisbloom: 0.0,
    },
    Load {
        name: "0 or 1000",
        samples: |random| drawn(random, |random| 1000.0 * (2.0 * random.fraction()).floor()),
        max_error: 0.0,
        redisbloom: 0.15,
    },
    Load {
        name: "status codes: 80 %, 15 %, 5 %",
        samples: |random| weighted(random, [0.8, 0.15, 0.05].into_iter()),
        max_error: 0.0,
        redisbloom: 0.071,
    },
    Load {
        name: "ratings from 0 to 4",
        samples: |random| weighted(random, [0.05, 0.05, 0.1, 0.3, 0.5].into_iter()),
        max_error: 0.0,
        redisbloom: 0.15,
    },
    Load {
        name: "1 to 20",
        samples: |random| whole(random, 20.0),
        max_error: 0.0,
        redisbloom: 0.036,
    },
    Load {
        name: "1 to 90",
        samples: |random| whole(random, 90.0),
        max_error: 0.0,
        redisbloom: 0.011,
    },
    Load {
        name: "1 to 100",
        samples: |random| whole(random, 100.0),
        max_error: 0.0,
        redisbloom: 0.0097,
    },
    Load {
        name: "Zipf of 60 values",
        samples: |random| weighted(random, (1..=60).map(|rank| 1.0 / f64::from(rank))),
        max_error: 0.0,
        redisbloom: 0.062,
    },
    Load {
        name: "1 to 300",
        samples: |random| whole(random, 300.0),
        max_error: 0.008,
        redisbloom: 0.0067,
    },
    Load {
        name: "whole milliseconds, log-normal",
        samples: |random| drawn(random, |random| (3.5 + 0.8 * random.normal()).exp().round()),
        max_error: 0.008,
        redisbloom: 0.015,
    },
    Load {
        name: "85 % zeros, the others exponential",
        samples: |random| {
            drawn(random, |random| match random.fraction() < 0.85 {
                true => 0.0,
                false => exponential(random),
            })
        },
        max_error: 0.01,
        redisbloom: 0.14,
    },
    Load {
        name: "half 2.5, half normal",
        samples: |random| {
            drawn(random, |random| match random.fraction() < 0.5 {
                true => 2.5,
                false => 2.5 + random.normal(),
            })
        },
        max_error: 0.012,
        redisbloom: 0.21,
    },
    Load {
        name: "prices: 70 % end with .99",
        samples: |random| {
            drawn(random, |random| match random.fraction() < 0.7 {
                true => (40.0 * random.fraction()).ceil() - 0.01,
                false => 40.0 * random.fraction(),
            })
        },
        max_error: 0.008,
        redisbloom: 0.013,
    },
    Load {
        name: "Zipf of 2,000 values",
        samples: |random| weighted(random, (1..=2000).map(|rank| 1.0 / f64::from(rank))),
        max_error: 0.02,
        redisbloom: 0.039,
    },
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
