//! Bloom filters of the type of valkey-bloom. The option SEED creates them on every server, whatever its settings.

use super::Refusal::{Command, Element};
use super::{
    Defrag, Family, Memory, MemoryCase, NumberSet, RandomCommands, bloom, equal, growth, numbers,
};
use crate::support::resp::Connection;
use crate::workload::{with_item, with_items, words};
use roughly_dump::{Value, Values};

/// Options of BF.INSERT that create a filter with a fixed seed, so that its bytes do not vary. The halves of the seed are
/// the keys of two hashes, so they must differ.
macro_rules! seeded {
    ($key:literal, $options:literal) => {
        concat!(
            "BF.INSERT ",
            $key,
            " SEED 0123456789abcdefghijklmnopqrstuv",
            $options
        )
    };
}

const FIXED: &[&str] = &[seeded!("KEY", " CAPACITY 100 EXPANSION 1")];

pub const TYPE: Family = Family {
    name: "bloomfltr",
    type_name: "bloomfltr",
    encoding_version: 1,
    info_prefix: "bf_bloom_valkey_",

    build: &[
        // Four filters: after BF.LOAD, which the AOF contains, three would have another size.
        seeded!("KEY", " CAPACITY 1 ERROR 0.0001 EXPANSION 3"),
        "BF.MADD KEY a b c d e f g h i j k l m n o p q r s t u v w x y z",
    ],
    reads: &[
        "BF.INFO KEY",
        "BF.INFO KEY TIGHTENING",
        "BF.INFO KEY MAXSCALEDCAPACITY",
        "BF.DEBUG KEY",
        "BF.MEXISTS KEY a b z nothing 1 2 3",
        "BF.CARD KEY",
        "BF.SCANDUMP KEY 0",
        "BF.SCANDUMP KEY 1",
        "SKETCH.ACCURACY KEY",
    ],
    change: ("BF.ADD KEY NEW", "bloom.add"),
    idle: &[
        "BF.ADD KEY a",
        "BF.MADD KEY a b c",
        "BF.INSERT KEY ITEMS a b",
        seeded!("KEY", " CAPACITY 7 ITEMS a b"),
    ],
    build_large: &[
        seeded!("KEY", " CAPACITY 5000000 ERROR 0.001"),
        // An evicted key is not created again with another type.
        "BF.INSERT KEY NOCREATE ITEMS a",
    ],
    // valkey-bloom's limit per key is 128 MiB by default.
    reserve_huge: Some((seeded!("KEY", " CAPACITY 600000000 ERROR 0.001"), 64)),
    reserve_large: seeded!("KEY", " CAPACITY 22000000 ERROR 0.001"),

    creations: &[
        seeded!("KEY", " CAPACITY 10000"),
        seeded!("KEY", " NONSCALING ITEMS a"),
        "BF.INSERT KEY CAPACITY 5000 TIGHTENING 0.25 ITEMS a b",
        "BF.INSERT KEY CAPACITY 5000 VALIDATESCALETO 20000 ITEMS a b",
    ],
    growths: &[
        growth(FIXED, "BF.ADD KEY ITEMS", 1, Command),
        growth(FIXED, "BF.MADD KEY ITEMS", 150, Element),
        growth(FIXED, "BF.INSERT KEY ITEMS ITEMS", 150, Element),
        // Creates the key and makes it grow.
        growth(&[], seeded!("KEY", " ITEMS ITEMS"), 20_000, Element),
    ],
    merge: None,
    recorded: None,
    memory: Memory {
        cases: memory_cases,
        ..bloom::FAMILY.memory
    },

    random: RandomCommands {
        create: |random, key| {
            let capacity = random.below(200) + 1;
            let rate = random.pick(&["0.5", "0.01", "0.001", "3e-7"]);
            let growth = random.pick(&["", " EXPANSION 1", " EXPANSION 3", " NONSCALING"]);
            let ratio = random.pick(&["", " TIGHTENING 0.25", " TIGHTENING 0.9"]);
            words(&format!(
                seeded!("{}", " CAPACITY {} ERROR {}{}{}"),
                key, capacity, rate, growth, ratio
            ))
        },
        write: |random, key, _| match random.below(8) {
            0..3 => with_item(&format!("BF.ADD {key}"), random),
            3..6 => with_items(&format!("BF.MADD {key}"), random, |_| None),
            6 => {
                let insert = format!(seeded!("{}", " ERROR 0.003 CAPACITY 40 ITEMS"), key);
                with_items(&insert, random, |_| None)
            }
            _ => {
                let insert = format!(seeded!("{}", " NONSCALING ITEMS"), key);
                with_items(&insert, random, |_| None)
            }
        },
    },
    numbers: Some(NumberSet {
        create: &[seeded!("KEY", " ERROR 1e-9 CAPACITY 1000")],
        add: "BF.ADD KEY N",
        test: "BF.EXISTS KEY N",
        count: ("BF.CARD KEY", ""),
    }),
    sizes: &[
        seeded!("K", " CAPACITY *"),
        seeded!("K", " CAPACITY * ERROR 1e-300"),
        seeded!("K", " ERROR *"),
        seeded!("K", " CAPACITY 1 EXPANSION * ITEMS a b c"),
        seeded!("K", " CAPACITY 1 TIGHTENING * ITEMS a b c"),
        "BF.INSERT K SEED *",
        "BF.INSERT K VALIDATESCALETO * CAPACITY 10",
        "BF.INSERT K VALIDATESCALETO 9223372036854775807 CAPACITY *",
        "BF.INSERT K VALIDATESCALETO 9223372036854775807 EXPANSION * CAPACITY 1 TIGHTENING 0.9999",
        "BF.LOAD K *",
        "BF.RESERVE K 0.01 *",
        "BF.MERGE K * K",
        "BF.SCANDUMP K *",
        "BF.LOADCHUNK K * abcdefgh",
    ],
    defrag: Defrag {
        create: |key, n| {
            vec![
                format!(seeded!("{}", " CAPACITY {}"), key, 500 + n % 5000),
                format!("BF.MADD {key} {}", numbers(n, 100)),
            ]
        },
        ..bloom::FAMILY.defrag
    },
    ..bloom::FAMILY
};

/// Allows keys of this type above the default limit of 128 MiB.
pub fn allow_huge_keys(connection: &mut Connection) {
    let set = format!("CONFIG SET bf.bloom-memory-usage-limit {}", i64::MAX);
    connection.ok(&set);
}

/// The payload of BF.LOAD for a key.
pub fn load_payload(connection: &mut Connection, key: &str) -> Vec<u8> {
    load_payload_of(&connection.payload(key))
}

/// The payload of BF.LOAD for the payload of DUMP.
pub fn load_payload_of(dump: &[u8]) -> Vec<u8> {
    let (_, values) = Values::from_dump(dump).expect("values");
    let values: Vec<_> = values.values.into();
    let [
        Value::Integer(filters),
        Value::Integer(expansion),
        Value::Double(rate),
        Value::Double(tightening),
        Value::Integer(is_random),
        rest @ ..,
    ] = &values[..]
    else {
        panic!("{values:?}");
    };
    let mut payload = vec![1];
    payload.extend((*expansion as u32).to_le_bytes());
    payload.extend([rate, tightening].map(|ratio| ratio.to_le_bytes()).concat());
    payload.push(*is_random as u8);
    payload.extend(filters.to_le_bytes());
    let mut rest = rest.iter().peekable();
    while let Some(Value::Integer(capacity)) = rest.next() {
        // All filters but the last are full, so their items are not stored.
        let items = match rest.peek() {
            Some(Value::Integer(items)) => {
                rest.next();
                items
            }
            _ => capacity,
        };
        let Some(Value::Bytes(blob)) = rest.next() else {
            panic!("no bytes");
        };
        payload.extend((blob.len() as u64).to_le_bytes());
        payload.extend(blob);
        payload.extend(items.to_le_bytes());
        payload.extend(capacity.to_le_bytes());
    }
    payload
}

fn memory_cases() -> Vec<MemoryCase> {
    let mut cases = vec![
        equal(&[seeded!("KEY", "")]),
        equal(&[seeded!("KEY", " ITEMS a")]),
        equal(&[seeded!("KEY", " NONSCALING"), "BF.MADD KEY 0..99"]),
        equal(&[seeded!("KEY", " CAPACITY 10"), "BF.MADD KEY 0..5000"]),
    ];
    for filters in 2..10 {
        let items = format!("BF.MADD KEY 0..{}", filters * 100 - 50);
        cases.push(equal(&[
            seeded!("KEY", " ERROR 0.0001 EXPANSION 1"),
            &items,
        ]));
    }
    cases
}
