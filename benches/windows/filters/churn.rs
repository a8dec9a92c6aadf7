//! Streams of new items over many windows. An item that is refused or forgotten ends the benchmark, unless a refusal is
//! expected.

use super::{Sizes, add, bits_per_item, contains, false_positives, percent, set};
use crate::Figure;
use roughly_sketch::window::Windowed;
use roughly_sketch::window_filter::WindowSet;
use std::time::Instant;

/// As many items per window as the filter has capacity for, evenly over the panes. A fifth of the additions refreshes an
/// item of the previous pane. Each item is looked up at the end of its last pane.
pub fn steady(sizes: Sizes, error_rate: f64, panes: u64) -> [Figure; 3] {
    let mut filter = set(sizes.items, error_rate, panes, 0);
    // A quarter of the items of each pane is refreshed, so it lives for one more pane.
    let per_pane = (filter.limit() * 4 - 4) / (4 * panes + 5);
    let windows = 100.max(sizes.additions * 4 / 5 / sizes.items);
    let (mut added, mut nanoseconds) = (0, 0);
    for pane in 0..windows * panes {
        filter.advance(pane);
        let start = Instant::now();
        for number in pane * per_pane..(pane + 1) * per_pane {
            assert!(add(&mut filter, number), "{number} is refused");
            added += 1;
            if number % 4 == 0 && number >= per_pane {
                assert!(add(&mut filter, number - per_pane), "a refresh is refused");
                added += 1;
            }
        }
        nanoseconds += start.elapsed().as_nanos();
        if let Some(oldest) = pane.checked_sub(panes) {
            let mut numbers = oldest * per_pane..(oldest + 1) * per_pane;
            assert!(
                numbers.all(|number| contains(&filter, number)),
                "forgotten in pane {pane}"
            );
        }
    }
    assert_eq!(filter.num_sub_filters(), 1);
    let rate = false_positives(&filter);
    let name = |what: &str| {
        format!(
            "{what}, {}, {panes} panes, {added} additions",
            percent(error_rate)
        )
    };
    let time = nanoseconds as f64 / added as f64;
    [
        Figure::new(name("refused or forgotten"), 0.0, "items", Some(0.0)),
        Figure::new(
            name("false positives"),
            rate * 100.0,
            "%",
            Some(error_rate * 100.0),
        ),
        Figure::new(name("addition, mean"), time, "ns", None),
    ]
}

/// Adds the items `from..to` in a pane.
fn add_all(filter: &mut WindowSet, pane: u64, from: u64, to: u64) {
    filter.advance(pane);
    assert!((from..to).all(|number| add(filter, number)), "refused");
}

/// The whole capacity in one pane, one item in each further pane until the burst expires, and so on.
pub fn burst(items: u64, error_rate: f64, panes: u64) -> Figure {
    let mut filter = set(items, error_rate, panes, 0);
    let mut highest_rate = 0.0f64;
    for round in 0..10 {
        let (first, pane) = (round * items, round * (panes + 1));
        let end = first + items - panes;
        add_all(&mut filter, pane, first, end);
        for later in 1..=panes {
            add_all(&mut filter, pane + later, end + later - 1, end + later);
        }
        assert!(
            (first..end + panes).all(|number| contains(&filter, number)),
            "forgotten"
        );
        if round % 3 == 0 {
            highest_rate = highest_rate.max(false_positives(&filter));
        }
    }
    assert_eq!(filter.num_sub_filters(), 1);
    Figure::new(
        format!(
            "false positives, {}, {panes} panes, whole capacity in one pane, 10 times",
            percent(error_rate)
        ),
        highest_rate * 100.0,
        "%",
        Some(error_rate * 100.0),
    )
}

/// A tenth more items per window than the capacity: a filter that grows accepts all items; one that does not refuses new
/// items. Both forget none that was accepted.
pub fn overload(items: u64, error_rate: f64, panes: u64) -> [Figure; 3] {
    let per_pane = items * 11 / 10 / panes;
    let mut filter = set(items, error_rate, panes, 2);
    for pane in 0..20 * panes {
        add_all(&mut filter, pane, pane * per_pane, (pane + 1) * per_pane);
        let oldest = pane.saturating_sub(panes);
        let mut numbers = oldest * per_pane..(oldest + 1) * per_pane;
        assert!(numbers.all(|number| contains(&filter, number)), "forgotten");
    }
    let name = |what: &str| {
        format!(
            "{what}, {}, {panes} panes, 10 % above the capacity",
            percent(error_rate)
        )
    };
    let growing = [
        Figure::new(
            name("false positives"),
            false_positives(&filter) * 100.0,
            "%",
            Some(error_rate * 100.0),
        ),
        Figure::new(
            name("memory"),
            bits_per_item(&filter, per_pane * (panes + 1)),
            "bits per live item",
            None,
        ),
    ];
    let mut filter = set(items, error_rate, panes, 0);
    let mut accepted = vec![0u64; (20 * panes * per_pane).div_ceil(64) as usize];
    let mut refused = 0;
    for pane in 0..20 * panes {
        filter.advance(pane);
        for number in pane * per_pane..(pane + 1) * per_pane {
            if add(&mut filter, number) {
                accepted[number as usize / 64] |= 1 << (number % 64);
            } else {
                refused += 1;
                assert_eq!(filter.items(0), filter.limit(), "refused below the limit");
            }
        }
        let oldest = pane.saturating_sub(panes);
        let numbers = oldest * per_pane..(oldest + 1) * per_pane;
        let mut numbers =
            numbers.filter(|&number| accepted[number as usize / 64] >> (number % 64) & 1 == 1);
        assert!(numbers.all(|number| contains(&filter, number)), "forgotten");
    }
    let refused = f64::from(refused) / (20 * panes * per_pane) as f64;
    let [rate, memory] = growing;
    [
        rate,
        memory,
        Figure::new(name("refused with NONSCALING"), refused * 100.0, "%", None),
    ]
}
