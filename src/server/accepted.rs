//! Replication of commands with several items, of which some may be refused.

use super::argument::Argument;
use super::call::Call;
use std::ffi::CStr;
use std::ops::Range;

/// The items of a command that are replicated.
///
/// While no item is refused, nothing is kept, and the command is replicated as it came. After a refusal
/// only the accepted items are replicated: a replica may have the memory that was refused here.
#[derive(Debug)]
pub struct Accepted<'a> {
    name: &'static CStr,
    keyword: Option<&'static CStr>,
    /// The arguments of the accepted items; `None` until an item is refused.
    kept: Option<Vec<Argument<'a>>>,
}

impl<'a> Accepted<'a> {
    /// For a command that is replicated as `name key items`.
    #[must_use]
    pub fn new(name: &'static CStr) -> Self {
        Self {
            name,
            keyword: None,
            kept: None,
        }
    }

    /// With this argument between key and items.
    #[must_use]
    pub fn keyword(mut self, keyword: &'static CStr) -> Self {
        self.keyword = Some(keyword);
        self
    }

    /// Whether no item was refused.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.kept.is_none()
    }

    /// An item was refused; the arguments `before` it are those of the accepted items, if it is the first
    /// one.
    pub fn refuse(&mut self, call: &Call<'a>, before: Range<usize>) {
        if self.kept.is_none() {
            self.kept = Some(Vec::new());
            self.accept(call, before);
        }
    }

    /// An item with these arguments was accepted.
    #[inline]
    pub fn accept(&mut self, call: &Call<'a>, item: Range<usize>) {
        let Some(kept) = &mut self.kept else {
            return;
        };
        let item = call.arguments(item);
        if kept.try_reserve(item.len()).is_ok() {
            kept.extend_from_slice(item);
        } else {
            // Without memory for a longer list, its items are replicated now.
            call.replicate_items(self.name, self.keyword, kept);
            call.replicate_items(self.name, self.keyword, item);
            kept.clear();
        }
    }

    /// Replicates the accepted items; the whole command if it is complete.
    pub fn replicate(&self, call: &mut Call<'a>) {
        match &self.kept {
            None => call.replicate_verbatim(),
            Some(kept) => call.replicate_items(self.name, self.keyword, kept),
        }
    }
}
