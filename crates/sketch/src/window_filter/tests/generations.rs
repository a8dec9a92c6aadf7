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

fn filled() -> BloomWindow {
    let mut filter = set(ITEMS, EXACT, 0, 1);
    filter.advance(0);
    add_all(&mut filter, 0, ITEMS);
    assert!(filter.sub_filters[0].groups() > 10);
    filter
}

/// Every pane has one addition, always of the same item, so most groups are not written. The window has one pane and a
/// generation at most two, so the generations wrap several times.
#[test]
fn no_expired_item_returns_when_the_generations_wrap() {
    let mut filter = filled();
    let item = u64::MAX.to_le_bytes();
    let boundaries: Vec<u64> = (14..=18).map(|bits| 1 << bits).collect();
    let is_near = |pane: u64| (boundaries.iter()).any(|&boundary| pane.abs_diff(boundary) <= 4);
    for pane in 2..=(1 << 18) + 4 {
        filter.advance(pane);
        filter.add(&item, ANY).unwrap();
        if is_near(pane) {
            assert_none_is_live(&filter, pane);
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
                let mut filter = filled();
                assert_none_is_live(&filter, pane);
                filter.advance(pane);
                assert_none_is_live(&filter, pane);
                filter.add(&u64::MAX.to_le_bytes(), ANY).unwrap();
                assert_none_is_live(&filter, pane);
            }
        }
    }
}
