//! Tests of every type.

mod aof;
mod threads;
