//! Top-k sketches with a window.

use super::super::allows;
use super::super::input::Input;
use super::super::stored::{Subject, digest, values};
use super::super::window::WindowedModel;
use super::decay::{self, Random, mix};
use super::pane_table::PaneTable;
use super::{Heap, List, increment, item, items};
use roughly_dump::Value;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopKWindow;
use roughly_sketch::window::{Panes, Timed, Window};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// In a row of this width, at most four of the [`items`] from this number have one of the two buckets of each of them, and
/// their fingerprints differ. So each of them always has a heavy cell.
const WITHOUT_COLLISIONS: (u32, u8) = (140, 11);

const SEED: [u8; 16] = *b"0123456789abcdef";

/// What reads keep.
type Cache = <TopKWindow as Stored>::Cache;

impl Subject for TopKWindow {
    const LOAD_OPTIONS: () = ();
    type Results = (List, Vec<(bool, u32)>);

    fn add(&mut self, item: &[u8], number: i64, budget: Budget<'_>) {
        if let Ok((Some(expelled), _)) = add(self, item, number as u32, budget) {
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
        assert_eq!(sketch.count_hashed_at(&sketch.hash(item), panes), count);
        let found = sketch.query_at(item, panes, cache).expect("enough memory");
        (found, count)
    };
    let results = [&b""[..], b"a", b"\x01", b"new"].map(&mut read);
    (list, results.into())
}

/// The item that left the list, and whether the sketch has changed.
type Added = (Option<Vec<u8>>, bool);

/// Adds an item. After an error nothing must have changed.
fn add(
    sketch: &mut TopKWindow,
    item: &[u8],
    increment: u32,
    budget: Budget<'_>,
) -> Result<Added, OutOfMemory> {
    let before = digest(sketch);
    let hash = sketch.hash(item);
    let mut changes = BlockChanges::<()>::default();
    let added = (sketch.add_hashed(item, &hash, increment, budget, &mut changes))
        .map(|added| (added.expelled.map(<[u8]>::to_vec), added.changed));
    let changed = digest(sketch) != before;
    assert_eq!(added.as_ref().is_ok_and(|added| added.1), changed);
    added
}

/// A table with the sum of its increments, the items that it lists, and the exact counts by fingerprint.
#[derive(Clone)]
struct Pane {
    /// The first unit, and the one after the last.
    units: (u64, u64),
    table: PaneTable,
    total: u64,
    listed: BTreeSet<Vec<u8>>,
    counts: BTreeMap<u32, u64>,
}

/// The stored panes, oldest first, two heaps, and the candidates in the order of their numbers. A sketch that gets the changing
/// writes only, as a replica does.
pub struct WindowModel {
    /// k, width and depth.
    shape: (u32, u32, u32),
    /// Of the items.
    first: u8,
    window: Window,
    newest: u64,
    random: Random,
    panes: Vec<Pane>,
    heap: Heap,
    list: Heap,
    candidates: Vec<Vec<u8>>,
    replica: TopKWindow,
    /// Of the sketch, across all operations.
    cache: RefCell<Cache>,
}

/// The largest counts first; equal ones by item.
fn sort(list: &mut List) {
    list.sort_by_key(|(item, count)| (Reverse(*count), item.clone()));
}

impl Pane {
    fn estimate(&self, item: &[u8]) -> u64 {
        self.table.estimate(item).into()
    }

    /// Its estimate and those of the next eight panes of `before`, which are in ascending order.
    fn sum(&self, item: &[u8], before: &[Self]) -> u64 {
        let younger = before.iter().filter(|pane| pane.units.0 >= self.units.1);
        let estimates = younger.take(8).map(|pane| pane.estimate(item));
        self.estimate(item) + estimates.sum::<u64>()
    }

    /// Adds the younger half of a pane to the older one. `before` are the panes before the step.
    fn merge(mut self, younger: Self, k: usize, before: &[Self]) -> Self {
        let items: BTreeSet<Vec<u8>> = self.listed.union(&younger.listed).cloned().collect();
        let sum = |item: Vec<u8>| {
            let count = self.estimate(&item);
            (Reverse(count + younger.sum(&item, before)), item)
        };
        let mut sums: Vec<_> = items.into_iter().map(sum).collect();
        sums.sort();
        sums.truncate(k);
        let counts: Vec<u64> =
            ((sums.iter()).map(|(_, item)| self.estimate(item) + younger.estimate(item))).collect();
        self.table.merge(&younger.table);
        for ((_, item), count) in sums.iter().zip(counts).rev() {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            self.table.restore(item, count);
        }
        self.listed = sums.into_iter().map(|(_, item)| item).collect();
        self.units.1 = younger.units.1;
        self.total = self.total.saturating_add(younger.total);
        for (fingerprint, count) in younger.counts {
            *self.counts.entry(fingerprint).or_default() += count;
        }
        self
    }
}

impl WindowModel {
    /// The first unit of a read of the whole window when this unit is the current one; before unit 0 if it is negative.
    fn oldest(&self, current: u64) -> i128 {
        let units = i128::from(self.window.ms().div_ceil(self.window.pane_ms()));
        let length = 1i128 << self.levels();
        // The number of a unit has 63 bits.
        let current = current.max(self.newest).min(i64::MAX.cast_unsigned());
        (i128::from(current) - units).div_euclid(length) * length
    }

    /// The highest level.
    fn levels(&self) -> u32 {
        let units = self.window.ms().div_ceil(self.window.pane_ms());
        let fits = |level: &u32| (self.window.panes() + 1) << level <= units;
        (1..64).take_while(fits).last().unwrap_or(0)
    }

    fn counted(&self, current: u64) -> impl Iterator<Item = &Pane> {
        let oldest = self.oldest(current);
        (self.panes.iter()).filter(move |pane| i128::from(pane.units.0) >= oldest)
    }

    fn newest_pane(&self) -> Option<&Pane> {
        self.panes.last().filter(|pane| pane.units.0 == self.newest)
    }

    /// In the panes that are live at `current`.
    fn count(&self, item: &[u8], current: u64) -> u32 {
        let estimates = self.counted(current).map(|pane| pane.estimate(item));
        u32::try_from(estimates.sum::<u64>()).unwrap_or(u32::MAX)
    }

    fn add(&mut self, item: &[u8], increment: u32) -> Option<Vec<u8>> {
        let mut is_candidate = self.candidates.iter().any(|candidate| candidate == item);
        let (_, width, depth) = self.shape;
        if self.newest_pane().is_none() {
            self.panes.push(Pane {
                units: (self.newest, self.newest + 1),
                table: PaneTable::new(width, depth, SEED),
                total: 0,
                listed: BTreeSet::new(),
                counts: BTreeMap::new(),
            });
        }
        let (pane, closed) = self.panes.split_last_mut().expect("the newest pane");
        let closed_panes = closed.len() as u64;
        let closed: u64 = closed.iter().map(|pane| pane.estimate(item)).sum();
        pane.total = pane.total.saturating_add(increment.into());
        let fingerprint = pane.table.fingerprint(item);
        *pane.counts.entry(fingerprint).or_default() += u64::from(increment);
        pane.table.add(item, increment, &mut self.random);
        let count = pane.table.estimate(item);
        let (root, is_vacant) = (self.heap.0[0].0, self.heap.0[0].1.is_none());
        let mut left = Vec::new();
        match self.heap.find(item) {
            Some(_) if count < root => {}
            None if !is_vacant && count <= root => {}
            _ => {
                left.extend(self.heap.put(item, count));
                if !is_candidate {
                    self.candidates.push(item.to_vec());
                }
                is_candidate = true;
            }
        }
        // An item with two occurrences in this pane becomes a candidate if one of them is drawn and the window has it often.
        let drawn = mix(pane.table.hash(item).wrapping_add(pane.total));
        let is_drawn = (u128::from(drawn) * u128::from(closed_panes)) >> 64 < u128::from(increment);
        let is_frequent = closed + u64::from(count) > u64::from(self.list.0[0].0);
        if !is_candidate && count >= 2 && closed_panes > 0 && is_drawn && is_frequent {
            self.candidates.push(item.to_vec());
            is_candidate = true;
        }
        let sum = u32::try_from(closed + u64::from(count)).unwrap_or(u32::MAX);
        let mut left_list = None;
        if is_candidate && sum >= self.list.0[0].0 {
            left_list = self.list.put(item, sum);
        }
        left.extend(left_list.clone());
        for item in left {
            self.remove_unused(&item);
        }
        left_list
    }

    /// Removes a candidate that nothing contains; the last one gets its number.
    fn remove_unused(&mut self, item: &[u8]) {
        let is_listed = self.panes.iter().any(|pane| pane.listed.contains(item));
        let is_used = is_listed || self.heap.find(item).or(self.list.find(item)).is_some();
        let number = (self.candidates.iter()).position(|candidate| candidate == item);
        if let Some(number) = number.filter(|_| !is_used) {
            self.candidates.swap_remove(number);
        }
    }

    /// Fills the list of the newest pane, which is closed: the items of its heap or, if panes grow with age, of the list that have counts
    /// in it. Items of the list that no pane of the younger half lists, but which this half has, are added to its oldest pane. If these are
    /// too many, it keeps the k largest of the half.
    fn fill_closing(&mut self) {
        let (newest, k) = (self.panes.len() - 1, self.shape.0 as usize);
        let oldest = newest / 2;
        let of_window = self.list.items().filter(|_| self.levels() > 0);
        let own = self.heap.items().chain(of_window);
        let has_counts = |item: &&Vec<u8>| self.panes[newest].estimate(item) > 0;
        self.panes[newest].listed = own.filter(has_counts).cloned().collect();
        let half = &self.panes[oldest..];
        let sum = |item: &Vec<u8>| {
            let sum = half.iter().map(|pane| pane.estimate(item)).sum::<u64>();
            u32::try_from(sum).unwrap_or(u32::MAX)
        };
        let is_listed = |item: &Vec<u8>| half.iter().any(|pane| pane.listed.contains(item));
        let lost = self.list.items();
        let lost = lost.filter(|item| !is_listed(item) && sum(item) > 0);
        let mut items: BTreeSet<Vec<u8>> = half[0].listed.iter().chain(lost).cloned().collect();
        let is_finest = half[0].units.1 - half[0].units.0 == 1;
        let most = if self.levels() > 0 && is_finest {
            2 * k
        } else {
            k
        };
        if items.len() > most {
            let sums = items.into_iter().map(|item| (item.clone(), sum(&item)));
            let mut sums: List = sums.filter(|(_, sum)| *sum > 0).collect();
            sort(&mut sums);
            items = sums.into_iter().take(k).map(|(item, _)| item).collect();
        }
        self.panes[oldest].listed = items;
    }

    /// The candidates with their counts in the panes that count at a later unit, the largest first.
    fn largest(&self, current: u64) -> List {
        let counts = (self.candidates.iter()).map(|item| (item.clone(), self.count(item, current)));
        let mut list: List = counts.filter(|(_, count)| *count > 0).collect();
        sort(&mut list);
        list.truncate(self.list.0.len());
        list
    }

    /// Whether a later unit may have another list.
    fn differs(&self, current: u64) -> bool {
        let is_less = self.counted(current).count() < self.panes.len();
        current > self.newest && (is_less || self.newest_pane().is_some())
    }

    fn list(&self, current: u64) -> List {
        if self.differs(current) {
            return self.largest(current);
        }
        let elements = self.list.0.iter().filter(|element| element.0 > 0);
        let mut list: List =
            (elements.map(|(count, item)| (item.clone().expect("an item"), *count))).collect();
        sort(&mut list);
        list
    }

    fn query(&self, item: &[u8], current: u64) -> bool {
        self.list(current).iter().any(|(listed, _)| listed == item)
    }

    /// The units of the live pane that contains this one.
    fn pane_at(&self, unit: u64) -> Option<(u64, u64)> {
        let (newest, panes) = (i128::from(self.newest), i128::from(self.window.panes()));
        if i128::from(unit) < self.oldest(0) {
            return None;
        }
        let is_merged = |level: &u32| {
            let length = 1i128 << level;
            let end = (i128::from(unit).div_euclid(length) + 1) * length;
            newest >= end + panes * length + length / 2
        };
        let level = (1..=self.levels()).filter(is_merged).max().unwrap_or(0);
        Some((unit >> level << level, ((unit >> level) + 1) << level))
    }

    /// The stored form of a heap: counts, and the numbers of the candidates plus 1.
    fn heap_bytes(&self, heap: &Heap) -> Vec<u8> {
        let number = |item: &Vec<u8>| self.candidates.iter().position(|other| other == item);
        let numbers = heap.0.iter().flat_map(|(count, item)| {
            let number = item.as_ref().map(|item| number(item).expect("a candidate"));
            [*count, number.map_or(0, |number| number as u32 + 1)]
        });
        numbers.flat_map(u32::to_le_bytes).collect()
    }

    /// Merges and removes panes. At most two panes become one, unless they are removed later. A pane that becomes longer without a
    /// merge lists at most k items. Returns whether such a pane listed more. `before` are the panes before all steps to a later unit.
    fn step(&mut self, before: &[Pane]) -> bool {
        let k = self.shape.0 as usize;
        let mut is_shorter = false;
        let mut panes: Vec<Pane> = Vec::new();
        for mut pane in std::mem::take(&mut self.panes) {
            let Some(units) = self.pane_at(pane.units.0) else {
                continue;
            };
            pane.units = units;
            match panes.pop() {
                Some(older) if older.units == units => panes.push(older.merge(pane, k, before)),
                older => panes.extend(older.into_iter().chain([pane])),
            }
        }
        for pane in &mut panes {
            if pane.units.1 - pane.units.0 > 1 && pane.listed.len() > k {
                let sum = |item: &Vec<u8>| (Reverse(pane.sum(item, before)), item.clone());
                let mut items: Vec<_> = pane.listed.iter().map(sum).collect();
                items.sort();
                pane.listed = items.into_iter().take(k).map(|(_, item)| item).collect();
                is_shorter = true;
            }
        }
        self.panes = panes;
        is_shorter
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
            let [k, width, depth] = [k, width, depth].map(u64::from);
            TopKWindow::new(k, width, depth, decay, window, Seed(SEED), budget)
        };
        let (Ok(sketch), Ok(replica)) = (new(), new()) else {
            assert!(k == 0 || width == 0 || depth == 0);
            return None;
        };
        let Value::Integer(random) = values(&sketch).values[10] else {
            panic!("the random state");
        };
        let model = Self {
            shape,
            first,
            window,
            newest: 0,
            random: Random::new(decay, &random.to_le_bytes()),
            panes: Vec::new(),
            heap: Heap::new(k),
            list: Heap::new(k),
            candidates: Vec::new(),
            replica,
            cache: RefCell::default(),
        };
        Some((sketch, model))
    }

    fn write(&mut self, sketch: &mut TopKWindow, input: &mut Input<'_>) {
        let (item, increment) = (item(input, self.first), increment(input));
        let budget = Budget::new(&allows);
        let added = add(sketch, &item, increment, budget).expect("small tables");
        assert_eq!(added.0, self.add(&item, increment));
        if added.1 {
            assert_eq!(add(&mut self.replica, &item, increment, budget), Ok(added));
        }
        assert!(*sketch == self.replica, "the replica differs");
    }

    fn advance(&mut self, pane: u64) {
        self.replica.advance(pane);
        if pane <= self.newest {
            return;
        }
        let had_newest = self.newest_pane().is_some();
        if self.newest_pane().is_some_and(|newest| newest.total > 0) {
            self.fill_closing();
        }
        self.panes.retain(|pane| pane.total > 0);
        let (before, mut is_shorter) = (self.panes.clone(), false);
        // Merges and expiries change panes at units that depend on these panes only; between them, nothing changes.
        let mut units: BTreeSet<u64> = BTreeSet::from([pane]);
        for pane in &self.panes {
            for level in 0..=self.levels() {
                let length = 1 << level;
                let end = (pane.units.0 / (2 * length) + 1) * 2 * length;
                units.insert(end + self.window.panes() * 2 * length + length);
            }
        }
        for unit in ((units.into_iter()).filter(|&unit| self.newest < unit && unit <= pane))
            .collect::<Vec<_>>()
        {
            self.newest = unit;
            is_shorter |= self.step(&before);
        }
        if !had_newest && !is_shorter && before.len() == self.panes.len() {
            return;
        }
        let listed: BTreeSet<_> = self.panes.iter().flat_map(|pane| &pane.listed).collect();
        self.candidates.retain(|item| listed.contains(item));
        self.heap = Heap::new(self.shape.0);
        self.list = Heap::new(self.shape.0);
        // The largest is the last element of the array.
        let largest = self.largest(0);
        for (element, (item, count)) in self.list.0.iter_mut().rev().zip(largest) {
            *element = (count, Some(item));
        }
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
            let is_exact = self.first == WITHOUT_COLLISIONS.1;
            let exact = self.counted(current).map(|pane| {
                let count = (pane.counts.get(&pane.table.fingerprint(&item))).unwrap_or(&0);
                (*count).min(u32::MAX.into())
            });
            let exact = exact.sum::<u64>();
            assert!(u64::from(count) <= exact, "above the count");
            assert!(!is_exact || u64::from(count) == exact.min(u32::MAX.into()));
        }
        let stored = values(sketch).values;
        assert_eq!(stored[10], Value::Integer(self.random.stored()));
        assert_eq!(stored[11], Value::Bytes(self.heap_bytes(&self.heap)));
        assert_eq!(stored[12], Value::Bytes(self.heap_bytes(&self.list)));
        let mut values = stored.iter().skip(13);
        let mut next = || values.next().expect("a value");
        assert_eq!(next(), &Value::Integer(self.panes.len() as u64));
        for pane in &self.panes {
            assert_eq!(next(), &Value::Integer(pane.units.0));
            assert_eq!(next(), &Value::Integer(pane.total));
            assert_eq!(next(), &Value::Bytes(pane.table.bytes()));
            assert_eq!(next(), &Value::Integer(pane.listed.len() as u64));
            let is_listed = |number: &usize| pane.listed.contains(&self.candidates[*number]);
            for number in (0..self.candidates.len()).filter(is_listed) {
                assert_eq!(next(), &Value::Integer(number as u64));
            }
        }
        assert_eq!(next(), &Value::Integer(self.candidates.len() as u64));
        for item in &self.candidates {
            assert_eq!(next(), &Value::Bytes(item.clone()));
            let closed = self.panes.iter().filter(|pane| pane.units.0 != self.newest);
            let sum = closed.map(|pane| pane.estimate(item)).sum();
            assert_eq!(next(), &Value::Integer(sum));
        }
    }

    fn pane_total(&self, pane: u64) -> Option<u64> {
        let stored = self.panes.iter().find(|stored| stored.units.0 == pane);
        Some(stored.map_or(0, |pane| pane.total))
    }
}
