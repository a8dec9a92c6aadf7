//! The nodes of a digest that are not samples. Those of a run, [1, n - 2, 1], are one element.

use super::Centroid;
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, copy_of, with_capacity};

/// Sorted nodes. Which of them are one element depends on the nodes only.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// Nodes, and runs, whose weight is negative: -2k for the nodes [1, k], -2k - 1 for [1, k, 1]. The
    /// capacity equals the length.
    elements: Vec<Centroid>,
    /// Number of nodes.
    len: usize,
    /// Number of runs without the last node.
    open: usize,
}

/// The largest weight of a node inside a run that is one element.
const MAX_WEIGHT: i64 = 1 << 60;

/// The element that begins with the first of these nodes of one mean, and the number of its nodes.
fn element(nodes: &[Centroid]) -> (Centroid, usize) {
    let first = nodes[0];
    match nodes {
        // Equal zeros can differ.
        [Centroid { mean, weight: 1 }, middle, rest @ ..]
            if *mean != 0.0 && (2..=MAX_WEIGHT).contains(&middle.weight) =>
        {
            let last = rest.first().map_or(0, |node| i64::from(node.weight == 1));
            let weight = -2 * middle.weight - last;
            (Centroid { weight, ..first }, 2 + last as usize)
        }
        _ => (first, 1),
    }
}

/// The sum of the weights of its nodes.
#[inline]
pub(super) fn weight_of(element: &Centroid) -> i64 {
    match element.weight {
        weight @ ..0 => 1 - weight / 2 - weight % 2,
        weight => weight,
    }
}

/// Whether an element is a run, or a sample, with which one begins.
#[inline]
pub(super) fn begins_run(element: Centroid) -> bool {
    element.weight <= 1
}

/// The nodes of elements.
#[inline]
pub(super) fn nodes_of(
    mut elements: impl Iterator<Item = Centroid> + Clone,
) -> impl Iterator<Item = Centroid> + Clone {
    let (mut mean, mut middle, mut last) = (0.0, 0, 0);
    std::iter::from_fn(move || {
        let weight = match (middle, last) {
            (0, 0) => {
                let element = elements.next()?;
                if element.weight > 0 {
                    return Some(element);
                }
                mean = element.mean;
                (middle, last) = (-element.weight / 2, -element.weight % 2);
                1
            }
            (0, _) => std::mem::take(&mut last),
            _ => std::mem::take(&mut middle),
        };
        Some(Centroid { mean, weight })
    })
}

impl Packed {
    /// Those of nodes in stable order, and the others, which are samples. Cost: one pass.
    pub(super) fn of(nodes: &[Centroid]) -> Result<(Self, Vec<f64>), OutOfMemory> {
        let (mut packed, mut samples) = (Self::default(), with_capacity(nodes.len())?);
        let mut elements = with_capacity(nodes.len())?;
        for equal in nodes.chunk_by(|one, other| one.mean == other.mean) {
            if let [node] = equal {
                match node.weight {
                    1 => samples.push(node.mean),
                    _ => elements.push(*node),
                }
                packed.len += usize::from(node.weight > 1);
                continue;
            }
            let mut rest = equal;
            // Samples follow heavier nodes of equal mean.
            while let Some(heavy) = rest.iter().rposition(|node| node.weight > 1) {
                let (element, len) = match heavy {
                    0 => (rest[0], 1),
                    _ => element(rest),
                };
                elements.push(element);
                packed.len += len;
                packed.open += usize::from(len == 2);
                rest = &rest[len..];
            }
            samples.extend(rest.iter().map(|node| node.mean));
        }
        packed.elements = with_capacity(elements.len())?;
        packed.elements.append(&mut elements);
        Ok((packed, samples))
    }

    /// The sum of the weights.
    pub(super) fn weight(&self) -> i64 {
        self.elements.iter().map(weight_of).sum()
    }

    /// Number of nodes.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The nodes, with runs as one element.
    #[inline]
    pub(super) fn elements(&self) -> &[Centroid] {
        &self.elements
    }

    /// At least the number of nodes, and the same if a sample is added to a run.
    pub(super) fn max_len(&self) -> usize {
        self.len + self.open
    }

    /// Whether any run has no last node.
    pub(super) fn has_open(&self) -> bool {
        self.open > 0
    }

    /// Whether a sample would be the last node of a run.
    #[inline]
    pub(super) fn is_open(&self, sample: f64) -> bool {
        if self.open == 0 {
            return false;
        }
        let end = (self.elements).partition_point(|element| element.mean <= sample);
        (self.elements[..end].last())
            .is_some_and(|last| last.mean == sample && last.weight < 0 && last.weight % 2 == 0)
    }

    /// All nodes.
    #[inline]
    pub(super) fn nodes(&self) -> impl Iterator<Item = Centroid> + Clone + '_ {
        nodes_of(self.elements.iter().copied())
    }

    /// A copy.
    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let elements = copy_of(&self.elements)?;
        Ok(Self { elements, ..*self })
    }

    /// Bytes of its block.
    #[inline]
    pub(super) fn block_bytes(&self) -> usize {
        self.elements.capacity() * size_of::<Centroid>()
    }

    pub(super) fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.elements);
    }

    pub(super) fn relocate(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.elements);
    }
}
