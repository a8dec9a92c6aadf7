//! Cuckoo filters on a real server: behavior that the recordings do not cover.

use crate::bloom::{count, numbered};
use crate::families::dump;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

/// The value of a field of CF.INFO.
fn info(connection: &mut Connection, key: &str, field: &str) -> i64 {
    connection.send(&["CF.INFO", key]).number(field)
}

#[test]
fn config_set_checks_bucket_size_against_initial_size() {
    let (server, mut connection) = Server::start().connected();
    let mut set = |name: &str, value: &str| {
        let set = ["CONFIG", "SET", &server.setting(name), value];
        connection.send(&set).to_string()
    };
    let steps = [
        ("cf-initial-size", "10", ""),
        ("cf-bucket-size", "6", "[1, 5]"),
        ("cf-bucket-size", "5", ""),
        ("cf-initial-size", "9", "[10, 1073741824]"),
        ("cf-initial-size", "1000", ""),
        ("cf-bucket-size", "256", "[1, 255]"),
        ("cf-bucket-size", "255", ""),
        ("cf-initial-size", "509", "[510, 1073741824]"),
        ("cf-initial-size", "510", ""),
        ("cf-bucket-size", "1", ""),
        ("cf-initial-size", "3", "[4, 1073741824]"),
        ("cf-initial-size", "2", "[4, 1073741824]"),
        ("cf-initial-size", "4", ""),
        ("cf-bucket-size", "3", "[1, 2]"),
        ("cf-initial-size", "510", ""),
        ("cf-bucket-size", "255", ""),
    ];
    for (name, value, range) in steps {
        let reply = set(name, value);
        let text = format!("Value for `{name}` must be in the range {range}");
        let is_wanted = match range.is_empty() {
            true => reply == "+OK",
            false => reply.contains(&text),
        };
        assert!(is_wanted, "{name} {value}: {reply}");
    }
    let reply = set("cf-bucket-size", "x");
    let is_refused = reply.contains("Invalid value for `cf-bucket-size`");
    assert!(is_refused, "{reply}");
    let name = server.setting("cf-bucket-size");
    connection.check(&format!("CONFIG GET {name}"), format!("*[${name} $255]"));
}

/// The limit is checked once per command. Replicas and the AOF are not limited.
#[test]
fn max_expansions_limits_clients_but_not_replication_and_loading() {
    let log = || Options::new().arguments(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]);
    let limit = ["cf-max-expansions", "1"];
    let mut primary = log().start();
    let mut replica = Options::new().module_arguments(&limit).start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    connection.ok("CF.RESERVE k 4 MAXITERATIONS 1 EXPANSION 1");
    primary.set("cf-max-expansions", 3);
    let mut inserted = 0;
    while info(&mut connection, "k", "Number of filters") < 2 {
        inserted += 1;
        connection.check("CF.ADD k a", ":1");
    }
    let reply = connection.call(&format!("CF.INSERT k ITEMS{}", " a".repeat(90)));
    inserted += 90;
    assert_eq!(reply.ones(), 90, "{reply}");
    let sub_filters = info(&mut connection, "k", "Number of filters");
    assert!(sub_filters > 20, "{sub_filters}");
    let reached = "-Maximum expansions reached";
    let offset = primary.info_number("master_repl_offset");
    let insertions =
        "ADD k a; ADDNX k a; INSERT k ITEMS a b; INSERTNX k ITEMS a; INSERT k NOCREATE ITEMS a";
    for command in insertions.split("; ") {
        connection.check(&format!("CF.{command}"), reached);
    }
    assert_eq!(primary.info_number("master_repl_offset"), offset);
    // A key that was created for a refused item exists on all servers.
    primary.set("cf-max-expansions", 1);
    for command in ["CF.ADD new a", "CF.INSERT new2 CAPACITY 77 ITEMS a"] {
        connection.check(command, reached);
    }
    assert_eq!(info(&mut connection, "new2", "Number of buckets"), 64);
    primary.wait_for_replica(&replica);
    let dumps = |from: &mut Connection| ["k", "new", "new2"].map(|key| dump(from, key));
    let before = dumps(&mut connection);
    assert_eq!(dumps(&mut replica.resp2()), before);
    let items = info(&mut connection, "k", "Number of items inserted");
    assert_eq!(items, inserted);
    primary.restart_with(log().module_arguments(&limit));
    assert_eq!(dumps(&mut primary.resp2()), before);
}

/// If a filter cannot grow, the reply has -1 for each refused item. These items are not replicated, and the others
/// keep their order.
#[test]
fn items_refused_for_memory_are_not_replicated() {
    for command in ["CF.INSERT", "CF.INSERTNX"] {
        let (mut primary, replica) = Server::with_replica();
        let mut connection = primary.resp2();
        // The second sub-filter takes 2 MiB, and the third 64 GiB.
        connection.ok("CF.RESERVE k 64 EXPANSION 32768 MAXITERATIONS 1");
        connection.ok("CONFIG SET maxmemory 100mb");
        // Many slots are empty when an item first fails, so later items are still added.
        let mut refused = 0;
        let mut added_after = 0;
        let mut from = 0;
        while refused == 0 || added_after == 0 {
            let reply = connection.send(&numbered(&[command, "k", "ITEMS"], from, from + 20_000));
            for item in reply.items().expect("an array") {
                match item.integer() {
                    Some(-1) => refused += 1,
                    Some(1) if refused > 0 => added_after += 1,
                    Some(0 | 1) => {}
                    other => panic!("{other:?}"),
                }
            }
            from += 20_000;
        }
        assert!(primary.info_number("bf_cuckoo_refusals") >= refused);
        primary.wait_for_replica(&replica);
        let here = dump(&mut connection, "k");
        assert!(dump(&mut replica.resp2(), "k") == here, "{command}");
    }
}

#[test]
fn insertions_into_a_full_filter_fail_in_each_protocol_and_on_replicas() {
    let (mut primary, replica) = Server::with_replica();
    let mut connection = primary.resp2();
    connection.ok("CF.RESERVE k 4 EXPANSION 0");
    let reply = connection.call("CF.INSERT k ITEMS a a a a a b");
    let (full, items) = (Reply::Integer(-1), reply.items().unwrap());
    assert_eq!(items[4], full);
    let items = connection.call("CF.INSERTNX k ITEMS a zz");
    assert_eq!(items.items().unwrap()[0], Reply::Integer(0));
    connection.check_all(
        "
        CF.ADD k a => -Filter is full
        CF.ADDNX k a => :0
        CF.INSERT k NOCREATE ITEMS a a => *[:-1 :-1]
    ",
    );
    let mut resp3 = primary.resp3();
    resp3.check("CF.INSERT k ITEMS a a", "*[#f #f]");
    resp3.check("CF.INSERT other ITEMS a", "*[#t]");
    resp3.check("CF.INSERTNX other ITEMS a b", "*[:0 :1]");
    assert!(primary.info_number("bf_cuckoo_refusals") >= 6);
    primary.wait_for_replica(&replica);
    let here = dump(&mut connection, "k");
    assert_eq!(dump(&mut replica.resp2(), "k"), here);
}

/// The second sub-filter takes 256 KiB, and the third 8 GiB. In the first sub-filter, the two buckets of the item are
/// the same bucket.
#[test]
fn growth_beyond_the_limit_is_an_error_and_changes_nothing() {
    let (_server, mut connection) = Server::start().connected();
    connection.ok("CONFIG SET maxmemory 200mb");
    connection.ok("CF.RESERVE k 8 EXPANSION 32768");
    let reply = connection.call("CF.INSERT k ITEMS a a a a a a a a");
    assert_eq!(reply.to_string(), "*[:1 :1 :1 :1 :1 :1 :-1 :-1]");
    let before = dump(&mut connection, "k");
    connection.check_all(
        "
        CF.ADD k a => -ERR Insufficient memory
        CF.ADDNX k a => :0
        CF.INSERT k ITEMS a => *[:-1]
    ",
    );
    assert_eq!(dump(&mut connection, "k"), before);
}

/// Two buckets of two slots hold four equal items per sub-filter, so 32 sub-filters hold 128 (or 64 if both buckets
/// are the same).
#[test]
fn equal_items_grow_a_filter_up_to_the_limit() {
    let (_server, mut connection) = Server::start().connected();
    let mut inserted = 0;
    let mut reply = connection.call("CF.ADD k same");
    while reply == Reply::Integer(1) {
        inserted += 1;
        reply = connection.call("CF.ADD k same");
    }
    assert_eq!(reply.to_string(), "-Maximum expansions reached");
    // The first item adds the last sub-filter.
    assert_eq!(inserted, 31 * 4 + 1);
    assert_eq!(info(&mut connection, "k", "Number of filters"), 32);
    connection.check("CF.COUNT k same", format!(":{inserted}"));
    connection.check("CF.DEL k same", ":1");
    connection.check("CF.COUNT k same", format!(":{}", inserted - 1));
    // The limit is checked once per command: one command adds ten thousand items.
    let command = format!("CF.INSERT once ITEMS{}", " same".repeat(10_000));
    assert_eq!(connection.call(&command).ones(), 10_000);
    connection.check("CF.COUNT once same", ":10000");
    assert_eq!(info(&mut connection, "once", "Number of filters"), 2500);
}

#[test]
fn memory_usage_and_info_follow_growth_and_compaction() {
    let (server, mut connection) = Server::start().connected();
    let counted = || server.info_number("bf_cuckoo_bytes");
    connection.ok("CF.RESERVE k 10000");
    let empty = connection.call("MEMORY USAGE k").integer().unwrap();
    let added = count(&mut connection, &["CF.INSERT", "k", "ITEMS"], 0, 100_000);
    assert_eq!(added, 100_000);
    let full = connection.call("MEMORY USAGE k").integer().unwrap();
    assert!(full > 100_000 && full > empty, "{full}");
    assert!((counted() - full).abs() < 1000, "{} {full}", counted());
    assert!(server.info_number("bf_cuckoo_growths") >= 6);
    assert_eq!(server.info_number("bf_cuckoo_items_added"), 100_000);
    for start in (0..100_000).step_by(1000) {
        for item in numbered(&[], start, start + 1000) {
            connection.write(&["CF.DEL", "k", &item]).unwrap();
        }
        for _ in 0..1000 {
            assert_eq!(connection.read().unwrap(), Reply::Integer(1));
        }
    }
    let left = connection.call("MEMORY USAGE k").integer().unwrap();
    let is_small = left < empty + 2000;
    assert!(is_small, "{left} left of {full}, {empty} at first");
    assert!((counted() - left).abs() < 1000, "{} {left}", counted());
}

/// SCANDUMP returns no chunks for these filters, but an AOF rewrite must preserve them.
#[test]
fn filters_without_items_survive_a_rewrite_of_the_aof() {
    let options = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let (mut server, mut connection) = Options::new().arguments(&options).start().connected();
    connection.ok("SELECT 9");
    connection.ok("CF.RESERVE empty 99 BUCKETSIZE 5 EXPANSION 0");
    connection.check("CF.ADD emptied a", ":1");
    connection.check("CF.DEL emptied a", ":1");
    assert!(server.rewrite_aof());
    let before = ["empty", "emptied"].map(|key| dump(&mut connection, key));
    assert!(matches!(before[0], Reply::Bulk(_)));
    server.restart();
    let mut connection = server.resp2();
    connection.ok("SELECT 9");
    let after = ["empty", "emptied"].map(|key| dump(&mut connection, key));
    assert_eq!(after, before);
}
