//! The fields of [`Accuracy`].

use super::super::cell::{Cell, with_cell};
use super::*;
use crate::accuracy::{Accuracy, Figure};
use crate::window::Panes;
use roughly_dump::Values;

/// The values of the fields.
fn figures(sketch: &impl Accuracy<Cache = ()>) -> [Figure; 4] {
    let fields = sketch.accuracy(Panes::ALL, &mut ()).unwrap();
    let names = fields.iter().map(|(name, _)| name.to_bytes());
    let expected: [&[u8]; 4] = [
        b"typical error",
        b"error p99",
        b"count",
        b"items counted exactly",
    ];
    assert!(names.eq(expected));
    [0, 1, 2, 3].map(|field| fields[field].1)
}

/// The values of a sketch with these errors and this total.
fn values(typical: f64, p99: f64, count: u64) -> [Figure; 4] {
    [
        Figure::Ratio(typical),
        Figure::Ratio(p99),
        Figure::Count(count),
        Figure::Ratio(0.0),
    ]
}

/// The estimates of the absent items in ascending order, by CMS.QUERY.
fn estimates(sketch: &CountMin, items: u32) -> Vec<u64> {
    let items = (0..items).map(|number| [b"SKETCH.ACCURACY ", &number.to_be_bytes()[..]].concat());
    let mut estimates: Vec<_> = items.map(|item| sketch.query(&item)).collect();
    estimates.sort_unstable();
    estimates
}

/// 1,000 items up to 100 rows, then as many as 100,000 cells allow.
#[test]
fn the_errors_are_quantiles_of_the_estimates_of_absent_items_and_are_the_same_after_a_reload() {
    for (depth, items, median, p99) in [
        (1, 1000, 499, 989),
        (7, 1000, 499, 989),
        (16, 1000, 499, 989),
        (100, 1000, 499, 989),
        (101, 990, 494, 980),
        (30_000, 3, 1, 2),
        (100_000, 1, 0, 0),
    ] {
        for cell_size in [CellSize::Two, CellSize::Eight] {
            let mut sketch = sketch(3, depth, cell_size);
            for item in 0..60u8 {
                sketch.increment(&[item], i64::from(item) + 1).unwrap();
            }
            let estimates = estimates(&sketch, items);
            let expected = [median, p99].map(|rank: usize| estimates[rank] as f64);
            let reported = figures(&sketch);
            assert_eq!(reported, values(expected[0], expected[1], 1830), "{depth}");
            assert!(expected[0] > 0.0);
            let mut saved = Values::default();
            sketch.save(&mut saved);
            let reloaded = CountMin::load(&mut saved, CountMin::ENCODING_VERSION, &()).unwrap();
            assert_eq!(figures(&reloaded), reported);
        }
    }
}

/// Each absent item shares the only cell of a row. An estimate from all rows would be 0.
#[test]
fn at_most_100_000_rows_are_read() {
    for depth in [100_000, 100_001, 1_000_000] {
        let mut sketch = sketch(1, depth, CellSize::Four);
        sketch.increment(b"a", 7).unwrap();
        let cells = u32::all_mut(&mut sketch.cells);
        cells[100_000.min(depth as usize)..].fill(u32::with_count(0));
        let expected = if depth > 100_000 { 0 } else { 7 };
        assert_eq!(sketch.query(b"b"), expected);
        assert_eq!(figures(&sketch), values(7.0, 7.0, 7));
        u32::all_mut(&mut sketch.cells)[99_999] = u32::with_count(0);
        assert_eq!(figures(&sketch), values(0.0, 0.0, 7));
    }
}

#[test]
fn the_errors_of_full_cells_are_their_maximum() {
    for cell_size in ALL_SIZES {
        let max = cell_size.max_count();
        let mut sketch = sketch(1, 3, cell_size);
        sketch.increment_saturating(b"a", MAX_TOTAL);
        sketch.increment_saturating(b"b", MAX_TOTAL);
        let expected = values(max as f64, max as f64, MAX_TOTAL);
        assert_eq!(figures(&sketch), expected);
        with_cell!(cell_size, C => {
            C::all_mut(&mut sketch.cells)[1] = C::with_count(max - 1);
        });
        let expected = (max - 1) as f64;
        assert_eq!(figures(&sketch), values(expected, expected, MAX_TOTAL));
    }
}
