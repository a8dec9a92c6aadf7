//! Values that are saved on one thread and read on another.

use crate::MODULE;
use crate::server::data_type::{DataType, Value};
use roughly_dump::Values;
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow, Dimensions};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{TDigest, TDigestWindow};
use roughly_sketch::top_k::{TopK, TopKWindow};
use roughly_sketch::valkey_bloom::{self, FIXED_SEED, ValkeyChain};
use roughly_sketch::window::{Panes, Timed, Window};
use roughly_sketch::window_filter::{
    BloomWindow, BloomWindowParameters, CuckooWindow, CuckooWindowParameters, Seed,
};
use std::ffi::CStr;
use std::hint::black_box;
use std::thread;

const ANY: Budget<'_> = Budget::UNLIMITED;
const ROUNDS: u64 = 200;
/// A window of four panes of a millisecond.
const PANES: u64 = 4;

/// The values in the RDB format, and what DEBUG DIGEST is fed.
fn saved<T: DataType>(state: &T) -> (Values, Vec<u8>) {
    let (mut values, mut digest) = (Values::default(), Vec::new());
    state.save(&mut values);
    state.digest(&mut |part| digest.extend_from_slice(part));
    (values, digest)
}

/// Saves the state on another thread while this one reads, with the cache. Returns the name of the type.
fn check<T: DataType>(state: T, read: impl Fn(&T, &mut T::Cache, Panes)) -> &'static CStr {
    let value = Value::new(state);
    let state: &T = &value;
    let expected = saved(state);
    thread::scope(|scope| {
        let saver = scope.spawn(|| (0..ROUNDS).all(|_| saved(state) == expected));
        for round in 0..ROUNDS {
            let panes = (state.timeline()).map_or(Panes::ALL, |panes| {
                panes.panes_in(panes.newest() + round % (PANES + 2))
            });
            value.with_cache(|state, cache| read(state, cache, panes));
            black_box(state.try_clone().expect("memory"));
        }
        assert!(saver.join().expect("no panic"), "{:?}", T::TYPE_NAME);
    });
    assert_eq!(saved(state), expected);
    T::TYPE_NAME
}

/// Adds items to all panes.
fn filled<T: Timed>(mut state: T, add: impl Fn(&mut T, u64)) -> T {
    for number in 0..5000 {
        state.advance(number / 1000);
        add(&mut state, number);
    }
    state
}

#[test]
fn every_type_can_be_saved_while_it_is_read() {
    let window = Window::new(PANES, PANES, None).expect("a window");
    let item = u64::to_le_bytes;
    let chain = bloom::Parameters {
        capacity: 100,
        error_rate: 0.01,
        expansion: 2,
        scaling: true,
    };
    let chain = filled(Chain::new(&chain, ANY).expect("a filter"), |chain, n| {
        chain.add(&item(n), (), ANY).expect("memory");
    });
    let valkey = valkey_bloom::Parameters {
        capacity: 100,
        error_rate: 0.01,
        tightening: 0.5,
        expansion: 2,
        seed: FIXED_SEED,
        seed_is_random: false,
    };
    let valkey = ValkeyChain::new(&valkey, u64::MAX, ANY).expect("a filter");
    let valkey = filled(valkey, |chain, n| {
        chain.add(&item(n), u64::MAX, ANY).expect("memory");
    });
    let set = BloomWindowParameters {
        capacity: 100,
        error_rate: 0.01,
        expansion: 2,
        seed: Seed([1; 16]),
    };
    let set = BloomWindow::new(window, &set, ANY).expect("a filter");
    let set = filled(set, |set, n| {
        set.add(&item(n), ANY).expect("memory");
    });
    let cuckoo = cuckoo::Parameters {
        bucket_size: 2,
        max_iterations: 20,
        expansion: 1,
    };
    let cuckoo = CuckooFilter::new(100, cuckoo, ANY).expect("a filter");
    let cuckoo = filled(cuckoo, |filter, n| {
        filter.insert(&item(n), ANY).expect("memory");
    });
    let multiset = CuckooWindowParameters {
        capacity: 100,
        error_rate: Some(0.001),
        bucket_size: 2,
        max_iterations: 20,
        expansion: 1,
        seed: Seed([1; 16]),
    };
    let multiset = CuckooWindow::new(window, &multiset, ANY).expect("a filter");
    let multiset = filled(multiset, |filter, n| {
        filter.insert_item(&item(n), ANY).expect("memory");
    });
    let counts = CountMin::new(100, 3, CellSize::Four, ANY).expect("a sketch");
    let counts = filled(counts, |sketch, n| {
        sketch.increment(&item(n), 1).expect("room");
    });
    let windowed_counts = CountMinWindow::new(
        Dimensions::new(100, 3, CellSize::Four).expect("a shape"),
        window,
        Seed::default(),
        ANY,
    );
    let windowed_counts = filled(windowed_counts.expect("a sketch"), |sketch, n| {
        sketch.increment(&item(n), 1, ANY).expect("room");
    });
    let top = filled(
        TopK::new(10, 50, 3, 0.9, ANY).expect("a sketch"),
        |top, n| {
            top.add(&item(n % 97), 1).expect("memory");
        },
    );
    let windowed_top =
        TopKWindow::new(10, 50, 3, 0.9, window, Seed::default(), ANY).expect("a sketch");
    let windowed_top = filled(windowed_top, |top, n| {
        top.add(&item(n % 97), 1).expect("memory");
    });
    let sample = |n: u64| (n * 7919 % 5003) as f64;
    let digest = filled(TDigest::new(100, ANY).expect("a digest"), |digest, n| {
        digest.add(&[sample(n)]).expect("memory");
    });
    let windowed_digest = TDigestWindow::new(100, window, ANY).expect("a digest");
    let windowed_digest = filled(windowed_digest, |digest, n| {
        digest.add_within(&[sample(n)], ANY).expect("memory");
    });
    let checked = [
        check(chain, |chain, (), _| {
            assert!(chain.contains(&item(1)));
        }),
        check(set, |set, (), panes| {
            black_box(set.contains(&item(4999), panes));
        }),
        check(valkey, |chain, (), _| assert!(chain.contains(&item(1)))),
        check(cuckoo, |filter, (), _| assert!(filter.contains(&item(1)))),
        check(multiset, |filter, (), panes| {
            black_box(filter.count(&item(4999), panes));
        }),
        check(counts, |sketch, (), _| assert!(sketch.query(&item(1)) > 0)),
        check(windowed_counts, |sketch, (), panes| {
            black_box(sketch.query(&item(4999), panes));
        }),
        check(top, |top, (), _| {
            black_box(top.list().expect("memory").len());
        }),
        check(windowed_top, |top, cache, panes| {
            black_box(top.list_at(panes, cache).expect("memory").len());
        }),
        check(digest, |digest, cache, _| {
            let median = digest.compressed_with(cache).expect("memory").quantile(0.5);
            assert!((2000.0..3000.0).contains(&median));
        }),
        check(windowed_digest, |digest, cache, panes| {
            black_box(digest.compressed_at(panes, cache).expect("memory"));
        }),
    ];
    let types: Vec<_> = MODULE.data_types().map(|of| of.name).collect();
    assert_eq!(checked[..], types[..]);
}
