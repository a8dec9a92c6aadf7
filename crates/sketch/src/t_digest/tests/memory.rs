//! Blocks, their bytes, and budgets.

use super::*;
use crate::blocks::{Addresses, MovesAll};
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
    assert!(digest.samples.borrow().block_bytes() < 100);
    let refused = TDigest::new(100, Budget::new(&|_| false));
    assert_eq!(refused, Err(OutOfMemory { bytes: 9840 }.into()));
    let refused = TDigest::merge(100, &[&digest], Budget::new(&|_| false));
    assert_eq!(refused, Err(OutOfMemory { bytes: 9840 }.into()));
}

#[test]
fn blocks_are_those_of_the_nodes_and_of_the_compressed_form() {
    let count = |digest: &TDigest| {
        let mut blocks = Addresses::default();
        digest.for_each_block(&mut blocks);
        blocks.0.len()
    };
    let mut filled = digest(100);
    assert_eq!(count(&filled), 0);
    filled.add(&[1.0]).unwrap();
    assert_eq!(count(&filled), 1);
    filled.compressed().unwrap();
    assert_eq!(count(&filled), 3);
    filled.add(&[2.0; 1000]).unwrap();
    assert_eq!(count(&filled), 2);
    filled.compressed().unwrap();
    assert_eq!(count(&filled), 4);
}

#[test]
fn block_bytes_follow_reads_and_writes() {
    let mut filled = digest(100);
    assert_eq!(filled.block_bytes(), 0);
    filled.add(&[1.0, 2.0, 3.0]).unwrap();
    let written = filled.block_bytes();
    assert!(written >= 24);
    assert!(!filled.is_compressed());
    filled.compressed().unwrap();
    assert!(filled.is_compressed());
    assert!(filled.block_bytes() >= written + 48);
    filled.add(&[]).unwrap();
    assert_eq!(filled.block_bytes(), written);
    filled.reset();
    assert_eq!(filled.block_bytes(), 0);
}

/// Bytes of the blocks that hold the state.
fn state_bytes(digest: &TDigest) -> usize {
    digest.centroids.capacity() * size_of::<Centroid>() + digest.samples.borrow().block_bytes()
}

#[test]
fn the_memory_of_a_digest_depends_on_its_state_only() {
    let mut uniform = Uniform(15);
    let mut next = move |below: f64| (uniform.next().unwrap() * below) as usize;
    for (compression, kinds) in [(1, 3.0), (5, 4.0), (20, 7.0), (100, 1e9), (200, 40.0)] {
        let mut digest = digest(compression);
        let mut other = digest_of(10, &[0.0; 50]);
        for _ in 0..400 {
            let count = [1, 1, 1, 7, 60, 900][next(6.0)];
            let values: Vec<f64> = (0..count)
                // Few different values: many nodes with equal means, some of them heavier; zeros of both signs.
                .map(|_| -(next(kinds) as f64 - 2.0))
                .collect();
            match next(40.0) {
                0 => digest.reset(),
                1 | 2 => {
                    let merged =
                        TDigest::merge(compression, &[&digest, &other], Budget::UNLIMITED).unwrap();
                    other = std::mem::replace(&mut digest, merged);
                    if other.observations() > 1 << 40 {
                        other.reset();
                        digest.reset();
                    }
                }
                3 => drop(digest.compressed().unwrap()),
                _ => digest.add(&values).unwrap(),
            }
            let loaded = TDigest::load(&mut saved(&digest), 0, &()).unwrap();
            let copied = digest.try_clone().unwrap();
            for same in [&loaded, &copied] {
                assert_eq!(fed(same), fed(&digest));
                assert_eq!(state_bytes(same), state_bytes(&digest));
            }
        }
    }
}

#[test]
fn moved_blocks_keep_their_contents() {
    let mut moved = digest_of(20, &Uniform(5).take(1000).collect::<Vec<_>>());
    let before = (fed(&moved), answers(&moved));
    let mut mover = MovesAll::default();
    let mut index = 0;
    while moved.relocate_block(index, &mut mover) {
        index += 1;
    }
    // Centroids, buffer, means and weights of the compressed form.
    assert_eq!(mover.moves, 4);
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
        if round % 2 == 1 {
            digest.compressed().unwrap();
        }
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
