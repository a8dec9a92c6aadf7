//! Recall and counts of top-k sketches with a window, by stream.

use crate::digests::normal;
use crate::families::thousands;
use crate::recall::quality;
use crate::streams::{Random, Weights, counts};
use crate::table;
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::{TopK, TopKWindow};
use roughly_sketch::window::{Panes, Timed, Window};

const UNIVERSE: usize = 100_000;
/// Six minutes.
const UNIT_MS: u64 = 360_000;
/// Units of a day.
const DAY: usize = 240;
/// Units before each read of the second half of a day.
const READ_STEP: usize = 15;

/// The events of a unit.
#[derive(Debug, Clone, Copy)]
enum Stream {
    /// Draws from a Zipf distribution with this exponent.
    Zipf(f64),
    /// The same, but all events of an item of a unit follow each other.
    Blocks(f64),
    /// The same, but the ranking moves by one item per unit.
    Drift(f64),
    /// Draws of items whose frequencies have a log-normal distribution.
    LogNormal,
    /// Draws of 30 items with equal frequencies, and of all others with a 500th of it.
    Frequent30,
    /// 100 items with three events each, and 130 items, different in each unit, with five.
    Steady,
}

impl Stream {
    fn name(self) -> String {
        match self {
            Self::Zipf(exponent) => format!("Zipf({exponent:?})"),
            Self::Blocks(exponent) => format!("Zipf({exponent:?}), events by item"),
            Self::Drift(exponent) => format!("Zipf({exponent:?}), the ranking changes"),
            Self::LogNormal => "log-normal".to_owned(),
            Self::Frequent30 => "30 equal items, others flat".to_owned(),
            Self::Steady => "100 steady items, 130 new ones".to_owned(),
        }
    }

    /// The events of this many units.
    fn units(self, units: usize, events: usize) -> Vec<Vec<u32>> {
        let mut random = Random(7);
        let weights = match self {
            Self::Zipf(exponent) | Self::Blocks(exponent) | Self::Drift(exponent) => {
                Weights::new((1..=UNIVERSE).map(|rank| (rank as f64).powf(-exponent)))
            }
            Self::LogNormal => {
                let mut random = Random(99);
                Weights::new((0..UNIVERSE).map(|_| (2.0 * normal(&mut random)).exp()))
            }
            Self::Frequent30 => {
                Weights::new((0..UNIVERSE).map(|item| if item < 30 { 500.0 } else { 1.0 }))
            }
            Self::Steady => {
                return (0..units as u32)
                    .map(|unit| steady(unit, &mut random))
                    .collect();
            }
        };
        let mut unit = |number: usize| {
            let mut events = weights.draws(events, &mut random);
            match self {
                Self::Blocks(_) => {
                    events.sort_by_cached_key(|&item| Random(item.into()).next_u64());
                }
                Self::Drift(_) => {
                    let moved = |item: &mut u32| *item = (*item + number as u32) % UNIVERSE as u32;
                    events.iter_mut().for_each(moved);
                }
                _ => {}
            }
            events
        };
        (0..units).map(&mut unit).collect()
    }
}

/// A unit of [`Stream::Steady`], in random order.
fn steady(unit: u32, random: &mut Random) -> Vec<u32> {
    let new = (0..130).map(|number| 100 + 130 * unit + number);
    let mut events: Vec<u32> = (0..100).flat_map(|item| [item; 3]).collect();
    events.extend(new.flat_map(|item| [item; 5]));
    events.sort_by_cached_key(|_| random.next_u64());
    events
}

/// Share of the true top k of these panes that is on the list, and the mean relative error of its counts. `units` has the items
/// of each unit, which were added in its middle.
fn measure(
    sketch: &TopKWindow,
    cache: &mut <TopKWindow as Stored>::Cache,
    panes: Panes,
    units: &[Vec<u32>],
    unit_ms: u64,
) -> [f64; 2] {
    let start_ms = sketch.timeline().window().start_of(panes.oldest());
    let first = start_ms.saturating_sub(unit_ms / 2).div_ceil(unit_ms);
    let covered = &units[first as usize..];
    let last = covered.iter().flatten().max().expect("an event");
    let mut counts = vec![0; *last as usize + 1];
    for &item in covered.iter().flatten() {
        counts[item as usize] += 1;
    }
    let k = sketch.k() as usize;
    quality(sketch.list_at(panes, cache).expect("memory"), k, &counts)
}

/// A stream, and the sketches that count it.
struct Load {
    stream: Stream,
    k: u64,
    width: u64,
    /// Per unit.
    events: usize,
    /// The least recall and the largest error of the counts, of the whole window.
    target: [f64; 2],
}

fn load(stream: Stream, k: u64, width: u64, events: usize, target: [f64; 2]) -> Load {
    Load {
        stream,
        k,
        width,
        events,
        target,
    }
}

fn sketch_of(k: u64, width: u64, window: Window) -> TopKWindow {
    let seed = Seed([7; Seed::BYTES]);
    TopKWindow::new(k, width, 5, 0.9, window, seed, Budget::UNLIMITED).expect("a sketch")
}

fn cell([found, error]: [f64; 2]) -> String {
    format!("{:.1}, {:.2}", found * 100.0, error * 100.0)
}

impl Load {
    /// Checks the results for the whole window, or for the one pane.
    fn check(&self, results: [f64; 2]) {
        let [found, error] = results;
        let [least, most] = self.target;
        let name = self.stream.name();
        assert!(found >= least && error <= most, "{name}: {results:?}");
    }

    /// The first cells of a row.
    fn names(&self) -> Vec<String> {
        let width = format!("{} × 5", self.width);
        vec![self.stream.name(), self.k.to_string(), width]
    }

    /// Means over several reads of each of these last units.
    fn measure(&self, units: &[Vec<u32>], finest: Option<u64>, periods: &[usize]) -> Vec<[f64; 2]> {
        let window = Window::new(DAY as u64 * UNIT_MS, 12, finest).expect("a window");
        let mut sketch = sketch_of(self.k, self.width, window);
        let (mut cache, mut reads) = (Default::default(), 0.0);
        let mut sums = vec![[0.0; 2]; periods.len()];
        for (unit, events) in units.iter().enumerate() {
            let unix_ms = unit as u64 * UNIT_MS + UNIT_MS / 2;
            sketch.advance(window.pane_at(unix_ms));
            for item in events {
                sketch.add(&item.to_le_bytes(), 1).expect("memory");
            }
            if unit < DAY || unit % READ_STEP != READ_STEP - 1 {
                continue;
            }
            reads += 1.0;
            for (&period, sums) in periods.iter().zip(&mut sums) {
                let panes = sketch
                    .timeline()
                    .panes_within(unix_ms, period as u64 * UNIT_MS);
                let read = measure(&sketch, &mut cache, panes, &units[..=unit], UNIT_MS);
                *sums = [sums[0] + read[0], sums[1] + read[1]];
            }
        }
        sums.into_iter()
            .map(|sums| sums.map(|sum| sum / reads))
            .collect()
    }
}

/// By stream, for windows of a day.
pub fn by_stream() -> String {
    // All rows are checked. The page has those that are marked.
    let loads = [
        (true, load(Stream::Zipf(0.8), 10, 80, 1_000, [0.98, 0.06])),
        (true, load(Stream::Zipf(0.8), 10, 80, 10_000, [1.0, 0.01])),
        (true, load(Stream::Zipf(0.8), 10, 320, 1_000, [1.0, 0.002])),
        (
            true,
            load(Stream::Zipf(0.8), 100, 800, 10_000, [0.99, 0.03]),
        ),
        (false, load(Stream::Zipf(1.05), 10, 80, 1_000, [1.0, 0.002])),
        (
            false,
            load(Stream::Zipf(1.05), 100, 800, 10_000, [1.0, 0.002]),
        ),
        (true, load(Stream::LogNormal, 10, 80, 1_000, [0.95, 0.12])),
        (false, load(Stream::LogNormal, 10, 320, 1_000, [0.95, 0.03])),
        (
            false,
            load(Stream::Frequent30, 30, 240, 1_000, [1.0, 0.002]),
        ),
        (true, load(Stream::Blocks(0.8), 10, 80, 1_000, [0.9, 0.06])),
        (
            false,
            load(Stream::Drift(1.0), 100, 800, 10_000, [0.99, 0.01]),
        ),
        (true, load(Stream::Steady, 100, 800, 950, [1.0, 0.0])),
    ];
    let rows = loads.into_iter().filter_map(|(is_shown, load)| {
        let units = load.stream.units(DAY * 3 / 2, load.events);
        let finest = load.measure(&units, Some(UNIT_MS), &[5, 60, DAY]);
        let uniform = load.measure(&units, None, &[60, DAY]);
        load.check(finest[2]);
        load.check(uniform[1]);
        if let Stream::Steady = load.stream {
            finest.iter().for_each(|&results| load.check(results));
        }
        let mut row = load.names();
        row.push(thousands(load.events as f64));
        row.extend([finest[0], finest[2], uniform[1]].map(cell));
        is_shown.then_some(row)
    });
    let head = [
        "stream",
        "k",
        "width × depth",
        "events in 6 minutes",
        "`FINEST 360000`: last 30 minutes",
        "last day",
        "`PANES 12`: last day",
    ];
    table(&head, &rows.collect::<Vec<_>>())
}

/// One pane, and a sketch without a window.
pub fn one_pane() -> String {
    const EVENTS: usize = 500_000;
    // All rows are checked. The page has those that are marked.
    let loads = [
        (
            true,
            load(Stream::Zipf(0.8), 100, 200, EVENTS, [0.97, 0.012]),
        ),
        (
            true,
            load(Stream::Zipf(0.8), 100, 800, EVENTS, [1.0, 0.002]),
        ),
        (
            true,
            load(Stream::Blocks(0.8), 100, 200, EVENTS, [0.8, 0.06]),
        ),
        (
            false,
            load(Stream::Blocks(0.8), 100, 800, EVENTS, [0.95, 0.02]),
        ),
        (true, load(Stream::LogNormal, 10, 80, EVENTS, [1.0, 0.001])),
        (
            false,
            load(Stream::Frequent30, 30, 60, EVENTS, [1.0, 0.002]),
        ),
    ];
    let rows = loads.into_iter().filter_map(|(is_shown, load)| {
        let stream = load.stream.units(1, load.events).remove(0);
        let counts = counts(UNIVERSE, &stream);
        let window = Window::new(1, 1, None).expect("a window");
        let mut windowed = sketch_of(load.k, load.width, window);
        let mut classic =
            TopK::new(load.k, load.width, 5, 0.9, Budget::UNLIMITED).expect("a sketch");
        for item in stream.iter().map(|item| item.to_le_bytes()) {
            windowed.add(&item, 1).expect("memory");
            classic.add(&item, 1).expect("memory");
        }
        let (k, mut cache) = (load.k as usize, Default::default());
        let list = windowed.list_at(Panes::ALL, &mut cache).expect("memory");
        let results = [
            quality(list, k, &counts),
            quality(classic.list().expect("memory"), k, &counts),
        ];
        load.check(results[0]);
        let mut row = load.names();
        row.extend(results.map(cell));
        is_shown.then_some(row)
    });
    let head = ["stream", "k", "width × depth", "with a window", "without"];
    table(&head, &rows.collect::<Vec<_>>())
}
