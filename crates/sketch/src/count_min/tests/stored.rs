//! The stored forms.

use super::super::cell::Cell;
use super::*;
use crate::format::FormatError;
use crate::format::chunks::ChunkError;
use crate::testing::check_rules;
use roughly_dump::Value::{self, Bytes, Integer};
use roughly_dump::Values;

fn stream(numbers: &[u64], cells: &[u8]) -> Values {
    let numbers = numbers.iter().map(|&number| Value::Integer(number));
    let values = numbers.chain([Value::Bytes(cells.to_vec())]).collect();
    Values { values }
}

fn load(numbers: &[u64], cells: &[u8]) -> Result<CountMin, FormatError> {
    let version = u16::from(numbers.len() == 4);
    CountMin::load(&mut stream(numbers, cells), version, &())
}

/// A sketch in which items 0 to 99 were incremented.
fn counted(width: u64, depth: u64, cell_size: CellSize) -> CountMin {
    let mut sketch = CountMin::new(width, depth, cell_size, Budget::UNLIMITED).unwrap();
    for item in 0..100u8 {
        sketch.increment(&[item], i64::from(item % 3)).unwrap();
    }
    sketch
}

#[test]
fn version_1_has_the_total_and_the_cell_size_in_either_order() {
    for (bytes, cell_size) in [1, 2, 4, 8].into_iter().zip(ALL_SIZES) {
        let cells = vec![1; 6 * bytes as usize];
        for total in [0, 1, 2, 3, 4, 8, 77] {
            let sketch = load(&[3, 2, total, bytes], &cells).unwrap();
            assert_eq!(load(&[3, 2, bytes, total], &cells).as_ref(), Ok(&sketch));
            let found = (sketch.total(), sketch.dimensions().cell_size());
            assert_eq!(found, (total, cell_size));
        }
        assert!(load(&[3, 2, bytes + 1, 16], &cells).is_err());
    }
    assert!(CountMin::load(&mut stream(&[3, 2, 0, 4], &[0; 24]), 2, &()).is_err());
}

#[test]
fn a_wrapped_total_is_loaded_as_the_maximum() {
    let total = |total| load(&[1, 1, total], &[0; 4]).unwrap().total();
    for wrapped in [1 << 63, u64::MAX] {
        assert_eq!(total(wrapped), MAX_TOTAL);
    }
    assert_eq!(total(MAX_TOTAL - 1), MAX_TOTAL - 1);
    let mut header = [1, 1, u64::MAX].map(u64::to_le_bytes).concat();
    let sketch = CountMin::from_header(&header, Budget::UNLIMITED).unwrap();
    assert_eq!(sketch.total(), MAX_TOTAL);
    header.truncate(23);
    let loaded = CountMin::from_header(&header, Budget::UNLIMITED);
    assert_eq!(loaded, Err(FormatError::Truncated));
}

#[test]
fn every_rule_of_the_values_is_checked() {
    let load_values = |values: &mut Values| CountMin::load(values, 0, &());
    let fit = "width, depth and cells do not fit";
    let rules = [
        (0, Integer(0), "no such cell size"),
        (1, Integer(0), "no such cell size"),
        (0, Integer(u64::MAX), "no such cell size"),
        (3, Bytes(vec![0; 23]), "no such cell size"),
        (3, Bytes(vec![0; 25]), fit),
        (3, Bytes(vec![0xff; 48]), "a cell above its maximum"),
    ];
    check_rules(&stream(&[2, 3, 0], &[0; 24]), load_values, &rules);
    let size = "the cell size does not fit the cells";
    let refused = load(&[2, 3, 0, 4], &[0; 48]);
    assert_eq!(refused, Err(FormatError::Invalid(size)));
    for (numbers, len) in [
        ([1, 0, 0], 0),
        ([1, 0, 0], 4),
        ([1, 1, 0], 0),
        ([1, 1, 0], 3),
        ([1, 1, 0], 16),
        ([1 << 32, 1 << 32, 0], 0),
        ([1 << 62, 4, 0], 4),
        ([i64::MAX as u64, 1, 0], 8),
        ([i64::MAX as u64, 2, 0], 8),
        ([u64::MAX, u64::MAX, 0], 1),
    ] {
        let refused = load(&numbers, &vec![0; len]);
        let is_refused = matches!(refused, Err(FormatError::Invalid(_)));
        assert!(is_refused, "{numbers:?} {len}");
    }
    assert!(load(&[1, 2, 0], &[0xff; 8]).is_ok());
}

#[test]
fn headers_contain_the_cell_size_unless_it_is_the_default() {
    for cell_size in ALL_SIZES {
        let header = counted(7, 3, cell_size).header().unwrap();
        let fields: Vec<u64> =
            ((header.as_chunks().0.iter()).map(|field| u64::from_le_bytes(*field))).collect();
        match cell_size {
            CellSize::Four => assert_eq!(fields, [7, 3, 99]),
            other => assert_eq!(fields, [7, 3, 99, other.bytes()]),
        }
        let longer = [header.as_slice(), &[0]].concat();
        assert!(CountMin::from_header(&longer, Budget::UNLIMITED).is_err());
        assert!(CountMin::from_header(&header[..header.len() - 1], Budget::UNLIMITED).is_err());
    }
    let header = [7, 3, 99, 4].map(u64::to_le_bytes).concat();
    assert!(CountMin::from_header(&header, Budget::UNLIMITED).is_ok());
    let header = [7, 3, 99, 3].map(u64::to_le_bytes).concat();
    assert!(CountMin::from_header(&header, Budget::UNLIMITED).is_err());
}

#[test]
fn memory_is_requested_before_a_header_is_loaded() {
    let header = |width| [width, 1, 0].map(u64::to_le_bytes).concat();
    let refused = |bytes| Err(FormatError::OutOfMemory(OutOfMemory { bytes }));
    let no = &|bytes| bytes < 4_000_000_000;
    let loaded = CountMin::from_header(&header(1 << 30), Budget::new(no));
    assert_eq!(loaded, refused(1 << 32));
    let loaded = CountMin::from_header(&header(1 << 62), Budget::UNLIMITED);
    assert_eq!(loaded, refused(u64::MAX));
    assert!(CountMin::from_header(&header(10), Budget::new(no)).is_ok());
}

#[test]
fn chunks_with_a_cell_above_its_maximum_are_refused() {
    let mut sketch = counted(10, 2, CellSize::Eight);
    let before = sketch.try_clone().unwrap();
    // Chunks of 1 to 20 bytes at every offset, with all bits set: refused if they contain the last byte of a cell.
    for start in 0..24 {
        for len in 1..=20 {
            let chunk = vec![0xff; len];
            let refused = (start..start + len).any(|byte| byte % 8 == 7);
            let iterator = (start + len + 1) as i64;
            match sketch.load_chunk(iterator, &chunk) {
                Ok(()) => assert!(!refused),
                Err(error) => {
                    assert_eq!(error, ChunkError::Invalid("a cell above its maximum"));
                    assert!(refused);
                }
            }
        }
    }
    let counts = u64::all(&sketch.cells);
    assert!(counts.iter().all(|&cell| u64::count(cell) <= MAX_TOTAL));
    let refused = sketch.increment(b"a", i64::MAX);
    assert_eq!(refused, Err(CountMinError::Overflow));
    assert_ne!(sketch, before);
}
