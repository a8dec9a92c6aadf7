//! The agreement of the list.

use super::*;
use crate::accuracy::{Accuracy, Figure};
use crate::window::Panes;

/// The agreement and the smallest listed count.
fn reported(cache: &mut RankingCache, sketch: &TopKWindow, panes: Panes) -> (f64, u64) {
    match sketch.accuracy(panes, cache).unwrap()[..] {
        [
            (agreement, Figure::Ratio(share)),
            (smallest, Figure::Count(count)),
        ] if agreement == c"agreement" && smallest == c"smallest listed count" => (share, count),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn counts_far_above_the_smallest_cells_are_confirmed() {
    // One bucket with four heavy cells.
    let mut sketch = sketch(4, 5, 1, 0.9, 3);
    let mut cache = RankingCache::default();
    assert_eq!(reported(&mut cache, &sketch, Panes::ALL), (1.0, 0));
    for item in [b"a", b"b", b"c"] {
        sketch.add(item, 90).unwrap();
    }
    assert_eq!(reported(&mut cache, &sketch, Panes::ALL), (1.0, 90));
    // The smallest heavy cell gets a count of 9, and then of 10.
    sketch.add(b"d", 9).unwrap();
    assert_eq!(reported(&mut cache, &sketch, Panes::ALL), (0.75, 9));
    sketch.add(b"d", 1).unwrap();
    assert_eq!(reported(&mut cache, &sketch, Panes::ALL), (0.0, 10));
    // The sums over the panes count.
    sketch.advance(1);
    sketch.add(b"a", 10).unwrap();
    let newest = sketch.timeline().panes_within(PANE_MS + 1, 1);
    assert_eq!(reported(&mut cache, &sketch, newest), (1.0, 10));
    assert_eq!(reported(&mut cache, &sketch, Panes::ALL), (0.25, 10));
}

proptest! {
    #[test]
    fn the_reply_depends_on_the_state_and_the_panes_only(
        steps in steps(), (k, width, depth, decay, panes) in shapes(), units in 0u64..3,
    ) {
        let parameters = (k, width, depth, decay);
        let mut sketch = of_units(parameters, panes.max(3), units.min(1) * (panes.max(3) + 1) * 4);
        let mut cache = RankingCache::default();
        for step in steps {
            match step {
                Step::Add(item, increment) => drop(sketch.add(&item, increment).unwrap()),
                Step::Advance(by) => drop(sketch.advance(sketch.timeline().newest() + by)),
                Step::Read(ahead) => {
                    let panes = sketch.panes_in(current(&sketch, ahead));
                    let (agreement, smallest) = reported(&mut cache, &sketch, panes);
                    prop_assert!((0.0..=1.0).contains(&agreement));
                    let list = listed(&sketch, current(&sketch, ahead));
                    let last = list.last().map_or(0, |(_, count)| u64::from(*count));
                    prop_assert_eq!(smallest, last);
                    for same in [reloaded(&sketch), from_chunks(&sketch, 100)] {
                        let again = reported(&mut RankingCache::default(), &same, panes);
                        prop_assert_eq!(again, (agreement, smallest));
                    }
                }
            }
        }
    }
}

/// An item that occurs once per pane is among the most frequent ones of the window, but its name is missing.
#[test]
fn an_item_whose_name_is_missing_reduces_the_agreement() {
    for units in [0, 100] {
        let mut sketch = of_units((2, 200, 5, 0.9), 12, units);
        for pane in 0..12 {
            sketch.advance(pane);
            for busy in 0..2 {
                sketch.add(format!("{pane} {busy}").as_bytes(), 5).unwrap();
            }
            sketch.add(b"steady", 1).unwrap();
        }
        let cache = &mut RankingCache::default();
        assert_eq!(sketch.query_at(b"steady", Panes::ALL, cache), Ok(false));
        assert_eq!(sketch.count_at(b"steady", Panes::ALL), 12);
        assert_eq!(reported(cache, &sketch, Panes::ALL), (0.5, 5));
        // Once it has its name, nothing is missing. The busy items of the other panes do not exceed the smallest count.
        sketch.add(b"steady", 20).unwrap();
        assert_eq!(sketch.query_at(b"steady", Panes::ALL, cache), Ok(true));
        assert_eq!(reported(cache, &sketch, Panes::ALL), (1.0, 5));
    }
}
