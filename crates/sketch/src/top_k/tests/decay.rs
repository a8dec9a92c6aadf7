//! Decay by geometric sampling has the distribution of single trials.
//!
//! The distribution of single trials is computed exactly, by updating the probabilities of all counts for every trial.
//! The samples are compared with it by Pearson's chi-square test. Seeds are fixed.

use super::super::decay::{Decay, Decayed};
use super::super::random::Random;

const SAMPLES: u32 = 20_000;

/// Cells with a lower expectation than this are combined with their neighbors.
const MIN_EXPECTED: f64 = 20.0;

/// The probabilities of the outcomes of `trials` trials on a bucket with `count`: first of being kept with each count
/// (index 1 to `count`; 0 is unused), then of being replaced with each number of trials left (index 1 to `trials`).
fn trial_by_trial(base: f64, count: usize, trials: usize) -> (Vec<f64>, Vec<f64>) {
    let chance: Vec<f64> =
        ((0..=count).map(|count| base.powi(i32::try_from(count).unwrap()))).collect();
    let mut kept = vec![0.0; count + 1];
    let mut taken = vec![0.0; trials + 1];
    kept[count] = 1.0;
    for left in (1..=trials).rev() {
        taken[left] = kept[1] * chance[1];
        for count in 1..=count {
            let gained = kept.get(count + 1).map_or(0.0, |p| p * chance[count + 1]);
            kept[count] = kept[count] * (1.0 - chance[count]) + gained;
        }
    }
    (kept, taken)
}

/// Pearson's statistic as a standard normal deviate (Wilson and Hilferty's approximation).
fn chi_square_deviate(observed: &[u32], probabilities: &[f64]) -> f64 {
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut cell = (0.0, 0.0);
    for (&observed, &probability) in observed.iter().zip(probabilities) {
        cell.0 += f64::from(observed);
        cell.1 += probability * f64::from(SAMPLES);
        if cell.1 >= MIN_EXPECTED {
            cells.push(std::mem::take(&mut cell));
        }
    }
    let last = cells.last_mut().unwrap();
    last.0 += cell.0;
    last.1 += cell.1;
    if cells.len() == 1 {
        // With one outcome only, every sample must have it.
        let all = (cells[0].0 - f64::from(SAMPLES)).abs() < 0.5;
        return if all { 0.0 } else { f64::INFINITY };
    }
    let statistic: f64 = cells.iter().map(|(o, e)| (o - e) * (o - e) / e).sum();
    let spread = 2.0 / (9.0 * (cells.len() - 1) as f64);
    ((statistic / (cells.len() - 1) as f64).cbrt() - (1.0 - spread)) / spread.sqrt()
}

#[test]
fn sampled_failures_have_the_distribution_of_single_trials() {
    let cases = [
        (0.9, 1, 1),
        (0.9, 5, 1),
        (0.9, 3, 10),
        (0.9, 20, 100),
        (0.9, 60, 1000),
        (0.9, 70, 10_000),
        (0.5, 4, 20),
        (0.5, 10, 1000),
        (0.999, 50, 60),
        (0.999, 300, 400),
        (0.99999, 30, 29),
        (0.1, 2, 100),
        (1e-3, 1, 1000),
    ];
    // Thirteen tests at 5.5 standard deviations: a correct program fails one of them with a
    // probability below 13 * 2e-8 < 1e-6.
    const MAX_DEVIATE: f64 = 5.5;
    let mut random = Random::from_seed(2018);
    for (base, count, trials) in cases {
        let (kept, taken) = trial_by_trial(base, count, trials);
        let probabilities = [kept, taken].concat();
        let decay = Decay::new(base);
        let mut observed = vec![0; probabilities.len()];
        for _ in 0..SAMPLES {
            let decayed = decay.apply(count as u32, trials as u32, &mut random);
            let outcome = match decayed {
                Decayed::Kept(kept) => kept as usize,
                Decayed::Replaced(left) => count + 1 + left as usize,
            };
            observed[outcome] += 1;
        }
        let deviate = chi_square_deviate(&observed, &probabilities);
        assert!(
            deviate < MAX_DEVIATE,
            "decay {base}, count {count}, {trials} trials: {deviate}"
        );
    }
}

#[test]
fn the_chi_square_test_detects_a_wrong_distribution() {
    // A decay of 0.905 in place of 0.9.
    let (kept, taken) = trial_by_trial(0.9, 20, 100);
    let probabilities = [kept, taken].concat();
    let mut observed = vec![0; probabilities.len()];
    let mut random = Random::from_seed(1);
    for _ in 0..SAMPLES {
        match Decay::new(0.905).apply(20, 100, &mut random) {
            Decayed::Kept(kept) => observed[kept as usize] += 1,
            Decayed::Replaced(left) => observed[21 + left as usize] += 1,
        }
    }
    assert!(chi_square_deviate(&observed, &probabilities) > 5.5);
}

#[test]
fn a_large_increment_draws_few_random_numbers() {
    let mut random = Random::from_seed(5);
    let stored = |random: Random| random.to_stored() & 0xffff_ffff_ffff;
    for count in [1, 80, 100, 400, 10_000] {
        let before = stored(random);
        Decay::new(0.9).apply(count, 100_000, &mut random);
        assert!(stored(random) - before <= 120);
    }
}
