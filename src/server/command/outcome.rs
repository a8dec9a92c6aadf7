//! The effects of commands that add items: statistics, replication and keyspace events.

use crate::server::argument::Argument;
use crate::server::call::Call;
use crate::server::key::{Entry, Type};
use crate::server::memory::has_refused;
use crate::server::stats::Statistic;
use roughly_sketch::memory::{optional, reserve_for};
use std::ffi::CStr;
use std::ops::Range;

/// The effects of a command `name key [options] [keyword] items`, recorded per item.
///
/// What is replicated must be valid for every module that has the key's type. The command is replicated verbatim if its
/// options are, unless an item is refused or skipped. Then only the items that changed the value are replicated, because a
/// replica may have the memory that was refused here.
#[derive(Debug)]
pub struct Outcome<'a> {
    name: &'static CStr,
    /// The argument between key and items if only some items are replicated.
    pub keyword: Option<&'static CStr>,
    first_item: usize,
    /// The keyspace event of a new key, after the event of the command if the command added an item; `None` if it is that of
    /// the command.
    pub creation_event: Option<&'static CStr>,
    /// Whether every server accepts the options before the items. If not, they are never replicated.
    pub verbatim: bool,
    added: u64,
    refused: u64,
    changed: bool,
    /// Sub-filters that were added.
    pub growths: usize,
    /// The arguments of the items that changed the value; `None` until an item is refused.
    kept: Option<Vec<Argument<'a>>>,
}

impl<'a> Outcome<'a> {
    /// The effects of a command whose items start at argument `first_item`. If only some items are replicated, the
    /// command is `name key items`.
    #[inline]
    #[must_use]
    pub fn new(name: &'static CStr, first_item: usize) -> Self {
        Self {
            name,
            keyword: None,
            first_item,
            creation_event: None,
            verbatim: true,
            added: 0,
            refused: 0,
            changed: false,
            growths: 0,
            kept: None,
        }
    }

    /// The effects of a command with one item.
    #[inline]
    #[must_use]
    pub fn of_one_item() -> Self {
        Self::new(c"", 0)
    }

    /// An item with these arguments was added.
    #[inline]
    pub fn add(&mut self, call: &Call<'a>, item: Range<usize>) {
        self.added += 1;
        self.changed = true;
        if self.kept.is_some() {
            self.keep(call, item);
        }
    }

    /// An item was added and did not change the value.
    #[inline]
    pub fn add_unchanged(&mut self) {
        self.added += 1;
    }

    /// The item at this argument was refused. Another server may accept it, so it is not replicated.
    #[inline]
    pub fn refuse(&mut self, call: &Call<'a>, item: usize) {
        self.refused += 1;
        self.replicate_before(call, item);
    }

    /// An item was refused that is the command's only item, or that every server refuses. This does not change what is
    /// replicated.
    #[inline]
    pub fn count_refusal(&mut self) {
        self.refused += 1;
    }

    /// The item with these arguments was refused, which changed the value as on the primary.
    pub fn obey_refusal(&mut self, call: &Call<'a>, item: Range<usize>) {
        self.add(call, item);
        self.added -= 1;
        self.refused += 1;
    }

    /// From this argument on, replicates only the items that are passed to [`Outcome::add`].
    pub fn replicate_before(&mut self, call: &Call<'a>, item: usize) {
        if self.kept.is_none() {
            self.kept = Some(Vec::new());
            self.keep(call, self.first_item..item);
        }
    }

    fn keep(&mut self, call: &Call<'a>, item: Range<usize>) {
        let Some(kept) = &mut self.kept else {
            return;
        };
        let item = call.arguments(item);
        if optional(|| reserve_for(kept, kept.len() + item.len(), usize::MAX)).is_ok() {
            kept.extend_from_slice(item);
        } else {
            // There is no memory for a longer list, so its items are replicated now.
            call.replicate_items(self.name, self.keyword, kept);
            call.replicate_items(self.name, self.keyword, item);
            kept.clear();
        }
    }

    /// Counts, replicates and stores what the command did, and signals `event` if the key changed.
    // Inlined, so that a command with one item needs no `kept`.
    #[inline(always)]
    pub fn finish<T: Type>(self, call: &mut Call<'a>, mut entry: Entry<T>, event: &CStr) {
        let stats = &entry.registration().stats;
        let created = entry.is_new();
        if self.growths > 0 {
            stats.count(Statistic::Growths, self.growths as u64);
            entry.recount();
        }
        if self.added > 0 {
            stats.count(Statistic::ItemsAdded, self.added);
        }
        if self.refused > 0 {
            stats.count(Statistic::Refusals, self.refused);
            // A refused growth may have enlarged the list of the sub-filters.
            if has_refused() {
                entry.recount();
            }
        }
        if self.changed {
            if self.verbatim && self.kept.is_none() {
                call.replicate_verbatim();
            } else {
                self.replicate_items(call);
            }
        }
        entry.store();
        if self.changed || created && self.creation_event.is_none() {
            call.signal_changed(1, event);
        }
        if let Some(event) = self.creation_event
            && created
        {
            call.signal_changed(1, event);
        }
    }

    fn replicate_items(&self, call: &Call<'a>) {
        let items = match &self.kept {
            None => call.arguments(self.first_item..call.len()),
            Some(kept) => kept,
        };
        call.replicate_items(self.name, self.keyword, items);
    }
}
