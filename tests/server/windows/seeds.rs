//! The secret seeds of filters with a window.

use super::{DISABLED, LOG, SEED, dumps, logged_commands, logged_without_seeds, start};
use crate::support::resp::error;
use crate::support::server::Options;

/// Commands that create KEY with a window and add items, after which an option can follow, and the items.
const FILTERS: [(&str, &str); 2] = [
    ("BF.RESERVE KEY 0.01 100", "BF.MADD KEY a b c d"),
    ("CF.RESERVE KEY 100", "CF.INSERT KEY ITEMS a b c d"),
];

#[test]
fn each_key_has_a_seed_of_its_own_unless_one_is_specified() {
    let server = start(&[]);
    server.set_clock("1000000");
    let mut connection = server.resp2();
    for (create, add) in FILTERS {
        let mut fill = |key: &str, window: &str| {
            connection.ok(&format!("{} {window}", create.replace("KEY", key)));
            connection.call(&add.replace("KEY", key));
            dumps(&mut connection, &[key.to_owned()]).remove(0)
        };
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
    let (_server, mut connection) = start(&[]).connected();
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
            ("WINDOW 0 SEED x", "-ERR WINDOW must be between..."),
            ("WINDOW 5 PANES 6 SEED x", "-ERR PANES must be between..."),
            ("SEED 1 WINDOW 4000", "-ERR syntax error..."),
            ("SEED 1 WINDOW 4000 PANES 4", "-ERR syntax error..."),
            ("WINDOW 4000 SEED 1 PANES 4", "-ERR SEED must be 32..."),
        ] {
            connection.check(&format!("{create} {end}"), text);
        }
        // Without a window it is ignored, as any other argument.
        connection.ok(&format!("{create} SEED 1"));
        connection.check("SKETCH.WINDOW k", "$-1");
        connection.call("DEL k");
    }
    for insert in ["BF.INSERT", "CF.INSERT"] {
        let insert = format!("{insert} k WINDOW 4000 SEED {SEED} ITEMS a");
        connection.check(&insert, "-...");
    }
    connection.check("DBSIZE", ":0");
}

/// The command that creates a copy has the seed, so copies are equal.
#[test]
fn a_creation_is_replicated_with_the_seed() {
    let mut server = start(LOG);
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
    let logged = logged_commands(&server);
    let creations = logged.iter().filter(|command| command.contains("RESERVE"));
    let creations = creations.filter_map(|command| command.split_once(" SEED "));
    let (before, seeds): (Vec<_>, Vec<_>) = creations.unzip();
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
    let mut additions = logged.clone();
    additions.retain(|command| command.contains("ITEMS") || command.contains("MADD"));
    let expected =
        "BF.MADD bf-insert a b; cf.insert cf-insert ITEMS a b; cf.insertnx cf-insertnx ITEMS a a b";
    assert_eq!(additions.join("; "), expected);
    let keys = ["bf", "bf-insert", "cf", "cf-insert", "cf-insertnx"].map(str::to_owned);
    let expected = dumps(&mut connection, &keys);
    server.wait_for_replica(&replica);
    assert_eq!(dumps(&mut replica.resp2(), &keys), expected);
    server.kill_and_restart();
    assert_eq!(dumps(&mut server.resp2(), &keys), expected);
}

/// The option creates a key. On an existing key it is ignored, so only an invalid one is refused, and replicated to no server.
#[test]
fn insertions_into_an_existing_key_ignore_the_window() {
    const INVALID: &str = "-ERR WINDOW must be between 1 and 315360000000 milliseconds";
    const NX: [&str; 2] = ["CF.INSERT", "CF.INSERTNX"];
    let (server, mut connection) = start(LOG).connected();
    server.set_clock("1000000");
    connection.check_all(
        "
        CF.RESERVE cf:windowed 100 WINDOW 4000 => +OK
        CF.RESERVE cf:plain 100 => +OK
        BF.RESERVE bf:windowed 0.01 100 WINDOW 4000 PANES 4 => +OK
        BF.INSERT bf:created NONSCALING WINDOW 8000 CAPACITY 50 ERROR 0.002 ITEMS a => *[:1]
        BF.INSERT bf:plain ITEMS a
    ",
    );
    server.set("sketch-windows", "no");
    for (key, commands, option) in [
        ("cf:windowed", &NX[..], "NOCREATE "),
        ("cf:plain", &NX, "NOCREATE "),
        ("bf:windowed", &["BF.INSERT"], ""),
        ("bf:created", &["BF.INSERT"], ""),
        ("bf:plain", &["BF.INSERT"], ""),
    ] {
        let before = connection.call(&format!("SKETCH.WINDOW {key}"));
        for command in commands {
            let ignored = format!("{command} {key} {option}WINDOW 9000 PANES 3 ITEMS {command}");
            connection.check(&ignored, "*[:1]");
            connection.check(&format!("{command} {key} WINDOW 0 ITEMS x"), INVALID);
        }
        let after = connection.call(&format!("SKETCH.WINDOW {key}"));
        assert_eq!(before.field("window"), after.field("window"), "{key}");
    }
    connection.check_all(&format!("
        BF.INSERT new WINDOW 9000 ITEMS x => {DISABLED}
        CF.INSERT new WINDOW 9000 ITEMS x => {DISABLED}
        BF.INSERT new NOCREATE WINDOW 9000 ITEMS x => -ERR not found
        CF.INSERT new NOCREATE WINDOW 9000 ITEMS x => -ERR not found
        CF.INSERT new WINDO 9000 ITEMS x => -Unknown argument received
        CF.INSERT new PANES 9 ITEMS x => -Unknown argument received
        CF.INSERT new WINDOW 9000 PANES 1001 ITEMS x => -ERR PANES must be between 1 and 1000, and at most WINDOW
        CF.INSERT new CAPACITY 1 WINDOW 0 ITEMS x => -Capacity must be in the range [cf-bucket-size * 2, 1073741824]
    "));
    let mut logged = logged_without_seeds(&server);
    logged.retain(|command| command.contains("bf:") || command.starts_with("cf.insert"));
    let expected = [
        "BF.RESERVE bf:windowed 1e-2 100 EXPANSION 2 WINDOW 4000 PANES 4",
        "SKETCH.ADVANCE bf:windowed 1000",
        "BF.RESERVE bf:created 2e-3 50 NONSCALING WINDOW 8000 PANES 12",
        // A pane of 667 ms.
        "SKETCH.ADVANCE bf:created 1499",
        "BF.MADD bf:created a",
        "BF.RESERVE bf:plain 1e-2 100 EXPANSION 2",
        "BF.INSERT bf:plain ITEMS a",
        "cf.insert cf:windowed ITEMS CF.INSERT",
        "cf.insertnx cf:windowed ITEMS CF.INSERTNX",
        "cf.insert cf:plain ITEMS CF.INSERT",
        "cf.insertnx cf:plain ITEMS CF.INSERTNX",
        "BF.MADD bf:windowed BF.INSERT",
        "BF.MADD bf:created BF.INSERT",
        // Without the option, which RedisBloom does not accept.
        "BF.MADD bf:plain BF.INSERT",
    ];
    assert_eq!(logged, expected);
}
