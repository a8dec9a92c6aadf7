//! Panes that receive no more samples.

use super::{Centroid, Extent, TDigest, capacity};
use crate::memory::{OutOfMemory, with_capacity};
use crate::t_digest::centroid::{compress_into, in_order, round_weights};

/// The nodes of a pane that has samples and is no longer the newest one.
#[derive(Debug)]
pub(super) struct ClosedPane {
    /// The number of the pane.
    pub(super) number: u64,
    /// Compressed and in order; at most [`max_closed_nodes`], at least one.
    pub(super) centroids: Vec<Centroid>,
    /// The weight is the sum of those of the centroids.
    pub(super) extent: Extent,
    /// Compressions of the pane, including the one that closed it.
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

impl ClosedPane {
    /// Closes the pane `newest`, which has samples. `centroids` is empty and has the capacity for its nodes; see
    /// [`max_closed_nodes`]. Cannot fail: if the allocator refuses the smaller block for the nodes, they stay in the
    /// larger one.
    pub(super) fn of(number: u64, newest: &mut TDigest, mut centroids: Vec<Centroid>) -> Self {
        let compression = newest.compression;
        let mut extent = newest.extent();
        newest.samples.sort();
        compress_into(
            in_order(&newest.centroids, newest.samples.values()),
            extent.weight,
            pane_compression(compression),
            &mut centroids,
            max_closed_nodes(compression),
        );
        extent.weight = round_weights(&mut centroids, extent.weight);
        if let Ok(mut exact) = with_capacity(centroids.len()) {
            exact.append(&mut centroids);
            centroids = exact;
        }
        Self {
            number,
            centroids,
            extent,
            compressions: newest.compressions.saturating_add(1),
        }
    }

    /// Bytes of its block.
    pub(super) fn block_bytes(&self) -> usize {
        self.centroids.capacity() * size_of::<Centroid>()
    }

    /// A copy.
    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut centroids = with_capacity(self.centroids.len())?;
        centroids.extend_from_slice(&self.centroids);
        Ok(Self { centroids, ..*self })
    }
}

impl PartialEq for ClosedPane {
    /// Bitwise equality.
    fn eq(&self, other: &Self) -> bool {
        let head = |pane: &Self| {
            let Extent { min, max, .. } = pane.extent;
            (pane.number, pane.compressions, min.to_bits(), max.to_bits())
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
