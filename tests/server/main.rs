//! All tests that use a real server, in one program, so that it is linked only once.
//!
//! The result of a test in the module `once` depends on neither the server nor the platform, and that of a test in
//! `each_platform` depends on the processor and the C library, but not on the server. scripts/test-matrix.sh and
//! scripts/test-platform.sh skip these modules where they would repeat a result. All other tests run on every server.

#[path = "../support/mod.rs"]
mod support;

mod families;
mod golden;
mod workload;

mod bloom;
mod cluster;
mod commands;
mod copy_sketches;
mod count_min;
mod crash_recovery;
mod cuckoo;
mod documents;
mod encoding_versions;
mod expiry;
mod failed_saves;
mod golden_dumps;
mod info;
mod integration;
mod key_limit;
mod lazy_free;
mod maxmemory;
mod memory_usage;
mod migration;
mod monitoring;
mod notifications;
mod persistence;
mod replication;
mod settings;
mod soak;
mod t_digest;
mod test_server;
mod top_k;
mod valkey;
mod windows;

mod each_platform;
mod once;
