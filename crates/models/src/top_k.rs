//! Top-k sketches.

pub mod decay;
pub mod pane_table;
pub mod window;

use super::allows;
use super::input::Input;
use super::sequence::Model;
use super::stored::{Subject, digest};
use decay::Random;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::hash::murmur2;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopK;
use std::collections::{HashMap, HashSet};

impl Subject for TopK {
    const LOAD_OPTIONS: () = ();
    type Results = (List, Vec<u32>);

    fn add(&mut self, item: &[u8], number: i64, budget: Budget<'_>) {
        let (hash, mut changes) = (self.hash(item), BlockChanges::<()>::default());
        let _ = self.add_hashed(item, &hash, number as u32, budget, &mut changes);
    }

    /// The list must be sorted, have no duplicates and at most k items.
    fn read(&self, _current: u64) -> Self::Results {
        let list = TopK::list(self).expect("enough memory");
        let list: List = list.map(|(item, count)| (item.to_vec(), count)).collect();
        assert!(list.is_sorted_by(|left, right| left.1 >= right.1));
        let distinct: HashSet<_> = list.iter().map(|(item, _)| item).collect();
        assert_eq!(distinct.len(), list.len(), "the list has duplicates");
        assert!(list.len() <= self.k() as usize);
        assert!(distinct.into_iter().all(|item| self.query(item)));
        let count = |item: &[u8]| {
            let count = self.count(item);
            assert_eq!(self.count_hashed(item, &self.hash(item)), count);
            count
        };
        (list, [&b"a"[..], b"", b"x"].map(count).into())
    }
}

/// Rows of buckets, each with the fingerprint of its owner and a count.
pub struct Table {
    width: u32,
    buckets: Vec<(u32, u32)>,
}

impl Table {
    /// An empty table.
    pub fn new(width: u32, depth: u32) -> Self {
        Self {
            width,
            buckets: vec![(0, 0); (width * depth) as usize],
        }
    }

    fn places(&self, item: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let (width, depth) = (self.width, self.buckets.len() as u32 / self.width);
        let places: Vec<usize> =
            ((0..depth).map(|row| (row * width + murmur2(item, row) % width) as usize)).collect();
        places.into_iter()
    }

    /// The counts of the buckets that the item owns.
    pub fn counts(&self, item: &[u8]) -> impl Iterator<Item = u32> {
        let buckets = self.places(item).map(|place| self.buckets[place]);
        let fingerprint = murmur2(item, 1919);
        buckets.filter_map(move |(owner, count)| (owner == fingerprint).then_some(count))
    }

    /// Adds an item and returns its largest count.
    pub fn add(&mut self, item: &[u8], increment: u32, random: &mut Random) -> u32 {
        let fingerprint = murmur2(item, 1919);
        for place in self.places(item) {
            let bucket = &mut self.buckets[place];
            *bucket = match *bucket {
                (_, 0) => (fingerprint, increment),
                (owner, count) if owner == fingerprint => (owner, count.saturating_add(increment)),
                (owner, count) => match random.decay(count, increment) {
                    (count, None) => (owner, count),
                    (_, Some(left)) => (fingerprint, left),
                },
            };
        }
        self.counts(item).max().unwrap_or(0)
    }

    /// The stored form.
    pub fn bytes(&self) -> Vec<u8> {
        let numbers = (self.buckets.iter()).flat_map(|&(owner, count)| [owner, count]);
        numbers.flat_map(u32::to_le_bytes).collect()
    }
}

/// The elements of a min-heap with their counts.
#[derive(Clone)]
pub struct Heap(pub Vec<(u32, Option<Vec<u8>>)>);

impl Heap {
    /// A heap with `k` places.
    pub fn new(k: u32) -> Self {
        Self(vec![(0, None); k as usize])
    }

    /// The place of an item.
    pub fn find(&self, item: &[u8]) -> Option<usize> {
        (self.0.iter()).position(|element| element.1.as_deref() == Some(item))
    }

    /// The items.
    pub fn items(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.0.iter().filter_map(|element| element.1.as_ref())
    }

    /// Moves an element down. In the first step it also moves below an equal count.
    pub fn sift_down(&mut self, mut place: usize) {
        for step in 0.. {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            if left >= self.0.len() {
                return;
            }
            let count = |place: usize| self.0[place].0;
            let is_right = right < self.0.len() && count(right) < count(left);
            let child = if is_right { right } else { left };
            if count(child) > count(place) || step > 0 && count(child) == count(place) {
                return;
            }
            self.0.swap(place, child);
            place = child;
        }
    }

    /// Sets the count of an item that has a place, or else replaces the root. Returns the item that left the heap.
    pub fn put(&mut self, item: &[u8], count: u32) -> Option<Vec<u8>> {
        let place = self.find(item);
        let element = (count, Some(item.to_vec()));
        let before = std::mem::replace(&mut self.0[place.unwrap_or(0)], element);
        self.sift_down(place.unwrap_or(0));
        before.1.filter(|_| place.is_none())
    }
}

/// An item from a small set of numbers from `first`, so that they collide; some are empty, some contain a NUL.
pub fn item(input: &mut Input<'_>, first: u8) -> Vec<u8> {
    let (number, len) = (first + input.byte() % 24, usize::from(input.byte() % 3));
    [number; 2][..len].to_vec()
}

/// All items of [`item`].
pub fn items(first: u8) -> impl Iterator<Item = Vec<u8>> {
    (first..first + 24).flat_map(|number| (0..3).map(move |len| [number; 2][..len].to_vec()))
}

/// An increment.
pub fn increment(input: &mut Input<'_>) -> u32 {
    match input.byte() {
        byte @ 0..=219 => u32::from(byte) % 4,
        220..=244 => u32::from(input.u16()) % 1000,
        245..=250 => input.u32(),
        byte => [100_000, u32::MAX][usize::from(byte & 1)],
    }
}

/// The items with their counts, largest counts first.
type List = Vec<(Vec<u8>, u32)>;

/// A table and a heap, and a sketch that gets the changing additions only, as a replica does.
pub struct TopKModel {
    random: Random,
    table: Table,
    heap: Heap,
    replica: TopK,
    /// Counts by fingerprint: upper bounds.
    counts: HashMap<u32, u64>,
}

impl TopKModel {
    fn add(&mut self, item: &[u8], increment: u32) -> Option<Vec<u8>> {
        let largest = self.table.add(item, increment, &mut self.random);
        if largest < self.heap.0[0].0 {
            return None;
        }
        self.heap.put(item, largest)
    }

    fn count(&self, item: &[u8]) -> u32 {
        let is_in_heap = self.heap.find(item).is_some();
        let least = if is_in_heap { self.heap.0[0].0 } else { 0 };
        let counts = self.table.counts(item).filter(|&count| count >= least);
        counts.max().unwrap_or(0)
    }

    fn list(&self) -> List {
        let elements = self.heap.0.iter().filter(|element| element.0 > 0);
        let mut list: List =
            (elements.map(|(count, item)| (item.clone().expect("an item"), *count))).collect();
        list.sort_by_key(|element| std::cmp::Reverse(element.1));
        list
    }

    /// Random state and elements as in a header.
    fn header_end(&self) -> Vec<u8> {
        let mut bytes = self.random.stored().to_le_bytes().to_vec();
        for (position, (count, item)) in (0u32..).zip(&self.heap.0) {
            if let Some(item) = item {
                bytes.extend_from_slice(&position.to_le_bytes());
                bytes.extend_from_slice(&count.to_le_bytes());
                bytes.extend_from_slice(&(item.len() as u64).to_le_bytes());
                bytes.extend_from_slice(item);
            }
        }
        bytes
    }
}

impl Model for TopKModel {
    type Sketch = TopK;

    fn new(input: &mut Input<'_>) -> Option<(TopK, Self)> {
        let [k, width, depth] = [20, 40, 10].map(|end| u32::from(input.byte() % end));
        let decay = input.pick(&decay::BASES);
        let new = || {
            TopK::new(
                k.into(),
                width.into(),
                depth.into(),
                decay,
                Budget::new(&allows),
            )
        };
        let (Ok(sketch), Ok(replica)) = (new(), new()) else {
            assert!(k == 0 || width == 0 || depth == 0);
            return None;
        };
        let model = Self {
            random: Random::new(decay, &sketch.header().expect("enough memory")[40..48]),
            table: Table::new(width, depth),
            heap: Heap::new(k),
            replica,
            counts: HashMap::new(),
        };
        Some((sketch, model))
    }

    fn step(&mut self, sketch: &mut TopK, input: &mut Input<'_>) {
        let (item, increment) = (item(input, 0), increment(input));
        let before = digest(sketch);
        let hash = sketch.hash(&item);
        let mut changes = BlockChanges::<()>::default();
        let added = sketch.add_hashed(&item, &hash, increment, Budget::new(&allows), &mut changes);
        let added = added.expect("enough memory");
        let (changed, expelled) = (added.changed, added.expelled.map(<[u8]>::to_vec));
        assert_eq!(expelled, self.add(&item, increment));
        assert_eq!(changed, before != digest(sketch), "`changed` is wrong");
        if changed {
            let added = self.replica.add(&item, increment).expect("enough memory");
            assert_eq!(added.expelled, expelled.as_deref());
        }
        assert!(*sketch == self.replica, "the replica differs");
        *self.counts.entry(murmur2(&item, 1919)).or_default() += u64::from(increment);
        assert_eq!(sketch.count_hashed(&item, &hash), self.count(&item));
    }

    fn check(&self, sketch: &TopK) {
        assert_eq!(sketch.read(0).0, self.list());
        assert_eq!(
            sketch.header().expect("enough memory")[40..],
            self.header_end()
        );
        assert_eq!(sketch.bucket_bytes(), self.table.bytes());
        assert_eq!(sketch.item_count(), self.heap.items().count());
        for item in items(0) {
            assert_eq!(sketch.query(&item), self.heap.find(&item).is_some());
            assert_eq!(sketch.count(&item), self.count(&item));
            let count = self.counts.get(&murmur2(&item, 1919)).copied().unwrap_or(0);
            assert!(u64::from(sketch.count(&item)) <= count, "above the count");
        }
    }
}
