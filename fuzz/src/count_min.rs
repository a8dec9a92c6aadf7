//! Count-min sketches: stored forms, and sequences of operations compared with exact counts.

pub mod window;

use super::input::Input;
use super::stored::{Subject, reloaded, reloads};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::count_min::{CellSize, CountMin, CountMinError, MergeSource};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use std::collections::HashMap;

impl Subject for CountMin {
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], number: i64) {
        let _ = self.increment(item, number);
    }

    fn exercise(self) {
        let mut sketch = self;
        let copy = sketch.try_clone().expect("enough memory");
        let amounts = [0, 1, -1, 255, 1 << 32, i64::MAX, i64::MIN];
        let items = [&b""[..], b"a", b"abcdefgh"];
        let mut together = sketch.try_clone().expect("enough memory");
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
            let before = sketch.try_clone().expect("enough memory");
            let own = MergeSource {
                sketch: None,
                weight,
            };
            let other = MergeSource {
                sketch: Some(&copy),
                weight,
            };
            match sketch.merge(&[own, other]) {
                Ok(changed) => assert_eq!(changed, before != sketch),
                Err(_) => assert_eq!(before, sketch),
            }
        }
        reloads(&sketch);
    }

    fn old_seeds(&self, latest: &[u8]) -> Vec<Vec<u8>> {
        // Version 1 also stores the cell size, after the total.
        let mut later = latest.to_vec();
        later[0] = 1;
        later.splice(25..25, self.shape().cell_size().bytes().to_le_bytes());
        vec![later]
    }
}

/// Exact counts: lower bounds of a sketch's estimates.
type Counts<'a> = HashMap<&'a [u8], u64>;

/// Decodes `bytes` as a sequence of operations on two sketches of the same shape, and compares them with exact
/// counts. The sequence only subtracts what it added.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (width, depth) = (u64::from(input.byte()), u64::from(input.byte() % 20));
    let cell_size = CellSize::from_bytes(input.pick(&[1, 2, 4, 8])).expect("a valid cell size");
    let new = || CountMin::new(width, depth, cell_size, Budget::new(&allows));
    let (Ok(mut sketch), Ok(mut other)) = (new(), new()) else {
        return;
    };
    let (mut model, mut other_model) = (Counts::new(), Counts::new());
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=39 => {
                let (item, by) = (input.item(), u64::from(input.byte()));
                let limit = u64::from(input.byte()) + 1;
                let query = sketch.query(item);
                match sketch.increment_limited(item, by.cast_signed(), limit) {
                    Ok(count) => {
                        assert!(count == query + by && count <= limit);
                        *model.entry(item).or_default() += by;
                    }
                    Err(error) => {
                        assert_eq!(error, CountMinError::AboveLimit(query));
                        // A cell can be at its maximum although the estimate is low.
                        assert!(
                            query + by > limit || sketch.increment(item, by.cast_signed()).is_err()
                        );
                    }
                }
                assert!(
                    model
                        .get(item)
                        .is_none_or(|count| *count <= sketch.query(item))
                );
            }
            40..=149 => {
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
                    .expect("decrements by at most the count");
                *count -= by;
            }
            190..=219 => {
                std::mem::swap(&mut sketch, &mut other);
                std::mem::swap(&mut model, &mut other_model);
            }
            220..=239 => {
                let (own, others) = (input.byte() % 4, input.byte() % 4);
                let before = sketch.try_clone().expect("enough memory");
                let sources = [
                    MergeSource {
                        sketch: None,
                        weight: own.into(),
                    },
                    MergeSource {
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
                sketch = reloaded(&sketch);
            }
            _ => reloads(&sketch),
        }
        let total: u128 = model.values().map(|&count| u128::from(count)).sum();
        assert_eq!(u128::from(sketch.total()), total);
    }
    for (item, count) in model {
        assert!(
            sketch.query(item) >= count,
            "the estimate is below the count"
        );
    }
    reloads(&sketch);
}
