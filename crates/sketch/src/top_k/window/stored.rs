//! The stored forms (docs/contributing/formats.md): the values of an RDB file or DUMP payload, and a header with chunks of the tables.

use super::candidates::{HeapIndex, MAX_SUM, NONE};
use super::members::Members;
use super::table::{Buckets, Table};
use super::{Pane, Parameters, RankingCache, TopKWindow, check_limits, max_listed};
use crate::blocks::{BlockChanges, BlockVisitor};
use crate::format::{FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::seed::Seed;
use crate::stored::Stored;
use crate::top_k::pairs::{PAIR_BYTES, Pairs};
use crate::top_k::random::Random;
use crate::window::{MAX_SKETCHES, PaneList, StoredPane, Timed, Timeline};
use std::ffi::CStr;

impl Pane {
    fn save(&self, sink: &mut dyn Sink) {
        sink.write_unsigned(self.total);
        sink.write_array(&self.table.bytes);
        sink.write_unsigned(self.listed.len() as u64);
        for &number in &self.listed {
            sink.write_unsigned(number.into());
        }
    }

    /// Reads what [`Pane::save`] writes.
    fn load(
        source: &mut dyn Source,
        max_listed: usize,
        table_bytes: u64,
    ) -> Result<Self, FormatError> {
        let total = source.read_unsigned()?;
        let table = Table::from(source.read_array(table_bytes)?);
        let len = source.read_unsigned()?;
        refuse_if!(len > max_listed as u64 => TOO_MANY_LISTED);
        let mut listed = with_capacity(max_listed)?;
        let mut next = 0;
        for _ in 0..len {
            let number = u32::try_from(source.read_unsigned()?).map_err(|_| BAD_NUMBER)?;
            refuse_if!(number < next => BAD_NUMBER);
            listed.push(number);
            next = number.checked_add(1).ok_or(BAD_NUMBER)?;
        }
        Ok(Self {
            table,
            total,
            listed,
        })
    }
}

impl TopKWindow {
    /// Adds a stored candidate with its sum.
    fn load_candidate(&mut self, item: &[u8], closed: u64) -> Result<(), FormatError> {
        refuse_if!(closed > MAX_SUM => "a sum is out of range");
        refuse_if!(!self.candidates.has_room(item.len()) => "the candidates have too many bytes");
        let hash = self.hash(item).of_seed();
        let is_new = self.candidates.load(item, hash, closed)?;
        refuse_if!(!is_new => "a candidate is stored twice");
        Ok(())
    }

    /// Checks the loaded panes, and that something contains each candidate. Stores in the candidates what does.
    fn place_candidates(&mut self) -> Result<(), FormatError> {
        let candidates = &mut self.candidates;
        let mut has_newest = false;
        for StoredPane { first, content } in self.panes.all() {
            has_newest = *first == self.timeline.newest();
            if has_newest && !content.listed.is_empty() {
                return Err(FormatError::Invalid("the newest pane lists candidates"));
            }
            refuse_if!(!has_newest && content.total == 0 => "a closed pane has no counts");
            let is_finest = self.timeline.level_of(*first) == Some(0);
            if !is_finest && content.listed.len() > self.parameters.k as usize {
                return Err(TOO_MANY_LISTED);
            }
            for &number in &content.listed {
                refuse_if!(number >= candidates.len() => BAD_NUMBER);
                candidates.apart_mut(number).lists += 1;
            }
        }
        for members in [&self.heap, &self.list] {
            for position in 0..members.elements.len() {
                let (count, number_plus_1) = members.elements.get(position);
                let Some(number) = number_plus_1.checked_sub(1) else {
                    refuse_if!(count > 0 => "a count has no candidate");
                    continue;
                };
                refuse_if!(number >= candidates.len() => BAD_NUMBER);
                let slot = &mut candidates.get_mut(number).positions[members.heap as usize];
                refuse_if!(*slot != NONE => "a candidate is in a heap twice");
                // A position is below k, which has 32 bits.
                *slot = position as u32;
            }
        }
        let is_listed = |number: &u32| candidates.apart(*number).lists > 0;
        for number in (0..candidates.len()).skip_while(is_listed) {
            refuse_if!(candidates.is_unused(number) => "nothing contains a candidate");
            refuse_if!(is_listed(&number) => "a listed candidate is not before the others");
            // Only an addition to the newest pane adds such candidates.
            refuse_if!(!has_newest => "no pane contains a candidate");
        }
        let has_members = self.heap.iter().next().is_some();
        refuse_if!(!has_newest && has_members => "the newest pane has no table");
        Ok(())
    }
}

const TOO_MANY_LISTED: FormatError = FormatError::Invalid("a pane lists too many candidates");

const BAD_NUMBER: FormatError =
    FormatError::Invalid("the number of a candidate is out of range or not in order");

impl Stored for TopKWindow {
    const TYPE_NAME: &'static CStr = c"tk-window";
    const ENCODING_VERSION: u16 = 4;
    /// A sketch without a window has `TOPK\x01\0\0\0`.
    const HEADER_MARK: &'static [u8] = b"TOPKWIN\x04";
    type Cache = RankingCache;
    type LoadOptions = ();

    fn load_values(source: &mut dyn Source, _: u16, (): &()) -> Result<Self, FormatError> {
        let timeline = Timeline::load::<Self>(source)?;
        let [k, width, depth] = [
            source.read_unsigned()?,
            source.read_unsigned()?,
            source.read_unsigned()?,
        ];
        let parameters = Parameters::new(k, width, depth, source.read_double()?)?;
        check_limits(parameters, timeline.window())?;
        let table_bytes = Buckets::of(parameters).bytes();
        let seed = Seed::load(source)?;
        let random = Random::from_stored(source.read_unsigned()?)
            .ok_or(FormatError::Invalid("the random state is not sound"))?;
        let mut members = |heap| -> Result<Members, FormatError> {
            let elements = source.read_bytes()?;
            if elements.len() as u64 != u64::from(parameters.k) * PAIR_BYTES {
                return Err(FormatError::Invalid("a heap has not k elements"));
            }
            let elements = Pairs::from(elements);
            Ok(Members { elements, heap })
        };
        let (heap, list) = (members(HeapIndex::Heap)?, members(HeapIndex::List)?);
        let mut sketch = Self::assemble(timeline, parameters, seed, random, heap, list)?;
        let max_listed = max_listed(parameters, timeline.window());
        let load_pane = |source: &mut dyn Source| Pane::load(source, max_listed, table_bytes);
        sketch.panes = PaneList::load(&timeline, source, load_pane)?;
        for _ in 0..source.read_unsigned()? {
            let item = source.read_bytes()?;
            sketch.load_candidate(&item, source.read_unsigned()?)?;
        }
        sketch.place_candidates()?;
        Ok(sketch)
    }

    /// Allocates no memory.
    fn save(&self, sink: &mut dyn Sink) {
        self.timeline.save::<Self>(sink);
        for number in [
            self.parameters.k,
            self.parameters.width,
            self.parameters.depth,
        ] {
            sink.write_unsigned(number.into());
        }
        sink.write_double(self.parameters.decay);
        self.seed().save(sink);
        sink.write_unsigned(self.random.to_stored());
        for members in [&self.heap, &self.list] {
            sink.write_bytes(&members.elements.bytes);
        }
        self.panes.save(sink, Pane::save);
        sink.write_unsigned(self.candidates.len().into());
        for number in 0..self.candidates.len() {
            sink.write_bytes(self.candidates.item(number));
            sink.write_unsigned(self.candidates.apart(number).closed());
        }
    }

    /// The tables, that of the oldest pane first.
    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.panes
            .all()
            .iter()
            .map(|pane| &*pane.content.table.bytes)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        self.stamp.change();
        let pane = self.panes.contents_mut().nth(number)?;
        Some(&mut pane.table.bytes)
    }

    /// A copy that continues with the same random numbers.
    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let (heap, list) = (self.heap.try_clone()?, self.list.try_clone()?);
        let mut copy = Self::assemble(
            self.timeline,
            self.parameters,
            self.seed(),
            self.random,
            heap,
            list,
        )?;
        let len = self.panes.all().len();
        copy.panes.reserve(len, &self.timeline, Budget::UNLIMITED)?;
        for StoredPane { first, content } in self.panes.all() {
            let mut listed = with_capacity(max_listed(self.parameters, self.timeline.window()))?;
            listed.extend_from_slice(&content.listed);
            let table = content.table.try_clone()?;
            copy.panes.push(
                *first,
                Pane {
                    table,
                    listed,
                    ..*content
                },
            );
        }
        copy.candidates = self.candidates.try_clone()?;
        Ok(copy)
    }
}

impl Timed for TopKWindow {
    const MAX_PANES: u64 = MAX_SKETCHES;
    const HAS_LEVELS: bool = true;

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }

    fn advance(&mut self, pane: u64) -> bool {
        self.advance_with(pane, &mut BlockChanges::<()>::default())
    }

    fn advance_recorded(
        &mut self,
        pane: u64,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> bool {
        self.advance_with(pane, changes)
    }

    fn pane_total(&self, pane: u64) -> u64 {
        self.panes.get(pane).map_or(0, |pane| pane.total)
    }
}
