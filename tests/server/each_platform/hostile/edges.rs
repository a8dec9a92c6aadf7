//! Extreme numbers in commands, payloads and headers, and a server without memory.

use super::{use_key, with_memory};
use crate::families::FAMILIES;
use crate::families::valkey_bloom::allow_huge_keys;
use crate::support::damage::{DOUBLES, NUMBERS};
use crate::support::resp::Reply;
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};
use roughly_dump::{Value, Values};

/// Numbers near the limits of sizes.
const EDGES: &str = "0 1 -1 2147483648 4294967295 4294967296 9223372036854775807 -9223372036854775808 \
    9223372036854775808 inf";

/// Number of leading values of a payload that are mutated: sizes and parameters; the values after them are items.
const FRONT: usize = 40;

/// With any number replaced, an accepted payload creates a key whose size is in proportion to the payload.
#[test]
fn extreme_numbers_in_payloads_are_refused_or_harmless() {
    let (_server, mut connection) = with_memory("512mb");
    for family in Sample::of_run().one_in(2).of(FAMILIES) {
        connection.ok("FLUSHALL SYNC");
        family.build(&mut connection, "built");
        let payload = connection.payload("built");
        let (id, sound) = Values::from_dump(&payload).unwrap();
        let mut refused = 0;
        for at in 0..sound.values.len().min(FRONT) {
            let edges: Vec<Value> = match &sound.values[at] {
                Value::Integer(_) => NUMBERS.map(Value::Integer).to_vec(),
                Value::Double(_) => DOUBLES.map(Value::Double).to_vec(),
                Value::Bytes(bytes) => vec![
                    Value::Bytes(Vec::new()),
                    Value::Bytes(bytes[..bytes.len() / 2].to_vec()),
                    Value::Bytes([&bytes[..], bytes].concat()),
                ],
            };
            for edge in edges {
                let shown = format!("{}: value {at} is {edge:?}", family.type_name);
                let mut values = sound.clone();
                values.values[at] = edge;
                let damaged = values.to_dump(id);
                let most = (64 << 10) + damaged.len() * 16;
                if connection.restore("K", &damaged).is_ok() {
                    let usage = connection.call("MEMORY USAGE K").integer();
                    let is_small = usage.is_some_and(|b| b as usize <= most);
                    assert!(is_small, "{shown}: {usage:?}");
                    use_key(&mut connection, family);
                } else {
                    refused += 1;
                }
                connection.call("DEL K copy");
            }
        }
        assert!(refused > 30, "{}: {refused}", family.type_name);
    }
}

/// A server with 64 MiB.
fn small() -> Server {
    let arguments = ["--maxmemory", "64mb", "--maxmemory-policy", "noeviction"];
    Options::new().arguments(&arguments).start()
}

/// A header may request as much memory as the server allows. The test replaces every number in it, with a width of
/// four and of eight bytes.
#[test]
fn extreme_numbers_in_headers_are_refused_or_harmless() {
    let (server, mut connection) = small().connected();
    // RESTORE checks the size for the capacity and the rate, LOADCHUNK that of the bytes.
    allow_huge_keys(&mut connection);
    for family in Sample::of_run().of(FAMILIES) {
        connection.ok("FLUSHALL SYNC");
        family.build(&mut connection, "built");
        let all = family.chunks(&mut connection, "built");
        let sound = &all[0].1;
        let mut refused = 0;
        for at in (0..sound.len().min(8 * FRONT)).step_by(4) {
            for (number, width) in NUMBERS.iter().flat_map(|number| [(number, 4), (number, 8)]) {
                let mut header = sound.clone();
                let word = header.iter_mut().skip(at).take(width);
                word.zip(number.to_le_bytes())
                    .for_each(|(byte, new)| *byte = new);
                if family.load(&mut connection, "K", "1", &header).is_ok() {
                    let taken = server.info_number("used_memory");
                    assert!(taken <= 72 << 20, "{number} at {at} takes {taken}");
                    use_key(&mut connection, family);
                } else {
                    refused += 1;
                }
                connection.call("DEL K copy");
            }
        }
        assert!(refused > 30, "{}: {refused}", family.type_name);
    }
}

/// Passes every extreme number as every size of every command. The used memory must stay within `max_bytes`.
fn edge_numbers(server: &Server, max_bytes: i64) {
    let mut connection = server.resp2();
    for family in Sample::of_run().one_in(2).of(FAMILIES) {
        for command in family.sizes {
            for edge in EDGES.split(' ') {
                connection.ok("FLUSHALL SYNC");
                let command = command.replace('*', edge);
                // Runs the command on a missing key, on an existing key, and on the result.
                connection.call(&command);
                let taken = server.info_number("used_memory");
                assert!(taken <= max_bytes, "{command} takes {taken}");
                use_key(&mut connection, family);
                connection.call("DEL K");
                family.build(&mut connection, "K");
                connection.call(&command);
                connection.call(&command);
                assert_eq!(connection.call("PING").text(), Some(&b"PONG"[..]));
            }
        }
    }
}

#[test]
fn extreme_sizes_stay_within_maxmemory() {
    let server = small();
    // Requests below 1 MiB are not checked, and the server has its own buffers.
    edge_numbers(&server, 72 << 20);
    // The command reserved only address space and freed it again.
    assert!(server.info_number("used_memory_rss") < 256 << 20);
}

#[test]
fn extreme_sizes_are_refused_when_the_system_has_no_memory() {
    // Without maxmemory only the system refuses memory.
    let server = Options::new().address_space(1 << 30).start();
    edge_numbers(&server, 1 << 30);
}

/// The server crashes if the memory for the payload of a DUMP is refused. The payload takes as much memory as the
/// key, and the reply the same again.
#[test]
fn used_memory_counts_against_maxmemory() {
    let (server, mut connection) = small().connected();
    // 32 buckets of 2 slots; each further sub-filter has 256 times as many buckets: 16 KiB, 4 MiB, 1 GiB.
    connection.ok("CF.RESERVE grows 64 EXPANSION 256");
    connection.ok("BF.RESERVE half 0.01 30000000");
    connection.check("BF.RESERVE other 0.01 30000000", "-...");
    for _ in 0..100 {
        connection.send(&[&["CF.INSERT", "grows", "ITEMS"][..], &["same"; 100]].concat());
    }
    assert!(server.info_number("used_memory") < 66 << 20);
    // 30 MiB in sub-filters of 2, 4, 8 and 16 MiB that must not grow to 62 MiB: otherwise a header of 38 bytes and
    // some items would create a key whose DUMP exceeds the memory of the server.
    connection.ok("FLUSHALL SYNC");
    let mut header = [0u64, 1 << 20, 0, 4].map(u64::to_le_bytes).concat();
    header.extend([2, 0, 20, 0, 2, 0]);
    connection.send_ok(&[b"CF.LOADCHUNK", &b"loaded"[..], b"1", &header]);
    connection.send(&[&["CF.INSERT", "loaded", "ITEMS"][..], &["same"; 40]].concat());
    assert!(server.info_number("used_memory") < 40 << 20);
    assert!(matches!(connection.call("DUMP loaded"), Reply::Bulk(_)));
    connection.ok("FLUSHALL SYNC");
    // With eviction, the server frees memory itself.
    connection.ok("CONFIG SET maxmemory-policy allkeys-lru");
    connection.ok("BF.RESERVE other 0.01 30000000");
}

/// A refused payload and a capped error rate are logged, but with rate limiting, so that clients cannot fill the
/// disk.
#[test]
fn log_lines_about_refused_input_have_a_maximum_rate() {
    let (server, mut connection) = Options::new().debug_module().start().connected();
    connection.ok("BF.RESERVE b 0.01 100");
    let payload = connection.payload("b");
    let (id, mut values) = Values::from_dump(&payload).unwrap();
    values.values.pop_back();
    let damaged = values.to_dump(id);
    let lines = || server.log().lines().count();
    server.enter_next_second();
    let before = lines();
    for number in 0..2000 {
        let refused = connection.restore("r", &damaged);
        assert!(refused.is_error(), "{refused}");
        connection.ok(&format!("BF.RESERVE {number} 0.5 10"));
    }
    let log = server.log();
    let ours = log.lines().skip(before);
    let ours = ours.filter(|line| line.contains("<bf>"));
    assert_eq!(ours.count(), 1);
    // A line in another second reports the number of suppressed lines.
    server.enter_next_second();
    connection.call("BF.RESERVE late 0.5 10");
    assert!(server.log().contains("similar lines were suppressed"));
}
