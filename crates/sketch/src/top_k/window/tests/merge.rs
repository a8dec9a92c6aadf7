//! Panes that are merged, and steps over many panes.

use super::super::merge::YOUNGER;
use super::super::{Pane, TopKWindow};
use super::{Step, fed, leveled, listed, of_units, sketch, steps};
use crate::blocks::BlockChanges;
use crate::testing::ESTIMATES;
use crate::window::{StoredPane, Timed};
use proptest::prelude::*;

/// The items that a pane lists.
fn items_of(sketch: &TopKWindow, pane: &Pane) -> Vec<Vec<u8>> {
    let numbers = pane.listed.iter();
    let mut items: Vec<_> =
        (numbers.map(|&number| sketch.candidates.item(number).to_vec())).collect();
    items.sort_unstable();
    items
}

/// First units and totals of the stored panes.
fn totals(sketch: &TopKWindow) -> Vec<(u64, u64)> {
    let panes = sketch.panes.all().iter();
    panes.map(|pane| (pane.first, pane.content.total)).collect()
}

#[test]
fn the_most_frequent_items_of_two_panes_keep_their_counts() {
    // With one bucket, four items keep a heavy cell.
    let mut sketch = leveled((2, 1, 1, 1.0), 1, 4);
    let counts: [&[(&[u8], u32)]; 2] = [
        &[(b"a", 50), (b"b", 5), (b"c", 9), (b"d", 8), (b"e", 1)],
        &[(b"f", 30), (b"b", 6), (b"g", 7), (b"h", 4), (b"i", 3)],
    ];
    for (pane, items) in (0..).zip(counts) {
        sketch.advance(pane);
        for &(item, count) in items {
            sketch.add(item, count).unwrap();
        }
    }
    assert_eq!(totals(&sketch), [(0, 73), (1, 50)]);
    // Units 0 and 1 have the end 2, and are merged when the newest pane is 2 + 1 · 2 + 1.
    sketch.advance(4);
    assert_eq!(totals(&sketch), [(0, 73), (1, 50)]);
    sketch.advance(5);
    assert_eq!(totals(&sketch), [(0, 123)]);
    let pane = &sketch.panes.all()[0].content;
    assert_eq!(items_of(&sketch, pane), [b"a", b"f"]);
    let expected = [(b"a".to_vec(), 50), (b"f".to_vec(), 30)];
    assert_eq!(listed(&sketch, 5), expected);
    // "c" and "b" have the other heavy cells, "d" had the fourth one and has the lobby.
    for (item, count) in [(b"b", 11), (b"c", 9), (b"d", 8), (b"e", 0), (b"g", 0)] {
        let panes = sketch.panes_in(5);
        assert_eq!(sketch.count_at(item, panes), count, "{item:?}");
    }
}

/// A sketch with one item of the list that is not in the heap of its newest pane, which is pane 1: "a".
fn steady(units: u64) -> TopKWindow {
    let mut sketch = of_units((2, 500, 2, 0.9), 1, units);
    sketch.add(b"a", 9).unwrap();
    sketch.advance(1);
    for (item, count) in [(b"a", 2), (b"b", 5), (b"c", 4)] {
        sketch.add(item, count).unwrap();
    }
    assert_eq!(listed(&sketch, 1), list(&[(b"a", 11), (b"b", 5)]));
    sketch
}

fn list(items: &[(&[u8], u32)]) -> Vec<(Vec<u8>, u32)> {
    let items = items.iter();
    items.map(|&(item, count)| (item.to_vec(), count)).collect()
}

/// The items that the pane of this unit lists.
fn items_at(sketch: &TopKWindow, first: u64) -> Vec<Vec<u8>> {
    items_of(sketch, sketch.panes.get(first).unwrap())
}

#[test]
fn a_pane_that_can_grow_also_lists_the_items_of_the_list() {
    for (units, items) in [(0, &[b"b", b"c"][..]), (4, &[b"a", b"b", b"c"])] {
        let mut sketch = steady(units);
        sketch.advance(2);
        assert_eq!(items_at(&sketch, 1), items, "{units}");
    }
    // Not the items of the list without occurrences in the pane.
    let mut sketch = steady(4);
    sketch.advance(2);
    sketch.add(b"d", 1).unwrap();
    assert_eq!(listed(&sketch, 2), list(&[(b"a", 11), (b"b", 5)]));
    let later = listed(&sketch, 3);
    sketch.advance(3);
    assert_eq!(items_at(&sketch, 2), [b"d"]);
    assert_eq!(listed(&sketch, 3), later);
    // The merged pane lists k again.
    let mut sketch = steady(4);
    sketch.advance(5);
    assert_eq!(items_at(&sketch, 0), [b"a", b"b"]);
    assert_eq!(sketch.candidates.len(), 2);
}

/// A pane that becomes longer because its sibling has no additions lists k items, as a merged one.
#[test]
fn a_pane_without_a_sibling_lists_at_most_k_items_when_it_grows() {
    let with_more = |units| {
        let mut sketch = leveled((2, 500, 2, 0.9), 1, units);
        sketch.advance(1);
        sketch.add(b"a", 9).unwrap();
        sketch.advance(2);
        for (item, count) in [(b"a", 2), (b"b", 5), (b"c", 2), (b"d", 4)] {
            sketch.add(item, count).unwrap();
        }
        sketch
    };
    // Unit 2 has the sibling 3; both have the end 4, and become one pane when the newest pane is 4 + 1 · 2 + 1.
    let mut sketch = with_more(16);
    sketch.advance(6);
    assert_eq!(items_at(&sketch, 2), [b"a", b"b", b"d"]);
    sketch.advance(7);
    assert_eq!(items_at(&sketch, 2), [b"b", b"d"]);
    assert_eq!(listed(&sketch, 7), list(&[(b"a", 11), (b"b", 5)]));
    // Then it becomes one with unit 1, before which it also lists k items if one step does both.
    sketch.advance(20);
    let mut jumped = with_more(16);
    jumped.advance(20);
    assert_eq!(fed(&jumped), fed(&sketch));
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

/// Cells of an item that both panes count are added.
#[test]
fn counts_of_an_item_in_both_panes_are_added() {
    let mut sketch = leveled((3, 500, 2, 0.9), 1, 4);
    for (pane, counts) in [(0, [10, 4, 1]), (1, [20, 1, 8])] {
        sketch.advance(pane);
        for (item, count) in [b"a", b"b", b"c"].into_iter().zip(counts) {
            sketch.add(item, count).unwrap();
        }
    }
    sketch.advance(5);
    let expected = [(b"a", 30), (b"c", 9), (b"b", 5)].map(|(item, count)| (item.to_vec(), count));
    assert_eq!(listed(&sketch, 5), expected);
    let bytes = &sketch.panes.all()[0].content.table.bytes;
    let counts = bytes.chunks(8).map(|cell| cell[4]);
    let mut counts: Vec<u8> = counts.filter(|&count| count > 0).collect();
    counts.sort_unstable();
    assert_eq!(counts, [5, 9, 30]);
}

/// The order of equal sums is that of the bytes of the items.
#[test]
fn a_merge_keeps_k_candidates() {
    let mut sketch = leveled((2, 500, 2, 0.9), 1, 4);
    for (pane, items) in [(0, [b"d", b"b"]), (1, [b"c", b"a"])] {
        sketch.advance(pane);
        for item in items {
            sketch.add(item, 3).unwrap();
        }
    }
    sketch.advance(2);
    assert_eq!(sketch.candidates.len(), 4);
    sketch.advance(5);
    let pane = &sketch.panes.all()[0].content;
    assert_eq!(items_of(&sketch, pane), [b"a", b"b"]);
    assert_eq!(sketch.candidates.len(), 2);
    assert_eq!(sketch.count_at(b"d", sketch.panes_in(5)), 3);
}

#[test]
fn counts_and_totals_saturate() {
    let mut sketch = leveled((1, 1, 1, 0.9), 1, 4);
    for pane in [0, 1] {
        sketch.advance(pane);
        sketch.add(b"a", u32::MAX).unwrap();
    }
    sketch.advance(5);
    assert_eq!(totals(&sketch), [(0, 2 * u64::from(u32::MAX))]);
    assert_eq!(sketch.count_at(b"a", sketch.panes_in(5)), u32::MAX);
    assert_eq!(listed(&sketch, 5), [(b"a".to_vec(), u32::MAX)]);
}

/// A pane whose only increments are 0 is no operand: it could change the other one.
#[test]
fn a_pane_without_increments_is_removed_when_it_is_closed() {
    for units in [0, 40] {
        let mut sketch = of_units((2, 5, 2, 0.9), 3, units);
        sketch.add(b"a", 0).unwrap();
        assert_eq!(totals(&sketch), [(0, 0)]);
        sketch.advance(1);
        assert_eq!(totals(&sketch), []);
        assert_eq!(sketch.candidates.len(), 0);
        sketch.add(b"b", 1).unwrap();
        sketch.advance(2);
        sketch.add(b"c", 0).unwrap();
        sketch.advance(3);
        assert_eq!(totals(&sketch), [(1, 1)]);
        assert_eq!(listed(&sketch, 3), [(b"b".to_vec(), 1)]);
    }
}

/// An item of the list that is in no pane's list stays until the pane changes, and reads in a later pane do not count it.
#[test]
fn items_that_no_pane_lists_leave_when_the_pane_changes() {
    for units in [0, 40] {
        let mut sketch = of_units((2, 500, 4, 0.9), 3, units);
        sketch.add(b"a", 3).unwrap();
        sketch.add(b"b", 3).unwrap();
        sketch.add(b"c", 3).unwrap();
        sketch.add(b"d", 9).unwrap();
        sketch.advance(1);
        sketch.add(b"a", 1).unwrap();
        sketch.add(b"e", 2).unwrap();
        sketch.add(b"f", 3).unwrap();
        // "a" has left the heap.
        for current in [2, 3] {
            let later = listed(&sketch, current);
            let mut stepped = crate::stored::Stored::try_clone(&sketch).unwrap();
            stepped.advance(current);
            assert_eq!(listed(&stepped, current), later);
        }
    }
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

proptest! {
    /// A step over many panes gives the same state as single steps. If panes grow with age, it gives the same panes, but the merges of single
    /// steps read other younger panes, so lists can differ.
    #[test]
    fn jumps_equal_single_steps(
        (k, width, depth) in (1u64..6, 1u64..6, 1u64..5), panes in 1u64..6, units in prop::sample::select(vec![0u64, 13, 40, 100]),
        steps in steps(),
    ) {
        let parameters = (k, width, depth, 0.9);
        let units = if units < 2 * (panes + 1) { 0 } else { units };
        let mut jumping = of_units(parameters, panes, units);
        let mut stepping = of_units(parameters, panes, units);
        for step in steps {
            match step {
                Step::Add(item, increment) => {
                    let added = (jumping.add(&item, increment), stepping.add(&item, increment));
                    prop_assert!(units > 0 || added.0 == added.1);
                }
                Step::Advance(ahead) => {
                    let (from, to) = (jumping.timeline().newest(), jumping.timeline().newest() + ahead.min(1000));
                    jumping.advance(to);
                    for pane in from..to {
                        stepping.advance(pane + 1);
                    }
                }
                Step::Read(_) => {}
            }
            prop_assert_eq!(jumping.timeline(), stepping.timeline());
            prop_assert_eq!(totals(&jumping), totals(&stepping));
            if units == 0 {
                prop_assert_eq!(fed(&jumping), fed(&stepping));
                prop_assert_eq!(&jumping, &stepping);
            }
        }
    }

    /// The sums of the candidates are those of their estimates.
    #[test]
    fn sums_are_exact(
        (k, width, depth) in (1u64..6, 1u64..9, 1u64..5), panes in 1u64..6, units in prop::sample::select(vec![0u64, 13, 40]),
        steps in steps(),
    ) {
        let units = if units < 2 * (panes + 1) { 0 } else { units };
        let mut sketch = of_units((k, width, depth, 0.9), panes, units);
        for step in steps {
            match step {
                Step::Add(item, increment) => drop(sketch.add(&item, increment)),
                Step::Advance(ahead) => {
                    let pane = sketch.timeline().newest() + ahead;
                    sketch.advance_recorded(pane, &mut BlockChanges::<()>::default());
                }
                Step::Read(_) => {}
            }
            let newest = sketch.timeline().newest();
            let closed: Vec<&StoredPane<Pane>> =
                sketch.panes.all().iter().filter(|pane| pane.first != newest).collect();
            for (number, candidate) in (0..).zip(sketch.candidates.iter()) {
                let item = sketch.buckets.places(candidate.hash);
                let sum: u64 = closed.iter().map(|pane| u64::from(pane.content.table.estimate(item))).sum();
                prop_assert_eq!(sketch.candidates.apart(number).closed(), sum);
            }
        }
    }
}

/// A uniform sketch is never merged, so it has no memory for merges.
#[test]
fn a_uniform_window_has_no_memory_for_merges() {
    let uniform = sketch(10, 5, 2, 0.9, 12);
    let graded = leveled((10, 5, 2, 0.9), 12, 40);
    let blocks = |sketch: &TopKWindow| {
        let mut blocks = crate::blocks::Addresses::default();
        crate::blocks::Blocks::for_each_block(sketch, &mut blocks);
        blocks.0.len()
    };
    assert_eq!([blocks(&uniform), blocks(&graded)], [2, 3]);
}
