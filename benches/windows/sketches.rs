//! Sketches with a window, without a server: the longest operations, accuracy, memory.

use crate::Figure;
use crate::memory::bytes;
use crate::stream::{Numbers, item};
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{Compressed, QuantileSketch, TDigest, TDigestWindow};
use roughly_sketch::top_k::{TopK, TopKWindow};
use roughly_sketch::window::{Window, Windowed};
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::time::Instant;

/// Every sequence of operations runs this many times. Of each operation, the shortest time counts: the longer ones
/// include work of other processes.
const ROUNDS: usize = 3;
/// The target for the time that expiry adds to a command, in µs.
const MAX_EXPIRY: Option<f64> = Some(100.0);
/// A window of so many milliseconds has panes of more than a millisecond in all cases.
const MS: u64 = 1 << 30;

pub fn all() -> Vec<Figure> {
    let mut figures = Vec::new();
    for panes in [1, 12, 60, 1000] {
        figures.extend(count_min(panes));
    }
    for (k, panes) in [(100, 12), (100, 60), (1000, 12), (1000, 60)] {
        figures.push(top_k_expiry(k, panes));
    }
    for panes in [12, 60, 1000] {
        figures.extend(t_digest(panes));
    }
    figures.push(recall());
    figures.extend(rank_error());
    figures.extend(memory());
    figures
}

fn window(panes: u64) -> Window {
    Window::new(MS, panes).expect("a window")
}

/// The longest of a sequence of operations in µs, each with the shortest of its times. `run` returns the times of a
/// sequence in µs, which is the same in every round.
fn longest(run: impl Fn() -> Vec<f64>) -> f64 {
    let mut shortest: Vec<f64> = run();
    for _ in 1..ROUNDS {
        for (shortest, time) in shortest.iter_mut().zip(run()) {
            *shortest = shortest.min(time);
        }
    }
    shortest.into_iter().fold(0.0, f64::max)
}

/// The time of an operation in µs.
fn timed<R>(operation: impl FnOnce() -> R) -> f64 {
    let start = Instant::now();
    black_box(operation());
    start.elapsed().as_nanos() as f64 / 1e3
}

/// The median.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Writes to a sketch of 128 MiB while panes expire: one at a time, half of them, all of them.
fn count_min(panes: u64) -> [Figure; 3] {
    const DEPTH: u64 = 5;
    let width = (128 << 20) / (panes + 2) / DEPTH / CellSize::Four.bytes();
    let filled = || {
        let shape = (width, DEPTH, CellSize::Four);
        let (width, depth, cells) = shape;
        let sketch = CountMinWindow::new(width, depth, cells, window(panes), Budget::UNLIMITED);
        let mut sketch = sketch.expect("a sketch");
        for pane in 0..=panes {
            sketch.advance(pane);
            for number in 0..2000 {
                add(&mut sketch, number);
            }
        }
        sketch
    };
    let write = |sketch: &mut CountMinWindow, pane: u64, number: u64| {
        timed(|| {
            sketch.advance(pane);
            add(sketch, number);
        })
    };
    let after = |jump: u64| {
        longest(|| {
            let mut sketch = filled();
            let pane = panes + jump;
            (0..500)
                .map(|number| write(&mut sketch, pane, number))
                .collect()
        })
    };
    let name = |what| format!("longest CMS.INCRBY, 128 MiB, {panes} panes, {what}");
    [
        Figure::new(name("one pane expires"), after(1), "µs", MAX_EXPIRY),
        Figure::new(
            name("half of the panes expire"),
            after(panes.div_ceil(2)),
            "µs",
            MAX_EXPIRY,
        ),
        Figure::new(name("all panes expire"), after(panes + 2), "µs", MAX_EXPIRY),
    ]
}

fn add(sketch: &mut CountMinWindow, number: u64) {
    let estimate = sketch.increment(&item(number), 1, Budget::UNLIMITED);
    estimate.expect("a count");
}

/// Items whose frequencies follow Zipf's law with this exponent.
struct Zipf {
    cumulative: Vec<f64>,
    numbers: Numbers,
}

impl Zipf {
    fn new(items: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=items).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        Self {
            cumulative: cumulative.collect(),
            numbers: Numbers(18),
        }
    }

    fn next(&mut self) -> u64 {
        let end = self.cumulative.last().copied().unwrap_or(0.0);
        let at = self.numbers.below(1 << 53) as f64 / (1u64 << 53) as f64 * end;
        self.cumulative.partition_point(|&sum| sum <= at) as u64
    }
}

/// The first write of each pane in a stream whose items are replaced in each window.
fn top_k_expiry(k: u64, panes: u64) -> Figure {
    let time = longest(|| {
        let mut zipf = Zipf::new(100_000, 1.1);
        let sketch = TopKWindow::new(k, 10 * k, 5, 0.9, window(panes), Budget::UNLIMITED);
        let mut sketch = sketch.expect("a sketch");
        let mut times = Vec::new();
        for pane in 0..2 * panes + 10 {
            let time = timed(|| {
                sketch.advance(pane);
                sketch.add(&item(pane), 1).is_ok()
            });
            if pane > panes {
                times.push(time);
            }
            for _ in 0..20_000 {
                let number = zipf.next() + pane / panes * 1000;
                sketch.add(&item(number), 1).expect("memory");
            }
        }
        times
    });
    let name = format!(
        "longest TOPK.ADD, k {k}, {} x 5, {panes} panes, a pane expires",
        10 * k
    );
    Figure::new(name, time, "µs", MAX_EXPIRY)
}

/// Reads of a digest of compression 100 after a write, and after a write in a new pane; the write itself.
fn t_digest(panes: u64) -> [Figure; 3] {
    const SAMPLES: u64 = 1500;
    let mut numbers = Numbers(5);
    let mut sample = || numbers.below(1 << 53) as f64;
    let digest = TDigestWindow::new(100, window(panes), Budget::UNLIMITED);
    let mut digest = digest.expect("a digest");
    let mut add = |digest: &mut TDigestWindow, samples: u64| {
        for _ in 0..samples {
            digest
                .add_within(&[sample()], Budget::UNLIMITED)
                .expect("memory");
        }
    };
    let read = |digest: &TDigestWindow, pane| {
        timed(|| digest.compressed_at(pane).expect("memory").quantile(0.99))
    };
    let (mut after_write, mut after_pane, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for pane in 0..3 * panes + 50 {
        let write = timed(|| {
            digest.advance(pane);
            digest.add_within(&[1.0], Budget::UNLIMITED)
        });
        let first = read(&digest, pane);
        add(&mut digest, SAMPLES / 2);
        let second = read(&digest, pane);
        add(&mut digest, SAMPLES / 2);
        if pane > panes {
            writes.push(write);
            after_pane.push(first);
            after_write.push(second);
        }
    }
    let target = |panes: u64| (panes <= 60).then_some(100.0);
    let name = |what| format!("{what}, compression 100, {panes} panes, median");
    [
        Figure::new(
            name("first TDIGEST.QUANTILE after a write"),
            median(after_write),
            "µs",
            target(panes),
        ),
        Figure::new(
            name("first TDIGEST.QUANTILE after a write in a new pane"),
            median(after_pane),
            "µs",
            target(panes),
        ),
        Figure::new(
            name("TDIGEST.ADD in a new pane"),
            median(writes),
            "µs",
            MAX_EXPIRY,
        ),
    ]
}

/// The share of the k most frequent items of the window that the list contains; the ranking is replaced in every
/// window.
fn recall() -> Figure {
    const K: usize = 100;
    const PANES: u64 = 12;
    let sketch = TopKWindow::new(K as u64, 1000, 5, 0.9, window(PANES), Budget::UNLIMITED);
    let mut sketch = sketch.expect("a sketch");
    let mut zipf = Zipf::new(100_000, 1.1);
    let mut panes: VecDeque<HashMap<u64, u32>> = VecDeque::new();
    let mut recalls = Vec::new();
    for pane in 0..4 * PANES {
        sketch.advance(pane);
        let mut counts = HashMap::new();
        for _ in 0..50_000 {
            let number = zipf.next() ^ (pane / PANES) << 32;
            *counts.entry(number).or_default() += 1;
            sketch.add(&number.to_le_bytes(), 1).expect("memory");
        }
        panes.push_back(counts);
        if panes.len() > PANES as usize + 1 {
            panes.pop_front();
        }
        let mut exact: HashMap<u64, u32> = HashMap::new();
        for (&number, &count) in panes.iter().flatten() {
            *exact.entry(number).or_default() += count;
        }
        let mut sorted: Vec<u32> = exact.values().copied().collect();
        sorted.sort_by_key(|&count| Reverse(count));
        let listed = sketch.list_at(pane).expect("memory");
        let right = listed.filter(|(item, _)| {
            let number = u64::from_le_bytes((*item).try_into().expect("eight bytes"));
            exact
                .get(&number)
                .is_some_and(|&count| count >= sorted[K - 1])
        });
        let right = right.count();
        if pane >= PANES {
            recalls.push(right as f64 / K as f64);
        }
    }
    let mean = recalls.iter().sum::<f64>() / recalls.len() as f64;
    let name = "TOPK recall, k 100, 1000 x 5, Zipf 1.1, 12 panes, mean";
    Figure::new(name, mean, "", Some(0.98))
}

/// The root of the mean squared rank error over 199 quantiles.
fn rank_errors(digest: &Compressed, sorted: &[f64]) -> f64 {
    let errors = (1..200).map(|step| {
        let q = f64::from(step) / 200.0;
        let value = digest.quantile(q);
        let rank = sorted.partition_point(|&sample| sample < value) as f64;
        (rank / sorted.len() as f64 - q).powi(2)
    });
    errors.sum::<f64>()
}

/// The rank error of a digest with a window, divided by that of one digest with the same samples.
fn rank_error() -> Vec<Figure> {
    type Distribution = (&'static str, fn(f64, u64) -> f64);
    const DISTRIBUTIONS: [Distribution; 3] = [
        ("uniform", |uniform, _| uniform),
        ("exponential", |uniform, _| -(1.0 - uniform).ln()),
        ("shifting", |uniform, pane| uniform + pane as f64 * 0.1),
    ];
    let mut figures = Vec::new();
    for panes in [12, 60] {
        for (name, distribution) in DISTRIBUTIONS {
            let (mut windowed, mut plain) = (0.0, 0.0);
            for seed in 1..=10 {
                let mut numbers = Numbers(seed * 7919);
                let digest = TDigestWindow::new(100, window(panes), Budget::UNLIMITED);
                let mut digest = digest.expect("a digest");
                let mut one = TDigest::new(100, Budget::UNLIMITED).expect("a digest");
                let mut samples = Vec::new();
                for pane in 0..=panes {
                    digest.advance(pane);
                    for _ in 0..2000 {
                        let uniform = numbers.below(1 << 53) as f64 / (1u64 << 53) as f64;
                        let sample = distribution(uniform, pane);
                        digest
                            .add_within(&[sample], Budget::UNLIMITED)
                            .expect("memory");
                        one.add(&[sample]).expect("memory");
                        samples.push(sample);
                    }
                }
                samples.sort_by(f64::total_cmp);
                windowed += rank_errors(&digest.compressed_at(panes).expect("memory"), &samples);
                plain += rank_errors(one.compressed().expect("memory"), &samples);
            }
            let name = format!("TDIGEST rank error, compression 100, {panes} panes, {name}");
            figures.push(Figure::new(name, (windowed / plain).sqrt(), "×", Some(1.5)));
        }
    }
    figures
}

/// The memory of a sketch in which every pane is full, divided by that of (panes + 2) sketches without a window.
fn memory() -> Vec<Figure> {
    let mut figures = Vec::new();
    for panes in [12, 60] {
        let plain = CountMin::new(2000, 7, CellSize::Four, Budget::UNLIMITED).expect("a sketch");
        let sketch = CountMinWindow::new(2000, 7, CellSize::Four, window(panes), Budget::UNLIMITED);
        let mut count_min = sketch.expect("a sketch");
        let mut plain_top_k = TopK::new(100, 1000, 5, 0.9, Budget::UNLIMITED).expect("a sketch");
        let sketch = TopKWindow::new(100, 1000, 5, 0.9, window(panes), Budget::UNLIMITED);
        let mut top_k = sketch.expect("a sketch");
        let mut plain_digest = TDigest::new(100, Budget::UNLIMITED).expect("a digest");
        let digest = TDigestWindow::new(100, window(panes), Budget::UNLIMITED);
        let mut digest = digest.expect("a digest");
        let mut zipf = Zipf::new(100_000, 1.1);
        // A digest takes most memory before it is compressed.
        let mut largest_digest = 0.0f64;
        for pane in 0..3 * panes {
            count_min.advance(pane);
            top_k.advance(pane);
            digest.advance(pane);
            for _ in 0..5000 {
                let number = zipf.next();
                add(&mut count_min, number);
                top_k.add(&item(number ^ pane << 32), 1).expect("memory");
                plain_top_k.add(&item(number), 1).expect("memory");
                let sample = zipf.numbers.below(1 << 50) as f64;
                digest
                    .add_within(&[sample], Budget::UNLIMITED)
                    .expect("memory");
                plain_digest.add(&[sample]).expect("memory");
                largest_digest = largest_digest.max(bytes(&plain_digest));
            }
        }
        drop(digest.compressed_at(3 * panes));
        let whole = (panes + 2) as f64;
        for (name, windowed, plain) in [
            ("CMS, 2000 x 7", bytes(&count_min), bytes(&plain)),
            (
                "TOPK, k 100, 1000 x 5, other items in every pane",
                bytes(&top_k),
                bytes(&plain_top_k),
            ),
            ("TDIGEST, compression 100", bytes(&digest), largest_digest),
        ] {
            let name = format!("memory of {name}, {panes} panes, of {whole} plain keys");
            figures.push(Figure::new(name, windowed / plain / whole, "×", Some(1.0)));
        }
    }
    figures
}
