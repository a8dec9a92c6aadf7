//! Benchmark of Roughly's filters and digests against other crates, LevelDB's Bloom filter and the plain
//! cuckoo filter of the paper, with the same items, sizes and loop.
//!
//! `cargo bench -p benches --bench references` measures all sizes and writes target/bench/references.json; `--quick`
//! measures only 1 MiB. Times are wall-clock times: the median of many short segments.

#[path = "../record/mod.rs"]
mod record;
#[path = "../stream/mod.rs"]
mod stream;

mod competitors;
mod digests;
mod leveldb;
mod plain_cuckoo;

use competitors::{
    BLOCK_ITEMS, Bloom, BloomBlocks, Competitor, Cuckoo, CuckooBlocks, FastBloom, Scalable,
};
use leveldb::LevelDb;
use plain_cuckoo::PlainCuckoo;
use record::segments::Segments;
use serde_json::{Value, json};
use stream::{Item, Numbers, item};

/// Size of each filter in bytes, number of fills, and divisor of the number of items: a filter of 1 GiB takes
/// minutes to fill, so only an eighth of its capacity is filled.
const SIZES: [(u64, usize, u64); 3] = [(1 << 20, 9, 1), (64 << 20, 1, 1), (1 << 30, 1, 8)];
/// Blocks per timed segment.
const BLOCKS_PER_SEGMENT: u64 = 64;
/// Segments of lookups, for hits and for misses each.
const LOOKUP_SEGMENTS: u64 = 1_000;
/// Number of absent items that are looked up to measure the error rate.
const ABSENT_LOOKUPS: u64 = 4_000_000;
/// Parts of a fill. The time per insertion is the mean of the medians of the parts.
const PARTS: usize = 64;
/// Bits per item at an error rate of 0.001.
const BITS_PER_ITEM: f64 = 14.3776;
/// Share of a cuckoo filter's slots to fill; insertions that fail earlier end the fill.
const LOAD: f64 = 0.95;
/// First number of the items that are never added.
const FIRST_ABSENT: u64 = 1 << 40;

fn block(first: u64) -> [Item; BLOCK_ITEMS] {
    std::array::from_fn(|i| item(first + i as u64))
}

/// Adds `blocks` blocks, or stops at the first segment with a failed insertion. Returns the number of blocks
/// in complete segments and the number of items added.
fn fill<C: Competitor>(filter: &mut C, blocks: u64, parts: &mut [Segments]) -> (u64, u64) {
    let mut stored = 0;
    let segments = blocks / BLOCKS_PER_SEGMENT;
    for segment in 0..segments {
        let part = (segment * parts.len() as u64 / segments) as usize;
        let added = parts[part].time(BLOCKS_PER_SEGMENT * BLOCK_ITEMS as u64, || -> u64 {
            let numbers = segment * BLOCKS_PER_SEGMENT..(segment + 1) * BLOCKS_PER_SEGMENT;
            numbers
                .map(|number| u64::from(filter.insert_block(&block(number * BLOCK_ITEMS as u64))))
                .sum()
        });
        stored += added;
        if added < BLOCKS_PER_SEGMENT * BLOCK_ITEMS as u64 {
            return (segment * BLOCKS_PER_SEGMENT, stored);
        }
    }
    (segments * BLOCKS_PER_SEGMENT, stored)
}

/// Looks up random blocks among the `blocks` blocks that start at item `first`. Returns the median time per
/// lookup in ns and the number of items found.
fn look_up<C: Competitor>(filter: &C, first: u64, blocks: u64) -> (f64, u64) {
    let mut segments = Segments::default();
    let mut numbers = Numbers(1);
    let mut found = 0;
    for _ in 0..LOOKUP_SEGMENTS {
        found += segments.time(BLOCKS_PER_SEGMENT * BLOCK_ITEMS as u64, || -> u64 {
            let asked = (0..BLOCKS_PER_SEGMENT).map(|_| {
                let number = numbers.below(blocks) * BLOCK_ITEMS as u64;
                u64::from(filter.contains_block(&block(first + number)))
            });
            asked.sum()
        });
    }
    (segments.median(), found)
}

/// Measures insertions, hits, misses, bits per item and error rate.
fn measure<C: Competitor>(name: &str, plan: &Plan, items: u64, make: impl Fn() -> C) -> Value {
    let blocks = items / plan.divisor / BLOCK_ITEMS as u64;
    let mut parts: Vec<Segments> = (0..PARTS).map(|_| Segments::default()).collect();
    let mut filter = make();
    let (mut full_blocks, mut filled) = fill(&mut filter, blocks, &mut parts);
    for _ in 1..plan.fills {
        drop(filter);
        filter = make();
        (full_blocks, filled) = fill(&mut filter, blocks, &mut parts);
    }
    let parts: Vec<f64> = parts.into_iter().map(Segments::median).collect();
    let timed = || parts.iter().filter(|ns| !ns.is_nan());
    let insert_ns = timed().sum::<f64>() / timed().count() as f64;
    let (hit_ns, found) = look_up(&filter, 0, full_blocks);
    let asked = LOOKUP_SEGMENTS * BLOCKS_PER_SEGMENT * BLOCK_ITEMS as u64;
    assert_eq!(found, asked, "{name}: false negatives");
    let (miss_ns, _) = look_up(&filter, FIRST_ABSENT, full_blocks);
    let size = plan.size;
    let wrong: u64 = (0..ABSENT_LOOKUPS / BLOCK_ITEMS as u64)
        .map(|number| {
            u64::from(filter.contains_block(&block(2 * FIRST_ABSENT + number * BLOCK_ITEMS as u64)))
        })
        .sum();
    let error_rate = wrong as f64 / ABSENT_LOOKUPS as f64;
    let bits = filter.bytes() as f64 * 8.0 / filled as f64;
    println!(
        "{name:<44} {:>5} MiB {insert_ns:>7.1} insert {hit_ns:>7.1} hit {miss_ns:>7.1} miss \
         {bits:>6.2} bits {error_rate:.6}",
        size >> 20
    );
    json!({
        "name": name,
        "mebibytes": size >> 20,
        "filled_to": plan.divisor,
        "bytes": filter.bytes(),
        "items": filled,
        "insert_ns": insert_ns,
        "hit_ns": hit_ns,
        "miss_ns": miss_ns,
        "bits_an_item": bits,
        "error_rate": error_rate,
    })
}

/// Size of a filter in bytes, number of fills, and the divisor of the capacity to fill.
struct Plan {
    size: u64,
    fills: usize,
    divisor: u64,
}

fn filters_of(plan: &Plan) -> Vec<Value> {
    let bits = plan.size * 8;
    let items = (bits as f64 / BITS_PER_ITEM) as u64;
    let slots = plan.size;
    let stored = (slots as f64 * LOAD) as u64;
    vec![
        measure("Bloom, Roughly", plan, items, || Bloom::new(items)),
        measure("Bloom, Roughly, blocks of 16", plan, items, || {
            BloomBlocks(Bloom::new(items))
        }),
        measure("Bloom, fastbloom", plan, items, || {
            FastBloom::new(bits, items)
        }),
        measure("Bloom, LevelDB", plan, items, || LevelDb::new(bits, items)),
        measure(
            "Cuckoo, Roughly, 2 slots, 20 evictions",
            plan,
            stored,
            || Cuckoo::new(slots, 2, 20),
        ),
        measure(
            "Cuckoo, Roughly, 4 slots, 500 evictions",
            plan,
            stored,
            || Cuckoo::new(slots, 4, 500),
        ),
        measure(
            "Cuckoo, Roughly, 4 slots, blocks of 16",
            plan,
            stored,
            || CuckooBlocks(Cuckoo::new(slots, 4, 500)),
        ),
        measure(
            "Cuckoo, plain, 4 slots, 500 evictions",
            plan,
            stored,
            || PlainCuckoo::new(slots),
        ),
        measure("Cuckoo, scalable_cuckoo_filter", plan, stored, || {
            Scalable::new(stored)
        }),
    ]
}

fn main() {
    let load_before = record::load_average();
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let sizes = &SIZES[..if is_quick { 1 } else { SIZES.len() }];
    let digests = digests::measure();
    let mut filters = Vec::new();
    for &(size, fills, divisor) in sizes {
        let fills = if is_quick { 1 } else { fills };
        filters.extend(filters_of(&Plan {
            size,
            fills,
            divisor,
        }));
        // Written after each size, because a user may interrupt the run at the large sizes.
        let results = json!({"filters": filters, "digests": digests});
        record::write("references.json", results, load_before);
    }
}
