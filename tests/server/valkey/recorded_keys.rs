//! Keys that valkey-bloom created: their DUMP payloads and their payloads of BF.LOAD load, give the same replies, and are
//! saved unchanged; the same commands create the same bytes.

use super::{AOF, logged_in, replacement};
use crate::golden::compare::{VALKEY_BLOOM_INFO, is_same};
use crate::golden::recorded::{self, Step};
use crate::golden_dumps::with_footer;
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::Server;
use roughly_dump::Values;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;

/// A recorded key.
struct Key {
    name: String,
    manifest: Value,
}

fn file(name: &str) -> Vec<u8> {
    let path = recorded::directory().join("valkey-bloom").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The values of a file with one JSON value per line.
fn lines(name: &str) -> Vec<Value> {
    let file = file(name);
    let lines = serde_json::Deserializer::from_slice(&file).into_iter();
    lines.map(|line| line.expect("JSON")).collect()
}

fn keys() -> Vec<Key> {
    let manifest: Value = serde_json::from_slice(&file("manifest.json")).expect("JSON");
    let keys = manifest["keys"].as_object().expect("keys");
    assert_eq!(keys.len(), 31);
    let keys = keys.iter();
    keys.map(|(name, manifest)| Key {
        name: name.clone(),
        manifest: manifest.clone(),
    })
    .collect()
}

fn argument(argument: &Value) -> Vec<u8> {
    recorded::argument(argument, &HashMap::new())
}

impl Key {
    fn file(&self, kind: &str) -> &str {
        self.manifest[kind].as_str().expect("a file")
    }

    fn payload(&self) -> Vec<u8> {
        with_footer(file(self.file("dump")))
    }

    fn restore(&self, connection: &mut Connection) {
        let reply = connection.send(&[b"RESTORE", self.name.as_bytes(), b"0", &self.payload()]);
        assert!(reply.is_ok(), "RESTORE {}: {reply}", self.name);
    }

    fn load(&self, connection: &mut Connection) {
        let payload = file(self.file("load"));
        let reply = connection.send(&[b"BF.LOAD", self.name.as_bytes(), &payload]);
        assert!(reply.is_ok(), "BF.LOAD {}: {reply}", self.name);
    }

    fn assert_dump(&self, connection: &mut Connection) {
        let recorded = file(self.file("dump"));
        let recorded = Values::from_dump(&recorded).expect("a payload");
        let reply = connection.send(&["DUMP", &self.name]);
        let got = Values::from_dump(reply.text().expect("a payload")).expect("a payload");
        // Values may take megabytes, so a failure does not show them.
        assert!(got.0 == recorded.0, "type of {}", self.name);
        assert!(got.1.values == recorded.1.values, "{}", self.name);
    }

    /// Checks BF.INFO, the digest and the look-ups. The size depends on how the key was created, so its field of the
    /// manifest is specified.
    fn assert_reads(&self, connection: &mut Connection, protocol: Protocol, size: Option<&str>) {
        let mut info = match protocol {
            Protocol::Resp2 => self.manifest["info_r2"].clone(),
            Protocol::Resp3 => self.manifest["info_r3"].clone(),
        };
        assert_eq!(info[1][2], json!(["str", "Size"]));
        if let Some(size) = size {
            let size = &self.manifest[size];
            // valkey-bloom cannot restore one key, whose size is that of its creation.
            match size.is_null() {
                false => info[1][3][1] = size.clone(),
                true => assert_eq!(self.manifest["restore"][0], "err", "{}", self.name),
            }
        }
        let got = connection.send(&["BF.INFO", &self.name]);
        self.assert_same(&info, VALKEY_BLOOM_INFO, &got);
        let digest = connection.send(&["DEBUG", "DIGEST-VALUE", &self.name]);
        self.assert_same(&self.manifest["digest"], "DEBUG", &digest);
        self.assert_lookups(connection);
    }

    fn assert_same(&self, recorded: &Value, command: &str, got: &Reply) {
        assert!(
            is_same(recorded, got, command, &[]),
            "{command} of {}\nrecorded {}\ngot      {got}",
            self.name,
            recorded::show(recorded)
        );
    }

    fn assert_lookups(&self, connection: &mut Connection) {
        let lookups = lines(self.file("lookups"));
        assert_eq!(lookups.len(), 200);
        let mut command = vec![b"BF.MEXISTS".to_vec(), self.name.clone().into_bytes()];
        command.extend(lookups.iter().map(|lookup| argument(&lookup["item"])));
        let reply = connection.send(&command);
        let got: Vec<_> = reply.items().expect("an array").to_vec();
        for (lookup, got) in lookups.iter().zip(&got) {
            let recorded = lookup["r"].as_i64().expect("a number");
            assert_eq!(got, &Reply::Integer(recorded), "{}: {lookup}", self.name);
        }
        assert_eq!(got.len(), lookups.len());
    }
}

fn start(arguments: &[&str]) -> Server {
    let arguments = [&["--rdbcompression", "no"], arguments].concat();
    replacement().arguments(&arguments).start()
}

#[test]
fn keys_of_valkey_bloom_load_and_save_unchanged() {
    let server = start(&[]);
    for protocol in Protocol::BOTH {
        let mut connection = server.connect(protocol);
        for key in keys() {
            key.restore(&mut connection);
            key.assert_dump(&mut connection);
            key.assert_reads(&mut connection, protocol, Some("size_after_restore"));
            connection.call("FLUSHALL SYNC");

            key.load(&mut connection);
            key.assert_dump(&mut connection);
            key.assert_reads(&mut connection, protocol, Some("size_after_load"));
            connection.call("FLUSHALL SYNC");
        }
    }
}

/// Keys with a random seed are left out: their false positives differ.
#[test]
fn recorded_commands_create_equal_keys() {
    let server = start(&[]);
    for protocol in Protocol::BOTH {
        let keys = keys().into_iter();
        for key in keys.filter(|key| key.manifest["seed"] == "given") {
            let mut connection = server.connect(protocol);
            for step in lines(key.file("cmds")) {
                // The replies are those of RESP2, and none is a double.
                let step =
                    Step::new(&json!({"cmd": step["cmd"], "r2": step["r2"], "r3": step["r2"]}));
                let command: Vec<_> = step.command.iter().map(argument).collect();
                let got = connection.send(&command);
                let expected = step.expected(protocol);
                assert!(
                    is_same(expected, &got, &step.name(), &[]),
                    "{}, {}: {got}",
                    key.name,
                    step.name()
                );
            }
            key.assert_dump(&mut connection);
            key.assert_reads(&mut connection, protocol, None);
            connection.call("FLUSHALL SYNC");
            for (name, value) in [
                ("capacity", "100"),
                ("expansion", "2"),
                ("fp-rate", "0.01"),
                ("tightening-ratio", "0.5"),
                ("memory-usage-limit", "134217728"),
                ("use-random-seed", "yes"),
            ] {
                let set = format!("CONFIG SET bf.bloom-{name} {value}");
                assert!(connection.call(&set).is_ok(), "{set}");
            }
        }
    }
}

/// A payload that valkey-bloom has written to its AOF is written again.
#[test]
fn a_rewrite_of_the_aof_emits_the_recorded_payloads() {
    let mut server = start(AOF);
    let mut connection = server.resp2();
    let keys = keys();
    for key in &keys {
        key.restore(&mut connection);
    }
    assert!(server.rewrite_aof());
    let mut commands = logged_in(&server, ".base.aof");
    commands.sort();
    let mut expected: Vec<_> = keys
        .iter()
        .map(|key| {
            let name = key.name.clone().into_bytes();
            vec![b"BF.LOAD".to_vec(), name, file(key.file("load"))]
        })
        .collect();
    expected.sort();
    assert_eq!(commands.len(), expected.len());
    for (got, expected) in commands.iter().zip(&expected) {
        let name = String::from_utf8_lossy(&expected[1]).into_owned();
        assert!(got == expected, "{name}");
    }
    server.restart();
    let mut connection = server.resp2();
    for key in &keys {
        key.assert_dump(&mut connection);
        key.assert_reads(&mut connection, Protocol::Resp2, Some("size_after_load"));
    }
}
