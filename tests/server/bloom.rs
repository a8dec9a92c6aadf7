//! Bloom filters on a real server: behavior that the recordings do not cover.

mod merge;

use crate::families::{Family, dump};
use crate::support::cpu;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

fn numbered(from: u32, to: u32) -> Vec<String> {
    (from..to).map(|i| format!("item:{i}")).collect()
}

fn madd(connection: &mut Connection, key: &str, from: u32, to: u32) {
    for start in (from..to).step_by(1000) {
        let mut command = vec!["BF.MADD".to_owned(), key.to_owned()];
        command.extend(numbered(start, to.min(start + 1000)));
        assert!(matches!(connection.send(&command), Reply::Array(_)));
    }
}

fn count_present(connection: &mut Connection, key: &str, from: u32, to: u32) -> usize {
    let mut present = 0;
    for start in (from..to).step_by(1000) {
        let mut command = vec!["BF.MEXISTS".to_owned(), key.to_owned()];
        command.extend(numbered(start, to.min(start + 1000)));
        let reply = connection.send(&command);
        let items = reply.items().expect("an array");
        present += items
            .iter()
            .filter(|&item| *item == Reply::Integer(1))
            .count();
    }
    present
}

#[test]
fn oversized_requests_are_refused_and_change_nothing() {
    let server = Server::start();
    let mut connection = server.resp2();
    let refused = "-ERR Insufficient memory to create filter";
    // The filter would take 200 GB.
    let reply = connection.call("BF.RESERVE huge 1e-300 1073741824");
    assert_eq!(reply.to_string(), refused);
    assert!(connection.call("CONFIG SET maxmemory 200mb").is_ok());
    let offset = server.info("master_repl_offset");
    for command in [
        "BF.RESERVE huge 0.01 1073741824",
        "BF.INSERT huge CAPACITY 1073741824 ITEMS a",
    ] {
        assert_eq!(connection.call(command).to_string(), refused);
    }
    assert_eq!(connection.call("EXISTS huge"), Reply::Integer(0));
    assert_eq!(server.info("master_repl_offset"), offset);
    assert!(connection.call("BF.RESERVE fits 0.01 10000000").is_ok());
}

/// If a filter cannot grow, the reply has an error for each refused item, and only the added items are replicated.
#[test]
fn items_that_a_filter_cannot_grow_for_are_errors_and_not_replicated() {
    let mut primary = Server::start();
    let mut replica = Server::start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    assert!(
        connection
            .call("BF.RESERVE k 0.01 3 EXPANSION 32768")
            .is_ok()
    );
    // The next filter takes 128 KB for 98,304 entries, and the one after it 4 GB.
    madd(&mut connection, "k", 0, 98_000);
    assert!(
        connection
            .call("BF.RESERVE accepts 0.01 100000 NONSCALING")
            .is_ok()
    );
    let add = |connection: &mut Connection, key: &str| {
        [98_000, 108_000].map(|start| {
            let mut command = vec!["BF.MADD".to_owned(), key.to_owned()];
            command.extend(numbered(start, start + 10_000));
            connection.send(&command)
        })
    };
    let (accepting, _) =
        cpu::of_main_thread_during(&mut connection, |connection| add(connection, "accepts"));
    assert!(connection.call("CONFIG SET maxmemory 200mb").is_ok());
    let (refusing, replies) =
        cpu::of_main_thread_during(&mut connection, |connection| add(connection, "k"));
    let mut refused = 0;
    for reply in replies {
        let items = reply.items().expect("an array");
        assert_eq!(items.len(), 10_000);
        for item in items {
            if let Reply::Error(text) = item {
                assert_eq!(text, b"ERR problem inserting into filter");
                refused += 1;
            }
        }
    }
    assert!(refused > 15_000, "{refused}");
    // The server's limits are read once per command. Reading them for each item would take a hundred times as long.
    assert!(refusing <= accepting * 20, "{refusing:?}, {accepting:?}");
    assert!(
        primary
            .info("bf_bloom_refusals")
            .unwrap()
            .parse::<u64>()
            .unwrap()
            >= refused
    );
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    assert_eq!(dump(&mut on_replica, "k"), dump(&mut connection, "k"));
}

#[test]
fn memory_usage_and_info_follow_growth() {
    let server = Server::start();
    let mut connection = server.resp2();
    let mut last = 0;
    for round in 0..6 {
        madd(&mut connection, "k", round * 20_000, (round + 1) * 20_000);
        let usage = connection.call("MEMORY USAGE k").integer().unwrap();
        assert!(usage >= last);
        last = usage;
    }
    assert!(last > 300_000, "{last}");
    let counted: i64 = server.info("bf_bloom_bytes").unwrap().parse().unwrap();
    assert!(
        (counted - last).abs() < 1000,
        "{counted} in INFO, {last} said"
    );
    assert!(
        server
            .info("bf_bloom_growths")
            .unwrap()
            .parse::<u32>()
            .unwrap()
            >= 9
    );
}

/// 100,000 lookups at an error rate of 1 % give 1,000 false positives on average. More than 1,200 is six standard
/// deviations above; its probability is below 1e-8.
#[test]
fn false_positives_stay_within_the_error_rate_after_six_expansions() {
    let server = Server::start();
    let mut connection = server.resp2();
    assert!(connection.call("BF.RESERVE k 0.01 1000").is_ok());
    madd(&mut connection, "k", 0, 127_000);
    let filters = connection.call("BF.INFO k FILTERS").to_string();
    assert_eq!(filters, "*[:7]");
    assert_eq!(count_present(&mut connection, "k", 0, 127_000), 127_000);
    let found = count_present(&mut connection, "k", 1_000_000, 1_100_000);
    assert!(found < 1_200, "{found}");
}

#[test]
fn a_filter_above_16_mib_is_copied_in_several_chunks() {
    let server = Server::start();
    let other = Server::start();
    let (mut from, mut to) = (server.resp2(), other.resp2());
    assert!(from.call("BF.RESERVE k 0.0001 8000000").is_ok());
    madd(&mut from, "k", 0, 20_000);
    let chunks = Family::of("bf").copy_in_chunks(&mut from, "k", &mut to, "k");
    assert_eq!(chunks, 3);
    assert_eq!(dump(&mut to, "k"), dump(&mut from, "k"));
}

/// Creation is replicated with all parameters, so that the settings of the replica do not matter. Covers each way to
/// create a filter.
#[test]
fn filters_created_in_every_way_are_equal_on_a_replica() {
    let mut primary = Options::new()
        .module_arguments(&["bf-expansion-factor", "4"])
        .start();
    let mut replica = Options::new()
        .module_arguments(&["bf-expansion-factor", "0", "bf-error-rate", "0.2"])
        .start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    let commands = [
        "BF.ADD auto a",
        "BF.RESERVE plain 0.001 50",
        "BF.RESERVE fixed 0.001 50 NONSCALING",
        "BF.RESERVE zero 0.001 50 EXPANSION 0",
        "BF.RESERVE loose 0.9 50",
        "BF.RESERVE tiny 1e-290 1 EXPANSION 1",
        "BF.INSERT ins ITEMS a b",
        "BF.INSERT ins-fixed NONSCALING EXPANSION 7 ITEMS a b",
        "BF.INSERT ins-all CAPACITY 3 ERROR 0.003 EXPANSION 9 ITEMS a b c d e f",
        "CONFIG SET bf-expansion-factor 2",
        "BF.RESERVE fixed2 0.001 50 NONSCALING",
    ];
    for command in commands {
        let command = command.replace(
            "bf-expansion-factor",
            &primary.setting("bf-expansion-factor"),
        );
        let reply = connection.call(&command);
        assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
    }
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    for command in commands.iter().filter(|command| command.starts_with("BF.")) {
        let key = command.split(' ').nth(1).unwrap();
        assert_eq!(
            dump(&mut on_replica, key),
            dump(&mut connection, key),
            "{key}"
        );
    }
}

/// If a command creates a key and then refuses the first item, the key remains, also on replicas.
#[test]
fn a_key_created_for_a_refused_item_is_replicated() {
    let mut primary = Server::start();
    let mut replica = Server::start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    assert_eq!(connection.call("BF.ADD k a"), Reply::Integer(1));
    let reply = connection.call("BF.INSERT fixed CAPACITY 1 NONSCALING ITEMS a b c");
    assert_eq!(reply.to_string(), "*[:1 -ERR non scaling filter is full]");
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    for key in ["k", "fixed"] {
        assert_eq!(dump(&mut on_replica, key), dump(&mut connection, key));
    }
}

#[test]
fn load_arguments_are_applied_and_invalid_ones_stop_the_load() {
    let server = Options::new()
        .module_arguments(&["ERROR_RATE", "0.05", "bf-initial-size", "33"])
        .start();
    let mut connection = server.resp2();
    assert_eq!(connection.call("BF.ADD k a"), Reply::Integer(1));
    assert_eq!(connection.call("BF.INFO k CAPACITY").to_string(), "*[:33]");
    assert!(
        server
            .log()
            .contains("ERROR_RATE is a deprecated module argument")
    );
    for (arguments, named) in [
        (&["bf-error-rate"][..], "pairs of a name and a value"),
        (&["no-such-name", "1"], "no-such-name"),
        (&["bf-initial-size", "0"], "bf-initial-size"),
        (&["bf-error-rate", "x"], "bf-error-rate"),
    ] {
        let log = Options::new()
            .module_arguments(arguments)
            .try_start()
            .expect_err("a server that does not start");
        assert!(log.contains(named), "{log}");
    }
    // A single empty argument counts as no argument.
    Options::new().module_arguments(&[""]).start();
}
