//! Bounds of the error. The samples are fixed, so a bound holds on every run or on none.

use super::*;
use crate::accuracy::{Accuracy, Field, Figure};
use crate::window::Panes;
use std::collections::VecDeque;

/// The sum of the squared rank errors over 199 quantiles.
fn squared_error(compressed: &Compressed, sorted: &[f64]) -> f64 {
    let count = sorted.len() as f64;
    let error = |q: f64| {
        let value = compressed.quantile(q);
        let below = sorted.partition_point(|&sample| sample < value) as f64;
        (below / count - q).powi(2)
    };
    (1..200).map(|step| error(f64::from(step) / 200.0)).sum()
}

#[test]
fn the_rank_error_is_at_most_1_5_times_that_of_one_digest() {
    let distributions: [fn(&mut Uniform, u64) -> f64; 3] = [
        |uniform, _| uniform.next(),
        |uniform, _| uniform.normal().exp(),
        |uniform, pane| uniform.normal() + pane as f64 * 0.3,
    ];
    for sample in distributions {
        for (panes, per_pane) in [(1, 3000), (12, 100), (12, 3000), (60, 700)] {
            let (mut of_window, mut of_one) = (0.0, 0.0);
            for seed in 1..=4u64 {
                let mut uniform = Uniform(seed << 40 | 12345);
                let mut digest = window(100, panes);
                let mut live = VecDeque::new();
                for pane in 0..2 * panes + 3 {
                    digest.advance(pane);
                    let samples: Vec<f64> =
                        (0..per_pane).map(|_| sample(&mut uniform, pane)).collect();
                    samples.chunks(7).for_each(|part| add(&mut digest, part));
                    live.push_back(samples);
                    if live.len() as u64 > panes + 1 {
                        live.pop_front();
                    }
                }
                let mut all: Vec<f64> = live.iter().flatten().copied().collect();
                let mut one = TDigest::new(100, Budget::UNLIMITED).unwrap();
                all.chunks(7).for_each(|part| one.add(part).unwrap());
                all.sort_by(f64::total_cmp);
                of_window += squared_error(
                    (digest.compressed_at(Panes::ALL, &mut WindowCache::default())).unwrap(),
                    &all,
                );
                of_one += squared_error(&one.compressed().unwrap(), &all);
            }
            let ratio = (of_window / of_one).sqrt();
            assert!(ratio <= 1.5, "{panes} panes of {per_pane}: {ratio}");
        }
    }
}

fn fields(cache: &mut WindowCache, digest: &TDigestWindow, panes: Panes) -> Vec<Field> {
    digest.accuracy(panes, cache).unwrap()
}

#[test]
fn reported_rank_errors_depend_on_the_state_and_the_panes_only() {
    for finest in [None, Some(1)] {
        let window = Window::new(120, 6, finest).unwrap();
        let mut digest = TDigestWindow::new(50, window, Budget::UNLIMITED).unwrap();
        let mut cache = WindowCache::default();
        let empty = fields(&mut cache, &digest, Panes::ALL);
        let values: Vec<_> = empty.iter().map(|field| field.1).collect();
        let zeros = ([Figure::Ratio(0.0); 3].into_iter()).chain([Figure::Count(0)]);
        assert!(values.into_iter().eq(zeros));
        let mut uniform = Uniform(5);
        for unit in 0..window.pane_at(150) {
            digest.advance(unit);
            let samples: Vec<_> = (0..50).map(|_| uniform.normal().exp()).collect();
            add(&mut digest, &samples);
            let unix_ms = window.start_of(unit);
            let loaded = load(saved(&digest)).unwrap();
            for ms in [1, 20, 60, 120] {
                let panes = digest.timeline().panes_within(unix_ms, ms);
                let of_panes = fields(&mut cache, &digest, panes);
                let read = fields(&mut WindowCache::default(), &digest, panes);
                assert_eq!(read, of_panes);
                let read = fields(&mut WindowCache::default(), &loaded, panes);
                assert_eq!(read, of_panes);
                let samples = digest.observations_at(panes).cast_unsigned();
                assert_eq!(of_panes[3], (c"samples", Figure::Count(samples)));
            }
        }
        assert!(
            matches!(fields(&mut cache, &digest, Panes::ALL)[0].1, Figure::Ratio(error) if error > 0.0)
        );
    }
}
