//! The stored forms.

use super::*;
use crate::format::FormatError;
use crate::format::chunks::ChunkError;
use crate::testing::check_rules;
use crate::window::Panes;
use roughly_dump::Value::{self, Bytes, Integer};
use roughly_dump::{Writer, type_id};

/// One row of each cell; pane 5 has expired, and its cells are still in the slot of pane 8.
fn small() -> CountMinWindow {
    let mut sketch = sketch((1, 3, CellSize::One), 2);
    for (pane, by) in [(5, 1), (6, 2)] {
        sketch.advance(pane);
        increment(&mut sketch, b"a", by).unwrap();
    }
    sketch.advance(8);
    sketch
}

fn small_values() -> Vec<Value> {
    let numbers = [1 << 20, 2, 8, 1, 3, 1, 0, 2].map(Value::Integer);
    let mut values = Vec::from(numbers);
    values.push(Value::Bytes(vec![2, 0]));
    for (pane, total, cell) in [(6, 2, 2), (8, 0, 1)] {
        values.extend([pane, total].map(Value::Integer));
        values.push(Value::Bytes(vec![cell; 3]));
    }
    values
}

#[test]
fn the_format_does_not_change() {
    let sketch = small();
    assert_eq!(Vec::from(values(&sketch).values), small_values());
    let mut header = b"CMSWIN1\xff".to_vec();
    for number in [1 << 20, 2, 8, 1, 3, 1, 0, 2, 6, 2, 8, 0, 2u64] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    header.extend_from_slice(&[2, 0]);
    assert_eq!(sketch.header().unwrap(), header);
    let chunks = [(1, 4, [2; 3]), (4, 7, [1; 3])];
    for (iterator, next, chunk) in chunks {
        assert_eq!(sketch.chunk(iterator, 100), Some((next, &chunk[..])));
    }
    assert_eq!(sketch.chunk(7, 100), None);
    assert_eq!(
        (sketch.query(b"a", Panes::ALL), sketch.total(Panes::ALL)),
        (2, 2)
    );
}

#[test]
fn every_rule_of_the_values_is_checked() {
    let load = |values: &mut Values| CountMinWindow::load(values, 1, &());
    // The newest pane is that of 8; the first one with cells is 6. There is one block.
    check_rules(
        &values(&small()),
        load,
        &[
            (0, Integer(0), "the window is out of range"),
            (1, Integer(1001), "the window is out of range"),
            (2, Integer(u64::MAX), "the newest pane is out of range"),
            (2, Integer(7), "the number of a pane is out of range"),
            (3, Integer(0), "a width or depth out of range"),
            (3, Integer(2), "width, depth and cells do not fit"),
            (4, Integer(1 << 63), "a width or depth out of range"),
            (5, Integer(3), "no such cell size"),
            (6, Integer(1), "an age or the cursor is out of range"),
            (6, Integer(u64::MAX), "an age or the cursor is out of range"),
            (7, Integer(4), "more panes than the window has"),
            (7, Integer(0), "the ages do not fit the cells"),
            (8, Bytes(vec![]), "cells of a pane without increments"),
            (8, Bytes(vec![2]), "the ages do not fit the cells"),
            (8, Bytes(vec![2, 0, 0, 0]), "the ages do not fit the cells"),
            (8, Bytes(vec![0, 0]), "an age or the cursor is out of range"),
            (8, Bytes(vec![4, 0]), "an age or the cursor is out of range"),
            (8, Bytes(vec![2, 1]), "an age or the cursor is out of range"),
            (9, Integer(5), "the number of a pane is out of range"),
            (9, Integer(8), "the number of a pane is out of range"),
            (10, Integer(1 << 63), "a total above its maximum"),
            (10, Integer(0), "cells of a pane without increments"),
            (11, Bytes(vec![2; 2]), "width, depth and cells do not fit"),
            (12, Integer(6), "the number of a pane is out of range"),
            (12, Integer(9), "the number of a pane is out of range"),
            (13, Integer(u64::MAX), "a total above its maximum"),
            (14, Bytes(vec![254; 3]), "a cell above its maximum"),
        ],
    );
    for version in [0, 2] {
        let refused = CountMinWindow::load(&mut values(&small()), version, &());
        assert_eq!(refused, Err(FormatError::UnknownVersion(version)));
    }
}

#[test]
fn headers_of_other_types_are_refused() {
    let header = small().header().unwrap();
    for len in 0..header.len() {
        assert!(CountMinWindow::from_header(&header[..len], Budget::UNLIMITED).is_err());
        assert!(CountMin::from_header(&header[..len], Budget::UNLIMITED).is_err());
    }
    let longer = [header.as_slice(), &[0]].concat();
    assert!(CountMinWindow::from_header(&longer, Budget::UNLIMITED).is_err());
    assert!(CountMin::from_header(&header, Budget::UNLIMITED).is_err());
    let classic = super::super::super::tests::sketch(7, 3, CellSize::Two);
    let classic = classic.header().unwrap();
    assert!(CountMinWindow::from_header(&classic, Budget::UNLIMITED).is_err());
    let mark = u64::from_le_bytes(CountMinWindow::HEADER_MARK.try_into().unwrap());
    assert!(Shape::new(mark, 1, CellSize::One).is_err());
}

#[test]
fn chunks_keep_the_sums() {
    for cell_size in [
        CellSize::One,
        CellSize::Two,
        CellSize::Four,
        CellSize::Eight,
    ] {
        let mut original = sketch((700, 4, cell_size), 3);
        for pane in 5..=8 {
            original.advance(pane);
            for item in 0..200u8 {
                increment(&mut original, &[item], pane.cast_signed() % 3 + 1).unwrap();
            }
        }
        original.advance(9);
        let before = values(&original);
        let len = original.sum.cells.len();
        // 0xff takes cells or sums above their maximum if the chunk contains the last byte of a cell.
        let (mut loaded, mut refused) = (0, 0);
        for start in 0..40 {
            for chunk_len in 1..20 {
                for byte in [0, 1, 0xff] {
                    let end = (len + start + chunk_len + 1) as i64;
                    match original.load_chunk(end, &vec![byte; chunk_len]) {
                        Ok(()) => {
                            loaded += 1;
                            check_invariants(&original);
                            original = load(before.clone()).unwrap();
                        }
                        Err(error) => {
                            refused += 1;
                            assert_eq!(error, ChunkError::Invalid("a cell above its maximum"));
                            assert_eq!(values(&original), before);
                        }
                    }
                }
            }
        }
        assert!(loaded > 800 && refused > 20, "{loaded} {refused}");
        for (iterator, len, error) in [
            (0, 1, ChunkError::BadIterator),
            (3, 4, ChunkError::BadIterator),
            (i64::MAX, 4, ChunkError::NoArray),
            (len as i64 + 3, 4, ChunkError::TooLong),
        ] {
            assert_eq!(original.load_chunk(iterator, &vec![9; len]), Err(error));
        }
        assert_eq!(original.load_chunk(7, &[]), Ok(()));
        assert_eq!(values(&original), before);
    }
}

#[test]
fn a_payload_is_at_most_as_long_as_announced() {
    let mut sketch = sketch((1 << 14, 5, CellSize::Eight), 100);
    for pane in 0..50 {
        let mut payload = Writer::new(type_id(b"cmswindow", 1));
        sketch.save(&mut payload);
        assert!(payload.finish().len() as u64 <= sketch.payload_bytes());
        sketch.advance(u64::MAX - 100 + pane / 2);
        increment(&mut sketch, b"a", 1 << 56).unwrap();
    }
}

#[test]
fn every_part_of_the_state_is_digested() {
    let digest = |sketch: &CountMinWindow| {
        let mut bytes = Vec::new();
        sketch.digest(&mut |part: &[u8]| bytes.extend_from_slice(part));
        bytes
    };
    let mut sketch = small();
    let mut digests = vec![digest(&sketch)];
    assert_eq!(digest(&sketch.try_clone().unwrap()), digests[0]);
    assert!(sketch.advance(9));
    digests.push(digest(&sketch));
    increment(&mut sketch, b"a", 1).unwrap();
    digests.push(digest(&sketch));
    increment(&mut sketch, b"a", 0).unwrap();
    assert_eq!(digest(&sketch), digests[2]);
    sketch.ages.add(1, 3);
    digests.push(digest(&sketch));
    sketch.panes[0].total += 1;
    digests.push(digest(&sketch));
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 5);
}
