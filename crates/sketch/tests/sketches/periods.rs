//! Reads of parts and of periods, which can lie in the past, and of their rows, against the exact events. `roughly-models` has the model
//! of their panes.

use proptest::prelude::*;
use roughly_sketch::cache::Cache;
use roughly_sketch::count_min::{CellSize, CountMinWindow, Dimensions};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{Compressed, TDigest, TDigestWindow, WindowCache};
use roughly_sketch::top_k::{RankingCache, TopKWindow};
use roughly_sketch::window::{Panes, Period, Row, Timed, Timeline, Window};
use std::cmp::Reverse;

const ANY: Budget<'_> = Budget::UNLIMITED;
const SEED: Seed = Seed([7; 16]);
const START_MS: u64 = 1_000_000;
const ITEMS: u8 = 20;

/// How long after the one before an item is added, and how often.
type Addition = (u64, u8, u32);

/// Additions, the time until the reads, and the periods: start, end and step in milliseconds before the reads.
#[derive(Debug)]
struct Case {
    window: Window,
    additions: Vec<Addition>,
    idle: u64,
    periods: Vec<(u64, u64, u64)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let windows = (1u64..1200, 1u64..=14, 1u64..100).prop_filter_map("no window", |(ms, n, r)| {
        let finest = if r < 50 { Some(r) } else { None };
        Window::of::<TDigestWindow>(ms, n.min(ms), finest).ok()
    });
    let times = prop_oneof![8 => 0u64..3, 8 => 0u64..40, 2 => 0u64..700];
    let additions = prop::collection::vec((times, 0..ITEMS, 1u32..5), 0..150);
    let periods = prop::collection::vec((0u64..1500, 0u64..1500, 1u64..500), 10);
    (windows, additions, 0u64..300, periods).prop_map(|(window, additions, idle, periods)| Case {
        window,
        additions,
        idle,
        periods,
    })
}

impl Case {
    /// Adds everything, and returns the additions by unit, and the time of the reads.
    fn run<T: Timed>(
        &self,
        sketch: &mut T,
        mut add: impl FnMut(&mut T, u8, u32),
    ) -> (Vec<Addition>, u64) {
        let (mut now, mut added) = (START_MS, Vec::new());
        for &(later, item, times) in &self.additions {
            now += later;
            sketch.advance(self.window.pane_at(now));
            add(sketch, item, times);
            added.push((self.window.pane_at(now), item, times));
        }
        (added, now + self.idle)
    }

    /// The panes of the periods that can be read, of all rows, of parts as long as their distance, and of the whole window.
    fn reads(&self, timeline: &Timeline, now: u64) -> Vec<Panes> {
        let mut reads = vec![timeline.panes_at(now)];
        for &(start, end, step) in &self.periods {
            reads.push(timeline.panes_within(now, start));
            if let Ok(period) = Period::new(now - start, now - end, now)
                && let Ok(panes) = timeline.panes_of(period)
            {
                reads.push(panes);
                reads.extend(timeline.rows(period, step).unwrap().map(|row| row.panes));
            }
        }
        reads
    }
}

/// How often each item was added in these panes.
fn counts(timeline: &Timeline, panes: Panes, added: &[Addition]) -> [u32; ITEMS as usize] {
    let ranges = timeline.counted_panes(panes).unwrap();
    let mut counts = [0; ITEMS as usize];
    for &(unit, item, times) in added {
        if (ranges.iter()).any(|range| (range.first..range.end).contains(&unit)) {
            counts[usize::from(item)] += times;
        }
    }
    counts
}

/// A name for which the sketches below have no collisions.
fn name(item: u8) -> [u8; 3] {
    [b'i', item, b'x']
}

fn bits(value: f64) -> u64 {
    if value.is_nan() { 0 } else { value.to_bits() }
}

fn quantiles(digest: &Compressed) -> Vec<u64> {
    ((0..=20).map(|step| bits(digest.quantile(f64::from(step) / 20.0)))).collect()
}

proptest! {
    /// The rows of a period up to now add up to the read of the whole window.
    #[test]
    fn counts_of_items(case in cases()) {
        let dimensions = Dimensions::new(20_011, 3, CellSize::default()).unwrap();
        let mut sketch = CountMinWindow::new(dimensions, case.window, SEED, ANY).unwrap();
        let (added, now) = case.run(&mut sketch, |sketch, item, times| {
            sketch.increment(&name(item), times.into(), ANY).unwrap();
        });
        let timeline = *sketch.timeline();
        for panes in case.reads(&timeline, now) {
            let expected = counts(&timeline, panes, &added);
            prop_assert_eq!(sketch.total(panes), u64::from(expected.iter().sum::<u32>()));
            let hashes = (0..ITEMS).map(|item| sketch.hash(&name(item)));
            let mut items = 0..ITEMS;
            sketch.query_hashed(hashes, panes, |count| {
                let item = items.next().unwrap();
                assert_eq!(count, u64::from(expected[usize::from(item)]));
                assert_eq!(count, sketch.query(&name(item), panes));
            });
        }
        let period = Period::new(0, now, now).unwrap();
        let (whole, mut sums) = (timeline.panes_at(now), [0; ITEMS as usize]);
        for Row { panes, .. } in timeline.rows(period, case.periods[0].2).unwrap() {
            (0..ITEMS).for_each(|item| sums[usize::from(item)] += sketch.query(&name(item), panes));
        }
        prop_assert_eq!(sums, std::array::from_fn(|item| sketch.query(&name(item as u8), whole)));
    }

    /// All items are candidates, because the list has room for all.
    #[test]
    fn most_frequent_items(case in cases()) {
        let mut sketch = TopKWindow::new(ITEMS.into(), 20_011, 3, 0.9, case.window, SEED, ANY).unwrap();
        let (added, now) = case.run(&mut sketch, |sketch, item, times| {
            sketch.add(&name(item), times).unwrap();
        });
        let timeline = *sketch.timeline();
        let mut cache = RankingCache::default();
        for panes in case.reads(&timeline, now) {
            let expected = counts(&timeline, panes, &added);
            let mut items: Vec<_> = (0..ITEMS).filter(|&item| expected[usize::from(item)] > 0).collect();
            items.sort_by_key(|&item| (Reverse(expected[usize::from(item)]), item));
            let listed = sketch.list_at(panes, &mut cache).unwrap();
            let listed: Vec<_> = listed.map(|(item, count)| (item[1], count)).collect();
            let counted = items.iter().map(|&item| (item, expected[usize::from(item)]));
            prop_assert_eq!(listed, counted.collect::<Vec<_>>());
            for item in 0..ITEMS {
                let (name, count) = (name(item), expected[usize::from(item)]);
                prop_assert_eq!(sketch.count_at(&name, panes), count);
                let is_listed = sketch.lists_at(sketch.candidate(&name), panes, &mut cache);
                prop_assert_eq!(is_listed, Ok(count > 0));
            }
        }
    }

    /// A digest of so few samples is exact.
    #[test]
    fn samples(case in cases()) {
        let mut digest = TDigestWindow::new(10_000, case.window, ANY).unwrap();
        let (added, now) = case.run(&mut digest, |digest, item, times| {
            digest.add_within(&vec![f64::from(item); times as usize], ANY).unwrap();
        });
        let timeline = *digest.timeline();
        let mut cache = WindowCache::default();
        for panes in case.reads(&timeline, now) {
            let mut exact = TDigest::new(10_000, ANY).unwrap();
            for (item, times) in counts(&timeline, panes, &added).into_iter().enumerate() {
                exact.add(&vec![item as f64; times as usize]).unwrap();
            }
            prop_assert_eq!(bits(digest.min_at(panes)), bits(exact.min()));
            prop_assert_eq!(bits(digest.max_at(panes)), bits(exact.max()));
            prop_assert_eq!(digest.observations_at(panes), exact.observations());
            let answers = digest.compressed_at(panes, &mut cache).unwrap();
            prop_assert_eq!(quantiles(answers), quantiles(&exact.compressed().unwrap()));
        }
    }

    /// Answers do not depend on earlier reads, and reads of the past compute nothing again that other reads have kept.
    #[test]
    fn what_other_reads_keep_stays(case in cases(), compression in 1i64..12) {
        let mut digest = TDigestWindow::new(compression, case.window, ANY).unwrap();
        let (_, now) = case.run(&mut digest, |digest, item, times| {
            let samples = (0..40 * times).map(|sample| f64::from(sample * 7 % 31) + f64::from(item));
            digest.add_within(&samples.collect::<Vec<_>>(), ANY).unwrap();
        });
        let mut lists = TopKWindow::new(3, 20, 3, 0.9, case.window, SEED, ANY).unwrap();
        case.run(&mut lists, |sketch, item, times| {
            sketch.add(&name(item), times).unwrap();
        });
        let (mut of_digest, mut of_lists) = (WindowCache::default(), RankingCache::default());
        let timeline = *digest.timeline();
        let recent = timeline.panes_within(now, case.window.ms() / 2);
        for panes in case.reads(&timeline, now) {
            let copy = digest.try_clone().unwrap();
            let answers = |digest: &TDigestWindow, cache: &mut WindowCache, panes| {
                quantiles(digest.compressed_at(panes, cache).unwrap())
            };
            let items = |lists: &TopKWindow, cache: &mut RankingCache, panes| -> Vec<_> {
                let items = lists.list_at(panes, cache).unwrap();
                items.map(|(item, count)| (item.to_vec(), count)).collect()
            };
            let kept = (answers(&digest, &mut of_digest, recent), items(&lists, &mut of_lists, recent));
            prop_assert_eq!(
                answers(&digest, &mut of_digest, panes),
                answers(&copy, &mut WindowCache::default(), panes)
            );
            prop_assert_eq!(
                items(&lists, &mut of_lists, panes),
                items(&lists, &mut RankingCache::default(), panes)
            );
            if panes.is_past() {
                let changes = (of_digest.changes(), of_lists.changes());
                let again = (answers(&digest, &mut of_digest, recent), items(&lists, &mut of_lists, recent));
                prop_assert_eq!(again, kept);
                prop_assert_eq!((of_digest.changes(), of_lists.changes()), changes);
            }
        }
    }
}
