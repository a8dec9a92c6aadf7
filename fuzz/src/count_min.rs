//! Count-min sketches: stored forms, and sequences against exact counts.

use super::input::{CHUNKED, Input, Output};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::count_min::stored::ENCODING_VERSION;
use roughly_sketch::count_min::{CellSize, CountMin, Weighted};
use roughly_sketch::format::dump::Values;
use std::collections::HashMap;

/// Bytes for a stored form.
pub fn stored(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let version = input.byte();
    if version < CHUNKED {
        if let Ok(sketch) = CountMin::load(&mut input, version.into()) {
            exercise(sketch);
        }
        return;
    }
    let len = input.u16();
    let Ok(mut sketch) = CountMin::from_header(input.bytes(len.into()), &allows) else {
        return;
    };
    while !input.is_empty() {
        let (iterator, chunk) = input.chunk();
        let _ = sketch.load_chunk(iterator, chunk);
        let _ = sketch.increment(&chunk[..chunk.len().min(16)], iterator);
    }
    exercise(sketch);
}

/// All that can be asked of a sketch, whatever it holds.
pub fn exercise(mut sketch: CountMin) {
    reloads(&sketch);
    let copy = sketch.try_clone().expect("little memory");
    let amounts = [0, 1, -1, 255, 1 << 32, i64::MAX, i64::MIN];
    let items = [&b""[..], b"a", b"abcdefgh"];
    let mut together = sketch.try_clone().expect("little memory");
    let mut answers = Vec::new();
    for by in amounts {
        together.increment_all(items.into_iter().map(|item| (item, by)), |_, answer| {
            answers.push(answer);
        });
    }
    let mut answers = answers.into_iter();
    for by in amounts {
        for item in items {
            let before = sketch.query(item);
            let result = sketch.increment(item, by);
            assert_eq!(sketch.query(item), result.unwrap_or(before));
            assert_eq!(answers.next(), Some(result));
        }
    }
    assert_eq!(together, sketch);
    let mut estimates = Vec::new();
    sketch.query_all(items.into_iter(), |estimate| estimates.push(estimate));
    assert_eq!(estimates, items.map(|item| sketch.query(item)));
    for weight in [0, 1, -1, 2, 1 << 33, i64::MAX, i64::MIN] {
        let before = sketch.try_clone().expect("little memory");
        let own = Weighted {
            sketch: None,
            weight,
        };
        let other = Weighted {
            sketch: Some(&copy),
            weight,
        };
        match sketch.merge(&[own, other]) {
            Ok(changed) => assert_eq!(changed, before != sketch),
            Err(_) => assert_eq!(before, sketch),
        }
    }
    for iterator in [i64::MIN, -1, 0, 1, 2, 1 << 31, 1 << 32, i64::MAX] {
        let _ = sketch.chunk_at(iterator, 100);
        let _ = sketch.load_chunk(iterator, &[0xff; 8]);
        let _ = sketch.load_chunk(iterator, b"");
    }
    sketch.digest(&mut |_: &[u8]| ());
    reloads(&sketch);
}

/// What can be in memory can be saved and loaded, as values and in chunks, and copied.
fn reloads(sketch: &CountMin) {
    let mut values = Values::default();
    sketch.save(&mut values);
    assert_eq!(
        CountMin::load(&mut values, ENCODING_VERSION).as_ref(),
        Ok(sketch)
    );
    assert_eq!(&sketch.try_clone().expect("little memory"), sketch);
    let mut copy = CountMin::from_header(&sketch.header(), &|_| true).expect("our header");
    let mut iterator = 1;
    while let Some((chunk, next)) = sketch.chunk_at(iterator, 1000) {
        copy.load_chunk(next, chunk).expect("our chunk");
        iterator = next;
    }
    assert_eq!(&copy, sketch);
}

/// Exact counts: what a sketch never falls below.
type Counts<'a> = HashMap<&'a [u8], u64>;

/// Bytes for a sequence of operations on two sketches of one shape. Nothing is taken away that was not
/// added.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (width, depth) = (u64::from(input.byte()), u64::from(input.byte() % 20));
    let cell_size = CellSize::from_bytes(input.pick(&[1, 2, 4, 8])).expect("a size");
    let new = || CountMin::new(width, depth, cell_size, &allows);
    let (Ok(mut sketch), Ok(mut other)) = (new(), new()) else {
        return;
    };
    let (mut model, mut other_model) = (Counts::new(), Counts::new());
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=149 => {
                let item = input.item();
                let by = match input.byte() {
                    byte if byte < 250 => u64::from(byte),
                    _ => input.u64(),
                };
                let (query, total) = (sketch.query(item), sketch.total());
                match sketch.increment(item, by.cast_signed() & i64::MAX) {
                    Ok(count) => {
                        *model.entry(item).or_default() += by & i64::MAX.cast_unsigned();
                        assert_eq!(count, sketch.query(item));
                    }
                    Err(_) => assert_eq!((query, total), (sketch.query(item), sketch.total())),
                }
            }
            150..=189 => {
                let item = input.item();
                let count = model.entry(item).or_default();
                let by = u64::from(input.byte()).min(*count);
                sketch
                    .increment(item, -by.cast_signed())
                    .expect("it was added");
                *count -= by;
            }
            190..=219 => {
                std::mem::swap(&mut sketch, &mut other);
                std::mem::swap(&mut model, &mut other_model);
            }
            220..=239 => {
                let (own, others) = (input.byte() % 4, input.byte() % 4);
                let before = sketch.try_clone().expect("little memory");
                let sources = [
                    Weighted {
                        sketch: None,
                        weight: own.into(),
                    },
                    Weighted {
                        sketch: Some(&other),
                        weight: others.into(),
                    },
                ];
                if sketch.merge(&sources).is_ok() {
                    model
                        .values_mut()
                        .for_each(|count| *count *= u64::from(own));
                    for (item, count) in &other_model {
                        *model.entry(item).or_default() += count * u64::from(others);
                    }
                } else {
                    assert_eq!(sketch, before);
                }
            }
            240..=247 => {
                let mut values = Values::default();
                sketch.save(&mut values);
                sketch = CountMin::load(&mut values, ENCODING_VERSION).expect("saved by us");
            }
            _ => reloads(&sketch),
        }
        let total: u128 = model.values().map(|&count| u128::from(count)).sum();
        assert_eq!(u128::from(sketch.total()), total);
    }
    for (item, count) in model {
        assert!(sketch.query(item) >= count, "counted too little");
    }
    reloads(&sketch);
}

/// Seeds for [`stored`] of a payload of the peer.
pub fn seeds(values: &Values) -> Vec<Vec<u8>> {
    let sketch = CountMin::load(&mut values.clone(), 0).expect("a golden payload");
    let mut stream = Output::values(0);
    sketch.save(&mut stream);
    let mut chunked = Output::header(&sketch.header());
    let mut iterator = 1;
    while let Some((chunk, next)) = sketch.chunk_at(iterator, 1000) {
        chunked.chunk(next, chunk);
        iterator = next;
    }
    // Version 1 has the cell size after the total.
    let mut later = stream.bytes.clone();
    later[0] = 1;
    let cell_bytes = sketch.shape().cell_size().bytes().to_le_bytes();
    later.splice(25..25, cell_bytes);
    vec![stream.bytes, chunked.bytes, later]
}
