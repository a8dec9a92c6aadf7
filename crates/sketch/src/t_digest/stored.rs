//! The stored forms (docs/contributing/formats.md, "t-digests"): the values of an RDB file or DUMP payload, and the same fields packed as one
//! header.
//!
//! Both contain all nodes in stable order as merged nodes: the format has no field for unmerged ones, and a loaded
//! digest must continue as the saved one does. Weights are stored as doubles. Those above 2^53 are already rounded to
//! doubles by each compression.
//!
//! RedisBloom 2.6 and 2.8 store a digest of one sample without a node, and a digest that continued from it with a node of
//! weight 0 in place of that sample. fields.rs restores the sample.

use super::{
    Centroid, DigestCache, Extent, Nodes, TDigest, Unmerged,
    centroid::{in_order, stored_weight},
    fields::{self, DigestFields},
};
use crate::cache::Stamp;
use crate::format::packed::{PayloadSize, packed_header};
use crate::format::{FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, try_push, with_capacity};
use crate::stored::{Stored, load_header};
use std::ffi::CStr;

/// The tolerated relative error of the stored sum of the weights: other writers add up doubles.
const SUM_TOLERANCE: f64 = 1.0 / (1u64 << 50) as f64;

/// Number of doubles that are read together.
const BLOCK_VALUES: usize = 512;

/// Maximum number of nodes for which memory is allocated before they are read: more than a
/// digest of compression 100 has, so that its nodes need one allocation.
const RESERVED_NODES: usize = 1_024;

/// Reads this many nodes. Above [`RESERVED_NODES`], memory grows with the values that are read.
fn read_nodes(nodes: usize, source: &mut dyn Source) -> Result<Vec<Centroid>, FormatError> {
    let mut centroids: Vec<Centroid> = with_capacity(nodes.min(RESERVED_NODES))?;
    let mut block = [0.0; BLOCK_VALUES];
    while centroids.len() < nodes {
        let means = &mut block[..BLOCK_VALUES.min(nodes - centroids.len())];
        source.read_doubles(means)?;
        for &mean in &*means {
            try_push(&mut centroids, Centroid { mean, weight: 0 })?;
        }
    }
    for centroids in centroids.chunks_mut(BLOCK_VALUES) {
        let weights = &mut block[..centroids.len()];
        source.read_doubles(weights)?;
        for (centroid, &weight) in centroids.iter_mut().zip(&*weights) {
            centroid.weight = integer_weight(weight)?;
        }
    }
    Ok(centroids)
}

/// Checks that the nodes are in order and consistent with the other fields. Returns the smallest and the largest sample.
fn check_nodes(
    fields: &DigestFields,
    centroids: &mut [Centroid],
) -> Result<(f64, f64), FormatError> {
    let means_in_order = centroids.is_sorted_by(|left, right| left.mean <= right.mean)
        && centroids.iter().all(|centroid| centroid.mean.is_finite());
    refuse_if!(!means_in_order => "the means are not in order");
    total(centroids)
        .filter(|&weight| (weight as f64 - fields.weight).abs() <= fields.weight * SUM_TOLERANCE)
        .ok_or(FormatError::Invalid("the weights have another sum"))?;
    let ([first, .., last] | [first @ last]) = &*centroids else {
        return Ok((Extent::EMPTY.min, Extent::EMPTY.max));
    };
    let around = fields.min.is_finite()
        && fields.max.is_finite()
        && fields.min <= first.mean
        && last.mean <= fields.max;
    match around {
        true => Ok((fields.min, fields.max)),
        false => Err(FormatError::Invalid(
            "means are outside minimum and maximum",
        )),
    }
}

/// The weight that a stored double stands for. It is 0 in a node without a sample; see fields.rs.
fn integer_weight(stored: f64) -> Result<i64, FormatError> {
    // The conversion saturates. A stored 2^63 becomes the largest double below it; larger values, fractions and nan change
    // and are refused.
    let weight = stored as i64;
    if weight >= 0 && weight as f64 == stored {
        Ok(stored_weight(weight))
    } else {
        Err(FormatError::Invalid("a weight is out of range"))
    }
}

/// The sum of the weights. If rounding to doubles has raised it above 2^63 - 1, the weight of the heaviest centroid is
/// reduced, so that every digest that was saved can be loaded. `None` if the excess is larger than the rounding error.
fn total(centroids: &mut [Centroid]) -> Option<i64> {
    let sum: i128 = centroids.iter().map(|node| i128::from(node.weight)).sum();
    if let Ok(sum) = i64::try_from(sum) {
        return Some(sum);
    }
    let excess = i64::try_from(sum - i128::from(i64::MAX)).ok()?;
    let heaviest = centroids.iter_mut().max_by_key(|node| node.weight)?;
    let rounding = (i64::MAX as f64 * SUM_TOLERANCE) as i64;
    if excess > rounding || heaviest.weight <= excess {
        return None;
    }
    heaviest.weight = stored_weight(heaviest.weight - excess);
    i64::try_from(
        centroids
            .iter()
            .map(|node| i128::from(node.weight))
            .sum::<i128>(),
    )
    .ok()
}

impl Stored for TDigest {
    const TYPE_NAME: &'static CStr = c"TDIS-TYPE";
    const ENCODING_VERSION: u16 = 0;
    type Cache = DigestCache;
    type LoadOptions = ();

    fn load_values(source: &mut dyn Source, _: u16, (): &()) -> Result<Self, FormatError> {
        let mut fields = DigestFields::decode(source)?;
        let (compression, nodes) = fields.validate()?;
        let mut centroids = read_nodes(nodes, source)?;
        let is_unmerged = fields::restore(&mut fields, &mut centroids)?;
        let mut digest = Self::empty(compression);
        (digest.min, digest.max) = check_nodes(&fields, &mut centroids)?;
        digest.compressions = fields.compressions;
        digest.set_nodes(Nodes::of(&centroids, 0, digest.capacity())?);
        if is_unmerged {
            digest.unmerged = Unmerged {
                nodes: 1,
                weight: 1,
            };
        }
        Ok(digest)
    }

    /// Allocates nothing if there is 1 MiB of samples or less, and no other thread saves a digest. Cost: a sort of the samples
    /// and a pass over the nodes.
    fn save(&self, sink: &mut dyn Sink) {
        self.with_sorted(|sorted| self.save_sorted(sorted, sink));
    }

    /// The order of the samples does not change the size.
    fn payload_bytes(&self) -> u64 {
        PayloadSize::of(|sink| self.save_sorted(self.samples.values(), sink))
    }

    /// The values of [`Stored::save`] as packed little-endian fields of eight bytes. A digest has no arrays and so no
    /// chunks besides the header.
    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        (self.samples)
            .with_sorted(|sorted| packed_header(&[], |sink| self.save_sorted(sorted, sink)))?
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        // The capacity of the nodes doubles while they are read.
        budget.request(2 * header.len() as u64)?;
        load_header(header, budget)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::empty()
    }

    /// Feeds the logical state. Whether a node is merged, and capacities, are not part of it.
    /// Cost: five calls, and one per 256 nodes: the server hashes the bytes of each call twice.
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        feed(&self.compression.to_le_bytes());
        feed(&self.compressions.to_le_bytes());
        feed(&self.min.to_le_bytes());
        feed(&self.max.to_le_bytes());
        self.with_sorted(|sorted| {
            let (mut nodes, mut len) = ([[0; 8]; 512], 0);
            for node in in_order(self.centroids.nodes(), sorted) {
                (nodes[len], nodes[len + 1]) = (node.mean.to_le_bytes(), node.weight.to_le_bytes());
                len += 2;
                if len == nodes.len() {
                    feed(nodes.as_flattened());
                    len = 0;
                }
            }
            feed(nodes[..len].as_flattened());
        });
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let centroids = self.centroids.try_clone()?;
        let samples = self.samples.try_clone(0, self.max_samples())?;
        Ok(Self {
            centroids,
            samples,
            stamp: Stamp::new(),
            ..*self
        })
    }
}

impl TDigest {
    /// Writes the values, with the samples in stable order: [`DigestFields`], with all nodes merged, and the nodes.
    fn save_sorted(&self, sorted: &[f64], sink: &mut dyn Sink) {
        sink.write_double(self.compression.into());
        sink.write_double(self.min);
        sink.write_double(self.max);
        sink.write_signed(self.capacity() as i64);
        sink.write_signed(self.nodes() as i64);
        sink.write_signed(0);
        sink.write_signed(self.compressions);
        sink.write_double(self.observations() as f64);
        sink.write_double(0.0);
        let nodes = || in_order(self.centroids.nodes(), sorted);
        nodes().for_each(|node| sink.write_double(node.mean));
        nodes().for_each(|node| sink.write_double(node.weight as f64));
    }
}
