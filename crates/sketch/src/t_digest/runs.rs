//! The compression of nodes with equal means: repeated values.
//!
//! A *run* is all nodes of one mean, at least two. A single node is none: one of weight 1 is a sample, and the samples of another one may
//! differ. A run that a compression keeps becomes the nodes [1, n - 2, 1]: nothing is interpolated beside a node of weight 1, so that the answers
//! about its value are exact, in RedisBloom too.
//!
//! - If all nodes are samples or belong to runs, and these are few, the result has all samples and all runs: it is *exact*.
//! - Otherwise, the heaviest runs are kept. The walk (centroid.rs) merges what lies between them, never across one.
//! - Where the walk merges nothing at all, the result is the nodes as they are, as in RedisBloom.

use super::Centroid;
use super::centroid::{Scale, Walk};
use crate::memory::{OutOfMemory, try_push};
use std::cmp::Reverse;

/// What a compression results in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// The compression of the scale function.
    pub(super) compression: u32,
    /// The maximum number of values of more samples than the result has nodes of a run, if the result is exact.
    exact: usize,
    /// The maximum number of runs that are kept if the result is not exact.
    kept: usize,
    /// The nodes of a run: three, or two of a pane, [1, n - 1], whose nodes are compressed again before they answer.
    run_len: usize,
    /// A result of more nodes keeps no runs.
    max_len: usize,
    /// The maximum number of centroids if it keeps none.
    max_walk_len: usize,
}

impl Form {
    /// That of a digest. At least as many nodes as the compression are free after it, unless it keeps no runs.
    pub(super) fn of(compression: u32) -> Self {
        let c = compression as usize;
        Self {
            compression,
            exact: c,
            kept: c,
            run_len: 3,
            max_len: 5 * c + 9,
            max_walk_len: usize::MAX,
        }
    }

    /// That of the panes of a digest of this compression: at most `max_len` nodes, of which the walk with the compression `of_walk`
    /// leaves about two thirds.
    pub(super) fn of_pane(compression: u32, of_walk: u32, max_len: usize) -> Self {
        let c = compression as usize;
        Self {
            compression: of_walk,
            exact: c,
            kept: c / 4,
            run_len: 2,
            max_len,
            max_walk_len: max_len,
        }
    }
}

/// Compresses nodes in stable order into `result`, which is empty. `total` is the sum of the weights. Without equal means, the result is
/// that of [`Walk`]. Allocates nothing if `result` has capacity for `form.max_len` nodes, or for all nodes and a run has two. Compressing the
/// result of [`Form::of`] again does not change it, except where rounded means are equal. Cost: one pass, or up to four if means
/// are equal.
pub(super) fn compress(
    nodes: impl Iterator<Item = Centroid> + Clone,
    total: i64,
    form: Form,
    result: &mut Vec<Centroid>,
) -> Result<(), OutOfMemory> {
    let scale = Scale::new(total, form.compression);
    if walk(nodes.clone(), &scale, form, true, result)? {
        return Ok(());
    }
    let kept = Kept::of(nodes.clone(), total, form, result)?;
    result.clear();
    if !keep(nodes.clone(), kept, &scale, form, result)? {
        result.clear();
        walk(nodes, &scale, form, false, result)?;
    }
    Ok(())
}

/// Compresses nodes without runs. If there are some, `stops_at_runs` is true and nodes were merged, it stops and returns false.
fn walk(
    nodes: impl Iterator<Item = Centroid>,
    scale: &Scale,
    form: Form,
    stops_at_runs: bool,
    result: &mut Vec<Centroid>,
) -> Result<bool, OutOfMemory> {
    let mut walk = Walk::new(scale, form.max_walk_len);
    let (mut previous, mut has_runs, mut has_merged) = (f64::NAN, false, false);
    for node in nodes {
        has_runs |= node.mean == previous;
        previous = node.mean;
        has_merged |= walk.add(node, result)?;
        if has_runs && has_merged && stops_at_runs {
            return Ok(false);
        }
    }
    walk.close(0, result)?;
    Ok(true)
}

/// The nodes of one mean.
#[derive(Clone, Copy)]
struct Run {
    mean: f64,
    weight: i64,
    nodes: usize,
}

impl Run {
    /// The number of nodes that it becomes, if it is kept.
    fn len(self, form: Form) -> usize {
        (form.run_len as i64).min(self.weight) as usize
    }
}

/// All nodes, by their means.
fn runs(mut nodes: impl Iterator<Item = Centroid>) -> impl Iterator<Item = Run> {
    let mut next = nodes.next();
    std::iter::from_fn(move || {
        let Centroid { mean, mut weight } = next?;
        let mut count = 1;
        loop {
            next = nodes.next();
            match next {
                Some(node) if node.mean == mean => {
                    weight += node.weight;
                    count += 1;
                }
                _ => {
                    return Some(Run {
                        mean,
                        weight,
                        nodes: count,
                    });
                }
            }
        }
    })
}

/// Which runs are kept.
enum Kept {
    /// All runs and all samples.
    All,
    /// The heavier runs, and the first ones of this weight.
    Heaviest { weight: i64, equal: usize },
}

impl Kept {
    /// `weights` is for the weights of the runs.
    fn of(
        nodes: impl Iterator<Item = Centroid>,
        total: i64,
        form: Form,
        weights: &mut Vec<Centroid>,
    ) -> Result<Self, OutOfMemory> {
        weights.clear();
        let kept = form.kept;
        let (mut all_are_equal, mut repeated, mut values, mut len) = (true, 0, 0, 0);
        for run in runs(nodes) {
            values += 1;
            len += run.len(form);
            if run.nodes == 1 {
                all_are_equal &= run.weight == 1;
                continue;
            }
            repeated += run.weight;
            if run.weight > 2 {
                if weights.len() > 2 * kept {
                    heaviest_first(weights, kept);
                    weights.truncate(kept);
                }
                let weight = run.weight;
                try_push(weights, Centroid { weight, mean: 0.0 })?;
            }
        }
        let is_repeated = values <= form.exact || repeated >= total - repeated;
        if all_are_equal && is_repeated && len <= form.run_len * form.exact {
            return Ok(Self::All);
        }
        if weights.len() <= kept {
            return Ok(Self::Heaviest {
                weight: 2,
                equal: 0,
            });
        }
        heaviest_first(weights, kept);
        // Without a kept run, there is none of the last weight.
        let weight = kept.checked_sub(1).map_or(total, |at| weights[at].weight);
        let heavier = weights[..kept].iter().filter(|run| run.weight > weight);
        let equal = kept - heavier.count();
        Ok(Self::Heaviest { weight, equal })
    }

    fn keeps(&mut self, run: Run) -> bool {
        match self {
            Self::All => true,
            Self::Heaviest { weight, equal } => {
                let is_equal = run.nodes > 1 && run.weight == *weight && *equal > 0;
                *equal -= usize::from(is_equal);
                is_equal || run.nodes > 1 && run.weight > *weight
            }
        }
    }
}

/// Moves the heaviest `len` ones to the front, in descending order at the end of them.
fn heaviest_first(weights: &mut [Centroid], len: usize) {
    if let Some(last) = len.checked_sub(1) {
        weights.select_nth_unstable_by_key(last, |run| Reverse(run.weight));
    }
}

/// Compresses the nodes between the runs that are kept. Returns false if the result would have too many nodes.
fn keep(
    mut nodes: impl Iterator<Item = Centroid> + Clone,
    mut kept: Kept,
    scale: &Scale,
    form: Form,
    result: &mut Vec<Centroid>,
) -> Result<bool, OutOfMemory> {
    let mut between = Walk::new(scale, usize::MAX);
    for run in runs(nodes.clone()) {
        if result.len() + form.run_len > form.max_len {
            return Ok(false);
        }
        if kept.keeps(run) {
            between.close(run.weight, result)?;
            push_run(run, form, result)?;
            nodes.nth(run.nodes - 1);
        } else {
            for node in nodes.by_ref().take(run.nodes) {
                between.add(node, result)?;
            }
        }
    }
    between.close(0, result)?;
    Ok(result.len() <= form.max_len)
}

/// Adds the nodes of a run that is kept.
fn push_run(run: Run, form: Form, result: &mut Vec<Centroid>) -> Result<(), OutOfMemory> {
    let len = run.len(form);
    let middle = run.weight - (len as i64 - 1);
    for at in 0..len {
        let weight = if at == 1 { middle } else { 1 };
        let mean = run.mean;
        try_push(result, Centroid { mean, weight })?;
    }
    Ok(())
}
