//! How a command's cost grows: with the size of a filter, and with the items of a command.

use crate::load::Load;

/// Commands that differ in one number.
#[derive(Debug)]
pub struct Curve {
    /// What the plots call it.
    pub name: &'static str,
    /// What the number is, with its unit.
    pub unit: &'static str,
    /// For each number what is sent before, what is sent to be measured, and the items of a command.
    pub points: Vec<(f64, Point)>,
}

/// One number of a curve.
#[derive(Debug)]
pub struct Point {
    /// Sent once before, to an empty server.
    pub setup: String,
    /// Sent before, not measured.
    pub prefill: Load,
    /// What is measured, once a round.
    pub load: Load,
    /// Items in one command: times are reported per item.
    pub items: usize,
}

/// Items that a command with many has in the curves of sizes.
const BATCH: usize = 100;
/// Items sent a point and round, at least.
const ITEMS: usize = 400_000;
/// Bits a BF.RESERVE at 0.001 takes for an item: -ln(0.001) / ln(2)^2.
const BITS_AN_ITEM: f64 = 14.3776;
const WIDE: u64 = 1_000_000_000;

/// All curves.
pub fn all() -> Vec<Curve> {
    let sizes = || (0..15).map(|power| 65_536u64 << power);
    let bloom = |bytes: u64| {
        let capacity = (bytes as f64 * 8.0 / BITS_AN_ITEM) as u64;
        (
            format!("BF.RESERVE k 0.001 {capacity} NONSCALING"),
            capacity,
        )
    };
    let cuckoo = |bytes: u64| (format!("CF.RESERVE k {bytes}"), bytes);
    let of_size = |bytes: u64, (setup, capacity): (String, u64), add: &str, look_up: &str| {
        // Half of the items: in small filters none is added twice, in large ones every page is touched.
        let filled = (capacity / 2).min(2_000_000);
        let point = Point {
            setup,
            prefill: Load::new(add, (filled as usize).div_ceil(BATCH), filled)
                .with(BATCH, "item:#"),
            load: Load::new(look_up, ITEMS / BATCH, 2 * filled).with(BATCH, "item:#"),
            items: BATCH,
        };
        (bytes as f64, point)
    };
    let of_items = |setup: &str, fill: &str, command: &str, words: &str| {
        [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
            .into_iter()
            .map(|items| {
                let point = Point {
                    setup: setup.to_owned(),
                    prefill: Load::new(fill, 2_000, WIDE).with(BATCH, words),
                    load: Load::new(command, (ITEMS / items).min(200_000), WIDE).with(items, words),
                    items,
                };
                (items as f64, point)
            })
            .collect()
    };
    let size = "size of the filter, bytes";
    let many = "items per command";
    vec![
        Curve {
            name: "BF.MEXISTS x100",
            unit: size,
            points: sizes()
                .map(|bytes| of_size(bytes, bloom(bytes), "BF.MADD k", "BF.MEXISTS k"))
                .collect(),
        },
        Curve {
            name: "CF.MEXISTS x100",
            unit: size,
            points: sizes()
                .map(|bytes| of_size(bytes, cuckoo(bytes), "CF.INSERT k ITEMS", "CF.MEXISTS k"))
                .collect(),
        },
        Curve {
            name: "BF.MEXISTS",
            unit: many,
            points: of_items(
                "BF.RESERVE k 0.001 10000000",
                "BF.MADD k",
                "BF.MEXISTS k",
                "item:#",
            ),
        },
        Curve {
            name: "CF.MEXISTS",
            unit: many,
            points: of_items(
                "CF.RESERVE k 10000000",
                "CF.INSERT k ITEMS",
                "CF.MEXISTS k",
                "item:#",
            ),
        },
        Curve {
            name: "CMS.INCRBY",
            unit: many,
            points: of_items(
                "CMS.INITBYDIM k 2000 7",
                "CMS.INCRBY k",
                "CMS.INCRBY k",
                "item:# 1",
            ),
        },
        Curve {
            name: "TOPK.ADD",
            unit: many,
            points: of_items(
                "TOPK.RESERVE k 100 1000 7 0.9",
                "TOPK.ADD k",
                "TOPK.ADD k",
                "item:#",
            ),
        },
        Curve {
            name: "TDIGEST.ADD",
            unit: many,
            points: of_items(
                "TDIGEST.CREATE k COMPRESSION 100",
                "TDIGEST.ADD k",
                "TDIGEST.ADD k",
                "#",
            ),
        },
        Curve {
            name: "SMISMEMBER (built in)",
            unit: many,
            points: of_items("SADD k item", "SADD k", "SMISMEMBER k", "item:#"),
        },
    ]
}
