//! SKETCH.WITHIN: commands, clocks, errors in their order; all commands on a part of the window: scripts, replicas. `permissions.rs` has
//! the permissions, and `periods.rs` SKETCH.BETWEEN and SKETCH.SERIES.

use super::{SKETCHES, Sketch, seeded, set_ms, start};
use crate::families::{FAMILIES, Family, run_on};
use crate::support::resp::{Connection, Protocol, Reply, error};
use crate::support::server::Server;
use roughly::server::part::Parts;
use std::collections::BTreeSet;

pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
pub const NO_WINDOW: &str = "ERR the key has no window";

/// The commands that this command runs on a part of the window.
pub fn readers(by: Parts) -> BTreeSet<String> {
    let families = roughly::MODULE.families.iter();
    let commands = families.flat_map(|family| family.commands);
    let readers = commands.filter(|command| command.handler.parts >= by);
    let names = readers.map(|command| command.name.to_str().expect("ASCII"));
    names.map(str::to_owned).collect()
}

/// A call of each of them on KEY, with arguments that the keys of the tests accept.
pub fn calls(by: Parts) -> Vec<String> {
    let arguments = |name: &str| match name {
        "bf.card" | "topk.list" | "tdigest.min" | "tdigest.max" | "sketch.window"
        | "sketch.accuracy" => "",
        "bf.exists" | "cf.exists" | "cf.count" => "1",
        "tdigest.quantile" | "tdigest.cdf" => "0 0.25 0.5 1",
        "tdigest.trimmed_mean" => "0.1 0.9",
        _ => "1 2 3 4 5 6 7 8 9",
    };
    let calls = readers(by).into_iter();
    let calls = calls.map(|name| format!("{name} KEY {}", arguments(&name)));
    let mut calls: Vec<_> = calls.map(|call| call.trim().to_owned()).collect();
    calls.push("TOPK.LIST KEY WITHCOUNT".to_owned());
    calls
}

/// The calls in lower case that this command runs on a sketch of this type.
pub fn calls_of(sketch: &Sketch, by: Parts) -> Vec<String> {
    let (prefix, _) = sketch.create.split_once('.').expect("a command");
    let own = [format!("{}.", prefix.to_lowercase()), "sketch.".to_owned()];
    let calls = calls(by).into_iter().map(|call| call.to_lowercase());
    let calls = calls.filter(|call| own.iter().any(|start| call.starts_with(start)));
    calls.collect()
}

/// The error of a call on a key of this family, if it has one whatever the part.
pub fn error_of(call: &str, family: &Family) -> Option<&'static str> {
    let (prefix, _) = call.split_once('.').expect("a command");
    let is_own = ["sketch", family.prefix].contains(&&*prefix.to_lowercase());
    match is_own {
        false => Some(WRONG_TYPE),
        true => (!family.has_window).then_some(NO_WINDOW),
    }
}

/// Checks that a reply is this error, or no error.
pub fn check_error(reply: &Reply, expected: Option<&str>, what: &str) {
    match expected {
        Some(text) => assert_eq!(*reply, error(text), "{what}"),
        None => assert!(!reply.is_error(), "{what}: {reply}"),
    }
}

/// Creates the keys of the errors.
pub fn create_keys(connection: &mut Connection) {
    connection.check_all(
        "
        FLUSHALL
        SET string x
        BF.RESERVE bf 0.01 100 WINDOW 60000
        BF.RESERVE classic 0.01 100
        TOPK.RESERVE topk 5 WINDOW 60000
        TOPK.RESERVE plain 5
        TDIGEST.CREATE td WINDOW 60000
        TDIGEST.CREATE digest
        CMS.INITBYDIM cms 10 40
        ",
    );
}

fn within(connection: &mut Connection, ms: u64, command: &str) -> Reply {
    connection.call(&format!("SKETCH.WITHIN {ms} {command}"))
}

#[test]
fn the_whole_window_is_read_as_by_the_command() {
    let server = start(&[]);
    assert_eq!(readers(Parts::Within).len(), 21);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        for sketch in SKETCHES {
            connection.call("DEL k");
            set_ms(&server, 1_000_000);
            sketch.create(&mut connection, "k", "WINDOW 1000 PANES 10");
            let mut times: Vec<u64> = (0..30).map(|step| 1_000_000 + step * 73).collect();
            // The clock stands still, goes back, jumps.
            times.extend([
                1_002_117, 1_001_000, 1_002_400, 1_003_050, 1_003_090, 1_009_000,
            ]);
            for (step, ms) in times.into_iter().enumerate() {
                set_ms(&server, ms);
                if step < 30 {
                    sketch.add(&mut connection, "k", step as u64 % 9);
                }
                for call in calls_of(&sketch, Parts::Within) {
                    for key in ["k", "missing"] {
                        let command = call.replace("key", key);
                        let expected = connection.call(&command);
                        for ms in [1000, 1001, 315_360_000_000] {
                            let found = within(&mut connection, ms, &command);
                            assert_eq!(found, expected, "{command} at {ms}");
                        }
                    }
                }
            }
        }
    }
    assert_eq!(server.info_number("bf_internal_errors"), 0);
}

/// One event per pane: a part of `n` panes has those of the current pane and of the `n` panes before it.
#[test]
fn a_part_begins_with_the_pane_of_its_start() {
    let (server, mut connection) = start(&[]).connected();
    for sketch in SKETCHES {
        connection.call("DEL k");
        for item in 1..=9 {
            set_ms(&server, 1_000_000 + item * 100);
            if item == 1 {
                sketch.create(&mut connection, "k", "WINDOW 1000 PANES 10");
            }
            sketch.add(&mut connection, "k", item);
        }
        let present = |connection: &mut Connection, ms: u64| -> Vec<u64> {
            let command = match sketch.type_name {
                "bf-window" => "BF.EXISTS k ITEM",
                "cf-window" => "CF.COUNT k ITEM",
                "cmswindow" => "CMS.QUERY k ITEM",
                "tk-window" => "TOPK.COUNT k ITEM",
                // The smallest sample.
                _ => "TDIGEST.MIN k",
            };
            let mut read = |item: u64| {
                let reply = within(connection, ms, &command.replace("ITEM", &item.to_string()));
                match &reply {
                    Reply::Integer(count) => *count != 0,
                    Reply::Array(counts) => counts[0] != Reply::Integer(0),
                    Reply::Bulk(_) => {
                        let smallest = reply.string().parse::<f64>();
                        smallest.is_ok_and(|smallest| item as f64 >= smallest)
                    }
                    _ => panic!("{command}: {reply}"),
                }
            };
            (1..=9).filter(|&item| read(item)).collect()
        };
        for (now, ms, first) in [
            (1_000_900, 100, 8),
            (1_001_001, 101, 9),
            (1_001_099, 199, 9),
            (1_001_099, 200, 8),
            (1_000_999, 100, 8),
            (1_000_950, 250, 7),
            (1_000_950, 251, 6),
            (1_000_950, 999, 1),
            (1_001_150, 300, 8),
            (1_001_150, 949, 2),
            (1_001_150, 999, 1),
            (1_001_950, 900, 10),
            // Behind the newest pane, which counts nevertheless.
            (1_000_000, 100, 1),
            (1_000_450, 100, 3),
        ] {
            set_ms(&server, now);
            let expected: Vec<u64> = (first..=9).collect();
            let found = present(&mut connection, ms);
            assert_eq!(found, expected, "{}: {ms} at {now}", sketch.type_name);
        }
    }
}

/// A shorter part than the newest pane would be read as that pane and the one before it.
#[test]
fn a_part_is_at_least_as_long_as_a_pane() {
    let server = start(&[]);
    set_ms(&server, 1_000_000);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        for sketch in SKETCHES {
            let mut windows = vec![
                ("WINDOW 86400000", 7_200_000),
                ("WINDOW 1001 PANES 100", 11),
                ("WINDOW 1000 PANES 1", 1000),
                ("WINDOW 5", 1),
            ];
            if sketch.has_finest() {
                windows.push(("WINDOW 86400000 FINEST 60000", 60_000));
                windows.push(("WINDOW 4001 PANES 4 FINEST 1001", 1001));
            }
            for (window, pane_ms) in windows {
                connection.call("DEL k");
                sketch.create(&mut connection, "k", window);
                sketch.add(&mut connection, "k", 1);
                let text = format!(
                    "ERR WITHIN must be at least the pane length of the key, {pane_ms} milliseconds"
                );
                for call in calls_of(&sketch, Parts::Within) {
                    let command = call.replace("key", "k");
                    for ms in [1, pane_ms - 1] {
                        let reply = within(&mut connection, ms.max(1), &command);
                        let is_refused = reply == error(&text);
                        assert_eq!(is_refused, pane_ms > 1, "{window} {command} {ms}: {reply}");
                    }
                    for ms in [pane_ms, pane_ms + 1] {
                        let reply = within(&mut connection, ms, &command);
                        assert!(!reply.is_error(), "{command}: {reply}");
                    }
                    let missing = call.replace("key", "missing");
                    let expected = connection.call(&missing);
                    assert_eq!(within(&mut connection, 1, &missing), expected);
                }
            }
        }
    }
}

#[test]
fn errors_are_checked_in_order() {
    let server = Server::start();
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        create_keys(&mut connection);
        let range = "ERR WITHIN must be between 1 and 315360000000 milliseconds";
        let short = "ERR WITHIN must be at least the pane length of the key, 5000 milliseconds";
        let cannot = |name: &str| format!("ERR SKETCH.WITHIN cannot run '{name}'");
        connection.check_all(&format!(
            "
            SKETCH.WITHIN => -ERR wrong number of arguments for 'sketch.within' command
            SKETCH.WITHIN 0 BF.CARD => -ERR wrong number of arguments for 'sketch.within' command
            SKETCH.WITHIN 0 GET bf => -{range}
            SKETCH.WITHIN -1 BF.CARD bf => -{range}
            SKETCH.WITHIN x BF.CARD bf => -{range}
            SKETCH.WITHIN 1.5 BF.CARD bf => -{range}
            SKETCH.WITHIN 315360000001 BF.CARD bf => -{range}
            SKETCH.WITHIN 99999999999999999999 BF.CARD bf => -{range}
            SKETCH.WITHIN 1 GET bf => -ERR SKETCH.WITHIN cannot run 'GET'
            SKETCH.WITHIN 1 BF.INFO bf => -ERR SKETCH.WITHIN cannot run 'BF.INFO'
            SKETCH.WITHIN 1 BF.ADD bf a => -ERR SKETCH.WITHIN cannot run 'BF.ADD'
            SKETCH.WITHIN 1 SKETCH.WITHIN 1 BF.CARD bf => -ERR SKETCH.WITHIN cannot run 'SKETCH.WITHIN'
            SKETCH.WITHIN 1 SKETCH.AGE bf a => -ERR SKETCH.WITHIN cannot run 'SKETCH.AGE'
            SKETCH.WITHIN 1 bf bf a => -ERR SKETCH.WITHIN cannot run 'bf'
            SKETCH.WITHIN 1 BF.EXISTS bf => -ERR wrong number of arguments for 'bf.exists' command
            SKETCH.WITHIN 1 bf.Exists string a b => -ERR wrong number of arguments for 'bf.exists' command
            SKETCH.WITHIN 1 BF.MEXISTS missing => -ERR wrong number of arguments for 'bf.mexists' command
            SKETCH.WITHIN 1 TOPK.LIST topk WITHCOUNT x => -ERR wrong number of arguments for 'topk.list' command
            SKETCH.WITHIN 1 TDIGEST.MIN td 1 => -ERR wrong number of arguments for 'tdigest.min' command
            SKETCH.WITHIN 1 TDIGEST.TRIMMED_MEAN td 0 => -ERR wrong number of arguments for 'tdigest.trimmed_mean' command
            SKETCH.WITHIN 1 TOPK.LIST string x => -{WRONG_TYPE}
            SKETCH.WITHIN 1 TOPK.LIST bf x => -{WRONG_TYPE}
            SKETCH.WITHIN 1 TOPK.LIST plain x => -{NO_WINDOW}
            SKETCH.WITHIN 4999 TOPK.LIST topk x => -{short}
            SKETCH.WITHIN 5000 TOPK.LIST topk x => -WITHCOUNT keyword expected
            SKETCH.WITHIN 1 TDIGEST.QUANTILE string x => -{WRONG_TYPE}
            SKETCH.WITHIN 1 TDIGEST.QUANTILE digest x => -{NO_WINDOW}
            SKETCH.WITHIN 1 TDIGEST.BYRANK digest -1 => -{NO_WINDOW}
            SKETCH.WITHIN 1 TDIGEST.TRIMMED_MEAN digest 2 1 => -{NO_WINDOW}
            SKETCH.WITHIN 4999 TDIGEST.QUANTILE td x => -{short}
            SKETCH.WITHIN 4999 TDIGEST.BYRANK td -1 => -{short}
            SKETCH.WITHIN 5000 TDIGEST.QUANTILE td x => -ERR T-Digest: error parsing quantile
            SKETCH.WITHIN 1 CMS.QUERY cms a => -{NO_WINDOW}
            "
        ));
        // Line breaks would end the error.
        let name = [b"GET\r\n\0".to_vec(), vec![b'x'; 100]].concat();
        let reply = connection.send(&[b"SKETCH.WITHIN", &b"1"[..], &name, b"bf"]);
        assert_eq!(reply, error(&cannot(&format!("GET   {}", "x".repeat(58)))));
        for call in calls(Parts::Within) {
            let on = |key: &str| call.replace("KEY", key);
            connection.call("RPUSH list a");
            for key in ["string", "list"] {
                let found = within(&mut connection, 1, &on(key));
                assert_eq!(found, error(WRONG_TYPE), "{call}");
            }
            for family in FAMILIES {
                connection.call("DEL key");
                run_on(&mut connection, "key", family.build);
                // The pane length of the families' windows.
                let reply = within(&mut connection, 315_360_000_000 / 4, &on("key"));
                let what = format!("{call} {}", family.name);
                check_error(&reply, error_of(&call, family), &what);
            }
        }
    }
}

#[test]
fn calls_are_counted_by_family() {
    let server = Server::start();
    server.call("CMS.INITBYDIM k 10 5 WINDOW 60000");
    for command in [
        "SKETCH.WITHIN 5000 CMS.QUERY k a",
        "SKETCH.WITHIN 5000 CMS.QUERY k a",
        "SKETCH.WITHIN 1 TDIGEST.MIN missing",
        "SKETCH.WITHIN 1 GET k",
        "SKETCH.WITHIN 5000 SKETCH.WINDOW k",
        "SKETCH.BETWEEN - + CMS.QUERY k a",
        "SKETCH.BETWEEN 0 5 CMS.QUERY k a",
        "SKETCH.BETWEEN - + TDIGEST.MIN missing",
        "SKETCH.BETWEEN - + SKETCH.WINDOW k",
        "SKETCH.BETWEEN + + CMS.QUERY k a",
        "SKETCH.BETWEEN - + BF.CARD k",
        "SKETCH.SERIES - + 1000 TOPK.LIST missing",
        "SKETCH.SERIES - + 1000 CMS.QUERY k",
    ] {
        server.call(command);
    }
    // Filters have no periods in the past.
    for (command, calls) in [
        ("within", "0 0 2 0 1 1"),
        ("between", "none none 2 0 1 1"),
        ("series", "none none 0 1 0 0"),
    ] {
        let families = ["bloom", "cuckoo", "cms", "topk", "tdigest", "sketch"];
        let field = |family| server.info(&format!("bf_{command}_calls_{family}"));
        let found = families.map(|family| field(family).unwrap_or("none".to_owned()));
        assert_eq!(found.join(" "), calls, "{command}");
    }
}

/// Scripts, functions and transactions, with reads only.
#[test]
fn scripts_functions_and_transactions_read_parts() {
    let (server, mut connection) = start(&[]).connected();
    set_ms(&server, 1_000_000);
    connection.ok(&seeded("CMS.INITBYDIM k 1000 5 WINDOW 1000 PANES 10"));
    connection.call("CMS.INCRBY k a 3");
    set_ms(&server, 1_000_500);
    connection.call("CMS.INCRBY k a 4");
    let series = "SKETCH.SERIES 1000000 1000200 1000";
    for (part, expected) in [
        ("SKETCH.WITHIN 100", "*[:4]"),
        ("SKETCH.BETWEEN - 1000200", "*[:3]"),
        (series, "*[*[:1000000 :200 *[:3]]]"),
    ] {
        let arguments = part.replace(' ', "', '");
        let code = format!("return redis.call('{arguments}', 'CMS.QUERY', KEYS[1], 'a')");
        for command in ["EVAL", "EVAL_RO"] {
            let reply = connection.send(&[command, &code, "1", "k"]);
            assert_eq!(reply.to_string(), expected, "{command}: {part}");
        }
        let library = format!(
            "#!lua name=lib\nredis.register_function{{function_name='part', callback=function(KEYS, ARGV) {code} end, flags={{'no-writes'}}}}"
        );
        connection.send(&["FUNCTION", "LOAD", "REPLACE", &library]);
        connection.check("FCALL_RO part 1 k", expected);
        connection.call("MULTI");
        connection.call(&format!("{part} CMS.QUERY k a"));
        connection.check("EXEC", format!("*[{expected}]"));
    }
    connection.check_all("MULTI\nSKETCH.AGE k a");
    connection.check("EXEC", "*[-ERR SKETCH.AGE needs...");
}

/// Reads use the clock of the replica, and are not replicated.
#[test]
fn replicas_read_parts_with_their_clocks() {
    let mut primary = start(&[]);
    let mut replica = start(&[]);
    set_ms(&primary, 1_000_000);
    set_ms(&replica, 1_000_550);
    primary.ok(&seeded("CMS.INITBYDIM k 1000 5 WINDOW 1000 PANES 10"));
    primary.call("CMS.INCRBY k a 3");
    set_ms(&primary, 1_000_500);
    primary.call("CMS.INCRBY k a 4");
    primary.call(&seeded("BF.RESERVE b 0.01 10 WINDOW 1000 PANES 10"));
    primary.call("BF.ADD b a");
    replica.replicate(&primary);
    primary.wait_for_replica(&replica);
    let before = primary.info("master_repl_offset");
    for (server, ms, count) in [
        (&primary, 400, 4),
        (&replica, 449, 4),
        (&replica, 450, 4),
        (&replica, 551, 7),
    ] {
        let query = format!("SKETCH.WITHIN {ms} CMS.QUERY k a");
        server.check(&query, format!("*[:{count}]"));
    }
    for (server, times, count) in [
        (&primary, "-450 -350", 3),
        (&replica, "-450 -350", 0),
        (&replica, "-550 -450", 3),
        (&replica, "1000000 1000100", 3),
        (&replica, "-100 +", 4),
    ] {
        let query = format!("SKETCH.BETWEEN {times} CMS.QUERY k a");
        server.check(&query, format!("*[:{count}]"));
        let series = server.call(&format!("SKETCH.SERIES {times} 100 CMS.QUERY k a"));
        let rows = series.items().expect("rows").iter();
        let counts = rows.map(|row| row.items().expect("a row")[2].integers()[0]);
        assert_eq!(counts.sum::<i64>(), count, "{times}");
    }
    primary.check("SKETCH.AGE b a", "*[:0]");
    replica.check("SKETCH.AGE b a", "*[:50]");
    assert_eq!(primary.info("master_repl_offset"), before);
}
