//! Corrupt and hostile stored forms: nothing panics, and every operation works on a sketch that loads.

use super::super::super::MergeSource;
use super::*;
use crate::window::Panes;
use proptest::prelude::*;
use roughly_dump::Value;

fn allows(bytes: u64) -> bool {
    bytes < 1 << 18
}

/// Calls every operation; none may panic.
fn exercise(mut sketch: CountMinWindow) {
    check_invariants(&sketch);
    let copy = sketch.try_clone().unwrap();
    let newest = sketch.timeline().newest();
    for step in 0..4 {
        for by in [0, 1, 255, 1 << 32, i64::MAX, -1] {
            for item in [&b""[..], b"a", b"abcdefgh"] {
                let before = sketch.query(item, Panes::ALL);
                let result = sketch.increment(item, by, Budget::new(&allows));
                assert_eq!(sketch.query(item, Panes::ALL), result.unwrap_or(before));
            }
        }
        for current in [0, newest, newest + step + 1, u64::MAX] {
            let _ = (
                sketch.query(b"a", sketch.panes_in(current)),
                sketch.total(sketch.panes_in(current)),
            );
        }
        check_invariants(&sketch);
        sketch.advance(newest + step * step);
    }
    for weight in [0, 1, -1, 2, 1 << 33, i64::MIN] {
        let own = MergeSource {
            sketch: None,
            weight: 1,
        };
        let other = MergeSource {
            sketch: Some(&copy),
            weight,
        };
        let before = values(&sketch);
        let budget = Budget::new(&allows);
        let changed = sketch.merge_within(&[own, other], u64::MAX, budget);
        assert_eq!(changed == Ok(true), values(&sketch) != before);
        check_invariants(&sketch);
    }
    for sketch in [sketch, copy] {
        assert_eq!(load(values(&sketch)).as_ref(), Ok(&sketch));
        assert_eq!(from_chunks(&sketch, 100), sketch);
    }
}

/// Sketches with current and stale blocks, and with expired panes.
fn samples() -> Vec<CountMinWindow> {
    let mut samples = vec![sketch((3, 2, CellSize::Four), 2)];
    for (cell_size, shape, panes) in [
        (CellSize::One, (5, 2), 2),
        (CellSize::Eight, (60, 5), 3),
        (CellSize::Two, (40, 3), 100),
    ] {
        let mut sketch = sketch((shape.0, shape.1, cell_size), panes);
        for pane in 0..4 {
            sketch.advance(50 + pane);
            increment(&mut sketch, b"a", 3).unwrap();
            samples.push(sketch.try_clone().unwrap());
        }
        sketch.advance(55);
        samples.push(sketch.try_clone().unwrap());
        sketch.advance(5000);
        samples.push(sketch);
    }
    samples
}

#[test]
fn corrupt_values_never_panic() {
    let odd = [
        0,
        1,
        2,
        3,
        8,
        51,
        55,
        1 << 31,
        1 << 32,
        1 << 62,
        (1 << 63) - 1,
        u64::MAX,
    ];
    let (mut loaded, mut refused) = (0, 0);
    let mut attempt = |values: Values| match load(values) {
        Ok(sketch) => {
            loaded += 1;
            exercise(sketch);
        }
        Err(_) => refused += 1,
    };
    for sample in samples() {
        let valid = values(&sample);
        for field in 0..valid.values.len() {
            for number in odd {
                let mut values = valid.clone();
                match &mut values.values[field] {
                    Value::Bytes(bytes) if !bytes.is_empty() => {
                        let place = number as usize % bytes.len();
                        bytes[place] ^= (number as u8) | 1;
                    }
                    value => *value = Value::Integer(number),
                }
                attempt(values);
            }
            let mut values = valid.clone();
            if let Value::Bytes(bytes) = &mut values.values[field] {
                bytes.resize(bytes.len() / 2 + 9, 0xff);
            }
            attempt(values);
        }
    }
    assert!(loaded > 100 && refused > 500, "{loaded} {refused}");
}

proptest! {
    #[test]
    fn corrupt_headers_never_panic(
        sample in prop::sample::select((0..19usize).collect::<Vec<_>>()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        chunks in prop::collection::vec((0i64..3000, prop::collection::vec(any::<u8>(), 0..40)), 0..20),
    ) {
        let mut header = samples()[sample].header().unwrap();
        for (place, byte) in changes {
            let place = place.index(header.len());
            header[place] = byte;
        }
        if let Ok(mut sketch) = CountMinWindow::from_header(&header, Budget::new(&allows)) {
            for (iterator, chunk) in chunks {
                let before = values(&sketch);
                if sketch.load_chunk(iterator, &chunk).is_err() {
                    prop_assert_eq!(values(&sketch), before);
                }
            }
            exercise(sketch);
        }
    }
}
