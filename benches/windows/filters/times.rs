//! Times of additions: by load, and the longest.

use super::{CASES, Sizes, add, percent, set};
use crate::Figure;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::window::Windowed;
use roughly_sketch::window_filter::WindowSet;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Instant;

/// Each measurement is repeated, and the shortest time counts, because the others include work of other processes.
const ROUNDS: usize = 3;
/// Loads in percent of the limit: the items of a full window.
const LOADS: [u64; 5] = [50, 80, 90, 95, 100];

/// The time per addition while a filter is filled to each load, in ns: of the last items before it.
pub fn by_load(sizes: Sizes) -> Vec<Value> {
    let mut rows = Vec::new();
    for items in [sizes.items, sizes.medium] {
        for (error_rate, panes, _) in CASES {
            let mut times = [f64::INFINITY; LOADS.len()];
            for _ in 0..ROUNDS {
                let mut filter = set(items, error_rate, panes, 0);
                let (limit, measured) = (filter.limit(), (filter.limit() / 50).min(200_000));
                let mut number = 0;
                for (time, load) in times.iter_mut().zip(LOADS) {
                    let end = limit * load / 100;
                    while number < end - measured {
                        add(&mut filter, number);
                        number += 1;
                    }
                    let start = Instant::now();
                    for number in number..end {
                        add(&mut filter, number);
                    }
                    *time = time.min(start.elapsed().as_nanos() as f64 / measured as f64);
                    number = end;
                }
            }
            let name = format!("{items} items, {}, {panes} panes", percent(error_rate));
            println!("{name}, ns per addition at {LOADS:?} % of the limit: {times:.0?}");
            rows.push(json!({"name": name, "loads": LOADS, "ns": times}));
        }
    }
    rows
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operation {
    Advance,
    Addition,
    Both,
}

/// The longest of a sequence of operations in µs, each with the shortest of its times. `run` passes the time of each
/// operation in ns to its argument, with the same sequence of operations in each round.
fn longest_of(mut run: impl FnMut(&mut dyn FnMut(Operation, u64))) -> impl Fn(Operation) -> f64 {
    /// Only longer times are recorded.
    const MIN_NS: u64 = 3000;
    let mut shortest: Option<HashMap<u64, (Operation, u64)>> = None;
    for _ in 0..ROUNDS {
        let mut times = HashMap::new();
        let mut number = 0;
        run(&mut |operation, time| {
            number += 1;
            if time > MIN_NS {
                times.insert(number, (operation, time));
            }
        });
        if let Some(before) = &shortest {
            times.retain(|number, (_, time)| match before.get(number) {
                Some(&(_, least)) => {
                    *time = least.min(*time);
                    true
                }
                None => false,
            });
        }
        shortest = Some(times);
    }
    let times = shortest.unwrap_or_default();
    move |operation| {
        let times = times.values().filter(|(of, _)| *of == operation);
        times.map(|&(_, time)| time).max().unwrap_or(MIN_NS) as f64 / 1e3
    }
}

fn timed<R>(operation: impl FnOnce() -> R) -> u64 {
    let start = Instant::now();
    std::hint::black_box(operation());
    start.elapsed().as_nanos() as u64
}

/// A filter after one window of additions.
fn filled(items: u64, capacity: u64, panes: u64, expansion: u32) -> WindowSet {
    let mut filter = set(capacity, 0.001, panes, expansion);
    for number in 0..items {
        filter.advance(number * panes / items);
        add(&mut filter, number);
    }
    filter
}

/// The longest operations of a filter that is full from the end of the first window on: in a window and a half of
/// additions, and when many panes expire at once.
pub fn longest(items: u64) -> Vec<Figure> {
    let mut figures = Vec::new();
    for panes in [12, 96, 1000] {
        let mib = set(items, 0.001, panes, 0).slot_bytes() as f64 / f64::from(1 << 20);
        let steady = longest_of(|record| {
            let mut filter = set(items, 0.001, panes, 0);
            for number in 0..items * 3 / 2 {
                let pane = number * panes / items;
                record(Operation::Advance, timed(|| filter.advance(pane)));
                record(Operation::Addition, timed(|| add(&mut filter, number)));
            }
        });
        let after = |jump: u64, capacity: u64, expansion: u32| {
            let longest = longest_of(|record| {
                let mut filter = filled(items, capacity, panes, expansion);
                for number in items..items + 2000 {
                    // As the module does in each write.
                    let both = || {
                        filter.release_recorded(&mut BlockChanges::<()>::default());
                        filter.advance(panes - 1 + jump);
                        add(&mut filter, number)
                    };
                    record(Operation::Both, timed(both));
                }
            });
            longest(Operation::Both)
        };
        let mut figure = |what: &str, value| {
            let name = format!("longest {what}, {mib:.0} MiB, {panes} panes");
            figures.push(Figure::new(name, value, "µs", Some(100.0)));
        };
        figure("change of panes", steady(Operation::Advance));
        figure("addition", steady(Operation::Addition));
        let half = panes.div_ceil(2);
        figure("addition, half of the panes expire", after(half, items, 0));
        figure("addition, all panes expire", after(panes + 1, items, 0));
        // Sub-filters of an eighth, a quarter and a half, and one for the rest.
        figure(
            "addition, all panes expire, grown to 4 sub-filters",
            after(panes + 1, items / 8, 2),
        );
    }
    figures
}
