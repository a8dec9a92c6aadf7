//! Keys that valkey-bloom created: their DUMP payloads and their payloads of BF.LOAD load, give the same replies, and are
//! saved unchanged; the same commands create the same bytes.

use super::replicated::{Parameters, Replicated, position};
use super::{AOF, Words, logged, logged_in, replacement, words};
use crate::families::{Family, Setting};
use crate::golden::compare::{VALKEY_BLOOM_INFO, is_same};
use crate::golden::recorded;
use crate::golden_dumps::with_footer;
use crate::support::resp::{Connection, Protocol, Reply, Text};
use crate::support::server::Server;
use roughly_dump::Values;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::sync::LazyLock;

pub struct Key {
    pub name: String,
    manifest: Value,
    /// The payload of DUMP with a footer that every server accepts.
    pub payload: Vec<u8>,
    /// The payload of BF.LOAD.
    pub load: Vec<u8>,
    /// The commands that created the key, and the replies.
    pub commands: Vec<(Words, Value)>,
    /// Items, and the replies of BF.EXISTS.
    lookups: Vec<(Vec<u8>, Reply)>,
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

pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let manifest: Value = serde_json::from_slice(&file("manifest.json")).expect("JSON");
        let keys = manifest["keys"].as_object().expect("keys").iter();
        let keys = keys.map(|(name, manifest)| Key::read(name, manifest));
        keys.collect()
    });
    assert_eq!(KEYS.len(), 31);
    &KEYS
}

/// The recorded argument of a command. No argument is part of another reply.
pub fn argument(argument: &Value) -> Vec<u8> {
    recorded::argument(argument, &HashMap::new())
}

impl Key {
    fn read(name: &str, manifest: &Value) -> Self {
        let path = |kind: &str| manifest[kind].as_str().expect("a file");
        let commands = lines(path("cmds")).into_iter().map(|step| {
            let command = step["cmd"].as_array().expect("a command").iter();
            (command.map(argument).collect(), step["r2"].clone())
        });
        let lookups = lines(path("lookups")).into_iter().map(|lookup| {
            let reply = lookup["r"].as_i64().expect("a number");
            (argument(&lookup["item"]), Reply::Integer(reply))
        });
        let key = Self {
            name: name.to_owned(),
            manifest: manifest.clone(),
            payload: with_footer(file(path("dump"))),
            load: file(path("load")),
            commands: commands.collect(),
            lookups: lookups.collect(),
        };
        assert_eq!(key.lookups.len(), 200);
        key
    }

    /// Whether valkey-bloom chose a random seed.
    pub fn has_random_seed(&self) -> bool {
        self.manifest["seed"] == "random"
    }

    fn restore(&self, connection: &mut Connection) {
        let reply = connection.restore(&self.name, &self.payload);
        assert!(reply.is_ok(), "RESTORE {}: {reply}", self.name);
    }

    /// The command of a rewritten append-only file.
    pub fn load_command(&self) -> Words {
        let load = [b"BF.LOAD", self.name.as_bytes(), &self.load];
        load.map(<[u8]>::to_vec).to_vec()
    }

    pub fn assert_dump(&self, connection: &mut Connection) {
        let recorded = Values::from_dump(&self.payload).expect("a payload");
        let got = Values::from_dump(&connection.payload(&self.name)).expect("a payload");
        // Values may take megabytes, so a failure does not show them.
        assert!(got.0 == recorded.0, "type of {}", self.name);
        assert!(got.1.values == recorded.1.values, "{}", self.name);
    }

    /// The recorded reply to BF.INFO over RESP2.
    pub fn info(&self) -> &Value {
        &self.manifest["info_r2"]
    }

    /// Checks BF.INFO, the digest and the look-ups. The size depends on how the key was created, so its field of the
    /// manifest is specified.
    pub fn assert_reads(&self, client: &mut Connection, protocol: Protocol, size: Option<&str>) {
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
        let got = client.send(&["BF.INFO", &self.name]);
        self.assert_same(&info, VALKEY_BLOOM_INFO, &got);
        let digest = client.send(&["DEBUG", "DIGEST-VALUE", &self.name]);
        self.assert_same(&self.manifest["digest"], "DEBUG", &digest);
        self.assert_lookups(client);
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
        let mut command = vec![&b"BF.MEXISTS"[..], self.name.as_bytes()];
        command.extend(self.lookups.iter().map(|(item, _)| &item[..]));
        let reply = connection.send(&command);
        let got = reply.items().expect("an array");
        for ((item, recorded), got) in self.lookups.iter().zip(got) {
            assert_eq!(got, recorded, "{}: {}", self.name, Text(item));
        }
        assert_eq!(got.len(), self.lookups.len());
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

            let reply = connection.send(&key.load_command());
            assert!(reply.is_ok(), "BF.LOAD {}: {reply}", key.name);
            key.assert_dump(&mut connection);
            key.assert_reads(&mut connection, protocol, Some("size_after_load"));
            connection.call("FLUSHALL SYNC");
        }
    }
}

/// Keys with a random seed are left out: their false positives differ. The log has the commands in a form that valkey-bloom
/// accepts: those that it replicates itself, but creations and items as two commands, and only the items that were added.
#[test]
fn recorded_commands_create_equal_keys_and_are_logged() {
    let server = start(AOF);
    let mut expected = Vec::new();
    for protocol in Protocol::BOTH {
        for key in keys().iter().filter(|key| !key.has_random_seed()) {
            let mut connection = server.connect(protocol);
            let mut replicated = Replicated::default();
            for (command, recorded) in &key.commands {
                let got = connection.send(command);
                let name = Text(&command[0]).to_string();
                // The recorded replies are those of RESP2, and none is a double.
                key.assert_same(recorded, &name, &got);
                let form = replicated.form(command, recorded, || Parameters::of_key(key));
                expected.extend(form.into_iter().flat_map(|form| in_two(form, recorded)));
            }
            key.assert_dump(&mut connection);
            key.assert_reads(&mut connection, protocol, None);
            connection.call("FLUSHALL SYNC");
            expected.push(words("FLUSHALL SYNC"));
            let settings = Family::of("bf").settings.iter();
            for Setting { name, default, .. } in settings.filter(|one| one.name.starts_with("bf."))
            {
                server.set(name, default);
            }
        }
    }
    let log = logged(&server);
    for (number, (got, expected)) in log.iter().zip(&expected).enumerate() {
        let [got, expected] = [got, expected].map(|command| Text(&command.join(&b' ')).to_string());
        assert_eq!(got, expected, "command {number}");
    }
    assert_eq!(log.len(), expected.len());
}

/// What Roughly logs for a command that valkey-bloom replicates in this form: the creation without items, and the items that
/// were added according to the recorded reply. No recorded BF.INSERT adds items to an existing key.
fn in_two(form: Words, recorded: &Value) -> Vec<Words> {
    if !form[0].starts_with(b"BF.") {
        return vec![form];
    }
    let is_creation = form[0] == b"BF.INSERT";
    let (creation, items) = match (is_creation, position(&form, "ITEMS")) {
        (true, Some(at)) => (Some(form[..at].to_vec()), &form[at + 1..]),
        (true, None) => (Some(form.clone()), &[][..]),
        (false, _) => (None, &form[2..]),
    };
    let replies = match recorded[1].as_array() {
        Some(replies) => replies.clone(),
        None => vec![recorded.clone()],
    };
    let added = items.iter().zip(&replies);
    let added = added.filter(|(_, reply)| **reply == json!(["int", 1]));
    let added: Vec<_> = added.map(|(item, _)| item.clone()).collect();
    let command = ["BF.MADD", "BF.ADD"][usize::from(recorded[0] == "int")];
    let add = [vec![command.into(), form[1].clone()], added].concat();
    let add = (add.len() > 2).then_some(add);
    creation.into_iter().chain(add).collect()
}

/// A payload that valkey-bloom has written to its AOF is written again.
#[test]
fn a_rewrite_of_the_aof_emits_the_recorded_payloads() {
    let (mut server, mut connection) = start(AOF).connected();
    for key in keys() {
        key.restore(&mut connection);
    }
    assert!(server.rewrite_aof());
    let mut commands = logged_in(&server, ".base.aof");
    commands.sort();
    let mut expected: Vec<_> = keys().iter().map(Key::load_command).collect();
    expected.sort();
    assert_eq!(commands.len(), expected.len());
    for (got, expected) in commands.iter().zip(&expected) {
        assert!(got == expected, "{}", Text(&expected[1]));
    }
}
