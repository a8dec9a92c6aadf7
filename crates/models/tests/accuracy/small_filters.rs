//! False positives of Bloom filters for few items and low error rates.

use crate::rate_filters::bloom_of;
use crate::table;
use roughly_sketch::bloom::Chain;
use roughly_sketch::memory::Budget;

/// An error rate in short form: 0.000001 is 1e-6.
fn short(rate: f64) -> String {
    format!("{rate:.1e}").replace(".0e", "e")
}

/// The rate at the capacity, by error rate and capacity.
pub fn rates() -> String {
    // The capacities, and whether the table shows them.
    let capacities = [
        (2, true),
        (5, false),
        (10, true),
        (20, false),
        (50, false),
        (100, true),
        (1_000, true),
        (10_000, true),
    ];
    let rows = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6].map(|error_rate| {
        let mut row = vec![short(error_rate)];
        row.extend(capacities.iter().filter_map(|&(capacity, is_shown)| {
            let rate = rate_of(capacity, error_rate);
            let bits = -error_rate.ln() / std::f64::consts::LN_2.powi(2);
            let formula = error_rate + 7.0 / (capacity as f64 * bits * bits);
            // Smaller filters have other rates.
            let ratios = if capacity < 100 { 0.1..10.0 } else { 0.5..1.6 };
            let is_close = ratios.contains(&(rate / formula));
            assert!(is_close, "{error_rate} {capacity}: {rate}, {formula}");
            is_shown.then(|| short(rate))
        }));
        row
    });
    let mut head = vec!["error rate e".to_owned()];
    let shown = capacities.iter().filter(|(_, is_shown)| *is_shown);
    head.extend(shown.map(|(capacity, _)| format!("n = {capacity}")));
    let head: Vec<_> = head.iter().map(String::as_str).collect();
    table(&head, &rows)
}

/// The share of absent items that full filters of a capacity contain.
fn rate_of(capacity: u64, error_rate: f64) -> f64 {
    let filters = (4000 / capacity).clamp(10, 200);
    // At least about 40 false positives are expected.
    let look_ups = (40.0 / error_rate).clamp(1e5, 5e6) as u64 / filters;
    let parameters = bloom_of(capacity, error_rate, 2, false);
    let mut found = 0u64;
    for filter in 0..filters {
        let mut chain = Chain::new(&parameters, Budget::UNLIMITED).expect("a filter");
        let mut number = filter << 24;
        while (chain.add(&number.to_le_bytes(), (), Budget::UNLIMITED)).is_ok() {
            number += 1;
        }
        let absent = (0..look_ups).map(|n| (1 << 40 | filter << 24 | n).to_le_bytes());
        found += absent.filter(|item| chain.contains(item)).count() as u64;
    }
    found as f64 / (filters * look_ups) as f64
}
