//! Cuckoo filters.

use super::keys::{Axis, Largest, MAX, PANES, Sizes, additions, axis, item, with_sizes};
use super::types::Type;
use crate::workload::{Command, Random, words};

/// Up to this many sub-filters, a further item of a command has a lower bound.
const FEW: u64 = 64;

const CALLS: &[&str] = &[
    "CF.RESERVE new 1073741824",
    "CF.ADD KEY ITEM",
    "CF.ADDNX KEY ITEM",
    "CF.INSERT KEY ITEMS ITEMS",
    "CF.INSERTNX KEY ITEMS ITEMS",
    "CF.EXISTS KEY ITEM",
    "CF.MEXISTS KEY ITEMS",
    "CF.COUNT KEY ITEM",
    "CF.DEL KEY ITEM",
    "CF.COMPACT KEY",
    "CF.INFO KEY",
    "CF.DEBUG KEY",
    "CF.SCANDUMP KEY 0",
    "CF.SCANDUMP KEY 1",
    "CF.LOADCHUNK new HEADER",
    "CF.LOADCHUNK KEY CHUNK",
];

const CAPACITY: Axis = axis("capacity", 1024, &[MAX]);

/// The buckets of the first sub-filter of [`GROWN`].
const FIRST_BUCKETS: u64 = 16_384;

/// The numbers of slots of the sub-filters of [`GROWN`].
fn slots_of_each(sizes: &Sizes) -> impl Iterator<Item = u64> {
    let (first, expansion) = (FIRST_BUCKETS * sizes["bucket size"], sizes["expansion"]);
    let larger = move |slots: &u64| Some(slots.saturating_mul(expansion));
    let all = std::iter::successors(Some(first), larger);
    all.take(sizes["filters"] as usize)
}

/// Creates a filter of so many empty sub-filters: the first with so many buckets, each of so many slots.
fn load_header(filters: u64, buckets: u64, slots: u64, expansion: u64, deletes: u64) -> Command {
    let numbers = [0, buckets, deletes, filters].map(u64::to_le_bytes);
    let short = |number| u16::try_from(number).unwrap_or(u16::MAX);
    let short = [short(slots), 20, short(expansion)].map(u16::to_le_bytes);
    let header = [numbers.concat(), short.concat()].concat();
    [words("CF.LOADCHUNK KEY 1"), vec![header]].concat()
}

/// Fills the sub-filters of [`GROWN`] with random fingerprints.
fn load_fingerprints(sizes: &Sizes) -> Vec<Command> {
    let (mut random, mut end) = (Random::new(1), 1);
    let chunk = |slots: u64| {
        let slot = |_| match random.below(100) < sizes["percent in use"] {
            true => 1 + random.below(255) as u8,
            false => 0,
        };
        end += slots;
        let chunk = vec![(0..slots).map(slot).collect()];
        [words(&format!("CF.LOADCHUNK KEY {end}")), chunk].concat()
    };
    slots_of_each(sizes).map(chunk).collect()
}

/// Sub-filters of which each is larger than the previous one. The next deletion compacts the filter.
const GROWN: Largest = Largest {
    axes: &[],
    bytes: |sizes| {
        let bytes = slots_of_each(sizes).map(|slots| slots as f64 + 60.0);
        bytes.sum()
    },
    create: |sizes| {
        let [filters, slots, expansion] =
            ["filters", "bucket size", "expansion"].map(|name| sizes[name]);
        load_header(filters, FIRST_BUCKETS, slots, expansion, 1 << 40)
    },
    fill: |sizes, pane| {
        let mut commands = load_fingerprints(sizes);
        // Few, so that the filter does not grow.
        commands.extend(additions("CF.INSERT KEY ITEMS", pane, 10, |_| None));
        commands
    },
};

fn equal_items(pane: u64, items: u64) -> Command {
    let mut command = words("CF.INSERT KEY ITEMS");
    command.resize(3 + usize::try_from(items).expect("a number"), item(pane, 0));
    command
}

pub const CLASSIC: Type = Type {
    name: "cf",
    calls: CALLS,
    not_applicable: &[],
    refusals: &[
        ("cf.", "Filter is full"),
        ("cf.", "Maximum expansions reached"),
    ],
    keeps_results: false,
    // Two full sub-filters.
    create_counted: "CF.RESERVE KEY 524288 EXPANSION 1",
    counted: || additions("CF.INSERT KEY ITEMS", 0, 950_000, |_| None),
    keys: &[
        Largest {
            axes: &[axis("bucket size", 1, &[1, MAX]), CAPACITY],
            bytes: |sizes| sizes["capacity"].next_power_of_two() as f64,
            create: |sizes| {
                let create = "CF.RESERVE KEY <capacity> BUCKETSIZE <bucket size> EXPANSION 1";
                with_sizes(create, sizes)
            },
            fill: |_, pane| additions("CF.INSERT KEY ITEMS", pane, 200_000, |_| None),
        },
        // An insertion evicts fingerprints without success.
        Largest {
            axes: &[axis("iterations", 1, &[MAX])],
            bytes: |_| 0.0,
            create: |sizes| {
                let limit = "MAXITERATIONS <iterations> EXPANSION 0";
                with_sizes(&format!("CF.RESERVE KEY 4096 BUCKETSIZE 1 {limit}"), sizes)
            },
            fill: |_, pane| additions("CF.INSERT KEY ITEMS", pane, 2500, |_| None),
        },
        // As many sub-filters as equal items add.
        Largest {
            axes: &[axis("items", 2, &[2 * FEW, 9000])],
            bytes: |_| 0.0,
            create: |_| words("CF.RESERVE KEY 2 BUCKETSIZE 1 EXPANSION 1"),
            fill: |sizes, pane| vec![equal_items(pane, sizes["items"])],
        },
        // As many sub-filters as a header may have.
        Largest {
            axes: &[
                axis("filters", 1, &[FEW, MAX]),
                axis("bucket size", 1, &[MAX]),
            ],
            bytes: |sizes| (sizes["filters"] * (sizes["bucket size"] + 60)) as f64,
            create: |sizes| load_header(sizes["filters"], 1, sizes["bucket size"], 1, 0),
            fill: |_, pane| additions("CF.INSERT KEY ITEMS", pane, 100, |_| None),
        },
        // A compaction moves many fingerprints.
        Largest {
            axes: &[
                axis("expansion", 1, &[2]),
                axis("bucket size", 1, &[2, 1, 4]),
                axis("percent in use", 1, &[50]),
                axis("filters", 1, &[MAX]),
            ],
            ..GROWN
        },
        // A compaction finds no slots for most fingerprints.
        Largest {
            axes: &[
                axis("expansion", 1, &[4]),
                axis("bucket size", 1, &[3]),
                axis("percent in use", 1, &[95]),
                axis("filters", 1, &[MAX]),
            ],
            ..GROWN
        },
        // The next deletion compacts the filter.
        Largest {
            axes: &[axis("deleted items", 1, &[50_000])],
            bytes: |_| 0.0,
            create: |_| words("CF.RESERVE KEY 65536 EXPANSION 1"),
            fill: |sizes, pane| {
                let deleted = sizes["deleted items"];
                let mut commands = additions("CF.INSERT KEY ITEMS", pane, 11 * deleted, |_| None);
                let delete = |number| vec![b"CF.DEL".to_vec(), b"KEY".to_vec(), item(pane, number)];
                commands.extend((1000..1000 + deleted).map(delete));
                commands
            },
        },
    ],
};

pub const WINDOW: Type = Type {
    name: "cf-window",
    keys: &[
        Largest {
            axes: &[
                PANES,
                axis("bucket size", 1, &[MAX, 4]),
                axis("iterations", 1, &[MAX]),
                CAPACITY,
            ],
            bytes: |sizes| sizes["capacity"] as f64 * 4.0,
            create: |sizes| {
                let options =
                    "BUCKETSIZE <bucket size> MAXITERATIONS <iterations> EXPANSION 1<window>";
                with_sizes(&format!("CF.RESERVE KEY <capacity> {options}"), sizes)
            },
            fill: |sizes, pane| {
                let items = sizes["capacity"].min(200_000) / sizes["panes"];
                additions("CF.INSERT KEY ITEMS", pane, items.max(1), |_| None)
            },
        },
        Largest {
            axes: &[PANES, axis("items", 2, &[2 * FEW, 20_000])],
            bytes: |_| 0.0,
            create: |sizes| {
                // The error rate of each further sub-filter is smaller, and so its slots are longer.
                let create = "CF.RESERVE KEY 4 BUCKETSIZE 1 EXPANSION 1<window> ERROR 0.001";
                with_sizes(create, sizes)
            },
            fill: |sizes, pane| {
                let items = sizes["items"] / sizes["panes"];
                vec![equal_items(pane, items.max(1))]
            },
        },
    ],
    ..CLASSIC
};
