//! The fields of [`Accuracy`].

use super::*;
use crate::accuracy::{Accuracy, Figure};

/// The typical error, the error p99, the count and the share that is exact.
fn figures(sketch: &CountMinWindow, panes: Panes) -> (f64, f64, u64, f64) {
    let fields = sketch.accuracy(panes, &mut ()).unwrap();
    match fields[..] {
        [
            (_, Figure::Ratio(typical)),
            (_, Figure::Ratio(p99)),
            (_, Figure::Count(count)),
            (_, Figure::Ratio(exact)),
        ] => (typical, p99, count, exact),
        _ => panic!("{fields:?}"),
    }
}

/// The median and the 99 % quantile of the estimates of the absent items.
fn quantiles(sketch: &CountMinWindow, panes: Panes, items: u32) -> (f64, f64) {
    let items = (0..items).map(|number| [b"SKETCH.ACCURACY ", &number.to_be_bytes()[..]].concat());
    let mut estimates: Vec<_> = items.map(|item| sketch.query(&item, panes)).collect();
    estimates.sort_unstable();
    let quantile =
        |per_cent: usize| estimates[(estimates.len() * per_cent).div_ceil(100) - 1] as f64;
    (quantile(50), quantile(99))
}

/// The panes that begin with `first` or later.
fn from(sketch: &CountMinWindow, first: u64) -> Panes {
    let timeline = sketch.timeline();
    let pane_ms = timeline.window().pane_ms();
    let newest = timeline.newest();
    timeline.panes_within(newest * pane_ms, (newest - first) * pane_ms)
}

/// An exact pane, one with an array, and an empty one.
fn two_panes() -> CountMinWindow {
    let mut sketch = sketch((600, 5, CellSize::Four), 6);
    for item in 0..20u8 {
        increment(&mut sketch, &[item], 5).unwrap();
    }
    sketch.advance(2);
    for item in 0..6000u32 {
        increment(&mut sketch, &item.to_le_bytes(), 3).unwrap();
    }
    sketch.advance(3);
    assert_eq!(sketch.arrays().count(), 1);
    sketch
}

#[test]
fn an_empty_sketch_and_exact_panes_have_no_error() {
    let mut sketch = sketch((600, 5, CellSize::Four), 6);
    assert_eq!(figures(&sketch, Panes::ALL), (0.0, 0.0, 0, 0.0));
    for pane in 1..=4 {
        sketch.advance(pane);
        for item in 0..40u8 {
            increment(&mut sketch, &[item], 1_000_000).unwrap();
        }
        let count = pane * 40_000_000;
        assert_eq!(figures(&sketch, Panes::ALL), (0.0, 0.0, count, 1.0));
    }
    sketch.advance(100);
    assert_eq!(figures(&sketch, Panes::ALL), (0.0, 0.0, 0, 0.0));
}

#[test]
fn the_fields_describe_the_panes_that_are_read() {
    let mut sketch = two_panes();
    let (typical, p99) = quantiles(&sketch, Panes::ALL, 1000);
    assert!(typical > 0.0 && p99 > typical);
    let all = (typical, p99, 18_100, 100.0 / 18_100.0);
    let array = (typical, p99, 18_000, 0.0);
    assert_eq!(figures(&sketch, Panes::ALL), all);
    assert_eq!(figures(&sketch, from(&sketch, 0)), all);
    assert_eq!(figures(&sketch, from(&sketch, 1)), array);
    assert_eq!(figures(&sketch, from(&sketch, 2)), array);
    assert_eq!(figures(&sketch, from(&sketch, 3)), (0.0, 0.0, 0, 0.0));
    // As a read that expects the next pane.
    let later = sketch.timeline().panes_in(7);
    assert_eq!(figures(&sketch, later), array);
    sketch.advance(7);
    assert_eq!(figures(&sketch, Panes::ALL), array);
}

#[test]
fn the_fields_are_the_same_after_a_reload() {
    let sketch = two_panes();
    let reloaded = load(saved(&sketch)).unwrap();
    for panes in [Panes::ALL, from(&sketch, 1), from(&sketch, 3)] {
        assert_eq!(figures(&reloaded, panes), figures(&sketch, panes));
    }
}

#[test]
fn at_most_100_000_cells_are_read() {
    // 61 panes of 32 rows: 51 items.
    let mut sketch = sketch((8, 32, CellSize::Eight), 64);
    for pane in 0..61u32 {
        sketch.advance(pane.into());
        for item in 0..40u32 {
            let item = (item << 8 | pane).to_le_bytes();
            increment(&mut sketch, &item, 1 + i64::from(item[1])).unwrap();
        }
    }
    assert_eq!(sketch.arrays().count(), 61);
    let (typical, p99, ..) = figures(&sketch, Panes::ALL);
    assert_eq!((typical, p99), quantiles(&sketch, Panes::ALL, 51));
    assert_ne!((typical, p99), quantiles(&sketch, Panes::ALL, 52));
}

#[test]
fn the_errors_of_full_cells_are_their_maximum() {
    for cell_size in ALL_SIZES {
        let max = cell_size.max_count();
        let mut sketch = sketch((1, 2, cell_size), 3);
        assert!(increment(&mut sketch, b"a", max.cast_signed()).is_ok());
        let expected = (max as f64, max as f64, max, 0.0);
        assert_eq!(figures(&sketch, Panes::ALL), expected);
    }
}
