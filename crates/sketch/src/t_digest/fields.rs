//! The stored fields before the nodes (docs/contributing/formats.md, "t-digests").

use super::{Centroid, Extent, MAX_COMPRESSION, capacity};
use crate::format::{FormatError, Sink, Source};

/// The fields before the nodes.
pub(super) struct DigestFields {
    compression: f64,
    pub min: f64,
    pub max: f64,
    capacity: i64,
    nodes: i64,
    pub unmerged_nodes: i64,
    pub compressions: i64,
    pub weight: f64,
    pub unmerged_weight: f64,
}

impl DigestFields {
    /// Those of a digest with this number of nodes, all of them merged.
    pub fn new(compression: u32, extent: Extent, nodes: usize, compressions: i64) -> Self {
        Self {
            compression: f64::from(compression),
            min: extent.min,
            max: extent.max,
            capacity: i64::from(capacity(compression)),
            nodes: nodes as i64,
            unmerged_nodes: 0,
            compressions,
            weight: extent.weight as f64,
            unmerged_weight: 0.0,
        }
    }

    /// Writes the values of a digest with these nodes.
    pub fn save<I: Iterator<Item = Centroid>>(&self, nodes: impl Fn() -> I, sink: &mut dyn Sink) {
        sink.write_double(self.compression);
        sink.write_double(self.min);
        sink.write_double(self.max);
        sink.write_signed(self.capacity);
        sink.write_signed(self.nodes);
        sink.write_signed(self.unmerged_nodes);
        sink.write_signed(self.compressions);
        sink.write_double(self.weight);
        sink.write_double(self.unmerged_weight);
        nodes().for_each(|node| sink.write_double(node.mean));
        nodes().for_each(|node| sink.write_double(node.weight as f64));
    }

    /// Reads them.
    pub fn decode(source: &mut dyn Source) -> Result<Self, FormatError> {
        Ok(Self {
            compression: source.read_double()?,
            min: source.read_double()?,
            max: source.read_double()?,
            capacity: source.read_signed()?,
            nodes: source.read_signed()?,
            unmerged_nodes: source.read_signed()?,
            compressions: source.read_signed()?,
            weight: source.read_double()?,
            unmerged_weight: source.read_double()?,
        })
    }

    /// Checks the compression and the number of nodes, and returns them.
    pub fn validate(&self) -> Result<(u32, usize), FormatError> {
        if !(self.compression >= 1.0
            && self.compression <= f64::from(MAX_COMPRESSION)
            && self.compression.fract() == 0.0)
        {
            return Err(FormatError::Invalid("the compression is out of range"));
        }
        let compression = self.compression as u32;
        let max_nodes = i64::from(capacity(compression));
        if self.capacity != max_nodes {
            return Err(FormatError::Invalid(
                "the capacity does not go with the compression",
            ));
        }
        match usize::try_from(self.nodes) {
            Ok(nodes) if self.nodes <= max_nodes => Ok((compression, nodes)),
            _ => Err(FormatError::Invalid("the number of nodes is out of range")),
        }
    }
}
