//! Every kind of RDB save and append-only file restores 2,000 keys of all families in several databases, some with a
//! time to live.

use crate::families::{FAMILIES, Family};
use crate::integration::record_for_all;
use crate::support::resp::Connection;
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};
use crate::support::state::{State, select};
use crate::workload::{Random, Workload, columns};
use roughly_dump::{Writer, type_id};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::TDigest;
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
    let options = Options::new().arguments(&["--save", "3600 1000000"]);
    let (mut server, mut connection) = options.start().connected();
    let wanted = fill(&mut connection, 1);
    let same = |server: &Server, when: &str| {
        State::of(&mut server.resp2()).assert_same(&wanted, when);
    };
    for _ in 0..2 {
        server.ok("DEBUG RELOAD");
        same(&server, "after DEBUG RELOAD");
    }
    server.ok("SAVE");
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
    server.ok("CONFIG SET rdbcompression no");
    server.restart();
    same(&server, "after SHUTDOWN");
    record_for_all("RDB");
}

/// Loads the AOF as logged, and rewritten during writes.
#[test]
fn every_kind_of_append_only_file_restores_the_same_data() {
    for (seed, fsync) in ["always", "everysec", "no"].into_iter().enumerate() {
        for preamble in ["yes", "no"] {
            let when = format!("appendfsync {fsync}, preamble {preamble}");
            let options = ["--appendonly", "yes", "--appendfsync", fsync];
            let options = [&options[..], &["--aof-use-rdb-preamble", preamble]].concat();
            let (mut server, mut connection) =
                Options::new().arguments(&options).start().connected();
            let sent = fill(&mut connection, 10 + seed as u64);
            server.restart();
            State::of(&mut server.resp2()).assert_same(&sent, &when);

            // Slows the rewrite, so that writes run during it.
            let mut connection = server.resp2();
            connection.ok("CONFIG SET rdb-key-save-delay 100");
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
    record_for_all("AOF");
    record_for_all("time to live");
}

/// Filters of about 40 MiB of random bits, of the types of the [`Sample`], are saved in several chunks, in every database.
#[test]
fn large_keys_survive_every_kind_of_file() {
    let options = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    // Random bits do not compress, but the attempt takes long.
    let options = Options::new()
        .arguments(&options)
        .arguments(&["--rdbcompression", "no"]);
    let (mut server, mut connection) = options.start().connected();
    for db in [0, 7] {
        select(&mut connection, db);
        let mut random = Random::new(u64::from(db));
        for family in Sample::of_run().of(FAMILIES) {
            let key = format!("{}:large", family.name);
            family.create_filled(&mut connection, &mut random, family.reserve_large, &key);
        }
    }
    let wanted = State::of(&mut connection);
    connection.ok("DEBUG RELOAD");
    State::of(&mut connection).assert_same(&wanted, "after DEBUG RELOAD");
    assert!(server.rewrite_aof());
    server.restart();
    State::of(&mut server.resp2()).assert_same(&wanted, "after the rewrite");
}

/// Creates and fills a key with these commands: the one that creates it, and the start of one that adds items.
fn fill_large(connection: &mut Connection, create: &str, add: &str, key: &str) {
    connection.ok(&create.replace("KEY", key));
    // An increment of CMS.INCRBY follows its item.
    let suffix = if add.starts_with("CMS") { " 3" } else { "" };
    for first in (0..20_000).step_by(1000) {
        let items = (first..first + 1000).map(|item| format!("{item}{suffix}"));
        let items: Vec<_> = items.collect();
        connection.run(&format!("{} {}", add.replace("KEY", key), items.join(" ")));
    }
}

/// Chunks have at most 16 MiB. A cuckoo filter has a chunk of its own for each sub-filter. Replicas receive the chunks.
#[test]
fn keys_above_16_mib_are_copied_in_several_chunks() {
    const SMALL: &str = "cms | CMS.INITBYDIM KEY 9 5 CELL_SIZE 8 | CMS.INCRBY KEY";
    const KEYS: [(&str, usize); 7] = [
        ("bf | BF.RESERVE KEY 0.0001 8000000 | BF.MADD KEY", 3),
        ("cf | CF.RESERVE KEY 20000000 | CF.INSERT KEY ITEMS", 3),
        ("cf | CF.RESERVE KEY 1000 | CF.INSERT KEY ITEMS", 22),
        ("cms | CMS.INITBYDIM KEY 1000000 5 | CMS.INCRBY KEY", 3),
        (SMALL, 2),
        ("topk | TOPK.RESERVE KEY 50 1000000 5 0.9 | TOPK.ADD KEY", 4),
        ("tdigest | TDIGEST.CREATE KEY | TDIGEST.ADD KEY", 1),
    ];
    let (server, mut other, mut replica) = (Server::start(), Server::start(), Server::start());
    replica.replicate(&other);
    let (mut from, mut to) = (server.resp2(), other.resp2());
    for (row, chunks) in KEYS {
        let [family, create, add] = columns(row);
        fill_large(&mut from, create, add, "k");
        let copied = Family::of(family).copy_in_chunks(&mut from, "k", &mut to, "k");
        assert_eq!(copied, chunks, "{create}");
        other.wait_for_replica(&replica);
        let expected = State::of(&mut from);
        State::of(&mut to).assert_same(&expected, create);
        State::of(&mut replica.resp2()).assert_same(&expected, create);
        from.ok("FLUSHALL SYNC");
        to.ok("FLUSHALL SYNC");
    }
}

/// AOF rewrite writes a smaller payload as a whole, in any database.
#[test]
fn payloads_above_64_mib_are_rewritten_in_chunks() {
    let options = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let (mut server, mut connection) = Options::new().arguments(&options).start().connected();
    select(&mut connection, 5);
    for row in [
        "small | CMS.INITBYDIM KEY 100 5 | CMS.INCRBY KEY",
        "counts | CMS.INITBYDIM KEY 3400000 5 | CMS.INCRBY KEY",
        "list | TOPK.RESERVE KEY 50 3000000 3 0.9 | TOPK.ADD KEY",
    ] {
        let [name, create, add] = columns(row);
        fill_large(&mut connection, create, add, name);
        connection.check(&format!("EXPIRE {name} 1000"), ":1");
    }
    // Samples in commands would take long.
    let mut digest = TDigest::new(1_000_000, Budget::UNLIMITED).expect("a digest");
    let mut random = Random::new(6);
    let samples: Vec<_> = (0..3_800_000).map(|_| random.next() as f64).collect();
    digest.add(&samples).expect("memory");
    let mut payload = Writer::new(type_id(b"TDIS-TYPE", 0));
    digest.save(&mut payload);
    let payload = payload.finish();
    assert!(payload.len() > 64 << 20);
    let restored = connection.restore("digest", &payload);
    assert!(restored.is_ok(), "{restored}");
    let wanted = State::of(&mut connection);
    assert!(server.rewrite_aof());
    let parts = server.aof_parts("").into_iter();
    let parts = parts.map(|part| fs::read(part).expect("a file"));
    let log = parts.collect::<Vec<_>>().concat();
    let log = String::from_utf8_lossy(&log);
    let count = |name: &str| log.matches(name).count();
    let counts = ["CMS.LOADCHUNK", "TDIGEST.LOADCHUNK", "RESTORE"].map(count);
    assert_eq!(counts, [18, 1, 1]);
    server.restart();
    State::of(&mut server.resp2()).assert_same(&wanted, "after the rewrite");
}

/// Errors of SCANDUMP and LOADCHUNK. A refused chunk changes nothing.
#[test]
fn invalid_chunks_are_refused() {
    const NOT_NUMERIC: &str = "-ERR Second argument must be numeric";
    const BAD_DATA: &str = "-ERR received bad data";
    let (_server, mut connection) = Server::start().connected();
    connection.check_all(
        "
        SET string x
        CMS.INITBYDIM cms 500 4
        CMS.INCRBY cms a 5
        CMS.INITBYDIM wide 1 1 CELL_SIZE 8
        TOPK.RESERVE topk 2 10 2 0.9
        TOPK.ADD topk a
        TDIGEST.CREATE td
        TDIGEST.ADD td 1
        ",
    );
    let before = State::of(&mut connection);
    let chunks = Family::of("tdigest").chunks(&mut connection, "td");
    let (_, digest) = &chunks[0];
    let long = "x".repeat(200);
    connection.check_all(&format!(
        "
        CMS.SCANDUMP none 0 => -CMS: key does not exist
        CMS.SCANDUMP string 0 => -WRONGTYPE...
        CMS.SCANDUMP cms x => -Second argument must be numeric
        CMS.SCANDUMP cms -1 => *[:0 $]
        CMS.SCANDUMP cms 8001 => *[:0 $]
        CMS.LOADCHUNK string 1 x => -WRONGTYPE...
        CMS.LOADCHUNK cms x x => {NOT_NUMERIC}
        CMS.LOADCHUNK none 2 x => -CMS: key does not exist
        CMS.LOADCHUNK none 1 x => {BAD_DATA}
        CMS.LOADCHUNK cms 0 x => {BAD_DATA}
        CMS.LOADCHUNK cms 1 xx => {BAD_DATA}
        CMS.LOADCHUNK cms 9999 x => -ERR invalid offset - no link found
        CMS.LOADCHUNK cms 8003 xxx => -ERR invalid chunk - Too big for current filter
        TOPK.SCANDUMP none 0 => -TopK: key does not exist
        TOPK.SCANDUMP topk x => -Second argument must be numeric
        TOPK.SCANDUMP string 0 => -WRONGTYPE...
        TOPK.SCANDUMP topk 161 => *[:0 $]
        TOPK.LOADCHUNK none 2 x => -TopK: key does not exist
        TOPK.LOADCHUNK none 1 x => {BAD_DATA}
        TOPK.LOADCHUNK topk x x => {NOT_NUMERIC}
        TOPK.LOADCHUNK topk 1 xx => {BAD_DATA}
        TOPK.LOADCHUNK topk 999 x => -ERR invalid offset...
        TOPK.LOADCHUNK topk 201 {long} => -ERR invalid chunk...
        TOPK.LOADCHUNK string 1 x => -WRONGTYPE...
        TDIGEST.SCANDUMP none 0 => -ERR T-Digest: key does not exist
        TDIGEST.SCANDUMP string 0 => -WRONGTYPE...
        TDIGEST.SCANDUMP td x => -Second argument must be numeric
        TDIGEST.SCANDUMP td 1 => *[:0 $]
        TDIGEST.LOADCHUNK string 1 x => -WRONGTYPE...
        TDIGEST.LOADCHUNK none x x => {NOT_NUMERIC}
        TDIGEST.LOADCHUNK none 2 x => -ERR T-Digest: key does not exist
        "
    ));
    // A count above the maximum of an 8-byte cell; a key that exists; a chunk without its first byte.
    for (family, key, iterator, chunk) in [
        ("cms", "wide", 9, &[0xff; 8][..]),
        ("tdigest", "td", 1, digest),
        ("tdigest", "none", 1, &digest[1..]),
    ] {
        let reply = Family::of(family).load(&mut connection, key, iterator, chunk);
        assert_eq!(reply.to_string(), BAD_DATA, "{key}");
    }
    State::of(&mut connection).assert_same(&before, "refused chunks");
}

/// The server compresses payloads in the AOF as in RDB files and replies of DUMP.
#[test]
fn payloads_in_the_aof_are_compressed_as_dump_does() {
    for compression in ["yes", "no"] {
        let options = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
        let options = Options::new().arguments(&options);
        let options = options.arguments(&["--rdbcompression", compression]);
        let (mut server, mut connection) = options.start().connected();
        fill(&mut connection, 30);
        // Counters of 20 KB, nearly all of them 0.
        connection.ok("CMS.INITBYDIM sparse 1000 5");
        connection.call("CMS.INCRBY sparse item 5");
        let wanted = State::of(&mut connection);
        let dump = connection.payload("sparse");
        assert_eq!(dump.len() < 1000, compression == "yes", "{}", dump.len());
        assert!(server.rewrite_aof());
        let base = fs::read(&server.aof_parts(".base.")[0]).expect("a file");
        // Without the footer, which has the version of RDB files.
        let values = &dump[..dump.len() - 10];
        assert!(base.windows(values.len()).any(|window| window == values));
        server.restart();
        State::of(&mut server.resp2()).assert_same(&wanted, compression);
    }
}
