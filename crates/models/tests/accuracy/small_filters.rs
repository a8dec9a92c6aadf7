//! False positives of Bloom filters for few items and low error rates.

use crate::table;
use roughly_sketch::bloom::{Chain, Parameters};
use roughly_sketch::memory::Budget;

/// An error rate in short form: 0.000001 is 1e-6.
fn short(rate: f64) -> String {
    format!("{rate:.1e}").replace(".0e", "e")
}

/// The rate at the capacity, and the formula of the page.
pub fn rates() -> String {
    // Error rate, capacity, number of filters, look-ups per filter.
    let rows = [
        (1e-3, 100, 40u64, 50_000u64),
        (1e-4, 100, 40, 50_000),
        (1e-4, 1_000, 20, 100_000),
        (1e-5, 1_000, 20, 100_000),
        (1e-6, 1_000, 20, 200_000),
        (1e-6, 10_000, 10, 500_000),
    ]
    .map(|(error_rate, capacity, filters, look_ups)| {
        let parameters = Parameters {
            capacity,
            error_rate,
            expansion: 2,
            scaling: false,
        };
        let mut found = 0u64;
        for filter in 0..filters {
            let mut chain = Chain::new(&parameters, Budget::UNLIMITED).expect("a filter");
            let mut number = filter << 24;
            while chain
                .add(&number.to_le_bytes(), (), Budget::UNLIMITED)
                .is_ok()
            {
                number += 1;
            }
            let absent = (0..look_ups).map(|n| (1 << 40 | filter << 24 | n).to_le_bytes());
            found += absent.filter(|item| chain.contains(item)).count() as u64;
        }
        let rate = found as f64 / (filters * look_ups) as f64;
        let bits = -error_rate.ln() / std::f64::consts::LN_2.powi(2);
        let formula = error_rate + 7.0 / (capacity as f64 * bits * bits);
        assert!(
            (0.5..1.6).contains(&(rate / formula)),
            "{error_rate} {capacity}: {rate}, {formula}"
        );
        vec![
            short(error_rate),
            capacity.to_string(),
            format!("{:.1} e", rate / error_rate),
        ]
    });
    table(&["error rate e", "capacity n", "measured"], &rows)
}
