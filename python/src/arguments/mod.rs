//! Arguments and results: items, numbers, bytes, columns and NumPy arrays.

pub mod arrow;
mod arrow_import;
pub mod batch;
pub mod bytes;
pub mod items;
pub mod numbers;
pub mod numpy_array;
pub mod scalars;
