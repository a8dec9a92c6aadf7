//! Recall and counts of top-k sketches with a window, by period.

use crate::recall::quality;
use crate::streams::Random;
use crate::{per_cent, table};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopKWindow;
use roughly_sketch::window::{Panes, Timed, Window};

const MINUTE_MS: u64 = 60_000;
const DAY: usize = 1440;
const K: usize = 100;
const UNIVERSE: usize = 20_000;
const EVENTS_PER_MINUTE: usize = 1000;
/// The ranking moves by one item in so many minutes.
const DRIFT_MINUTES: usize = 10;
/// The columns of the table: the last minutes.
const PERIODS: [(&str, u64); 4] = [
    ("5 minutes", 5),
    ("hour", 60),
    ("12 hours", 720),
    ("day", 1440),
];

/// A Zipf(1.0) stream of one and a half days whose ranking changes: the items of each minute.
fn stream() -> Vec<Vec<u32>> {
    let mut sums = Vec::with_capacity(UNIVERSE);
    let mut sum = 0.0;
    for rank in 1..=UNIVERSE {
        sum += 1.0 / rank as f64;
        sums.push(sum);
    }
    let mut random = Random(43);
    let minute = |minute: usize| {
        let events = (0..EVENTS_PER_MINUTE).map(|_| {
            let drawn = random.fraction() * sum;
            let rank = sums.partition_point(|&end| end <= drawn);
            ((rank + minute / DRIFT_MINUTES) % UNIVERSE) as u32
        });
        events.collect()
    };
    (0..DAY * 3 / 2).map(minute).collect()
}

/// Share of the true top k of these panes that is on the list, and the mean relative error of its counts. `units` has the items
/// of each unit, which were added in its middle.
pub fn measure(
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

/// Recall and mean error of the counts by period, for windows of a day.
pub fn top_k() -> String {
    let minutes = stream();
    let mut rows = Vec::new();
    for (name, panes, finest) in [
        ("`PANES 12 FINEST 60000`", 12, Some(MINUTE_MS)),
        ("`PANES 100`", 100, None),
        ("`PANES 12`", 12, None),
    ] {
        let window = Window::new(DAY as u64 * MINUTE_MS, panes, finest).expect("a window");
        let seed = Seed([7; Seed::BYTES]);
        let sketch = TopKWindow::new(K as u64, 800, 5, 0.9, window, seed, Budget::UNLIMITED);
        let (mut sketch, mut cache) = (sketch.expect("memory"), Default::default());
        let mut results = [[0.0; 2]; PERIODS.len()];
        let mut reads = 0.0;
        for (minute, events) in minutes.iter().enumerate() {
            let unix_ms = minute as u64 * MINUTE_MS + MINUTE_MS / 2;
            sketch.advance(window.pane_at(unix_ms));
            for item in events {
                sketch.add(&item.to_le_bytes(), 1).expect("memory");
            }
            if minute < DAY || minute % 37 != 0 {
                continue;
            }
            reads += 1.0;
            for ((_, period), result) in PERIODS.iter().zip(&mut results) {
                let panes = sketch.timeline().panes_within(unix_ms, period * MINUTE_MS);
                let measured = measure(&sketch, &mut cache, panes, &minutes[..=minute], MINUTE_MS);
                *result = [result[0] + measured[0], result[1] + measured[1]];
            }
        }
        let means = results.map(|sums| sums.map(|sum| sum / reads));
        if finest.is_some() {
            assert!(
                means
                    .iter()
                    .all(|&[found, error]| found >= 0.99 && error <= 0.01),
                "{means:?}"
            );
        }
        let mut row = vec![name.to_owned(), window.live_panes().to_string()];
        row.extend(means.map(|[found, error]| format!("{}, {}", per_cent(found), per_cent(error))));
        rows.push(row);
    }
    let periods = PERIODS.map(|(period, _)| format!("last {period}"));
    let head: Vec<&str> = ["window of a day", "panes"]
        .into_iter()
        .chain(periods.iter().map(String::as_str))
        .collect();
    table(&head, &rows)
}
