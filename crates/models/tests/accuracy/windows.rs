//! Accuracy of sketches with a window.

use crate::streams::LOGNORMAL;
use crate::table;
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{Compressed, TDigest, TDigestWindow, WindowCache};
use roughly_sketch::window::{Panes, Timed, Window};

/// The mean rank error of the quantiles around `quantile`, as a share of `1 - quantile`.
fn tail_error(compressed: &Compressed, sorted: &[f64], quantile: f64) -> String {
    let errors = (-20..=20).map(|step| {
        let asked = quantile + (1.0 - quantile) * f64::from(step) / 40.0;
        let answer = compressed.quantile(asked);
        let below = sorted.partition_point(|&sample| sample < answer);
        (below as f64 / sorted.len() as f64 - asked).abs() / (1.0 - asked)
    });
    format!("{:.2} %", errors.sum::<f64>() / 41.0 * 100.0)
}

/// Rank errors of t-digests whose panes were merged in many levels, and of digests without a window.
pub fn t_digest() -> String {
    let mut rows = Vec::new();
    for (name, units, finest, per_unit) in [
        ("12 uniform panes", 12, None, 10_000),
        ("15 levels", 13 << 15, Some(1), 1),
    ] {
        let window = Window::new(units, 12, finest).expect("a window");
        let mut digest = TDigestWindow::new(100, window, Budget::UNLIMITED).expect("a digest");
        let newest = units * 9 / 8;
        let samples = LOGNORMAL.samples((newest as usize + 1) * per_unit, 29);
        for (unit, added) in (0..).zip(samples.chunks(per_unit)) {
            digest.advance(unit);
            digest.add_within(added, Budget::UNLIMITED).expect("memory");
        }
        let mut cache = WindowCache::default();
        for (period, panes) in [
            ("all", Panes::ALL),
            (
                "1/6 of it",
                digest.timeline().panes_within(newest, units / 6),
            ),
        ] {
            let count = digest.observations_at(panes);
            let mut live = samples[samples.len() - count as usize..].to_vec();
            let mut one = TDigest::new(100, Budget::UNLIMITED).expect("a digest");
            (live.chunks(100)).for_each(|chunk| one.add(chunk).expect("memory"));
            live.sort_by(f64::total_cmp);
            let of_window = digest.compressed_at(panes, &mut cache).expect("memory");
            let of_one = &one.compressed().expect("memory");
            let mut row = vec![name.to_owned(), period.to_owned()];
            row.extend([0.5, 0.9, 0.99, 0.999].map(|quantile| {
                let error = |compressed| tail_error(compressed, &live, quantile);
                format!("{} / {}", error(of_window), error(of_one))
            }));
            rows.push(row);
        }
    }
    table(&["window", "read", "p50", "p90", "p99", "p99.9"], &rows)
}
