//! The append-only file.
