//! Addition of several items in blocks.
//!
//! Single additions wait for a cache miss per probe. Here each block of items is hashed and tested against the older
//! filters at once. While the items of one block are added, the bits of the next block in the newest filter are
//! prefetched.

use super::{Chain, ItemHash, Layout, any_contains_block};
use crate::memory::Budget;

/// Items per block. Larger blocks are faster in chains of many filters, smaller ones in a single large filter.
const BLOCK_ITEMS: usize = 16;
const _: () = assert!(
    BLOCK_ITEMS <= super::bits::BLOCK_ITEMS,
    "a whole block is tested at once"
);

/// The addition of several items to a chain, one by one in order.
#[derive(Debug)]
pub struct Additions<'c, L: Layout, I> {
    chain: &'c mut Chain<L>,
    items: I,
    limit: L::Limit,
    /// The block that is being added. Its bits in the newest filter are prefetched.
    current: Block,
    /// The position of the next item in it.
    position: usize,
    /// The block after it.
    next: Block,
}

/// Hashed items.
#[derive(Debug, Default)]
struct Block {
    hashes: [ItemHash; BLOCK_ITEMS],
    len: usize,
    /// Items that are in an older filter: bit n for item n.
    in_older: u64,
    /// The number of filters when `in_older` was computed. It is out of date when the chain has grown.
    filters: usize,
}

impl Block {
    /// Takes the next items, hashes them and tests them against the older filters.
    fn of<'a>(items: &mut impl Iterator<Item = &'a [u8]>, chain: &Chain<impl Layout>) -> Self {
        let mut block = Self {
            filters: chain.filters.len(),
            ..Self::default()
        };
        for (hash, item) in block.hashes.iter_mut().zip(items) {
            *hash = chain.hash(item);
            block.len += 1;
        }
        if let older @ [_, ..] = chain.filters.older() {
            block.in_older = any_contains_block(older, &block.hashes[..block.len]);
        }
        block
    }

    /// Whether item `n` was found in an older filter.
    #[inline(always)]
    fn is_in_older(&self, n: usize) -> bool {
        self.in_older >> n & 1 != 0
    }

    /// Prefetches the bits of item `n` in the newest filter, if the item exists and is not in an older filter.
    #[inline(always)]
    fn prefetch(&self, n: usize, chain: &Chain<impl Layout>) {
        if let (true, false, Some(newest)) =
            (n < self.len, self.is_in_older(n), chain.filters.newest())
        {
            newest.lookup().prefetch(self.hashes[n]);
        }
    }
}

impl<'a, 'c, L: Layout, I: Iterator<Item = &'a [u8]>> Additions<'c, L, I> {
    /// Prepares the addition of `items` to `chain`, which may grow within `limit`: hashes and prefetches the first block.
    pub fn new(mut items: I, limit: L::Limit, chain: &'c mut Chain<L>) -> Self {
        let current = Block::of(&mut items, chain);
        for n in 0..current.len {
            current.prefetch(n, chain);
        }
        let next = Block::of(&mut items, chain);
        Self {
            chain,
            items,
            limit,
            current,
            position: 0,
            next,
        }
    }

    /// Adds the next item and returns the result of [`Chain::add`]. `None` after the last item.
    #[inline]
    pub fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<bool, L::Error>> {
        if self.position == self.current.len {
            if self.next.len == 0 {
                return None;
            }
            let next = Block::of(&mut self.items, self.chain);
            self.current = std::mem::replace(&mut self.next, next);
            self.position = 0;
        }
        let n = self.position;
        self.position += 1;
        self.next.prefetch(n, self.chain);
        let hash = self.current.hashes[n];
        Some(if self.current.is_in_older(n) {
            Ok(false)
        } else if self.current.filters == self.chain.filters.len() {
            self.chain.add_to_newest(hash, self.limit, budget)
        } else {
            self.chain.add_hashed(hash, self.limit, budget)
        })
    }
}
