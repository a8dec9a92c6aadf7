//! Samples of the cases of large tests.
//!
//! Without the environment variable `ROUGHLY_SAMPLE`, all cases run, as in `make test-all`. With `ROUGHLY_SAMPLE=SEED
//! PART PARTS`, one of `PARTS` parts of them runs. .ci/run uses the date as the seed and prints it, and the number of the server in
//! the test matrix as the part: on the servers together, every case runs, except for the samples of [`Sample::thinned`] and
//! [`Sample::one_in`], whose cases run on successive days.

use std::env;

/// A part of the cases.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Changes which cases are in a part.
    seed: usize,
    part: usize,
    parts: usize,
}

impl Sample {
    pub fn new(seed: usize, part: usize, parts: usize) -> Self {
        Self { seed, part, parts }
    }

    pub fn of_run() -> Self {
        let Ok(text) = env::var("ROUGHLY_SAMPLE") else {
            return Self::new(0, 0, 1);
        };
        let numbers: Vec<_> = text.split(' ').map(|number| number.parse().ok()).collect();
        let [Some(seed), Some(part), Some(parts)] = numbers[..] else {
            panic!("ROUGHLY_SAMPLE must be SEED PART PARTS, not {text}");
        };
        assert!(part < parts, "ROUGHLY_SAMPLE: {text}");
        Self::new(seed, part, parts)
    }

    /// A sample of one in `by` of its cases, other ones with the next seed; all, if all cases are in the sample.
    #[allow(dead_code)] // Not all test programs use it.
    pub fn thinned(self, by: usize) -> Self {
        let parts = if self.is_all() { 1 } else { by * self.parts };
        Self { parts, ..self }
    }

    /// A sample of one in `by` of all cases, other ones with the next seed; all, if all cases are in the sample.
    #[allow(dead_code)] // Not all test programs use it.
    pub fn one_in(self, by: usize) -> Self {
        let parts = if self.is_all() { 1 } else { by };
        Self { parts, ..self }
    }

    /// Whether all cases are in the sample.
    #[allow(dead_code)] // Not all test programs use it.
    pub fn is_all(self) -> bool {
        self.parts == 1
    }

    /// Whether the case with this number is in the sample.
    pub fn contains(self, case: usize) -> bool {
        (case + self.seed + self.part).is_multiple_of(self.parts)
    }

    /// The cases that are in the sample.
    pub fn of<T>(self, cases: &[T]) -> impl Iterator<Item = &T> {
        let numbered = cases.iter().enumerate();
        let numbered = numbered.filter(move |(number, _)| self.contains(*number));
        numbered.map(|(_, case)| case)
    }

    /// All of the cases, or one of them: another one after `period` seeds.
    #[allow(dead_code)] // Not all test programs use it.
    pub fn one_of<T>(self, mut cases: Vec<T>, period: usize) -> Vec<T> {
        if self.parts > 1 && cases.len() > 1 {
            let chosen = (self.seed + self.part) / period % cases.len();
            cases = vec![cases.swap_remove(chosen)];
        }
        cases
    }
}
