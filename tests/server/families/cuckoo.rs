//! Cuckoo filters.

use super::Refusal::{Command, MinusOne};
use super::{
    ACCESS_UPDATE, Comparison, DELETE, Defrag, Family, Fill, INSERT, Memory, MemoryCase, NumberSet,
    RandomCommands, UPDATE, Usage, equal, growth, numbers, setting, windowed, with_command, write,
};
use crate::workload::{with_item, with_items, words};

const CREATE: &[&str] = &["CF.RESERVE KEY 1024 EXPANSION 1"];
const NUMBERS: NumberSet = NumberSet {
    create: &["CF.RESERVE KEY 1000 EXPANSION 2"],
    add: "CF.ADD KEY N",
    test: "CF.EXISTS KEY N",
    count: ("CF.INFO KEY", "Number of items inserted"),
};

pub const FAMILY: Family = Family {
    name: "cf",
    has_window: false,
    type_name: "MBbloomCF",
    encoding_version: 4,
    prefix: "cf",
    category: "cuckoo",
    info_prefix: "bf_cuckoo_",
    page: "docs/families/cuckoo.md",

    read_commands: "exists mexists count info debug scandump",
    write_commands: &[
        write("reserve", INSERT, "hsetnx", "100"),
        write("add", INSERT, "sadd", "NEW"),
        write("addnx", INSERT, "sadd", "NEW"),
        write("insert", INSERT, "sadd", "ITEMS NEW a"),
        write("insertnx", INSERT, "sadd", "ITEMS NEW a"),
        write("loadchunk", UPDATE, "setrange", "1 x"),
        write("del", DELETE, "srem", "NEW"),
        write("compact", ACCESS_UPDATE, "pfmerge", ""),
    ],
    since: "1.0.0",
    since_exceptions: &[],
    added_commands: &[],
    settings: &[
        setting("cf-bucket-size", "2", "4", "256"),
        setting("cf-initial-size", "1024", "4096", "3"),
        setting("cf-max-iterations", "20", "33", "65536"),
        setting("cf-expansion-factor", "1", "3", "-1"),
        setting("cf-max-expansions", "32", "12", "0"),
    ],

    build: &[
        "CF.RESERVE KEY 16 BUCKETSIZE 3 MAXITERATIONS 5 EXPANSION 2",
        "CF.INSERT KEY ITEMS a b c d e f g h i j k l m n o p q r s t u v w x y z a a",
        "CF.DEL KEY e",
        "CF.COMPACT KEY",
        "CF.DEL KEY f",
        "CF.COMPACT KEY",
    ],
    reads: &[
        "CF.INFO KEY",
        "CF.DEBUG KEY",
        "CF.MEXISTS KEY a b z nothing 1 2 3",
        "CF.COUNT KEY a",
        "CF.SCANDUMP KEY 0",
        "CF.SCANDUMP KEY 1",
        "SKETCH.ACCURACY KEY",
    ],
    change: ("CF.ADD KEY NEW", "cf.add"),
    idle: &[
        "CF.ADDNX KEY a",
        "CF.INSERTNX KEY ITEMS a b",
        "CF.DEL KEY nothing",
        "CF.COMPACT KEY",
    ],
    build_large: &["CF.RESERVE KEY 5000000", "CF.ADD KEY a"],
    reserve_huge: Some(("CF.RESERVE KEY 134217728", 8)),
    reserve_large: "CF.RESERVE KEY 33554432 BUCKETSIZE 1",
    fill: Fill::Numbers("CF.INSERT KEY ITEMS"),

    creations: &[
        "CF.RESERVE KEY 10000",
        "CF.ADD KEY a",
        "CF.ADDNX KEY a",
        "CF.INSERT KEY CAPACITY 5000 ITEMS a b",
        "CF.INSERTNX KEY ITEMS a b c",
    ],
    growths: &[
        growth(CREATE, "CF.ADD KEY ITEMS", 1, Command),
        growth(CREATE, "CF.ADDNX KEY ITEMS", 1, Command),
        growth(CREATE, "CF.INSERT KEY ITEMS ITEMS", 300, MinusOne),
        growth(CREATE, "CF.INSERTNX KEY ITEMS ITEMS", 300, MinusOne),
        growth(&[], "CF.INSERT KEY ITEMS ITEMS", 20_000, MinusOne),
    ],
    merge: None,
    stored_kinds: &["integer", "bytes"],
    has_no_chunks_when_empty: true,
    recorded: Some(Comparison::Exact),
    memory: Memory {
        after_build: Usage::Equal,
        after_reads: Usage::Equal,
        cases: memory_cases,
        change: Some("CF.INSERT KEY ITEMS 9000..9100"),
    },

    random: RandomCommands {
        create: |random, key| {
            let capacity = random.below(200) + 10;
            let bucket = random.pick(&["1", "2", "4", "5"]);
            let growth = random.pick(&["", " EXPANSION 0", " EXPANSION 2", " MAXITERATIONS 3"]);
            words(&format!(
                "CF.RESERVE {key} {capacity} BUCKETSIZE {bucket}{growth}"
            ))
        },
        write: |random, key, _| match random.below(10) {
            0..3 => with_item(&format!("CF.ADD {key}"), random),
            3 => with_item(&format!("CF.ADDNX {key}"), random),
            4..6 => {
                let insert = format!("CF.INSERT {key} CAPACITY 50 ITEMS");
                with_items(&insert, random, |_| None)
            }
            6 => with_items(&format!("CF.INSERTNX {key} ITEMS"), random, |_| None),
            7 => words(&format!("CF.COMPACT {key}")),
            _ => with_item(&format!("CF.DEL {key}"), random),
        },
    },
    numbers: Some(NUMBERS),
    uses: &[
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
    handler: ("CF.INSERT SOURCE ITEMS b", "*1 :1"),
    defrag: Defrag {
        create: |key, n| {
            vec![
                format!("CF.RESERVE {key} {} BUCKETSIZE 2", 1024 << (n / 4 % 4)),
                format!("CF.INSERT {key} ITEMS {}", numbers(n, 100)),
            ]
        },
        write: |key, n| format!("CF.INSERT {key} ITEMS {}", numbers(n, 10)),
    },
};

/// A key in the growth tests.
const CREATE_WINDOW: &[&str] = &[window!("CF.RESERVE KEY 1024 EXPANSION 1")];

pub const WINDOW: Family = Family {
    name: "cf-window",
    has_window: true,
    type_name: "cf-window",
    encoding_version: 3,
    info_prefix: "bf_cuckoo_window_",

    build: &[
        window!("CF.RESERVE KEY 16 BUCKETSIZE 3 MAXITERATIONS 5 EXPANSION 2"),
        "CF.INSERT KEY ITEMS a b c d e f g h i j k l m n o p q r s t u v w x y z a a",
        "CF.DEL KEY e",
        "CF.COMPACT KEY",
        "CF.DEL KEY f",
        "CF.COMPACT KEY",
    ],
    reads: &with_command::<{ FAMILY.reads.len() + 1 }>(FAMILY.reads, "SKETCH.WINDOW KEY"),
    idle: &with_command::<{ FAMILY.idle.len() + 1 }>(FAMILY.idle, "SKETCH.ADVANCE KEY 1"),
    build_large: &[
        window!("CF.RESERVE KEY 2500000"),
        // An evicted key is not created again without a window.
        "CF.INSERT KEY NOCREATE ITEMS a",
    ],
    reserve_huge: Some((window!("CF.RESERVE KEY 67108864"), 8)),
    reserve_large: window!("CF.RESERVE KEY 20000000"),

    creations: &[
        window!("CF.RESERVE KEY 5000"),
        window!("CF.RESERVE KEY 5000 BUCKETSIZE 1 EXPANSION 0"),
        concat!(window!("CF.RESERVE KEY 5000"), " ERROR 0.0001"),
        "CF.INSERT KEY WINDOW 315360000000 PANES 4 CAPACITY 5000 ITEMS a b",
        "CF.INSERTNX KEY CAPACITY 5000 WINDOW 315360000000 ITEMS a a",
    ],
    growths: &[
        growth(CREATE_WINDOW, "CF.ADD KEY ITEMS", 1, Command),
        growth(CREATE_WINDOW, "CF.ADDNX KEY ITEMS", 1, Command),
        growth(CREATE_WINDOW, "CF.INSERT KEY ITEMS ITEMS", 300, MinusOne),
        growth(CREATE_WINDOW, "CF.INSERTNX KEY ITEMS ITEMS", 300, MinusOne),
    ],
    stored_kinds: &["integer", "double", "bytes"],
    has_no_chunks_when_empty: false,
    recorded: None,
    memory: Memory {
        cases: window_memory_cases,
        ..FAMILY.memory
    },

    random: RandomCommands {
        create: |random, key| {
            let mut command = windowed((FAMILY.random.create)(random, key));
            if random.below(3) == 0 {
                command.extend(words("ERROR 0.001"));
            }
            command
        },
        ..FAMILY.random
    },
    numbers: Some(NumberSet {
        create: &[window!("CF.RESERVE KEY 1000 EXPANSION 2")],
        ..NUMBERS
    }),
    sizes: &[
        "CF.RESERVE K * WINDOW 1000",
        "CF.RESERVE K 100 BUCKETSIZE * WINDOW 1000 PANES 1000",
        "CF.RESERVE K 100 MAXITERATIONS * WINDOW 1000",
        "CF.RESERVE K 4 EXPANSION * WINDOW 1000",
        "CF.RESERVE K * BUCKETSIZE 255 EXPANSION 32768 WINDOW 1000",
        "CF.RESERVE K 100 WINDOW *",
        "CF.RESERVE K 100 WINDOW 315360000000 PANES *",
        "CF.RESERVE K 100 WINDOW 1000 SEED *",
        "CF.RESERVE K * WINDOW 1000 ERROR 0.0001",
        "CF.RESERVE K 100 WINDOW 1000 ERROR *",
        "CF.INSERT K WINDOW * ITEMS a",
        "CF.INSERT K WINDOW 1000 PANES * ITEMS a",
        "CF.INSERT K CAPACITY * ITEMS a",
        "CF.INSERTNX K CAPACITY * ITEMS a",
        "CF.SCANDUMP K *",
        "CF.LOADCHUNK K * abcdefgh",
        "SKETCH.ADVANCE K *",
    ],
    defrag: Defrag {
        create: |key, n| {
            vec![
                format!(
                    window!("CF.RESERVE {} {} BUCKETSIZE 2"),
                    key,
                    1024 << (n / 4 % 2)
                ),
                format!("CF.INSERT {key} ITEMS {}", numbers(n, 100)),
            ]
        },
        ..FAMILY.defrag
    },
    ..FAMILY
};

fn window_memory_cases() -> Vec<MemoryCase> {
    let mut cases = cases_with(window!(""));
    cases.push(equal(&[concat!(
        window!("CF.RESERVE KEY 1000"),
        " ERROR 0.0001"
    )]));
    for items in NUMBERS_OF_ITEMS {
        cases.push(equal(&[
            concat!(window!("CF.RESERVE KEY 16 EXPANSION 2"), " ERROR 0.01"),
            &format!("CF.INSERT KEY ITEMS 0..{items}"),
        ]));
    }
    cases
}

fn memory_cases() -> Vec<MemoryCase> {
    let mut cases = cases_with("");
    cases.push(equal(&["CF.ADD KEY a"]));
    cases
}

const NUMBERS_OF_ITEMS: [u64; 5] = [10, 50, 100, 300, 1000];

/// The keys of both types, with this window.
fn cases_with(window: &str) -> Vec<MemoryCase> {
    let reserve = |parameters| format!("CF.RESERVE KEY {parameters}{window}");
    let mut cases = vec![equal(&[&reserve("1000 BUCKETSIZE 5")])];
    for items in NUMBERS_OF_ITEMS {
        let items = format!("CF.INSERT KEY ITEMS 0..{items}");
        cases.extend([
            equal(&[&reserve("16 EXPANSION 1"), &items]),
            equal(&[&reserve("16 EXPANSION 2 BUCKETSIZE 3"), &items]),
            // Most sub-filters are removed.
            equal(&[
                &reserve("16"),
                &items,
                "each:CF.DEL KEY 0..900",
                "CF.COMPACT KEY",
            ]),
        ]);
    }
    cases
}
