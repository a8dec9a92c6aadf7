//! The stored forms.

use super::*;
use crate::format::chunks::ChunkError;
use crate::testing::check_rules;
use crate::window::Panes;
use roughly_dump::Value::{self, Bytes, Integer};

/// Arrays. Units of 1 ms in panes of 1 and 2 ms; the cells of pane 8 are those of the units 8 and 9.
fn small() -> CountMinWindow {
    let mut sketch = sketch_of((1, 3, CellSize::One), Window::new(6, 2, Some(1)).unwrap());
    for (unit, by) in [(8, 1), (9, 2), (13, 4)] {
        sketch.advance(unit);
        increment(&mut sketch, b"a", by).unwrap();
    }
    sketch.advance(15);
    sketch
}

/// The numbers of the timeline, the dimensions, the seed and the panes.
const SMALL: [u64; 10] = [
    6,
    2,
    15,
    1,
    1,
    3,
    1,
    u64::from_le_bytes(*b"01234567"),
    u64::from_le_bytes(*b"89abcdef"),
    2,
];

#[test]
fn the_format_does_not_change() {
    let sketch = small();
    let mut expected = Vec::from(SMALL.map(Value::Integer));
    for (pane, total) in [(8, 3), (13, 4)] {
        expected.extend([pane, total, 0].map(Value::Integer));
        expected.push(Value::Bytes(vec![total as u8; 3]));
    }
    assert_eq!(Vec::from(saved(&sketch).values), expected);
    let mut header = b"CMSWIN3\xff".to_vec();
    for number in SMALL.into_iter().chain([8, 3, 0, 13, 4, 0]) {
        header.extend_from_slice(&number.to_le_bytes());
    }
    assert_eq!(sketch.header().unwrap(), header);
    let chunks = [(1, 4, [3; 3]), (4, 7, [4; 3])];
    for (iterator, next, chunk) in chunks {
        assert_eq!(sketch.chunk(iterator, 100), Some((next, &chunk[..])));
    }
    assert_eq!(sketch.chunk(7, 100), None);
    let counts = (sketch.query(b"a", Panes::ALL), sketch.total(Panes::ALL));
    assert_eq!(counts, (7, 7));
}

/// The cells of an item, from an implementation in Python.
#[test]
fn the_cells_of_an_item_do_not_change() {
    let mut sketch = sketch((2000, 4, CellSize::One), 2);
    increment(&mut sketch, b"apple", 1).unwrap();
    for pane in sketch.panes.contents_mut() {
        pane.convert::<u8>(sketch.grid, Budget::UNLIMITED).unwrap();
    }
    let cells = sketch.arrays().next().unwrap().iter();
    let cells: Vec<_> =
        ((cells.enumerate().filter(|(_, cell)| **cell == 1)).map(|(at, _)| at)).collect();
    assert_eq!(cells, [1192, 2845, 5367, 7662]);
}

#[test]
fn every_rule_of_the_values_is_checked() {
    let load = |values: &mut Values| CountMinWindow::load(values, 3, &());
    const ORDER: &str = "a pane is not live or not in order";
    check_rules(
        &saved(&small()),
        load,
        &[
            (0, Integer(0), "the window is out of range"),
            (1, Integer(101), "the window is out of range"),
            (2, Integer(u64::MAX), "the newest pane is out of range"),
            (2, Integer(12), ORDER),
            (3, Integer(4), "the window is out of range"),
            (4, Integer(0), "a width or depth out of range"),
            (4, Integer(2), "a string has another length"),
            (5, Integer(33), "a width or depth out of range"),
            (6, Integer(3), "no such cell size"),
            (9, Integer(8), "the number of panes is out of range"),
            (10, Integer(9), ORDER),
            (10, Integer(7), ORDER),
            (10, Integer(16), ORDER),
            (11, Integer(0), "a total out of range"),
            (11, Integer(1 << 63), "a total out of range"),
            (11, Integer(2), "a cell above the total of its pane"),
            (12, Integer(1), "too many entries for a pane"),
            (13, Bytes(vec![3; 2]), "a string has another length"),
            (
                13,
                Bytes(vec![3, 3, 4]),
                "a cell above the total of its pane",
            ),
            (14, Integer(8), ORDER),
            (
                15,
                Integer(i64::MAX.cast_unsigned()),
                "a total out of range",
            ),
        ],
    );
}

/// Exact counts.
#[test]
fn every_rule_of_the_entries_is_checked() {
    let mut sketch = sketch((600, 4, CellSize::One), 3);
    increment(&mut sketch, b"a", 3).unwrap();
    increment(&mut sketch, b"b", 255).unwrap();
    let hashes = [&b"a"[..], b"b"].map(|item| sketch.grid.rows.hash(item));
    let mut entries = [(hashes[0], 3), (hashes[1], 255)];
    entries.sort_unstable();
    let at = usize::from(entries[1].1 == 255);
    let stored = Vec::from(saved(&sketch).values);
    // The pane begins at its first unit, which is followed by its total.
    let expected = [
        0,
        258,
        2,
        entries[0].0,
        entries[0].1,
        entries[1].0,
        entries[1].1,
    ];
    assert_eq!(stored[10..], expected.map(Value::Integer));
    let load = |values: &mut Values| CountMinWindow::load(values, 3, &());
    let (three, full) = (14 + 2 * (1 - at), 14 + 2 * at);
    check_rules(
        &saved(&sketch),
        load,
        &[
            (11, Integer(257), "counts and total of a pane differ"),
            (11, Integer(254), "a count out of range"),
            (12, Integer(38), "too many entries for a pane"),
            (12, Integer(u64::MAX), "too many entries for a pane"),
            (13, Integer(entries[1].0), "entries are not in order"),
            (15, Integer(entries[0].0), "entries are not in order"),
            (three, Integer(0), "a count out of range"),
            (three, Integer(4), "counts and total of a pane differ"),
            (full, Integer(256), "a count out of range"),
            (full, Integer(254), "counts and total of a pane differ"),
        ],
    );
    // A count that became the maximum of a cell is below the increments.
    let mut saturated = saved(&sketch);
    saturated.values[11] = Integer(300);
    assert!(load(&mut saturated).is_ok());
    let header = sketch.header().unwrap();
    let loaded = CountMinWindow::from_header(&header, Budget::UNLIMITED).unwrap();
    assert_eq!(loaded, sketch);
    assert_eq!(loaded.arrays().count(), 0);
}

/// In a chunk that begins and ends anywhere in a cell.
#[test]
fn chunks_with_cells_above_the_total_are_refused() {
    for cell_size in ALL_SIZES {
        let mut original = sketch((70, 4, cell_size), 3);
        for pane in 4..=8 {
            original.advance(pane);
            // The first pane stays exact: chunks are parts of arrays.
            for item in 0..if pane == 4 { 1 } else { 40u8 } {
                increment(&mut original, &[item], pane.cast_signed() % 3 + 1).unwrap();
            }
        }
        let before = saved(&original);
        let len = original.grid.array_bytes as usize;
        // A pane has a total of 40 to 120.
        let (mut loaded, mut refused) = (0, 0);
        for start in 0..40 {
            for chunk_len in 1..20 {
                for byte in [0, 1, 0x7f] {
                    let end = (len + start + chunk_len + 1) as i64;
                    match original.load_chunk(end, &vec![byte; chunk_len]) {
                        Ok(()) => {
                            loaded += 1;
                            assert!(load(saved(&original)).is_ok());
                            original = load(before.clone()).unwrap();
                        }
                        Err(error) => {
                            refused += 1;
                            let text = "a cell above the total of its pane";
                            assert_eq!(error, ChunkError::Invalid(text));
                            assert_eq!(saved(&original), before);
                        }
                    }
                }
            }
        }
        assert!(loaded > 700 && refused > 700, "{loaded} {refused}");
        assert_eq!(original.load_chunk(7, &[]), Ok(()));
        assert_eq!(saved(&original), before);
    }
}
