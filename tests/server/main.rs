//! All tests that use a real server, in one program, so that it is linked only once.

#[path = "../support/mod.rs"]
mod support;

mod families;
mod golden;
mod workload;

mod abilities;
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
mod format_stability;
mod golden_dumps;
mod golden_transcripts;
mod hostile;
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
mod worst_case_table;
mod worst_cases;
