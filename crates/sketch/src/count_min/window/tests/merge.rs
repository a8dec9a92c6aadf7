//! Refused merges. `roughly-models` has the others.

use super::*;
use crate::count_min::tests::{other, own};
use crate::window::Panes;

#[test]
fn the_work_limit_counts_the_panes_of_distinct_sources() {
    let array = sketch((20, 4, CellSize::One), 3).grid.array_bytes;
    // An exact count reads as many bytes as a slot per row.
    for (dimensions, bytes) in [((20, 4), array), ((600, 4), 16 * 4)] {
        let counted = |increments: &[(u64, i64)]| {
            let mut sketch = sketch((dimensions.0, dimensions.1, CellSize::One), 3);
            for &(pane, by) in increments {
                sketch.advance(pane);
                increment(&mut sketch, b"a", by).unwrap();
            }
            sketch
        };
        let first = counted(&[(1, 1), (2, 1)]);
        let second = counted(&[(2, 1)]);
        let mut sketch = counted(&[(1, 1)]);
        let sources = [other(&first, 1), other(&second, 1), own(1)].repeat(5);
        let refused = sketch.merge_within(&sources, 4 * bytes - 1, Budget::UNLIMITED);
        assert!(matches!(refused, Err(CountMinError::TooMuchWork(_))));
        let merged = sketch.merge_within(&sources, 4 * bytes, Budget::UNLIMITED);
        assert_eq!((merged, sketch.query(b"a", Panes::ALL)), (Ok(true), 20));
        let two = sketch.merge_within(&[own(1), other(&first, 1)], 0, Budget::UNLIMITED);
        assert_eq!(two, Ok(true));
    }
}

#[test]
fn sources_of_other_shapes_and_windows_are_refused() {
    let mut destination = sketch((300, 4, CellSize::Two), 3);
    let dimensions = (300, 4, CellSize::Two);
    let long = sketch_of(dimensions, Window::new(1 << 21, 3, None).unwrap());
    let finer = sketch_of(dimensions, Window::new(1 << 20, 3, Some(1000)).unwrap());
    let mut seeded = sketch(dimensions, 3);
    seeded.grid.rows.seed.0[15] += 1;
    for (mut source, error) in [
        (
            sketch((301, 4, CellSize::One), 4),
            CountMinError::DimensionMismatch,
        ),
        (
            sketch((300, 5, CellSize::Two), 3),
            CountMinError::DimensionMismatch,
        ),
        (
            sketch((300, 4, CellSize::Four), 4),
            CountMinError::CellSizeMismatch,
        ),
        (
            sketch((300, 4, CellSize::Two), 4),
            CountMinError::WindowMismatch,
        ),
        (long, CountMinError::WindowMismatch),
        (finer, CountMinError::WindowMismatch),
        (seeded, CountMinError::SeedMismatch),
    ] {
        source.advance(9);
        let sources = [own(1), other(&source, 1)];
        let refused = destination.merge_within(&sources, u64::MAX, Budget::UNLIMITED);
        assert_eq!(refused, Err(error));
        assert_eq!(destination.timeline().newest(), 0);
    }
}
