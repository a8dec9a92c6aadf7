//! Benchmark of the sketches without a server: time per operation, at sizes from the processor caches to main
//! memory, beside LevelDB's Bloom filter, the cuckoo filter of the paper, and the random reads that a look-up cannot avoid.
//!
//! `cargo bench -p benches --bench sketches` runs all benchmarks, `cargo bench -p benches --bench sketches bloom` those of one
//! family. Items are 16 bytes; half of the items that are looked up were never added.
//!
//! The costs of top-k sketches, t-digests and count-min sketches with a window depend on the items: they are measured with each stream
//! of the collection (tests/support/streams.rs) that has a meaning for them, for one size. Those of the others depend only on the cache
//! lines that a hash selects: all items are different.

#[path = "baselines/cuckoo.rs"]
mod baseline_cuckoo;
#[path = "baselines/leveldb.rs"]
mod leveldb;
#[allow(dead_code)] // Uses only the items.
mod stream;
#[allow(dead_code)] // Uses only the collection.
#[path = "../tests/support/streams.rs"]
mod streams;

use baseline_cuckoo::PlainCuckoo;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use leveldb::LevelDb;
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::cache::Cache;
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow, NO_LIMIT, Shape};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::t_digest::{DigestCache, TDigest, TDigestWindow, WindowCache};
use roughly_sketch::top_k::TopK;
use roughly_sketch::window::{Panes, Timed, Window};
use std::hint::black_box;
use std::time::{Duration, Instant};
use stream::{Item, item};
use streams::{Pane, STREAMS, Stream};

/// Sizes of the filters: second-level cache, third-level cache, main memory.
const MEBIBYTES: [u64; 3] = [1, 64, 1024];
/// Items to add before lookups are timed: enough to touch every page.
const PREFILL: u64 = 1_000_000;
/// Items per batch, as in a command with many items.
const BATCH: usize = 100;

fn batch(first: u64) -> Vec<Item> {
    (first..first + BATCH as u64).map(item).collect()
}

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;

/// The events of twelve panes of a stream, without end.
fn events(stream: &Stream, k: usize) -> impl Iterator<Item = u64> {
    let events = (0..12).flat_map(|number| {
        let pane = Pane {
            number,
            events: 10_000,
            k,
        };
        stream.events(pane, 1)
    });
    let events: Vec<_> = events.map(u64::from).collect();
    events.into_iter().cycle()
}

/// The samples of a stream, without end.
fn samples(stream: &Stream) -> impl Iterator<Item = f64> {
    stream.samples(120_000, 1).into_iter().cycle()
}

fn with_samples() -> impl Iterator<Item = &'static Stream> {
    STREAMS.iter().filter(|stream| stream.has_samples)
}

fn bloom_of(mebibytes: u64) -> Chain {
    let parameters = bloom::Parameters {
        // 14.4 bits per item.
        capacity: mebibytes * (8 << 20) * 10 / 144,
        error_rate: 0.001,
        expansion: 2,
        scaling: false,
    };
    let mut chain = Chain::new(&parameters, UNLIMITED).expect("enough memory for the filter");
    for number in 0..PREFILL.min(parameters.capacity * 9 / 10) {
        chain
            .add(&item(number), (), UNLIMITED)
            .expect("the filter accepts the item");
    }
    chain
}

fn bloom(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bloom");
    for mebibytes in MEBIBYTES {
        let mut chain = bloom_of(mebibytes);
        let mut number = 0;
        let mut next = || {
            number += 1;
            // Every second item was never added.
            item(number % PREFILL + (number & 1) * (1 << 40))
        };
        group.throughput(Throughput::Elements(1));
        group.bench_function(
            BenchmarkId::new("contains", format!("{mebibytes} MiB")),
            |b| {
                b.iter(|| black_box(chain.contains(&next())));
            },
        );
        let mut new = 1 << 50;
        group.bench_function(BenchmarkId::new("add", format!("{mebibytes} MiB")), |b| {
            b.iter(|| {
                new += 1;
                black_box(chain.add(&item(new), (), UNLIMITED).unwrap_or(false))
            });
        });
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function(
            BenchmarkId::new("contains, a batch", format!("{mebibytes} MiB")),
            |b| {
                b.iter(|| {
                    let items: [_; BATCH] = std::array::from_fn(|_| next());
                    let mut found = 0;
                    chain.contains_each(items.iter().map(|item| &item[..]), |is_found| {
                        found += u32::from(is_found);
                    });
                    found
                });
            },
        );
    }
    group.finish();
}

fn cuckoo(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cuckoo");
    for mebibytes in MEBIBYTES {
        let parameters = cuckoo::Parameters {
            bucket_size: 2,
            max_iterations: 20,
            expansion: 1,
        };
        let mut filter = CuckooFilter::new(mebibytes << 20, parameters, UNLIMITED)
            .expect("enough memory for the filter");
        for number in 0..PREFILL.min((mebibytes << 20) / 2) {
            filter
                .insert(&item(number), UNLIMITED)
                .expect("the filter accepts the item");
        }
        let mut number = 0;
        group.throughput(Throughput::Elements(1));
        group.bench_function(
            BenchmarkId::new("contains", format!("{mebibytes} MiB")),
            |b| {
                b.iter(|| {
                    number += 1;
                    let asked = item(number % PREFILL + (number & 1) * (1 << 40));
                    black_box(filter.contains(&asked))
                });
            },
        );
        group.bench_function(
            BenchmarkId::new("insert and delete", format!("{mebibytes} MiB")),
            |b| {
                b.iter(|| {
                    number += 1;
                    let new = item(number | 1 << 50);
                    black_box(
                        filter.insert(&new, UNLIMITED).is_ok() && filter.delete(&new, UNLIMITED),
                    )
                });
            },
        );
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function(
            BenchmarkId::new("contains, a batch of 100", format!("{mebibytes} MiB")),
            |b| {
                b.iter(|| {
                    number += BATCH as u64;
                    let items = batch(number);
                    let mut found = 0;
                    filter.contains_each(items.iter().map(|item| &item[..]), |is| {
                        found += u32::from(is);
                    });
                    black_box(found)
                });
            },
        );
    }
    group.finish();
}

/// The baselines: filters without growth, and dependent reads of memory at random positions.
fn baselines(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("baselines");
    group.throughput(Throughput::Elements(1));
    for mebibytes in MEBIBYTES {
        let size = format!("{mebibytes} MiB");
        let mut number = 0;
        let mut next = || {
            number += 1;
            item(number % PREFILL + (number & 1) * (1 << 40))
        };
        let keys = mebibytes * (8 << 20) * 10 / 144;
        let mut bloom = LevelDb::new(mebibytes << 23, keys);
        (0..PREFILL.min(keys)).for_each(|number| bloom.insert(&item(number)));
        group.bench_function(BenchmarkId::new("LevelDB contains", &size), |b| {
            b.iter(|| black_box(bloom.contains(&next())));
        });
        let slots = mebibytes << 20;
        let mut cuckoo = PlainCuckoo::new(slots);
        assert!((0..PREFILL.min(slots / 2)).all(|number| cuckoo.insert(&item(number))));
        group.bench_function(BenchmarkId::new("paper's cuckoo contains", &size), |b| {
            b.iter(|| black_box(cuckoo.contains(&next())));
        });
        // A permutation that is one cycle (Sattolo's algorithm), so each read depends on the one before.
        let mut random = stream::Numbers(1);
        let lines = mebibytes << 14;
        let mut order: Vec<u32> = (0..lines as u32).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u64) as usize);
        }
        let mut memory = vec![[0u32; 16]; order.len()];
        for (from, to) in order.iter().enumerate() {
            memory[from][0] = *to;
        }
        let mut at = 0;
        group.bench_function(BenchmarkId::new("dependent read", &size), |b| {
            b.iter(|| {
                at = memory[at as usize][0];
                black_box(at)
            });
        });
    }
    group.finish();
}

fn count_min(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("count-min");
    for (width, depth) in [(2_000, 7), (200_000, 10), (50_000_000, 5)] {
        let size = format!("{width} x {depth}");
        let mut sketch = CountMin::new(width, depth, CellSize::Four, UNLIMITED)
            .expect("enough memory for the sketch");
        let mut number = 0;
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function(BenchmarkId::new("increment, a batch of 100", &size), |b| {
            b.iter(|| {
                number += BATCH as u64;
                let items = batch(number);
                sketch.increment_all(
                    items.iter().map(|item| (&item[..], 1)),
                    NO_LIMIT,
                    |_, count| {
                        black_box(count.ok());
                    },
                );
            });
        });
        group.bench_function(BenchmarkId::new("query, a batch of 100", &size), |b| {
            b.iter(|| {
                number += BATCH as u64;
                let items = batch(number);
                sketch.query_all(items.iter().map(|item| &item[..]), |count| {
                    black_box(count);
                });
            });
        });
    }
    let window = Window::new(100, 100, None).expect("a valid window");
    let shape = Shape::new(2_000, 7, CellSize::Four).expect("a valid shape");
    for stream in &STREAMS {
        let mut sketch = CountMinWindow::new(shape, window, Seed::default(), UNLIMITED)
            .expect("enough memory for the sketch");
        let mut events = events(stream, 100).map(item);
        let mut batch =
            || -> [Item; BATCH] { std::array::from_fn(|_| events.next().expect("an item")) };
        for pane in 0..100 {
            sketch.advance(pane);
            for item in batch() {
                sketch.increment(&item, 1, UNLIMITED).expect("an increment");
            }
        }
        let name = "increment of 100 panes, a batch of 100";
        group.bench_function(BenchmarkId::new(name, stream.name), |b| {
            b.iter(|| {
                let items = batch();
                let items = items.iter().map(|item| (&item[..], 1));
                sketch.increment_all(items, NO_LIMIT, UNLIMITED, |_, count| {
                    black_box(count.ok());
                });
            });
        });
        let name = "applied increment of 100 panes, a batch of 100";
        group.bench_function(BenchmarkId::new(name, stream.name), |b| {
            b.iter(|| {
                let items = batch();
                let items = items.iter().map(|item| (&item[..], 1));
                sketch.apply_all(items, UNLIMITED, |_, count| {
                    black_box(count.ok());
                });
            });
        });
    }
    group.finish();
}

fn top_k(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("top-k");
    group.throughput(Throughput::Elements(1));
    let of_k = |k| {
        STREAMS
            .iter()
            .filter(move |stream| stream.has_top && (k == 100 || stream.name == "Zipf(1.0)"))
            .map(move |stream| (k, stream))
    };
    for (k, stream) in [10, 100, 1_000, 10_000].into_iter().flat_map(of_k) {
        let mut sketch =
            TopK::new(k, k * 8, 7, 0.9, UNLIMITED).expect("enough memory for the sketch");
        let mut events = events(stream, k as usize).map(item);
        let mut next = || events.next().expect("an item");
        for _ in 0..k * 100 {
            let _ = sketch.add(&next(), 1);
        }
        group.bench_function(
            BenchmarkId::new("add", format!("k = {k}, {}", stream.name)),
            |b| {
                b.iter(|| black_box(sketch.add(&next(), 1).is_ok()));
            },
        );
        group.bench_function(
            BenchmarkId::new("query", format!("k = {k}, {}", stream.name)),
            |b| {
                b.iter(|| black_box(sketch.query(&next())));
            },
        );
        group.bench_function(
            BenchmarkId::new("add 100,000", format!("k = {k}, {}", stream.name)),
            |b| {
                b.iter(|| black_box(sketch.add(&next(), 100_000).is_ok()));
            },
        );
    }
    group.finish();
}

fn t_digest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("t-digest");
    let of_compression = |compression| {
        with_samples()
            .filter(move |stream| compression == 100 || stream.name == "uniform")
            .map(move |stream| (compression, stream))
    };
    for (compression, stream) in [100, 1_000].into_iter().flat_map(of_compression) {
        let mut digest =
            TDigest::new(compression, UNLIMITED).expect("enough memory for the digest");
        let mut samples = samples(stream);
        let mut values =
            || -> [f64; BATCH] { std::array::from_fn(|_| samples.next().expect("a sample")) };
        let middle = values()[BATCH / 2];
        for _ in 0..10_000 {
            digest
                .add(&values())
                .expect("the digest accepts the values");
        }
        let mut cache = DigestCache::default();
        let size = format!("compression {compression}, {}", stream.name);
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function(BenchmarkId::new("add 100", &size), |b| {
            b.iter_batched(
                &mut values,
                |values| digest.add(&values).is_ok(),
                BatchSize::SmallInput,
            );
        });
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("quantile", &size), |b| {
            b.iter(|| {
                black_box(
                    digest
                        .compressed_with(&mut cache)
                        .map(|compressed| compressed.quantile(0.99))
                        .ok(),
                )
            });
        });
        group.bench_function(BenchmarkId::new("cdf", &size), |b| {
            b.iter(|| {
                black_box(
                    digest
                        .compressed_with(&mut cache)
                        .map(|compressed| compressed.cdf(middle))
                        .ok(),
                )
            });
        });
        group.bench_function(BenchmarkId::new("add 1, then quantile", &size), |b| {
            b.iter(|| {
                digest.add(&[middle]).expect("the digest accepts the value");
                black_box(
                    digest
                        .compressed_with(&mut cache)
                        .map(|compressed| compressed.quantile(0.99))
                        .ok(),
                )
            });
        });
    }
    group.finish();
}

/// A month with panes from one second on: 242 live panes, all with samples. In each iteration the digest first gets 600 samples.
fn t_digest_window(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("t-digest with a window");
    let window = Window::new(30 * 86_400_000, 12, Some(1000)).expect("a window");
    for stream in with_samples() {
        let digest = TDigestWindow::new(100, window, UNLIMITED);
        let mut digest = digest.expect("enough memory for the digest");
        let mut samples = samples(stream);
        let mut add = move |digest: &mut TDigestWindow, len| {
            let values: Vec<_> = samples.by_ref().take(len).collect();
            let added = digest.add_within(&values, UNLIMITED);
            added.expect("the digest accepts the values");
        };
        let mut timeline = *digest.timeline();
        timeline.advance(1_700_000_000);
        for range in timeline.panes() {
            digest.advance(range.first);
            add(&mut digest, 1000);
        }
        let mut caches = [(); 2].map(|()| WindowCache::default());
        // What is timed in each new pane: the step, and reads of all and of the last hour after one more sample.
        for (at, name) in [
            "step",
            "step, then quantile",
            "step, then quantile of an hour",
        ]
        .into_iter()
        .enumerate()
        {
            group.bench_function(BenchmarkId::new(name, stream.name), |b| {
                b.iter_custom(|iterations| {
                    let mut times = [Duration::ZERO; 3];
                    for _ in 0..iterations {
                        add(&mut digest, 600);
                        let start = Instant::now();
                        digest.advance(digest.timeline().newest() + 1);
                        times[0] += start.elapsed();
                        add(&mut digest, 1);
                        let now = window.start_of(digest.timeline().newest());
                        let hour = digest.timeline().panes_within(now, 3_600_000);
                        for (panes, cache) in [Panes::ALL, hour].into_iter().zip(&mut caches) {
                            cache.forget(&digest, &mut ());
                            let start = Instant::now();
                            let compressed = digest.compressed_at(panes, cache);
                            black_box(compressed.map(|compressed| compressed.quantile(0.99)).ok());
                            times[if panes == Panes::ALL { 1 } else { 2 }] += start.elapsed();
                        }
                    }
                    times[at]
                });
            });
        }
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
    targets = bloom, cuckoo, count_min, top_k, t_digest, t_digest_window, baselines
}
criterion_main!(sketches);
