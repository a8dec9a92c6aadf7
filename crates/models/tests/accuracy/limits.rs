//! Rate limits: how many of the clients near their limit are refused more than a tenth early.
//!
//! Ten requests per client on average; the limit is 1,000 and the requests of a client are at most the limit, and inversely
//! proportional to its rank. The result depends on requests / width, not on the number of clients, so that a
//! hundredth of ten million clients shows the bytes that these take.

use crate::streams::Random;
use crate::table;
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow, Shape};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::window::{Panes, Timed, Window};

const CLIENTS: u32 = 100_000;
const LIMIT: u32 = 1000;
const EARLY: u64 = LIMIT as u64 / 10;
/// Clients with at least this many requests are near their limit.
const NEAR: u32 = 900;
const SEEDS: u64 = 7;

/// The requests of each client, about ten per client.
fn requests() -> Vec<u32> {
    let of_first = 1.31 * f64::from(CLIENTS);
    let of_rank = |rank: u32| (of_first / f64::from(rank)).min(LIMIT.into());
    (1..=CLIENTS).map(|rank| of_rank(rank) as u32).collect()
}

/// The load of a window: its panes, and whether all requests of clients that are not near their limit are in the first one.
#[derive(Clone, Copy)]
struct Load {
    panes: u64,
    is_burst: bool,
}

/// The shares of the clients near their limit whose estimate is more than a tenth of the limit too high: in a sketch with a window,
/// and in one array for all panes, whose estimate is the minimum over the rows of the sums over the panes.
fn refused_early(load: Load, width: u64, depth: u64) -> [f64; 2] {
    let requests = requests();
    let near = || (0..CLIENTS).filter(|&client| requests[client as usize] >= NEAR);
    let (mut refused, mut all) = ([0u32; 2], 0);
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let mut panes = vec![Vec::new(); load.panes as usize];
        for (client, &number) in (0u32..).zip(&requests) {
            for _ in 0..number {
                let pane = match load.is_burst && number < NEAR {
                    true => 0,
                    false => (random.next_u64() % load.panes) as usize,
                };
                panes[pane].push(client);
            }
        }
        let window = Window::new(load.panes, load.panes, None).expect("a window");
        let shape = Shape::new(width, depth, CellSize::Four).expect("a shape");
        let key = Seed([seed as u8; 16]);
        let sketch = CountMinWindow::new(shape, window, key, Budget::UNLIMITED);
        let mut sketch = sketch.expect("a sketch");
        let sums = CountMin::new(width, depth, CellSize::Four, Budget::UNLIMITED);
        let mut sums = sums.expect("a sketch");
        // Other names for each seed, because the sketch without a window has no seed.
        let name = |client: u32| (u64::from(client) + (seed << 32)).to_le_bytes();
        for (number, pane) in (0u64..).zip(&mut panes) {
            for at in (1..pane.len()).rev() {
                pane.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
            }
            sketch.advance(1000 + number);
            for &client in &*pane {
                let added = sketch.increment(&name(client), 1, Budget::UNLIMITED);
                added.expect("no overflow");
                sums.increment(&name(client), 1).expect("no overflow");
            }
        }
        for client in near() {
            let count = u64::from(requests[client as usize]);
            let estimates = [
                sketch.query(&name(client), Panes::ALL),
                sums.query(&name(client)),
            ];
            for (refused, estimate) in refused.iter_mut().zip(estimates) {
                *refused += u32::from(estimate > count + EARLY);
            }
            all += 1;
        }
    }
    refused.map(|refused| f64::from(refused) / f64::from(all))
}

/// Measures several widths, in multiples of requests / (a tenth of the limit).
pub fn rate_limits() -> String {
    let accepted: u64 = requests().into_iter().map(u64::from).sum();
    let spread = |panes| Load {
        panes,
        is_burst: false,
    };
    let burst = Load {
        panes: 12,
        is_burst: true,
    };
    let mut rows = Vec::new();
    for (name, load, multiple, depth, [max, min_of_sums, max_of_sums]) in [
        ("12 panes, spread", spread(12), 0.1, 3, [0.001, 0.9, 1.0]),
        ("12 panes, spread", spread(12), 1.0, 3, [0.0, 0.001, 0.1]),
        ("12 panes, spread", spread(12), 1.7, 3, [0.0, 0.0, 0.001]),
        // The sizes that the sizing page computes for 1 %.
        ("12 panes, spread", spread(12), 0.5, 4, [0.0, 0.0, 1.0]),
        ("60 panes, spread", spread(60), 0.5, 4, [0.001, 0.0, 1.0]),
        ("12 panes, others in one", burst, 0.5, 4, [0.001, 0.0, 1.0]),
    ] {
        let width = (multiple * accepted as f64 / EARLY as f64).ceil() as u64;
        let [windowed, of_sums] = refused_early(load, width, depth);
        let is_within = windowed <= max && (min_of_sums..=max_of_sums).contains(&of_sums);
        assert!(
            is_within,
            "{name}, {multiple}, {depth}: {windowed} {of_sums}"
        );
        // Ten million clients: counters of two bytes in each live pane, and formerly in one more array.
        let array = 2.0 * multiple * 1e8 / EARLY as f64 * f64::from(depth as u32) / 1e6;
        let panes = load.panes as f64 + 1.0;
        rows.push(vec![
            name.to_owned(),
            format!("{multiple}"),
            depth.to_string(),
            format!("{:.2} %", windowed * 100.0),
            format!("{:.1} MB", array * panes),
            format!("{:.2} %", of_sums * 100.0),
            format!("{:.1} MB", array * (panes + 1.0)),
        ]);
    }
    let head = [
        "requests",
        "width",
        "depth",
        "refused early",
        "memory",
        "with the minimum of sums",
        "memory",
    ];
    table(&head, &rows)
}
