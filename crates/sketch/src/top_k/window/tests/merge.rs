//! The work of merges. `roughly-models` has the rules.

use super::super::merge::YOUNGER;
use super::super::{Pane, TopKWindow};
use super::leveled;
use crate::testing::ESTIMATES;
use crate::window::{StoredPane, Timed};

/// The items that a pane lists.
fn items_of(sketch: &TopKWindow, pane: &Pane) -> Vec<Vec<u8>> {
    let numbers = pane.listed.iter();
    let mut items: Vec<_> =
        (numbers.map(|&number| sketch.candidates.item(number).to_vec())).collect();
    items.sort_unstable();
    items
}

/// A longer pane that gets a name lists k items by their sums over the half of the window. A pane that becomes longer alone reads only
/// eight younger panes, which have none of this item.
#[test]
fn a_name_that_a_longer_pane_gets_stays_if_its_sum_over_the_half_is_large() {
    const UNIT: u64 = 1004;
    let mut sketch = leveled((1, 500, 2, 0.9), 8, 9 << 7);
    sketch.add(b"steady", 1000).unwrap();
    // Unit 1004 lists "steady" until it becomes one with unit 1005, when the newest pane is 1006 + 8 · 2 + 1. The next step, to a
    // multiple of 128, merges no panes.
    for unit in 1..=UNIT + 20 {
        sketch.advance(unit);
        let count = if unit == UNIT { 100 } else { 10 };
        sketch.add(&unit.to_le_bytes(), count).unwrap();
        if unit == UNIT {
            sketch.add(b"steady", 60).unwrap();
        }
    }
    let panes = sketch.panes.all();
    let half = &panes[(panes.len() - 2) / 2..];
    let timeline = sketch.timeline();
    assert!(timeline.level_of(half[0].first) > Some(0));
    let estimate = |pane: &StoredPane<Pane>| {
        let hash = sketch.hash(b"steady").of_seed();
        pane.content.table.estimate(sketch.buckets.places(hash))
    };
    assert!(half[..=YOUNGER].iter().all(|pane| estimate(pane) == 0));
    assert_eq!(items_of(&sketch, &half[0].content), [b"steady"]);
}

/// The work of a step of one pane with a merge and an expiry: five panes are read for each candidate, the merge reads two panes
/// apart.
#[test]
fn a_step_reads_the_panes_that_change() {
    let mut sketch = leveled((20, 300, 4, 0.9), 2, 30);
    let (mut most, mut sum) = (0, 0);
    for pane in 0..200u64 {
        for item in 0..30u64 {
            sketch.add(&(item + pane / 3).to_le_bytes(), 3).unwrap();
        }
        let candidates = u64::from(sketch.candidates.len());
        let read = ESTIMATES.with(|work| work.during(|| assert!(sketch.advance(pane + 1))));
        // The closed pane, the merged ones, their halves, the expired one, and of two merges the next younger panes.
        most = most.max(read.div_ceil(candidates));
        sum += read;
    }
    assert!(most <= 5 + 2 * YOUNGER as u64 && sum > 0, "{most}");
    // A jump reads each pane at most once, and for each merge the next younger panes for the candidates of both.
    let candidates = u64::from(sketch.candidates.len());
    let panes = sketch.panes.all().len() as u64;
    let read = ESTIMATES.with(|work| work.during(|| assert!(sketch.advance(215))));
    let merges = panes - sketch.panes.all().len() as u64;
    let most = candidates * (panes + merges * 2 * YOUNGER as u64);
    assert!(read <= most, "{read} {candidates} {panes} {merges}");
    let read = ESTIMATES.with(|work| work.during(|| assert!(sketch.advance(1 << 40))));
    assert_eq!(read, 0);
}
