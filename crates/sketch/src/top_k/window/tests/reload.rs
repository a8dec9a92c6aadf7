//! The header, and reloads of sketches whose merged panes list names. That copies continue as the original is tested in `roughly-models`.

use super::super::TopKWindow;
use super::{leveled, of_units, reloaded};
use crate::stored::Stored;
use crate::window::Timed;

/// A merged pane, a closed one and the newest one; candidates in each place.
fn golden() -> TopKWindow {
    let mut sketch = leveled((2, 2, 1, 0.9), 1, 4);
    for (pane, item, count) in [(0, b"a", 3), (1, b"b", 2), (4, b"c", 9), (5, b"d", 300)] {
        sketch.advance(pane);
        sketch.add(item, count).unwrap();
    }
    sketch
}

#[test]
fn the_header_never_changes() {
    let header = golden().header().unwrap();
    let header: String = header.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(header, GOLDEN_HEADER.concat());
}

/// The values without the tables, which the model in `roughly-models` has: the window, its panes, the newest pane, its length; k, width,
/// depth, decay, seed, random state; heap and list; the panes, each with its first unit, its total and the candidates that it lists; the
/// candidates, each with its sum.
const GOLDEN_HEADER: [&str; 11] = [
    "544f504b57494e04a00f00000000000001000000000000000500000000000000",
    "e803000000000000020000000000000002000000000000000100000000000000",
    "cdccccccccccec3f7369787465656e20627974657320616230033dc626b62782",
    "100000000000000000000000000000002c010000040000001000000000000000",
    "09000000030000002c0100000400000003000000000000000000000000000000",
    "0500000000000000020000000000000000000000000000000100000000000000",
    "0400000000000000090000000000000001000000000000000200000000000000",
    "05000000000000002c0100000000000000000000000000000400000000000000",
    "0100000000000000610300000000000000010000000000000062020000000000",
    "0000010000000000000063090000000000000001000000000000006400000000",
    "00000000",
];

/// Each unit has k items of its own. The most frequent items of the window have most occurrences in a few units, and single ones in
/// others: merges remove them from the lists of panes, and `list_closing` selects them and the items of a pane with k items.
#[test]
fn sketches_whose_merged_panes_list_names_can_be_reloaded() {
    const K: u64 = 2;
    for (panes, units) in [(100, 0), (1, 100), (2, 100), (4, 100), (4, 1000)] {
        let mut sketch = of_units((K, 200, 5, 0.9), panes, units);
        for unit in 0..200u64 {
            sketch.advance(unit);
            for item in 0..K {
                sketch.add(&(K * unit + item).to_le_bytes(), 10).unwrap();
                match (unit + 5 * item) % 40 {
                    0 => _ = sketch.add(&[item as u8], 1000).unwrap(),
                    10 | 20 => _ = sketch.add(&[item as u8], 1).unwrap(),
                    _ => {}
                }
            }
            assert_eq!(reloaded(&sketch), sketch);
        }
    }
}
