//! Examples, stored forms, merges and memory.

mod memory;
mod merge;
mod stored;

use super::super::{CellSize, MergeSource};
use super::*;
use crate::format::FormatError;
use crate::stored::Stored;
use crate::window::Panes;
use roughly_dump::{Value, Values};

/// An empty sketch. Every allocation is allowed.
fn sketch(shape: (u64, u64, CellSize), panes: u64) -> CountMinWindow {
    let window = Window::new(1 << 20, panes).unwrap();
    let (width, depth, cell_size) = shape;
    CountMinWindow::new(width, depth, cell_size, window, Budget::UNLIMITED).unwrap()
}

fn increment(sketch: &mut CountMinWindow, item: &[u8], by: i64) -> Result<u64, CountMinError> {
    sketch.increment(item, by, Budget::UNLIMITED)
}

/// The values of an RDB file.
fn values(sketch: &CountMinWindow) -> Values {
    let mut values = Values::default();
    sketch.save(&mut values);
    values
}

fn load(mut values: Values) -> Result<CountMinWindow, FormatError> {
    CountMinWindow::load(&mut values, 1, &())
}

/// The sketch that the header and the chunks of a sketch describe.
fn from_chunks(sketch: &CountMinWindow, chunk_bytes: usize) -> CountMinWindow {
    let header = sketch.header().unwrap();
    let mut copy = CountMinWindow::from_header(&header, Budget::UNLIMITED).unwrap();
    let mut iterator = 1;
    while let Some((next, chunk)) = sketch.chunk(iterator, chunk_bytes) {
        copy.load_chunk(next, chunk).unwrap();
        iterator = next;
    }
    copy
}

/// Checks the sums against the cells in all slots, and the counters of blocks and arrays.
fn check_invariants(sketch: &CountMinWindow) {
    let stale = (0..blocks(sketch.sum.cells.len() as u64, sketch.timeline.window()) as usize)
        .filter(|&block| sketch.ages.get(block) != 0)
        .count();
    assert_eq!(sketch.ages.stale(), stale);
    assert!(stale != 0 || sketch.ages.cursor() == 0);
    let arrays = sketch.stored_panes().count();
    assert_eq!(
        arrays,
        sketch
            .panes
            .iter()
            .filter(|pane| !pane.cells.is_empty())
            .count()
    );
    assert_eq!(sketch.is_blank(), arrays == 0);
    let retired = sketch.retired.bytes() / sketch.shape().bytes().unwrap_or(1);
    assert!(arrays + retired as usize <= sketch.panes.len() + usize::from(arrays == 0));
    let totals: u64 = sketch.panes.iter().map(|pane| pane.total).sum();
    assert_eq!(sketch.sum.total, totals);
    let cell_bytes = sketch.shape().cell_size().bytes() as usize;
    for (number, sum) in sketch.sum.cells.chunks(cell_bytes).enumerate() {
        let block = number * cell_bytes / sketch.block_bytes();
        if sketch.ages.get(block) == sketch.panes.len() as u64 {
            continue;
        }
        let count = |bytes: &[u8]| {
            let bytes = bytes.iter().rev();
            bytes.fold(0u128, |count, &byte| count << 8 | u128::from(byte))
        };
        let cells = sketch.panes.iter().filter(|pane| !pane.cells.is_empty());
        let cells = cells.map(|pane| count(&pane.cells[number * cell_bytes..][..cell_bytes]));
        assert_eq!(cells.sum::<u128>(), count(sum));
    }
}

#[test]
fn negative_increments_are_refused() {
    for depth in [2, 30] {
        let mut sketch = sketch((10, depth, CellSize::Four), 3);
        for _ in 0..2 {
            let before = values(&sketch);
            for by in [-1, i64::MIN] {
                let refused = Err(CountMinError::WindowDecrement);
                assert_eq!(increment(&mut sketch, b"a", by), refused);
            }
            assert_eq!(values(&sketch), before);
            assert!(increment(&mut sketch, b"a", 5).is_ok());
        }
    }
}

#[test]
fn shapes_without_memory_count_nothing_and_are_fast() {
    for (width, depth) in [(1 << 62, 1), (1 << 61, 2), (1 << 57, 32)] {
        let mut sketch = sketch((width, depth, CellSize::Eight), 3);
        assert_eq!(sketch.query(b"a", Panes::ALL), 0);
        assert_eq!(increment(&mut sketch, b"a", 0), Ok(0));
        let refused = increment(&mut sketch, b"a", 1);
        assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
        assert_eq!(
            sketch,
            super::tests::sketch((width, depth, CellSize::Eight), 3)
        );
        assert_eq!(load(values(&sketch)).as_ref(), Ok(&sketch));
        assert_eq!(from_chunks(&sketch, 100), sketch);
    }
}

#[test]
fn refused_and_zero_increments_change_nothing() {
    let mut sketch = sketch((600, 6, CellSize::One), 4);
    for pane in [10, 11, 12] {
        sketch.advance(pane);
        for item in 0..50u8 {
            increment(&mut sketch, &[item], 1).unwrap();
        }
        increment(&mut sketch, b"full", 60).unwrap();
    }
    // Pane 10 has expired, and no other array is allocated yet.
    for pane in [13, 15] {
        sketch.advance(pane);
        let before = values(&sketch);
        let refused = increment(&mut sketch, b"full", 200);
        assert_eq!(refused, Err(CountMinError::Overflow));
        let full = sketch.query(b"full", Panes::ALL);
        assert_eq!(increment(&mut sketch, b"full", 0), Ok(full));
        assert_eq!(values(&sketch), before);
        let no = Budget::new(&|_| false);
        if pane == 13 {
            let refused = sketch.increment(b"a", 1, no);
            assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
            assert_eq!(values(&sketch), before);
        }
    }
    assert!(sketch.ages.stale() > 0);
}

#[test]
fn totals_are_those_of_the_live_panes() {
    let mut sketch = sketch((100, 3, CellSize::Four), 2);
    for (pane, by) in [(5, 1), (6, 10), (7, 100)] {
        sketch.advance(pane);
        increment(&mut sketch, b"a", by).unwrap();
    }
    let totals = [0, 7, 8, 9, 10, u64::MAX].map(|current| sketch.total(sketch.panes_in(current)));
    assert_eq!(totals, [111, 111, 110, 100, 0, 0]);
    let totals = [0, 4, 5, 6, 7, 8, u64::MAX].map(|pane| sketch.pane_total(pane));
    assert_eq!(totals, [0, 0, 1, 10, 100, 0, 0]);
    assert!(!sketch.advance(7) && !sketch.advance(3));
    assert!(sketch.advance(9));
    assert_eq!(sketch.total(Panes::ALL), 100);
}

/// In every stored form and at creation.
#[test]
fn more_rows_than_the_work_of_an_increment_allows_are_refused() {
    let window = Window::new(1000, 3).unwrap();
    let new = |depth| CountMinWindow::new(2, depth, CellSize::Four, window, Budget::UNLIMITED);
    let deepest = new(MAX_DEPTH).unwrap();
    assert_eq!(new(MAX_DEPTH + 1), Err(CountMinError::TooDeepForWindow));
    let mut stored = values(&deepest);
    assert_eq!(load(stored.clone()).as_ref(), Ok(&deepest));
    let depth = (stored.values.iter()).position(|value| *value == Value::Integer(MAX_DEPTH));
    stored.values[depth.unwrap()] = Value::Integer(MAX_DEPTH + 1);
    assert!(matches!(load(stored), Err(FormatError::Invalid(_))));
    let mut header = deepest.header().unwrap();
    let depth = (header.chunks(8)).position(|field| field == MAX_DEPTH.to_le_bytes());
    header[8 * depth.unwrap()] += 1;
    let refused = CountMinWindow::from_header(&header, Budget::UNLIMITED);
    assert!(matches!(refused, Err(FormatError::Invalid(_))));
}

/// Sequences of operations with the invariants of the arrays that reads do not show.
#[test]
fn sums_ages_and_arrays_are_consistent() {
    let mut number = 1u64;
    let mut below = |end: u64| {
        number = crate::hash::murmur64a(&number.to_le_bytes(), 1);
        number % end
    };
    for (cell_size, panes) in [
        (CellSize::One, 2),
        (CellSize::Four, 7),
        (CellSize::Eight, 100),
    ] {
        let mut sketch = sketch((300, 4, cell_size), panes);
        for _ in 0..400 {
            match below(12) {
                0 => {
                    sketch.advance(sketch.timeline().newest() + below(panes + 3));
                }
                1..4 => {
                    sketch.advance(sketch.timeline().newest() + 1);
                }
                4 => {
                    sketch.expire();
                    assert!(sketch.ages.stale() == 0 && !sketch.expire());
                }
                5 => {
                    let copy = sketch.try_clone().unwrap();
                    let source = MergeSource {
                        sketch: Some(&copy),
                        weight: below(3).cast_signed(),
                    };
                    let merged = sketch.merge_within(&[source], u64::MAX, Budget::UNLIMITED);
                    assert!(merged.is_err() || sketch.ages.stale() == 0);
                }
                _ => {
                    let _ = increment(&mut sketch, &below(200).to_le_bytes(), 1);
                }
            }
            check_invariants(&sketch);
        }
    }
}
