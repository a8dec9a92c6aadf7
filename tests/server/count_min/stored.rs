//! Stored count-min sketches on a real server: payloads, chunks and the AOF that the recordings lack.

use crate::count_min::{assert_answers, sketches};
use crate::families::{Family, dump};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use roughly_dump::{Writer, type_id};
use std::fs;

/// The reply of RESTORE to a payload of these values.
fn restore(connection: &mut Connection, version: u16, numbers: &[u64], cells: &[u8]) -> Reply {
    let mut payload = Writer::new(type_id(b"CMSk-TYPE", version));
    for &number in numbers {
        payload.write_unsigned(number);
    }
    payload.write_bytes(cells);
    connection.send(&[b"RESTORE", &b"k"[..], b"0", &payload.finish(), b"REPLACE"])
}

#[test]
fn payloads_of_every_version_load_and_invalid_ones_are_refused() {
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
        // Roughly writes version 0.
        let Reply::Bulk(payload) = dump(&mut connection, "k") else {
            panic!("DUMP");
        };
        let mut expected = Writer::new(type_id(b"CMSk-TYPE", 0)).finish();
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

#[test]
fn a_sketch_is_copied_in_chunks() {
    let primary = Server::start();
    let mut other = Server::start();
    let mut replica = Server::start();
    replica.replicate(&other);
    let (mut from, mut to) = (primary.resp2(), other.resp2());
    for (make, chunks) in [
        ("CMS.INITBYDIM k 1000000 5", 3),
        ("CMS.INITBYDIM l 100 5 CELL_SIZE 8", 2),
        ("CMS.INITBYDIM m 100 5 CELL_SIZE 1", 2),
    ] {
        let key = make.split(' ').nth(1).unwrap();
        assert!(from.call(make).is_ok());
        for i in 0..200 {
            from.call(&format!("CMS.INCRBY {key} item:{i} {}", i % 200));
        }
        assert_eq!(
            Family::of("cms").copy_in_chunks(&mut from, key, &mut to, key),
            chunks
        );
        assert_eq!(dump(&mut to, key), dump(&mut from, key));
    }
    other.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    for key in ["k", "l", "m"] {
        assert_eq!(dump(&mut on_replica, key), dump(&mut from, key));
    }
}

#[test]
fn invalid_chunks_are_refused() {
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
    // A count above the maximum of an 8-byte cell.
    let reply = connection.send(&[b"CMS.LOADCHUNK", &b"wide"[..], b"9", &[0xff; 8]]);
    assert_eq!(reply.to_string(), "-ERR received bad data");
    assert_eq!(connection.call("CMS.QUERY wide a").to_string(), "*[:0]");
}

/// The contents of all files of the AOF.
fn aof(server: &Server) -> String {
    let directory = server.dir().join("appendonlydir");
    let files = fs::read_dir(directory).unwrap();
    let texts = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    texts
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .collect()
}

/// AOF rewrite emits a payload above 64 MiB in chunks and a smaller one as a whole, in any database.
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
    assert!(server.rewrite_aof());
    let text = aof(&server);
    assert_eq!(text.matches("CMS.LOADCHUNK").count(), 18);
    assert_eq!(text.matches("RESTORE").count(), 1);
    server.restart();
    let mut connection = server.resp2();
    assert!(connection.call("SELECT 5").is_ok());
    assert_eq!(view(&mut connection), before);
    assert!(connection.call("TTL large").integer() > Some(900));
}

#[test]
fn only_changes_are_written_to_the_aof() {
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
