//! The order of candidates by the bytes of their items, as ranks.
//!
//! A step can merge hundreds of panes, and each merge orders its candidates by count and item. The items are compared here, once per
//! step; the merges compare ranks.
//!
//! This is a merge sort of linked lists by common prefixes (Ng and Kakehi, "Merging String Sequences by Longest Common Prefixes", IPSJ
//! Digital Courier 4, 2008): it compares each byte about once. It must not allocate, because a step cannot fail. During a step no
//! candidate is in a heap, so the lists are in the positions of the candidates.

use super::candidates::{Candidate, Candidates, HeapIndex, NONE};
use std::cmp::Ordering;

/// The position that holds the next candidate in a sorted list; [`NONE`] for the last one.
const NEXT: usize = HeapIndex::Heap as usize;
/// The position that holds the length of the prefix that a candidate has in common with the one before it in a sorted list, and
/// then its rank.
const RANK: usize = HeapIndex::List as usize;

/// Bytes that are compared at a time.
const CHUNK: usize = 64;

/// Gives the candidates with these numbers their ranks: the item with the smaller rank is first in the order of bytes. Numbers
/// may occur several times. Before, no candidate is in a heap or has a rank.
///
/// Cost for n candidates: n log n steps, and reading the items at most twice.
pub(super) fn rank(candidates: &mut Candidates, numbers: impl Iterator<Item = u32>) {
    // The list at index i is empty or has 2^i candidates.
    let mut lists = [NONE; u32::BITS as usize];
    for number in numbers {
        let positions = &mut candidates.get_mut(number).positions;
        if positions[RANK] != NONE {
            continue;
        }
        positions[RANK] = 0;
        let mut list = number;
        for place in &mut lists {
            if *place == NONE {
                *place = list;
                break;
            }
            list = merge(candidates, [std::mem::replace(place, NONE), list]);
        }
    }
    let sorted = (lists.into_iter()).fold(NONE, |sorted, list| merge(candidates, [list, sorted]));
    let (mut next, mut rank) = (sorted, 0);
    while next != NONE {
        let positions = &mut candidates.get_mut(next).positions;
        next = std::mem::replace(&mut positions[NEXT], NONE);
        positions[RANK] = rank;
        rank += 1;
    }
}

/// The rank of a candidate.
#[inline]
pub(super) fn rank_of(candidate: &Candidate) -> u32 {
    candidate.positions[RANK]
}

/// Removes the ranks of all candidates.
pub(super) fn clear(candidates: &mut Candidates) {
    for (candidate, _) in candidates.iter_mut() {
        candidate.positions[RANK] = NONE;
    }
}

/// Merges two sorted lists, each given by its first candidate. Returns the first candidate of the result.
fn merge(candidates: &mut Candidates, mut firsts: [u32; 2]) -> u32 {
    let (mut merged, mut last) = (NONE, NONE);
    // What the first candidate of each list has in common with the last one of the result.
    let mut prefixes = [0, 0];
    while firsts.iter().all(|&first| first != NONE) {
        let taken = match prefixes[0].cmp(&prefixes[1]) {
            // Both are after the last one, so the one that has more in common with it is the next one.
            Ordering::Greater => 0,
            Ordering::Less => 1,
            Ordering::Equal => {
                let [one, other] = firsts.map(|first| candidates.item(first));
                let len = common_prefix(one, other, prefixes[0] as usize);
                let taken = usize::from(one.get(len) > other.get(len));
                // Items have at most 16 MiB.
                prefixes[1 - taken] = len as u32;
                taken
            }
        };
        let number = firsts[taken];
        let positions = &mut candidates.get_mut(number).positions;
        positions[RANK] = prefixes[taken];
        firsts[taken] = positions[NEXT];
        if firsts[taken] != NONE {
            prefixes[taken] = candidates.get(firsts[taken]).positions[RANK];
        }
        append(candidates, &mut merged, last, number);
        last = number;
    }
    let rest = usize::from(firsts[0] == NONE);
    if firsts[rest] != NONE {
        candidates.get_mut(firsts[rest]).positions[RANK] = prefixes[rest];
        append(candidates, &mut merged, last, firsts[rest]);
    }
    merged
}

/// Appends a candidate, with those after it, to a list with this last candidate.
#[inline]
fn append(candidates: &mut Candidates, list: &mut u32, last: u32, number: u32) {
    match last {
        NONE => *list = number,
        _ => candidates.get_mut(last).positions[NEXT] = number,
    }
}

/// The length of the common prefix of two items that have the first `from` bytes in common.
#[inline]
fn common_prefix(one: &[u8], other: &[u8], from: usize) -> usize {
    let len = one.len().min(other.len());
    let (one, other) = (&one[from..len], &other[from..len]);
    let chunks = (one.as_chunks::<CHUNK>().0.iter()).zip(other.as_chunks::<CHUNK>().0);
    let equal = CHUNK * chunks.take_while(|(one, other)| one == other).count();
    let bytes = one[equal..].iter().zip(&other[equal..]);
    let prefix = from + equal + bytes.take_while(|(one, other)| one == other).count();
    #[cfg(test)]
    crate::top_k::item_hash::count(prefix - from);
    prefix
}
