//! All tests that use a real server, in one program, so that it is linked only once.
//!
//! The result of a test in the module `once` depends on neither the server nor the platform (processor and C library),
//! in `each_platform` not on the server, and in `each_server` not on the platform. scripts/test-matrix.sh and
//! scripts/test-platform.sh skip the modules that would repeat a result. All other tests run on every server, and with both C libraries.
//!
//! A test that not every server or machine can run is ignored ([`needs`]).

#[path = "../support/mod.rs"]
mod support;

mod families;
mod golden;
mod workload;

mod accuracy;
mod bloom;
mod count_min;
mod crash_recovery;
mod cuckoo;
mod differential;
mod encoding_versions;
mod expiry;
mod golden_dumps;
mod golden_transcripts;
mod huge_pages;
mod info;
mod integration;
mod key_limit;
mod lazy_free;
mod maxmemory;
mod memory_usage;
mod needs;
mod obeyed;
mod persistence;
mod propagation;
mod replication;
mod soak;
mod t_digest;
mod top_k;
mod valkey;
mod windows;

mod each_platform;
mod each_server;
mod once;
