//! The types `TopK-TYPE` and, with a window, `tk-window`, and what the commands need of them.

use crate::server::data_type::{CountedUsage, DataType, Registration, Value, registration};
use crate::server::key::{either, one_of};
use crate::server::memory::MemoryUsage;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::top_k::{Added, ItemHash, TopK, TopKWindow};
use roughly_sketch::window::Panes;
use std::ffi::CStr;

/// The argument of the first item.
pub const FIRST_ITEM: usize = 2;

pub const NOT_FOUND: &CStr = c"TopK: key does not exist";
/// Not enough memory for an item or a reply.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory";
pub const TOO_MUCH: &CStr = c"TopK: too much work for the depth of the sketch";

static CLASSIC: Registration = registration::<TopK>("");
static WINDOWED: Registration = registration::<TopKWindow>("_window");

impl DataType for TopK {
    const REGISTRATION: &'static Registration = &CLASSIC;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = c"TOPK.LOADCHUNK";
}

impl DataType for TopKWindow {
    const REGISTRATION: &'static Registration = &WINDOWED;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = c"TOPK.LOADCHUNK";
}

one_of! {
    /// The types.
    TopType,
    /// A top-k.
    Top,
    /// A top-k that a command changes.
    TopMut {
        /// Without a window.
        Classic: TopK, TopK;
        /// With a window.
        Windowed: TopKWindow, Value<TopKWindow>;
    }
}

impl Top<'_> {
    /// The parameters k, width, depth and decay.
    pub fn parameters(self) -> (u32, u32, u32, f64) {
        either!(self, |top| (top.k(), top.width(), top.depth(), top.decay()))
    }

    /// Whether one command may count these items; see [`TopK::within_work_limit`].
    #[inline(always)]
    pub fn within_work_limit<'b>(self, items: impl Iterator<Item = (&'b [u8], u32)>) -> bool {
        either!(self, |sketch| sketch.within_work_limit(items))
    }

    /// Hashes an item that will be counted soon; see [`TopK::hash`].
    #[inline(always)]
    pub fn hash(self, item: &[u8]) -> ItemHash {
        either!(self, |sketch| sketch.hash(item))
    }

    /// The estimated number of occurrences of an item in these panes; see [`TopK::count_hashed`].
    #[inline(always)]
    pub fn count_hashed(self, item: &[u8], hash: &ItemHash, panes: Panes) -> u32 {
        match self {
            Self::Classic(sketch) => sketch.count_hashed(item, hash),
            Self::Windowed(sketch) => sketch.count_hashed_at(hash, panes),
        }
    }

    /// Calls `answer` for each item, in order: whether it is in the list for these panes.
    #[inline(always)]
    pub fn query_each<'b>(
        self,
        items: impl Iterator<Item = &'b [u8]>,
        panes: Panes,
        mut answer: impl FnMut(Result<bool, OutOfMemory>),
    ) {
        match self {
            Self::Classic(sketch) => items.for_each(|item| answer(Ok(sketch.query(item)))),
            Self::Windowed(sketch) => sketch.with_cache(|sketch, cache| {
                items.for_each(|item| answer(sketch.query_at(item, panes, cache)));
            }),
        }
    }

    /// Calls `read` with the items of the list for these panes and their counts, the largest count first.
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is no memory for the list.
    pub fn list(
        self,
        panes: Panes,
        read: impl FnOnce(&mut dyn ExactSizeIterator<Item = (&[u8], u32)>),
    ) -> Result<(), OutOfMemory> {
        match self {
            Self::Classic(sketch) => read(&mut sketch.list()?),
            Self::Windowed(sketch) => sketch.with_cache(|sketch, cache| {
                read(&mut sketch.list_at(panes, cache)?);
                Ok(())
            })?,
        }
        Ok(())
    }
}

impl TopMut<'_> {
    /// Whether one command may add these items with their increments; see [`TopK::within_work_limit`].
    #[inline(always)]
    pub fn within_work_limit<'b>(&self, items: impl Iterator<Item = (&'b [u8], u32)>) -> bool {
        either!(self, |sketch| sketch.within_work_limit(items))
    }

    /// Hashes an item that will be added soon; see [`TopK::hash`].
    #[inline(always)]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        either!(self, |sketch| sketch.hash(item))
    }

    /// The maximum number of bytes by which an addition enlarges the sketch; see [`TopK::growth`].
    #[inline(always)]
    pub fn growth(&self, item: &[u8], hash: &ItemHash) -> u64 {
        either!(self, |sketch| sketch.growth(item, hash))
    }

    /// Whether there is room for an item of this length; see [`TopKWindow::has_room`].
    pub fn has_room(&self, item_len: usize) -> bool {
        match self {
            Self::Classic(_) => true,
            Self::Windowed(sketch) => sketch.has_room(item_len),
        }
    }

    /// Adds occurrences of an item; see [`TopK::add_hashed`].
    ///
    /// # Errors
    /// [`OutOfMemory`]; then nothing has changed.
    #[inline(always)]
    pub fn add_hashed(
        &mut self,
        item: &[u8],
        hash: &ItemHash,
        increment: u32,
        budget: Budget<'_>,
        changes: &mut BlockChanges<MemoryUsage>,
    ) -> Result<Added<'_>, OutOfMemory> {
        either!(self, |sketch| sketch
            .add_hashed(item, hash, increment, budget, changes))
    }
}
