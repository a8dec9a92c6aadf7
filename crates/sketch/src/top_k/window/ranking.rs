//! The candidates with the largest counts, in an order that depends on counts and items only.

use super::candidates::Candidates;
use crate::top_k::compare::order;
use crate::top_k::pairs::Pairs;
use std::cmp::Ordering;

/// Writes the candidates with the largest counts above 0 to the end of `top`, the smallest first, as pairs of the count
/// and the candidate plus 1. Of equal counts, the item that is first in the order of bytes counts as larger. Returns
/// how many they are. `top` is zeroed.
///
/// An array in this order is also a min-heap. Cost: O(n log k) for n counts; O(n + k log k) if their order is random.
pub(super) fn select_largest(
    top: &mut Pairs,
    counts: impl Iterator<Item = (u32, u32)>,
    candidates: &Candidates,
) -> usize {
    let compare = |left: (u32, u32), right: (u32, u32)| -> Ordering {
        (left.0.cmp(&right.0)).then_with(|| {
            let items = [right, left].map(|pair| candidates.item(pair.1 - 1));
            order(items[0], items[1])
        })
    };
    let len = top.len();
    let mut used = 0;
    for (count, number) in counts.filter(|&(count, _)| count > 0) {
        let pair = (count, number + 1);
        if used < len {
            used += 1;
            top.set(len - used, pair);
            if used == len {
                for position in (0..len / 2).rev() {
                    sift_down(top, position, compare);
                }
            }
        } else if len > 0 && compare(pair, top.get(0)).is_gt() {
            top.set(0, pair);
            sift_down(top, 0, compare);
        }
    }
    top.sort_from(len - used, compare);
    used
}

/// Sifts an element down in a full min-heap of this order.
fn sift_down(
    top: &mut Pairs,
    mut position: usize,
    compare: impl Fn((u32, u32), (u32, u32)) -> Ordering,
) {
    let sifted = top.get(position);
    loop {
        let left = 2 * position + 1;
        if left >= top.len() {
            break;
        }
        let right = left + 1;
        let right_is_smaller = right < top.len() && compare(top.get(right), top.get(left)).is_lt();
        let child = if right_is_smaller { right } else { left };
        if !compare(top.get(child), sifted).is_lt() {
            break;
        }
        top.set(position, top.get(child));
        position = child;
    }
    top.set(position, sifted);
}
