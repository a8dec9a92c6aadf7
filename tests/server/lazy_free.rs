//! Large keys are freed in the background: the time of a command that removes one does not depend on the size of the
//! key.

use crate::families::valkey_bloom::allow_huge_keys;
use crate::families::{FAMILIES, Family, run_on};
use crate::support::abilities::{are_recorded, record};
use crate::support::cpu;
use crate::support::expiry::create_expired;
use crate::support::resp::Connection;
use crate::support::sample::Sample;
use crate::support::server::Server;
use std::time::Duration;

/// Maximum CPU time of a command that removes a large key, as a multiple of the time for a small key.
const FACTOR: u32 = 20;
/// Maximum number of rounds. The CPU time includes periodic work of the server, so one fast round is sufficient: freeing 64 MiB in the
/// command itself would exceed the maximum in every round.
const ROUNDS: usize = 20;
/// Number of rounds with a small key.
const SMALL_ROUNDS: usize = 10;
/// Size of a chunk for the families that are copied in chunks.
const CHUNK: usize = 16 << 20;
/// Chunks that are loaded for the commands after the first. The server needs several milliseconds to free this memory.
const CHUNKS: usize = 4;

/// Creates a large key, and returns the number of bytes whose pages are in use: all of the key, or [`CHUNKS`] chunks.
fn make(connection: &mut Connection, family: &Family, is_full: bool) -> u64 {
    let Some((reserve, chunks)) = family.reserve_huge else {
        run_on(connection, "large", family.build_large);
        let usage = connection.call("MEMORY USAGE large").integer();
        return u64::try_from(usage.expect("a number")).expect("a size");
    };
    run_on(connection, "large", &[reserve]);
    let data = vec![0; CHUNK];
    let used = if is_full { chunks } else { CHUNKS };
    for chunk in 1..=used {
        // The iterator of a chunk is one more than its end.
        let iterator = chunk * CHUNK + 1;
        let reply = family.load(connection, "large", iterator, &data);
        assert!(reply.is_ok(), "{} {iterator}: {reply}", family.name);
    }
    (used * CHUNK) as u64
}

/// Commands that remove the key.
const WAYS: &[(&str, &str)] = &[
    ("UNLINK", "UNLINK large"),
    ("FLUSHALL ASYNC", "FLUSHALL ASYNC"),
    ("overwriting", "SET large x"),
    ("overwriting", "RENAME other large"),
    ("overwriting", "RESTORE"),
    ("expiry", "EXISTS large"),
];

/// Creates the key `large`, which has expired if the command shall find that.
fn create(connection: &mut Connection, command: &str, mut create: impl FnMut(&mut Connection)) {
    match command {
        "EXISTS large" => create_expired(connection, "large", create),
        _ => create(connection),
    }
}

/// Runs a command that removes the key, and returns its CPU time.
fn go(connection: &mut Connection, command: &str, payload: &[u8]) -> Duration {
    let (time, reply) = cpu::of_main_thread_during(connection, |connection| match command {
        "RESTORE" => connection.replace("large", payload),
        _ => connection.call(command),
    });
    assert!(!reply.is_error(), "{command}: {reply}");
    time
}

/// The median CPU time of a command that removes a small key.
fn time_for_a_small_key(connection: &mut Connection, command: &str, payload: &[u8]) -> Duration {
    let mut times = [(); SMALL_ROUNDS].map(|()| {
        connection.call("SET other x");
        create(connection, command, |connection| {
            connection.call("SET large x");
        });
        go(connection, command, payload)
    });
    connection.call("FLUSHALL SYNC");
    times.sort();
    times[SMALL_ROUNDS / 2]
}

/// For UNLINK, keys of 1 GiB (BF without a window, CMS) or 128 MiB (CF, top-k). For other commands, 64 MiB of these keys
/// are in use. Keys of the other types, such as t-digest, take more than 4 MiB.
#[test]
fn removing_a_large_key_takes_as_long_as_removing_a_small_one() {
    let (mut server, mut connection) = Server::start().connected();
    connection.ok("CONFIG SET lazyfree-lazy-server-del yes");
    connection.ok("CONFIG SET lazyfree-lazy-expire yes");
    allow_huge_keys(&mut connection);
    // Without active expiry, the measured command deletes the expired key.
    connection.call("DEBUG SET-ACTIVE-EXPIRE 0");
    connection.call("SET small x");
    let payload = connection.payload("small");
    let mut small = |command| time_for_a_small_key(&mut connection, command, &payload);
    let maxima: Vec<_> = (WAYS.iter())
        .map(|(_, command)| small(command) * FACTOR)
        .collect();
    let sample = match are_recorded() {
        true => Sample::new(0, 0, 1),
        false => Sample::of_run(),
    };
    for family in sample.of(FAMILIES) {
        for (way, (ability, command)) in WAYS.iter().enumerate() {
            let name = format!("{}: {command}", family.type_name);
            let mut times = Vec::new();
            for round in 0.. {
                connection.call("SET other x");
                let mut bytes = 0;
                create(&mut connection, command, |connection| {
                    bytes = make(connection, family, way == 0);
                });
                assert!(bytes > 4 << 20, "{name}: {bytes} bytes");
                let resident = server.resident_bytes();
                connection.call("CONFIG RESETSTAT");
                times.push(go(&mut connection, command, &payload));
                server.wait_until("memory to be given back", |server| {
                    family.info(server, "bytes") == 0
                });
                // Another thread freed the key and returned the memory to the system.
                server.wait_until("the other thread", |server| {
                    server.info_number("lazyfreed_objects") > 0
                });
                if bytes >= 64 << 20 {
                    server.wait_until("pages to be given back", |server| {
                        // jemalloc may keep freed pages for ten seconds.
                        server.call("MEMORY PURGE");
                        server.resident_bytes() + bytes / 2 < resident
                    });
                }
                connection.call("FLUSHALL SYNC");
                if times[round] <= maxima[way] {
                    break;
                }
                assert!(times.len() < ROUNDS, "{name}: {times:?}, {maxima:?}");
            }
            record(ability, family.type_name);
        }
    }
}
