//! A model written from the spec, with one list of nodes and linear searches, and properties of arbitrary sequences of
//! writes, reads, copies and reloads.

use super::*;
use crate::memory::Budget;
use crate::stored::Stored;
use proptest::prelude::*;

/// Nodes as (mean, weight); the first `merged` nodes are merged.
#[derive(Debug, Clone)]
struct Model {
    compression: i64,
    nodes: Vec<(f64, i64)>,
    merged: usize,
    min: f64,
    max: f64,
    compressions: i64,
}

impl Model {
    fn new(compression: i64) -> Self {
        Self {
            compression,
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
        self.nodes.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap());
        let all: f64 = self.nodes.iter().map(|node| node.1 as f64).sum();
        let normalizer = self.compression as f64 / (2.0 * std::f64::consts::PI * all * all.ln());
        let mut joined: Vec<(f64, i64)> = Vec::new();
        let mut before = 0.0;
        for &(mean, weight) in &self.nodes {
            if let Some(current) = joined.last_mut() {
                let w = (current.1 + weight) as f64;
                let (q0, q2) = (before / all, (before + w) / all);
                let z = w * normalizer;
                if z <= q0 * (1.0 - q0) && z <= q2 * (1.0 - q2) {
                    current.1 += weight;
                    current.0 += (mean - current.0) * weight as f64 / current.1 as f64;
                    continue;
                }
                before += current.1 as f64;
            }
            joined.push((mean, weight));
        }
        self.nodes = joined;
        self.merged = self.nodes.len();
        self.compressions += 1;
    }

    fn compressed(&self) -> Vec<(f64, f64)> {
        let mut copy = self.clone();
        copy.compress();
        copy.nodes
            .iter()
            .map(|node| (node.0, node.1 as f64))
            .collect()
    }

    fn merge(compression: i64, operands: &[&Model]) -> Self {
        let mut result = Self::new(compression);
        for operand in operands {
            if result.nodes.len() > result.merged {
                result.compress();
            }
            for (mean, weight) in operand.compressed() {
                result.append(mean, weight as i64);
            }
            result.min = result.min.min(operand.min);
            result.max = result.max.max(operand.max);
        }
        result
    }

    fn quantile(&self, q: f64, of_rank: bool) -> f64 {
        let nodes = self.compressed();
        let all: f64 = nodes.iter().map(|node| node.1).sum();
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
        let nodes = self.compressed();
        let all: f64 = nodes.iter().map(|node| node.1).sum();
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
        let nodes = self.compressed();
        let all: f64 = nodes.iter().map(|node| node.1).sum();
        if nodes.len() == 1 {
            return nodes[0].0;
        }
        let (low, high) = ((all * low).floor(), (all * high).ceil());
        let (mut s, mut sum, mut count) = (0.0f64, 0.0, 0.0);
        for (m, w) in nodes {
            let part = ((s + w).min(high) - s.max(low)).max(0.0);
            sum += m * part;
            count += part;
            s += w;
        }
        sum / count
    }

    fn rank(&self, x: f64) -> i64 {
        let all: i64 = self.nodes.iter().map(|node| node.1).sum();
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
        let all: i64 = self.nodes.iter().map(|node| node.1).sum();
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

fn close(got: f64, want: f64) -> bool {
    got == want
        || (got.is_nan() && want.is_nan())
        || (got - want).abs() <= 1e-12 * want.abs().max(1.0)
}

fn assert_like(digest: &TDigest, model: &Model) {
    let compressed = digest.compressed().unwrap();
    let nodes: Vec<(f64, f64)> = compressed
        .centroids()
        .map(|node| (node.mean, node.weight as f64))
        .collect();
    assert_eq!(nodes, model.compressed());
    let figures = digest.info();
    let weight = |nodes: &[(f64, i64)]| nodes.iter().map(|node| node.1).sum::<i64>();
    let (merged, unmerged) = model.nodes.split_at(model.merged);
    assert_eq!(figures.merged_nodes, merged.len());
    assert_eq!(figures.unmerged_nodes, unmerged.len());
    assert_eq!(figures.merged_weight, weight(merged));
    assert_eq!(figures.unmerged_weight, weight(unmerged));
    assert_eq!(figures.observations, weight(&model.nodes));
    assert_eq!(figures.total_compressions, model.compressions);
    let all = figures.observations;
    for step in 0..=50 {
        let q = f64::from(step) / 50.0;
        let (got, want) = (compressed.quantile(q), model.quantile(q, false));
        assert!(close(got, want), "quantile {q}: {got} for {want}");
        let rank = (all as f64 * q) as i64;
        if 0 < rank && rank < all {
            let want = model.quantile(rank as f64 / all as f64, true);
            assert!(close(compressed.by_rank(rank), want));
            let want = model.quantile((all - rank - 1) as f64 / all as f64, true);
            assert!(close(compressed.by_revrank(rank), want));
        }
    }
    for x in probes(digest) {
        assert!(close(compressed.cdf(x), model.cdf(x)), "cdf {x}");
        assert_eq!(compressed.rank(x), model.rank(x), "rank {x}");
        assert_eq!(compressed.revrank(x), model.revrank(x), "revrank {x}");
    }
    for (low, high) in [(0.0, 1.0), (0.1, 0.85), (0.5, 0.51)] {
        let want = model.trimmed_mean(low, high);
        assert!(close(compressed.trimmed_mean(low, high), want));
    }
}

#[derive(Debug, Clone)]
enum Write {
    Add(usize, Vec<f64>),
    Merge(usize, i64, Vec<usize>),
    Reset(usize),
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => -100.0..100.0f64,
        2 => (-4i8..5).prop_map(f64::from),
        1 => Just(-0.0),
    ]
}

/// Writes to three digests.
fn writes() -> impl Strategy<Value = Vec<Write>> {
    let key = || 0..3usize;
    let write = prop_oneof![
        8 => (key(), prop::collection::vec(value(), 0..60)).prop_map(|(k, v)| Write::Add(k, v)),
        2 => (key(), 1..12i64, prop::collection::vec(key(), 1..4))
            .prop_map(|(k, c, from)| Write::Merge(k, c, from)),
        1 => key().prop_map(Write::Reset),
    ];
    prop::collection::vec(write, 1..25)
}

fn apply(digests: &mut [TDigest], write: &Write) {
    match write {
        Write::Add(key, values) => digests[*key].add(values).unwrap(),
        Write::Merge(key, compression, from) => {
            let operands: Vec<&TDigest> = from.iter().map(|&k| &digests[k]).collect();
            digests[*key] = TDigest::merge(*compression, &operands, Budget::UNLIMITED).unwrap();
        }
        Write::Reset(key) => digests[*key].reset(),
    }
}

fn three() -> Vec<TDigest> {
    [1, 3, 10].map(digest).into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn answers_equal_those_of_the_model(writes in writes()) {
        let mut digests = three();
        let mut models: Vec<Model> = [1, 3, 10].map(Model::new).into();
        for write in writes {
            apply(&mut digests, &write);
            match &write {
                Write::Add(key, values) => models[*key].add(values),
                Write::Merge(key, compression, from) => {
                    let operands: Vec<&Model> = from.iter().map(|&k| &models[k]).collect();
                    models[*key] = Model::merge(*compression, &operands);
                }
                Write::Reset(key) => models[*key] = Model::new(models[*key].compression),
            }
        }
        for (digest, model) in digests.iter().zip(&models) {
            if digest.observations() > 0 {
                assert_like(digest, model);
            }
        }
    }

    #[test]
    fn reads_change_nothing(writes in writes(), reads: Vec<bool>) {
        let (mut read, mut left) = (three(), three());
        for (write, reads) in writes.iter().zip(reads.iter().cycle()) {
            apply(&mut read, write);
            apply(&mut left, write);
            if *reads {
                for digest in &read {
                    answers(digest);
                    saved(digest);
                    fed(digest);
                }
            }
        }
        for (read, left) in read.iter().zip(&left) {
            prop_assert_eq!(fed(read), fed(left));
            prop_assert_eq!(saved(read), saved(left));
            prop_assert_eq!(read.info(), left.info());
            prop_assert_eq!(answers(read), answers(left));
            prop_assert_eq!(answers(read), answers(left));
        }
    }

    #[test]
    fn a_load_or_copy_at_any_time_does_not_change_later_answers(
        writes in writes(), moments: Vec<u8>,
    ) {
        let (mut stored, mut left) = (three(), three());
        for (write, moment) in writes.iter().zip(moments.iter().cycle()) {
            apply(&mut stored, write);
            apply(&mut left, write);
            for digest in &mut stored {
                let copy = match moment % 4 {
                    0 => TDigest::load(&mut saved(digest), 0, &()).unwrap(),
                    1 => TDigest::from_header(&digest.header().unwrap(), Budget::UNLIMITED).unwrap(),
                    2 => digest.try_clone().unwrap(),
                    _ => continue,
                };
                prop_assert!(copy == *digest);
                *digest = copy;
            }
        }
        for (stored, left) in stored.iter().zip(&left) {
            prop_assert!(stored == left);
            prop_assert_eq!(fed(stored), fed(left));
            prop_assert_eq!(saved(stored), saved(left));
            prop_assert_eq!(answers(stored), answers(left));
        }
    }

    #[test]
    fn a_reload_with_weights_above_2_to_the_53rd_does_not_change_later_answers(
        values in prop::collection::vec(value(), 1..40), compression in 1..40i64, doublings in 40..58usize,
    ) {
        let mut left = digest_of(compression, &values);
        let mut stored = left.try_clone().unwrap();
        for step in 0..doublings {
            let value = values[step % values.len()];
            for digest in [&mut left, &mut stored] {
                digest.add(&[value, -value]).unwrap();
                *digest = TDigest::merge(compression, &[&*digest, &*digest], Budget::UNLIMITED).unwrap();
            }
            stored = TDigest::load(&mut saved(&stored), 0, &()).unwrap();
            prop_assert!(stored == left);
            prop_assert_eq!(saved(&stored), saved(&left));
        }
        prop_assert!(left.observations() > 1 << 40);
        prop_assert_eq!(answers(&stored), answers(&left));
    }

    #[test]
    fn batch_sizes_do_not_matter(
        values in prop::collection::vec(value(), 0..400), batch in 1..50usize, compression in 1..6i64,
    ) {
        let mut single = digest(compression);
        for part in values.chunks(batch) {
            single.add(part).unwrap();
        }
        let all = digest_of(compression, &values);
        prop_assert_eq!(single.info(), all.info());
        prop_assert!(single == all);
    }
}
