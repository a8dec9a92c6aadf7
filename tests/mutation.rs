//! Runs the fuzz drivers (fuzz/src) on 200,000 damaged stored forms and random sequences of operations. No case may
//! panic or hang.
//!
//! The random generator has fixed seeds, so every run executes the same cases. In an emulator (`ROUGHLY_TIME_FACTOR`), only a
//! part of them is run.

#[path = "support/damage.rs"]
mod damage;
#[path = "../fuzz/src/lib.rs"]
mod drivers;
#[allow(dead_code)] // This program has no time limits.
#[path = "support/time.rs"]
mod time;

use damage::{Numbers, damage_bytes, damage_values};
use drivers::{FAMILIES, Family, dump};
use roughly_dump::Values;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Maximum size of a seed. Larger seeds take longer and cover no more code.
const MAX_SEED_BYTES: usize = 4096;

/// The golden payloads and the generated ones, of at most [`MAX_SEED_BYTES`].
fn payloads() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths = Vec::new();
    for folder in ["dumps/2.8", "dumps/8.10", "valkey-bloom"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            paths.push(entry.unwrap().path());
        }
    }
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "dump")
    });
    paths.sort();
    let mut payloads: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    payloads.extend(dump::samples().into_iter().map(|(_, payload)| payload));
    payloads.retain(|payload| payload.len() <= MAX_SEED_BYTES);
    assert!(payloads.len() > 50);
    payloads
}

/// The seeds of a family's stored forms.
fn seeds(family: &str) -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = payloads()
        .iter()
        .filter_map(|payload| dump::seeds(payload))
        .filter_map(|(of, seeds)| (of == family).then_some(seeds))
        .flatten()
        .collect();
    seeds.retain(|seed| seed.len() <= MAX_SEED_BYTES);
    assert!(seeds.len() > 5, "{family}");
    seeds
}

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

/// Runs a case for every family, each in its own thread.
fn for_each_family(case: fn(&Family)) {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (FAMILIES.iter())
            .map(|family| (family.name, scope.spawn(move || case(family))))
            .collect();
        for (name, thread) in threads {
            assert!(
                thread.join().is_ok(),
                "{name} failed; see the panic message above"
            );
        }
    });
}

#[test]
fn damaged_stored_forms_are_rejected_or_usable() {
    for_each_family(|family| {
        let seeds = seeds(family.name);
        let mut numbers = Numbers(0x5eed);
        for seed in &seeds {
            run(family.stored, seed);
        }
        for round in 0..time::cases(14_000) {
            let seed = &seeds[round % seeds.len()];
            run(family.stored, &damage(seed, &seeds, &mut numbers));
        }
    });
}

#[test]
fn sequences_of_operations_match_the_model() {
    for_each_family(|family| {
        let mut numbers = Numbers(0xc0ffee);
        for round in 0..time::cases(3_000) {
            let len = numbers.below(30 + round / 6);
            let bytes: Vec<u8> = (0..len).map(|_| (numbers.next() >> 56) as u8).collect();
            run(family.commands, &bytes);
        }
    });
}

/// Complete payloads also have frames and typed values, which the stored forms above lack.
#[test]
fn damaged_payloads_are_rejected_or_usable() {
    let payloads = payloads();
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
