//! The ground both floors stand on: the heap blocks of a structure.
//!
//! A sketch knows which blocks it holds, the server knows how to weigh and move one. These traits are
//! all that either says of the other, so that neither depends on it. A block is always a vector's: it
//! is shown and moved as one, so that no address is ever trusted.

/// Something that looks at blocks: the server's accounting.
pub trait BlockVisitor {
    /// Looks at the block of a vector. A vector without capacity has none.
    #[allow(clippy::ptr_arg)] // a slice would not tell the capacity
    fn visit<T>(&mut self, vec: &Vec<T>);
}

/// Something that moves blocks: the server's defragmenter.
pub trait BlockMover {
    /// Puts the block of a vector elsewhere, or leaves it; the vector is the same afterwards. A vector
    /// without capacity has none.
    fn relocate<T>(&mut self, vec: &mut Vec<T>);
}

/// Looks at nothing: for those who do not count.
impl BlockVisitor for () {
    fn visit<T>(&mut self, _: &Vec<T>) {}
}

/// Blocks that went and came, shown as they do: what keeps an account of a structure that has too many
/// blocks to look at all of them after each change.
#[derive(Debug, Default)]
pub struct BlockChanges<V> {
    /// Has been shown the blocks that are no more.
    pub gone: V,
    /// Has been shown those that took their place. A block may come and go.
    pub came: V,
}

/// The heap blocks of a structure: what memory accounting and defragmentation walk over.
pub trait Blocks {
    /// Shows `visitor` every block the structure holds (not the structure itself). Cost: one call a
    /// block.
    fn for_each_block(&self, visitor: &mut impl BlockVisitor);

    /// Offers block number `index` (in a fixed order of the structure's own) to `mover`. Returns false
    /// where there is no block of that number, which ends the walk.
    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool;
}

/// A visitor for tests: keeps the addresses of the blocks.
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

/// A mover for tests: moves every block it is offered, and counts them.
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
