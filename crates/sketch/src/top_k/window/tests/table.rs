//! The rules of a table of a pane.

use super::super::Parameters;
use super::super::table::{Buckets, Counted, Places, Table};
use crate::buffer::Buffer;
use crate::top_k::decay::Decay;
use crate::top_k::random::Random;
use proptest::prelude::*;

/// The cells of a bucket: (fingerprint, count), first the lobby.
type Cells = [(u32, u32); 5];

/// The cell (bucket, number) becomes this one.
type Change = ((usize, usize), (u32, u32));

const EMPTY: (u32, u32) = (0, 0);

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

/// Adds to an item in a table whose lobbies do not decay, and returns the estimate.
fn add(table: &mut Table, item: Places, increment: u32) -> u32 {
    let (decay, mut random) = (Decay::new(1e-300), Random::from_seed(1));
    let before = cells(table);
    let counted = table.count(item, increment, &decay, &mut random);
    assert_eq!(counted.changed, cells(table) != before);
    assert_eq!(counted.estimate, table.estimate(item));
    counted.estimate
}

#[test]
fn a_table_has_a_bucket_per_5_cells_and_at_least_1() {
    for (width, depth, bytes) in [(1, 1, 40), (4, 1, 40), (3, 3, 40), (2, 5, 80), (8, 7, 440)] {
        let parameters = Parameters::new(1, width, depth, 0.9).unwrap();
        assert_eq!(Buckets::of(parameters).bytes(), bytes);
        let len = Table::new(Buckets::of(parameters)).unwrap().bytes.len() as u64;
        assert_eq!(len, bytes);
    }
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

#[test]
fn an_estimate_is_the_count_of_the_first_cell_heavy_cells_first() {
    let fingerprint = fingerprint(6, 1, [2, 4]);
    let item = item(6, fingerprint, 2);
    let mut contents = [[EMPTY; 5]; 6];
    assert_eq!(table(&contents).estimate(item), 0);
    // In reverse order.
    let lobbies = [(4, 0), (2, 0)];
    let order = [(4, 4), (4, 1), (2, 4), (2, 3), (2, 2), (2, 1)];
    for (count, (bucket, cell)) in (1..).zip(lobbies.into_iter().chain(order)) {
        // Cells without a count, and in other buckets, are none.
        contents[bucket][cell] = (fingerprint, 0);
        contents[5][cell] = (fingerprint, 100);
        assert_eq!(table(&contents).estimate(item), count - 1);
        contents[bucket][cell] = (fingerprint, count);
        assert_eq!(table(&contents).estimate(item), count);
        // An addition changes this cell only, except that a lobby can move.
        if cell != 0 {
            let mut added = table(&contents);
            assert_eq!(add(&mut added, item, 7), count + 7);
            let mut expected = contents;
            expected[bucket][cell].1 += 7;
            assert_eq!(cells(&added), expected);
        }
    }
}

#[test]
fn an_item_takes_the_smallest_heavy_cell_of_both_buckets() {
    let ours = fingerprint(6, 1, [2, 4]);
    let item = item(6, ours, 2);
    // Other items with these buckets, the last with one bucket only.
    let mut next = ours + 1;
    let mut other = |pair| {
        let found = fingerprint(6, next, pair);
        next = found + 1;
        found
    };
    let full: Vec<(u32, u32)> = (0..8).map(|number| (other([2, 4]), 20 + number)).collect();
    let mut contents = [[EMPTY; 5]; 6];
    contents[2][1..].copy_from_slice(&full[..4]);
    contents[4][1..].copy_from_slice(&full[4..]);
    let with = |changes: &[Change]| {
        let mut contents = contents;
        for &((bucket, cell), value) in changes {
            contents[bucket][cell] = value;
        }
        contents
    };
    let check = |before: [Cells; 6], increment, after: [Cells; 6]| {
        let mut table = table(&before);
        add(&mut table, item, increment);
        assert_eq!(cells(&table), after);
    };
    // An empty heavy cell, the first one of the first bucket; then the second bucket.
    let empty = with(&[((2, 2), EMPTY), ((2, 3), EMPTY), ((4, 1), EMPTY)]);
    let mut filled = empty;
    filled[2][2] = (ours, 3);
    check(empty, 3, filled);
    check(with(&[((4, 3), EMPTY)]), 3, with(&[((4, 3), (ours, 3))]));
    // An item that is not above the smallest heavy cell stays in the lobby of the first bucket.
    check(contents, 20, with(&[((2, 0), (ours, 20))]));
    // The smaller lobby is chosen.
    let lobby = (other([2, 4]), 5);
    let both = with(&[((2, 0), lobby), ((4, 0), (ours, 20))]);
    check(with(&[((2, 0), lobby)]), 20, both);
    // Above it, it takes its place, and the lobby becomes empty: the displaced cell goes there.
    let displaced = with(&[((2, 1), (ours, 21)), ((2, 0), full[0])]);
    check(contents, 21, displaced);
    // Of equal heavy cells, the first one; here in the second bucket.
    let equal = [((4, 2), (full[5].0, 19)), ((4, 3), (full[6].0, 19))];
    let mut expected = with(&equal);
    (expected[4][2], expected[4][0]) = ((ours, 21), (full[5].0, 19));
    check(with(&equal), 21, expected);
    // A lobby that grows.
    check(with(&[((4, 0), (ours, 15))]), 6, displaced);
    let stranger = fingerprint(6, 1, [2, 5]);
    let places = [(2, 1), (2, 0), (4, 0), (5, 0)];
    let with_lobbies = |heavy: (u32, u32), lobbies: [(u32, u32); 3]| {
        let cells = [heavy].into_iter().chain(lobbies);
        with(&places.into_iter().zip(cells).collect::<Vec<Change>>())
    };
    // The lobbies of both buckets of the item, and of the other bucket of the displaced cell, before and after.
    for (before, after) in [
        // Both lobbies are larger than the displaced cell, or become it: the smaller one of its own buckets.
        ([(ours, 8), (9, 9), (9, 7)], [(stranger, 8), (9, 9), (9, 7)]),
        ([(9, 9), (ours, 8), (9, 7)], [(9, 9), EMPTY, (stranger, 8)]),
        // It is lost if they are not smaller.
        ([(9, 9), (ours, 8), (9, 8)], [(9, 9), EMPTY, (9, 8)]),
    ] {
        let before = with_lobbies((stranger, 8), before);
        check(before, 1, with_lobbies((ours, 9), after));
    }
}

/// The lobby of an item with two equal buckets, or of a table with one bucket.
#[test]
fn an_item_can_have_one_bucket() {
    for (number, bucket) in [(1, 0), (6, 3)] {
        let ours = fingerprint(number, 1, [bucket, bucket]);
        let item = item(number, ours, bucket);
        let mut contents = vec![[EMPTY; 5]; number as usize];
        let others: Vec<u32> = (0..5)
            .scan(ours, |from, _| {
                *from = fingerprint(number, *from + 1, [bucket; 2]);
                Some(*from)
            })
            .collect();
        let bucket = bucket as usize;
        contents[bucket] = [
            (0, 0),
            (others[0], 9),
            (others[1], 4),
            (others[2], 4),
            (others[3], 7),
        ];
        let mut table = table(&contents);
        assert_eq!(add(&mut table, item, 4), 4);
        contents[bucket][0] = (ours, 4);
        assert_eq!(cells(&table), contents);
        assert_eq!(add(&mut table, item, 1), 5);
        contents[bucket][0] = (others[1], 4);
        contents[bucket][2] = (ours, 5);
        assert_eq!(cells(&table), contents);
    }
}

#[test]
fn a_lobby_decays_and_heavy_cells_do_not() {
    let ours = fingerprint(6, 1, [2, 4]);
    let item = item(6, ours, 2);
    let mut contents = [[(9, 50); 5]; 6];
    contents[2][0] = (9, 5);
    contents[4][0] = (9, 4);
    let (decay, mut random) = (Decay::new(1.0), Random::from_seed(1));
    let mut table = table(&contents);
    for (increment, estimate, lobby) in [(0, 0, (9, 4)), (3, 0, (9, 1)), (5, 5, (ours, 5))] {
        let counted = table.count(item, increment, &decay, &mut random);
        contents[4][0] = lobby;
        let found = (counted.estimate, counted.changed);
        assert_eq!(found, (estimate, increment > 0));
        assert_eq!(cells(&table), contents);
    }
    // With equal lobbies, the first bucket's decays.
    let stranger = fingerprint(6, ours + 1, [2, 4]);
    table.count(super::table::item(6, stranger, 2), 1, &decay, &mut random);
    contents[2][0] = (9, 4);
    assert_eq!(cells(&table), contents);
}

#[test]
fn counts_saturate() {
    let ours = fingerprint(6, 1, [2, 4]);
    let item = item(6, ours, 2);
    let mut contents = [[(9, u32::MAX); 5]; 6];
    for cell in [0, 3] {
        contents[4][cell] = (ours, u32::MAX - 1);
        let mut table = table(&contents);
        assert_eq!(add(&mut table, item, 5), u32::MAX);
        contents[4][cell] = (ours, u32::MAX);
        assert_eq!(cells(&table), contents);
        assert_eq!(add(&mut table, item, 5), u32::MAX);
        let mut twice = table.try_clone().unwrap();
        table.merge(&mut twice);
        contents[4][cell] = (9, u32::MAX);
        assert_eq!(table.estimate(item), u32::MAX);
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

#[test]
fn a_merge_adds_equal_fingerprints_exchanges_lobbies_and_places_the_others() {
    // Fingerprints with the buckets 0 and 1 of two, with bucket 0 only, and with bucket 1 only.
    let mut next = 1;
    let mut fresh = |pair| {
        let found = fingerprint(2, next, pair);
        next = found + 1;
        found
    };
    let [a, b, c, d, e, f] = [(); 6].map(|()| fresh([0, 1]));
    let [x, y] = [(); 2].map(|()| fresh([0, 0]));
    // In the other bucket, in the same one, in a lobby; nothing else.
    let mut older = table(&[
        [(a, 3), (b, 5), EMPTY, EMPTY, EMPTY],
        [EMPTY, (c, 7), EMPTY, EMPTY, EMPTY],
    ]);
    let mut younger = table(&[
        [EMPTY, (c, 1), (b, 2), EMPTY, EMPTY],
        [(a, 1), EMPTY, EMPTY, EMPTY, EMPTY],
    ]);
    older.merge(&mut younger);
    // The lobby is then larger than an empty heavy cell.
    assert_eq!(
        cells(&older),
        [
            [EMPTY, (b, 7), (a, 4), EMPTY, EMPTY],
            [EMPTY, (c, 8), EMPTY, EMPTY, EMPTY]
        ]
    );
    // The cells of the younger table in their order: x takes the first smallest one, which goes to the smaller lobby; y does not fit
    // and is lost, because both lobbies of it are the larger one; d is displaced to the other lobby.
    let full = [[(9, 30); 5]; 2];
    let mut contents = full;
    contents[0] = [(9, 4), (d, 5), (e, 6), (f, 6), (9, 30)];
    contents[1][0] = (9, 1);
    let mut older = table(&contents);
    let mut younger = table(&[[(x, 6), (y, 4), EMPTY, EMPTY, EMPTY], [EMPTY; 5]]);
    older.merge(&mut younger);
    let mut expected = contents;
    expected[0][1] = (x, 6);
    expected[1][0] = (d, 5);
    assert_eq!(cells(&older), expected);
    // A cell that is not above the smallest heavy cell becomes a lobby if it is larger, that of its own bucket first.
    for (count, lobbies, expected) in [
        (3, [(9, 1), (9, 1)], [(a, 3), (9, 1)]),
        (3, [(9, 2), (9, 1)], [(9, 2), (a, 3)]),
        (3, [(9, 3), (9, 3)], [(9, 3), (9, 3)]),
        (30, [(9, 30), EMPTY], [(9, 30), (a, 30)]),
    ] {
        let mut contents = full;
        (contents[0][0], contents[1][0]) = (lobbies[0], lobbies[1]);
        let mut older = table(&contents);
        let mut younger = [[EMPTY; 5]; 2];
        younger[0][2] = (a, count);
        older.merge(&mut table(&younger));
        (contents[0][0], contents[1][0]) = (expected[0], expected[1]);
        assert_eq!(cells(&older), contents);
    }
}

#[test]
fn a_restored_count_is_raised_or_gets_a_heavy_cell() {
    let ours = fingerprint(6, 1, [2, 4]);
    let item = item(6, ours, 2);
    let contents = [[(9, 20); 5]; 6];
    let raised = |changes: &[Change], count| {
        let mut contents = contents;
        for &((bucket, cell), value) in changes {
            contents[bucket][cell] = value;
        }
        let mut table = table(&contents);
        table.raise(item, count);
        let mut changed = Vec::new();
        for (bucket, after) in cells(&table).into_iter().enumerate() {
            for cell in (0..5).filter(|&cell| after[cell] != contents[bucket][cell]) {
                changed.push(((bucket, cell), after[cell]));
            }
        }
        changed
    };
    // A heavy cell, also if it is larger.
    assert_eq!(raised(&[((4, 2), (ours, 3))], 9), [((4, 2), (ours, 9))]);
    assert_eq!(raised(&[((4, 2), (ours, 30))], 9), []);
    // A lobby is exchanged with the smallest heavy cell of its own bucket.
    let lobby = [((4, 0), (ours, 3)), ((2, 1), (7, 1)), ((4, 3), (8, 8))];
    assert_eq!(raised(&lobby, 8), [((4, 0), (ours, 8))]);
    assert_eq!(raised(&lobby, 9), [((4, 0), (8, 8)), ((4, 3), (ours, 9))]);
    // Without a cell: the smallest heavy cell of both buckets, which is displaced to a smaller lobby.
    let two = fingerprint(6, ours + 1, [4, 2]);
    let smaller = [((4, 3), (two, 8)), ((2, 0), (7, 7)), ((4, 0), (7, 7))];
    assert_eq!(raised(&smaller, 8), []);
    let found = raised(&smaller, 9);
    assert_eq!(found, [((4, 0), (two, 8)), ((4, 3), (ours, 9))]);
    assert_eq!(raised(&[], 20), []);
    assert_eq!(raised(&[], 21), [((2, 1), (ours, 21))]);
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
