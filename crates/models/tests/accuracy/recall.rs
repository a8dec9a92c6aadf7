//! Recall of top-k sketches by stream, size and order of the additions.

use crate::digests::normal;
use crate::streams::{Random, Weights, counts, zipf_of};
use crate::table;
use roughly_sketch::memory::Budget;
use roughly_sketch::top_k::TopK;
use std::cmp::Reverse;

const UNIVERSE: usize = 100_000;
const STREAM: usize = 500_000;
const SEEDS: u64 = 2;

/// The share of the true top k on the list of at most k items, and the mean relative error of its counts.
pub fn quality<'a>(
    list: impl Iterator<Item = (&'a [u8], u32)>,
    k: usize,
    counts: &[u64],
) -> [f64; 2] {
    let mut counted: Vec<u64> = counts.iter().copied().filter(|&count| count > 0).collect();
    // Several items may tie for rank k: any of them counts as found.
    let (_, &mut least, _) = counted.select_nth_unstable_by_key(k - 1, |&count| Reverse(count));
    let (mut found, mut error) = (0, 0.0);
    for (item, count) in list {
        let truth = counts[u32::from_le_bytes(item.try_into().expect("an item")) as usize];
        found += usize::from(truth >= least);
        error += truth.abs_diff(count.into()) as f64 / truth as f64;
    }
    [found as f64 / k as f64, error / k as f64]
}

/// [`quality`] of a sketch without a window.
fn quality_of(sketch: &TopK, counts: &[u64]) -> [f64; 2] {
    quality(sketch.list().expect("memory"), sketch.k() as usize, counts)
}

fn sketch_of(k: u64, width: u64, depth: u64, decay: f64) -> TopK {
    TopK::new(k, width, depth, decay, Budget::UNLIMITED).expect("a sketch")
}

fn cell([found, error]: [f64; 2]) -> String {
    let per_cent = |sum: f64| sum / SEEDS as f64 * 100.0;
    format!("{:.0}, {:.2}", per_cent(found), per_cent(error))
}

/// By stream and size: mean and lowest share of the streams, and the mean error.
pub fn by_stream() -> String {
    const SEEDS: u64 = 6;
    // Draws of an item are in proportion to weights.
    let weights = |kind: usize, seed| {
        let mut random = Random(seed);
        (1..=UNIVERSE).map(move |rank| match [0.8, 1.0, 1.2].get(kind) {
            Some(exponent) => (rank as f64).powf(-exponent),
            None => (2.0 * normal(&mut random)).exp(),
        })
    };
    let names = ["Zipf(0.8)", "Zipf(1.0)", "Zipf(1.2)", "lognormal, σ = 2"];
    let streams: Vec<Vec<_>> = (0..names.len())
        .map(|kind| {
            let draws = |seed| {
                let weights = Weights::new(weights(kind, seed));
                let stream = weights.draws(STREAM, &mut Random(900 + seed));
                let counts = counts(UNIVERSE, &stream);
                (stream, counts)
            };
            (0..SEEDS).map(draws).collect()
        })
        .collect();
    let mut rows = Vec::new();
    for (k, width, depth, name) in [
        (10, 8, 7, "the default, 8 × 7"),
        (10, 80, 5, "8 · k × 5"),
        (10, 320, 5, "32 · k × 5"),
        (100, 8, 7, "the default, 8 × 7"),
        (100, 800, 5, "8 · k × 5"),
        (100, 3200, 5, "32 · k × 5"),
    ] {
        let mut row = vec![k.to_string(), name.to_owned()];
        for streams in &streams {
            let (mut sums, mut lowest) = ([0.0; 2], 1.0);
            for (stream, counts) in streams {
                let mut sketch = sketch_of(k, width, depth, 0.9);
                add(&mut sketch, stream, Order::Single);
                let [found, error] = quality_of(&sketch, counts);
                sums = [sums[0] + found, sums[1] + error];
                lowest = f64::min(lowest, found);
            }
            let [found, error] = sums.map(|sum| sum / SEEDS as f64 * 100.0);
            // docs/sizing.html and docs/recipes/heavy-hitters.md have this limit.
            assert!(width < 8 * k || found >= 80.0, "{name}: {found} %");
            row.push(format!("{found:.0} ({:.0}), {error:.2}", lowest * 100.0));
        }
        rows.push(row);
    }
    let mut head = vec!["k", "width × depth"];
    head.extend(names);
    table(&head, &rows)
}

/// How occurrences are added.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// As they occur.
    Single,
    /// The counts of batches, the largest or the smallest first.
    Batches { size: usize, largest_first: bool },
}

fn add(sketch: &mut TopK, stream: &[u32], order: Order) {
    let Order::Batches {
        size,
        largest_first,
    } = order
    else {
        for item in stream {
            sketch.add(&item.to_le_bytes(), 1).expect("memory");
        }
        return;
    };
    for batch in stream.chunks(size) {
        let mut pairs: Vec<_> = counts(UNIVERSE, batch).into_iter().zip(0u32..).collect();
        pairs.retain(|&(count, _)| count > 0);
        pairs.sort_unstable();
        if largest_first {
            pairs.reverse();
        }
        for (count, item) in pairs {
            let count = u32::try_from(count).expect("a count");
            sketch.add(&item.to_le_bytes(), count).expect("memory");
        }
    }
}

/// By decay and by the order of the additions.
pub fn by_order() -> String {
    let batches = |size, largest_first| Order::Batches {
        size,
        largest_first,
    };
    let rows = [
        ("one occurrence at a time", 0.9, Order::Single),
        ("the same, decay 0.99", 0.99, Order::Single),
        (
            "counts of all occurrences, the largest first",
            0.9,
            batches(STREAM, true),
        ),
        ("the same, the smallest first", 0.9, batches(STREAM, false)),
    ]
    .map(|(name, decay, order)| {
        let mut row = vec![name.to_owned()];
        for exponent in [0.8, 1.2] {
            let mut sums = [0.0; 2];
            for seed in 0..SEEDS {
                let stream = zipf_of(exponent, UNIVERSE, STREAM, 900 + seed);
                let mut sketch = sketch_of(50, 400, 5, decay);
                add(&mut sketch, &stream, order);
                let [found, error] = quality_of(&sketch, &counts(UNIVERSE, &stream));
                sums = [sums[0] + found, sums[1] + error];
            }
            row.push(cell(sums));
        }
        row
    });
    let head = ["k = 50, 400 × 5", "Zipf(0.8)", "Zipf(1.2)"];
    table(&head, &rows)
}
