//! The shortest periods of the past that a window can answer.

use crate::table;
use roughly_sketch::t_digest::TDigestWindow;
use roughly_sketch::window::{Period, PeriodError, Timeline, Window};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const HOURS_AGO: [u64; 4] = [1, 6, 25, 47];

/// The longest pane that contains the time so long ago, of all times at which it can be read.
fn shortest_period_ms(window: Window, ago_ms: u64) -> u64 {
    // The lengths of the panes at an age are the same after this many units.
    let units = 4 << window.levels();
    let first = window.pane_at(1_000_000 * HOUR_MS) / units * units;
    let shortest = (first..first + units).flat_map(|newest| {
        let mut timeline = Timeline::new::<TDigestWindow>(window).expect("a timeline");
        timeline.advance(newest);
        let start = window.start_of(newest);
        [start, start + window.pane_ms() - 1].map(|now| {
            let from = now - ago_ms;
            let period = Period::new(from, from + 1, now).expect("a period");
            match timeline.panes_of(period) {
                Err(PeriodError::ShorterThanPanes(ms)) => ms,
                other => panic!("{other:?}"),
            }
        })
    });
    shortest.max().expect("a period")
}

fn text(ms: u64) -> String {
    match ms % HOUR_MS {
        0 => format!("{} h", ms / HOUR_MS),
        _ => format!("{} min", ms / MINUTE_MS),
    }
}

/// For windows of two days.
pub fn shortest() -> String {
    let mut rows = Vec::new();
    for panes in [12, 24, 48, 96] {
        for finest in [None, Some(MINUTE_MS)] {
            // Some have too many panes.
            let Ok(window) = Window::of::<TDigestWindow>(48 * HOUR_MS, panes, finest) else {
                continue;
            };
            let finest = finest.map_or("–".to_owned(), |ms| format!("`FINEST {ms}`"));
            let mut row = vec![format!("`PANES {panes}`"), finest];
            row.extend(HOURS_AGO.map(|hours| text(shortest_period_ms(window, hours * HOUR_MS))));
            rows.push(row);
        }
    }
    let head = HOURS_AGO.map(|hours| format!("from {hours} h ago"));
    let head = [
        &["`WINDOW 172800000`", ""][..],
        &head.each_ref().map(String::as_str),
    ]
    .concat();
    table(&head, &rows)
}
