//! Runs of equal means: the number of nodes that a compression leaves, and compressions of compressed nodes.

use super::*;
use crate::t_digest::runs::{Form, compress_to_vec, compress_within};
use proptest::prelude::*;
use std::f64::consts::PI;

/// Nodes of few or many means, as large payloads have them: single, in pairs and in triples, of any weight.
fn nodes() -> impl Strategy<Value = (u32, Vec<Centroid>)> {
    let weight = prop_oneof![
        Just(1i64),
        1..9i64,
        1..1000i64,
        (0..52u32).prop_map(|bits| 1 << bits)
    ];
    let group = (0..4u8, prop::array::uniform3(weight), 1..4usize);
    let compression = prop_oneof![1..12u32, 12..200u32];
    compression.prop_flat_map(move |compression| {
        let max_len = capacity(compression) as usize;
        prop::collection::vec(group.clone(), max_len).prop_map(move |groups| {
            let mut mean = 0.0;
            let all = groups.into_iter().flat_map(|(step, weights, len)| {
                mean += f64::from(step) / 4.0;
                let weights = weights.into_iter().take(len);
                weights.map(move |weight| Centroid { mean, weight })
            });
            (compression, all.take(max_len).collect())
        })
    })
}

fn sum(nodes: &[Centroid]) -> i64 {
    nodes.iter().map(|node| node.weight).sum()
}

proptest! {
    #[test]
    fn a_compression_leaves_room_for_additions((compression, nodes) in nodes()) {
        let (capacity, total) = (capacity(compression) as usize, sum(&nodes));
        let (result, weight) =
            compress_within(nodes.iter().copied(), nodes.len(), total, compression, capacity).unwrap();
        prop_assert!(result.len() < capacity);
        prop_assert_eq!(sum(&result), weight);
        prop_assert!(result.is_sorted_by(|one, next| one.mean <= next.mean));
        // Equal means are the only difference from nodes that are apart.
        let mut apart = nodes.clone();
        for (number, node) in apart.iter_mut().enumerate() {
            node.mean = number as f64;
        }
        let (plain, _) =
            compress_within(apart.into_iter(), nodes.len(), total, compression, capacity).unwrap();
        let free = 5 * compression as usize + 9;
        prop_assert!(result.len() <= free.max(plain.len()), "{} of {free}, {}", result.len(), plain.len());
    }

    #[test]
    fn a_pane_has_no_more_nodes_than_its_format_allows((compression, nodes) in nodes()) {
        let max_len = (2 * compression + 50).min(capacity(compression)) as usize;
        let form = Form::of_pane(compression, 2 * compression, max_len);
        let result =
            compress_to_vec(nodes.iter().copied(), nodes.len(), sum(&nodes), form).unwrap();
        prop_assert!(result.len() <= max_len.min(nodes.len()));
        prop_assert_eq!(sum(&result), sum(&nodes));
    }
}

/// Samples of which many are equal, by a fixed sequence.
fn repeated(seed: u64, len: usize) -> impl Iterator<Item = f64> {
    let values = [2, 40, 150, 400, 5000][seed as usize % 5];
    let mut state = seed;
    (0..len).map(move |_| {
        state = (state.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
        let [one, other] = [state >> 40, state >> 33].map(|bits| bits % values);
        // Small numbers are the most frequent ones; every third sample is a distinct one if there are many.
        match values > 100 && state >> 60 < 5 {
            true => (state >> 11) as f64 / (1u64 << 50) as f64,
            false => one.min(other) as f64,
        }
    })
}

#[test]
fn a_second_compression_changes_nothing() {
    for seed in 0..400 {
        let compression = [10, 20, 50, 100][seed as usize % 4];
        let samples: Vec<_> = repeated(seed, 300 + 17 * seed as usize).collect();
        let digest = digest_of(compression, &samples);
        let merged = TDigest::merge(compression, &[&digest], ANY).unwrap();
        let once = digest.compressed().unwrap();
        let twice = merged.compressed().unwrap();
        assert!(once.centroids().eq(twice.centroids()), "{seed}");
    }
}

/// The walk without the rule of equal means, after a stable sort.
fn plain(compression: f64, mut nodes: Vec<Centroid>) -> Vec<Centroid> {
    nodes.sort_by(|one, other| one.mean.total_cmp(&other.mean));
    let all = sum(&nodes) as f64;
    let normalizer = compression / (2.0 * PI * all * crate::math::ln(all));
    let (mut before, mut result) = (0, Vec::<Centroid>::new());
    for node in nodes {
        if let Some(last) = result.last_mut() {
            let weight = last.weight + node.weight;
            let limits = [before, before + weight].map(|weight| {
                let q = weight as f64 / all;
                q * (1.0 - q)
            });
            if (limits.iter()).all(|limit| weight as f64 * normalizer <= *limit) {
                last.mean += (node.mean - last.mean) * node.weight as f64 / weight as f64;
                last.weight = weight;
                continue;
            }
            before += last.weight;
        }
        result.push(node);
    }
    result
}

/// Means of centroids that are equal by coincidence are not equal samples: their nodes are merged as if they were apart.
#[test]
fn heavy_nodes_of_one_mean_are_no_run() {
    for form in [Form::of(20), Form::of_pane(10, 20, 70)] {
        let nodes = (0..70).map(|at| Centroid {
            mean: f64::from(at / 3),
            weight: i64::from(2 + at % 5),
        });
        let mut all: Vec<_> = nodes.collect();
        // The last node of a mean is a sample.
        all.extend((1..40).map(|mean| Centroid::from(f64::from(mean) / 2.0)));
        all.sort_by(|one, other| one.mean.total_cmp(&other.mean));
        let result = compress_to_vec(all.iter().copied(), all.len(), sum(&all), form).unwrap();
        assert!(result.len() < all.len());
        assert_eq!(result, plain(20.0, all));
    }
}
