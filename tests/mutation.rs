//! Damaged stored forms and odd sequences of operations, 100,000 cases in all: what the fuzz targets do
//! (fuzz/src), with a fixed generator in the place of a fuzzer. No case may panic or hang.
//!
//! Every run sees the same cases, so that none fails by chance.

#[path = "support/damage.rs"]
mod damage;
#[path = "../fuzz/src/lib.rs"]
mod drivers;

use damage::{Numbers, damage_bytes, damage_values};
use drivers::{bloom, count_min, cuckoo, dump, t_digest, top_k};
use roughly_sketch::format::dump::Values;
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

fn stored(family: &str, case: fn(&[u8])) {
    let seeds = seeds(family);
    let mut numbers = Numbers(0x5eed);
    for seed in &seeds {
        run(case, seed);
    }
    for round in 0..14_000 {
        run(
            case,
            &damage(&seeds[round % seeds.len()], &seeds, &mut numbers),
        );
    }
}

fn commands(case: fn(&[u8])) {
    let mut numbers = Numbers(0xc0ffee);
    for round in 0..3_000 {
        let len = numbers.below(30 + round / 6);
        let bytes: Vec<u8> = (0..len).map(|_| (numbers.next() >> 56) as u8).collect();
        run(case, &bytes);
    }
}

#[test]
fn bloom_filters_survive_damage() {
    stored("bloom", bloom::stored);
}

#[test]
fn bloom_filters_follow_their_model() {
    commands(bloom::commands);
}

#[test]
fn cuckoo_filters_survive_damage() {
    stored("cuckoo", cuckoo::stored);
}

#[test]
fn cuckoo_filters_follow_their_model() {
    commands(cuckoo::commands);
}

#[test]
fn count_min_sketches_survive_damage() {
    stored("count_min", count_min::stored);
}

#[test]
fn count_min_sketches_follow_their_model() {
    commands(count_min::commands);
}

#[test]
fn top_k_sketches_survive_damage() {
    stored("top_k", top_k::stored);
}

#[test]
fn top_k_sketches_follow_their_model() {
    commands(top_k::commands);
}

#[test]
fn t_digests_survive_damage() {
    stored("t_digest", t_digest::stored);
}

#[test]
fn t_digests_follow_their_model() {
    commands(t_digest::commands);
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
