//! Comparison with exact models, over random operations, panes and reloads.

use super::*;
use crate::window::Panes;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Which operation, on which item, and how far the clock moves before it.
type Step = (u8, u16, u8);

/// How far the clock moves: mostly not at all, sometimes by years.
fn jump(step: u8, panes: u64) -> u64 {
    match step {
        0..200 => 0,
        200..230 => 1,
        230..240 => 2,
        240..246 => panes / 2,
        246..250 => panes,
        250..254 => panes + 1,
        254 => 3 * panes + 5,
        255 => 1 << 35,
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((any::<u8>(), 0u16..300, any::<u8>()), 0..600)
}

/// Replaces the filter by a copy, in one of three ways, or leaves it.
fn copied<K: Kind>(filter: WindowFilter<K>, how: u8) -> WindowFilter<K> {
    let copy = match how {
        0..4 => reloaded(&filter),
        4..8 => from_chunks(&filter, 100),
        8..12 => filter.try_clone().unwrap(),
        _ => return filter,
    };
    assert_eq!(copy, filter);
    assert_eq!(saved(&copy), saved(&filter));
    copy
}

fn check_totals<K: Kind>(filter: &WindowFilter<K>, now: u64, of_pane: &BTreeMap<u64, u64>) {
    let panes = filter.timeline().window().panes();
    for later in [0, 1, panes / 2, panes, panes + 1, 1 << 40] {
        let oldest = (now + later).saturating_sub(panes);
        let live = of_pane.range(oldest..).map(|(_, count)| count).sum::<u64>();
        assert_eq!(filter.items(filter.panes_in(now + later)), live);
    }
    assert_eq!(filter.items(Panes::ALL), filter.items(filter.panes_in(now)));
    for pane in now.saturating_sub(panes + 3)..=now + 1 {
        let live = pane + panes >= now;
        let expected = of_pane.get(&pane).filter(|_| live).copied().unwrap_or(0);
        assert_eq!(filter.pane_total(pane), expected);
    }
}

proptest! {
    /// With an error rate of 2^-30, the small filters of this test have no false positives, so all replies are exact.
    #[test]
    fn a_set_contains_exactly_the_items_of_the_window(
        steps in steps(), panes in 1u64..60, capacity in prop_oneof![1u64..200, 1000u64..3000], expansion in 0u32..4,
    ) {
        let mut filter = set(capacity, 0.5f64.powi(30), expansion, panes);
        let mut model: BTreeMap<u16, u64> = BTreeMap::new();
        let (mut now, mut refused) = (0u64, 0);
        for (operation, item, step) in steps {
            now += jump(step, panes);
            let newest = filter.timeline().newest();
            prop_assert_eq!(filter.contains(&item.to_le_bytes(), filter.panes_in(now)),
                model.get(&item).is_some_and(|&pane| pane + panes >= now));
            prop_assert_eq!(filter.advance(now), now > newest);
            filter = copied(filter, operation);
            let before = model.get(&item).copied().filter(|&pane| pane + panes >= now);
            let live = model.values().filter(|&&pane| pane + panes >= now).count() as u64;
            let state = digest(&filter);
            let added = filter.add(&item.to_le_bytes(), ANY);
            // Only changes are replicated.
            let is_change = matches!(added, Ok(Addition::New | Addition::Refreshed));
            prop_assert_eq!(is_change, digest(&filter) != state);
            match added {
                Ok(Addition::New) => prop_assert_eq!(before, None),
                Ok(Addition::Refreshed) => prop_assert!(before.is_some_and(|pane| pane < now)),
                Ok(Addition::Unchanged) => prop_assert_eq!(before, Some(now)),
                Err(error) => {
                    prop_assert_eq!(error, Error::Full);
                    prop_assert!(expansion == 0 && before.is_none() && live >= capacity);
                    refused += 1;
                    continue;
                }
            }
            model.insert(item, now);
        }
        let mut of_pane = BTreeMap::new();
        model.values().for_each(|&pane| *of_pane.entry(pane).or_insert(0) += 1);
        check_totals(&filter, now, &of_pane);
        for (item, &pane) in &model {
            for later in [0, 1, panes, panes + 1, 1 << 40] {
                let expected = pane + panes >= now + later;
                prop_assert_eq!(filter.contains(&item.to_le_bytes(), filter.panes_in(now + later)), expected);
            }
        }
        prop_assert!(expansion == 0 || refused == 0);
    }

    /// Fingerprints of a cuckoo filter have eight bits, so counts are upper bounds here; they are exact in total.
    #[test]
    fn a_multiset_counts_the_occurrences_of_the_window(
        steps in steps(), panes in 1u64..60, capacity in prop_oneof![4u64..200, 1000u64..3000], bucket_size in 1u8..9, expansion in 1u32..3,
    ) {
        let mut filter = multiset(capacity, bucket_size, expansion, panes);
        let mut of_pane: BTreeMap<u64, u64> = BTreeMap::new();
        let mut model: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
        let mut now = 0u64;
        for (operation, item, step) in steps {
            now += jump(step, panes);
            filter.advance(now);
            filter = copied(filter, operation);
            let bytes = item.to_le_bytes();
            let live = |times: &Vec<u64>| times.iter().filter(|&&pane| pane + panes >= now).count();
            let occurrences = model.get(&item).map_or(0, live) as u64;
            let count = filter.count(&bytes, filter.panes_in(now));
            prop_assert!(count >= occurrences);
            prop_assert_eq!(filter.contains(&bytes, filter.panes_in(now)), count > 0);
            match operation % 8 {
                0..5 => {
                    filter.insert_item(&bytes, ANY).unwrap();
                    prop_assert_eq!(filter.count(&bytes, filter.panes_in(now)), count + 1);
                }
                5 => {
                    let before = digest(&filter);
                    let inserted = filter.insert_unique(&bytes, ANY).unwrap();
                    prop_assert_eq!(inserted, count == 0);
                    prop_assert_eq!(inserted, digest(&filter) != before);
                    if !inserted {
                        continue;
                    }
                }
                6 => {
                    // Only changes are replicated.
                    let before = digest(&filter);
                    let changed = filter.compact();
                    prop_assert_eq!(changed, digest(&filter) != before);
                    continue;
                }
                _ => {
                    // Only items that are present are deleted. Of items with the same fingerprint, the oldest one is
                    // deleted, which may be another one; so only the number is compared from here on.
                    prop_assert_eq!(filter.delete(&bytes), count > 0);
                    if count > 0 {
                        prop_assert_eq!(filter.count(&bytes, filter.panes_in(now)), count - 1);
                    }
                    return Ok(());
                }
            }
            *of_pane.entry(now).or_insert(0) += 1;
            model.entry(item).or_default().push(now);
        }
        check_totals(&filter, now, &of_pane);
    }
}
