//! Commands of a primary and of the AOF are refused by no limit of this server. If the allocator has no memory for them, the
//! server ends.

mod beyond;
mod callers;
pub mod ends;
mod increments;
mod loading;
mod numbers;

use crate::families::{FAMILIES, Family, run_on};
use crate::support::resp::{Connection, request};
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};
use crate::support::state::State;
use crate::workload::words;
use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write as _};

/// The log line of a command that needs more than the machine has.
const WARNING: &str = "must be obeyed: key ";

/// The limits, each as low as possible: arguments of the server and of the module.
const LIMITS: &[(&str, &[&str], &[&str])] = &[
    ("machine", &[], &[]),
    ("control-group", &[], &[]),
    ("maxmemory", &["--maxmemory", "1mb"], &[]),
    ("key", &[], &["sketch-max-key-bytes", "1"]),
    ("valkey-bloom", &[], &["bloom-memory-usage-limit", "1"]),
    ("windows", &[], &["sketch-windows", "no"]),
    ("expansions", &[], &["cf-max-expansions", "1"]),
];

fn options() -> Options {
    let log = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    Options::new().arguments(&log)
}

/// The limits that only a server with the debug module has lower than the machine.
pub const OF_SYSTEM: &[&str] = &["machine", "control-group"];

/// Lowers such a limit to 1 MiB.
pub fn lower(server: &Server, limit: &str) {
    let file = format!("roughly-{limit}-bytes");
    fs::write(server.dir().join(file), "1048576").expect("a file");
}

/// Appends commands to the AOF.
fn append<'a>(server: &Server, commands: impl Iterator<Item = &'a str>) {
    server.wait_until_logged();
    let file = &server.aof_parts(".incr.aof")[0];
    let log = OpenOptions::new().append(true).open(file);
    let mut log = BufWriter::new(log.expect("the log"));
    for command in commands {
        log.write_all(&request(&words(command))).expect("the log");
    }
    log.flush().expect("the log");
}

/// Creates keys of the types in every way, and makes them grow.
fn write_all(connection: &mut Connection, families: &[&Family]) {
    for family in families {
        let key = |kind: &str| format!("{}:{kind}", family.name);
        family.build(connection, &key("built"));
        run_on(connection, &key("large"), family.build_large);
        for (number, creation) in family.creations.iter().enumerate() {
            let source = key(&format!("source{number}"));
            family.build(connection, &source);
            let creation = creation.replace("SOURCE", &source);
            run_on(connection, &key(&number.to_string()), &[&creation]);
        }
        for (number, growth) in family.growths.iter().enumerate() {
            let name = key(&format!("grown{number}"));
            run_on(connection, &name, growth.create);
            for first in (0..300).step_by(growth.items) {
                let items = first..(first + growth.items).min(300);
                connection.call(&growth.with_items(items).replace("KEY", &name));
            }
        }
        let payload = connection.payload(key("large"));
        let reply = connection.restore(key("restored"), &payload);
        assert!(reply.is_ok(), "{}: {reply}", family.name);
        for (iterator, chunk) in family.chunks(connection, &key("large")) {
            let reply = family.load(connection, &key("loaded"), iterator, &chunk);
            assert!(reply.is_ok(), "{}: {reply}", family.name);
        }
        connection.check(&format!("COPY {} {}", key("large"), key("copied")), ":1");
    }
}

/// The types of the sample, if each is a case after `first` others.
fn sampled(first: usize) -> Vec<&'static Family> {
    let sample = Sample::of_run();
    let cases = (first..).zip(FAMILIES);
    let cases = cases.filter(|(number, _)| sample.contains(*number));
    cases.map(|(_, family)| family).collect()
}

/// For each limit and type: a replica and a server that reads the AOF, both with the limit, have the keys.
#[test]
fn no_limit_refuses_a_command_of_a_primary_or_of_the_aof() {
    for (number, (limit, arguments, module)) in LIMITS.iter().enumerate() {
        let families = sampled(number * FAMILIES.len());
        let mut primary = options().start();
        let options = options().arguments(arguments).module_arguments(module);
        let is_of_system = OF_SYSTEM.contains(limit);
        let mut replica = match is_of_system {
            true => options.debug_module().start(),
            false => options.start(),
        };
        replica.replicate(&primary);
        if is_of_system {
            lower(&replica, limit);
        }
        write_all(&mut primary.resp2(), &families);
        let wanted = State::of(&mut primary.resp2());
        let names: Vec<_> = families.iter().map(|family| family.name).collect();
        let when = format!("limit {limit}, types {names:?}");
        primary.wait_for_replica(&replica);
        State::of(&mut replica.resp2()).assert_same(&wanted, &format!("replica, {when}"));
        let warns = replica.log().contains(WARNING);
        assert_eq!(warns, is_of_system, "{when}");
        // It reads its own AOF, as a primary.
        replica.restart();
        State::of(&mut replica.resp2()).assert_same(&wanted, &format!("AOF, {when}"));
    }
}

/// RedisBloom up to 8.10 saturates a cell and sends the command to the AOF.
#[test]
fn an_obeyed_increment_that_overflows_saturates() {
    let (mut server, mut connection) = options().start().connected();
    connection.ok("CMS.INITBYDIM k 10 1");
    connection.call("CMS.INCRBY k a 4294967294");
    connection.check("CMS.INCRBY k a 5", "*[-CMS: INCRBY overflow]");
    append(&server, ["CMS.INCRBY k a 5 a 6"].into_iter());
    server.kill();
    server.relaunch();
    let mut connection = server.resp2();
    connection.check("CMS.QUERY k a", "*[:4294967295]");
    let info = connection.call("CMS.INFO k").to_string();
    assert!(info.contains("4294967305"), "{info}");
    assert!(!server.log().contains("CRITICAL"), "{}", server.log());
}

/// A client of a writable replica is limited, as on a primary.
#[test]
fn restore_on_a_writable_replica_is_limited() {
    let (primary, mut connection) = Server::start().connected();
    connection.ok("CONFIG SET bf.bloom-memory-usage-limit 1000000");
    let replica = |read_only: &str| {
        let mut replica = Options::new()
            .arguments(&["--replica-read-only", read_only])
            .module_arguments(&["bloom-memory-usage-limit", "1"])
            .start();
        replica.replicate(&primary);
        replica
    };
    let (read_only, writable) = (replica("yes"), replica("no"));
    Family::of("bloomfltr").build(&mut connection, "k");
    let payload = connection.payload("k");
    let refused = writable.resp2().restore("copy", &payload);
    assert!(refused.is_error(), "{refused}");
    let reply = connection.restore("copy", &payload);
    assert!(reply.is_ok(), "{reply}");
    connection.check("WAIT 2 10000", ":2");
    read_only.check("EXISTS copy", ":1");
}

/// Keys that every way of creation made can be dumped and restored, copied, reloaded, rewritten and replicated with the same
/// settings.
#[test]
fn a_key_that_exists_is_accepted_in_every_way() {
    let mut server = options().start();
    let mut replica = options().start();
    let mut connection = server.resp2();
    write_all(&mut connection, &sampled(0));
    for (key, payload) in loaded_at_the_limit(&mut connection) {
        let load = [b"BF.LOADCHUNK", key.as_bytes(), b"1", &payload[..]];
        assert!(connection.send(&load).is_ok(), "{key}");
    }
    accept_in_every_way(&mut server, &mut replica);
}

/// Headers of valkey-bloom's type: with a capacity that needs more bytes than are present, and of the size of the limit.
fn loaded_at_the_limit(connection: &mut Connection) -> Vec<(&'static str, Vec<u8>)> {
    let family = Family::of("bloomfltr");
    family.build(connection, "source");
    let (_, header) = family.scan(connection, "source", 0).expect("a header");
    let mut wide = header.clone();
    // The capacity follows the fixed part of the header.
    wide[49..57].copy_from_slice(&1_100_000_000_000u64.to_le_bytes());
    vec![("header", header), ("wide", wide)]
}

fn accept_in_every_way(server: &mut Server, replica: &mut Server) {
    let mut connection = server.resp2();
    let digest = |connection: &mut Connection, key: &[u8]| {
        let digest = connection.send(&[&b"DEBUG"[..], b"DIGEST-VALUE", key]);
        digest.to_string()
    };
    for key in &connection.keys() {
        let wanted = digest(&mut connection, key);
        let payload = connection.payload(key);
        let restore = [&b"RESTORE"[..], b"other", b"0", &payload];
        let copy = [&b"COPY"[..], key, b"other"];
        for way in [&restore[..], &copy] {
            connection.send_run(way);
            let found = digest(&mut connection, b"other");
            assert_eq!(found, wanted, "{}", key.escape_ascii());
            connection.call("DEL other");
        }
    }
    let wanted = State::of(&mut connection);
    connection.ok("DEBUG RELOAD");
    State::of(&mut connection).assert_same(&wanted, "DEBUG RELOAD");
    replica.replicate(server);
    State::of(&mut replica.resp2()).assert_same(&wanted, "full synchronization");
    server.restart();
    State::of(&mut server.resp2()).assert_same(&wanted, "AOF");
    assert!(server.rewrite_aof());
    server.restart();
    State::of(&mut server.resp2()).assert_same(&wanted, "rewritten AOF");
}
