//! False positives of merged Bloom filters.

use crate::families::absent_item;
use crate::rate_filters::bloom_of;
use crate::{check_table, per_cent, table};
use roughly_sketch::bloom::{Chain, Parameters};
use roughly_sketch::memory::Budget;

const SOURCES: u64 = 3;
/// Items per source.
const ITEMS: u64 = 900;
/// Merges per row, each of filters with other items.
const MERGES: u64 = 20;
const ABSENT_ITEMS: u64 = 20_000;

/// A filter with the items of these numbers that it accepts.
fn filter_of(parameters: &Parameters, numbers: std::ops::Range<u64>) -> Chain {
    let mut filter = Chain::new(parameters, Budget::UNLIMITED).expect("a filter");
    for number in numbers {
        let added = filter.add(&number.to_le_bytes(), (), Budget::UNLIMITED);
        assert!(added.is_ok() || !parameters.scaling, "{added:?}");
    }
    filter
}

fn rates() -> String {
    let rows = [
        (1_000, true, false),
        (1_000, false, false),
        (3_000, true, true),
        (3_000, false, true),
    ]
    .map(|(capacity, scaling, is_exact)| {
        let parameters = bloom_of(capacity, 0.01, 2, scaling);
        let mut found = [0; 2];
        for merge in 0..MERGES {
            let first = merge << 32;
            let of_source = |source| {
                let start = first + source * ITEMS;
                filter_of(&parameters, start..start + ITEMS)
            };
            let mut merged = of_source(0);
            let others: Vec<_> = (1..SOURCES).map(of_source).collect();
            let others: Vec<_> = others.iter().collect();
            merged.merge(&others, Budget::UNLIMITED).expect("memory");
            let one = filter_of(&parameters, first..first + SOURCES * ITEMS);
            let bits = |chain: &Chain| {
                let filters = chain.filters().iter();
                filters.map(|filter| filter.bits().to_vec()).collect()
            };
            let [of_merged, of_one]: [Vec<_>; 2] = [bits(&merged), bits(&one)];
            assert_eq!(of_merged == of_one, is_exact);
            for (filter, found) in [merged, one].iter().zip(&mut found) {
                let absent = (0..ABSENT_ITEMS).map(|n| absent_item(first | n));
                *found += absent.filter(|item| filter.contains(item)).count() as u64;
            }
        }
        let growth = if scaling { "" } else { " NONSCALING" };
        let mut row = vec![format!("`BF.RESERVE key 0.01 {capacity}{growth}`")];
        row.extend(found.map(|found| per_cent(found as f64 / (MERGES * ABSENT_ITEMS) as f64)));
        row
    });
    let head = ["each filter", "merge of three", "one filter"];
    table(&head, &rows)
}

/// Compares the page with the results.
pub fn the_page_of_the_merge_shows_its_false_positives() {
    check_table("docs/commands/bf.merge.md", "merged filters", &rates());
}
