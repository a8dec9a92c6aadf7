//! Reads of the sketches as other crates use them.

mod accuracy;
mod parts_of_a_window;
mod periods;
