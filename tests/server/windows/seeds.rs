//! The secret seeds of filters with a window.

use super::{dumps, logged_commands, start};
use crate::support::resp::{Connection, Reply, error};
use crate::support::server::Options;

const SEED: &str = "00112233445566778899aabbccddeeff";

/// Commands that create KEY with a window and add items, after which an option can follow, and the items.
const FILTERS: [(&str, &str); 2] = [
    ("BF.RESERVE KEY 0.01 100", "BF.MADD KEY a b c d"),
    ("CF.RESERVE KEY 100", "CF.INSERT KEY ITEMS a b c d"),
];

/// Creates a filter with this window and items, and returns its DUMP.
fn filled(connection: &mut Connection, key: &str, create: &str, add: &str, window: &str) -> Reply {
    let create = format!("{} {window}", create.replace("KEY", key));
    connection.ok(&create);
    connection.call(&add.replace("KEY", key));
    dumps(connection, &[key.to_owned()]).remove(0)
}

#[test]
fn each_key_has_a_seed_of_its_own_unless_one_is_specified() {
    let server = start(&[]);
    server.set_clock("1000000");
    let mut connection = server.resp2();
    for (create, add) in FILTERS {
        let mut fill = |key: &str, window: &str| filled(&mut connection, key, create, add, window);
        let drawn = [fill("a", "WINDOW 4000"), fill("b", "WINDOW 4000")];
        assert_ne!(drawn[0], drawn[1]);
        let seed = format!("WINDOW 4000 SEED {SEED}");
        let fixed = fill("c", &seed);
        assert_eq!(fill("d", &seed.to_ascii_uppercase()), fixed);
        let panes = format!("WINDOW 4000 PANES 12 SEED {SEED}");
        assert_eq!(fill("e", &panes), fixed);
        assert_ne!(fill("f", &seed.replace("00", "01")), fixed);
        // The seed is a part of the value: its digest, its payload and its header.
        for pair in [["a", "b"], ["c", "f"]] {
            let reply = connection.call(&format!("DEBUG DIGEST-VALUE {} {}", pair[0], pair[1]));
            let digests = reply.items().expect("digests");
            assert_ne!(digests[0], digests[1]);
        }
        let reply = connection.call("SKETCH.WINDOW c");
        assert!(!reply.to_string().contains("seed"), "{reply}");
        connection.call("FLUSHALL SYNC");
    }
}

#[test]
fn a_seed_is_32_hexadecimal_digits_after_the_window() {
    let server = start(&[]);
    let mut connection = server.resp2();
    let invalid = error("ERR SEED must be 32 hexadecimal digits");
    let longer = format!("{SEED}0");
    let not_hex = SEED.replace('0', "g");
    for (create, _) in FILTERS {
        let create = create.replace("KEY", "k");
        for seed in [&SEED[1..], &longer, &SEED[..30], &not_hex, "x", "é"] {
            let command = format!("{create} WINDOW 4000 SEED {seed}");
            assert_eq!(connection.call(&command), invalid, "{command}");
        }
        for (end, text) in [
            ("WINDOW 0 SEED x", "ERR WINDOW must be between"),
            ("WINDOW 5 PANES 6 SEED x", "ERR PANES must be between"),
            ("WINDOW 4000 PANES 4 SEED", "ERR wrong number of arguments"),
            ("SEED 1 WINDOW 4000", "ERR syntax error"),
            ("SEED 1 WINDOW 4000 PANES 4", "ERR syntax error"),
            ("WINDOW 4000 SEED 1 PANES 4", "ERR SEED must be 32"),
        ] {
            let reply = connection.call(&format!("{create} {end}"));
            let is_refused =
                matches!(&reply, Reply::Error(found) if found.starts_with(text.as_bytes()));
            assert!(is_refused, "{create} {end}: {reply}");
        }
        for options in [
            format!("WINDOW 4000 EXPANSION 1 SEED {SEED}"),
            format!("WINDOW 4000 PANES 4 SEED {SEED} EXPANSION 1"),
        ] {
            connection.ok(&format!("{create} {options}"));
            connection.call("DEL k");
        }
        // Without a window it is ignored, as any other argument.
        connection.ok(&format!("{create} SEED 1"));
        connection.check("SKETCH.WINDOW k", "$-1");
        connection.call("DEL k");
    }
    for command in [
        "BF.INSERT k WINDOW 4000 SEED 00112233445566778899aabbccddeeff ITEMS a",
        "CF.INSERT k WINDOW 4000 SEED 00112233445566778899aabbccddeeff ITEMS a",
    ] {
        let reply = connection.call(command);
        assert!(matches!(reply, Reply::Error(_)), "{command}: {reply}");
    }
    connection.check("DBSIZE", ":0");
}

/// The command that creates a copy has the seed, so copies are equal.
#[test]
fn a_creation_is_replicated_with_the_seed() {
    let mut server = start(&["--appendonly", "yes", "--appendfsync", "always"]);
    server.set_clock("1000000");
    let mut replica = Options::new().start();
    replica.replicate(&server);
    let mut connection = server.resp2();
    let commands = [
        "BF.RESERVE bf 0.01 100 WINDOW 13",
        "BF.INSERT bf-insert CAPACITY 50 WINDOW 4000 PANES 4 ITEMS a b",
        "CF.RESERVE cf 100 WINDOW 13",
        "CF.INSERT cf-insert CAPACITY 500 WINDOW 4000 PANES 4 ITEMS a b",
        "CF.INSERTNX cf-insertnx WINDOW 4000 PANES 4 ITEMS a a b",
    ];
    for command in commands {
        connection.run(command);
    }
    let mut logged = logged_commands(&server);
    logged.retain(|command| !["MULTI", "EXEC"].contains(&command.as_str()));
    let creations: Vec<_> = logged
        .iter()
        .filter(|command| command.contains("RESERVE"))
        .collect();
    let (before, seeds): (Vec<_>, Vec<_>) = creations
        .iter()
        .filter_map(|command| command.split_once(" SEED "))
        .unzip();
    assert_eq!(
        before,
        [
            "BF.RESERVE bf 1e-2 100 EXPANSION 2 WINDOW 13 PANES 7",
            "BF.RESERVE bf-insert 1e-2 50 EXPANSION 2 WINDOW 4000 PANES 4",
            "CF.RESERVE cf 100 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 WINDOW 13 PANES 7",
            "CF.RESERVE cf-insert 500 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 WINDOW 4000 PANES 4",
            "CF.RESERVE cf-insertnx 1024 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 WINDOW 4000 PANES 4",
        ]
    );
    for seed in &seeds {
        let is_hex = seed.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(seed.len() == 32 && is_hex, "{seed}");
        assert_eq!(seeds.iter().filter(|other| *other == seed).count(), 1);
    }
    let additions: Vec<_> = logged
        .iter()
        .filter(|command| command.contains("ITEMS") || command.contains("MADD"))
        .collect();
    assert_eq!(
        additions,
        [
            "BF.MADD bf-insert a b",
            "cf.insert cf-insert ITEMS a b",
            "cf.insertnx cf-insertnx ITEMS a a b",
        ]
    );
    let keys = ["bf", "bf-insert", "cf", "cf-insert", "cf-insertnx"].map(str::to_owned);
    let expected = dumps(&mut connection, &keys);
    server.wait_for_replica(&replica);
    assert_eq!(dumps(&mut replica.resp2(), &keys), expected);
    server.kill_and_restart();
    assert_eq!(dumps(&mut server.resp2(), &keys), expected);
    drop(replica);
}

/// CF.INSERT and CF.INSERTNX ignore the option on an existing key, as BF.INSERT does, and replicate it to no server.
#[test]
fn insertions_into_an_existing_key_ignore_the_window() {
    let server = start(&["--appendonly", "yes", "--appendfsync", "always"]);
    server.set_clock("1000000");
    let mut connection = server.resp2();
    connection.ok("CF.RESERVE windowed 100 WINDOW 4000");
    connection.ok("CF.RESERVE plain 100");
    let name = server.setting("sketch-windows");
    connection.call(&format!("CONFIG SET {name} no"));
    for key in ["windowed", "plain"] {
        let before = connection.call(&format!("SKETCH.WINDOW {key}"));
        for command in ["CF.INSERT", "CF.INSERTNX"] {
            let insert = format!("{command} {key} NOCREATE WINDOW 9000 PANES 3 ITEMS {command}");
            assert_eq!(
                connection.call(&insert).items(),
                Some(&[Reply::Integer(1)][..])
            );
            let invalid = connection.call(&format!("{command} {key} WINDOW 0 ITEMS x"));
            let text = "ERR WINDOW must be between 1 and 315360000000 milliseconds";
            assert_eq!(invalid, error(text));
        }
        let after = connection.call(&format!("SKETCH.WINDOW {key}"));
        assert_eq!(before.field("window"), after.field("window"), "{key}");
    }
    let disabled = error("ERR sketches with a window are disabled (sketch-windows)");
    assert_eq!(
        connection.call("CF.INSERT new WINDOW 9000 ITEMS x"),
        disabled
    );
    let missing = connection.call("CF.INSERT new NOCREATE WINDOW 9000 ITEMS x");
    assert_eq!(missing, error("ERR not found"));
    for (arguments, text) in [
        ("WINDO 9000", "Unknown argument received"),
        ("PANES 9", "Unknown argument received"),
        (
            "WINDOW 9000 PANES 1001",
            "ERR PANES must be between 1 and 1000, and at most WINDOW",
        ),
        (
            "CAPACITY 1 WINDOW 0",
            "Capacity must be in the range [cf-bucket-size * 2, 1073741824]",
        ),
    ] {
        let reply = connection.call(&format!("CF.INSERT new {arguments} ITEMS x"));
        assert_eq!(reply, error(text), "{arguments}");
    }
    let logged = logged_commands(&server);
    let inserted = logged
        .iter()
        .filter(|command| command.starts_with("cf.insert"));
    assert_eq!(
        inserted.collect::<Vec<_>>(),
        [
            "cf.insert windowed ITEMS CF.INSERT",
            "cf.insertnx windowed ITEMS CF.INSERTNX",
            "cf.insert plain ITEMS CF.INSERT",
            "cf.insertnx plain ITEMS CF.INSERTNX",
        ]
    );
}
