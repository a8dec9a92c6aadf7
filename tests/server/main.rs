//! All tests that speak to a real server, in one program, so that it is linked once.

#[path = "../support/mod.rs"]
mod support;

mod golden;
mod samples;
mod state;
mod traffic;

mod bloom;
mod bloom_merge;
mod citizens;
mod cluster;
mod count_min;
mod count_min_stored;
mod cuckoo;
mod documents;
mod encodings;
mod every_type;
mod frozen;
mod golden_dumps;
mod golden_transcripts;
mod harness;
mod hostile;
mod kills;
mod migration;
mod persistence;
mod replication;
mod soak;
mod tdigest;
mod top_k;
mod worst_cases;
