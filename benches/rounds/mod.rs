//! Repeated measurements of one quantity, of which less is better, such as a time.
//!
//! Other work on the machine makes a round slower, never faster. So the result is the fastest round, and it is reliable if
//! the second fastest round is close to it.

use serde_json::{Value, json};

/// Largest difference between the two fastest rounds that agree, as a part of the fastest.
pub const AGREEMENT: f64 = 0.03;

/// The rounds of one measurement.
#[derive(Debug, Clone, Default)]
pub struct Rounds(Vec<f64>);

impl Rounds {
    /// Adds the result of a round.
    pub fn push(&mut self, value: f64) {
        let at = self.0.partition_point(|&other| other < value);
        self.0.insert(at, value);
    }

    /// The fastest round.
    ///
    /// # Panics
    /// If there is no round.
    #[must_use]
    pub fn fastest(&self) -> f64 {
        self.0[0]
    }

    /// The difference between the two fastest rounds, as a part of the fastest; infinite for fewer than two rounds.
    #[must_use]
    pub fn difference(&self) -> f64 {
        match self.0[..] {
            [first, second, ..] => second / first - 1.0,
            _ => f64::INFINITY,
        }
    }

    /// The difference between the slowest and the fastest round, as a part of the fastest.
    ///
    /// # Panics
    /// If there is no round.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.0[self.0.len() - 1] / self.0[0] - 1.0
    }

    /// Whether the two fastest rounds differ by at most [`AGREEMENT`].
    #[must_use]
    pub fn agree(&self) -> bool {
        self.difference() <= AGREEMENT
    }

    /// The result for a file: `fastest`, `spread`, `rounds`, and whether the fastest two `agree`.
    ///
    /// # Panics
    /// If there is no round.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "fastest": self.fastest(),
            "spread": self.spread(),
            "rounds": self.0.len(),
            "agree": self.agree(),
        })
    }
}

/// Repeats a measurement until two rounds agree: at least `min` and at most `max` times.
pub fn until_agreement(min: usize, max: usize, mut measure: impl FnMut() -> f64) -> Rounds {
    let mut rounds = Rounds::default();
    for round in 1..=max.max(1) {
        rounds.push(measure());
        if round >= min && rounds.agree() {
            break;
        }
    }
    rounds
}
