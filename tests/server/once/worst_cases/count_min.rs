//! Count-min sketches.

use super::bounds::MAX_UNLIMITED_ROWS;
use super::keys::{
    Axis, LEVELS, Largest, MAX, MAX_ROWS_OF_LONG_ITEM, PANES, Sizes, additions, axis, in_newest,
    live_panes, units, with_sizes,
};
use super::types::Type;
use crate::workload::Command;

const DEPTHS: &[u64] = &[MAX_UNLIMITED_ROWS, MAX_ROWS_OF_LONG_ITEM, MAX];
pub const DEPTH: Axis = axis("depth", 1, DEPTHS);
const WIDTH: Axis = axis("width", 1, &[MAX]);

pub const CLASSIC: Type = Type {
    name: "cms",
    calls: &[
        "CMS.INITBYDIM new 268435456 1",
        "CMS.INITBYPROB new 0.000001 0.001",
        "CMS.INCRBY KEY PAIRS",
        "CMS.INCRBYLIMIT KEY 1000000000 PAIRS",
        "CMS.QUERY KEY ITEMS",
        "CMS.MERGE KEY 1 SOURCE",
        "CMS.MERGE KEY 2 KEY SOURCE WEIGHTS 2 3",
        "CMS.INFO KEY",
        "CMS.SCANDUMP KEY 0",
        "CMS.SCANDUMP KEY 1",
        "CMS.LOADCHUNK new HEADER",
        "CMS.LOADCHUNK KEY CHUNK",
    ],
    not_applicable: &[],
    refusals: &[("cms.", "CMS: too much work for the depth of the sketch")],
    keeps_results: false,
    create_counted: "CMS.INITBYDIM KEY 100000 5",
    counted: || additions("CMS.INCRBY KEY", 0, 100_000, Some),
    keys: &[Largest {
        axes: &[DEPTH, WIDTH],
        bytes: |sizes| sizes["depth"] as f64 * sizes["width"] as f64 * 4.0,
        create: |sizes| with_sizes("CMS.INITBYDIM KEY <width> <depth>", sizes),
        fill: |sizes, pane| {
            let items = (20_000_000 / sizes["depth"]).clamp(3, 20_000);
            add(pane, items)
        },
    }],
};

const WINDOW_AXES: &[Axis] = &[DEPTH, PANES, WIDTH];

fn create_window(sizes: &Sizes) -> Command {
    with_sizes(
        "CMS.INITBYDIM KEY <width> <depth> CELL_SIZE 8<window>",
        sizes,
    )
}

/// Items with different counts.
fn add(pane: u64, items: u64) -> Vec<Command> {
    additions("CMS.INCRBY KEY", pane, items, |number| Some(number + 1))
}

/// The bytes of this many arrays.
fn arrays(sizes: &Sizes, number: u64) -> f64 {
    sizes["depth"] as f64 * sizes["width"] as f64 * 8.0 * number as f64
}

/// The largest number of items of a pane without an array (docs/contributing/formats.md); 0 if all panes have arrays.
fn max_exact(sizes: &Sizes) -> u64 {
    let array = sizes["depth"] * sizes["width"] * 8;
    let items = (array / 4).min(1 << 16) / 16;
    let (max_array, items) = match sizes.contains_key(LEVELS.name) {
        false => (64 << 20, items),
        true => (1 << 20, items.min((1 << 15) / sizes["depth"])),
    };
    if items < 8 || array > max_array {
        return 0;
    }
    items
}

/// The bytes of exact counts in this many panes; infinite if no pane can have them.
fn exact_bytes(sizes: &Sizes, panes: u64) -> f64 {
    match max_exact(sizes) {
        0 => f64::INFINITY,
        items => (items * panes * 24) as f64,
    }
}

/// With at least 8 exact counts per pane.
const EXACT_WIDTH: Axis = axis("width", 64, &[MAX]);

pub const WINDOW: Type = Type {
    name: "cms-window",
    keys: &[
        Largest {
            axes: WINDOW_AXES,
            bytes: |sizes| arrays(sizes, sizes["panes"] + 1),
            create: create_window,
            fill: |sizes, pane| {
                let items = (20_000_000 / sizes["depth"]).clamp(3, 20_000) / units(sizes);
                add(pane, items.max(3).max(max_exact(sizes) + 1))
            },
        },
        Largest {
            axes: WINDOW_AXES,
            bytes: |sizes| arrays(sizes, 1),
            create: create_window,
            fill: |sizes, pane| in_newest(CLASSIC.keys[0].fill, sizes, pane),
        },
        // Full panes without arrays: the next item makes an array of the newest one.
        Largest {
            axes: &[EXACT_WIDTH, PANES, DEPTH],
            bytes: |sizes| exact_bytes(sizes, sizes["panes"] + 1),
            create: create_window,
            fill: |sizes, pane| add(pane, max_exact(sizes)),
        },
        // Panes without arrays which become arrays when they are merged.
        Largest {
            axes: &[EXACT_WIDTH, PANES, LEVELS, DEPTH],
            bytes: |sizes| exact_bytes(sizes, live_panes(sizes)),
            create: create_window,
            fill: |sizes, unit| add(unit, ((2 * max_exact(sizes)) >> sizes[LEVELS.name]) + 1),
        },
        // The merge of the largest arrays, and the most panes.
        Largest {
            axes: &[WIDTH, PANES, LEVELS, DEPTH],
            bytes: |sizes| arrays(sizes, live_panes(sizes)),
            create: create_window,
            fill: |sizes, unit| add(unit, 20_000 / units(sizes) + 3),
        },
    ],
    ..CLASSIC
};
