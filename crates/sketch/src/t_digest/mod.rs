//! t-digest: quantiles of a stream, from a few hundred weighted means.
//!
//! This is a merging t-digest (Dunning & Ertl, "Computing Extremely Accurate Quantiles Using t-Digests"). New samples
//! are buffered (samples.rs). When the buffer is full, a compression merges neighboring nodes
//! as far as the scale function allows (centroid.rs): few samples per centroid at the ends of the distribution, many in
//! the middle. Nodes of equal means stay apart (runs.rs).
//!
//! Reads do not change the state. All queries except for the minimum and the maximum are answered from the compressed
//! form of the state ([`Compressed`]), which is computed separately and kept in a cache (cache.rs) until the next write. The
//! state is therefore a function of the writes, and equal on a primary, on its replica and after a reload. merge.rs merges
//! digests, stored.rs has the stored forms. window/ has the digest with a sliding window, [`TDigestWindow`].
//!
//! Memory: 8 bytes per node of one sample, merged or not, in a block whose capacity is a power of two; 16 bytes per
//! other node, or per run (packed.rs). It depends only on the state, so a copy and a loaded digest take
//! as much as the original. The cache takes 16 bytes per centroid of the compressed form. If a read had to sort samples, it also takes 4 bytes per centroid, 8 per node, in a
//! block whose capacity is a power of two, and 16 per other node (nodes.rs). [`TDigest::new`] requests the memory of a full digest from the budget; additions request what they allocate.

mod accuracy;
mod cache;
mod centroid;
mod compressed;
mod fields;
mod merge;
mod nodes;
mod packed;
mod runs;
mod samples;
mod stored;
#[cfg(test)]
mod tests;
mod weighted;
mod window;

pub use cache::DigestCache;
pub use centroid::Centroid;
pub use compressed::Compressed;
pub use merge::Operand;
pub use window::{TDigestWindow, WindowCache};

use super::blocks::{BlockMover, BlockVisitor, Blocks};
use super::merge::TooMuchWork;
use crate::cache::Stamp;
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::window::{Timed, WindowError};
use centroid::in_order;
use compressed::Extent;
use nodes::NodesKey;
use packed::Packed;
use runs::compress_within;
use samples::Samples;

/// Why an operation failed, with the text that a command replies after the error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The compression is zero or negative.
    #[error("T-Digest: compression parameter needs to be a positive integer")]
    CompressionNotPositive,
    /// The capacity for the compression exceeds 2^31 - 1 nodes.
    #[error("T-Digest: allocation failed")]
    CompressionTooLarge,
    /// The window has too many panes for a digest.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// A weight is not at least 1.
    #[error("T-Digest: a weight must be an integer of at least 1")]
    InvalidWeight,
    /// A value is not a finite number.
    #[error("T-Digest: val parameter needs to be a finite number")]
    NotFinite,
    /// The sum of the weights would exceed 2^63 - 1.
    #[error("T-Digest: overflow detected")]
    Overflow,
    /// A merge would read more than its limit.
    #[error("T-Digest: too much work for one merge, merge fewer sources at a time")]
    TooMuchWork(#[from] TooMuchWork),
    /// The memory was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// The compression of a digest that the server creates without a specification.
pub const DEFAULT_COMPRESSION: i64 = 100;

/// The largest compression whose capacity fits in 31 bits.
pub const MAX_COMPRESSION: u32 = (i32::MAX as u32 - 10) / 6;

/// The maximum number of nodes of a digest of this compression: 6 · compression + 10.
const fn capacity(compression: u32) -> u32 {
    6 * compression + 10
}

/// Bytes of a digest with the maximum number of nodes.
const fn full_bytes(compression: u32) -> u64 {
    80 + 16 * capacity(compression) as u64
}

/// The fields of TDIGEST.INFO, except for the memory usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// The compression parameter.
    pub compression: u32,
    /// The maximum number of nodes.
    pub capacity: u32,
    /// Number of nodes that have been compressed (after a load: all nodes).
    pub merged_nodes: usize,
    /// Number of nodes added since the last compression.
    pub unmerged_nodes: usize,
    /// Sum of the weights of the merged nodes.
    pub merged_weight: i64,
    /// Sum of the weights of the unmerged nodes.
    pub unmerged_weight: i64,
    /// Number of samples: the sum of all weights.
    pub observations: i64,
    /// Compressions since the creation or the last reset.
    pub total_compressions: i64,
}

/// The nodes added since the last compression. Only INFO reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Unmerged {
    nodes: usize,
    weight: i64,
}

/// A t-digest. See the [module](self).
///
/// The state is the nodes in *stable order*: by mean, and among equal means (0.0 and -0.0 are equal) first the
/// compressed nodes, then the others in the order of their addition.
///
/// # Example
///
/// ```
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::t_digest::{DEFAULT_COMPRESSION, TDigest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // TDIGEST.CREATE latency, TDIGEST.ADD latency 1 2 3, TDIGEST.QUANTILE latency 0.5
/// let mut latency = TDigest::new(DEFAULT_COMPRESSION, Budget::UNLIMITED)?;
/// latency.add(&[1.0, 2.0, 3.0])?;
/// let mut cache = Default::default();
/// assert_eq!(latency.compressed_with(&mut cache)?.quantile(0.5), 2.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TDigest {
    /// From 1 to [`MAX_COMPRESSION`].
    compression: u32,
    /// Smallest and largest sample; `f64::MAX` and `f64::MIN` when empty.
    min: f64,
    max: f64,
    /// Compressions since the creation or the last reset.
    compressions: i64,
    /// The nodes of several samples, and the nodes of one sample that precede such a node with an equal mean; sorted.
    centroids: Packed,
    /// Sum of the weights of the centroids. Together with the samples at most 2^63 - 1.
    weight: i64,
    /// The other nodes, each of one sample. They follow the centroids of equal mean.
    samples: Samples,
    unmerged: Unmerged,
    stamp: Stamp,
}

impl TDigest {
    /// An empty digest. Allocates nothing, but requests the memory of a full digest from `budget`, so that an excessive
    /// compression is refused here and not by a later addition.
    ///
    /// # Errors
    /// [`DigestError::CompressionNotPositive`], [`DigestError::CompressionTooLarge`], or
    /// [`DigestError::OutOfMemory`] if `budget` refuses the bytes.
    pub fn new(compression: i64, budget: Budget<'_>) -> Result<Self, DigestError> {
        refuse_if!(compression <= 0 => DigestError::CompressionNotPositive);
        let compression = u32::try_from(compression)
            .ok()
            .filter(|&compression| compression <= MAX_COMPRESSION)
            .ok_or(DigestError::CompressionTooLarge)?;
        let digest = Self::empty(compression);
        budget.request(full_bytes(compression))?;
        Ok(digest)
    }

    /// An empty digest of a valid compression.
    fn empty(compression: u32) -> Self {
        Self {
            compression,
            min: f64::MAX,
            max: f64::MIN,
            compressions: 0,
            centroids: Packed::default(),
            weight: 0,
            unmerged: Unmerged::default(),
            samples: Samples::default(),
            stamp: Stamp::new(),
        }
    }

    /// Adds samples of weight 1, in this order. Cost: a copy, and a compression (a sort of the buffer and a pass over
    /// all nodes) whenever the number of nodes reaches the capacity less one.
    ///
    /// # Errors
    /// [`DigestError::NotFinite`], [`DigestError::Overflow`] or [`DigestError::OutOfMemory`]; then nothing has changed.
    pub fn add(&mut self, values: &[f64]) -> Result<(), DigestError> {
        self.add_within(values, Budget::UNLIMITED)
    }

    /// [`TDigest::add`] with a budget, from which the growth of the digest is requested before it grows.
    ///
    /// # Errors
    /// As [`TDigest::add`].
    #[inline]
    pub fn add_within(&mut self, values: &[f64], budget: Budget<'_>) -> Result<(), DigestError> {
        self.check_samples(values, 0)?;
        self.add_checked(values, budget)?;
        Ok(())
    }

    /// Checks that samples can be added while there are `others` observations elsewhere that count as well.
    fn check_samples(&self, values: &[f64], others: i64) -> Result<(), DigestError> {
        refuse_if!(!values.iter().all(|value| value.is_finite()) => DigestError::NotFinite);
        i64::try_from(values.len())
            .ok()
            .and_then(|count| self.observations().checked_add(count)?.checked_add(others))
            .ok_or(DigestError::Overflow)?;
        Ok(())
    }

    /// Adds samples that [`TDigest::check_samples`] accepts.
    fn add_checked(&mut self, values: &[f64], budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let present = self.samples.len();
        let is_last = |&value: &f64| self.centroids.is_open(value);
        let free = self.free_nodes(self.centroids.len() + present);
        if values.len() <= free && !(self.centroids.has_open() && values.iter().any(is_last)) {
            if values.len() > self.samples.capacity() - present {
                self.reserve_samples(values.len(), budget)?;
            }
            self.samples.append(values);
            self.unmerged.nodes += values.len();
            self.unmerged.weight += values.len() as i64;
        } else {
            self.rebuild(values, budget)?;
        }
        for &value in values {
            if value < self.min {
                self.min = value;
            }
            if value > self.max {
                self.max = value;
            }
        }
        self.stamp.change();
        Ok(())
    }

    /// Reserves memory for `more` samples that need no compression.
    #[cold]
    fn reserve_samples(&mut self, more: usize, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let max_len = self.max_samples();
        let after = self.samples.bytes_with(more, max_len);
        self.request_growth(after + self.centroids.block_bytes(), budget)?;
        self.samples.reserve(more, max_len)
    }

    /// Adds samples that need a compression, or that [`Packed`] takes. The new state is built beside the
    /// old one, so that a refused allocation changes nothing.
    fn rebuild(&mut self, mut values: &[f64], budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let capacity = self.capacity();
        let more = values.len().min(capacity);
        let mut samples = self.samples.try_clone(more, capacity)?;
        // After a compression of this call. Not from the number of compressions, which saturates.
        let mut compressed: Option<Vec<Centroid>> = None;
        let (mut weight, mut compressions) = (self.weight, self.compressions);
        let mut unmerged = self.unmerged;
        loop {
            let nodes = compressed.as_ref().map_or(self.centroids.len(), Vec::len);
            let free = self.free_nodes(nodes + samples.len());
            // A compression may leave `capacity - 1` nodes; then one more node is allowed.
            let free = free.max(usize::from(compressed.is_some() && samples.len() == 0));
            let (now, later) = values.split_at(free.min(values.len()));
            samples.append(now);
            unmerged.nodes += now.len();
            unmerged.weight += now.len() as i64;
            values = later;
            if values.is_empty() {
                break;
            }
            samples.sort();
            weight += samples.len() as i64;
            let elements = (compressed.as_deref()).unwrap_or(self.centroids.elements());
            let centroids;
            (centroids, weight) = compress_within(
                in_order(elements, samples.values()),
                elements.len() + samples.len(),
                weight,
                self.compression,
                capacity,
            )?;
            compressed = Some(centroids);
            compressions = compressions.saturating_add(1);
            samples.clear();
            unmerged = Unmerged::default();
        }
        let present = match compressed {
            Some(centroids) => centroids,
            None => {
                let mut nodes = with_capacity(self.centroids.len())?;
                nodes.extend(self.centroids.nodes());
                nodes
            }
        };
        let mut nodes = Nodes::of(&present, samples.len(), capacity)?;
        if nodes.centroids.has_open() {
            samples.sort();
            let mut all = with_capacity(present.len() + samples.len())?;
            all.extend(in_order(&present, samples.values()));
            nodes = Nodes::of(&all, 0, capacity)?;
        } else {
            nodes.samples.append(samples.values());
        }
        self.request_growth(nodes.block_bytes(), budget)?;
        self.set_nodes(nodes);
        (self.unmerged, self.compressions) = (unmerged, compressions);
        Ok(())
    }

    /// Replaces all nodes. The new ones count as merged.
    fn set_nodes(&mut self, nodes: Nodes) {
        self.weight = nodes.centroids.weight();
        self.centroids = nodes.centroids;
        self.samples = nodes.samples;
        self.stamp.change();
        self.unmerged = Unmerged::default();
    }

    /// Requests the bytes by which a write grows the blocks. `after` is their size after the write.
    fn request_growth(&self, after: usize, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let more = after.saturating_sub(self.block_bytes()) as u64;
        if more > 0 {
            budget.request(more)?;
        }
        Ok(())
    }

    /// The number of nodes that can be added before the next compression, which is due at the capacity less one.
    fn free_nodes(&self, present: usize) -> usize {
        (self.capacity() - 1).saturating_sub(present)
    }

    /// Removes all samples and frees the memory. The compression stays.
    pub fn reset(&mut self) {
        *self = Self::empty(self.compression);
    }

    /// Whether the digest equals a new one.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.observations() == 0 && self.compressions == 0
    }

    /// Bytes of all its blocks. Cost: constant.
    #[must_use]
    #[inline]
    pub fn block_bytes(&self) -> usize {
        self.centroids.block_bytes() + self.samples.block_bytes()
    }

    /// The smallest sample; nan if empty.
    #[must_use]
    pub fn min(&self) -> f64 {
        if self.observations() == 0 {
            f64::NAN
        } else {
            self.min
        }
    }

    /// The largest sample; nan if empty.
    #[must_use]
    pub fn max(&self) -> f64 {
        if self.observations() == 0 {
            f64::NAN
        } else {
            self.max
        }
    }

    /// The compression parameter.
    #[must_use]
    pub fn compression(&self) -> u32 {
        self.compression
    }

    /// The maximum number of nodes.
    fn capacity(&self) -> usize {
        capacity(self.compression) as usize
    }

    /// The maximum number of samples besides the centroids.
    fn max_samples(&self) -> usize {
        self.capacity().saturating_sub(self.centroids.max_len())
    }

    /// Number of samples: the sum of all weights.
    #[must_use]
    pub fn observations(&self) -> i64 {
        self.weight + self.samples.len() as i64
    }

    /// The fields of TDIGEST.INFO.
    #[must_use]
    pub fn info(&self) -> Info {
        let nodes = self.nodes();
        let observations = self.observations();
        let capacity = capacity(self.compression);
        Info {
            compression: self.compression,
            capacity,
            merged_nodes: nodes - self.unmerged.nodes,
            unmerged_nodes: self.unmerged.nodes,
            merged_weight: observations - self.unmerged.weight,
            unmerged_weight: self.unmerged.weight,
            observations,
            total_compressions: self.compressions,
        }
    }

    /// The compressed form of the state, which answers queries. Cost: a sort of the samples and a pass over all nodes.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn compressed(&self) -> Result<Compressed, OutOfMemory> {
        self.samples.with_sorted(|sorted| self.compress(sorted))?
    }

    /// [`TDigest::compressed`], kept in `cache`. Cost: after a write, a sort of the new samples and a pass over the centroids, or
    /// over all nodes if a compression was due; otherwise none.
    ///
    /// # Errors
    /// As [`TDigest::compressed`].
    pub fn compressed_with<'c>(
        &self,
        cache: &'c mut DigestCache,
    ) -> Result<&'c Compressed, OutOfMemory> {
        let stamp = self.stamp.number();
        if cache.compressed_of(stamp).is_none() {
            cache.update(stamp, |compressed| self.update(compressed))?;
        }
        Ok(cache.compressed_of(stamp).expect("computed above"))
    }

    /// Makes a compressed form that of this state. Nodes are only copied if samples are not in order, or were not when they were
    /// copied first.
    fn update(&self, compressed: &mut Compressed) -> Result<(), OutOfMemory> {
        let (key, others) = (self.nodes_key(), &self.centroids);
        if self.samples.is_sorted() && compressed.nodes.key != Some(key) {
            *compressed = self.compress(self.samples.values())?;
            return Ok(());
        }
        compressed.update(
            key,
            (others.elements(), others.elements().len()),
            &self.samples,
            self.extent(),
            self.compression,
        )
    }

    /// The key of the nodes in a compressed form.
    fn nodes_key(&self) -> NodesKey {
        // A change of the centroids replaces the list of samples.
        (self.samples.list, 0, 0)
    }

    /// Computes the compressed form, with the samples in stable order.
    fn compress(&self, sorted: &[f64]) -> Result<Compressed, OutOfMemory> {
        Compressed::new(
            in_order(self.centroids.elements(), sorted),
            self.nodes(),
            self.extent(),
            self.compression,
        )
    }

    /// Passes the samples in stable order to `read`.
    ///
    /// # Panics
    /// If the allocator refuses memory for a copy of more than 1 MiB of samples, or of samples while another thread saves a
    /// digest. A save then fails.
    fn with_sorted<R>(&self, read: impl FnOnce(&[f64]) -> R) -> R {
        (self.samples.with_sorted(read)).expect("memory to sort the samples of a digest")
    }

    /// The extent of its samples.
    fn extent(&self) -> Extent {
        Extent {
            min: self.min,
            max: self.max,
            weight: self.observations(),
        }
    }

    fn nodes(&self) -> usize {
        self.centroids.len() + self.samples.len()
    }
}

/// The nodes in the form in which a digest stores them. The nodes alone determine which are centroids and which
/// are samples.
struct Nodes {
    centroids: Packed,
    samples: Samples,
}

impl Nodes {
    /// The form of nodes in stable order, with capacity for `more` samples, in a digest of this capacity. A node of
    /// one sample becomes a sample, unless a heavier node with an equal mean follows: samples follow the centroids of
    /// equal mean. Cost: a pass over the nodes.
    fn of(nodes: &[Centroid], more: usize, capacity: usize) -> Result<Self, OutOfMemory> {
        let (centroids, front) = Packed::of(nodes)?;
        let mut samples = Samples::default();
        let max_len = capacity.saturating_sub(centroids.max_len());
        samples.reserve(front.len() + more, max_len)?;
        samples.append(&front);
        samples.sorted = samples.len();
        Ok(Self { centroids, samples })
    }

    /// Bytes of all blocks.
    fn block_bytes(&self) -> usize {
        self.centroids.block_bytes() + self.samples.block_bytes()
    }
}

impl PartialEq for TDigest {
    /// Bitwise equality of the logical state, as [`Stored::digest`](crate::stored::Stored::digest) feeds it.
    fn eq(&self, other: &Self) -> bool {
        let head = |digest: &Self| {
            (
                digest.compression,
                digest.compressions,
                digest.min.to_bits(),
                digest.max.to_bits(),
            )
        };
        let bits = |node: Centroid| (node.mean.to_bits(), node.weight);
        head(self) == head(other)
            && self.with_sorted(|samples| {
                other.with_sorted(|other_samples| {
                    in_order(self.centroids.nodes(), samples)
                        .map(bits)
                        .eq(in_order(other.centroids.nodes(), other_samples).map(bits))
                })
            })
    }
}

impl Timed for TDigest {}

impl Blocks for TDigest {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.centroids.visit(visitor);
        self.samples.visit(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => self.centroids.relocate(mover),
            1 => self.samples.relocate(mover),
            _ => return false,
        }
        true
    }
}
