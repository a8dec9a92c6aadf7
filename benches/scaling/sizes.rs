//! Look-ups without a server by size of the filter, and the physical limit at the same size.
//!
//! The filters are filled with random bytes, because adding billions of items takes hours. Half of the bits of a Bloom filter are
//! set, as in a filter at its capacity, and half of the slots of a cuckoo filter are in use. For hits, all bits of the Bloom
//! filter are set, so that each item is found after all probes.

use crate::chase::Buffer;
use crate::record::segments::Segments;
use crate::rounds::{Rounds, until_agreement};
use crate::stream::{Item, Numbers, item};
use roughly_sketch::bloom::filter::BLOCK_ITEMS;
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use serde_json::{Value, json};
use std::fs;
use std::hint::black_box;

/// Bits per item at an error rate of 0.001.
const BITS_PER_ITEM: f64 = 14.3776;
/// Probes per item at this rate.
const PROBES: i32 = 10;
/// Bytes that stay free when the largest filter is in memory.
const RESERVE: u64 = 2 << 30;
/// Range of the items: so wide that few are repeated.
const WIDE: u64 = 1 << 40;
/// Timed segments per round.
const SEGMENTS: usize = 100;
/// Blocks of items per segment.
const BLOCKS: u64 = 32;
const UNLIMITED: Budget<'static> = Budget::UNLIMITED;

/// The sizes, from 1 MiB to 8 GiB, that fit into the available memory.
pub fn sizes(is_quick: bool) -> Vec<u64> {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes: Option<u64> = memory
        .lines()
        .find_map(|line| {
            line.strip_prefix("MemAvailable:")?
                .split_whitespace()
                .next()
        })
        .and_then(|number| number.parse().ok());
    let available = kilobytes.map_or(0, |number| number << 10);
    let powers: &[u32] = if is_quick {
        &[20, 26]
    } else {
        &[20, 22, 24, 26, 28, 30, 31, 32, 33]
    };
    let sizes = powers.iter().map(|power| 1 << power);
    sizes.filter(|size| size + RESERVE <= available).collect()
}

/// Median time per item, in ns. `part` processes a block of items.
fn rounds_of(mut part: impl FnMut()) -> Rounds {
    until_agreement(2, 6, || {
        let mut segments = Segments::default();
        for _ in 0..SEGMENTS {
            segments.time(BLOCKS * BLOCK_ITEMS as u64, || {
                (0..BLOCKS).for_each(|_| part());
            });
        }
        segments.median()
    })
}

/// A block of random items.
fn block(numbers: &mut Numbers) -> [Item; BLOCK_ITEMS] {
    std::array::from_fn(|_| item(numbers.below(WIDE)))
}

/// Replaces the bytes of an array with random bytes, of which `keep` selects some bits.
fn randomize(bytes: &mut [u8], keep: fn(u64) -> u64) {
    let mut numbers = Numbers(1);
    for chunk in bytes.chunks_mut(8) {
        numbers.below(1);
        // The upper half of the state is uniform. The multiplication distributes it over all bits.
        let random = (numbers.0 >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = random ^ (random >> 29);
        chunk.copy_from_slice(&keep(random).to_le_bytes()[..chunk.len()]);
    }
}

/// Keeps four of the eight bytes, at alternating positions.
fn half_of_the_bytes(random: u64) -> u64 {
    match random & 1 {
        0 => random & 0x00ff_00ff_00ff_00ff,
        _ => random & 0xff00_ff00_ff00_ff00,
    }
}

fn bloom_of(bytes: u64) -> Chain {
    let parameters = bloom::Parameters {
        capacity: (bytes as f64 * 8.0 / BITS_PER_ITEM) as u64,
        error_rate: 0.001,
        expansion: 2,
        scaling: false,
    };
    let mut chain = Chain::new(&parameters, UNLIMITED).expect("enough memory for the filter");
    randomize(chain.array_mut(0).expect("a filter"), |random| random);
    chain
}

fn cuckoo_of(bytes: u64) -> CuckooFilter {
    let parameters = cuckoo::Parameters {
        bucket_size: 2,
        max_iterations: 20,
        expansion: 1,
    };
    let mut filter =
        CuckooFilter::new(bytes, parameters, UNLIMITED).expect("enough memory for the filter");
    randomize(filter.array_mut(0).expect("a filter"), half_of_the_bytes);
    filter
}

/// A measured look-up and the cache lines that it reads.
struct LookUp {
    name: &'static str,
    lines: f64,
    ns: Rounds,
}

fn bloom_look_ups(bytes: u64) -> Vec<LookUp> {
    let mut chain = bloom_of(bytes);
    let measure = |chain: &Chain| {
        let mut numbers = Numbers(1);
        rounds_of(|| {
            let hashes = block(&mut numbers).map(|item| chain.hash(&item));
            black_box(chain.contains_block(&hashes));
        })
    };
    let miss = LookUp {
        name: "Bloom, miss",
        // Each probe finds a set bit with probability 1/2, and only then is the next probe needed: 1 + 1/2 + 1/4 + ...
        lines: 2.0 * (1.0 - 0.5f64.powi(PROBES)),
        ns: measure(&chain),
    };
    chain.array_mut(0).expect("a filter").fill(u8::MAX);
    let hit = LookUp {
        name: "Bloom, hit",
        lines: f64::from(PROBES),
        ns: measure(&chain),
    };
    vec![miss, hit]
}

fn cuckoo_look_ups(bytes: u64) -> Vec<LookUp> {
    let filter = cuckoo_of(bytes);
    let mut numbers = Numbers(1);
    let ns = rounds_of(|| {
        let items = block(&mut numbers);
        filter.contains_each(items.iter().map(|item| &item[..]), |is| _ = black_box(is));
    });
    vec![LookUp {
        name: "cuckoo, miss",
        lines: 2.0,
        ns,
    }]
}

/// Measures one size.
pub fn measure(bytes: u64) -> Value {
    let buffer = Buffer::new(bytes);
    let miss_ns = until_agreement(2, 6, || buffer.read_ns::<1>());
    let overlapped = [
        until_agreement(2, 6, || buffer.read_ns::<8>()),
        until_agreement(2, 6, || buffer.read_ns::<16>()),
        until_agreement(2, 6, || buffer.read_ns::<32>()),
    ];
    drop(buffer);
    let fastest = overlapped.iter().map(Rounds::fastest);
    let overlapped_ns = fastest.fold(f64::INFINITY, f64::min);
    println!(
        "{:>6} MiB: dependent read {:.1} ns, overlapped {overlapped_ns:.2} ns",
        bytes >> 20,
        miss_ns.fastest()
    );
    let mut look_ups = bloom_look_ups(bytes);
    look_ups.extend(cuckoo_look_ups(bytes));
    let look_ups = look_ups.into_iter().map(|look_up| {
        let limit = look_up.lines * overlapped_ns;
        println!(
            "            {:<14} {:>6.1} ns, limit {limit:>5.1} ns",
            look_up.name,
            look_up.ns.fastest()
        );
        json!({
            "name": look_up.name,
            "lines": look_up.lines,
            "ns": look_up.ns.to_json(),
            "limit_ns": limit,
            "ratio": look_up.ns.fastest() / limit,
        })
    });
    json!({
        "bytes": bytes,
        "dependent_ns": miss_ns.to_json(),
        "overlapped_ns": overlapped_ns,
        "chains": [8, 16, 32],
        "overlapped_ns_of_chains": overlapped.each_ref().map(Rounds::to_json),
        "look_ups": look_ups.collect::<Vec<_>>(),
    })
}
