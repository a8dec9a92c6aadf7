//! Bloom filters with a window, without a server: memory, accuracy, times, and a comparison with other structures.

mod alternatives;
mod churn;
mod times;

use crate::Figure;
use crate::memory::bytes;
use crate::stream::item;
use roughly_sketch::memory::Budget;
use roughly_sketch::window::{Window, Windowed};
use roughly_sketch::window_filter::{SetParameters, WindowSet};
use serde_json::{Value, json};

/// Error rate, panes, and the target for the bits per live item.
const CASES: [(f64, u64, f64); 3] = [(0.001, 96, 22.0), (0.01, 48, 17.6), (0.0001, 96, 26.4)];

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Additions of each churn. At least 100 windows are added in any case.
    pub additions: u64,
    /// Items per window of the churns.
    pub items: u64,
    /// Items per window of the filters that are filled in steps or compared with other structures: larger than the
    /// caches.
    pub medium: u64,
    /// Items per window of the filters whose longest operations are measured.
    pub large: u64,
}

impl Sizes {
    /// A filter for 52 million items has 137 MiB at an error rate of 0.1 % and 96 panes.
    pub fn full(additions: u64) -> Self {
        Self {
            additions,
            items: 1_000_000,
            medium: 10_000_000,
            large: 52_000_000,
        }
    }

    /// A run of a few seconds that checks the benchmark itself.
    pub fn quick() -> Self {
        Self {
            additions: 0,
            items: 20_000,
            medium: 100_000,
            large: 200_000,
        }
    }
}

/// Measures everything.
pub fn all(sizes: Sizes) -> (Vec<Figure>, Value) {
    let mut figures = Vec::new();
    for (error_rate, panes, max_bits) in CASES {
        figures.push(memory(sizes.medium, error_rate, panes, max_bits));
        figures.extend(churn::steady(sizes, error_rate, panes));
        figures.push(churn::burst(sizes.items, error_rate, panes));
        figures.extend(churn::overload(sizes.items, error_rate, panes));
    }
    figures.extend(times::longest(sizes.large));
    let loads = times::by_load(sizes);
    let alternatives = alternatives::all(sizes);
    (
        figures,
        json!({"loads": loads, "alternatives": alternatives}),
    )
}

/// An empty filter.
fn set(capacity: u64, error_rate: f64, panes: u64, expansion: u32) -> WindowSet {
    let parameters = SetParameters {
        capacity,
        error_rate,
        expansion,
    };
    let window = Window::new(1 << 30, panes).expect("a window");
    WindowSet::new(window, &parameters, Budget::UNLIMITED).expect("a filter")
}

/// Adds the item with this number. Returns false if it was refused.
fn add(filter: &mut WindowSet, number: u64) -> bool {
    filter.add(&item(number), Budget::UNLIMITED).is_ok()
}

fn contains(filter: &WindowSet, number: u64) -> bool {
    filter.contains(&item(number), filter.timeline().newest())
}

/// Numbers that no benchmark adds.
fn absent(number: u64) -> u64 {
    number | 1 << 50
}

/// The share of absent items that the filter contains.
fn false_positives(filter: &WindowSet) -> f64 {
    const PROBES: u64 = 10_000_000;
    let found = (0..PROBES).filter(|&number| contains(filter, absent(number)));
    found.count() as f64 / PROBES as f64
}

/// All memory of the filter in bits, divided by the live items that were added. (The filter counts a few less: it takes some
/// items for others.)
fn bits_per_item(filter: &WindowSet, items: u64) -> f64 {
    bytes(filter) * 8.0 / items as f64
}

/// The memory of a filter at its limit, divided by its items. It does not depend on the items.
fn memory(items: u64, error_rate: f64, panes: u64, max_bits: f64) -> Figure {
    let filter = set(items, error_rate, panes, 0);
    let name = format!(
        "memory, {}, {panes} panes, full window",
        percent(error_rate)
    );
    let bits = bits_per_item(&filter, filter.limit());
    Figure::new(name, bits, "bits per live item", Some(max_bits))
}

/// An error rate in percent.
fn percent(error_rate: f64) -> String {
    format!("{} %", error_rate * 100.0)
}
