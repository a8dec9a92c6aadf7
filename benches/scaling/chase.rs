//! The physical limit: the time of random reads of memory, alone and overlapped.
//!
//! Each read is of one random cache line of a buffer. In a chain, the position of the next read depends on the value of the
//! previous one, so the processor cannot overlap two reads of the same chain: one chain measures the latency of a cache miss.
//! Several chains in turn measure the time per read when that many misses are in progress. All values of the buffer are zero.
//! The compiler cannot use this fact, because the buffer passes through `black_box`.
//!
//! The buffer is allocated like the array of a filter, so it has pages of the same size, and the times include misses
//! of the TLB as those of the filter do.

use crate::record::segments::Segments;
use std::hint::black_box;

/// 64-bit numbers per cache line.
const LINE: usize = 8;
/// Timed segments per measurement.
const SEGMENTS: usize = 300;
/// Reads per segment.
const READS: u64 = 4_096;

/// A buffer whose pages are all in use.
#[derive(Debug)]
pub struct Buffer(Vec<u64>);

impl Buffer {
    /// A buffer of this many bytes.
    pub fn new(bytes: u64) -> Self {
        let len = usize::try_from(bytes / 8).expect("a buffer that fits into memory");
        let mut values = vec![0; len];
        // Without writes, all pages would be the same page of zeros.
        for value in values.iter_mut().step_by(LINE) {
            *black_box(value) = 0;
        }
        Self(values)
    }

    /// Median time per read in ns, with this many chains.
    pub fn read_ns<const CHAINS: usize>(&self) -> f64 {
        let values = black_box(&self.0[..]);
        let lines = (values.len() / LINE) as u64;
        let mut states: [u64; CHAINS] = std::array::from_fn(|i| (i as u64 + 1) << 40);
        let mut segments = Segments::default();
        for _ in 0..SEGMENTS {
            segments.time(READS, || {
                for _ in 0..READS / CHAINS as u64 {
                    for state in &mut states {
                        *state = after(*state);
                        let line = ((*state >> 32) * lines) >> 32;
                        *state = state.wrapping_add(values[line as usize * LINE]);
                    }
                }
            });
        }
        black_box(states);
        segments.median()
    }
}

/// The next state of a linear congruential generator with the constants of Knuth's MMIX. Its upper half is uniform.
fn after(state: u64) -> u64 {
    state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}
