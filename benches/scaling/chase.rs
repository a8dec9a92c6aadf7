//! The physical limit: the time of random reads of memory, alone and overlapped.
//!
//! Each read is of one random cache line of a buffer. In a chain, the position of the next read depends on the value of the
//! previous one, so the processor cannot overlap two reads of the same chain: one chain measures the latency of a cache miss.
//! Several chains in turn measure the time per read when that many misses are in progress. All values of the buffer are zero.
//! The compiler cannot use this fact, because the buffer passes through `black_box`.
//!
//! The buffer is allocated like the array of a filter, so it has pages of the same size, and the times include misses
//! of the TLB as those of the filter do.

use std::hint::black_box;
use std::time::Instant;

/// 64-bit numbers per cache line.
const LINE: usize = 8;
/// Reads per measurement.
const READS: u64 = 1 << 21;

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

    /// Time per read in ns with this many chains.
    pub fn read_ns<const CHAINS: usize>(&self) -> f64 {
        let values = black_box(&self.0[..]);
        let lines = (values.len() / LINE) as u64;
        let mut states: [u64; CHAINS] = std::array::from_fn(|i| (i as u64 + 1) << 40);
        let start = Instant::now();
        for _ in 0..READS / CHAINS as u64 {
            for state in &mut states {
                // Knuth's MMIX generator. Its upper half is uniform.
                *state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let line = ((*state >> 32) * lines) >> 32;
                *state = state.wrapping_add(values[line as usize * LINE]);
            }
        }
        black_box(states);
        start.elapsed().as_nanos() as f64 / READS as f64
    }
}
