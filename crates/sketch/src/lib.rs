//! Floor 1: the data structures.
//!
//! Pure Rust over byte slices: no server, no I/O, and no `unsafe` outside [`buffer`] (a zeroed buffer
//! whose allocation can fail) and [`prefetch`] (hints to the processor). Each structure stands beside
//! the byte format it is stored in, and each format has one decoder and one validator, used by
//! everything that loads it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod blocks;
pub mod bloom;
#[allow(unsafe_code)] // zeroed memory whose allocation can fail
pub mod buffer;
pub mod count_min;
pub mod cuckoo;
pub mod format;
pub mod hash;
pub mod math;
pub mod memory;
pub mod merge;
pub mod modulus;
#[allow(unsafe_code)] // prefetch instructions and vector extensions
pub mod prefetch;
pub mod rows;
pub mod stored;
pub mod t_digest;
pub mod top_k;
pub mod work_limit;

#[cfg(test)]
mod testing;
