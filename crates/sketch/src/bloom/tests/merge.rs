//! Merges of chains.

use super::*;
use crate::accuracy::{Accuracy, Figure};
use crate::bloom::merge::MergeError;
use crate::window::Panes;
use proptest::prelude::*;

fn chain(parameters: &Parameters) -> Chain {
    Chain::new(parameters, ANY).unwrap()
}

const SMALL: Parameters = parameters(20, 0.01, 2, true);

fn with_items(parameters: &Parameters, items: impl Iterator<Item = u32>) -> Chain {
    let mut chain = chain(parameters);
    for item in items {
        let _ = chain.add(&item.to_le_bytes(), (), ANY);
    }
    chain
}

fn contains_number(chain: &Chain, item: u32) -> bool {
    chain.contains(&item.to_le_bytes())
}

#[test]
fn a_merge_of_single_filters_has_the_bits_of_all_items() {
    let parameters = parameters(1000, 0.01, 2, false);
    let mut first = with_items(&parameters, 0..300);
    let second = with_items(&parameters, 200..500);
    let all = with_items(&parameters, 0..500);
    assert_eq!(first.merge(&[&second], ANY), Ok(true));
    assert_eq!(first.filters()[0].bits(), all.filters()[0].bits());
    // The estimate is deterministic. Over all sets of 500 items its standard deviation is 4.
    let items = first.items();
    assert!((490..=510).contains(&items), "{items}");
    assert_eq!(first.filters()[0].items(), items);
    assert_eq!(first.merge(&[&second], ANY), Ok(false));
    assert_eq!(first.items(), items);
}

#[test]
fn the_number_of_items_is_exact_if_one_operand_contains_the_others() {
    let some = with_items(&SMALL, 0..100);
    let mut empty = chain(&SMALL);
    assert_eq!(empty.merge(&[&some, &some], ANY), Ok(true));
    assert_eq!(fed(&empty), fed(&some));
    let mut part = with_items(&SMALL, 0..10);
    assert_eq!(part.merge(&[&some], ANY), Ok(true));
    assert_eq!(fed(&part), fed(&some));
    let mut all = some.try_clone().unwrap();
    assert_eq!(all.merge(&[&part, &chain(&SMALL)], ANY), Ok(false));
    assert_eq!(all.merge(&[], ANY), Ok(false));
    assert_eq!(fed(&all), fed(&some));
}

#[test]
fn a_failed_merge_names_the_parameter_and_changes_nothing() {
    let mut first = with_items(&SMALL, 0..10);
    let before = fed(&first);
    let good = with_items(&SMALL, 50..150);
    for ((capacity, error_rate, expansion, scaling), wanted) in [
        ((21, 0.01, 2, true), "capacity differs: 20 and 21"),
        ((20, 0.02, 2, true), "error rate differs: 0.01 and 0.02"),
        ((20, 0.01, 4, true), "expansion differs: 2 and 4"),
        ((20, 0.01, 2, false), "scaling differs: yes and no"),
    ] {
        let other = chain(&parameters(capacity, error_rate, expansion, scaling));
        let error = first.merge(&[&good, &other], ANY).unwrap_err();
        assert_eq!(error.to_string(), wanted);
        assert_eq!(fed(&first), before);
    }
    let refused = first.merge(&[&good], Budget::new(&|_| false));
    assert!(matches!(refused, Err(MergeError::OutOfMemory(_))));
    assert_eq!(fed(&first), before);
}

#[test]
fn an_operand_that_occurs_several_times_is_read_once() {
    let [first, second] = [0..30, 20..90].map(|items| with_items(&SMALL, items));
    let mut merged = with_items(&SMALL, 80..100);
    let mut often = merged.try_clone().unwrap();
    merged.merge(&[&first, &second], ANY).unwrap();
    let bytes = often.bit_bytes() + first.bit_bytes() + second.bit_bytes();
    let before = fed(&often);
    let others = [&first, &second, &second].repeat(10);
    let refused = often.merge_within(&others, ANY, bytes - 1);
    assert!(matches!(refused, Err(MergeError::TooMuchWork(_))));
    assert_eq!(fed(&often), before);
    assert_eq!(often.merge_within(&others, ANY, bytes), Ok(true));
    assert_eq!(fed(&often), fed(&merged));
    // The limit does not apply to two chains.
    assert_eq!(often.merge_within(&[&first; 10], ANY, 0), Ok(false));
}

#[test]
fn the_estimate_is_at_most_the_sum_of_the_operands() {
    let parameters = parameters(5, 0.01, 2, false);
    let mut first = with_items(&parameters, 0..5);
    let others: Vec<_> = ((1..40u32).map(|n| with_items(&parameters, n * 5..n * 5 + 5))).collect();
    let sum = 5 + others.iter().map(Chain::items).sum::<u64>();
    let others: Vec<_> = others.iter().collect();
    assert_eq!(first.merge(&others, ANY), Ok(true));
    assert_eq!(first.items(), sum);
}

proptest! {
    #[test]
    fn the_merge_contains_every_item_of_its_operands(
        sizes in prop::collection::vec(0u32..300, 1..5),
        expansion in 1u32..4,
    ) {
        let parameters = Parameters { expansion, ..SMALL };
        let chains: Vec<_> = sizes
            .iter()
            .zip((0u32..).step_by(150))
            .map(|(&size, start)| with_items(&parameters, start..start + size))
            .collect();
        let mut merged = chains[0].try_clone().unwrap();
        let others: Vec<_> = chains[1..].iter().collect();
        merged.merge(&others, ANY).unwrap();
        for (&size, start) in sizes.iter().zip((0u32..).step_by(150)) {
            prop_assert!((start..start + size).all(|item| contains_number(&merged, item)));
        }
        let of_filters: u64 = merged.filters().iter().map(Filter::items).sum();
        prop_assert_eq!(merged.items(), of_filters);
        let most = chains.iter().map(Chain::items).max().unwrap();
        let sum: u64 = chains.iter().map(Chain::items).sum();
        prop_assert!((most..=sum).contains(&merged.items()));
        // Items can still be added.
        merged.add(b"new", (), ANY).unwrap();
        prop_assert!(merged.contains(b"new"));
    }
}

/// The field of the accuracy.
fn rate_of(chain: &Chain) -> f64 {
    let fields = chain.accuracy(Panes::ALL, &mut ()).unwrap();
    match fields[0] {
        (_, Figure::Ratio(rate)) => rate,
        (_, Figure::Count(_)) => panic!("{fields:?}"),
    }
}

#[test]
fn the_rates_before_a_merge_are_those_of_the_accuracy() {
    for scaling in [true, false] {
        for capacity in [1, 5, 20, 1000, 20_000] {
            let parameters = parameters(capacity, 0.01, 2, scaling);
            let capacity = capacity as u32;
            let mut chains: Vec<_> = [0.0, 0.5, 0.9, 3.0]
                .map(|share| (f64::from(capacity) * share) as u32)
                .iter()
                .scan(0, |first, items| {
                    let all = *first..*first + items;
                    *first = all.end;
                    Some(with_items(&parameters, all))
                })
                .collect();
            let copy = chains[1].try_clone().unwrap();
            chains.push(copy);
            for at in 0..chains.len() {
                let mut merged = chains[at].try_clone().unwrap();
                let others = [&chains[1], &chains[4], &chains[2], &chains[1], &chains[3]];
                for others in [&others[..], &others[..3], &others[..1], &[]] {
                    let rates = merged.merge_rates(others).unwrap();
                    assert_eq!(rates.before, rate_of(&merged));
                    merged.merge(others, ANY).unwrap();
                    assert_eq!(rates.merged, rate_of(&merged), "{capacity} {scaling} {at}");
                }
            }
        }
    }
}

/// Few full filters exceed the limit for full filters, and it is near the rate for which large filters were created.
#[test]
fn full_filters_are_within_the_limit() {
    for (capacity, error_rate) in [
        (1, 0.01),
        (2, 0.2),
        (3, 0.001),
        (7, 0.01),
        (20, 0.1),
        (50, 1e-6),
        (50, 0.2),
        (1000, 0.01),
        (50_000, 0.001),
    ] {
        let parameters = parameters(capacity, error_rate, 2, false);
        let mut largest = 0.0;
        for first in 0..(100_000 / capacity as u32).clamp(1, 1000) {
            let mut full = chain(&parameters);
            let mut items = first * 1_000_000..;
            while full.items() < capacity {
                let item = items.next().unwrap().to_le_bytes();
                full.add(&item, (), ANY).unwrap();
            }
            let rates = full.merge_rates(&[]).unwrap();
            assert!(rates.before <= rates.full, "{capacity} {rates:?}");
            largest = rates.full;
        }
        let factor = largest / error_rate;
        assert!(capacity < 1000 || factor < 1.8, "{capacity}: {factor}");
    }
}
