//! `bf.bloom-memory-usage-limit`: commands of clients on a primary cannot make a key of this type larger than the limit;
//! files, replication and other types are not limited.

use super::{AOF, error, logged, replacement, words};
use crate::families::valkey_bloom::load_payload;
use crate::families::{Family, dump, numbers};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

const TOO_LARGE: &str = "ERR operation exceeds bloom object memory limit";

fn limit(connection: &mut Connection, bytes: u64) {
    connection.ok(&format!("CONFIG SET bf.bloom-memory-usage-limit {bytes}"));
}

fn size(connection: &mut Connection, key: &str) -> u64 {
    let size = connection.send(&["BF.INFO", key, "SIZE"]).integer();
    size.and_then(|size| size.try_into().ok()).expect("a size")
}

/// The header of a key in the form of chunks.
fn header(connection: &mut Connection, key: &str) -> Vec<u8> {
    let scanned = Family::of("bf").scan(connection, key, 0);
    scanned.expect("a header").1
}

/// If the limit equals the size of the new key, the key is created. If the limit is one byte lower, the key is not
/// created, nothing is logged, and no event is published.
#[test]
fn no_command_creates_a_key_above_the_limit() {
    let (server, mut connection) = replacement().arguments(AOF).start().connected();
    connection.call("BF.INSERT source ERROR 0.001 CAPACITY 10");
    connection.call(&format!("BF.MADD source {}", numbers(0, 100)));
    let payload = load_payload(&mut connection, "source");
    let header = header(&mut connection, "source");
    let many = format!("BF.MADD KEY {}", numbers(0, 50));
    for command in [
        words("BF.RESERVE KEY 0.01 100"),
        words("BF.RESERVE KEY 0.25 1000 NONSCALING"),
        words("BF.ADD KEY a"),
        words(&many),
        words("BF.INSERT KEY CAPACITY 77"),
        words("BF.INSERT KEY TIGHTENING 0.1 ITEMS a b"),
        [words("BF.LOAD KEY"), vec![payload]].concat(),
        [words("BF.LOADCHUNK KEY 1"), vec![header]].concat(),
    ] {
        let name = String::from_utf8_lossy(&command[0]).into_owned();
        let created = connection.send_run(&command);
        let bytes = size(&mut connection, "KEY");
        connection.call("DEL KEY");
        limit(&mut connection, bytes - 1);
        let before = logged(&server).len();
        assert_eq!(connection.send(&command), error(TOO_LARGE), "{name}");
        assert_eq!(connection.call("EXISTS KEY"), Reply::Integer(0), "{name}");
        assert_eq!(logged(&server).len(), before, "{name}");
        limit(&mut connection, bytes);
        assert_eq!(connection.send(&command), created, "{name}");
        connection.check("DEL KEY", ":1");
        limit(&mut connection, 128 << 20);
    }
}

/// A key can be read and written up to its capacity, whatever the limit.
#[test]
fn a_key_above_the_limit_accepts_items_that_fit() {
    let (_server, mut connection) = replacement().start().connected();
    connection.ok("BF.RESERVE k 1e-9 10");
    limit(&mut connection, 1);
    let reply = connection.call(&format!("BF.MADD k {}", numbers(0, 10)));
    assert_eq!(reply, Reply::Array(vec![Reply::Integer(1); 10]));
    let before = dump(&mut connection, "k");
    connection.check("BF.ADD k 10", format!("-{TOO_LARGE}"));
    connection.check("BF.ADD k 9", ":0");
    connection.check("BF.CARD k", ":10");
    assert_eq!(dump(&mut connection, "k"), before);
    connection.check("COPY k copy", ":1");
    // A new limit applies at once.
    limit(&mut connection, 10_000);
    connection.check("BF.ADD k 10", ":1");
}

/// The two ways to copy a key from another server accept the same keys, whatever the number of filters. The seeds are random: a
/// key has fewer filters than wanted if ten of 90 items are false positives, with a probability below 1e-7.
#[test]
fn chunks_are_limited_as_payloads_of_restore() {
    let (_server, mut connection) = replacement().start().connected();
    for filters in 1..=9 {
        limit(&mut connection, 128 << 20);
        connection.call("BF.INSERT k CAPACITY 10 EXPANSION 1");
        connection.call(&format!("BF.MADD k {}", numbers(0, 10 * filters)));
        connection.check("BF.INFO k FILTERS", format!(":{filters}"));
        let payload = &connection.payload("k");
        let header = &header(&mut connection, "k");
        let commands = [
            [b"RESTORE", &b"copy"[..], b"0", payload],
            [b"BF.LOADCHUNK", b"copy", b"1", header],
        ];
        let bytes = size(&mut connection, "k");
        // The list has at most eight slots of eight bytes that a restored chain does not need.
        let mut accepted = Vec::new();
        for bytes in bytes - 65..=bytes {
            limit(&mut connection, bytes);
            let [restored, loaded] = commands.each_ref().map(|command| {
                let is_accepted = connection.send(command).is_ok();
                connection.check("DEL copy", format!(":{}", u8::from(is_accepted)));
                is_accepted
            });
            assert_eq!(restored, loaded, "{filters} filters, {bytes} bytes");
            accepted.push(loaded);
        }
        let ends = (accepted[0], accepted[65]);
        assert_eq!(ends, (false, true), "{filters} filters");
        connection.call("DEL k");
    }
}

/// Files and replication, also of RESTORE, are not limited.
#[test]
fn files_and_replication_are_not_limited() {
    let with_preamble = ["--appendonly", "yes", "--aof-use-rdb-preamble", "yes"];
    for (arguments, rewrites) in [
        (&["--save", "3600 1"][..], false),
        (AOF, false),
        (AOF, true),
        (&with_preamble, true),
    ] {
        let limited = || Options::new().module_arguments(&["bloom-memory-usage-limit", "1"]);
        let (mut server, mut connection) = replacement().arguments(arguments).start().connected();
        connection.call(&format!("BF.MADD grown {}", numbers(0, 500)));
        connection.call("BF.RESERVE one 0.01 100");
        let mut synchronized = limited().start();
        synchronized.replicate(&server);
        let payload = connection.payload("grown");
        assert!(connection.restore("restored", &payload).is_ok());
        connection.call(&format!("BF.MADD grown {}", numbers(500, 500)));
        connection.call("BF.ADD new a");
        server.wait_for_replica(&synchronized);
        let keys = ["grown", "one", "restored", "new"];
        let state = |server: &Server| {
            let mut connection = server.resp2();
            keys.map(|key| dump(&mut connection, key))
        };
        let before = state(&server);
        assert!(!before.contains(&Reply::Null('$')));
        assert_eq!(state(&synchronized), before);
        if rewrites {
            assert!(server.rewrite_aof());
        }
        server.restart_with(limited().arguments(arguments));
        assert_eq!(state(&server), before, "{arguments:?}");
        server.ok("DEBUG RELOAD");
        assert_eq!(state(&server), before, "{arguments:?}");
        let insert = "BF.INSERT x TIGHTENING 0.5 ITEMS a";
        server.check(insert, format!("-{TOO_LARGE}"));
        // The limit applies to a replica after it becomes a primary.
        synchronized.ok("REPLICAOF NO ONE");
        synchronized.check(insert, format!("-{TOO_LARGE}"));
    }
}

#[test]
fn other_types_are_not_limited() {
    let limited = Options::new().module_arguments(&["bloom-memory-usage-limit", "1"]);
    let (_server, mut connection) = limited.start().connected();
    connection.ok("BF.RESERVE classic 0.01 100");
    connection.ok("BF.RESERVE window 0.01 100 WINDOW 1000");
    connection.ok("CF.RESERVE cuckoo 1000");
    let grown = connection.call(&format!("BF.MADD classic {}", numbers(0, 500)));
    assert!(!grown.to_string().contains("ERR"), "{grown}");
    let payload = &connection.payload("classic");
    assert!(connection.restore("r", payload).is_ok());
}
