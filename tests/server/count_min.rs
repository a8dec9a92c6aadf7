//! Count-min sketches on a real server: what the recordings do not show.

use crate::samples::dump;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use roughly::sketch::format::Sink;
use roughly::sketch::format::dump::{DumpWriter, type_id};
use std::fs;

/// Runs commands and compares what each answers.
fn assert_answers(connection: &mut Connection, answers: &[(&str, &str)]) {
    for (command, answer) in answers {
        assert_eq!(connection.call(command).to_string(), *answer, "{command}");
    }
}

fn replication_offset(server: &Server) -> String {
    server.info("master_repl_offset").expect("an offset")
}

#[test]
fn sketches_are_made_or_refused_in_this_order() {
    let server = Server::start();
    let mut connection = server.resp2();
    let arity = |command| format!("-ERR wrong number of arguments for '{command}' command");
    let (by_dim, by_prob) = (arity("cms.initbydim"), arity("cms.initbyprob"));
    assert!(connection.call("SET string x").is_ok());
    assert_answers(
        &mut connection,
        &[
            ("CMS.INITBYDIM string x 1 CELL_SIZE", &by_dim),
            ("CMS.INITBYPROB string x 1 CELL_SIZE", &by_prob),
            ("CMS.INITBYDIM string 1 1 CELL_SIZE 1 1", &by_dim),
            ("CMS.INITBYDIM string x x x x", "-CMS: key already exists"),
            ("CMS.INITBYPROB string x x", "-CMS: key already exists"),
            ("CMS.INITBYDIM k x x x x", "-CMS: invalid width"),
            ("CMS.INITBYDIM k 1 0 x x", "-CMS: invalid depth"),
            ("CMS.INITBYDIM k 1 1 CELLSIZE 4", "-CMS: invalid cell size"),
            ("CMS.INITBYDIM k 1 1 CELL_SIZE 3", "-CMS: invalid cell size"),
            (
                "CMS.INITBYDIM k 1 1 CELL_SIZE -1",
                "-CMS: invalid cell size",
            ),
            ("CMS.INITBYDIM k 1 1 CELL_SIZE x", "-CMS: invalid cell size"),
            (
                "CMS.INITBYPROB k 1 x x x",
                "-CMS: invalid overestimation value",
            ),
            ("CMS.INITBYPROB k 0.1 inf x x", "-CMS: invalid prob value"),
            ("CMS.INITBYPROB k 0.1 0.1 x 4", "-CMS: invalid cell size"),
            (
                "CMS.INITBYDIM k 4294967296 4294967296 CELL_SIZE 1",
                "-CMS: invalid init arguments",
            ),
            ("EXISTS k", ":0"),
            ("CMS.INITBYDIM k 7 3 cell_size 8", "+OK"),
            ("CMS.INITBYDIM l 7 3 CELL_SIZE 4", "+OK"),
            ("CMS.INITBYPROB m 0.01 0.0078125 CELL_SIZE 1", "+OK"),
            (
                "CMS.INFO k",
                "*[+width :7 +depth :3 +count :0 +cell_size :8]",
            ),
            ("CMS.INFO l", "*[+width :7 +depth :3 +count :0]"),
            (
                "CMS.INFO m",
                "*[+width :200 +depth :7 +count :0 +cell_size :1]",
            ),
        ],
    );
    assert_answers(
        &mut server.resp3(),
        &[
            (
                "CMS.INFO k",
                "%{+width :7 +depth :3 +count :0 +cell_size :8}",
            ),
            ("CMS.INFO l", "%{+width :7 +depth :3 +count :0}"),
        ],
    );
}

#[test]
fn what_the_server_cannot_give_is_refused_and_changes_nothing() {
    let server = Server::start();
    let mut connection = server.resp2();
    let refused = "-CMS: Insufficient memory to create the key";
    assert!(connection.call("CONFIG SET maxmemory 200mb").is_ok());
    let offset = replication_offset(&server);
    for command in [
        "CMS.INITBYDIM k 9223372036854775807 1",
        "CMS.INITBYDIM k 4611686018427387904 1 CELL_SIZE 8",
        "CMS.INITBYDIM k 1000000000000 1 CELL_SIZE 1",
        "CMS.INITBYDIM k 100000000 1",
        "CMS.INITBYPROB k 1e-8 0.01",
    ] {
        assert_eq!(connection.call(command).to_string(), refused, "{command}");
    }
    // The header of such a sketch.
    let header = [1u64 << 40, 1, 0].map(u64::to_le_bytes).concat();
    let reply = connection.send(&[b"CMS.LOADCHUNK", &b"k"[..], b"1", &header]);
    assert_eq!(reply.to_string(), "-ERR received bad data");
    assert_eq!(connection.call("EXISTS k"), Reply::Integer(0));
    assert_eq!(replication_offset(&server), offset);
    assert!(connection.call("CMS.INITBYDIM k 10000000 1").is_ok());
}

/// Every size counts to its maximum and no further; an item that fails changes nothing, here or on a
/// replica, and does not keep the others from being counted.
#[test]
fn counts_end_at_their_limits() {
    let mut primary = Server::start();
    let mut replica = Server::start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    let limits = [
        (1, 255u64),
        (2, 65_535),
        (4, 4_294_967_295),
        (8, 9_223_372_036_854_775_807),
    ];
    for (size, max) in limits {
        let make = format!("CMS.INITBYDIM k{size} 1000 5 CELL_SIZE {size}");
        assert!(connection.call(&make).is_ok());
        let (over, under) = ("-CMS: INCRBY overflow", "-CMS: INCRBY underflow");
        let before = max - 1;
        assert_answers(
            &mut connection,
            &[
                (
                    &format!("CMS.INCRBY k{size} a {before} a 2 a 1 a 1 a 9223372036854775807"),
                    &format!("*[:{before} {over} :{max} {over} {over}]"),
                ),
                (
                    &format!("CMS.INCRBY k{size} a -9223372036854775808 a 0 b -1 a -{max} a -1"),
                    &format!("*[{under} :{max} {under} :0 {under}]"),
                ),
                (
                    &format!("CMS.INCRBY k{size} a {max} c 0"),
                    &format!("*[:{max} :0]"),
                ),
                (
                    &format!("CMS.QUERY k{size} a b c"),
                    &format!("*[:{max} :0 :0]"),
                ),
            ],
        );
        let total = connection.call(&format!("CMS.INFO k{size}")).to_string();
        assert!(total.contains(&format!("+count :{max}")), "{total}");
    }
    // Only 8-byte cells let the total reach its own maximum here.
    assert_answers(
        &mut connection,
        &[
            ("CMS.INCRBY k8 b 1", "*[-CMS: INCRBY overflow]"),
            ("CMS.INCRBY k4 b 1", "*[:1]"),
            ("CMS.INCRBY k4 b 1 c x", "-CMS: Cannot parse number"),
            (
                "CMS.INCRBY k4 b 1 c 9223372036854775808",
                "-CMS: Cannot parse number",
            ),
            ("CMS.QUERY k4 b c", "*[:1 :0]"),
        ],
    );
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    for (size, _) in limits {
        let key = format!("k{size}");
        assert_eq!(dump(&mut on_replica, &key), dump(&mut connection, &key));
    }
    // Four refusals a size above, and one more; five items counted a size, and one more.
    let figure = |name: &str| primary.info(&format!("bf_cms_{name}")).unwrap();
    assert_eq!(
        (figure("refusals"), figure("items_added")),
        ("25".into(), "25".into())
    );
}

/// Makes `count` sketches named after `names`, of the same shape, each with counts of its own.
fn sketches(connection: &mut Connection, names: &[&str]) {
    for (n, name) in names.iter().enumerate() {
        assert!(
            connection
                .call(&format!("CMS.INITBYDIM {name} 500 4"))
                .is_ok()
        );
        let command = format!("CMS.INCRBY {name} a {} {name} 100", n + 1);
        assert!(matches!(connection.call(&command), Reply::Array(_)));
    }
}

#[test]
fn merges_are_checked_in_this_order() {
    let server = Server::start();
    let mut connection = server.resp2();
    sketches(&mut connection, &["d", "s", "t"]);
    assert!(connection.call("SET string x").is_ok());
    assert!(connection.call("CMS.INITBYDIM wide 501 4").is_ok());
    assert!(
        connection
            .call("CMS.INITBYDIM deep 500 5 CELL_SIZE 1")
            .is_ok()
    );
    assert!(
        connection
            .call("CMS.INITBYDIM small 500 4 CELL_SIZE 2")
            .is_ok()
    );
    let before = dump(&mut connection, "d");
    let offset = replication_offset(&server);
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_answers(
        &mut connection,
        &[
            (
                "CMS.MERGE nothing 1",
                "-ERR wrong number of arguments for 'cms.merge' command",
            ),
            ("CMS.MERGE nothing x s", "-CMS: key does not exist"),
            ("CMS.MERGE string x s", wrong_type),
            ("CMS.MERGE d x nothing", "-CMS: invalid numkeys"),
            (
                "CMS.MERGE d 0 nothing",
                "-CMS: Number of keys must be positive",
            ),
            (
                "CMS.MERGE d -1 nothing",
                "-CMS: Number of keys must be positive",
            ),
            (
                "CMS.MERGE d -9223372036854775808 nothing",
                "-CMS: Number of keys must be positive",
            ),
            ("CMS.MERGE d 2 nothing", "-CMS: wrong number of keys"),
            ("CMS.MERGE d 1 nothing x", "-CMS: wrong number of keys"),
            (
                "CMS.MERGE d 9223372036854775807 nothing",
                "-CMS: wrong number of keys",
            ),
            (
                "CMS.MERGE d 1 nothing WEIGHTS",
                "-CMS: wrong number of keys/weights",
            ),
            (
                "CMS.MERGE d 2 nothing weights 1 2",
                "-CMS: wrong number of keys/weights",
            ),
            (
                "CMS.MERGE d 1 nothing WEIGHTS 1 2",
                "-CMS: wrong number of keys/weights",
            ),
            (
                "CMS.MERGE d 2 nothing string WEIGHTS x 1",
                "-CMS: invalid weight value",
            ),
            (
                "CMS.MERGE d 2 nothing string WEIGHTS 1 x",
                "-CMS: key does not exist",
            ),
            ("CMS.MERGE d 2 string nothing", wrong_type),
            (
                "CMS.MERGE d 2 wide nothing",
                "-CMS: width/depth is not equal",
            ),
            (
                "CMS.MERGE d 2 deep nothing",
                "-CMS: width/depth is not equal",
            ),
            (
                "CMS.MERGE d 2 small nothing",
                "-CMS: cell size is not equal",
            ),
            (
                "CMS.MERGE d 2 s nothing WEIGHTS -1 1",
                "-CMS: key does not exist",
            ),
            ("CMS.MERGE d 1 s WEIGHTS -1", "-CMS: MERGE overflow"),
            (
                "CMS.MERGE d 2 s d WEIGHTS 1 9223372036854775807",
                "-CMS: MERGE overflow",
            ),
        ],
    );
    assert_eq!(dump(&mut connection, "d"), before);
    assert_eq!(replication_offset(&server), offset);
}

#[test]
fn a_merge_is_in_place_and_follows_its_weights() {
    let mut primary = Server::start();
    let mut replica = Server::start();
    let mut connection = primary.resp2();
    // A key may be called as the word is.
    sketches(&mut connection, &["d", "s", "WEIGHTS"]);
    replica.replicate(&primary);
    assert_eq!(connection.call("EXPIRE d 1000"), Reply::Integer(1));
    assert_answers(
        &mut connection,
        &[
            ("CMS.MERGE d 1 s", "+OK"),
            ("CMS.QUERY d a d s", "*[:2 :0 :100]"),
            ("CMS.MERGE d 3 d s d weights 2 3 -1", "+OK"),
            ("CMS.QUERY d a d s", "*[:8 :0 :400]"),
            ("CMS.MERGE d 2 s WEIGHTS", "+OK"),
            ("CMS.QUERY d a s WEIGHTS", "*[:5 :100 :100]"),
            ("CMS.MERGE d 1 WEIGHTS WEIGHTS 2", "+OK"),
            ("CMS.QUERY d a s WEIGHTS", "*[:6 :0 :200]"),
            ("CMS.INFO d", "*[+width :500 +depth :4 +count :206]"),
            ("CMS.MERGE d 1 d WEIGHTS 0", "+OK"),
            ("CMS.QUERY d a s WEIGHTS", "*[:0 :0 :0]"),
            ("CMS.MERGE d 2 d s", "+OK"),
            ("CMS.QUERY s a s", "*[:2 :100]"),
        ],
    );
    assert!(connection.call("TTL d").integer() > Some(900));
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    for key in ["d", "s", "WEIGHTS"] {
        assert_eq!(dump(&mut on_replica, key), dump(&mut connection, key));
    }
    assert!(on_replica.call("TTL d").integer() > Some(900));
}

#[test]
fn a_merge_declares_all_its_keys() {
    let server = Server::start();
    let mut admin = server.resp2();
    sketches(&mut admin, &["shop:d", "shop:s", "other:s"]);
    let keys = "COMMAND GETKEYS CMS.MERGE d 2 a b WEIGHTS 1 2";
    assert_eq!(admin.call(keys).to_string(), "*[$d $a $b]");
    let mut user = |rules: &str, command: &str| {
        let set = format!("ACL SETUSER u reset on nopass +@all {rules}");
        assert!(admin.call(&set).is_ok(), "{set}");
        let mut connection = server.resp2();
        assert!(connection.call("AUTH u x").is_ok());
        connection.call(command).to_string()
    };
    let (own, foreign) = (
        "CMS.MERGE shop:d 1 shop:s",
        "CMS.MERGE shop:d 2 shop:s other:s",
    );
    assert_eq!(user("~shop:*", own), "+OK");
    assert!(user("~shop:*", foreign).starts_with("-NOPERM"));
    assert_eq!(user("~shop:* %R~other:*", foreign), "+OK");
    assert!(user("~shop:* %W~other:*", foreign).starts_with("-NOPERM"));
    assert!(user("%R~shop:*", own).starts_with("-NOPERM"));
    assert_eq!(user("%W~shop:*", "CMS.INCRBY shop:s a 1"), "*[:3]");
    assert!(user("%W~shop:*", "CMS.QUERY shop:s a").starts_with("-NOPERM"));
}

/// What RESTORE answers to a payload of these values.
fn restore(connection: &mut Connection, version: u16, numbers: &[u64], cells: &[u8]) -> Reply {
    let mut payload = DumpWriter::new(type_id(b"CMSk-TYPE", version));
    for &number in numbers {
        payload.write_unsigned(number);
    }
    payload.write_bytes(cells);
    connection.send(&[b"RESTORE", &b"k"[..], b"0", &payload.finish(), b"REPLACE"])
}

#[test]
fn stored_sketches_of_every_version_load_and_false_ones_are_refused() {
    let server = Server::start();
    let mut connection = server.resp2();
    let cells = |bytes: usize| vec![1; 6 * bytes];
    for (version, numbers, bytes, info) in [
        (0, &[3, 2, 77][..], 1, "+count :77 +cell_size :1]"),
        (0, &[3, 2, 77], 4, "+count :77]"),
        (0, &[3, 2, u64::MAX], 4, "+count :9223372036854775807]"),
        (1, &[3, 2, 77, 4], 4, "+count :77]"),
        (1, &[3, 2, 4, 77], 4, "+count :77]"),
        (1, &[3, 2, 8, 1], 8, "+count :1 +cell_size :8]"),
        (1, &[3, 2, 2, 2], 2, "+count :2 +cell_size :2]"),
    ] {
        let reply = restore(&mut connection, version, numbers, &cells(bytes));
        assert!(reply.is_ok(), "{numbers:?}: {reply}");
        let got = connection.call("CMS.INFO k").to_string();
        assert_eq!(got, format!("*[+width :3 +depth :2 {info}"));
        // It is version 0 that is written.
        let Reply::Bulk(payload) = dump(&mut connection, "k") else {
            panic!("DUMP");
        };
        let mut expected = DumpWriter::new(type_id(b"CMSk-TYPE", 0)).finish();
        expected.truncate(10);
        assert_eq!(payload[..10], expected);
    }
    let before = dump(&mut connection, "k");
    for (version, numbers, cells) in [
        (0, &[0, 2, 7][..], cells(4)),
        (0, &[3, 2, 7], cells(3)),
        (0, &[3, 2, 7], vec![]),
        (0, &[1 << 32, 1 << 32, 0], cells(4)),
        (0, &[3, 2, 7], vec![0xff; 48]),
        (0, &[3, 2], cells(4)),
        (0, &[3, 2, 7, 4], cells(4)),
        (1, &[3, 2, 7, 8], cells(4)),
        (1, &[3, 2, 7], cells(4)),
        (2, &[3, 2, 7, 4], cells(4)),
    ] {
        let reply = restore(&mut connection, version, numbers, &cells).to_string();
        assert_eq!(reply, "-ERR Bad data format", "{version} {numbers:?}");
    }
    assert_eq!(dump(&mut connection, "k"), before);
}

/// Copies `key` from one server to the other in chunks; how many there were after the header.
fn copy_in_chunks(from: &mut Connection, to: &mut Connection, key: &str) -> usize {
    let mut iterator = "0".to_owned();
    let mut chunks = 0;
    loop {
        let reply = from.send(&["CMS.SCANDUMP", key, &iterator]);
        let [next, chunk] = reply.items().unwrap() else {
            panic!("{reply}");
        };
        iterator = next.integer().unwrap().to_string();
        let chunk = chunk.text().unwrap();
        if iterator == "0" {
            assert!(chunk.is_empty());
            return chunks - 1;
        }
        assert!(chunk.len() <= 16 << 20);
        let words = [b"CMS.LOADCHUNK", key.as_bytes(), iterator.as_bytes(), chunk];
        assert!(to.send(&words).is_ok());
        chunks += 1;
    }
}

#[test]
fn a_sketch_goes_over_in_chunks() {
    let primary = Server::start();
    let mut other = Server::start();
    let mut replica = Server::start();
    replica.replicate(&other);
    let (mut from, mut to) = (primary.resp2(), other.resp2());
    for (make, chunks) in [
        ("CMS.INITBYDIM k 1000000 5", 2),
        ("CMS.INITBYDIM l 100 5 CELL_SIZE 8", 1),
        ("CMS.INITBYDIM m 100 5 CELL_SIZE 1", 1),
    ] {
        let key = make.split(' ').nth(1).unwrap();
        assert!(from.call(make).is_ok());
        for i in 0..200 {
            from.call(&format!("CMS.INCRBY {key} item:{i} {}", i % 200));
        }
        assert_eq!(copy_in_chunks(&mut from, &mut to, key), chunks);
        assert_eq!(dump(&mut to, key), dump(&mut from, key));
    }
    other.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    for key in ["k", "l", "m"] {
        assert_eq!(dump(&mut on_replica, key), dump(&mut from, key));
    }
}

#[test]
fn chunks_that_do_not_fit_are_refused() {
    let server = Server::start();
    let mut connection = server.resp2();
    sketches(&mut connection, &["k"]);
    assert!(
        connection
            .call("CMS.INITBYDIM wide 1 1 CELL_SIZE 8")
            .is_ok()
    );
    assert!(connection.call("SET string x").is_ok());
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    let before = dump(&mut connection, "k");
    assert_answers(
        &mut connection,
        &[
            ("CMS.SCANDUMP nothing 0", "-CMS: key does not exist"),
            ("CMS.SCANDUMP string 0", wrong_type),
            ("CMS.SCANDUMP k x", "-Second argument must be numeric"),
            ("CMS.SCANDUMP k -1", "*[:0 $]"),
            ("CMS.SCANDUMP k 8001", "*[:0 $]"),
            ("CMS.LOADCHUNK string 1 x", wrong_type),
            (
                "CMS.LOADCHUNK k x x",
                "-ERR Second argument must be numeric",
            ),
            ("CMS.LOADCHUNK nothing 2 x", "-CMS: key does not exist"),
            ("CMS.LOADCHUNK nothing 1 x", "-ERR received bad data"),
            ("CMS.LOADCHUNK k 0 x", "-ERR received bad data"),
            ("CMS.LOADCHUNK k 1 xx", "-ERR received bad data"),
            (
                "CMS.LOADCHUNK k 9999 x",
                "-ERR invalid offset - no link found",
            ),
            (
                "CMS.LOADCHUNK k 8003 xxx",
                "-ERR invalid chunk - Too big for current filter",
            ),
            ("EXISTS nothing", ":0"),
        ],
    );
    assert_eq!(dump(&mut connection, "k"), before);
    // A count above the maximum of 8 bytes.
    let reply = connection.send(&[b"CMS.LOADCHUNK", &b"wide"[..], b"9", &[0xff; 8]]);
    assert_eq!(reply.to_string(), "-ERR received bad data");
    assert_eq!(connection.call("CMS.QUERY wide a").to_string(), "*[:0]");
}

/// All that the AOF's files hold.
fn aof(server: &Server) -> String {
    let directory = server.dir().join("appendonlydir");
    let files = fs::read_dir(directory).unwrap();
    let texts = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    texts
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .collect()
}

/// A payload above 64 MiB is rewritten in chunks, one below as a whole, in whichever database.
#[test]
fn an_aof_rewrite_keeps_small_and_large_sketches() {
    let options = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let mut server = Options::new().arguments(&options).start();
    let mut connection = server.resp2();
    assert!(connection.call("SELECT 5").is_ok());
    for make in ["CMS.INITBYDIM large 3400000 5", "CMS.INITBYDIM small 100 5"] {
        assert!(connection.call(make).is_ok());
        let key = make.split(' ').nth(1).unwrap();
        connection.call(&format!("CMS.INCRBY {key} a 5 b 6 c 4294967295"));
        assert_eq!(
            connection.call(&format!("EXPIRE {key} 1000")),
            Reply::Integer(1)
        );
    }
    let view = |connection: &mut Connection| {
        ["large", "small"].map(|key| {
            let digest = connection.send(&["DEBUG", "DIGEST-VALUE", key]);
            (digest, connection.call(&format!("CMS.QUERY {key} a b c d")))
        })
    };
    let before = view(&mut connection);
    connection.call("BGREWRITEAOF");
    server.wait_until("the rewrite", |server| {
        server.info("aof_rewrite_in_progress").as_deref() == Some("0")
            && server.info("aof_rewrite_scheduled").as_deref() == Some("0")
    });
    assert_eq!(
        server.info("aof_last_bgrewrite_status").as_deref(),
        Some("ok")
    );
    let text = aof(&server);
    assert_eq!(text.matches("CMS.LOADCHUNK").count(), 6);
    assert_eq!(text.matches("RESTORE").count(), 1);
    server.restart();
    let mut connection = server.resp2();
    assert!(connection.call("SELECT 5").is_ok());
    assert_eq!(view(&mut connection), before);
    assert!(connection.call("TTL large").integer() > Some(900));
}

#[test]
fn the_aof_has_what_changed_something() {
    let server = Options::new()
        .arguments(&["--appendonly", "yes", "--appendfsync", "always"])
        .start();
    let mut connection = server.resp2();
    assert!(
        connection
            .call("CMS.INITBYPROB k 0.01 0.01 CELL_SIZE 1")
            .is_ok()
    );
    for command in [
        "CMS.INCRBY k a 0 b -1",
        "CMS.INCRBY k a 200 b 1",
        "CMS.INCRBY k a 100 b 1 c 0 a -300 d 3",
        "CMS.MERGE k 1 k",
        "CMS.MERGE k 1 k WEIGHTS 2",
        "CMS.MERGE k 1 k WEIGHTS 0",
    ] {
        connection.call(command);
    }
    let text = aof(&server).replace("\r\n", " ").to_lowercase();
    let words: Vec<_> = text
        .split(' ')
        .filter(|word| !word.starts_with(['$', '*']))
        .collect();
    let text = words.join(" ");
    let commands = "cms.initbydim k 200 7 cell_size 1 cms.incrby k a 200 b 1 \
        cms.incrby k b 1 d 3 cms.merge k 1 k weights 0";
    assert!(text.contains(commands), "{text}");
    assert_eq!(text.matches("cms.").count(), 4, "{text}");
}

#[test]
fn commands_are_described() {
    let server = Server::start();
    let mut connection = server.resp2();
    for (command, words) in [
        ("initbydim", "k 1 1 CELL_SIZE 4"),
        ("initbyprob", "k 0.1 0.1"),
        ("incrby", "k a 1 b 2"),
        ("query", "k a b"),
        ("merge", "k 1 k"),
        ("info", "k"),
        ("scandump", "k 0"),
        ("loadchunk", "k 1 x"),
    ] {
        let name = format!("cms.{command}");
        let docs = connection.send(&["COMMAND", "DOCS", &name]).to_string();
        for part in [
            "summary",
            "since",
            "complexity",
            "arguments",
            "$bf",
            "key_spec_index",
        ] {
            assert!(docs.contains(part), "{name} lacks {part}: {docs}");
        }
        let keys = connection.call(&format!("COMMAND GETKEYS {name} {words}"));
        let expected = if command == "merge" {
            "*[$k $k]"
        } else {
            "*[$k]"
        };
        assert_eq!(keys.to_string(), expected, "{name}");
    }
}

#[test]
fn users_get_what_their_categories_allow() {
    let server = Server::start();
    let mut admin = server.resp2();
    let version = server.version();
    sketches(&mut admin, &["k"]);
    let mut user = |rules: &str, command: &str| {
        let set = format!("ACL SETUSER u reset on nopass ~* {rules}");
        assert!(admin.call(&set).is_ok(), "{set}");
        let mut connection = server.resp2();
        assert!(connection.call("AUTH u x").is_ok());
        connection.call(command).to_string()
    };
    // Redis 7.0 puts commands of modules into no category at all.
    if version.is_valkey() || version.is_redis_at_least(7, 2) {
        assert_eq!(user("+@read", "CMS.QUERY k a"), "*[:1]");
        assert!(user("+@read", "CMS.INCRBY k a 1").starts_with("-NOPERM"));
        assert!(user("+@fast", "CMS.INFO k").starts_with("*["));
        assert!(user("+@fast", "CMS.MERGE k 1 k").starts_with("-NOPERM"));
    }
    // Redis 7.0 and 7.2 have no categories of modules.
    if version.is_valkey_at_least(8, 0) || version.is_redis_at_least(7, 4) {
        assert_eq!(user("+@cms", "CMS.INCRBY k a 1"), "*[:2]");
        assert!(user("+@cms", "CMS.SCANDUMP k 0").starts_with("*[:1"));
        assert!(user("+@all -@cms", "CMS.QUERY k a").starts_with("-NOPERM"));
    }
}
