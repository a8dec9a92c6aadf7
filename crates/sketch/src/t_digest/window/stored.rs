//! The stored forms: the values of an RDB file or DUMP payload, and the same values as one header. A digest has no arrays, so there
//! are no chunks besides the header.
//!
//! The values are the timeline, the compression, the closed panes, and the newest pane, which is stored also without samples.
//! Nodes are in stable order. The unmerged nodes of the newest pane are samples.

use super::{
    ClosedPane, MAX_WINDOW_COMPRESSION, TDigest, TDigestWindow, Timeline, WindowCache,
    max_closed_nodes,
};
use crate::format::packed::{PayloadSize, packed_header};
use crate::format::{FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, reserve_for, with_capacity};
use crate::stored::{Stored, load_header};
use crate::t_digest::centroid::{Centroid, in_order};
use crate::t_digest::compressed::Extent;
use crate::t_digest::{Nodes, Unmerged};
use crate::window::{MAX_SKETCHES, PaneList, Timed};
use std::ffi::CStr;

/// The nodes of a string: the server reads and writes each value of an RDB file with a call.
const NODES_OF_STRING: usize = 256;

/// The bytes of a node: mean and weight.
const NODE_BYTES: usize = 16;

/// Writes minimum, maximum, the number of nodes, and the nodes in strings of [`NODES_OF_STRING`].
fn save_nodes(
    extent: Extent,
    len: usize,
    mut nodes: impl Iterator<Item = Centroid>,
    sink: &mut dyn Sink,
) {
    sink.write_double(extent.min);
    sink.write_double(extent.max);
    sink.write_unsigned(len as u64);
    let mut string = [0; NODES_OF_STRING * NODE_BYTES];
    let mut left = len;
    while left > 0 {
        let len = left.min(NODES_OF_STRING);
        let (places, _) = string.as_chunks_mut::<8>();
        let (places, _) = places.as_chunks_mut::<2>();
        for ([mean, weight], node) in places[..len].iter_mut().zip(&mut nodes) {
            *mean = node.mean.to_le_bytes();
            *weight = node.weight.to_le_bytes();
        }
        sink.write_bytes(&string[..len * NODE_BYTES]);
        left -= len;
    }
}

/// Reads what [`save_nodes`] writes: at most `max_len` nodes.
fn load_nodes(
    max_len: usize,
    source: &mut dyn Source,
) -> Result<(Extent, Vec<Centroid>), FormatError> {
    let (min, max) = (source.read_double()?, source.read_double()?);
    let len = usize::try_from(source.read_unsigned()?).unwrap_or(usize::MAX);
    refuse_if!(len > max_len => "the number of nodes is out of range");
    let mut extent = Extent::EMPTY;
    // Above one string, memory grows with the strings that are read.
    let mut nodes: Vec<Centroid> = with_capacity(len.min(NODES_OF_STRING))?;
    while nodes.len() < len {
        let more = NODES_OF_STRING.min(len - nodes.len());
        let string = source.read_string((more * NODE_BYTES) as u64)?;
        let present = nodes.len();
        reserve_for(&mut nodes, present + more, len)?;
        let (fields, _) = string.as_chunks::<8>();
        let (fields, _) = fields.as_chunks::<2>();
        for &[mean, weight] in fields {
            let node = Centroid {
                mean: f64::from_le_bytes(mean),
                weight: i64::from_le_bytes(weight),
            };
            let is_in_order = nodes.last().is_none_or(|last| last.mean <= node.mean);
            refuse_if!(!is_in_order || !node.mean.is_finite() => "the means are not in order");
            let sum = extent.weight.checked_add(node.weight);
            extent.weight = sum
                .filter(|_| node.weight > 0)
                .ok_or(FormatError::Invalid("a weight is out of range"))?;
            nodes.push(node);
        }
    }
    let is_around = match nodes[..] {
        [first, .., last] | [first @ last] => {
            let is_finite = min.is_finite() && max.is_finite();
            is_finite && min <= first.mean && last.mean <= max
        }
        [] => min.to_bits() == extent.min.to_bits() && max.to_bits() == extent.max.to_bits(),
    };
    refuse_if!(!is_around => "means are outside minimum and maximum");
    (extent.min, extent.max) = (min, max);
    Ok((extent, nodes))
}

/// Reads a number of compressions.
fn load_compressions(source: &mut dyn Source) -> Result<i64, FormatError> {
    let compressions = i64::try_from(source.read_unsigned()?);
    compressions.map_err(|_| FormatError::Invalid("the number of compressions is out of range"))
}

impl ClosedPane {
    fn save(&self, sink: &mut dyn Sink) {
        sink.write_signed(self.compressions);
        let nodes = self.centroids.iter().copied();
        save_nodes(self.extent, self.centroids.len(), nodes, sink);
    }

    fn load(compression: u32, source: &mut dyn Source) -> Result<Self, FormatError> {
        let compressions = load_compressions(source)?;
        let (extent, mut nodes) = load_nodes(max_closed_nodes(compression), source)?;
        refuse_if!(nodes.is_empty() || compressions == 0 => "a pane is not closed");
        if nodes.len() < nodes.capacity() {
            let mut centroids = with_capacity(nodes.len())?;
            centroids.append(&mut nodes);
            nodes = centroids;
        }
        Ok(Self {
            centroids: nodes,
            extent,
            compressions,
        })
    }
}

/// Writes a newest pane, with its samples in stable order.
fn save_newest(newest: &TDigest, sorted: &[f64], sink: &mut dyn Sink) {
    sink.write_signed(newest.compressions);
    sink.write_unsigned(newest.unmerged.nodes as u64);
    let nodes = in_order(newest.centroids.nodes(), sorted);
    save_nodes(newest.extent(), newest.nodes(), nodes, sink);
}

/// Reads what [`save_newest`] writes.
fn load_newest(compression: u32, source: &mut dyn Source) -> Result<TDigest, FormatError> {
    let mut newest = TDigest::empty(compression);
    newest.compressions = load_compressions(source)?;
    let unmerged = source.read_unsigned()?;
    let (extent, nodes) = load_nodes(newest.capacity(), source)?;
    if nodes.is_empty() && newest.compressions > 0 {
        return Err(FormatError::Invalid(
            "compressions of a pane without samples",
        ));
    }
    (newest.min, newest.max) = (extent.min, extent.max);
    newest.set_nodes(Nodes::of(&nodes, 0, newest.capacity())?);
    newest.unmerged = match usize::try_from(unmerged) {
        Ok(nodes) if nodes <= newest.samples.len() => Unmerged {
            nodes,
            weight: nodes as i64,
        },
        _ => {
            return Err(FormatError::Invalid(
                "the number of unmerged nodes is out of range",
            ));
        }
    };
    Ok(newest)
}

impl TDigestWindow {
    /// Writes the values, with the samples of the newest pane in stable order.
    fn save_sorted(&self, sorted: &[f64], sink: &mut dyn Sink) {
        self.timeline.save::<Self>(sink);
        sink.write_unsigned(self.newest.compression.into());
        self.closed.save(sink, ClosedPane::save);
        save_newest(&self.newest, sorted, sink);
    }

    /// Allocates what the newest pane requires and reduces the other capacities.
    fn fit(&mut self) -> Result<(), OutOfMemory> {
        self.count_closed();
        let spare = self.spare_for(self.newest.nodes(), Budget::UNLIMITED)?;
        self.set_spare(spare);
        self.shrink();
        Ok(())
    }
}

impl Stored for TDigestWindow {
    const TYPE_NAME: &'static CStr = c"td-window";
    /// Versions 1 and 2, without levels, were never published.
    const ENCODING_VERSION: u16 = 3;
    /// As the compression of a header without a window, this would be below 1.
    const HEADER_MARK: &'static [u8] = b"TDWINDO3";
    type Cache = WindowCache;
    type LoadOptions = ();

    fn load_values(source: &mut dyn Source, _: u16, (): &()) -> Result<Self, FormatError> {
        let timeline = Timeline::load::<Self>(source)?;
        let compression = source.read_unsigned()?;
        let compression = u32::try_from(compression)
            .ok()
            .filter(|compression| (1..=MAX_WINDOW_COMPRESSION).contains(compression))
            .ok_or(FormatError::Invalid("the compression is out of range"))?;
        let load = |source: &mut dyn Source| ClosedPane::load(compression, source);
        let closed = PaneList::load(&timeline, source, load)?;
        refuse_if!(closed.newest(&timeline).is_some() => "the newest pane is closed");
        let newest = load_newest(compression, source)?;
        let mut weights = closed.all().iter().map(|pane| pane.content.extent.weight);
        let sum = weights.try_fold(newest.observations(), i64::checked_add);
        sum.ok_or(FormatError::Invalid("the weights overflow"))?;
        let mut digest = Self::with_newest(newest, timeline);
        digest.closed = closed;
        digest.fit()?;
        Ok(digest)
    }

    /// Allocates nothing if the newest pane has 1 MiB of samples or less, and no other thread saves a digest. Cost: a sort of these
    /// samples and a pass over the nodes.
    fn save(&self, sink: &mut dyn Sink) {
        self.newest
            .with_sorted(|sorted| self.save_sorted(sorted, sink));
    }

    /// The order of the samples does not change the size.
    fn payload_bytes(&self) -> u64 {
        PayloadSize::of(|sink| self.save_sorted(self.newest.samples.values(), sink))
    }

    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        self.newest.samples.with_sorted(|sorted| {
            packed_header(Self::HEADER_MARK, |sink| self.save_sorted(sorted, sink))
        })?
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        // Each node has 16 bytes in the header. While the newest pane is loaded, it takes up to 88 bytes per node: the
        // nodes as they are read (capacity up to twice the length), its blocks, and the reserve for closing it.
        budget.request(6 * header.len() as u64)?;
        load_header(header, budget)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::empty()
    }

    /// A copy without the kept merges.
    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::with_newest(self.newest.try_clone()?, self.timeline);
        let closed = self.closed.all();
        (copy.closed).reserve(closed.len(), &self.timeline, Budget::UNLIMITED)?;
        for pane in closed {
            copy.closed.push(pane.first, pane.content.try_clone()?);
        }
        copy.fit()?;
        Ok(copy)
    }
}

impl Timed for TDigestWindow {
    const MAX_PANES: u64 = MAX_SKETCHES;
    const HAS_LEVELS: bool = true;

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }

    /// Cost: the compression of the newest pane, one merge for a step to the next pane, and freeing the expired panes.
    fn advance(&mut self, pane: u64) -> bool {
        self.advance_to(pane)
    }

    fn pane_total(&self, first: u64) -> u64 {
        let weight = match first == self.timeline.newest() {
            true => self.newest.observations(),
            false => (self.closed.get(first)).map_or(0, |pane| pane.extent.weight),
        };
        weight.cast_unsigned()
    }
}
