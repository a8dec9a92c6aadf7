//! The agreement of the list.

use super::*;
use crate::accuracy::{Accuracy, Figure};
use crate::top_k::fingerprint_of;
use crate::window::Panes;

/// The agreement and the smallest listed count.
fn reported(sketch: &TopK) -> (f64, u64) {
    match sketch.accuracy(Panes::ALL, &mut ()).unwrap()[..] {
        [
            (agreement, Figure::Ratio(share)),
            (smallest, Figure::Count(count)),
        ] if agreement == c"agreement" && smallest == c"smallest listed count" => (share, count),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn counts_of_undisturbed_items_are_confirmed() {
    let mut counted = sketch(4, 1000, 5, 0.9);
    assert_eq!(reported(&counted), (1.0, 0));
    counted.add(b"zero", 0).unwrap();
    assert_eq!(reported(&counted), (1.0, 0));
    for (item, count) in [("a", 500), ("b", 20), ("c", 7)] {
        counted.add(item.as_bytes(), count).unwrap();
    }
    assert_eq!(reported(&counted), (1.0, 7));
    counted.add(b"d", u32::MAX).unwrap();
    counted.add(b"d", u32::MAX).unwrap();
    assert_eq!(reported(&counted), (1.0, 7));
    assert_eq!(reported(&reloaded(&counted)), reported(&counted));
    assert_eq!(reported(&from_chunks(&counted, 10)), reported(&counted));
}

#[test]
fn a_count_is_confirmed_by_at_least_two_buckets_and_most_rows() {
    // The number of rows, and of those whose bucket has the count.
    for (depth, near, is_confirmed) in [
        (1, 1, false),
        (2, 1, false),
        (2, 2, true),
        (3, 1, false),
        (3, 2, true),
        (4, 2, false),
        (4, 3, true),
        (5, 3, true),
        (7, 3, false),
    ] {
        let mut counted = sketch(1, 1, depth, 0.9);
        counted.add(b"a", 1000).unwrap();
        let fingerprint = fingerprint_of(b"a");
        for (row, other) in
            (near..depth).zip(([(fingerprint, 989), (fingerprint + 1, 1000)].into_iter()).cycle())
        {
            counted.table.set(row as usize, other);
        }
        counted.table.set(0, (fingerprint, 990));
        let found = reported(&counted);
        assert_eq!(found, (f64::from(is_confirmed), 1000), "{depth} {near}");
    }
}

#[test]
fn decayed_counts_are_not_confirmed() {
    let mut counted = sketch(2, 1, 3, 1.0);
    counted.add(b"a", 10).unwrap();
    counted.add(b"b", 5).unwrap();
    assert_eq!(listed(&counted), [(b"a".to_vec(), 10)]);
    assert_eq!(reported(&counted), (0.0, 10));
}

/// With a million rows, the limit permits one item.
#[test]
fn the_work_is_limited_in_sketches_with_many_rows() {
    let mut counted = sketch(2, 2, 1 << 20, 0.9);
    counted.add(b"a", 1000).unwrap();
    counted.add(b"b", 500).unwrap();
    let confirmed =
        (listed(&counted).into_iter()).map(|(item, count)| counted.is_confirmed(&item, count));
    assert_eq!(confirmed.collect::<Vec<_>>(), [true, false]);
    assert_eq!(reported(&counted), (1.0, 500));
    let mut long = sketch(1, 1, 1 << 20, 0.9);
    long.add(&[0; 2000], 3).unwrap();
    assert_eq!(reported(&long), (0.0, 3));
}
