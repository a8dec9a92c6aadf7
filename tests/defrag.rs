//! Active defragmentation of fragmented memory. `scripts/check-release.sh defrag` runs these tests on a server that supports it.
//!
//! The server moves blocks out of sparsely used slabs of its allocator. To create such slabs, the tests fill many keys
//! and delete most of them.

#[path = "server/families/mod.rs"]
#[allow(dead_code)] // The server tests use the rest.
mod families;
mod support;
#[path = "server/workload.rs"]
#[allow(dead_code)]
mod workload;

use families::{FAMILIES, Family, long_items, numbers, valkey_bloom};
use std::time::Duration;
use support::abilities::record;
use support::resp::{Connection, Reply};
use support::server::{Options, Server};
use support::state::State;

/// Number of keys per type. Of 8000, the sparse slabs that remain are a larger share than the tests accept.
const KEYS: u32 = 16_000;

/// Starts a server with low thresholds for active defragmentation, which is still off.
fn start() -> Server {
    let server = Options::new()
        .debug_module()
        .arguments(&["--active-defrag-ignore-bytes", "1"])
        .arguments(&["--active-defrag-threshold-lower", "5"])
        .arguments(&["--active-defrag-cycle-min", "40"])
        .arguments(&["--active-defrag-cycle-max", "80"])
        .start();
    set_defragmentation(&server, "yes");
    set_defragmentation(&server, "no");
    server
}

/// Sets activedefrag to `yes` or `no`.
fn set_defragmentation(server: &Server, to: &str) {
    let reply = server.call(&format!("CONFIG SET activedefrag {to}"));
    let remedy = "run this test with `scripts/check-release.sh defrag`";
    assert!(
        reply.is_ok(),
        "this server cannot defragment ({reply}): {remedy}"
    );
}

fn number(server: &Server, field: &str) -> f64 {
    let number = server.info(field).and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("no number {field} in INFO"))
}

/// Ratio of the allocator's active to allocated memory; 1 means no fragmentation. The server updates it every 100 ms.
fn fragmentation(server: &Server) -> f64 {
    number(server, "allocator_frag_ratio")
}

/// Waits until fragmentation is above `min`, and until an update no longer changes it: the ratio at an earlier update,
/// between two deletions, can be far lower. Returns the ratio.
fn wait_for_fragmentation(server: &mut Server, min: f64) -> f64 {
    let mut last = 0.0;
    server.wait_until("fragmentation", |server| {
        let earlier = std::mem::replace(&mut last, fragmentation(server));
        std::thread::sleep(Duration::from_millis(500));
        last > min && last == earlier
    });
    last
}

/// Creates keys of a type and deletes three of every four.
fn fragment(connection: &mut Connection, of: &Family) {
    for n in 0..KEYS {
        for command in (of.defrag.create)(&format!("key:{n}"), n) {
            connection.run(&command);
        }
    }
    for n in (0..KEYS).filter(|n| n % 4 != 0) {
        connection.run(&format!("DEL key:{n}"));
    }
}

/// Progress of active defragmentation.
struct Progress {
    /// Number of moved blocks.
    hits: f64,
    /// Number of visited keys when the server moved the last of these blocks.
    visited: f64,
    /// Number of observations since then at which defragmentation was not running.
    idle: u32,
}

/// Number of keys that active defragmentation has visited.
fn visited_keys(server: &Server) -> f64 {
    let fields = ["active_defrag_key_hits", "active_defrag_key_misses"];
    fields.map(|field| number(server, field)).iter().sum()
}

impl Progress {
    fn of(server: &Server) -> Self {
        Self {
            hits: number(server, "active_defrag_hits"),
            visited: visited_keys(server),
            idle: 0,
        }
    }

    /// Panics if the server has moved no block since the last one while it visited every key several times, or if it no longer
    /// defragments. Between two passes, it does not defragment for a moment.
    fn check(&mut self, server: &Server) {
        let now = Self::of(server);
        let keys = server.call("DBSIZE").integer().expect("a number of keys");
        if now.hits != self.hits {
            *self = now;
        } else if number(server, "active_defrag_running") == 0.0 {
            self.idle += 1;
        }
        let visits = visited_keys(server) - self.visited;
        assert!(
            visits < 4.0 * keys as f64 && self.idle < 200,
            "no block was moved during {visits} visits of {keys} keys; not running at {} observations; fragmentation {}",
            self.idle,
            fragmentation(server)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until fragmentation has decreased by more than half, as long as the server moves blocks, and returns the new ratio.
fn wait_for_defragmentation(server: &Server, fragmented: f64) -> f64 {
    let mut progress = Progress::of(server);
    loop {
        let remaining = fragmentation(server);
        if remaining - 1.0 < (fragmented - 1.0) / 2.0 {
            return remaining;
        }
        progress.check(server);
    }
}

/// Fragmentation decreases by more than half and keys stay unchanged, although the module would get no memory: it requests
/// none. A replica without defragmentation has the same data after writes during defragmentation.
#[test]
fn defragmentation_moves_keys_of_every_type_without_changing_them() {
    for of in FAMILIES {
        let mut server = start();
        let mut replica = Server::start();
        let mut connection = server.resp2();
        fragment(&mut connection, of);
        let before = State::of(&mut connection);
        let fragmented = wait_for_fragmentation(&mut server, 1.3);
        let stats = server.call("INFO bf_stats");

        server.call("ROUGHLY.FAULT 1 1000000");
        set_defragmentation(&server, "yes");
        let defragmented = wait_for_defragmentation(&server, fragmented);
        let requests = server.call("ROUGHLY.FAULT 0 0");
        let requests = requests.items().expect("an array");
        assert_eq!(requests[0], Reply::Integer(0), "{}", of.type_name);
        let hits = number(&server, "active_defrag_hits");
        let keys = number(&server, "active_defrag_key_hits");
        let moved = format!("{}: {hits} blocks of {keys} keys moved", of.type_name);
        println!("{moved}, fragmentation {fragmented} -> {defragmented}");
        assert!(keys > f64::from(KEYS / 16), "{moved}");
        State::of(&mut connection).assert_same(&before, of.type_name);
        assert_eq!(server.call("INFO bf_stats"), stats);
        connection.ok("DEBUG RELOAD");
        State::of(&mut connection).assert_same(&before, of.type_name);

        // Defragmentation while a client writes.
        set_defragmentation(&server, "no");
        connection.call("FLUSHALL SYNC");
        fragment(&mut connection, of);
        replica.replicate(&server);
        server.ok("CONFIG RESETSTAT");
        set_defragmentation(&server, "yes");
        let mut progress = Progress::of(&server);
        let mut written = 0;
        while written < 20_000 || number(&server, "active_defrag_hits") == 0.0 {
            for _ in 0..500 {
                let n = written * 4 % KEYS;
                connection.run(&(of.defrag.write)(&format!("key:{n}"), written));
                written += 1;
            }
            if written >= 20_000 {
                progress.check(&server);
            }
        }
        wait_for_defragmentation(&server, fragmented);
        server.wait_for_replica(&replica);
        let wanted = State::of(&mut connection);
        State::of(&mut replica.resp2()).assert_same(&wanted, of.type_name);
        record("active defragmentation", of.type_name);
    }
}

/// `bf.bloom-defrag-enabled` applies to keys of valkey-bloom's type. The server moves its own blocks of the keys in any case.
#[test]
fn filters_of_valkey_bloom_are_moved_only_if_the_setting_allows_it() {
    let (mut server, mut connection) = start().connected();
    connection.run("CONFIG SET bf.bloom-defrag-enabled no");
    fragment(&mut connection, &valkey_bloom::TYPE);
    let fragmented = wait_for_fragmentation(&mut server, 1.3);
    set_defragmentation(&server, "yes");
    let are_visited = |server: &mut Server| visited_keys(server) > f64::from(2 * KEYS / 4);
    server.wait_until("two passes over the keys", are_visited);
    let remaining = fragmentation(&server);
    let is_left = remaining - 1.0 > (fragmented - 1.0) / 2.0;
    assert!(is_left, "{fragmented} -> {remaining}");
    connection.run("CONFIG SET bf.bloom-defrag-enabled yes");
    wait_for_defragmentation(&server, fragmented);
}

/// The server defragments a key with many blocks (more than active-defrag-max-scan-fields) in steps, and clients may
/// change the key between steps.
#[test]
fn defragmentation_moves_large_keys_in_steps() {
    const ITEMS: u32 = 200_000;
    let mut server = start();
    let mut replica = Server::start();
    let mut connection = server.resp2();
    // Interleaved additions to six keys of each type: deleting five of them leaves sparse slabs.
    for key in 0..6 {
        connection.run(&format!("TOPK.RESERVE top:{key} {ITEMS} 300000 4 0.9"));
        connection.run(&format!("BF.RESERVE chain:{key} 0.01 100 EXPANSION 1"));
    }
    for first in (0..ITEMS).step_by(20) {
        for key in 0..6 {
            connection.run(&format!("TOPK.ADD top:{key} {}", long_items(first, 20)));
            if first < 60_000 {
                connection.run(&format!("BF.MADD chain:{key} {}", numbers(first, 20)));
            }
        }
    }
    for key in 1..6 {
        connection.run(&format!("DEL top:{key} chain:{key}"));
    }
    let before = State::of(&mut connection);
    replica.replicate(&server);
    let fragmented = wait_for_fragmentation(&mut server, 1.2);
    // Small steps: 1 to 2 % of CPU time.
    for setting in ["active-defrag-cycle-min 1", "active-defrag-cycle-max 2"] {
        connection.ok(&format!("CONFIG SET {setting}"));
    }
    set_defragmentation(&server, "yes");
    let mut seen = Vec::new();
    server.wait_until("several steps", |server| {
        let hits = number(server, "active_defrag_hits");
        if seen.last() != Some(&hits) {
            seen.push(hits);
        }
        seen.len() > 5
    });
    State::of(&mut connection).assert_same(&before, "between steps");
    for n in 0..500 {
        connection.run(&format!(
            "TOPK.ADD top:0 {}",
            long_items(ITEMS + n * 10, 10)
        ));
        connection.run(&format!("BF.MADD chain:0 {}", numbers(ITEMS + n * 10, 10)));
    }
    for setting in ["active-defrag-cycle-max 80", "active-defrag-cycle-min 60"] {
        connection.ok(&format!("CONFIG SET {setting}"));
    }
    let defragmented = wait_for_defragmentation(&server, fragmented);
    let hits = number(&server, "active_defrag_hits");
    println!("large keys: fragmentation {fragmented} -> {defragmented}, {hits} blocks moved");
    server.wait_for_replica(&replica);
    let wanted = State::of(&mut connection);
    assert_ne!(wanted, before);
    State::of(&mut replica.resp2()).assert_same(&wanted, "after all steps");
}

/// The server does not move large blocks, and they keep their huge pages.
#[test]
fn large_keys_keep_their_huge_pages() {
    let (mut server, mut connection) = start().connected();
    connection.run("BF.RESERVE large 0.001 20000000");
    for first in (0..20_000).step_by(100) {
        connection.run(&format!("BF.MADD large {}", numbers(first, 100)));
    }
    fragment(&mut connection, &FAMILIES[0]);
    let before = State::of(&mut connection);
    let is_active = server.info("bf_huge_pages").as_deref() == Some("active");
    let huge = |server: &Server| server.info_number("bf_huge_page_bytes");
    server.wait_until("huge pages", |server| {
        !is_active || huge(server) > 30 << 20 || server.info_number("bf_huge_page_errors") > 0
    });
    let bytes = huge(&server);
    let fragmented = wait_for_fragmentation(&mut server, 1.3);
    set_defragmentation(&server, "yes");
    wait_for_defragmentation(&server, fragmented);
    assert!(huge(&server) >= bytes);
    State::of(&mut connection).assert_same(&before, "large");
    connection.run("DEL large");
    server.wait_until("the freed array", |server| huge(server) == 0);
}
