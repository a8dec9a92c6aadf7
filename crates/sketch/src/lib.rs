#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! | module | structure | server type |
//! |---|---|---|
//! | [`bloom`] | [`bloom::Chain`]: a chain of Bloom filters that grows | `MBbloom--` |
//! | [`cuckoo`] | [`cuckoo::CuckooFilter`]: a cuckoo filter that grows | `MBbloomCF` |
//! | [`count_min`] | [`count_min::CountMin`]: a count-min sketch | `CMSk-TYPE` |
//! | [`top_k`] | [`top_k::TopK`]: the most frequent items (HeavyKeeper) | `TopK-TYPE` |
//! | [`t_digest`] | [`t_digest::TDigest`]: quantiles (t-digest) | `TDIS-TYPE` |
//! | [`valkey_bloom`] | [`valkey_bloom::ValkeyChain`]: a chain of Bloom filters with the format of valkey-bloom | `bloomfltr` |
//! | [`window_filter`] | [`window_filter::BloomWindow`]: the set of items that were added in a [`window`] | `bf-window` |
//! | [`window_filter`] | [`window_filter::CuckooWindow`]: counts and deletes the items of a window | `cf-window` |
//! | [`count_min`] | [`count_min::CountMinWindow`]: a count-min sketch of a window | `cmswindow` |
//! | [`top_k`] | [`top_k::TopKWindow`]: the most frequent items of a window | `tk-window` |
//! | [`t_digest`] | [`t_digest::TDigestWindow`]: quantiles of a window | `td-window` |
//!
//! Each structure has its formats beside it. Each format has one decoder, which checks everything before it is used.
//! docs/contributing/formats.md in the repository specifies the formats.
//!
//! # Features of all structures
//!
//! - [`stored::Stored`] is the interface for everything that a structure can do with bytes: load, save, header, chunks,
//!   digest, copy.
//! - [`accuracy::Accuracy`] reports how wrong its answers are now.
//! - [`blocks::Blocks`] lists the heap blocks of a structure, for memory accounting and defragmentation.
//! - [`memory::Budget`] decides whether an operation may allocate memory. Allocations whose size a user chooses return
//!   an error when they fail.
//! - Only [`buffer`] (a zeroed block whose allocation can fail) and [`prefetch`] (processor hints) contain `unsafe`.
//! - Logarithms ([`math`]) and hashes ([`hash`]) have the same result on every machine, because stored bytes depend on
//!   them.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

/// Returns an error if a condition is true. A text is a [`FormatError::Invalid`](crate::format::FormatError::Invalid).
macro_rules! refuse_if {
    ($condition:expr => $text:literal) => {
        refuse_if!($condition => $crate::format::FormatError::Invalid($text))
    };
    ($condition:expr => $error:expr) => {
        if $condition {
            return Err($error);
        }
    };
}

pub mod accuracy;
mod batch;
pub mod blocks;
pub mod bloom;
#[allow(unsafe_code)] // zeroed memory whose allocation can fail
pub mod buffer;
pub mod cache;
pub mod chain;
pub mod count_min;
pub mod cuckoo;
pub mod format;
pub mod hash;
pub mod math;
pub mod memory;
pub mod merge;
mod one_or_many;
#[allow(unsafe_code)] // prefetch instructions and vector extensions
pub mod prefetch;
pub mod refusable;
pub mod seed;
pub mod stored;
pub mod t_digest;
pub mod top_k;
pub mod valkey_bloom;
pub mod window;
pub mod window_filter;
pub mod work_limit;

#[cfg(test)]
mod testing;
