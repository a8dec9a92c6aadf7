//! Blocks, their bytes, and budgets.

use super::*;
use crate::blocks::{Addresses, Bytes};
use crate::cache::Cache;
use crate::t_digest::DigestCache;
use crate::testing::{bytes, move_all};
use crate::window::Period;

/// All closed panes.
fn past(digest: &TDigestWindow) -> Panes {
    let timeline = digest.timeline();
    let start = timeline.window().start_of(timeline.newest());
    let period = Period::new(0, start, start + 1);
    let panes = period.and_then(|period| timeline.panes_of(period));
    panes.unwrap_or(Panes::ALL)
}

fn visited(digest: &impl Blocks) -> usize {
    bytes(digest) as usize
}

#[test]
fn memory_is_at_most_that_of_panes_and_2_digests() {
    for (compression, panes, finest) in [
        (20, 1, None),
        (100, 1, None),
        (100, 12, None),
        (100, 60, None),
        (500, 3, None),
        (20, 2, Some(2500)),
        (100, 5, Some(10_000)),
    ] {
        let mut uniform = Uniform(5);
        let (mut one, mut max_of_one) = (TDigest::new(compression, Budget::UNLIMITED).unwrap(), 0);
        let mut cache_of_one = DigestCache::default();
        for _ in 0..100 * compression {
            cache_of_one.forget(&one, &mut ());
            one.add(&[uniform.next()]).unwrap();
            if one.info().unmerged_nodes % 50 == 0 {
                one.compressed_with(&mut cache_of_one).unwrap();
            }
            let bytes = visited(&one) + visited(&cache_of_one);
            max_of_one = max_of_one.max(bytes + size_of::<TDigest>() + size_of::<DigestCache>());
        }
        let window = Window::new(1_000_000, panes, finest).unwrap();
        let mut digest = TDigestWindow::new(compression, window, Budget::UNLIMITED).unwrap();
        let mut cache = WindowCache::default();
        for pane in 0..(2 * panes).max(window.live_panes() as u64) {
            digest.advance(pane);
            for step in 0..12 * compression {
                let mut freed = Bytes::default();
                let before = visited(&cache);
                cache.forget(&digest, &mut freed);
                assert_eq!(before - freed.0 as usize, visited(&cache));
                add(&mut digest, &[uniform.next()]);
                if step % 50 == 0 {
                    let panes = digest.panes_in(pane + step as u64 % 2);
                    digest.compressed_at(panes, &mut cache).unwrap();
                    digest.compressed_at(past(&digest), &mut cache).unwrap();
                }
                let bytes = visited(&digest);
                assert_eq!(bytes, digest.block_bytes());
                let bytes = bytes + visited(&cache) + size_of::<TDigestWindow>();
                let bytes = bytes + size_of::<WindowCache>();
                // One of them for the period in the past.
                let max = (window.live_panes() + 1) * max_of_one;
                assert!(bytes <= max, "{bytes} of {max}");
            }
        }
        assert!(digest.advance(1 << 30));
        assert_eq!(digest.block_bytes(), 0);
        cache.forget(&digest, &mut ());
        assert_eq!(visited(&cache), 0);
    }
}

#[test]
fn refused_memory_changes_nothing() {
    let length = Window::new(100, 5, None).unwrap();
    let refused = TDigestWindow::new(100, length, Budget::new(&|_| false));
    assert!(matches!(refused, Err(DigestError::OutOfMemory(_))));
    let mut uniform = Uniform(3);
    let (mut digest, mut refusals) = (window(10, 3), 0);
    for step in 0..300u64 {
        digest.advance(step / 20);
        let values: Vec<f64> = (0..uniform.below(30)).map(|_| uniform.next()).collect();
        let (before, bytes) = (digest.try_clone().unwrap(), digest.block_bytes());
        // The first requests are granted, a later one is refused.
        let granted = std::cell::Cell::new(step % 3);
        let allows = |_| {
            let left = granted.get();
            granted.set(left.saturating_sub(1));
            left > 0
        };
        if digest.add_within(&values, Budget::new(&allows)).is_err() {
            refusals += 1;
            assert_eq!(digest, before);
            assert_eq!((digest.block_bytes(), fed(&digest)), (bytes, fed(&before)));
            add(&mut digest, &values);
        }
        for value in [f64::NAN, f64::INFINITY] {
            let refused = digest.add_within(&[1.0, value], Budget::UNLIMITED);
            assert_eq!(refused, Err(DigestError::NotFinite));
        }
        let copies = [digest.try_clone().unwrap(), load(saved(&digest)).unwrap()];
        for copy in copies {
            assert_eq!(copy.block_bytes(), digest.block_bytes());
        }
    }
    assert!(refusals > 20, "{refusals}");
}

#[test]
fn moved_blocks_keep_their_contents() {
    let mut digest = window(20, 9);
    let mut uniform = Uniform(9);
    for pane in 0..12 {
        digest.advance(pane);
        (0..500).for_each(|_| add(&mut digest, &[uniform.next()]));
    }
    let mut cache = WindowCache::default();
    digest.compressed_at(past(&digest), &mut cache).unwrap();
    let before = (answers_with(&mut cache, &digest, 12), fed(&digest));
    let mut blocks = Addresses::default();
    digest.for_each_block(&mut blocks);
    cache.for_each_block(&mut blocks);
    let moves = move_all(&mut digest).1 + move_all(&mut cache).1;
    assert_eq!(moves, blocks.0.len());
    let changes = cache.changes();
    let after = (answers_with(&mut cache, &digest, 12), fed(&digest));
    assert_eq!(after, before);
    assert_eq!(cache.changes(), changes);
}
