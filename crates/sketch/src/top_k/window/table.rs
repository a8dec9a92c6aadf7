//! The table of a pane, which counts items by fingerprint: Cuckoo Heavy Keeper (Ngo and Papatriantafilou, "Cuckoo Heavy Keeper and
//! the balancing act of maintaining heavy hitters in stream processing", 2024).
//!
//! A bucket has a *lobby* cell and four *heavy* cells. An item has two buckets, and each of them follows from the other one and the
//! fingerprint, so a cell can move between them. The count of a lobby decays when an item without a cell is added; the counts of heavy
//! cells do not. A lobby that exceeds the smallest heavy cell of both buckets takes its place (docs/contributing/formats.md, "Top-k
//! with a window").

use crate::buffer::Buffer;
use crate::hash::seeded_rows::{column, finalize, scale};
use crate::memory::OutOfMemory;
use crate::prefetch::prefetch;
use crate::top_k::decay::{Decay, Decayed};
use crate::top_k::random::Random;
use crate::top_k::{MIN_PREFETCH_BYTES, Parameters};

/// Cells of a bucket: the lobby and four heavy cells.
pub(super) const CELLS: usize = 5;
const LOBBY: usize = 0;
pub(super) const HEAVY_CELLS: usize = CELLS - 1;
pub(super) const CELL_BYTES: usize = 8;
pub(super) const BUCKET_BYTES: usize = CELLS * CELL_BYTES;

/// The stored form of a bucket.
type Bucket = [[u8; CELL_BYTES]; CELLS];

/// A fingerprint and its count. An empty cell has count 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    fingerprint: u32,
    count: u32,
}

impl Cell {
    const EMPTY: Self = Self {
        fingerprint: 0,
        count: 0,
    };

    #[inline(always)]
    fn decoded([a, b, c, d, e, f, g, h]: [u8; CELL_BYTES]) -> Self {
        Self {
            fingerprint: u32::from_le_bytes([a, b, c, d]),
            count: u32::from_le_bytes([e, f, g, h]),
        }
    }

    #[inline(always)]
    fn encoded(self) -> [u8; CELL_BYTES] {
        let [a, b, c, d] = self.fingerprint.to_le_bytes();
        let [e, f, g, h] = self.count.to_le_bytes();
        [a, b, c, d, e, f, g, h]
    }

    /// The cell with this count added. Saturates.
    #[inline(always)]
    fn plus(self, count: u32) -> Self {
        Self {
            count: self.count.saturating_add(count),
            ..self
        }
    }
}

/// The number of buckets of a table, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Buckets(u32);

impl Buckets {
    /// That of a pane of these parameters, which is within the limits.
    pub fn of(parameters: Parameters) -> Self {
        // At most 2^26 cells, see `MAX_TABLE_BYTES`.
        Self((parameters.bucket_count() / CELLS as u64).max(1) as u32)
    }

    /// Bytes of a table.
    pub fn bytes(self) -> u64 {
        u64::from(self.0) * BUCKET_BYTES as u64
    }

    /// Where tables count the item with this hash.
    #[inline(always)]
    pub fn places(self, hash: u64) -> Places {
        let fingerprint = fingerprint_of(hash);
        let first = column(hash, 0, self.0 as usize) as u32;
        Places {
            fingerprint,
            buckets: [first, self.other(first, fingerprint)],
        }
    }

    /// Where tables count the item with this fingerprint that has a cell in this bucket.
    pub fn places_of(self, bucket: u32, fingerprint: u32) -> Places {
        Places {
            fingerprint,
            buckets: [bucket, self.other(bucket, fingerprint)],
        }
    }

    /// The other bucket of a fingerprint in this bucket. It may be the same.
    #[inline(always)]
    fn other(self, bucket: u32, fingerprint: u32) -> u32 {
        let sum = scale(finalize(fingerprint.into()), self.0 as usize) as u32;
        let carry = if sum < bucket { self.0 } else { 0 };
        sum.wrapping_sub(bucket).wrapping_add(carry)
    }
}

/// The fingerprint of an item with this hash. 0 is none.
#[inline(always)]
pub(super) fn fingerprint_of(hash: u64) -> u32 {
    (hash as u32).max(1)
}

/// The fingerprint of an item and its buckets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    fingerprint: u32,
    buckets: [u32; 2],
}

impl Places {
    #[cfg(test)]
    pub fn fingerprint(self) -> u32 {
        self.fingerprint
    }

    #[cfg(test)]
    pub fn buckets(self) -> [u32; 2] {
        self.buckets
    }

    /// Whether both are the places of one item, in any order of the buckets.
    pub fn is_same(self, other: Self) -> bool {
        let [first, second] = other.buckets;
        self.fingerprint == other.fingerprint
            && [[first, second], [second, first]].contains(&self.buckets)
    }

    /// The cell with this number in [`ORDER`].
    #[inline(always)]
    fn position(self, number: usize) -> Position {
        let (place, cell) = ORDER[number];
        (self.buckets[usize::from(place)], usize::from(cell))
    }
}

/// A cell: the number of its bucket, and its number there.
type Position = (u32, usize);

/// The cells of a pair of buckets in the order in which they are searched: the bucket, 0 or 1, and the number of the cell. Heavy
/// cells precede lobbies. [`NOT_FOUND`] is also a cell, so that a search needs no branch: where an item is found is hard to predict.
const ORDER: [(u8, u8); 11] = [
    (0, 1),
    (0, 2),
    (0, 3),
    (0, 4),
    (1, 1),
    (1, 2),
    (1, 3),
    (1, 4),
    (0, 0),
    (1, 0),
    (0, 0),
];
const NOT_FOUND: usize = ORDER.len() - 1;

/// The first cell with this fingerprint and a count above 0 in a pair of buckets, in [`ORDER`]; [`NOT_FOUND`] if there is none.
#[inline(always)]
fn find(pair: [&Bucket; 2], fingerprint: u32) -> usize {
    let mut found = 1 << NOT_FOUND;
    for (number, (place, cell)) in ORDER[..NOT_FOUND].iter().enumerate() {
        let cell = Cell::decoded(pair[usize::from(*place)][usize::from(*cell)]);
        let is_found = (cell.fingerprint == fingerprint) & (cell.count > 0);
        found |= u32::from(is_found) << number;
    }
    found.trailing_zeros() as usize
}

/// The heavy cell with the smallest count in a pair of buckets, the first of equal ones, in [`ORDER`].
#[inline(always)]
fn smallest_heavy(pair: [&Bucket; 2]) -> usize {
    let smaller =
        |left: (u32, usize), right: (u32, usize)| if right.0 < left.0 { right } else { left };
    let of_bucket = |place: usize| {
        let heavy = |cell: usize| {
            let count = Cell::decoded(pair[place][cell]).count;
            (count, HEAVY_CELLS * place + cell - 1)
        };
        smaller(smaller(heavy(1), heavy(2)), smaller(heavy(3), heavy(4)))
    };
    smaller(of_bucket(0), of_bucket(1)).1
}

/// The buckets of a table.
#[derive(Debug)]
struct Grid<'a>(&'a mut [Bucket]);

impl Grid<'_> {
    fn buckets(&self) -> Buckets {
        Buckets(self.0.len() as u32)
    }

    #[inline(always)]
    fn pair(&self, buckets: [u32; 2]) -> [&Bucket; 2] {
        buckets.map(|bucket| &self.0[bucket as usize])
    }

    #[inline(always)]
    fn get(&self, (bucket, cell): Position) -> Cell {
        Cell::decoded(self.0[bucket as usize][cell])
    }

    #[inline(always)]
    fn set(&mut self, (bucket, cell): Position, value: Cell) {
        self.0[bucket as usize][cell] = value.encoded();
    }

    /// Counts an item that has no cell: the smaller lobby of its buckets decays, or becomes the item's.
    #[inline]
    fn count_in_lobby(
        &mut self,
        item: Places,
        increment: u32,
        decay: &Decay,
        random: &mut Random,
    ) -> Counted {
        let fingerprint = item.fingerprint;
        let [first, second] = item.buckets.map(|bucket| (bucket, LOBBY));
        let is_second = self.get(second).count < self.get(first).count;
        let lobby = if is_second { second } else { first };
        let before = self.get(lobby);
        let (fingerprint_after, count) = if increment == 1 && decay.is_random() {
            decay.add_one((before.fingerprint, before.count), fingerprint, random)
        } else if before.count == 0 {
            (fingerprint, increment)
        } else {
            match decay.apply(before.count, increment, random) {
                Decayed::Kept(count) => (before.fingerprint, count),
                Decayed::Replaced(count) => (fingerprint, count),
            }
        };
        let after = Cell {
            fingerprint: fingerprint_after,
            count,
        };
        self.set(lobby, after);
        let mut changed = after != before;
        let mut estimate = 0;
        if fingerprint_after == fingerprint {
            changed |= self.promote(item, lobby, after);
            estimate = count;
        }
        Counted { estimate, changed }
    }

    /// Moves the item's cell from this lobby to the smallest heavy cell of both buckets, if that is smaller. Returns whether it was
    /// moved.
    #[inline]
    fn promote(&mut self, item: Places, lobby: Position, cell: Cell) -> bool {
        let smallest = item.position(smallest_heavy(self.pair(item.buckets)));
        let displaced = self.get(smallest);
        if displaced.count >= cell.count {
            return false;
        }
        self.set(smallest, cell);
        self.set(lobby, Cell::EMPTY);
        self.displace(displaced, smallest.0);
        true
    }

    /// Moves a cell of this bucket to the smaller lobby of its buckets, if that is smaller. Otherwise its count is lost.
    #[inline(always)]
    fn displace(&mut self, cell: Cell, bucket: u32) {
        if cell.count == 0 {
            return;
        }
        let other = self.buckets().other(bucket, cell.fingerprint);
        let [own, others] = [bucket, other].map(|bucket| self.get((bucket, LOBBY)).count);
        let (count, bucket) = if others < own {
            (others, other)
        } else {
            (own, bucket)
        };
        if count < cell.count {
            self.set((bucket, LOBBY), cell);
        }
    }

    /// Moves a cell to the smallest heavy cell of both buckets, if that is smaller, and displaces that one. Returns whether it was
    /// moved.
    #[inline(always)]
    fn place(&mut self, item: Places, cell: Cell) -> bool {
        let smallest = item.position(smallest_heavy(self.pair(item.buckets)));
        let displaced = self.get(smallest);
        if displaced.count >= cell.count {
            return false;
        }
        self.set(smallest, cell);
        self.displace(displaced, smallest.0);
        true
    }

    /// Exchanges the lobby of a bucket with its smallest heavy cell, if that is smaller.
    #[inline]
    fn exchange_lobby(&mut self, bucket: u32) {
        let (_, smallest) = ORDER[smallest_heavy(self.pair([bucket; 2]))];
        let positions = [LOBBY, usize::from(smallest)].map(|cell| (bucket, cell));
        let [lobby, heavy] = positions.map(|position| self.get(position));
        if heavy.count < lobby.count {
            self.set(positions[0], heavy);
            self.set(positions[1], lobby);
        }
    }
}

/// The result of counting an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// The estimate of the item afterwards.
    pub estimate: u32,
    /// Whether a cell has changed.
    pub changed: bool,
}

/// The buckets, each of five cells. Any contents are valid. The places that its methods take are those for its number of buckets.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Table {
    /// The stored form.
    pub bytes: Buffer,
}

impl Table {
    /// Empty buckets.
    pub fn new(buckets: Buckets) -> Result<Self, OutOfMemory> {
        Buffer::zeroed(buckets.bytes()).map(Self::from)
    }

    /// A copy with separate memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Buffer::copy_of(&self.bytes).map(Self::from)
    }

    #[inline(always)]
    fn grid(&mut self) -> Grid<'_> {
        let cells = self.bytes.as_chunks_mut().0;
        Grid(cells.as_chunks_mut().0)
    }

    /// Counts `increment` occurrences of an item.
    #[inline]
    pub fn count(
        &mut self,
        item: Places,
        increment: u32,
        decay: &Decay,
        random: &mut Random,
    ) -> Counted {
        let mut grid = self.grid();
        let found = find(grid.pair(item.buckets), item.fingerprint);
        if found == NOT_FOUND {
            return grid.count_in_lobby(item, increment, decay, random);
        }
        let position = item.position(found);
        let before = grid.get(position);
        let after = before.plus(increment);
        grid.set(position, after);
        let is_moved = position.1 == LOBBY && grid.promote(item, position, after);
        Counted {
            estimate: after.count,
            changed: is_moved || after != before,
        }
    }

    /// The count of the item's cell; 0 if there is none. Cost: two buckets.
    #[inline]
    pub fn estimate(&self, item: Places) -> u32 {
        let buckets: &[Bucket] = self.bytes.as_chunks().0.as_chunks().0;
        let pair = item.buckets.map(|bucket| &buckets[bucket as usize]);
        let found = find(pair, item.fingerprint);
        let (bucket, cell) = item.position(found);
        let count = Cell::decoded(buckets[bucket as usize][cell]).count;
        if found == NOT_FOUND { 0 } else { count }
    }

    /// The fingerprints of all cells that are not empty.
    pub fn fingerprints(&self) -> impl Iterator<Item = u32> {
        let cells = self.bytes.as_chunks().0.iter();
        let cells = cells.map(|cell| Cell::decoded(*cell));
        cells
            .filter(|cell| cell.count > 0)
            .map(|cell| cell.fingerprint)
    }

    /// The fingerprints and counts of the heavy cells of a bucket that are not empty.
    pub fn heavy_cells(&self, bucket: u32) -> impl Iterator<Item = (u32, u32)> {
        let buckets: &[Bucket] = self.bytes.as_chunks().0.as_chunks().0;
        let cells = buckets[bucket as usize].iter().skip(LOBBY + 1);
        let cells = cells.map(|cell| Cell::decoded(*cell));
        cells
            .filter(|cell| cell.count > 0)
            .map(|cell| (cell.fingerprint, cell.count))
    }

    /// The count of the item's heavy cell, 0 if there is none, and the smallest count of the heavy cells of its buckets.
    pub fn heavy_counts(&self, item: Places) -> [u32; 2] {
        let buckets: &[Bucket] = self.bytes.as_chunks().0.as_chunks().0;
        let pair = item.buckets.map(|bucket| &buckets[bucket as usize]);
        let found = find(pair, item.fingerprint);
        [found, smallest_heavy(pair)].map(|number| match item.position(number) {
            (_, LOBBY) => 0,
            (bucket, cell) => Cell::decoded(buckets[bucket as usize][cell]).count,
        })
    }

    /// Adds the counts of a younger table with as many buckets, and takes its cells. First those of fingerprints that both tables
    /// count; then each lobby is exchanged with the smallest heavy cell of its bucket, if it is larger; then the other cells are
    /// placed, in their order.
    pub fn merge(&mut self, younger: &mut Self) {
        let (mut older, mut younger) = (self.grid(), younger.grid());
        for_each_cell(&mut older, &mut younger, |older, item, cell| {
            let found = find(older.pair(item.buckets), item.fingerprint);
            if found == NOT_FOUND {
                return cell;
            }
            let position = item.position(found);
            let sum = older.get(position).plus(cell.count);
            older.set(position, sum);
            Cell::EMPTY
        });
        for bucket in 0..older.buckets().0 {
            older.exchange_lobby(bucket);
        }
        for_each_cell(&mut older, &mut younger, |older, item, cell| {
            if !older.place(item, cell) {
                older.displace(cell, item.buckets[0]);
            }
            cell
        });
    }

    /// Raises the count of an item to at least `count`. An item without a cell gets the smallest heavy cell of its buckets, if that
    /// is smaller.
    pub fn raise(&mut self, item: Places, count: u32) {
        let mut grid = self.grid();
        let fingerprint = item.fingerprint;
        let raised = Cell { fingerprint, count };
        let found = find(grid.pair(item.buckets), fingerprint);
        if found == NOT_FOUND {
            grid.place(item, raised);
            return;
        }
        let position = item.position(found);
        if grid.get(position).count < count {
            grid.set(position, raised);
        }
        if let (bucket, LOBBY) = position {
            grid.exchange_lobby(bucket);
        }
    }

    /// Whether the table is larger than the caches.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.bytes.len() > MIN_PREFETCH_BYTES
    }

    /// Prefetches the item's buckets.
    #[inline]
    pub fn prefetch(&self, item: Places) {
        for bucket in item.buckets {
            prefetch_bucket(&self.bytes, bucket);
        }
    }
}

/// Replaces each cell of a younger table that is not empty by the result of `visit` for the older table, the places of the cell, its
/// own bucket first, and the cell.
#[inline(always)]
fn for_each_cell(
    older: &mut Grid<'_>,
    younger: &mut Grid<'_>,
    mut visit: impl FnMut(&mut Grid<'_>, Places, Cell) -> Cell,
) {
    /// Buckets whose cells are prefetched together: their places are spread over the older table.
    const BLOCK: usize = 16;
    let buckets = older.buckets();
    let mut others = [[0; CELLS]; BLOCK];
    for (block, cells) in younger.0.chunks_mut(BLOCK).enumerate() {
        let numbers = || (block * BLOCK) as u32..;
        for ((number, cells), others) in numbers().zip(&*cells).zip(&mut others) {
            for (cell, other) in cells.iter().zip(others) {
                *other = buckets.other(number, Cell::decoded(*cell).fingerprint);
                prefetch_bucket(older.0.as_flattened().as_flattened(), *other);
            }
        }
        for ((number, cells), others) in numbers().zip(cells).zip(&others) {
            for (place, &other) in cells.iter_mut().zip(others) {
                let cell = Cell::decoded(*place);
                if cell.count > 0 {
                    let item = Places {
                        fingerprint: cell.fingerprint,
                        buckets: [number, other],
                    };
                    *place = visit(older, item, cell).encoded();
                }
            }
        }
    }
}

/// Prefetches a bucket of a table with these bytes. It can be in two cache lines.
#[inline(always)]
fn prefetch_bucket(bytes: &[u8], bucket: u32) {
    let start = bucket as usize * BUCKET_BYTES;
    prefetch(bytes, start);
    prefetch(bytes, start + BUCKET_BYTES - 1);
}

impl From<Buffer> for Table {
    /// The caller checks the length.
    fn from(bytes: Buffer) -> Self {
        Self { bytes }
    }
}
