//! A model written from the spec, and the property that the sketch gives the same results.

use super::super::cell::ALL_SIZES;
use super::super::{CellSize, CountMin, CountMinError, MergeSource};
use crate::hash::murmur2;
use crate::memory::Budget;
use crate::stored::Stored;
use proptest::prelude::*;
use roughly_dump::{Value, Values};

/// A sketch with a vector per row, and integers that do not overflow in these tests.
#[derive(Debug, Clone, PartialEq)]
struct Model {
    rows: Vec<Vec<i128>>,
    total: i128,
    max: i128,
}

impl Model {
    fn new(width: usize, depth: usize, cell_size: CellSize) -> Self {
        Self {
            rows: vec![vec![0; width]; depth],
            total: 0,
            max: match cell_size.bytes() {
                8 => i64::MAX.into(),
                bytes => (1 << (8 * bytes)) - 1,
            },
        }
    }

    fn cells(&mut self, item: &[u8]) -> impl Iterator<Item = &mut i128> {
        (0u32..).zip(&mut self.rows).map(|(seed, row)| {
            let column = murmur2(item, seed) as usize % row.len();
            &mut row[column]
        })
    }

    fn query(&mut self, item: &[u8]) -> u64 {
        u64::try_from(*self.cells(item).min().unwrap()).unwrap()
    }

    fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        let mut next = self.clone();
        let mut sums = Vec::new();
        for cell in next.cells(item) {
            *cell += i128::from(by);
            sums.push(*cell);
        }
        next.total += i128::from(by);
        if sums.iter().any(|&sum| sum > self.max) || next.total > i64::MAX.into() {
            return Err(CountMinError::Overflow);
        }
        if sums.iter().any(|&sum| sum < 0) || next.total < 0 {
            return Err(CountMinError::Underflow);
        }
        *self = next;
        Ok(self.query(item))
    }

    fn increment_limited(
        &mut self,
        item: &[u8],
        by: i64,
        limit: u64,
    ) -> Result<u64, CountMinError> {
        let estimate = self.query(item);
        if u128::from(estimate) + u128::from(by.unsigned_abs()) > limit.into() {
            return Err(CountMinError::AboveLimit(estimate));
        }
        let result = self.increment(item, by);
        result.map_err(|_| CountMinError::AboveLimit(estimate))
    }

    /// The merged sketch; `sources` may contain the destination.
    fn merge(&self, sources: &[(&Model, i64)]) -> Result<Model, CountMinError> {
        let sum = |counts: &dyn Fn(&Model) -> i128, max: i128| {
            let mut sum = 0;
            for (source, weight) in sources {
                let product = counts(source) * i128::from(*weight);
                sum += product;
                if i64::try_from(product).is_err() || i64::try_from(sum).is_err() {
                    return Err(CountMinError::MergeOverflow);
                }
            }
            if (0..=max).contains(&sum) {
                Ok(sum)
            } else {
                Err(CountMinError::MergeOverflow)
            }
        };
        let mut merged = self.clone();
        merged.total = sum(&|source| source.total, i64::MAX.into())?;
        for (i, row) in merged.rows.iter_mut().enumerate() {
            for (j, cell) in row.iter_mut().enumerate() {
                *cell = sum(&|source| source.rows[i][j], self.max)?;
            }
        }
        Ok(merged)
    }

    /// The RDB values.
    fn values(&self, cell_size: CellSize) -> Values {
        let mut bytes = Vec::new();
        for cell in self.rows.iter().flatten() {
            bytes.extend_from_slice(&cell.to_le_bytes()[..cell_size.bytes() as usize]);
        }
        let numbers = [self.rows[0].len() as u64, self.rows.len() as u64];
        let total = u64::try_from(self.total).unwrap();
        let numbers = numbers.into_iter().chain([total]).map(Value::Integer);
        Values {
            values: numbers.chain([Value::Bytes(bytes)]).collect(),
        }
    }
}

fn values(sketch: &CountMin) -> Values {
    let mut values = Values::default();
    sketch.save(&mut values);
    values
}

/// Increments and weights, some at the limits of their ranges.
fn amount() -> impl Strategy<Value = i64> {
    let edges = [8, 16, 31, 32, 33, 63].into_iter().flat_map(|bit| {
        let power = 1i128 << bit;
        [power - 1, power, power + 1]
    });
    let mut edges: Vec<i64> = edges.filter_map(|edge| i64::try_from(edge).ok()).collect();
    edges.extend([0, i64::MIN]);
    edges.extend(edges.clone().into_iter().map(i64::wrapping_neg));
    prop_oneof![
        4 => -3i64..10,
        2 => prop::sample::select(edges),
        1 => -1000i64..70_000,
        1 => any::<i64>(),
    ]
}

fn shape() -> impl Strategy<Value = (usize, usize, CellSize)> {
    let depth = prop_oneof![8 => 1usize..12, 4 => 12usize..20, 1 => 20usize..300];
    (1usize..40, depth, prop::sample::select(&ALL_SIZES[..]))
}

/// Items from a small set, so that they collide, of different lengths.
fn item() -> impl Strategy<Value = Vec<u8>> {
    (0u8..12).prop_map(|n| vec![n; usize::from(n)])
}

fn increments() -> impl Strategy<Value = Vec<(Vec<u8>, i64)>> {
    prop::collection::vec((item(), amount()), 0..40)
}

fn counted(
    (width, depth, cell_size): (usize, usize, CellSize),
    increments: &[(Vec<u8>, i64)],
) -> (Model, CountMin) {
    let mut model = Model::new(width, depth, cell_size);
    let mut sketch = CountMin::new(width as u64, depth as u64, cell_size, Budget::UNLIMITED)
        .expect("a small sketch");
    let mut answers = Vec::new();
    let items = increments.iter().map(|(item, by)| (item.as_slice(), *by));
    sketch.increment_all(items, |_, answer| answers.push(answer));
    let expected: Vec<_> = increments
        .iter()
        .map(|(item, by)| model.increment(item, *by))
        .collect();
    assert_eq!(answers, expected);
    let mut one_by_one = CountMin::new(width as u64, depth as u64, cell_size, Budget::UNLIMITED)
        .expect("a small sketch");
    for ((item, by), answer) in increments.iter().zip(answers) {
        assert_eq!(one_by_one.increment(item, *by), answer);
    }
    assert_eq!(one_by_one, sketch);
    (model, sketch)
}

proptest! {
    #[test]
    fn counts_equal_those_of_the_model(shape in shape(), increments in increments()) {
        let (mut model, sketch) = counted(shape, &increments);
        prop_assert_eq!(values(&sketch), model.values(shape.2));
        let items: Vec<Vec<u8>> = (0u8..40).map(|n| vec![n; usize::from(n)]).collect();
        let mut estimates = Vec::new();
        sketch.query_all(items.iter().map(Vec::as_slice), |estimate| estimates.push(estimate));
        let expected: Vec<u64> = items.iter().map(|item| model.query(item)).collect();
        prop_assert_eq!(estimates, expected);
        prop_assert_eq!(sketch.query(b"\x05\x05\x05\x05\x05"), model.query(&[5; 5]));
    }

    #[test]
    fn limited_increments_equal_those_of_the_model(
        shape in shape(),
        commands in prop::collection::vec((increments(), amount()), 1..5),
    ) {
        let (mut model, mut sketch) = counted(shape, &[]);
        for (increments, limit) in commands {
            let limit = (limit & i64::MAX).unsigned_abs().max(1);
            let increments: Vec<_> = increments
                .iter()
                .map(|(item, by)| (item.as_slice(), by & i64::MAX))
                .collect();
            let expected: Vec<_> = increments
                .iter()
                .map(|&(item, by)| (by, model.increment_limited(item, by, limit)))
                .collect();
            let mut one_by_one = sketch.try_clone().unwrap();
            let mut answers = Vec::new();
            sketch.increment_all_limited(increments.iter().copied(), limit, |by, answer| {
                answers.push((by, answer));
            });
            prop_assert_eq!(&answers, &expected);
            for (&(item, by), (_, answer)) in increments.iter().zip(answers) {
                prop_assert_eq!(one_by_one.increment_limited(item, by, limit), answer);
            }
            prop_assert_eq!(&one_by_one, &sketch);
            prop_assert_eq!(values(&sketch), model.values(shape.2));
        }
    }

    #[test]
    fn merges_equal_those_of_the_model(
        shape in shape(),
        wide in any::<bool>(),
        increments in prop::collection::vec(increments(), 3),
        sources in prop::collection::vec((0usize..3, amount()), 0..12),
    ) {
        // Some have more cells than a block.
        let shape = (if wide { 1100 / shape.1 + shape.0 } else { shape.0 }, shape.1, shape.2);
        let mut sketches: Vec<_> = increments.iter().map(|some| counted(shape, some)).collect();
        let (model, mut sketch) = sketches.remove(0);
        let with_models: Vec<_> = sources
            .iter()
            .map(|&(i, weight)| (if i == 0 { &model } else { &sketches[i - 1].0 }, weight))
            .collect();
        let weighted: Vec<_> = sources
            .iter()
            .map(|&(i, weight)| MergeSource {
                sketch: i.checked_sub(1).map(|i| &sketches[i].1),
                weight,
            })
            .collect();
        let merged = model.merge(&with_models);
        let expected = merged.as_ref().map(|merged| *merged != model).map_err(|&error| error);
        prop_assert_eq!(sketch.merge(&weighted), expected);
        prop_assert_eq!(values(&sketch), merged.unwrap_or(model).values(shape.2));
    }

    // Nearly all merges of arbitrary increments overflow; these rarely do.
    #[test]
    fn merges_without_overflow_equal_those_of_the_model(
        shape in shape(),
        counts in prop::collection::vec(prop::collection::vec((item(), 0i64..9), 0..20), 3),
        weights in prop::array::uniform3(-1i64..4),
        repeats in 1usize..5,
    ) {
        let mut sketches: Vec<_> = counts.iter().map(|some| counted(shape, some)).collect();
        let (model, mut sketch) = sketches.remove(0);
        let [own, first, second] = weights;
        let operands = [
            (&sketches[0].0, first), (&model, own), (&sketches[1].0, second), (&sketches[0].0, 1),
        ];
        let merged = model.merge(&operands.repeat(repeats));
        let other = |i: usize, weight| MergeSource { sketch: Some(&sketches[i].1), weight };
        let own = MergeSource { sketch: None, weight: own };
        let operands = [other(0, first), own, other(1, second), other(0, 1)];
        let done = sketch.merge(&operands.repeat(repeats));
        prop_assert_eq!(done.map(|_| ()), merged.as_ref().map(|_| ()).map_err(|&error| error));
        prop_assert_eq!(values(&sketch), merged.unwrap_or(model).values(shape.2));
    }
}
