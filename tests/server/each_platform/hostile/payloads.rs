//! Damaged payloads, and chunks in a wrong order or of a wrong size.

use super::{use_key, with_memory};
use crate::families::valkey_bloom::{allow_huge_keys, load_payload};
use crate::families::{FAMILIES, Family};
use crate::support::damage::{Numbers, damage_bytes, damage_values};
use crate::support::server::{Options, Server};
use roughly_dump::{Value, Values};

#[test]
fn damaged_payloads_are_refused_or_harmless() {
    let (_server, mut connection) = with_memory("512mb");
    let mut numbers = Numbers(0xbad_5eed);
    for family in FAMILIES {
        connection.ok("FLUSHALL SYNC");
        family.build(&mut connection, "built");
        let payload = connection.payload("built");
        let (id, sound) = Values::from_dump(&payload).unwrap();
        let (mut accepted, mut refused) = (0, 0);
        for round in 0..1200 {
            let mut values = sound.clone();
            damage_values(&mut values, &mut numbers);
            let version = match round % 8 {
                0 => numbers.below(6) as u64,
                _ => id & 1023,
            };
            let damaged = values.to_dump(id & !1023 | version);
            if connection.restore("K", &damaged).is_ok() {
                accepted += 1;
                use_key(&mut connection, family);
            } else {
                refused += 1;
            }
            connection.call("DEL K copy");
        }
        let has_both = accepted > 20 && refused > 150;
        assert!(has_both, "{}: {accepted} {refused}", family.name);
    }
}

#[test]
fn damaged_payloads_of_bf_load_are_refused_or_harmless() {
    let (_server, mut connection) = with_memory("512mb");
    allow_huge_keys(&mut connection);
    let mut numbers = Numbers(0x10ad);
    let family = Family::of("bloomfltr");
    family.build(&mut connection, "built");
    let sound = load_payload(&mut connection, "built");
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..1200 {
        let mut payload = sound.clone();
        for _ in 0..=numbers.below(2) {
            let at = numbers.below(payload.len());
            damage_bytes(&mut payload, at, &mut numbers);
        }
        if connection.send(&[&b"BF.LOAD"[..], b"K", &payload]).is_ok() {
            accepted += 1;
            use_key(&mut connection, family);
        } else {
            refused += 1;
        }
        connection.call("DEL K copy");
    }
    assert!(accepted > 100 && refused > 100, "{accepted} {refused}");
}

#[test]
fn chunks_of_any_order_and_size_are_refused_or_harmless() {
    let server = Options::new().arguments(&["--maxmemory", "512mb"]).start();
    let mut connection = server.resp2();
    for family in FAMILIES {
        connection.ok("FLUSHALL SYNC");
        family.build(&mut connection, "built");
        let all = family.chunks(&mut connection, "built");
        let (header, rest) = all.split_first().expect("a header");
        // Chunks without their header, and a header at another position.
        for (iterator, chunk) in rest {
            let reply = family.load(&mut connection, "K", iterator, chunk);
            assert!(reply.is_error(), "{reply}");
        }
        for iterator in ["0", "2", "-1", "9223372036854775807"] {
            let reply = family.load(&mut connection, "K", iterator, &header.1);
            assert!(reply.is_error(), "{reply}");
        }
        connection.check("EXISTS K", ":0");
        // In reverse order, twice each, with commands in between.
        assert!(family.load(&mut connection, "K", "1", &header.1).is_ok());
        for (iterator, chunk) in rest.iter().rev() {
            use_key(&mut connection, family);
            family.load(&mut connection, "K", iterator, chunk);
            family.load(&mut connection, "K", iterator, chunk);
        }
        use_key(&mut connection, family);
        // The header again. The key now exists, so the command may refuse the header or load it as a chunk.
        family.load(&mut connection, "K", "1", &header.1);
        use_key(&mut connection, family);
        // Other sizes and positions.
        for (iterator, chunk) in rest {
            let long = [&chunk[..], &chunk[..]].concat();
            for data in [&b""[..], &chunk[..chunk.len() / 2], &long] {
                for place in [*iterator, 1, 0, -5, 1 << 32, i64::MAX] {
                    family.load(&mut connection, "K", place, data);
                }
            }
            use_key(&mut connection, family);
        }
        // In order, into a new key, they create the same value.
        connection.call("DEL K copy");
        for (iterator, chunk) in &all {
            assert!(family.load(&mut connection, "K", iterator, chunk).is_ok());
        }
        let digests = ["K", "built"].map(|key| connection.send(&["DEBUG", "DIGEST-VALUE", key]));
        assert_eq!(digests[0], digests[1], "{}", family.type_name);
    }
}

#[test]
fn damaged_headers_are_refused_or_harmless() {
    let (_server, mut connection) = with_memory("512mb");
    // RESTORE checks the size for the capacity and the rate, LOADCHUNK that of the bytes.
    allow_huge_keys(&mut connection);
    let mut numbers = Numbers(0xc4a5);
    for family in FAMILIES {
        connection.ok("FLUSHALL SYNC");
        family.build(&mut connection, "built");
        let all = family.chunks(&mut connection, "built");
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..300 {
            let mut header = all[0].1.clone();
            for _ in 0..=numbers.below(2) {
                let at = numbers.below(header.len()) / 4 * 4;
                damage_bytes(&mut header, at, &mut numbers);
            }
            if family.load(&mut connection, "K", "1", &header).is_ok() {
                accepted += 1;
                for (iterator, chunk) in &all[1..] {
                    family.load(&mut connection, "K", iterator, chunk);
                }
                use_key(&mut connection, family);
            } else {
                refused += 1;
            }
            connection.call("DEL K copy");
        }
        assert!(accepted > 0 && refused > 100, "{accepted} {refused}");
    }
}

/// RedisBloom never adds a second filter to a NONSCALING chain, and no recorded NONSCALING chain has two filters.
#[test]
fn a_nonscaling_chain_of_several_filters_is_refused() {
    let (_server, mut connection) = Server::start().connected();
    connection.ok("BF.RESERVE one 0.01 1 NONSCALING");
    connection.call("BF.ADD one a");
    let scanned = Family::of("bf").scan(&mut connection, "one", 0);
    let (_, header) = scanned.expect("a header");
    let mut two = [&header[..], &header[20..]].concat();
    two[..8].copy_from_slice(&2u64.to_le_bytes());
    two[8..12].copy_from_slice(&2u32.to_le_bytes());
    let payload = connection.payload("one");
    let (id, mut values) = Values::from_dump(&payload).unwrap();
    // Items, filters, options, expansion, then the values of each filter.
    let filter: Vec<_> = values.values.iter().skip(4).cloned().collect();
    values.values[0] = Value::Integer(2);
    values.values[1] = Value::Integer(2);
    values.values.extend(filter);
    for (scaling, header_reply, dump_reply) in [
        (false, "-ERR received bad data", "-ERR Bad data format"),
        (true, "+OK", "+OK"),
    ] {
        if scaling {
            // Without NONSCALING, the same chain is valid.
            two[12] &= !8;
            let Value::Integer(options) = &mut values.values[2] else {
                panic!("no options");
            };
            *options &= !8;
        }
        let loaded = connection.send(&[b"BF.LOADCHUNK", &b"K"[..], b"1", &two]);
        assert_eq!(loaded.to_string(), header_reply);
        let restored = connection.restore("L", &values.to_dump(id));
        assert_eq!(restored.to_string(), dump_reply);
    }
}
