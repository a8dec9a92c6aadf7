//! Memory of a t-digest with a window of 30 days and panes of one second and longer, by stream of the collection.

use crate::stream_memory::Bytes;
use crate::streams::Stream;
use roughly_sketch::blocks::Blocks;
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{TDigestWindow, WindowCache};
use roughly_sketch::window::{Panes, Timed, Window};

/// WINDOW 2592000000 FINEST 1000: the unit is one second.
const SECONDS: u64 = 2_592_000;
/// Read after all additions: the last second, minute, hour, day and all.
const PERIODS: [u64; 5] = [1, 60, 3_600, 86_400, SECONDS];
/// Added every 20 seconds, and five times per second of the last two minutes, whose panes are short.
const SAMPLES: usize = 200;
const STEP: u64 = 20;
const LAST_SECONDS: u64 = 120;
/// Of the stream. The samples of each one are added repeatedly, in the order of the stream.
const PANES: u32 = 12;
const EVENTS: usize = 20_000;
/// That README.md states.
const MAX_BYTES: usize = 1_100_000;

pub const HEAD: [&str; 3] = ["stream", "stored", "with what reads keep"];

/// The samples in the order of the additions, endlessly.
fn samples_of(stream: &Stream) -> impl FnMut(u64) -> Vec<f64> {
    let panes = (0..PANES).map(|number| {
        let events = (stream.events(crate::pane(number, EVENTS, 10), 1)).into_iter();
        events.map(f64::from).collect::<Vec<_>>()
    });
    let panes: Vec<_> = panes.collect();
    let mut added = 0;
    move |second| {
        let pane = &panes[(second * panes.len() as u64 / (SECONDS + 1)) as usize];
        let from = added;
        added += SAMPLES;
        (from..added).map(|at| pane[at % pane.len()]).collect()
    }
}

/// The memory of a digest with 26 million samples, and after reads of all periods.
pub fn rows(stream: &Stream) -> Vec<Vec<String>> {
    let window = Window::new(1000 * SECONDS, Window::DEFAULT_PANES, Some(1000)).expect("a window");
    let mut digest = TDigestWindow::new(100, window, Budget::UNLIMITED).expect("a digest");
    let mut samples = samples_of(stream);
    let mut add = |second, times| {
        digest.advance(second);
        for _ in 0..times {
            let added = digest.add_within(&samples(second), Budget::UNLIMITED);
            added.expect("memory");
        }
    };
    ((0..SECONDS - LAST_SECONDS).step_by(STEP as usize)).for_each(|second| add(second, 1));
    (SECONDS - LAST_SECONDS..=SECONDS).for_each(|second| add(second, 5));
    assert!(digest.observations_at(Panes::ALL) > 25_000_000);
    let timeline = *digest.timeline();
    let mut cache = WindowCache::default();
    for period in PERIODS {
        let panes = timeline.panes_within(1000 * timeline.newest(), 1000 * period);
        let read = digest.compressed_at(panes, &mut cache);
        assert!(read.is_ok());
    }
    let mut bytes = Bytes::default();
    digest.for_each_block(&mut bytes);
    let stored = bytes.0;
    cache.for_each_block(&mut bytes);
    let all = bytes.0;
    assert!(all <= MAX_BYTES, "{}: {all}", stream.name);
    let kilobytes = |bytes: usize| format!("{} kB", bytes / 1000);
    vec![vec![
        stream.name.to_owned(),
        kilobytes(stored),
        kilobytes(all),
    ]]
}
