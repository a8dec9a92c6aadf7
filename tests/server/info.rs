//! Keys and bytes of each family in INFO.

use crate::families::{FAMILIES, Family};
use crate::support::abilities::record;
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};
use std::time::{Duration, Instant};

fn figures(server: &Server, family: &Family) -> (i64, i64) {
    ["keys", "bytes"]
        .map(|field| family.info(server, field))
        .into()
}

/// The sum of MEMORY USAGE over all keys of the sample's type in the first databases.
fn usage_of_all(server: &Server, family: &Family) -> i64 {
    let mut connection = server.resp2();
    let mut sum = 0;
    for db in ["0", "1", "2"] {
        connection.send(&["SELECT", db]);
        let keys = connection.call("KEYS *");
        for key in keys.items().expect("keys") {
            let key = key.text().expect("a key");
            let of_type = connection.send(&[b"TYPE", key]);
            if of_type.text() == Some(family.type_name.as_bytes()) {
                let usage = connection.send(&[&b"MEMORY"[..], b"USAGE", key]);
                sum += usage.integer().expect("a number");
            }
        }
    }
    sum
}

/// INFO counts the keys and bytes of MEMORY USAGE after every way to create, change and remove keys.
#[test]
fn info_counts_keys_and_bytes_exactly() {
    let mut server = Server::start();
    let mut connection = server.resp2();
    for family in FAMILIES {
        let key = family.type_name;
        family.build(&mut connection, key);
        let expect = |server: &mut Server, what: &str, keys: i64| {
            server.wait_until(what, |server| figures(server, family).0 == keys);
            let (_, bytes) = figures(server, family);
            let usage = usage_of_all(server, family);
            // MEMORY USAGE also counts the keys' names and the server's objects.
            assert!(
                bytes <= usage && bytes > usage - 200 * keys,
                "{key}, {what}: {bytes} bytes in INFO, {usage} in MEMORY USAGE"
            );
        };
        expect(&mut server, "one key", 1);
        connection.send(&["COPY", key, "copy"]);
        expect(&mut server, "a copy", 2);
        connection.send(&["RENAME", "copy", "renamed"]);
        expect(&mut server, "a rename", 2);
        connection.call("SWAPDB 0 1");
        expect(&mut server, "a swap of databases", 2);
        connection.call("SWAPDB 0 1");
        connection.call("DEBUG RELOAD");
        expect(&mut server, "a reload", 2);
        connection.call("SET renamed x");
        expect(&mut server, "an overwritten key", 1);
        let payload = connection.send(&["DUMP", key]);
        let payload = payload.text().expect("a payload").to_vec();
        connection.send(&[b"RESTORE", &b"renamed"[..], b"0", &payload, b"REPLACE"]);
        expect(&mut server, "a restored key", 2);
        connection.send(&["PEXPIRE", "renamed", "1"]);
        let start = Instant::now();
        while connection.call("EXISTS renamed") != Reply::Integer(0) {
            assert!(start.elapsed() < Duration::from_secs(10));
        }
        expect(&mut server, "an expired key", 1);
        connection.call("MOVE nothing 2");
        connection.send(&["MOVE", key, "2"]);
        expect(&mut server, "a move", 1);
        connection.call("FLUSHALL SYNC");
        server.wait_until("an empty server", |server| {
            figures(server, family) == (0, 0)
        });
        record("INFO", key);
    }
}

#[test]
fn evicted_keys_are_no_longer_counted() {
    let mut server = Options::new()
        .arguments(&["--maxmemory-policy", "allkeys-random"])
        .start();
    let mut connection = server.resp2();
    for family in FAMILIES {
        let used = server.info_number("used_memory");
        let limit = (used + (24 << 20)).to_string();
        connection.send(&["CONFIG", "SET", "maxmemory", &limit]);
        for i in 0..20 {
            let key = format!("large:{i}");
            for command in family.build_large {
                // The server may refuse it while it frees other keys in the background.
                connection.call(&command.replace("KEY", &key));
            }
        }
        let keys = connection.call("DBSIZE").integer().unwrap();
        assert!(
            keys < 15,
            "{}: {keys} keys of 4 MiB in 24 MiB",
            family.type_name
        );
        // The server continues to evict keys in the background until it is below its limit.
        server.wait_until("the figures to follow", |server| {
            Some(figures(server, family).0) == server.call("DBSIZE").integer()
        });
        connection.call("CONFIG SET maxmemory 0");
        connection.call("FLUSHALL SYNC");
        record("INFO, eviction", family.type_name);
    }
}
