//! Runs the checks of all types on 200,000 damaged stored forms and random sequences of operations. No case may panic or
//! hang.
//!
//! The random generator has fixed seeds, so every run executes the same cases. In an emulator (`ROUGHLY_TIME_FACTOR`), and
//! in .ci/run (`ROUGHLY_SAMPLE`), only a part of them is run.

use crate::damage::{Numbers, damage_bytes, damage_values};
use crate::time;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use roughly_dump::Values;
use roughly_models::{TYPES, Type, dump, seeds};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Applies one to three faults, most of them near the start, where the sizes are. One fault in ten replaces the end
/// with that of another seed.
fn damage(seed: &[u8], seeds: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=numbers.below(3) {
        let front = match numbers.below(3) {
            0 => bytes.len(),
            _ => bytes.len().min(120),
        };
        let mut at = numbers.below(front);
        if numbers.below(3) > 0 && at > 0 {
            // Most values have eight bytes; the first follows the one-byte version.
            at = (at - 1) / 8 * 8 + 1;
        }
        if numbers.below(10) == 0 {
            let other = &seeds[numbers.below(seeds.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[at.min(other.len())..]);
        } else {
            damage_bytes(&mut bytes, at, numbers);
        }
    }
    bytes
}

/// Runs a case; if it panics, prints its input.
fn run(case: fn(&[u8]), bytes: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| case(bytes))) {
        eprintln!("input: {bytes:?}");
        std::panic::resume_unwind(panic);
    }
}

/// Runs a case for every type, each in its own thread.
fn for_each_type(case: fn(&Type)) {
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            ((TYPES.iter()).map(|of| (of.name, scope.spawn(move || case(of))))).collect();
        for (name, thread) in threads {
            let has_passed = thread.join().is_ok();
            assert!(has_passed, "{name} failed; see the panic message above");
        }
    });
}

#[test]
fn damaged_stored_forms_are_rejected_or_usable() {
    for_each_type(|of| {
        let seeds = seeds::stored(of.name);
        assert!(seeds.len() > 5, "{}", of.name);
        let mut numbers = Numbers(0x5eed);
        for seed in &seeds {
            run(of.stored, seed);
        }
        for round in 0..time::cases(14_000) {
            let seed = &seeds[round % seeds.len()];
            run(of.stored, &damage(seed, &seeds, &mut numbers));
        }
    });
}

#[test]
fn sequences_of_operations_equal_the_model() {
    for_each_type(|of| {
        let config = Config {
            cases: time::cases(1_000) as u32,
            failure_persistence: None,
            ..Config::default()
        };
        let numbers = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let bytes = proptest::collection::vec(any::<u8>(), 0..600);
        let result = TestRunner::new_with_rng(config, numbers).run(&bytes, |bytes| {
            (of.sequence)(&bytes);
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", of.name));
    });
}

/// Complete payloads also have frames and typed values, which the stored forms above lack.
#[test]
fn damaged_payloads_are_rejected_or_usable() {
    let payloads = seeds::payloads();
    let mut numbers = Numbers(0xd00d);
    for round in 0..time::cases(15_000) {
        let payload = &payloads[round % payloads.len()];
        if round % 2 == 0 {
            run(dump::payload, &damage(payload, &payloads, &mut numbers));
            continue;
        }
        let (id, mut values) = Values::from_dump(payload).unwrap();
        damage_values(&mut values, &mut numbers);
        let id = id & !1023 | [id & 1023, 0, 1, 2, 3, 4, 5, 1023][numbers.below(8)];
        run(dump::payload, &values.to_dump(id));
    }
}
