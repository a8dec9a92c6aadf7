//! All tests that speak to a real server, in one program, so that it is linked once.

#[path = "../support/mod.rs"]
mod support;

mod golden;
mod samples;

mod bloom;
mod citizens;
mod count_min;
mod count_min_stored;
mod cuckoo;
mod every_type;
mod golden_dumps;
mod golden_transcripts;
mod harness;
mod hostile;
mod soak;
mod tdigest;
mod top_k;
mod worst_cases;
