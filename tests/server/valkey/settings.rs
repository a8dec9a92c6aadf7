//! `bf-new-keys` and `bf-replies` at run time, the log lines about valkey-bloom's settings, and which settings apply to
//! which type.

use super::with_random_seeds;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use crate::workload::columns;

fn type_of(connection: &mut Connection, key: &str) -> String {
    connection.send(&["TYPE", key]).to_string()
}

/// The commands that create a key whose type the setting decides, and those whose options decide it.
#[test]
fn new_keys_have_the_configured_type() {
    let (server, mut connection) = Server::start().connected();
    for (value, of_new) in [
        ("redisbloom", "+MBbloom--"),
        ("valkey-bloom", "+bloomfltr"),
        ("REDISBLOOM", "+MBbloom--"),
    ] {
        server.set("bf-new-keys", value);
        for row in [
            "BF.RESERVE k 0.01 100 | CONFIGURED",
            "BF.RESERVE k 0.01 100 NONSCALING | CONFIGURED",
            "BF.ADD k a | CONFIGURED",
            "BF.MADD k a b | CONFIGURED",
            "BF.INSERT k ITEMS a | CONFIGURED",
            "BF.INSERT k CAPACITY 50 ITEMS a | CONFIGURED",
            // Items are not options.
            "BF.INSERT k ITEMS SEED TIGHTENING VALIDATESCALETO WINDOW | CONFIGURED",
            "BF.INSERT k TIGHTENING 0.5 ITEMS a | +bloomfltr",
            "BF.INSERT k VALIDATESCALETO 1000 ITEMS a | +bloomfltr",
            "BF.INSERT k SEED 0123456789abcdefghijklmnopqrstuv ITEMS a | +bloomfltr",
            "BF.INSERT k seed 0123456789abcdefghijklmnopqrstuv | +bloomfltr",
            "BF.RESERVE k 0.01 100 WINDOW 1000 | +bf-window",
            "BF.INSERT k WINDOW 1000 ITEMS a | +bf-window",
        ] {
            let [command, expected] = columns(row);
            let expected = expected.replace("CONFIGURED", of_new);
            let reply = connection.run(command);
            let found = type_of(&mut connection, "k");
            assert_eq!(found, expected, "{value}, {command}: {reply}");
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
    let settings = "bf-initial-size 50 bf-expansion-factor 3 bf-error-rate 0.125 bloom-capacity 60 \
        bloom-expansion 4 bloom-fp-rate 0.375 bloom-tightening-ratio 0.75";
    let settings: Vec<_> = settings.split(' ').collect();
    let options = Options::new().module_arguments(&settings);
    let (server, mut connection) = options.start().connected();
    server.set("bf-replies", "valkey-bloom");
    let info = |connection: &mut Connection, key: &str| -> Vec<String> {
        let fields = ["CAPACITY", "ERROR", "EXPANSION", "TIGHTENING"];
        let replies = fields.map(|field| connection.send(&["BF.INFO", key, field]).to_string());
        replies.into()
    };
    connection.call("BF.ADD classic a");
    server.set("bf-new-keys", "valkey-bloom");
    connection.call("BF.ADD valkey a");
    let found = info(&mut connection, "classic");
    assert_eq!(found, [":50", "$0.125", ":3", "$0.5"]);
    let found = info(&mut connection, "valkey");
    assert_eq!(found, [":60", "$0.375", ":4", "$0.75"]);
    server.set("bf.bloom-expansion", "0");
    server.set("bf.bloom-capacity", "7");
    connection.call("BF.MADD fixed a b");
    let fixed = info(&mut connection, "fixed");
    let expected = [":7", "$0.375", "$-1", "-ERR invalid information value"];
    assert_eq!(fixed, expected);
    // BF.RESERVE specifies all but the ratio and the growth factor.
    connection.ok("BF.RESERVE reserved 0.625 9");
    let reserved = info(&mut connection, "reserved");
    assert_eq!(reserved[..3], [":9", "$0.625", "$-1"]);
    let found = info(&mut connection, "valkey");
    assert_eq!(found, [":60", "$0.375", ":4", "$0.75"]);
}

/// If new keys have RedisBloom's type, log lines name Roughly's setting for each of valkey-bloom's that is set at load.
#[test]
fn loading_with_settings_of_valkey_bloom_is_logged() {
    let lines = |options: Options| -> Vec<String> {
        let log = options.start().log();
        let texts = log
            .lines()
            .filter_map(|line| Some(line.split_once("<bf> ")?.1));
        let texts = texts.filter(|text| text.starts_with("bf.bloom-"));
        texts.map(str::to_owned).collect()
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
    let arguments = "bf.bloom-capacity 55 bf.bloom-tightening-ratio 0.75".split(' ');
    let arguments: Vec<_> = arguments.collect();
    let server = Options::new().module_arguments(&arguments).start();
    for (name, value) in [("capacity", "$55"), ("tightening-ratio", "$0.75")] {
        let name = format!("bf.bloom-{name}");
        server.check(&format!("CONFIG GET {name}"), format!("*[${name} {value}]"));
    }
}
