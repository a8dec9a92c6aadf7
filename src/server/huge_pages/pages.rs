//! What is known of each huge page of the large arrays.

use super::arrays::Array;
use std::collections::HashMap;
use std::ops::Range;

/// A part of an array that one huge page can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// Not known to be in use.
    #[default]
    Unused,
    /// In use, with ordinary pages.
    Waiting,
    /// A huge page.
    Huge,
    /// The kernel provides no huge page for it.
    Refused,
}

/// The states of the huge pages of one array.
#[derive(Debug)]
pub(super) struct ArrayPages {
    pub(super) address: usize,
    pub(super) id: usize,
    /// The address of the first huge page.
    pub(super) start: usize,
    pub(super) states: Vec<State>,
}

/// The states of the huge pages of all arrays. Small arrays are first: they get more commands per page, if commands use all
/// keys equally.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) arrays: Vec<ArrayPages>,
}

impl Pages {
    /// Adopts a list of arrays. States of arrays that still exist remain.
    pub(super) fn update(&mut self, arrays: impl Iterator<Item = Array>, page_bytes: usize) {
        let old = self.arrays.drain(..);
        let mut old: HashMap<_, _> = old
            .map(|array| ((array.address, array.id), array.states))
            .collect();
        self.arrays.extend(arrays.map(|array| {
            let Array { address, bytes, id } = array;
            let pages = whole_pages(address, bytes, page_bytes);
            let mut states = old.remove(&(address, id)).unwrap_or_default();
            states.resize(pages.len() / page_bytes, State::Unused);
            ArrayPages {
                address,
                id,
                start: pages.start,
                states,
            }
        }));
        self.arrays.sort_by_key(|array| array.states.len());
    }

    /// Forgets all states.
    pub(super) fn forget(&mut self) {
        for array in &mut self.arrays {
            array.states.fill(State::Unused);
        }
    }

    /// Number of pages with a state.
    pub(super) fn count(&self, state: State) -> usize {
        let states = self.arrays.iter().flat_map(|array| &array.states);
        states.filter(|&&other| other == state).count()
    }
}

/// The addresses of the whole huge pages in a block. Empty if there are none.
fn whole_pages(start: usize, bytes: usize, page_bytes: usize) -> Range<usize> {
    let end = start.saturating_add(bytes) / page_bytes * page_bytes;
    match start.checked_next_multiple_of(page_bytes) {
        Some(first) if first < end => first..end,
        _ => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 2 << 20;

    fn array(address: usize, pages: usize, id: usize) -> Array {
        Array {
            address,
            bytes: pages * PAGE,
            id,
        }
    }

    #[test]
    fn only_whole_pages_are_replaced() {
        for (start, bytes, expected) in [
            (PAGE, 3 * PAGE, PAGE..4 * PAGE),
            (PAGE + 16, 3 * PAGE, 2 * PAGE..4 * PAGE),
            (PAGE - 1, 2 * PAGE, PAGE..2 * PAGE),
            (PAGE, 2 * PAGE - 1, PAGE..2 * PAGE),
            (PAGE + 1, 2 * PAGE - 2, 0..0),
            (usize::MAX - PAGE, PAGE, 0..0),
            (usize::MAX - PAGE, 2 * PAGE, 0..0),
        ] {
            assert_eq!(whole_pages(start, bytes, PAGE), expected, "{start} {bytes}");
        }
    }

    #[test]
    fn states_remain_while_the_array_exists() {
        let mut pages = Pages::default();
        let (large, small) = (array(100 * PAGE, 50, 1), array(PAGE, 16, 2));
        pages.update([large, small].into_iter(), PAGE);
        let lens = |pages: &Pages| {
            let arrays = pages.arrays.iter();
            arrays.map(|array| array.states.len()).collect::<Vec<_>>()
        };
        assert_eq!(lens(&pages), [16, 50]);
        for array in &mut pages.arrays {
            array.states.fill(State::Huge);
        }
        pages.update([small, large].into_iter(), PAGE);
        assert_eq!(pages.count(State::Huge), 66);
        // One becomes smaller, and another array takes the address of the other.
        let arrays = [array(100 * PAGE, 20, 1), array(PAGE, 16, 3)];
        pages.update(arrays.into_iter(), PAGE);
        assert_eq!(lens(&pages), [16, 20]);
        let counts = [State::Huge, State::Unused].map(|state| pages.count(state));
        assert_eq!(counts, [20, 16]);
        pages.forget();
        assert_eq!(pages.count(State::Unused), 36);
    }
}
