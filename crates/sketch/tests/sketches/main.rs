//! Reads of the sketches as other crates use them.

mod accuracy;
mod periods;
