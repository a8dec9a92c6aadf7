//! The filters whose false positive rates are measured.

use crate::streams::Random;
use roughly_dump::{Value, Values};
use roughly_sketch::accuracy::{Accuracy, Figure};
use roughly_sketch::bloom::shape::{Shape, Sizing};
use roughly_sketch::bloom::{self, Chain, options};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::valkey_bloom::{self, ValkeyChain};
use roughly_sketch::window::{Panes, Timed, Window};
use roughly_sketch::window_filter::{
    BloomWindow, BloomWindowParameters, CuckooWindow, CuckooWindowParameters, Seed,
};
use std::io::Write;

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;
const MINUTE: u64 = 60_000;
/// Different items: decimal numbers in ascending order, or 16 random bytes.
#[derive(Debug, Clone)]
pub struct Items {
    pub next: u64,
    pub are_random: bool,
    pub bytes: Vec<u8>,
}

impl Items {
    pub fn next(&mut self) -> &[u8] {
        self.bytes.clear();
        if self.are_random {
            for number in [self.next, !self.next] {
                let random = Random(number).next_u64();
                self.bytes.extend_from_slice(&random.to_le_bytes());
            }
        } else {
            write!(self.bytes, "{}", self.next).expect("a vector");
        }
        self.next += 1;
        &self.bytes
    }
}

type Contains = dyn Fn(&[u8]) -> bool;

/// A filter with items.
pub struct Filled {
    pub reported: f64,
    pub contains: Box<Contains>,
}

/// A filter that is not changed again.
pub fn filled<T: Accuracy<Cache = ()> + 'static>(
    filter: T,
    panes: Panes,
    contains: fn(&T, &[u8], Panes) -> bool,
) -> Filled {
    let fields = filter.accuracy(panes, &mut ()).expect("memory");
    let Figure::Ratio(reported) = fields[0].1 else {
        panic!("{fields:?}")
    };
    Filled {
        reported,
        contains: Box::new(move |item| contains(&filter, item, panes)),
    }
}

pub fn bloom_chain(filter: Chain) -> Filled {
    filled(filter, Panes::ALL, |filter, item, _| filter.contains(item))
}

pub fn bloom_of(
    capacity: u64,
    error_rate: f64,
    expansion: u32,
    scaling: bool,
) -> bloom::Parameters {
    bloom::Parameters {
        capacity,
        error_rate,
        expansion,
        scaling,
    }
}

pub fn cuckoo_of(bucket_size: u8, max_iterations: u16, expansion: u16) -> cuckoo::Parameters {
    cuckoo::Parameters {
        bucket_size,
        max_iterations,
        expansion,
    }
}

/// A Bloom filter to which this many items were added.
pub fn grown(parameters: bloom::Parameters, added: u64, items: &mut Items) -> Chain {
    let mut filter = Chain::new(&parameters, UNLIMITED).expect("a filter");
    for _ in 0..added {
        filter.add(items.next(), (), UNLIMITED).expect("memory");
    }
    filter
}

/// A Bloom filter that does not grow, with this share of its capacity in items. Above 1, it is a merge of filters.
pub fn fixed(capacity: u64, error_rate: f64, share: f64, items: &mut Items) -> Chain {
    let parameters = bloom_of(capacity, error_rate, 2, false);
    merged(share, items, &|| {
        Chain::new(&parameters, UNLIMITED).expect("a filter")
    })
}

/// A merge of filters that do not grow, of which only the last is not full.
pub fn merged(share: f64, items: &mut Items, empty: &dyn Fn() -> Chain) -> Chain {
    let mut filter = empty();
    let mut left = (filter.filters()[0].capacity() as f64 * share).round() as u64;
    while left > 0 {
        let mut other = empty();
        let len = left.min(other.filters()[0].capacity());
        while other.items() < len {
            other.add(items.next(), (), UNLIMITED).expect("memory");
        }
        filter.merge(&[&other], UNLIMITED).expect("memory");
        left -= len;
    }
    filter
}

/// An empty filter of an old file, whose number of bits is a power of two.
pub fn power_of_two(capacity: u64, error_rate: f64, options: u32) -> Chain {
    let shape = Shape::new(capacity, error_rate, Sizing::PowerOfTwo).expect("a shape");
    let values = [
        Value::Integer(0),
        Value::Integer(1),
        Value::Integer((options | options::NONSCALING).into()),
        Value::Integer(2),
        Value::Integer(shape.capacity),
        Value::Double(shape.error_rate),
        Value::Integer(shape.hashes.into()),
        Value::Double(shape.bits_per_entry),
        Value::Integer(shape.bits),
        Value::Integer(shape.power.into()),
        Value::Bytes(vec![0; shape.bytes() as usize]),
        Value::Integer(0),
    ];
    let values = values.into();
    let mut values = Values { values };
    Chain::load(&mut values, Chain::ENCODING_VERSION, &()).expect("a filter")
}

pub fn valkey(capacity: u64, error_rate: f64, added: u64, items: &mut Items) -> Filled {
    let parameters = valkey_bloom::Parameters {
        capacity,
        error_rate,
        tightening: 0.5,
        expansion: 2,
        seed: valkey_bloom::FIXED_SEED,
        seed_is_random: false,
    };
    let mut filter = ValkeyChain::new(&parameters, u64::MAX, UNLIMITED).expect("a filter");
    while filter.items() < added {
        (filter.add(items.next(), u64::MAX, UNLIMITED)).expect("memory");
    }
    filled(filter, Panes::ALL, |filter, item, _| filter.contains(item))
}

/// A cuckoo filter to which `added` items were added and from which `deleted` of them were deleted.
pub fn cuckoo(
    capacity: u64,
    (bucket_size, expansion): (u8, u16),
    (added, deleted): (u64, u64),
    items: &mut Items,
) -> Filled {
    let parameters = cuckoo_of(bucket_size, 20, expansion);
    let mut filter = CuckooFilter::new(capacity, parameters, UNLIMITED).expect("a filter");
    let mut first_items = items.clone();
    for _ in 0..added {
        filter.insert(items.next(), UNLIMITED).expect("memory");
    }
    for _ in 0..deleted {
        assert!(filter.delete(first_items.next(), UNLIMITED));
    }
    cuckoo_filter(filter)
}

pub fn cuckoo_filter(filter: CuckooFilter) -> Filled {
    filled(filter, Panes::ALL, |filter, item, _| filter.contains(item))
}

/// How a filter with a window is filled and read.
#[derive(Clone, Copy)]
pub struct Load {
    pub panes: u64,
    /// Items per window, at a constant rate over one window and a pane.
    pub added: u64,
    /// Panes without additions after them.
    pub idle: u64,
    /// The part of the window that is read, in panes.
    pub read: u64,
}

impl Load {
    fn window(self) -> Window {
        Window::new(self.panes * MINUTE, self.panes, None).expect("a window")
    }

    /// Fills a filter. Returns the panes that are read.
    fn fill<T: Timed>(self, filter: &mut T, items: &mut Items, add: fn(&mut T, &[u8])) -> Panes {
        for pane in 0..=self.panes {
            filter.advance(self.panes + pane);
            let until = |pane| self.added * pane / self.panes;
            for _ in until(pane)..until(pane + 1) {
                add(filter, items.next());
            }
        }
        let newest = 2 * self.panes + self.idle;
        filter.advance(newest);
        let timeline = filter.timeline().expect("a window");
        timeline.panes_within(newest * MINUTE, self.read * MINUTE)
    }
}

pub fn window_set((capacity, error_rate): (u64, f64), load: Load, items: &mut Items) -> Filled {
    let parameters = BloomWindowParameters {
        seed: Seed([7; 16]),
        capacity,
        error_rate,
        expansion: 2,
    };
    let filter = BloomWindow::new(load.window(), &parameters, UNLIMITED);
    let mut filter = filter.expect("a filter");
    let panes = load.fill(&mut filter, items, |filter, item| {
        filter.add(item, UNLIMITED).expect("memory");
    });
    filled(filter, panes, |filter, item, panes| {
        filter.contains(item, panes)
    })
}

pub fn window_multiset(
    (capacity, error_rate, bucket_size): (u64, Option<f64>, u8),
    load: Load,
    items: &mut Items,
) -> Filled {
    let parameters = CuckooWindowParameters {
        seed: Seed([7; 16]),
        capacity,
        error_rate,
        bucket_size,
        max_iterations: 20,
        expansion: 1,
    };
    let filter = CuckooWindow::new(load.window(), &parameters, UNLIMITED);
    let mut filter = filter.expect("a filter");
    let panes = load.fill(&mut filter, items, |filter, item| {
        filter.insert_item(item, UNLIMITED).expect("memory");
    });
    filled(filter, panes, |filter, item, panes| {
        filter.contains(item, panes)
    })
}
