//! Examples, properties against naive models, statistical bounds, golden payloads.

mod accuracy;
mod model;
mod stored;

use super::*;
use crate::blocks::{Addresses, MovesAll};
use crate::memory::Budget;
use crate::stored::Stored;

/// Every allocation is allowed.
const ANY: Budget<'_> = Budget::UNLIMITED;

fn chain(capacity: u64, error_rate: f64, expansion: u32) -> Chain {
    let parameters = Parameters {
        capacity,
        error_rate,
        expansion,
        scaling: expansion != 0,
    };
    Chain::new(&parameters, ANY).unwrap()
}

fn add(chain: &mut Chain, item: &[u8]) -> Result<bool, Error> {
    chain.add(chain.hash(item), ANY)
}

fn contains(chain: &Chain, item: &[u8]) -> bool {
    chain.contains(chain.hash(item))
}

#[test]
fn the_room_of_a_chain_is_what_its_newest_filter_takes() {
    let mut chain = chain(3, 0.01, 2);
    for item in 0..4u8 {
        assert!(add(&mut chain, &[item]).unwrap());
    }
    // The first filter has 3 of 3 items, the second 1 of 6.
    assert_eq!((chain.filters().len(), chain.room()), (2, 5));
    chain.options |= options::NONSCALING;
    let room = chain.room();
    for item in 0..room {
        assert_eq!(add(&mut chain, &item.to_be_bytes()), Ok(true));
    }
    assert_eq!(chain.room(), 0);
    assert_eq!(add(&mut chain, b"one more"), Err(Error::Full));
}

#[test]
fn an_item_is_new_once() {
    let mut chain = chain(10, 0.01, 2);
    assert!(!contains(&chain, b"a"));
    assert_eq!(add(&mut chain, b"a"), Ok(true));
    assert_eq!(add(&mut chain, b"a"), Ok(false));
    assert!(contains(&chain, b"a"));
    assert_eq!(chain.items(), 1);
}

#[test]
fn a_chain_that_does_not_scale_is_full_at_its_capacity() {
    let mut chain = chain(3, 0.01, 0);
    let added: Vec<_> = (0..5).map(|i| add(&mut chain, &[i])).collect();
    assert_eq!(added[..3], [Ok(true); 3]);
    assert_eq!(added[3..], [Err(Error::Full); 2]);
    assert_eq!((chain.items(), chain.filters().len()), (3, 1));
    // An item that is in is still found, not refused.
    assert_eq!(add(&mut chain, &[0]), Ok(false));
}

#[test]
fn a_full_chain_grows_by_its_factor_at_half_the_rate() {
    let mut chain = chain(10, 0.01, 3);
    for i in 0..200u32 {
        add(&mut chain, &i.to_le_bytes()).unwrap();
    }
    let shapes: Vec<_> = chain
        .filters()
        .iter()
        .map(|filter| *filter.shape())
        .collect();
    assert_eq!(
        shapes
            .iter()
            .map(|shape| shape.capacity)
            .collect::<Vec<_>>(),
        [10, 30, 90, 270]
    );
    for pair in shapes.windows(2) {
        assert_eq!(pair[1].error_rate, pair[0].error_rate / 2.0);
    }
    assert_eq!(shapes[0].error_rate, 0.005);
}

#[test]
fn refused_memory_changes_nothing() {
    let parameters = Parameters {
        capacity: 1000,
        error_rate: 0.01,
        expansion: 2,
        scaling: true,
    };
    let refused = Chain::new(&parameters, Budget::new(&|_| false));
    assert!(matches!(refused, Err(Error::OutOfMemory(_))));

    let mut chain = chain(2, 0.01, 2);
    add(&mut chain, b"a").unwrap();
    add(&mut chain, b"b").unwrap();
    let before = chain.header().unwrap();
    let refused = chain.add(chain.hash(b"c"), Budget::new(&|_| false));
    assert!(matches!(refused, Err(Error::OutOfMemory(_))));
    assert_eq!(chain.header().unwrap(), before);
    assert_eq!(add(&mut chain, b"c"), Ok(true));
}

#[test]
fn a_rate_that_would_become_zero_stops_growth() {
    let mut chain = chain(1, 1e-323, 1);
    assert_eq!(add(&mut chain, b"a"), Ok(true));
    assert_eq!(add(&mut chain, b"b"), Err(Error::Shape));
    assert_eq!(chain.items(), 1);
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut original = chain(10, 0.01, 2);
    add(&mut original, b"a").unwrap();
    let mut copy = original.try_clone().unwrap();
    add(&mut copy, b"b").unwrap();
    assert!(contains(&copy, b"a") && contains(&copy, b"b"));
    assert!(!contains(&original, b"b"));
    let digest = |chain: &Chain| {
        let mut bytes = Vec::new();
        chain.digest(&mut |part| bytes.extend_from_slice(part));
        bytes
    };
    assert_ne!(digest(&copy), digest(&original));
    add(&mut original, b"b").unwrap();
    assert_eq!(digest(&copy), digest(&original));
}

#[test]
fn every_block_is_shown_and_may_move() {
    let mut chain = chain(1, 0.01, 1);
    for i in 0..5u8 {
        add(&mut chain, &[i]).unwrap();
    }
    let blocks = chain.filters().len() + 1;
    let mut shown = Addresses::default();
    chain.for_each_block(&mut shown);
    assert_eq!(shown.0.len(), blocks);
    let mut mover = MovesAll::default();
    let mut index = 0;
    while chain.relocate_block(index, &mut mover) {
        index += 1;
    }
    assert_eq!((index, mover.moves), (blocks, blocks));
    assert!((0..5u8).all(|i| contains(&chain, &[i])));
}
