//! Runs of equal means: the number of nodes that a compression leaves, and compressions of compressed nodes.

use super::*;
use crate::t_digest::centroid::{compress_to_vec, compress_within};
use crate::t_digest::runs::Form;
use proptest::prelude::*;

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
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
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
        let merged = TDigest::merge(compression, &[&digest], Budget::UNLIMITED).unwrap();
        let once = digest.compressed().unwrap();
        let twice = merged.compressed().unwrap();
        assert!(once.centroids().eq(twice.centroids()), "{seed}");
    }
}

#[test]
fn answers_after_each_addition_are_those_of_all_nodes() {
    for seed in 0..10 {
        let (mut digest, mut cache) = (digest(20), DigestCache::default());
        for sample in repeated(seed, 500) {
            digest.add(&[sample]).unwrap();
            let kept = digest.compressed_with(&mut cache).unwrap().centroids();
            assert!(kept.eq(digest.compressed().unwrap().centroids()));
        }
    }
}

#[test]
fn a_digest_of_few_values_has_three_nodes_of_each() {
    let samples: Vec<_> = (0..100_000).map(|number| f64::from(number % 100)).collect();
    let digest = digest_of(100, &samples);
    let nodes: Vec<_> = digest.compressed().unwrap().centroids().collect();
    let expected = (0..100).flat_map(|value| {
        [1, 998, 1].map(|weight| Centroid {
            mean: f64::from(value),
            weight,
        })
    });
    assert!(nodes.into_iter().eq(expected));
}

/// Equal samples in a digest of which nothing is merged stay as they are, as in RedisBloom.
#[test]
fn small_digests_have_one_node_per_sample() {
    let digest = digest_of(100, &[1.0, 2.0, 2.0, 2.0, 2.0, 3.0]);
    assert!(
        digest
            .compressed()
            .unwrap()
            .centroids()
            .all(|node| node.weight == 1)
    );
}
