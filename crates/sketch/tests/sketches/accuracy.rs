//! The fields of filters for SKETCH.ACCURACY: full, damaged and reloaded ones, and parts of a window.

use roughly_dump::{Value, Values};
use roughly_sketch::accuracy::{Accuracy, Figure};
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::valkey_bloom::{FIXED_SEED, Parameters, ValkeyChain};
use roughly_sketch::window::{Panes, Window};
use roughly_sketch::window_filter::{
    BloomWindow, BloomWindowParameters, CuckooWindow, CuckooWindowParameters, Seed,
};

const ANY: Budget<'static> = Budget::UNLIMITED;
const RATE: &str = "false positive rate";

/// The names and the values of the fields.
fn fields<T: Accuracy<Cache = ()>>(filter: &T, panes: Panes) -> Vec<(&'static str, f64)> {
    let fields = filter.accuracy(panes, &mut ()).unwrap();
    let fields = fields.into_iter().map(|(name, figure)| {
        let Figure::Ratio(ratio) = figure else {
            panic!("{name:?}: {figure:?}")
        };
        (name.to_str().unwrap(), ratio)
    });
    fields.collect()
}

/// As [`fields`], and checks that they are the same after a save and a load.
fn fields_of<T: Accuracy<Cache = (), LoadOptions: Default>>(
    filter: &T,
    panes: Panes,
) -> Vec<(&'static str, f64)> {
    let mut values = Values::default();
    filter.save(&mut values);
    let reloaded = T::load(&mut values, T::ENCODING_VERSION, &T::LoadOptions::default()).unwrap();
    let fields = fields(filter, panes);
    assert_eq!(self::fields(&reloaded, panes), fields);
    fields
}

/// Whether a rate is this one, apart from a hundredth.
fn is_near(rate: f64, expected: f64) -> bool {
    (rate / expected - 1.0).abs() < 0.01
}

fn chain() -> Chain {
    let parameters = bloom::Parameters {
        capacity: 1000,
        error_rate: 0.01,
        expansion: 2,
        scaling: false,
    };
    Chain::new(&parameters, ANY).unwrap()
}

fn valkey_chain() -> ValkeyChain {
    let parameters = Parameters {
        capacity: 1000,
        error_rate: 0.01,
        tightening: 0.5,
        expansion: 2,
        seed: FIXED_SEED,
        seed_is_random: false,
    };
    ValkeyChain::new(&parameters, u64::MAX, ANY).unwrap()
}

fn cuckoo(bucket_size: u8) -> CuckooFilter {
    let parameters = cuckoo::Parameters {
        bucket_size,
        max_iterations: 500,
        expansion: 0,
    };
    CuckooFilter::new(1024, parameters, ANY).unwrap()
}

fn window_set() -> BloomWindow {
    let window = Window::new(4, 4, None).unwrap();
    let parameters = BloomWindowParameters {
        seed: Seed([7; 16]),
        capacity: 1000,
        error_rate: 0.01,
        expansion: 2,
    };
    BloomWindow::new(window, &parameters, ANY).unwrap()
}

fn window_multiset() -> CuckooWindow {
    let window = Window::new(4, 4, None).unwrap();
    let parameters = CuckooWindowParameters {
        seed: Seed([7; 16]),
        capacity: 1000,
        error_rate: None,
        bucket_size: 2,
        max_iterations: 20,
        expansion: 1,
    };
    CuckooWindow::new(window, &parameters, ANY).unwrap()
}

#[test]
fn a_full_filter_has_the_rate_of_its_fill() {
    let mut chain = chain();
    let mut valkey = valkey_chain();
    for number in 0u64.. {
        let item = number.to_le_bytes();
        if chain.items() < 1000 {
            chain.add(&item, (), ANY).unwrap();
        }
        if valkey.items() == 1000 {
            break;
        }
        valkey.add(&item, u64::MAX, ANY).unwrap();
    }
    for fields in [
        fields_of(&chain, Panes::ALL),
        fields_of(&valkey, Panes::ALL),
    ] {
        let [(_, rate), (_, specified), (_, fill)] = fields[..] else {
            panic!("{fields:?}")
        };
        assert_eq!(specified, 0.01);
        assert!((0.48..0.52).contains(&fill));
        // The overlaps of sequences add at most 1.25 · 2^2.5 · 1000 / 9600² = 7.7e-5, or a hundredth.
        assert!((1.0..1.02).contains(&(rate / fill.powi(7))), "{fields:?}");
    }
}

#[test]
fn the_rate_of_a_cuckoo_filter_is_that_of_the_slots_of_two_buckets() {
    for bucket_size in [1u8, 2, 4, 255] {
        let mut filter = cuckoo(bucket_size);
        for number in 0..100u64 {
            filter.insert(&number.to_le_bytes(), ANY).unwrap();
        }
        let slots = filter.num_buckets() * u64::from(bucket_size);
        let fill = 100.0 / slots as f64;
        let rate = 1.0 - (1.0 - fill / 255.0).powi(2 * i32::from(bucket_size));
        let fields = fields_of(&filter, Panes::ALL);
        assert!(fields[0].0 == RATE && is_near(fields[0].1, rate));
        assert_eq!(fields[1], ("fill", fill));
    }
}

/// Checks the fields of all panes, two, one and none, with 200 items per pane.
fn check_parts<T: Accuracy<Cache = (), LoadOptions = ()>>(filter: &mut T, add: fn(&mut T, &[u8])) {
    for pane in 10..14u64 {
        filter.advance(pane);
        for number in 0..200u64 {
            add(filter, &(number << 8 | pane).to_le_bytes());
        }
    }
    let timeline = *filter.timeline().unwrap();
    let part = |ms| fields_of(filter, timeline.panes_within(13, ms));
    let [whole, two, one] = [4, 1, 0].map(part);
    assert_eq!(whole, fields_of(filter, Panes::ALL));
    for (part, share) in [(&two, 0.5), (&one, 0.25)] {
        // The rate is a sum apart from its square.
        assert!(is_near(part[0].1, whole[0].1 * share), "{part:?} {whole:?}");
        let fill = part.last().unwrap();
        assert!(fill.0 == "fill" && is_near(fill.1, whole.last().unwrap().1 * share));
    }
    // As after the expiry of two panes.
    let later = fields_of(filter, filter.panes_in(16));
    assert_eq!(later, two);
    filter.advance(16);
    assert_eq!(fields_of(filter, Panes::ALL), two);
    filter.advance(100);
    assert!(fields_of(filter, Panes::ALL)[0] == (RATE, 0.0));
}

#[test]
fn the_fields_of_a_window_describe_the_panes_that_are_read() {
    check_parts(&mut window_set(), |filter, item| {
        filter.add(item, ANY).unwrap();
    });
    check_parts(&mut window_multiset(), |filter, item| {
        filter.insert_item(item, ANY).unwrap();
    });
}

/// Bits behind the modulus, all bits with no items, and a filter that failed to grow.
#[test]
fn the_rates_of_unusual_files_are_probabilities() {
    let filter = |power: u64, items: u64, byte: u8| {
        [
            Value::Integer(100),
            Value::Double(0.01),
            Value::Integer(7),
            Value::Double(9.585_058_377_367_439),
            Value::Integer(1024),
            Value::Integer(power),
            Value::Bytes(vec![byte; 128]),
            Value::Integer(items),
        ]
    };
    let failed = [
        Value::Integer(0),
        Value::Double(0.0),
        Value::Integer(0),
        Value::Double(0.0),
        Value::Integer(0),
        Value::Integer(0),
        Value::Bytes(Vec::new()),
        Value::Integer(0),
    ];
    for (filters, rate, fill) in [
        (vec![filter(9, 1, 0xff)], 1.0, 1.0),
        (vec![filter(10, 0, 0xff)], 1.0, 1.0),
        (vec![filter(10, 0, 0), failed.clone()], 1.0, 0.0),
    ] {
        let items = (filters.iter()).filter(|filter| filter[7] == Value::Integer(1));
        let head = [items.count(), filters.len(), 4, 2].map(|number| Value::Integer(number as u64));
        let values = head.into_iter().chain(filters.into_iter().flatten());
        let values = values.collect();
        let mut values = Values { values };
        let chain = Chain::load(&mut values, 4, &()).unwrap();
        let fields = fields_of(&chain, Panes::ALL);
        assert_eq!((fields[0].1, fields[2].1), (rate, fill));
    }
}
