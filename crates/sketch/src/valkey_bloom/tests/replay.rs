//! Recorded commands, replayed on the sketch: results and DUMP must be the recorded ones.

use super::golden::{
    LIMIT, argument, bytes, dump, is_compressed, keys, lines, restored, values_of,
};
use super::*;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Read;

/// What the recorded commands need of a server.
struct Server {
    keys: HashMap<Vec<u8>, ValkeyChain>,
    /// The settings for new chains.
    defaults: Parameters,
    /// The seed of chains that the server creates with a random one.
    random_seed: Seed,
}

fn parsed<T: std::str::FromStr>(argument: &[u8]) -> T
where
    T::Err: std::fmt::Debug,
{
    std::str::from_utf8(argument).unwrap().parse().unwrap()
}

/// The reply of an addition.
fn reply(result: Result<bool, Error>) -> Value {
    let text = match result {
        Ok(new) => return json!(["int", u8::from(new)]),
        Err(Error::Full) => "ERR non scaling filter is full",
        Err(Error::ErrorRate) => "ERR false positive degrades to 0 on scale out",
        Err(Error::Size) => "ERR operation exceeds bloom object memory limit",
        Err(error) => panic!("{error}"),
    };
    json!(["err", text])
}

impl Server {
    fn new(random_seed: Seed) -> Self {
        Self {
            keys: HashMap::new(),
            defaults: Parameters {
                seed: random_seed,
                ..parameters(100, 0.01, 2)
            },
            random_seed,
        }
    }

    fn config(&mut self, name: &[u8], value: &[u8]) {
        let defaults = &mut self.defaults;
        match name {
            b"bf.bloom-capacity" => defaults.capacity = parsed(value),
            b"bf.bloom-expansion" => defaults.expansion = parsed(value),
            b"bf.bloom-fp-rate" => defaults.error_rate = parsed(value),
            b"bf.bloom-tightening-ratio" => defaults.tightening = parsed(value),
            b"bf.bloom-use-random-seed" => {
                let is_random = value == b"yes";
                defaults.seed = if is_random {
                    self.random_seed
                } else {
                    FIXED_SEED
                };
            }
            b"rdbcompression" => {}
            _ => panic!("{}", name.escape_ascii()),
        }
    }

    /// Adds items until one fails, in a batch.
    fn add(&mut self, key: &[u8], items: &[Vec<u8>]) -> Vec<Value> {
        let defaults = self.defaults;
        let chain = (self.keys.entry(key.to_vec()))
            .or_insert_with(|| ValkeyChain::new(&defaults, LIMIT, ANY).unwrap());
        let mut replies = Vec::new();
        let mut additions = Additions::new(items.iter().map(Vec::as_slice), LIMIT, chain);
        while let Some(result) = additions.add_next(ANY) {
            replies.push(reply(result));
            if result.is_err() {
                break;
            }
        }
        replies
    }

    fn create(&mut self, key: &[u8], parameters: &Parameters) {
        let chain = ValkeyChain::new(parameters, LIMIT, ANY).unwrap();
        assert!(self.keys.insert(key.to_vec(), chain).is_none());
    }

    fn insert(&mut self, key: &[u8], options: &[Vec<u8>]) -> Value {
        let mut parameters = self.defaults;
        let mut items = &[][..];
        let mut at = 0;
        while let Some(name) = options.get(at) {
            let value = || &options[at + 1];
            match name.as_slice() {
                b"CAPACITY" => parameters.capacity = parsed(value()),
                b"ERROR" => parameters.error_rate = parsed(value()),
                b"EXPANSION" => parameters.expansion = parsed(value()),
                b"TIGHTENING" => parameters.tightening = parsed(value()),
                b"SEED" => parameters.seed = value()[..].try_into().unwrap(),
                b"VALIDATESCALETO" => check_scales_to(&parameters, parsed(value()), LIMIT).unwrap(),
                b"NONSCALING" => {
                    parameters.expansion = 0;
                    at += 1;
                    continue;
                }
                b"ITEMS" => {
                    items = &options[at + 1..];
                    break;
                }
                _ => panic!("{}", name.escape_ascii()),
            }
            at += 2;
        }
        if !self.keys.contains_key(key) {
            self.create(key, &parameters);
        }
        json!(["arr", self.add(key, items)])
    }

    fn execute(&mut self, command: &[Vec<u8>]) -> Value {
        let key = command[1].clone();
        match command[0].as_slice() {
            b"CONFIG" => self.config(&command[2], &command[3]),
            b"DEL" => return json!(["int", u8::from(self.keys.remove(&key).is_some())]),
            b"COPY" => {
                let copy = self.keys[&key].try_clone().unwrap();
                self.keys.insert(command[2].clone(), copy);
                return json!(["int", 1]);
            }
            b"BF.RESERVE" => {
                let expansion = match command.get(4).map(Vec::as_slice) {
                    Some(b"NONSCALING") => 0,
                    Some(b"EXPANSION") => parsed(&command[5]),
                    _ => self.defaults.expansion,
                };
                let parameters = Parameters {
                    error_rate: parsed(&command[2]),
                    capacity: parsed(&command[3]),
                    expansion,
                    ..self.defaults
                };
                self.create(&key, &parameters);
            }
            b"BF.ADD" => return self.add(&key, &command[2..]).remove(0),
            b"BF.MADD" => return json!(["arr", self.add(&key, &command[2..])]),
            b"BF.INSERT" => return self.insert(&key, &command[2..]),
            name => panic!("{}", name.escape_ascii()),
        }
        json!(["str", "OK"])
    }
}

#[test]
fn recorded_commands_create_the_recorded_dumps() {
    for (key, recorded) in keys() {
        let expected = restored(&key);
        let seed = expected.parameters().seed;
        assert!(recorded["seed"] == "given" || seed != FIXED_SEED);
        let mut server = Server::new(seed);
        for line in lines(&format!("{key}.cmds.jsonl")) {
            let arguments = line["cmd"].as_array().unwrap();
            let command: Vec<_> = arguments.iter().map(argument).collect();
            assert_eq!(server.execute(&command), line["r2"], "{}", line["cmd"]);
        }
        let chain = &server.keys[key.as_bytes()];
        let payload = bytes(&format!("{key}.dump"));
        if is_compressed(&key) {
            assert_eq!(saved(chain), values_of(&payload), "{key}");
        } else {
            assert!(dump(chain) == payload[..payload.len() - 10], "{key}");
        }
        assert_eq!(chain.size(), expected.size(), "{key}");
        let is_equal = chain.load_payload().unwrap() == bytes(&format!("{key}.load"));
        assert!(is_equal, "{key}");
    }
}

/// The commands of a transcript with their replies over RESP2.
fn transcript(file: &str) -> Vec<(Vec<Value>, Value)> {
    let mut text = String::new();
    let packed = bytes(file);
    (GzDecoder::new(&packed[..]).read_to_string(&mut text)).unwrap();
    let lines = text.lines().skip(1);
    let parsed = lines.map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["cmd"].as_array().unwrap().clone(), line["r2"].clone())
    });
    parsed.collect()
}

/// BF.LOAD, and BF.INFO, BF.CARD, BF.MEXISTS and BF.MADD of the loaded key.
#[test]
fn recorded_load_payloads_are_accepted_or_refused() {
    let mut server = Server::new(FIXED_SEED);
    let mut loads = 0;
    for (command, expected) in transcript("vb-load.jsonl.gz") {
        if command.iter().any(|argument| !argument["ref"].is_null()) {
            continue;
        }
        let command: Vec<_> = command.iter().map(argument).collect();
        let [name, key, rest @ ..] = &command[..] else {
            continue;
        };
        if !key.starts_with(b"al") || key.starts_with(b"alim") {
            continue;
        }
        if name == b"BF.LOAD" {
            if server.keys.contains_key(key) {
                continue;
            }
            loads += 1;
            let refused = match ValkeyChain::from_load_payload(&rest[0], LIMIT, ANY) {
                Ok(chain) => {
                    server.keys.insert(key.clone(), chain);
                    assert_eq!(expected, json!(["str", "OK"]));
                    continue;
                }
                Err(LoadError::Version) => "ERR bloom object decoding failed. Unsupported version",
                Err(LoadError::Rate) => "ERR (0 < error rate range < 1)",
                Err(LoadError::Invalid) => "ERR bloom object decoding failed",
                Err(error) => panic!("{error}"),
            };
            if [&b"al30"[..], b"al32", b"al37"].contains(&&key[..]) {
                // Different seeds, and more items than the capacity: valkey-bloom accepts them.
                assert_eq!(expected, json!(["str", "OK"]));
            } else {
                assert_eq!(expected, json!(["err", refused]), "{}", key.escape_ascii());
            }
            continue;
        }
        let Some(chain) = server.keys.get(key) else {
            continue;
        };
        match &name[..] {
            b"BF.CARD" => assert_eq!(expected, json!(["int", chain.items()])),
            b"BF.INFO" => {
                let number = |at: usize| expected[1][2 * at + 1][1].as_u64().unwrap();
                assert_eq!(number(0), chain.capacity());
                assert_eq!(number(1), chain.size());
                assert_eq!(number(2), chain.filters().len() as u64);
                assert_eq!(number(3), chain.items());
                if chain.is_scaling() {
                    assert_eq!(Ok(number(7)), chain.max_scaled_capacity(LIMIT));
                }
            }
            b"BF.MEXISTS" => {
                let found = rest.iter().map(|item| reply(Ok(chain.contains(item))));
                assert_eq!(expected, json!(["arr", found.collect::<Vec<_>>()]));
            }
            b"BF.MADD" => assert_eq!(expected, json!(["arr", server.add(key, rest)])),
            name => panic!("{}", name.escape_ascii()),
        }
    }
    assert_eq!(loads, 38);
}

/// RESTORE under several limits: the recorded limits of one key are around the size after each of its filters.
#[test]
fn recorded_limits_of_restore_are_exact() {
    let commands = transcript("vb-load.jsonl.gz");
    let (mut limit, mut restores) = (LIMIT, [0, 0]);
    for (command, expected) in &commands {
        if command[0] == "CONFIG" && command[2] == "bf.bloom-memory-usage-limit" {
            limit = parsed(command[3].as_str().unwrap().as_bytes());
        }
        let is_of_key = |name: &str| command[1].as_str().is_some_and(|key| key.starts_with(name));
        // The footer is missing in a recorded reply of DUMP.
        if command[0] == "RESTORE" && (is_of_key("alim") || is_of_key("rl")) {
            let from = command[3]["ref"][0].as_u64().unwrap() as usize;
            let mut payload = argument(&commands[from].1[1]);
            payload.extend_from_slice(&[11, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            let restored = ValkeyChain::load(&mut values_of(&payload), 1, &Some(limit));
            assert_eq!(restored.is_ok(), expected[0] == "str", "{limit}");
            restores[usize::from(restored.is_ok())] += 1;
        }
    }
    assert!(restores[0] > 10 && restores[1] > 2, "{restores:?}");
}
