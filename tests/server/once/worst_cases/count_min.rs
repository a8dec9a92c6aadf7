//! Count-min sketches.

use super::bounds::MAX_UNLIMITED_ROWS;
use super::keys::{
    Axis, Filled, LEVELS, Largest, MAX, MAX_ROWS_OF_LONG_ITEM, Sizes, additions, axis, live_panes,
    units, window,
};
use super::types::Type;
use crate::workload::{Command, words};

const DEPTH: Axis = axis(
    "depth",
    1,
    &[MAX_UNLIMITED_ROWS, MAX_ROWS_OF_LONG_ITEM, MAX],
);

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
    counted: |window| {
        let create = format!("CMS.INITBYDIM KEY 100000 5{window}");
        [
            vec![words(&create)],
            additions("CMS.INCRBY KEY", 0, 100_000, Some),
        ]
        .concat()
    },
    keys: &[Largest {
        filled: Filled::All,
        axes: &[DEPTH, axis("width", 1, &[MAX])],
        bytes: |sizes| sizes["depth"] as f64 * sizes["width"] as f64 * 4.0,
        create: |sizes| {
            words(&format!(
                "CMS.INITBYDIM KEY {} {}",
                sizes["width"], sizes["depth"]
            ))
        },
        fill: |sizes, pane| {
            let items = (20_000_000 / sizes["depth"]).clamp(3, 20_000);
            additions("CMS.INCRBY KEY", pane, items, |number| Some(number + 1))
        },
    }],
};

const WINDOW_AXES: &[Axis] = &[DEPTH, axis("panes", 1, &[MAX]), axis("width", 1, &[MAX])];

fn create_window(sizes: &Sizes) -> Command {
    let (width, depth) = (sizes["width"], sizes["depth"]);
    let window = window(sizes);
    words(&format!(
        "CMS.INITBYDIM KEY {width} {depth} CELL_SIZE 8{window}"
    ))
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
            filled: Filled::All,
            axes: WINDOW_AXES,
            bytes: |sizes| arrays(sizes, sizes["panes"] + 1),
            create: create_window,
            fill: |sizes, pane| {
                let items = (20_000_000 / sizes["depth"]).clamp(3, 20_000) / units(sizes);
                let items = items.max(3).max(max_exact(sizes) + 1);
                additions("CMS.INCRBY KEY", pane, items, |number| Some(number + 1))
            },
        },
        Largest {
            filled: Filled::Newest,
            axes: WINDOW_AXES,
            bytes: |sizes| arrays(sizes, 1),
            create: create_window,
            fill: CLASSIC.keys[0].fill,
        },
        // Full panes without arrays: the next item makes an array of the newest one.
        Largest {
            filled: Filled::All,
            axes: &[EXACT_WIDTH, axis("panes", 1, &[MAX]), DEPTH],
            bytes: |sizes| exact_bytes(sizes, sizes["panes"] + 1),
            create: create_window,
            fill: |sizes, pane| {
                additions("CMS.INCRBY KEY", pane, max_exact(sizes), |number| {
                    Some(number + 1)
                })
            },
        },
        // Panes without arrays which become arrays when they are merged.
        Largest {
            filled: Filled::All,
            axes: &[EXACT_WIDTH, axis("panes", 1, &[MAX]), LEVELS, DEPTH],
            bytes: |sizes| exact_bytes(sizes, live_panes(sizes)),
            create: create_window,
            fill: |sizes, unit| {
                let items = ((2 * max_exact(sizes)) >> sizes[LEVELS.name]) + 1;
                additions("CMS.INCRBY KEY", unit, items, |number| Some(number + 1))
            },
        },
        // The merge of the largest arrays, and the most panes.
        Largest {
            filled: Filled::All,
            axes: &[
                axis("width", 1, &[MAX]),
                axis("panes", 1, &[MAX]),
                LEVELS,
                DEPTH,
            ],
            bytes: |sizes| arrays(sizes, live_panes(sizes)),
            create: create_window,
            fill: |sizes, unit| {
                let items = 20_000 / units(sizes) + 3;
                additions("CMS.INCRBY KEY", unit, items, |number| Some(number + 1))
            },
        },
    ],
    ..CLASSIC
};
