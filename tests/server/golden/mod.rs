//! Recordings of RedisBloom, and how our replies are held against them.
//!
//! `tests/golden/README.md` says what the files hold. [`recorded`] reads them, [`compare`] says which
//! replies are the same, [`wanted`] follows the keys whose later replies differ on purpose, and
//! [`differences`] lists the single replies that do.

pub mod compare;
pub mod differences;
pub mod expected;
pub mod recorded;
