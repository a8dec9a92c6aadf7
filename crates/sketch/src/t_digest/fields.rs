//! The stored fields before the nodes (docs/contributing/formats.md, "t-digests").

use super::{Centroid, MAX_COMPRESSION, capacity};
use crate::format::{FormatError, Source};
use crate::memory::{OutOfMemory, try_push};

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
        refuse_if!(self.capacity != max_nodes => "the capacity does not go with the compression");
        match usize::try_from(self.nodes) {
            Ok(nodes) if self.nodes <= max_nodes => Ok((compression, nodes)),
            _ => Err(FormatError::Invalid("the number of nodes is out of range")),
        }
    }
}

// RedisBloom 2.6 and 2.8 compress a digest before they store its nodes, except for a digest whose weight is at most 1: they
// store none of its nodes. When they load it, they have nodes of weight 0 in place of the sample. These are stored by the next
// compression, and TDIGEST.MERGE copies them with the mean 0 (docs/contributing/formats.md, "t-digests").

/// Larger doubles do not represent all integers, and one sample is within their tolerance.
const MAX_EXACT: i128 = 1 << 53;

/// Removes the nodes of weight 0, and adds a node for the sample that is missing. If it is neither the smallest nor the largest
/// sample, its value is unknown, and the weight is reduced instead. Returns whether the only node is an unmerged sample.
pub(super) fn restore(
    fields: &mut DigestFields,
    nodes: &mut Vec<Centroid>,
) -> Result<bool, FormatError> {
    let is_unmerged = fields.unmerged_nodes != 0;
    if is_unmerged {
        let weight = unmerged_weight(fields, nodes)?;
        (fields.weight, fields.unmerged_nodes) = (weight, 0);
    }
    let before = nodes.len();
    nodes.retain(|node| node.weight != 0);
    let stored: i128 = nodes.iter().map(|node| i128::from(node.weight)).sum();
    let may_lack_sample = (is_unmerged || nodes.len() < before) && stored < MAX_EXACT;
    if may_lack_sample && fields.weight == stored as f64 + 1.0 {
        let (min, max) = (fields.min, fields.max);
        if !(min.is_finite() && max.is_finite() && min <= max) {
            return Err(FormatError::Invalid("minimum and maximum are no range"));
        }
        match missing_sample(fields, nodes) {
            Some(value) => insert(nodes, value)?,
            None => fields.weight -= 1.0,
        }
        if let [only] = nodes[..]
            && only.weight == 1
        {
            (fields.min, fields.max) = (only.mean, only.mean);
        }
    }
    Ok(is_unmerged && nodes.len() == 1)
}

/// The weight of a digest whose nodes are all unmerged: 0 or 1.
fn unmerged_weight(fields: &DigestFields, nodes: &[Centroid]) -> Result<f64, FormatError> {
    let weight = fields.unmerged_weight;
    let is_valid = fields.unmerged_nodes > 0 && nodes.is_empty() && fields.weight == 0.0;
    match is_valid && (weight == 0.0 || weight == 1.0) {
        true => Ok(weight),
        false => Err(FormatError::Invalid("there are unmerged nodes")),
    }
}

/// The sample that the nodes lack; `None` if its value is unknown.
fn missing_sample(fields: &DigestFields, nodes: &[Centroid]) -> Option<f64> {
    let (min, max) = (fields.min, fields.max);
    match nodes {
        // Copies of nodes without a sample have set the other bound to 0.
        [] if min < 0.0 => Some(min),
        [] => Some(max),
        [first, ..] if min < first.mean => Some(min),
        [.., last] if max > last.mean || min == max => Some(max),
        _ => None,
    }
}

/// Inserts a node of weight 1 in order.
fn insert(nodes: &mut Vec<Centroid>, mean: f64) -> Result<(), OutOfMemory> {
    let at = nodes.partition_point(|node| node.mean <= mean);
    try_push(nodes, Centroid { mean, weight: 1 })?;
    nodes[at..].rotate_right(1);
    Ok(())
}
