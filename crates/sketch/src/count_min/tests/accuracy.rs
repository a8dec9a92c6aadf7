//! How far estimates exceed counts.

use super::*;

/// The promise of [`dimensions_for`] on a stream as streams are: the n-th item comes in proportion
/// to 1/n.
///
/// An estimate is too high by more than error × total = 1000 only if an item of some hundred counts
/// shares each of the 7 rows' cells, or many small ones do. The average load of a cell is 500, so
/// the promised bound is Markov's, at most 1/2 a row; of 1000 items at most 7.8 are expected beyond
/// it. In truth only 26 items come more than 500 times, so in a row less than a fifth of the cells
/// hold that much and all 7 of an item do with a probability below 1.3e-5: more than 10 of 1000
/// fail with a probability below 1e-20.
#[test]
fn estimates_exceed_the_error_as_seldom_as_promised() {
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
    sketch.increment_all(stream, |_, answer| assert!(answer.is_ok()));
    assert_eq!(
        sketch.total().cast_signed(),
        counts.iter().map(|(_, count)| count).sum::<i64>()
    );
    let bound = error * sketch.total() as f64;
    let mut beyond = 0;
    for (item, count) in &counts {
        let excess = sketch.query(item.as_bytes()).cast_signed() - count;
        assert!(excess >= 0, "{item}");
        beyond += u32::from(excess as f64 > bound);
    }
    assert!(
        f64::from(beyond) <= probability * 1000.0,
        "{beyond} of 1000"
    );
}
