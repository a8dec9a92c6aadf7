//! Top-k sketches with a window: stored forms, and sequences of operations compared with exact counts for each pane.

use super::super::input::Input;
use super::super::stored::{self, Subject, reloads};
use super::super::window::{self, WindowedSubject, advance};
use super::super::{MAX_OPERATIONS, allows};
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopKWindow;
use roughly_sketch::top_k::window::RankingCache;
use roughly_sketch::window::{Panes, Timed, Window};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The items of the sequences have one byte below this.
const ITEMS: u8 = 64;

/// In a row of this width, all items of the sequences have different buckets.
const WIDTH_WITHOUT_COLLISIONS: u64 = 459;

type List = Vec<(Vec<u8>, u32)>;

impl Subject for TopKWindow {
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], number: i64) {
        let _ = add(self, item, number as u32);
        self.advance(self.timeline().newest() + u64::from(item.len() == 8));
    }

    fn exercise(self) {
        window::exercise(self);
    }

    fn samples() -> Vec<Self> {
        let mut samples = Vec::new();
        for (k, width, depth, decay, panes) in [
            (3, 3, 2, 0.9, 3),
            (1, 1, 1, 1.0, 1),
            (10, 8, 4, 0.9, 4),
            (2, 2, 9, 0.5, 100),
            (20, 30, 1, 0.9, 2),
        ] {
            let window = Window::new(1 << 20, panes).expect("a valid window");
            let mut sketch = TopKWindow::new(k, width, depth, decay, window, Budget::UNLIMITED)
                .expect("valid parameters");
            let mut keep = |sketch: &TopKWindow| {
                samples.push(sketch.try_clone().expect("enough memory"));
            };
            keep(&sketch);
            for pane in 0..=panes.min(4) {
                // One pane without additions.
                sketch.advance(pane + 50 + u64::from(pane > 1));
                for item in 0..12u8 {
                    let increment = u32::from(item) % 5 * 100;
                    let _ = sketch.add(&[item + pane as u8], increment);
                }
                keep(&sketch);
            }
            for step in [2, 1 << 30] {
                sketch.advance(sketch.timeline().newest() + step);
                keep(&sketch);
            }
            let _ = sketch.add(b"an item of more bytes", 1);
            keep(&sketch);
        }
        samples
    }
}

/// The item that left the list, and whether the sketch has changed.
type Added = (Option<Vec<u8>>, bool);

/// Adds an item. After an error nothing must have changed.
fn add(sketch: &mut TopKWindow, item: &[u8], increment: u32) -> Result<Added, OutOfMemory> {
    let before = stored::digest(sketch);
    let hash = sketch.hash(item);
    let mut changes = BlockChanges::<()>::default();
    let added = sketch
        .add_hashed(item, &hash, increment, Budget::new(&allows), &mut changes)
        .map(|added| (added.expelled.map(<[u8]>::to_vec), added.changed));
    let changed = stored::digest(sketch) != before;
    assert_eq!(added.as_ref().is_ok_and(|added| added.1), changed);
    added
}

impl WindowedSubject for TopKWindow {
    type Results = (List, Vec<(bool, u32)>);

    fn write(&mut self) {
        for increment in [0, 1, 100_000, u32::MAX] {
            for item in [&b""[..], b"a", b"bc\0d", b"new", b"newer"] {
                if let Ok((Some(expelled), _)) = add(self, item, increment) {
                    assert_eq!(
                        self.query_at(&expelled, Panes::ALL, &mut RankingCache::default()),
                        Ok(false)
                    );
                }
            }
        }
    }

    fn read(&self, current: u64) -> Self::Results {
        let list = list(self, current);
        let mut cache = RankingCache::default();
        let items = [&b""[..], b"a", b"\x01", b"new"].into_iter();
        let results = items.map(|item| {
            let count = self.count_at(item, self.panes_in(current));
            assert_eq!(
                self.count_hashed_at(item, &self.hash(item), self.panes_in(current)),
                count
            );
            (
                self.query_at(item, self.panes_in(current), &mut cache)
                    .expect("enough memory"),
                count,
            )
        });
        let results = results.collect();
        (list, results)
    }
}

/// The list at a time. It must be sorted, without duplicates, and have at most k items.
fn list(sketch: &TopKWindow, current: u64) -> List {
    let mut cache = RankingCache::default();
    let list = sketch
        .list_at(sketch.panes_in(current), &mut cache)
        .expect("enough memory");
    let list: List = list.map(|(item, count)| (item.to_vec(), count)).collect();
    let key = |(item, count): &(Vec<u8>, u32)| (Reverse(*count), item.clone());
    assert!(list.is_sorted_by_key(key));
    let distinct: HashSet<_> = list.iter().map(|(item, _)| item).collect();
    assert_eq!(distinct.len(), list.len(), "the list has duplicates");
    assert!(list.len() <= sketch.k() as usize);
    for (item, count) in &list {
        assert!(*count > 0);
        assert_eq!(
            sketch.query_at(item, sketch.panes_in(current), &mut cache),
            Ok(true)
        );
    }
    list
}

/// Exact counts of the items in each pane.
#[derive(Default)]
struct Model(BTreeMap<u64, HashMap<Vec<u8>, u64>>);

impl Model {
    /// The counts in the panes that are live at a time. Those of a pane saturate, and so does their sum.
    fn counts(&self, sketch: &TopKWindow, current: u64) -> HashMap<&[u8], u32> {
        let mut counts = HashMap::<&[u8], u32>::new();
        let oldest = *sketch.timeline().counted(sketch.panes_in(current)).start();
        for (item, count) in self.0.range(oldest..).flat_map(|(_, pane)| pane) {
            let sum = counts.entry(item).or_default();
            *sum = sum.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX));
        }
        counts
    }

    /// Compares the results of reads. Without collisions they are exact; otherwise no estimate exceeds the count,
    /// because the fingerprints of the items differ.
    fn check(&self, sketch: &TopKWindow, current: u64, is_exact: bool) {
        let counts = self.counts(sketch, current);
        for item in 0..ITEMS {
            let count = counts.get(&[item][..]).copied().unwrap_or(0);
            let estimate = sketch.count_at(&[item], sketch.panes_in(current));
            assert!(estimate <= count, "the estimate exceeds the count");
            assert!(estimate == count || !is_exact, "the estimate is not exact");
        }
        let list = list(sketch, current);
        if is_exact {
            let mut exact: List = counts
                .into_iter()
                .map(|(item, count)| (item.to_vec(), count))
                .filter(|&(_, count)| count > 0)
                .collect();
            exact.sort_by_key(|(item, count)| (Reverse(*count), item.clone()));
            assert_eq!(list, exact);
        }
        let timeline = sketch.timeline();
        for pane in timeline.live() {
            let total = self.0.get(&pane).map_or(0, |pane| pane.values().sum());
            assert_eq!(sketch.pane_total(pane), total);
        }
    }
}

/// Decodes `bytes` as a sequence of operations, and compares the sketch with exact counts. A replica that receives the
/// changing commands, and executes no reads, must stay identical.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let window = window::window(&mut input);
    let is_exact = input.byte() >= 192;
    let (k, width, depth) = match is_exact {
        true => (ITEMS.into(), WIDTH_WITHOUT_COLLISIONS, 1),
        false => (
            u64::from(input.byte() % 20),
            u64::from(input.byte() % 40),
            u64::from(input.byte() % 10),
        ),
    };
    let decay = input.pick(&[0.9, 0.5, 1.0, 1e-300, 0.1]);
    let new = || TopKWindow::new(k, width, depth, decay, window, Budget::new(&allows));
    let (Ok(mut sketch), Ok(mut replica)) = (new(), new()) else {
        return;
    };
    let mut model = Model::default();
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        let newest = sketch.timeline().newest();
        match input.byte() {
            0..=159 => {
                let item = &[input.byte() % ITEMS][..];
                let increment = match input.byte() {
                    byte if byte < 240 => byte.into(),
                    _ => input.u32(),
                };
                let pane = model.0.entry(newest).or_default();
                *pane.entry(item.to_vec()).or_default() += u64::from(increment);
                let added = add(&mut sketch, item, increment).expect("small tables");
                if added.1 {
                    assert_eq!(add(&mut replica, item, increment), Ok(added.clone()));
                }
                if let (Some(expelled), _) = added {
                    assert_eq!(
                        sketch.query_at(&expelled, Panes::ALL, &mut RankingCache::default()),
                        Ok(false)
                    );
                    // The list has room for all items, but one with count 0 may leave it.
                    let count = model.counts(&sketch, newest).get(&expelled[..]).copied();
                    assert!(!is_exact || count == Some(0));
                }
            }
            160..=199 => {
                let pane = newest.saturating_add(window::step(&mut input, window));
                let pane = pane.min(window.max_pane());
                let expected = (pane % 2 == 0).then(|| list(&sketch, pane));
                advance(&mut sketch, pane);
                advance(&mut replica, pane);
                assert_eq!(
                    list(&sketch, 0),
                    expected.unwrap_or_else(|| list(&sketch, pane))
                );
            }
            200..=229 => {
                let current = window::current(&mut input, &sketch);
                model.check(&sketch, current, is_exact);
            }
            230..=244 => sketch = window::copied(&mut input, &sketch),
            _ => reloads(&sketch),
        }
        assert!(sketch == replica, "a replica differs");
    }
    model.check(&sketch, 0, is_exact);
    reloads(&sketch);
}
