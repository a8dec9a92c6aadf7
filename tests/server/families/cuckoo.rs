//! Cuckoo filters.

use super::{
    ACCESS_UPDATE, Comparison, DELETE, Defrag, Family, Fill, INSERT, Memory, MemoryCase, NumberSet,
    RandomCommands, Refusal, Row, UPDATE, Usage, WorstCases, equal, growth, numbers, row, setting,
    windowed, write,
};
use crate::workload::{with_item, with_items, words};

const CREATE: &[&str] = &["CF.RESERVE KEY 1024 EXPANSION 1"];
const COPY_OF_FULL: &[&str] = &["COPY full copy"];
/// The next insertion into `full`, which has eleven sub-filters, adds one.
const ONE_MORE: &[(&str, i64)] = &[("Number of filters", 12)];

pub const FAMILY: Family = Family {
    name: "cf",
    has_window: false,
    type_name: "MBbloomCF",
    encoding_version: 4,
    prefix: "cf",
    category: "cuckoo",
    info_prefix: "bf_cuckoo_",
    page: "docs/families/cuckoo.md",
    sources: &["src/family/cuckoo"],

    read_commands: &["exists", "mexists", "count", "info", "debug", "scandump"],
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
        growth(CREATE, "CF.ADD KEY ITEMS", 1, Refusal::Command),
        growth(CREATE, "CF.ADDNX KEY ITEMS", 1, Refusal::Command),
        growth(CREATE, "CF.INSERT KEY ITEMS ITEMS", 300, Refusal::MinusOne),
        growth(
            CREATE,
            "CF.INSERTNX KEY ITEMS ITEMS",
            300,
            Refusal::MinusOne,
        ),
        growth(&[], "CF.INSERT KEY ITEMS ITEMS", 20_000, Refusal::MinusOne),
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
    soak: &[
        "CF.ADD K I",
        "CF.ADDNX K I",
        "CF.INSERT K CAPACITY 64 ITEMS I I I I I I",
        "CF.INSERTNX K ITEMS I I I",
        "CF.DEL K I",
        "CF.DEL K I",
        "CF.COMPACT K",
        "CF.EXISTS K I",
        "CF.MEXISTS K I I I I",
        "CF.COUNT K I",
        "CF.RESERVE K 100 BUCKETSIZE 4 EXPANSION 2",
        "CF.INFO K",
        "CF.SCANDUMP K 1",
    ],
    numbers: Some(NumberSet {
        create: &["CF.RESERVE KEY 1000 EXPANSION 2"],
        add: "CF.ADD KEY N",
        test: "CF.EXISTS KEY N",
        count: ("CF.INFO KEY", "Number of items inserted"),
    }),
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
    worst_cases: WorstCases {
        keys: &[
            ("cf", "9.5 million items, sub-filters of 1 MiB"),
            ("full", "9 million items, sub-filters of 1 MiB"),
        ],
        setup: &[
            "CF.RESERVE cf 1048576 EXPANSION 1",
            // The next item adds a sub-filter.
            "CF.INSERT cf ITEMS 0..8995061",
            "COPY cf full",
            "CF.INSERT cf ITEMS 8995061..9500000",
        ],
        filled: &[],
        rows: &[
            row("CF.RESERVE new 1073741824", "1 GiB"),
            row("CF.ADD copy 8995061", "the item that adds a sub-filter")
                .before(COPY_OF_FULL)
                .key("full")
                .leaves(ONE_MORE),
            row("CF.ADDNX copy 8995061", "the item that adds a sub-filter")
                .before(COPY_OF_FULL)
                .key("full")
                .leaves(ONE_MORE),
            row(
                "CF.INSERT copy ITEMS equal*1000",
                "1,000 equal items, which add 248 sub-filters",
            )
            .before(COPY_OF_FULL)
            .key("full")
            .leaves(&[("Number of filters", 11 + 248)]),
            row(
                "CF.INSERTNX copy ITEMS 8995061..8996061",
                "1,000 items, of which one adds a sub-filter",
            )
            .before(COPY_OF_FULL)
            .key("full")
            .leaves(ONE_MORE),
            row("CF.EXISTS cf 1", ""),
            row("CF.MEXISTS cf 0..1000", "1,000 items"),
            row("CF.COUNT cf 1", ""),
            // Deletions from the middle of the range up to the second compaction: the slowest of 1,000 tested states.
            row(
                "CF.DEL copy 6398760",
                "the deletion that starts a compaction",
            )
            .before(&["COPY cf copy", "each:CF.DEL copy 4750000..6398760"])
            .key("cf")
            .leaves(&[("Number of filters", 10), ("Number of items deleted", 0)]),
            row("CF.INFO cf", ""),
            row("CF.DEBUG cf", ""),
            row("CF.SCANDUMP cf 1", "a sub-filter"),
            row("CF.LOADCHUNK cf chunk:cf", "a sub-filter"),
            // The slowest of the same 1,000 states.
            row("CF.COMPACT copy", "of which 17 % were deleted")
                .before(&["COPY cf copy", "each:CF.DEL copy 3325000..4973760"])
                .key("cf"),
        ],
    },
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

/// A filter of 128 MiB with 12 full panes of one second, in each of which 10,000 items are added. Its newest pane is 13 s
/// ahead of the clock, so that no pane expires during the measured command.
const FULL_WINDOW: &[&str] = &[
    "CF.RESERVE new 66100000 WINDOW 12000 PANES 12",
    "repeat:13 SKETCH.ADVANCE new pane:new+1; CF.INSERT new ITEMS 0..10000",
];
/// The same, when half of its panes have expired.
const HALF_EXPIRED: &[&str] = &[
    FULL_WINDOW[0],
    FULL_WINDOW[1],
    "SKETCH.ADVANCE new pane:new+6",
];
const SMALL_WINDOW: &[&str] = &["CF.RESERVE copy 4096 WINDOW 12000 PANES 12"];
/// A filter with many sub-filters, which all expire at once.
const MANY_SUB_FILTERS: &[&str] = &[
    SMALL_WINDOW[0],
    "SKETCH.ADVANCE copy pane:copy+1",
    "CF.INSERT copy ITEMS equal*8000",
];

/// A row for a key with a window.
const fn on_window(
    command: &'static str,
    note: &'static str,
    before: &'static [&'static str],
) -> Row {
    row(command, note).before(before).key("cf:w")
}

pub const WINDOW: Family = Family {
    name: "cf-window",
    has_window: true,
    type_name: "cf-window",
    encoding_version: 1,
    info_prefix: "bf_cuckoo_window_",

    build: &[
        window!("CF.RESERVE KEY 16 BUCKETSIZE 3 MAXITERATIONS 5 EXPANSION 2"),
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
        "SKETCH.WINDOW KEY",
    ],
    idle: &[
        "CF.ADDNX KEY a",
        "CF.INSERTNX KEY ITEMS a b",
        "CF.DEL KEY nothing",
        "CF.COMPACT KEY",
        "SKETCH.ADVANCE KEY 1",
    ],
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
    ],
    growths: &[
        growth(CREATE_WINDOW, "CF.ADD KEY ITEMS", 1, Refusal::Command),
        growth(CREATE_WINDOW, "CF.ADDNX KEY ITEMS", 1, Refusal::Command),
        growth(
            CREATE_WINDOW,
            "CF.INSERT KEY ITEMS ITEMS",
            300,
            Refusal::MinusOne,
        ),
        growth(
            CREATE_WINDOW,
            "CF.INSERTNX KEY ITEMS ITEMS",
            300,
            Refusal::MinusOne,
        ),
    ],
    stored_kinds: &["integer", "double", "bytes"],
    has_no_chunks_when_empty: false,
    recorded: None,
    memory: Memory {
        after_build: Usage::Equal,
        after_reads: Usage::Equal,
        cases: window_memory_cases,
        change: Some("CF.INSERT KEY ITEMS 9000..9100"),
    },

    random: RandomCommands {
        create: |random, key| windowed((FAMILY.random.create)(random, key)),
        ..FAMILY.random
    },
    // Panes of a fifth of a second, which begin and expire during the test.
    soak: &[
        "CF.RESERVE K 100 BUCKETSIZE 4 EXPANSION 2 WINDOW 1000 PANES 5",
        "CF.RESERVE K 1000 WINDOW 1000 PANES 5",
        "CF.RESERVE K 64 EXPANSION 1 WINDOW 400 PANES 20",
        "CF.RESERVE K 64 EXPANSION 0 WINDOW 400 PANES 20",
        "CF.INSERT K NOCREATE ITEMS I I I I I I",
        "CF.INSERT K NOCREATE ITEMS I I I I I I",
        "CF.INSERTNX K NOCREATE ITEMS I I I",
        "CF.INSERTNX K NOCREATE ITEMS I",
        "CF.DEL K I",
        "CF.DEL K I",
        "CF.COMPACT K",
        "CF.EXISTS K I",
        "CF.MEXISTS K I I I I",
        "CF.COUNT K I",
        "CF.INFO K",
        "CF.SCANDUMP K 1",
        "SKETCH.WINDOW K",
        "SKETCH.ADVANCE K X",
    ],
    numbers: Some(NumberSet {
        create: &[window!("CF.RESERVE KEY 1000 EXPANSION 2")],
        add: "CF.ADD KEY N",
        test: "CF.EXISTS KEY N",
        count: ("CF.INFO KEY", "Number of items inserted"),
    }),
    sizes: &[
        "CF.RESERVE K * WINDOW 1000",
        "CF.RESERVE K 100 BUCKETSIZE * WINDOW 1000 PANES 1000",
        "CF.RESERVE K 100 MAXITERATIONS * WINDOW 1000",
        "CF.RESERVE K 4 EXPANSION * WINDOW 1000",
        "CF.RESERVE K * BUCKETSIZE 255 EXPANSION 32768 WINDOW 1000",
        "CF.RESERVE K 100 WINDOW *",
        "CF.RESERVE K 100 WINDOW 315360000000 PANES *",
        "CF.INSERT K CAPACITY * ITEMS a",
        "CF.INSERTNX K CAPACITY * ITEMS a",
        "CF.SCANDUMP K *",
        "CF.LOADCHUNK K * abcdefgh",
        "SKETCH.ADVANCE K *",
    ],
    worst_cases: WorstCases {
        keys: &[("cf:w", "a window of 12 panes, 128 MiB")],
        setup: &[],
        filled: &[],
        rows: &[
            row("CF.RESERVE new 500000000 WINDOW 12000", "a window, 1 GB"),
            on_window("CF.MEXISTS new 0..1000", "1,000 items", HALF_EXPIRED),
            on_window(
                "CF.ADD new a",
                "the first addition after half of the panes expired",
                HALF_EXPIRED,
            ),
            on_window(
                "CF.INSERT new ITEMS 0..1000",
                "1,000 items, the first additions after half of the panes expired",
                HALF_EXPIRED,
            ),
            row(
                "CF.INSERT copy ITEMS equal*1000",
                "a window, 1,000 equal items, which add 249 sub-filters",
            )
            .before(SMALL_WINDOW)
            .leaves(&[("Number of filters", 250)]),
            on_window("CF.DEL new 1", "", HALF_EXPIRED),
            on_window(
                "CF.COMPACT new",
                "after half of the panes expired",
                HALF_EXPIRED,
            ),
            on_window("CF.INFO new", "", HALF_EXPIRED),
            on_window("SKETCH.WINDOW new", "", FULL_WINDOW),
            on_window(
                "SKETCH.ADVANCE new pane:new+20",
                "all panes expire",
                FULL_WINDOW,
            ),
            row(
                "SKETCH.ADVANCE copy pane:copy+20",
                "a window of 2,000 sub-filters, all of which expire",
            )
            .before(MANY_SUB_FILTERS),
        ],
    },
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
        write: |key, n| format!("CF.INSERT {key} ITEMS {}", numbers(n, 10)),
    },
    ..FAMILY
};

fn window_memory_cases() -> Vec<MemoryCase> {
    let mut cases = vec![equal(&[window!("CF.RESERVE KEY 1000 BUCKETSIZE 5")])];
    for items in [10, 50, 100, 300, 1000] {
        let items = format!("CF.INSERT KEY ITEMS 0..{items}");
        cases.extend([
            equal(&[window!("CF.RESERVE KEY 16 EXPANSION 1"), &items]),
            equal(&[
                window!("CF.RESERVE KEY 16 EXPANSION 2 BUCKETSIZE 3"),
                &items,
            ]),
            // Most sub-filters are removed.
            equal(&[
                window!("CF.RESERVE KEY 16"),
                &items,
                "each:CF.DEL KEY 0..900",
                "CF.COMPACT KEY",
            ]),
        ]);
    }
    cases
}

fn memory_cases() -> Vec<MemoryCase> {
    let mut cases = vec![
        equal(&["CF.RESERVE KEY 1000 BUCKETSIZE 5"]),
        equal(&["CF.ADD KEY a"]),
    ];
    for items in [10, 50, 100, 300, 1000] {
        let items = format!("CF.INSERT KEY ITEMS 0..{items}");
        cases.extend([
            equal(&["CF.RESERVE KEY 16 EXPANSION 1", &items]),
            equal(&["CF.RESERVE KEY 16 EXPANSION 2 BUCKETSIZE 3", &items]),
            // Most sub-filters are removed.
            equal(&[
                "CF.RESERVE KEY 16",
                &items,
                "each:CF.DEL KEY 0..900",
                "CF.COMPACT KEY",
            ]),
        ]);
    }
    cases
}
