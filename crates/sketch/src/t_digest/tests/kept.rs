//! Kept nodes, to which reads add samples, give the answers of all nodes compressed at once.

use super::*;
use crate::cache::Cache;

/// Compares kept nodes with [`TDigest::compressed`]. Queries are first, because they compute only the means that they read.
fn check(digest: &TDigest, cache: &mut DigestCache, next: &mut impl FnMut(f64) -> usize) {
    let expected = digest.compressed().unwrap();
    let kept = digest.compressed_with(cache).unwrap();
    let quantile = next(1001.0) as f64 / 1000.0;
    let value = kept.quantile(quantile);
    assert_eq!(bits(value), bits(expected.quantile(quantile)));
    assert_eq!(bits(kept.cdf(value)), bits(expected.cdf(value)));
    let nodes = |compressed: &Compressed| -> Vec<_> {
        let nodes = compressed.centroids();
        nodes.map(|node| (bits(node.mean), node.weight)).collect()
    };
    if next(4.0) == 0 {
        assert_eq!(nodes(kept), nodes(&expected));
    }
    assert_eq!(kept.centroids().len(), expected.centroids().len());
}

#[test]
fn kept_nodes_have_the_answers_of_all_nodes() {
    let mut uniform = Uniform(77);
    let mut next = move |below: f64| (uniform.next().unwrap() * below) as usize;
    // The compression, and the number of different samples.
    for (compression, kinds) in [
        (1, 3.0),
        (2, 50.0),
        (7, 1e9),
        (20, 7.0),
        // More values than are kept.
        (20, 90.0),
        (20, 1000.0),
        (20, 1e9),
        (100, 1e9),
        (100, 90.0),
        (300, 1e9),
        (1000, 1e9),
    ] {
        let (mut filled, mut cache) = (digest(compression), DigestCache::default());
        let sizes = [[1; 6], [1, 1, 10, 2, 16, 17], [1, 30, 500, 3, 2, 1]];
        for round in 0..3000 {
            // Alternating additions and reads, batches, and digests of great weight.
            let size = sizes[round / 300 % 3][next(6.0)];
            let values: Vec<f64> = (0..size)
                .map(|_| (next(kinds) as f64 - 2.0) * if next(9.0) == 0 { -1.0 } else { 1.0 })
                .collect();
            filled.add(&values).unwrap();
            if round % 40 == 0 && filled.observations() < 1 << 60 {
                filled = TDigest::merge(compression, &[&filled, &filled], ANY).unwrap();
            }
            if next(500.0) == 0 {
                filled.reset();
            }
            cache.forget(&filled, &mut ());
            check(&filled, &mut cache, &mut next);
        }
    }
}

#[test]
fn limits_without_a_division_decide_as_those_with_one() {
    use crate::t_digest::centroid::Scale;
    let mut uniform = Uniform(5);
    let mut decided = [0; 2];
    for total in [
        2,
        3,
        10,
        609,
        4096,
        1 << 20,
        (1 << 30) + 1,
        1 << 45,
        i64::MAX,
    ] {
        for compression in [1, 20, 100, 1000, 200_000] {
            let scale = Scale::new(total, compression);
            for _ in 0..300 {
                let before = (uniform.next().unwrap() * total as f64) as i64 % total;
                let max = total - before;
                // The largest weight that is allowed, and its neighbors, are the closest decisions.
                let (mut low, mut high) = (0, max);
                while low < high {
                    let middle = high - (high - low) / 2;
                    match scale.allows(scale.limit(before), before, middle) {
                        true => low = middle,
                        false => high = middle - 1,
                    }
                }
                for weight in [low - 1, low, low + 1, low + 2, max / 2, max] {
                    if (1..=max).contains(&weight) {
                        let allowed = scale.allows(scale.limit(before), before, weight);
                        let near = scale.allows_near(scale.near_limit(before), before, weight);
                        assert_eq!(near, allowed, "{total} {compression} {before} {weight}");
                        decided[usize::from(allowed)] += 1;
                    }
                }
            }
        }
    }
    assert!(decided.iter().all(|&count| count > 1000), "{decided:?}");
}
