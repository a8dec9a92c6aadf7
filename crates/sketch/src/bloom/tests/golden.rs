//! Payloads recorded from RedisBloom.

use super::*;
use crate::testing::{GOLDEN_VERSIONS, from_chunks, golden_path, golden_values};

pub fn golden() -> Vec<(String, Values)> {
    let mut golden = Vec::new();
    for version in GOLDEN_VERSIONS {
        for entry in std::fs::read_dir(golden_path(version, "")).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            if let Some(name) = (file.strip_suffix(".dump")).filter(|_| file.starts_with("bf-")) {
                let values = golden_values(version, name, b"MBbloom--", 4);
                golden.push((format!("{version}/{name}"), values));
            }
        }
    }
    assert!(golden.len() >= 20);
    golden
}

#[test]
fn golden_payloads_are_saved_byte_for_byte() {
    for (name, values) in golden() {
        let chain = Chain::load(&mut values.clone(), 4, &()).unwrap();
        assert_eq!(saved(&chain), values, "{name}");
    }
}

#[test]
fn a_header_and_its_chunks_restore_the_chain() {
    for (name, values) in golden() {
        let chain = Chain::load(&mut values.clone(), 4, &()).unwrap();
        assert_eq!(saved(&from_chunks(&chain, 1000)), values, "{name}");
    }
}
