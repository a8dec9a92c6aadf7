//! The sifting of a min-heap whose elements are pairs of a count and a number.

use super::pairs::Pairs;

/// Sifts the element at `position` down and returns its new position. Calls `moved` with the number and the new
/// position of each element that it writes. The second part of a pair is the number plus 1; 0 marks an element without
/// an item.
///
/// Of two children with equal counts the left one moves up. A child whose count equals the parent's moves up in the
/// first step only. This is the order of RedisBloom.
#[inline]
pub(super) fn sift_down(
    elements: &mut Pairs,
    mut position: usize,
    mut moved: impl FnMut(u32, u32),
) -> usize {
    let sifted = elements.get(position);
    let mut moves_up: fn(u32, u32) -> bool = |child, parent| child <= parent;
    while let Some((child_position, child)) = smaller_child(elements, position) {
        if !moves_up(child.0, sifted.0) {
            break;
        }
        moves_up = |child, parent| child < parent;
        set_element(elements, position, child, &mut moved);
        position = child_position;
    }
    set_element(elements, position, sifted, &mut moved);
    position
}

/// The child with the smaller count, and its position.
#[inline]
fn smaller_child(elements: &Pairs, position: usize) -> Option<(usize, (u32, u32))> {
    let (left_position, right_position) = (2 * position + 1, 2 * position + 2);
    if left_position >= elements.len() {
        return None;
    }
    let left = elements.get(left_position);
    if right_position < elements.len() {
        let right = elements.get(right_position);
        if right.0 < left.0 {
            return Some((right_position, right));
        }
    }
    Some((left_position, left))
}

/// Writes an element to `position` and reports its position.
#[inline]
fn set_element(
    elements: &mut Pairs,
    position: usize,
    element: (u32, u32),
    moved: &mut impl FnMut(u32, u32),
) {
    elements.set(position, element);
    if let Some(number) = element.1.checked_sub(1) {
        // A position is below k, which has 32 bits.
        moved(number, position as u32);
    }
}
