//! Stored forms, hostile bytes, memory, recall, bounds of the work.

mod accuracy;
mod hostile;
mod memory;
mod merge;
mod order;
mod read;
mod reload;
mod table;
mod work;

use super::{RankingCache, TopKWindow};
use crate::memory::Budget;
use crate::seed::Seed;
use crate::testing::{fed, from_chunks, reloaded, saved};
use crate::window::{Timed, Window};
use proptest::prelude::*;

/// Milliseconds of a pane.
const PANE_MS: u64 = 1000;

const SEED: Seed = Seed(*b"sixteen bytes ab");

/// An empty sketch with a window of this many panes. Every allocation is allowed.
fn sketch(k: u64, width: u64, depth: u64, decay: f64, panes: u64) -> TopKWindow {
    let window = Window::new(panes * PANE_MS, panes, None).unwrap();
    TopKWindow::new(k, width, depth, decay, window, SEED, Budget::UNLIMITED).unwrap()
}

/// The same for a window of this many units of a second, whose panes grow with age.
fn leveled(parameters: (u64, u64, u64, f64), panes: u64, units: u64) -> TopKWindow {
    let (k, width, depth, decay) = parameters;
    let window = Window::new(units * PANE_MS, panes, Some(PANE_MS)).unwrap();
    assert!(window.levels() > 0);
    TopKWindow::new(k, width, depth, decay, window, SEED, Budget::UNLIMITED).unwrap()
}

/// A sketch of one of these shapes; that with 0 units is uniform.
fn of_units(parameters: (u64, u64, u64, f64), panes: u64, units: u64) -> TopKWindow {
    let (k, width, depth, decay) = parameters;
    match units {
        0 => sketch(k, width, depth, decay, panes),
        _ => leveled(parameters, panes, units),
    }
}

/// The reply of TOPK.LIST WITHCOUNT when `current` is the current pane.
fn listed(sketch: &TopKWindow, current: u64) -> Vec<(Vec<u8>, u32)> {
    listed_with(&mut RankingCache::default(), sketch, current)
}

/// [`listed`] with the cache of the sketch.
fn listed_with(cache: &mut RankingCache, sketch: &TopKWindow, current: u64) -> Vec<(Vec<u8>, u32)> {
    let items = sketch.list_at(sketch.panes_in(current), cache).unwrap();
    items.map(|(item, count)| (item.to_vec(), count)).collect()
}

/// An operation on a sketch.
#[derive(Debug, Clone)]
enum Step {
    Add(Vec<u8>, u32),
    /// To the newest pane plus this number.
    Advance(u64),
    /// Reads at the newest pane plus or minus this number.
    Read(i64),
}

/// Items from a small set, so that they collide; some are empty, some contain a NUL.
fn items() -> impl Strategy<Value = Vec<u8>> {
    (0u8..14, 0usize..3).prop_map(|(number, len)| [number; 2][..len].to_vec())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let increments = prop_oneof![
        8 => 0u32..4,
        2 => 0u32..1000,
        1 => prop::sample::select(vec![100_000, u32::MAX]),
    ];
    let year = (366 * 24 * 3600 * 1000 / PANE_MS).cast_signed();
    let step = prop_oneof![
        12 => (items(), increments).prop_map(|(item, increment)| Step::Add(item, increment)),
        2 => prop_oneof![6 => 0u64..3, 2 => 0u64..70, 1 => Just(year.cast_unsigned())].prop_map(Step::Advance),
        2 => prop_oneof![6 => -2i64..4, 2 => 0i64..70, 1 => Just(year)].prop_map(Step::Read),
    ];
    prop::collection::vec(step, 0..150)
}

fn shapes() -> impl Strategy<Value = (u64, u64, u64, f64, u64)> {
    let decays = prop::sample::select(vec![1.0, 0.9, 0.5, 0.999, 1e-300]);
    let panes = prop_oneof![3 => 1u64..6, 1 => 1u64..=60];
    (1u64..8, 1u64..6, 1u64..10, decays, panes)
}

fn current(sketch: &TopKWindow, ahead: i64) -> u64 {
    sketch.timeline().newest().saturating_add_signed(ahead)
}
