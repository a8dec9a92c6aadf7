//! t-digests.

use super::{
    ACCESS_UPDATE, Comparison, DELETE, Defrag, Family, Fill, Growth, INSERT, Memory, MemoryCase,
    Merge, NumberSet, RandomCommands, Refusal, Usage, at_most, equal, first_windowed, growth,
    numbers, with_command, write,
};
use crate::workload::{Command, Random, words};

/// Merges a digest with itself until it has 64 times its samples.
const MERGE_64_TIMES: &str = "TDIGEST.MERGE KEY 63 \
     KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY \
     KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY \
     KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY";
const ADD: &str = "TDIGEST.ADD KEY 3 1 4 1.5 9 2.6 5 3.5 8 -9.7 9 3.2 3 8.4 -6 2.6 4 3.3 8 3 27.9 5 0 -2.8 84 1e-9 71";
const CREATE: &[&str] = &["TDIGEST.CREATE KEY COMPRESSION 1000"];

const NUMBERS: NumberSet = NumberSet {
    // The smallest number has rank 0, and all above it have a higher rank.
    create: &["TDIGEST.CREATE KEY", "TDIGEST.ADD KEY 0"],
    add: "TDIGEST.ADD KEY N",
    test: "TDIGEST.RANK KEY N",
    count: ("TDIGEST.INFO KEY", "Observations"),
};

/// The growths of a key that this command creates.
const fn growths(create: &'static [&'static str]) -> [Growth; 3] {
    [
        growth(create, "TDIGEST.ADD KEY ITEMS", 1, Refusal::Command),
        growth(create, "TDIGEST.ADD KEY ITEMS", 100, Refusal::Command),
        growth(create, "TDIGEST.ADD KEY ITEMS", 7000, Refusal::Command),
    ]
}

pub const FAMILY: Family = Family {
    name: "tdigest",
    has_window: false,
    type_name: "TDIS-TYPE",
    encoding_version: 0,
    prefix: "tdigest",
    category: "tdigest",
    info_prefix: "bf_tdigest_",
    page: "docs/families/t-digest.md",

    read_commands: "min max quantile cdf rank revrank byrank byrevrank trimmed_mean info scandump",
    write_commands: &[
        write("create", INSERT, "hsetnx", ""),
        write("add", INSERT, "rpush", "6.25"),
        write("loadchunk", INSERT, "hsetnx", "1 x"),
        write("reset", DELETE, "ltrim", ""),
        write("merge", ACCESS_UPDATE, "pfmerge", "1 SOURCE"),
    ],
    since: "2.4.0",
    since_exceptions: &[],
    added_commands: &["scandump", "loadchunk"],
    settings: &[],

    build: &[
        "TDIGEST.CREATE KEY COMPRESSION 20",
        ADD,
        // Merges neighboring nodes. A second merge has no effect.
        "TDIGEST.MERGE KEY 1 KEY OVERRIDE",
    ],
    reads: &[
        "TDIGEST.QUANTILE KEY 0 0.1 0.25 0.5 0.77 0.99 1",
        "TDIGEST.CDF KEY -10 -6 0 3 3.1 30 99",
        "TDIGEST.RANK KEY 0 3 9",
        "TDIGEST.BYREVRANK KEY 0 2 7",
        "TDIGEST.TRIMMED_MEAN KEY 0.1 0.8",
        "TDIGEST.MIN KEY",
        "TDIGEST.MAX KEY",
        "TDIGEST.SCANDUMP KEY 0",
        "SKETCH.ACCURACY KEY",
    ],
    change: ("TDIGEST.ADD KEY 6.25", "tdigest.add"),
    idle: &["TDIGEST.MERGE KEY 1 KEY OVERRIDE"],
    // The memory usage is proportional to the number of samples.
    build_large: &[
        "TDIGEST.CREATE KEY COMPRESSION 4000000",
        ADD,
        MERGE_64_TIMES,
        MERGE_64_TIMES,
        "TDIGEST.MERGE KEY 3 KEY KEY KEY",
    ],
    reserve_huge: None,
    reserve_large: "TDIGEST.CREATE KEY COMPRESSION 100000",
    fill: Fill::Numbers("TDIGEST.ADD KEY"),

    creations: &[
        "TDIGEST.CREATE KEY",
        "TDIGEST.MERGE KEY 1 SOURCE",
        "TDIGEST.MERGE KEY 2 SOURCE SOURCE OVERRIDE",
    ],
    growths: &growths(CREATE),
    merge: Some(Merge {
        create: "TDIGEST.CREATE KEY",
        missing_source: "-ERR T-Digest: key does not exist",
    }),
    stored_kinds: &["integer", "double"],
    has_no_chunks_when_empty: false,
    recorded: Some(Comparison::Close),
    memory: Memory {
        after_build: Usage::Equal,
        // Reads create the compressed form, which is kept.
        after_reads: Usage::AtMost,
        cases: memory_cases,
        change: Some("each:TDIGEST.ADD KEY 9000..9100"),
    },

    random: RandomCommands {
        create: |random, key| {
            let compression = random.pick(&["100", "10", "37"]);
            words(&format!("TDIGEST.CREATE {key} COMPRESSION {compression}"))
        },
        // Digests are reset more often than merged; otherwise the total weight would reach its maximum, 2^63 - 1.
        write: |random, key, other| match random.below(20) {
            0 => words(&format!("TDIGEST.MERGE {key} 1 {other}")),
            1 => words(&format!(
                "TDIGEST.MERGE {key} 2 {key} {other} OVERRIDE COMPRESSION 50"
            )),
            2..5 => words(&format!("TDIGEST.RESET {key}")),
            _ => random_samples(random, key),
        },
    },
    numbers: Some(NUMBERS),
    uses: &[
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
        "TDIGEST.RESET K2",
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
    handler: ("TDIGEST.MERGE SOURCE 1 SOURCE OVERRIDE", "+OK"),
    defrag: Defrag {
        create: |key, n| {
            vec![
                format!("TDIGEST.CREATE {key}"),
                format!("TDIGEST.ADD {key} {}", numbers(n, 20 + n % 700)),
                // Keeps the compressed form in separate blocks.
                format!("TDIGEST.QUANTILE {key} 0.5"),
            ]
        },
        write: |key, n| format!("TDIGEST.ADD {key} {}", numbers(n, 5)),
    },
};

fn random_samples(random: &mut Random, key: &str) -> Command {
    let mut command = words(&format!("TDIGEST.ADD {key}"));
    for _ in 0..=random.below(30) {
        let value = random.below(1 << 30) as f64 / 1024.0 - 1e5;
        command.push(value.to_string().into_bytes());
    }
    command
}

const CREATE_WINDOW: &[&str] = &[seedless_window!("TDIGEST.CREATE KEY COMPRESSION 1000")];

/// The arguments of one command with more samples would count as memory of the client.
const BUILD_LARGE_WINDOW: [&str; 41] = {
    let mut commands = ["TDIGEST.ADD KEY 0..10000"; 41];
    commands[0] = seedless_window!("TDIGEST.CREATE KEY COMPRESSION 100000");
    commands
};

pub const WINDOW: Family = Family {
    name: "tdigest-window",
    has_window: true,
    type_name: "td-window",
    stored_kinds: &["integer", "double", "bytes"],
    encoding_version: 3,
    info_prefix: "bf_tdigest_window_",

    build: &[seedless_window!("TDIGEST.CREATE KEY COMPRESSION 20"), ADD],
    reads: &with_command::<{ FAMILY.reads.len() + 1 }>(FAMILY.reads, "SKETCH.WINDOW KEY"),
    idle: &["SKETCH.ADVANCE KEY 1"],
    build_large: &BUILD_LARGE_WINDOW,
    reserve_large: seedless_window!("TDIGEST.CREATE KEY COMPRESSION 100000"),

    creations: &[
        seedless_window!("TDIGEST.CREATE KEY"),
        seedless_window!("TDIGEST.CREATE KEY COMPRESSION 1000"),
    ],
    growths: &growths(CREATE_WINDOW),
    // A digest with a window can be a source only.
    merge: None,
    recorded: None,
    memory: Memory {
        cases: || cases_with(seedless_window!("")),
        ..FAMILY.memory
    },

    random: RandomCommands {
        create: |random, key| {
            [
                (FAMILY.random.create)(random, key),
                words(seedless_window!("").trim_start()),
            ]
            .concat()
        },
        // If the destination is missing, the merge creates a digest without a window.
        write: |random, key, other| match random.below(20) {
            0 => words(&format!("TDIGEST.MERGE {key} 1 {other} OVERRIDE")),
            1..4 => words(&format!("TDIGEST.RESET {key}")),
            _ => random_samples(random, key),
        },
    },
    numbers: Some(NumberSet {
        create: &[seedless_window!("TDIGEST.CREATE KEY"), "TDIGEST.ADD KEY 0"],
        ..NUMBERS
    }),
    sizes: &[
        "TDIGEST.CREATE K COMPRESSION * WINDOW 1000",
        "TDIGEST.CREATE K COMPRESSION * WINDOW 1000 PANES 1000",
        "TDIGEST.CREATE K WINDOW *",
        "TDIGEST.CREATE K WINDOW 315360000000 PANES *",
        "TDIGEST.ADD K *",
        "TDIGEST.MERGE K2 * K",
        "TDIGEST.MERGE K2 1 K COMPRESSION *",
        "TDIGEST.BYRANK K *",
        "TDIGEST.BYREVRANK K *",
        "TDIGEST.RANK K *",
        "TDIGEST.REVRANK K *",
        "TDIGEST.CDF K *",
        "TDIGEST.QUANTILE K *",
        "TDIGEST.TRIMMED_MEAN K * *",
        "TDIGEST.SCANDUMP K *",
        "TDIGEST.LOADCHUNK K * abcdefgh",
        "SKETCH.ADVANCE K *",
    ],
    handler: ("TDIGEST.ADD SOURCE 1", "+OK"),
    defrag: Defrag {
        create: |key, n| first_windowed((FAMILY.defrag.create)(key, n), seedless_window!("")),
        write: FAMILY.defrag.write,
    },
    ..FAMILY
};

const NUMBERS_OF_SAMPLES: [u64; 20] = [
    1, 2, 3, 4, 5, 100, 127, 128, 129, 500, 608, 609, 610, 611, 650, 700, 1217, 1218, 1219, 5000,
];

fn memory_cases() -> Vec<MemoryCase> {
    let mut cases = cases_with("");
    for samples in NUMBERS_OF_SAMPLES {
        let merge = [
            "TDIGEST.CREATE KEY{2}",
            &format!("TDIGEST.ADD KEY{{2}} 0..{samples}"),
            "TDIGEST.MERGE KEY 2 KEY{2} KEY{2}",
        ];
        let add = format!("TDIGEST.ADD KEY 0..{samples}");
        cases.extend([equal(&merge), equal(&[&merge[..], &[&add]].concat())]);
    }
    // Centroids and samples with equal means.
    cases.push(equal(&[
        "TDIGEST.CREATE KEY COMPRESSION 5",
        "each:TDIGEST.ADD KEY 7 7 -0.0 0 7 3 0..40",
        "TDIGEST.ADD KEY 7 0 -0",
    ]));
    cases
}

/// The keys of both types, with this window.
fn cases_with(window: &str) -> Vec<MemoryCase> {
    let [create, create_20, create_1000] = ["", " COMPRESSION 20", " COMPRESSION 1000"]
        .map(|compression| format!("TDIGEST.CREATE KEY{compression}{window}"));
    let create = create.as_str();
    let mut cases = vec![equal(&[create])];
    for samples in NUMBERS_OF_SAMPLES {
        let add = &format!("TDIGEST.ADD KEY 0..{samples}");
        cases.extend([
            equal(&[create, add]),
            equal(&[create, &format!("each:{add}")]),
            equal(&[create, add, "TDIGEST.MIN KEY", "TDIGEST.MAX KEY"]),
            at_most(&[create, add, "TDIGEST.QUANTILE KEY 0.5"]),
            equal(&[&create_20, add, add]),
            equal(&[&create_1000, add, "TDIGEST.ADD KEY 5 5 5 5"]),
            equal(&[create, add, "TDIGEST.RESET KEY"]),
        ]);
    }
    cases
}
