//! Corrupt and hostile stored forms: nothing panics, and every operation works on a sketch that loads.

use super::super::{CountMin, MergeSource};
use super::golden::payload;
use crate::memory::Budget;
use crate::stored::Stored;
use proptest::prelude::*;
use roughly_dump::{Value, Values};

/// Calls every operation; none may panic.
fn exercise(mut sketch: CountMin) {
    let mut copy = sketch.try_clone().unwrap();
    assert_eq!(copy, sketch);
    for by in [0, 1, -1, 255, 1 << 32, i64::MAX, i64::MIN] {
        for item in [&b""[..], b"a", b"abcdefgh"] {
            let before = sketch.query(item);
            let result = sketch.increment(item, by);
            assert_eq!(sketch.query(item), result.unwrap_or(before));
        }
    }
    for weight in [0, 1, -1, 2, 1 << 33, i64::MAX, i64::MIN] {
        let own = MergeSource {
            sketch: None,
            weight,
        };
        let other = MergeSource {
            sketch: Some(&copy),
            weight,
        };
        let _ = sketch.merge(&[own, other]);
    }
    let mut again = CountMin::from_header(&sketch.header().unwrap(), Budget::UNLIMITED).unwrap();
    let mut iterator = 1;
    while let Some((next, chunk)) = sketch.chunk(iterator, 1 << 10) {
        again.load_chunk(next, chunk).unwrap();
        iterator = next;
    }
    assert_eq!(again, sketch);
    let _ = copy.load_chunk(9, &[0xff; 8]);
    let mut values = Values::default();
    copy.save(&mut values);
    assert_eq!(
        CountMin::load(&mut values, CountMin::ENCODING_VERSION, &()),
        Ok(copy)
    );
}

#[test]
fn corrupt_values_never_panic() {
    let odd = [
        0,
        1,
        2,
        4,
        8,
        1 << 31,
        (1 << 32) - 1,
        1 << 32,
        (1 << 63) - 1,
        1 << 63,
        u64::MAX,
    ];
    let (mut loaded, mut refused) = (0, 0);
    let mut attempt = |mut values: Values, version| match CountMin::load(&mut values, version, &())
    {
        Ok(sketch) => {
            loaded += 1;
            exercise(sketch);
        }
        Err(_) => refused += 1,
    };
    for name in ["cms-one", "cms-empty", "cms-saturated"] {
        let golden = payload("8.10", name);
        for version in [0, 1, 2] {
            for field in 0..golden.values.len() {
                for number in odd {
                    let mut values = golden.clone();
                    values.values[field] = Value::Integer(number);
                    attempt(values.clone(), version);
                    values.values.insert(2, Value::Integer(number));
                    attempt(values, version);
                }
                for double in [f64::NAN, f64::INFINITY, 1.0] {
                    let mut values = golden.clone();
                    values.values[field] = Value::Double(double);
                    attempt(values, version);
                }
                let mut values = golden.clone();
                values.values.truncate(field);
                attempt(values, version);
            }
            let Some(Value::Bytes(cells)) = golden.values.back() else {
                panic!("the cells come last");
            };
            for len in [0, 1, cells.len() / 2, cells.len() * 2, cells.len() + 1] {
                let mut values = golden.clone();
                let mut cells = cells.clone();
                cells.resize(len, 0xff);
                values.values[3] = Value::Bytes(cells);
                attempt(values, version);
            }
        }
    }
    // Each of the 11 numbers is a valid total of the 3 sketches in version 0. Nearly all other replacements are
    // invalid.
    assert!(loaded >= 33 && refused > 300, "{loaded} {refused}");
}

proptest! {
    #[test]
    fn every_operation_works_on_a_loaded_sketch(
        width in 0u64..6,
        depth in 0u64..6,
        others in prop::collection::vec(prop_oneof![0u64..10, any::<u64>()], 1..=2),
        cells in prop::collection::vec(prop_oneof![0u8..2, 0xfeu8..=0xff, Just(0x7f)], 0..80),
        fitting in prop::option::of(prop::sample::select(vec![1, 2, 4, 8])),
    ) {
        let mut cells = cells;
        if let Some(bytes) = fitting {
            cells.resize((width * depth * bytes) as usize, 1);
        }
        let numbers = [&[width, depth], others.as_slice()].concat();
        let version = u16::from(numbers.len() == 4);
        let numbers = numbers.into_iter().map(Value::Integer);
        let mut values = Values {
            values: numbers.chain([Value::Bytes(cells)]).collect(),
        };
        if let Ok(sketch) = CountMin::load(&mut values, version, &()) {
            exercise(sketch);
        }
    }

    #[test]
    fn arbitrary_headers_never_panic(header in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..40)) {
        if let Ok(sketch) = CountMin::from_header(&header, Budget::new(&|bytes| bytes < 1 << 16)) {
            exercise(sketch);
        }
    }
}
