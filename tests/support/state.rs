//! The dataset of a server, to compare it with that of another server, or with a later one.

use crate::support::resp::{Connection, Reply, Text};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes at the end of a DUMP that are the server's: RDB version and CRC64.
const FOOTER_BYTES: usize = 10;
/// Keys that are asked for at once.
const BATCH: usize = 100;

/// Of every key of every database its DUMP (as length and hash) and when it expires.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State(BTreeMap<(u32, Vec<u8>), Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    payload_bytes: usize,
    payload_hash: u64,
    /// Milliseconds since 1970, -1 for never.
    expires: i64,
}

impl State {
    /// What the server behind this connection holds. The connection is left in database 0.
    pub fn of(connection: &mut Connection) -> Self {
        let mut state = Self::default();
        for db in databases(connection) {
            select(connection, db);
            state.add(connection, db);
        }
        select(connection, 0);
        state
    }

    /// What is in one database. The connection stays in it.
    pub fn of_database(connection: &mut Connection, db: u32) -> Self {
        let mut state = Self::default();
        select(connection, db);
        state.add(connection, db);
        state
    }

    fn add(&mut self, connection: &mut Connection, db: u32) {
        let reply = connection.call("KEYS *");
        let keys: Vec<_> = reply
            .items()
            .expect("the keys")
            .iter()
            .map(|key| key.text().expect("a key").to_vec())
            .collect();
        for batch in keys.chunks(BATCH) {
            for key in batch {
                connection.write(&[b"DUMP", &key[..]]).expect("DUMP");
                connection
                    .write(&[b"PEXPIRETIME", &key[..]])
                    .expect("PEXPIRETIME");
            }
            for key in batch {
                let payload = connection.read().expect("a payload");
                let expires = connection
                    .read()
                    .expect("a time")
                    .integer()
                    .expect("a time");
                // It may have expired since.
                let Reply::Bulk(payload) = payload else {
                    continue;
                };
                let payload = &payload[..payload.len() - FOOTER_BYTES];
                let mut hasher = DefaultHasher::new();
                payload.hash(&mut hasher);
                let entry = Entry {
                    payload_bytes: payload.len(),
                    payload_hash: hasher.finish(),
                    expires,
                };
                self.0.insert((db, key.clone()), entry);
            }
        }
    }

    /// Joins what other nodes hold.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// How many keys expire some day.
    pub fn expiring(&self) -> usize {
        self.0.values().filter(|entry| entry.expires >= 0).count()
    }

    /// Databases with keys in them.
    pub fn databases(&self) -> usize {
        let mut databases: Vec<_> = self.0.keys().map(|(db, _)| *db).collect();
        databases.dedup();
        databases.len()
    }

    /// What is not as in `wanted`, a line for each key; empty if all is the same.
    pub fn differences(&self, wanted: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for ((db, key), entry) in &wanted.0 {
            let key_text = Text(key);
            match self.0.get(&(*db, key.clone())) {
                None => lines.push(format!("{db} {key_text}: missing")),
                Some(got) if got != entry => {
                    lines.push(format!("{db} {key_text}: {got:?}, not {entry:?}"));
                }
                Some(_) => {}
            }
        }
        for (db, key) in self.0.keys() {
            if !wanted.0.contains_key(&(*db, key.clone())) {
                lines.push(format!("{db} {}: not wanted", Text(key)));
            }
        }
        lines
    }

    /// # Panics
    /// If anything differs; the message names the first few keys.
    pub fn assert_same(&self, wanted: &Self, when: &str) {
        let lines = self.differences(wanted);
        let shown = &lines[..lines.len().min(10)];
        assert!(
            lines.is_empty(),
            "{when}: {} keys differ: {shown:#?}",
            lines.len()
        );
    }
}

/// Goes to another database.
pub fn select(connection: &mut Connection, db: u32) {
    let reply = connection.call(&format!("SELECT {db}"));
    assert!(reply.is_ok(), "SELECT {db}: {reply}");
}

/// The numbers of the databases with keys in them.
fn databases(connection: &mut Connection) -> Vec<u32> {
    let reply = connection.call("INFO keyspace");
    let text = String::from_utf8_lossy(reply.text().expect("a text")).into_owned();
    text.lines()
        .filter_map(|line| line.strip_prefix("db")?.split_once(':')?.0.parse().ok())
        .collect()
}
