//! Keys recorded from valkey-bloom: stored forms, look-ups, numbers of BF.INFO, digests.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roughly_dump::{Writer, type_id};
use serde_json::Value;
use sha1_smol::Sha1;
use std::path::{Path, PathBuf};

/// The memory limit of the recordings, the default.
pub const LIMIT: u64 = 128 << 20;
/// A payload of DUMP ends with the RDB version and a checksum.
const FOOTER_BYTES: usize = 10;

/// A file of the recordings.
pub fn path(file: &str) -> PathBuf {
    (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/valkey-bloom")).join(file)
}

/// The bytes of a file of the recordings.
pub fn bytes(file: &str) -> Vec<u8> {
    let path = path(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of a file of the recordings.
pub fn lines(file: &str) -> Vec<Value> {
    let text = String::from_utf8(bytes(file)).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap())).collect()
}

/// The keys of the manifest with their descriptions.
pub fn keys() -> Vec<(String, Value)> {
    let manifest: Value = serde_json::from_slice(&bytes("manifest.json")).unwrap();
    let keys = manifest["keys"].as_object().unwrap().clone();
    assert_eq!(keys.len(), 31);
    keys.into_iter().collect()
}

/// The bytes of an argument of a recorded command.
pub fn argument(value: &Value) -> Vec<u8> {
    if let Some(text) = value.as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(text) = value["b64"].as_str() {
        return STANDARD.decode(text).unwrap();
    }
    let unit = argument(&value["rep"][0]);
    let len = value["rep"][1].as_u64().unwrap() as usize;
    unit.into_iter().cycle().take(len).collect()
}

/// The values of a payload of DUMP, whose type must be that of valkey-bloom.
pub fn values_of(payload: &[u8]) -> Values {
    let (id, values) = Values::from_dump(payload).unwrap();
    assert_eq!(id, type_id(b"bloomfltr", 1));
    values
}

/// The chain of a recorded DUMP.
pub fn restored(key: &str) -> ValkeyChain {
    let mut values = values_of(&bytes(&format!("{key}.dump")));
    ValkeyChain::load(&mut values, 1, &None).unwrap()
}

/// The payload of DUMP without its footer.
pub fn dump(chain: &ValkeyChain) -> Vec<u8> {
    let mut writer = Writer::new(type_id(b"bloomfltr", 1));
    chain.save(&mut writer);
    let mut payload = writer.finish();
    assert!(payload.len() as u64 <= chain.payload_bytes());
    payload.truncate(payload.len() - FOOTER_BYTES);
    payload
}

/// Whether a recorded DUMP has compressed strings.
pub fn is_compressed(key: &str) -> bool {
    key == "fx-1mb-lzf"
}

/// The field of a recorded BF.INFO.
fn info<'a>(recorded: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = recorded["info_r2"][1].as_array().unwrap();
    let pair = fields.chunks(2).find(|pair| pair[0][1] == name)?;
    Some(&pair[1][1])
}

/// DEBUG DIGEST-VALUE of a key without time to live, as the server computes it.
fn digest_value(chain: &ValkeyChain) -> String {
    /// The server's number of the object type.
    const MODULE: u32 = 5;
    let xor = |digest: &mut [u8; 20], bytes: &[u8]| {
        let hash = Sha1::from(bytes).digest().bytes();
        (digest.iter_mut().zip(hash)).for_each(|(byte, other)| *byte ^= other);
    };
    let mix = |digest: &mut [u8; 20], bytes: &[u8]| {
        xor(digest, bytes);
        *digest = Sha1::from(*digest).digest().bytes();
    };
    let mut ordered = [0; 20];
    chain.digest(&mut |part| mix(&mut ordered, part));
    let mut unordered = [0; 20];
    xor(&mut unordered, &ordered);
    let mut digest = [0; 20];
    mix(&mut digest, &MODULE.to_be_bytes());
    xor(&mut digest, &unordered);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
fn lookups_have_the_recorded_answers() {
    for (key, _) in keys() {
        let chain = restored(&key);
        let lookups = lines(&format!("{key}.lookups.jsonl"));
        assert_eq!(lookups.len(), 200);
        let items: Vec<_> = lookups.iter().map(|line| argument(&line["item"])).collect();
        let expected: Vec<_> = lookups.iter().map(|line| line["r"] == 1).collect();
        let single: Vec<_> = items.iter().map(|item| chain.contains(item)).collect();
        assert_eq!(single, expected, "{key}");
        let mut together = Vec::new();
        chain.contains_each(items.iter().map(Vec::as_slice), |found| {
            together.push(found)
        });
        assert_eq!(together, expected, "{key}");
    }
}

#[test]
fn the_numbers_of_info_are_the_recorded_ones() {
    for (key, recorded) in keys() {
        let chain = restored(&key);
        let number = |name| info(&recorded, name).and_then(Value::as_u64);
        let double = |name| {
            let text = info(&recorded, name)?.as_str()?;
            Some(text.parse::<f64>().unwrap())
        };
        assert_eq!(number("Capacity"), Some(chain.capacity()), "{key}");
        assert_eq!(number("Size"), Some(chain.size()), "{key}");
        let filters = chain.filters().len() as u64;
        assert_eq!(number("Number of filters"), Some(filters), "{key}");
        let items = number("Number of items inserted");
        assert_eq!(items, Some(chain.items()), "{key}");
        let parameters = chain.parameters();
        assert_eq!(double("Error rate"), Some(parameters.error_rate), "{key}");
        if chain.is_scaling() {
            let expansion = u64::from(parameters.expansion);
            assert_eq!(number("Expansion rate"), Some(expansion), "{key}");
            let tightening = double("Tightening ratio");
            assert_eq!(tightening, Some(parameters.tightening), "{key}");
            let largest = chain.max_scaled_capacity(LIMIT).unwrap();
            assert_eq!(number("Max scaled capacity"), Some(largest), "{key}");
        } else {
            assert_eq!(number("Expansion rate"), None, "{key}");
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

#[test]
fn digests_are_the_recorded_ones() {
    for (key, recorded) in keys() {
        let expected = recorded["digest"][1][0][1].as_str().unwrap();
        assert_eq!(digest_value(&restored(&key)), expected, "{key}");
        let digest = digest_value(&from_chunks(&restored(&key), 1000));
        assert_eq!(digest, expected, "{key}");
    }
}

#[test]
fn sizes_and_hashes_follow_from_capacity_and_rate() {
    for (key, _) in keys() {
        let chain = restored(&key);
        for (index, filter) in chain.filters().iter().enumerate() {
            let bytes = sizes::bit_array_bytes(filter.capacity(), chain.error_rate_of(index));
            assert_eq!(filter.bits().len() as u64, bytes, "{key}");
            let expected = sizes::hashes_for(bytes, filter.capacity());
            assert_eq!(filter.hashes(), expected, "{key}");
        }
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
