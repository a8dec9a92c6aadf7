//! TDIGEST.MERGE: checks, operands, results.

use super::{Uniform, add};
use crate::families::dump;
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};
use crate::valkey::replication::replicate_from;
use crate::workload::words;

#[test]
fn failed_merges_report_errors_in_order_and_change_nothing() {
    let (server, mut connection) = Server::start().connected();
    for key in ["a", "b"] {
        connection.ok(&format!("TDIGEST.CREATE {key} COMPRESSION 40"));
        add(&mut connection, key, Uniform(3).take(50));
    }
    connection.ok("SET string x");
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    let wrong_arity = "-ERR wrong number of arguments for 'tdigest.merge' command";
    let missing = "-ERR T-Digest: key does not exist";
    let before = (dump(&mut connection, "a"), dump(&mut connection, "b"));
    let offset = server.info("master_repl_offset");
    connection.check_all(&format!("
        TDIGEST.MERGE string x a => {wrong_type}
        TDIGEST.MERGE a x none => -ERR T-Digest: error parsing numkeys
        TDIGEST.MERGE a 0 none => -ERR T-Digest: numkeys needs to be a positive integer
        TDIGEST.MERGE a 3 none b => {wrong_arity}
        TDIGEST.MERGE a 1 none b => -ERR T-Digest: wrong keyword
        TDIGEST.MERGE a 1 none COMPRESSION => {wrong_arity}
        TDIGEST.MERGE a 1 none COMPRESSION x => -ERR T-Digest: error parsing compression parameter
        TDIGEST.MERGE a 1 none COMPRESSION 0 => -ERR T-Digest: compression parameter needs to be a positive integer
        TDIGEST.MERGE a 2 b none => {missing}
        TDIGEST.MERGE a 2 string none => {wrong_type}
        TDIGEST.MERGE a 2 none string OVERRIDE => {missing}
        TDIGEST.MERGE none 1 none => {missing}
    "));
    assert_eq!(server.info("master_repl_offset"), offset);
    let after = (dump(&mut connection, "a"), dump(&mut connection, "b"));
    assert_eq!(after, before);
    connection.check("EXISTS none", ":0");
}

/// In RedisBloom, the destination loses its time to live; in Roughly, it keeps it.
#[test]
fn a_replica_has_the_time_to_live_of_its_primary() {
    let commands = [
        "TDIGEST.CREATE a",
        "TDIGEST.CREATE b",
        "TDIGEST.ADD b 1 2 3",
        "PEXPIREAT a 4102444800000",
        "TDIGEST.MERGE a 1 b",
    ];
    let replica = Server::start();
    replicate_from(&replica, &commands.map(words));
    replica.check("PEXPIRETIME a", ":-1");

    let mut primary = Options::new().arguments(&["--appendonly", "yes"]).start();
    let mut replica = Server::start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    for command in commands {
        connection.run(command);
    }
    let kept = Reply::Integer(4_102_444_800_000);
    assert_eq!(connection.call("PEXPIRETIME a"), kept);
    primary.wait_for_replica(&replica);
    assert_eq!(replica.call("PEXPIRETIME a"), kept);
    primary.restart();
    assert_eq!(primary.call("PEXPIRETIME a"), kept);
}

#[test]
fn weights_beyond_63_bits_are_refused_and_change_nothing() {
    let (server, mut connection) = Server::start().connected();
    connection.ok("TDIGEST.CREATE k COMPRESSION 10");
    add(&mut connection, "k", [1.0, 2.0, 3.0]);
    let mut merges = 0;
    let error = loop {
        let before = dump(&mut connection, "k");
        let offset = server.info("master_repl_offset");
        let reply = connection.call("TDIGEST.MERGE k 1 k");
        if !reply.is_ok() {
            assert_eq!(dump(&mut connection, "k"), before);
            assert_eq!(server.info("master_repl_offset"), offset);
            break reply;
        }
        merges += 1;
    };
    assert_eq!(error.to_string(), "-ERR T-Digest: overflow detected");
    assert_eq!(merges, 61);
    connection.ok("TDIGEST.ADD k 4");
    connection.ok("DEBUG RELOAD");
    connection.check("TDIGEST.MAX k", "$4");
}

#[test]
fn a_merge_includes_the_destination_unless_override_is_given() {
    let (_server, mut connection) = Server::start().connected();
    connection.ok("TDIGEST.CREATE d COMPRESSION 77");
    connection.ok("TDIGEST.CREATE a COMPRESSION 50");
    connection.ok("TDIGEST.CREATE b COMPRESSION 60");
    add(&mut connection, "d", [100.0]);
    add(&mut connection, "a", [1.0, 2.0]);
    add(&mut connection, "b", [3.0]);
    let sources = (dump(&mut connection, "a"), dump(&mut connection, "b"));
    connection.check("EXPIRE d 1000", ":1");
    let mut merge = |words: &str| {
        connection.ok(&format!("TDIGEST.MERGE {words}"));
        let key = words.split(' ').next().unwrap();
        let info = connection.send(&["TDIGEST.INFO", key]);
        (info.number("Compression"), info.number("Observations"))
    };
    assert_eq!(merge("d 2 a b"), (77, 4));
    assert_eq!(merge("d 2 a d"), (77, 10));
    assert_eq!(merge("d 1 d COMPRESSION 90"), (90, 20));
    assert_eq!(merge("d 1 d OVERRIDE"), (90, 20));
    assert_eq!(merge("d 2 b a OVERRIDE"), (60, 3));
    assert_eq!(merge("d 2 b a override compression 5 or so"), (5, 3));
    assert_eq!(merge("new 2 a b"), (60, 3));
    assert_eq!(merge("new 2 a a OVERRIDE"), (50, 4));
    assert!(connection.call("TTL d").integer() > Some(900));
    let after = (dump(&mut connection, "a"), dump(&mut connection, "b"));
    assert_eq!(after, sources);
}
