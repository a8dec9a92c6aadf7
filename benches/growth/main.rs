//! How the sketches' own cost grows, without a server: with a filter's size and number of sub-filters, with
//! k, with compression, with the rows of a count-min sketch.
//!
//! `cargo bench --bench growth` writes target/bench/growth.json. Times are of the clock, in the middle of
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

/// Segments that are timed for each number.
const SEGMENTS: usize = 300;
/// Blocks of 16 operations in a segment.
const SEGMENT: u64 = 64;
const ANY: Budget<'static> = Budget::UNLIMITED;
/// Bits of an item at an error rate of 0.001.
const BITS_AN_ITEM: f64 = 14.3776;
/// Numbers of items that were never added begin here.
const STRANGE: u64 = 1 << 40;

/// The middle time of an operation, in ns; `part` does a block of 16.
fn cost(part: impl FnMut()) -> f64 {
    cost_of(SEGMENT, part)
}

/// The same with longer segments, for what is done once in many operations.
fn cost_of(blocks: u64, mut part: impl FnMut()) -> f64 {
    let mut segments = Segments::default();
    for _ in 0..SEGMENTS {
        segments.time(blocks * BLOCK_ITEMS as u64, || {
            (0..blocks).for_each(|_| part())
        });
    }
    segments.median()
}

/// A curve: its name, what the numbers are, and the cost at each.
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

/// A block of items of which every other one may be in.
fn half_known(numbers: &mut Numbers, known: u64) -> [Item; BLOCK_ITEMS] {
    std::array::from_fn(|i| item(numbers.below(known) + (i as u64 & 1) * STRANGE))
}

fn bloom_of(capacity: u64, scaling: bool, items: u64) -> Chain {
    let parameters = bloom::Parameters {
        capacity,
        error_rate: 0.001,
        expansion: 2,
        scaling,
    };
    let mut chain = Chain::new(&parameters, ANY).expect("memory for the filter");
    for number in 0..items {
        let hash = chain.hash(&item(number));
        chain.add(hash, ANY).expect("room for the item");
    }
    chain
}

fn ask_bloom(chain: &Chain, known: u64, in_blocks: bool) -> f64 {
    let mut numbers = Numbers(1);
    cost(|| {
        let hashes = half_known(&mut numbers, known).map(|item| chain.hash(&item));
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
    let mut filter = CuckooFilter::new(capacity, parameters, ANY).expect("memory for the filter");
    for number in 0..items {
        filter
            .insert(&item(number), ANY)
            .expect("room for the item");
    }
    filter
}

fn ask_cuckoo(filter: &CuckooFilter, known: u64, in_blocks: bool) -> f64 {
    let mut numbers = Numbers(1);
    cost(|| {
        let asked = half_known(&mut numbers, known);
        if in_blocks {
            filter.contains_each(asked.iter().map(|item| &item[..]), |is| _ = black_box(is));
        } else {
            asked
                .iter()
                .for_each(|item| _ = black_box(filter.contains(item)));
        }
    })
}

/// 64 KiB to 1 GiB.
fn sizes() -> Vec<u64> {
    (0..15).map(|power| 65_536 << power).collect()
}

/// Items that touch every page of a large filter, and do not fill a small one.
fn filled(capacity: u64) -> u64 {
    (capacity / 2).min(2_000_000)
}

fn by_size() -> Vec<Value> {
    let unit = "size of the filter, bytes";
    let bloom = |in_blocks| {
        move |bytes: u64| {
            let capacity = (bytes as f64 * 8.0 / BITS_AN_ITEM) as u64;
            let items = filled(capacity);
            ask_bloom(&bloom_of(capacity, false, items), items, in_blocks)
        }
    };
    let cuckoo = |in_blocks| {
        move |slots: u64| ask_cuckoo(&cuckoo_of(slots, filled(slots)), filled(slots), in_blocks)
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
    // Filters of 1,000, 2,000, 4,000 .. items.
    let bloom = |in_blocks| {
        move |filters: u64| {
            let items = 1_000 * ((1 << filters) - 1) - 500;
            let chain = bloom_of(1_000, true, items);
            assert_eq!(chain.filters().len() as u64, filters);
            ask_bloom(&chain, items, in_blocks)
        }
    };
    // Sub-filters of 65,536 slots each.
    let cuckoo = |in_blocks| {
        move |sub_filters: u64| {
            let mut filter = cuckoo_of(65_536, 1);
            let mut items = 1;
            while (filter.num_sub_filters() as u64) < sub_filters {
                filter.insert(&item(items), ANY).expect("room for the item");
                items += 1;
            }
            ask_cuckoo(&filter, items, in_blocks)
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
            let mut sketch = TopK::new(k, k * 8, 7, 0.9, ANY).expect("memory for the sketch");
            let mut numbers = Numbers(1);
            // A skewed stream: the square of a uniform number, over 20 k items.
            let mut next = move || {
                let uniform = numbers.below(1 << 24) as f64 / f64::from(1 << 24);
                item((uniform * uniform * (k * 20) as f64) as u64)
            };
            for _ in 0..k * 100 {
                sketch.add(&next(), 1).expect("memory for the item");
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
        let mut digest = TDigest::new(compression as i64, ANY).expect("memory for the digest");
        for _ in 0..10_000 {
            let values: [f64; BLOCK_ITEMS] = std::array::from_fn(|_| numbers.below(1 << 52) as f64);
            digest.add(&values).expect("room for the values");
        }
        digest
    };
    let add = move |compression| {
        let mut numbers = Numbers(1);
        let mut digest = digest_of(compression, &mut numbers);
        // Two buffers of six times compression, and their merges.
        cost_of(compression * 12 / BLOCK_ITEMS as u64, || {
            let values: [f64; BLOCK_ITEMS] = std::array::from_fn(|_| numbers.below(1 << 52) as f64);
            digest.add(&values).expect("room for the values");
        })
    };
    let quantile = move |compression| {
        let mut numbers = Numbers(1);
        let digest = digest_of(compression, &mut numbers);
        cost(|| {
            let kept = digest.compressed().expect("memory for the answers");
            for _ in 0..BLOCK_ITEMS {
                black_box(kept.quantile(numbers.below(1 << 52) as f64 / (1u64 << 52) as f64));
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
            let mut sketch =
                CountMin::new(width, depth, CellSize::Four, ANY).expect("memory for the sketch");
            let mut numbers = Numbers(1);
            cost(|| {
                let items = half_known(&mut numbers, 1_000_000);
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
