//! SKETCH.ACCURACY: its fields in both protocols, empty and expired keys, parts of windows.
//!
//! [`Family::reads`](crate::families::Family::reads) has the command too, so other tests compare its reply on a primary and its
//! replica, before and after a reload, and with refused memory. `crates/models/tests/accuracy` compares the figures with the
//! true errors.

use crate::families::{FAMILIES, Family};
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::{Options, Server};
use crate::workload::columns;

/// The fields of a type. The others are doubles.
const INTEGERS: [&str; 3] = ["count", "smallest listed count", "samples"];

fn fields_of(family: &Family) -> impl Iterator<Item = &'static str> {
    let fields = match family.prefix {
        "bf" => "false positive rate, specified rate, fill",
        "cf" => "false positive rate, fill",
        "cms" => "typical error, error p99, count, items counted exactly",
        "topk" => "agreement, smallest listed count",
        _ => "rank error p50, rank error p90, rank error p99, samples",
    };
    fields.split(", ")
}

/// A field of a reply as a number.
fn figure(reply: &Reply, name: &str) -> f64 {
    let number = match reply.field(name) {
        Some(Reply::Integer(integer)) => Some(*integer as f64),
        Some(Reply::Double(text)) => text.parse().ok(),
        Some(Reply::Bulk(text)) => std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok()),
        _ => None,
    };
    number.unwrap_or_else(|| panic!("{name}: {reply}"))
}

fn accuracy(connection: &mut Connection, key: &str) -> Reply {
    connection.send(&["SKETCH.ACCURACY", key])
}

/// Adds the items of a range, with a command that takes several.
fn add(connection: &mut Connection, command: &str, items: std::ops::Range<u32>) {
    let items: Vec<_> = items.map(|item| item.to_string()).collect();
    for items in items.chunks(500) {
        connection.run(&format!("{command} {}", items.join(" ")));
    }
}

#[test]
fn the_fields_have_their_order_and_types() {
    let server = Server::start();
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        for family in FAMILIES {
            connection.call("DEL k");
            family.build(&mut connection, "k");
            let reply = accuracy(&mut connection, "k");
            let names: Vec<_> = match &reply {
                Reply::Map(pairs) => pairs.iter().map(|(name, _)| name.to_string()).collect(),
                _ => (reply.items().unwrap_or(&[]).iter().step_by(2))
                    .map(ToString::to_string)
                    .collect(),
            };
            let expected = fields_of(family).map(|name| format!("+{name}"));
            let expected: Vec<_> = expected.collect();
            assert_eq!(names, expected, "{}: {reply}", family.type_name);
            for name in fields_of(family) {
                let value = reply.field(name).expect("a field");
                let is_right = match (INTEGERS.contains(&name), protocol) {
                    (true, _) => matches!(value, Reply::Integer(_)),
                    (false, Protocol::Resp2) => matches!(value, Reply::Bulk(_)),
                    (false, Protocol::Resp3) => matches!(value, Reply::Double(_)),
                };
                assert!(is_right, "{name}: {value}");
                assert!(figure(&reply, name) >= 0.0, "{name}: {value}");
            }
        }
    }
}

/// Windows of a second: all panes have expired after two.
const EMPTY: [&str; 11] = [
    "MBbloom-- | BF.RESERVE k 0.02 100 | BF.ADD k a",
    "bf-window | BF.RESERVE k 0.02 100 WINDOW 1000 | BF.ADD k a",
    "bloomfltr | BF.INSERT k ERROR 0.02 CAPACITY 100 SEED 0123456789abcdefghijklmnopqrstuv | BF.ADD k a",
    "MBbloomCF | CF.RESERVE k 100 | CF.ADD k a",
    "cf-window | CF.RESERVE k 100 WINDOW 1000 | CF.ADD k a",
    "CMSk-TYPE | CMS.INITBYDIM k 1 1 | CMS.INCRBY k a 5",
    "cmswindow | CMS.INITBYDIM k 10 1 WINDOW 1000 | CMS.INCRBY k a 5",
    "TopK-TYPE | TOPK.RESERVE k 5 | TOPK.INCRBY k a 7",
    "tk-window | TOPK.RESERVE k 5 WINDOW 1000 | TOPK.INCRBY k a 7",
    "TDIS-TYPE | TDIGEST.CREATE k | TDIGEST.ADD k 5 6",
    "td-window | TDIGEST.CREATE k WINDOW 1000 | TDIGEST.ADD k 5 6",
];

#[test]
fn empty_and_expired_keys_have_no_error() {
    let (server, mut connection) = Options::new().debug_module().start().connected();
    let assert_empty = |connection: &mut Connection, family: &Family| {
        let reply = accuracy(connection, "k");
        for name in fields_of(family) {
            let expected = match name {
                "agreement" => 1.0,
                "specified rate" => 0.02,
                _ => 0.0,
            };
            let found = figure(&reply, name);
            assert_eq!(found, expected, "{} {name}", family.type_name);
            assert!(found.is_sign_positive(), "{} {name}", family.type_name);
        }
    };
    for row in EMPTY {
        let [type_name, create, add] = columns(row);
        let family = Family::of_type(type_name.as_bytes());
        server.set_clock("1000000");
        connection.call("DEL k");
        connection.run(create);
        connection.check("TYPE k", format!("+{type_name}"));
        assert_empty(&mut connection, family);
        connection.run(add);
        let reply = accuracy(&mut connection, "k").to_string();
        if family.has_window {
            server.set_clock("1002001");
            assert_empty(&mut connection, family);
            server.set_clock("1000000");
            assert_eq!(accuracy(&mut connection, "k").to_string(), reply);
        }
    }
}

/// Half of the items are in an earlier pane.
#[test]
fn a_part_of_a_window_has_its_own_figures() {
    let (server, mut connection) = Options::new().debug_module().start().connected();
    for row in [
        "BF.RESERVE k 0.01 2000 | BF.MADD k | fill",
        "BF.RESERVE k 0.01 2000 | BF.MADD k | false positive rate",
        "CF.RESERVE k 2000 | CF.INSERT k ITEMS | fill",
        "CF.RESERVE k 2000 | CF.INSERT k ITEMS | false positive rate",
        "TOPK.RESERVE k 5 | TOPK.ADD k | smallest listed count",
        "TDIGEST.CREATE k | TDIGEST.ADD k | samples",
    ] {
        let [create, add_items, name] = columns(row);
        server.set_clock("1000000");
        connection.call("DEL k");
        connection.run(&format!("{create} WINDOW 10000 PANES 10"));
        let items = match create.starts_with("TOPK") {
            // The same items in both panes.
            true => [0..5, 0..5],
            false => [0..500, 500..1000],
        };
        for (pane, items) in items.into_iter().enumerate() {
            server.set_clock(&(1_000_000 + 5000 * pane).to_string());
            add(&mut connection, add_items, items);
        }
        let whole = figure(&accuracy(&mut connection, "k"), name);
        let part = connection.call("SKETCH.WITHIN 2000 SKETCH.ACCURACY k");
        let part = figure(&part, name);
        let is_close = (whole / part / 2.0 - 1.0).abs() < 0.02;
        assert!(is_close, "{create}: {name} {whole} {part}");
    }
    // An exact pane and an array.
    server.set_clock("1000000");
    connection.call("DEL k");
    connection.run("CMS.INITBYDIM k 64 2 WINDOW 10000 PANES 10");
    for item in 0..300 {
        connection.run(&format!("CMS.INCRBY k {item} 1"));
    }
    server.set_clock("1005000");
    connection.run("CMS.INCRBY k 1 100");
    for (command, count, exact) in [
        ("SKETCH.ACCURACY k", 400.0, 0.25),
        ("SKETCH.WITHIN 2000 SKETCH.ACCURACY k", 100.0, 1.0),
    ] {
        let reply = connection.call(command);
        assert_eq!(figure(&reply, "count"), count, "{reply}");
        assert_eq!(figure(&reply, "items counted exactly"), exact, "{reply}");
        let typical = figure(&reply, "typical error");
        assert_eq!(typical > 0.0, exact < 1.0, "{reply}");
        assert!(figure(&reply, "error p99") >= typical, "{reply}");
    }
}
