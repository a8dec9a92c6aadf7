//! What comes from hands that mean harm: damaged payloads behind sound footers, chunks in any order and
//! of any size, numbers at the edges, a machine without memory. The server answers, whatever comes, and
//! is the same process afterwards.

use crate::samples::{SAMPLES, Sample};
use crate::support::damage::{Numbers, damage_bytes, damage_values};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use roughly::sketch::format::dump::Values;

/// Every command of a family on a key K, whatever the key holds. `*` is a number at an edge.
struct Family {
    type_name: &'static str,
    prefix: &'static str,
    commands: &'static [&'static str],
    sizes: &'static [&'static str],
}

const FAMILIES: &[Family] = &[
    Family {
        type_name: "MBbloom--",
        prefix: "BF",
        commands: &[
            "BF.ADD K w1",
            "BF.MADD K a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7 8 9",
            "BF.INSERT K ITEMS x y",
            "BF.MERGE K 1 K",
            "BF.EXISTS K a",
            "BF.MEXISTS K a b nothing",
            "BF.CARD K",
            "BF.INFO K",
            "BF.INFO K SIZE",
            "BF.DEBUG K",
        ],
        sizes: &[
            "BF.RESERVE K 0.01 *",
            "BF.RESERVE K 1e-300 *",
            "BF.RESERVE K * 100",
            "BF.RESERVE K 0.01 100 EXPANSION *",
            "BF.INSERT K CAPACITY * ITEMS a",
            "BF.INSERT K EXPANSION * CAPACITY 1 ITEMS a b c",
            "BF.MERGE K * K",
            "BF.SCANDUMP K *",
            "BF.LOADCHUNK K * abcdefgh",
        ],
    },
    Family {
        type_name: "MBbloomCF",
        prefix: "CF",
        commands: &[
            "CF.ADD K w1",
            "CF.ADDNX K w1",
            "CF.INSERT K ITEMS a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6",
            "CF.INSERT K ITEMS s s s s s s s s s s s s",
            "CF.INSERTNX K ITEMS s t",
            "CF.DEL K a",
            "CF.DEL K s",
            "CF.DEL K nothing",
            "CF.COMPACT K",
            "CF.EXISTS K a",
            "CF.MEXISTS K a b nothing",
            "CF.COUNT K s",
            "CF.INFO K",
            "CF.DEBUG K",
        ],
        sizes: &[
            "CF.RESERVE K *",
            "CF.RESERVE K 100 BUCKETSIZE *",
            "CF.RESERVE K 100 MAXITERATIONS *",
            "CF.RESERVE K 4 EXPANSION *",
            "CF.RESERVE K * BUCKETSIZE 255 EXPANSION 32768",
            "CF.INSERT K CAPACITY * ITEMS a",
            "CF.SCANDUMP K *",
            "CF.LOADCHUNK K * abcdefgh",
        ],
    },
    Family {
        type_name: "CMSk-TYPE",
        prefix: "CMS",
        commands: &[
            "CMS.INCRBY K w1 5 a 4294967295 a 9223372036854775807",
            "CMS.INCRBY K a -1 nothing -9223372036854775808",
            "CMS.QUERY K a w1 nothing",
            "CMS.MERGE K 1 K",
            "CMS.MERGE K 2 K K WEIGHTS 2 -1",
            "CMS.MERGE K 1 K WEIGHTS 9223372036854775807",
            "CMS.INFO K",
        ],
        sizes: &[
            "CMS.INITBYDIM K * 1",
            "CMS.INITBYDIM K 1 *",
            "CMS.INITBYDIM K * *",
            "CMS.INITBYPROB K 1e-300 0.01",
            "CMS.INITBYPROB K 0.01 5e-324",
            "CMS.INCRBY K a *",
            "CMS.MERGE K * K",
            "CMS.MERGE K 1 K WEIGHTS *",
            "CMS.SCANDUMP K *",
            "CMS.LOADCHUNK K * abcdefgh",
        ],
    },
    Family {
        type_name: "TopK-TYPE",
        prefix: "TOPK",
        commands: &[
            "TOPK.ADD K a w1 w2",
            "TOPK.INCRBY K w1 100000 a 5 w3 100000",
            "TOPK.QUERY K a nothing",
            "TOPK.COUNT K a nothing",
            "TOPK.LIST K",
            "TOPK.LIST K WITHCOUNT",
            "TOPK.INFO K",
        ],
        sizes: &[
            "TOPK.RESERVE K *",
            "TOPK.RESERVE K * 8 7 0.9",
            "TOPK.RESERVE K 10 * 7 0.9",
            "TOPK.RESERVE K 10 8 * 0.9",
            "TOPK.RESERVE K * * * 0.9",
            "TOPK.RESERVE K 10 8 7 *",
            "TOPK.INCRBY K a *",
            "TOPK.SCANDUMP K *",
            "TOPK.LOADCHUNK K * abcdefgh",
        ],
    },
    Family {
        type_name: "TDIS-TYPE",
        prefix: "TDIGEST",
        commands: &[
            "TDIGEST.ADD K 1 2 3 -1e300 1e300",
            "TDIGEST.MERGE K2 1 K",
            "TDIGEST.MERGE K 2 K K",
            "TDIGEST.ADD K 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "TDIGEST.MIN K",
            "TDIGEST.MAX K",
            "TDIGEST.QUANTILE K 0 0.1 0.5 1",
            "TDIGEST.CDF K 0 1 50",
            "TDIGEST.RANK K 1 50",
            "TDIGEST.REVRANK K 1 50",
            "TDIGEST.BYRANK K 0 1 10",
            "TDIGEST.BYREVRANK K 0 1 10",
            "TDIGEST.TRIMMED_MEAN K 0.1 0.9",
            "TDIGEST.INFO K",
            "DEL K2",
        ],
        sizes: &[
            "TDIGEST.CREATE K COMPRESSION *",
            "TDIGEST.ADD K *",
            "TDIGEST.MERGE K * K",
            "TDIGEST.MERGE K 1 K COMPRESSION *",
            "TDIGEST.BYRANK K *",
            "TDIGEST.BYREVRANK K *",
            "TDIGEST.RANK K *",
            "TDIGEST.SCANDUMP K *",
            "TDIGEST.LOADCHUNK K * abcdefgh",
        ],
    },
];

/// The families with a sample of each.
fn families() -> impl Iterator<Item = (&'static Family, &'static Sample)> {
    assert_eq!(FAMILIES.len(), SAMPLES.len());
    FAMILIES.iter().map(|family| {
        let sample = (SAMPLES.iter()).find(|sample| sample.type_name == family.type_name);
        (family, sample.expect("a sample"))
    })
}

/// Numbers at the edges of what sizes may be.
const EDGES: [&str; 10] = [
    "0",
    "1",
    "-1",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "inf",
];

/// Sends all commands of the family on key K. A broken connection or a malformed reply is a panic.
fn use_key(connection: &mut Connection, family: &Family) {
    for command in family.commands {
        connection.call(command);
    }
    for iterator in ["0", "1", "9", "-1", "9223372036854775807"] {
        connection.send(&[
            format!("{}.SCANDUMP", family.prefix).as_str(),
            "K",
            iterator,
        ]);
    }
    connection.call("MEMORY USAGE K");
    connection.call("DEBUG DIGEST-VALUE K");
    connection.call("COPY K copy REPLACE");
    // What any of this made can be saved and comes back.
    if let Reply::Bulk(payload) = connection.call("DUMP K") {
        let restored = connection.send(&[b"RESTORE", &b"K"[..], b"0", &payload, b"REPLACE"]);
        assert!(restored.is_ok(), "{}: {restored}", family.prefix);
    }
}

/// A number of `INFO`.
fn info_bytes(server: &Server, field: &str) -> u64 {
    let text = server.info(field);
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no {field} in INFO"))
}

#[test]
fn damaged_payloads_are_refused_or_harmless() {
    let server = Options::new()
        .arguments(&["--maxmemory", "512mb"])
        .address_space(4 << 30)
        .start();
    let mut connection = server.resp2();
    let mut numbers = Numbers(0xbad_5eed);
    for (family, sample) in families() {
        assert!(connection.call("FLUSHALL SYNC").is_ok());
        sample.build(&mut connection, "built");
        let Reply::Bulk(payload) = connection.call("DUMP built") else {
            panic!("no payload of {}", family.type_name);
        };
        let (id, sound) = Values::from_dump(&payload).unwrap();
        let (mut accepted, mut refused) = (0, 0);
        for round in 0..600 {
            let mut values = sound.clone();
            damage_values(&mut values, &mut numbers);
            let version = match round % 8 {
                0 => numbers.below(6) as u64,
                _ => id & 1023,
            };
            let damaged = values.to_dump(id & !1023 | version);
            let reply = connection.send(&[b"RESTORE", &b"K"[..], b"0", &damaged]);
            if reply.is_ok() {
                accepted += 1;
                use_key(&mut connection, family);
            } else {
                refused += 1;
            }
            connection.call("DEL K copy");
        }
        assert!(accepted > 20 && refused > 150, "{accepted} {refused}");
    }
}

/// All chunks that SCANDUMP hands out for a key, with their iterators; the header is the first.
fn chunks(connection: &mut Connection, family: &Family, key: &str) -> Vec<(String, Vec<u8>)> {
    let mut chunks = Vec::new();
    let mut iterator = "0".to_owned();
    loop {
        let name = format!("{}.SCANDUMP", family.prefix);
        let reply = connection.send(&[name.as_str(), key, &iterator]);
        match reply.items() {
            // An empty chunk, or none, as the family has it.
            Some([Reply::Integer(0), _]) => return chunks,
            Some([Reply::Integer(next), Reply::Bulk(chunk)]) => {
                iterator = next.to_string();
                chunks.push((iterator.clone(), chunk.clone()));
            }
            _ => panic!("{reply}"),
        }
    }
}

fn load(connection: &mut Connection, family: &Family, iterator: &str, chunk: &[u8]) -> Reply {
    let name = format!("{}.LOADCHUNK", family.prefix);
    connection.send(&[name.as_bytes(), b"K", iterator.as_bytes(), chunk])
}

#[test]
fn chunks_come_in_any_order_of_any_size_twice_and_during_use() {
    let server = Options::new().arguments(&["--maxmemory", "512mb"]).start();
    let mut connection = server.resp2();
    for (family, sample) in families() {
        assert!(connection.call("FLUSHALL SYNC").is_ok());
        sample.build(&mut connection, "built");
        let all = chunks(&mut connection, family, "built");
        let (header, rest) = all.split_first().expect("a header");
        // Chunks without their header, and a header at another place.
        for (iterator, chunk) in rest {
            let reply = load(&mut connection, family, iterator, chunk);
            assert!(matches!(reply, Reply::Error(_)), "{reply}");
        }
        for iterator in ["0", "2", "-1", "9223372036854775807"] {
            let reply = load(&mut connection, family, iterator, &header.1);
            assert!(matches!(reply, Reply::Error(_)), "{reply}");
        }
        assert_eq!(connection.call("EXISTS K"), Reply::Integer(0));
        // The last first, twice each, with use in between.
        assert!(load(&mut connection, family, "1", &header.1).is_ok());
        for (iterator, chunk) in rest.iter().rev() {
            use_key(&mut connection, family);
            load(&mut connection, family, iterator, chunk);
            load(&mut connection, family, iterator, chunk);
        }
        use_key(&mut connection, family);
        // The header once more: as a chunk it has no place, or it is one of many.
        load(&mut connection, family, "1", &header.1);
        use_key(&mut connection, family);
        // Other sizes and places.
        for (iterator, chunk) in rest {
            let long = [&chunk[..], &chunk[..]].concat();
            for data in [&b""[..], &chunk[..chunk.len() / 2], &long] {
                for place in [
                    iterator,
                    "1",
                    "0",
                    "-5",
                    "4294967296",
                    "9223372036854775807",
                ] {
                    load(&mut connection, family, place, data);
                }
            }
            use_key(&mut connection, family);
        }
        // In order, into a fresh key, they make the same again.
        connection.call("DEL K copy");
        for (iterator, chunk) in &all {
            assert!(load(&mut connection, family, iterator, chunk).is_ok());
        }
        assert_eq!(
            connection.call("DEBUG DIGEST-VALUE K"),
            connection.call("DEBUG DIGEST-VALUE built"),
            "{}",
            family.type_name
        );
    }
}

#[test]
fn damaged_headers_are_refused_or_harmless() {
    let server = Options::new()
        .arguments(&["--maxmemory", "512mb"])
        .address_space(4 << 30)
        .start();
    let mut connection = server.resp2();
    let mut numbers = Numbers(0xc4a5);
    for (family, sample) in families() {
        assert!(connection.call("FLUSHALL SYNC").is_ok());
        sample.build(&mut connection, "built");
        let all = chunks(&mut connection, family, "built");
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..300 {
            let mut header = all[0].1.clone();
            for _ in 0..=numbers.below(2) {
                let at = numbers.below(header.len()) / 4 * 4;
                damage_bytes(&mut header, at, &mut numbers);
            }
            if load(&mut connection, family, "1", &header).is_ok() {
                accepted += 1;
                for (iterator, chunk) in &all[1..] {
                    load(&mut connection, family, iterator, chunk);
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

/// Every size of every command at every edge: what is taken is in proportion, however large the number.
fn edge_numbers(server: &Server, most_bytes: u64) {
    let mut connection = server.resp2();
    for (family, sample) in families() {
        for command in family.sizes {
            for edge in EDGES {
                assert!(connection.call("FLUSHALL SYNC").is_ok());
                let command = command.replace('*', edge);
                // On a missing key, on one that is there, and again on what came of it.
                connection.call(&command);
                let taken = info_bytes(server, "used_memory");
                assert!(taken <= most_bytes, "{command} takes {taken}");
                use_key(&mut connection, family);
                connection.call("DEL K");
                sample.build(&mut connection, "K");
                connection.call(&command);
                connection.call(&command);
                assert_eq!(connection.call("PING").text(), Some(&b"PONG"[..]));
            }
        }
    }
}

#[test]
fn sizes_at_their_edges_take_no_more_than_maxmemory() {
    let server = Options::new()
        .arguments(&["--maxmemory", "64mb", "--maxmemory-policy", "noeviction"])
        .start();
    // What is below a mebibyte is not looked at, and the server has buffers of its own.
    edge_numbers(&server, 72 << 20);
    // Nothing but address space was taken, and that was given back.
    assert!(info_bytes(&server, "used_memory_rss") < 256 << 20);
}

#[test]
fn sizes_at_their_edges_are_refused_by_a_machine_without_memory() {
    // No maxmemory: the system alone says no.
    let server = Options::new().address_space(1 << 30).start();
    edge_numbers(&server, 1 << 30);
}

/// The server does not survive a refusal when it makes the payload of a DUMP, which takes as much memory as
/// the key again, and as much once more for the reply.
#[test]
fn what_is_in_use_counts_against_maxmemory() {
    let server = Options::new()
        .arguments(&["--maxmemory", "64mb", "--maxmemory-policy", "noeviction"])
        .start();
    let mut connection = server.resp2();
    // 32 buckets of 2 slots; each further sub-filter has 256 times as many: 16 KiB, 4 MiB, 1 GiB.
    assert!(connection.call("CF.RESERVE grows 64 EXPANSION 256").is_ok());
    assert!(connection.call("BF.RESERVE half 0.01 30000000").is_ok());
    let reply = connection.call("BF.RESERVE other 0.01 30000000");
    assert!(matches!(reply, Reply::Error(_)), "{reply}");
    for _ in 0..100 {
        connection.send(&[&["CF.INSERT", "grows", "ITEMS"][..], &["same"; 100]].concat());
    }
    assert!(info_bytes(&server, "used_memory") < 66 << 20);
    // 30 MiB in sub-filters of 2, 4, 8 and 16 MiB, of which no growth to 62 MiB follows: from a header of
    // 38 bytes and some items a key would come whose DUMP is more than the server can have.
    assert!(connection.call("FLUSHALL SYNC").is_ok());
    let mut header = Vec::new();
    for number in [0u64, 1 << 20, 0, 4] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    header.extend_from_slice(&[2, 0, 20, 0, 2, 0]);
    let loaded = connection.send(&[b"CF.LOADCHUNK", &b"loaded"[..], b"1", &header]);
    assert!(loaded.is_ok(), "{loaded}");
    connection.send(&[&["CF.INSERT", "loaded", "ITEMS"][..], &["same"; 40]].concat());
    assert!(info_bytes(&server, "used_memory") < 40 << 20);
    assert!(matches!(connection.call("DUMP loaded"), Reply::Bulk(_)));
    assert!(connection.call("FLUSHALL SYNC").is_ok());
    // Where the server evicts, it makes room by itself.
    assert!(
        connection
            .call("CONFIG SET maxmemory-policy allkeys-lru")
            .is_ok()
    );
    assert!(connection.call("BF.RESERVE other 0.01 30000000").is_ok());
}

#[test]
fn a_server_without_memory_answers_every_command() {
    let server = Options::new()
        .arguments(&["--maxmemory-policy", "noeviction"])
        .start();
    let mut connection = server.resp2();
    for (family, sample) in families() {
        sample.build(&mut connection, "K");
        assert!(connection.call("CONFIG SET maxmemory 1").is_ok());
        for command in family.commands.iter().chain(family.sizes) {
            connection.call(&command.replace('*', "1000000"));
        }
        let reply = connection.call(&sample.change.0.replace("KEY", "K").replace("NEW", "n"));
        assert!(reply.to_string().starts_with("-OOM"), "{reply}");
        for read in sample.reads {
            let reply = connection.call(&read.replace("KEY", "K"));
            assert!(!matches!(reply, Reply::Error(_)), "{read}: {reply}");
        }
        assert!(connection.call("CONFIG SET maxmemory 0").is_ok());
        sample.change(&mut connection, "K", "after");
        connection.call("DEL K K2");
    }
}
