//! The data types of the module: a type, its values, and the callbacks with which the server handles them.

pub mod aof;
mod callbacks;
mod rdb;
mod registration;
mod usage;
mod value;

pub use callbacks::registration;
pub(super) use rdb::FILE_EVENTS;
pub use registration::{AnyValue, DataType, NewValue, PayloadCommand, Registration};
pub use usage::{CountedUsage, MeasuredUsage};
pub use value::Value;
