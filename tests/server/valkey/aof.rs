//! The append-only file: the commands that are logged, and loading them.

use super::{AOF, fixed_seed, logged, logged_in, replacement, with_seed};
use crate::families::valkey_bloom::{allow_huge_keys, load_payload};
use crate::families::{dump, run_on};
use crate::support::resp::{Connection, Reply, Text};
use crate::support::server::{Options, Server};

fn with_log() -> Options {
    replacement().arguments(AOF)
}

/// The creation of a key is logged with all parameters, as valkey-bloom does, followed by the items.
#[test]
fn creations_are_logged_with_all_parameters() {
    let (mut server, mut connection) = with_log().start().connected();
    let mut expected = Vec::new();
    let lines = "
        BF.RESERVE r 1e-9 1000 => BF.INSERT r CAPACITY 1000 ERROR 0.000000001 TIGHTENING 0.5 SEED EXPANSION 2
        BF.RESERVE n .25 +10 NONSCALING => BF.INSERT n CAPACITY 10 ERROR 0.25 TIGHTENING 0.5 SEED NONSCALING
        BF.RESERVE x 0.3333333333333333 7 EXPANSION 4294967295 => BF.INSERT x CAPACITY 7 ERROR 0.3333333333333333 TIGHTENING 0.5 SEED EXPANSION 4294967295
        BF.ADD a 1 => BF.INSERT a CAPACITY 100 ERROR 0.01 TIGHTENING 0.5 SEED EXPANSION 2; BF.ADD a 1
        BF.MADD m 1 2 1 => BF.INSERT m CAPACITY 100 ERROR 0.01 TIGHTENING 0.5 SEED EXPANSION 2; BF.MADD m 1 2
        BF.INSERT i ERROR 0.3 CAPACITY 7 EXPANSION 3 TIGHTENING 0.75 ITEMS 1 2 => BF.INSERT i CAPACITY 7 ERROR 0.3 TIGHTENING 0.75 SEED EXPANSION 3; BF.MADD i 1 2
        BF.INSERT e CAPACITY 5 => BF.INSERT e CAPACITY 5 ERROR 0.01 TIGHTENING 0.5 SEED EXPANSION 2
        BF.INSERT v VALIDATESCALETO 100 NONSCALING EXPANSION 4 => BF.INSERT v CAPACITY 100 ERROR 0.01 TIGHTENING 0.5 SEED EXPANSION 4
        # Only the items, and only those that change the filter.
        BF.INSERT i NOCREATE ITEMS 3 => BF.MADD i 3
        BF.INSERT i VALIDATESCALETO 1000 ITEMS 1 4 2 5 => BF.MADD i 4 5
        BF.MADD m 1 6 2 7 6 => BF.MADD m 6 7
        BF.ADD a 2 => BF.ADD a 2
        # Without effect.
        BF.ADD a 1 =>
        BF.MADD m 1 2 =>
        BF.INSERT i CAPACITY 9 ITEMS 1 =>
        BF.INSERT e NOCREATE CAPACITY 5 =>
        BF.RESERVE a 0.01 100 =>
    ";
    let lines = lines.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (command, log) = line.split_once(" =>").expect("a command");
        connection.call(command);
        let log = log.split("; ").map(str::trim);
        let log = log.filter(|command| !command.is_empty());
        expected.extend(log.map(|command| with_seed(command, &fixed_seed())));
        assert_eq!(logged(&server), expected, "{command}");
    }
    assert_equal_after_restart(&mut server, "r n x a m i e v");
}

/// Restarts a server from its AOF, with a memory limit that does not apply.
fn assert_equal_after_restart(server: &mut Server, keys: &str) {
    let state = |connection: &mut Connection| -> Vec<_> {
        let state = keys.split(' ').map(|key| {
            let size = connection.send(&["BF.INFO", key, "SIZE"]);
            let digest = connection.send(&["DEBUG", "DIGEST-VALUE", key]);
            [dump(connection, key), size, digest]
        });
        state.collect()
    };
    let before = state(&mut server.resp2());
    let limited = with_log().module_arguments(&["bloom-memory-usage-limit", "1"]);
    server.restart_with(limited);
    let mut connection = server.resp2();
    assert_eq!(state(&mut connection), before);
    let refused = "-ERR operation exceeds bloom object memory limit";
    connection.check("BF.ADD new 1", refused);
    assert!(!before.iter().any(|state| state[0] == Reply::Null('$')));
}

#[test]
fn load_is_logged_as_it_is() {
    let (mut server, mut connection) = with_log().start().connected();
    let build = ["BF.RESERVE KEY 0.2 3", "BF.MADD KEY 1..40"];
    run_on(&mut connection, "source", &build);
    let payload = load_payload(&mut connection, "source");
    let before = logged(&server).len();
    let load = vec![b"BF.LOAD".to_vec(), b"copy".to_vec(), payload];
    assert!(connection.send(&load).is_ok());
    assert_eq!(&logged(&server)[before..], std::slice::from_ref(&load));
    // It is refused, because the key exists.
    assert!(connection.send(&load).is_error());
    assert_eq!(logged(&server).len(), before + 1);
    let dumps = ["source", "copy"].map(|key| dump(&mut connection, key));
    assert_eq!(dumps[0], dumps[1]);
    server.restart();
    let mut connection = server.resp2();
    let loaded = ["source", "copy"].map(|key| dump(&mut connection, key));
    assert_eq!(loaded, dumps);
}

/// A payload of BF.LOAD above 64 MiB is emitted in chunks.
#[test]
fn a_rewrite_emits_large_keys_in_chunks() {
    let (mut server, mut connection) = with_log().start().connected();
    allow_huge_keys(&mut connection);
    for (key, capacity) in [("large", 40_000_000), ("small", 4_000_000)] {
        connection.run(&format!("BF.RESERVE {key} 0.001 {capacity}"));
        connection.run(&format!("BF.MADD {key} 1 2 3"));
    }
    let digests = |connection: &mut Connection| {
        ["large", "small"].map(|key| connection.send(&["DEBUG", "DIGEST-VALUE", key]))
    };
    let before = digests(&mut connection);
    assert!(server.rewrite_aof());
    let names = |key: &str| -> Vec<String> {
        let mut commands = logged_in(&server, ".base.aof");
        commands.retain(|command| command[1] == key.as_bytes());
        let names = commands.iter().map(|command| Text(&command[0]).to_string());
        names.collect()
    };
    assert_eq!(names("small"), ["BF.LOAD"]);
    // 69 MiB: the header and 18 chunks.
    assert_eq!(names("large"), ["BF.LOADCHUNK"; 19]);
    server.restart_with(with_log().module_arguments(&["bloom-memory-usage-limit", "1"]));
    assert_eq!(digests(&mut server.resp2()), before);
}
