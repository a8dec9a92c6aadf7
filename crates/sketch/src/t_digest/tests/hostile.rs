//! Corrupt stored forms: nothing panics, values that the spec excludes are refused, and every operation works on a
//! loaded digest.

use super::*;
use crate::memory::Budget;
use crate::stored::Stored;
use roughly_dump::Value;

// Indexes of the fields.
const COMPRESSION: usize = 0;
const MIN: usize = 1;
const MAX: usize = 2;
const CAPACITY: usize = 3;
const NODES: usize = 4;
const UNMERGED_NODES: usize = 5;
const WEIGHT: usize = 7;
const MEANS: usize = 9;

fn doubles() -> Vec<f64> {
    let mut doubles = vec![
        0.0,
        -0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        16.0,
        f64::MAX,
        5e-324,
        f64::INFINITY,
        f64::NAN,
        MAX_COMPRESSION.into(),
        f64::from(MAX_COMPRESSION) + 1.0,
    ];
    doubles.extend([31, 32, 53, 62, 63, 64].map(|exponent| 2f64.powi(exponent)));
    doubles.extend(doubles.clone().iter().map(|double| -double));
    doubles
}

const INTEGERS: [u64; 9] = [
    0,
    1,
    2,
    16,
    1 << 31,
    u32::MAX as u64,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Calls every operation.
fn exercise(mut digest: TDigest) {
    answers(&digest);
    let loaded = TDigest::load(&mut saved(&digest), 0, &()).unwrap();
    assert_eq!(loaded, digest);
    let _ = TDigest::merge(3, &[&digest, &loaded, &digest], Budget::UNLIMITED).map(|merged| {
        answers(&merged);
        TDigest::load(&mut saved(&merged), 0, &()).unwrap();
    });
    for count in [1, 2, 40] {
        if digest.add(&vec![0.5; count]).is_ok() {
            answers(&digest);
            TDigest::load(&mut saved(&digest), 0, &()).unwrap();
        }
    }
    assert!(TDigest::from_header(&digest.header().unwrap(), Budget::UNLIMITED).unwrap() == digest);
    digest.reset();
    assert_eq!(digest.observations(), 0);
}

fn bases() -> Vec<Values> {
    let many: Vec<f64> = Uniform(3).take(500).collect();
    [
        digest(1),
        digest_of(1, &[1.0]),
        digest_of(2, &[1.0, 2.0, 3.0]),
        digest_of(1, &many),
    ]
    .iter()
    .map(saved)
    .collect()
}

#[test]
fn single_faults_are_refused_or_harmless() {
    let mut loaded = 0;
    let mut refused = 0;
    let mut attempt = |mut values: Values| match TDigest::load(&mut values, 0, &()) {
        Ok(digest) => {
            loaded += 1;
            exercise(digest);
        }
        Err(_) => refused += 1,
    };
    for base in bases() {
        for at in 0..base.values.len() {
            let faults: Vec<Value> = match base.values[at] {
                Value::Double(_) => doubles().into_iter().map(Value::Double).collect(),
                _ => INTEGERS.map(Value::Integer).into(),
            };
            for fault in faults.into_iter().chain([Value::Bytes(vec![0; 8])]) {
                let mut values = base.clone();
                values.values[at] = fault;
                attempt(values);
            }
            let mut shorter = base.clone();
            shorter.values.remove(at);
            attempt(shorter);
            let mut cut = base.clone();
            cut.values.truncate(at);
            attempt(cut);
        }
    }
    assert!(
        loaded > 10 && refused > 1000,
        "{loaded} loaded, {refused} refused"
    );
}

#[test]
fn pairs_of_faults_are_refused_or_harmless() {
    let mut uniform = Uniform(5);
    let mut pick = |below: usize| (uniform.next().unwrap() * below as f64) as usize;
    let (bases, doubles) = (bases(), doubles());
    for _ in 0..20_000 {
        let mut values = bases[pick(bases.len())].clone();
        for _ in 0..2 {
            let at = pick(values.values.len());
            values.values[at] = match values.values[at] {
                Value::Double(_) => Value::Double(doubles[pick(doubles.len())]),
                _ => Value::Integer(INTEGERS[pick(INTEGERS.len())]),
            };
        }
        if let Ok(digest) = TDigest::load(&mut values, 0, &()) {
            exercise(digest);
        }
    }
}

#[test]
fn values_that_the_spec_excludes_are_refused() {
    let base = saved(&digest_of(2, &[1.0, 2.0, 3.0]));
    assert!(TDigest::load(&mut base.clone(), 0, &()).is_ok());
    let weights = MEANS + 3;
    let double = |at, value| (at, Value::Double(value));
    let integer = |at, value: i64| (at, Value::Integer(value as u64));
    let faults = [
        double(COMPRESSION, f64::NAN),
        double(COMPRESSION, f64::INFINITY),
        double(COMPRESSION, 0.0),
        double(COMPRESSION, -2.0),
        double(COMPRESSION, 2.5),
        double(COMPRESSION, 357_913_940.0),
        integer(CAPACITY, 21),
        integer(CAPACITY, 23),
        integer(CAPACITY, -1),
        integer(NODES, -1),
        integer(NODES, 23),
        integer(NODES, i64::MAX),
        integer(UNMERGED_NODES, 1),
        integer(UNMERGED_NODES, -1),
        double(MEANS, f64::NAN),
        double(MEANS, f64::NEG_INFINITY),
        double(MEANS, 2.5),
        double(MEANS + 2, 1.5),
        double(weights, 0.0),
        double(weights, 0.5),
        double(weights, 1.5),
        double(weights, -1.0),
        double(weights, f64::NAN),
        double(weights, 2.0),
        double(WEIGHT, 4.0),
        double(WEIGHT, f64::NAN),
        double(WEIGHT, -3.0),
        double(MIN, 1.5),
        double(MIN, f64::NAN),
        double(MIN, f64::NEG_INFINITY),
        double(MIN, 4.0),
        double(MAX, 2.5),
        double(MAX, f64::INFINITY),
    ];
    for (at, fault) in faults {
        let mut values = base.clone();
        values.values[at] = fault.clone();
        assert!(
            TDigest::load(&mut values, 0, &()).is_err(),
            "{at} {fault:?}"
        );
    }
}

#[test]
fn memory_grows_only_with_the_nodes_that_are_read() {
    let mut values = saved(&digest(1));
    values.values[COMPRESSION] = Value::Double(MAX_COMPRESSION.into());
    values.values[CAPACITY] = Value::Integer(capacity(MAX_COMPRESSION).into());
    values.values[NODES] = Value::Integer(2_000_000_000);
    assert_eq!(
        TDigest::load(&mut values, 0, &()),
        Err(crate::format::FormatError::Truncated)
    );
}
