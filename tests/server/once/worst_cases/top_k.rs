//! Top-k sketches.

use super::count_min::DEPTH;
use super::keys::{
    Axis, LEVELS, Largest, MAX, PANES, Sizes, additions, axis, in_newest, item, live_panes, units,
    with_sizes,
};
use super::types::Type;
use crate::workload::Command;

const DECAYS: &[u64] = &[900_000, 992_000, 999_999, 1_000_000];
const DECAY: Axis = axis("decay in millionths", 1, DECAYS);
/// Up to this k, a look-up in the list uses fingerprints.
const MAX_FINGERPRINTS: u64 = 4096;
const K: Axis = axis("k", 1, &[MAX, MAX_FINGERPRINTS]);

/// The bytes of a list of k items.
fn list_bytes(sizes: &Sizes) -> f64 {
    sizes["k"] as f64 * (150.0 + 8.0 * sizes["depth"] as f64)
}

fn fill_list(pane: u64, items: u64) -> Vec<Command> {
    let count = |number| Some(1 + number * 7919 % 1000);
    additions("TOPK.INCRBY KEY", pane, items, count)
}

/// Buckets that all items share, so that each increment decrements the counts of others.
fn shared_buckets(sizes: &Sizes, window: &str) -> Command {
    let decay = sizes[DECAY.name] as f64 / 1e6;
    with_sizes(
        &format!("TOPK.RESERVE KEY 10 1 <depth> {decay}{window}"),
        sizes,
    )
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
    create_counted: "TOPK.RESERVE KEY 1000 50000 5 0.9",
    counted: || additions("TOPK.ADD KEY", 0, 100_000, |_| None),
    keys: &[
        Largest {
            axes: &[DEPTH, K],
            bytes: list_bytes,
            create: |sizes| with_sizes("TOPK.RESERVE KEY <k> <k> <depth> 0.9", sizes),
            fill: |sizes, pane| fill_list(pane, sizes["k"]),
        },
        Largest {
            axes: &[DECAY, DEPTH],
            bytes: |sizes| 8.0 * sizes["depth"] as f64,
            create: |sizes| shared_buckets(sizes, ""),
            fill: |_, pane| additions("TOPK.INCRBY KEY", pane, 3, |_| Some(100_000)),
        },
    ],
};

const LIST_AXES: &[Axis] = &[DEPTH, PANES, K];

fn list_with_window(sizes: &Sizes) -> Command {
    with_sizes("TOPK.RESERVE KEY <k> <k> <depth> 0.9<window>", sizes)
}

pub const WINDOW: Type = Type {
    name: "topk-window",
    keeps_results: true,
    keys: &[
        Largest {
            axes: LIST_AXES,
            bytes: |sizes| list_bytes(sizes) * (sizes["panes"] + 1) as f64,
            create: list_with_window,
            fill: CLASSIC.keys[0].fill,
        },
        Largest {
            axes: LIST_AXES,
            bytes: list_bytes,
            create: list_with_window,
            fill: |sizes, pane| in_newest(CLASSIC.keys[0].fill, sizes, pane),
        },
        Largest {
            axes: &[DECAY, DEPTH, PANES],
            bytes: |sizes| 8.0 * sizes["depth"] as f64 * (sizes["panes"] + 1) as f64,
            create: |sizes| shared_buckets(sizes, "<window>"),
            // Up to four rows are one bucket, in which four of the items do not decay.
            fill: |_, pane| additions("TOPK.INCRBY KEY", pane, 7, |_| Some(100_000)),
        },
        // The merge of the largest lists. The work limit allows few levels of long lists.
        Largest {
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
                fill_list(unit, items)
            },
        },
        // The longest items.
        Largest {
            axes: &[axis("panes", 1, &[15]), DEPTH],
            bytes: |sizes| (1 << 20) as f64 * (sizes["panes"] + 1) as f64,
            create: |sizes| with_sizes("TOPK.RESERVE KEY 1 1 <depth> 0.9<window>", sizes),
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
