//! Payloads recorded from RedisBloom.

use super::*;
use crate::testing::{from_chunks, golden_bytes, golden_values};

pub const GOLDEN: [&str; 11] = [
    "cf-auto",
    "cf-bucket1",
    "cf-bucket4",
    "cf-bucket7",
    "cf-deleted",
    "cf-dups",
    "cf-emptied",
    "cf-empty",
    "cf-exp0-full",
    "cf-exp2",
    "cf-grown",
];

pub fn golden(version: &str, name: &str) -> Values {
    golden_values(version, name, b"MBbloomCF", 4)
}

/// Decodes an argument of cf.built: bytes other than letters, digits and punctuation are % and two hexadecimal digits.
fn decode(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    bytes
}

/// Runs the commands that created a golden dump.
fn built(version: &str, name: &str) -> CuckooFilter {
    let mut filter = CuckooFilter::new(1024, DEFAULTS, ANY).unwrap();
    let commands = String::from_utf8(golden_bytes(version, "cf.built")).unwrap();
    for command in commands.lines() {
        let mut arguments = command.split(' ');
        let (verb, key) = (arguments.next().unwrap(), arguments.next().unwrap());
        let arguments: Vec<_> = arguments.map(decode).collect();
        if key != name {
            continue;
        }
        let number = |argument: &[u8]| str::from_utf8(argument).unwrap().parse::<u16>().unwrap();
        match verb {
            "CF.RESERVE" => {
                let mut parameters = DEFAULTS;
                for option in arguments[1..].chunks(2) {
                    let value = number(&option[1]);
                    match &option[0][..] {
                        b"BUCKETSIZE" => parameters.bucket_size = value as u8,
                        b"MAXITERATIONS" => parameters.max_iterations = value,
                        b"EXPANSION" => parameters.expansion = value,
                        _ => panic!("unknown option"),
                    }
                }
                let capacity = number(&arguments[0]).into();
                filter = CuckooFilter::new(capacity, parameters, ANY).unwrap();
            }
            "CF.INSERT" => {
                let items = arguments[1..].iter().map(Vec::as_slice);
                filter.insert_each(items, ANY, |_| ());
            }
            "CF.ADD" => filter.insert(&arguments[0], ANY).unwrap(),
            "CF.DEL" => drop(filter.delete(&arguments[0], ANY)),
            _ => panic!("unknown command {verb}"),
        }
    }
    filter
}

#[test]
fn golden_payloads_are_saved_byte_for_byte() {
    for name in GOLDEN {
        for version in ["2.8", "8.10"] {
            let values = golden(version, name);
            let mut filter = load(&values, CuckooFilter::ENCODING_VERSION).unwrap();
            assert_eq!(saved(&filter), values, "{version} {name}");
            // The count of items is that of the fingerprints, so compactions are due when they are in RedisBloom.
            filter.sub_filters[0].excess = Excess::UNKNOWN;
            let fingerprints = Excess::fingerprints(0, &mut filter.sub_filters);
            assert_eq!(fingerprints, filter.items, "{version} {name}");
        }
    }
}

#[test]
fn the_commands_of_golden_payloads_produce_the_same_bytes() {
    for name in GOLDEN {
        for version in ["2.8", "8.10"] {
            let filter = built(version, name);
            assert_eq!(saved(&filter), golden(version, name), "{version} {name}");
        }
    }
}

#[test]
fn a_header_and_its_chunks_restore_the_filter() {
    for name in GOLDEN {
        let filter = built("8.10", name);
        assert_eq!(from_chunks(&filter, CHUNK_BYTES), filter, "{name}");
    }
}
