//! Memory of count-min sketches with a window, by stream of the collection.

use crate::streams::Stream;
use roughly_sketch::blocks::{BlockVisitor, Blocks};
use roughly_sketch::count_min::{CellSize, CountMinWindow, Dimensions};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::window::{Timed, Window};
use std::collections::HashSet;

/// Panes of the window.
const PANES: u64 = 12;
/// CMS.INITBYPROB with an error of 0.001 and a probability of 0.01.
const SHAPE: (u64, u64) = (2000, 7);
const ARRAY_BYTES: usize = 2000 * 7 * 4;
/// Items of a pane with exact counts.
const MAX_ITEMS: usize = ARRAY_BYTES / 4 / 16;
/// Of the list of panes, per pane.
const MAX_LIST_BYTES: usize = 128;
/// The events of a pane.
const EVENTS: [usize; 3] = [100, 500, 5_000];

pub const HEAD: [&str; 4] = [
    "stream",
    "100 events per pane",
    "500 events per pane",
    "5,000 events per pane",
];

/// The bytes of the visited blocks.
#[derive(Default)]
pub struct Bytes(pub usize);

impl BlockVisitor for Bytes {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        self.0 += vec.capacity() * size_of::<T>();
    }
}

/// The mean number of different items of a pane, and the memory of a sketch with all live panes.
pub fn rows(stream: &Stream) -> Vec<Vec<String>> {
    let cell = |events| {
        let window = Window::new(PANES, PANES, None).expect("a window");
        let shape = Dimensions::new(SHAPE.0, SHAPE.1, CellSize::Four).expect("a shape");
        let seed = Seed([7; Seed::BYTES]);
        let mut sketch =
            CountMinWindow::new(shape, window, seed, Budget::UNLIMITED).expect("a sketch");
        let (mut of_panes, mut least, mut most) = (0, 0, 0);
        for number in 0..=PANES as u32 {
            sketch.advance(number.into());
            let added = stream.events(crate::pane(number, events, 10), 1);
            for item in &added {
                let added = sketch.increment(&item.to_le_bytes(), 1, Budget::UNLIMITED);
                added.expect("memory");
            }
            let items = added.into_iter().collect::<HashSet<_>>().len();
            of_panes += items;
            let is_exact = items <= MAX_ITEMS;
            least += if is_exact { 16 * items } else { ARRAY_BYTES };
            most += if is_exact { 24 * items } else { ARRAY_BYTES };
        }
        let live = PANES as usize + 1;
        let mut bytes = Bytes::default();
        sketch.for_each_block(&mut bytes);
        let name = stream.name;
        let is_within = (least..=most + live * MAX_LIST_BYTES).contains(&bytes.0);
        assert!(is_within, "{name} {events}: {least} {} {most}", bytes.0);
        format!(
            "{:.0}: {:.1} kB",
            of_panes as f64 / live as f64,
            bytes.0 as f64 / 1000.0
        )
    };
    let mut row = vec![stream.name.to_owned()];
    row.extend(EVENTS.map(cell));
    vec![row]
}
