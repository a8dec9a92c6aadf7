//! The errors that SKETCH.ACCURACY reports for count-min sketches, and those of all items.

use crate::recall::panes;
use crate::streams::{Random, STREAMS, Stream};
use crate::{per_cent, table};
use roughly_sketch::accuracy::{Accuracy, Figure};
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow, Dimensions, MergeSource};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::window::{Panes, Timed, Window};
use std::collections::HashMap;

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;
const MINUTE: u64 = 60_000;
/// Number of increments in a load.
const INCREMENTS: usize = 100_000;
/// Number of absent items that are looked up.
const ABSENT_ITEMS: u32 = 5_000;
/// The smallest shares of the items whose errors are at most `error p99`, and the range of `typical error`, as a part of the median
/// error of the present items if that is at least [`MIN_MEDIAN`].
#[derive(Debug, Clone, Copy)]
struct Limits {
    present: f64,
    absent: f64,
    ratios: [f64; 2],
}

/// As the page states them. The items are fixed. With 1,000 random ones, the share has the distribution Beta(990, 11): it is below
/// 96.5 % with a probability below 1e-6.
const LIMITS: Limits = Limits {
    present: 0.975,
    absent: 0.975,
    ratios: [0.9, 2.4],
};
/// Of sketches with more than 61 panes, whose figures are estimated with few items. With 57 random ones, the share is below 95 % with
/// a probability of 0.95^57, one in 19.
const LIMITS_OF_MANY_PANES: Limits = Limits {
    present: 0.97,
    absent: 0.96,
    ratios: [0.9, 2.4],
};
const MIN_MEDIAN: f64 = 10.0;

/// The streams of the collection in twelve panes, with numbers from 0 instead of the items.
fn loads() -> Vec<Vec<u32>> {
    let load = |stream: &Stream| {
        let mut numbers = HashMap::new();
        let number = |item| {
            let next = numbers.len() as u32;
            *numbers.entry(item).or_insert(next)
        };
        let events = panes(stream, INCREMENTS, 100, 34);
        events.into_iter().map(number).collect()
    };
    STREAMS.iter().map(load).collect()
}

/// The bytes of an item: a decimal number, or 16 random bytes in every other repetition.
fn item(number: u64, repetition: u64) -> Vec<u8> {
    let number = number + (repetition << 40);
    match repetition % 2 {
        0 => number.to_string().into_bytes(),
        _ => ([number, !number].map(|seed| Random(seed).next_u64().to_le_bytes())).concat(),
    }
}

/// A sketch of a row.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Classic,
    /// One with even increments and one with odd ones, which has weight 3.
    Merged,
    /// The number of panes, the length of the finest one, and the part of the window that is read, in minutes.
    Window(u64, Option<u64>, u64),
}

/// Minutes of a window.
const WINDOW: u64 = 1440;

/// The fields, the errors of the items that are present, and those of absent ones, in ascending order.
struct Errors {
    typical: f64,
    p99: f64,
    present: Vec<u64>,
    absent: Vec<u64>,
}

fn errors<T: Accuracy<Cache = ()>>(
    sketch: &T,
    panes: Panes,
    counts: &[u64],
    repetition: u64,
    query: impl Fn(&[u8]) -> u64,
) -> Errors {
    let fields = sketch.accuracy(panes, &mut ()).expect("memory");
    let [
        (_, Figure::Ratio(typical)),
        (_, Figure::Ratio(p99)),
        (_, Figure::Count(count)),
        _,
    ] = fields[..]
    else {
        panic!("{fields:?}")
    };
    assert_eq!(count, counts.iter().sum::<u64>());
    let present = (0u64..).zip(counts).filter(|(_, count)| **count > 0);
    let mut present: Vec<_> =
        (present.map(|(number, count)| query(&item(number, repetition)) - count)).collect();
    let mut absent: Vec<_> = (0..ABSENT_ITEMS)
        .map(|number| query(&item(u64::from(number) + 1_000_000, repetition)))
        .collect();
    present.sort_unstable();
    absent.sort_unstable();
    Errors {
        typical,
        p99,
        present,
        absent,
    }
}

impl Kind {
    /// Different sets of items per row and load.
    fn repetitions(self) -> u64 {
        match self {
            Self::Classic | Self::Merged => 2,
            Self::Window(..) => 1,
        }
    }

    fn measure(self, shape: Dimensions, load: &[u32], repetition: u64) -> Errors {
        let universe = load.iter().max().expect("an increment");
        let universe = *universe as usize + 1;
        let items: Vec<_> = ((0..universe as u64).map(|number| item(number, repetition))).collect();
        match self {
            Self::Classic | Self::Merged => {
                let sketch_of = |items_of: &mut dyn Iterator<Item = &u32>| {
                    let mut counts = vec![0u64; universe];
                    items_of.for_each(|&item| counts[item as usize] += 1);
                    let (width, depth) = (shape.width(), shape.depth());
                    let sketch = CountMin::new(width, depth, shape.cell_size(), UNLIMITED);
                    let mut sketch = sketch.expect("a sketch");
                    for (item, count) in items.iter().zip(&counts) {
                        let added = sketch.increment(item, count.cast_signed());
                        added.expect("no overflow");
                    }
                    (sketch, counts)
                };
                let parts = match self {
                    Self::Merged => 2,
                    _ => 1,
                };
                let (mut sketch, mut counts) = sketch_of(&mut load.iter().step_by(parts));
                if let Self::Merged = self {
                    let odd = &mut load.iter().skip(1).step_by(parts);
                    let (odd, odd_counts) = sketch_of(odd);
                    let sources = [(None, 1), (Some(&odd), 3)];
                    let sources = sources.map(|(sketch, weight)| MergeSource { sketch, weight });
                    sketch.merge(&sources).expect("no overflow");
                    for (count, odd) in counts.iter_mut().zip(odd_counts) {
                        *count += 3 * odd;
                    }
                }
                errors(&sketch, Panes::ALL, &counts, repetition, |item| {
                    sketch.query(item)
                })
            }
            Self::Window(panes, finest, read) => {
                let window =
                    Window::new(WINDOW * MINUTE, panes, finest.map(|finest| finest * MINUTE));
                let window = window.expect("a window");
                let sketch = CountMinWindow::new(shape, window, Seed([9; 16]), UNLIMITED);
                let mut sketch = sketch.expect("a sketch");
                let mut counts = vec![0u64; universe];
                let units = window.ms() / window.pane_ms();
                let unit = |number| units + number as u64 * units / load.len() as u64;
                for (number, &item) in load.iter().enumerate() {
                    sketch.advance(unit(number));
                    let item = &items[item as usize];
                    (sketch.increment(item, 1, UNLIMITED)).expect("no overflow");
                }
                let timeline = sketch.timeline();
                let now = timeline.newest() * window.pane_ms();
                let panes = timeline.panes_within(now, read * MINUTE);
                for (number, &item) in load.iter().enumerate() {
                    if unit(number) >= panes.oldest() {
                        counts[item as usize] += 1;
                    }
                }
                errors(&sketch, panes, &counts, repetition, |item| {
                    sketch.query(item, panes)
                })
            }
        }
    }
}

/// How many errors are at most `error p99`, and `typical error` as a part of the median error, by sketch.
pub fn errors_by_sketch() -> String {
    let part = WINDOW / 4;
    let mut missed = Vec::new();
    // All rows are checked. The page has those that are marked.
    let rows = [
        (true, Kind::Classic, 2000, 7, "no window"),
        (true, Kind::Classic, 500, 5, "no window"),
        (false, Kind::Classic, 100, 5, "no window"),
        (true, Kind::Classic, 2000, 1, "no window"),
        (false, Kind::Classic, 2000, 10, "no window"),
        (false, Kind::Classic, 10_000, 5, "no window"),
        (false, Kind::Merged, 2000, 7, "merge with weights 1 and 3"),
        (true, Kind::Window(12, None, WINDOW), 2000, 5, "12 panes"),
        (true, Kind::Window(12, None, WINDOW), 500, 7, "12 panes"),
        (false, Kind::Window(12, None, WINDOW), 100, 5, "12 panes"),
        (true, Kind::Window(96, None, WINDOW), 200, 7, "96 panes"),
        (
            true,
            Kind::Window(40, Some(1), WINDOW),
            300,
            7,
            "`PANES 40 FINEST` of a minute: 251 panes",
        ),
        (false, Kind::Window(12, None, part), 500, 5, "3 of 12 panes"),
        (
            true,
            Kind::Window(12, Some(1), WINDOW),
            300,
            5,
            "`FINEST` of a minute",
        ),
        (
            false,
            Kind::Window(12, Some(1), part),
            300,
            5,
            "`FINEST` of a minute, a quarter",
        ),
    ];
    let loads = loads();
    let rows = (rows.into_iter()).filter_map(|(is_shown, kind, width, depth, name)| {
        let shape = Dimensions::new(width, depth, CellSize::Four).expect("a shape");
        let (mut present, mut absent, mut ratios) = (vec![], vec![], vec![]);
        for load in &loads {
            for repetition in 0..kind.repetitions() {
                let errors = kind.measure(shape, load, repetition);
                let within = |errors_of: &[u64]| {
                    let within = errors_of.partition_point(|&error| error as f64 <= errors.p99);
                    within as f64 / errors_of.len() as f64
                };
                let median = errors.present[errors.present.len() / 2] as f64;
                present.push(within(&errors.present));
                absent.push(within(&errors.absent));
                if median >= MIN_MEDIAN {
                    ratios.push(errors.typical / median);
                }
            }
        }
        let lowest = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = ratios.iter().copied().fold(0.0, f64::max);
        let limits = match kind {
            Kind::Window(panes, finest, _) if panes > 61 || finest.is_some() && panes > 12 => {
                LIMITS_OF_MANY_PANES
            }
            _ => LIMITS,
        };
        let [least, most] = limits.ratios;
        let holds = lowest(&present) >= limits.present
            && lowest(&absent) >= limits.absent
            && lowest(&ratios) >= least
            && highest <= most;
        let shares = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            format!("{}, {}", per_cent(lowest(values)), per_cent(mean))
        };
        let ratios = match ratios.is_empty() {
            true => "–".to_owned(),
            false => format!("{:.2} to {highest:.2}", lowest(&ratios)),
        };
        let row = vec![
            name.to_owned(),
            format!("{width} × {depth}"),
            shares(&present),
            shares(&absent),
            ratios,
        ];
        println!("{} {holds}", row.join(" | "));
        if !holds {
            missed.push(row.clone());
        }
        is_shown.then_some(row)
    });
    let rows: Vec<_> = rows.collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let head = [
        "sketch",
        "width × depth",
        "present items within `error p99`: fewest, mean",
        "absent items: fewest, mean",
        "`typical error` / median error",
    ];
    table(&head, &rows)
}
