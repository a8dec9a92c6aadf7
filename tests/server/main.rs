//! All tests that speak to a real server, in one program, so that it is linked once.

#[path = "../support/mod.rs"]
mod support;

mod families;
mod golden;
mod state;
mod traffic;

mod abilities;
mod background;
mod bloom;
mod bloom_merge;
mod citizens;
mod cluster;
mod commands;
mod count_min;
mod count_min_stored;
mod cuckoo;
mod documents;
mod encodings;
mod every_type;
mod expiry;
mod failed_saves;
mod frozen;
mod golden_dumps;
mod golden_transcripts;
mod harness;
mod hostile;
mod key_limit;
mod kills;
mod memory_limits;
mod memory_usage;
mod migration;
mod notifications;
mod persistence;
mod replication;
mod settings;
mod soak;
mod tdigest;
mod top_k;
mod worst_case_table;
mod worst_cases;
