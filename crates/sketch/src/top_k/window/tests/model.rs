//! A model written from the module documentation, and the property that the sketch gives the same results.

use super::super::TopKWindow;
use super::RankingCache;
use super::{Step, current, digest, listed_with, shapes, sketch, steps};
use crate::hash::murmur2;
use crate::top_k::decay::{Decay, Decayed};
use crate::top_k::random::Random;
use crate::window::Timed;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

type Element = (u32, Option<Vec<u8>>);

struct Table {
    buckets: Vec<(u32, u32)>,
    total: u64,
}

/// Tables by pane, two heaps as lists of elements, and the candidates with the panes that keep them.
struct Model {
    width: u32,
    depth: u32,
    panes: u64,
    newest: u64,
    decay: Decay,
    random: Random,
    tables: BTreeMap<u64, Table>,
    heap: Vec<Element>,
    list: Vec<Element>,
    kept: BTreeMap<u64, BTreeSet<Vec<u8>>>,
}

fn find(elements: &[Element], item: &[u8]) -> Option<usize> {
    elements
        .iter()
        .position(|element| element.1.as_deref() == Some(item))
}

fn sift_down(elements: &mut [Element], mut place: usize) {
    for step in 0.. {
        let (left, right) = (2 * place + 1, 2 * place + 2);
        if left >= elements.len() {
            return;
        }
        let count = |place: usize| elements[place].0;
        let child = if right < elements.len() && count(right) < count(left) {
            right
        } else {
            left
        };
        if !(count(child) < count(place) || step == 0 && count(child) == count(place)) {
            return;
        }
        elements.swap(place, child);
        place = child;
    }
}

impl Model {
    fn of(sketch: &TopKWindow) -> Self {
        Self {
            width: sketch.width(),
            depth: sketch.depth(),
            panes: sketch.timeline().window().panes(),
            newest: 0,
            decay: sketch.decay,
            random: sketch.random,
            tables: BTreeMap::new(),
            heap: vec![(0, None); sketch.k() as usize],
            list: vec![(0, None); sketch.k() as usize],
            kept: BTreeMap::new(),
        }
    }

    fn bucket(&self, item: &[u8], row: u32) -> usize {
        (row * self.width + murmur2(item, row) % self.width) as usize
    }

    fn estimate(&self, item: &[u8], pane: u64) -> u32 {
        let Some(table) = self.tables.get(&pane) else {
            return 0;
        };
        let buckets = (0..self.depth).map(|row| table.buckets[self.bucket(item, row)]);
        let own = buckets.filter(|&(owner, _)| owner == murmur2(item, 1919));
        own.map(|(_, count)| count).max().unwrap_or(0)
    }

    fn oldest(&self, current: u64) -> u64 {
        current.max(self.newest).saturating_sub(self.panes)
    }

    /// In the panes that are live at `current`.
    fn count(&self, item: &[u8], current: u64) -> u32 {
        let panes = self.oldest(current)..=self.newest;
        let sum: u64 = self
            .tables
            .keys()
            .filter(|&pane| panes.contains(pane))
            .map(|&pane| u64::from(self.estimate(item, pane)))
            .sum();
        u32::try_from(sum).unwrap_or(u32::MAX)
    }

    fn is_candidate(&self, item: &[u8]) -> bool {
        find(&self.heap, item).is_some()
            || find(&self.list, item).is_some()
            || self.kept.values().any(|kept| kept.contains(item))
    }

    fn candidates(&self) -> BTreeSet<Vec<u8>> {
        let elements = self.heap.iter().chain(&self.list);
        let placed = elements.filter_map(|element| element.1.clone());
        placed
            .chain(self.kept.values().flatten().cloned())
            .collect()
    }

    fn add(&mut self, item: &[u8], increment: u32) -> Option<Vec<u8>> {
        let fingerprint = murmur2(item, 1919);
        let buckets = (self.width * self.depth) as usize;
        let empty = || Table {
            buckets: vec![(0, 0); buckets],
            total: 0,
        };
        let places: Vec<usize> = (0..self.depth).map(|row| self.bucket(item, row)).collect();
        let was_candidate = self.is_candidate(item);
        let closed: u64 = (self.oldest(0)..self.newest)
            .map(|pane| u64::from(self.estimate(item, pane)))
            .sum();
        let table = self.tables.entry(self.newest).or_insert_with(empty);
        table.total += u64::from(increment);
        let mut largest = 0;
        for place in places {
            let (owner, count) = table.buckets[place];
            let after = if count == 0 {
                (fingerprint, increment)
            } else if owner == fingerprint {
                (fingerprint, count.saturating_add(increment))
            } else {
                match self.decay.apply(count, increment, &mut self.random) {
                    Decayed::Kept(count) => (owner, count),
                    Decayed::Replaced(count) => (fingerprint, count),
                }
            };
            table.buckets[place] = after;
            if after.0 == fingerprint {
                largest = largest.max(after.1);
            }
        }
        let mut is_candidate = was_candidate;
        match find(&self.heap, item) {
            Some(place) if largest >= self.heap[0].0 => {
                self.heap[place].0 = largest;
                sift_down(&mut self.heap, place);
            }
            None if self.heap[0].1.is_none() || largest > self.heap[0].0 => {
                self.heap[0] = (largest, Some(item.to_vec()));
                sift_down(&mut self.heap, 0);
                is_candidate = true;
            }
            _ => {}
        }
        let sum = u32::try_from(closed + u64::from(largest)).unwrap_or(u32::MAX);
        if !is_candidate || sum < self.list[0].0 {
            return None;
        }
        if let Some(place) = find(&self.list, item) {
            self.list[place].0 = sum;
            sift_down(&mut self.list, place);
            return None;
        }
        let (_, expelled) = std::mem::replace(&mut self.list[0], (sum, Some(item.to_vec())));
        sift_down(&mut self.list, 0);
        expelled
    }

    /// The candidates with the largest counts at a later pane.
    fn largest(&self, current: u64) -> Vec<(u32, Vec<u8>)> {
        let candidates = self.candidates().into_iter();
        let mut counts: Vec<_> = candidates
            .map(|item| (self.count(&item, current), item))
            .filter(|(count, _)| *count > 0)
            .collect();
        counts.sort_by_key(|(count, item)| (Reverse(*count), item.clone()));
        counts.truncate(self.list.len());
        counts
    }

    /// Whether a later pane has other counts.
    fn differs(&self, current: u64) -> bool {
        let drops = self.tables.keys().any(|&pane| pane < self.oldest(current));
        current > self.newest && (drops || self.tables.contains_key(&self.newest))
    }

    fn advance(&mut self, pane: u64) {
        if pane <= self.newest {
            return;
        }
        if self.differs(pane) {
            let largest = self.largest(pane);
            let heap = self.heap.iter().filter_map(|element| element.1.clone());
            let kept = heap.filter(|item| self.estimate(item, self.newest) > 0);
            let kept = kept.collect();
            self.kept.insert(self.newest, kept);
            self.heap.fill((0, None));
            self.list.fill((0, None));
            // The largest is the last element of the array.
            for (element, (count, item)) in self.list.iter_mut().rev().zip(largest) {
                *element = (count, Some(item));
            }
        }
        self.newest = pane;
        let oldest = self.oldest(0);
        self.tables.retain(|&pane, _| pane >= oldest);
        self.kept.retain(|&pane, _| pane >= oldest);
    }

    fn list(&self, current: u64) -> Vec<(Vec<u8>, u32)> {
        let counts = if self.differs(current) {
            self.largest(current)
        } else {
            let elements = self.list.iter().filter(|element| element.0 > 0);
            let elements = elements.map(|(count, item)| (*count, item.clone().unwrap()));
            let mut counts: Vec<_> = elements.collect();
            counts.sort_by_key(|(count, item)| (Reverse(*count), item.clone()));
            counts
        };
        counts
            .into_iter()
            .map(|(count, item)| (item, count))
            .collect()
    }

    fn query(&self, item: &[u8], current: u64) -> bool {
        if self.differs(current) {
            self.largest(current)
                .iter()
                .any(|(_, listed)| listed == item)
        } else {
            find(&self.list, item).is_some()
        }
    }
}

proptest! {
    #[test]
    fn results_equal_those_of_the_model(
        (k, width, depth, decay, panes) in shapes(), steps in steps(),
    ) {
        let mut sketch = sketch(k, width, depth, decay, panes);
        let mut model = Model::of(&sketch);
        let mut cache = RankingCache::default();
        for step in steps {
            let before = digest(&sketch);
            match step {
                Step::Add(item, increment) => {
                    let added = sketch.add(&item, increment).unwrap();
                    let (changed, expelled) = (added.changed, added.expelled.map(<[u8]>::to_vec));
                    prop_assert_eq!(expelled, model.add(&item, increment));
                    prop_assert_eq!(changed, digest(&sketch) != before);
                }
                Step::Advance(ahead) => {
                    let pane = sketch.timeline().newest() + ahead;
                    let expected = listed_with(&mut cache, &sketch, pane);
                    prop_assert_eq!(sketch.advance(pane), ahead > 0);
                    model.advance(pane);
                    prop_assert_eq!(listed_with(&mut cache, &sketch, 0), expected);
                }
                Step::Read(ahead) => {
                    let current = current(&sketch, ahead);
                    prop_assert_eq!(listed_with(&mut cache, &sketch, current), model.list(current));
                    for number in 0..14 {
                        for len in 0..3 {
                            let item = &[number; 2][..len];
                            prop_assert_eq!(sketch.query_at(item, sketch.panes_in(current), &mut cache), Ok(model.query(item, current)));
                            prop_assert_eq!(sketch.count_at(item, sketch.panes_in(current)), model.count(item, current));
                        }
                    }
                    prop_assert_eq!(digest(&sketch), before);
                }
            }
            let newest = sketch.timeline().newest();
            prop_assert_eq!(listed_with(&mut cache, &sketch, newest), model.list(newest));
            let candidates: BTreeSet<_> = sketch.candidates.iter().map(|one| one.item.clone()).collect();
            prop_assert_eq!(candidates.len(), sketch.candidate_count());
            prop_assert_eq!(candidates, model.candidates());
            for pane in newest.saturating_sub(panes + 1)..=newest + 1 {
                let total = model.tables.get(&pane).map_or(0, |table| table.total);
                prop_assert_eq!(sketch.pane_total(pane), total);
            }
        }
        prop_assert_eq!(sketch.random, model.random);
    }
}
