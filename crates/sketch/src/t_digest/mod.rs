//! t-digest: quantiles of a stream from a few hundred weighted means.
//!
//! A merging t-digest (Dunning & Ertl, "Computing Extremely Accurate Quantiles Using t-Digests",
//! the merging variant; spec: t-digest.md). New samples wait in a buffer (samples.rs). When it is
//! full, one pass over all nodes in order (centroid.rs) joins neighbours as far as the scale
//! function allows: few samples to a centroid at the ends of the distribution, many in its middle.
//!
//! Reads do not write. They are answered from the compressed form of the state ([`Compressed`]),
//! which is computed beside it and kept until the next write. So a digest is a function of the
//! writes applied to it, and equal on a primary, on its replica and after a reload. merge.rs makes
//! one digest of several, stored.rs has the stored forms.
//!
//! Memory follows the data: 8 bytes per node of one sample, whether or not a compression has seen it, in a block of a
//! power of two of them; 16 bytes per other node; and 16 per centroid of the kept compressed form. Apart from the
//! latter it depends on the state only, so that a copy and a loaded digest take what the original takes. Creation
//! asks whether all of it is available, and additions ask for what they take.

mod centroid;
mod compressed;
mod merge;
mod samples;
mod stored;
#[cfg(test)]
mod tests;

pub use centroid::Centroid;
pub use compressed::Compressed;

use super::blocks::{BlockMover, BlockVisitor, Blocks};
use super::merge::TooMuchWork;
use crate::memory::{Budget, OutOfMemory, reserve_exact};
use centroid::{in_order, joined, make_room, round_weights};
use samples::Samples;
use std::cell::{OnceCell, Ref, RefCell};

/// Why a digest could not be made, written to or merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The compression is zero or negative.
    #[error("the compression is not positive")]
    CompressionNotPositive,
    /// The capacity that goes with the compression is beyond 2^31 - 1 nodes.
    #[error("the compression is too large")]
    CompressionTooLarge,
    /// A value is not a finite number.
    #[error("the value is not a finite number")]
    NotFinite,
    /// The weights would sum to more than 2^63 - 1.
    #[error("the weights overflow")]
    Overflow,
    /// A merge would read more than its limit.
    #[error(transparent)]
    TooMuchWork(#[from] TooMuchWork),
    /// The memory was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// The largest compression: its capacity is the last that fits in 31 bits.
pub const MAX_COMPRESSION: u32 = (i32::MAX as u32 - 10) / 6;

/// Nodes that a digest of this compression may hold: 6 · compression + 10.
const fn capacity(compression: u32) -> u32 {
    6 * compression + 10
}

/// What INFO shows of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// The parameter it was made with.
    pub compression: u32,
    /// Nodes it may hold.
    pub capacity: u32,
    /// Centroids that have gone through a compression (after a load: all nodes).
    pub merged_nodes: usize,
    /// Nodes that wait for one.
    pub unmerged_nodes: usize,
    /// Sum of the merged nodes' weights.
    pub merged_weight: i64,
    /// Sum of the other nodes' weights.
    pub unmerged_weight: i64,
    /// Samples seen: the sum of all weights.
    pub observations: i64,
    /// Compressions since the creation or the last reset.
    pub total_compressions: i64,
    /// 80 + 16 · capacity bytes: what a digest with all its nodes in one place would take.
    pub memory_usage: u64,
}

/// The nodes that no compression has seen yet. Only INFO shows them.
#[derive(Debug, Clone, Copy, Default)]
struct Unmerged {
    nodes: usize,
    weight: i64,
}

/// A t-digest. See the [module](self).
///
/// The state is the nodes in *stable order*: by mean, and among equal means (0.0 and -0.0 are
/// equal) those that a compression has seen before the others, and those in order of arrival.
#[derive(Debug)]
pub struct TDigest {
    /// From 1 to [`MAX_COMPRESSION`].
    compression: u32,
    /// Smallest and largest sample; `f64::MAX` and `f64::MIN` when empty.
    min: f64,
    max: f64,
    /// Compressions since the creation or the last reset.
    compressions: i64,
    /// The nodes of several samples, in order, and those of one sample that precede one of these with the same mean.
    /// The block has no room to spare.
    centroids: Vec<Centroid>,
    /// Sum of the centroids' weights. With the samples at most 2^63 - 1.
    weight: i64,
    /// Among equal means they follow the centroids. In a cell because a read sorts them in place, which changes no
    /// state: see [`Samples`].
    samples: RefCell<Samples>,
    unmerged: Unmerged,
    /// The compressed form of this state. Every write empties it.
    compressed: OnceCell<Compressed>,
}

impl TDigest {
    /// An empty digest of the given compression. Allocates nothing yet, but asks at once for what
    /// all its nodes would take, so that absurd sizes are refused here and not in the middle of a
    /// stream.
    ///
    /// # Errors
    /// [`DigestError::CompressionNotPositive`], [`DigestError::CompressionTooLarge`], or
    /// [`DigestError::OutOfMemory`] if `budget` refuses the bytes.
    pub fn new(compression: i64, budget: Budget<'_>) -> Result<Self, DigestError> {
        if compression <= 0 {
            return Err(DigestError::CompressionNotPositive);
        }
        let compression = u32::try_from(compression)
            .ok()
            .filter(|&compression| compression <= MAX_COMPRESSION)
            .ok_or(DigestError::CompressionTooLarge)?;
        let digest = Self::empty(compression);
        budget.request(digest.figures().memory_usage)?;
        Ok(digest)
    }

    /// An empty digest of a compression that is known to be in range.
    fn empty(compression: u32) -> Self {
        Self {
            compression,
            min: f64::MAX,
            max: f64::MIN,
            compressions: 0,
            centroids: Vec::new(),
            weight: 0,
            unmerged: Unmerged::default(),
            samples: RefCell::default(),
            compressed: OnceCell::new(),
        }
    }

    /// Adds samples of weight 1, in this order. Cost: a copy, and a compression every time that the
    /// nodes reach the capacity less one (sorting the buffer, then one pass over all nodes).
    ///
    /// # Errors
    /// [`DigestError::NotFinite`], [`DigestError::Overflow`] or [`DigestError::OutOfMemory`]; then
    /// nothing was added.
    pub fn add(&mut self, values: &[f64]) -> Result<(), DigestError> {
        self.add_within(values, Budget::UNLIMITED)
    }

    /// As [`TDigest::add`], where `budget` is asked before the digest holds more memory than it did, with
    /// the bytes that it would hold more.
    ///
    /// # Errors
    /// As [`TDigest::add`].
    pub fn add_within(&mut self, values: &[f64], budget: Budget<'_>) -> Result<(), DigestError> {
        if !values.iter().all(|value| value.is_finite()) {
            return Err(DigestError::NotFinite);
        }
        i64::try_from(values.len())
            .ok()
            .and_then(|count| self.observations().checked_add(count))
            .ok_or(DigestError::Overflow)?;
        let present = self.samples.get_mut().len();
        if values.len() <= self.room(self.centroids.len(), present) {
            if !self.samples.get_mut().has_room(values.len()) {
                self.reserve_samples(values.len(), budget)?;
            }
            self.samples.get_mut().append(values);
            self.unmerged.nodes += values.len();
            self.unmerged.weight += values.len() as i64;
        } else {
            self.add_with_compression(values, budget)?;
        }
        for &value in values {
            if value < self.min {
                self.min = value;
            }
            if value > self.max {
                self.max = value;
            }
        }
        self.compressed.take();
        Ok(())
    }

    /// Makes room in the block of the samples, which are few enough that no compression is due.
    #[cold]
    fn reserve_samples(&mut self, more: usize, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let most = self.most_samples();
        let after = self.samples.get_mut().bytes_with(more, most);
        self.ask(
            after + self.centroids.capacity() * size_of::<Centroid>(),
            budget,
        )?;
        self.samples.get_mut().reserve(more, most)
    }

    /// Adds more samples than there is room for. All is made beside the old state and put in its
    /// place at the end, so that a refused allocation changes nothing.
    fn add_with_compression(
        &mut self,
        mut values: &[f64],
        budget: Budget<'_>,
    ) -> Result<(), OutOfMemory> {
        let most = self.capacity();
        let more = values.len().min(most);
        let mut samples = self.samples.get_mut().try_clone(more, most)?;
        let mut merged: Option<Vec<Centroid>> = None;
        let mut weight = self.weight;
        let mut compressions = self.compressions;
        loop {
            let present = merged.as_deref().unwrap_or(&self.centroids);
            let room = self.room(present.len(), samples.len());
            // A compression may leave no room below the capacity less one; one more node fits then.
            let room = room.max(usize::from(merged.is_some() && samples.len() == 0));
            let (now, later) = values.split_at(room.min(values.len()));
            samples.append(now);
            values = later;
            if values.is_empty() {
                break;
            }
            samples.sort();
            weight += samples.len() as i64;
            let mut joined = joined(
                in_order(present, samples.values()),
                present.len() + samples.len(),
                weight,
                self.compression,
            )?;
            make_room(&mut joined, most);
            weight = round_weights(&mut joined, weight);
            compressions = compressions.saturating_add(1);
            merged = Some(joined);
            samples.clear();
        }
        let present = merged.as_deref().unwrap_or(&self.centroids);
        let mut layout = Layout::of(present, samples.len(), most)?;
        layout.samples.append(samples.values());
        self.ask(layout.block_bytes(), budget)?;
        self.set_nodes(layout);
        self.compressions = compressions;
        self.unmerged = Unmerged {
            nodes: samples.len(),
            weight: samples.len() as i64,
        };
        Ok(())
    }

    /// Puts these nodes in place of the present ones. All of them count as merged.
    fn set_nodes(&mut self, layout: Layout) {
        self.weight = layout.centroids.iter().map(|node| node.weight).sum();
        self.centroids = layout.centroids;
        self.samples = RefCell::new(layout.samples);
        self.unmerged = Unmerged::default();
    }

    /// Asks `budget` for what the blocks take more if they take `after` bytes after a write, which leaves
    /// no kept answers.
    fn ask(&self, after: usize, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let more = after.saturating_sub(self.block_bytes()) as u64;
        if more > 0 {
            budget.request(more)?;
        }
        Ok(())
    }

    /// Nodes that may be appended before the next compression: those that are missing at the
    /// capacity less one.
    fn room(&self, centroids: usize, samples: usize) -> usize {
        (self.capacity() - 1).saturating_sub(centroids + samples)
    }

    /// Empties the digest and gives back its memory. The compression stays.
    pub fn reset(&mut self) {
        *self = Self::empty(self.compression);
    }

    /// Whether it is as [`TDigest::new`] makes it.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.observations() == 0 && self.compressions == 0
    }

    /// Whether the next read finds the compressed form made already.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.compressed.get().is_some()
    }

    /// Bytes asked for of all its blocks. Cost: nothing to speak of, so that it can be looked at after
    /// every command.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        let compressed = self.compressed.get();
        self.centroids.capacity() * size_of::<Centroid>()
            + self.samples.borrow().block_bytes()
            + compressed.map_or(0, Compressed::block_bytes)
    }

    /// The smallest sample, nan when empty.
    #[must_use]
    pub fn min(&self) -> f64 {
        if self.observations() == 0 {
            f64::NAN
        } else {
            self.min
        }
    }

    /// The largest sample, nan when empty.
    #[must_use]
    pub fn max(&self) -> f64 {
        if self.observations() == 0 {
            f64::NAN
        } else {
            self.max
        }
    }

    /// The compression it was made with.
    #[must_use]
    pub fn compression(&self) -> u32 {
        self.compression
    }

    /// Nodes it may hold.
    fn capacity(&self) -> usize {
        capacity(self.compression) as usize
    }

    /// Samples it may hold beside its centroids.
    fn most_samples(&self) -> usize {
        self.capacity().saturating_sub(self.centroids.len())
    }

    /// Samples seen: the sum of all weights.
    #[must_use]
    pub fn observations(&self) -> i64 {
        self.weight + self.samples.borrow().len() as i64
    }

    /// What INFO shows.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let nodes = self.centroids.len() + self.samples.borrow().len();
        let observations = self.observations();
        let capacity = capacity(self.compression);
        Figures {
            compression: self.compression,
            capacity,
            merged_nodes: nodes - self.unmerged.nodes,
            unmerged_nodes: self.unmerged.nodes,
            merged_weight: observations - self.unmerged.weight,
            unmerged_weight: self.unmerged.weight,
            observations,
            total_compressions: self.compressions,
            memory_usage: 80 + 16 * u64::from(capacity),
        }
    }

    /// The compressed form of the state, which answers every question. Cost: the first time after a
    /// write a sort of the new samples and a pass over all nodes; after that none.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the digest stays as it was.
    pub fn compressed(&self) -> Result<&Compressed, OutOfMemory> {
        if let Some(compressed) = self.compressed.get() {
            return Ok(compressed);
        }
        let compressed = self.compress()?;
        Ok(self.compressed.get_or_init(|| compressed))
    }

    /// Computes the compressed form anew.
    fn compress(&self) -> Result<Compressed, OutOfMemory> {
        let samples = self.sorted_samples();
        Compressed::new(
            in_order(&self.centroids, samples.values()),
            self.centroids.len() + samples.len(),
            self,
        )
    }

    /// The buffer in stable order.
    fn sorted_samples(&self) -> Ref<'_, Samples> {
        if !self.samples.borrow().is_sorted() {
            self.samples.borrow_mut().sort();
        }
        self.samples.borrow()
    }
}

/// The nodes as a digest holds them. Which of them are centroids and which samples follows from the nodes alone.
struct Layout {
    centroids: Vec<Centroid>,
    samples: Samples,
}

impl Layout {
    /// The layout of nodes in stable order, with room for `more` samples, in a digest of this capacity. A node of one
    /// sample becomes a sample, unless a heavier node of the same mean follows: samples come after the centroids of
    /// the same mean. Cost: two passes over the nodes.
    fn of(nodes: &[Centroid], more: usize, capacity: usize) -> Result<Self, OutOfMemory> {
        let reversed = || {
            let mut mean_of_heavier = f64::NAN;
            nodes.iter().rev().map(move |node| {
                if node.weight > 1 {
                    mean_of_heavier = node.mean;
                }
                let is_sample = node.weight == 1 && node.mean != mean_of_heavier;
                (is_sample, *node)
            })
        };
        let samples_len = reversed().filter(|&(is_sample, _)| is_sample).count();
        let centroids_len = nodes.len() - samples_len;
        let (mut centroids, mut samples) = (Vec::new(), Samples::default());
        reserve_exact(&mut centroids, centroids_len)?;
        samples.reserve(samples_len + more, capacity.saturating_sub(centroids_len))?;
        for (is_sample, node) in reversed() {
            if is_sample {
                samples.append(&[node.mean]);
            } else {
                centroids.push(node);
            }
        }
        centroids.reverse();
        samples.reverse();
        Ok(Self { centroids, samples })
    }

    /// Bytes asked for of all blocks.
    fn block_bytes(&self) -> usize {
        self.centroids.capacity() * size_of::<Centroid>() + self.samples.block_bytes()
    }
}

impl PartialEq for TDigest {
    /// Whether the logical states are equal, bit for bit (as [`TDigest::digest`] sees them).
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
        let (ours, theirs) = (self.sorted_samples(), other.sorted_samples());
        head(self) == head(other)
            && in_order(&self.centroids, ours.values())
                .map(bits)
                .eq(in_order(&other.centroids, theirs.values()).map(bits))
    }
}

impl Blocks for TDigest {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.centroids);
        self.samples.borrow().visit(visitor);
        if let Some(compressed) = self.compressed.get() {
            compressed.visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => mover.relocate(&mut self.centroids),
            1 => self.samples.get_mut().relocate(mover),
            2 | 3 => {
                if let Some(compressed) = self.compressed.get_mut() {
                    match index {
                        2 => compressed.relocate_means(mover),
                        _ => compressed.relocate_weights(mover),
                    }
                }
            }
            _ => return false,
        }
        true
    }
}
