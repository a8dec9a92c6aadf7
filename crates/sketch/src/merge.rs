//! Code that the merges of several families share: different parameters, repeated sources, and the work limit.

use crate::memory::{OutOfMemory, with_capacity};

/// Bytes that one merge may read, as [`check_work`] counts them.
pub const MAX_BYTES: u64 = 1 << 32;

/// A merge would read more than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the merge would read {bytes} bytes")]
pub struct TooMuchWork {
    /// Bytes that it would read.
    pub bytes: u64,
}

/// Checks that a merge of this many operands may read `bytes` bytes. A destination and one source may always be
/// merged, whatever their size, because a larger merge can be split into such merges.
///
/// # Errors
/// [`TooMuchWork`] if there are more than two operands and more than `max_bytes` to read.
pub fn check_work(operands: usize, bytes: u64, max_bytes: u64) -> Result<(), TooMuchWork> {
    refuse_if!(operands > 2 && bytes > max_bytes => TooMuchWork { bytes });
    Ok(())
}

/// A parameter of the destination and of an operand differs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parameter} differs: {destination} and {operand}")]
pub struct Difference {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// Its value in the destination.
    pub destination: String,
    /// Its value in the first operand with a different one.
    pub operand: String,
}

/// Returns a [`Difference`] if the values are not equal.
pub(crate) fn check_equal<T: PartialEq + ToString>(
    parameter: &'static str,
    destination: T,
    operand: T,
) -> Result<(), Difference> {
    if destination == operand {
        return Ok(());
    }
    Err(Difference {
        parameter,
        destination: destination.to_string(),
        operand: operand.to_string(),
    })
}

/// The distinct operands among several.
#[derive(Debug, PartialEq, Eq)]
pub struct Distinct {
    /// For each distinct operand, the index of its first occurrence, in order.
    pub firsts: Vec<usize>,
    /// For each operand, its index among the distinct ones.
    pub numbers: Vec<usize>,
}

impl Distinct {
    /// Compares the operands by `keys`, which are equal for the same operand. Cost: a sort of the keys.
    ///
    /// # Errors
    /// [`OutOfMemory`] for the lists.
    pub fn of<K: Ord>(keys: impl ExactSizeIterator<Item = K>) -> Result<Self, OutOfMemory> {
        let operands = keys.len();
        let mut sorted = with_capacity(operands)?;
        let mut firsts = with_capacity(operands)?;
        let mut numbers = with_capacity(operands)?;
        sorted.extend(keys.zip(0..));
        sorted.sort_unstable();
        let same = || sorted.chunk_by(|(one, _), (other, _)| one == other);
        firsts.extend(same().map(|same| same[0].1));
        firsts.sort_unstable();
        numbers.resize(operands, 0);
        for same in same() {
            let number = firsts.partition_point(|&first| first < same[0].1);
            for (_, occurrence) in same {
                numbers[*occurrence] = number;
            }
        }
        Ok(Self { firsts, numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn operands_are_numbered_in_the_order_of_their_first_occurrences() {
        let distinct = Distinct::of([7, 3, 7, 7, 1, 3].into_iter()).unwrap();
        assert_eq!(distinct.firsts, [0, 1, 4]);
        assert_eq!(distinct.numbers, [0, 1, 0, 0, 2, 1]);
        let none = Distinct::of([0; 0].into_iter()).unwrap();
        assert_eq!((none.firsts.len(), none.numbers.len()), (0, 0));
    }

    #[test]
    fn the_limit_holds_for_more_than_two_operands() {
        assert_eq!(check_work(2, u64::MAX, 10), Ok(()));
        assert_eq!(check_work(3, 10, 10), Ok(()));
        assert_eq!(check_work(3, 11, 10), Err(TooMuchWork { bytes: 11 }));
        assert_eq!(check_work(usize::MAX, u64::MAX, u64::MAX), Ok(()));
    }

    proptest! {
        #[test]
        fn every_operand_has_the_number_of_its_first_occurrence(keys: Vec<u8>) {
            let distinct = Distinct::of(keys.iter()).unwrap();
            prop_assert!(distinct.firsts.is_sorted());
            for (occurrence, number) in distinct.numbers.into_iter().enumerate() {
                let first = keys.iter().position(|key| *key == keys[occurrence]);
                prop_assert_eq!(Some(distinct.firsts[number]), first);
            }
        }
    }
}
