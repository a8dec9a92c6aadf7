//! Every kind of RDB save and append-only file restores 2,000 keys of all families in several databases, some with a
//! time to live.

use crate::families::FAMILIES;
use crate::support::resp::Connection;
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};
use crate::support::state::{State, select};
use crate::workload::{Random, Workload};
use std::fs;

const KEYS: u64 = 2000;
const DATABASES: [u32; 3] = [0, 1, 9];

/// Fills a server with [`KEYS`] keys and writes to each of them.
fn fill(connection: &mut Connection, seed: u64) -> State {
    let share = KEYS / FAMILIES.len() as u64 / DATABASES.len() as u64 + 1;
    for db in DATABASES {
        select(connection, db);
        let mut workload = Workload::new(seed + u64::from(db), "", share);
        let mut commands = workload.creations();
        commands.extend((0..3 * share).map(|_| workload.write()));
        let mut expiry = Random::new(seed);
        for command in &commands {
            connection.write(command).expect("a command");
            let ttl = 100_000 + expiry.below(1_000_000);
            if expiry.one_in(3) {
                let key = &command[1];
                let reply = connection.write(&[b"EXPIRE", &key[..], ttl.to_string().as_bytes()]);
                reply.expect("a command");
                connection.read().expect("a reply");
            }
            connection.read().expect("a reply");
        }
    }
    select(connection, 0);
    let state = State::of(connection);
    assert!(state.len() as u64 >= KEYS, "{} keys", state.len());
    assert!(state.expiring() > 300 && state.databases() == DATABASES.len());
    state
}

#[test]
fn every_kind_of_rdb_save_restores_the_same_data() {
    let mut server = Options::new()
        .arguments(&["--save", "3600 1000000"])
        .start();
    let wanted = fill(&mut server.resp2(), 1);
    let same = |server: &Server, when: &str| {
        State::of(&mut server.resp2()).assert_same(&wanted, when);
    };
    for _ in 0..2 {
        assert!(server.call("DEBUG RELOAD").is_ok());
        same(&server, "after DEBUG RELOAD");
    }
    assert!(server.call("SAVE").is_ok());
    server.kill_and_restart();
    same(&server, "after SAVE");
    fs::remove_file(server.dir().join("dump.rdb")).expect("the file of SAVE");
    let saves = server.info_number("rdb_saves");
    server.call("BGSAVE");
    server.wait_until("the save", |server| {
        server.info_number("rdb_bgsave_in_progress") == 0 && server.info_number("rdb_saves") > saves
    });
    server.kill_and_restart();
    same(&server, "after BGSAVE");
    fs::remove_file(server.dir().join("dump.rdb")).expect("the file of BGSAVE");
    assert!(server.call("CONFIG SET rdbcompression no").is_ok());
    server.restart();
    same(&server, "after SHUTDOWN");
}

/// Loads the AOF as logged, and rewritten during writes.
#[test]
fn every_kind_of_append_only_file_restores_the_same_data() {
    for (seed, fsync) in ["always", "everysec", "no"].into_iter().enumerate() {
        for preamble in ["yes", "no"] {
            let when = format!("appendfsync {fsync}, preamble {preamble}");
            let options = ["--appendonly", "yes", "--appendfsync", fsync];
            let preamble = ["--aof-use-rdb-preamble", preamble];
            let mut server = Options::new()
                .arguments(&options)
                .arguments(&preamble)
                .start();
            let mut connection = server.resp2();
            let sent = fill(&mut connection, 10 + seed as u64);
            server.restart();
            State::of(&mut server.resp2()).assert_same(&sent, &when);

            // Slows the rewrite, so that writes run during it.
            let mut connection = server.resp2();
            assert!(connection.call("CONFIG SET rdb-key-save-delay 100").is_ok());
            server.call("BGREWRITEAOF");
            let mut workload = Workload::new(seed as u64, "", 20);
            let mut beside = 0;
            while server.info_number("aof_rewrite_in_progress") == 1 {
                workload.run(&mut connection, 20);
                beside += 20;
            }
            assert!(beside > 20, "{beside} writes during the rewrite");
            assert!(server.wait_for_rewrite());
            workload.run(&mut connection, 20);
            let written = State::of(&mut connection);
            server.restart();
            State::of(&mut server.resp2()).assert_same(&written, &when);
            assert!(server.rewrite_aof());
            server.restart();
            State::of(&mut server.resp2()).assert_same(&written, &when);
        }
    }
}

/// An incomplete rewrite leaves a base and two increments.
#[test]
fn an_append_only_file_of_several_parts_restores_the_same_data() {
    for preamble in ["yes", "no"] {
        let options = ["--appendonly", "yes", "--appendfsync", "always"];
        let mut server = Options::new()
            .arguments(&options)
            .arguments(&["--aof-use-rdb-preamble", preamble])
            .start();
        let mut connection = server.resp2();
        fill(&mut connection, 20);
        assert!(server.rewrite_aof());
        let mut workload = Workload::new(21, "", 20);
        workload.run(&mut connection, 200);
        // Ten seconds per thousand keys: longer than this test runs.
        assert!(
            connection
                .call("CONFIG SET rdb-key-save-delay 10000")
                .is_ok()
        );
        server.call("BGREWRITEAOF");
        workload.run(&mut connection, 200);
        assert_eq!(server.info_number("aof_rewrite_in_progress"), 1);
        let wanted = State::of(&mut connection);
        server.kill_and_restart();
        let manifest = fs::read_dir(server.dir().join("appendonlydir"))
            .expect("the directory of the parts")
            .map(|file| file.expect("a file").path())
            .find(|path| path.extension().is_some_and(|e| e == "manifest"))
            .expect("a manifest");
        let manifest = fs::read_to_string(manifest).expect("a text");
        let increments = manifest
            .lines()
            .filter(|line| line.contains(" type i"))
            .count();
        assert!(increments >= 2, "{manifest}");
        State::of(&mut server.resp2()).assert_same(&wanted, preamble);
    }
}

/// Filters of about 40 MiB of random bits, of the types of the [`Sample`], are saved in several chunks, in every database.
#[test]
fn large_keys_survive_every_kind_of_file() {
    let options = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let mut server = Options::new()
        .arguments(&options)
        // Random bits do not compress, but the attempt takes long.
        .arguments(&["--rdbcompression", "no"])
        .start();
    let mut connection = server.resp2();
    for db in [0, 7] {
        select(&mut connection, db);
        let mut random = Random::new(u64::from(db));
        for family in Sample::of_run().of(FAMILIES) {
            let key = format!("{}:large", family.name);
            family.create_filled(&mut connection, &mut random, family.reserve_large, &key);
        }
    }
    let wanted = State::of(&mut connection);
    assert!(connection.call("DEBUG RELOAD").is_ok());
    State::of(&mut connection).assert_same(&wanted, "after DEBUG RELOAD");
    assert!(server.rewrite_aof());
    server.restart();
    State::of(&mut server.resp2()).assert_same(&wanted, "after the rewrite");
}

/// The server compresses payloads in the AOF as in RDB files and replies of DUMP.
#[test]
fn payloads_in_the_aof_are_compressed_as_dump_does() {
    for compression in ["yes", "no"] {
        let mut server = Options::new()
            .arguments(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"])
            .arguments(&["--rdbcompression", compression])
            .start();
        let mut connection = server.resp2();
        fill(&mut connection, 30);
        // Counters of 20 KB, nearly all of them 0.
        assert!(connection.call("CMS.INITBYDIM sparse 1000 5").is_ok());
        connection.call("CMS.INCRBY sparse item 5");
        let wanted = State::of(&mut connection);
        let dump = connection.call("DUMP sparse");
        let dump = dump.text().expect("a payload").to_vec();
        assert_eq!(dump.len() < 1000, compression == "yes", "{}", dump.len());
        assert!(server.rewrite_aof());
        let files = fs::read_dir(server.dir().join("appendonlydir")).expect("a directory");
        let base = files
            .map(|file| file.expect("a file").path())
            .find(|path| path.to_string_lossy().contains(".base."))
            .expect("a base file");
        let base = fs::read(base).expect("a file");
        // Without the footer, which has the version of RDB files.
        let values = &dump[..dump.len() - 10];
        assert!(base.windows(values.len()).any(|window| window == values));
        server.restart();
        State::of(&mut server.resp2()).assert_same(&wanted, compression);
    }
}
