//! Keys that RedisBloom created: their DUMP payloads and chunks load, give the same replies, and are saved unchanged;
//! the same commands create the same bytes.

use crate::families::{Comparison, FAMILIES, Family};
use crate::golden::compare::{clear_pointers, is_close, is_same};
use crate::golden::differences::Effect;
use crate::golden::expected::Wanted;
use crate::golden::recorded::{self, Step};
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::Server;
use crc::{CRC_64_REDIS, Crc};
use roughly_dump::{Value as Stored, Values};
use serde_json::Value;
use std::collections::HashMap;
use std::{fs, thread};

/// RDB version that every supported server accepts.
const RDB_VERSION: u16 = 9;
/// Size of the footer of a payload: RDB version and CRC64.
const FOOTER_BYTES: usize = 10;

/// The keys of one family from one version of RedisBloom.
pub struct Golden {
    folder: &'static str,
    pub keys: Vec<Key>,
}

pub struct Key {
    pub name: String,
    family: &'static Family,
    /// The payload with a footer that every server accepts.
    pub payload: Vec<u8>,
    /// Iterator and data of each chunk; `None` if the key has no chunks.
    pub chunks: Option<Vec<(i64, Vec<u8>)>>,
    /// The commands that created the key.
    pub built: Vec<Vec<Vec<u8>>>,
    /// The queries after a RESTORE, and their replies.
    reads: Vec<Step>,
}

impl Golden {
    pub fn load(folder: &'static str, family: &'static Family) -> Self {
        let directory = recorded::directory().join("dumps").join(folder);
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let manifest: Value = serde_json::from_slice(&read("manifest.json")).expect("JSON");
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let command = |command: &Value| list(command).iter().map(argument).collect();
        let keys = manifest["keys"].as_object().expect("keys");
        let keys: Vec<_> = keys
            .iter()
            .filter(|(_, key)| key["family"] == family.prefix)
            .map(|(name, key)| Key {
                name: name.clone(),
                family,
                payload: with_footer(read(key["dump"].as_str().expect("a file"))),
                chunks: key["chunks"].as_str().map(|file| chunks(&read(file))),
                built: list(&key["built"]).iter().map(command).collect(),
                reads: list(&key["reads"]).iter().map(Step::new).collect(),
            })
            .collect();
        assert!(!keys.is_empty(), "no keys of {} in {folder}", family.prefix);
        Self { folder, keys }
    }

    /// Runs a check for each key on an empty server with one protocol.
    fn each(&self, protocol: Protocol, check: impl Fn(&Key, &mut Connection)) {
        let server = Server::start();
        let mut connection = server.connect(protocol);
        for key in &self.keys {
            println!("{} {} over {protocol:?}", self.folder, key.name);
            connection.ok("FLUSHALL SYNC");
            check(key, &mut connection);
        }
    }
}

impl Key {
    fn restore(&self, connection: &mut Connection) {
        let reply = connection.restore(&self.name, &self.payload);
        assert!(reply.is_ok(), "RESTORE {}: {reply}", self.name);
    }

    /// Whether equal states have equal DUMP payloads. A top-k sketch decays randomly, and a t-digest stores rounded
    /// sums.
    pub fn is_exact(&self) -> bool {
        self.family.recorded == Some(Comparison::Exact)
    }

    /// Whether RedisBloom stores a pointer where Roughly stores the random state.
    fn has_pointers(&self) -> bool {
        self.family.recorded == Some(Comparison::ExactExceptPointers)
    }

    /// Whether some cells have their maximum. RedisBloom 8.10 counts further items in the other rows; 8.12 and
    /// Roughly refuse them.
    pub fn is_saturated(&self) -> bool {
        self.name == "cms-saturated"
    }

    pub fn assert_dump(&self, connection: &mut Connection) {
        let (id, mut got) = values(&connection.payload(&self.name));
        let (expected_id, mut expected) = values(&self.payload);
        if self.has_pointers() {
            // RedisBloom stores a pointer where Roughly stores the random state.
            clear_pointers(&mut expected);
            clear_pointers(&mut got);
        }
        assert_eq!(id, expected_id, "type of {}", self.name);
        if self.is_exact() || self.has_pointers() {
            // Values may take megabytes, so a failure shows only the first difference.
            assert_eq!(got.values.len(), expected.values.len(), "{}", self.name);
            for (i, (got, expected)) in got.values.iter().zip(&expected.values).enumerate() {
                let what = || format!("value {i} of {}: {}", self.name, pair(got, expected));
                assert!(got == expected, "{}", what());
            }
        } else {
            assert!(are_close(&got, &expected), "{got:?}\n{expected:?}");
        }
    }

    pub fn assert_reads(&self, connection: &mut Connection, protocol: Protocol) {
        let mut wanted = Wanted::new(self.family.prefix);
        for (number, step) in self.reads.iter().enumerate() {
            let command: Vec<_> = step.command.iter().map(argument).collect();
            let got = connection.send(&command);
            let expected = step.expected(protocol);
            let name = step.name();
            if self.is_saturated() && name == "CMS.INCRBY" {
                wanted.follow(self.name.as_bytes(), Effect::KeyDiffers);
            }
            let is_wanted = wanted.allows(number, &[], &name, &command[1..], expected, &got);
            assert!(
                is_same(expected, &got, &name, &command[1..]) || is_wanted,
                "{name} (read {number} of {})\nrecorded {}\ngot      {got}",
                self.name,
                recorded::show(expected),
            );
        }
    }

    pub fn command(&self, name: &str) -> String {
        self.family.command(name)
    }

    fn assert_chunks(&self, connection: &mut Connection) {
        let Some(chunks) = &self.chunks else { return };
        for (position, data) in chunks {
            let reply = self.family.load(connection, &self.name, position, data);
            assert!(reply.is_ok(), "LOADCHUNK {} {position}: {reply}", self.name);
        }
        let found = self.family.chunks(connection, &self.name);
        assert!(found == *chunks, "chunks of {}", self.name);
        self.assert_dump(connection);
    }
}

/// The tests of one family with the recordings of one version.
fn check(folder: &'static str, family: &'static Family) {
    let golden = Golden::load(folder, family);
    for protocol in Protocol::BOTH {
        golden.each(protocol, |key, connection| {
            key.restore(connection);
            key.assert_dump(connection);
            // DUMP is a read for RedisBloom's t-digest, so the queries run on a new copy.
            assert_eq!(connection.send(&["DEL", &key.name]), Reply::Integer(1));
            key.restore(connection);
            key.assert_reads(connection, protocol);
        });
    }
    golden.each(Protocol::Resp2, |key, connection| {
        key.assert_chunks(connection)
    });
    golden.each(Protocol::Resp2, |key, connection| {
        if !key.is_exact() || key.is_saturated() {
            return;
        }
        for command in &key.built {
            connection.send_run(command);
        }
        key.assert_dump(connection);
    });
}

pub fn recorded_families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().filter(|family| family.recorded.is_some())
}

fn check_all(folder: &'static str) {
    thread::scope(|scope| {
        for family in recorded_families() {
            scope.spawn(|| check(folder, family));
        }
    });
}

#[test]
fn keys_of_redisbloom_2_8_load_and_save_unchanged() {
    check_all("2.8");
}

#[test]
fn keys_of_redisbloom_8_10_load_and_save_unchanged() {
    check_all("8.10");
}

/// The payload with another footer: [`RDB_VERSION`] and the CRC64 of all preceding bytes.
pub fn with_footer(mut payload: Vec<u8>) -> Vec<u8> {
    payload.truncate(payload.len() - FOOTER_BYTES);
    payload.extend_from_slice(&RDB_VERSION.to_le_bytes());
    let checksum = Crc::<u64>::new(&CRC_64_REDIS).checksum(&payload);
    payload.extend_from_slice(&checksum.to_le_bytes());
    payload
}

fn values(payload: &[u8]) -> (u64, Values) {
    Values::from_dump(payload).expect("a module's payload")
}

/// The lines `{"pos": iterator, "data": base64}`.
fn chunks(lines: &[u8]) -> Vec<(i64, Vec<u8>)> {
    let lines = serde_json::Deserializer::from_slice(lines).into_iter::<Value>();
    let chunks = lines.map(|line| {
        let line = line.expect("JSON");
        let data = serde_json::json!({"b64": line["data"]});
        let iterator = line["pos"].as_i64().expect("an iterator");
        (iterator, recorded::bytes(&data))
    });
    chunks.collect()
}

/// An argument in a manifest, which does not refer to a reply.
fn argument(argument: &Value) -> Vec<u8> {
    recorded::argument(argument, &HashMap::new())
}

/// Whether two values differ only by the rounding of doubles.
pub fn are_close(one: &Values, other: &Values) -> bool {
    one.values.len() == other.values.len()
        && one.values.iter().zip(&other.values).all(|pair| match pair {
            (Stored::Double(one), Stored::Double(other)) => is_close(*one, *other),
            (one, other) => one == other,
        })
}

/// Formats two stored values, long ones abbreviated.
fn pair(one: &Stored, other: &Stored) -> String {
    let short = |value| format!("{value:?}").chars().take(200).collect::<String>();
    format!("{}\n{}", short(one), short(other))
}
