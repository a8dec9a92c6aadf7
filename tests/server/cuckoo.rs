//! Cuckoo filters on a real server: behavior that the recordings do not cover.

use crate::families::dump;
use crate::support::resp::Connection;
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
