//! Recall of top-k sketches by stream of the collection, size and order of the additions.

use crate::families::line;
use crate::figure::{Axis, LineChart, Scale};
use crate::streams::{STREAMS, Stream};
use crate::{Measured, table};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::top_k::{TopK, TopKWindow};
use roughly_sketch::window::{Panes, Window};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The events of a run.
const EVENTS: usize = 240_000;

/// How often each item occurs.
pub type Counts = HashMap<u32, u32>;

pub fn counts<'a>(events: impl IntoIterator<Item = &'a u32>) -> Counts {
    let mut counts = Counts::new();
    for &item in events {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// Twelve panes of a stream.
pub fn panes(stream: &Stream, events: usize, k: u64, seed: u64) -> Vec<u32> {
    let pane = |number| crate::pane(number, events / 12, k as usize);
    ((0..12).flat_map(|number| stream.events(pane(number), seed))).collect()
}

/// The number of items of the true top k, and the smallest count of an item that belongs to it: several items may tie for the last rank.
pub fn last_of_top(k: u64, counts: &Counts) -> (usize, u32) {
    let mut largest: Vec<_> = counts.values().copied().collect();
    let k = largest.len().min(k as usize);
    let (_, &mut least, _) = largest.select_nth_unstable_by_key(k - 1, |&count| Reverse(count));
    (k, least)
}

/// The share of the true top k on the list of at most k items, and the mean relative error of its counts.
pub fn quality<'a>(
    list: impl Iterator<Item = (&'a [u8], u32)>,
    k: u64,
    counts: &Counts,
) -> [f64; 2] {
    let (k, least) = last_of_top(k, counts);
    let (mut found, mut error) = (0, 0.0);
    for (item, count) in list {
        let truth = counts[&u32::from_le_bytes(item.try_into().expect("an item"))];
        assert!(count <= truth, "above the number of occurrences");
        found += usize::from(truth >= least);
        error += f64::from(truth - count) / f64::from(truth);
    }
    [found as f64 / k as f64, error / k as f64]
}

/// [`quality`] over several reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reads {
    reads: f64,
    found: f64,
    missed: f64,
    error: f64,
}

impl Reads {
    pub fn add(&mut self, [found, error]: [f64; 2]) {
        self.reads += 1.0;
        self.found += found;
        self.missed = self.missed.max(1.0 - found);
        self.error += error;
    }

    pub fn mean(&self) -> f64 {
        self.found / self.reads
    }

    pub fn lowest(&self) -> f64 {
        1.0 - self.missed
    }

    /// Mean and lowest recall.
    pub fn recall(&self) -> String {
        format!("{:.0} ({:.0})", self.mean() * 100.0, self.lowest() * 100.0)
    }
}

pub fn with_top() -> impl Iterator<Item = &'static Stream> {
    STREAMS.iter().filter(|stream| stream.has_top)
}

/// The streams with columns of their own.
const SHOWN: [&str; 2] = ["Zipf(0.6)", "Zipf(1.0)"];

/// The heads of [`cells`].
pub const HEAD: [&str; 3] = [SHOWN[0], SHOWN[1], "the stream with the lowest recall"];

/// The results of the streams [`SHOWN`], and of that with the lowest recall, which is at least `least` per cent.
pub fn cells(results: &[(&str, Reads)], least: f64) -> Vec<String> {
    let cell = |reads: &Reads| {
        let error = reads.error / reads.reads * 100.0;
        format!("{}, {error:.2}", reads.recall())
    };
    let shown = results.iter().filter(|(name, _)| SHOWN.contains(name));
    let mut cells: Vec<_> = shown.map(|(_, reads)| cell(reads)).collect();
    let of_mean = |a: &&(&str, Reads), b: &&(&str, Reads)| a.1.mean().total_cmp(&b.1.mean());
    let (name, reads) = results.iter().min_by(of_mean).expect("a stream");
    assert!((reads.mean() * 100.0).round() >= least, "{name}: {reads:?}");
    cells.push(format!("{name}: {}", cell(reads)));
    cells
}

/// Runs of a stream: their events, and how often each item occurs.
type Runs = Vec<(&'static str, Vec<(Vec<u32>, Counts)>)>;

fn runs(streams: impl Iterator<Item = &'static Stream>, k: u64, seeds: u64) -> Runs {
    let run = |stream, seed| {
        let events = panes(stream, EVENTS, k, 900 + seed);
        let counts = counts(&events);
        (events, counts)
    };
    let of_stream = |stream: &'static Stream| (0..seeds).map(|seed| run(stream, seed)).collect();
    (streams.map(|stream| (stream.name, of_stream(stream)))).collect()
}

fn measure(
    runs: &Runs,
    quality: impl Fn(&[u32], &Counts) -> [f64; 2],
) -> Vec<(&'static str, Reads)> {
    let of_stream = |(name, runs): &(&'static str, Vec<(Vec<u32>, Counts)>)| {
        let mut reads = Reads::default();
        (runs.iter()).for_each(|(events, counts)| reads.add(quality(events, counts)));
        (*name, reads)
    };
    runs.iter().map(of_stream).collect()
}

/// A sketch without a window to which these items are added.
fn classic(
    (k, width, depth): (u64, u64, u64),
    decay: f64,
    items: impl Iterator<Item = (u32, u32)>,
) -> TopK {
    let mut sketch = TopK::new(k, width, depth, decay, Budget::UNLIMITED).expect("a sketch");
    for (count, item) in items {
        sketch.add(&item.to_le_bytes(), count).expect("memory");
    }
    sketch
}

fn quality_of_list(sketch: &TopK, counts: &Counts) -> [f64; 2] {
    let list = sketch.list().expect("memory");
    quality(list, sketch.k().into(), counts)
}

/// Of the merge of sketches without a window, of which each has the events of a part.
fn quality_of_merge<'a>(
    shape: (u64, u64, u64),
    parts: impl Iterator<Item = &'a [u32]>,
    counts: &Counts,
) -> [f64; 2] {
    let of_part = |part: &[u32]| classic(shape, 0.9, part.iter().map(|&item| (1, item)));
    let merge = |mut merged: TopK, part| {
        merged.merge(&part).expect("no overflow");
        merged
    };
    let merged = parts.map(of_part).reduce(merge).expect("a part");
    quality_of_list(&merged, counts)
}

/// Of a sketch without a window.
fn quality_of(shape: (u64, u64, u64), events: &[u32], counts: &Counts) -> [f64; 2] {
    quality_of_merge(shape, std::iter::once(events), counts)
}

/// Of one pane of a sketch with a window.
fn quality_of_pane(
    (k, width, depth): (u64, u64, u64),
    events: &[u32],
    counts: &Counts,
) -> [f64; 2] {
    let window = Window::new(1, 1, None).expect("a window");
    let seed = Seed([7; Seed::BYTES]);
    let mut sketch =
        TopKWindow::new(k, width, depth, 0.9, window, seed, Budget::UNLIMITED).expect("a sketch");
    for item in events {
        sketch.add(&item.to_le_bytes(), 1).expect("memory");
    }
    let mut cache = Default::default();
    quality(
        sketch.list_at(Panes::ALL, &mut cache).expect("memory"),
        k,
        counts,
    )
}

/// Share of the true top k items that top-k sketches list.
pub fn top_k() -> Measured {
    let mut series = Vec::new();
    for (k, stream) in [
        (10, "Zipf(1.0)"),
        (100, "Zipf(1.0)"),
        (1000, "Zipf(1.0)"),
        (100, ""),
    ] {
        let streams = with_top().filter(|of| of.name.contains(stream));
        let runs = runs(streams, k, 1);
        let points = [1, 2, 4, 8, 16].map(|factor| {
            let quality =
                |events: &[u32], counts: &_| quality_of((k, k * factor, 5), events, counts);
            let results = measure(&runs, quality);
            let found = results.iter().map(|(_, reads)| reads.lowest() * 100.0);
            (factor as f64, found.fold(100.0, f64::min))
        });
        let stream = if stream.is_empty() {
            "worst stream"
        } else {
            stream
        };
        series.push(line(format!("k = {k}, {stream}"), points));
    }
    Measured {
        table: by_size(),
        plot: LineChart {
            title: "Top-k of depth 5, decay 0.9:\nshare of the true top k that is found".to_owned(),
            x: Axis::new(
                "width, in multiples of k",
                Scale::Logarithmic,
                (1.0, 16.0),
                [1.0, 2.0, 4.0, 8.0, 16.0],
                |factor| factor.to_string(),
            ),
            y: Axis::new(
                "found, %",
                Scale::Linear,
                (0.0, 101.0),
                [0.0, 25.0, 50.0, 75.0, 100.0],
                |share| share.to_string(),
            ),
            series,
        },
    }
}

/// By size, for sketches without a window and for one pane.
fn by_size() -> String {
    let mut rows = Vec::new();
    for k in [10, 100] {
        let runs = runs(with_top(), k, 2);
        for (name, width, depth, is_windowed) in [
            ("the default, 8 × 7", 8, 7, false),
            ("8 · k × 5", 8 * k, 5, false),
            ("10 · k × 5, the default in Python", 10 * k, 5, false),
            ("32 · k × 5", 32 * k, 5, false),
            ("2 · k × 5, one pane of a window", 2 * k, 5, true),
            ("8 · k × 5, one pane of a window", 8 * k, 5, true),
        ] {
            let shape = (k, width, depth);
            let results = measure(&runs, |events, counts| match is_windowed {
                true => quality_of_pane(shape, events, counts),
                false => quality_of(shape, events, counts),
            });
            let mut row = vec![k.to_string(), name.to_owned()];
            // docs/sizing.html and docs/recipes/heavy-hitters.md have this limit.
            row.extend(cells(&results, if width < 8 * k { 0.0 } else { 65.0 }));
            rows.push(row);
        }
    }
    table(&[&["k", "width × depth"][..], &HEAD].concat(), &rows)
}

/// By decay and by the order of the additions.
pub fn by_order() -> String {
    let runs = runs(with_top(), 50, 1);
    let rows = [
        ("one occurrence at a time", 0.9, None),
        ("the same, decay 0.99", 0.99, None),
        (
            "counts of all occurrences, the largest first",
            0.9,
            Some(true),
        ),
        ("the same, the smallest first", 0.9, Some(false)),
    ]
    .map(|(name, decay, largest_first)| {
        let results = measure(&runs, |events, counts| {
            let mut items: Vec<_> = events.iter().map(|&item| (1, item)).collect();
            if let Some(largest_first) = largest_first {
                items = counts.iter().map(|(&item, &count)| (count, item)).collect();
                items.sort_unstable();
                if largest_first {
                    items.reverse();
                }
            }
            quality_of_list(&classic((50, 400, 5), decay, items.into_iter()), counts)
        });
        let mut row = vec![name.to_owned()];
        row.extend(cells(&results, 0.0));
        row
    });
    table(&[&["k = 50, 400 × 5"][..], &HEAD].concat(), &rows)
}

/// Of merges, by size and by the parts of the stream that each merged sketch has.
pub fn of_merges() -> String {
    const PARTS: u32 = 10;
    let mut rows = Vec::new();
    for k in [10, 100] {
        let runs = runs(with_top(), k, 1);
        for factor in [8, 32] {
            let shape = (k, factor * k, 5);
            let of_parts = |parts: usize| {
                move |events: &[u32], counts: &_| {
                    let parts = events.chunks(events.len().div_ceil(parts));
                    quality_of_merge(shape, parts, counts)
                }
            };
            let by_item = |events: &[u32], counts: &_| {
                let of_part = |part| {
                    let events = events.iter().filter(move |&item| item % PARTS == part);
                    events.copied().collect::<Vec<_>>()
                };
                let parts: Vec<_> = (0..PARTS).map(of_part).collect();
                quality_of_merge(shape, parts.iter().map(Vec::as_slice), counts)
            };
            // With the least recall that the page states.
            for (name, results, least) in [
                ("one sketch", measure(&runs, of_parts(1)), 0.0),
                ("halves of the stream", measure(&runs, of_parts(2)), 0.0),
                ("ten parts", measure(&runs, of_parts(10)), 0.0),
                (
                    "ten parts, each item in one",
                    measure(&runs, by_item),
                    100.0,
                ),
            ] {
                let size = format!("{factor} · k × 5");
                let mut row = vec![k.to_string(), size, name.to_owned()];
                row.extend(cells(&results, least));
                rows.push(row);
            }
        }
    }
    table(
        &[&["k", "width × depth", "merged"][..], &HEAD].concat(),
        &rows,
    )
}
