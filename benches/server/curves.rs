//! Growth curves: the cost of a command by filter size and by number of items per command.

use crate::load::Load;

/// Cases that differ in one number.
#[derive(Debug)]
pub struct Curve {
    /// Name in the plots.
    pub name: &'static str,
    /// Meaning and unit of the number.
    pub unit: &'static str,
    /// The numbers and their cases.
    pub points: Vec<(f64, Point)>,
}

/// The case of one number.
#[derive(Debug)]
pub struct Point {
    /// Command sent once before the load, to an empty server.
    pub setup: String,
    /// Load sent before the measurement.
    pub prefill: Load,
    /// The measured load, sent once per round.
    pub load: Load,
    /// Items per command; times are reported per item.
    pub items: usize,
}

/// Items per command in the curves by size.
const BATCH: usize = 100;
/// Target number of items per point and round.
const ITEMS: usize = 400_000;
/// Bits per item of a Bloom filter with error rate 0.001: -ln(0.001) / ln(2)^2.
const BITS_PER_ITEM: f64 = 14.3776;
const WIDE: u64 = 1_000_000_000;

/// All curves.
pub fn all() -> Vec<Curve> {
    let sizes = || (0..15).map(|power| 65_536u64 << power);
    let bloom = |bytes: u64| {
        let capacity = (bytes as f64 * 8.0 / BITS_PER_ITEM) as u64;
        (
            format!("BF.RESERVE k 0.001 {capacity} NONSCALING"),
            capacity,
        )
    };
    let cuckoo = |bytes: u64| (format!("CF.RESERVE k {bytes}"), bytes);
    let of_size = |bytes: u64, (setup, capacity): (String, u64), add: &str, look_up: &str| {
        // Half of the capacity, so that small filters do not fill up; large ones need only enough items to
        // touch every page.
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
    let of_items = |setup: &str, fill: &str, command: &str, arguments: &str| {
        [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
            .into_iter()
            .map(|items| {
                let point = Point {
                    setup: setup.to_owned(),
                    prefill: Load::new(fill, 2_000, WIDE).with(BATCH, arguments),
                    load: Load::new(command, (ITEMS / items).min(200_000), WIDE)
                        .with(items, arguments),
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
