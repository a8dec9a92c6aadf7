//! Count-min sketches.

use super::Refusal::Element;
use super::{
    ACCESS_UPDATE, Comparison, Defrag, Family, Fill, INSERT, Memory, MemoryCase, Merge, NumberSet,
    RandomCommands, UPDATE, Usage, equal, first_windowed, growth, windowed, with_command, write,
};
use crate::workload::{Command, Random, with_items, words};

const NUMBERS: NumberSet = NumberSet {
    create: &["CMS.INITBYDIM KEY 2000 5"],
    add: "CMS.INCRBY KEY N 1",
    test: "CMS.QUERY KEY N",
    count: ("CMS.INFO KEY", "count"),
};

pub const FAMILY: Family = Family {
    name: "cms",
    has_window: false,
    type_name: "CMSk-TYPE",
    encoding_version: 0,
    prefix: "cms",
    category: "cms",
    info_prefix: "bf_cms_",
    page: "docs/families/count-min-sketch.md",

    read_commands: "query info scandump",
    write_commands: &[
        write("initbydim", INSERT, "hsetnx", "10 2"),
        write("initbyprob", INSERT, "hsetnx", "0.1 0.1"),
        write("loadchunk", UPDATE, "setrange", "1 x"),
        write("incrby", ACCESS_UPDATE, "hincrby", "NEW 0"),
        write("incrbylimit", ACCESS_UPDATE, "hincrby", "1000 NEW 0"),
        write("merge", ACCESS_UPDATE, "pfmerge", "1 SOURCE"),
    ],
    since: "2.0.0",
    since_exceptions: &[],
    added_commands: &["incrbylimit", "scandump", "loadchunk"],
    settings: &[],

    build: &[
        "CMS.INITBYPROB KEY 0.01 0.02 CELL_SIZE 2",
        "CMS.INCRBY KEY a 1 b 2 c 3 d 4000 e 65535 f 1 g 1",
        "CMS.INCRBY KEY a -1 b 5",
        "CMS.MERGE KEY 2 KEY KEY WEIGHTS 3 -2",
    ],
    reads: &[
        "CMS.INFO KEY",
        "CMS.QUERY KEY a b c d e f g nothing 1 2 3",
        "CMS.SCANDUMP KEY 0",
        "CMS.SCANDUMP KEY 1",
        "SKETCH.ACCURACY KEY",
    ],
    change: ("CMS.INCRBY KEY NEW 1", "cms.incrby"),
    idle: &[
        "CMS.INCRBY KEY a 0 b 0",
        "CMS.INCRBY KEY e 65535 nothing -1",
        "CMS.INCRBYLIMIT KEY 3 d 1 NEW 4 b 0 a 0",
        "CMS.MERGE KEY 1 KEY",
        "CMS.MERGE KEY 2 KEY KEY WEIGHTS 5 -4",
    ],
    build_large: &["CMS.INITBYDIM KEY 200000 7", "CMS.INCRBY KEY a 1"],
    reserve_huge: Some(("CMS.INITBYDIM KEY 268435456 1", 64)),
    reserve_large: "CMS.INITBYDIM KEY 1048576 10",
    // Small counters, far from their maximum.
    fill: Fill::Chunks(|bytes| {
        let highest = bytes.iter_mut().skip(3).step_by(4);
        highest.for_each(|byte| *byte = 0);
    }),

    creations: &["CMS.INITBYDIM KEY 1000 5", "CMS.INITBYPROB KEY 0.01 0.01"],
    growths: &[],
    merge: Some(Merge {
        create: "CMS.INITBYDIM KEY 10 2",
        missing_source: "-CMS: key does not exist",
    }),
    stored_kinds: &["integer", "bytes"],
    has_no_chunks_when_empty: false,
    recorded: Some(Comparison::Exact),
    memory: Memory {
        after_build: Usage::Equal,
        after_reads: Usage::Equal,
        cases: || cases_with(""),
        change: Some("each:CMS.INCRBY KEY a 1..30"),
    },

    random: RandomCommands {
        create: |random, key| {
            let shape = random.pick(&[
                "INITBYDIM KEY 60 4",
                "INITBYDIM KEY 60 4 CELL_SIZE 8",
                "INITBYPROB KEY 0.02 0.1",
            ]);
            words(&format!("CMS.{}", shape.replace("KEY", key)))
        },
        write: |random, key, other| random_write(random, key, other, -100),
    },
    numbers: Some(NUMBERS),
    uses: &[
        "CMS.INCRBY K w1 5 a 4294967295 a 9223372036854775807",
        "CMS.INCRBY K a -1 nothing -9223372036854775808",
        "CMS.INCRBYLIMIT K 9223372036854775807 w1 5 a 9223372036854775807 nothing 0",
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
        "CMS.INCRBYLIMIT K * a 1",
        "CMS.INCRBYLIMIT K 5 a *",
        "CMS.MERGE K * K",
        "CMS.MERGE K 1 K WEIGHTS *",
        "CMS.SCANDUMP K *",
        "CMS.LOADCHUNK K * abcdefgh",
    ],
    handler: ("CMS.INCRBY SOURCE nothing 0", "*1 :0"),
    defrag: Defrag {
        create: |key, n| {
            vec![
                format!("CMS.INITBYDIM {key} {} 4", 20 + n % 500),
                format!("CMS.INCRBY {key} a {n} b 7 c 9"),
            ]
        },
        write: |key, n| format!("CMS.INCRBY {key} {n} 5 a 1"),
    },
};

/// A random write whose increments are at least `least`.
fn random_write(random: &mut Random, key: &str, other: &str, least: i64) -> Command {
    match random.below(8) {
        0 => words(&format!("CMS.MERGE {key} 2 {key} {other} WEIGHTS 1 2")),
        1 => words(&format!("CMS.MERGE {key} 1 {other}")),
        2..4 => with_items(&format!("CMS.INCRBYLIMIT {key} 500"), random, |random| {
            Some(random.below(100).to_string())
        }),
        _ => with_items(&format!("CMS.INCRBY {key}"), random, |random| {
            Some((random.below(1000) as i64 + least).to_string())
        }),
    }
}

/// Increments of 4,097 items: more than a pane can have without an array.
const MANY_INCREMENTS: &str = {
    const ITEMS: usize = 4097;
    const COMMAND: &[u8] = b"CMS.INCRBY KEY";
    const PAIR: &[u8] = b" 0000 1";
    static BYTES: [u8; COMMAND.len() + ITEMS * PAIR.len()] = {
        let mut bytes = [0; COMMAND.len() + ITEMS * PAIR.len()];
        let mut at = 0;
        while at < bytes.len() {
            bytes[at] = match at.checked_sub(COMMAND.len()) {
                None => COMMAND[at],
                Some(after) => match (after / PAIR.len(), after % PAIR.len()) {
                    (item, place @ 1..=4) => b'a' + (item >> (4 * (place - 1)) & 15) as u8,
                    (_, place) => PAIR[place],
                },
            };
            at += 1;
        }
        bytes
    };
    match str::from_utf8(&BYTES) {
        Ok(command) => command,
        Err(_) => panic!("ASCII"),
    }
};

/// The creation of the key in the growth tests: its first increment takes more than their limit.
const CREATE_WINDOW: &[&str] = &[window!("CMS.INITBYDIM KEY 2600 1")];

const LIMITED_GROWTH: &str = "CMS.INCRBYLIMIT KEY 1000000 PAIRS";

pub const WINDOW: Family = Family {
    name: "cms-window",
    has_window: true,
    type_name: "cmswindow",
    encoding_version: 3,
    info_prefix: "bf_cms_window_",

    build: &[
        window!("CMS.INITBYPROB KEY 0.01 0.02 CELL_SIZE 2"),
        "CMS.INCRBY KEY a 1 b 2 c 3 d 4000 e 65535 f 1 g 1",
        "CMS.INCRBY KEY b 5",
        "CMS.MERGE KEY 2 KEY KEY WEIGHTS 0 1",
    ],
    reads: &with_command::<{ FAMILY.reads.len() + 1 }>(FAMILY.reads, "SKETCH.WINDOW KEY"),
    idle: &[
        "CMS.INCRBY KEY a 0 b 0",
        "CMS.INCRBY KEY e 65535",
        "CMS.INCRBYLIMIT KEY 3 d 1 NEW 4 b 0 a 0",
        "CMS.MERGE KEY 1 KEY",
        "CMS.MERGE KEY 2 KEY KEY WEIGHTS 1 0",
        "SKETCH.ADVANCE KEY 1",
    ],
    build_large: &[window!("CMS.INITBYDIM KEY 200000 7"), MANY_INCREMENTS],
    reserve_huge: None,
    reserve_large: window!("CMS.INITBYDIM KEY 262144 10 CELL_SIZE 8"),
    // Only arrays are stored as bytes, and `build` makes none.
    stored_kinds: &["integer"],
    fill: Fill::Numbers("CMS.INCRBY KEY"),

    creations: &[
        window!("CMS.INITBYDIM KEY 1000 5"),
        window!("CMS.INITBYPROB KEY 0.01 0.01 CELL_SIZE 8"),
    ],
    growths: &[
        growth(CREATE_WINDOW, "CMS.INCRBY KEY PAIRS", 1, Element),
        growth(CREATE_WINDOW, "CMS.INCRBY KEY PAIRS", 100, Element),
        growth(CREATE_WINDOW, LIMITED_GROWTH, 1, Element),
        growth(CREATE_WINDOW, LIMITED_GROWTH, 100, Element),
    ],
    merge: Some(Merge {
        create: window!("CMS.INITBYDIM KEY 10 2"),
        missing_source: "-CMS: key does not exist",
    }),
    recorded: None,
    memory: Memory {
        cases: window_memory_cases,
        ..FAMILY.memory
    },

    random: RandomCommands {
        create: |random, key| windowed((FAMILY.random.create)(random, key)),
        write: |random, key, other| random_write(random, key, other, 0),
    },
    numbers: Some(NumberSet {
        create: &[window!("CMS.INITBYDIM KEY 2000 5")],
        ..NUMBERS
    }),
    sizes: &[
        "CMS.INITBYDIM K * 1 WINDOW 1000",
        "CMS.INITBYDIM K 1 * WINDOW 1000 PANES 1000",
        "CMS.INITBYDIM K * * WINDOW 1000",
        "CMS.INITBYDIM K 10 2 CELL_SIZE * WINDOW 1000",
        "CMS.INITBYDIM K 10 2 WINDOW *",
        "CMS.INITBYDIM K 10 2 WINDOW 315360000000 PANES *",
        "CMS.INITBYPROB K * 0.01 WINDOW 1000",
        "CMS.INITBYPROB K 0.01 * WINDOW 1000",
        "CMS.INITBYPROB K 1e-300 0.01 WINDOW 1000",
        "CMS.INCRBY K a *",
        "CMS.INCRBYLIMIT K * a 1",
        "CMS.INCRBYLIMIT K 5 a *",
        "CMS.MERGE K * K",
        "CMS.MERGE K 1 K WEIGHTS *",
        "CMS.SCANDUMP K *",
        "CMS.LOADCHUNK K * abcdefgh",
        "SKETCH.ADVANCE K *",
    ],
    defrag: Defrag {
        create: |key, n| first_windowed((FAMILY.defrag.create)(key, n), window!("")),
        ..FAMILY.defrag
    },
    ..FAMILY
};

fn window_memory_cases() -> Vec<MemoryCase> {
    let mut cases = cases_with(window!(""));
    for cell_size in [1, 2, 4, 8] {
        let create = format!(window!("CMS.INITBYDIM KEY 101 3 CELL_SIZE {}"), cell_size);
        cases.push(equal(&[&create, "CMS.INCRBY KEY a 0"]));
    }
    // A merge that removes all counts.
    cases.push(equal(&[
        window!("CMS.INITBYDIM KEY 101 3"),
        "CMS.INCRBY KEY a 3",
        "CMS.MERGE KEY 1 KEY WEIGHTS 0",
    ]));
    cases
}

/// The keys of both types, with this window.
fn cases_with(window: &str) -> Vec<MemoryCase> {
    let mut cases = Vec::new();
    for cell_size in [1, 2, 4, 8] {
        let create = format!("CMS.INITBYDIM KEY 101 3 CELL_SIZE {cell_size}{window}");
        cases.push(equal(&[&create]));
        cases.push(equal(&[&create, "each:CMS.INCRBY KEY a 0..20"]));
    }
    cases.push(equal(&[
        &format!("CMS.INITBYPROB KEY 0.001 0.01{window}"),
        "CMS.INCRBY KEY a 3",
        "CMS.MERGE KEY 2 KEY KEY",
    ]));
    cases
}
