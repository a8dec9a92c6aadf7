//! Benchmark of how the cost per operation grows with the parameters of a sketch, without a server: size and
//! number of sub-filters of a filter, k, compression, and rows of a count-min sketch.
//!
//! `cargo bench -p benches --bench growth` writes target/bench/growth.json. Times are wall-clock times: the median of
//! many short segments.

#[path = "../record/mod.rs"]
mod record;
#[path = "../stream/mod.rs"]
mod stream;

use record::segments::Segments;
use roughly_sketch::bloom::filter::BLOCK_ITEMS;
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::count_min::{CellSize, CountMin};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;
use roughly_sketch::top_k::TopK;
use serde_json::{Value, json};
use std::hint::black_box;
use stream::{Item, Numbers, item};

/// Timed segments per point.
const SEGMENTS: usize = 300;
/// Blocks of 16 operations per segment.
const BLOCKS_PER_SEGMENT: u64 = 64;
const UNLIMITED: Budget<'static> = Budget::UNLIMITED;
/// Bits per item at an error rate of 0.001.
const BITS_PER_ITEM: f64 = 14.3776;
/// First number of the items that are never added.
const FIRST_ABSENT: u64 = 1 << 40;

/// Median time per operation, in ns. `part` executes a block of 16 operations.
fn cost(part: impl FnMut()) -> f64 {
    cost_of(BLOCKS_PER_SEGMENT, part)
}

/// Like [`cost`], with segments of `blocks` blocks: long enough to include work that occurs only once in
/// many operations.
fn cost_of(blocks: u64, mut part: impl FnMut()) -> f64 {
    let mut segments = Segments::default();
    for _ in 0..SEGMENTS {
        segments.time(blocks * BLOCK_ITEMS as u64, || {
            (0..blocks).for_each(|_| part())
        });
    }
    segments.median()
}

/// A curve: the cost at each of the `numbers`, which are measured in `unit`.
fn curve(name: &str, unit: &str, numbers: &[u64], mut of: impl FnMut(u64) -> f64) -> Value {
    println!("{name}, {unit}");
    let points = numbers.iter().map(|&number| {
        let ns = of(number);
        println!("{number:>12} {ns:>8.1} ns");
        json!([number, ns])
    });
    let points: Vec<_> = points.collect();
    json!({"name": name, "unit": unit, "points": points})
}

/// A block of items, of which every second one was never added.
fn half_present(numbers: &mut Numbers, added: u64) -> [Item; BLOCK_ITEMS] {
    std::array::from_fn(|i| item(numbers.below(added) + (i as u64 & 1) * FIRST_ABSENT))
}

fn bloom_of(capacity: u64, scaling: bool, items: u64) -> Chain {
    let parameters = bloom::Parameters {
        capacity,
        error_rate: 0.001,
        expansion: 2,
        scaling,
    };
    let mut chain = Chain::new(&parameters, UNLIMITED).expect("enough memory for the filter");
    for number in 0..items {
        let hash = chain.hash(&item(number));
        chain
            .add(hash, UNLIMITED)
            .expect("the filter accepts the item");
    }
    chain
}

fn bloom_lookup_cost(chain: &Chain, added: u64, in_blocks: bool) -> f64 {
    let mut numbers = Numbers(1);
    cost(|| {
        let hashes = half_present(&mut numbers, added).map(|item| chain.hash(&item));
        if in_blocks {
            black_box(chain.contains_block(&hashes));
        } else {
            hashes
                .iter()
                .for_each(|&hash| _ = black_box(chain.contains(hash)));
        }
    })
}

fn cuckoo_of(capacity: u64, items: u64) -> CuckooFilter {
    let parameters = cuckoo::Parameters {
        bucket_size: 2,
        max_iterations: 20,
        expansion: 1,
    };
    let mut filter =
        CuckooFilter::new(capacity, parameters, UNLIMITED).expect("enough memory for the filter");
    for number in 0..items {
        filter
            .insert(&item(number), UNLIMITED)
            .expect("the filter accepts the item");
    }
    filter
}

fn cuckoo_lookup_cost(filter: &CuckooFilter, added: u64, in_blocks: bool) -> f64 {
    let mut numbers = Numbers(1);
    cost(|| {
        let items = half_present(&mut numbers, added);
        if in_blocks {
            filter.contains_each(items.iter().map(|item| &item[..]), |is| _ = black_box(is));
        } else {
            items
                .iter()
                .for_each(|item| _ = black_box(filter.contains(item)));
        }
    })
}

/// Filter sizes in bytes, 64 KiB to 1 GiB.
fn sizes() -> Vec<u64> {
    (0..15).map(|power| 65_536 << power).collect()
}

/// Number of items to add: enough to touch every page of a large filter, without filling a small one.
fn items_to_add(capacity: u64) -> u64 {
    (capacity / 2).min(2_000_000)
}

fn by_size() -> Vec<Value> {
    let unit = "size of the filter, bytes";
    let bloom = |in_blocks| {
        move |bytes: u64| {
            let capacity = (bytes as f64 * 8.0 / BITS_PER_ITEM) as u64;
            let items = items_to_add(capacity);
            bloom_lookup_cost(&bloom_of(capacity, false, items), items, in_blocks)
        }
    };
    let cuckoo = |in_blocks| {
        move |slots: u64| {
            cuckoo_lookup_cost(
                &cuckoo_of(slots, items_to_add(slots)),
                items_to_add(slots),
                in_blocks,
            )
        }
    };
    vec![
        curve("Bloom, one item per call", unit, &sizes(), bloom(false)),
        curve("Bloom, blocks of 16 items", unit, &sizes(), bloom(true)),
        curve("Cuckoo, one item per call", unit, &sizes(), cuckoo(false)),
        curve("Cuckoo, blocks of 16 items", unit, &sizes(), cuckoo(true)),
    ]
}

fn by_sub_filters() -> Vec<Value> {
    let unit = "sub-filters";
    let numbers: Vec<u64> = (1..=12).collect();
    // The sub-filters hold 1,000, 2,000, 4,000, ... items.
    let bloom = |in_blocks| {
        move |filters: u64| {
            let items = 1_000 * ((1 << filters) - 1) - 500;
            let chain = bloom_of(1_000, true, items);
            assert_eq!(chain.filters().len() as u64, filters);
            bloom_lookup_cost(&chain, items, in_blocks)
        }
    };
    // Each sub-filter has 65,536 slots.
    let cuckoo = |in_blocks| {
        move |sub_filters: u64| {
            let mut filter = cuckoo_of(65_536, 1);
            let mut items = 1;
            while (filter.num_sub_filters() as u64) < sub_filters {
                filter
                    .insert(&item(items), UNLIMITED)
                    .expect("the filter accepts the item");
                items += 1;
            }
            cuckoo_lookup_cost(&filter, items, in_blocks)
        }
    };
    vec![
        curve("Bloom, one item per call", unit, &numbers, bloom(false)),
        curve("Bloom, blocks of 16 items", unit, &numbers, bloom(true)),
        curve("Cuckoo, one item per call", unit, &numbers, cuckoo(false)),
        curve("Cuckoo, blocks of 16 items", unit, &numbers, cuckoo(true)),
    ]
}

fn by_k() -> Vec<Value> {
    let numbers = [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
    let top_k = |operation: fn(&mut TopK, &Item)| {
        move |k: u64| {
            let mut sketch =
                TopK::new(k, k * 8, 7, 0.9, UNLIMITED).expect("enough memory for the sketch");
            let mut numbers = Numbers(1);
            // A skewed stream over 20 × k items: the square of a uniform number.
            let mut next = move || {
                let uniform = numbers.below(1 << 24) as f64 / f64::from(1 << 24);
                item((uniform * uniform * (k * 20) as f64) as u64)
            };
            for _ in 0..k * 100 {
                sketch.add(&next(), 1).expect("enough memory for the item");
            }
            cost(|| (0..BLOCK_ITEMS).for_each(|_| operation(&mut sketch, &next())))
        }
    };
    let add = top_k(|sketch, item| {
        black_box(sketch.add(item, 1).is_ok());
    });
    let query = top_k(|sketch, item| {
        black_box(sketch.query(item));
    });
    vec![
        curve("add", "k", &numbers, add),
        curve("query", "k", &numbers, query),
    ]
}

fn by_compression() -> Vec<Value> {
    let numbers = [50, 100, 200, 500, 1_000, 2_000];
    let digest_of = |compression: u64, numbers: &mut Numbers| {
        let mut digest =
            TDigest::new(compression as i64, UNLIMITED).expect("enough memory for the digest");
        for _ in 0..10_000 {
            let values: [f64; BLOCK_ITEMS] = std::array::from_fn(|_| numbers.below(1 << 52) as f64);
            digest.add(&values).expect("the digest accepts the values");
        }
        digest
    };
    let add = move |compression| {
        let mut numbers = Numbers(1);
        let mut digest = digest_of(compression, &mut numbers);
        // The buffer holds 6 × compression samples: a segment fills and merges two of them.
        cost_of(compression * 12 / BLOCK_ITEMS as u64, || {
            let values: [f64; BLOCK_ITEMS] = std::array::from_fn(|_| numbers.below(1 << 52) as f64);
            digest.add(&values).expect("the digest accepts the values");
        })
    };
    let quantile = move |compression| {
        let mut numbers = Numbers(1);
        let digest = digest_of(compression, &mut numbers);
        cost(|| {
            let compressed = digest.compressed().expect("enough memory for the answers");
            for _ in 0..BLOCK_ITEMS {
                black_box(compressed.quantile(numbers.below(1 << 52) as f64 / (1u64 << 52) as f64));
            }
        })
    };
    vec![
        curve("add, blocks of 16 samples", "compression", &numbers, add),
        curve("quantile", "compression", &numbers, quantile),
    ]
}

fn by_rows() -> Vec<Value> {
    let numbers: Vec<u64> = (1..=16).collect();
    let of = |width: u64| {
        move |depth: u64| {
            let mut sketch = CountMin::new(width, depth, CellSize::Four, UNLIMITED)
                .expect("enough memory for the sketch");
            let mut numbers = Numbers(1);
            cost(|| {
                let items = half_present(&mut numbers, 1_000_000);
                sketch.increment_all(items.iter().map(|item| (&item[..], 1)), |_, count| {
                    black_box(count.ok());
                });
            })
        }
    };
    vec![
        curve("width 2,000", "rows", &numbers, of(2_000)),
        curve("width 200,000", "rows", &numbers, of(200_000)),
    ]
}

fn main() {
    let load_before = record::load_average();
    let curves = [
        by_size(),
        by_sub_filters(),
        by_k(),
        by_compression(),
        by_rows(),
    ]
    .concat();
    record::write("growth.json", json!({"curves": curves}), load_before);
}
