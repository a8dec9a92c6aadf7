//! Without collisions and with room for all items, every read is exact.

use super::RankingCache;
use super::{Step, current, listed_with, sketch, steps};
use crate::hash::murmur2;
use crate::window::Timed;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

/// The number of items: 14 of one byte, 14 of two bytes, and the empty item.
const ITEMS: u64 = 29;
/// Buckets per row. The items have different buckets in each row, which a test below checks.
const WIDTH: u64 = 20_011;

/// A name of four bytes for an item of [`super::items`]. Names of equal length have different fingerprints.
fn name(item: &[u8]) -> [u8; 4] {
    [
        b'x',
        b'y',
        item.len() as u8,
        item.first().map_or(0, |&byte| byte),
    ]
}

proptest! {
    #[test]
    fn reads_equal_the_sums_of_the_events(panes in 1u64..=60, steps in steps()) {
        let mut sketch = sketch(ITEMS, WIDTH, 3, 0.9, panes);
        let mut events: Vec<(u64, Vec<u8>, u32)> = Vec::new();
        let mut cache = RankingCache::default();
        for step in steps {
            let newest = sketch.timeline().newest();
            match step {
                Step::Add(item, increment) => {
                    let item = name(&item).to_vec();
                    // Also an item with count 0 is in the list until the next pane.
                    let increment = increment.max(1);
                    prop_assert_eq!(sketch.add(&item, increment).unwrap().expelled, None);
                    events.push((newest, item, increment));
                }
                Step::Advance(ahead) => {
                    sketch.advance(newest + ahead);
                }
                Step::Read(ahead) => {
                    let current = current(&sketch, ahead);
                    let live = current.max(newest).saturating_sub(panes)..=newest;
                    let mut counts = BTreeMap::<Vec<u8>, BTreeMap<u64, u64>>::new();
                    let mut totals = BTreeMap::<u64, u64>::new();
                    for (pane, item, increment) in &events {
                        *totals.entry(*pane).or_default() += u64::from(*increment);
                        if live.contains(pane) {
                            *counts.entry(item.clone()).or_default().entry(*pane).or_default() +=
                                u64::from(*increment);
                        }
                    }
                    // The counts of a pane saturate, and so does their sum.
                    let max = u64::from(u32::MAX);
                    let counts: BTreeMap<Vec<u8>, u32> = counts
                        .into_iter()
                        .map(|(item, panes)| (item, panes.values().map(|&count| count.min(max)).sum::<u64>()))
                        .map(|(item, count)| (item, count.min(max) as u32))
                        .collect();
                    let mut expected: Vec<(Vec<u8>, u32)> = counts.clone().into_iter().collect();
                    expected.sort_by_key(|(item, count)| (Reverse(*count), item.clone()));
                    prop_assert_eq!(listed_with(&mut cache, &sketch, current), expected);
                    for number in 0..14 {
                        for len in 0..3 {
                            let item = &name(&[number; 2][..len])[..];
                            let count = counts.get(item).copied();
                            prop_assert_eq!(sketch.count_at(item, sketch.panes_in(current)), count.unwrap_or(0));
                            prop_assert_eq!(sketch.query_at(item, sketch.panes_in(current), &mut cache), Ok(count.is_some()));
                        }
                    }
                    for pane in newest.saturating_sub(panes)..=newest {
                        let total = totals.get(&pane).copied().unwrap_or(0);
                        prop_assert_eq!(sketch.pane_total(pane), total);
                    }
                }
            }
        }
    }
}

#[test]
fn the_items_have_different_buckets() {
    let items = (0..14u8).flat_map(|number| (0..3).map(move |len| name(&[number; 2][..len])));
    let items: HashSet<_> = items.collect();
    assert_eq!(items.len() as u64, ITEMS);
    for row in 0..3 {
        let buckets = items.iter().map(|item| murmur2(item, row) % WIDTH as u32);
        assert_eq!(buckets.collect::<HashSet<_>>().len(), items.len());
    }
}
