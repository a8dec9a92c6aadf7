//! Other structures for the items of a window: memory, and the time of look-ups where the code
//! exists.

use super::{Sizes, absent, add, percent, set};
use crate::memory::bytes;
use crate::stream::item;
use crate::support::resp::Reply;
use crate::support::server::Options;
use roughly_sketch::bloom::{Chain, Parameters};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::Windowed;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

/// Times are the shortest of so many rounds.
const ROUNDS: usize = 3;
/// Look-ups per round.
const PROBES: u64 = 500_000;
/// The error rate of all structures.
const ERROR_RATE: f64 = 0.001;

/// A structure in the table.
struct Row {
    name: String,
    bits: f64,
    /// Expected cache lines that a look-up of an absent item reads. `None` if it is not a number of lines.
    lines: Option<f64>,
    /// ns per look-up of items of all panes, and of absent items.
    times: Option<[f64; 2]>,
    /// The lifetime of items, as a multiple of the window.
    counts: String,
}

impl Row {
    fn to_json(&self) -> Value {
        println!(
            "{:<40} {:>7.1} bits, {:.1?} lines, {:.0?} ns, {}",
            self.name, self.bits, self.lines, self.times, self.counts
        );
        json!({
            "name": self.name, "bits": self.bits, "lines": self.lines, "times": self.times, "counts": self.counts,
        })
    }
}

pub fn all(sizes: Sizes) -> Value {
    let mut rows = Vec::new();
    for panes in [12, 96] {
        rows.push(window_filter(sizes.medium, panes));
        rows.push(ring_of_bloom_filters(sizes.medium, panes));
        rows.push(age_partitioned(panes));
    }
    rows.push(rotating_bloom_filters(sizes.medium));
    rows.push(sorted_set());
    let rows: Vec<Value> = rows.iter().map(Row::to_json).collect();
    json!({"error_rate": percent(ERROR_RATE), "items": sizes.medium, "rows": rows})
}

/// ns per look-up of the items `0..items` in random order, and of absent items.
fn look_up_times(items: u64, contains: impl Fn(u64) -> bool) -> [f64; 2] {
    let present = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % items;
    let time = |number: &dyn Fn(u64) -> u64| {
        let rounds = (0..ROUNDS as u64).map(|round| {
            let start = Instant::now();
            for probe in round * PROBES..(round + 1) * PROBES {
                black_box(contains(number(probe)));
            }
            start.elapsed().as_nanos() as f64 / PROBES as f64
        });
        rounds.fold(f64::INFINITY, f64::min)
    };
    [time(&present), time(&absent)]
}

fn counts(panes: u64) -> String {
    format!("1 to {:.3}", 1.0 + 1.0 / panes as f64)
}

/// A look-up reads two buckets. A bucket that crosses the end of a cache line takes two.
fn window_filter(items: u64, panes: u64) -> Row {
    let mut filter = set(items, ERROR_RATE, panes, 0);
    let items = filter.limit();
    for number in 0..items {
        filter.advance(number * (panes + 1) / items);
        assert!(add(&mut filter, number), "refused");
    }
    let bucket_bits = filter.slot_bytes() * 8 / filter.num_buckets();
    let crossing = (bucket_bits - 1) as f64 / 512.0;
    Row {
        name: format!("bf-window, {panes} panes"),
        bits: bytes(&filter) * 8.0 / items as f64,
        lines: Some(2.0 * (1.0 + crossing)),
        times: Some(look_up_times(items, |number| {
            super::contains(&filter, number)
        })),
        counts: counts(panes),
    }
}

fn bloom(capacity: u64, error_rate: f64) -> Chain {
    let parameters = Parameters {
        capacity,
        error_rate,
        expansion: 0,
        scaling: false,
    };
    Chain::new(&parameters, Budget::UNLIMITED).expect("a filter")
}

/// The expected number of bits that a look-up of an absent item reads in a full filter: it ends at the first bit that is
/// 0, and half of the bits are. Each is in another cache line.
const LINES_OF_BLOOM_MISS: f64 = 2.0;

/// One Bloom filter per pane, each with its share of the items and of the error rate. (A burst within one pane does not
/// fit; a ring in which it fits has as many times the memory as panes.)
fn ring_of_bloom_filters(items: u64, panes: u64) -> Row {
    let per_pane = items / panes;
    let mut ring = VecDeque::new();
    for pane in 0..=panes {
        let mut filter = bloom(per_pane, ERROR_RATE / (panes + 1) as f64);
        for number in pane * per_pane..(pane + 1) * per_pane {
            let _ = filter.add(filter.hash(&item(number)), Budget::UNLIMITED);
        }
        ring.push_front(filter);
    }
    let items = per_pane * (panes + 1);
    Row {
        name: format!("Bloom filter per pane, {panes} panes"),
        bits: ring.iter().map(bytes).sum::<f64>() * 8.0 / items as f64,
        lines: Some(LINES_OF_BLOOM_MISS * (panes + 1) as f64),
        times: Some(look_up_times(items, |number| {
            let hash = ring[0].hash(&item(number));
            ring.iter().any(|filter| filter.contains(hash))
        })),
        counts: counts(panes),
    }
}

/// Two Bloom filters, each with the capacity of a window and half of the error rate. When a window ends, the older one is
/// replaced.
fn rotating_bloom_filters(items: u64) -> Row {
    let mut filters = [(); 2].map(|()| bloom(items, ERROR_RATE / 2.0));
    for (older, filter) in filters.iter_mut().enumerate() {
        for number in older as u64 * items..(older as u64 + 1) * items {
            let _ = filter.add(filter.hash(&item(number)), Budget::UNLIMITED);
        }
    }
    Row {
        name: "two rotating Bloom filters".to_owned(),
        bits: filters.iter().map(bytes).sum::<f64>() * 8.0 / items as f64,
        lines: Some(LINES_OF_BLOOM_MISS * 2.0),
        times: Some(look_up_times(2 * items, |number| {
            let hash = filters[0].hash(&item(number));
            filters.iter().any(|filter| filter.contains(hash))
        })),
        counts: "1 to 2".to_owned(),
    }
}

/// The false-positive rate of an age-partitioned Bloom filter of k + l slices (Shtul, Baquero and Almeida,
/// "Age-Partitioned Bloom Filters", 2020): the probability that k consecutive slices contain the item.
///
/// An addition sets a bit in each of the k newest slices. A slice is among them for k generations, and half of its bits
/// are set then. So of the slice with the age i, counted from 0, the share 1 - 2^(-min(i + 1, k) / k) is set.
fn age_partitioned_rate(k: usize, l: usize) -> f64 {
    // The probability of each length of the run of slices with the item that ends at the current slice.
    let mut runs = vec![0.0; k];
    runs[0] = 1.0;
    let mut found = 0.0;
    for slice in 0..k + l {
        let generations = (slice + 1).min(k) as f64;
        let set = 1.0 - 0.5f64.powf(generations / k as f64);
        found += runs[k - 1] * set;
        for length in (1..k).rev() {
            runs[length] = runs[length - 1] * set;
        }
        runs[0] = (1.0 - found) - runs[1..].iter().sum::<f64>();
    }
    found
}

/// With one generation per pane. A slice has k · g / ln 2 bits for g items per generation, and the l generations before
/// the current one are a window, so there are k · (k + l) / (l · ln 2) bits per item.
///
/// A look-up of an absent item begins at slice l and goes back by k slices when it reads a 0: about l / k + 1 times, with two
/// slices each.
fn age_partitioned(panes: u64) -> Row {
    let l = panes as usize;
    let mut sizes = 1..;
    let k = sizes.find(|&k| age_partitioned_rate(k, l) <= ERROR_RATE);
    let k = k.expect("any rate is possible");
    Row {
        name: format!("age-partitioned Bloom filter, k {k}, l {l} (formula)"),
        bits: (k * (k + l)) as f64 / (l as f64 * std::f64::consts::LN_2),
        lines: Some(LINES_OF_BLOOM_MISS * (l / k + 1) as f64),
        times: None,
        counts: counts(panes),
    }
}

/// A sorted set of the server, with members of 16 bytes and the time of the addition as score. `MEMORY USAGE`.
fn sorted_set() -> Row {
    const MEMBERS: u64 = 100_000;
    let server = Options::new().start();
    for number in 0..MEMBERS {
        server.call(&format!(
            "ZADD key {} item:{number:011}",
            1_700_000_000_000 + number
        ));
    }
    let Reply::Integer(bytes) = server.call("MEMORY USAGE key SAMPLES 0") else {
        panic!("MEMORY USAGE replies with a number");
    };
    Row {
        name: "sorted set, members of 16 bytes".to_owned(),
        bits: bytes as f64 * 8.0 / MEMBERS as f64,
        lines: None,
        times: None,
        counts: "1".to_owned(),
    }
}
