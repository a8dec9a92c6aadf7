//! Top-k sketches.

use super::bounds::MAX_UNLIMITED_ROWS;
use super::keys::{
    Axis, Filled, LEVELS, Largest, MAX, MAX_ROWS_OF_LONG_ITEM, Sizes, additions, axis, item,
    live_panes, units, window,
};
use super::types::Type;
use crate::workload::{Command, words};

const DEPTH: Axis = axis(
    "depth",
    1,
    &[MAX_UNLIMITED_ROWS, MAX_ROWS_OF_LONG_ITEM, MAX],
);
const DECAY: Axis = axis(
    "decay in millionths",
    1,
    &[900_000, 992_000, 999_999, 1_000_000],
);
/// Up to this k, a look-up in the list uses fingerprints.
const MAX_FINGERPRINTS: u64 = 4096;

/// A list of k items, which the keys of [`list_bytes`] have room for.
fn list(sizes: &Sizes) -> String {
    let (k, depth) = (sizes["k"], sizes["depth"]);
    format!("TOPK.RESERVE KEY {k} {k} {depth} 0.9")
}

fn list_bytes(sizes: &Sizes) -> f64 {
    sizes["k"] as f64 * (150.0 + 8.0 * sizes["depth"] as f64)
}

/// Buckets that all items share, so that each increment decrements the counts of others.
fn shared_buckets(sizes: &Sizes) -> String {
    let decay = sizes[DECAY.name] as f64 / 1e6;
    format!("TOPK.RESERVE KEY 10 1 {} {decay}", sizes["depth"])
}

pub const CLASSIC: Type = Type {
    name: "topk",
    calls: &[
        "TOPK.RESERVE new 100000 13421772 10 0.9",
        "TOPK.ADD KEY ITEMS",
        "TOPK.INCRBY KEY PAIRS",
        "TOPK.QUERY KEY ITEMS",
        "TOPK.COUNT KEY ITEMS",
        "TOPK.LIST KEY WITHCOUNT",
        "TOPK.INFO KEY",
        "TOPK.SCANDUMP KEY 0",
        "TOPK.SCANDUMP KEY 1",
        "TOPK.LOADCHUNK new HEADER",
        "TOPK.LOADCHUNK KEY CHUNK",
    ],
    not_applicable: &[],
    refusals: &[("topk.", "TopK: too much work for the depth of the sketch")],
    keeps_results: false,
    counted: |window| {
        let create = format!("TOPK.RESERVE KEY 1000 50000 5 0.9{window}");
        [
            vec![words(&create)],
            additions("TOPK.ADD KEY", 0, 100_000, |_| None),
        ]
        .concat()
    },
    keys: &[
        Largest {
            filled: Filled::All,
            axes: &[DEPTH, axis("k", 1, &[MAX, MAX_FINGERPRINTS])],
            bytes: list_bytes,
            create: |sizes| words(&list(sizes)),
            fill: |sizes, pane| {
                additions("TOPK.INCRBY KEY", pane, sizes["k"], |number| {
                    Some(1 + number * 7919 % 1000)
                })
            },
        },
        Largest {
            filled: Filled::All,
            axes: &[DECAY, DEPTH],
            bytes: |sizes| 8.0 * sizes["depth"] as f64,
            create: |sizes| words(&shared_buckets(sizes)),
            fill: |_, pane| additions("TOPK.INCRBY KEY", pane, 3, |_| Some(100_000)),
        },
    ],
};

const LIST_AXES: &[Axis] = &[
    DEPTH,
    axis("panes", 1, &[MAX]),
    axis("k", 1, &[MAX, MAX_FINGERPRINTS]),
];

fn list_with_window(sizes: &Sizes) -> Command {
    words(&format!("{}{}", list(sizes), window(sizes)))
}

pub const WINDOW: Type = Type {
    name: "topk-window",
    keeps_results: true,
    keys: &[
        Largest {
            filled: Filled::All,
            axes: LIST_AXES,
            bytes: |sizes| list_bytes(sizes) * (sizes["panes"] + 1) as f64,
            create: list_with_window,
            fill: CLASSIC.keys[0].fill,
        },
        Largest {
            filled: Filled::Newest,
            axes: LIST_AXES,
            bytes: list_bytes,
            create: list_with_window,
            fill: CLASSIC.keys[0].fill,
        },
        Largest {
            filled: Filled::All,
            axes: &[DECAY, DEPTH, axis("panes", 1, &[MAX])],
            bytes: |sizes| 8.0 * sizes["depth"] as f64 * (sizes["panes"] + 1) as f64,
            create: |sizes| words(&format!("{}{}", shared_buckets(sizes), window(sizes))),
            // Up to four rows are one bucket, in which four of the items do not decay.
            fill: |_, pane| additions("TOPK.INCRBY KEY", pane, 7, |_| Some(100_000)),
        },
        // The merge of the largest lists. The work limit allows few levels of long lists.
        Largest {
            filled: Filled::All,
            axes: &[
                axis("k", 1, &[MAX]),
                axis("panes", 1, &[6]),
                axis(LEVELS.name, 1, &[4]),
                DEPTH,
            ],
            bytes: |sizes| list_bytes(sizes) * live_panes(sizes) as f64,
            create: list_with_window,
            fill: |sizes, unit| {
                // The merged panes have full lists, too.
                let is_recent = units(sizes) - unit <= 2 * (sizes["panes"] + 1);
                let items = sizes["k"].div_ceil(if is_recent { 1 } else { 4 });
                additions("TOPK.INCRBY KEY", unit, items, |number| {
                    Some(1 + number * 7919 % 1000)
                })
            },
        },
        // The longest items.
        Largest {
            filled: Filled::All,
            axes: &[axis("panes", 1, &[15]), DEPTH],
            bytes: |sizes| (1 << 20) as f64 * (sizes["panes"] + 1) as f64,
            create: |sizes| {
                let depth = sizes["depth"];
                words(&format!(
                    "TOPK.RESERVE KEY 1 1 {depth} 0.9{}",
                    window(sizes)
                ))
            },
            fill: |_, pane| {
                let mut item = item(pane, 0);
                // Room for an item of 1 MiB.
                item.resize(15 << 16, b'x');
                vec![vec![b"TOPK.ADD".to_vec(), b"KEY".to_vec(), item]]
            },
        },
    ],
    ..CLASSIC
};
