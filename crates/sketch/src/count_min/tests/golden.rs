//! Payloads that RedisBloom 2.8 and 8.10 wrote, and the commands that created them.
//!
//! tests/golden/dumps/VERSION/cms-*.dump are DUMP payloads. Each line of cms.built is a command. Bytes other than ASCII
//! letters, digits and `-_.` are written as `%` and two hexadecimal digits.

use super::super::{CellSize, CountMin, NO_LIMIT, dimensions_for};
use super::{other, own, sketch};
use crate::stored::Stored;
use crate::testing::{GOLDEN_VERSIONS, golden_bytes, golden_values, saved};
use roughly_dump::Values;
use std::collections::HashMap;

/// The values of a payload of a count-min sketch.
pub(super) fn payload(version: &str, name: &str) -> Values {
    golden_values(version, name, b"CMSk-TYPE", CountMin::ENCODING_VERSION)
}

fn load(values: &Values) -> CountMin {
    let mut source = values.clone();
    let sketch = CountMin::load(&mut source, CountMin::ENCODING_VERSION, &()).unwrap();
    assert!(source.values.is_empty());
    sketch
}

/// An argument of a command in cms.built.
fn word(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    bytes
}

/// The sketches that the recorded commands create.
fn built(version: &str) -> HashMap<String, CountMin> {
    let commands = String::from_utf8(golden_bytes(version, "cms.built")).unwrap();
    let mut sketches: HashMap<String, CountMin> = HashMap::new();
    let new = |(width, depth)| sketch(width, depth, CellSize::default());
    for command in commands.lines() {
        let words: Vec<&str> = command.split(' ').collect();
        let key = words[1].to_owned();
        match (words[0], &words[2..]) {
            ("CMS.INITBYDIM", [width, depth]) => {
                let dimensions = (width.parse().unwrap(), depth.parse().unwrap());
                sketches.insert(key, new(dimensions));
            }
            ("CMS.INITBYPROB", [error, probability]) => {
                let dimensions =
                    dimensions_for(error.parse().unwrap(), probability.parse().unwrap());
                sketches.insert(key, new(dimensions.unwrap()));
            }
            ("CMS.INCRBY", pairs) => {
                let pairs: Vec<_> = (pairs.chunks_exact(2))
                    .map(|pair| (word(pair[0]), pair[1].parse().unwrap()))
                    .collect();
                let items = pairs.iter().map(|(item, by)| (item.as_slice(), *by));
                (sketches.get_mut(&key).unwrap()).increment_all(items, NO_LIMIT, |_, _| ());
            }
            ("CMS.MERGE", ["2", to, from, "WEIGHTS", weight, of_other]) if *to == key => {
                let mut sketch = sketches.remove(&key).unwrap();
                let [weight, of_other] = [weight, of_other].map(|text| text.parse().unwrap());
                let sources = [own(weight), other(&sketches[*from], of_other)];
                assert_eq!(sketch.merge(&sources), Ok(true));
                sketches.insert(key, sketch);
            }
            ("DEL", []) => {
                sketches.remove(&key);
            }
            _ => panic!("an unexpected command: {command}"),
        }
    }
    sketches
}

#[test]
fn recorded_sketches_are_saved_byte_for_byte_after_a_load() {
    for version in GOLDEN_VERSIONS {
        for name in ["dim", "empty", "merged", "one", "prob", "saturated"] {
            let values = payload(version, &format!("cms-{name}"));
            assert_eq!(saved(&load(&values)), values, "{version} {name}");
        }
    }
}

#[test]
fn the_recorded_commands_create_the_recorded_sketches() {
    for version in GOLDEN_VERSIONS {
        let mut sketches = built(version);
        // RedisBloom saturates cells; Roughly refuses the increment.
        assert!(sketches.remove("cms-saturated").is_some());
        assert_eq!(sketches.len(), 5);
        for (name, sketch) in sketches {
            assert_eq!(saved(&sketch), payload(version, &name), "{version} {name}");
        }
    }
}
