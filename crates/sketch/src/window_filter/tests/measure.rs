//! Measurements of what `scripts/bench.sh windows` does not measure: loads above the limit, and filters of unusual shapes.
//! They are not run by default:
//! `cargo test --release -p roughly-sketch --lib window_filter::tests::measure -- --ignored --nocapture --test-threads 1`
//!
//! Times are those of the processor where the system reports them, so other processes disturb them little.

use super::*;
use std::time::Instant;

/// Error rate and panes.
const CASES: [(f64, u64); 5] = [
    (0.001, 96),
    (0.01, 48),
    (0.0001, 96),
    (0.001, 12),
    (0.001, 1000),
];

/// Different numbers are different items.
fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// The processor time of this thread in nanoseconds; elsewhere than on Linux, the time since `start`.
fn processor_time(start: Instant) -> u64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = statistics
        .split(' ')
        .next()
        .and_then(|first| first.parse().ok());
    first.unwrap_or(start.elapsed().as_nanos() as u64)
}

/// The number of items: 2^20, or what the environment variable `ITEMS` contains.
fn number_of_items() -> u64 {
    let items = std::env::var("ITEMS").ok();
    items
        .and_then(|items| items.parse().ok())
        .unwrap_or(1 << 20)
}

/// Fills one sub-filter beyond its limit and reports the time per addition by load.
#[test]
#[ignore = "a measurement"]
fn insertion_time_by_load() {
    let start = Instant::now();
    for (error_rate, panes) in CASES {
        let mut filter = set(number_of_items(), error_rate, 0, panes);
        let slots = filter.num_buckets() * 4;
        print!("{error_rate} {panes} panes, ns per addition to load %:");
        let (mut number, mut failed) = (0, 0);
        for load in [50, 70, 80, 85, 88, 90, 91, 92, 93, 94, 95, 96, 97, 98] {
            let (first, before) = (number, processor_time(start));
            while number < slots * load / 100 {
                let (hash, live) = (hash(&item(number)), filter.live_for_write());
                let sub_filter = &mut filter.sub_filters[0];
                let (view, place) = (sub_filter.view(live), sub_filter.place(hash));
                if sub_filter.first_match(&view, &place).is_none() {
                    match sub_filter.make_room(&view, &place, u16::MAX) {
                        Some(slot) => sub_filter.store(&view, slot, place.fingerprint, live.newest),
                        None => failed += 1,
                    }
                }
                filter.begin_tick(live);
                number += 1;
            }
            let time = processor_time(start) - before;
            print!(" {load}: {}", time / (number - first));
            if failed > 0 {
                print!(" ({failed} failed)");
            }
        }
        println!();
    }
}

/// The shortest of three runs and the longest operation of each.
fn longest(mut run: impl FnMut() -> Vec<u64>) -> u64 {
    let mut times = run();
    for _ in 0..2 {
        for (shortest, time) in times.iter_mut().zip(run()) {
            *shortest = time.min(*shortest);
        }
    }
    times.into_iter().max().unwrap_or(0)
}

fn elapsed<R>(operation: impl FnOnce() -> R) -> u64 {
    let start = Instant::now();
    std::hint::black_box(operation());
    start.elapsed().as_nanos() as u64
}

#[test]
#[ignore = "a measurement"]
fn unusual_filters() {
    for occurrences in [80, 800, 8000] {
        for panes in [12, 1000] {
            let full = || {
                let mut filter = multiset(1 << 20, 2, 1, panes);
                for number in 0..occurrences {
                    filter.advance(number * panes / occurrences);
                    filter.insert_item(b"a", ANY).unwrap();
                }
                filter
            };
            let filter = full();
            println!(
                "{occurrences} times an item, {panes} panes: {} sub-filters, {} bytes",
                filter.num_sub_filters(),
                filter.slot_bytes()
            );
            println!(
                "  look-up {} ns, items of a later pane {} ns",
                longest(|| vec![elapsed(|| filter.contains(b"b", 0))]),
                longest(|| vec![elapsed(|| filter.items(panes * 3 / 2))])
            );
            for jump in [1, panes / 2, panes + 1] {
                println!(
                    "  advance by {jump}: {} ns",
                    longest(|| {
                        let mut filter = full();
                        vec![elapsed(|| filter.advance(panes - 1 + jump))]
                    })
                );
            }
            println!(
                "  insertions in new panes: {} ns",
                longest(|| {
                    let mut filter = full();
                    (0..panes.min(100))
                        .map(|pane| {
                            filter.advance(panes + pane);
                            elapsed(|| filter.insert_item(&item(pane), ANY))
                        })
                        .collect()
                })
            );
        }
    }
    for bucket_size in [1, 2, 4, 8, 32, 255] {
        for expansion in [0, 1] {
            let capacity = 4_000_000;
            let mut refused = 0;
            let time = longest(|| {
                let mut filter = multiset(capacity, bucket_size, expansion, 12);
                refused = 0;
                (0..capacity * 3 / 2 * 13 / 12)
                    .map(|number| {
                        if refused > 1000 {
                            return 0;
                        }
                        let item = item(number);
                        elapsed(|| {
                            filter.advance(number * 12 / capacity);
                            refused += u64::from(filter.insert_item(&item, ANY).is_err());
                        })
                    })
                    .collect()
            });
            println!(
                "bucket size {bucket_size}, expansion {expansion}: longest insertion {time} ns, {refused} refused"
            );
        }
        let start = Instant::now();
        let per_window = 3_000_000;
        let mut filter = multiset(2_000_000, bucket_size, 1, 12);
        let mut sections = Vec::new();
        for section in 0..40u64 {
            let before = processor_time(start);
            for number in section * per_window / 10..(section + 1) * per_window / 10 {
                filter.advance(number * 12 / per_window);
                filter.insert_item(&item(number), ANY).unwrap();
            }
            sections.push((processor_time(start) - before) / (per_window / 10));
        }
        println!(
            "bucket size {bucket_size}, 1.5 times the capacity: {} sub-filters, ns per insertion {sections:?}",
            filter.num_sub_filters()
        );
    }
}
