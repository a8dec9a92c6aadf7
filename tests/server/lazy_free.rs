//! Large keys are freed in the background: the time of a command that removes one does not depend on the size of the
//! key.

use crate::families::valkey_bloom::allow_huge_keys;
use crate::families::{FAMILIES, Family, run_on};
use crate::support::abilities::record;
use crate::support::expiry::expire;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

/// Maximum time of a command, as the server measures it.
const MAX_MICROSECONDS: u64 = 1000;
/// Maximum number of rounds. The server measures wall-clock time, which includes other work on a busy machine, so one
/// fast round is sufficient: freeing 64 MiB in the command itself would exceed the maximum in every round.
const ROUNDS: usize = 20;
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

/// Microseconds that the server has counted for a command since CONFIG RESETSTAT.
fn microseconds(server: &Server, command: &str) -> u64 {
    let stats = server.info(&format!("cmdstat_{command}")).expect("stats");
    let usec = stats
        .split(',')
        .find_map(|field| field.strip_prefix("usec="));
    usec.and_then(|usec| usec.parse().ok()).expect("a number")
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

fn go(connection: &mut Connection, command: &str, payload: &[u8]) -> Reply {
    match command {
        "RESTORE" => connection.send(&[b"RESTORE", &b"large"[..], b"0", payload, b"REPLACE"]),
        "EXISTS large" => {
            expire(connection, "large");
            connection.call(command)
        }
        _ => connection.call(command),
    }
}

/// For UNLINK, keys of 1 GiB (BF without a window, CMS) or 128 MiB (CF, top-k). For other commands, 64 MiB of these keys
/// are in use. Keys of the other types, such as t-digest, take more than 4 MiB.
#[test]
fn freeing_a_large_key_takes_at_most_a_millisecond() {
    let mut server = Options::new()
        .arguments(&["--lazyfree-lazy-server-del", "yes"])
        .arguments(&["--lazyfree-lazy-expire", "yes"])
        .start();
    let mut connection = server.resp2();
    allow_huge_keys(&mut connection);
    // Without active expiry, the measured command deletes the expired key.
    connection.call("DEBUG SET-ACTIVE-EXPIRE 0");
    connection.call("SET small x");
    let payload = connection.call("DUMP small");
    let payload = payload.text().expect("a payload").to_vec();
    for family in FAMILIES {
        for (way, (ability, command)) in WAYS.iter().enumerate() {
            let name = format!("{}: {command}", family.type_name);
            let mut times = Vec::new();
            for round in 0.. {
                connection.call("SET other x");
                let bytes = make(&mut connection, family, way == 0);
                assert!(bytes > 4 << 20, "{name}: {bytes} bytes");
                let resident = server.resident_bytes();
                connection.call("CONFIG RESETSTAT");
                let reply = go(&mut connection, command, &payload);
                assert!(!matches!(reply, Reply::Error(_)), "{name}: {reply}");
                let word = command.split(' ').next().unwrap().to_lowercase();
                times.push(microseconds(&server, &word));
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
                if times[round] <= MAX_MICROSECONDS {
                    break;
                }
                assert!(times.len() < ROUNDS, "{name}: {times:?} microseconds");
            }
            record(ability, family.type_name);
        }
    }
}
