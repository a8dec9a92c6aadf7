//! Top-k sketches with a window whose panes have few cells and many items, against the model: most items have no heavy cell
//! when panes are merged. The sequences of `mutation.rs` have a few additions per pane.
//!
//! The random generator has a fixed seed, so every run executes the same cases.

use crate::damage::Numbers;
use roughly_models::TYPES;

const SEQUENCES: usize = 60;
const OPERATIONS: usize = 500;

/// A sequence of operations, as `roughly_models::sequence::run` decodes it.
fn sequence(numbers: &mut Numbers) -> Vec<u8> {
    let mut byte = |first: u8, end: u8| first + numbers.below(usize::from(end - first)) as u8;
    // Up to three panes, which grow with age; k, width and depth 1; the base of the decay.
    let mut bytes = vec![byte(0, 3), 255, byte(0, 7)];
    bytes.extend([byte(1, 12), byte(5, 25), 1, 255, byte(0, 6)]);
    for _ in 0..OPERATIONS {
        match byte(0, 12) {
            // One unit later.
            0 => bytes.extend([255, 0, 31]),
            // An increment of up to 999, or up to 3.
            1 => bytes.extend([255, 255, byte(0, 24), 1, 220, byte(0, 255), byte(0, 4)]),
            _ => bytes.extend([255, 255, byte(0, 24), byte(0, 3), byte(0, 220)]),
        }
    }
    bytes
}

#[test]
fn crowded_panes_equal_the_model() {
    let of = TYPES.iter().find(|of| of.name == "top_k_window");
    let run = of.expect("the type").sequence;
    let mut numbers = Numbers(0xc0de);
    for _ in 0..SEQUENCES {
        run(&sequence(&mut numbers));
    }
}
