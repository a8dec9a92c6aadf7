//! Adding several items: hashed, looked for in the older filters and fetched ahead of being added.
//!
//! One item after another would wait for memory as often as it has probes. Here items are taken in blocks:
//! while those of one block are added, those of the next, which were looked for in the older filters all at
//! once, are having their bits in the newest fetched.

use super::filter::ItemHash;
use super::{Chain, Error, are_in_any};
use crate::memory::Budget;

/// Items in a block. For a chain of 13 filters an item takes 156 ns with blocks of 16 and 230 with blocks of 4;
/// for one large filter, where nothing is gained by looking together, 222 and 199.
const BLOCK: usize = 16;
const _: () = assert!(
    BLOCK <= super::filter::BLOCK,
    "a block is looked for at once"
);

/// Items on their way into a chain. Serves one command.
#[derive(Debug)]
pub struct Additions<'c, I> {
    chain: &'c mut Chain,
    items: I,
    /// Those whose bits in the newest filter are being fetched.
    under_way: Block,
    /// The next of them.
    next: usize,
    /// Those behind them.
    ahead: Block,
}

/// Items that are hashed.
#[derive(Debug, Default)]
struct Block {
    hashes: [ItemHash; BLOCK],
    len: usize,
    /// Which of them are in an older filter: bit n for item n.
    seen: u64,
    /// Filters that the chain had then: when it grows, they have to be looked for anew.
    filters: usize,
}

impl Block {
    /// The next items.
    fn of<'a>(items: &mut impl Iterator<Item = &'a [u8]>, chain: &Chain) -> Self {
        let mut block = Self {
            filters: chain.filters.len(),
            ..Self::default()
        };
        for (hash, item) in block.hashes.iter_mut().zip(items) {
            *hash = chain.hash(item);
            block.len += 1;
        }
        if let Some((_, older @ [_, ..])) = chain.filters.split_last() {
            block.seen = are_in_any(older, &block.hashes[..block.len]);
        }
        block
    }

    /// Whether item `n` is known to be in an older filter.
    #[inline(always)]
    fn is_seen(&self, n: usize) -> bool {
        self.seen >> n & 1 != 0
    }

    /// Asks for the memory of item `n`, if there is one that is new.
    #[inline(always)]
    fn prefetch(&self, n: usize, chain: &Chain) {
        if let (true, false, Some(newest)) = (n < self.len, self.is_seen(n), chain.filters.last()) {
            newest.prefetch(self.hashes[n]);
        }
    }
}

impl<'a, 'c, I: Iterator<Item = &'a [u8]>> Additions<'c, I> {
    /// Begins to add `items` to `chain`: those of the first block are under way.
    pub fn new(mut items: I, chain: &'c mut Chain) -> Self {
        let under_way = Block::of(&mut items, chain);
        for n in 0..under_way.len {
            under_way.prefetch(n, chain);
        }
        let ahead = Block::of(&mut items, chain);
        Self {
            chain,
            items,
            under_way,
            next: 0,
            ahead,
        }
    }

    /// Adds the next item: what [`Chain::add`] says of it, or `None` after the last one.
    #[inline]
    pub fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<bool, Error>> {
        if self.next == self.under_way.len {
            if self.ahead.len == 0 {
                return None;
            }
            let next = Block::of(&mut self.items, self.chain);
            self.under_way = std::mem::replace(&mut self.ahead, next);
            self.next = 0;
        }
        let n = self.next;
        self.next += 1;
        self.ahead.prefetch(n, self.chain);
        let hash = self.under_way.hashes[n];
        Some(if self.under_way.is_seen(n) {
            Ok(false)
        } else if self.under_way.filters == self.chain.filters.len() {
            self.chain.add_unseen(hash, budget)
        } else {
            self.chain.add(hash, budget)
        })
    }
}
