//! Memory for the heap elements in the RDB format, so that saving a sketch allocates nothing.

use crate::blocks::{BlockMover, BlockVisitor};
use crate::buffer::Buffer;
use crate::memory::{OutOfMemory, Scratch, try_lock};
use std::sync::{Mutex, PoisonError};

/// Bytes of a heap element in the RDB format: fingerprint, length of the item, eight bytes that RedisBloom ignores,
/// count, four bytes that it ignores.
pub(super) const RECORD_BYTES: usize = 24;

/// One heap element in the RDB format.
pub(super) type Record = [u8; RECORD_BYTES];

/// Heaps of up to this many elements share their memory.
pub(super) const MAX_SHARED: usize = (1 << 20) / RECORD_BYTES;

static SHARED: Scratch<Record, MAX_SHARED> = Scratch::new([0; RECORD_BYTES]);

/// The records of a heap. Their contents are only meaningful during a save.
#[derive(Debug)]
pub(super) struct Records {
    len: usize,
    /// The memory of a heap that is too large for the shared one; otherwise empty.
    own: Mutex<Buffer>,
}

impl Records {
    /// Records for a heap of `len` elements.
    pub fn new(len: u32) -> Result<Self, OutOfMemory> {
        let len = len as usize;
        let bytes = if len > MAX_SHARED {
            len * RECORD_BYTES
        } else {
            0
        };
        Ok(Self {
            len,
            own: Mutex::new(Buffer::zeroed(bytes as u64)?),
        })
    }

    /// Fills the records with the result of `record_at` for each position and passes their bytes to `write`.
    ///
    /// # Panics
    /// If another thread uses the memory, and the allocator refuses other memory. A save then fails.
    pub fn write(&self, record_at: impl Fn(usize) -> Record, write: impl FnOnce(&[u8])) {
        let fill = |records: &mut [Record]| {
            for (position, record) in records.iter_mut().enumerate() {
                let new = record_at(position);
                // Pages that are only read take no memory, and most of a large heap may be empty.
                if *record != new {
                    *record = new;
                }
            }
            write(records.as_flattened());
        };
        if self.len > MAX_SHARED
            && let Some(mut own) = try_lock(&self.own)
        {
            return fill(own.as_chunks_mut().0);
        }
        let filled = SHARED.with(self.len, [0; RECORD_BYTES], fill);
        filled.expect("memory for the records of a top-k");
    }

    /// Passes the block to `visitor`, if there is one.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.visit(visitor);
    }

    /// Passes the block to `mover`, which may move it.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        own.relocate(mover);
    }
}
