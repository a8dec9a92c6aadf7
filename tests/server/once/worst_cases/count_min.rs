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
                additions("CMS.INCRBY KEY", pane, items.max(3), |number| {
                    Some(number + 1)
                })
            },
        },
        Largest {
            filled: Filled::Newest,
            axes: WINDOW_AXES,
            bytes: |sizes| arrays(sizes, 1),
            create: create_window,
            fill: CLASSIC.keys[0].fill,
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
