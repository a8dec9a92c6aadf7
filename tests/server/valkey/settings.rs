//! `bf-new-keys` and `bf-replies` at run time, the log lines about valkey-bloom's settings, and which settings apply to
//! which type.

use super::with_random_seeds;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

fn type_of(connection: &mut Connection, key: &str) -> String {
    connection.send(&["TYPE", key]).to_string()
}

fn set(server: &Server, name: &str, value: &str) {
    let reply = server
        .resp2()
        .send(&["CONFIG", "SET", &server.setting(name), value]);
    assert!(reply.is_ok(), "{name} {value}: {reply}");
}

/// The commands that create a key whose type the setting decides, and those whose options decide it.
#[test]
fn new_keys_have_the_configured_type() {
    let server = Server::start();
    let mut connection = server.resp2();
    for (value, expected) in [
        ("redisbloom", "+MBbloom--"),
        ("valkey-bloom", "+bloomfltr"),
        ("REDISBLOOM", "+MBbloom--"),
    ] {
        set(&server, "bf-new-keys", value);
        for (command, expected) in [
            ("BF.RESERVE k 0.01 100", expected),
            ("BF.RESERVE k 0.01 100 NONSCALING", expected),
            ("BF.ADD k a", expected),
            ("BF.MADD k a b", expected),
            ("BF.INSERT k ITEMS a", expected),
            ("BF.INSERT k CAPACITY 50 ITEMS a", expected),
            // Items are not options.
            (
                "BF.INSERT k ITEMS SEED TIGHTENING VALIDATESCALETO WINDOW",
                expected,
            ),
            ("BF.INSERT k TIGHTENING 0.5 ITEMS a", "+bloomfltr"),
            ("BF.INSERT k VALIDATESCALETO 1000 ITEMS a", "+bloomfltr"),
            (
                "BF.INSERT k SEED 0123456789abcdefghijklmnopqrstuv ITEMS a",
                "+bloomfltr",
            ),
            (
                "BF.INSERT k seed 0123456789abcdefghijklmnopqrstuv",
                "+bloomfltr",
            ),
            ("BF.RESERVE k 0.01 100 WINDOW 1000", "+bf-window"),
            ("BF.INSERT k WINDOW 1000 ITEMS a", "+bf-window"),
        ] {
            let reply = connection.call(command);
            assert!(
                !matches!(reply, Reply::Error(_)),
                "{value}, {command}: {reply}"
            );
            assert_eq!(
                type_of(&mut connection, "k"),
                expected,
                "{value}, {command}"
            );
            connection.call("DEL k");
        }
        // Existing keys keep their type.
        connection.call("BF.INSERT kept TIGHTENING 0.5 ITEMS a");
        connection.check("BF.ADD kept b", ":1");
        assert_eq!(type_of(&mut connection, "kept"), "+bloomfltr");
        connection.call("DEL kept");
    }
}

/// Each module's settings apply to keys of its type only.
#[test]
fn settings_apply_to_their_own_type() {
    let server = Options::new()
        .module_arguments(&["bf-initial-size", "50", "bf-expansion-factor", "3"])
        .module_arguments(&["bf-error-rate", "0.125", "bloom-capacity", "60"])
        .module_arguments(&["bloom-expansion", "4", "bloom-fp-rate", "0.375"])
        .module_arguments(&["bloom-tightening-ratio", "0.75"])
        .start();
    let mut connection = server.resp2();
    set(&server, "bf-replies", "valkey-bloom");
    let info = |connection: &mut Connection, key: &str| -> Vec<String> {
        let fields = ["CAPACITY", "ERROR", "EXPANSION", "TIGHTENING"];
        let replies = fields.map(|field| connection.send(&["BF.INFO", key, field]).to_string());
        replies.into()
    };
    connection.call("BF.ADD classic a");
    set(&server, "bf-new-keys", "valkey-bloom");
    connection.call("BF.ADD valkey a");
    assert_eq!(
        info(&mut connection, "classic"),
        [":50", "$0.125", ":3", "$0.5"]
    );
    assert_eq!(
        info(&mut connection, "valkey"),
        [":60", "$0.375", ":4", "$0.75"]
    );
    set(&server, "bf.bloom-expansion", "0");
    set(&server, "bf.bloom-capacity", "7");
    connection.call("BF.MADD fixed a b");
    let fixed = info(&mut connection, "fixed");
    assert_eq!(
        fixed,
        [":7", "$0.375", "$-1", "-ERR invalid information value"]
    );
    // BF.RESERVE specifies all but the ratio and the growth factor.
    connection.ok("BF.RESERVE reserved 0.625 9");
    assert_eq!(
        info(&mut connection, "reserved")[..3],
        [":9", "$0.625", "$-1"]
    );
    assert_eq!(
        info(&mut connection, "valkey"),
        [":60", "$0.375", ":4", "$0.75"]
    );
}

/// If new keys have RedisBloom's type, log lines name Roughly's setting for each of valkey-bloom's that is set at load.
#[test]
fn loading_with_settings_of_valkey_bloom_is_logged() {
    let lines = |options: Options| -> Vec<String> {
        let log = options.start().log();
        let lines = log.lines().filter_map(|line| line.split_once("<bf> "));
        lines
            .map(|(_, text)| text.to_owned())
            .filter(|text| text.starts_with("bf.bloom-"))
            .collect()
    };
    let with_settings = |options: Options| {
        options
            .module_arguments(&["bloom-capacity", "55", "bloom-expansion", "2"])
            .module_arguments(&["bloom-fp-rate", "0.001", "bloom-use-random-seed", "no"])
    };
    assert!(lines(Options::new()).is_empty());
    assert!(lines(with_settings(with_random_seeds())).is_empty());
    let lines = lines(with_settings(Options::new()));
    // The expansion is the default, and the seed has no counterpart.
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (name, other) in [
        ("bf.bloom-capacity", "bf-initial-size"),
        ("bf.bloom-fp-rate", "bf-error-rate"),
    ] {
        let is_named = |line: &String| line.starts_with(name) && line.contains(other);
        assert!(lines.iter().any(is_named), "{name}: {lines:?}");
    }
}

/// A load argument can have the name that CONFIG GET shows.
#[test]
fn load_arguments_can_have_the_prefix() {
    let server = Options::new()
        .module_arguments(&[
            "bf.bloom-capacity",
            "55",
            "bf.bloom-tightening-ratio",
            "0.75",
        ])
        .start();
    for (name, value) in [
        ("bf.bloom-capacity", "$55"),
        ("bf.bloom-tightening-ratio", "$0.75"),
    ] {
        let reply = server.call(&format!("CONFIG GET {name}"));
        assert_eq!(reply.to_string(), format!("*[${name} {value}]"));
    }
}

/// A configuration file for valkey-bloom is valid for Roughly, too.
#[test]
fn the_settings_of_valkey_bloom_can_be_in_the_configuration_file() {
    let mut server = with_random_seeds().config_file().start();
    for (name, value) in [
        ("bf.bloom-capacity", "55"),
        ("bf.bloom-fp-rate", "0.00300"),
        ("bf.bloom-use-random-seed", "no"),
        ("bf-replies", "redisbloom"),
    ] {
        set(&server, name, value);
    }
    server.ok("CONFIG REWRITE");
    server.restart_with(Options::new().config_file().without_module());
    let mut connection = server.resp2();
    let get = |connection: &mut Connection, name: &str| {
        let reply = connection.send(&["CONFIG", "GET", &server.setting(name)]);
        reply.items().expect("an array")[1].to_string()
    };
    for (name, value) in [
        ("bf.bloom-capacity", "$55"),
        ("bf.bloom-fp-rate", "$0.00300"),
        ("bf.bloom-use-random-seed", "$no"),
        ("bf.bloom-expansion", "$2"),
        ("bf-replies", "$redisbloom"),
        ("bf-new-keys", "$valkey-bloom"),
    ] {
        assert_eq!(get(&mut connection, name), value, "{name}");
    }
    connection.call("BF.ADD k a");
    assert_eq!(type_of(&mut connection, "k"), "+bloomfltr");
    let payload = crate::families::valkey_bloom::load_payload(&mut connection, "k");
    let seed = super::fixed_seed();
    assert!(payload.windows(32).any(|bytes| bytes == seed));
}
