//! Random seeds and refused items on replicas, and replication from RedisBloom. recorded_stream.rs tests it from valkey-bloom, and
//! propagation.rs between servers with different settings.

use super::{AOF, Words, error, fixed_seed, replacement, with_random_seeds, words};
use crate::each_server::migration::files::{self, REDIS_6_2};
use crate::each_server::migration::primary::Primary;
use crate::families::{dump, numbers};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

/// DUMP, digest and BF.INFO of each key, in RESP2.
fn state(server: &Server, keys: &[&str]) -> Vec<(Reply, [Reply; 2])> {
    let mut connection = server.resp2();
    let state = keys.iter().map(|key| {
        let [digest, card] = ["DEBUG DIGEST-VALUE", "BF.CARD"].map(|of| format!("{of} {key}"));
        let replies = [digest, card].map(|command| connection.call(&command));
        (dump(&mut connection, key), replies)
    });
    state.collect()
}

fn assert_equal(primary: &mut Server, replica: &Server, keys: &[&str]) {
    primary.wait_for_replica(replica);
    let expected = state(primary, keys);
    assert!(!expected.iter().any(|state| state.0 == Reply::Null('$')));
    assert_eq!(state(replica, keys), expected);
    replica.assert_obeys();
}

#[test]
fn random_seeds_differ_between_keys_but_not_on_a_replica() {
    let mut primary = with_random_seeds().start();
    let mut replica = Server::start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    for command in ["BF.ADD one a", "BF.ADD two a", "BF.RESERVE three 0.01 100"] {
        connection.run(command);
    }
    let seeds = ["one", "two", "three"].map(|key| {
        let payload = crate::families::valkey_bloom::load_payload(&mut connection, key);
        // The version, 21 bytes of parameters, number of filters, length, and the head of the first filter.
        payload[1 + 21 + 8 + 8 + 13..][..32].to_vec()
    });
    assert!(seeds[0] != seeds[1] && seeds[0] != seeds[2] && seeds[1] != seeds[2]);
    assert!(!seeds.contains(&fixed_seed()));
    assert_equal(&mut primary, &replica, &["one", "two", "three"]);
}

/// A replica is exempt from the limit. It receives only the items that the primary has added.
#[test]
fn only_the_items_before_an_error_are_replicated() {
    let mut primary = replacement()
        .module_arguments(&["bloom-memory-usage-limit", "3000", "bloom-fp-rate", "1e-9"])
        .arguments(AOF)
        .start();
    let mut replica = Server::start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    let items = numbers(0, 1000);
    let full = error("ERR non scaling filter is full");
    let too_large = error("ERR operation exceeds bloom object memory limit");
    connection.ok("BF.RESERVE full 1e-9 10 NONSCALING");
    let insert = format!("BF.INSERT inserted CAPACITY 50 ITEMS {items}");
    for (command, added, last) in [
        (format!("BF.MADD full {items}"), 10, &full),
        (format!("BF.MADD large {items}"), 300, &too_large),
        (insert, 350, &too_large),
    ] {
        let reply = connection.call(&command);
        let results = reply.items().expect("an array");
        let (error, results) = results.split_last().expect("results");
        assert_eq!(error, last, "{}", &command[..20]);
        assert!(results.iter().all(|result| result == &Reply::Integer(1)));
        assert_eq!(results.len(), added, "{}", &command[..20]);
        let key = command.split(' ').nth(1).expect("a key");
        let log = super::logged(&primary);
        let logged = log.last().expect("a command");
        let mut expected = words(&format!("BF.MADD {key}"));
        expected.extend(words(&numbers(0, added as u32)));
        assert!(logged == &expected, "{} arguments of {key}", logged.len());
        // Nothing is replicated if the first item is refused.
        let count = log.len();
        let refused = connection.call(&format!("BF.MADD {key} {}", numbers(5000, 5)));
        assert_eq!(refused, Reply::Array(vec![last.clone()]));
        assert_eq!(&connection.call(&format!("BF.ADD {key} 6000")), last);
        assert_eq!(super::logged(&primary).len(), count);
    }
    assert_equal(&mut primary, &replica, &["full", "large", "inserted"]);
}

/// Sends commands to a replica, from a primary without keys, and makes the replica a primary.
pub fn replicate_from(replica: &Server, commands: &[Words]) {
    let mut primary = Primary::of(replica, &files::rdb(REDIS_6_2, &[]));
    primary.send(&files::commands(commands));
    primary.wait();
    replica.ok("REPLICAOF NO ONE");
}

fn types(connection: &mut Connection, keys: &[&str]) -> Vec<String> {
    let types = keys.iter().map(|key| connection.send(&["TYPE", key]));
    types.map(|reply| reply.to_string()).collect()
}

/// The settings `bf-new-keys` and `bf-replies` do not apply to commands of a primary.
#[test]
fn the_stream_of_redisbloom_creates_its_keys() {
    let stream = [
        "BF.RESERVE r 0.01 100",
        "BF.RESERVE n 0.25 10 NONSCALING",
        "BF.ADD a 1",
        "BF.MADD m 1 2 3",
        "BF.INSERT i CAP 50 ERR 0.001 IT 1 2",
        "BF.INSERT j NOSCALING ITEMS 1 2",
    ]
    .map(words);
    let keys = ["r", "n", "a", "m", "i", "j"];
    let client = Server::start();
    for command in &stream {
        client.resp2().send_run(command);
    }
    let expected = state(&client, &keys);
    let replica = replacement().start();
    replicate_from(&replica, &stream);
    assert_eq!(state(&replica, &keys), expected);
    let mut connection = replica.resp2();
    assert_eq!(types(&mut connection, &keys), ["+MBbloom--"; 6]);
    replica.assert_obeys();
    // Clients of the same server create keys of the other type.
    connection.check("BF.ADD new 1", ":1");
    assert_eq!(types(&mut connection, &["new"]), ["+bloomfltr"]);
}
