//! The stored forms.

use super::*;
use crate::format::FormatError;
use crate::format::chunks::ChunkError;
use crate::window::Panes;
use roughly_dump::{Value, Writer, type_id};

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

fn loaded(values: Vec<Value>) -> Result<CountMinWindow, FormatError> {
    load(Values {
        values: values.into(),
    })
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
fn contradictory_values_are_refused() {
    assert_eq!(loaded(small_values()).as_ref(), Ok(&small()));
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    for (field, value) in [
        (0, Value::Integer(0)),
        (1, Value::Integer(1001)),
        (2, Value::Integer(u64::MAX)),
        // The newest pane is below those that are stored.
        (2, Value::Integer(7)),
        (3, Value::Integer(0)),
        (3, Value::Integer(2)),
        (4, Value::Integer(1 << 63)),
        (5, Value::Integer(3)),
        // There is one block.
        (6, Value::Integer(1)),
        (6, Value::Integer(u64::MAX)),
        (7, Value::Integer(4)),
        (7, Value::Integer(0)),
        (8, bytes(&[])),
        (8, bytes(&[2])),
        (8, bytes(&[2, 0, 0, 0])),
        (8, bytes(&[0, 0])),
        (8, bytes(&[4, 0])),
        (8, bytes(&[2, 1])),
        (9, Value::Integer(5)),
        (9, Value::Integer(8)),
        (10, Value::Integer(1 << 63)),
        // A pane without increments has no cells.
        (10, Value::Integer(0)),
        (11, bytes(&[2; 2])),
        (12, Value::Integer(6)),
        (12, Value::Integer(9)),
        (13, Value::Integer(u64::MAX)),
        // The sum of all panes exceeds the maximum.
        (14, bytes(&[254; 3])),
    ] {
        let mut values = small_values();
        values[field] = value.clone();
        let refused = loaded(values);
        assert!(
            matches!(refused, Err(FormatError::Invalid(_))),
            "{field} {value:?}"
        );
    }
    for len in 0..15 {
        assert_eq!(
            loaded(small_values()[..len].to_vec()),
            Err(FormatError::Truncated)
        );
    }
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
