//! `sketch-max-key-bytes`: client commands on a primary cannot make a key larger than the limit. tests/server/obeyed.rs tests that
//! replication and loading are not limited.

use crate::families::{FAMILIES, Family, Refusal, dump, numbers, run_on};
use crate::support::abilities::record;
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::{Options, Server};

const NAME: &str = "sketch-max-key-bytes";

fn limit(server: &Server, bytes: i64) {
    server.set(NAME, bytes);
}

fn error(bytes: i64) -> String {
    format!("-ERR the key would hold more bytes than {NAME} allows ({bytes})")
}

/// The limit applies to the size of the key as INFO counts it. If the limit equals that size, the key is created. If
/// the limit is one byte lower, the key is not created, nothing is replicated, and the refusal is counted.
#[test]
fn no_command_creates_a_key_beyond_the_limit() {
    let (server, _replica) = Server::with_replica();
    let mut connection = server.resp2();
    let offset = || server.info("master_repl_offset");
    connection.call("CONFIG SET repl-ping-replica-period 3600");
    let of = |family: &'static Family| family.creations.iter().map(move |each| (family, each));
    for (family, command) in FAMILIES.iter().flat_map(of) {
        connection.call("FLUSHALL SYNC");
        if command.contains("SOURCE") {
            family.build(&mut connection, "SOURCE");
        }
        let keys = connection.call("DBSIZE");
        let others = family.info(&server, "bytes");
        connection.run(command);
        let bytes = family.info(&server, "bytes") - others;
        connection.call("DEL KEY");

        limit(&server, bytes - 1);
        let (refusals, before) = (family.info(&server, "refusals"), offset());
        connection.check(command, error(bytes - 1));
        assert_eq!(connection.call("DBSIZE"), keys, "{command}");
        assert_eq!(offset(), before, "{command}");
        assert_eq!(family.info(&server, "refusals"), refusals + 1);
        assert_eq!(family.info(&server, "bytes"), others);

        limit(&server, bytes);
        connection.run(command);
        limit(&server, 0);
    }
}

/// The header creates the key, and is refused if the key would be larger than the limit.
#[test]
fn no_chunk_creates_a_key_beyond_the_limit() {
    let (server, mut connection) = Server::start().connected();
    for family in FAMILIES {
        run_on(&mut connection, "large", family.build_large);
        let (next, chunk) = family.scan(&mut connection, "large", 0).expect("a chunk");
        let load = |connection: &mut Connection| family.load(connection, "copy", next, &chunk);
        limit(&server, 1 << 20);
        assert_eq!(load(&mut connection).to_string(), error(1 << 20));
        connection.check("EXISTS copy", ":0");
        limit(&server, 0);
        assert!(load(&mut connection).is_ok());
        connection.call("FLUSHALL SYNC");
        record("sketch-max-key-bytes", family.type_name);
    }
}

const LIMIT: i64 = 10_000;

/// Keys grow up to the limit. A refused command changes nothing; the same command succeeds without the limit.
#[test]
fn no_command_makes_a_key_grow_beyond_the_limit() {
    let (server, mut connection) = Server::start().connected();
    let of = |family: &'static Family| family.growths.iter().map(move |growth| (family, growth));
    for (family, growth) in FAMILIES.iter().flat_map(of) {
        connection.call("FLUSHALL SYNC");
        limit(&server, LIMIT);
        run_on(&mut connection, "KEY", growth.create);
        let name = growth.command;
        let refusals = family.info(&server, "refusals");
        let mut next = 0;
        let (command, refused) = loop {
            let command = growth.with_items(next..next + growth.items);
            let before = dump(&mut connection, "KEY");
            let reply = connection.call(&command);
            let refused = count_refused(&reply, growth.refusal);
            if refused > 0 {
                if refused == growth.items && connection.call("EXISTS KEY") == Reply::Integer(1) {
                    assert_eq!(dump(&mut connection, "KEY"), before, "{name}");
                }
                break (command, refused);
            }
            next += growth.items;
            assert!(next < 100_000, "{name} is never refused");
        };
        let counted = family.info(&server, "refusals") - refusals;
        let refused = match growth.refusal {
            Refusal::Command => growth.items,
            _ => refused,
        };
        assert_eq!(counted, refused as i64, "{name}");
        let held = family.info(&server, "bytes");
        // The allocator may round the last block up by less than a fifth.
        let is_about_limit = (100..LIMIT + LIMIT / 5).contains(&held);
        assert!(is_about_limit, "{name}: {held} bytes");
        limit(&server, 0);
        let reply = connection.call(&command);
        assert_eq!(count_refused(&reply, growth.refusal), 0, "{name}: {reply}");
    }
}

/// The number of items that a command refused. Errors must have the text of the limit.
fn count_refused(reply: &Reply, refusal: Refusal) -> usize {
    let is_refusal = |reply: &Reply| {
        let is_error = reply.is_error();
        assert!(!is_error || reply.to_string() == error(LIMIT), "{reply}");
        is_error || refusal == Refusal::MinusOne && *reply == Reply::Integer(-1)
    };
    match (refusal, reply.items()) {
        (Refusal::Command, None) => usize::from(is_refusal(reply)),
        (_, Some(items)) => items.iter().filter(|&item| is_refusal(item)).count(),
        (_, None) => panic!("{reply}"),
    }
}

/// A merge replaces its destination: the limit applies to the new size.
#[test]
fn merges_of_digests_must_stay_within_the_limit() {
    let (server, mut connection) = Server::start().connected();
    for key in ["a", "b"] {
        connection.call(&format!("TDIGEST.CREATE {key} COMPRESSION 1000"));
        connection.ok(&format!("TDIGEST.ADD {key} {}", numbers(0, 400)));
    }
    let family = Family::of("tdigest");
    let others = family.info(&server, "bytes");
    connection.ok("TDIGEST.MERGE made 2 a b");
    let bytes = family.info(&server, "bytes") - others;
    connection.call("DEL made");
    assert!(bytes > others / 2, "{bytes} bytes, and {others} of two");
    limit(&server, bytes - 1);
    for merge in ["TDIGEST.MERGE made 2 a b", "TDIGEST.MERGE a 1 b"] {
        let before = dump(&mut connection, "a");
        connection.check(merge, error(bytes - 1));
        assert_eq!(dump(&mut connection, "a"), before);
        connection.check("EXISTS made", ":0");
    }
    // A key may shrink even if its new size is still beyond the limit.
    limit(&server, 300);
    connection.ok("TDIGEST.MERGE a 1 b COMPRESSION 20 OVERRIDE");
    assert!(family.info(&server, "bytes") > 300);
}

/// A merge appends filters to the destination if a source has more filters.
#[test]
fn merges_of_filters_must_stay_within_the_limit() {
    let (server, mut connection) = Server::start().connected();
    for key in ["short", "long"] {
        connection.call(&format!("BF.RESERVE {key} 0.01 100"));
    }
    connection.call(&format!("BF.MADD long {}", numbers(0, 1000)));
    let family = Family::of("bf");
    let refusals = family.info(&server, "refusals");
    let before = dump(&mut connection, "short");
    limit(&server, 1000);
    for merge in ["BF.MERGE short 1 long", "BF.MERGE made 2 long short"] {
        connection.check(merge, error(1000));
    }
    assert_eq!(dump(&mut connection, "short"), before);
    connection.check("EXISTS made", ":0");
    assert_eq!(family.info(&server, "refusals"), refusals + 2);
    // `long` already has as many filters as the result.
    connection.ok("BF.MERGE long 1 short");
    limit(&server, 0);
    connection.ok("BF.MERGE short 1 long");
}

/// A merge of count-min sketches with a window needs memory: the result has the items of all sources.
#[test]
fn merges_of_count_min_windows_must_stay_within_the_limit() {
    let (server, mut connection) = Server::start().connected();
    // One pane, so that all sketches have the same panes for ten years.
    let window = "1000 5 WINDOW 315360000000 PANES 1 SEED 000102030405060708090a0b0c0d0e0f";
    let family = Family::of("cms-window");
    let mut sizes = Vec::new();
    for (key, items) in [("a", 0..20), ("b", 20..40), ("made", 0..0)] {
        connection.ok(&format!("CMS.INITBYDIM {key} {window}"));
        for item in items {
            connection.call(&format!("CMS.INCRBY {key} item{item} 1"));
        }
        sizes.push(family.info(&server, "bytes"));
    }
    // The result has more items than the first source.
    let bytes = sizes[0];
    limit(&server, bytes);
    let merge = "CMS.MERGE made 2 a b";
    connection.check(merge, error(bytes));
    connection.check("CMS.QUERY made item0 item20", "*[:0 :0]");
    limit(&server, 0);
    connection.ok(merge);
}

/// A key beyond the limit can be read, changed without taking memory, emptied, copied and restored.
#[test]
fn existing_keys_beyond_the_limit_stay_usable() {
    let (mut server, mut connection) = Server::start().connected();
    for family in FAMILIES {
        let key = family.type_name;
        family.build(&mut connection, key);
        let payload = connection.payload(key);
        let before = family.view(&mut connection, key);
        limit(&server, 1);
        run_on(&mut connection, key, family.idle);
        assert_eq!(family.view(&mut connection, key), before);
        assert_eq!(connection.send(&["COPY", key, "copy"]), Reply::Integer(1));
        assert!(connection.restore("restored", &payload).is_ok());
        connection.ok("DEBUG RELOAD");
        assert_eq!(family.view(&mut connection, key), before);
        assert_eq!(family.view(&mut connection, "copy"), before);
        assert_eq!(family.view(&mut connection, "restored"), before);
        limit(&server, 0);
        connection.call("DEL copy restored");
    }
    limit(&server, 1);
    let commands = "CMS.INCRBY CMSk-TYPE a 1 another 5;CF.DEL MBbloomCF a;TDIGEST.RESET TDIS-TYPE";
    for command in commands.split(';') {
        let reply = connection.call(command);
        assert!(!reply.to_string().contains("ERR"), "{command}: {reply}");
    }
    server.shut_down();
}

/// Counting an item that is on the list takes no memory, even if the list has no free place. Neither does a short item.
#[test]
fn a_full_top_k_beyond_the_limit_refuses_only_items_that_need_memory() {
    let (server, mut connection) = Server::start().connected();
    connection.ok("TOPK.RESERVE k 2 8 5 0.9");
    connection.call("TOPK.INCRBY k listed 5 b 3");
    limit(&server, 1);
    for (command, expected) in [
        ("TOPK.ADD k b listed", "*[*-1 *-1]".to_owned()),
        ("TOPK.INCRBY k b 2", "*[*-1]".to_owned()),
        ("TOPK.ADD k unknown", "*[*-1]".to_owned()),
        ("TOPK.ADD k unknown-and-long", format!("*[{}]", error(1))),
        ("TOPK.LIST k WITHCOUNT", "*[$listed :6 $b :6]".to_owned()),
    ] {
        let reply = connection.call(command).to_string();
        assert_eq!(reply.replace("$-1", "*-1"), expected, "{command}");
    }
}

/// The limit also applies to scripts and transactions, and in RESP3.
#[test]
fn scripts_and_transactions_must_stay_within_the_limit() {
    let server = Options::new().module_arguments(&[NAME, "64"]).start();
    let mut connection = server.connect(Protocol::Resp3);
    let script = "return redis.call('BF.ADD', KEYS[1], 'a')";
    let reply = connection.send(&["EVAL", script, "1", "k"]).to_string();
    assert!(reply.contains(NAME), "{reply}");
    connection.ok("MULTI");
    connection.call("CMS.INITBYDIM k 10 10");
    connection.check("EXEC", format!("*[{}]", error(64)));
    connection.check("EXISTS k", ":0");
}

#[test]
fn the_limit_is_an_integer_of_63_bits() {
    let (server, mut connection) = Server::start().connected();
    let name = server.setting(NAME);
    for bad in ["-1", "x", "1gb", "9223372036854775808", ""] {
        let reply = connection.send(&["CONFIG", "SET", &name, bad]).to_string();
        assert!(reply.contains(NAME), "{bad}: {reply}");
    }
    limit(&server, i64::MAX);
    connection.check("BF.ADD k a", ":1");
}
