//! The false positive rates that SKETCH.ACCURACY reports, and those of look-ups.

use crate::rate_filters::{
    Filled, Items, Load, bloom_chain, cuckoo, cuckoo_filter, fixed, grown, merged, power_of_two,
    valkey, window_multiset, window_set,
};
use crate::table;
use roughly_sketch::bloom::{self, options};
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
    name: String,
    filters: u64,
    /// Per filter.
    look_ups: u64,
    max_difference: f64,
    fill: Box<Fill>,
}

/// A number of filters, and of look-ups per filter.
type Size = (u64, u64);

fn row(
    name: impl Into<String>,
    (filters, look_ups): Size,
    max_difference: f64,
    fill: impl Fn(&mut Items) -> Filled + 'static,
) -> Row {
    Row {
        name: name.into(),
        filters,
        look_ups,
        max_difference,
        fill: Box::new(fill),
    }
}

/// A number below a million with a comma between thousands.
fn grouped(number: u64) -> String {
    match number {
        1_000.. => format!("{},{:03}", number / 1000, number % 1000),
        _ => number.to_string(),
    }
}

/// Bloom filters that do not grow, with this share of their capacity in items. Above 1, they are merges of full filters.
fn fixed_row(size: Size, max_difference: f64, (capacity, percent): (u64, f64), share: f64) -> Row {
    let filling = match share {
        0.5 => "half full".to_owned(),
        1.0 => "full".to_owned(),
        _ => format!("merge of {share} full filters"),
    };
    let name = format!("{} for {percent} %, {filling}", grouped(capacity));
    row(name, size, max_difference, move |items| {
        bloom_chain(fixed(capacity, percent / 100.0, share, items))
    })
}

/// Bloom filters with `EXPANSION 1` that have grown.
fn grown_row(size: Size, max_difference: f64, capacity: u64, added: u64) -> Row {
    let [first, items] = [capacity, added].map(grouped);
    let name = format!("{first} for 1 %, `EXPANSION 1`, {items} items");
    let parameters = bloom::Parameters {
        capacity,
        expansion: 1,
        ..bloom::Parameters::DEFAULT
    };
    row(name, size, max_difference, move |items| {
        bloom_chain(grown(parameters, added, items))
    })
}

fn bloom_rows() -> Vec<Row> {
    let by_default = |size, added| {
        let name = format!("by default, {} items", grouped(added));
        row(name, size, OF_1000, move |items| {
            bloom_chain(grown(bloom::Parameters::DEFAULT, added, items))
        })
    };
    let merge_by_default = |items: &mut Items| {
        let mut filter = grown(bloom::Parameters::DEFAULT, 10_000, items);
        let other = grown(bloom::Parameters::DEFAULT, 10_000, items);
        filter.merge(&[&other], UNLIMITED).expect("memory");
        bloom_chain(filter)
    };
    let old = |name, options| {
        row(name, (40, 25_000), OF_100, move |items| {
            let empty = || power_of_two(100, 1e-3, options);
            bloom_chain(merged(1.0, items, &empty))
        })
    };
    vec![
        fixed_row((4, 500_000), OF_1000, (10_000, 1.0), 0.5),
        fixed_row((4, 250_000), OF_1000, (10_000, 1.0), 1.0),
        fixed_row((4, 100_000), OF_1000, (10_000, 10.0), 1.0),
        fixed_row((4, 250_000), OF_1000, (10_000, 0.1), 1.0),
        fixed_row((4, 50_000), OF_1000, (10_000, 1.0), 3.0),
        by_default((6, 100_000), 10_000),
        by_default((2, 250_000), 100_000),
        row(
            "by default, merge of 2 filters with 10,000 items",
            (4, 50_000),
            OF_1000,
            merge_by_default,
        ),
        grown_row((2, 100_000), OF_1000, 1000, 64_000),
        fixed_row((10, 200_000), OF_100, (1000, 0.01), 1.0),
        fixed_row((10, 500_000), OF_100, (1000, 0.0001), 1.0),
        fixed_row((20, 250_000), OF_100, (200, 0.01), 0.5),
        fixed_row((40, 20_000), OF_100, (100, 1.0), 1.0),
        fixed_row((40, 50_000), OF_100, (100, 0.01), 1.0),
        fixed_row((40, 5_000), OF_100, (100, 0.01), 2.0),
        fixed_row((40, 100_000), OF_100, (100, 0.0001), 1.0),
        // An odd number, 3, times a power of two bits.
        fixed_row((40, 100_000), OF_100, (105, 0.0001), 1.0),
        grown_row((10, 20_000), OF_100, 100, 6_400),
        fixed_row((400, 2_000), NO_LIMIT, (10, 1.0), 1.0),
        grown_row((40, 5_000), NO_LIMIT, 10, 640),
        fixed_row((400, 5_000), NO_LIMIT, (10, 0.01), 1.0),
        old("142 for 0.1 %, full, of an old file", options::HASH_64_BITS),
        old(
            "142 for 0.1 %, full, of an old file with hashes of 32 bits",
            0,
        ),
    ]
}

/// Filters of valkey-bloom's type that have, or had at first, this capacity.
fn valkey_row(size: Size, max_difference: f64, (capacity, percent): (u64, f64), added: u64) -> Row {
    let filling = match added {
        _ if added > capacity => format!("growing, {} items", grouped(added)),
        _ if added < capacity => "half full".to_owned(),
        _ => "full".to_owned(),
    };
    let name = format!("{} for {percent} %, {filling}", grouped(capacity));
    row(name, size, max_difference, move |items| {
        valkey(capacity, percent / 100.0, added, items)
    })
}

fn valkey_rows() -> Vec<Row> {
    vec![
        valkey_row((4, 250_000), OF_1000, (10_000, 1.0), 10_000),
        valkey_row((4, 100_000), OF_1000, (100, 1.0), 30_000),
        valkey_row((10, 200_000), OF_100, (1000, 0.01), 1000),
        valkey_row((20, 250_000), OF_100, (250, 0.01), 125),
        valkey_row((40, 50_000), OF_100, (100, 0.01), 100),
    ]
}

fn cuckoo_rows() -> Vec<Row> {
    let reserved = |size, bucket_size, added| {
        let option = match bucket_size {
            2 => String::new(),
            _ => format!(" `BUCKETSIZE {bucket_size}`,"),
        };
        let name = format!("10,000,{option} {} items", grouped(added));
        row(name, size, OF_1000, move |items| {
            cuckoo(10_000, (bucket_size, 1), (added, 0), items)
        })
    };
    let by_default = |size, added| {
        let name = format!("by default, {} items", grouped(added));
        row(name, size, OF_1000, move |items| {
            cuckoo(1024, (2, 1), (added, 0), items)
        })
    };
    let equal_items = |items: &mut Items| {
        let filter = CuckooFilter::new(
            cuckoo::DEFAULT_CAPACITY,
            cuckoo::Parameters::DEFAULT,
            UNLIMITED,
        );
        let mut filter = filter.expect("a filter");
        for _ in 0..300 {
            let item = items.next();
            (0..4).for_each(|_| filter.insert(item, UNLIMITED).expect("memory"));
        }
        cuckoo_filter(filter)
    };
    vec![
        reserved((4, 250_000), 1, 6_000),
        reserved((4, 200_000), 2, 10_000),
        reserved((4, 250_000), 2, 2_000),
        reserved((4, 100_000), 4, 10_000),
        reserved((4, 100_000), 8, 10_000),
        reserved((4, 50_000), 32, 10_000),
        reserved((4, 25_000), 255, 10_000),
        by_default((20, 50_000), 1_000),
        by_default((4, 50_000), 10_000),
        by_default((4, 50_000), 30_000),
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
            equal_items,
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

/// The name of a filter with a window that was reserved for so many items, with these options.
fn window_name(capacity: u64, options: &str, load: Load) -> String {
    let what = match load {
        _ if load.read < load.panes => format!(", of which {} are read", load.read),
        _ if load.idle > 0 => format!(", of which {} have expired", load.idle),
        _ if load.added != capacity => format!(", {} items per window", grouped(load.added)),
        _ => String::new(),
    };
    let [capacity, panes] = [capacity, load.panes].map(grouped);
    format!("{capacity}{options}, {panes} panes{what}")
}

fn window_set_rows() -> Vec<Row> {
    let row = |size, max_difference, (capacity, percent): (u64, f64), load| {
        let name = window_name(capacity, &format!(" for {percent} %"), load);
        row(name, size, max_difference, move |items| {
            window_set((capacity, percent / 100.0), load, items)
        })
    };
    let large = Load {
        panes: 1000,
        read: 1000,
        ..WINDOW
    };
    let small = Load {
        added: 100,
        ..WINDOW
    };
    let partly_read = Load { read: 3, ..WINDOW };
    let partly_expired = Load { idle: 5, ..WINDOW };
    vec![
        row((4, 250_000), OF_1000, (10_000, 1.0), WINDOW),
        row((4, 500_000), OF_1000, (10_000, 0.1), large),
        row((4, 500_000), OF_1000, (10_000, 1.0), partly_read),
        row((4, 250_000), OF_1000, (10_000, 1.0), partly_expired),
        row((4, 100_000), OF_1000, (1_000, 1.0), WINDOW),
        row((100, 10_000), OF_100, (100, 1.0), small),
    ]
}

fn window_multiset_rows() -> Vec<Row> {
    let row = |size, parameters, load| {
        let options = match parameters {
            (_, Some(rate), buckets) => format!(", `BUCKETSIZE {buckets} ERROR {rate}`"),
            _ => String::new(),
        };
        let name = window_name(parameters.0, &options, load);
        row(name, size, OF_1000, move |items| {
            window_multiset(parameters, load, items)
        })
    };
    let default = (10_000, None, 2);
    let partly_read = Load { read: 3, ..WINDOW };
    let partly_expired = Load { idle: 5, ..WINDOW };
    vec![
        row((4, 200_000), default, WINDOW),
        row((4, 500_000), (10_000, Some(0.001), 4), WINDOW),
        row((4, 500_000), default, partly_read),
        row((4, 250_000), default, partly_expired),
        row((4, 50_000), (1_000, None, 2), WINDOW),
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
            wrong.push((data_type, row.name.clone(), reported, measured));
        }
        if !SHOWN.contains(&(data_type, &row.name)) {
            continue;
        }
        let decimals = decimals(measured, 3.0).max(decimals(standard_error, 1.0));
        table_rows.push(vec![
            data_type.to_owned(),
            row.name,
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
