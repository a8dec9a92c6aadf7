//! False positives of cuckoo filters that CF.ADD creates with the default settings, and of larger ones.

use crate::families::absent_item;
use crate::{check_table, per_cent, table};
use roughly_sketch::cuckoo::{CuckooFilter, DEFAULT_CAPACITY, DEFAULT_MAX_SUB_FILTERS, Parameters};
use roughly_sketch::memory::Budget;

/// Filters with other items.
const FILTERS: u64 = 10;
const ABSENT_ITEMS: u64 = 20_000;
const ITEMS: [u64; 4] = [1_000, 10_000, 30_000, 100_000];

/// A filter after the additions that it accepts: for each of `ITEMS`, the false positives and the sub-filters, and the number of
/// items when it has the most sub-filters.
fn fill(capacity: u64, parameters: Parameters, seed: u64) -> (Vec<(f64, usize)>, Option<u64>) {
    let mut filter =
        CuckooFilter::new(capacity, parameters, Budget::UNLIMITED).expect("a cuckoo filter");
    let mut results = Vec::new();
    let mut number = 0;
    for items in ITEMS {
        while number < items {
            if filter.num_sub_filters() as u64 == DEFAULT_MAX_SUB_FILTERS {
                return (results, Some(number));
            }
            let item = (seed << 32 | number).to_le_bytes();
            filter.insert(&item, Budget::UNLIMITED).expect("memory");
            number += 1;
        }
        let absent = (0..ABSENT_ITEMS).map(|n| absent_item(seed << 32 | n));
        let found = absent.filter(|item| filter.contains(item)).count();
        let rate = found as f64 / ABSENT_ITEMS as f64;
        results.push((rate, filter.num_sub_filters()));
    }
    (results, None)
}

fn by_creation() -> String {
    let small_buckets = |expansion| Parameters {
        expansion,
        ..Parameters::DEFAULT
    };
    let reserved = Parameters {
        bucket_size: 4,
        ..Parameters::DEFAULT
    };
    let rows = [
        (
            "`CF.ADD`, default settings",
            DEFAULT_CAPACITY,
            small_buckets(1),
        ),
        (
            "`CF.ADD`, `cf-expansion-factor 2`",
            DEFAULT_CAPACITY,
            small_buckets(2),
        ),
        ("`CF.RESERVE key 262144 BUCKETSIZE 4`", 262_144, reserved),
    ]
    .map(|(name, capacity, parameters)| {
        let filters: Vec<_> = ((0..FILTERS).map(|seed| fill(capacity, parameters, seed))).collect();
        let mut row = vec![name.to_owned()];
        row.extend((0..ITEMS.len()).map(|at| {
            let results: Vec<_> = filters.iter().filter_map(|(of, _)| of.get(at)).collect();
            if results.is_empty() {
                let refused = filters.iter().filter_map(|&(_, refused)| refused);
                let (first, last) = (refused.clone().min(), refused.max());
                let [first, last] = [first, last].map(|items| {
                    let items = items.expect("a refusal");
                    format!("{},{:03}", items / 1000, items % 1000)
                });
                return format!("`Maximum expansions reached` after {first} to {last}");
            }
            assert_eq!(results.len(), filters.len(), "some filters are full");
            let sum: f64 = results.iter().map(|(rate, _)| rate).sum();
            let most = results.iter().map(|(_, sub_filters)| sub_filters).max();
            let mean = per_cent(sum / FILTERS as f64);
            format!("{mean}, {}", most.expect("a result"))
        }));
        row
    });
    let head = ["created by", "1,000 items", "10,000", "30,000", "100,000"];
    table(&head, &rows)
}

/// Compares the page with the results.
pub fn the_cuckoo_page_shows_the_false_positives_of_the_defaults() {
    check_table("docs/families/cuckoo.md", "defaults", &by_creation());
}
