//! False positives of filters at their capacity, by stream of the collection.

use crate::rate_filters::{Filled, bloom_of, cuckoo_of, filled};
use crate::reported_rates::{OF_1000, STANDARD_ERRORS};
use crate::streams::Stream;
use roughly_sketch::bloom::Chain;
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::memory::Budget;
use roughly_sketch::window::{Panes, Timed, Window};
use roughly_sketch::window_filter::{
    BloomWindow, BloomWindowParameters, CuckooWindow, CuckooWindowParameters, Seed,
};
use std::collections::HashSet;

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;
const PANES: u64 = 12;
const ERROR_RATE: f64 = 0.01;
/// Streams with fewer different items are left out.
const MIN_ITEMS: usize = 1_000;
/// Look-ups of items that no stream has.
const LOOK_UPS: u32 = 20_000;
const FIRST_ABSENT: u32 = 3_000_000_000;

pub const HEAD: [&str; 6] = [
    "stream of the collection",
    "different items",
    "`MBbloom--`",
    "`MBbloomCF`",
    "`bf-window`",
    "`cf-window`",
];

/// The items of each pane. A filter without a window has them in the same order.
type Items = Vec<Vec<String>>;

fn bloom(capacity: u64, items: &Items) -> Filled {
    let parameters = bloom_of(capacity, ERROR_RATE, 2, false);
    let mut filter = Chain::new(&parameters, UNLIMITED).expect("a filter");
    for item in items.iter().flatten() {
        (filter.add(item.as_bytes(), (), UNLIMITED)).expect("memory");
    }
    filled(filter, Panes::ALL, |filter, item, _| filter.contains(item))
}

fn cuckoo(capacity: u64, items: &Items) -> Filled {
    let mut filter = CuckooFilter::new(capacity, cuckoo_of(2, 20, 1), UNLIMITED).expect("a filter");
    for item in items.iter().flatten() {
        (filter.insert(item.as_bytes(), UNLIMITED)).expect("memory");
    }
    filled(filter, Panes::ALL, |filter, item, _| filter.contains(item))
}

fn window() -> Window {
    Window::new(PANES, PANES, None).expect("a window")
}

/// Adds the items of each pane at its time.
fn fill<T: Timed>(filter: &mut T, items: &Items, add: fn(&mut T, &[u8])) {
    for (pane, items) in items.iter().enumerate() {
        filter.advance(pane as u64);
        items.iter().for_each(|item| add(filter, item.as_bytes()));
    }
}

fn bloom_window(capacity: u64, items: &Items) -> Filled {
    let parameters = BloomWindowParameters {
        seed: Seed([7; 16]),
        capacity,
        error_rate: ERROR_RATE,
        expansion: 2,
    };
    let filter = BloomWindow::new(window(), &parameters, UNLIMITED);
    let mut filter = filter.expect("a filter");
    fill(&mut filter, items, |filter, item| {
        filter.add(item, UNLIMITED).expect("memory");
    });
    filled(filter, Panes::ALL, |filter, item, panes| {
        filter.contains(item, panes)
    })
}

fn cuckoo_window(capacity: u64, items: &Items) -> Filled {
    let parameters = CuckooWindowParameters {
        seed: Seed([7; 16]),
        capacity,
        error_rate: Some(ERROR_RATE),
        bucket_size: 2,
        max_iterations: 20,
        expansion: 1,
    };
    let filter = CuckooWindow::new(window(), &parameters, UNLIMITED);
    let mut filter = filter.expect("a filter");
    fill(&mut filter, items, |filter, item| {
        filter.insert_item(item, UNLIMITED).expect("memory");
    });
    filled(filter, Panes::ALL, |filter, item, panes| {
        filter.contains(item, panes)
    })
}

/// The reported and the measured rates. Each item is added once, in the pane where it first occurs.
pub fn rows(stream: &Stream) -> Vec<Vec<String>> {
    let mut seen = HashSet::new();
    let mut items = Items::new();
    for number in 0..PANES as u32 {
        let mut events = stream.events(crate::pane(number, 2_000, 100), 1);
        events.retain(|&item| seen.insert(item));
        items.push(events.iter().map(ToString::to_string).collect());
    }
    if seen.len() < MIN_ITEMS {
        return Vec::new();
    }
    let capacity = seen.len() as u64;
    let mut row = vec![stream.name.to_owned(), capacity.to_string()];
    for fill in [bloom, cuckoo, bloom_window, cuckoo_window] {
        let filter = fill(capacity, &items);
        let contains = |item: &str| (filter.contains)(item.as_bytes());
        let mut added = items.iter().flatten();
        assert!(added.all(|item| contains(item)), "{row:?}");
        let absent = FIRST_ABSENT..FIRST_ABSENT + LOOK_UPS;
        let found = absent.filter(|item| contains(&item.to_string())).count();
        let measured = found as f64 / f64::from(LOOK_UPS);
        let standard_error = (measured * (1.0 - measured) / f64::from(LOOK_UPS)).sqrt();
        let difference = (filter.reported - measured).abs();
        let rates = [filter.reported, measured].map(|rate| format!("{:.2} %", rate * 100.0));
        row.push(rates.join(", "));
        let is_close = difference <= OF_1000 * measured + STANDARD_ERRORS * standard_error;
        assert!(is_close, "{row:?}");
    }
    vec![row]
}
