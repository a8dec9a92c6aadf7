//! What comes from hands that mean harm: damaged payloads behind sound footers, chunks in any order and
//! of any size, numbers at the edges, a machine without memory. The server answers, whatever comes, and
//! is the same process afterwards.

mod edges;
mod payloads;

use crate::samples::{SAMPLES, Sample};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

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
            "BF.INSERT K ERROR * ITEMS a",
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
            "CF.INSERTNX K CAPACITY * ITEMS a",
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
            "CMS.INITBYDIM K 10 2 CELL_SIZE *",
            "CMS.INITBYPROB K * 0.01",
            "CMS.INITBYPROB K 0.01 *",
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
            "TDIGEST.REVRANK K *",
            "TDIGEST.CDF K *",
            "TDIGEST.QUANTILE K *",
            "TDIGEST.TRIMMED_MEAN K * *",
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
