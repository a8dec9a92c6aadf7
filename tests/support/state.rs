//! The dataset of a server, to compare it with that of another server or with a later state.

use crate::support::resp::{Connection, Reply, Text};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Size of the footer of a DUMP payload, which depends on the server: RDB version and CRC64.
const FOOTER_BYTES: usize = 10;
/// Keys per pipelined request.
const BATCH: usize = 100;

/// DUMP payload (as length and hash) and expiration time of every key in every database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State(BTreeMap<(u32, Vec<u8>), Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    payload_bytes: usize,
    payload_hash: u64,
    /// Expiration time in milliseconds since 1970; -1 if the key does not expire.
    expires: i64,
}

impl State {
    /// Reads the state of the server. Afterwards, the connection uses database 0.
    pub fn of(connection: &mut Connection) -> Self {
        let mut state = Self::default();
        for db in databases(connection) {
            select(connection, db);
            state.add(connection, db);
        }
        select(connection, 0);
        state
    }

    /// Reads the state of one database. Afterwards, the connection uses this database.
    pub fn of_database(connection: &mut Connection, db: u32) -> Self {
        let mut state = Self::default();
        select(connection, db);
        state.add(connection, db);
        state
    }

    fn add(&mut self, connection: &mut Connection, db: u32) {
        for batch in connection.keys().chunks(BATCH) {
            for key in batch {
                for name in [&b"DUMP"[..], b"PEXPIRETIME"] {
                    connection.write(&[name, key]).expect("a connection");
                }
            }
            for key in batch {
                let payload = connection.read().expect("a payload");
                let expires = connection.read().expect("a time").integer();
                let expires = expires.expect("a time");
                // The key may have expired since KEYS.
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

    /// Adds the keys of another node.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Number of keys with an expiration time.
    pub fn expiring(&self) -> usize {
        self.0.values().filter(|entry| entry.expires >= 0).count()
    }

    /// Number of databases with keys.
    pub fn databases(&self) -> usize {
        let mut databases: Vec<_> = self.0.keys().map(|(db, _)| *db).collect();
        databases.dedup();
        databases.len()
    }

    /// The differences from `expected`, one line per key.
    pub fn differences(&self, expected: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for ((db, key), entry) in &expected.0 {
            let key_text = Text(key);
            match self.0.get(&(*db, key.clone())) {
                None => lines.push(format!("{db} {key_text}: missing")),
                Some(found) if found != entry => {
                    lines.push(format!("{db} {key_text}: {found:?}, expected {entry:?}"));
                }
                Some(_) => {}
            }
        }
        for (db, key) in self.0.keys() {
            if !expected.0.contains_key(&(*db, key.clone())) {
                lines.push(format!("{db} {}: unexpected", Text(key)));
            }
        }
        lines
    }

    pub fn assert_same(&self, expected: &Self, when: &str) {
        let lines = self.differences(expected);
        let shown = &lines[..lines.len().min(10)];
        assert!(
            lines.is_empty(),
            "{when}: {} keys differ: {shown:#?}",
            lines.len()
        );
    }
}

pub fn select(connection: &mut Connection, db: u32) {
    connection.ok(&format!("SELECT {db}"));
}

/// The numbers of the databases with keys.
pub fn databases(connection: &mut Connection) -> Vec<u32> {
    let text = connection.call("INFO keyspace").string();
    text.lines()
        .filter_map(|line| line.strip_prefix("db")?.split_once(':')?.0.parse().ok())
        .collect()
}
