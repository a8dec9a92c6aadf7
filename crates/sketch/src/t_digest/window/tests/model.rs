//! A model with exact samples, and reloads at any time.

use super::*;
use crate::cache::Cache;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Add(Vec<f64>),
    Advance(u64),
    Reset,
    Read(u64),
    Reload(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sample = prop_oneof![-20.0..20.0f64, (-3i8..4).prop_map(f64::from), Just(-0.0)];
    let step = prop_oneof![
        8 => prop::collection::vec(sample, 0..6).prop_map(Step::Add),
        4 => (0u64..4).prop_map(Step::Advance),
        1 => prop_oneof![0u64..80, Just(1 << 40)].prop_map(Step::Advance),
        1 => Just(Step::Reset),
        6 => prop_oneof![0u64..5, 0u64..80, Just(u64::MAX >> 1)].prop_map(Step::Read),
        3 => (0u8..3).prop_map(Step::Reload),
    ];
    prop::collection::vec(step, 0..60)
}

fn reloaded(digest: &TDigestWindow, way: u8) -> TDigestWindow {
    match way {
        0 => load(saved(digest)).unwrap(),
        1 => TDigestWindow::from_header(&digest.header().unwrap(), Budget::UNLIMITED).unwrap(),
        _ => digest.try_clone().unwrap(),
    }
}

/// Checks all reads against the samples of the live panes, which are so few that a digest of them is exact.
fn check(cache: &mut WindowCache, digest: &TDigestWindow, samples: &[(u64, f64)], current: u64) {
    let newest = digest.timeline().newest();
    let oldest = current
        .max(newest)
        .saturating_sub(digest.timeline().window().panes());
    let live: Vec<f64> = samples
        .iter()
        .filter(|sample| sample.0 >= oldest)
        .map(|sample| sample.1)
        .collect();
    let mut exact = TDigest::new(10_000, Budget::UNLIMITED).unwrap();
    exact.add(&live).unwrap();
    assert_eq!(
        digest.observations_at(digest.panes_in(current)),
        live.len() as i64
    );
    assert_eq!(
        digest.info_at(digest.panes_in(current)).observations,
        live.len() as i64
    );
    let expected = answers_of(&exact.compressed().unwrap(), exact.min(), exact.max());
    assert_eq!(answers_with(cache, digest, current), expected);
    let changes = cache.changes();
    assert_eq!(answers_with(cache, digest, current), expected);
    assert_eq!(cache.changes(), changes);
    let source = digest
        .digest_at(digest.panes_in(current), cache, Budget::UNLIMITED)
        .unwrap();
    assert_eq!(source.observations(), live.len() as i64);
    let merged = TDigest::merge(10_000, &[&source], Budget::UNLIMITED).unwrap();
    let merged = answers_of(&merged.compressed().unwrap(), merged.min(), merged.max());
    assert_eq!(merged, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn reads_equal_those_of_the_exact_samples(panes in 1u64..60, steps in steps()) {
        let mut digest = window(10_000, panes);
        let mut samples: Vec<(u64, f64)> = Vec::new();
        let mut cache = WindowCache::default();
        for step in steps {
            let newest = digest.timeline().newest();
            match step {
                Step::Add(values) => {
                    add(&mut digest, &values);
                    samples.extend(values.into_iter().map(|value| (newest, value)));
                }
                Step::Advance(by) => prop_assert_eq!(digest.advance(newest + by), by > 0),
                Step::Reset => {
                    digest.reset();
                    samples.clear();
                    prop_assert!(digest.is_new());
                    prop_assert_eq!(digest.timeline().newest(), newest);
                }
                Step::Read(ahead) => check(&mut cache, &digest, &samples, newest.saturating_add(ahead)),
                Step::Reload(way) => digest = reloaded(&digest, way),
            }
            check(&mut cache, &digest, &samples, 0);
            let newest = digest.timeline().newest();
            for pane in newest.saturating_sub(panes + 2)..=newest + 1 {
                let live = pane <= newest && pane + panes >= newest;
                let total = samples.iter().filter(|sample| live && sample.0 == pane).count();
                prop_assert_eq!(digest.pane_total(pane), total as u64);
            }
        }
    }

    /// With a low compression, panes are compressed: a digest that is read and reloaded continues as one that is not.
    #[test]
    fn reads_and_reloads_change_no_later_answer(
        panes in 1u64..20, compression in 1i64..12, steps in steps(), repeat in 1usize..20,
    ) {
        let (mut changed, mut left) = (window(compression, panes), window(compression, panes));
        let mut cache = WindowCache::default();
        for step in steps {
            let newest = left.timeline().newest();
            match step {
                Step::Add(values) => {
                    for digest in [&mut changed, &mut left] {
                        add(digest, &values.repeat(repeat));
                    }
                }
                Step::Advance(by) => {
                    for digest in [&mut changed, &mut left] {
                        digest.advance(newest + by);
                    }
                }
                Step::Reset => {
                    changed.reset();
                    left.reset();
                }
                Step::Read(ahead) => {
                    answers_with(&mut cache, &changed, newest.saturating_add(ahead));
                    // A write that follows may forget.
                    if ahead % 2 == 0 {
                        cache.forget(&changed, &mut ());
                    }
                }
                Step::Reload(way) => {
                    let again = reloaded(&changed, way);
                    prop_assert!(again == changed);
                    changed = again;
                }
            }
            prop_assert!(changed == left);
            prop_assert_eq!(fed(&changed), fed(&left));
            prop_assert_eq!(saved(&changed), saved(&left));
            prop_assert_eq!(changed.info_at(changed.panes_in(newest + 2)), left.info_at(left.panes_in(newest + 2)));
            let fresh = left.try_clone().unwrap();
            for ahead in [0, 1, 5] {
                prop_assert_eq!(answers_with(&mut cache, &changed, newest + ahead), answers(&fresh, newest + ahead));
            }
        }
    }
}
