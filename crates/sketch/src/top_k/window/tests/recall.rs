//! Recall against exact counts of the window. The seeds are fixed, so the results are always the same.

use super::{listed, sketch};
use crate::top_k::random::Random;
use crate::window::Timed;
use std::cmp::Reverse;
use std::collections::VecDeque;

const ITEMS: usize = 100_000;
const PANES: u64 = 12;
const EVENTS_PER_PANE: usize = 50_000;
const K: usize = 100;

/// Numbers from 0 to [`ITEMS`] - 1; the probability of number i is proportional to 1 / (i + 1)^1.1.
struct Zipf {
    cumulative: Vec<f64>,
    random: Random,
}

impl Zipf {
    fn new() -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=ITEMS).map(|rank| {
            sum += f64::powf(rank as f64, -1.1);
            sum
        });
        Self {
            cumulative: cumulative.collect(),
            random: Random::from_seed(18),
        }
    }

    fn next(&mut self) -> usize {
        let at = self.random.next_f64() * self.cumulative[ITEMS - 1];
        self.cumulative
            .partition_point(|&sum| sum <= at)
            .min(ITEMS - 1)
    }
}

/// In each window the items get new ranks. At the end of each pane after the first window, the share of the listed
/// items whose exact count is at least that of the k-th item.
#[test]
fn the_list_contains_the_most_frequent_items_of_the_window() {
    for (width, depth, min_mean, min_worst) in [(1000, 5, 0.98, 0.95), (500, 5, 0.97, 0.93)] {
        let mut sketch = sketch(K as u64, width, depth, 0.9, PANES);
        let mut zipf = Zipf::new();
        let mut panes: VecDeque<Vec<u32>> = VecDeque::new();
        let mut recalls = Vec::new();
        for pane in 0..4 * PANES {
            sketch.advance(pane);
            // Multiplication by a number that has no common factor with the number of items is a permutation.
            let factor = [7, 30_011, 12_347, 77_773][(pane / PANES) as usize];
            let mut counts = vec![0; ITEMS];
            for _ in 0..EVENTS_PER_PANE {
                let item = (zipf.next() + 1) * factor % ITEMS;
                counts[item] += 1;
                sketch.add(format!("item:{item}").as_bytes(), 1).unwrap();
            }
            panes.push_back(counts);
            if panes.len() > PANES as usize + 1 {
                panes.pop_front();
            }
            let exact: Vec<u32> = (0..ITEMS)
                .map(|item| panes.iter().map(|counts| counts[item]).sum())
                .collect();
            let mut sorted = exact.clone();
            sorted.sort_unstable_by_key(|&count| Reverse(count));
            let found = listed(&sketch, pane);
            assert_eq!(found.len(), K);
            let count_of = |item: &[u8]| {
                let number = std::str::from_utf8(&item[5..]).unwrap();
                exact[number.parse::<usize>().unwrap()]
            };
            let right = found
                .iter()
                .filter(|(item, _)| count_of(item) >= sorted[K - 1])
                .count();
            assert!(found.iter().all(|(item, count)| *count <= count_of(item)));
            if pane >= PANES {
                recalls.push(right as f64 / K as f64);
            }
        }
        let mean = recalls.iter().sum::<f64>() / recalls.len() as f64;
        let worst = recalls.iter().copied().fold(1.0, f64::min);
        println!(
            "{width} x {depth}: mean recall {mean:.4}, worst {worst:.2}, {} candidates",
            sketch.candidate_count()
        );
        assert!(
            mean >= min_mean && worst >= min_worst,
            "{width} x {depth}: {mean}, {worst}"
        );
    }
}
