//! Bloom filters: RedisBloom's type, the type with a window, and valkey-bloom's type.

use super::keys::{Axis, Largest, MAX, PANES, Sizes, additions, axis, with_sizes};
use super::types::Type;
use crate::workload::{Command, words};
use roughly_sketch::bloom::{Chain, Parameters};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;

/// Up to this many sub-filters, a further item of a command has a lower bound.
const FEW: u64 = 64;

const CALLS: &[&str] = &[
    "BF.RESERVE new 0.001 600000000",
    "BF.ADD KEY ITEM",
    "BF.MADD KEY ITEMS",
    "BF.ADDNX KEY ITEMS",
    "BF.INSERT KEY ITEMS ITEMS",
    "BF.EXISTS KEY ITEM",
    "BF.MEXISTS KEY ITEMS",
    "BF.CARD KEY",
    "BF.MERGE KEY 1 SOURCE",
    "BF.MERGE new 2 KEY SOURCE",
    "BF.INFO KEY",
    "BF.DEBUG KEY",
    "BF.SCANDUMP KEY 0",
    "BF.SCANDUMP KEY 1",
    "BF.LOADCHUNK new HEADER",
    "BF.LOADCHUNK KEY CHUNK",
];

/// The digits of the error rate.
const RATE: Axis = axis("digits", 1, &[3, MAX]);

/// More items than a sub-filter of [`Type::counted`] has.
const COUNTED: u64 = 400_000;

pub const CLASSIC: Type = Type {
    name: "bf",
    calls: CALLS,
    not_applicable: &["bf.load"],
    // The error rate of a further sub-filter would be 0.
    refusals: &[("bf.", "ERR problem inserting into filter")],
    keeps_results: false,
    create_counted: "BF.RESERVE KEY 0.001 100000 EXPANSION 2",
    counted: || additions("BF.MADD KEY", 0, COUNTED, |_| None),
    keys: &[
        Largest {
            axes: &[RATE, axis("capacity", 1, &[MAX])],
            bytes: |sizes| sizes["capacity"] as f64 * sizes[RATE.name] as f64 * 0.6,
            create: |sizes| with_sizes("BF.RESERVE KEY 1e-<digits> <capacity>", sizes),
            fill: |sizes, pane| {
                let items = sizes["capacity"].min(10_000_000 / sizes[RATE.name]);
                additions("BF.MADD KEY", pane, items.min(200_000), |_| None)
            },
        },
        // As many sub-filters as growth allows.
        Largest {
            axes: &[axis("items", 1, &[FEW, 3000])],
            bytes: |_| 0.0,
            create: |_| words("BF.RESERVE KEY 0.01 1 EXPANSION 1"),
            fill: |sizes, pane| additions("BF.MADD KEY", pane, sizes["items"], |_| None),
        },
        // As many sub-filters as a header may have, each with the largest number of hash functions. A look-up tests all
        // of them: all bits are set except the last.
        Largest {
            axes: &[axis("sub-filters", 1, &[FEW, MAX])],
            bytes: |sizes| sizes["sub-filters"] as f64 * 100.0,
            create: |sizes| {
                let header = chain_header(sizes["sub-filters"]);
                [words("BF.LOADCHUNK KEY 1"), vec![header]].concat()
            },
            fill: |sizes, _| {
                let chunk = [&[0xff; CHAIN_BYTES - 1][..], &[0x7f]].concat();
                let load = |filter| {
                    let iterator = 1 + filter * CHAIN_BYTES as u64;
                    let head = words(&format!("BF.LOADCHUNK KEY {iterator}"));
                    [head, vec![chunk.clone()]].concat()
                };
                (1..=sizes["sub-filters"]).map(load).collect()
            },
        },
    ],
};

/// Bytes of the bit array of each sub-filter of [`chain_header`].
const CHAIN_BYTES: usize = 32;

/// The header of a chain of equal sub-filters.
fn chain_header(filters: u64) -> Vec<u8> {
    let parameters = Parameters {
        capacity: 1,
        error_rate: f64::from_bits(2),
        expansion: 2,
        scaling: true,
    };
    let one = Chain::new(&parameters, Budget::UNLIMITED).expect("a filter");
    let one = one.header().expect("memory");
    let (mut header, mut filter) = (one[..20].to_vec(), one[20..].to_vec());
    header[8..12].copy_from_slice(&u32::try_from(filters).unwrap_or(u32::MAX).to_le_bytes());
    filter[..8].copy_from_slice(&(CHAIN_BYTES as u64).to_le_bytes());
    filter[8..16].copy_from_slice(&(8 * CHAIN_BYTES as u64).to_le_bytes());
    header.extend(filter.repeat(usize::try_from(filters).expect("a number")));
    header
}

pub const WINDOW: Type = Type {
    name: "bf-window",
    refusals: &[
        ("bf.merge", "ERR filters with a window cannot be merged"),
        ("bf.", "ERR problem inserting into filter"),
    ],
    keys: &[
        Largest {
            axes: &[RATE, PANES, axis("capacity", 1, &[MAX])],
            bytes: |sizes| sizes["capacity"] as f64 * (3.4 * sizes[RATE.name] as f64 + 12.0) / 6.0,
            create: |sizes| with_sizes("BF.RESERVE KEY 1e-<digits> <capacity><window>", sizes),
            fill: |sizes, pane| {
                let items = sizes["capacity"].min(200_000) / sizes["panes"];
                additions("BF.MADD KEY", pane, items.max(1), |_| None)
            },
        },
        Largest {
            axes: &[PANES, axis("items", 1, &[FEW, 20_000])],
            bytes: |_| 0.0,
            create: |sizes| with_sizes("BF.RESERVE KEY 0.001 1 EXPANSION 1<window>", sizes),
            fill: |sizes, pane| {
                let items = sizes["items"] / sizes["panes"];
                additions("BF.MADD KEY", pane, items.max(1), |_| None)
            },
        },
    ],
    ..CLASSIC
};

pub const VALKEY: Type = Type {
    name: "bloomfltr",
    calls: &[
        "BF.ADD KEY ITEM",
        "BF.MADD KEY ITEMS",
        "BF.ADDNX KEY ITEMS",
        "BF.INSERT KEY ITEMS ITEMS",
        "BF.INSERT new SEED 0123456789abcdefghijklmnopqrstuv EXPANSION 1 CAPACITY 1 TIGHTENING 0.9999 VALIDATESCALETO 9223372036854775807",
        "BF.EXISTS KEY ITEM",
        "BF.MEXISTS KEY ITEMS",
        "BF.CARD KEY",
        "BF.INFO KEY",
        "BF.INFO KEY MAXSCALEDCAPACITY",
        "BF.DEBUG KEY",
        "BF.LOAD new PAYLOAD",
        "BF.SCANDUMP KEY 0",
        "BF.SCANDUMP KEY 1",
        "BF.LOADCHUNK new HEADER",
        "BF.LOADCHUNK KEY CHUNK",
        "BF.MERGE KEY 1 SOURCE",
    ],
    not_applicable: &["bf.reserve"],
    refusals: &[
        ("bf.merge", "ERR filters of valkey-bloom cannot be merged"),
        (
            "bf.insert",
            "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit",
        ),
    ],
    create_counted: "BF.INSERT KEY SEED 0123456789abcdefghijklmnopqrstuv CAPACITY 100000",
    keys: &[
        Largest {
            axes: &[RATE, axis("capacity", 1, &[MAX])],
            bytes: CLASSIC.keys[0].bytes,
            create: |sizes| {
                let seed = "SEED 0123456789abcdefghijklmnopqrstuv";
                let create = format!("BF.INSERT KEY {seed} ERROR 1e-<digits> CAPACITY <capacity>");
                with_sizes(&create, sizes)
            },
            fill: CLASSIC.keys[0].fill,
        },
        // As many sub-filters as growth allows.
        Largest {
            axes: &[axis("items", 1, &[FEW, 20_000])],
            bytes: |_| 0.0,
            create: |_| {
                words(
                    "BF.INSERT KEY SEED 0123456789abcdefghijklmnopqrstuv ERROR 0.5 CAPACITY 1 EXPANSION 1 TIGHTENING 0.99",
                )
            },
            fill: |sizes, pane| additions("BF.MADD KEY", pane, sizes["items"], |_| None),
        },
        // As many sub-filters of one seed as a payload may have. A look-up tests all of them: in each, all bits are set except
        // one.
        Largest {
            axes: &[
                axis("sub-filters", 1, &[FEW, 100_000]),
                axis("hash functions", 1, &[MAX]),
            ],
            bytes: |sizes| (sizes["sub-filters"] * (209 + load_bytes(sizes))) as f64,
            create: |sizes| load(sizes, false),
            fill: |_, _| Vec::new(),
        },
        // The same with another seed in each sub-filter.
        Largest {
            axes: &[axis("sub-filters", 1, &[20_000]), axis("seeds", 1, &[MAX])],
            bytes: |sizes| (sizes["sub-filters"] + sizes["seeds"]) as f64 * 209.0,
            create: |sizes| load(sizes, true),
            fill: |_, _| Vec::new(),
        },
    ],
    ..CLASSIC
};

/// The hash functions of each sub-filter of [`load`].
fn load_hashes(sizes: &Sizes) -> u64 {
    sizes.get("hash functions").map_or(1, |&hashes| hashes)
}

/// The bytes of each sub-filter of [`load`]: enough that the bits of an item are different ones.
fn load_bytes(sizes: &Sizes) -> u64 {
    load_hashes(sizes).div_ceil(8).min(256)
}

/// The BF.LOAD of a chain of sub-filters.
fn load(sizes: &Sizes, several_seeds: bool) -> Command {
    let (filters, hashes) = (sizes["sub-filters"], load_hashes(sizes));
    let mut bits = vec![0xff; usize::try_from(load_bytes(sizes)).expect("a number")];
    bits[0] = 0xfe;
    let mut payload = vec![1];
    payload.extend(1u32.to_le_bytes());
    // A later filter has the same rate: the memory limit of RESTORE depends on it.
    payload.extend([0.9, 1.0 - 1e-9f64].map(f64::to_le_bytes).concat());
    payload.push(1);
    payload.extend(filters.to_le_bytes());
    for filter in 0..filters {
        let mut blob = vec![1];
        blob.extend((bits.len() as u64).to_le_bytes());
        blob.extend(u32::try_from(hashes).unwrap_or(u32::MAX).to_le_bytes());
        let seed = filter % if several_seeds { sizes["seeds"] } else { 1 };
        // The halves of a seed must differ.
        blob.extend([seed, 1, 2, 3].map(u64::to_le_bytes).concat());
        blob.extend(&bits);
        payload.extend((blob.len() as u64).to_le_bytes());
        payload.extend(blob);
        payload.extend([1u64, 1].map(u64::to_le_bytes).concat());
    }
    vec![b"BF.LOAD".to_vec(), b"KEY".to_vec(), payload]
}
