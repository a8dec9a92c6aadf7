//! Panes that receive no more samples.

use super::{Centroid, Extent, TDigest, capacity};
use crate::memory::{OutOfMemory, copy_of};
use crate::t_digest::centroid::in_order;
use crate::t_digest::runs::{Form, compress};

/// The nodes of a pane that has samples and is no longer the newest one.
#[derive(Debug, Default)]
pub(super) struct ClosedPane {
    /// Compressed and in order; at most [`max_closed_nodes`], at least one. The capacity equals the length.
    pub(super) centroids: Vec<Centroid>,
    /// The weight is the sum of those of the centroids.
    pub(super) extent: Extent,
    /// Compressions of the pane, including those that closed it and merged it.
    pub(super) compressions: i64,
}

/// The compression of a closed pane, relative to that of the digest. Closed panes are compressed less than the digest,
/// since their nodes are merged and compressed again for the answers, and each compression adds an error.
pub(super) fn pane_compression(compression: u32) -> u32 {
    2 * compression
}

/// The maximum number of nodes of a closed pane of a digest with this compression. The scale function leaves about 2/3
/// of [`pane_compression`], and less than this maximum for any weights.
pub(super) fn max_closed_nodes(compression: u32) -> usize {
    let capacity = capacity(compression) as usize;
    capacity.min(pane_compression(compression) as usize + 50)
}

/// The form of panes, and of their merges, of at most `max_len` nodes in a digest of this compression.
pub(super) fn pane_form(compression: u32, max_len: usize) -> Form {
    Form::of_pane(compression, pane_compression(compression), max_len)
}

impl ClosedPane {
    /// Closes the pane `newest`, which has samples, and resets it. `scratch` is empty and has the capacity for the nodes of the
    /// result, see [`max_closed_nodes`].
    pub(super) fn of(newest: &mut TDigest, scratch: &mut Vec<Centroid>) -> Self {
        let extent = newest.extent();
        newest.samples.sort();
        let nodes = in_order(newest.centroids.elements(), newest.samples.values());
        compress_pane(nodes, extent.weight, newest.compression, scratch);
        let compressions = newest.compressions.saturating_add(1);
        newest.reset();
        Self {
            centroids: move_exactly(scratch),
            extent,
            compressions,
        }
    }

    /// Adds the nodes of a younger pane. `scratch` is as in [`ClosedPane::of`].
    pub(super) fn merge(&mut self, younger: Self, compression: u32, scratch: &mut Vec<Centroid>) {
        self.extent = self.extent.and(younger.extent);
        let nodes = in_order(&self.centroids, &younger.centroids);
        compress_pane(nodes, self.extent.weight, compression, scratch);
        let compressions = self.compressions.saturating_add(younger.compressions);
        self.compressions = compressions.saturating_add(1);
        drop(younger);
        self.centroids = Vec::new();
        self.centroids = move_exactly(scratch);
    }

    /// Bytes of its block.
    pub(super) fn block_bytes(&self) -> usize {
        self.centroids.capacity() * size_of::<Centroid>()
    }

    /// A copy.
    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let centroids = copy_of(&self.centroids)?;
        Ok(Self { centroids, ..*self })
    }
}

/// Compresses the elements of a pane (packed.rs). Allocates nothing.
fn compress_pane(
    elements: impl Iterator<Item = Centroid> + Clone,
    weight: i64,
    compression: u32,
    scratch: &mut Vec<Centroid>,
) {
    let form = pane_form(compression, max_closed_nodes(compression));
    // The vector does not grow, so that no error occurs.
    let _ = compress(elements, weight, form, scratch);
}

/// Moves the nodes to a block of their size. The block must be allocated, because a step to a later pane cannot fail. It is not
/// larger than the blocks of nodes that were freed just before.
fn move_exactly(nodes: &mut Vec<Centroid>) -> Vec<Centroid> {
    let moved = nodes.as_slice().to_vec();
    nodes.clear();
    moved
}

impl PartialEq for ClosedPane {
    /// Bitwise equality.
    fn eq(&self, other: &Self) -> bool {
        let head = |pane: &Self| {
            let Extent { min, max, .. } = pane.extent;
            (pane.compressions, min.to_bits(), max.to_bits())
        };
        let bits = |node: &Centroid| (node.mean.to_bits(), node.weight);
        head(self) == head(other)
            && self
                .centroids
                .iter()
                .map(bits)
                .eq(other.centroids.iter().map(bits))
    }
}
