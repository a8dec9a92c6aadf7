//! Count-min sketches.

use super::bounds::MAX_UNLIMITED_ROWS;
use super::keys::{Axis, Largest, MAX, MAX_ROWS_OF_LONG_ITEM, additions, axis, window};
use super::types::Type;
use crate::workload::words;

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
    keys: &[Largest {
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

pub const WINDOW: Type = Type {
    name: "cms-window",
    keys: &[Largest {
        axes: &[DEPTH, axis("panes", 1, &[MAX]), axis("width", 1, &[MAX])],
        bytes: |sizes| {
            sizes["depth"] as f64 * sizes["width"] as f64 * 8.0 * (sizes["panes"] + 2) as f64
        },
        create: |sizes| {
            let (width, depth) = (sizes["width"], sizes["depth"]);
            words(&format!(
                "CMS.INITBYDIM KEY {width} {depth} CELL_SIZE 8{}",
                window(sizes)
            ))
        },
        fill: |sizes, pane| {
            let items = (20_000_000 / sizes["depth"]).clamp(3, 20_000) / sizes["panes"];
            additions("CMS.INCRBY KEY", pane, items.max(3), |number| {
                Some(number + 1)
            })
        },
    }],
    ..CLASSIC
};
