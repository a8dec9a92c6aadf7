//! t-digests.

pub mod window;

use super::allows;
use super::input::Input;
use super::sequence::Model;
use super::stored::{self, Subject, copied, reloaded};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{Compressed, Info, TDigest};

impl Subject for TDigest {
    const LOAD_OPTIONS: () = ();
    /// Weights are stored as doubles, which cannot represent all integers above 2^53.
    const ROUNDS: bool = true;
    type Results = Vec<u64>;

    fn add(&mut self, _item: &[u8], number: i64, budget: Budget<'_>) {
        let _ = self.add_within(&[number as f64], budget);
    }

    fn change(&mut self) {
        if let Ok(merged) = TDigest::merge(3, &[self, self], Budget::new(&allows)) {
            assert_eq!(merged.observations(), 2 * self.observations());
            check_digest(&merged);
            reloads(&merged);
        }
        let before = self.observations();
        for samples in [&[0.5; 40][..], &[f64::NAN], &[f64::INFINITY]] {
            let result = TDigest::add(self, samples);
            assert!(result.is_err() || samples.len() == 40);
        }
        assert!(self.observations() >= before);
    }

    fn read(&self, _current: u64) -> Self::Results {
        check_digest(self)
    }
}

/// Executes all queries; they must not change the digest.
fn check_digest(digest: &TDigest) -> Vec<u64> {
    let before = stored::digest(digest);
    let compressed = digest.compressed().expect("enough memory");
    assert!(compressed.centroids().len() <= digest.info().capacity as usize);
    let results = results(
        &compressed,
        digest.min(),
        digest.max(),
        digest.observations(),
    );
    assert_eq!(stored::digest(digest), before, "a query changed the state");
    results
}

/// Executes all queries. The results must be in range. Returns integers and the bits of doubles, so that a nan equals
/// itself.
pub fn results(compressed: &Compressed, min: f64, max: f64, all: i64) -> Vec<u64> {
    let weight: i64 = compressed.centroids().map(|node| node.weight).sum();
    assert_eq!(weight, all);
    let mut results = vec![min.to_bits(), max.to_bits(), all.cast_unsigned()];
    for share in [0.0, 1e-9, 0.1, 0.5, 0.999, 1.0] {
        let quantile = compressed.quantile(share);
        assert_eq!(quantile.is_nan(), all == 0, "{quantile}");
        assert!(all == 0 || (min..=max).contains(&quantile), "{quantile}");
        let mean = compressed.trimmed_mean(share / 3.0, share / 3.0 + 0.5);
        results.extend([quantile, mean].map(f64::to_bits));
    }
    // A sum of weights above 2^53 is rounded, each time it is added to, and so can exceed the rounded sum of all, as in RedisBloom
    // (`weights_above_2_to_the_53_are_rounded_as_in_redisbloom`).
    let tolerance = if all > 1 << 53 {
        4.0 * f64::EPSILON
    } else {
        0.0
    };
    let max_excess = (all as f64 * tolerance) as i64;
    // Ranks are computed in doubles.
    let possible_ranks = -2 - max_excess..=all.max(all as f64 as i64) + max_excess;
    for value in [f64::MIN, -1.0, -0.0, 0.0, 0.5, 5e-324, f64::MAX, min, max] {
        let share = compressed.cdf(value);
        assert!((0.0..=1.0 + tolerance).contains(&share) || all == 0 && share.is_nan());
        let ranks = [compressed.rank(value), compressed.revrank(value)];
        assert!(ranks.iter().all(|rank| possible_ranks.contains(rank)));
        results.push(share.to_bits());
        results.extend(ranks.map(i64::cast_unsigned));
    }
    for rank in [0, 1, all / 2, all - 1, all, i64::MAX] {
        let values = [compressed.by_rank(rank), compressed.by_revrank(rank)];
        results.extend(values.map(f64::to_bits));
    }
    results
}

/// Like [`stored::reloads`]. Up to 2^53 observations, the loaded digest must also be equal.
fn reloads(digest: &TDigest) {
    stored::reloads(digest);
    if digest.observations() < 1 << 53 {
        assert!(reloaded(digest) == *digest, "the loaded digest differs");
    }
}

/// Finite samples, or some that are not: up to 60, an arithmetic progression or equal ones.
pub fn samples(input: &mut Input<'_>, is_wild: bool) -> Vec<f64> {
    let (len, first, step) = (input.byte() % 60, input.byte(), input.byte());
    if is_wild && len == 0 {
        return vec![input.double()];
    }
    let (first, step) = match first {
        0 => (-0.0, 0.0),
        _ if is_wild && first > 200 => (input.double(), input.double()),
        _ if first & 1 == 0 => (f64::from(first) - 100.0, f64::from(step % 5)),
        _ => (f64::from(first) / 0.7 - 100.0, f64::from(step) / 3.0 - 40.0),
    };
    (0..len).map(|n| first + step * f64::from(n)).collect()
}

/// The nodes as (mean, weight) in one list; the first `merged` nodes are merged.
#[derive(Debug, Clone)]
struct Nodes {
    compression: i64,
    /// Of a closed pane: that of the digest. It has more nodes, and two per run.
    of_window: Option<i64>,
    nodes: Vec<(f64, i64)>,
    merged: usize,
    min: f64,
    max: f64,
    compressions: i64,
}

impl Nodes {
    fn new(compression: i64) -> Self {
        Self {
            compression,
            of_window: None,
            nodes: Vec::new(),
            merged: 0,
            min: f64::MAX,
            max: f64::MIN,
            compressions: 0,
        }
    }

    fn append(&mut self, mean: f64, weight: i64) {
        if self.nodes.len() as i64 >= 6 * self.compression + 10 - 1 {
            self.compress();
        }
        self.nodes.push((mean, weight));
    }

    fn add(&mut self, values: &[f64]) {
        for &value in values {
            self.append(value, 1);
            self.min = if value < self.min { value } else { self.min };
            self.max = if value > self.max { value } else { self.max };
        }
    }

    fn compress(&mut self) {
        (self.nodes).sort_by(|a, b| a.0.partial_cmp(&b.0).expect("no nan"));
        let mut walked = Walk::new(self);
        walked.add(&self.nodes, i64::MAX);
        // Otherwise, no two samples are merged, not even those in the middle.
        let merges = walked.allows(((walked.all - 2.0) / 2.0).floor(), 2.0);
        let runs: Vec<_> = self.nodes.chunk_by(|a, b| a.0 == b.0).collect();
        // A run begins with a sample: heavier nodes before it are single ones.
        let runs: Vec<_> = (runs.into_iter())
            .flat_map(|equal| {
                let heavy = equal.iter().take_while(|node| node.1 > 1).count();
                let (heavy, run) = equal.split_at(heavy);
                (heavy.chunks(1)).chain(Some(run).filter(|run| !run.is_empty()))
            })
            .collect();
        let has_runs = runs.iter().any(|run| run.len() > 1);
        self.nodes = match merges && has_runs {
            true => self.with_runs(&runs),
            false => walked.result,
        };
        self.merged = self.nodes.len();
        self.compressions += 1;
    }

    /// The compressed nodes, if there are runs.
    fn with_runs(&self, runs: &[&[(f64, i64)]]) -> Vec<(f64, i64)> {
        let c = self.of_window.unwrap_or(self.compression);
        let (run_len, max_kept, max_len) = match self.of_window {
            None => (3, c, 5 * c + 9),
            Some(_) => (2, c / 2, (6 * c + 10).min(2 * c + 50)),
        };
        let weight = |run: &[(f64, i64)]| run.iter().map(|node| node.1).sum::<i64>();
        let all: i64 = self.nodes.iter().map(|node| node.1).sum();
        let shortened = |run: &[(f64, i64)]| match weight(run) {
            n if n > run_len && run_len == 3 => {
                vec![(run[0].0, 1), (run[0].0, n - 2), (run[0].0, 1)]
            }
            n if n > run_len => vec![(run[0].0, 1), (run[0].0, n - 1)],
            n => vec![(run[0].0, 1); n as usize],
        };
        let is_exact = runs.iter().all(|run| run.len() > 1 || run[0].1 == 1);
        let repeated = (runs.iter().filter(|run| run.len() > 1)).map(|run| weight(run));
        let repeated: i64 = repeated.sum();
        let len: i64 = runs.iter().map(|run| weight(run).min(run_len)).sum();
        let are_few = runs.len() as i64 <= c || 2 * repeated >= all && len <= run_len * c;
        if repeated > 0 && is_exact && are_few {
            return runs.iter().flat_map(|run| shortened(run)).collect();
        }
        let mut heavy: Vec<_> =
            (runs.iter().filter(|run| run.len() > 1 && weight(run) > 2)).collect();
        heavy.sort_by_key(|run| {
            let mixed = run[0].0.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            std::cmp::Reverse((weight(run), mixed))
        });
        let mut len = max_kept;
        loop {
            heavy.truncate(len as usize);
            // Without runs that are kept, there is no limit of the weights.
            let (max_len, max_weight) = match heavy.is_empty() {
                true => (i64::MAX, i64::MAX),
                false => (max_len, all / c),
            };
            let mut result = Walk::new(self);
            for &run in runs {
                match heavy.iter().any(|kept| kept.as_ptr() == run.as_ptr()) {
                    true => result.skip(shortened(run)),
                    // A run of at least three samples is one node.
                    false if run.len() > 1 && weight(run) > 2 => {
                        result.add(&[(run[0].0, weight(run))], max_weight);
                    }
                    false => result.add(run, max_weight),
                }
            }
            if result.result.len() as i64 <= max_len {
                return result.result;
            }
            // Half of them, then none.
            len = if len == max_kept { max_kept / 2 } else { 0 };
        }
    }

    fn compressed(&self) -> Answers {
        let mut copy = self.clone();
        copy.compress();
        let nodes = copy.nodes.iter().map(|node| (node.0, node.1 as f64));
        Answers {
            nodes: nodes.collect(),
            min: self.min,
            max: self.max,
        }
    }

    fn merge(compression: i64, operands: &[&Self]) -> Self {
        let mut result = Self::new(compression);
        for operand in operands {
            if result.nodes.len() > result.merged.max(1) {
                result.compress();
            }
            for (mean, weight) in operand.compressed().nodes {
                result.append(mean, weight as i64);
            }
            result.min = result.min.min(operand.min);
            result.max = result.max.max(operand.max);
        }
        result
    }

    /// Compares all results with those of a digest.
    fn check(&self, digest: &TDigest) {
        let info = digest.info();
        let weight = |nodes: &[(f64, i64)]| nodes.iter().map(|node| node.1).sum::<i64>();
        let (merged, unmerged) = self.nodes.split_at(self.merged);
        assert_eq!(info.merged_nodes, merged.len());
        assert_eq!(info.unmerged_nodes, unmerged.len());
        assert_eq!(info.merged_weight, weight(merged));
        assert_eq!(info.unmerged_weight, weight(unmerged));
        assert_eq!(info.total_compressions, self.compressions);
        if self.nodes.is_empty() {
            assert!(digest.min().is_nan() && digest.max().is_nan());
            return;
        }
        assert_eq!((digest.min(), digest.max()), (self.min, self.max));
        let compressed = digest.compressed().expect("enough memory");
        let nodes = compressed.centroids();
        let nodes: Vec<_> = nodes.map(|node| (node.mean, node.weight as f64)).collect();
        let expected = self.compressed();
        assert_eq!(nodes, expected.nodes);
        let all = info.observations;
        for step in 0..=50 {
            let q = f64::from(step) / 50.0;
            assert_close(compressed.quantile(q), expected.quantile(q, false));
            let rank = (all as f64 * q) as i64;
            if 0 < rank && rank < all {
                let share = |rank: i64| rank as f64 / all as f64;
                let by_rank = expected.quantile(share(rank), true);
                assert_close(compressed.by_rank(rank), by_rank);
                let by_revrank = expected.quantile(share(all - rank - 1), true);
                assert_close(compressed.by_revrank(rank), by_revrank);
            }
        }
        let means = nodes.iter().map(|node| node.0);
        let between = (nodes.windows(2)).map(|pair| pair[0].0 / 2.0 + pair[1].0 / 2.0);
        let edges = [f64::MIN, -0.0, 0.0, 5e-324, f64::MAX, self.min, self.max];
        for x in means.chain(between).chain(edges) {
            assert_close(compressed.cdf(x), expected.cdf(x));
            assert_eq!(compressed.rank(x), expected.rank(x), "rank {x}");
            assert_eq!(compressed.revrank(x), expected.revrank(x), "revrank {x}");
        }
        for (low, high) in [(0.0, 1.0), (0.1, 0.85), (0.5, 0.51)] {
            let mean = expected.trimmed_mean(low, high);
            assert_close(compressed.trimmed_mean(low, high), mean);
        }
    }
}

/// The nodes that are merged as far as the scale function allows.
struct Walk {
    normalizer: f64,
    all: f64,
    /// Of the nodes before the last one of the result.
    before: f64,
    result: Vec<(f64, i64)>,
    /// Whether the next node begins another one.
    is_closed: bool,
}

impl Walk {
    fn new(nodes: &Nodes) -> Self {
        let all: f64 = nodes.nodes.iter().map(|node| node.1 as f64).sum();
        Self {
            normalizer: nodes.compression as f64 / (2.0 * std::f64::consts::PI * all * all.ln()),
            all,
            before: 0.0,
            result: Vec::new(),
            is_closed: true,
        }
    }

    /// Whether a centroid may have this weight after the weight `before`.
    fn allows(&self, before: f64, weight: f64) -> bool {
        let (q0, q2) = (before / self.all, (before + weight) / self.all);
        let z = weight * self.normalizer;
        z <= q0 * (1.0 - q0) && z <= q2 * (1.0 - q2)
    }

    /// Merges nodes to centroids of at most this weight, unless a node is heavier.
    fn add(&mut self, nodes: &[(f64, i64)], max_weight: i64) {
        for &(mean, weight) in nodes {
            if let Some(&(last, last_weight)) = self.result.last().filter(|_| !self.is_closed) {
                let w = last_weight + weight;
                if w <= max_weight && self.allows(self.before, w as f64) {
                    self.result.pop();
                    let moved = (mean - last) * weight as f64 / w as f64;
                    self.result.push((last + moved, w));
                    continue;
                }
            }
            self.push((mean, weight));
            self.is_closed = false;
        }
    }

    fn push(&mut self, node: (f64, i64)) {
        self.before += self.result.last().map_or(0.0, |node| node.1 as f64);
        self.result.push(node);
    }

    /// Adds nodes with which none are merged.
    fn skip(&mut self, nodes: Vec<(f64, i64)>) {
        nodes.into_iter().for_each(|node| self.push(node));
        self.is_closed = true;
    }
}

fn assert_close(got: f64, want: f64) {
    let is_close = (got - want).abs() <= 1e-12 * want.abs().max(1.0);
    let is_equal = is_close || got.is_nan() && want.is_nan();
    assert!(is_equal, "{got} for {want}");
}

/// Queries by linear searches in the compressed nodes.
struct Answers {
    nodes: Vec<(f64, f64)>,
    min: f64,
    max: f64,
}

impl Answers {
    fn all(&self) -> f64 {
        self.nodes.iter().map(|node| node.1).sum()
    }

    fn quantile(&self, q: f64, of_rank: bool) -> f64 {
        let (nodes, all) = (&self.nodes, self.all());
        let index = q * all;
        match nodes[..] {
            [] => return f64::NAN,
            [only] => return only.0,
            _ => {}
        }
        if of_rank && index < 1.0 {
            return self.min;
        }
        let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
        if first.1 > 1.0 && index < first.1 / 2.0 {
            if first.1 == 2.0 {
                return self.min;
            }
            let value = self.min + (index - 1.0) / (first.1 / 2.0 - 1.0) * (first.0 - self.min);
            return value.max(self.min);
        }
        if index > all - 1.0 {
            return self.max;
        }
        if last.1 > 1.0 && all - index <= last.1 / 2.0 {
            if last.1 == 2.0 {
                return self.max;
            }
            return self.max - (all - index - 1.0) / (last.1 / 2.0 - 1.0) * (self.max - last.0);
        }
        let mut s = first.1 / 2.0;
        for pair in nodes.windows(2) {
            let ((m, w), (next_m, next_w)) = (pair[0], pair[1]);
            let dw = (w + next_w) / 2.0;
            if s + dw > index {
                let (mut left, mut right) = (0.0, 0.0);
                if w == 1.0 {
                    if index - s < 0.5 {
                        return m;
                    }
                    left = 0.5;
                }
                if next_w == 1.0 {
                    if s + dw - index <= 0.5 {
                        return next_m;
                    }
                    right = 0.5;
                }
                let (z1, z2) = (index - s - left, s + dw - index - right);
                return ((m * z2 + next_m * z1) / (z1 + z2)).max(m).min(next_m);
            }
            s += dw;
        }
        unreachable!("the rules for the ends leave no index outside");
    }

    fn cdf(&self, x: f64) -> f64 {
        let (nodes, all) = (&self.nodes, self.all());
        if nodes.is_empty() {
            return f64::NAN;
        }
        if x < self.min {
            return 0.0;
        }
        if x > self.max {
            return 1.0;
        }
        let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
        if nodes.len() == 1 {
            return 0.5;
        }
        if x < first.0 {
            let width = first.0 - self.min;
            if x == self.min {
                return 0.5 / all;
            }
            return (1.0 + (x - self.min) / width * (first.1 / 2.0 - 1.0)) / all;
        }
        if x > last.0 {
            let width = self.max - last.0;
            if x == self.max {
                return 1.0 - 0.5 / all;
            }
            return 1.0 - (1.0 + (self.max - x) / width * (last.1 / 2.0 - 1.0)) / all;
        }
        let mut s = 0.0;
        for (i, &(m, w)) in nodes.iter().enumerate() {
            if m == x {
                let equal: f64 = nodes[i..].iter().filter(|n| n.0 == x).map(|n| n.1).sum();
                return (s + equal / 2.0) / all;
            }
            let (next_m, next_w) = nodes[i + 1];
            if m <= x && x < next_m {
                if w == 1.0 && next_w == 1.0 {
                    return (s + 1.0) / all;
                }
                let left = if w == 1.0 { 0.5 } else { 0.0 };
                let right = if next_w == 1.0 { 0.5 } else { 0.0 };
                let dw = (w + next_w) / 2.0 - left - right;
                return (s + w / 2.0 + left + dw * (x - m) / (next_m - m)) / all;
            }
            s += w;
        }
        1.0 - 0.5 / all
    }

    fn trimmed_mean(&self, low: f64, high: f64) -> f64 {
        let (nodes, all) = (&self.nodes, self.all());
        if nodes.len() == 1 {
            return nodes[0].0;
        }
        let (low, high) = ((all * low).floor(), (all * high).ceil());
        let (mut s, mut sum, mut count) = (0.0f64, 0.0, 0.0);
        for &(m, w) in nodes {
            let part = ((s + w).min(high) - s.max(low)).max(0.0);
            sum += m * part;
            count += part;
            s += w;
        }
        sum / count
    }

    fn rank(&self, x: f64) -> i64 {
        let all = self.all() as i64;
        if all == 0 {
            return -2;
        }
        if x < self.min {
            return -1;
        }
        if x > self.max {
            return all;
        }
        let rank = self.cdf(x) * all as f64;
        let floor = rank.floor();
        floor as i64 + i64::from(rank - floor > 0.5)
    }

    fn revrank(&self, x: f64) -> i64 {
        let all = self.all() as i64;
        if all == 0 {
            return -2;
        }
        if x < self.min {
            return all;
        }
        if x > self.max {
            return -1;
        }
        let all = all as f64;
        (all - (self.cdf(x) * all).round()).round() as i64
    }
}

/// A digest, its model and its replica, which is neither read nor reloaded.
struct Copies {
    /// `None` if the samples are extreme or so many that sums are rounded.
    model: Option<Nodes>,
    replica: TDigest,
}

/// A digest and another one, which are exchanged.
pub struct TDigestModel {
    is_wild: bool,
    own: Copies,
    other: (TDigest, Copies),
}

impl TDigestModel {
    fn merge(&mut self, digest: &mut TDigest, compression: i64) {
        let (other, of_other) = &self.other;
        let merge = |operands: [&TDigest; 3]| {
            TDigest::merge(compression, &operands, Budget::UNLIMITED).expect("enough memory")
        };
        *digest = merge([digest, other, digest]);
        self.own.replica = merge([&self.own.replica, &of_other.replica, &self.own.replica]);
        self.own.model = (self.own.model.as_ref().zip(of_other.model.as_ref()))
            .filter(|_| digest.observations() < 1 << 40)
            .map(|(own, other)| Nodes::merge(compression, &[own, other, own]));
    }
}

impl Model for TDigestModel {
    type Sketch = TDigest;

    fn new(input: &mut Input<'_>) -> Option<(TDigest, Self)> {
        let compression = i64::from(input.byte() % 24);
        let is_wild = input.byte() < 80;
        let new = || TDigest::new(compression, Budget::new(&allows));
        if compression == 0 {
            assert!(new().is_err());
            return None;
        }
        let new = || new().expect("enough memory");
        let copies = || Copies {
            model: (!is_wild).then(|| Nodes::new(compression)),
            replica: new(),
        };
        let model = Self {
            is_wild,
            own: copies(),
            other: (new(), copies()),
        };
        Some((new(), model))
    }

    fn step(&mut self, digest: &mut TDigest, input: &mut Input<'_>) {
        let before = digest.observations();
        match input.byte() {
            0..=159 => {
                let samples = samples(input, self.is_wild);
                let result = digest.add(&samples);
                let is_finite = samples.iter().all(|sample| sample.is_finite());
                assert_eq!(result.is_ok(), is_finite);
                if is_finite {
                    self.own.replica.add(&samples).expect("finite samples");
                    if let Some(model) = &mut self.own.model {
                        model.add(&samples);
                    }
                    let is_exact = before < 1 << 53;
                    assert!(!is_exact || digest.observations() == before + samples.len() as i64);
                }
            }
            160..=189 => {
                std::mem::swap(digest, &mut self.other.0);
                std::mem::swap(&mut self.own, &mut self.other.1);
            }
            190..=209 if before < 1 << 58 => self.merge(digest, i64::from(input.byte() % 12) + 1),
            210..=213 if before > 0 => {
                // Weights above 2^53.
                while digest.observations() < 1 << 57 {
                    self.merge(digest, digest.compression().into());
                    *digest = copied(input, digest);
                }
            }
            214..=217 => {
                digest.reset();
                self.own.replica.reset();
                let compression = digest.compression().into();
                self.own.model = (!self.is_wild).then(|| Nodes::new(compression));
            }
            _ => drop(check_digest(digest)),
        }
        assert!(*digest == self.own.replica, "the replica differs");
    }

    fn check(&self, digest: &TDigest) {
        let fresh = self.own.replica.try_clone().expect("enough memory");
        if let Some(model) = &self.own.model {
            model.check(&fresh);
        }
        // After a reload, all nodes are merged.
        let of_nodes = |info: Info| Info {
            merged_nodes: info.merged_nodes + info.unmerged_nodes,
            merged_weight: info.observations,
            unmerged_nodes: 0,
            unmerged_weight: 0,
            ..info
        };
        assert_eq!(of_nodes(digest.info()), of_nodes(fresh.info()));
        assert!(digest.info().unmerged_nodes <= fresh.info().unmerged_nodes);
        assert_eq!(stored::digest(digest), stored::digest(&fresh));
        let expected = check_digest(&fresh);
        assert_eq!(check_digest(digest), expected);
        assert_eq!(check_digest(digest), expected);
    }
}
