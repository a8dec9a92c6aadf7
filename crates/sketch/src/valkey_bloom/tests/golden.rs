//! Keys recorded from valkey-bloom: stored forms, sizes and limits. The server tests replay the commands.

use super::*;
use roughly_dump::{Writer, type_id};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The memory limit of the recordings, the default.
pub const LIMIT: u64 = 128 << 20;
/// A payload of DUMP ends with the RDB version and a checksum.
const FOOTER_BYTES: usize = 10;

/// A file of the recordings.
fn path(file: &str) -> PathBuf {
    (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/valkey-bloom")).join(file)
}

/// The bytes of a file of the recordings.
fn bytes(file: &str) -> Vec<u8> {
    let path = path(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The keys of the manifest with their descriptions.
fn keys() -> Vec<(String, Value)> {
    let manifest: Value = serde_json::from_slice(&bytes("manifest.json")).unwrap();
    let keys = manifest["keys"].as_object().unwrap().clone();
    assert_eq!(keys.len(), 31);
    keys.into_iter().collect()
}

/// The values of a payload of DUMP, whose type must be that of valkey-bloom.
fn values_of(payload: &[u8]) -> Values {
    let (id, values) = Values::from_dump(payload).unwrap();
    assert_eq!(id, type_id(b"bloomfltr", 1));
    values
}

/// The chain of a recorded DUMP.
fn restored(key: &str) -> ValkeyChain {
    let mut values = values_of(&bytes(&format!("{key}.dump")));
    ValkeyChain::load(&mut values, 1, &None).unwrap()
}

/// The payload of DUMP without its footer.
fn dump(chain: &ValkeyChain) -> Vec<u8> {
    let mut writer = Writer::new(type_id(b"bloomfltr", 1));
    chain.save(&mut writer);
    let mut payload = writer.finish();
    assert!(payload.len() as u64 <= chain.payload_bytes());
    payload.truncate(payload.len() - FOOTER_BYTES);
    payload
}

/// Whether a recorded DUMP has compressed strings.
fn is_compressed(key: &str) -> bool {
    key == "fx-1mb-lzf"
}

#[test]
fn dumps_and_load_payloads_are_saved_byte_for_byte() {
    for (key, _) in keys() {
        let recorded = bytes(&format!("{key}.dump"));
        let payload = bytes(&format!("{key}.load"));
        let loaded = ValkeyChain::from_load_payload(&payload, LIMIT, ANY).unwrap();
        for chain in [&restored(&key), &loaded] {
            if is_compressed(&key) {
                assert_eq!(saved(chain), values_of(&recorded), "{key}");
            } else {
                let expected = &recorded[..recorded.len() - FOOTER_BYTES];
                assert!(dump(chain) == expected, "{key}");
            }
            assert_eq!(chain.load_payload_bytes(), payload.len() as u64);
            assert!(chain.load_payload().unwrap() == payload, "{key}");
        }
    }
}

#[test]
fn the_size_is_recorded_after_restore_load_and_copy() {
    for (key, recorded) in keys() {
        let chain = restored(&key);
        if recorded["restore"][1] == "OK" {
            assert_eq!(recorded["size_after_restore"], chain.size(), "{key}");
        } else {
            // valkey-bloom refuses it, but Roughly accepts it.
            assert_eq!(key, "fx-rate-subnormal");
        }
        let payload = bytes(&format!("{key}.load"));
        let loaded = ValkeyChain::from_load_payload(&payload, LIMIT, ANY).unwrap();
        assert_eq!(recorded["size_after_load"], loaded.size(), "{key}");
        assert_eq!(loaded.try_clone().unwrap().size(), loaded.size(), "{key}");
        assert_eq!(from_chunks(&loaded, 1000).size(), loaded.size(), "{key}");
    }
}

/// RESTORE must satisfy valkey-bloom's limit for RDB files; BF.LOAD the size of the result too.
#[test]
fn limits_apply_to_loaded_chains_to_the_byte() {
    for (key, recorded) in keys() {
        let size = restored(&key).size();
        let within = |limit| {
            let mut values = values_of(&bytes(&format!("{key}.dump")));
            ValkeyChain::load(&mut values, 1, &Some(limit))
        };
        // The list has grown after the last filter was checked.
        let filters = restored(&key).filters().len() as u64;
        let grown = sizes::slots_for(filters) - sizes::slots_for(filters.saturating_sub(1).max(1));
        let needed = size - grown * 8;
        assert!(within(needed).is_ok(), "{key}");
        let is_refused = matches!(within(needed - 1), Err(FormatError::Invalid(_)));
        assert!(is_refused, "{key}");
        let payload = bytes(&format!("{key}.load"));
        // And the limit of RESTORE, so that the loaded key can be restored.
        let size = recorded["size_after_load"].as_u64().unwrap().max(needed);
        let is_loaded = ValkeyChain::from_load_payload(&payload, size, ANY).is_ok();
        assert!(is_loaded, "{key}");
        let refused = ValkeyChain::from_load_payload(&payload, size - 1, ANY);
        assert_eq!(refused.err(), Some(LoadError::Size), "{key}");
    }
}
