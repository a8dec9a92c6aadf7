//! The memory of sketches.

use roughly_sketch::blocks::{BlockVisitor, Blocks};

/// Bytes of all blocks, and of the structure itself.
#[derive(Default)]
struct Bytes(usize);

impl BlockVisitor for Bytes {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        self.0 += vec.capacity() * size_of::<T>();
    }
}

/// The memory of a sketch in bytes, without the overhead of the allocator.
pub fn bytes<T: Blocks>(sketch: &T) -> f64 {
    let mut bytes = Bytes(size_of::<T>());
    sketch.for_each_block(&mut bytes);
    bytes.0 as f64
}
