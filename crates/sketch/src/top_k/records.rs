//! Memory in which the heap takes its stored form, so that saving a sketch takes none.

use super::stored::RECORD_BYTES;
use crate::blocks::{BlockMover, BlockVisitor};
use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

/// A record of the stored form: one element of the heap.
pub(super) type Record = [u8; RECORD_BYTES];

/// Records of the largest heaps that share memory.
pub(super) const MAX_SHARED: usize = (1 << 20) / RECORD_BYTES;

/// Part of the library's data, whose pages take no memory before they are used.
static SHARED: Mutex<[Record; MAX_SHARED]> = Mutex::new([[0; RECORD_BYTES]; MAX_SHARED]);

/// The records of a heap. What they hold is of no meaning between two saves.
#[derive(Debug)]
pub(super) struct Records {
    len: usize,
    /// The memory of a heap that is too large for the shared one; else empty.
    own: RefCell<Buffer>,
}

impl Records {
    /// For a heap of so many elements.
    pub fn new(len: u32) -> Result<Self, OutOfMemory> {
        let len = len as usize;
        let bytes = if len > MAX_SHARED {
            len * RECORD_BYTES
        } else {
            0
        };
        Ok(Self {
            len,
            own: RefCell::new(Buffer::zeroed(bytes as u64)?),
        })
    }

    /// Fills the records with what `record_at` gives for each place, and passes their bytes to `write`.
    pub fn write(&self, record_at: impl Fn(usize) -> Record, write: impl FnOnce(&[u8])) {
        let fill = |records: &mut [Record]| {
            for (place, record) in records.iter_mut().enumerate() {
                let new = record_at(place);
                // Pages that are only read take no memory; most of a large heap may be empty.
                if *record != new {
                    *record = new;
                }
            }
            write(records.as_flattened());
        };
        if self.len > MAX_SHARED {
            fill(self.own.borrow_mut().as_chunks_mut().0);
        } else {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            fill(&mut shared[..self.len]);
        }
    }

    /// Calls `visitor` with the heap block, if there is one.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        self.own.borrow().visit(visitor);
    }

    /// Lets `mover` put the block elsewhere.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        self.own.get_mut().relocate(mover);
    }
}
