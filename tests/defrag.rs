//! Active defragmentation under real fragmentation: `make test-defrag`, on a server that can.
//!
//! A server moves blocks in sparse slabs of its allocator. So each test fills many keys and deletes most of them, or
//! every other block of a large one.

#[path = "server/families/mod.rs"]
#[allow(dead_code)] // Not all of it is used here; so below.
mod families;
mod support;
#[path = "server/workload.rs"]
#[allow(dead_code)]
mod workload;

use families::{FAMILIES, Family, numbers};
use std::time::{Duration, Instant};
use support::abilities::record;
use support::resp::{Connection, Reply};
use support::server::{Options, Server};
use support::state::State;

/// Keys of a type.
const KEYS: u32 = 8000;

/// A server with an eager defragmenter, which does not run yet.
fn start() -> Server {
    let server = Options::new()
        .arguments(&["--active-defrag-ignore-bytes", "1"])
        .arguments(&["--active-defrag-threshold-lower", "5"])
        .arguments(&["--active-defrag-cycle-min", "40"])
        .arguments(&["--active-defrag-cycle-max", "80"])
        .start();
    switch(&server, "yes");
    switch(&server, "no");
    server
}

/// Switches the defragmenter on or off.
fn switch(server: &Server, to: &str) {
    let reply = server.call(&format!("CONFIG SET activedefrag {to}"));
    assert!(
        reply.is_ok(),
        "this server cannot defragment ({reply}): run this test with `make test-defrag`"
    );
}

fn number(server: &Server, field: &str) -> f64 {
    let text = server.info(field);
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no number {field} in INFO"))
}

/// How much more memory the allocator has in use than it gave out: 1 is none.
fn fragmentation(server: &Server) -> f64 {
    number(server, "allocator_frag_ratio")
}

fn run(connection: &mut Connection, command: &str) {
    let reply = connection.call(command);
    assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
}

/// Fills the server with keys of a type, and deletes three of four.
fn fragment(connection: &mut Connection, of: &Family) {
    for n in 0..KEYS {
        for command in (of.defrag.create)(&format!("key:{n}"), n) {
            run(connection, &command);
        }
    }
    for n in (0..KEYS).filter(|n| n % 4 != 0) {
        run(connection, &format!("DEL key:{n}"));
    }
}

/// Waits until less than half of the fragmentation is left, and returns it.
fn wait_for_defragmentation(server: &mut Server, fragmented: f64) -> f64 {
    server.wait_until("fragmentation to go down", |server| {
        fragmentation(server) - 1.0 < (fragmented - 1.0) / 2.0
    });
    fragmentation(server)
}

/// Fragmentation decreases by at least half, and keys stay unchanged; a replica without defragmentation has the same
/// data after writes in the meantime.
#[test]
fn keys_of_every_type_move_and_stay_the_same() {
    for of in FAMILIES {
        let mut server = start();
        let mut replica = Server::start();
        let mut connection = server.resp2();
        fragment(&mut connection, of);
        let before = State::of(&mut connection);
        // The server updates the ratio periodically.
        server.wait_until("fragmentation", |server| fragmentation(server) > 1.3);
        let fragmented = fragmentation(&server);
        let figures = server.call("INFO bf_stats");

        switch(&server, "yes");
        let defragmented = wait_for_defragmentation(&mut server, fragmented);
        let hits = number(&server, "active_defrag_hits");
        let keys = number(&server, "active_defrag_key_hits");
        println!(
            "{}: fragmentation {fragmented} -> {defragmented}, {hits} blocks of {keys} keys moved",
            of.type_name
        );
        assert!(
            keys > f64::from(KEYS / 16),
            "{}: {keys} keys moved",
            of.type_name
        );
        State::of(&mut connection).assert_same(&before, of.type_name);
        assert_eq!(server.call("INFO bf_stats"), figures);
        assert!(connection.call("DEBUG RELOAD").is_ok());
        State::of(&mut connection).assert_same(&before, of.type_name);

        // Once more, while clients write.
        switch(&server, "no");
        connection.call("FLUSHALL SYNC");
        fragment(&mut connection, of);
        replica.replicate(&server);
        assert!(server.call("CONFIG RESETSTAT").is_ok());
        switch(&server, "yes");
        let mut written = 0;
        let start = Instant::now();
        while written < 20_000 || number(&server, "active_defrag_hits") == 0.0 {
            for _ in 0..500 {
                let n = written * 4 % KEYS;
                run(
                    &mut connection,
                    &(of.defrag.write)(&format!("key:{n}"), written),
                );
                written += 1;
            }
            assert!(start.elapsed() < Duration::from_secs(120), "nothing moves");
        }
        wait_for_defragmentation(&mut server, fragmented);
        server.wait_for_replica(&replica);
        let wanted = State::of(&mut connection);
        State::of(&mut replica.resp2()).assert_same(&wanted, of.type_name);
        record("active defragmentation", of.type_name);
    }
}

/// A key with a great many blocks is moved in steps, from where the last one ended, and may change in
/// between. (The server puts keys off whose effort is above active-defrag-max-scan-fields.)
#[test]
fn large_keys_move_in_steps() {
    const ITEMS: u32 = 200_000;
    let mut server = start();
    let mut replica = Server::start();
    let mut connection = server.resp2();
    // The items of six sketches take turns in the slabs, and so do the filters of six chains.
    for key in 0..6 {
        run(
            &mut connection,
            &format!("TOPK.RESERVE top:{key} {ITEMS} 300000 4 0.9"),
        );
        run(
            &mut connection,
            &format!("BF.RESERVE chain:{key} 0.01 100 EXPANSION 1"),
        );
    }
    for first in (0..ITEMS).step_by(20) {
        for key in 0..6 {
            run(
                &mut connection,
                &format!("TOPK.ADD top:{key} {}", numbers(first, 20)),
            );
            if first < 60_000 {
                run(
                    &mut connection,
                    &format!("BF.MADD chain:{key} {}", numbers(first, 20)),
                );
            }
        }
    }
    for key in 1..6 {
        run(&mut connection, &format!("DEL top:{key} chain:{key}"));
    }
    let before = State::of(&mut connection);
    replica.replicate(&server);
    server.wait_until("fragmentation", |server| fragmentation(server) > 1.2);
    let fragmented = fragmentation(&server);
    // A hundredth of the time, so that a step does little.
    for setting in ["active-defrag-cycle-min 1", "active-defrag-cycle-max 2"] {
        assert!(connection.call(&format!("CONFIG SET {setting}")).is_ok());
    }
    switch(&server, "yes");
    let mut seen = Vec::new();
    server.wait_until("many steps", |server| {
        let hits = number(server, "active_defrag_hits");
        if seen.last() != Some(&hits) {
            seen.push(hits);
        }
        seen.len() > 5
    });
    State::of(&mut connection).assert_same(&before, "between steps");
    for n in 0..500 {
        run(
            &mut connection,
            &format!("TOPK.ADD top:0 {}", numbers(ITEMS + n * 10, 10)),
        );
        run(
            &mut connection,
            &format!("BF.MADD chain:0 {}", numbers(ITEMS + n * 10, 10)),
        );
    }
    for setting in ["active-defrag-cycle-max 80", "active-defrag-cycle-min 60"] {
        assert!(connection.call(&format!("CONFIG SET {setting}")).is_ok());
    }
    let defragmented = wait_for_defragmentation(&mut server, fragmented);
    println!(
        "large keys: fragmentation {fragmented} -> {defragmented}, {} blocks moved",
        number(&server, "active_defrag_hits")
    );
    server.wait_for_replica(&replica);
    let wanted = State::of(&mut connection);
    assert_ne!(wanted, before);
    State::of(&mut replica.resp2()).assert_same(&wanted, "after all steps");
}
