//! Copies and loaded sketches continue as the original, from every position of the ring.

use super::super::TopKWindow;
use super::RankingCache;
use super::{
    Step, current, digest, listed, saved, shapes, sketch, steps, through_chunks, through_values,
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
    fn sketches_can_be_reloaded_at_every_position_of_the_ring(
        (k, width, depth, decay, _) in shapes(), panes in 1u64..5, after in steps(),
    ) {
        let mut original = sketch(k, width, depth, decay, panes);
        for pane in 0..2 * panes + 3 {
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
    let payload = saved(original).to_dump(type_id(b"tk-window", 2));
    prop_assert!(payload.len() as u64 <= original.payload_bytes());
    let others = [
        original.try_clone().unwrap(),
        through_values(original),
        through_chunks(original),
    ];
    for mut other in others {
        prop_assert_eq!(&other, original);
        prop_assert_eq!(digest(&other), digest(original));
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
        prop_assert_eq!(digest(&other), digest(&original));
        prop_assert_eq!(saved(&other), saved(&original));
        prop_assert_eq!(other.header(), original.header());
        prop_assert_eq!(&other, &original);
    }
    Ok(())
}

/// Two panes with a table and one without; a candidate in each place.
fn golden() -> TopKWindow {
    let mut sketch = sketch(2, 2, 1, 0.9, 3);
    sketch.advance(5);
    sketch.add(b"a", 3).unwrap();
    sketch.add(b"b", 2).unwrap();
    sketch.advance(7);
    sketch.add(b"c", 300).unwrap();
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
    let header: String = (sketch.header().unwrap().iter())
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(header, GOLDEN_HEADER.concat());
}

/// The window, its panes, the newest pane; k, width, depth, decay, random state; heap and list; total and table of each
/// pane; the candidates, each with the age of the pane that keeps it and its sum.
const GOLDEN_VALUES: [&str; 25] = [
    "3000",
    "3",
    "7",
    "2",
    "2",
    "1",
    "0.9",
    "4299613660330901360",
    "00000000000000002c01000002000000",
    "02000000010000002c01000002000000",
    "0",
    "",
    "5",
    "17f53cf2020000000000000000000000",
    "0",
    "",
    "300",
    "000000000000000010dea5ae2c010000",
    "2",
    "61",
    "2",
    "2",
    "63",
    "0",
    "0",
];
const GOLDEN_HEADER: [&str; 8] = [
    "544f504b57494e02b80b00000000000003000000000000000700000000000000",
    "020000000000000002000000000000000100000000000000cdccccccccccec3f",
    "70bf70ffd74bab3b010000000000000002000000000000000000000000000000",
    "0000000000000000050000000000000001000000000000000000000000000000",
    "00000000000000002c010000000000000100000000000000010000002c010000",
    "01000000000000000200000000000000010000002c0100000100000002000000",
    "0200000000000000010000000000000061000000000000000000000000",
    "010000000000000063",
];

#[test]
fn headers_of_the_sketch_without_a_window_are_refused_and_vice_versa() {
    let classic = TopK::new(2, 2, 1, 0.9, Budget::UNLIMITED).unwrap();
    let header = classic.header().unwrap();
    assert!(TopKWindow::from_header(&header, Budget::UNLIMITED).is_err());
    let header = golden().header().unwrap();
    assert!(TopK::from_header(&header, Budget::UNLIMITED).is_err());
    for version in [0, 1, 3] {
        let refused = TopKWindow::load(&mut saved(&golden()), version, &());
        assert_eq!(refused, Err(FormatError::UnknownVersion(version)));
    }
    let mut header = header;
    header[7] = 1;
    assert!(TopKWindow::from_header(&header, Budget::UNLIMITED).is_err());
}
