//! Rate limits: how many clients are refused more than a tenth of the limit early, by load and by width and depth.
//!
//! The share depends on the requests of all clients, divided by the width, so that a thousandth of 100 million requests shows that of
//! the recipe.

use crate::streams::Random;
use crate::table;
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow, Shape};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::window::{Panes, Timed, Window};

/// N, the requests of all clients that count at a time.
const REQUESTS: u64 = 100_000;
const LIMIT: u32 = 1000;
/// E, the requests by which a client may be refused early.
const EARLY: u32 = LIMIT / 10;
const PANES: u64 = 12;
const SEEDS: u64 = 3;
/// Clients whose first request is tested: what their estimate is then, they are refused early.
const PROBES: u32 = 20_000;

/// The width of the rule for sketches with a window, in multiples of N / E: 1 / ln 2, rounded up. There are fewer than N / E clients with
/// more than E requests, so that at most half of the cells of a row have such a client. Clients with fewer requests add little, because
/// an increment raises a cell only as far as needed. So the worst load is that all clients send E + 1 requests in one pane.
const WIDTH: f64 = 1.45;

/// A sketch.
struct Size {
    /// `None`: no window.
    panes: Option<u64>,
    /// In multiples of N / E.
    width: f64,
    depth: u64,
    /// The share of the clients that may be refused early.
    max: f64,
}

/// The sketches of the table, then others for which only the share is checked. The clients are fixed. Of random ones, with a share of
/// 2^-depth in the worst of the loads, more than the maximum are refused with a probability below 1e-6: it is at least six standard
/// deviations above, those of the probes and of the cells with a client together.
const SIZES: [Size; 6] = [
    size(None, 2.0, 7, 0.01),
    size(Some(PANES), WIDTH, 7, 0.01),
    size(Some(PANES), 1.0, 6, 1.0),
    size(Some(PANES), 0.5, 4, 1.0),
    size(Some(PANES), WIDTH, 3, 0.2),
    size(Some(PANES), WIDTH, 5, 0.05),
];
const SHOWN: usize = 3;
/// The loads of which the page shows the shares: skewed ones, and those that are worst for a size.
const SHOWN_LOADS: [&str; 5] = ["Zipf 1.05", "50", "51", "101", "200"];

const fn size(panes: Option<u64>, width: f64, depth: u64, max: f64) -> Size {
    Size {
        panes,
        width,
        depth,
        max,
    }
}

/// The requests of each client of a load.
struct Load {
    name: &'static str,
    requests: Vec<u32>,
}

/// Requests in proportion to `weights`, at most the limit, about [`REQUESTS`] in all.
fn in_proportion(weights: &[f64]) -> Vec<u32> {
    let scaled = |factor: f64| {
        let requests = weights
            .iter()
            .map(move |weight| (weight * factor).min(LIMIT.into()));
        requests.map(|requests| requests.round() as u32)
    };
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        match scaled(middle).map(u64::from).sum::<u64>() > REQUESTS {
            true => high = middle,
            false => low = middle,
        }
    }
    scaled(low).collect()
}

fn loads() -> Vec<Load> {
    let equal = |requests: u32| vec![requests; (REQUESTS / u64::from(requests)) as usize];
    let zipf = |exponent: f64| {
        let weights = (1..=10_000u32).map(|rank| f64::from(rank).powf(-exponent));
        in_proportion(&weights.collect::<Vec<_>>())
    };
    let mut random = Random(5);
    let log_normal: Vec<_> = (0..10_000).map(|_| (1.5 * random.normal()).exp()).collect();
    // Each twentieth client sends 400 requests.
    let mixed = (0..REQUESTS * 20 / 457).map(|client| if client % 20 == 0 { 400 } else { 3 });
    let load = |name, requests| Load { name, requests };
    vec![
        load("10", equal(10)),
        load("Zipf 0.8", zipf(0.8)),
        load("Zipf 1.05", zipf(1.05)),
        load("Zipf 1.5", zipf(1.5)),
        load("log-normal, σ 1.5", in_proportion(&log_normal)),
        load("5 % of the clients 400, the others 3", mixed.collect()),
        load("50", equal(50)),
        load("51", equal(51)),
        load("100", equal(100)),
        load("101", equal(101)),
        load("150", equal(150)),
        load("200", equal(200)),
        load("500", equal(500)),
    ]
}

/// A sketch with or without a window.
enum Sketch {
    Classic(CountMin),
    Windowed(Box<CountMinWindow>),
}

impl Sketch {
    fn new(size: &Size, seed: u64) -> Self {
        let &Size {
            panes,
            width,
            depth,
            ..
        } = size;
        let width = (width * REQUESTS as f64 / f64::from(EARLY)).ceil() as u64;
        let Some(panes) = panes else {
            let sketch = CountMin::new(width, depth, CellSize::Two, Budget::UNLIMITED);
            return Self::Classic(sketch.expect("a sketch"));
        };
        let window = Window::new(panes, panes, None).expect("a window");
        let shape = Shape::new(width, depth, CellSize::Two).expect("a shape");
        let key = Seed([seed as u8; Seed::BYTES]);
        let sketch = CountMinWindow::new(shape, window, key, Budget::UNLIMITED);
        Self::Windowed(Box::new(sketch.expect("a sketch")))
    }

    /// The share of the probes that are refused more than E requests early, after these requests of each pane.
    fn refused_early(mut self, panes: &[Vec<u32>], seed: u64) -> f64 {
        // Other names for each seed, because the sketch without a window has no seed.
        let name = |client: u32| (u64::from(client) | seed << 32).to_le_bytes();
        for (number, pane) in (1000u64..).zip(panes) {
            for &client in pane {
                match &mut self {
                    Self::Classic(sketch) => {
                        sketch.increment(&name(client), 1).expect("no overflow");
                    }
                    Self::Windowed(sketch) => {
                        sketch.advance(number);
                        let added = sketch.increment(&name(client), 1, Budget::UNLIMITED);
                        added.expect("no overflow");
                    }
                }
            }
        }
        let refused = (1 << 30..(1 << 30) + PROBES).filter(|&probe| {
            let estimate = match &self {
                Self::Classic(sketch) => sketch.query(&name(probe)),
                Self::Windowed(sketch) => sketch.query(&name(probe), Panes::ALL),
            };
            estimate > EARLY.into()
        });
        refused.count() as f64 / f64::from(PROBES)
    }
}

/// The requests of each live pane in random order: spread over all of them, or all in one.
fn panes_of(requests: &[u32], is_burst: bool, seed: u64) -> Vec<Vec<u32>> {
    let mut random = Random(seed);
    let live = PANES + 1;
    let mut panes = vec![Vec::new(); live as usize];
    for (client, &number) in (0u32..).zip(requests) {
        for _ in 0..number {
            let pane = if is_burst {
                0
            } else {
                random.next_u64() % live
            };
            panes[pane as usize].push(client);
        }
    }
    for pane in &mut panes {
        for at in (1..pane.len()).rev() {
            pane.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
        }
    }
    panes
}

/// The table of the recipe: the share of the clients that are refused more than E early, the larger one of requests that are spread
/// over the window and requests that are all in one pane.
pub fn rate_limits() -> String {
    let mut rows = Vec::new();
    for Load { name, requests } in loads() {
        let mut largest = [0.0; SIZES.len()];
        for is_burst in [false, true] {
            let mut refused = [0.0; SIZES.len()];
            for seed in 0..SEEDS {
                let panes = panes_of(&requests, is_burst, seed);
                for (refused, size) in refused.iter_mut().zip(&SIZES) {
                    let sketch = Sketch::new(size, seed);
                    *refused += sketch.refused_early(&panes, seed) / SEEDS as f64;
                }
            }
            for ((largest, refused), size) in largest.iter_mut().zip(refused).zip(&SIZES) {
                let Size {
                    width, depth, max, ..
                } = *size;
                assert!(refused <= max, "{name}, {width}, {depth}: {refused}");
                *largest = f64::max(*largest, refused);
            }
        }
        if !SHOWN_LOADS.contains(&name) {
            continue;
        }
        let mut row = vec![name.to_owned()];
        let shares = largest[..SHOWN].iter();
        row.extend(shares.map(|share| format!("{:.2} %", share * 100.0)));
        rows.push(row);
    }
    let mut head = vec!["requests of each client".to_owned()];
    head.extend(SIZES[..SHOWN].iter().map(|size| {
        let no_window = if size.panes.is_none() {
            "no window, "
        } else {
            ""
        };
        format!("{no_window}{} · N / E, {} rows", size.width, size.depth)
    }));
    let head: Vec<_> = head.iter().map(String::as_str).collect();
    table(&head, &rows)
}
