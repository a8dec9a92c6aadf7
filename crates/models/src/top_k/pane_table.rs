//! The table of a pane of a top-k sketch with a window (docs/contributing/formats.md, "Top-k with a window").

use super::decay::{Random, mix};
use siphasher::sip::SipHasher13;

/// A fingerprint with its count. Without a count, the cell is free.
#[derive(Clone, Copy, Default)]
struct Cell {
    fingerprint: u32,
    count: u32,
}

/// The cell of a bucket that decays.
const LOBBY: usize = 0;

/// The cells of a bucket that do not decay.
const HEAVY: [usize; 4] = [1, 2, 3, 4];

/// A bucket and a cell in it.
type Place = (usize, usize);

/// Buckets of one lobby cell and four heavy ones. A fingerprint is in one of two buckets.
#[derive(Clone)]
pub struct PaneTable {
    seed: [u8; 16],
    buckets: Vec<[Cell; 5]>,
}

impl PaneTable {
    /// An empty table in the memory of `width` × `depth` cells.
    pub fn new(width: u32, depth: u32, seed: [u8; 16]) -> Self {
        let buckets = vec![Default::default(); (width * depth / 5).max(1) as usize];
        Self { seed, buckets }
    }

    /// The hash of an item.
    pub fn hash(&self, item: &[u8]) -> u64 {
        SipHasher13::new_with_key(&self.seed).hash(item)
    }

    /// The item's fingerprint, which is not 0.
    pub fn fingerprint(&self, item: &[u8]) -> u32 {
        ((self.hash(item) % (1 << 32)) as u32).max(1)
    }

    /// Scales a random number to the number of buckets.
    fn reduce(&self, x: u64) -> usize {
        ((u128::from(x) * self.buckets.len() as u128) >> 64) as usize
    }

    /// The item's buckets, which can be equal.
    pub fn pair(&self, item: &[u8]) -> [usize; 2] {
        let x = self.hash(item).wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.pair_from(self.reduce(mix(x)), self.fingerprint(item))
    }

    /// This bucket and the other one of a fingerprint: the sum of both numbers depends on the fingerprint only.
    fn pair_from(&self, bucket: usize, fingerprint: u32) -> [usize; 2] {
        let sum = self.reduce(mix(fingerprint.into())) as isize;
        let other = (sum - bucket as isize).rem_euclid(self.buckets.len() as isize);
        [bucket, other as usize]
    }

    fn cell(&mut self, (bucket, cell): Place) -> &mut Cell {
        &mut self.buckets[bucket][cell]
    }

    fn count(&self, (bucket, cell): Place) -> u32 {
        self.buckets[bucket][cell].count
    }

    /// All heavy cells of two buckets.
    fn heavy(pair: [usize; 2]) -> impl Iterator<Item = Place> {
        (pair.into_iter()).flat_map(|bucket| HEAVY.map(|cell| (bucket, cell)))
    }

    /// The lobbies of two buckets.
    fn lobbies(pair: [usize; 2]) -> [Place; 2] {
        pair.map(|bucket| (bucket, LOBBY))
    }

    /// The cell of a fingerprint.
    fn find(&self, fingerprint: u32, pair: [usize; 2]) -> Option<Place> {
        let is_own = |&(bucket, cell): &Place| {
            let cell = self.buckets[bucket][cell];
            cell.fingerprint == fingerprint && cell.count > 0
        };
        Self::heavy(pair).chain(Self::lobbies(pair)).find(is_own)
    }

    /// The heavy cell with the smallest count, the first of equal ones.
    fn smallest_heavy(&self, pair: [usize; 2]) -> Place {
        let smallest = Self::heavy(pair).min_by_key(|&place| self.count(place));
        smallest.expect("heavy cells")
    }

    /// The lobby with the smaller count, the first of equal ones.
    fn smaller_lobby(&self, pair: [usize; 2]) -> Place {
        let smaller = (Self::lobbies(pair).into_iter()).min_by_key(|&place| self.count(place));
        smaller.expect("lobbies")
    }

    /// The item's count, 0 if no cell has its fingerprint.
    pub fn estimate(&self, item: &[u8]) -> u32 {
        let found = self.find(self.fingerprint(item), self.pair(item));
        found.map_or(0, |place| self.count(place))
    }

    /// Adds an item.
    pub fn add(&mut self, item: &[u8], increment: u32, random: &mut Random) {
        let (fingerprint, pair) = (self.fingerprint(item), self.pair(item));
        let found = self.find(fingerprint, pair);
        let place = found.unwrap_or_else(|| self.smaller_lobby(pair));
        let cell = self.cell(place);
        if found.is_some() {
            cell.count = cell.count.saturating_add(increment);
        } else if cell.count == 0 {
            *cell = Cell {
                fingerprint,
                count: increment,
            };
        } else {
            let (count, taken) = random.decay(cell.count, increment);
            cell.count = count;
            let Some(count) = taken else { return };
            *cell = Cell { fingerprint, count };
        }
        if place.1 == LOBBY {
            self.promote(place, pair);
        }
    }

    /// Moves the cell of a lobby to a heavy cell of a pair of buckets if that has a smaller count.
    fn promote(&mut self, lobby: Place, pair: [usize; 2]) {
        let smallest = self.smallest_heavy(pair);
        if self.count(smallest) < self.count(lobby) {
            let cell = std::mem::take(self.cell(lobby));
            self.replace(smallest, cell);
        }
    }

    /// Overwrites a heavy cell. What it contained moves to a lobby.
    fn replace(&mut self, place: Place, cell: Cell) {
        let displaced = std::mem::replace(self.cell(place), cell);
        self.displace(displaced, place.0);
    }

    /// Moves a cell that has left this bucket to a lobby, if that has a smaller count. Otherwise, its count is lost.
    fn displace(&mut self, cell: Cell, bucket: usize) {
        let lobby = self.smaller_lobby(self.pair_from(bucket, cell.fingerprint));
        if self.count(lobby) < cell.count {
            *self.cell(lobby) = cell;
        }
    }

    /// Adds the counts of a younger table.
    pub fn merge(&mut self, younger: &Self) {
        let cells = younger.buckets.iter().enumerate();
        let cells = cells.flat_map(|(bucket, cells)| cells.map(|cell| (bucket, cell)));
        let mut others = Vec::new();
        for (bucket, cell) in cells.filter(|(_, cell)| cell.count > 0) {
            match self.find(cell.fingerprint, self.pair_from(bucket, cell.fingerprint)) {
                Some(place) => {
                    let own = self.cell(place);
                    own.count = own.count.saturating_add(cell.count);
                }
                None => others.push((bucket, cell)),
            }
        }
        for bucket in 0..self.buckets.len() {
            self.sort_lobby(bucket);
        }
        for (bucket, cell) in others {
            let smallest = self.smallest_heavy(self.pair_from(bucket, cell.fingerprint));
            if self.count(smallest) < cell.count {
                self.replace(smallest, cell);
            } else {
                self.displace(cell, bucket);
            }
        }
    }

    /// Exchanges the lobby and the smallest heavy cell of a bucket if the lobby has the larger count.
    fn sort_lobby(&mut self, bucket: usize) {
        let smallest = self.smallest_heavy([bucket, bucket]).1;
        let cells = &mut self.buckets[bucket];
        if cells[smallest].count < cells[LOBBY].count {
            cells.swap(LOBBY, smallest);
        }
    }

    /// Raises the item's count, if it was in the list of one of the two merged panes.
    pub fn restore(&mut self, item: &[u8], count: u32) {
        let (fingerprint, pair) = (self.fingerprint(item), self.pair(item));
        if let Some(place) = self.find(fingerprint, pair) {
            let cell = self.cell(place);
            cell.count = cell.count.max(count);
            if place.1 == LOBBY {
                self.sort_lobby(place.0);
            }
            return;
        }
        let smallest = self.smallest_heavy(pair);
        if self.count(smallest) < count {
            self.replace(smallest, Cell { fingerprint, count });
        }
    }

    /// The stored form.
    pub fn bytes(&self) -> Vec<u8> {
        let numbers =
            (self.buckets.iter().flatten()).flat_map(|cell| [cell.fingerprint, cell.count]);
        numbers.flat_map(u32::to_le_bytes).collect()
    }
}
