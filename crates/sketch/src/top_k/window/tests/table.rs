//! Places of items in the table of a pane. `roughly-models` has the rules.

use super::super::Parameters;
use super::super::table::Buckets;

/// That of tables with this number of buckets.
fn buckets(number: u64) -> Buckets {
    Buckets::of(Parameters::new(1, 5 * number, 1, 0.9).unwrap())
}

/// Values of a program in Python.
#[test]
fn known_places() {
    for (hash, number, expected) in KNOWN_PLACES {
        let places = buckets(number).places(hash);
        let [first, second] = places.buckets();
        let found = (places.fingerprint(), first, second);
        assert_eq!(found, expected, "{hash:x} {number}");
    }
}

const KNOWN_PLACES: [(u64, u64, (u32, u32, u32)); 5] = [
    (0x4074_48d2_b89b_1813, 1, (0xb89b_1813, 0, 0)),
    (0x4074_48d2_b89b_1813, 7, (0xb89b_1813, 5, 1)),
    (0x4074_48d2_b89b_1813, 800, (0xb89b_1813, 640, 117)),
    (0x0123_4567_0000_0000, 800, (1, 554, 516)),
    (
        0xfedc_ba98_7654_3210,
        16_777_216,
        (0x7654_3210, 8_054_931, 2_006_279),
    ),
];
