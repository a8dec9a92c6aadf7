//! Valid payloads, and the inputs of the fuzz targets that are derived from them.

use super::{TYPES, dump};
use std::fs;
use std::path::Path;

/// Maximum size of a payload or an input. Larger ones take longer and cover no more code.
const MAX_BYTES: usize = 4096;

/// The golden payloads, and those of states that sequences of operations reach.
///
/// # Panics
/// If the golden payloads cannot be read.
pub fn payloads() -> Vec<Vec<u8>> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut paths = Vec::new();
    for folder in ["dumps/2.8", "dumps/8.10", "valkey-bloom"] {
        let entries = fs::read_dir(golden.join(folder)).expect("golden payloads");
        paths.extend(entries.map(|entry| entry.expect("a file").path()));
    }
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "dump"));
    paths.sort();
    let mut payloads: Vec<_> =
        ((paths.iter()).map(|path| fs::read(path).expect("a golden payload"))).collect();
    payloads.extend(TYPES.iter().flat_map(|of| (of.samples)()));
    payloads.retain(|payload| payload.len() <= MAX_BYTES);
    payloads
}

/// Valid stored forms of a type, as inputs of [`stored`](super::stored::stored).
pub fn stored(name: &str) -> Vec<Vec<u8>> {
    let of_payloads = payloads();
    let of_payloads = (of_payloads.iter()).filter_map(|payload| dump::seeds(payload));
    let of_type = of_payloads.filter(|(of, _)| *of == name);
    let mut seeds: Vec<_> = of_type.flat_map(|(_, seeds)| seeds).collect();
    seeds.retain(|seed| seed.len() <= MAX_BYTES);
    seeds
}

/// The initial corpus of a fuzz target.
pub fn of_target(target: &str) -> Vec<Vec<u8>> {
    if target == "dump" {
        return payloads();
    }
    if let Some(name) = target.strip_suffix("_stored") {
        return stored(name);
    }
    // Any bytes are a sequence of operations.
    let sequence = |step: usize| (0..600).map(|byte| (byte * step) as u8).collect();
    [1, 7, 31, 77].map(sequence).into()
}
