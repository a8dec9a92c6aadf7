//! Roughly's filters and digests compared with other crates, LevelDB's Bloom filter, the plain cuckoo
//! filter of the paper. Same items, same sizes, same loop.
//!
//! `cargo bench --bench references` measures all sizes and writes target/bench/references.json; `--quick`
//! leaves all but the mebibyte out. Times are of the clock, in the middle of many short segments.

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

/// Sizes of the filters, how often each is filled, and to what part of what it is made for: a gibibyte
/// takes minutes to fill, so that it is filled to an eighth.
const SIZES: [(u64, usize, u64); 3] = [(1 << 20, 9, 1), (64 << 20, 1, 1), (1 << 30, 1, 8)];
/// Blocks of a segment: what is timed at once.
const SEGMENT: u64 = 64;
/// Segments of look-ups, of hits and of misses.
const LOOK_UPS: u64 = 1_000;
/// Items that were never added, for the error rate.
const STRANGERS: u64 = 4_000_000;
/// Parts of a fill: an insert's time is the mean over these of the middle time in each.
const PARTS: usize = 64;
/// Bits of an item at an error rate of 0.001.
const BITS_AN_ITEM: f64 = 14.3776;
/// Share of a cuckoo filter's slots that is filled, if it takes as much.
const LOAD: f64 = 0.95;
/// Numbers of items that were never added begin here.
const STRANGE: u64 = 1 << 40;

fn block(first: u64) -> [Item; BLOCK_ITEMS] {
    std::array::from_fn(|i| item(first + i as u64))
}

/// Fills a filter until there is no room for a segment. Gives the blocks that it took, and the items.
fn fill<C: Competitor>(filter: &mut C, blocks: u64, parts: &mut [Segments]) -> (u64, u64) {
    let mut stored = 0;
    let segments = blocks / SEGMENT;
    for segment in 0..segments {
        let part = (segment * parts.len() as u64 / segments) as usize;
        let added = parts[part].time(SEGMENT * BLOCK_ITEMS as u64, || -> u64 {
            let numbers = segment * SEGMENT..(segment + 1) * SEGMENT;
            numbers
                .map(|number| u64::from(filter.insert_block(&block(number * BLOCK_ITEMS as u64))))
                .sum()
        });
        stored += added;
        if added < SEGMENT * BLOCK_ITEMS as u64 {
            return (segment * SEGMENT, stored);
        }
    }
    (segments * SEGMENT, stored)
}

/// Looks up blocks of a stream, of those from `first` on; how many items were found.
fn look_up<C: Competitor>(filter: &C, first: u64, blocks: u64) -> (f64, u64) {
    let mut segments = Segments::default();
    let mut numbers = Numbers(1);
    let mut found = 0;
    for _ in 0..LOOK_UPS {
        found += segments.time(SEGMENT * BLOCK_ITEMS as u64, || -> u64 {
            let asked = (0..SEGMENT).map(|_| {
                let number = numbers.below(blocks) * BLOCK_ITEMS as u64;
                u64::from(filter.contains_block(&block(first + number)))
            });
            asked.sum()
        });
    }
    (segments.median(), found)
}

/// Fills filters and looks items up.
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
    let asked = LOOK_UPS * SEGMENT * BLOCK_ITEMS as u64;
    assert_eq!(found, asked, "{name} lost items");
    let (miss_ns, _) = look_up(&filter, STRANGE, full_blocks);
    let size = plan.size;
    let wrong: u64 = (0..STRANGERS / BLOCK_ITEMS as u64)
        .map(|number| {
            u64::from(filter.contains_block(&block(2 * STRANGE + number * BLOCK_ITEMS as u64)))
        })
        .sum();
    let error_rate = wrong as f64 / STRANGERS as f64;
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

/// A size, and how it is filled.
struct Plan {
    size: u64,
    fills: usize,
    divisor: u64,
}

fn filters_of(plan: &Plan) -> Vec<Value> {
    let bits = plan.size * 8;
    let items = (bits as f64 / BITS_AN_ITEM) as u64;
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
    let is_quick = std::env::args().any(|word| word == "--quick");
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
        // After each size: the larger ones take long, and may be given up.
        let results = json!({"filters": filters, "digests": digests});
        record::write("references.json", results, load_before);
    }
}
