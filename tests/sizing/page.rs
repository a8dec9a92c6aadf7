//! The page beside the table, the server's own types, and itself.

use crate::browser::{Shown, open_pages};
use crate::figures::UNLIMITED;
use crate::memory::fill;
use crate::support::server::Server;
use crate::{MEMORY, MIB, MORE_MEMORY, Row, is_close, is_same_memory, rows};
use roughly_sketch::bloom::{Chain, Parameters};

/// The page also has no other points and rank errors, except for the chart of cuckoo filters without a window.
#[test]
fn the_page_has_the_figures_of_the_table() {
    let rows = rows();
    let pages = open_pages(rows.iter().map(|row| &row.fields));
    for (row, shown) in rows.iter().zip(&pages) {
        if row.is_error() {
            let errors = format!("Correct the marked values. {}", row.command);
            assert_eq!((&*shown.command, &shown.errors), ("", &errors), "{row:?}");
            assert!(shown.figures.is_empty(), "{row:?} {shown:?}");
            continue;
        }
        assert_eq!(
            (&shown.command, &*shown.errors),
            (&row.command, ""),
            "{row:?}"
        );
        for (name, value) in &row.figures {
            let is_equal = if name.starts_with(MEMORY) {
                has_memory(row, *value, shown.figure(MEMORY), name == MORE_MEMORY)
            } else {
                is_close(*value, shown.figure(name))
            };
            assert!(is_equal, "{name} in {row:?} {shown:?}");
        }
        for name in shown.figures.keys() {
            let is_point = name.starts_with("at ") && !row.figures.contains_key("slots-used");
            let is_listed = is_point || name.starts_with("uniform");
            let is_in_row = row.figures.contains_key(name);
            assert!(is_in_row || !is_listed, "{name} in {row:?} {shown:?}");
        }
    }
}

/// Whether the memory on the page is that of the key, or an upper limit: that of t-digests and of sketches with a window depends on the data.
fn has_memory(row: &Row, usage: f64, memory: f64, may_be_more: bool) -> bool {
    let limit = row
        .field("mib")
        .map_or(f64::INFINITY, |mib| mib * MIB + 100.0);
    let part = usage / memory;
    let fits = match (row.command.split('.').next(), row.window()) {
        (Some("CF"), None) => {
            usage <= memory + 100.0 && (may_be_more || is_same_memory(usage, memory))
        }
        (Some("TOPK"), Some(_)) => (0.75..=1.0).contains(&part),
        (Some("TDIGEST"), Some(_)) => (0.7..=1.0).contains(&part),
        (Some("TDIGEST"), None) => (0.8..=1.02).contains(&part),
        _ => is_same_memory(usage, memory),
    };
    fits && usage <= limit
}

/// The page warns of filters whose error rate exceeds the specified one, and of no other filters. A filter with
/// `EXPANSION 1` has at most the error rate that the page shows, here with 64 full sub-filters.
#[test]
fn small_bloom_filters_have_a_warning() {
    const ABSENT_ITEMS: u64 = 50_000;
    let cases = [
        (1, 0.01, 1, true),
        (10, 0.01, 1, true),
        (100, 0.01, 1, true),
        (100, 0.000_1, 1, true),
        (799, 0.01, 1, true),
        (800, 0.01, 1, false),
        (10, 0.01, 2, true),
        (100, 0.01, 2, false),
        (1_000, 0.000_001, 2, true),
        (100_000, 0.000_001, 2, false),
    ];
    let pages = open_pages(cases.map(|(capacity, error, expansion, _)| {
        format!("family=bloom&capacity={capacity}&error={error}&expansion={expansion}")
    }));
    for ((capacity, error_rate, expansion, is_warned), shown) in cases.into_iter().zip(pages) {
        let command = &shown.command;
        assert_eq!(shown.note.contains("Warning: "), is_warned, "{command}");
        assert_eq!(shown.figures.contains_key("error-grown"), expansion == 1);
        if expansion > 1 {
            continue;
        }
        let parameters = Parameters {
            capacity,
            error_rate,
            expansion,
            scaling: true,
        };
        let mut chain = Chain::new(&parameters, UNLIMITED).expect("a filter");
        let mut items = 0u64..;
        while chain.filters().len() <= 64 {
            let item = items.next().expect("an item").to_le_bytes();
            chain.add(&item, (), UNLIMITED).expect("memory");
        }
        let absent = (0..ABSENT_ITEMS).map(|n| (n | 1 << 40).to_le_bytes());
        let found = absent.filter(|item| chain.contains(item)).count();
        let measured = found as f64 / ABSENT_ITEMS as f64;
        let is_below = measured <= shown.figure("error-grown");
        assert!(is_below, "{command}: {measured}");
        // Without a warning, the specified rate is exceeded by at most a tenth, and the noise of this measurement.
        let is_shown = is_warned || measured < 1.2 * error_rate;
        assert!(is_shown, "{command}: {measured}");
    }
}

/// Asserts that a key of `items` items takes the memory on the page. Buffers of connections and of the server count as well.
fn assert_allocated(shown: f64, items: u64, write: &str, after: &str, read: &str) {
    let server = Server::start();
    let before = server.info_number("used_memory");
    // Lookups finish the incremental rehashing.
    for (command, after) in [(write, after), (read, "")] {
        let items = (0..items).map(|n| format!("{n:020}{after}"));
        fill(&mut server.resp2(), command, items);
    }
    let used = (server.info_number("used_memory") - before) as f64;
    assert!(
        (-0.03 * used..=0.03 * used + 100_000.0).contains(&(used - shown)),
        "{write}: {items} items take {used} bytes, the page has {shown}"
    );
}

/// The comparison has the results of the families, and a set takes the memory that a server allocates for it.
#[test]
fn the_comparison_has_the_memory_of_set_bloom_and_cuckoo() {
    let pages = open_pages(["family=bloom&capacity=20000&error=0.001", "family=topk"]);
    let items = [1, 10, 20, 100, 1000, 10_000, 100_000].map(|thousands: u64| 1000 * thousands);
    let cells = |shown: &Shown, column| {
        items.map(|items: u64| shown.figures.get(&format!("{items} {column}")).copied())
    };
    assert_eq!(cells(&pages[1], 0), [None; 7]);
    let [sets, blooms, cuckoos] = [0, 1, 2].map(|column| cells(&pages[0], column));
    for (at, items) in items.into_iter().take(4).enumerate() {
        let filters = ["family=bloom&error=0.001", "family=cuckoo&bucket=4"];
        let filters = open_pages(filters.map(|family| format!("{family}&capacity={items}")));
        let memory = filters.iter().map(|shown| shown.figure(MEMORY));
        assert!(memory.eq([blooms[at], cuckoos[at]].map(|cell| cell.expect("a cell"))));
        let set = sets[at].expect("a cell");
        assert_allocated(set, items, "SADD key", "", "SMISMEMBER key");
    }
}

/// The memory of exact counters, and whether the page recommends them.
#[test]
fn rate_limits_are_beside_the_memory_of_exact_counters() {
    let cases = [
        ("1000&requests=1000000", true),
        ("100000&requests=100000", false),
    ];
    let pages = open_pages(cases.map(|(clients, _)| {
        format!("family=limit&clients={clients}&limit=1000&early=0.1&share=0.01&window=")
    }));
    for ((clients, is_exact_better), shown) in cases.into_iter().zip(pages) {
        let exact = shown.figure("exact");
        let advice = shown.note.contains("Exact counters take less memory");
        assert_eq!(advice, is_exact_better, "{shown:?}");
        assert_eq!(exact <= shown.figure(MEMORY), is_exact_better, "{shown:?}");
        let clients = clients.split('&').next().and_then(|n| n.parse().ok());
        let clients = clients.expect("a number");
        assert_allocated(exact, clients, "HSET key", " 1234", "HMGET key");
    }
}

/// The next lower number with three significant digits.
fn next_lower(rate: f64) -> String {
    let step = 10f64.powf(rate.log10().floor() - 2.0);
    let is_first = (rate / step).round() == 100.0;
    format!("{:.2e}", rate - if is_first { step / 10.0 } else { step })
}

/// The error rate is the lowest, the number of items the largest that fits. The page gives the same result if it is its input.
#[test]
fn results_for_a_memory_limit_are_the_best_that_fit() {
    let cases = [
        "mib=200&family=bloom&capacity=50000000&expansion=2",
        "mib=200&family=bloom&capacity=50000000&expansion=0",
        "mib=1.5&family=bloom&capacity=1000000&expansion=1",
        "mib=0.002&family=bloom&capacity=1000&expansion=2",
        "mib=1024&family=bloom&capacity=1073741824&expansion=2",
        "mib=2.6&family=bloom&capacity=1000000&expansion=2&window=86400000&panes=24",
        "mib=10&family=cms&probability=0.01&cell=4&total=1000",
        "mib=0.01&family=cms&probability=0.001&cell=8&total=1000",
        "mib=0.3&family=cms&probability=0.9&cell=1&total=1000",
        "mib=10&family=cms&probability=0.01&cell=4&total=1000&window=3600000&panes=60",
        "mib=10&family=cuckoo&bucket=4&expansion=1",
        "mib=3.1&family=cuckoo&bucket=2&expansion=1",
        "mib=0.01&family=cuckoo&bucket=1&expansion=0",
        "mib=100&family=cuckoo&bucket=255&expansion=2",
        "mib=10&family=cuckoo&bucket=4&expansion=1&window=86400000&panes=24",
    ];
    let found = open_pages(cases.map(|values| format!("{values}&find=limit")));
    let others = open_pages(cases.iter().zip(&found).flat_map(|(values, found)| {
        let inputs = match found.figures.get("items") {
            Some(items) => [*items, items + 1.0].map(|items| format!("capacity={items}")),
            None => {
                let rate = found.figure("error");
                [rate.to_string(), next_lower(rate)].map(|rate| format!("error={rate}"))
            }
        };
        inputs.map(|input| format!("{values}&{input}"))
    }));
    for ((values, found), others) in cases.iter().zip(&found).zip(others.chunks(2)) {
        let mib = values.split(['=', '&']).nth(1);
        let mib = mib.and_then(|mib| mib.parse::<f64>().ok());
        let limit = mib.expect("a number") * MIB;
        let [same, better] = [0, 1].map(|at| others[at].figure(MEMORY));
        assert_eq!(others[0].command, found.command);
        let is_limited = found.figure(MEMORY) <= limit && same == found.figure(MEMORY);
        assert!(is_limited, "{found:?}");
        assert!(better > limit, "{found:?}: {:?} fits as well", others[1]);
    }
}

#[test]
fn memory_limits_have_units_and_a_lowest_value() {
    let sizes = ["1%20GiB", "1024", "1.048576%20MB", "1"];
    let sizes = open_pages(sizes.map(|mib| format!("family=cuckoo&find=limit&mib={mib}")));
    assert_eq!(sizes[0].command, sizes[1].command);
    assert_eq!(sizes[2].command, sizes[3].command);
    let cases = [
        "family=bloom&capacity=1000000&expansion=2",
        "family=cuckoo&bucket=255&expansion=1",
        "family=bloom&capacity=1000000&expansion=2&window=86400000",
        "family=cuckoo&bucket=4&expansion=1&window=86400000",
        "family=cms&probability=0.000001&cell=8",
    ];
    let refused = open_pages(cases.map(|values| format!("{values}&find=limit&mib=0.0001")));
    let found = open_pages(cases.iter().zip(refused).map(|(values, refused)| {
        let lowest = refused
            .errors
            .split_once("mib: Too little memory. Enter at least ");
        let (_, lowest) = lowest.unwrap_or_else(|| panic!("{refused:?}"));
        format!("{values}&find=limit&mib={}", lowest.trim_end_matches('.'))
    }));
    for shown in sizes.iter().chain(&found) {
        let is_valid = shown.errors.is_empty() && !shown.command.is_empty();
        assert!(is_valid, "{shown:?}");
    }
}
