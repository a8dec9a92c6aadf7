//! Recall of top-k sketches with a window, by stream of the collection.

use crate::recall::{self, Reads, cells, counts, quality, with_top};
use crate::streams::{STREAMS, Stream};
use crate::table;
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopKWindow;
use roughly_sketch::window::{Panes, Timed, Window};

/// Panes of the window.
const PANES: u64 = 12;
const SEEDS: u64 = 2;

/// k, the width, and the events of a twelfth of the window.
const SHAPES: [(u64, u64, usize); 2] = [(10, 320, 4_000), (100, 800, 9_000)];

/// How the panes of a stream are panes of a window.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Units of the window.
    units: u64,
    finest: Option<u64>,
    /// Units of a pane of the stream.
    pane: u64,
    /// The least mean recall of the [`PARTS`].
    target: [f64; PARTS.len()],
}

const FINEST_UNITS: u64 = 13 << 3;

/// The parts of the window that are read, as fractions: the window, a quarter and a twelfth of it.
const PARTS: [u64; 3] = [1, 4, 12];

const LAYOUTS: [Layout; 3] = [
    Layout {
        units: PANES,
        finest: None,
        pane: 1,
        target: [0.95, 0.95, 0.97],
    },
    Layout {
        units: FINEST_UNITS,
        finest: Some(1),
        pane: 8,
        target: [0.9, 0.9, 0.95],
    },
    Layout {
        units: FINEST_UNITS,
        finest: Some(1),
        pane: 1,
        target: [0.9, 0.9, 0.95],
    },
];

/// Of the [`PARTS`].
#[derive(Debug, Default)]
struct Recalls([Reads; PARTS.len()]);

impl Recalls {
    fn read(
        &mut self,
        sketch: &TopKWindow,
        cache: &mut <TopKWindow as Stored>::Cache,
        units: &[Vec<u32>],
    ) {
        let timeline = *sketch.timeline();
        for (reads, fraction) in self.0.iter_mut().zip(PARTS) {
            let part = timeline.window().ms() / fraction;
            let panes = match fraction {
                1 => Panes::ALL,
                _ => timeline.panes_within(timeline.newest(), part),
            };
            let oldest = (timeline.panes()).find(|range| range.first >= panes.oldest());
            let first = oldest.expect("a pane").first as usize;
            let list = sketch.list_at(panes, cache).expect("memory");
            let counts = counts(units[first..].iter().flatten());
            reads.add(quality(list, sketch.k().into(), &counts));
        }
    }

    /// Reads at the end of units, and after a fifth of their events.
    fn add(
        &mut self,
        stream: &Stream,
        (k, width, events): (u64, u64, usize),
        layout: Layout,
        seed: u64,
    ) {
        let window = Window::new(layout.units, PANES, layout.finest).expect("a window");
        let key = Seed([seed as u8; Seed::BYTES]);
        let mut sketch =
            TopKWindow::new(k, width, 5, 0.9, window, key, Budget::UNLIMITED).expect("a sketch");
        let mut cache = Default::default();
        let of_unit = events / (layout.units / PANES) as usize;
        let mut units: Vec<Vec<u32>> = Vec::new();
        for number in 0..(layout.units * 2 / layout.pane) as u32 {
            let pane = crate::pane(number, of_unit * layout.pane as usize, k as usize);
            let added = stream.events(pane, seed);
            for added in added.chunks(added.len().div_ceil(layout.pane as usize)) {
                let unit = units.len() as u64;
                let is_read = unit >= layout.units && unit.is_multiple_of(layout.units / PANES + 1);
                let (early, late) = added.split_at(added.len() / 5);
                sketch.advance(unit);
                units.push(Vec::new());
                for part in [early, late] {
                    for item in part {
                        sketch.add(&item.to_le_bytes(), 1).expect("memory");
                    }
                    units[unit as usize].extend(part);
                    if is_read {
                        self.read(&sketch, &mut cache, &units);
                    }
                }
            }
        }
    }
}

impl Recalls {
    /// Of [`SEEDS`] sketches.
    fn of(stream: &Stream, shape: (u64, u64, usize), layout: Layout) -> Self {
        let mut recalls = Self::default();
        for seed in 1..=SEEDS {
            recalls.add(stream, shape, layout, seed);
        }
        recalls
    }
}

pub const HEAD: [&str; 5] = [
    "stream",
    "k",
    "`PANES 12`",
    "`FINEST`",
    "`FINEST`, a pane of the stream per unit",
];

/// Recall of the [`PARTS`].
pub fn rows(stream: &Stream) -> Vec<Vec<String>> {
    let row_of = |shape: (u64, u64, usize)| {
        let mut row = vec![stream.name.to_owned(), shape.0.to_string()];
        for layout in LAYOUTS {
            let recalls = Recalls::of(stream, shape, layout);
            for (reads, target) in recalls.0.iter().zip(layout.target) {
                assert!(reads.mean() >= target, "{row:?}: {reads:?}");
            }
            row.push(recalls.0.map(|reads| reads.recall()).join(", "));
        }
        row
    };
    let shapes = SHAPES.into_iter().filter(|_| stream.has_top);
    shapes.map(row_of).collect()
}

/// The mean and the lowest recall of a quarter of the window, with units that have as many events as the twelfths of the windows in the table.
pub fn of_every_third_unit() -> [f64; 2] {
    let has_name = |stream: &&Stream| stream.name == "every third pane";
    let stream = STREAMS.iter().find(has_name).expect("the stream");
    let (k, width, events) = SHAPES[0];
    let layout = LAYOUTS[2];
    let events = events * (layout.units / PANES) as usize;
    let recalls = Recalls::of(stream, (k, width, events), layout);
    [recalls.0[1].mean(), recalls.0[1].lowest()]
}

/// By size, with the errors of the counts. docs/sizing.html and docs/recipes/heavy-hitters.md have the limit.
pub fn by_size() -> String {
    let mut rows = Vec::new();
    for shape in [(10, 80, 4_000), (10, 320, 4_000)] {
        for (panes, layout) in [("`PANES 12`", LAYOUTS[0]), ("`FINEST`", LAYOUTS[1])] {
            let of_stream = |stream| (stream, Recalls::of(stream, shape, layout));
            let recalls: Vec<_> = with_top().map(of_stream).collect();
            for (part, name) in [(0, "window"), (2, "twelfth")] {
                let results =
                    (recalls.iter()).map(|(stream, recalls)| (stream.name, recalls.0[part]));
                let (k, width, _) = shape;
                let size = format!("{width} × 5");
                let mut row = vec![k.to_string(), size, format!("{panes}: {name}")];
                row.extend(cells(&results.collect::<Vec<_>>(), 89.0));
                rows.push(row);
            }
        }
    }
    table(
        &[&["k", "width × depth", "part"][..], &recall::HEAD].concat(),
        &rows,
    )
}
