//! The stored generation of a group has 16 bits.

use super::*;

/// Items of the first pane.
const ITEMS: u64 = 3000;

/// No expired item is found, by reads with their own panes and after every write.
fn assert_none_is_live(filter: &BloomWindow, pane: u64) {
    let panes = filter.panes_in(pane);
    let live = (0..ITEMS).filter(|item| filter.contains(&item.to_le_bytes(), panes));
    assert_eq!(live.count(), 0, "pane {pane}");
}

fn filled(panes: u64) -> BloomWindow {
    let mut filter = set(ITEMS * panes, EXACT, 0, panes);
    filter.advance(0);
    add_all(&mut filter, 0, ITEMS);
    assert!(filter.sub_filters[0].groups() > 10);
    filter
}

/// Every pane has one addition, in the same group, so most groups are not written: always of one item, or of one that has expired. A
/// generation has at most two panes, so the generations wrap several times.
#[test]
fn no_expired_item_returns_when_the_generations_wrap() {
    let boundaries: Vec<u64> = (14..=18).map(|bits| 1 << bits).chain([3 << 16]).collect();
    let is_near = |pane: u64| (boundaries.iter()).any(|&boundary| pane.abs_diff(boundary) <= 4);
    for (panes, number) in [(1, 1), (3, 100)] {
        let mut filter = filled(panes);
        let in_first_group = |number: &u64| {
            let place = filter.sub_filters[0].place(SEED.hash(&number.to_le_bytes()));
            filter.sub_filters[0].group_of(place.buckets[0]) == 0
        };
        let items: Vec<u64> = (1 << 40..).filter(in_first_group).take(number).collect();
        for pane in panes + 1..=(1 << 18) + 4 {
            filter.advance(pane);
            let added = filter.add(&items[pane as usize % number].to_le_bytes(), ANY);
            assert!(number == 1 && added.is_ok() || added == Ok(Addition::New));
            if is_near(pane) || pane < 100 || pane % 997 == 0 {
                assert_none_is_live(&filter, pane);
            }
        }
    }
}

/// No pane between the first and the last has an addition.
#[test]
fn no_expired_item_returns_after_idle_generations() {
    for generations in [15, 16, 17].map(|bits| 1u64 << bits) {
        for panes in [1, 2] {
            for distance in -2..=2 {
                let pane = (generations * panes).saturating_add_signed(distance);
                let mut filter = filled(1);
                assert_none_is_live(&filter, pane);
                filter.advance(pane);
                assert_none_is_live(&filter, pane);
                filter.add(&u64::MAX.to_le_bytes(), ANY).unwrap();
                assert_none_is_live(&filter, pane);
            }
        }
    }
}
