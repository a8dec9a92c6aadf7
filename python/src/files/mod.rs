//! Files, and values whose class is not known: DUMP payloads, chunks, RDB files.

pub mod any;
pub mod argument;
pub mod chunks;
pub mod rdb;
