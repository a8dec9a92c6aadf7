//! Memory: requested before it is allocated, recorded, and at most that of one sketch per pane and two or three more.

use super::super::TopKWindow;
use super::RankingCache;
use super::{SEED, Step, leveled, listed, listed_with, of_units, sketch, steps};
use crate::blocks::{Addresses, BlockChanges, Blocks, MovesAll};
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{bytes, move_all};
use crate::top_k::TopK;
use crate::window::{Timed, Window};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::HashSet;

fn blocks(sketch: &TopKWindow) -> Vec<usize> {
    let mut blocks = Addresses::default();
    sketch.for_each_block(&mut blocks);
    blocks.0
}

/// Every pane has other items, so that the candidates are as many as possible. In a window whose panes grow with age, the memory of a
/// step may be another sketch.
#[test]
fn a_sketch_takes_at_most_the_memory_of_one_per_pane_and_a_few_more() {
    let uniform = [(1, 0), (12, 0), (60, 0)];
    let graded = [(2, 24), (12, 60), (12, 240)];
    for (k, width, depth) in [
        (10, 8, 7),
        (100, 8, 7),
        (128, 1000, 5),
        (300, 600, 5),
        (1000, 8000, 5),
    ] {
        for (panes, units) in uniform.into_iter().chain(graded) {
            if k * units > 31_000 {
                // A long test, or more candidates than a step may process: the creation is refused.
                continue;
            }
            let mut window = of_units((k, width, depth, 0.9), panes, units);
            let live_panes = window.timeline().window().live_panes() as u64;
            // The candidates take memory too, and so do merges. A sketch with a k of 10 has 1 KB.
            let most = match (k, units) {
                (10, _) => 8,
                (_, 0) => 2,
                _ => 3,
            };
            let most = live_panes + most;
            let mut classic = TopK::new(k, width, depth, 0.9, Budget::UNLIMITED).unwrap();
            let mut next = 0u64;
            for pane in 0..=units.max(2 * panes) {
                window.advance(pane);
                for _ in 0..k + k / 4 {
                    next += 1;
                    window.add(format!("{next:04}").as_bytes(), 5).unwrap();
                    classic.add(format!("{next:04}").as_bytes(), 5).unwrap();
                }
            }
            // MEMORY USAGE counts the sketches themselves too.
            let of_window = size_of::<TopKWindow>() + size_of::<RankingCache>();
            let window = bytes(&window) + of_window as u64;
            let classic = bytes(&classic) + size_of::<TopK>() as u64;
            let shape = format!("k {k}, {width} x {depth}, {live_panes} panes");
            assert!(window <= classic * most, "{shape}: {window}, {classic}");
        }
    }
}

#[test]
fn creation_requests_the_table_the_list_and_the_panes() {
    let requested = Cell::new(0);
    let window = Window::new(1000, 12, None).unwrap();
    let allows = |bytes| {
        requested.set(requested.get() + bytes);
        true
    };
    let sketch = TopKWindow::new(10, 50, 5, 0.9, window, SEED, Budget::new(&allows)).unwrap();
    // The list of the first pane, and a list of one pane.
    assert_eq!(requested.get(), 50 * 5 * 8 + 10 * 32 + 10 * 4 + 56);
    assert_eq!(bytes(&sketch), 10 * 16);
    let graded = leveled((10, 50, 5, 0.9), 12, 60);
    assert_eq!(bytes(&graded), 10 * 16 + 2 * 2 * 10 * 24);
    for allowed in [0u64, 50 * 5 * 8 + 10 * 32] {
        let left = Cell::new(allowed);
        let allows = |bytes: u64| {
            let enough = left.get().checked_sub(bytes);
            left.set(enough.unwrap_or(0));
            enough.is_some()
        };
        assert!(TopKWindow::new(10, 50, 5, 0.9, window, SEED, Budget::new(&allows)).is_err());
    }
}

#[test]
fn every_block_is_visited_and_moved_once() {
    let mut moved = leveled((3, 40, 9, 0.9), 4, 40);
    // The heap, the list, the memory for merges.
    assert_eq!(blocks(&moved).len(), 3);
    let mut stayed = moved.try_clone().unwrap();
    let mut cache = RankingCache::default();
    for number in 0..300u32 {
        let start = b"item".repeat(number as usize % 7);
        let item = [&start[..], &(number % 50).to_le_bytes()].concat();
        let added = moved.add(&item, number % 50);
        assert_eq!(added, stayed.add(&item, number % 50));
        let later = moved.timeline().newest() + 1;
        let list = listed_with(&mut cache, &moved, later);
        assert_eq!(list, listed(&stayed, later));
        let before = blocks(&moved);
        assert_eq!(before.iter().collect::<HashSet<_>>().len(), before.len());
        let moves = (move_all(&mut moved).1, blocks(&moved).len());
        assert_eq!(moves, (before.len(), before.len()));
        assert_eq!(moved, stayed);
        let mut of_cache = Addresses::default();
        cache.for_each_block(&mut of_cache);
        let (mut mover, changes) = (MovesAll::default(), cache.changes);
        (0..3).for_each(|index| {
            cache.relocate_block(index, &mut mover);
        });
        assert_eq!(mover.moves, of_cache.0.len());
        assert_eq!(listed_with(&mut cache, &moved, later), list);
        assert_eq!(cache.changes, changes);
        if number % 20 == 0 {
            assert_eq!(moved.advance(later), stayed.advance(later));
        }
    }
    // Also the list of panes, tables and lists of at least eight panes, three blocks of the candidates.
    assert!(blocks(&moved).len() > 3 + 1 + 8 * 2 + 3);
}

#[test]
fn a_window_that_expires_frees_its_memory() {
    let mut sketch = sketch(100, 100, 5, 0.9, 12);
    let empty = bytes(&sketch);
    for pane in 0..20 {
        sketch.advance(pane);
        for number in 0..300u32 {
            (sketch.add(&(number * (pane as u32 + 1)).to_le_bytes(), 1)).unwrap();
        }
    }
    assert!(bytes(&sketch) > empty + 13 * 4000);
    sketch.advance(100);
    // The smallest index, and room for the first candidates.
    assert!(bytes(&sketch) <= empty + 1024, "{}", bytes(&sketch) - empty);
}

proptest! {
    /// The blocks that are recorded as allocated and not freed are the present ones.
    #[test]
    fn every_change_of_blocks_is_recorded(
        k in 1u64..10, panes in 1u64..4, units in prop::sample::select(vec![0u64, 8, 40]), steps in steps(), long in 0usize..9000,
    ) {
        let mut sketch = of_units((k, 20, 2, 0.9), panes, units);
        let mut live = blocks(&sketch);
        for step in steps {
            let mut changes = BlockChanges::<Addresses>::default();
            match step {
                Step::Add(mut item, increment) => {
                    if increment == 3 {
                        item.resize(long, 1);
                    }
                    let hash = sketch.hash(&item);
                    let before = bytes(&sketch);
                    let growth = sketch.growth(&item, &hash);
                    sketch.add_hashed(&item, &hash, increment, Budget::UNLIMITED, &mut changes).unwrap();
                    prop_assert!(bytes(&sketch) <= before + growth);
                }
                Step::Advance(ahead) => {
                    let pane = sketch.timeline().newest() + ahead;
                    sketch.advance_recorded(pane, &mut changes);
                }
                Step::Read(_) => continue,
            }
            live.extend(changes.allocated.0);
            for freed in changes.freed.0 {
                let at = live.iter().position(|&block| block == freed);
                live.swap_remove(at.expect("a freed block was allocated"));
            }
            let mut present = blocks(&sketch);
            present.sort_unstable();
            live.sort_unstable();
            prop_assert_eq!(&present, &live);
        }
    }
}
