//! Rate limits: streams of requests compared with exact counters.

use super::*;
use crate::seed::Seed;
use crate::top_k::random::Random;
use crate::window::{Panes, Timed, Window};
use std::collections::{BTreeMap, VecDeque};

const CLIENTS: usize = 10_000;
const REQUESTS_PER_PANE: usize = 25_000;
const LIMIT: u64 = 100;
const WIDTH: u64 = 4000;
const DEPTH: u64 = 5;

/// Sends the requests of this many panes, of which `live` are counted at a time, and compares the answers with exact
/// counters. The number of requests of client n is proportional to 1 / n, and changes after a third of the panes.
///
/// No client gets more than the limit accepted. A client is refused early if its estimate is too high: by more than
/// 2 × total / width with a probability of at most 2^-depth, so at most 312 of the 10,000 clients are expected to be
/// refused so early in a pane. With random columns, 10 to 14 % of the clients exceed this bound in a row (measured), so less than
/// one client exceeds it in all 5 rows. More than 312 do with a probability below 1e-300. The seed is fixed.
fn check_requests<S>(
    mut sketch: S,
    panes: u64,
    live: usize,
    advance: fn(&mut S, u64),
    request: fn(&mut S, &str) -> Result<u64, CountMinError>,
    total: fn(&S) -> u64,
) {
    let weights = (1..=CLIENTS).scan(0.0, |sum, rank| {
        *sum += 1.0 / rank as f64;
        Some(*sum)
    });
    let cumulative: Vec<f64> = weights.collect();
    let mut random = Random::from_seed(34);
    // The accepted requests of each client: in each live pane, and in all of them.
    let mut counters = VecDeque::from([vec![0; CLIENTS]]);
    let mut exact = vec![0; CLIENTS];
    let mut refused = 0;
    for pane in 0..panes {
        advance(&mut sketch, pane);
        // Per client, the lowest count at which a request was refused.
        let mut refused_at = BTreeMap::new();
        for _ in 0..REQUESTS_PER_PANE {
            let at = random.next_f64() * cumulative[CLIENTS - 1];
            let rank = cumulative.partition_point(|&sum| sum <= at);
            let factor = [7, 3331, 1249][(3 * pane / panes) as usize];
            let client = (rank * factor + 1) % CLIENTS;
            let name = format!("client:{client}");
            match request(&mut sketch, &name) {
                Ok(estimate) => {
                    exact[client] += 1;
                    counters[0][client] += 1;
                    assert!(exact[client] <= estimate && estimate <= LIMIT);
                }
                Err(CountMinError::AboveLimit(estimate)) => {
                    assert!(exact[client] <= estimate);
                    let at = refused_at.entry(client).or_insert(LIMIT);
                    *at = exact[client].min(*at);
                }
                Err(error) => panic!("{error}"),
            }
        }
        let total = total(&sketch);
        assert_eq!(total, exact.iter().sum::<u64>());
        let bound = 2 * total / WIDTH;
        assert!(bound < LIMIT / 2, "the bound must be below the limit");
        let early = refused_at.values().filter(|&at| LIMIT - at > bound).count();
        assert!(early <= CLIENTS >> DEPTH, "{early} clients refused early");
        refused += refused_at.len();
        counters.push_front(vec![0; CLIENTS]);
        if counters.len() > live {
            let expired = counters.pop_back().unwrap();
            (exact.iter_mut().zip(expired)).for_each(|(exact, count)| *exact -= count);
        }
    }
    assert!(refused > 0, "the limit must refuse requests");
}

#[test]
fn no_client_gets_more_than_the_limit() {
    for cell_size in ALL_SIZES {
        check_requests(
            sketch(WIDTH, DEPTH, cell_size),
            3,
            3,
            |_, _| (),
            |sketch, name| sketch.increment_limited(name.as_bytes(), 1, LIMIT),
            CountMin::total,
        );
    }
}

#[test]
fn no_client_gets_more_than_the_limit_in_any_window() {
    for cell_size in ALL_SIZES {
        let window = Window::new(4000, 4, None).unwrap();
        let dimensions = Dimensions::new(WIDTH, DEPTH, cell_size).unwrap();
        let sketch = CountMinWindow::new(dimensions, window, Seed([7; 16]), Budget::UNLIMITED);
        check_requests(
            sketch.unwrap(),
            15,
            5,
            |sketch, pane| {
                sketch.advance(pane);
            },
            |sketch, name| sketch.increment_limited(name.as_bytes(), 1, LIMIT, Budget::UNLIMITED),
            |sketch| sketch.total(Panes::ALL),
        );
    }
}
