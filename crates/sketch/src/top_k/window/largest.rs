//! The candidates with the largest counts.

use super::candidates::Candidates;
use crate::top_k::item_hash::order;
use crate::top_k::pairs::Pairs;
use std::cmp::Ordering;

/// The offered candidates with the largest counts above 0, as pairs of the count and the candidate plus 1. Of equal counts, that of the
/// item which is first in the order of bytes is larger.
///
/// Cost: O(n log k) for n counts; O(n + k log k) if their order is random.
#[derive(Debug)]
pub(super) struct Largest<'a> {
    /// The pairs, at the end; a min-heap if it is full.
    top: &'a mut Pairs,
    used: usize,
    candidates: &'a Candidates,
}

impl<'a> Largest<'a> {
    /// None. Clears `top`, which will contain as many candidates as it has elements.
    pub fn new(top: &'a mut Pairs, candidates: &'a Candidates) -> Self {
        top.bytes.fill(0);
        Self {
            top,
            used: 0,
            candidates,
        }
    }

    /// The smallest count that may be in it.
    pub fn min_count(&self) -> u32 {
        let is_full = self.used == self.top.len() && self.used > 0;
        if is_full { self.top.get(0).0 } else { 0 }
    }

    /// Offers a candidate that was not offered before.
    pub fn offer(&mut self, count: u32, number: u32) {
        let pair = (count, number + 1);
        let len = self.top.len();
        if count == 0 {
        } else if self.used < len {
            self.used += 1;
            self.top.set(len - self.used, pair);
            if self.used == len {
                self.restore_order();
            }
        } else if len > 0 && compare(self.candidates, pair, self.top.get(0)).is_gt() {
            self.top.set(0, pair);
            self.sift_down(0);
        }
    }

    /// Replaces the count of each candidate by that of `count`.
    pub fn replace_counts(&mut self, mut count: impl FnMut(u32) -> u32) {
        for at in self.top.len() - self.used..self.top.len() {
            let (_, number_plus_1) = self.top.get(at);
            self.top.set(at, (count(number_plus_1 - 1), number_plus_1));
        }
        if self.used == self.top.len() {
            self.restore_order();
        }
    }

    /// Sorts the candidates, the smallest count first, and returns how many they are. An array in this order is also a min-heap.
    pub fn sort(self) -> usize {
        let first = self.top.len() - self.used;
        self.top
            .sort_from(first, |left, right| compare(self.candidates, left, right));
        self.used
    }

    fn restore_order(&mut self) {
        for position in (0..self.top.len() / 2).rev() {
            self.sift_down(position);
        }
    }

    /// Sifts an element down in the full heap.
    fn sift_down(&mut self, mut position: usize) {
        let (top, candidates) = (&mut *self.top, self.candidates);
        let sifted = top.get(position);
        loop {
            let left = 2 * position + 1;
            if left >= top.len() {
                break;
            }
            let right = left + 1;
            let right_is_smaller =
                right < top.len() && compare(candidates, top.get(right), top.get(left)).is_lt();
            let child = if right_is_smaller { right } else { left };
            if !compare(candidates, top.get(child), sifted).is_lt() {
                break;
            }
            top.set(position, top.get(child));
            position = child;
        }
        top.set(position, sifted);
    }
}

/// Compares by count, then by item.
fn compare(candidates: &Candidates, left: (u32, u32), right: (u32, u32)) -> Ordering {
    (left.0.cmp(&right.0)).then_with(|| {
        let items = [right, left].map(|pair| candidates.item(pair.1 - 1));
        order(items[0], items[1])
    })
}
