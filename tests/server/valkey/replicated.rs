//! Commands in the form in which valkey-bloom 1.0.1 replicates and logs them, derived from recorded commands and replies:
//!
//! - A command that creates a key becomes BF.INSERT with all parameters of the key, followed by all items of the command.
//! - Another command is unchanged if it added an item. It has all its items, also those after an item that did not fit.
//! - Commands that changed nothing are not replicated.
//!
//! The recordings do not contain the stream. The parameters of a new key are those of its DUMP ([`Parameters::of_key`]), in
//! particular the random seed, or those that the command and the settings specify ([`Settings::parameters`]). BF.LOAD is not
//! supported: valkey-bloom replicates it incorrectly.

use super::recorded_keys::Key;
use super::{Words, fixed_seed, words};
use roughly_dump::{Value as Stored, Values};
use serde_json::{Value, json};
use std::collections::HashSet;

#[derive(Debug, Clone)]
pub struct Parameters {
    /// Capacity of the first filter.
    capacity: u64,
    rate: f64,
    tightening: f64,
    /// 0: non-scaling.
    expansion: u64,
    seed: Vec<u8>,
}

impl Parameters {
    /// The parameters in the recorded DUMP of a key.
    pub fn of_key(key: &Key) -> Self {
        let (_, values) = Values::from_dump(&key.payload).expect("a payload");
        let values: Vec<_> = values.values.into();
        // Only the last filter has a number of items before its bytes.
        let blob = match &values[6..] {
            [Stored::Bytes(blob), ..] | [_, Stored::Bytes(blob)] => blob,
            _ => panic!("{}: no filter", key.name),
        };
        match values[1..6] {
            [
                Stored::Integer(expansion),
                Stored::Double(rate),
                Stored::Double(tightening),
                _,
                Stored::Integer(capacity),
            ] => Self {
                capacity,
                rate,
                tightening,
                expansion,
                // After version, number of bytes and number of hashes.
                seed: blob[13..45].to_vec(),
            },
            _ => panic!("{}: no parameters", key.name),
        }
    }

    /// BF.INSERT with these parameters. Doubles are the shortest decimals, without exponent.
    fn insert(&self, key: &[u8]) -> Words {
        let (capacity, rate, tightening) = (self.capacity, self.rate, self.tightening);
        let numbers = format!("CAPACITY {capacity} ERROR {rate} TIGHTENING {tightening} SEED");
        let growth = match self.expansion {
            0 => "NONSCALING".to_owned(),
            expansion => format!("EXPANSION {expansion}"),
        };
        let mut insert = vec![b"BF.INSERT".to_vec(), key.to_vec()];
        insert.extend([words(&numbers), vec![self.seed.clone()], words(&growth)].concat());
        insert
    }
}

/// The settings of the recorded server.
#[derive(Debug)]
pub struct Settings {
    has_random_seeds: bool,
    new: Parameters,
}

impl Settings {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            has_random_seeds: true,
            new: Parameters {
                capacity: 100,
                rate: 0.01,
                tightening: 0.5,
                expansion: 2,
                seed: fixed_seed(),
            },
        }
    }

    /// Applies a successful CONFIG SET.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"bf.bloom-use-random-seed" => {
                self.has_random_seeds = value.eq_ignore_ascii_case(b"yes");
            }
            b"bf.bloom-capacity" => self.new.capacity = number(value),
            b"bf.bloom-expansion" => self.new.expansion = number(value),
            b"bf.bloom-fp-rate" => self.new.rate = number(value),
            b"bf.bloom-tightening-ratio" => self.new.tightening = number(value),
            _ => {}
        }
    }

    /// The parameters of a key that this command creates. Of repeated or contradictory options, the last one applies.
    pub fn parameters(&self, command: &[Vec<u8>]) -> Parameters {
        let mut new = self.new.clone();
        let mut has_random_seed = self.has_random_seeds;
        let mut options = match &*name(command) {
            "BF.RESERVE" => {
                (new.rate, new.capacity) = (number(&command[2]), number(&command[3]));
                command[4..].iter()
            }
            "BF.INSERT" => command[2..].iter(),
            _ => [].iter(),
        };
        while let Some(option) = options.next() {
            let mut value = || options.next().expect("a value");
            match &*option.to_ascii_uppercase() {
                b"ITEMS" => break,
                b"NOCREATE" => {}
                b"NONSCALING" => new.expansion = 0,
                b"CAPACITY" => new.capacity = number(value()),
                b"ERROR" => new.rate = number(value()),
                b"EXPANSION" => new.expansion = number(value()),
                b"TIGHTENING" => new.tightening = number(value()),
                b"VALIDATESCALETO" => _ = value(),
                b"SEED" => {
                    new.seed = value().clone();
                    has_random_seed = false;
                }
                _ => panic!("{command:?}"),
            }
        }
        assert!(!has_random_seed, "a seed that is not recorded: {command:?}");
        new
    }
}

fn number<N: std::str::FromStr>(text: &[u8]) -> N {
    let number = String::from_utf8_lossy(text).parse().ok();
    number.unwrap_or_else(|| panic!("a number: {text:?}"))
}

fn name(command: &[Vec<u8>]) -> String {
    String::from_utf8_lossy(&command[0]).to_uppercase()
}

pub fn position(command: &[Vec<u8>], keyword: &str) -> Option<usize> {
    let mut arguments = command.iter();
    arguments.position(|argument| argument.eq_ignore_ascii_case(keyword.as_bytes()))
}

/// The commands of a primary with valkey-bloom.
#[derive(Debug, Default)]
pub struct Replicated {
    /// The keys that exist.
    keys: HashSet<Vec<u8>>,
}

impl Replicated {
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// The form of a command with this recorded reply; `None` if it is not replicated. `parameters` are those of the key if the
    /// command creates it.
    pub fn form(
        &mut self,
        command: &[Vec<u8>],
        recorded: &Value,
        parameters: impl FnOnce() -> Parameters,
    ) -> Option<Words> {
        if recorded[0] == "err" {
            return None;
        }
        let added = json!(["int", 1]);
        let has_added = *recorded == added
            || (recorded[1].as_array()).is_some_and(|replies| replies.contains(&added));
        match &*name(command) {
            "BF.ADD" | "BF.MADD" | "BF.INSERT" | "BF.RESERVE" => {
                if !self.keys.insert(command[1].clone()) {
                    return has_added.then(|| command.to_vec());
                }
                let mut insert = parameters().insert(&command[1]);
                let items = match &*name(command) {
                    "BF.RESERVE" => None,
                    "BF.INSERT" => position(command, "ITEMS").map(|at| &command[at + 1..]),
                    _ => Some(&command[2..]),
                };
                if let Some(items) = items {
                    insert.push(b"ITEMS".to_vec());
                    insert.extend_from_slice(items);
                }
                return Some(insert);
            }
            "SET" => _ = self.keys.insert(command[1].clone()),
            "COPY" if has_added => _ = self.keys.insert(command[2].clone()),
            "DEL" if has_added => _ = self.keys.remove(&command[1]),
            _ => return None,
        }
        Some(command.to_vec())
    }
}
