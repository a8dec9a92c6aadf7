//! The classes. Each file has the parameters and the texts of the errors of the commands of a family.

pub mod bloom;
pub mod bloom_file;
pub mod count_min;
pub mod cuckoo;
mod digest_formats;
pub mod t_digest;
pub mod top_k;
