//! Merges.

use super::*;
use std::cell::Cell;

#[test]
fn a_merge_uses_the_cache_of_the_same_state_only() {
    let mut operand = digest_of(20, &Uniform(3).take(500).collect::<Vec<_>>());
    let mut filled = DigestCache::default();
    operand.compressed_with(&mut filled).unwrap();
    let cache = Cell::new(filled);
    let bytes = operand.compressed().unwrap().block_bytes();
    for _ in 0..2 {
        let operands = [(&operand, Some(&cache)), (&operand, None)];
        let merged = TDigest::merge_within(50, &operands, ANY, u64::MAX);
        let expected = TDigest::merge(50, &[&operand; 2], ANY);
        assert_eq!(merged, expected);
        let filled = cache.take();
        assert!(filled.block_bytes() >= bytes);
        cache.set(filled);
        // The cache is now that of an earlier state.
        operand.add(&[2.0; 100]).unwrap();
    }
}

#[test]
fn a_repeated_operand_is_compressed_once_and_merged_each_time() {
    let mut uniform = Uniform(11);
    let [left, right] = [400, 700]
        .map(|samples| digest_of(20, &uniform.by_ref().take(samples).collect::<Vec<_>>()));
    let copies: Vec<_> = (0..10).map(|_| left.try_clone().unwrap()).collect();
    let apart = copies.iter().flat_map(|copy| [copy, &right]);
    let expected = TDigest::merge(30, &apart.collect::<Vec<_>>(), ANY).unwrap();
    let asked = Cell::new(0);
    let allows = |_| {
        asked.set(asked.get() + 1);
        true
    };
    let merged = TDigest::merge(30, &[&left, &right].repeat(10), Budget::new(&allows)).unwrap();
    assert_eq!(merged, expected);
    assert_eq!(merged.info(), expected.info());
    assert_eq!(merged.observations(), 11_000);
    // For the result, and for both compressed forms.
    assert_eq!(asked.get(), 3);
    let refused = TDigest::merge(30, &[&left, &left], Budget::new(&|bytes| bytes > 1000));
    assert!(matches!(refused, Err(DigestError::OutOfMemory(_))));
}

#[test]
fn a_merge_above_the_work_limit_is_refused() {
    let digests = [1.0, 2.0, 3.0].map(|first| digest_of(20, &[first, 5.0, 6.0]));
    let [one, another, third] = &digests;
    let merge = |operands: &[&TDigest], max_bytes| {
        let operands: Vec<_> = operands.iter().map(|&operand| (operand, None)).collect();
        TDigest::merge_within(20, &operands, ANY, max_bytes).map(|merged| merged.observations())
    };
    // Three nodes of each operand, and 0, 3 and 6 nodes of the result before it.
    let bytes = (9 + 3 + 6) * size_of::<Centroid>() as u64;
    assert_eq!(merge(&[one, another, third], bytes), Ok(9));
    let refused = merge(&[one, another, third], bytes - 1);
    assert!(matches!(refused, Err(DigestError::TooMuchWork(_))));
    assert_eq!(merge(&[one; 2], 0), Ok(6));
    // All nodes except those that are read twice.
    let again = (9 + 3 + 6 - 2 * 3) * size_of::<Centroid>() as u64;
    assert_eq!(merge(&[one; 3], 8 * again), Ok(9));
    let refused = merge(&[one; 3], 8 * again - 1);
    assert!(matches!(refused, Err(DigestError::TooMuchWork(_))));
}

#[test]
fn a_merge_does_not_compress_one_node() {
    let [one, another, empty] = [&[5.0][..], &[1.0], &[]].map(|samples| digest_of(100, samples));
    let three = digest_of(100, &[7.0, 5.0, 2.0]);
    let samples_of = |digest: &TDigest| {
        let compressed = digest.compressed().unwrap();
        (compressed.centroids().map(|node| node.mean)).collect::<Vec<_>>()
    };
    let of = |operands: &[&TDigest]| {
        let merged = TDigest::merge(100, operands, ANY).unwrap();
        let info = merged.info();
        let nodes = [info.merged_nodes, info.unmerged_nodes];
        let samples = operands.iter().flat_map(|operand| samples_of(operand));
        let mut samples: Vec<_> = samples.collect();
        samples.sort_by(f64::total_cmp);
        assert_eq!(samples_of(&merged), samples);
        (nodes, info.total_compressions)
    };
    assert_eq!(of(&[&one, &empty]), ([0, 1], 0));
    assert_eq!(of(&[&one, &another]), ([0, 2], 0));
    assert_eq!(of(&[&one, &empty, &three]), ([0, 4], 0));
    assert_eq!(of(&[&one, &three, &empty]), ([4, 0], 1));
    assert_eq!(of(&[&three, &one, &empty, &empty]), ([4, 0], 2));
}
