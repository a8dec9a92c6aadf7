//! Blocks, their bytes, and budgets.

use super::super::weighted::one_node;
use super::*;
use crate::blocks::{Addresses, MovesAll};
use crate::cache::Cache;
use crate::memory::OutOfMemory;

#[test]
fn creation_requests_the_memory_of_all_nodes_and_allocates_none() {
    let asked = std::cell::Cell::new(0);
    let allows = |bytes| {
        asked.set(bytes);
        bytes < 1 << 40
    };
    let mut digest = TDigest::new(300_000_000, Budget::new(&allows)).unwrap();
    assert_eq!(asked.get(), 80 + 16 * 1_800_000_010);
    digest.add(&[1.0, 2.0]).unwrap();
    assert!(digest.samples.block_bytes() < 100);
    let refused = TDigest::new(100, Budget::new(&|_| false));
    assert_eq!(refused, Err(OutOfMemory { bytes: 9840 }.into()));
    let refused = TDigest::merge(100, &[&digest], Budget::new(&|_| false));
    assert_eq!(refused, Err(OutOfMemory { bytes: 9840 }.into()));
}

#[test]
fn blocks_are_those_of_the_nodes_and_of_the_cache() {
    let count = |blocks: &dyn Fn(&mut Addresses)| {
        let mut addresses = Addresses::default();
        blocks(&mut addresses);
        addresses.0.len()
    };
    let (mut filled, mut cache) = (digest(100), DigestCache::default());
    let mut check = |filled: &TDigest, [nodes, unread, read]: [usize; 3]| {
        assert_eq!(count(&|blocks| filled.for_each_block(blocks)), nodes);
        cache.forget(filled, &mut ());
        assert_eq!(count(&|blocks| cache.for_each_block(blocks)), unread);
        filled.compressed_with(&mut cache).unwrap();
        assert_eq!(count(&|blocks| cache.for_each_block(blocks)), read);
    };
    check(&filled, [0, 0, 1]);
    filled.add(&[1.0]).unwrap();
    // The cache itself, means, weights, ends, nodes, and those that are not samples.
    check(&filled, [1, 0, 6]);
    filled.add(&[2.0]).unwrap();
    check(&filled, [1, 6, 6]);
    let distinct: Vec<f64> = (10..1010).map(f64::from).collect();
    filled.add(&distinct).unwrap();
    check(&filled, [2, 0, 6]);
    filled.add(&[2.0; 1000]).unwrap();
    check(&filled, [2, 0, 6]);
    // No nodes are copied that are in order.
    filled = filled.try_clone().unwrap();
    filled.samples.sort();
    check(&filled, [2, 0, 3]);
}

#[test]
fn the_cache_follows_writes() {
    let (mut filled, mut cache) = (digest(100), DigestCache::default());
    filled.add(&[1.0, 2.0, 3.0]).unwrap();
    for (number, values) in [&[][..], &[4.0], &[5.0; 700], &[]].into_iter().enumerate() {
        if number == 3 {
            filled.reset();
        }
        filled.add(values).unwrap();
        let (changes, before) = (cache.changes(), cache.block_bytes());
        for _ in 0..2 {
            let kept = filled.compressed_with(&mut cache).unwrap();
            let computed = filled.compressed().unwrap();
            assert!(kept.centroids().eq(computed.centroids()));
            let has_changed = cache.block_bytes() != before;
            assert_eq!(cache.changes(), changes + u64::from(has_changed));
        }
        // The copy takes as much as the samples and 24 bytes per other node, and the compressed form 20 bytes per centroid.
        let max_bytes = filled.samples.block_bytes() + 24 * (filled.centroids.len() + 1) + 20 * 75;
        assert!(cache.block_bytes() <= max_bytes + 256);
    }
    filled.reset();
    cache.forget(&filled, &mut ());
    assert_eq!(cache.block_bytes(), 0);
    filled.add(&[1.0, 2.0, 3.0]).unwrap();
    // A copy is another value.
    filled.compressed_with(&mut cache).unwrap();
    let mut copy = filled.try_clone().unwrap();
    filled.add(&[1.0]).unwrap();
    copy.add(&[2.0]).unwrap();
    filled.compressed_with(&mut cache).unwrap();
    assert_eq!(copy.compressed_with(&mut cache).unwrap().quantile(0.5), 2.0);
}

#[test]
fn the_memory_of_a_digest_depends_on_its_state_only() {
    let mut uniform = Uniform(15);
    let mut next = move |below: f64| (uniform.next().unwrap() * below) as usize;
    for (compression, kinds) in [(1, 3.0), (5, 4.0), (20, 7.0), (100, 1e9), (200, 40.0)] {
        let mut digest = digest(compression);
        let mut other = digest_of(10, &[0.0; 50]);
        let mut cache = DigestCache::default();
        for _ in 0..400 {
            let count = [1, 1, 1, 7, 60, 900][next(6.0)];
            let values: Vec<f64> = (0..count)
                // Few different values: many nodes with equal means, some of them heavier; zeros of both signs.
                .map(|_| -(next(kinds) as f64 - 2.0))
                .collect();
            match next(40.0) {
                0 => digest.reset(),
                1 | 2 => {
                    let merged = TDigest::merge(compression, &[&digest, &other], ANY).unwrap();
                    other = std::mem::replace(&mut digest, merged);
                    if other.observations() > 1 << 40 {
                        other.reset();
                        digest.reset();
                    }
                }
                3 => drop(digest.compressed_with(&mut cache).unwrap()),
                _ => digest.add(&values).unwrap(),
            }
            for same in [&reloaded(&digest), &digest.try_clone().unwrap()] {
                assert_eq!(fed(same), fed(&digest));
                assert_eq!(same.block_bytes(), digest.block_bytes());
            }
        }
    }
}

#[test]
fn moved_blocks_keep_their_contents() {
    let mut moved = digest_of(20, &Uniform(5).take(1000).collect::<Vec<_>>());
    let before = (fed(&moved), answers(&moved));
    let (mut mover, mut cache) = (MovesAll::default(), DigestCache::default());
    moved.compressed_with(&mut cache).unwrap();
    for index in 0.. {
        let in_digest = moved.relocate_block(index, &mut mover);
        let in_cache = cache.relocate_block(index, &mut mover);
        if !in_digest && !in_cache {
            break;
        }
    }
    // Centroids and buffer; the cache itself, means, weights, ends, nodes, and those that are not samples.
    assert_eq!(mover.moves, 8);
    let changes = cache.changes();
    let compressed = moved.compressed_with(&mut cache).unwrap();
    let are_equal = (compressed.centroids()).eq(moved.compressed().unwrap().centroids());
    assert!(are_equal);
    assert_eq!(cache.changes(), changes);
    assert_eq!((fed(&moved), answers(&moved)), before);
    moved.add(&[0.5]).unwrap();
    let mut same = digest_of(20, &Uniform(5).take(1000).collect::<Vec<_>>());
    same.add(&[0.5]).unwrap();
    assert_eq!(answers(&moved), answers(&same));
}

#[test]
fn growth_is_requested_before_memory_is_allocated() {
    let mut digest = digest(100);
    let mut refusals = 0;
    for (round, count) in [1, 5, 700, 3, 2000, 1, 90].into_iter().enumerate() {
        let values: Vec<f64> = Uniform(round as u64).take(count).collect();
        let (before, observations) = (digest.block_bytes(), digest.observations());
        let state = digest.try_clone().unwrap();
        if digest.add_within(&values, Budget::new(&|_| false)).is_err() {
            refusals += 1;
            assert_eq!(digest, state);
            assert_eq!(digest.block_bytes(), before);
            assert_eq!(digest.observations(), observations);
            let asked = std::cell::Cell::new(0);
            let allows = |more| {
                asked.set(more);
                true
            };
            digest.add_within(&values, Budget::new(&allows)).unwrap();
            assert_eq!(asked.get(), (digest.block_bytes() - before) as u64);
        }
    }
    assert!(refusals >= 3, "{refusals}");
}

#[test]
fn a_digest_of_100_values_takes_less_than_5_kilobytes() {
    let mut filled = digest(100);
    let mut max_bytes = 0;
    for number in 0..100_000u32 {
        filled.add(&[f64::from(number % 100) - 50.5]).unwrap();
        // Before the first compression, there are 609 samples.
        if filled.info().total_compressions > 0 {
            max_bytes = max_bytes.max(filled.block_bytes());
        }
    }
    assert_eq!(filled.compressed().unwrap().centroids().len(), 300);
    // 16 bytes per run, and 8 per free node. The key and the allocator add less than 1 kB.
    assert_eq!(max_bytes, 100 * 16 + 310 * 8);
}

/// The element of a run without its last node takes a sample, except zeros, which can differ.
#[test]
fn a_sample_that_ends_a_run_is_packed_as_in_a_copy() {
    for mean in [3.5, -3.5, 0.0, -0.0] {
        for refuses in [false, true] {
            let nodes = [
                (-4.0, 2),
                (mean, 1),
                (mean, 5),
                (7.0, 1),
                (7.0, 2),
                (7.0, 3),
            ];
            let nodes = nodes.map(|(mean, weight)| Centroid { mean, weight });
            let mut digest = digest(10);
            digest.add_as(&nodes, one_node, ANY).unwrap();
            for sample in [7.0, mean, -mean, mean, 7.0, -4.0] {
                let allows = |_| !refuses;
                let before = fed(&digest);
                if digest.add_within(&[sample], Budget::new(&allows)).is_err() {
                    assert_eq!(fed(&digest), before);
                    digest.add(&[sample]).unwrap();
                }
                let loaded = TDigest::load(&mut saved(&digest), 0, &()).unwrap();
                assert_eq!(fed(&loaded), fed(&digest));
                assert_eq!(loaded.nodes(), digest.nodes());
                let expected = digest.block_bytes();
                assert_eq!(loaded.block_bytes(), expected, "{mean} {sample}");
            }
            assert_eq!((digest.info().unmerged_nodes, digest.nodes()), (12, 12));
        }
    }
}
