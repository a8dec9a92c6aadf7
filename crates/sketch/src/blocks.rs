//! The heap blocks of a structure, for memory accounting and defragmentation.
//!
//! A structure lists its blocks, and the server measures or moves them. Every block is that of a vector and is passed
//! as a vector, so that no raw addresses are needed.

/// Visits blocks. The memory accounting of the server is a visitor.
pub trait BlockVisitor {
    /// Visits the block of a vector. A vector without capacity has no block.
    #[allow(clippy::ptr_arg)] // a slice has no capacity
    fn visit<T>(&mut self, vec: &Vec<T>);
}

/// Moves blocks. The defragmenter of the server is a mover.
pub trait BlockMover {
    /// Moves the block of a vector to another address, or leaves it. The contents of the vector stay the same.
    fn relocate<T>(&mut self, vec: &mut Vec<T>);
}

/// Ignores the blocks.
impl BlockVisitor for () {
    fn visit<T>(&mut self, _: &Vec<T>) {}
}

/// Visitors of freed and allocated blocks, for the accounting of a structure with too many blocks to visit all of them
/// after each change.
#[derive(Debug, Default)]
pub struct BlockChanges<V> {
    /// Visits the blocks that are freed.
    pub freed: V,
    /// Visits the blocks that are allocated. Both visitors may visit the same block.
    pub allocated: V,
}

/// A structure with heap blocks.
pub trait Blocks {
    /// Visits every block of the structure, but not the structure itself. Cost: one call per block.
    fn for_each_block(&self, visitor: &mut impl BlockVisitor);

    /// Passes block number `index`, in a fixed order, to `mover`. Returns false if there is no such block.
    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool;
}

/// Keeps the addresses of the blocks, for tests.
#[cfg(test)]
#[derive(Debug, Default)]
pub struct Addresses(pub Vec<usize>);

#[cfg(test)]
impl BlockVisitor for Addresses {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        if vec.capacity() > 0 {
            self.0.push(vec.as_ptr().addr());
        }
    }
}

/// Adds up the bytes of the blocks, for tests.
#[cfg(test)]
#[derive(Debug, Default)]
pub struct Bytes(pub u64);

#[cfg(test)]
impl BlockVisitor for Bytes {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        self.0 += (vec.capacity() * size_of::<T>()) as u64;
    }
}

/// Moves every block and counts the moves, for tests.
#[cfg(test)]
#[derive(Debug, Default)]
pub struct MovesAll {
    /// Blocks moved.
    pub moves: usize,
}

#[cfg(test)]
impl BlockMover for MovesAll {
    fn relocate<T>(&mut self, vec: &mut Vec<T>) {
        if vec.capacity() > 0 {
            let mut moved = Vec::with_capacity(vec.capacity());
            moved.append(vec);
            *vec = moved;
            self.moves += 1;
        }
    }
}
