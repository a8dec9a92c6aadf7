//! Top-k sketches with a window.

use super::super::allows;
use super::super::input::Input;
use super::super::stored::{Subject, digest, values};
use super::super::window::WindowedModel;
use super::decay::{self, Random};
use super::{Heap, List, Table, increment, item, items};
use roughly_dump::Value;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::hash::murmur2;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopKWindow;
use roughly_sketch::window::{Panes, Timed, Window};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// In a row of this width, all [`items`] from this number have different buckets, and their fingerprints differ.
const WITHOUT_COLLISIONS: (u32, u8) = (185, 124);

/// What reads keep.
type Cache = <TopKWindow as Stored>::Cache;

impl Subject for TopKWindow {
    const DEFAULTS: () = ();
    type Results = (List, Vec<(bool, u32)>);

    fn add(&mut self, item: &[u8], number: i64) {
        if let Ok((Some(expelled), _)) = add(self, item, number as u32) {
            let found = self.query_at(&expelled, Panes::ALL, &mut Cache::default());
            assert_ne!(found, Ok(true));
        }
    }

    fn read(&self, current: u64) -> Self::Results {
        read_with(self, &mut Cache::default(), current)
    }
}

/// The list and the results of some items. The list must be sorted, without duplicates, and have at most k items.
fn read_with(
    sketch: &TopKWindow,
    cache: &mut Cache,
    current: u64,
) -> <TopKWindow as Subject>::Results {
    let panes = sketch.panes_in(current);
    let list = sketch.list_at(panes, cache).expect("enough memory");
    let list: List = list.map(|(item, count)| (item.to_vec(), count)).collect();
    let key = |(item, count): &(Vec<u8>, u32)| (Reverse(*count), item.clone());
    assert!(list.is_sorted_by_key(key));
    let distinct: HashSet<_> = list.iter().map(|(item, _)| item).collect();
    assert_eq!(distinct.len(), list.len(), "the list has duplicates");
    assert!(list.len() <= sketch.k() as usize);
    for (item, count) in &list {
        assert!(*count > 0 && sketch.query_at(item, panes, cache) == Ok(true));
    }
    let mut read = |item: &[u8]| {
        let count = sketch.count_at(item, panes);
        assert_eq!(
            sketch.count_hashed_at(item, &sketch.hash(item), panes),
            count
        );
        let found = sketch.query_at(item, panes, cache).expect("enough memory");
        (found, count)
    };
    let results = [&b""[..], b"a", b"\x01", b"new"].map(&mut read);
    (list, results.into())
}

/// The item that left the list, and whether the sketch has changed.
type Added = (Option<Vec<u8>>, bool);

/// Adds an item. After an error nothing must have changed.
fn add(sketch: &mut TopKWindow, item: &[u8], increment: u32) -> Result<Added, OutOfMemory> {
    let before = digest(sketch);
    let hash = sketch.hash(item);
    let mut changes = BlockChanges::<()>::default();
    let added = sketch
        .add_hashed(item, &hash, increment, Budget::new(&allows), &mut changes)
        .map(|added| (added.expelled.map(<[u8]>::to_vec), added.changed));
    let changed = digest(sketch) != before;
    assert_eq!(added.as_ref().is_ok_and(|added| added.1), changed);
    added
}

/// A table with the sum of its increments, and the exact counts.
struct Pane {
    table: Table,
    total: u64,
    counts: BTreeMap<u32, u64>,
}

/// Tables by pane, two heaps, and the candidates that expired heaps keep. A sketch that gets the changing writes only, as a
/// replica does.
pub struct WindowModel {
    /// k, width and depth.
    shape: (u32, u32, u32),
    /// Of the items.
    first: u8,
    window: Window,
    newest: u64,
    random: Random,
    panes: BTreeMap<u64, Pane>,
    heap: Heap,
    list: Heap,
    kept: BTreeMap<u64, BTreeSet<Vec<u8>>>,
    replica: TopKWindow,
    /// Of the sketch, across all operations.
    cache: RefCell<Cache>,
}

/// The largest counts first; equal ones by item.
fn sort(list: &mut List) {
    list.sort_by_key(|(item, count)| (Reverse(*count), item.clone()));
}

impl WindowModel {
    fn oldest(&self, current: u64) -> u64 {
        self.window.oldest(current.max(self.newest))
    }

    fn estimate(&self, item: &[u8], pane: u64) -> u32 {
        let pane = self.panes.get(&pane);
        pane.map_or(0, |pane| pane.table.counts(item).max().unwrap_or(0))
    }

    /// In the panes that are live at `current`.
    fn count(&self, item: &[u8], current: u64) -> u32 {
        let live = self.panes.range(self.oldest(current)..);
        let estimates = live.map(|(&pane, _)| u64::from(self.estimate(item, pane)));
        u32::try_from(estimates.sum::<u64>()).unwrap_or(u32::MAX)
    }

    fn candidates(&self) -> BTreeSet<Vec<u8>> {
        let placed = self.heap.items().chain(self.list.items());
        placed
            .chain(self.kept.values().flatten())
            .cloned()
            .collect()
    }

    fn add(&mut self, item: &[u8], increment: u32) -> Option<Vec<u8>> {
        let mut is_candidate = self.candidates().contains(item);
        let closed = (self.oldest(0)..self.newest).map(|pane| u64::from(self.estimate(item, pane)));
        let closed: u64 = closed.sum();
        let (_, width, depth) = self.shape;
        let pane = self.panes.entry(self.newest).or_insert_with(|| Pane {
            table: Table::new(width, depth),
            total: 0,
            counts: BTreeMap::new(),
        });
        pane.total += u64::from(increment);
        *pane.counts.entry(murmur2(item, 1919)).or_default() += u64::from(increment);
        let largest = pane.table.add(item, increment, &mut self.random);
        let (root, is_vacant) = (self.heap.0[0].0, self.heap.0[0].1.is_none());
        match self.heap.find(item) {
            Some(_) if largest < root => {}
            None if !is_vacant && largest <= root => {}
            _ => {
                self.heap.put(item, largest);
                is_candidate = true;
            }
        }
        let sum = u32::try_from(closed + u64::from(largest)).unwrap_or(u32::MAX);
        if !is_candidate || sum < self.list.0[0].0 {
            return None;
        }
        self.list.put(item, sum)
    }

    /// The candidates with the largest counts at a later pane.
    fn largest(&self, current: u64) -> List {
        let candidates = self.candidates().into_iter();
        let counts = candidates.map(|item| (self.count(&item, current), item));
        let mut list: List = (counts.filter(|(count, _)| *count > 0))
            .map(|(count, item)| (item, count))
            .collect();
        sort(&mut list);
        list.truncate(self.list.0.len());
        list
    }

    /// Whether a later pane has other counts.
    fn differs(&self, current: u64) -> bool {
        let drops = self.panes.range(..self.oldest(current)).next().is_some();
        current > self.newest && (drops || self.panes.contains_key(&self.newest))
    }

    fn list(&self, current: u64) -> List {
        if self.differs(current) {
            return self.largest(current);
        }
        let elements = self.list.0.iter().filter(|element| element.0 > 0);
        let mut list: List = elements
            .map(|(count, item)| (item.clone().expect("an item"), *count))
            .collect();
        sort(&mut list);
        list
    }

    fn query(&self, item: &[u8], current: u64) -> bool {
        match self.differs(current) {
            true => self
                .largest(current)
                .iter()
                .any(|(listed, _)| listed == item),
            false => self.list.find(item).is_some(),
        }
    }
}

impl WindowedModel for WindowModel {
    type Value = TopKWindow;

    fn create(window: Window, input: &mut Input<'_>) -> Option<(TopKWindow, Self)> {
        let [k, width, depth] = [12, 30, 10].map(|end| u32::from(input.byte() % end));
        let (shape, first) = match input.byte() {
            0..=59 => ((64, WITHOUT_COLLISIONS.0, 1), WITHOUT_COLLISIONS.1),
            _ => ((k, width, depth), 0),
        };
        let (k, width, depth) = shape;
        let decay = input.pick(&decay::BASES);
        let new = || {
            let budget = Budget::new(&allows);
            TopKWindow::new(k.into(), width.into(), depth.into(), decay, window, budget)
        };
        let (Ok(sketch), Ok(replica)) = (new(), new()) else {
            assert!(k == 0 || width == 0 || depth == 0);
            return None;
        };
        let Value::Integer(random) = values(&sketch).values[7] else {
            panic!("the random state");
        };
        let model = Self {
            shape,
            first,
            window,
            newest: 0,
            random: Random::new(decay, &random.to_le_bytes()),
            panes: BTreeMap::new(),
            heap: Heap::new(k),
            list: Heap::new(k),
            kept: BTreeMap::new(),
            replica,
            cache: RefCell::default(),
        };
        Some((sketch, model))
    }

    fn write(&mut self, sketch: &mut TopKWindow, input: &mut Input<'_>) {
        let (item, increment) = (item(input, self.first), increment(input));
        let added = add(sketch, &item, increment).expect("small tables");
        assert_eq!(added.0, self.add(&item, increment));
        if added.1 {
            assert_eq!(add(&mut self.replica, &item, increment), Ok(added));
        }
        assert!(*sketch == self.replica, "the replica differs");
    }

    fn advance(&mut self, pane: u64) {
        self.replica.advance(pane);
        if pane <= self.newest {
            return;
        }
        if self.differs(pane) {
            let largest = self.largest(pane);
            let kept = (self.heap.items()).filter(|item| self.estimate(item, self.newest) > 0);
            self.kept.insert(self.newest, kept.cloned().collect());
            self.heap = Heap::new(self.shape.0);
            self.list = Heap::new(self.shape.0);
            // The largest is the last element of the array.
            for (element, (item, count)) in self.list.0.iter_mut().rev().zip(largest) {
                *element = (count, Some(item));
            }
        }
        self.newest = pane;
        let oldest = self.oldest(0);
        self.panes.retain(|&pane, _| pane >= oldest);
        self.kept.retain(|&pane, _| pane >= oldest);
    }

    fn check_at(&self, sketch: &TopKWindow, current: u64) {
        let panes = sketch.panes_in(current);
        let mut cache = self.cache.borrow_mut();
        assert_eq!(read_with(sketch, &mut cache, current).0, self.list(current));
        for item in items(self.first) {
            let found = sketch.query_at(&item, panes, &mut cache);
            assert_eq!(found, Ok(self.query(&item, current)));
            let count = sketch.count_at(&item, panes);
            assert_eq!(count, self.count(&item, current));
            let live = self.panes.range(self.oldest(current)..);
            let exact = live.map(|(_, pane)| pane.counts.get(&murmur2(&item, 1919)).unwrap_or(&0));
            let exact: u64 = exact.map(|&count| count.min(u32::MAX.into())).sum();
            assert!(u64::from(count) <= exact, "above the count");
            let is_exact = self.first == WITHOUT_COLLISIONS.1;
            assert!(!is_exact || u64::from(count) == exact.min(u32::MAX.into()));
        }
        let stored = values(sketch).values;
        assert_eq!(stored[7], Value::Integer(self.random.stored()));
        let live = 10 + 2 * sketch.timeline().live().count();
        let candidates = self.candidates().into_iter().map(Value::Bytes);
        let mut found: Vec<_> = stored.iter().skip(live + 1).step_by(3).cloned().collect();
        found.sort_by_key(|item| match item {
            Value::Bytes(item) => item.clone(),
            _ => panic!("an item"),
        });
        assert!(candidates.eq(found), "other candidates");
    }

    fn pane_total(&self, pane: u64) -> Option<u64> {
        Some(self.panes.get(&pane).map_or(0, |pane| pane.total))
    }
}
