//! t-digests: stored forms, and sequences of operations compared with all samples.

pub mod window;

use super::input::Input;
use super::stored::{self, Subject, reloaded};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;

impl Subject for TDigest {
    const DEFAULTS: () = ();

    /// Weights are stored as doubles, which cannot represent all integers above 2^53.
    const ROUNDS: bool = true;

    fn add(&mut self, _item: &[u8], number: i64) {
        let _ = TDigest::add(self, &[number as f64]);
    }

    fn exercise(self) {
        let mut digest = self;
        check_queries(&digest);
        reloads(&digest);
        if let Ok(merged) = TDigest::merge(3, &[&digest, &digest], Budget::new(&allows)) {
            assert_eq!(merged.observations(), 2 * digest.observations());
            check_queries(&merged);
            reloads(&merged);
        }
        let before = digest.observations();
        for count in [1, 2, 40] {
            if digest.add(&vec![0.5; count]).is_ok() {
                check_queries(&digest);
                reloads(&digest);
            }
        }
        assert!(digest.observations() >= before);
        assert!(digest.add(&[f64::NAN]).is_err() && digest.add(&[f64::INFINITY]).is_err());
        digest.reset();
        assert_eq!(digest.observations(), 0);
    }
}

/// Executes all queries. The results must be in range, and the queries must not change the digest.
fn check_queries(digest: &TDigest) {
    let before = stored::digest(digest);
    let (min, max, all) = (digest.min(), digest.max(), digest.observations());
    let compressed = digest.compressed().expect("enough memory");
    assert!(compressed.centroids().len() <= digest.info().capacity as usize);
    let weight: i64 = compressed.centroids().map(|node| node.weight).sum();
    assert_eq!(weight, all);
    for share in [0.0, 1e-9, 0.1, 0.5, 0.999, 1.0] {
        let quantile = compressed.quantile(share);
        assert_eq!(quantile.is_nan(), all == 0, "{quantile}");
        assert!(all == 0 || (min..=max).contains(&quantile), "{quantile}");
        let _ = compressed.trimmed_mean(share / 3.0, share / 3.0 + 0.5);
    }
    for value in [f64::MIN, -1.0, -0.0, 0.0, 0.5, 5e-324, f64::MAX, min, max] {
        let share = compressed.cdf(value);
        assert!(
            (0.0..=1.0).contains(&share) || all == 0 && share.is_nan(),
            "{share}"
        );
        assert!((-2..=all).contains(&compressed.rank(value)));
        assert!((-2..=all).contains(&compressed.revrank(value)));
    }
    for rank in [0, 1, all / 2, all - 1, all, i64::MAX] {
        let _ = (compressed.by_rank(rank), compressed.by_revrank(rank));
    }
    assert_eq!(stored::digest(digest), before, "a query changed the state");
}

/// Like [`stored::reloads`]. Up to 2^53 observations, the loaded digest must also be equal.
fn reloads(digest: &TDigest) {
    stored::reloads(digest);
    if digest.observations() < 1 << 53 {
        assert!(reloaded(digest) == *digest, "the loaded digest differs");
    }
}

/// Decodes `bytes` as a sequence of operations on two digests, and compares them with all samples.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let compression = i64::from(input.byte() % 40);
    let new = || TDigest::new(compression, Budget::new(&allows));
    let (Ok(mut digest), Ok(mut other)) = (new(), new()) else {
        assert_eq!(compression, 0);
        return;
    };
    let (mut model, mut other_model) = (Vec::new(), Vec::new());
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=99 => add(&mut digest, &mut model, &[input.double()]),
            100..=159 => {
                let (value, step) = (input.double(), input.double());
                let values: Vec<_> = (0..input.byte())
                    .map(|number| value + step * f64::from(number))
                    .collect();
                add(&mut digest, &mut model, &values);
            }
            160..=189 => {
                std::mem::swap(&mut digest, &mut other);
                std::mem::swap(&mut model, &mut other_model);
            }
            190..=199 if model.len() < 10_000 => {
                let compression = i64::from(input.byte() % 40) + 1;
                digest = TDigest::merge(
                    compression,
                    &[&digest, &other, &digest],
                    Budget::new(&allows),
                )
                .expect("enough memory");
                model.extend_from_within(..);
                model.extend_from_slice(&other_model);
            }
            200..=203 => {
                digest.reset();
                model.clear();
            }
            204..=229 => digest = reloaded(&digest),
            _ => check_queries(&digest),
        }
        check_against_model(&digest, &model);
    }
    check_queries(&digest);
    reloads(&digest);
}

fn add(digest: &mut TDigest, model: &mut Vec<f64>, values: &[f64]) {
    match digest.add(values) {
        Ok(()) => model.extend_from_slice(values),
        Err(_) => assert!(values.iter().any(|value| !value.is_finite())),
    }
}

/// Number, minimum and maximum of the samples are exact.
fn check_against_model(digest: &TDigest, model: &[f64]) {
    assert_eq!(digest.observations(), model.len() as i64);
    if !model.is_empty() {
        let min = model.iter().copied().fold(f64::INFINITY, f64::min);
        let max = model.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(digest.min() == min && digest.max() == max);
    }
}
