//! The keys of a merge: a destination and its sources.

use super::Slot;
use super::access::Writer;
use super::opened::OpenedKey;
use crate::server::call::Call;
use crate::server::data_type::{AnyValue, DataType};
use crate::server::value::Counted;
use std::ptr;

/// A destination that is open for writing and sources that are open for reading. Some of them may be the same key.
#[derive(Debug)]
pub struct MergeKeys<T: DataType> {
    destination: OpenedKey<T>,
    sources: Vec<OpenedKey<T>>,
    _writer: Writer,
}

impl<T: DataType> MergeKeys<T> {
    pub(super) fn new(
        destination: OpenedKey<T>,
        sources: Vec<OpenedKey<T>>,
        writer: Writer,
    ) -> Self {
        Self {
            destination,
            sources,
            _writer: writer,
        }
    }

    /// What the destination and each source hold. A source that is the destination itself is `Found(None)`.
    pub fn get(&mut self) -> (Slot<&mut T>, impl Iterator<Item = Slot<Option<&T>>>) {
        let destination = self.destination.value();
        let own = match destination {
            Slot::Found(counted) => counted,
            Slot::Missing | Slot::WrongType => ptr::null_mut(),
        };
        let other = move |counted: *mut Counted<T>| {
            // SAFETY: the value lives while the key is open, no key is open besides these (see `access`), `self` is
            // borrowed, and the destination is another value.
            (counted != own).then(|| unsafe { &(*counted).value })
        };
        let sources = self
            .sources
            .iter()
            .map(move |source| source.value().map(other));
        // SAFETY: as above; `self` is borrowed mutably, and no source refers to this value.
        let destination = destination.map(|counted| unsafe { &mut (*counted).value });
        (destination, sources)
    }

    /// The number of the first source that holds a value of another type of the module, from 0.
    #[must_use]
    pub fn first_of<V: DataType>(&self) -> Option<usize> {
        let handle = V::registration().handle();
        self.sources
            .iter()
            .position(|source| source.has_type(handle))
    }

    /// As [`super::WriteKey::advance`], for the destination, which is the key in argument 1.
    pub fn advance(&mut self, call: &mut Call<'_>) {
        if T::registration().has_window()
            && let Slot::Found(counted) = self.destination.value()
        {
            // SAFETY: as in `get`.
            call.advance(unsafe { &mut *counted });
        }
    }

    /// As [`super::Entry::recount`], for the destination.
    pub fn recount(&mut self) {
        if let Slot::Found(counted) = self.destination.value() {
            // SAFETY: as in `get`.
            unsafe { (*counted).recount() }
        }
    }
}
