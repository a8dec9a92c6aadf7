//! Recordings of RedisBloom, and their comparison with Roughly's replies.
//!
//! `tests/golden/README.md` describes the files. [`recorded`] reads them, [`compare`] compares replies, [`expected`]
//! tracks keys whose later replies may differ, and [`differences`] lists intended differences of single replies.

pub mod compare;
pub mod differences;
pub mod expected;
pub mod recorded;
