//! Items that a client chose to have one fingerprint.

use super::{from_chunks, sketch};
use crate::stored::Stored;
use crate::testing::{COMPARED_BYTES, reloaded};
use crate::top_k::TopK;
use crate::top_k::item_hash::fingerprint_of;
use proptest::prelude::*;

/// Different items of `8 + 4 * words` bytes with one fingerprint. They differ in the last eight bytes: the last word reverts the
/// effect of the word before on the state of MurmurHash2.
fn items_of_one_fingerprint(words: u32, number: u32) -> Vec<Vec<u8>> {
    const M: u32 = 0x5bd1_e995;
    // M times this is 1 modulo 2^32.
    const INVERSE: u32 = 0xe59b_19bd;
    let mix = |word: u32| (word.wrapping_mul(M) ^ word.wrapping_mul(M) >> 24).wrapping_mul(M);
    let unmix = |mixed: u32| {
        let word = mixed.wrapping_mul(INVERSE);
        (word ^ word >> 24).wrapping_mul(INVERSE)
    };
    let next = |state: u32, word| state.wrapping_mul(M) ^ mix(word);
    let start = (0..words).fold(1919 ^ (8 + 4 * words), |state, _| next(state, 0));
    let item = |first: u32| {
        let last = unmix(next(start, first).wrapping_mul(M));
        let prefix = vec![0; 4 * words as usize];
        [&prefix[..], &first.to_le_bytes(), &last.to_le_bytes()].concat()
    };
    let items: Vec<_> = (0..number).map(item).collect();
    let fingerprint = fingerprint_of(&items[0]);
    assert!(items.iter().all(|item| fingerprint_of(item) == fingerprint));
    items
}

fn compared(work: impl FnOnce()) -> u64 {
    COMPARED_BYTES.with(|bytes| bytes.during(work))
}

/// Fails with a probability of 2e-7: if the random keyed hashes of two of the items are equal.
#[test]
fn a_lookup_compares_at_most_two_items() {
    const ITEMS: usize = 40;
    let items = items_of_one_fingerprint(500, ITEMS as u32 + 1);
    let most = 2 * (items[0].len() as u64 + 1);
    let mut sketch = sketch(ITEMS as u64, 5, 3, 0.9);
    for item in [&items[..ITEMS], &items[..ITEMS]].concat() {
        assert!(compared(|| assert!(sketch.add(&item, 1).is_ok())) <= most);
    }
    assert_eq!(sketch.item_count(), ITEMS);
    for (number, item) in items.iter().enumerate() {
        let bytes = compared(|| assert_eq!(sketch.query(item), number < ITEMS));
        assert!(bytes <= most, "{bytes}");
        assert!(compared(|| assert!(sketch.count(item) > 0)) <= most);
    }
    for load in [reloaded::<TopK>, |sketch: &TopK| from_chunks(sketch, 10)] {
        let bytes = compared(|| assert_eq!(load(&sketch), sketch));
        assert!(bytes <= most * ITEMS as u64, "{bytes}");
    }
}

proptest! {
    /// Lookups find the items of the heap, and only those, also in copies.
    #[test]
    fn items_of_one_fingerprint_are_found(
        k in prop::sample::select(vec![1u64, 2, 5, 12, 5000]), additions in prop::collection::vec((0usize..30, 1u32..9), 0..200),
    ) {
        let mut items = items_of_one_fingerprint(1, 15);
        items.extend((0..15u8).map(|number| vec![number; 3]));
        let mut original = sketch(k, 4, 2, 0.9);
        for (number, increment) in additions {
            original.add(&items[number], increment).unwrap();
            let copy = original.try_clone().unwrap();
            for sketch in [&original, &copy, &from_chunks(&original, 10)] {
                let mut in_heap: Vec<_> = sketch.heap.iter().map(|element| element.item).collect();
                in_heap.sort_unstable();
                prop_assert!(in_heap.is_sorted_by(|one, other| one < other), "equal items in the heap");
                for item in &items {
                    prop_assert_eq!(sketch.query(item), in_heap.binary_search(&&item[..]).is_ok());
                }
            }
        }
    }
}
