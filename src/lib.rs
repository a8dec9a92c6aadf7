//! Roughly: approximate answers, exact engineering.
//!
//! Bloom and cuckoo filters, count-min sketch, top-k and t-digest for Redis and Valkey, as a module
//! that takes the place of RedisBloom. Three floors, and an arrow points down only:
//! family → server, family → sketch. See docs/architecture.md.

pub mod sketch;
