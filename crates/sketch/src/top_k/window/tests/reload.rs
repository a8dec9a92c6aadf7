//! Copies and loaded sketches continue as the original, from every set of panes.

use super::super::TopKWindow;
use super::RankingCache;
use super::{
    Step, current, fed, from_chunks, leveled, listed, of_units, reloaded, saved, shapes, steps,
};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::top_k::TopK;
use crate::window::Timed;
use proptest::prelude::*;
use roughly_dump::{Value, type_id};

proptest! {
    #[test]
    fn sketches_can_be_reloaded_with_every_set_of_panes(
        (k, width, depth, decay, _) in shapes(), panes in 1u64..5, units in prop::sample::select(vec![0u64, 16]), after in steps(),
    ) {
        let mut original = of_units((k, width, depth, decay), panes, units);
        for pane in 0..(2 * panes).max(units + 4) + 3 {
            original.advance(pane);
            if pane % 4 != 3 {
                for number in 0..6u8 {
                    original.add(&[number + pane as u8 / 2], u32::from(number) + 1).unwrap();
                }
            }
            continue_alike(&original, &after)?;
        }
    }
}

fn continue_alike(original: &TopKWindow, steps: &[Step]) -> Result<(), TestCaseError> {
    // The payload of the values is not larger than announced.
    let payload = saved(original).to_dump(type_id(b"tk-window", 4));
    prop_assert!(payload.len() as u64 <= original.payload_bytes());
    let others = [
        original.try_clone().unwrap(),
        reloaded(original),
        from_chunks(original, 100),
    ];
    for mut other in others {
        prop_assert_eq!(&other, original);
        prop_assert_eq!(fed(&other), fed(original));
        let mut original = original.try_clone().unwrap();
        for step in steps {
            match step {
                Step::Add(item, increment) => {
                    prop_assert_eq!(other.add(item, *increment), original.add(item, *increment));
                }
                Step::Advance(ahead) => {
                    let pane = original.timeline().newest() + ahead;
                    prop_assert_eq!(other.advance(pane), original.advance(pane));
                }
                Step::Read(ahead) => {
                    let current = current(&original, *ahead);
                    prop_assert_eq!(listed(&other, current), listed(&original, current));
                    let (mut cache, mut of_other) = <(RankingCache, RankingCache)>::default();
                    for number in 0..14 {
                        let item = &[number];
                        prop_assert_eq!(
                            other.query_at(item, other.panes_in(current), &mut of_other),
                            original.query_at(item, original.panes_in(current), &mut cache)
                        );
                        prop_assert_eq!(
                            other.count_at(item, other.panes_in(current)),
                            original.count_at(item, original.panes_in(current))
                        );
                    }
                }
            }
        }
        prop_assert_eq!(fed(&other), fed(&original));
        prop_assert_eq!(saved(&other), saved(&original));
        prop_assert_eq!(other.header(), original.header());
        prop_assert_eq!(&other, &original);
    }
    Ok(())
}

/// A merged pane, a closed one and the newest one; candidates in each place.
fn golden() -> TopKWindow {
    let mut sketch = leveled((2, 2, 1, 0.9), 1, 4);
    for (pane, item, count) in [(0, b"a", 3), (1, b"b", 2), (4, b"c", 9), (5, b"d", 300)] {
        sketch.advance(pane);
        sketch.add(item, count).unwrap();
    }
    sketch
}

#[test]
fn the_formats_never_change() {
    let sketch = golden();
    let values: Vec<String> = (saved(&sketch).values.iter())
        .map(|value| match value {
            Value::Integer(number) => format!("{number}"),
            Value::Double(number) => format!("{number:?}"),
            Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
        .collect();
    assert_eq!(values, GOLDEN_VALUES);
    let header: String =
        ((sketch.header().unwrap().iter()).map(|byte| format!("{byte:02x}"))).collect();
    assert_eq!(header, GOLDEN_HEADER.concat());
}

/// The window, its panes, the newest pane, its length; k, width, depth, decay, seed, random state; heap and list; the panes, each
/// with its first unit, its total, its table and the candidates that it lists; the candidates, each with its sum.
const GOLDEN_VALUES: [&str; 38] = [
    "4000",
    "1",
    "5",
    "1000",
    "2",
    "2",
    "1",
    "0.9",
    "2336916743072016755",
    "7088982968453331298",
    "9378665026673247024",
    "00000000000000002c01000004000000",
    "09000000030000002c01000004000000",
    "3",
    "0",
    "5",
    "0000000000000000f5623ce303000000cbbb49d30200000000000000000000000000000000000000",
    "2",
    "0",
    "1",
    "4",
    "9",
    "000000000000000040d8b1ff09000000000000000000000000000000000000000000000000000000",
    "1",
    "2",
    "5",
    "300",
    "0000000000000000073b41a12c010000000000000000000000000000000000000000000000000000",
    "0",
    "4",
    "61",
    "3",
    "62",
    "2",
    "63",
    "9",
    "64",
    "0",
];
const GOLDEN_HEADER: [&str; 11] = [
    "544f504b57494e04a00f00000000000001000000000000000500000000000000",
    "e803000000000000020000000000000002000000000000000100000000000000",
    "cdccccccccccec3f7369787465656e20627974657320616230033dc626b62782",
    "100000000000000000000000000000002c010000040000001000000000000000",
    "09000000030000002c0100000400000003000000000000000000000000000000",
    "0500000000000000020000000000000000000000000000000100000000000000",
    "0400000000000000090000000000000001000000000000000200000000000000",
    "05000000000000002c0100000000000000000000000000000400000000000000",
    "0100000000000000610300000000000000010000000000000062020000000000",
    "0000010000000000000063090000000000000001000000000000006400000000",
    "00000000",
];

#[test]
fn headers_of_the_sketch_without_a_window_are_refused_and_vice_versa() {
    let classic = TopK::new(2, 2, 1, 0.9, Budget::UNLIMITED).unwrap();
    let header = classic.header().unwrap();
    assert!(TopKWindow::from_header(&header, Budget::UNLIMITED).is_err());
    let header = golden().header().unwrap();
    assert!(TopK::from_header(&header, Budget::UNLIMITED).is_err());
    for version in [0, 1, 2, 3, 5] {
        let refused = TopKWindow::load(&mut saved(&golden()), version, &());
        assert_eq!(refused, Err(FormatError::UnknownVersion(version)));
    }
    let mut header = header;
    for earlier in [1, 2, 3] {
        header[7] = earlier;
        assert!(TopKWindow::from_header(&header, Budget::UNLIMITED).is_err());
    }
}

/// Each unit has k items of its own. The most frequent items of the window have most occurrences in a few units, and single ones in
/// others: merges remove them from the lists of panes, and `list_closing` selects them and the items of a pane with k items.
#[test]
fn sketches_whose_merged_panes_list_names_can_be_reloaded() {
    const K: u64 = 2;
    for (panes, units) in [(100, 0), (1, 100), (2, 100), (4, 100), (4, 1000)] {
        let mut sketch = of_units((K, 200, 5, 0.9), panes, units);
        for unit in 0..200u64 {
            sketch.advance(unit);
            for item in 0..K {
                sketch.add(&(K * unit + item).to_le_bytes(), 10).unwrap();
                match (unit + 5 * item) % 40 {
                    0 => _ = sketch.add(&[item as u8], 1000).unwrap(),
                    10 | 20 => _ = sketch.add(&[item as u8], 1).unwrap(),
                    _ => {}
                }
            }
            assert_eq!(reloaded(&sketch), sketch);
        }
    }
}
