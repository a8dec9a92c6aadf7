//! The stored forms: RDB values, and the header and chunks of SCANDUMP.
//!
//! The values are: window in milliseconds, panes, newest pane; seed (16 bytes); capacity, error rate (double), bucket size,
//! maximum of iterations, expansion, deletions; oldest and newest live tick, ring of panes (bytes); number of sub-filters. Then for
//! each sub-filter: limit, buckets, fingerprints, ticks per generation, ring of counts, slots, generations (all bytes).
//!
//! A header has the mark of the type and the same without slots and generations, all little-endian: integers and doubles
//! of eight bytes, except that the bucket size has one byte, the maximum of iterations two, the expansion and the number
//! of sub-filters four. The chunks are parts of the slots and generations.

use super::shape::Shape;
use super::sub_filter::SubFilter;
use super::ticks::{LiveTicks, Ring, Ticks};
use super::{Kind, MAX_SUB_FILTERS, Parameters, Seed, WindowFilter};
use crate::buffer::Buffer;
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, capacity_for, reserve_for, with_capacity};
use crate::retired::Retired;
use crate::stored::Stored;
use crate::window::Timeline;
use std::ffi::CStr;
use std::marker::PhantomData;

/// Bytes of a header without rings and sub-filters.
const HEADER_FIXED_BYTES: usize = 8 + Timeline::BYTES + Seed::BYTES + 2 * 8 + 1 + 2 + 4 + 3 * 8 + 4;
/// Bytes of the shape of a sub-filter in a header.
const HEADER_SHAPE_BYTES: usize = 4 * 8;

/// The numbers of a stored filter before its rings and sub-filters, not validated.
#[derive(Debug, Clone, Copy)]
struct Unchecked {
    timeline: Timeline,
    seed: Seed,
    capacity: u64,
    error_rate: f64,
    bucket_size: u64,
    max_iterations: u64,
    expansion: u64,
    deletes: u64,
    live: LiveTicks,
}

impl Unchecked {
    /// Validates the numbers and returns a filter without sub-filters.
    fn validate<K: Kind>(self, panes: Buffer) -> Result<WindowFilter<K>, FormatError> {
        let invalid = FormatError::Invalid;
        let parameters = Parameters {
            seed: self.seed,
            capacity: self.capacity,
            error_rate: self.error_rate,
            bucket_size: (self.bucket_size.try_into())
                .map_err(|_| invalid("bucket size out of range"))?,
            max_iterations: (self.max_iterations.try_into())
                .map_err(|_| invalid("maximum of iterations out of range"))?,
            expansion: (self.expansion.try_into())
                .map_err(|_| invalid("expansion out of range"))?,
        };
        if !parameters.are_valid::<K>() {
            return Err(invalid("parameters out of range"));
        }
        let live_panes = self.timeline.window().live_panes();
        let panes = Ring::from_bytes(panes, live_panes)
            .ok_or(invalid("the ring of panes has a wrong length"))?;
        let ticks = Ticks::checked(self.live, panes, self.timeline.live())
            .ok_or(invalid("the live ticks are not those of live panes"))?;
        Ok(WindowFilter {
            timeline: self.timeline,
            parameters,
            deletes: self.deletes,
            ticks,
            sub_filters: Vec::new(),
            retired: Retired::default(),
            kind: PhantomData,
        })
    }
}

impl<K: Kind> WindowFilter<K> {
    fn panes(&self) -> u64 {
        self.timeline.window().panes()
    }

    /// Validates a number of sub-filters.
    fn sub_filters_checked(number: u64) -> Result<usize, FormatError> {
        let number = usize::try_from(number)
            .ok()
            .filter(|&number| number <= MAX_SUB_FILTERS);
        number.ok_or(FormatError::Invalid("number of sub-filters out of range"))
    }

    /// Validates the shape of the next sub-filter, after one with the limit `previous`.
    fn check_shape(&self, shape: &Shape, previous: u64) -> Result<(), FormatError> {
        if !shape.is_valid(self.parameters.bucket_size, self.panes()) {
            return Err(FormatError::Invalid(
                "the shape of a sub-filter is out of range",
            ));
        }
        if shape.limit < previous {
            return Err(FormatError::Invalid("the sub-filters are not in order"));
        }
        Ok(())
    }

    /// Appends a sub-filter with a valid shape.
    fn push_checked(&mut self, shape: Shape, arrays: [Buffer; 3]) -> Result<(), FormatError> {
        let (bucket_size, panes) = (self.parameters.bucket_size, self.panes());
        let live = self.ticks.live();
        let sub_filter = SubFilter::checked(shape, bucket_size, panes, arrays, live).ok_or(
            FormatError::Invalid("the arrays of a sub-filter contradict its shape"),
        )?;
        let len = self.sub_filters.len() + 1;
        reserve_for(&mut self.sub_filters, len, MAX_SUB_FILTERS)?;
        self.sub_filters.push(sub_filter);
        Ok(())
    }

    fn last_limit(&self) -> u64 {
        self.sub_filters.last().map_or(0, |last| last.shape().limit)
    }

    /// Passes the parts of the header to `feed`, in order.
    fn feed_header(&self, feed: &mut dyn FnMut(&[u8])) {
        let parameters = &self.parameters;
        let live = self.ticks.live();
        feed(K::HEADER_MARK);
        feed(&self.timeline.to_bytes());
        feed(&parameters.seed.0);
        feed(&parameters.capacity.to_le_bytes());
        feed(&parameters.error_rate.to_le_bytes());
        feed(&parameters.bucket_size.to_le_bytes());
        feed(&parameters.max_iterations.to_le_bytes());
        feed(&parameters.expansion.to_le_bytes());
        feed(&self.deletes.to_le_bytes());
        feed(&live.oldest.to_le_bytes());
        feed(&live.newest.to_le_bytes());
        feed(self.ticks.panes().buffer());
        feed(&(self.sub_filters.len() as u32).to_le_bytes());
        for sub_filter in &self.sub_filters {
            let shape = sub_filter.shape();
            feed(&shape.limit.to_le_bytes());
            feed(&shape.buckets.to_le_bytes());
            feed(&shape.fingerprints.to_le_bytes());
            feed(&shape.generation_ticks.to_le_bytes());
            feed(sub_filter.counts().buffer());
        }
    }

    fn ring_bytes(&self) -> usize {
        self.timeline.window().live_panes() * 8
    }
}

/// The seed in the next value.
fn load_seed(source: &mut dyn Source) -> Result<Seed, FormatError> {
    let bytes = source.read_bytes()?;
    let seed =
        (bytes[..].try_into()).map_err(|_| FormatError::Invalid("the seed has a wrong length"))?;
    Ok(Seed(seed))
}

/// A copy of the next `len` bytes.
fn buffer(fields: &mut Fields<'_>, len: usize) -> Result<Buffer, FormatError> {
    let bytes = fields.rest().get(..len).ok_or(FormatError::Truncated)?;
    let rest = &fields.rest()[len..];
    *fields = Fields::new(rest);
    Ok(Buffer::copy_of(bytes)?)
}

/// The shape of a sub-filter in a header.
fn shape(fields: &mut Fields<'_>) -> Result<Shape, FormatError> {
    Ok(Shape {
        limit: fields.u64()?,
        buckets: fields.u64()?,
        fingerprints: fields.u64()?,
        generation_ticks: fields.u64()?,
    })
}

impl<K: Kind> Stored for WindowFilter<K> {
    const TYPE_NAME: &'static CStr = K::TYPE_NAME;
    const ENCODING_VERSION: u16 = K::ENCODING_VERSION;
    const HEADER_MARK: &'static [u8] = K::HEADER_MARK;
    type Cache = ();
    type Defaults = ();

    fn load_values(
        source: &mut dyn Source,
        encoding_version: u16,
        (): &Self::Defaults,
    ) -> Result<Self, FormatError> {
        if encoding_version != Self::ENCODING_VERSION {
            return Err(FormatError::UnknownVersion(encoding_version));
        }
        let parts = Unchecked {
            timeline: Timeline::load::<Self>(source)?,
            seed: load_seed(source)?,
            capacity: source.read_unsigned()?,
            error_rate: source.read_double()?,
            bucket_size: source.read_unsigned()?,
            max_iterations: source.read_unsigned()?,
            expansion: source.read_unsigned()?,
            deletes: source.read_unsigned()?,
            live: LiveTicks {
                oldest: source.read_unsigned()?,
                newest: source.read_unsigned()?,
            },
        };
        let mut filter = parts.validate(source.read_bytes()?)?;
        let number = Self::sub_filters_checked(source.read_unsigned()?)?;
        for _ in 0..number {
            let shape = Shape {
                limit: source.read_unsigned()?,
                buckets: source.read_unsigned()?,
                fingerprints: source.read_unsigned()?,
                generation_ticks: source.read_unsigned()?,
            };
            filter.check_shape(&shape, filter.last_limit())?;
            let counts = source.read_bytes()?;
            let slots = source.read_bytes()?;
            let generations = source.read_bytes()?;
            filter.push_checked(shape, [slots, generations, counts])?;
        }
        Ok(filter)
    }

    fn save(&self, sink: &mut dyn Sink) {
        let parameters = &self.parameters;
        let live = self.ticks.live();
        self.timeline.save::<Self>(sink);
        sink.write_bytes(&parameters.seed.0);
        sink.write_unsigned(parameters.capacity);
        sink.write_double(parameters.error_rate);
        sink.write_unsigned(parameters.bucket_size.into());
        sink.write_unsigned(parameters.max_iterations.into());
        sink.write_unsigned(parameters.expansion.into());
        sink.write_unsigned(self.deletes);
        sink.write_unsigned(live.oldest);
        sink.write_unsigned(live.newest);
        sink.write_bytes(self.ticks.panes().buffer());
        sink.write_unsigned(self.sub_filters.len() as u64);
        for sub_filter in &self.sub_filters {
            let shape = sub_filter.shape();
            sink.write_unsigned(shape.limit);
            sink.write_unsigned(shape.buckets);
            sink.write_unsigned(shape.fingerprints);
            sink.write_unsigned(shape.generation_ticks);
            sink.write_bytes(sub_filter.counts().buffer());
            sink.write_bytes(sub_filter.slots());
            sink.write_bytes(sub_filter.generations());
        }
    }

    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        let per_sub_filter = HEADER_SHAPE_BYTES + self.ring_bytes();
        let rest = self.ring_bytes() + self.sub_filters.len() * per_sub_filter;
        let mut header = with_capacity(HEADER_FIXED_BYTES + rest)?;
        self.feed_header(&mut |part| header.extend_from_slice(part));
        Ok(header)
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let mut fields = Fields::new(header);
        if !fields.skip(K::HEADER_MARK) {
            return Err(FormatError::Invalid("not a header of this type"));
        }
        let parts = Unchecked {
            timeline: Timeline::from_fields::<Self>(&mut fields)?,
            seed: Seed(fields.array()?),
            capacity: fields.u64()?,
            error_rate: fields.f64()?,
            bucket_size: fields.u8()?.into(),
            max_iterations: fields.u16()?.into(),
            expansion: fields.u32()?.into(),
            deletes: fields.u64()?,
            live: LiveTicks {
                oldest: fields.u64()?,
                newest: fields.u64()?,
            },
        };
        let ring_bytes = parts.timeline.window().live_panes() * 8;
        let mut filter: Self = parts.validate(buffer(&mut fields, ring_bytes)?)?;
        let number = Self::sub_filters_checked(fields.u32()?.into())?;
        if number.checked_mul(HEADER_SHAPE_BYTES + ring_bytes) != Some(fields.rest().len()) {
            return Err(FormatError::Invalid("length does not fit the sub-filters"));
        }
        let (bucket_size, panes) = (filter.parameters.bucket_size, filter.panes());
        let list_bytes = capacity_for(number, MAX_SUB_FILTERS) * size_of::<SubFilter>();
        let mut bytes = (ring_bytes + list_bytes) as u64;
        let mut previous = 0;
        let mut shapes = fields.clone();
        for _ in 0..number {
            let shape = shape(&mut shapes)?;
            filter.check_shape(&shape, previous)?;
            shapes = Fields::new(
                shapes
                    .rest()
                    .get(ring_bytes..)
                    .ok_or(FormatError::Truncated)?,
            );
            previous = shape.limit;
            bytes = bytes.saturating_add(SubFilter::bytes(&shape, bucket_size, panes));
        }
        budget.request(bytes)?;
        for _ in 0..number {
            let shape = shape(&mut fields)?;
            let counts = buffer(&mut fields, ring_bytes)?;
            let slots = Buffer::zeroed(shape.slot_bytes(bucket_size, panes))?;
            let generations = Buffer::zeroed(shape.generation_bytes(bucket_size))?;
            filter.push_checked(shape, [slots, generations, counts])?;
        }
        Ok(filter)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        let arrays = self
            .sub_filters
            .iter()
            .map(|each| [each.slots(), each.generations()]);
        arrays.flatten().map(|array| &**array)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        let sub_filter = self.sub_filters.get_mut(number / 2)?;
        Some(match number % 2 {
            0 => sub_filter.slots_mut(),
            _ => sub_filter.generations_mut(),
        })
    }

    fn chunk_loaded(&mut self, array: usize, end: usize) {
        let live = self.ticks.live();
        if let Some(sub_filter) = self.sub_filters.get_mut(array / 2) {
            sub_filter.loaded(array % 2 == 1, end, live);
        }
    }

    /// Feeds the header, which determines the length of the rest, and the arrays.
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        self.feed_header(feed);
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
