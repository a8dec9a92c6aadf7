//! Samples of cases.

use crate::support::sample::Sample;

#[test]
fn every_case_is_in_exactly_one_part() {
    for seed in [0, 20_261_126, 20_261_127] {
        for case in 0..100 {
            let parts = (0..6).filter(|part| Sample::new(seed, *part, 6).contains(case));
            assert_eq!(parts.count(), 1);
        }
    }
}

#[test]
fn every_combination_is_selected_after_some_seeds() {
    let combinations = (0..12).map(|seed| {
        let sample = Sample::new(seed, 0, 6);
        let one = sample.one_of(vec![1, 2, 3], 1)[0];
        (one, sample.one_of(vec![1, 2, 3, 4], 3)[0])
    });
    let combinations: std::collections::BTreeSet<_> = combinations.collect();
    assert_eq!(combinations.len(), 12);
}
