//! Reads of parts of the window of a filter against the exact events, with clocks that stand still, go back and jump.

use proptest::prelude::*;
use roughly_sketch::memory::Budget;
use roughly_sketch::window::{Panes, Timed, Timeline, Window};
use roughly_sketch::window_filter::{
    BloomWindow, BloomWindowParameters, CuckooWindow, CuckooWindowParameters, Seed,
};
use std::collections::BTreeMap;

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
}
