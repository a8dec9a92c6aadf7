//! Top-k sketches.

use super::Refusal::Element;
use super::{
    ACCESS_UPDATE, Comparison, Defrag, Family, Fill, Growth, INSERT, Memory, MemoryCase,
    RandomCommands, UPDATE, Usage, at_most, equal, first_windowed, growth, long_items, memory_case,
    numbers, windowed, with_command, write,
};
use crate::workload::{with_items, words};

const CREATE: &[&str] = &["TOPK.RESERVE KEY 1000 10 5 0.9"];

/// The growths of a key that this command creates.
const fn growths(create: &'static [&'static str]) -> [Growth; 3] {
    [
        growth(create, "TOPK.ADD KEY ITEMS", 1, Element),
        growth(create, "TOPK.ADD KEY ITEMS", 100, Element),
        growth(create, "TOPK.INCRBY KEY PAIRS", 10, Element),
    ]
}

pub const FAMILY: Family = Family {
    name: "topk",
    has_window: false,
    type_name: "TopK-TYPE",
    encoding_version: 0,
    prefix: "topk",
    category: "topk",
    info_prefix: "bf_topk_",
    page: "docs/families/top-k.md",

    read_commands: "query count list info scandump",
    write_commands: &[
        write("reserve", INSERT, "hsetnx", "5"),
        write("loadchunk", UPDATE, "setrange", "1 x"),
        write("add", ACCESS_UPDATE, "zincrby", "NEW"),
        write("incrby", ACCESS_UPDATE, "zincrby", "NEW 100000"),
    ],
    since: "2.0.0",
    since_exceptions: &[],
    added_commands: &["scandump", "loadchunk"],
    settings: &[],

    // So small that items share buckets, which decay randomly.
    build: &[
        "TOPK.RESERVE KEY 5 3 2 0.9",
        "TOPK.ADD KEY a b c d e f g h i j k l m n o p q r s t u v w x y z",
        "TOPK.INCRBY KEY a 30 b 20 c 9 d 7 e 0 f 12",
    ],
    reads: &[
        "TOPK.LIST KEY WITHCOUNT",
        "TOPK.QUERY KEY a b z nothing",
        "TOPK.COUNT KEY a b c d e f z nothing",
        "TOPK.INFO KEY",
        "TOPK.SCANDUMP KEY 0",
        "TOPK.SCANDUMP KEY 1",
        "SKETCH.ACCURACY KEY",
    ],
    change: ("TOPK.ADD KEY NEW", "topk.add"),
    idle: &["TOPK.INCRBY KEY a 0", "TOPK.INCRBY KEY b x c 5"],
    build_large: &["TOPK.RESERVE KEY 1000 200000 3 0.9", "TOPK.ADD KEY a"],
    reserve_huge: Some(("TOPK.RESERVE KEY 10 16777216 1 0.9", 8)),
    reserve_large: "TOPK.RESERVE KEY 100 524288 10 0.9",
    fill: Fill::Numbers("TOPK.ADD KEY"),

    creations: &["TOPK.RESERVE KEY 10", "TOPK.RESERVE KEY 10 1000 7 0.9"],
    growths: &growths(CREATE),
    merge: None,
    stored_kinds: &["integer", "double", "bytes"],
    has_no_chunks_when_empty: false,
    recorded: Some(Comparison::ExactExceptPointers),
    memory: Memory {
        // Items enter and leave the list.
        after_build: Usage::AtMost,
        after_reads: Usage::AtMost,
        cases: memory_cases,
        change: Some("each:TOPK.ADD KEY 9000..9006"),
    },

    random: RandomCommands {
        create: |random, key| {
            let shape = random.pick(&["3", "10 20 3 0.9", "50 8 7 0.5", "5 4 2 1"]);
            words(&format!("TOPK.RESERVE {key} {shape}"))
        },
        write: |random, key, _| match random.below(2) {
            0 => with_items(&format!("TOPK.ADD {key}"), random, |_| None),
            _ => with_items(&format!("TOPK.INCRBY {key}"), random, |random| {
                Some(random.below(300).to_string())
            }),
        },
    },
    numbers: None,
    uses: &[
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
    handler: ("TOPK.QUERY SOURCE nothing", "*1 :0"),
    defrag: Defrag {
        create: |key, n| {
            vec![
                format!("TOPK.RESERVE {key} 20 {} 4 0.9", 8 + n % 400),
                format!("TOPK.ADD {key} {}", long_items(n, 100)),
            ]
        },
        write: |key, n| format!("TOPK.ADD {key} {}", numbers(n, 10)),
    },
};

const CREATE_WINDOW: &[&str] = &[window!("TOPK.RESERVE KEY 200 10 5 0.9")];

pub const WINDOW: Family = Family {
    name: "topk-window",
    has_window: true,
    type_name: "tk-window",
    encoding_version: 4,
    info_prefix: "bf_topk_window_",

    build: &[
        window!("TOPK.RESERVE KEY 5 3 2 0.9"),
        FAMILY.build[1],
        FAMILY.build[2],
    ],
    reads: &with_command::<{ FAMILY.reads.len() + 1 }>(FAMILY.reads, "SKETCH.WINDOW KEY"),
    idle: &with_command::<{ FAMILY.idle.len() + 1 }>(FAMILY.idle, "SKETCH.ADVANCE KEY 1"),
    build_large: &[
        window!("TOPK.RESERVE KEY 1000 200000 3 0.9"),
        "TOPK.ADD KEY a",
    ],
    reserve_huge: None,
    reserve_large: window!("TOPK.RESERVE KEY 100 524288 10 0.9"),

    creations: &[
        window!("TOPK.RESERVE KEY 10"),
        window!("TOPK.RESERVE KEY 10 1000 7 0.9"),
    ],
    growths: &growths(CREATE_WINDOW),
    recorded: None,
    memory: Memory {
        cases: window_memory_cases,
        ..FAMILY.memory
    },

    random: RandomCommands {
        create: |random, key| windowed((FAMILY.random.create)(random, key)),
        write: FAMILY.random.write,
    },
    sizes: &[
        "TOPK.RESERVE K * WINDOW 1000",
        "TOPK.RESERVE K * 8 7 0.9 WINDOW 1000 PANES 1000",
        "TOPK.RESERVE K 10 * 7 0.9 WINDOW 1000",
        "TOPK.RESERVE K 10 8 * 0.9 WINDOW 1000",
        "TOPK.RESERVE K * * * 0.9 WINDOW 1000",
        "TOPK.RESERVE K 10 8 7 * WINDOW 1000",
        "TOPK.RESERVE K 10 WINDOW *",
        "TOPK.RESERVE K 10 WINDOW 315360000000 PANES *",
        "TOPK.INCRBY K a *",
        "TOPK.SCANDUMP K *",
        "TOPK.LOADCHUNK K * abcdefgh",
        "SKETCH.ADVANCE K *",
    ],
    defrag: Defrag {
        create: |key, n| first_windowed((FAMILY.defrag.create)(key, n), window!("")),
        write: FAMILY.defrag.write,
    },
    ..FAMILY
};

fn window_memory_cases() -> Vec<MemoryCase> {
    let mut cases = cases_with(window!(""), 500, Usage::AtMost);
    let long = format!("TOPK.INCRBY KEY {} 5 short 3", "x".repeat(3000));
    cases.push(at_most(&[
        window!("TOPK.RESERVE KEY 2 50 4 0.9"),
        &long,
        "TOPK.ADD KEY 0..100",
        "TOPK.INCRBY KEY b 9 c 9 d 9",
        "TOPK.LIST KEY WITHCOUNT",
    ]));
    cases
}

fn memory_cases() -> Vec<MemoryCase> {
    let mut cases = cases_with("", 5000, Usage::Equal);
    let long = format!("TOPK.INCRBY KEY {} 5 short 3", "x".repeat(3000));
    cases.push(at_most(&[
        "TOPK.RESERVE KEY 3 50 4 0.9",
        &long,
        "TOPK.ADD KEY 0..100",
        "TOPK.INCRBY KEY b 9 c 9 d 9",
    ]));
    cases.push(at_most(&[
        "TOPK.RESERVE KEY 2 50 4 0.9",
        &long,
        "TOPK.LIST KEY WITHCOUNT",
        "TOPK.QUERY KEY short",
    ]));
    cases
}

/// The keys of both types, with this window and up to this k. A list that is not full has this usage.
fn cases_with(window: &str, largest: u64, not_full: Usage) -> Vec<MemoryCase> {
    let mut cases = vec![equal(&[&format!("TOPK.RESERVE KEY 10{window}")])];
    for k in [1, 3, 4, 6, 50, largest] {
        let create = format!("TOPK.RESERVE KEY {k} 200 4 0.9{window}");
        for items in [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 100] {
            // The second time, the items are present and need no memory. A full list keeps a buffer for the next
            // item.
            let usage = if items < k { not_full } else { Usage::AtMost };
            let add = format!("TOPK.ADD KEY 0..{items}");
            cases.push(memory_case(usage, &[&create, &add, &add]));
            cases.push(memory_case(usage, &[&create, &format!("each:{add}")]));
        }
    }
    cases
}
