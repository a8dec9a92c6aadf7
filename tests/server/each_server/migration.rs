//! Migration from RedisBloom and back in each way that docs/migration.md describes, with data that RedisBloom wrote
//! (`tests/golden/dumps`): as an RDB file, as an append-only file, and from a primary. golden_dumps.rs tests single
//! keys, and encoding_versions.rs encoding versions.

pub mod files;
pub mod primary;

use crate::each_server::commands::recorded_commands;
use crate::families::{dump, one_per_family};
use crate::golden_dumps::{Golden, Key, recorded_families};
use crate::support::resp::{Connection, Protocol, Reply, Text};
use crate::support::server::{Options, Server};
use crate::support::state::{State, select};
use crate::workload::{Command, Workload, words};
use files::{Entry, REDIS_6_2};
use primary::Primary;
use roughly_dump::{Values, type_id};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufReader, Read};
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

/// The names of the commands in an append-only file without a preamble.
fn names(file: &[u8]) -> BTreeSet<String> {
    let mut reader = BufReader::new(file);
    let mut names = BTreeSet::new();
    let line = |reader: &mut BufReader<&[u8]>| {
        let mut line = Vec::new();
        std::io::BufRead::read_until(reader, b'\n', &mut line).expect("a line");
        String::from_utf8_lossy(&line).trim_end().to_owned()
    };
    let number = |line: &str| line[1..].parse::<usize>().expect("a number");
    loop {
        let head = line(&mut reader);
        if head.is_empty() {
            return names;
        }
        // Redis can write timestamps between the commands.
        if head.starts_with('#') {
            continue;
        }
        for word in 0..number(&head) {
            let mut bytes = vec![0; number(&line(&mut reader)) + 2];
            reader.read_exact(&mut bytes).expect("a word");
            bytes.truncate(bytes.len() - 2);
            if word == 0 {
                names.insert(Text(&bytes).to_string().to_uppercase());
            }
        }
    }
}

/// Types, encoding versions and logged commands are those of RedisBloom, except for sketches with a window, which
/// RedisBloom does not have.
#[test]
fn redisbloom_can_read_saved_keys_and_logged_commands() {
    let mut server = Options::new()
        .arguments(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"])
        // The server must not rewrite the file before the test has read its commands.
        .arguments(&["--auto-aof-rewrite-percentage", "0"])
        .start();
    let mut connection = server.resp2();
    for family in one_per_family() {
        family.build(&mut connection, family.type_name);
        let payload = connection.payload(family.type_name);
        let (id, _) = Values::from_dump(&payload).expect("a payload");
        let name = family.type_name.as_bytes().try_into().expect("9 bytes");
        let wanted = type_id(name, family.encoding_version);
        assert_eq!(id, wanted, "{}", family.type_name);
    }
    let mut workload = Workload::new(60, "", 20).one_per_family();
    workload.create(&mut connection);
    workload.run(&mut connection, 2000);
    let wanted = State::of(&mut connection);
    let read_all = |server: &Server| {
        let mut parts = server.aof_parts("");
        parts.retain(|part| part.extension().is_some_and(|kind| kind == "aof"));
        let texts = parts.iter().map(fs::read);
        let names = texts.flat_map(|text| names(&text.expect("a file")));
        names.collect::<BTreeSet<_>>()
    };
    let mut written = read_all(&server);
    // The only write that RedisBloom lacks is logged as sent; a rewrite logs its result.
    assert!(written.remove("BF.MERGE"), "{written:?}");
    assert!(server.rewrite_aof());
    written.extend(read_all(&server));
    server.restart();
    State::of(&mut server.resp2()).assert_same(&wanted, "the rewritten file");
    let of_redisbloom = recorded_commands();
    let is_in_redisbloom = |name: &str| {
        let (prefix, _) = name.split_once('.').expect("a prefix");
        let family = one_per_family().find(|family| family.prefix == prefix);
        family.is_none_or(|family| family.recorded.is_some())
    };
    let mut strange: Vec<_> = written.iter().map(|name| name.to_lowercase()).collect();
    strange.retain(|name| name.contains('.') && is_in_redisbloom(name));
    strange.retain(|name| !of_redisbloom.contains(name));
    assert!(strange.is_empty(), "{strange:?}");
    let own = written.iter().filter(|name| name.contains('.')).count();
    assert!(own >= 3, "{written:?}");
}

/// DUMP and RESTORE, and MIGRATE with COPY, copy a key with its time to live to another server.
#[test]
fn dump_and_migrate_copy_keys_with_their_time_to_live() {
    let (from, to) = (Server::start(), Server::start());
    let (mut source, mut target) = (from.resp2(), to.resp2());
    let mut workload = Workload::new(61, "", 10);
    workload.create(&mut source);
    workload.run(&mut source, 1000);
    let wanted = State::of(&mut source);
    for (number, key) in source.keys().iter().enumerate() {
        let expires = source.send(&[b"PEXPIRETIME", &key[..]]);
        let expires = expires.integer().expect("a time");
        if number % 2 == 0 {
            let mut migrate = words(&format!("MIGRATE 127.0.0.1 {} KEY 0 5000 COPY", to.port()));
            migrate[3] = key.clone();
            source.send_ok(&migrate);
            // MIGRATE sends the remaining time to live, so the duration of the transfer is added to it.
            if expires >= 0 {
                target.send(&[b"PEXPIREAT", &key[..], expires.to_string().as_bytes()]);
            }
            continue;
        }
        let (payload, time) = (source.payload(key), expires.max(0).to_string());
        target.send_ok(&[b"RESTORE", &key[..], time.as_bytes(), &payload, b"ABSTTL"]);
    }
    State::of(&mut target).assert_same(&wanted, "key by key");
    assert_ne!(dump(&mut target, "bf:1"), Reply::Null('$'));
}
