//! Every request for memory of the operations of every sketch is refused once.

use crate::time;
use roughly_models::refusals::{Faults, Runs};
use roughly_models::{TYPES, seeds};
use roughly_sketch::buffer::Buffer;
use roughly_sketch::refusable::set_refuses;
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static REFUSED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Counts a request of this thread. Whether it is refused.
fn is_refused() -> bool {
    let number = COUNT.get() + 1;
    COUNT.set(number);
    let (first, last) = REFUSED.get();
    (first..=last).contains(&number)
}

/// The faults of this thread.
struct OfThread;

impl Faults for OfThread {
    fn begin(&self, first: u64, last: u64) {
        set_refuses(|_| is_refused());
        COUNT.set(0);
        REFUSED.set((first.max(1), last));
    }

    fn allows(&self) -> bool {
        !is_refused()
    }

    fn end(&self) -> u64 {
        REFUSED.set((0, 0));
        COUNT.get()
    }
}

#[test]
fn operations_succeed_or_change_nothing() {
    let mut total = Runs::default();
    for of in TYPES {
        let seeds = seeds::stored(of.name);
        for seed in &seeds[..time::cases(seeds.len())] {
            let Runs { runs, positions } = (of.refusals)(seed, &OfThread);
            total.runs += runs;
            total.positions += positions;
        }
    }
    println!("{total:?}");
    assert!(total.positions > time::cases(1000) as u64, "{total:?}");
}

/// If a smaller block is refused, the larger one is freed: its owner does not need the contents.
#[test]
fn a_buffer_that_cannot_shrink_frees_its_block() {
    for (first, len) in [(0, 10), (1, 0)] {
        let mut buffer = Buffer::copy_of(&[7; 1000]).expect("memory");
        OfThread.begin(first, first);
        buffer.free_from(10);
        assert_eq!(OfThread.end(), 1);
        assert_eq!(*buffer, vec![7; len]);
    }
}
