//! The candidates with the largest counts.

use super::candidates::Candidates;
use crate::top_k::item_hash::order;
use crate::top_k::pairs::Pairs;
use std::cell::Cell;
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
    order: &'a Order<'a>,
}

impl<'a> Largest<'a> {
    /// None. Clears `top`, which will contain as many candidates as it has elements.
    pub fn new(top: &'a mut Pairs, order: &'a Order<'a>) -> Self {
        top.bytes.fill(0);
        Self {
            top,
            used: 0,
            order,
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
        } else if len > 0 && self.order.compare(pair, self.top.get(0)).is_gt() {
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
            .sort_from(first, |left, right| self.order.compare(left, right));
        self.used
    }

    fn restore_order(&mut self) {
        for position in (0..self.top.len() / 2).rev() {
            self.sift_down(position);
        }
    }

    /// Sifts an element down in the full heap.
    fn sift_down(&mut self, mut position: usize) {
        let (top, order) = (&mut *self.top, self.order);
        let sifted = top.get(position);
        loop {
            let left = 2 * position + 1;
            if left >= top.len() {
                break;
            }
            let right = left + 1;
            let right_is_smaller =
                right < top.len() && order.compare(top.get(right), top.get(left)).is_lt();
            let child = if right_is_smaller { right } else { left };
            if !order.compare(top.get(child), sifted).is_lt() {
                break;
            }
            top.set(position, top.get(child));
            position = child;
        }
        top.set(position, sifted);
    }
}

/// The order of candidates by count, then by item.
#[derive(Debug)]
pub(super) struct Order<'a> {
    candidates: &'a Candidates,
    /// The ranks of the items ([`Candidates::ranks`]), or nothing: then the items are compared.
    ranks: &'a [u32],
    /// At least the bytes of the items that were compared, and 64 for each comparison.
    pub compared: Cell<u64>,
}

impl<'a> Order<'a> {
    /// With these ranks, or nothing.
    pub fn new(candidates: &'a Candidates, ranks: &'a [u32]) -> Self {
        Self {
            candidates,
            ranks,
            compared: Cell::new(0),
        }
    }

    /// Compares pairs of the count and the candidate plus 1.
    fn compare(&self, left: (u32, u32), right: (u32, u32)) -> Ordering {
        (left.0.cmp(&right.0)).then_with(|| {
            let numbers = [right, left].map(|pair| pair.1 - 1);
            if !self.ranks.is_empty() {
                let [one, other] = numbers.map(|number| self.ranks[number as usize]);
                return one.cmp(&other);
            }
            let [one, other] = numbers.map(|number| self.candidates.item(number));
            let bytes = 64 + one.len().min(other.len()) as u64;
            self.compared.set(self.compared.get() + bytes);
            order(one, other)
        })
    }
}
