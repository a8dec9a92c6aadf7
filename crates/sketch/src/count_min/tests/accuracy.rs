//! The error of estimates.

use super::*;

/// The bound of [`dimensions_for`], on a stream in which the frequency of the n-th item is proportional to 1/n.
///
/// An estimate is too high by more than error × total = 1000 only if frequent items, or many rare ones, share its cell
/// in each of the 7 rows. The average cell contains 500. By Markov's inequality the probability is at most 1/2 per row,
/// and at most 7.8 of 1000 items are expected to exceed the bound. Only 26 items occur more than 500 times: less than a
/// fifth of the cells of a row contain one of them, and all 7 cells of an item do with a probability below 1.3e-5. More
/// than 10 of 1000 items exceed the bound with a probability below 1e-20.
#[test]
fn estimates_exceed_the_error_at_most_with_the_given_probability() {
    let (error, probability) = (0.01, 0.01);
    let (width, depth) = dimensions_for(error, probability).unwrap();
    let mut sketch = sketch(width, depth, CellSize::Four);
    let harmonic: f64 = (1..=1000).map(|n| 1.0 / f64::from(n)).sum();
    let counts: Vec<(String, i64)> = (1..=1000)
        .map(|n| {
            (
                format!("item {n}"),
                (100_000.0 / (harmonic * f64::from(n))) as i64,
            )
        })
        .collect();
    let stream = counts.iter().map(|(item, count)| (item.as_bytes(), *count));
    sketch.increment_all(stream, NO_LIMIT, |_, answer| assert!(answer.is_ok()));
    let expected = counts.iter().map(|(_, count)| count).sum::<i64>();
    assert_eq!(sketch.total().cast_signed(), expected);
    let bound = error * sketch.total() as f64;
    let mut beyond = 0;
    for (item, count) in &counts {
        let excess = sketch.query(item.as_bytes()).cast_signed() - count;
        assert!(excess >= 0, "{item}");
        beyond += u32::from(excess as f64 > bound);
    }
    let is_rare = f64::from(beyond) <= probability * 1000.0;
    assert!(is_rare, "{beyond} of 1000");
}
