//! Bloom filters.

use super::Refusal::{Command, Element};
use super::{
    ACCESS_UPDATE, Comparison, Defrag, Family, Fill, INSERT, Memory, MemoryCase, Merge, NumberSet,
    RandomCommands, UPDATE, Usage, equal, first_windowed, growth, numbers, setting, windowed,
    with_command, write,
};
use crate::workload::{self, Random, with_item, with_items, words};

const FIXED: &[&str] = &["BF.RESERVE KEY 0.01 100 EXPANSION 1"];

pub const FAMILY: Family = Family {
    name: "bf",
    has_window: false,
    type_name: "MBbloom--",
    encoding_version: 4,
    prefix: "bf",
    category: "bloom",
    info_prefix: "bf_bloom_",
    page: "docs/families/bloom.md",

    read_commands: "exists mexists card info debug scandump",
    write_commands: &[
        write("reserve", INSERT, "hsetnx", "0.01 100"),
        write("add", INSERT, "sadd", "NEW"),
        write("madd", INSERT, "sadd", "NEW a"),
        write("addnx", INSERT, "sadd", "NEW a"),
        write("insert", INSERT, "sadd", "ITEMS NEW a"),
        write("loadchunk", UPDATE, "setrange", "1 x"),
        write("merge", ACCESS_UPDATE, "pfmerge", "1 SOURCE"),
        write("load", INSERT, "hsetnx", "payload"),
    ],
    since: "1.0.0",
    since_exceptions: &[("card", "2.4.4")],
    added_commands: &["addnx", "merge", "load"],
    settings: &[
        setting("bf-error-rate", "0.01", "0.002", "1"),
        setting("bf-initial-size", "100", "77", "0"),
        setting("bf-expansion-factor", "2", "5", "32769"),
        setting("bf-replies", "redisbloom", "valkey-bloom", "valkey"),
        setting("bf-new-keys", "redisbloom", "valkey-bloom", ""),
        setting("bf.bloom-capacity", "100", "55", "0"),
        setting("bf.bloom-expansion", "2", "0", "4294967296"),
        setting("bf.bloom-fp-rate", "0.01", "0.003", "1"),
        setting("bf.bloom-tightening-ratio", "0.5", "0.75", "0"),
        setting(
            "bf.bloom-memory-usage-limit",
            "134217728",
            "300000000",
            "-1",
        ),
        setting("bf.bloom-use-random-seed", "yes", "no", "maybe"),
        setting("bf.bloom-defrag-enabled", "yes", "no", "1"),
    ],

    build: &[
        "BF.RESERVE KEY 0.001 4 EXPANSION 3",
        "BF.MADD KEY a b c d e f g h i j k l m n o p q r s t u v w x y z",
    ],
    reads: &[
        "BF.INFO KEY",
        "BF.DEBUG KEY",
        "BF.MEXISTS KEY a b z nothing 1 2 3",
        "BF.CARD KEY",
        "BF.SCANDUMP KEY 0",
        "BF.SCANDUMP KEY 1",
        "SKETCH.ACCURACY KEY",
    ],
    change: ("BF.ADD KEY NEW", "bf.add"),
    idle: &[
        "BF.ADD KEY a",
        "BF.MADD KEY a b c",
        "BF.ADDNX KEY a b c",
        "BF.INSERT KEY ITEMS a b",
        "BF.MERGE KEY 1 KEY",
    ],
    build_large: &["BF.RESERVE KEY 0.001 5000000", "BF.ADD KEY a"],
    reserve_huge: Some(("BF.RESERVE KEY 0.001 600000000", 64)),
    reserve_large: "BF.RESERVE KEY 0.001 22000000",
    // Any bits are valid.
    fill: Fill::Chunks(|_| {}),

    creations: &[
        "BF.RESERVE KEY 0.01 10000",
        "BF.RESERVE KEY 0.01 100 NONSCALING EXPANSION 0",
        "BF.ADD KEY a",
        "BF.MADD KEY a b c",
        "BF.INSERT KEY CAPACITY 5000 ITEMS a b",
        "BF.MERGE KEY 1 SOURCE",
        "BF.MERGE KEY 2 SOURCE SOURCE",
    ],
    growths: &[
        growth(FIXED, "BF.ADD KEY ITEMS", 1, Command),
        growth(FIXED, "BF.MADD KEY ITEMS", 150, Element),
        growth(FIXED, "BF.ADDNX KEY ITEMS", 150, Element),
        growth(FIXED, "BF.INSERT KEY ITEMS ITEMS", 150, Element),
        // Creates the key and makes it grow.
        growth(&[], "BF.MADD KEY ITEMS", 20_000, Element),
    ],
    merge: Some(Merge {
        create: "BF.RESERVE KEY 0.01 100",
        missing_source: "-ERR not found",
    }),
    stored_kinds: &["integer", "double", "bytes"],
    has_no_chunks_when_empty: false,
    recorded: Some(Comparison::Exact),
    memory: Memory {
        after_build: Usage::Equal,
        after_reads: Usage::Equal,
        cases: memory_cases,
        change: None,
    },

    random: RandomCommands {
        create: |random, key| {
            let capacity = random.below(200) + 1;
            let rate = random.pick(&["0.1", "0.01", "0.001", "3e-7"]);
            let growth = random.pick(&["", " EXPANSION 1", " EXPANSION 3", " NONSCALING"]);
            words(&format!("BF.RESERVE {key} {rate} {capacity}{growth}"))
        },
        write: |random, key, other| match random.below(9) {
            8 => words(&format!("BF.MERGE {key} 1 {other}")),
            number => addition(number, random, key, ""),
        },
    },
    numbers: Some(NUMBERS),
    uses: &[
        "BF.ADD K w1",
        "BF.MADD K a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7 8 9",
        "BF.ADDNX K a b",
        "BF.INSERT K ITEMS x y",
        "BF.MERGE K 1 K",
        "BF.EXISTS K a",
        "BF.MEXISTS K a b nothing",
        "BF.CARD K",
        "BF.INFO K",
        "BF.INFO K SIZE",
        "BF.INFO K MAXSCALEDCAPACITY",
        "BF.DEBUG K",
        "BF.LOAD K payload",
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
    handler: ("BF.ADD SOURCE a", ":0"),
    defrag: Defrag {
        create: |key, n| {
            vec![
                format!("BF.RESERVE {key} 0.01 {}", 500 + n % 5000),
                format!("BF.MADD {key} {}", numbers(n, 100)),
            ]
        },
        write: |key, n| format!("BF.MADD {key} {}", numbers(n, 20)),
    },
};

const FIXED_WINDOW: &[&str] = &[window!("BF.RESERVE KEY 0.01 100 EXPANSION 1")];

pub const WINDOW: Family = Family {
    name: "bf-window",
    has_window: true,
    type_name: "bf-window",
    encoding_version: 2,
    info_prefix: "bf_bloom_window_",

    build: &[
        window!("BF.RESERVE KEY 0.001 4 EXPANSION 3"),
        FAMILY.build[1],
    ],
    reads: &with_command::<{ FAMILY.reads.len() + 1 }>(FAMILY.reads, "SKETCH.WINDOW KEY"),
    idle: &[
        "BF.ADD KEY a",
        "BF.MADD KEY a b c",
        "BF.ADDNX KEY a b c",
        "BF.INSERT KEY ITEMS a b",
        "SKETCH.ADVANCE KEY 1",
    ],
    build_large: &[
        window!("BF.RESERVE KEY 0.001 3000000"),
        // An evicted key is not created again without a window.
        "BF.INSERT KEY NOCREATE ITEMS a",
    ],
    reserve_huge: Some((window!("BF.RESERVE KEY 0.001 65000000"), 8)),
    reserve_large: window!("BF.RESERVE KEY 0.001 16000000"),
    fill: Fill::Numbers("BF.MADD KEY"),

    creations: &[
        window!("BF.RESERVE KEY 0.01 10000"),
        window!("BF.RESERVE KEY 0.01 100 NONSCALING EXPANSION 0"),
        "BF.INSERT KEY WINDOW 315360000000 PANES 4 CAPACITY 5000 ITEMS a b",
        "BF.INSERT KEY ERROR 0.002 NONSCALING WINDOW 315360000000 PANES 1 ITEMS a b",
    ],
    growths: &[
        growth(FIXED_WINDOW, "BF.ADD KEY ITEMS", 1, Command),
        growth(FIXED_WINDOW, "BF.MADD KEY ITEMS", 150, Element),
        growth(FIXED_WINDOW, "BF.ADDNX KEY ITEMS", 150, Element),
        growth(FIXED_WINDOW, "BF.INSERT KEY ITEMS ITEMS", 150, Element),
        growth(
            &[],
            "BF.INSERT KEY WINDOW 315360000000 PANES 4 ITEMS ITEMS",
            20_000,
            Element,
        ),
    ],
    merge: None,
    recorded: None,
    memory: Memory {
        cases: window_memory_cases,
        ..FAMILY.memory
    },

    random: RandomCommands {
        create: |random, key| windowed((FAMILY.random.create)(random, key)),
        write: |random, key, _| match random.below(9) {
            8 => with_items(&format!("BF.ADDNX {key}"), random, |_| None),
            number => addition(number, random, key, seedless_window!("")),
        },
    },
    numbers: Some(NumberSet {
        create: &[window!("BF.RESERVE KEY 1e-9 1000")],
        ..NUMBERS
    }),
    sizes: &[
        "BF.RESERVE K 0.01 * WINDOW 1000",
        "BF.RESERVE K 1e-300 * WINDOW 1000",
        "BF.RESERVE K 1e-12 * WINDOW 1000 PANES 1000",
        "BF.RESERVE K * 100 WINDOW 1000",
        "BF.RESERVE K 0.01 100 EXPANSION * WINDOW 1000",
        "BF.RESERVE K 0.01 100 WINDOW *",
        "BF.RESERVE K 0.01 100 WINDOW 315360000000 PANES *",
        "BF.RESERVE K 0.01 100 WINDOW 1000 SEED *",
        "BF.INSERT K WINDOW 1000 CAPACITY * ITEMS a",
        "BF.INSERT K WINDOW 1000 ERROR * ITEMS a",
        "BF.INSERT K WINDOW * ITEMS a",
        "BF.INSERT K WINDOW 1000 PANES * ITEMS a",
        "BF.INSERT K WINDOW 1000 EXPANSION * CAPACITY 1 ITEMS a b c",
        "BF.SCANDUMP K *",
        "BF.LOADCHUNK K * abcdefgh",
        "SKETCH.ADVANCE K *",
    ],
    defrag: Defrag {
        create: |key, n| first_windowed((FAMILY.defrag.create)(key, n), window!("")),
        ..FAMILY.defrag
    },
    ..FAMILY
};

/// One of eight additions. An insertion has this window.
fn addition(number: u64, random: &mut Random, key: &str, window: &str) -> workload::Command {
    let add = match number {
        0..3 => return with_item(&format!("BF.ADD {key}"), random),
        3..6 => format!("BF.MADD {key}"),
        6 => format!("BF.INSERT {key} ERROR 0.003 CAPACITY 40 ITEMS"),
        _ => format!("BF.INSERT {key} NONSCALING{window} ITEMS"),
    };
    with_items(&add, random, |_| None)
}

const NUMBERS: NumberSet = NumberSet {
    create: &["BF.RESERVE KEY 1e-9 1000"],
    add: "BF.ADD KEY N",
    test: "BF.EXISTS KEY N",
    count: ("BF.CARD KEY", ""),
};

fn window_memory_cases() -> Vec<MemoryCase> {
    let mut cases = cases_with(window!(""));
    cases.push(equal(&[
        "BF.INSERT KEY WINDOW 315360000000 PANES 1000 ITEMS a",
    ]));
    cases
}

fn memory_cases() -> Vec<MemoryCase> {
    let mut cases = cases_with("");
    cases.push(equal(&["BF.ADD KEY a"]));
    cases.push(equal(&[
        "BF.RESERVE KEY{2} 0.01 10",
        "BF.MADD KEY{2} 0..3000",
        "BF.MERGE KEY 1 KEY{2}",
    ]));
    cases
}

/// The keys of both types, with this window.
fn cases_with(window: &str) -> Vec<MemoryCase> {
    let reserve = |parameters| format!("BF.RESERVE KEY {parameters}{window}");
    let mut cases = vec![
        equal(&[&reserve("0.01 100")]),
        equal(&[&reserve("0.01 100 NONSCALING"), "BF.MADD KEY 0..99"]),
        equal(&[&reserve("0.01 10"), "BF.MADD KEY 0..5000"]),
    ];
    for filters in 2..10 {
        let items = format!("BF.MADD KEY 0..{}", filters * 100 - 50);
        cases.push(equal(&[&reserve("0.0001 100 EXPANSION 1"), &items]));
    }
    cases
}
