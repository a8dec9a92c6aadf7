//! Rate limits: how many clients are refused more than a tenth of the limit early, by load and by width and depth.
//!
//! The share depends on the requests of all clients, divided by the width, so that a thousandth of 100 million requests shows that of
//! the recipe.

use crate::clients::Counter;
use crate::streams::{Random, STREAMS, Stream, shuffle};
use crate::{largest_share, per_cent, table};
use roughly_sketch::count_min::NO_LIMIT;
use std::collections::HashMap;

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

/// Loads that are the worst for some size: all clients send so many requests.
const EQUAL: [u32; 8] = [10, 50, 51, 100, 101, 150, 200, 500];
/// Those of which the page has the shares.
const SHOWN_EQUAL: [u32; 4] = [50, 51, 101, 200];

const fn size(panes: Option<u64>, width: f64, depth: u64, max: f64) -> Size {
    Size {
        panes,
        width,
        depth,
        max,
    }
}

/// The requests of each live pane.
type Load = Vec<Vec<u32>>;

/// The events of a stream of the collection, without those of a client above the limit.
fn of_stream(stream: &Stream) -> Load {
    let mut counts = HashMap::new();
    let live = PANES as u32 + 1;
    let of_pane = |number| {
        let pane = crate::pane(number, REQUESTS as usize / live as usize, 100);
        let mut requests = stream.events(pane, 5);
        requests.retain(|&client| {
            let count = counts.entry(client).or_insert(0);
            *count += 1;
            *count <= LIMIT
        });
        requests
    };
    (0..live).map(of_pane).collect()
}

impl Size {
    /// The share of the probes that are refused more than E requests early, after these requests of each pane.
    fn refused_early(&self, panes: &Load, seed: u64) -> f64 {
        let width = (self.width * REQUESTS as f64 / f64::from(EARLY)).ceil() as u64;
        let mut sketch = Counter::new(width, self.depth, self.panes, seed as u8);
        // Other names for each seed, because the sketch without a window has no seed.
        let name = |client: u32| (u64::from(client) | seed << 32).to_le_bytes();
        for (number, pane) in (1000u64..).zip(panes) {
            sketch.advance(number);
            for &client in pane {
                assert!(sketch.count(&name(client), NO_LIMIT), "an overflow");
            }
        }
        let probes = 1 << 30..(1 << 30) + PROBES;
        let refused = probes.filter(|&probe| sketch.query(&name(probe)) > EARLY.into());
        refused.count() as f64 / f64::from(PROBES)
    }
}

/// So many requests of each client in random order: spread over all panes, or all in one.
fn equal(requests: u32, is_burst: bool, seed: u64) -> Load {
    let mut random = Random(seed);
    let live = PANES + 1;
    let mut panes = vec![Vec::new(); live as usize];
    for client in 0..(REQUESTS / u64::from(requests)) as u32 {
        for _ in 0..requests {
            let pane = if is_burst {
                0
            } else {
                random.next_u64() % live
            };
            panes[pane as usize].push(client);
        }
    }
    panes.iter_mut().for_each(|pane| shuffle(pane, &mut random));
    panes
}

/// The share of the clients that are refused more than E early, by size: the mean of these loads.
fn refused_early(name: &str, loads: &[Load]) -> [f64; SIZES.len()] {
    SIZES.each_ref().map(|size| {
        let of_load = |(seed, load)| size.refused_early(load, seed);
        let sum: f64 = (0..).zip(loads).map(of_load).sum();
        let share = sum / loads.len() as f64;
        let &Size {
            width, depth, max, ..
        } = size;
        assert!(share <= max, "{name}, {width}, {depth}: {share}");
        share
    })
}

/// The table of the recipe: the share of the clients that are refused more than E early. Of clients with equal numbers of requests, the larger
/// one of requests that are spread over the window and requests that are all in one pane.
pub fn rate_limits() -> String {
    let mut rows = Vec::new();
    for requests in EQUAL {
        let name = requests.to_string();
        let [spread, burst] = [false, true].map(|is_burst| {
            let loads: Vec<_> = ((0..SEEDS).map(|seed| equal(requests, is_burst, seed))).collect();
            refused_early(&name, &loads)
        });
        if SHOWN_EQUAL.contains(&requests) {
            let mut row = vec![name];
            row.extend((0..SHOWN).map(|at| per_cent(spread[at].max(burst[at]))));
            rows.push(row);
        }
    }
    let of_collection = STREAMS.map(|stream| {
        let shares = refused_early(stream.name, &[of_stream(&stream)]);
        (stream.name, shares)
    });
    let mut row = vec!["the worst stream of the collection".to_owned()];
    row.extend((0..SHOWN).map(|at| {
        let largest = (of_collection.iter()).max_by(|a, b| a.1[at].total_cmp(&b.1[at]));
        let (name, shares) = largest.expect("a stream");
        largest_share(name, shares[at])
    }));
    rows.push(row);
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
