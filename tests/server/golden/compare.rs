//! Compares replies with recorded ones.
//!
//! Type and value must be equal, with three exceptions. Fields about memory usage may have any value of their type.
//! Doubles, which servers format differently (in RESP2 as bulk strings), may differ by a relative error of 1e-9. The
//! footer of a DUMP depends on the server.

use super::recorded::bytes;
use crate::support::resp::Reply;
use roughly_dump::{Value as Stored, Values};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The tolerated relative error of doubles.
const TOLERANCE: f64 = 1e-9;
/// Bytes at the end of a DUMP: RDB version and checksum.
const FOOTER_BYTES: usize = 10;

/// BF.INFO of valkey-bloom, whose `Size` is a function of the state.
pub const VALKEY_BLOOM_INFO: &str = "BF.INFO of valkey-bloom";

/// Fields of INFO commands about memory.
fn may_differ(command: &str, field: &[u8]) -> bool {
    match command {
        "BF.INFO" | "CF.INFO" => field == b"Size",
        "TDIGEST.INFO" => field == b"Memory usage",
        "EXEC" | "EVAL" | "EVAL_RO" => field == b"Size" || field == b"Memory usage",
        _ => false,
    }
}

/// Commands whose bulk strings in RESP2 are doubles.
fn answers_doubles(command: &str) -> bool {
    let of_digests = "MIN MAX QUANTILE CDF BYRANK BYREVRANK TRIMMED_MEAN RANK";
    match command.strip_prefix("TDIGEST.") {
        Some(name) => of_digests.split(' ').any(|double| double == name),
        None => ["TOPK.INFO", VALKEY_BLOOM_INFO, "EVAL", "EVAL_RO"].contains(&command),
    }
}

/// Whether the reply to a command (name in upper case, other arguments) equals the recorded reply.
pub fn is_same(recorded: &Value, got: &Reply, command: &str, arguments: &[Vec<u8>]) -> bool {
    // In RESP2, BF.INFO key SIZE replies with a value without a name.
    if command == "BF.INFO"
        && arguments.len() == 2
        && arguments[1].eq_ignore_ascii_case(b"size")
        && recorded[0] == "arr"
    {
        let items = recorded[1].as_array().expect("items");
        return matches!(got, Reply::Array(got) if got.len() == items.len()
            && items.iter().zip(got).all(|(item, got)| is_same_type(item, got)));
    }
    is_same_value(recorded, got, command)
}

/// Whether two replies have the same type.
pub fn is_same_type(recorded: &Value, got: &Reply) -> bool {
    let expected = recorded[0].as_str().expect("a type");
    match got {
        Reply::Simple(_) => expected == "str",
        Reply::Error(_) => expected == "err",
        Reply::Integer(_) => expected == "int",
        Reply::Bulk(_) => expected.starts_with("bulk") || expected.contains("dump"),
        Reply::Array(_) => expected == "arr",
        Reply::Map(_) => expected == "map",
        Reply::Set(_) => expected == "set",
        Reply::Boolean(_) => expected == "bool",
        Reply::Double(_) => expected == "dbl",
        Reply::Verbatim(_) => expected == "verb",
        Reply::Null(form) => expected == "null" && recorded[1] == form.to_string(),
        Reply::Push(_) | Reply::BigNumber(_) => false,
    }
}

/// Whether two replies have the same type and, for aggregates, the same length.
pub fn is_same_shape(recorded: &Value, got: &Reply) -> bool {
    let len = match got {
        Reply::Map(pairs) => Some(pairs.len()),
        _ => got.items().map(<[Reply]>::len),
    };
    is_same_type(recorded, got)
        && len.is_none_or(|len| recorded[1].as_array().is_some_and(|r| r.len() == len))
}

fn is_same_value(recorded: &Value, got: &Reply, command: &str) -> bool {
    let value = &recorded[1];
    is_same_type(recorded, got)
        && match got {
            Reply::Null(_) => true,
            Reply::Integer(got) => value.as_i64() == Some(*got),
            Reply::Boolean(got) => value.as_bool() == Some(*got),
            Reply::Double(got) => is_same_number(&bytes(value), got.as_bytes()),
            Reply::Simple(got) | Reply::Error(got) | Reply::Verbatim(got) => bytes(value) == *got,
            Reply::Bulk(got) => is_same_bulk(recorded, got, command),
            Reply::Array(got) | Reply::Set(got) => is_same_list(value, got, command),
            Reply::Map(got) => is_same_map(value, got, command),
            Reply::Push(_) | Reply::BigNumber(_) => false,
        }
}

fn is_same_list(recorded: &Value, got: &[Reply], command: &str) -> bool {
    let recorded = recorded.as_array().expect("items");
    let mut field = None;
    recorded.len() == got.len()
        && recorded.iter().zip(got).all(|(item, got)| {
            let before = std::mem::replace(&mut field, got.text()).unwrap_or(b"");
            is_same_value(item, got, command)
                || may_differ(command, before) && is_same_type(item, got)
        })
}

fn is_same_map(recorded: &Value, got: &[(Reply, Reply)], command: &str) -> bool {
    let recorded = recorded.as_array().expect("pairs");
    recorded.len() == got.len()
        && recorded.iter().zip(got).all(|(pair, (key, value))| {
            let is_memory = key.text().is_some_and(|key| may_differ(command, key));
            is_same_value(&pair[0], key, command)
                && (is_same_value(&pair[1], value, command)
                    || is_memory && is_same_type(&pair[1], value))
        })
}

fn is_same_bulk(recorded: &Value, got: &[u8], command: &str) -> bool {
    match recorded[0].as_str() {
        Some("bulk") => {
            let text = bytes(&recorded[1]);
            text == got || answers_doubles(command) && is_same_number(&text, got)
        }
        Some("bulkh") => is_digest_of(&recorded[1], &recorded[2], got),
        Some("dump") => without_footer(got).is_some_and(|got| bytes(&recorded[1]) == got),
        Some("dumph") => {
            without_footer(got).is_some_and(|got| is_digest_of(&recorded[1], &recorded[2], got))
        }
        _ => is_same_dump_loosely(recorded, got),
    }
}

fn without_footer(dump: &[u8]) -> Option<&[u8]> {
    dump.get(..dump.len().checked_sub(FOOTER_BYTES)?)
}

/// `tdump` and `kdump`: the encoding version, then [opcode, value] pairs.
fn is_same_dump_loosely(recorded: &Value, got: &[u8]) -> bool {
    let Ok((id, mut got)) = Values::from_dump(got) else {
        return false;
    };
    if recorded[0] == "kdump" {
        clear_pointers(&mut got);
    }
    let values = recorded[2].as_array().expect("values");
    recorded[1].as_u64() == Some(id & 1023)
        && values.len() == got.values.len()
        && values.iter().zip(&got.values).all(|(recorded, got)| {
            let value = &recorded[1];
            match (recorded[0].as_u64(), got) {
                (Some(1 | 2), Stored::Integer(got)) => {
                    value.as_u64() == Some(*got) || value.as_i64() == Some(got.cast_signed())
                }
                (Some(4), Stored::Double(got)) => {
                    is_same_number(&bytes(value), got.to_string().as_bytes())
                }
                (Some(5), Stored::Bytes(got)) if value.get("sha256").is_some() => {
                    is_digest_of(&value["len"], &value["sha256"], got)
                }
                (Some(5), Stored::Bytes(got)) => bytes(value) == *got,
                _ => false,
            }
        })
}

/// Zeroes the stale pointers in a dump of RedisBloom's top-k: the second string is the heap, with 24 bytes per entry,
/// and bytes 8 to 15 of each entry are a pointer.
pub fn clear_pointers(top_k: &mut Values) {
    let is_string = |value: &&mut Stored| matches!(value, Stored::Bytes(_));
    let heap = top_k.values.iter_mut().filter(is_string).nth(1);
    if let Some(Stored::Bytes(heap)) = heap {
        for entry in heap.chunks_exact_mut(24) {
            entry[8..16].fill(0);
        }
    }
}

fn is_digest_of(len: &Value, sha256: &Value, bytes: &[u8]) -> bool {
    let digest = Sha256::digest(bytes);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    len.as_u64() == Some(bytes.len() as u64) && *sha256 == digest
}

fn is_same_number(one: &[u8], other: &[u8]) -> bool {
    let number = |text| std::str::from_utf8(text).ok()?.parse().ok();
    match (number(one), number(other)) {
        (Some(one), Some(other)) => is_close(one, other),
        _ => false,
    }
}

/// Whether two doubles differ by at most the tolerance.
pub fn is_close(one: f64, other: f64) -> bool {
    // The difference of equal infinities is nan.
    #[allow(clippy::float_cmp)]
    let is_equal = one == other || one.is_nan() && other.is_nan();
    is_equal
        || one.is_finite()
            && other.is_finite()
            && (one - other).abs() <= TOLERANCE * one.abs().max(other.abs()) + 5e-324
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::resp::error;
    use serde_json::json;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.into())
    }

    #[test]
    fn types_and_values_must_agree() {
        let same = |recorded: Value, got: &Reply| is_same(&recorded, got, "BF.ADD", &[]);
        assert!(same(json!(["int", 1]), &Reply::Integer(1)));
        assert!(!same(json!(["int", 1]), &Reply::Integer(0)));
        assert!(!same(json!(["int", 1]), &Reply::Boolean(true)));
        assert!(!same(json!(["str", "a"]), &bulk("a")));
        let byte = Reply::Bulk(vec![255]);
        assert!(same(json!(["bulk", {"b64": "/w=="}]), &byte));
        assert!(!same(json!(["bulk", "0.5"]), &bulk("0.50")));
        assert!(same(json!(["null", "*"]), &Reply::Null('*')));
        assert!(!same(json!(["null", "*"]), &Reply::Null('$')));
        assert!(!same(json!(["arr", [["int", 1]]]), &Reply::Array(vec![])));
        assert!(!same(json!(["err", "ERR a"]), &error("ERR b")));
        assert!(!same(json!(["err", "ERR a"]), &Reply::Push(vec![])));
    }

    #[test]
    fn fields_about_memory_may_differ_in_value_but_not_in_type() {
        let recorded = json!([
            "arr",
            [["str", "Size"], ["int", 1], ["str", "Capacity"], ["int", 2]]
        ]);
        let info = |size: Reply, capacity: i64| {
            let name = |name: &str| Reply::Simple(name.into());
            let capacity = Reply::Integer(capacity);
            Reply::Array(vec![name("Size"), size, name("Capacity"), capacity])
        };
        let key = [b"k".to_vec()];
        let same = |got: &Reply, command| is_same(&recorded, got, command, &key);
        let nine = || Reply::Integer(9);
        assert!(same(&info(nine(), 2), "BF.INFO"));
        assert!(!same(&info(nine(), 3), "BF.INFO"));
        assert!(!same(&info(bulk("1"), 2), "BF.INFO"));
        assert!(!same(&info(nine(), 2), "BF.DEBUG"));

        let recorded = json!(["map", [[["str", "Size"], ["int", 1]]]]);
        let size = |name: &str| Reply::Map(vec![(Reply::Simple(name.into()), Reply::Integer(9))]);
        assert!(is_same(&recorded, &size("Size"), "CF.INFO", &key));
        assert!(!is_same(&recorded, &size("size"), "CF.INFO", &key));

        let recorded = json!(["arr", [["int", 1]]]);
        let size = Reply::Array(vec![Reply::Integer(9)]);
        let asked = |field: &[u8]| [b"k".to_vec(), field.to_vec()];
        assert!(is_same(&recorded, &size, "BF.INFO", &asked(b"sIzE")));
        assert!(!is_same(&recorded, &size, "BF.INFO", &asked(b"ITEMS")));
    }

    #[test]
    fn doubles_agree_to_a_billionth() {
        let double = |text: &str| Reply::Double(text.to_owned());
        let same = |recorded: Value, got: &Reply| is_same(&recorded, got, "TDIGEST.MIN", &[]);
        assert!(same(json!(["dbl", "0.1"]), &double("0.10000000000000001")));
        assert!(!same(json!(["dbl", "0.1"]), &double("0.100001")));
        assert!(same(json!(["dbl", "nan"]), &double("nan")));
        assert!(same(json!(["dbl", "-inf"]), &double("-inf")));
        assert!(!same(json!(["dbl", "-inf"]), &double("inf")));
        assert!(!same(json!(["dbl", "-inf"]), &double("-1e308")));
        assert!(same(json!(["bulk", "1e5"]), &bulk("100000")));
        assert!(!same(json!(["bulk", "1e5"]), &double("100000")));
    }

    #[test]
    fn long_texts_and_dumps_are_compared_by_their_digest() {
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let same = |recorded: Value, got: &str| is_same(&recorded, &bulk(got), "DUMP", &[]);
        assert!(same(json!(["bulkh", 3, digest]), "abc"));
        assert!(!same(json!(["bulkh", 3, digest]), "abd"));
        assert!(!same(json!(["bulkh", 4, digest]), "abc"));
        assert!(same(json!(["dumph", 3, digest]), "abc0123456789"));
        assert!(!same(json!(["dumph", 3, digest]), "abc012345678"));
        assert!(same(json!(["dump", "abc"]), "abc0123456789"));
        assert!(!same(json!(["dump", "abc"]), "abc"));
        assert!(!same(json!(["dump", "abc"]), "a"));
    }

    #[test]
    fn dumps_kept_as_values_are_compared_value_by_value() {
        let heap = |pointer: u8| {
            let mut entry = [7; 24];
            entry[8..16].fill(pointer);
            Stored::Bytes(entry.to_vec())
        };
        let dump = |integer, double, pointer| {
            let (integer, double) = (Stored::Integer(integer), Stored::Double(double));
            let text = Stored::Bytes(b"abc".to_vec());
            let mut values = Values::default();
            values.values.extend([integer, double, text, heap(pointer)]);
            Reply::Bulk(values.to_dump(5 << 10 | 3))
        };
        let Stored::Bytes(cleared) = heap(0) else {
            unreachable!()
        };
        let cleared = BASE64.encode(cleared);
        let recorded = |kind: &str, version| {
            let values = json!([[1, 9], [4, "0.5"], [5, "abc"], [5, {"b64": &cleared}]]);
            json!([kind, version, values])
        };
        let same = |recorded: Value, got: &Reply| is_same(&recorded, got, "DUMP", &[]);
        assert!(same(recorded("kdump", 3), &dump(9, 0.5, 1)));
        assert!(!same(recorded("tdump", 3), &dump(9, 0.5, 1)));
        assert!(same(recorded("tdump", 3), &dump(9, 0.5 + 1e-12, 0)));
        assert!(!same(recorded("tdump", 2), &dump(9, 0.5, 0)));
        assert!(!same(recorded("tdump", 3), &dump(8, 0.5, 0)));
        assert!(!same(recorded("tdump", 3), &dump(9, 0.6, 0)));
    }

    use base64::Engine;
    use base64::prelude::BASE64_STANDARD as BASE64;
}
