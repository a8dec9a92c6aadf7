//! Validation rules and limits of stored forms.

use super::*;
use crate::bloom::shape::hashes_for;
use crate::bloom::stored::MAX_BITS_PER_ENTRY;
use crate::chain::{MAX_HASHES_PER_FILTER, MAX_TOTAL_HASHES};
use crate::format::FormatError;
use crate::testing::{check_header_rules, check_rules, with};
use roughly_dump::Value::{self, Bytes, Double, Integer};

#[test]
fn every_rule_of_the_values_is_checked() {
    let load = |values: &mut Values| Chain::load(values, 4, &());
    let hashes = "hashes do not follow from bits per entry";
    let rules = [
        (0, Integer(1), "items do not add up"),
        (11, Integer(1), "items do not add up"),
        (1, Integer(0), "number of filters out of range"),
        (1, Integer(2049), "number of filters out of range"),
        (2, Integer(16), "unknown options"),
        (3, Integer(1 << 32), "expansion out of range"),
        (4, Integer(0), "no capacity"),
        (5, Double(0.0), "error rate outside (0, 1)"),
        (5, Double(1.0), "error rate outside (0, 1)"),
        (5, Double(f64::NAN), "error rate outside (0, 1)"),
        (6, Integer(8), hashes),
        (7, Double(5e-324), hashes),
        (7, Double(0.0), "bits per entry out of range"),
        (7, Double(f64::INFINITY), "bits per entry out of range"),
        (7, Double(1550.1), "bits per entry out of range"),
        (8, Integer(0), "fewer bytes than bits"),
        (8, Integer(1025), "fewer bytes than bits"),
        (8, Integer(u64::MAX), "fewer bytes than bits"),
        (10, Bytes(vec![0; 119]), "fewer bytes than bits"),
        (9, Integer(10), "fewer bits than the modulus"),
        (9, Integer(64), "power of two out of range"),
    ];
    check_rules(&old_payload(4), load, &rules);
    assert!(load(&mut with(&old_payload(4), 1, Integer(2))).is_err());
}

#[test]
fn every_rule_of_a_header_is_checked() {
    let header = chain(10, 0.01, 2).header().unwrap();
    let rules: [(usize, &[u8], _); 5] = [
        (0, &[1], "items do not add up"),
        (8, &[2], "length does not fit the filters"),
        (28, &[1], "bits are not whole bytes"),
        (36, &[1], "items do not add up"),
        (64, &[0; 8], "no capacity"),
    ];
    check_header_rules::<Chain>(&header, &rules);
}

/// Every item is looked up in all filters, so their number is limited.
#[test]
fn more_than_2048_filters_are_refused() {
    let header = |filters: u32| {
        let one = chain(1, 0.25, 1).header().unwrap();
        let mut header = one[..20].to_vec();
        header[8..12].copy_from_slice(&filters.to_le_bytes());
        for _ in 0..filters {
            header.extend_from_slice(&one[20..]);
        }
        header
    };
    assert!(Chain::from_header(&header(2049), ANY).is_err());
    let mut full = Chain::from_header(&header(2048), ANY).unwrap();
    let newest = full.filters_mut().last_mut().unwrap();
    newest.set_items(1);
    assert_eq!(add(&mut full, b"x"), Err(Error::Shape));
    full.fail_growth().unwrap();
    assert!(Chain::load(&mut saved(&full), 4, &()).is_ok());
    // The longest chain that can grow: each new filter halves the rate until it is 0.
    let mut longest = chain(1, 0.25, 1);
    let mut item = 0u64;
    while longest.filters().len() < 2000 {
        item += 1;
        if add(&mut longest, &item.to_le_bytes()) == Err(Error::Shape) {
            break;
        }
    }
    assert_eq!(longest.filters().len(), 1072);
    longest.fail_growth().unwrap();
    assert!(Chain::load(&mut saved(&longest), 4, &()).is_ok());
}

#[test]
fn a_filter_has_at_most_the_hashes_of_the_smallest_error_rate() {
    let smallest = Shape::new(1, 5e-324, Sizing::Exact).unwrap();
    assert_eq!(u64::from(smallest.hashes), MAX_HASHES_PER_FILTER);
    let largest = u64::from(hashes_for(MAX_BITS_PER_ENTRY));
    assert_eq!(largest, MAX_HASHES_PER_FILTER);
    assert_eq!(MAX_FILTERS * largest, MAX_TOTAL_HASHES);
}

#[test]
fn several_filters_in_a_chain_that_does_not_scale_are_refused() {
    let mut two = chain(1, 0.01, 2);
    for item in 0..2u8 {
        add(&mut two, &[item]).unwrap();
    }
    assert_eq!(two.filters().len(), 2);
    assert!(Chain::from_header(&two.header().unwrap(), ANY).is_ok());
    assert!(Chain::load(&mut saved(&two), 4, &()).is_ok());
    set_option(&mut two, options::NONSCALING);
    assert!(Chain::from_header(&two.header().unwrap(), ANY).is_err());
    assert!(Chain::load(&mut saved(&two), 4, &()).is_err());
}

/// A chain with the largest number of items refuses more, so that it can be loaded again.
#[test]
fn the_number_of_items_does_not_exceed_its_limit() {
    let mut values = old_payload(4);
    let end = i64::MAX as u64;
    values.values[0] = Value::Integer(end);
    values.values[4] = Value::Integer(u64::MAX);
    values.values[11] = Value::Integer(end);
    let mut chain = Chain::load(&mut values, 4, &()).unwrap();
    assert_eq!(add(&mut chain, b"one more"), Err(Error::Shape));
    set_option(&mut chain, options::NONSCALING);
    chain.fail_growth().unwrap();
    assert_eq!(saved(&chain).values[0], Value::Integer(end));
    assert!(Chain::load(&mut saved(&chain), 4, &()).is_ok());
}

#[test]
fn memory_is_requested_before_it_is_allocated() {
    let header = chain(1 << 20, 0.01, 2).header().unwrap();
    let requested = std::cell::Cell::new(0);
    let refuses = |bytes| {
        requested.set(bytes);
        false
    };
    let refused = Chain::from_header(&header, Budget::new(&refuses));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    assert_eq!(requested.take(), chain(1 << 20, 0.01, 2).bit_bytes());
    let created = Chain::new(&parameters(1 << 20, 0.01, 2, true), Budget::new(&refuses));
    assert!(matches!(created, Err(Error::OutOfMemory(_))));
    assert_eq!(requested.get(), chain(1 << 20, 0.01, 2).bit_bytes());
}
