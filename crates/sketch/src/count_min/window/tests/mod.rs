//! Examples, stored forms, merges and memory.

mod exact;
mod memory;
mod merge;
mod reported;
mod stored;

use super::super::CellSize;
use super::super::cell::ALL_SIZES;
use super::*;
use crate::format::FormatError;
use crate::stored::Stored;
use crate::testing::saved;
use crate::window::Panes;
use roughly_dump::{Value, Values};

/// An empty sketch. Every allocation is allowed.
fn sketch(dimensions: (u64, u64, CellSize), panes: u64) -> CountMinWindow {
    sketch_of(dimensions, Window::new(1 << 20, panes, None).unwrap())
}

fn sketch_of((width, depth, cell_size): (u64, u64, CellSize), window: Window) -> CountMinWindow {
    let dimensions = Dimensions::new(width, depth, cell_size).unwrap();
    CountMinWindow::new(dimensions, window, SEED, Budget::UNLIMITED).unwrap()
}

const SEED: Seed = Seed(*b"0123456789abcdef");

fn increment(sketch: &mut CountMinWindow, item: &[u8], by: i64) -> Result<u64, CountMinError> {
    sketch.increment(item, by, Budget::UNLIMITED)
}

fn load(mut values: Values) -> Result<CountMinWindow, FormatError> {
    CountMinWindow::load(&mut values, 3, &())
}

/// Checks the totals, that no count is above the total of its pane, and the number of exact counts.
fn check_invariants(sketch: &CountMinWindow) {
    let panes = sketch.panes.all();
    let total: u64 = panes.iter().map(|pane| pane.content.total).sum();
    assert_eq!(sketch.total, total);
    let Grid {
        rows, max_entries, ..
    } = sketch.grid;
    with_cell!(sketch.dimensions.cell_size(), C => for StoredPane { first, content } in panes {
        assert!(sketch.timeline.level_of(*first).is_some());
        assert!(content.total > 0 && content.largest::<C>() <= content.total);
        match &content.counts {
            PaneCounts::Exact(exact) => {
                assert!((1..=max_entries).contains(&exact.len()));
                assert!(exact.entries().is_sorted_by(|one, other| one.hash < other.hash));
            }
            PaneCounts::Array(cells) => assert_eq!(C::all(cells).len(), rows.width * rows.depth),
        }
    });
}

/// In every stored form and at creation.
#[test]
fn shapes_above_the_limits_are_refused() {
    let uniform = Window::new(1000, 3, None).unwrap();
    let leveled = Window::new(1000, 3, Some(1)).unwrap();
    let new = |width, depth, cell_size, window| {
        let dimensions = Dimensions::new(width, depth, cell_size).unwrap();
        CountMinWindow::new(dimensions, window, SEED, Budget::UNLIMITED)
    };
    let is_deep = Err(CountMinError::TooDeepForWindow);
    assert_eq!(new(2, MAX_DEPTH + 1, CellSize::Four, uniform), is_deep);
    for (window, max) in [
        (uniform, MAX_ARRAY_BYTES),
        (leveled, MAX_MERGED_ARRAY_BYTES),
    ] {
        let width = max / 8 / MAX_DEPTH;
        for width in [width + 1, 1 << 57] {
            let refused = new(width, MAX_DEPTH, CellSize::Eight, window);
            assert_eq!(refused, Err(CountMinError::InvalidDimensions));
        }
        let largest = new(width, MAX_DEPTH, CellSize::Eight, window).unwrap();
        let stored = saved(&largest);
        assert_eq!(load(stored.clone()).as_ref(), Ok(&largest));
        let header = largest.header().unwrap();
        for number in [width, MAX_DEPTH] {
            let mut stored = stored.clone();
            let is_number = |value: &Value| *value == Value::Integer(number);
            let at = stored.values.iter().position(is_number).unwrap();
            stored.values[at] = Value::Integer(number + 1);
            let refused = Err(FormatError::Invalid("a width or depth out of range"));
            assert_eq!(load(stored), refused);
            let mut header = header.clone();
            let at = (header.chunks(8)).position(|field| field == number.to_le_bytes());
            header[8 * at.unwrap()..][..8].copy_from_slice(&(number + 1).to_le_bytes());
            let loaded = CountMinWindow::from_header(&header, Budget::UNLIMITED);
            assert_eq!(loaded, refused);
        }
    }
}

/// The numbers share every cell of a classic sketch, whatever its depth.
#[test]
fn numbers_that_collide_for_every_seed_of_murmur_hash_do_not() {
    let mut sketch = sketch((2000, 7, CellSize::Four), 12);
    increment(&mut sketch, b"504102", 1000).unwrap();
    assert_eq!(sketch.query(b"780518", Panes::ALL), 0);
}
