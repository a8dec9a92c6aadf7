//! The keys of a merge: a destination and its sources.

use super::access::Writer;
use super::lookup_result::Lookup;
use super::one_of::{AnyMut, OneOf, OneOfMut};
use super::opened::OpenedKey;
use crate::server::call::Call;
use crate::server::data_type::{AnyValue, Registration};

/// A destination that is open for writing and sources that are open for reading. Some of them may be the same key.
#[derive(Debug)]
pub struct MergeKeys {
    types: &'static [&'static Registration],
    destination: OpenedKey,
    sources: Vec<OpenedKey>,
    _writer: Writer,
}

impl MergeKeys {
    pub(super) fn new(
        call: &Call<'_>,
        types: &'static [&'static Registration],
        destination: OpenedKey,
        sources: Vec<OpenedKey>,
        writer: Writer,
    ) -> Self {
        let mut keys = Self {
            types,
            destination,
            sources,
            _writer: writer,
        };
        if call.memory().is_key_limited()
            && let Some(value) = keys.destination()
        {
            call.memory().set_key_bytes(value.live_bytes());
        }
        keys
    }

    /// What the destination and each source hold, for a family. A source that is the destination itself is `Found(None)`.
    ///
    /// # Panics
    /// If `D` lacks one of the types.
    pub fn get<'a, D: OneOfMut<'a>, S: OneOf<'a>>(
        &'a mut self,
    ) -> (Lookup<D>, impl Iterator<Item = Lookup<Option<S>>>) {
        let destination = self.destination.find(self.types.iter().copied());
        let own = match destination {
            Lookup::Found((_, value)) => Some(value),
            Lookup::Missing | Lookup::WrongType => None,
        };
        let sources = self.sources.iter().map(move |source| {
            let address = |source: &OpenedKey| source.of_module()?.1.address();
            if own.is_some() && address(source) == own {
                return Lookup::Found(None);
            }
            source.get().map(Some)
        });
        let destination = destination.map(|(of, value)| {
            // SAFETY: the value lives while the key is open, no key is open besides these (see `access`), `self` is borrowed
            // mutably, and no source refers to this value.
            unsafe { AnyMut::new(value, of) }.of_family()
        });
        (destination, sources)
    }

    /// The value of the destination, if it has one of the types.
    pub fn destination(&mut self) -> Option<&mut dyn AnyValue> {
        let (of, value) = self.destination.find(self.types.iter().copied()).found()?;
        // SAFETY: as in `get`.
        Some(unsafe { (of.value)(value).as_mut() })
    }

    /// As [`super::Entry::advance`], for the destination, which is the key in argument 1: unless `check`, which is called with
    /// the pane, returns an error.
    ///
    /// # Errors
    /// That of `check`.
    pub fn advance_if<E>(
        &mut self,
        call: &mut Call<'_>,
        check: impl FnOnce(&mut Self, &Call<'_>, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let pane = self.destination().and_then(|value| call.begin_write(value));
        let Some(pane) = pane else {
            return Ok(());
        };
        check(self, call, pane)?;
        if let Some(destination) = self.destination() {
            call.advance(destination, pane);
        }
        Ok(())
    }
}
