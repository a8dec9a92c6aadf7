//! Corrupt stored forms: nothing panics, invalid values are refused, and every operation works on a loaded digest.

use super::*;
use crate::window::Panes;
use roughly_dump::Value;

const DOUBLES: [f64; 18] = [
    0.0,
    -0.0,
    0.5,
    1.0,
    1.5,
    2.0,
    3.0,
    -1.0,
    100.0,
    357_913_939.0,
    f64::MAX,
    f64::MIN,
    5e-324,
    f64::INFINITY,
    f64::NAN,
    9_007_199_254_740_992.0,
    4_611_686_018_427_387_904.0,
    9_223_372_036_854_775_808.0,
];

const INTEGERS: [u64; 13] = [
    0,
    1,
    2,
    3,
    5,
    16,
    1000,
    1 << 31,
    357_913_939,
    u32::MAX as u64,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Calls every operation.
fn exercise(mut digest: TDigestWindow) {
    let newest = digest.timeline().newest();
    for current in [0, newest, newest + 1, u64::MAX] {
        answers(&digest, current);
        let _ = digest.info_at(digest.panes_in(current));
        let source = digest
            .digest_at(
                digest.panes_in(current),
                &mut WindowCache::default(),
                Budget::UNLIMITED,
            )
            .unwrap();
        let _ = TDigest::merge(3, &[&source, &source], Budget::UNLIMITED).map(|merged| {
            merged.compressed().unwrap();
        });
    }
    for step in 0..4 {
        assert!(load(saved(&digest)).unwrap() == digest);
        let header = digest.header().unwrap();
        assert!(TDigestWindow::from_header(&header, Budget::UNLIMITED).unwrap() == digest);
        let _ = digest.add_within(&vec![0.5; 1 + 20 * step], Budget::UNLIMITED);
        answers(&digest, newest);
        digest.advance(digest.timeline().newest() + 1);
        answers(&digest, newest);
    }
    digest.advance(u64::MAX);
    answers(&digest, u64::MAX);
    digest.reset();
    assert!(digest.is_new());
}

/// A string of doubles with one of them replaced.
fn replaced(string: &[u8], at: usize, double: f64) -> Value {
    let mut string = string.to_vec();
    string[8 * at..8 * at + 8].copy_from_slice(&double.to_le_bytes());
    Value::Bytes(string)
}

/// Values of the same kind.
fn faults(value: &Value) -> Vec<Value> {
    match value {
        Value::Double(_) => DOUBLES.map(Value::Double).into(),
        Value::Integer(_) => INTEGERS.map(Value::Integer).into(),
        Value::Bytes(string) => {
            let doubles = (0..string.len() / 8)
                .flat_map(|at| DOUBLES.map(|double| replaced(string, at, double)));
            let shorter = [1, 8, string.len()].map(|cut| {
                let len = string.len().saturating_sub(cut);
                Value::Bytes(string[..len].to_vec())
            });
            let longer = [1, 8].map(|len| Value::Bytes([&string[..], &vec![0; len]].concat()));
            doubles.chain(shorter).chain(longer).collect()
        }
    }
}

fn bases() -> Vec<Values> {
    [(1, 1), (2, 5), (20, 3)]
        .map(|(compression, panes)| {
            let mut digest = window(compression, panes);
            let mut uniform = Uniform(11);
            for pane in [0, 3, 4, 6] {
                digest.advance(pane);
                (0..30).for_each(|_| add(&mut digest, &[uniform.normal()]));
            }
            saved(&digest)
        })
        .into()
}

#[test]
fn single_faults_are_refused_or_harmless() {
    let (mut loaded, mut refused) = (0, 0);
    let mut attempt = |values| match load(values) {
        Ok(digest) => {
            loaded += 1;
            exercise(digest);
        }
        Err(_) => refused += 1,
    };
    for base in bases() {
        for at in 0..base.values.len() {
            let others = [
                Value::Integer(1),
                Value::Double(1.0),
                Value::Bytes(vec![0; 8]),
            ];
            for fault in faults(&base.values[at]).into_iter().chain(others) {
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
    assert!(loaded > 50 && refused > 1000, "{loaded}, {refused}");
}

#[test]
fn pairs_of_faults_and_mutated_headers_are_refused_or_harmless() {
    let (mut uniform, bases) = (Uniform(17), bases());
    for _ in 0..10_000 {
        let mut values = bases[uniform.below(bases.len() as u64) as usize].clone();
        let mut header = load(values.clone()).unwrap().header().unwrap();
        for _ in 0..2 {
            let at = uniform.below(values.values.len() as u64) as usize;
            let mut faults = faults(&values.values[at]);
            values.values[at] = faults.swap_remove(uniform.below(faults.len() as u64) as usize);
            let at = uniform.below(header.len() as u64) as usize;
            header[at] ^= 1 << uniform.below(8);
        }
        let _ = load(values).map(exercise);
        let _ = TDigestWindow::from_header(&header, Budget::UNLIMITED).map(exercise);
    }
}

#[test]
fn invalid_panes_are_refused() {
    let mut digest = window(100, 4);
    digest.advance(4);
    add(&mut digest, &[2.0, 1.0]);
    digest.advance(6);
    add(&mut digest, &[-7.25]);
    let base = saved(&digest);
    assert!(load(base.clone()).is_ok());
    let closed_weights = 16;
    let faults = [
        (2, Value::Integer(9)),         // pane 4 has expired
        (4, Value::Integer(6)),         // more panes than there can be
        (5, Value::Integer(1)),         // not live
        (5, Value::Integer(6)),         // twice the same pane
        (3, Value::Integer(99)),        // another compression
        (6, Value::Double(99.0)),       // another compression
        (11, Value::Integer(1)),        // a closed pane with unmerged nodes
        (12, Value::Integer(0)),        // a closed pane that was not compressed
        (14, Value::Double(1.0)),       // unmerged weight without nodes
        (23, Value::Integer(2)),        // more unmerged nodes than nodes
        (24, Value::Integer(u64::MAX)), // negative compressions
        (26, Value::Double(2.0)),       // another weight of the unmerged nodes
    ];
    for (at, fault) in faults {
        let mut values = base.clone();
        values.values[at] = fault.clone();
        assert!(load(values).is_err(), "{at} {fault:?}");
    }
    // The weights of both panes overflow only together.
    let half = 2f64.powi(62);
    let mut values = base.clone();
    values.values[13] = Value::Double(half + 1024.0);
    values.values[closed_weights] = Value::Bytes(string_of(&[half, 1024.0]));
    let mut full = load(values.clone()).unwrap();
    assert_eq!(full.observations_at(Panes::ALL), (1 << 62) + 1025);
    values.values[25] = Value::Double(half);
    values.values[28] = Value::Bytes(string_of(&[half]));
    values.values[23] = Value::Integer(0);
    values.values[26] = Value::Double(0.0);
    assert!(load(values).is_err());
    add(&mut full, &[3.0]);
    answers(&full, 6);
}
