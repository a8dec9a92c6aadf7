//! The compression of nodes with equal means: repeated values.
//!
//! A *run* is at least two nodes of one mean: the first one of weight 1, a sample, and all that follow. Heavier nodes before it are
//! no part of it, because their samples may differ: means of centroids can be equal by coincidence. A run that is kept becomes the nodes [1, n - 2, 1]: answers do not interpolate beside a node of weight 1, so that those
//! about its value are exact, in RedisBloom too.
//!
//! - If there are no runs, or too few samples to merge any, the walk (centroid.rs) has the result.
//! - If all nodes are samples or belong to runs, and there are few values, the result is *exact*: all samples and all runs.
//! - Otherwise, the heaviest runs are kept, and the walk merges the nodes between them, never across
//!   one. Another run is one node, so that the result depends on the weights of the runs only, and not
//!   on their nodes. Between many runs, a heavy centroid would be answered as if its samples were
//!   between its two neighbors. They are not if digests are merged that kept other runs. So its weight
//!   is limited.

use super::Centroid;
use super::centroid::{Scale, Walk, merge_lightest_if_full, round_weights};
use super::packed::{begins_run, nodes_of, weight_of};
use crate::memory::{OutOfMemory, reserve_exact, try_push, with_capacity};
use std::cmp::Reverse;

/// What a compression results in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// The compression of the scale function.
    pub(super) compression: u32,
    /// The result is exact if there are at most so many values, or if it has at most [`Form::run_len`] times as many nodes, and the runs have half of
    /// the weight. A centroid between runs has at most the weight of all nodes divided by this number.
    values: usize,
    /// The maximum number of runs that are kept if the result is not exact.
    kept: usize,
    /// The nodes of a run: three, or two in a pane, [1, n - 1], whose nodes are compressed again before they answer.
    run_len: usize,
    /// A result with runs has no more nodes.
    max_len: usize,
    /// The maximum number of centroids without runs.
    max_walk_len: usize,
}

impl Form {
    /// That of a digest. If runs are kept, at least as many nodes as the compression are free.
    pub(super) fn of(compression: u32) -> Self {
        let c = compression as usize;
        Self {
            compression,
            values: c,
            kept: c,
            run_len: 3,
            max_len: 5 * c + 9,
            max_walk_len: usize::MAX,
        }
    }

    /// Whether the result is exact for so many values, which become `len` nodes. Repeated ones have the
    /// weight `repeated` of `total`.
    pub(super) fn has_few(&self, values: usize, repeated: i64, total: i64, len: usize) -> bool {
        values <= self.values || repeated >= total - repeated && len <= self.run_len * self.values
    }

    /// That of the panes of a digest of this compression: at most `max_len` nodes, of which the walk with the compression `of_walk`
    /// leaves about two thirds.
    pub(super) fn of_pane(compression: u32, of_walk: u32, max_len: usize) -> Self {
        let c = compression as usize;
        Self {
            compression: of_walk,
            values: c,
            kept: c / 2,
            run_len: 2,
            max_len,
            max_walk_len: max_len,
        }
    }
}

/// Compresses elements (packed.rs) in stable order into `result`, which is empty. `total` is the sum of the
/// weights. Without runs, the result is that of [`Walk`]. Allocates nothing if a run has two nodes and `result`
/// has capacity for all nodes or for `max_len`. Compressing the result again does not change it, unless it had
/// too many nodes, or a mean was rounded to another one. Cost: one pass, or three to seven if there are runs.
pub(super) fn compress(
    elements: impl Iterator<Item = Centroid> + Clone,
    total: i64,
    form: Form,
    result: &mut Vec<Centroid>,
) -> Result<(), OutOfMemory> {
    let scale = Scale::new(total, form.compression);
    if walk(elements.clone(), &scale, form, total, result)? {
        return Ok(());
    }
    compress_runs(runs(elements), total, &scale, form, result)
}

/// [`compress`] of nodes with runs.
fn compress_runs(
    runs: impl Iterator<Item = Run> + Clone,
    total: i64,
    scale: &Scale,
    form: Form,
    result: &mut Vec<Centroid>,
) -> Result<(), OutOfMemory> {
    // Half of the runs leave room for all nodes between them, except for tiny compressions.
    for kept in [form.kept, form.kept / 2, 0] {
        result.clear();
        let form = Form { kept, ..form };
        let kept = Kept::of(runs.clone(), total, form, result)?;
        result.clear();
        if keep(runs.clone(), &kept, total, scale, form, result)? {
            break;
        }
    }
    Ok(())
}

/// [`compress`] into a new vector; `count` is at least the number of nodes with runs as one.
pub(super) fn compress_to_vec(
    elements: impl Iterator<Item = Centroid> + Clone,
    count: usize,
    total: i64,
    form: Form,
) -> Result<Vec<Centroid>, OutOfMemory> {
    // The number of centroids from a full buffer is about 2/3 of the compression.
    let mut centroids = with_capacity(count.min(form.compression as usize))?;
    let scale = Scale::new(total, form.compression);
    if !walk(elements.clone(), &scale, form, total, &mut centroids)? {
        // Several passes read them.
        let mut all = with_capacity(count)?;
        all.extend(runs(elements));
        centroids.clear();
        reserve_exact(&mut centroids, all.len().min(form.max_len))?;
        compress_runs(all.iter().copied(), total, &scale, form, &mut centroids)?;
    }
    Ok(centroids)
}

/// [`compress_to_vec`] in the form of a digest, to fewer than `capacity` centroids with weights that doubles represent, and the sum of these
/// weights.
pub(super) fn compress_within(
    elements: impl Iterator<Item = Centroid> + Clone,
    count: usize,
    total: i64,
    compression: u32,
    capacity: usize,
) -> Result<(Vec<Centroid>, i64), OutOfMemory> {
    let mut centroids = compress_to_vec(elements, count, total, Form::of(compression))?;
    merge_lightest_if_full(&mut centroids, capacity);
    let weight = round_weights(&mut centroids, total);
    Ok((centroids, weight))
}

/// Compresses elements without runs. If there are some, it stops and returns false, unless there are too
/// few samples to merge any.
fn walk(
    elements: impl Iterator<Item = Centroid> + Clone,
    scale: &Scale,
    form: Form,
    total: i64,
    result: &mut Vec<Centroid>,
) -> Result<bool, OutOfMemory> {
    let mut walk = Walk::new(scale, form.max_walk_len, i64::MAX);
    if !scale.merges_samples(total) {
        nodes_of(elements).try_for_each(|node| walk.add(node, result))?;
        walk.close(0, result)?;
        return Ok(true);
    }
    let mut previous = Centroid::from(f64::NAN);
    for node in elements {
        if node.weight < 0 || is_run(previous, node) {
            return Ok(false);
        }
        walk.add(node, result)?;
        previous = node;
    }
    walk.close(0, result)?;
    Ok(true)
}

/// Whether a run that begins with the element `first` has this later one.
#[inline(always)]
fn is_run(first: Centroid, later: Centroid) -> bool {
    first.mean == later.mean && begins_run(first)
}

/// A run, or a single node.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// Its mean and weight.
    pub(super) node: Centroid,
    /// Whether it has two nodes or more.
    pub(super) is_run: bool,
}

impl Run {
    /// The number of nodes that it becomes, if it is kept.
    fn len(self, form: Form) -> usize {
        (form.run_len as i64).min(self.node.weight) as usize
    }
}

/// All elements, as runs and single nodes.
#[inline]
pub(super) fn runs(
    mut elements: impl Iterator<Item = Centroid> + Clone,
) -> impl Iterator<Item = Run> + Clone {
    let mut next = elements.next();
    std::iter::from_fn(move || {
        let first = next?;
        let (mean, mut weight) = (first.mean, weight_of(&first));
        let mut is_run = first.weight < 0;
        next = elements.next();
        while let Some(later) = next.filter(|&later| self::is_run(first, later)) {
            weight += weight_of(&later);
            is_run = true;
            next = elements.next();
        }
        let node = Centroid { mean, weight };
        Some(Run { node, is_run })
    })
}

/// Which runs are kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kept {
    /// All runs and all samples.
    All,
    /// Those of at least this rank.
    From(Rank),
    /// None.
    None,
}

/// The order of runs: by weight. That of equally heavy ones is not the order of their means, so that those that are kept are not next to
/// each other, and it is the same in the next compression.
pub(super) type Rank = (i64, u64);

pub(super) fn rank(run: &Centroid) -> Rank {
    let mixed = run.mean.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (run.weight, mixed)
}

impl Kept {
    /// `heaviest` is an empty buffer.
    fn of(
        runs: impl Iterator<Item = Run>,
        total: i64,
        form: Form,
        heaviest: &mut Vec<Centroid>,
    ) -> Result<Self, OutOfMemory> {
        let (mut all_are_equal, mut repeated, mut values, mut len) = (true, 0, 0, 0);
        for run in runs {
            values += 1;
            len += run.len(form);
            if !run.is_run {
                all_are_equal &= run.node.weight == 1;
                continue;
            }
            repeated += run.node.weight;
            if run.node.weight > 2 {
                if heaviest.len() > 2 * form.kept {
                    highest_first(heaviest, form.kept);
                    heaviest.truncate(form.kept);
                }
                try_push(heaviest, run.node)?;
            }
        }
        if all_are_equal && form.has_few(values, repeated, total, len) {
            return Ok(Self::All);
        }
        Ok(Self::heaviest(heaviest, form))
    }

    /// The heaviest of these runs, whose order changes.
    pub(super) fn heaviest(runs: &mut [Centroid], form: Form) -> Self {
        let kept = form.kept.min(runs.len());
        if kept < runs.len() {
            highest_first(runs, kept);
        }
        let lowest = runs[..kept].iter().map(rank).min();
        lowest.map_or(Self::None, Self::From)
    }

    #[inline]
    pub(super) fn keeps(&self, run: Run) -> bool {
        match self {
            Self::All => true,
            Self::From(lowest) => run.is_run && rank(&run.node) >= *lowest,
            Self::None => false,
        }
    }

    /// The maximum number of nodes, and the maximum weight of several nodes that are merged.
    pub(super) fn limits(&self, total: i64, form: Form) -> (usize, i64) {
        match self {
            Self::All => (usize::MAX, 1),
            Self::From(_) => (form.max_len, total / form.values as i64),
            Self::None => (usize::MAX, i64::MAX),
        }
    }
}

/// Moves the runs of the highest ranks, of this number, to the front.
fn highest_first(runs: &mut [Centroid], len: usize) {
    if len > 0 {
        runs.select_nth_unstable_by_key(len - 1, |run| Reverse(rank(run)));
    }
}

/// Compresses what is between the runs that are kept, where other runs are nodes. Returns false if the
/// result would have too many nodes.
fn keep(
    runs: impl Iterator<Item = Run>,
    kept: &Kept,
    total: i64,
    scale: &Scale,
    form: Form,
    result: &mut Vec<Centroid>,
) -> Result<bool, OutOfMemory> {
    let (max_len, max_weight) = kept.limits(total, form);
    let mut between = Walk::new(scale, form.max_walk_len, max_weight);
    for run in runs {
        let node = run.node;
        if kept.keeps(run) {
            between.close(node.weight, result)?;
            if result.len() + form.run_len > max_len {
                return Ok(false);
            }
            push_run(run, form, result)?;
            continue;
        }
        if run.is_run && node.weight == 2 {
            between.add(node.mean.into(), result)?;
            between.add(node.mean.into(), result)?;
        } else {
            between.add(node, result)?;
        }
        // One node is not in the result yet.
        if result.len() >= max_len {
            return Ok(false);
        }
    }
    between.close(0, result)?;
    Ok(true)
}

/// Adds the nodes of a run that is kept.
fn push_run(run: Run, form: Form, result: &mut Vec<Centroid>) -> Result<(), OutOfMemory> {
    let (Centroid { mean, weight }, len) = (run.node, run.len(form));
    let middle = weight - (len as i64 - 1);
    for weight in [1, middle, 1].into_iter().take(len) {
        try_push(result, Centroid { mean, weight })?;
    }
    Ok(())
}
