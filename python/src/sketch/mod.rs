//! What all classes share: the types of a class, their lock, payloads, and the times of additions and reads.

pub mod additions;
pub mod answers;
pub mod class;
pub mod dump;
pub mod export;
pub mod lengths;
pub mod lock;
pub mod payload;
pub mod period;
pub mod variants;
pub mod window;
