//! Floor 3: what users call. One room per family: commands (parse, call the sketch, reply) and data
//! type (load, save, rewrite). The texts that users see live here only.

mod arguments;
pub mod bloom;
mod chunks;
pub mod count_min;
pub mod cuckoo;
mod merge;
pub mod t_digest;
pub mod top_k;

#[cfg(test)]
mod tests;
