//! t-digests: stored forms, and sequences against all samples.

use super::input::{CHUNKED, Input, Output};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::format::dump::Values;
use roughly_sketch::t_digest::TDigest;

/// Bytes for a stored form.
pub fn stored(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let version = input.byte();
    let digest = if version < CHUNKED {
        TDigest::load(&mut input, version.into())
    } else {
        TDigest::from_chunk(input.bytes(usize::MAX))
    };
    if let Ok(digest) = digest {
        exercise(digest);
    }
}

/// All that can be asked of a digest, whatever it holds.
pub fn exercise(mut digest: TDigest) {
    ask(&digest);
    reloads(&digest);
    if let Ok(merged) = TDigest::merge(3, &[&digest, &digest], &allows) {
        assert_eq!(merged.observations(), 2 * digest.observations());
        ask(&merged);
        reloads(&merged);
    }
    let before = digest.observations();
    for count in [1, 2, 40] {
        if digest.add(&vec![0.5; count]).is_ok() {
            ask(&digest);
            reloads(&digest);
        }
    }
    assert!(digest.observations() >= before);
    assert!(digest.add(&[f64::NAN]).is_err() && digest.add(&[f64::INFINITY]).is_err());
    digest.reset();
    assert_eq!(digest.observations(), 0);
}

/// Every question; the answers are in range and change nothing.
fn ask(digest: &TDigest) {
    let before = fed(digest);
    let (min, max, all) = (digest.min(), digest.max(), digest.observations());
    let compressed = digest.compressed().expect("little memory");
    assert!(compressed.centroids().len() <= digest.figures().capacity as usize);
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
    assert_eq!(fed(digest), before, "a question changed the state");
}

fn fed(digest: &TDigest) -> Vec<u8> {
    let mut bytes = Vec::new();
    digest.digest(&mut |piece| bytes.extend_from_slice(piece));
    bytes
}

fn saved(digest: &TDigest) -> Values {
    let mut values = Values::default();
    digest.save(&mut values);
    values
}

/// What can be in memory can be saved and loaded, as values and in a chunk, and copied. Weights are
/// stored as doubles, so those above 2^53 may come back rounded; what came back is stable.
fn reloads(digest: &TDigest) {
    let again = TDigest::load(&mut saved(digest), 0).expect("saved by us");
    if digest.observations() < 1 << 53 {
        assert!(again == *digest, "another digest came back");
    }
    let copy = TDigest::from_chunk(&again.to_chunk().expect("little memory")).expect("our chunk");
    assert!(copy == TDigest::load(&mut saved(&again), 0).expect("saved by us"));
    assert!(digest.try_clone().expect("little memory") == *digest);
}

/// Bytes for a sequence of operations on two digests. The model keeps all samples.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let compression = i64::from(input.byte() % 40);
    let new = || TDigest::new(compression, &allows);
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
                digest = TDigest::merge(compression, &[&digest, &other, &digest], &allows)
                    .expect("little memory");
                model.extend_from_within(..);
                model.extend_from_slice(&other_model);
            }
            200..=203 => {
                digest.reset();
                model.clear();
            }
            204..=229 => digest = TDigest::load(&mut saved(&digest), 0).expect("saved by us"),
            _ => ask(&digest),
        }
        follows(&digest, &model);
    }
    ask(&digest);
    reloads(&digest);
}

fn add(digest: &mut TDigest, model: &mut Vec<f64>, values: &[f64]) {
    match digest.add(values) {
        Ok(()) => model.extend_from_slice(values),
        Err(_) => assert!(values.iter().any(|value| !value.is_finite())),
    }
}

/// Number, least and greatest of the samples are exact.
fn follows(digest: &TDigest, model: &[f64]) {
    assert_eq!(digest.observations(), model.len() as i64);
    if !model.is_empty() {
        let min = model.iter().copied().fold(f64::INFINITY, f64::min);
        let max = model.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(digest.min() == min && digest.max() == max);
    }
}

/// Seeds for [`stored`] of a payload of the peer.
pub fn seeds(values: &Values) -> Vec<Vec<u8>> {
    let digest = TDigest::load(&mut values.clone(), 0).expect("a golden payload");
    let mut stream = Output::values(0);
    digest.save(&mut stream);
    let mut chunk = stream.bytes.clone();
    chunk[0] = CHUNKED;
    vec![stream.bytes, chunk]
}
