//! The fields of INFO.

use crate::families::{FAMILIES, Family, numbers, on_key, run_on};
use crate::support::abilities::record;
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};
use crate::workload::{Random, columns, words};
use roughly_dump::Values;

fn figures(server: &Server, family: &Family) -> (i64, i64) {
    (family.info(server, "keys"), family.info(server, "bytes"))
}

/// Waits until the server has no key of the family's type.
fn empty(server: &mut Server, family: &Family) {
    let is_empty = |server: &mut Server| figures(server, family) == (0, 0);
    server.wait_until("an empty server", is_empty);
}

/// The sum of MEMORY USAGE over all keys of the family's type in the first three databases.
fn usage_of_all(server: &Server, family: &Family) -> i64 {
    let mut connection = server.resp2();
    let mut sum = 0;
    for db in ["0", "1", "2"] {
        connection.send(&["SELECT", db]);
        for key in connection.keys() {
            if connection.send(&[b"TYPE", &key[..]]).string() == family.type_name {
                let usage = connection.send(&[&b"MEMORY"[..], b"USAGE", &key]);
                sum += usage.integer().expect("a number");
            }
        }
    }
    sum
}

/// INFO counts the keys and the bytes of MEMORY USAGE correctly after every way to create, change and remove keys.
#[test]
fn info_counts_keys_and_bytes_exactly() {
    let (mut server, mut connection) = Server::start().connected();
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
        let payload = connection.payload(key);
        connection.replace("renamed", &payload);
        expect(&mut server, "a restored key", 2);
        connection.send(&["PEXPIRE", "renamed", "1"]);
        server.wait_until("the key to expire", |_| {
            connection.call("EXISTS renamed") == Reply::Integer(0)
        });
        expect(&mut server, "an expired key", 1);
        connection.call("MOVE nothing 2");
        connection.send(&["MOVE", key, "2"]);
        expect(&mut server, "a move", 1);
        connection.call("FLUSHALL SYNC");
        empty(&mut server, family);
        record("INFO", key);
    }
}

#[test]
fn evicted_keys_are_no_longer_counted() {
    let (mut server, mut connection) = Server::start().connected();
    connection.ok("CONFIG SET maxmemory-policy allkeys-random");
    for family in FAMILIES {
        let used = server.info_number("used_memory");
        let limit = (used + (24 << 20)).to_string();
        connection.send(&["CONFIG", "SET", "maxmemory", &limit]);
        for i in 0..20 {
            let key = format!("large:{i}");
            for command in family.build_large {
                // The server may refuse it while it frees other keys in the background.
                connection.call(&on_key(command, &key));
            }
        }
        let keys = connection.call("DBSIZE").integer().unwrap();
        let name = family.type_name;
        assert!(keys < 15, "{name}: {keys} keys of 4 MiB in 24 MiB");
        // The server continues to evict keys in the background until it is below its limit.
        server.wait_until("the figures to follow", |server| {
            Some(figures(server, family).0) == server.call("DBSIZE").integer()
        });
        connection.call("CONFIG SET maxmemory 0");
        connection.call("FLUSHALL SYNC");
        record("INFO, eviction", family.type_name);
    }
}

/// The field `keys_created` counts only keys that commands of the module create, not those from RESTORE, COPY, files
/// and full synchronizations. A replica counts the commands that it receives.
#[test]
fn info_counts_the_keys_that_commands_create() {
    let (mut server, replica) = Server::with_replica();
    let mut connection = server.resp2();
    for family in FAMILIES {
        let mut expected = family.info(&server, "keys_created");
        for command in family.creations {
            connection.call("FLUSHALL SYNC");
            if command.contains("SOURCE") {
                family.build(&mut connection, "SOURCE");
                expected += 1;
            }
            connection.run(command);
            expected += 1;
            assert_eq!(family.info(&server, "keys_created"), expected, "{command}");
        }
        let payload = connection.payload("KEY");
        assert!(connection.restore("r", &payload).is_ok());
        connection.check("COPY KEY copy", ":1");
        connection.call("DEBUG RELOAD");
        family.change(&mut connection, "KEY", "another");
        assert_eq!(family.info(&server, "keys_created"), expected);
        let (header, chunk) = family.scan(&mut connection, "KEY", 0).expect("a header");
        let loaded = family.load(&mut connection, "loaded", header, &chunk);
        assert!(loaded.is_ok(), "{loaded}");
        assert_eq!(family.info(&server, "keys_created"), expected + 1);
        server.wait_for_replica(&replica);
        assert_eq!(family.info(&replica, "keys_created"), expected + 1);
    }
    let mut other = Server::start();
    other.replicate(&server);
    for family in FAMILIES {
        assert_eq!(family.info(&other, "keys_created"), 0);
        other.wait_until("all keys", |other| {
            figures(other, family) == figures(&server, family)
        });
    }
}

/// High-water marks do not decrease when keys are removed. A restart resets them.
#[test]
fn info_has_high_water_marks_of_memory() {
    let mut server = Options::new().arguments(&["--save", "3600 1"]).start();
    let mut connection = server.resp2();
    let marks = |server: &Server, family: &Family| {
        ["bytes_peak", "key_bytes_peak"].map(|field| family.info(server, field))
    };
    for family in FAMILIES {
        assert_eq!(marks(&server, family), [0, 0]);
        for command in family.build_large {
            connection.call(&on_key(command, "large"));
        }
        let large = family.info(&server, "bytes");
        assert!(large > 4 << 20);
        let [peak, key_peak] = marks(&server, family);
        assert_eq!(key_peak, large, "{}", family.type_name);
        // During a merge, a second copy exists for a moment.
        assert!(peak >= large);
        connection.call("COPY large copy");
        let [peak, key_peak] = marks(&server, family);
        assert!(peak >= 2 * large && key_peak <= large + 1000);
        connection.call("FLUSHALL SYNC");
        empty(&mut server, family);
        assert_eq!(marks(&server, family), [peak, key_peak]);
        family.build(&mut connection, family.type_name);
        connection.call("DEBUG RELOAD");
        assert_eq!(marks(&server, family), [peak, key_peak]);
    }
    for family in FAMILIES {
        connection.send(&["DEL", family.type_name]);
        family.build(&mut connection, family.type_name);
        connection.call(&format!("COPY {0} {0}:copy", family.type_name));
    }
    server.restart();
    for family in FAMILIES {
        let (_, bytes) = figures(&server, family);
        let [peak, key_peak] = marks(&server, family);
        let name = family.type_name;
        assert!(peak == bytes && (1..=bytes).contains(&key_peak), "{name}");
    }
}

/// `sketch-max-key-bytes` refuses a value before the key is created.
#[test]
fn refused_keys_are_not_part_of_the_high_water_mark_of_a_key() {
    let (server, mut connection) = Server::start().connected();
    server.set("sketch-max-key-bytes", 1000);
    for (family, command) in [
        ("bf", "BF.RESERVE k 0.01 100000"),
        ("cms", "CMS.INITBYDIM k 10000 5"),
    ] {
        connection.check(command, "-...");
        let family = Family::of(family);
        assert_eq!(family.info(&server, "key_bytes_peak"), 0, "{command}");
        assert_eq!(family.info(&server, "keys_created"), 0, "{command}");
    }
}

/// The field `growths` counts the sub-filters after the first, as `Number of filters` in BF.INFO and CF.INFO shows
/// them. Families without sub-filters have no such field.
#[test]
fn info_counts_growths_of_families_that_grow() {
    let (server, mut connection) = Server::start().connected();
    for row in [
        "bf | BF.RESERVE KEY 0.01 100 | BF.MADD KEY",
        "cf | CF.RESERVE KEY 100 | CF.INSERT KEY ITEMS",
        "bf-window | BF.RESERVE KEY 0.01 100 WINDOW 315360000000 PANES 4 | BF.MADD KEY",
        "cf-window | CF.RESERVE KEY 100 WINDOW 315360000000 PANES 4 | CF.INSERT KEY ITEMS",
        "bloomfltr | BF.INSERT KEY CAPACITY 100 TIGHTENING 0.5 | BF.MADD KEY",
    ] {
        let [name, create, add] = columns(row);
        let family = Family::of(name);
        run_on(&mut connection, name, &[create]);
        assert_eq!(family.info(&server, "growths"), 0);
        let add = add.replace("KEY", name);
        connection.call(&format!("{add} {}", numbers(0, 2000)));
        let info = connection.call(&format!("{}.INFO {name}", family.prefix));
        let filters = info.number("Number of filters");
        assert!(filters > 3);
        assert_eq!(family.info(&server, "growths"), filters - 1);
    }
    for family in FAMILIES {
        let field = server.info(&format!("{}growths", family.info_prefix));
        assert_eq!(field.is_some(), ["bf", "cf"].contains(&family.prefix));
        for field in ["items_deleted", "compactions"] {
            let field = server.info(&format!("{}{field}", family.info_prefix));
            assert_eq!(field.is_some(), family.prefix == "cf");
        }
    }
}

#[test]
fn info_counts_deleted_items() {
    let (server, mut connection) = Server::start().connected();
    let family = Family::of("cf");
    connection.call("CF.INSERT k ITEMS a b c");
    for (command, deleted) in [
        ("CF.DEL k a", 1),
        ("CF.DEL k a", 1),
        ("CF.DEL nothing a", 1),
        ("CF.DEL k b", 2),
    ] {
        connection.call(command);
        assert_eq!(family.info(&server, "items_deleted"), deleted, "{command}");
    }
    connection.call("FLUSHALL");
    assert_eq!(family.info(&server, "items_deleted"), 2);
    assert_eq!(family.info(&server, "items_added"), 3);
}

/// CF.COMPACT compacts a filter. CF.DEL also does, when the deleted items exceed a tenth of the remaining ones.
#[test]
fn info_counts_compactions() {
    let (server, mut connection) = Server::start().connected();
    let family = Family::of("cf");
    connection.call("CF.RESERVE k 100");
    connection.call(&format!("CF.INSERT k ITEMS {}", numbers(0, 1000)));
    let deletions = |connection: &mut Connection| {
        let info = connection.call("CF.INFO k");
        info.number("Number of items deleted")
    };
    let mut compactions = 0;
    for item in 0..300 {
        connection.check(&format!("CF.DEL k {item}"), ":1");
        compactions += i64::from(deletions(&mut connection) == 0);
        assert_eq!(family.info(&server, "compactions"), compactions, "{item}");
    }
    assert!(compactions > 1, "{compactions}");
    connection.call("CF.COMPACT k");
    assert_eq!(family.info(&server, "compactions"), compactions + 1);
    // A call with nothing to compact is not counted.
    connection.call("CF.ADD other a");
    connection.ok("CF.COMPACT other");
    assert_eq!(family.info(&server, "compactions"), compactions + 1);
}

#[test]
fn info_counts_values_that_cannot_be_loaded() {
    let (server, mut connection) = Server::start().connected();
    for family in FAMILIES {
        family.build(&mut connection, "k");
        let payload = connection.payload("k");
        let (id, values) = Values::from_dump(&payload).unwrap();
        assert!(connection.replace("r", &payload).is_ok());
        assert_eq!(family.info(&server, "loads_refused"), 0);
        // An unknown encoding version.
        let damaged = values.to_dump(id | 1023);
        let reply = connection.replace("r", &damaged);
        assert_eq!(reply.to_string(), "-ERR Bad data format");
        assert_eq!(family.info(&server, "loads_refused"), 1);
        connection.call("FLUSHALL");
    }
    // At most one line per second.
    let log = server.log();
    let line = "value of key \"r\" refused: unknown encoding version 1023";
    assert!(log.contains(line), "{log}");
    assert_eq!(log.matches(" refused: ").count(), log.matches(line).count());
}

/// A command counts once, for the limit that first refused memory.
#[test]
fn info_counts_commands_that_are_refused_memory_by_limit() {
    let (server, mut connection) = Server::start().connected();
    let counts = |server: &Server| {
        let limits = "machine control_group maxmemory key_limit sub_filters allocator".split(' ');
        let counts = limits.map(|limit| server.info_number(&format!("bf_memory_refusals_{limit}")));
        counts.collect::<Vec<_>>()
    };
    assert_eq!(counts(&server), [0; 6]);
    let reserve = "TOPK.RESERVE k 1 4000000000 400 0.9";
    connection.call(reserve);
    // The control group may allow less memory than the machine.
    let own = counts(&server);
    assert_eq!((own[0] + own[1], &own[2..]), (1, &[0; 4][..]));
    connection.call("CONFIG SET maxmemory 50mb");
    connection.call("CMS.INITBYDIM k 10000000 2");
    assert_eq!(counts(&server)[2..], [1, 0, 0, 0]);
    connection.call("CONFIG SET maxmemory 0");
    // Many items of one command are refused; the command counts once.
    server.set("sketch-max-key-bytes", 2000);
    connection.call("BF.RESERVE f 0.01 100");
    connection.call(&format!("BF.MADD f {}", numbers(0, 5000)));
    assert_eq!(counts(&server)[2..], [1, 1, 0, 0]);
    assert!(server.info_number("bf_bloom_refusals") > 1);
    server.set("sketch-max-key-bytes", 0);
    connection.call("CF.RESERVE c 2 BUCKETSIZE 1 MAXITERATIONS 1");
    let equal = vec!["a"; 20_000].join(" ");
    connection.call(&format!("CF.INSERT c ITEMS {equal}"));
    assert_eq!(counts(&server)[2..], [1, 1, 1, 0]);

    let server = Options::new().address_space(1 << 30).start();
    server.call("CMS.INITBYDIM c 500000000 1");
    // On a machine with less than 2 GB, the limit of the machine refuses the command, not the allocator.
    let counts = counts(&server);
    assert_eq!(counts[0] + counts[1] + counts[5], 1);
}

#[test]
fn info_has_the_memory_limit_of_the_process() {
    let server = Server::start();
    let limit = server.info_number("bf_memory_limit_bytes");
    let machine = server.info_number("total_system_memory");
    assert!((1 << 20..=machine).contains(&limit), "{limit} of {machine}");
}

/// The server's part of MEMORY USAGE of a key with a name of one character.
fn overhead(server: &Server, family: &Family) -> i64 {
    let mut connection = server.resp2();
    connection.call("FLUSHALL SYNC");
    family.build(&mut connection, "k");
    usage_of_all(server, family) - family.info(server, "bytes")
}

/// INFO counts the bytes exactly, whatever a command replaces or changes: after random commands in random order, reads in a
/// later pane, chunks, payloads, copies and deletions, the bytes are those of MEMORY USAGE.
#[test]
fn info_counts_bytes_exactly_after_random_commands() {
    const KEYS: [&str; 3] = ["a", "b", "c"];
    let (server, mut connection) = Options::new().debug_module().start().connected();
    let numbered: Vec<_> = (0..).zip(FAMILIES).collect();
    for &(seed, family) in Sample::of_run().one_in(3).of(&numbered) {
        let overhead = overhead(&server, family);
        let mut random = Random::new(seed);
        let mut now = 1_700_000_000_000;
        connection.call("FLUSHALL SYNC");
        for step in 0..300 {
            server.set_clock(&now.to_string());
            let (key, other) = (random.pick(&KEYS), random.pick(&KEYS));
            let operation = random.below(12);
            match operation {
                0 => now += random.below(10_000),
                1 => now += random.below(600),
                2 => drop(connection.send(&["DEL", key])),
                3 => drop(connection.send(&["COPY", key, other, "REPLACE"])),
                4 => {
                    if let Reply::Bulk(payload) = connection.send(&["DUMP", key]) {
                        connection.replace(other, &payload);
                    }
                }
                5 | 6 => {
                    // The chunks of a key are also loaded into the key itself.
                    for (iterator, chunk) in chunks(&mut connection, key, family) {
                        run_reads(&mut connection, key, family);
                        for target in [key, other] {
                            family.load(&mut connection, target, iterator, &chunk);
                        }
                    }
                }
                7 => run_reads(&mut connection, key, family),
                8 => {
                    // A read in a later pane may cache what the next write replaces.
                    now += 1500;
                    server.set_clock(&now.to_string());
                    run_reads(&mut connection, key, family);
                }
                _ => {
                    let (of, options) = match family.has_window {
                        true => (Family::of(family.prefix), words("WINDOW 3000 PANES 3")),
                        false => (family, Vec::new()),
                    };
                    let create = [(of.random.create)(&mut random, key), options].concat();
                    connection.send(&create);
                    for _ in 0..3 {
                        connection.send(&(family.random.write)(&mut random, key, other));
                    }
                }
            }
            let (keys, bytes) = figures(&server, family);
            let usage = usage_of_all(&server, family) - overhead * keys;
            let at = format!("{}, step {step}, operation {operation}", family.type_name);
            assert_eq!(bytes, usage, "{at}: INFO, MEMORY USAGE");
        }
        connection.call("FLUSHALL SYNC");
        assert_eq!(figures(&server, family), (0, 0), "{}", family.type_name);
    }
}

/// The chunks of a key; none if the key is missing.
fn chunks(connection: &mut Connection, key: &str, family: &Family) -> Vec<(i64, Vec<u8>)> {
    match connection.send(&["EXISTS", key]) {
        Reply::Integer(1) => family.chunks(connection, key),
        _ => Vec::new(),
    }
}

/// Runs the reads of a family, which reply with errors for a missing key.
fn run_reads(connection: &mut Connection, key: &str, family: &Family) {
    for read in family.reads {
        connection.call(&on_key(read, key));
    }
}
