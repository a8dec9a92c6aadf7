//! Reads of parts of a window against the exact events, with clocks that stand still, go back and jump.

use proptest::prelude::*;
use roughly_sketch::count_min::{CellSize, CountMinWindow, Dimensions};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{TDigest, TDigestWindow, WindowCache};
use roughly_sketch::top_k::TopKWindow;
use roughly_sketch::window::{Panes, Timed, Timeline, Window};
use roughly_sketch::window_filter::{
    BloomWindow, BloomWindowParameters, CuckooWindow, CuckooWindowParameters, Seed,
};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

const ANY: Budget<'_> = Budget::UNLIMITED;
/// The time of the first event.
const START_MS: u64 = 1_000_000;
const SEED: Seed = Seed([7; 16]);
const ITEMS: u8 = 20;

/// What happens at some time.
#[derive(Debug, Clone)]
enum Event {
    /// An item that is added so many times.
    Add(u8, u32),
    /// A read of so many milliseconds.
    Read(u64),
}

/// Events, and by how much the clock moves before each.
fn events() -> impl Strategy<Value = Vec<(i64, Event)>> {
    let moves = prop_oneof![
        8 => Just(0i64),
        8 => 0i64..50,
        4 => 0i64..700,
        2 => -300i64..0,
        1 => 0i64..5_000,
    ];
    let event = prop_oneof![
        3 => (0..ITEMS, 1u32..1000).prop_map(|(item, times)| Event::Add(item, times)),
        2 => (1u64..1500).prop_map(Event::Read),
    ];
    prop::collection::vec((moves, event), 0..120)
}

fn windows() -> impl Strategy<Value = Window> {
    (1u64..1200, 1u64..=60).prop_map(|(ms, panes)| Window::new(ms, panes.min(ms), None).unwrap())
}

/// The oldest pane that a read of `ms` counts, from the specification: the live ones, of these those from that of `now - ms` on.
fn oldest(window: Window, newest: u64, now: u64, ms: u64) -> u64 {
    let current = (now / window.pane_ms()).max(newest);
    let live = current.saturating_sub(window.panes());
    match ms >= window.ms() {
        true => live,
        false => live.max(now.saturating_sub(ms) / window.pane_ms()),
    }
}

/// What was added: by pane, the items and how often.
type Added = BTreeMap<u64, BTreeMap<u8, u64>>;

/// Runs the events: `write` adds to the newest pane, `read` reads parts.
fn run<T: Timed>(
    window: Window,
    sketch: &mut T,
    events: &[(i64, Event)],
    mut write: impl FnMut(&mut T, &mut Added, u64, u8, u32),
    mut read: impl FnMut(&mut T, &Added, Panes, u64),
) {
    let (mut now, mut added) = (START_MS, Added::new());
    for (moved, event) in events {
        now = now.saturating_add_signed(*moved);
        match event {
            Event::Add(item, times) => {
                sketch.advance(window.pane_at(now));
                let newest = sketch.timeline().map_or(0, Timeline::newest);
                write(sketch, &mut added, newest, *item, *times);
            }
            Event::Read(ms) => {
                for ms in [*ms, 1, window.pane_ms(), window.ms(), 1 << 38] {
                    let timeline = *sketch.timeline().unwrap();
                    let panes = timeline.panes_within(now, ms);
                    let oldest = oldest(window, timeline.newest(), now, ms);
                    let first = panes.oldest().max(timeline.oldest());
                    assert_eq!(first, oldest);
                    assert_eq!(panes.is_part(), ms < window.ms());
                    if ms >= window.ms() {
                        assert_eq!(panes, timeline.panes_at(now));
                    }
                    read(sketch, &added, panes, oldest);
                }
            }
        }
    }
}

/// How often each item was added from a pane on.
fn counts(added: &Added, oldest: u64) -> BTreeMap<u8, u64> {
    let mut counts = BTreeMap::new();
    for (item, times) in added.range(oldest..).flat_map(|(_, items)| items) {
        *counts.entry(*item).or_default() += times;
    }
    counts
}

fn add(added: &mut Added, pane: u64, item: u8, times: u32) {
    *added.entry(pane).or_default().entry(item).or_default() += u64::from(times);
}

/// The newest pane of an item, if it is `oldest` or later.
fn last_pane(added: &Added, item: u8, oldest: u64) -> Option<u64> {
    let mut panes = added.range(oldest..).rev();
    panes.find_map(|(&pane, items)| items.contains_key(&item).then_some(pane))
}

/// A name for which the sketches below have no collisions.
fn name(item: u8) -> [u8; 3] {
    [b'i', item, b'x']
}

proptest! {
    /// Nothing is forgotten early, or counted a pane too long.
    #[test]
    fn a_part_has_the_guarantee_of_a_window_of_its_length(
        window in windows(), ms in 1u64..1500, age in 0u64..3000, now in 10_000u64..20_000,
    ) {
        let parameters = BloomWindowParameters { capacity: 10, error_rate: 0.1, expansion: 0, seed: SEED };
        let set = BloomWindow::new(window, &parameters, ANY).unwrap();
        let panes = set.timeline().panes_within(now, ms);
        let counts = window.pane_at(now - age) >= panes.oldest();
        // A read of the whole window counts as many full panes as fill it.
        let whole = window.panes() * window.pane_ms();
        let longest = if ms < window.ms() { ms } else { whole };
        let ms = ms.min(window.ms());
        prop_assert!(counts || age > ms);
        prop_assert!(!counts || age <= longest + window.pane_ms());
    }

    #[test]
    fn sets(window in windows(), events in events()) {
        let parameters = BloomWindowParameters { capacity: 30, error_rate: 0.5f64.powi(30), expansion: 2, seed: SEED };
        let mut set = BloomWindow::new(window, &parameters, ANY).unwrap();
        run(window, &mut set, &events, |set, added, pane, item, times| {
            set.add(&name(item), ANY).unwrap();
            add(added, pane, item, times);
        }, |set, added, panes, oldest| {
            let expected: Vec<_> = (0..ITEMS).map(|item| last_pane(added, item, oldest)).collect();
            let names: Vec<_> = (0..ITEMS).map(name).collect();
            let last: Vec<_> = names.iter().map(|name| set.last_pane(name, panes)).collect();
            assert_eq!(last, expected);
            let mut found = Vec::new();
            let items = names.iter().map(|name| &name[..]);
            set.contains_each(items, panes, |is_found| found.push(is_found));
            let present: Vec<_> = expected.iter().map(Option::is_some).collect();
            assert_eq!(found, present);
            let found: Vec<_> = names.iter().map(|name| set.contains(name, panes)).collect();
            assert_eq!(found, present);
            assert_eq!(set.items(panes), present.iter().filter(|&&is| is).count() as u64);
        });
    }

    /// Fingerprints of a cuckoo filter have eight bits, so counts are upper bounds here; they are exact in total.
    #[test]
    fn multisets(window in windows(), events in events()) {
        let parameters = CuckooWindowParameters { capacity: 300, error_rate: None, bucket_size: 4, max_iterations: 20, expansion: 1, seed: SEED };
        let mut multiset = CuckooWindow::new(window, &parameters, ANY).unwrap();
        run(window, &mut multiset, &events, |multiset, added, pane, item, _| {
            multiset.insert_item(&name(item), ANY).unwrap();
            add(added, pane, item, 1);
        }, |multiset, added, panes, oldest| {
            let expected = counts(added, oldest);
            assert_eq!(multiset.items(panes), expected.values().sum::<u64>());
            for item in 0..ITEMS {
                let count = multiset.count(&name(item), panes);
                assert!(count >= expected.get(&item).copied().unwrap_or(0));
                assert_eq!(multiset.contains(&name(item), panes), count > 0);
                let last = multiset.last_pane(&name(item), panes);
                assert_eq!(last.is_some(), count > 0);
                assert!(last >= last_pane(added, item, oldest));
                assert!(last.is_none_or(|pane| pane >= oldest));
            }
        });
    }

    #[test]
    fn counts_of_items(window in windows(), events in events()) {
        let mut sketch = CountMinWindow::new(Dimensions::new(20_011, 3, CellSize::default()).unwrap(), window, SEED, ANY).unwrap();
        run(window, &mut sketch, &events, |sketch, added, pane, item, times| {
            sketch.increment(&name(item), times.into(), ANY).unwrap();
            add(added, pane, item, times);
        }, |sketch, added, panes, oldest| {
            let expected = counts(added, oldest);
            assert_eq!(sketch.total(panes), expected.values().sum::<u64>());
            for item in 0..ITEMS {
                assert_eq!(sketch.query(&name(item), panes), expected.get(&item).copied().unwrap_or(0));
            }
        });
    }

    /// Each item has one increment per pane, and different ones, so the most frequent items of a pane are unique.
    #[test]
    fn most_frequent_items(window in windows(), events in events(), k in 1usize..8) {
        let mut cache = <TopKWindow as Stored>::Cache::default();
        // The panes whose lists other items of the window may have entered.
        let (shared, mut closed) = (RefCell::new(BTreeSet::new()), None);
        let mut sketch = TopKWindow::new(k as u64, 20_011, 3, 0.9, window, SEED, ANY).unwrap();
        run(window, &mut sketch, &events, |sketch, added, pane, item, times| {
            let live = |pane: u64| pane.saturating_sub(window.panes());
            let before = added.last_key_value().map_or(0, |(&last, _)| live(last));
            let stored = added.range(before..).filter(|(_, items)| !items.is_empty());
            let stored: Vec<u64> = stored.map(|(&pane, _)| pane).collect();
            if stored.last().is_some_and(|&last| last < pane) && closed < stored.last().copied() {
                closed = stored.last().copied();
                let newest = stored.len() - 1;
                if newest / 2 < newest {
                    shared.borrow_mut().insert(stored[newest / 2]);
                }
            }
            let items = added.entry(pane).or_default();
            let is_used = items.values().any(|&used| used == u64::from(times));
            if !is_used && !items.contains_key(&item) {
                items.insert(item, times.into());
                sketch.add(&name(item), times).unwrap();
            }
        }, |sketch, added, panes, oldest| {
            let counts = counts(added, oldest);
            let largest = |items: &BTreeMap<u8, u64>| {
                let mut items: Vec<_> = items.iter().map(|(&item, &count)| (Reverse(count), item)).collect();
                items.sort_unstable();
                items
            };
            for item in 0..ITEMS {
                let count = sketch.count_at(&name(item), panes);
                assert_eq!(u64::from(count), counts.get(&item).copied().unwrap_or(0));
            }
            // The items of each pane, and the listed ones, of which the model (crates/models) has the others.
            if panes.is_part() {
                let listed = sketch.list_at(panes, &mut cache).unwrap();
                let listed: Vec<_> = listed.map(|(item, count)| (item.to_vec(), count)).collect();
                let of_a_pane = |items| largest(items).into_iter().take(k).map(|(_, item)| item);
                let own = added.range(oldest..).filter(|(pane, _)| !shared.borrow().contains(pane));
                let own: BTreeSet<u8> = own.flat_map(|(_, items)| of_a_pane(items)).collect();
                let in_order = largest(&counts).into_iter();
                let entries = in_order.map(|(Reverse(count), item)| (item, (name(item).to_vec(), count as u32)));
                let candidates = entries.filter(|(item, entry)| own.contains(item) || listed.contains(entry));
                let expected: Vec<_> = candidates.map(|(_, entry)| entry).take(k).collect();
                assert_eq!(listed, expected);
                for item in 0..ITEMS {
                    let is_listed = listed.iter().any(|(listed, _)| listed[..] == name(item));
                    assert_eq!(sketch.query_at(&name(item), panes, &mut cache), Ok(is_listed));
                }
            }
        });
    }

    /// A digest of so few samples is exact.
    #[test]
    fn samples(window in windows(), events in events()) {
        let mut cache = WindowCache::default();
        let mut digest = TDigestWindow::new(10_000, window, ANY).unwrap();
        run(window, &mut digest, &events, |digest, added, pane, item, times| {
            let times = times % 4 + 1;
            digest.add_within(&vec![f64::from(item); times as usize], ANY).unwrap();
            add(added, pane, item, times);
        }, |digest, added, panes, oldest| {
            let mut exact = TDigest::new(10_000, ANY).unwrap();
            for (item, times) in counts(added, oldest) {
                exact.add(&vec![f64::from(item); times as usize]).unwrap();
            }
            let bits = |value: f64| if value.is_nan() { 0 } else { value.to_bits() };
            assert_eq!(bits(digest.min_at(panes)), bits(exact.min()));
            assert_eq!(bits(digest.max_at(panes)), bits(exact.max()));
            assert_eq!(digest.observations_at(panes), exact.observations());
            let (answers, expected) = (digest.compressed_at(panes, &mut cache).unwrap(), exact.compressed().unwrap());
            for step in 0..=20 {
                let (quantile, value) = (f64::from(step) / 20.0, f64::from(step));
                assert_eq!(bits(answers.quantile(quantile)), bits(expected.quantile(quantile)));
                assert_eq!(answers.rank(value), expected.rank(value));
            }
        });
    }

    /// What reads of other parts have kept changes no answer.
    #[test]
    fn answers_of_a_digest_do_not_depend_on_earlier_reads(
        window in windows(), events in events(), compression in 1i64..12,
    ) {
        let mut cache = WindowCache::default();
        let mut digest = TDigestWindow::new(compression, window, ANY).unwrap();
        run(window, &mut digest, &events, |digest, _, pane, item, times| {
            let samples = (0..times % 100).map(|sample| f64::from(sample * 7 % 31) + f64::from(item) + pane as f64);
            digest.add_within(&samples.collect::<Vec<_>>(), ANY).unwrap();
        }, |digest, _, panes, _| {
            let copy = digest.try_clone().unwrap();
            let answers = |digest: &TDigestWindow, cache: &mut WindowCache| {
                let answers = digest.compressed_at(panes, cache).unwrap();
                (0..=20).map(|step| answers.quantile(f64::from(step) / 20.0).to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(answers(digest, &mut cache), answers(&copy, &mut WindowCache::default()));
        });
    }
}
