//! Benchmark of the sketches without a server: time per operation, at sizes from the processor caches to main memory.
//!
//! `cargo bench -p benches --bench sketches` runs all benchmarks, `cargo bench -p benches --bench sketches bloom` those of one
//! family. Items are 16 bytes; half of the items that are looked up were never added.
//!
//! The costs of top-k sketches, t-digests and count-min sketches with a window depend on the items: they are measured with each stream
//! of the collection (tests/support/streams.rs) that has a meaning for them, for one size. Those of the others depend only on the cache
//! lines that a hash selects: all items are different.

#[allow(dead_code)] // Uses only the collection.
#[path = "../tests/support/streams.rs"]
mod streams;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow, Dimensions, NO_LIMIT};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::t_digest::{DigestCache, TDigest};
use roughly_sketch::top_k::TopK;
use roughly_sketch::window::{Timed, Window};
use std::hint::black_box;
use std::time::Duration;
use streams::{Pane, STREAMS, Stream};

/// Sizes of the filters: second-level cache, third-level cache, main memory.
const MEBIBYTES: [u64; 3] = [1, 64, 1024];
/// Items to add before lookups are timed: enough to touch every page.
const PREFILL: u64 = 1_000_000;
/// Items per batch, as in a command with many items.
const BATCH: usize = 100;

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;

type Item = [u8; 16];

/// The item with this number; different numbers give different items.
fn item(number: u64) -> Item {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut item = *b"item:xxxxxxxxxxx";
    item[5..13].copy_from_slice(&mixed.to_le_bytes());
    item[13..].copy_from_slice(&number.to_le_bytes()[..3]);
    item
}

/// Measures an operation on this many elements.
fn measure<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    (name, case): (&str, &str),
    elements: usize,
    mut operation: impl FnMut() -> T,
) {
    group.throughput(Throughput::Elements(elements as u64));
    let id = BenchmarkId::new(name, case);
    group.bench_function(id, |b| b.iter(&mut operation));
}

/// Items of which every second one was never added, without end.
fn half_present() -> impl FnMut() -> Item {
    let mut number = 0;
    move || {
        number += 1;
        item(number % PREFILL + (number & 1) * (1 << 40))
    }
}

/// New items, without end.
fn new_items() -> impl FnMut() -> Item {
    let mut numbers = 1 << 50..;
    move || item(numbers.next().expect("a number"))
}

fn batch(mut next: impl FnMut() -> Item) -> [Item; BATCH] {
    std::array::from_fn(|_| next())
}

/// The events of twelve panes of a stream, without end.
fn events(stream: &Stream, k: usize) -> impl FnMut() -> Item {
    let events = (0..12).flat_map(|number| {
        let pane = Pane {
            number,
            events: 10_000,
            k,
        };
        stream.events(pane, 1)
    });
    let events: Vec<_> = events.map(|event| item(event.into())).collect();
    let mut events = events.into_iter().cycle();
    move || events.next().expect("an item")
}

fn bloom(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bloom");
    for mebibytes in MEBIBYTES {
        let size = &*format!("{mebibytes} MiB");
        let parameters = bloom::Parameters {
            // 14.4 bits per item.
            capacity: mebibytes * (8 << 20) * 10 / 144,
            error_rate: 0.001,
            expansion: 2,
            scaling: false,
        };
        let mut chain = Chain::new(&parameters, UNLIMITED).expect("enough memory");
        for number in 0..PREFILL.min(parameters.capacity * 9 / 10) {
            let added = chain.add(&item(number), (), UNLIMITED);
            added.expect("the filter accepts the item");
        }
        let (mut next, mut new) = (half_present(), new_items());
        measure(&mut group, ("contains", size), 1, || {
            chain.contains(&next())
        });
        measure(&mut group, ("add", size), 1, || {
            chain.add(&new(), (), UNLIMITED).unwrap_or(false)
        });
        measure(&mut group, ("contains, a batch", size), BATCH, || {
            let (items, mut found) = (batch(&mut next), 0);
            let items = items.iter().map(|item| &item[..]);
            chain.contains_each(items, |is_found| found += u32::from(is_found));
            found
        });
    }
    group.finish();
}

fn cuckoo(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cuckoo");
    for mebibytes in MEBIBYTES {
        let size = &*format!("{mebibytes} MiB");
        let parameters = cuckoo::Parameters {
            bucket_size: 2,
            max_iterations: 20,
            expansion: 1,
        };
        let filter = CuckooFilter::new(mebibytes << 20, parameters, UNLIMITED);
        let mut filter = filter.expect("enough memory");
        for number in 0..PREFILL.min((mebibytes << 20) / 2) {
            let inserted = filter.insert(&item(number), UNLIMITED);
            inserted.expect("the filter accepts the item");
        }
        let (mut next, mut new) = (half_present(), new_items());
        measure(&mut group, ("contains", size), 1, || {
            filter.contains(&next())
        });
        measure(&mut group, ("insert and delete", size), 1, || {
            let new = new();
            filter.insert(&new, UNLIMITED).is_ok() && filter.delete(&new, UNLIMITED)
        });
        measure(&mut group, ("contains, a batch", size), BATCH, || {
            let (items, mut found) = (batch(&mut next), 0);
            let items = items.iter().map(|item| &item[..]);
            filter.contains_each(items, |is_found| found += u32::from(is_found));
            found
        });
    }
    group.finish();
}

fn count_min(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("count-min");
    for (width, depth) in [(2_000, 7), (200_000, 10), (50_000_000, 5)] {
        let size = &*format!("{width} x {depth}");
        let sketch = CountMin::new(width, depth, CellSize::Four, UNLIMITED);
        let mut sketch = sketch.expect("enough memory");
        let mut next = new_items();
        measure(&mut group, ("increment, a batch", size), BATCH, || {
            let items = batch(&mut next);
            let items = items.iter().map(|item| (&item[..], 1));
            sketch.increment_all(items, NO_LIMIT, |_, count| _ = black_box(count.ok()));
        });
        measure(&mut group, ("query, a batch", size), BATCH, || {
            let items = batch(&mut next);
            let items = items.iter().map(|item| &item[..]);
            sketch.query_all(items, |count| _ = black_box(count));
        });
    }
    let window = Window::new(100, 100, None).expect("a valid window");
    let shape = Dimensions::new(2_000, 7, CellSize::Four).expect("a valid shape");
    for stream in &STREAMS {
        let sketch = CountMinWindow::new(shape, window, Seed::default(), UNLIMITED);
        let mut sketch = sketch.expect("enough memory");
        let mut next = events(stream, 100);
        for pane in 0..100 {
            sketch.advance(pane);
            for item in batch(&mut next) {
                sketch.increment(&item, 1, UNLIMITED).expect("an increment");
            }
        }
        let id = ("increment of 100 panes, a batch", stream.name);
        measure(&mut group, id, BATCH, || {
            let items = batch(&mut next);
            let items = items.iter().map(|item| (&item[..], 1));
            sketch.increment_all(items, NO_LIMIT, UNLIMITED, |_, count| {
                _ = black_box(count.ok())
            });
        });
        let id = ("applied increment of 100 panes, a batch", stream.name);
        measure(&mut group, id, BATCH, || {
            let items = batch(&mut next);
            let items = items.iter().map(|item| (&item[..], 1));
            sketch.apply_all(items, UNLIMITED, |_, count| _ = black_box(count.ok()));
        });
    }
    group.finish();
}

fn top_k(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("top-k");
    let streams = STREAMS.iter().filter(|stream| stream.has_top);
    let cases = streams.flat_map(|stream| [10, 100, 1_000, 10_000].map(|k| (k, stream)));
    for (k, stream) in cases.filter(|(k, stream)| *k == 100 || stream.name == "Zipf(1.0)") {
        let case = &*format!("k = {k}, {}", stream.name);
        let mut sketch = TopK::new(k, k * 8, 7, 0.9, UNLIMITED).expect("enough memory");
        let mut next = events(stream, k as usize);
        for _ in 0..k * 100 {
            let _ = sketch.add(&next(), 1);
        }
        measure(&mut group, ("add", case), 1, || {
            sketch.add(&next(), 1).is_ok()
        });
        measure(&mut group, ("query", case), 1, || sketch.query(&next()));
        let id = ("add 100,000", case);
        measure(&mut group, id, 1, || sketch.add(&next(), 100_000).is_ok());
    }
    group.finish();
}

fn t_digest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("t-digest");
    let streams = STREAMS.iter().filter(|stream| stream.has_samples);
    let cases = streams.flat_map(|stream| [(100, stream), (1_000, stream)]);
    for (compression, stream) in
        cases.filter(|(compression, stream)| *compression == 100 || stream.name == "uniform")
    {
        let case = &*format!("compression {compression}, {}", stream.name);
        let mut digest = TDigest::new(compression, UNLIMITED).expect("enough memory");
        let mut samples = stream.samples(120_000, 1).into_iter().cycle();
        let mut values =
            || -> [f64; BATCH] { std::array::from_fn(|_| samples.next().expect("a sample")) };
        let middle = values()[BATCH / 2];
        for _ in 0..10_000 {
            let added = digest.add(&values());
            added.expect("the digest accepts the values");
        }
        let mut cache = DigestCache::default();
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function(BenchmarkId::new("add 100", case), |b| {
            b.iter_batched(
                &mut values,
                |values| digest.add(&values).is_ok(),
                BatchSize::SmallInput,
            );
        });
        measure(&mut group, ("quantile", case), 1, || {
            let compressed = digest.compressed_with(&mut cache);
            compressed.map(|compressed| compressed.quantile(0.99)).ok()
        });
        measure(&mut group, ("cdf", case), 1, || {
            let compressed = digest.compressed_with(&mut cache);
            compressed.map(|compressed| compressed.cdf(middle)).ok()
        });
        measure(&mut group, ("add 1, then quantile", case), 1, || {
            digest.add(&[middle]).expect("the digest accepts the value");
            let compressed = digest.compressed_with(&mut cache);
            compressed.map(|compressed| compressed.quantile(0.99)).ok()
        });
    }
    group.finish();
}

criterion_group! {
    name = sketches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .without_plots();
    targets = bloom, cuckoo, count_min, top_k, t_digest
}
criterion_main!(sketches);
