//! Damaged stored forms and odd sequences of operations, 100,000 cases in all: what the fuzz targets do
//! (fuzz/src), with a fixed generator in the place of a fuzzer. No case may panic or hang.
//!
//! Every run sees the same cases, so that none fails by chance.

#[path = "support/damage.rs"]
mod damage;
#[path = "../fuzz/src/lib.rs"]
mod drivers;

use damage::{Numbers, damage_bytes, damage_values};
use drivers::{FAMILIES, Family, dump};
use roughly_dump::Values;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Seeds larger than this take too long for what they show.
const MAX_SEED_BYTES: usize = 4096;

/// The golden payloads that are not large.
fn payloads() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/dumps");
    let mut paths = Vec::new();
    for peer in ["2.8", "8.10"] {
        for entry in fs::read_dir(root.join(peer)).unwrap() {
            paths.push(entry.unwrap().path());
        }
    }
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "dump")
    });
    paths.sort();
    let mut payloads: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
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

/// One to three faults, most of them near the front, where the sizes are; at times the end of another.
fn damage(seed: &[u8], seeds: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=numbers.below(3) {
        let front = match numbers.below(3) {
            0 => bytes.len(),
            _ => bytes.len().min(120),
        };
        let mut at = numbers.below(front);
        if numbers.below(3) > 0 && at > 0 {
            // Values are eight bytes wide and follow the version.
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

/// Runs a case and, if it panics, says which bytes did it.
fn run(case: fn(&[u8]), bytes: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| case(bytes))) {
        eprintln!("the bytes were {bytes:?}");
        std::panic::resume_unwind(panic);
    }
}

/// Runs a case for every family, each on a thread of its own.
fn for_each_family(case: fn(&Family)) {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (FAMILIES.iter())
            .map(|family| (family.name, scope.spawn(move || case(family))))
            .collect();
        for (name, thread) in threads {
            assert!(thread.join().is_ok(), "{name} failed, see above");
        }
    });
}

#[test]
fn damaged_stored_forms_are_refused_or_usable() {
    for_each_family(|family| {
        let seeds = seeds(family.name);
        let mut numbers = Numbers(0x5eed);
        for seed in &seeds {
            run(family.stored, seed);
        }
        for round in 0..14_000 {
            let seed = &seeds[round % seeds.len()];
            run(family.stored, &damage(seed, &seeds, &mut numbers));
        }
    });
}

#[test]
fn sequences_of_operations_follow_their_model() {
    for_each_family(|family| {
        let mut numbers = Numbers(0xc0ffee);
        for round in 0..3_000 {
            let len = numbers.below(30 + round / 6);
            let bytes: Vec<u8> = (0..len).map(|_| (numbers.next() >> 56) as u8).collect();
            run(family.commands, &bytes);
        }
    });
}

/// Whole payloads: bits of their frame, and values of another kind, of which the packed forms above
/// know nothing.
#[test]
fn whole_payloads_survive_damage() {
    let payloads = payloads();
    let mut numbers = Numbers(0xd00d);
    for round in 0..15_000 {
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
