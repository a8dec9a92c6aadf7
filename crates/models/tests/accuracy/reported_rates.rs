//! The false positive rates that SKETCH.ACCURACY reports, and those of look-ups.

use crate::rate_filters::{
    Filled, Items, Load, bloom_chain, cuckoo, cuckoo_filter, fixed, grown, merged, power_of_two,
    valkey, window_multiset, window_set,
};
use crate::table;
use roughly_sketch::bloom::{self, Chain, options};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;

type Fill = dyn Fn(&mut Items) -> Filled;

/// The largest difference of a reported rate from the true one, as a part of that: for filters of at least 1,000 items, and of at
/// least 100.
pub const OF_1000: f64 = 0.05;
const OF_100: f64 = 0.3;
/// Smaller filters are only shown.
const NO_LIMIT: f64 = f64::INFINITY;

/// Standard errors of a measured rate by which the difference may be larger. The items are fixed. With random ones, one of 100 rows
/// would be outside with a probability below 1e-6 even if each had the largest difference.
pub const STANDARD_ERRORS: f64 = 6.0;

/// The rows that the page has: type and name. All others are only checked.
const SHOWN: [(&str, &str); 14] = [
    ("`MBbloom--`", "10,000 for 1 %, full"),
    ("`MBbloom--`", "10,000 for 1 %, merge of 3 full filters"),
    ("`MBbloom--`", "by default, 100,000 items"),
    ("`MBbloom--`", "100 for 0.01 %, full"),
    ("`MBbloom--`", "100 for 1 %, `EXPANSION 1`, 6,400 items"),
    ("`MBbloom--`", "10 for 1 %, `EXPANSION 1`, 640 items"),
    ("`MBbloomCF`", "10,000, 10,000 items"),
    ("`MBbloomCF`", "by default, 10,000 items"),
    ("`MBbloomCF`", "by default, 300 items, 4 times each"),
    ("`bf-window`", "10,000 for 1 %, 12 panes"),
    ("`cf-window`", "10,000, 12 panes"),
    ("`cf-window`", "1,000, 12 panes, 10,000 items per window"),
    ("`bloomfltr`", "10,000 for 1 %, full"),
    ("`bloomfltr`", "100 for 0.01 %, full"),
];

/// A row of the table: the mean of several filters.
struct Row {
    name: &'static str,
    filters: u64,
    /// Per filter.
    look_ups: u64,
    max_difference: f64,
    fill: Box<Fill>,
}

fn row(
    name: &'static str,
    (filters, look_ups): (u64, u64),
    max_difference: f64,
    fill: impl Fn(&mut Items) -> Filled + 'static,
) -> Row {
    Row {
        name,
        filters,
        look_ups,
        max_difference,
        fill: Box::new(fill),
    }
}

fn bloom_rows() -> Vec<Row> {
    let row = |name, size, max_difference, chain: fn(&mut Items) -> Chain| {
        row(name, size, max_difference, move |items| {
            bloom_chain(chain(items))
        })
    };
    vec![
        row(
            "10,000 for 1 %, half full",
            (4, 500_000),
            OF_1000,
            |items| fixed(10_000, 0.01, 0.5, items),
        ),
        row("10,000 for 1 %, full", (4, 250_000), OF_1000, |items| {
            fixed(10_000, 0.01, 1.0, items)
        }),
        row("10,000 for 10 %, full", (4, 100_000), OF_1000, |items| {
            fixed(10_000, 0.1, 1.0, items)
        }),
        row("10,000 for 0.1 %, full", (4, 250_000), OF_1000, |items| {
            fixed(10_000, 0.001, 1.0, items)
        }),
        row(
            "10,000 for 1 %, merge of 3 full filters",
            (4, 50_000),
            OF_1000,
            |items| fixed(10_000, 0.01, 3.0, items),
        ),
        row("by default, 10,000 items", (6, 100_000), OF_1000, |items| {
            grown(bloom::Parameters::DEFAULT, 10_000, items)
        }),
        row(
            "by default, 100,000 items",
            (2, 250_000),
            OF_1000,
            |items| grown(bloom::Parameters::DEFAULT, 100_000, items),
        ),
        row(
            "by default, merge of 2 filters with 10,000 items",
            (4, 50_000),
            OF_1000,
            |items| {
                let mut filter = grown(bloom::Parameters::DEFAULT, 10_000, items);
                let other = grown(bloom::Parameters::DEFAULT, 10_000, items);
                filter.merge(&[&other], UNLIMITED).expect("memory");
                filter
            },
        ),
        row(
            "1,000 for 1 %, `EXPANSION 1`, 64,000 items",
            (2, 100_000),
            OF_1000,
            |items| {
                let parameters = bloom::Parameters {
                    capacity: 1000,
                    expansion: 1,
                    ..bloom::Parameters::DEFAULT
                };
                grown(parameters, 64_000, items)
            },
        ),
        row("1,000 for 0.01 %, full", (10, 200_000), OF_100, |items| {
            fixed(1000, 1e-4, 1.0, items)
        }),
        row("1,000 for 0.0001 %, full", (10, 500_000), OF_100, |items| {
            fixed(1000, 1e-6, 1.0, items)
        }),
        row(
            "200 for 0.01 %, half full",
            (20, 250_000),
            OF_100,
            |items| fixed(200, 1e-4, 0.5, items),
        ),
        row("100 for 1 %, full", (40, 20_000), OF_100, |items| {
            fixed(100, 0.01, 1.0, items)
        }),
        row("100 for 0.01 %, full", (40, 50_000), OF_100, |items| {
            fixed(100, 1e-4, 1.0, items)
        }),
        row(
            "100 for 0.01 %, merge of 2 full filters",
            (40, 5_000),
            OF_100,
            |items| fixed(100, 1e-4, 2.0, items),
        ),
        row("100 for 0.0001 %, full", (40, 100_000), OF_100, |items| {
            fixed(100, 1e-6, 1.0, items)
        }),
        // An odd number, 3, times a power of two bits.
        row("105 for 0.0001 %, full", (40, 100_000), OF_100, |items| {
            fixed(105, 1e-6, 1.0, items)
        }),
        row(
            "100 for 1 %, `EXPANSION 1`, 6,400 items",
            (10, 20_000),
            OF_100,
            |items| {
                let parameters = bloom::Parameters {
                    capacity: 100,
                    expansion: 1,
                    ..bloom::Parameters::DEFAULT
                };
                grown(parameters, 6_400, items)
            },
        ),
        row("10 for 1 %, full", (400, 2_000), NO_LIMIT, |items| {
            fixed(10, 0.01, 1.0, items)
        }),
        row(
            "10 for 1 %, `EXPANSION 1`, 640 items",
            (40, 5_000),
            NO_LIMIT,
            |items| {
                let parameters = bloom::Parameters {
                    capacity: 10,
                    expansion: 1,
                    ..bloom::Parameters::DEFAULT
                };
                grown(parameters, 640, items)
            },
        ),
        row("10 for 0.01 %, full", (400, 5_000), NO_LIMIT, |items| {
            fixed(10, 1e-4, 1.0, items)
        }),
        row(
            "142 for 0.1 %, full, of an old file",
            (40, 25_000),
            OF_100,
            |items| {
                merged(1.0, items, &|| {
                    power_of_two(100, 1e-3, options::HASH_64_BITS)
                })
            },
        ),
        row(
            "142 for 0.1 %, full, of an old file with hashes of 32 bits",
            (40, 25_000),
            OF_100,
            |items| merged(1.0, items, &|| power_of_two(100, 1e-3, 0)),
        ),
    ]
}

fn valkey_rows() -> Vec<Row> {
    vec![
        row("10,000 for 1 %, full", (4, 250_000), OF_1000, |items| {
            valkey(10_000, 0.01, 10_000, items)
        }),
        row(
            "100 for 1 %, growing, 30,000 items",
            (4, 100_000),
            OF_1000,
            |items| valkey(100, 0.01, 30_000, items),
        ),
        row("1,000 for 0.01 %, full", (10, 200_000), OF_100, |items| {
            valkey(1000, 1e-4, 1000, items)
        }),
        row(
            "250 for 0.01 %, half full",
            (20, 250_000),
            OF_100,
            |items| valkey(250, 1e-4, 125, items),
        ),
        row("100 for 0.01 %, full", (40, 50_000), OF_100, |items| {
            valkey(100, 1e-4, 100, items)
        }),
    ]
}

fn cuckoo_rows() -> Vec<Row> {
    let reserved = |name, (bucket_size, added), look_ups| {
        row(name, (4, look_ups), OF_1000, move |items| {
            cuckoo(10_000, (bucket_size, 1), (added, 0), items)
        })
    };
    vec![
        reserved("10,000, `BUCKETSIZE 1`, 6,000 items", (1, 6_000), 250_000),
        reserved("10,000, 10,000 items", (2, 10_000), 200_000),
        reserved("10,000, 2,000 items", (2, 2_000), 250_000),
        reserved("10,000, `BUCKETSIZE 4`, 10,000 items", (4, 10_000), 100_000),
        reserved("10,000, `BUCKETSIZE 8`, 10,000 items", (8, 10_000), 100_000),
        reserved(
            "10,000, `BUCKETSIZE 32`, 10,000 items",
            (32, 10_000),
            50_000,
        ),
        reserved(
            "10,000, `BUCKETSIZE 255`, 10,000 items",
            (255, 10_000),
            25_000,
        ),
        row("by default, 1,000 items", (20, 50_000), OF_1000, |items| {
            cuckoo(1024, (2, 1), (1_000, 0), items)
        }),
        row("by default, 10,000 items", (4, 50_000), OF_1000, |items| {
            cuckoo(1024, (2, 1), (10_000, 0), items)
        }),
        row("by default, 30,000 items", (4, 50_000), OF_1000, |items| {
            cuckoo(1024, (2, 1), (30_000, 0), items)
        }),
        row(
            "by default, 30,000 items, half of them deleted",
            (4, 50_000),
            OF_1000,
            |items| cuckoo(1024, (2, 1), (30_000, 15_000), items),
        ),
        row(
            "1,000, `EXPANSION 4`, 30,000 items",
            (4, 100_000),
            OF_1000,
            |items| cuckoo(1000, (2, 4), (30_000, 0), items),
        ),
        row(
            "by default, 300 items, 4 times each",
            (20, 20_000),
            NO_LIMIT,
            |items| {
                let mut filter = CuckooFilter::new(
                    cuckoo::DEFAULT_CAPACITY,
                    cuckoo::Parameters::DEFAULT,
                    UNLIMITED,
                )
                .expect("a filter");
                for _ in 0..300 {
                    let item = items.next();
                    (0..4).for_each(|_| filter.insert(item, UNLIMITED).expect("memory"));
                }
                cuckoo_filter(filter)
            },
        ),
        row("100, 100 items", (100, 10_000), OF_100, |items| {
            cuckoo(100, (2, 1), (100, 0), items)
        }),
    ]
}

const WINDOW: Load = Load {
    panes: 12,
    added: 10_000,
    idle: 0,
    read: 12,
};

fn window_set_rows() -> Vec<Row> {
    let row = |name, size, max_difference, parameters, load| {
        row(name, size, max_difference, move |items| {
            window_set(parameters, load, items)
        })
    };
    let one_per_cent = (10_000, 0.01);
    vec![
        row(
            "10,000 for 1 %, 12 panes",
            (4, 250_000),
            OF_1000,
            one_per_cent,
            WINDOW,
        ),
        row(
            "10,000 for 0.1 %, 1,000 panes",
            (4, 500_000),
            OF_1000,
            (10_000, 0.001),
            Load {
                panes: 1000,
                read: 1000,
                ..WINDOW
            },
        ),
        row(
            "10,000 for 1 %, 12 panes, of which 3 are read",
            (4, 500_000),
            OF_1000,
            one_per_cent,
            Load { read: 3, ..WINDOW },
        ),
        row(
            "10,000 for 1 %, 12 panes, of which 5 have expired",
            (4, 250_000),
            OF_1000,
            one_per_cent,
            Load { idle: 5, ..WINDOW },
        ),
        row(
            "1,000 for 1 %, 12 panes, 10,000 items per window",
            (4, 100_000),
            OF_1000,
            (1_000, 0.01),
            WINDOW,
        ),
        row(
            "100 for 1 %, 12 panes",
            (100, 10_000),
            OF_100,
            (100, 0.01),
            Load {
                added: 100,
                ..WINDOW
            },
        ),
    ]
}

fn window_multiset_rows() -> Vec<Row> {
    let row = |name, size, parameters, load| {
        row(name, size, OF_1000, move |items| {
            window_multiset(parameters, load, items)
        })
    };
    let default = (10_000, None, 2);
    vec![
        row("10,000, 12 panes", (4, 200_000), default, WINDOW),
        row(
            "10,000, `BUCKETSIZE 4 ERROR 0.001`, 12 panes",
            (4, 500_000),
            (10_000, Some(0.001), 4),
            WINDOW,
        ),
        row(
            "10,000, 12 panes, of which 3 are read",
            (4, 500_000),
            default,
            Load { read: 3, ..WINDOW },
        ),
        row(
            "10,000, 12 panes, of which 5 have expired",
            (4, 250_000),
            default,
            Load { idle: 5, ..WINDOW },
        ),
        row(
            "1,000, 12 panes, 10,000 items per window",
            (4, 50_000),
            (1_000, None, 2),
            WINDOW,
        ),
    ]
}

/// The decimals of a percentage with this number of significant digits.
fn decimals(rate: f64, digits: f64) -> usize {
    (digits - 1.0 - (rate * 100.0).log10().floor()).max(0.0) as usize
}

/// The reported rates and those of look-ups.
pub fn rates() -> String {
    table_of([
        ("`MBbloom--`", bloom_rows()),
        ("`MBbloomCF`", cuckoo_rows()),
        ("`bf-window`", window_set_rows()),
        ("`cf-window`", window_multiset_rows()),
    ])
}

/// The same for valkey-bloom's type.
pub fn valkey_rates() -> String {
    table_of([("`bloomfltr`", valkey_rows())])
}

/// The table of these rows, by type.
fn table_of<const TYPES: usize>(rows: [(&str, Vec<Row>); TYPES]) -> String {
    let mut table_rows = Vec::new();
    let mut wrong = Vec::new();
    for (data_type, row) in (rows.into_iter())
        .flat_map(|(data_type, rows)| rows.into_iter().map(move |row| (data_type, row)))
    {
        let (mut found, mut reported) = (0, 0.0);
        for filter in 0..row.filters {
            let mut source = Items {
                next: filter << 32,
                are_random: filter % 2 == 1,
                bytes: Vec::new(),
            };
            let filled = (row.fill)(&mut source);
            reported += filled.reported / row.filters as f64;
            for _ in 0..row.look_ups {
                found += u64::from((filled.contains)(source.next()));
            }
        }
        let look_ups = (row.filters * row.look_ups) as f64;
        let measured = found as f64 / look_ups;
        let standard_error = (measured * (1.0 - measured) / look_ups).sqrt();
        let max = row.max_difference * measured + STANDARD_ERRORS * standard_error;
        if (reported - measured).abs() > max {
            wrong.push((data_type, row.name, reported, measured));
        }
        if !SHOWN.contains(&(data_type, row.name)) {
            continue;
        }
        let decimals = decimals(measured, 3.0).max(decimals(standard_error, 1.0));
        table_rows.push(vec![
            data_type.to_owned(),
            row.name.to_owned(),
            format!("{:.decimals$} %", reported * 100.0),
            format!(
                "{:.decimals$} ± {:.decimals$} %",
                measured * 100.0,
                standard_error * 100.0
            ),
        ]);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let head = ["type", "filter", "reported", "measured"];
    table(&head, &table_rows)
}
