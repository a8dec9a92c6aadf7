//! The stored forms (docs/contributing/formats.md, "Bloom filters with a window").

use super::retired::Retired;
use super::size::SubFilterSize;
use super::sub_filter::{BAD_ARRAYS, SubFilter};
use super::ticks::{LiveTicks, STORED_BYTES, StoredRing, Ticks};
use super::{Kind, MAX_SUB_FILTERS, Parameters, Seed, WindowFilter};
use crate::format::packed::{PackedSource, feed_header};
use crate::format::{FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, reserve_for};
use crate::stored::Stored;
use crate::window::Timeline;
use std::ffi::CStr;
use std::marker::PhantomData;

impl<K: Kind> WindowFilter<K> {
    /// Reads the next sub-filter and appends it.
    fn load_sub_filter(&mut self, source: &mut dyn Source) -> Result<(), FormatError> {
        let window = self.timeline.window();
        let (bucket_size, panes) = (self.parameters.bucket_size, window.panes());
        let size = SubFilterSize {
            limit: source.read_unsigned()?,
            buckets: source.read_unsigned()?,
            fingerprints: source.read_unsigned()?,
            generation_ticks: source.read_unsigned()?,
        };
        if !size.is_valid(bucket_size, panes) {
            return Err(FormatError::Invalid(
                "the shape of a sub-filter is out of range",
            ));
        }
        let previous = self.sub_filters.last();
        if previous.is_some_and(|previous| size.limit < previous.size().limit) {
            return Err(FormatError::Invalid("the sub-filters are not in order"));
        }
        let counts = source.read_fixed(window.live_panes() * STORED_BYTES)?;
        let live = self.ticks.live();
        let mut sub_filter = SubFilter::checked(size, bucket_size, panes, &counts, live)?;
        let mut array = |len| match source.read_array(len) {
            Err(FormatError::Invalid(_)) => Err(BAD_ARRAYS),
            array => array,
        };
        let slots = array(size.slot_bytes(bucket_size, panes))?;
        let generations = array(size.generation_bytes(bucket_size))?;
        (sub_filter.slots, sub_filter.generations) = (slots, generations);
        let len = self.sub_filters.len() + 1;
        reserve_for(&mut self.sub_filters, len, MAX_SUB_FILTERS)?;
        self.sub_filters.push(sub_filter);
        Ok(())
    }
}

impl<K: Kind> Stored for WindowFilter<K> {
    const TYPE_NAME: &'static CStr = K::TYPE_NAME;
    const ENCODING_VERSION: u16 = K::ENCODING_VERSION;
    const HEADER_MARK: &'static [u8] = K::HEADER_MARK;
    type Cache = ();
    type LoadOptions = ();

    fn load_values(source: &mut dyn Source, _: u16, (): &()) -> Result<Self, FormatError> {
        let invalid = FormatError::Invalid;
        let timeline = Timeline::load::<Self>(source)?;
        let live_panes = timeline.window().live_panes();
        let seed = source.read_fixed(Seed::BYTES)?;
        let parameters = Parameters {
            seed: Seed((seed[..].try_into()).map_err(|_| invalid("the seed has a wrong length"))?),
            capacity: source.read_unsigned()?,
            error_rate: source.read_double()?,
            bucket_size: (source.read_small(1)?.try_into())
                .map_err(|_| invalid("bucket size out of range"))?,
            max_iterations: (source.read_small(2)?.try_into())
                .map_err(|_| invalid("maximum of iterations out of range"))?,
            expansion: (source.read_small(4)?.try_into())
                .map_err(|_| invalid("expansion out of range"))?,
        };
        refuse_if!(!parameters.are_valid::<K>() => "parameters out of range");
        let deletes = source.read_unsigned()?;
        let live = LiveTicks {
            oldest: source.read_unsigned()?,
            newest: source.read_unsigned()?,
        };
        let panes = source.read_fixed(live_panes * STORED_BYTES)?;
        let panes = StoredRing::of(&panes, live_panes)
            .ok_or(invalid("the ring of panes has a wrong length"))?;
        let mut filter = Self {
            timeline,
            parameters,
            deletes,
            ticks: Ticks::checked(live, panes, timeline.live())?,
            sub_filters: Vec::new(),
            retired: Retired::default(),
            kind: PhantomData,
        };
        let sub_filters = source.read_small(4)?;
        refuse_if!(sub_filters > MAX_SUB_FILTERS as u64 => "number of sub-filters out of range");
        for _ in 0..sub_filters {
            filter.load_sub_filter(source)?;
        }
        Ok(filter)
    }

    fn save(&self, sink: &mut dyn Sink) {
        let (parameters, live) = (&self.parameters, self.ticks.live());
        self.timeline.save::<Self>(sink);
        sink.write_fixed(&parameters.seed.0);
        sink.write_unsigned(parameters.capacity);
        sink.write_double(parameters.error_rate);
        sink.write_small(parameters.bucket_size.into(), 1);
        sink.write_small(parameters.max_iterations.into(), 2);
        sink.write_small(parameters.expansion.into(), 4);
        sink.write_unsigned(self.deletes);
        sink.write_unsigned(live.oldest);
        sink.write_unsigned(live.newest);
        self.ticks
            .with_stored_panes(|panes| sink.write_fixed(panes));
        sink.write_small(self.sub_filters.len() as u64, 4);
        for sub_filter in &self.sub_filters {
            let size = sub_filter.size();
            sink.write_unsigned(size.limit);
            sink.write_unsigned(size.buckets);
            sink.write_unsigned(size.fingerprints);
            sink.write_unsigned(size.generation_ticks);
            let width = sub_filter.count_width();
            (sub_filter.counts).with_stored(width, |counts| sink.write_fixed(counts));
            sink.write_array(&sub_filter.slots);
            sink.write_array(&sub_filter.generations);
        }
    }

    /// Requests all bytes at once, after the header was checked. The check takes memory in proportion to the header.
    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let mut source = PackedSource::new(header, K::HEADER_MARK, None)?;
        let mut filter = Self::load(&mut source, K::ENCODING_VERSION, &())?;
        source.finish()?;
        let (bucket_size, panes) = (
            filter.parameters.bucket_size,
            filter.timeline.window().panes(),
        );
        let list_bytes = filter.sub_filters.capacity() * size_of::<SubFilter>();
        let other_bytes = (list_bytes + filter.ticks.panes.0.len()) as u64;
        let sub_filters = filter.sub_filters.iter();
        let bytes = sub_filters.fold(other_bytes, |bytes, each| {
            bytes.saturating_add(SubFilter::bytes(&each.size(), bucket_size, panes))
        });
        budget.request(bytes)?;
        for sub_filter in &mut filter.sub_filters {
            sub_filter.allocate(panes)?;
        }
        Ok(filter)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        let arrays = self
            .sub_filters
            .iter()
            .map(|each| [&each.slots, &each.generations]);
        arrays.flatten().map(|array| &**array)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        let sub_filter = self.sub_filters.get_mut(number / 2)?;
        Some(match number % 2 {
            0 => &mut *sub_filter.slots,
            _ => &mut *sub_filter.generations,
        })
    }

    /// Feeds the header, which determines the length of the rest, and the arrays.
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        feed_header(K::HEADER_MARK, |sink| self.save(sink), feed);
        self.arrays().for_each(feed);
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut sub_filters = Vec::new();
        reserve_for(&mut sub_filters, self.sub_filters.len(), MAX_SUB_FILTERS)?;
        for sub_filter in &self.sub_filters {
            sub_filters.push(sub_filter.try_clone()?);
        }
        Ok(Self {
            timeline: self.timeline,
            parameters: self.parameters,
            deletes: self.deletes,
            ticks: self.ticks.try_clone()?,
            sub_filters,
            retired: Retired::default(),
            kind: PhantomData,
        })
    }
}
