//! Roughly: Bloom and cuckoo filters, count-min sketch, top-k and t-digest for Redis and Valkey.
//!
//! A module that replaces RedisBloom. The command layer ([`family`]) uses the server layer ([`server`]) and the sketch
//! layer (the crate `roughly-sketch`). docs/contributing/architecture.md describes the layers.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod family;
#[allow(unsafe_code)] // the module API is a C interface
pub mod server;

use family::{bloom, count_min, cuckoo, sketch, t_digest, top_k};
use server::config::Selection;
use server::load::{Module, Release};
use server::memory::ServerAllocator;

#[global_allocator]
static ALLOCATOR: ServerAllocator = ServerAllocator;

/// The version of the implemented command set, which clients read: RedisBloom 8.12.0. The version of Roughly is in INFO and
/// in the log line about loading.
const COMMAND_SET_VERSION: i32 = 8 * 10_000 + 12 * 100;

/// The module. Clients check for the name `bf`. Without Bloom filters it has another one, so that it can be loaded beside
/// valkey-bloom, whose name is `bf` too.
pub static MODULE: Module = Module {
    name: c"bf",
    name_without_first: c"roughly",
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
        sketch::FAMILY,
    ],
    selection: Selection::all(),
};

export_module!(MODULE);
