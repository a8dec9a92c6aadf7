//! Migration from RedisBloom in each way that docs/migration.md describes, with data that RedisBloom wrote
//! (`tests/golden/dumps`): as an RDB file, as an append-only file, and from a primary. golden_dumps.rs tests single
//! keys, encoding_versions.rs encoding versions, and peers.rs the way back.

pub mod files;
pub mod primary;

use crate::golden_dumps::{Golden, Key, recorded_families};
use crate::support::resp::{Connection, Protocol};
use crate::support::server::{Options, Server};
use crate::support::state::select;
use crate::workload::{Command, words};
use files::{Entry, REDIS_6_2};
use primary::Primary;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// All recordings of one release.
fn recorded(folder: &'static str) -> Vec<Key> {
    recorded_families()
        .flat_map(|family| Golden::load(folder, family).keys)
        .collect()
}

fn entries(keys: &[Key], expires: Option<u64>) -> Vec<Entry<'_>> {
    keys.iter()
        .map(|key| (&*key.name, &*key.payload, expires))
        .collect()
}

/// All keys of a database have the recorded values and replies.
fn assert_arrived(keys: &[Key], connection: &mut Connection, db: u32) {
    select(connection, db);
    let count = connection.call("DBSIZE").integer().expect("a count");
    assert_eq!(usize::try_from(count), Ok(keys.len()));
    for key in keys {
        key.assert_dump(connection);
    }
    for key in keys {
        key.assert_reads(connection, Protocol::Resp2);
    }
}

/// A key in RedisBloom's rewritten append-only file: chunks, or a RESTORE.
fn rewritten(key: &Key) -> Vec<Command> {
    let Some(chunks) = &key.chunks else {
        let restore = [b"RESTORE", key.name.as_bytes(), b"0", &key.payload];
        return vec![restore.map(<[u8]>::to_vec).to_vec()];
    };
    let load = key.command("LOADCHUNK");
    let chunks = chunks.iter().map(|(position, data)| {
        let position = position.to_string();
        let [load, name] = [&load, &key.name].map(|word| word.as_bytes().to_vec());
        vec![load, name, position.into_bytes(), data.clone()]
    });
    chunks.collect()
}

/// The commands in the log for a key that was created after the last rewrite.
fn logged(key: &Key) -> Vec<Command> {
    // For the other families, the same commands do not give identical states.
    match key.is_exact() && !key.is_saturated() {
        true => key.built.clone(),
        false => rewritten(key),
    }
}

/// An RDB file with a third of the keys, and a log with the others: a third as a rewrite writes them, and a third as
/// they were created.
fn in_three_parts(keys: &[Key]) -> (Vec<u8>, Vec<u8>) {
    let third = |rest: usize| keys.iter().skip(rest).step_by(3);
    let in_file = third(0).map(|key| (&*key.name, &*key.payload, None));
    let mut commands = vec![words("SELECT 0")];
    commands.extend(third(1).flat_map(rewritten));
    commands.extend(third(2).flat_map(logged));
    let file = files::rdb(REDIS_6_2, &[(0, in_file.collect())]);
    (file, files::commands(&commands))
}

#[test]
fn rdb_files_of_redisbloom_load() {
    let hour = 3_600_000;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now");
    let expires = u64::try_from(now.as_millis()).expect("a time") + hour;
    for folder in ["2.8", "8.10"] {
        let keys = recorded(folder);
        let mut server = Server::start();
        let databases = [(0, None), (3, Some(expires))];
        let databases = databases.map(|(db, expires)| (db, entries(&keys, expires)));
        let file = files::rdb(REDIS_6_2, &databases);
        fs::write(server.dir().join("dump.rdb"), file).expect("a file");
        server.kill_and_restart();
        let mut connection = server.resp2();
        assert_arrived(&keys, &mut connection, 0);
        select(&mut connection, 3);
        for key in &keys {
            let time = connection.send(&["PEXPIRETIME", &key.name]).integer();
            assert_eq!(time, i64::try_from(expires).ok(), "{}", key.name);
        }
        assert_arrived(&keys, &mut connection, 3);
    }
}

#[test]
fn append_only_files_of_redisbloom_load() {
    let with_aof = || Options::new().arguments(&["--appendonly", "yes"]);
    for folder in ["2.8", "8.10"] {
        let keys = recorded(folder);
        let (base, increment) = in_three_parts(&keys);
        // In parts, as in Redis 7 and above, and as one file with an RDB preamble, as in earlier versions.
        let mut server = Server::start();
        files::write_parts(server.dir(), &base, &increment);
        server.restart_with(with_aof());
        assert_arrived(&keys, &mut server.resp2(), 0);
        let mut server = Server::start();
        let single = [base, increment].concat();
        fs::write(server.dir().join("appendonly.aof"), single).expect("a file");
        server.restart_with(with_aof());
        assert_arrived(&keys, &mut server.resp2(), 0);
    }
}

#[test]
fn a_replica_of_redisbloom_can_become_the_primary() {
    for folder in ["2.8", "8.10"] {
        for load in ["disabled", "swapdb"] {
            let keys = recorded(folder);
            let (rdb, commands) = in_three_parts(&keys);
            let options = Options::new().arguments(&["--repl-diskless-load", load]);
            let replica = options.start();
            let mut primary = Primary::of(&replica, &rdb);
            primary.send(&commands);
            primary.wait();
            replica.ok("REPLICAOF NO ONE");
            replica.assert_obeys();
            assert_arrived(&keys, &mut replica.resp2(), 0);
            // It now accepts writes.
            replica.ok("BF.RESERVE new 0.01 100");
        }
    }
}
