//! Tables of a pane. `roughly-models` has the rules.

use super::super::Parameters;
use super::super::table::{Buckets, Counted, Places, Table};
use crate::buffer::Buffer;
use crate::top_k::decay::Decay;
use crate::top_k::random::Random;
use proptest::prelude::*;

/// The cells of a bucket: (fingerprint, count), first the lobby.
type Cells = [(u32, u32); 5];

/// That of tables with this number of buckets.
fn buckets(number: u64) -> Buckets {
    Buckets::of(Parameters::new(1, 5 * number, 1, 0.9).unwrap())
}

/// A table with these cells.
fn table(cells: &[Cells]) -> Table {
    let numbers = (cells.as_flattened().iter()).flat_map(|&(fingerprint, count)| {
        let numbers = [fingerprint, count];
        numbers.map(u32::to_le_bytes)
    });
    let bytes: Vec<u8> = numbers.flatten().collect();
    Table::from(Buffer::from(bytes))
}

fn cells(table: &Table) -> Vec<Cells> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let cell = |bytes: &[u8]| (number(&bytes[..4]), number(&bytes[4..]));
    let buckets = table.bytes.chunks(40);
    (buckets.map(|bytes| std::array::from_fn(|number| cell(&bytes[8 * number..][..8])))).collect()
}

/// An item with this fingerprint whose first bucket is this one, in a table of this number of buckets.
fn item(number: u64, fingerprint: u32, bucket: u32) -> Places {
    let hashes = (0u64..).map(|upper| upper << 32 | u64::from(fingerprint));
    let mut places = hashes.map(|hash| buckets(number).places(hash));
    places.find(|places| places.buckets()[0] == bucket).unwrap()
}

/// A fingerprint, from this one on, with these two buckets.
fn fingerprint(number: u64, from: u32, pair: [u32; 2]) -> u32 {
    let mut fingerprints = (from..).filter(|&fingerprint| {
        let [_, other] = item(number, fingerprint, pair[0]).buckets();
        other == pair[1]
    });
    fingerprints.next().unwrap()
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

proptest! {
    #[test]
    fn each_bucket_is_the_other_one_of_the_other(hash: u64, number in 1u64..2000) {
        let places = buckets(number).places(hash);
        let [first, second] = places.buckets();
        prop_assert!(u64::from(first) < number && u64::from(second) < number);
        prop_assert_eq!(item(number, places.fingerprint(), second).buckets(), [second, first]);
    }
}

/// The hash of an item with the fingerprint 0 has the fingerprint 1.
#[test]
fn no_item_has_the_fingerprint_0() {
    for number in [1, 7] {
        let [zero, one] = [0, 1].map(|lower| buckets(number).places(5 << 32 | lower));
        assert_eq!([zero.fingerprint(), one.fingerprint()], [1, 1]);
    }
}

/// INCRBY by c leaves what c single additions leave if nothing decays; with decay, in distribution.
#[test]
fn an_increment_equals_single_additions_in_distribution() {
    let ours = fingerprint(6, 1, [2, 4]);
    let item = item(6, ours, 2);
    let decay = Decay::new(0.9);
    let mut contents = [[(9, 6); 5]; 6];
    contents[2][0] = (9, 5);
    const ROUNDS: u32 = 40_000;
    let mut sums = [[0.0f64; 2]; 2];
    for (increment, several) in [(12, 0), (1, 1)] {
        let mut random = Random::from_seed(5);
        for _ in 0..ROUNDS {
            let mut table = table(&contents);
            let mut estimate = 0;
            for _ in 0..12 / increment {
                let counted = table.count(item, increment, &decay, &mut random);
                estimate = counted.estimate;
            }
            let lobby = cells(&table)[2][0];
            sums[several][0] += f64::from(estimate);
            sums[several][1] += f64::from(if lobby.0 == 9 { lobby.1 } else { 0 });
        }
    }
    // The standard deviation of an estimate and of a count is at most 6. A difference of 0.27 in the mean of 40,000 is above six
    // standard deviations of the difference: a probability below 1e-8.
    for value in 0..2 {
        let [one, other] = sums.map(|sums| sums[value] / f64::from(ROUNDS));
        assert!((one - other).abs() < 0.27, "{value}: {one} {other}");
    }
    assert!(sums[0][0] > f64::from(ROUNDS), "{sums:?}");
    // Without random numbers, exactly.
    for decay in [1.0, 1e-300] {
        for count in [1, 3, 7, 12] {
            let [mut one, mut other] = [(); 2].map(|()| table(&contents));
            let mut random = Random::from_seed(1);
            let Counted { estimate, .. } = one.count(item, count, &Decay::new(decay), &mut random);
            let singles = (0..count).map(|_| other.count(item, 1, &Decay::new(decay), &mut random));
            assert_eq!(singles.last().unwrap().estimate, estimate);
            assert_eq!(cells(&one), cells(&other), "{decay} {count}");
        }
    }
}

fn any_table(number: usize) -> impl Strategy<Value = Vec<Cells>> {
    let counts = prop_oneof![2 => Just(0u32), 6 => 0u32..6, 1 => any::<u32>()];
    let cell = || (0u32..12, counts.clone());
    let bucket = [cell(), cell(), cell(), cell(), cell()];
    prop::collection::vec(bucket, number)
}

proptest! {
    /// Any contents are valid: also fingerprint 0, and cells of the same fingerprint.
    #[test]
    fn any_contents_can_be_counted_and_merged(
        (one, other) in (1usize..8).prop_flat_map(|number| (any_table(number), any_table(number))),
        hashes in prop::collection::vec((any::<u64>(), 0u32..9), 0..40),
    ) {
        let number = one.len() as u64;
        let (mut one, mut other) = (table(&one), table(&other));
        let (decay, mut random) = (Decay::new(0.9), Random::from_seed(3));
        for &(hash, increment) in &hashes {
            let item = buckets(number).places(hash % 0x0fff_ffff_0000_000f);
            let before = one.bytes.to_vec();
            let counted = one.count(item, increment, &decay, &mut random);
            prop_assert_eq!(counted.changed, *before != *one.bytes);
            prop_assert!(counted.estimate >= one.estimate(item).min(1) * increment.min(1));
        }
        one.merge(&mut other);
        for (hash, count) in hashes {
            let item = buckets(number).places(hash);
            let before = one.estimate(item);
            one.raise(item, count);
            prop_assert!(one.estimate(item) >= before);
        }
    }

    /// Additions and merges never give a fingerprint two cells in the buckets of an item.
    #[test]
    fn no_item_gets_two_cells(
        number in 1u64..6, panes in prop::collection::vec(prop::collection::vec((0u64..60, 1u32..9), 0..80), 1..4),
    ) {
        let (decay, mut random) = (Decay::new(0.9), Random::from_seed(3));
        let places = |item: u64| buckets(number).places(item.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut older = Table::new(buckets(number)).unwrap();
        for pane in panes {
            let mut younger = Table::new(buckets(number)).unwrap();
            for (item, increment) in pane {
                younger.count(places(item), increment, &decay, &mut random);
            }
            older.merge(&mut younger);
            older.raise(places(7), 5);
            for item in 0..60 {
                let [first, second] = places(item).buckets();
                let cells = cells(&older);
                let own = |bucket: u32| {
                    let cells = cells[bucket as usize].iter();
                    cells.filter(|cell| cell.0 == places(item).fingerprint() && cell.1 > 0).count()
                };
                let found = own(first) + if second == first { 0 } else { own(second) };
                prop_assert!(found <= 1, "{item}");
            }
        }
    }
}
