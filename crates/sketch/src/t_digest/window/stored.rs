//! The stored forms: the values of an RDB file or DUMP payload, and the same fields packed as one header.
//!
//! The values are the timeline, the compression, the number of live panes with samples, and for each of them its number
//! and the values of a digest without a window, with the doubles of the nodes in strings. Only the newest pane has unmerged nodes; they are samples.

use super::{
    ClosedPane, MAX_WINDOW_COMPRESSION, TDigest, TDigestWindow, Timeline, WindowCache,
    max_closed_nodes,
};
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, try_push, with_capacity};
use crate::stored::Stored;
use crate::t_digest::Unmerged;
use crate::t_digest::centroid::in_order;
use crate::t_digest::stored::{
    BLOCK_VALUES, Checked, Header, NodeFormat, PACKED_HEADER_BYTES, Packed, Unchecked, load_packed,
};
use crate::window::{MAX_SKETCHES, Timed};
use std::ffi::CStr;

/// Bytes of the packed fields before the panes: the mark, the timeline, two integers.
const PACKED_BYTES: usize = 8 + Timeline::BYTES + 16;

impl TDigestWindow {
    /// The number of panes with samples.
    fn stored_panes(&self) -> usize {
        self.closed.len() + usize::from(self.newest.observations() > 0)
    }

    /// The number of nodes of all panes.
    fn nodes(&self) -> usize {
        let closed = self.closed.iter().map(|pane| pane.centroids.len());
        closed.sum::<usize>() + self.newest.nodes()
    }

    /// Adds a loaded pane; `number` is live and above those of all panes before.
    fn load_pane(&mut self, number: u64, source: &mut dyn Source) -> Result<(), FormatError> {
        let parts = Unchecked::decode(NodeFormat::Strings, source)?;
        let unmerged = parts.unmerged();
        let checked = parts.validate()?;
        if checked.compression != self.newest.compression {
            return Err(FormatError::Invalid("a pane has another compression"));
        }
        if checked.extent.weight == 0 || checked.compressions < 0 {
            return Err(FormatError::Invalid("a pane has no samples"));
        }
        let others = self.closed_weight;
        if others.checked_add(checked.extent.weight).is_none() {
            return Err(FormatError::Invalid("the weights overflow"));
        }
        if number == self.timeline.newest() {
            self.newest = checked.digest()?;
            self.newest.unmerged = checked_unmerged(unmerged, &self.newest)?;
            return Ok(());
        }
        let is_closed = unmerged == (0, 0.0)
            && checked.compressions > 0
            && checked.centroids.len() <= max_closed_nodes(checked.compression);
        if !is_closed {
            return Err(FormatError::Invalid("a pane is not closed"));
        }
        let Checked {
            extent,
            compressions,
            centroids: loaded,
            ..
        } = checked;
        let mut centroids = with_capacity(loaded.len())?;
        centroids.extend_from_slice(&loaded);
        let pane = ClosedPane {
            number,
            centroids,
            extent,
            compressions,
        };
        self.closed_weight += extent.weight;
        self.closed_bytes += pane.block_bytes();
        try_push(&mut self.closed, pane)?;
        Ok(())
    }

    /// Writes the values, with the samples of the newest pane in stable order.
    fn save_sorted(&self, sorted: &[f64], sink: &mut dyn Sink) {
        self.timeline.save(sink);
        sink.write_unsigned(self.newest.compression.into());
        sink.write_unsigned(self.stored_panes() as u64);
        for pane in &self.closed {
            sink.write_unsigned(pane.number);
            Header::new(
                self.newest.compression,
                pane.extent,
                pane.centroids.len(),
                pane.compressions,
            )
            .save(|| pane.centroids.iter().copied(), NodeFormat::Strings, sink);
        }
        if self.newest.observations() > 0 {
            sink.write_unsigned(self.timeline.newest());
            let nodes = || in_order(&self.newest.centroids, sorted);
            let header = self.newest.stored_header();
            let header = header.with_unmerged(self.newest.unmerged);
            header.save(nodes, NodeFormat::Strings, sink);
        }
    }

    /// Allocates what the newest pane requires and reduces the other capacities.
    fn fit(&mut self) -> Result<(), OutOfMemory> {
        let spare = self.spare_for(self.newest.nodes(), Budget::UNLIMITED)?;
        self.set_spare(spare);
        self.shrink();
        Ok(())
    }
}

/// The unmerged nodes of a newest pane. They are samples, so both stored numbers are the same.
fn checked_unmerged(
    (nodes, weight): (i64, f64),
    newest: &TDigest,
) -> Result<Unmerged, FormatError> {
    let samples = newest.samples.len();
    match usize::try_from(nodes) {
        Ok(unmerged) if unmerged <= samples && weight == nodes as f64 => Ok(Unmerged {
            nodes: unmerged,
            weight: nodes,
        }),
        _ => Err(FormatError::Invalid(
            "the number of unmerged nodes is out of range",
        )),
    }
}

impl Stored for TDigestWindow {
    const TYPE_NAME: &'static CStr = c"td-window";
    const ENCODING_VERSION: u16 = 2;
    /// As the compression of a header without a window, this would be above 10^100.
    const HEADER_MARK: &'static [u8] = b"TDWINDOW";
    type Cache = WindowCache;
    type Defaults = ();

    fn load_values(
        source: &mut dyn Source,
        encoding_version: u16,
        (): &Self::Defaults,
    ) -> Result<Self, FormatError> {
        if encoding_version != Self::ENCODING_VERSION {
            return Err(FormatError::UnknownVersion(encoding_version));
        }
        let timeline = Timeline::load::<Self>(source)?;
        let compression = source.read_unsigned()?;
        let compression = u32::try_from(compression)
            .ok()
            .filter(|compression| (1..=MAX_WINDOW_COMPRESSION).contains(compression))
            .ok_or(FormatError::Invalid("the compression is out of range"))?;
        let panes = source.read_unsigned()?;
        if panes > timeline.window().live_panes() as u64 {
            return Err(FormatError::Invalid("the number of panes is out of range"));
        }
        let mut digest = Self::with_newest(TDigest::empty(compression), timeline);
        let mut live = timeline.live();
        for _ in 0..panes {
            let number = source.read_unsigned()?;
            if !live.contains(&number) {
                return Err(FormatError::Invalid("a pane is not live or not in order"));
            }
            digest.load_pane(number, source)?;
            live = number + 1..=timeline.newest();
        }
        digest.fit()?;
        Ok(digest)
    }

    /// Allocates nothing if the newest pane has 1 MiB of samples or less, and no other thread saves a digest. Cost: a sort of these
    /// samples and a pass over the nodes.
    fn save(&self, sink: &mut dyn Sink) {
        self.newest
            .with_sorted(|sorted| self.save_sorted(sorted, sink));
    }

    /// Each value before the nodes takes at most ten bytes; type, end and footer take 21. A string takes at most 16 bytes more
    /// than its doubles: the opcode, and two or three lengths. Each pane has at most two strings that are not full.
    fn payload_bytes(&self) -> u64 {
        const FIXED_BYTES: u64 = 1 + 9 + 1 + 10;
        const STRING_BYTES: u64 = 16;
        let (panes, nodes) = (self.stored_panes() as u64, self.nodes() as u64);
        let values = 5 + (1 + Header::VALUES) * panes;
        let strings = 2 * (nodes / BLOCK_VALUES as u64 + panes);
        FIXED_BYTES + 10 * values + STRING_BYTES * strings + 16 * nodes
    }

    /// The mark, and the values of [`Stored::save`] as packed little-endian fields of eight bytes, the strings without their
    /// lengths. There are no chunks besides the header.
    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        let panes = (8 + PACKED_HEADER_BYTES) * self.stored_panes();
        let mut packed = Packed(with_capacity(PACKED_BYTES + panes + 16 * self.nodes())?);
        packed.0.extend_from_slice(Self::HEADER_MARK);
        (self.newest.samples).with_sorted(|sorted| self.save_sorted(sorted, &mut packed))?;
        Ok(packed.0)
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        // Each node has 16 bytes in the header. While the newest pane is loaded, it takes up to 88 bytes per node: the
        // nodes as they are read (capacity up to twice the length), its blocks, and the reserve for closing it.
        budget.request(6 * header.len() as u64)?;
        let mut fields = Fields::new(header);
        if !fields.skip(Self::HEADER_MARK) {
            return Err(FormatError::Invalid(
                "not the header of a digest with a window",
            ));
        }
        load_packed(fields)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::empty()
    }

    /// Feeds the logical state. Capacities and the kept merges are not part of it. Cost: two calls per node, and seven
    /// per pane.
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        feed(&self.timeline.to_bytes());
        feed(&self.newest.compression.to_le_bytes());
        for pane in &self.closed {
            feed(&pane.number.to_le_bytes());
            feed(&pane.compressions.to_le_bytes());
            feed(&pane.extent.min.to_le_bytes());
            feed(&pane.extent.max.to_le_bytes());
            feed(&(pane.centroids.len() as u64).to_le_bytes());
            for node in &pane.centroids {
                feed(&node.mean.to_le_bytes());
                feed(&node.weight.to_le_bytes());
            }
        }
        feed(&(self.newest.unmerged.nodes as u64).to_le_bytes());
        self.newest.digest(feed);
    }

    /// A copy without the kept merges.
    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::with_newest(self.newest.try_clone()?, self.timeline);
        copy.closed = with_capacity(self.closed_capacity(self.closed.len()))?;
        for pane in &self.closed {
            let pane = pane.try_clone()?;
            copy.closed_weight += pane.extent.weight;
            copy.closed_bytes += pane.block_bytes();
            copy.closed.push(pane);
        }
        copy.fit()?;
        Ok(copy)
    }
}

impl Timed for TDigestWindow {
    const MAX_PANES: u64 = MAX_SKETCHES;

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }

    /// Cost: the compression of the newest pane, and freeing the expired ones.
    fn advance(&mut self, pane: u64) -> bool {
        self.advance_to(pane)
    }

    fn pane_total(&self, pane: u64) -> u64 {
        if pane == self.timeline.newest() {
            return self.newest.observations().cast_unsigned();
        }
        let found = self.closed.binary_search_by_key(&pane, |pane| pane.number);
        found.map_or(0, |at| self.closed[at].extent.weight.cast_unsigned())
    }
}
