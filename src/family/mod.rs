//! Floor 3: what users call. One room per family: commands (parse, call the sketch, reply) and data
//! type (load, save, rewrite). The texts that users see live here only.

pub mod bloom;
mod chunks;
pub mod count_min;
pub mod cuckoo;
mod info;
mod merge;

pub mod t_digest;
pub mod top_k;

pub use info::write as write_info;

#[cfg(test)]
mod tests;
