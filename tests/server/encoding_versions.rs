//! Every encoding version loads: older releases of RedisBloom stored fewer fields. The tests create old payloads from
//! current ones by removing these fields.

use crate::families::{FAMILIES, Family, dump, run_on};
use crate::golden_dumps::{Golden, recorded_families};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use roughly_dump::{Value, Values, type_id};

/// The values of a key and the type id with the encoding version.
fn values(connection: &mut Connection, key: &str) -> (u64, Vec<Value>) {
    let (id, values) = Values::from_dump(&connection.payload(key)).expect("a payload");
    (id, values.values.into())
}

fn restore(connection: &mut Connection, key: &str, id: u64, values: Vec<Value>) -> Reply {
    let values = values.into();
    connection.restore(key, &Values { values }.to_dump(id))
}

/// The header of a chain of one filter without growth options, as older releases wrote it.
fn header(options: u32, capacity: u64, bits_per_entry: f64, bits: u64, power: u8) -> Vec<u8> {
    let hashes = (std::f64::consts::LN_2 * bits_per_entry).ceil() as u32;
    let mut header = 0u64.to_le_bytes().to_vec();
    header.extend(1u32.to_le_bytes());
    header.extend(options.to_le_bytes());
    header.extend(2u32.to_le_bytes());
    header.extend((bits / 8).to_le_bytes());
    header.extend(bits.to_le_bytes());
    header.extend(0u64.to_le_bytes());
    header.extend(0.1f64.to_le_bytes());
    header.extend(bits_per_entry.to_le_bytes());
    header.extend(hashes.to_le_bytes());
    header.extend(capacity.to_le_bytes());
    header.push(power);
    header
}

#[test]
fn bloom_filters_of_every_encoding_version_load() {
    let (_server, mut connection) = Server::start().connected();
    // Version 0 stores neither the number of bits nor a power, so the filter has trunc(64 × 5.0) = 320 bits. Versions 0
    // and 1 have no options, so the hashes have 32 bits.
    let headers = [
        (0, header(0, 64, 5.0, 320, 0)),
        (1, header(0, 100, 4.0, 512, 9)),
        (2, header(5, 64, 5.0, 320, 0)),
        (3, header(1, 100, 4.0, 512, 9)),
        (4, header(5, 64, 5.0, 320, 0)),
    ];
    for (version, header) in headers {
        connection.ok("FLUSHALL SYNC");
        let load = [b"BF.LOADCHUNK", &b"new"[..], b"1", &header];
        assert!(connection.send(&load).is_ok(), "version {version}");
        for item in 0..40 {
            connection.call(&format!("BF.ADD new item:{item}"));
        }
        // Items, filters, options, expansion; capacity, rate, hashes, bits per entry, bits, power, bytes, items.
        let (_, mut old) = values(&mut connection, "new");
        assert_eq!(old.len(), 12);
        if version < 1 {
            old.drain(8..10);
        }
        if version < 4 {
            old.remove(3);
        }
        if version < 2 {
            old.remove(2);
        }
        let reply = restore(&mut connection, "old", type_id(b"MBbloom--", version), old);
        assert!(reply.is_ok(), "version {version}: {reply}");
        let found = dump(&mut connection, "old");
        assert_eq!(found, dump(&mut connection, "new"), "version {version}");
        for item in 0..40 {
            let reply = connection.call(&format!("BF.EXISTS old item:{item}"));
            assert_eq!(reply, Reply::Integer(1), "version {version}, item {item}");
        }
        // They also grow in the same way.
        for item in 40..400 {
            let added = connection.call(&format!("BF.ADD new item:{item}"));
            assert_eq!(connection.call(&format!("BF.ADD old item:{item}")), added);
        }
        let found = dump(&mut connection, "old");
        assert_eq!(found, dump(&mut connection, "new"), "version {version}");
    }
}

#[test]
fn cuckoo_filters_of_every_encoding_version_load() {
    let (_server, mut connection) = Server::start().connected();
    connection.ok("CF.RESERVE new 8");
    for item in 0..60 {
        connection.check(&format!("CF.ADD new item:{item}"), ":1");
    }
    // Filters, buckets, items, deletions, bucket size, iterations, expansion; then buckets and bytes of each filter.
    let (_, today) = values(&mut connection, "new");
    assert!(today.len() > 7 + 2, "it has grown");
    for version in 0..4 {
        let mut old = today[..3].to_vec();
        old.extend(today[7..].iter().skip(1).step_by(2).cloned());
        let key = format!("old:{version}");
        let reply = restore(&mut connection, &key, type_id(b"MBbloomCF", version), old);
        assert!(reply.is_ok(), "version {version}: {reply}");
        let found = dump(&mut connection, &key);
        assert_eq!(found, dump(&mut connection, "new"), "version {version}");
        for item in 0..60 {
            let reply = connection.call(&format!("CF.EXISTS {key} item:{item}"));
            assert_eq!(reply, Reply::Integer(1), "version {version}, item {item}");
        }
    }
}

#[test]
fn count_min_sketches_of_version_1_load() {
    let (_server, mut connection) = Server::start().connected();
    for cell_size in [1, 2, 4, 8] {
        connection.ok("FLUSHALL SYNC");
        connection.ok(&format!("CMS.INITBYDIM new 50 3 CELL_SIZE {cell_size}"));
        for item in 0..20 {
            connection.call(&format!("CMS.INCRBY new item:{item} {}", item + 1));
        }
        // Width, depth, total, cells.
        let (_, today) = values(&mut connection, "new");
        assert_eq!(today.len(), 4);
        for place in [2, 3] {
            let mut old = today.clone();
            old.insert(place, Value::Integer(cell_size));
            let key = format!("old:{place}");
            let reply = restore(&mut connection, &key, type_id(b"CMSk-TYPE", 1), old);
            assert!(reply.is_ok(), "cells of {cell_size}: {reply}");
            assert_eq!(dump(&mut connection, &key), dump(&mut connection, "new"));
        }
    }
}

/// Sketches with a window are in version 1, so that a version without a window would not be mistaken for one with.
#[test]
fn sketches_with_a_window_have_one_encoding_version_and_others_are_refused() {
    let (_server, mut connection) = Server::start().connected();
    for family in FAMILIES.iter().filter(|family| family.has_window) {
        family.build(&mut connection, "key");
        let (ours, today) = values(&mut connection, "key");
        let name = family.type_name.as_bytes().try_into().expect("9 bytes");
        let expected = type_id(name, family.encoding_version);
        assert_eq!(ours, expected, "{}", family.name);
        for version in [0, 1, 2, 3, 4, 100] {
            let id = type_id(name, version);
            let key = format!("other:{version}");
            let reply = restore(&mut connection, &key, id, today.clone());
            let is_ours = version == family.encoding_version;
            let found = reply.is_ok();
            assert_eq!(found, is_ours, "{}, {version}: {reply}", family.name);
        }
        connection.ok("FLUSHALL SYNC");
    }
}

/// A window has as many panes as fill it, and at most those of its type: others were never stored. They are the first two values
/// of a key.
#[test]
fn windows_that_are_not_those_of_a_creation_are_refused() {
    let (server, mut connection) = Server::start().connected();
    let mut checked = 0;
    let types = roughly::MODULE.data_types();
    for data_type in types.filter(|each| each.has_window()) {
        let (name, max_panes) = (data_type.name, data_type.max_panes);
        let family = Family::of_type(name.to_bytes());
        run_on(&mut connection, "built", family.build);
        let (id, values) = values(&mut connection, "built");
        let mut load = |ms: u64, panes: u64| {
            let mut values = values.clone();
            (values[0], values[1]) = (Value::Integer(ms), Value::Integer(panes));
            connection.call("DEL loaded");
            restore(&mut connection, "loaded", id, values)
        };
        assert!(load(315_360_000_000, 4).is_ok(), "{name:?}");
        // 3 panes of 2 ms fill 5 ms.
        for (ms, panes) in [(5, 4), (3_600_000, max_panes + 1), (0, 4), (5, 6)] {
            let reply = load(ms, panes);
            assert!(reply.is_error(), "{name:?} {ms} {panes}: {reply}");
        }
        connection.call("FLUSHALL SYNC");
        checked += 1;
    }
    assert_eq!(checked, 5);
    let log = server.log();
    let line = "value of key \"loaded\" refused: the window has more panes than fill it";
    assert!(log.contains(line), "{log}");
}

/// The recorded encoding versions are those that Roughly writes; newer ones are refused.
#[test]
fn encoding_versions_equal_the_recorded_ones_and_later_ones_are_refused() {
    let (_server, mut connection) = Options::new().start().connected();
    let mut checked = 0;
    for family in recorded_families() {
        for folder in ["2.8", "8.10"] {
            for key in Golden::load(folder, family).keys {
                let (recorded, _) = Values::from_dump(&key.payload).expect("a payload");
                connection.call("FLUSHALL SYNC");
                family.build(&mut connection, "key");
                let (ours, today) = values(&mut connection, "key");
                assert_eq!(ours, recorded, "{}", key.name);
                // Version 1 of a count-min sketch has one more number.
                for later in [1, 2, 100] {
                    let reply = restore(&mut connection, "later", ours + later, today.clone());
                    assert!(reply.is_error(), "{} + {later}", family.prefix);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 10);
}
