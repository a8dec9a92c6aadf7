//! Roughly: approximate answers, exact engineering.
//!
//! Bloom and cuckoo filters, count-min sketch, top-k and t-digest for Redis and Valkey, as a module
//! that takes the place of RedisBloom. Three floors, and an arrow points down only:
//! family → server, family → sketch. See docs/architecture.md.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod family;
#[allow(unsafe_code)] // the module API is a C interface
pub mod server;

use family::{bloom, count_min, cuckoo, t_digest, top_k};
use server::allocator::ServerAllocator;
use server::module::{Module, Release};

#[global_allocator]
static ALLOCATOR: ServerAllocator = ServerAllocator;

/// The version of the command set that we implement, as clients read it: RedisBloom 8.12.0. Our own
/// stands in the load log line and in INFO.
const COMMAND_SET_VERSION: i32 = 8 * 10_000 + 12 * 100;

/// The module, as the server is told of it. `bf` is the name that clients look for.
pub static MODULE: Module = Module {
    name: c"bf",
    version: COMMAND_SET_VERSION,
    release: Release {
        version: env!("CARGO_PKG_VERSION"),
        revision: env!("ROUGHLY_REVISION"),
    },
    families: &[
        bloom::FAMILY,
        cuckoo::FAMILY,
        count_min::FAMILY,
        top_k::FAMILY,
        t_digest::FAMILY,
    ],
};

export_module!(MODULE);
