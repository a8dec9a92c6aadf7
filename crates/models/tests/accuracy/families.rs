//! Accuracy measurements of each family.

use crate::figure::{Axis, LineChart, Point, Scale, Series};
use crate::rate_filters::{bloom_of, cuckoo_of};
use crate::recall::{Counts, counts, panes};
use crate::streams::{EXPONENTIAL, STREAMS};
use crate::{Measured, digests, largest_share, per_cent, size, table};
use roughly_sketch::bloom::Chain;
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow, Dimensions, dimensions_for};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::t_digest::TDigest;
use roughly_sketch::window::{Panes, Timed, Window};

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;
/// Number of absent items that are looked up at each point.
const ABSENT_ITEMS: u64 = 100_000;
/// Length of the streams.
const STREAM: usize = 1_000_000;

/// A line of a plot.
pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
    Series {
        name: name.into(),
        points: points.into_iter().map(Point::from).collect(),
    }
}

/// The text of a tick: empty unless the value is a multiple of the step.
fn every(value: f64, step: f64, text: impl Fn(f64) -> String) -> String {
    match value % step {
        0.0 => text(value),
        _ => String::new(),
    }
}

/// The text of a number, with a comma between thousands.
pub fn thousands(number: f64) -> String {
    match number {
        1_000.0.. => format!("{},000", number / 1000.0),
        _ => number.to_string(),
    }
}

/// An item that no filter of the measurements contains.
pub fn absent_item(number: u64) -> [u8; 8] {
    (number | 1 << 40).to_le_bytes()
}

/// False-positive rate of Bloom filters as they fill and grow.
pub fn bloom() -> Measured {
    let kinds = [
        ("reserved for 100,000, growing", 100_000, true),
        ("reserved for 100,000, NONSCALING", 100_000, false),
        ("created by BF.ADD, for 100", 100, true),
    ];
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (name, capacity, scaling) in kinds {
        let parameters = bloom_of(capacity, 0.01, 2, scaling);
        let mut chain = Chain::new(&parameters, UNLIMITED).expect("a filter");
        let mut points = vec![(0.0, 0.0)];
        let mut number = 0u64;
        'fill: for step in 1..=40u64 {
            while chain.items() < step * 10_000 {
                if chain.add(&number.to_le_bytes(), (), UNLIMITED).is_err() {
                    break 'fill;
                }
                number += 1;
            }
            let found = (0..ABSENT_ITEMS).filter(|&n| chain.contains(&absent_item(n)));
            let rate = found.count() as f64 / ABSENT_ITEMS as f64;
            // Five standard deviations above 1 %.
            assert!(rate <= 0.0117, "{name}, {step}: {rate}");
            points.push(((step * 10_000) as f64, rate * 100.0));
            if [10, 40].contains(&step) {
                rows.push(vec![
                    name.to_owned(),
                    format!("{},000", step * 10),
                    chain.filters().len().to_string(),
                    size(chain.bit_bytes()),
                    per_cent(rate),
                ]);
            }
        }
        series.push(line(name, points));
    }
    let head = [
        "filter for 1 %",
        "items",
        "filters",
        "memory",
        "false positives",
    ];
    Measured {
        table: table(&head, &rows),
        plot: LineChart {
            title: "Bloom filters for an error rate of 1 %:\nfalse positives as items are added"
                .to_owned(),
            x: Axis::new(
                "items added",
                Scale::Linear,
                (0.0, 400_000.0),
                (0..=40).map(|step| f64::from(step) * 10_000.0),
                |items| every(items, 100_000.0, thousands),
            ),
            y: Axis::new(
                "false positives, %",
                Scale::Linear,
                (0.0, 1.25),
                [0.0, 0.25, 0.5, 0.75, 1.0, 1.25],
                |rate| rate.to_string(),
            ),
            series,
        },
    }
}

/// False-positive rate of Bloom filters with many sub-filters: the mean of several filters with other items.
pub fn bloom_growth() -> String {
    const STEPS: [usize; 5] = [1, 4, 16, 64, 256];
    // Items that all filters of a row look up together.
    const LOOK_UPS: u64 = 200_000;
    // Expansion, capacity, number of filters, the most sub-filters.
    let rows = [
        (1u32, 1u64, 100u64, 256usize),
        (1, 10, 100, 256),
        (1, 100, 20, 256),
        (1, 1_000, 4, 256),
        (2, 1, 40, 16),
        (2, 10, 40, 4),
        (2, 100, 20, 4),
    ]
    .map(|(expansion, capacity, repetitions, most)| {
        let parameters = bloom_of(capacity, 0.01, expansion, true);
        let mut found = [0u64; STEPS.len()];
        for repetition in 0..repetitions {
            let mut chain = Chain::new(&parameters, UNLIMITED).expect("a filter");
            let mut number = repetition << 20;
            for (step, found) in (STEPS.iter().zip(&mut found)).filter(|(step, _)| **step <= most) {
                // Until the last sub-filter is full.
                loop {
                    let last = chain.filters().last().expect("a sub-filter");
                    if chain.filters().len() == *step && last.is_full() {
                        break;
                    }
                    (chain.add(&number.to_le_bytes(), (), UNLIMITED)).expect("memory");
                    number += 1;
                }
                let of_filter = LOOK_UPS / repetitions;
                let absent = (0..of_filter).map(|n| absent_item(repetition * of_filter + n));
                *found += absent.filter(|item| chain.contains(item)).count() as u64;
            }
        }
        let mut row = vec![expansion.to_string(), thousands(capacity as f64)];
        row.extend(STEPS.iter().zip(found).map(|(&step, found)| match step {
            _ if step <= most => per_cent(found as f64 / LOOK_UPS as f64),
            _ => "–".to_owned(),
        }));
        row
    });
    let head = [
        "EXPANSION",
        "capacity",
        "1 sub-filter, full",
        "4",
        "16",
        "64",
        "256",
    ];
    table(&head, &rows)
}

/// False-positive rate of cuckoo filters as they fill, and the fill ratio at the first failed insertion.
pub fn cuckoo() -> Measured {
    const SLOTS: u64 = 1 << 17;
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for bucket_size in [1u8, 2, 4, 8] {
        let filled = |max_iterations: u16, points: &mut Vec<(f64, f64)>| {
            let parameters = cuckoo_of(bucket_size, max_iterations, 0);
            let mut filter = CuckooFilter::new(SLOTS, parameters, UNLIMITED).expect("a filter");
            let mut number = 0u64;
            while filter.insert(&number.to_le_bytes(), UNLIMITED).is_ok() {
                number += 1;
                if number.is_multiple_of(SLOTS / 32) {
                    let found = (0..ABSENT_ITEMS).filter(|&n| filter.contains(&absent_item(n)));
                    let rate = found.count() as f64 / ABSENT_ITEMS as f64;
                    points.push((number as f64 / SLOTS as f64 * 100.0, rate * 100.0));
                }
            }
            number as f64 / SLOTS as f64
        };
        let mut points = vec![(0.0, 0.0)];
        let full = filled(20, &mut points);
        let half = points.iter().find(|point| point.0 >= 50.0);
        let half = half.map_or_else(
            || "(refuses items before)".to_owned(),
            |point| per_cent(point.1 / 100.0),
        );
        let patient = filled(500, &mut Vec::new());
        rows.push(vec![
            bucket_size.to_string(),
            per_cent(full),
            per_cent(patient),
            half,
            per_cent(points.last().expect("a point").1 / 100.0),
            per_cent(2.0 * f64::from(bucket_size) / 255.0),
        ]);
        series.push(line(format!("BUCKETSIZE {bucket_size}"), points));
    }
    let head = [
        "BUCKETSIZE",
        "slots in use at the first refused item",
        "with MAXITERATIONS 500",
        "false positives when half full",
        "false positives before the refusal",
        "upper bound",
    ];
    Measured {
        table: table(&head, &rows),
        plot: LineChart {
            title: "Cuckoo filters of 131,072 slots:\nfalse positives as they fill".to_owned(),
            x: Axis::new(
                "slots in use, %\n(a line ends where the filter is full or grows)",
                Scale::Linear,
                (0.0, 100.0),
                (0..=32).map(|step| f64::from(step) * 3.125),
                |fill| every(fill, 25.0, |fill| fill.to_string()),
            ),
            y: Axis::new(
                "false positives, %",
                Scale::Linear,
                (0.0, 6.5),
                (0..=6).map(f64::from),
                |rate| rate.to_string(),
            ),
            series,
        },
    }
}

/// The events of twelve panes of each stream of the collection, and their counts.
fn collection(events: usize) -> [(&'static str, Vec<u32>, Counts); STREAMS.len()] {
    STREAMS.map(|stream| {
        let events = panes(&stream, events, 10, 11);
        let counts = counts(&events);
        (stream.name, events, counts)
    })
}

/// A sketch without a window that has these counts.
fn count_min_of(width: u64, depth: u64, counts: &Counts) -> CountMin {
    let sketch = CountMin::new(width, depth, CellSize::Four, UNLIMITED);
    let mut sketch = sketch.expect("a sketch");
    for (item, &count) in counts {
        let added = sketch.increment(&item.to_le_bytes(), count.into());
        added.expect("no overflow");
    }
    sketch
}

/// The largest value, and the stream that has it.
fn largest<'a>(values: &[(&'a str, f64)]) -> (&'a str, f64) {
    let largest = values.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    *largest.expect("a stream")
}

/// The value of a stream.
fn value_of(name: &str, values: &[(&str, f64)]) -> f64 {
    let of_stream = values.iter().find(|value| value.0 == name);
    of_stream.expect("the stream").1
}

/// Overestimates of count-min sketches: of each stream, the share of its items above a limit, and the mean.
pub fn count_min() -> Measured {
    let collection = collection(STREAM);
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (error, probability) in [(0.01, 0.01), (0.001, 0.5), (0.001, 0.01), (0.0001, 0.01)] {
        let (width, depth) = dimensions_for(error, probability).expect("dimensions");
        let streams = collection.each_ref().map(|(name, events, counts)| {
            let sketch = count_min_of(width, depth, counts);
            let overestimate =
                |(item, count): (&u32, &u32)| sketch.query(&item.to_le_bytes()) - u64::from(*count);
            let mut errors: Vec<_> = counts.iter().map(overestimate).collect();
            errors.sort_unstable();
            (*name, error * events.len() as f64, errors)
        });
        let share_above = |errors: &[u64], limit: f64| {
            let below = errors.partition_point(|&error| error as f64 <= limit);
            (errors.len() - below) as f64 / errors.len() as f64
        };
        let mean = |errors: &[u64]| errors.iter().sum::<u64>() as f64 / errors.len() as f64;
        let above =
            (streams.each_ref()).map(|(name, bound, errors)| (*name, share_above(errors, *bound)));
        let means = (streams.each_ref()).map(|(name, _, errors)| (*name, mean(errors)));
        let (of_worst, most) = largest(&means);
        let (name, share) = largest(&above);
        assert!(share <= probability, "{name}: {share}");
        rows.push(vec![
            format!("{error} {probability}"),
            format!("{width} × {depth}"),
            size(width * depth * 4),
            format!("{:.0}", error * STREAM as f64),
            largest_share(name, share),
            format!("{:.1}", value_of("Zipf(1.0)", &means)),
            format!("{most:.1} ({of_worst})"),
        ]);
        let points = (0..=80).map(|step| {
            let limit = 10f64.powf(f64::from(step) / 20.0);
            let shares = (streams.iter()).map(|(_, _, errors)| share_above(errors, limit) * 100.0);
            (limit, shares.fold(0.0, f64::max))
        });
        series.push(line(
            format!("error {error}, probability {probability}"),
            points,
        ));
    }
    let head = [
        "error probability",
        "width × depth",
        "memory",
        "bound: error × total",
        "items above the bound: most of a stream",
        "mean overestimate: Zipf(1.0)",
        "the largest mean",
    ];
    Measured {
        table: table(&head, &rows),
        plot: LineChart {
            title:
                "Count-min sketches: items by overestimate,\nin the worst stream with a total of 1,000,000"
                    .to_owned(),
            x: Axis::new(
                "overestimate",
                Scale::Logarithmic,
                (1.0, 10_000.0),
                (0..=4).map(|power| 10f64.powi(power)),
                thousands,
            ),
            y: Axis::new(
                "items with a larger overestimate, %",
                Scale::Linear,
                (0.0, 100.0),
                [0.0, 25.0, 50.0, 75.0, 100.0],
                |share| share.to_string(),
            ),
            series,
        },
    }
}

/// The mean overestimate of count-min sketches with a window, as a part of that of a sketch without one that has the width and
/// depth of a pane: by stream with at least 1,000 items whose mean is at least 1 without a window; that of few items is random. The
/// load is in one pane, or spread over the window.
pub fn count_min_windows() -> String {
    const MIN_ITEMS: usize = 1_000;
    const WIDTH: u64 = 500;
    const MINUTE: u64 = 60_000;
    // All estimates are above the counts, so the differences of their sums are the sums of their errors.
    let sum_of_errors = |counts: &Counts, query: &dyn Fn(&[u8]) -> u64| {
        let overestimate =
            |(item, count): (&u32, &u32)| query(&item.to_le_bytes()) - u64::from(*count);
        counts.iter().map(overestimate).sum::<u64>()
    };
    let loads = [25, 500].map(|load| collection(load * WIDTH as usize));
    let mut rows = Vec::new();
    for (name, finest, is_spread) in [
        ("12 panes, load in one pane", None, false),
        ("12 panes, load spread", None, true),
        (
            "with `FINEST` of a minute, load in one pane",
            Some(MINUTE),
            false,
        ),
        ("with `FINEST` of a minute, load spread", Some(MINUTE), true),
    ] {
        let window = Window::new(1440 * MINUTE, 12, finest).expect("a window");
        let units = window.ms() / window.pane_ms();
        let mut row = vec![name.to_owned()];
        for (load, depth) in [(0, 3), (0, 7), (1, 3), (1, 7)] {
            let ratios = loads[load].iter().filter_map(|(name, events, counts)| {
                let classic = count_min_of(WIDTH, depth, counts);
                let errors = sum_of_errors(counts, &|item| classic.query(item));
                let shape = Dimensions::new(WIDTH, depth, CellSize::Four).expect("a shape");
                let sketch = CountMinWindow::new(shape, window, Seed([7; 16]), UNLIMITED);
                let mut sketch = sketch.expect("a sketch");
                for (at, item) in events.iter().enumerate() {
                    if is_spread {
                        sketch.advance(units + at as u64 * units / events.len() as u64);
                    }
                    let item = item.to_le_bytes();
                    sketch.increment(&item, 1, UNLIMITED).expect("no overflow");
                }
                let of_window = sum_of_errors(counts, &|item| sketch.query(item, Panes::ALL));
                let has_errors = counts.len() >= MIN_ITEMS && errors >= counts.len() as u64;
                has_errors.then_some((*name, of_window as f64 / errors as f64))
            });
            let ratios: Vec<_> = ratios.collect();
            let (worst, most) = largest(&ratios);
            assert!(most <= 1.0, "{name}, {depth}, {worst}: {most}");
            let of_zipf = value_of("Zipf(1.0)", &ratios);
            row.push(format!("{of_zipf:.2}, {most:.2} ({worst})"));
        }
        rows.push(row);
    }
    let head = [
        "window of a day, width 500",
        "25 increments per counter, depth 3",
        "depth 7",
        "500 per counter, depth 3",
        "depth 7",
    ];
    table(&head, &rows)
}

/// Rank errors of the quantiles of t-digests.
pub fn t_digest() -> Measured {
    // They have a long tail like latencies.
    let samples = EXPONENTIAL.samples(STREAM, 13);
    let mut sorted = samples.clone();
    sorted.sort_by(f64::total_cmp);
    let mut series = Vec::new();
    for compression in [50, 100, 200, 500] {
        let mut digest = TDigest::new(compression, UNLIMITED).expect("a digest");
        for chunk in samples.chunks(100) {
            digest.add(chunk).expect("memory");
        }
        let compressed = digest.compressed().expect("memory");
        let rank_error = |quantile: f64| {
            let answer = compressed.quantile(quantile);
            let rank = sorted.partition_point(|&sample| sample < answer);
            (rank as f64 / STREAM as f64 - quantile).abs()
        };
        // The largest error around each point, because the error oscillates around zero.
        let points = (0..60).map(|step| {
            let from = f64::from(step) / 60.0;
            let worst = (1..=20).map(|part| rank_error(from + f64::from(part) / 1201.0));
            (
                (from + 1.0 / 120.0) * 100.0,
                worst.fold(0.0, f64::max) * 100.0,
            )
        });
        series.push(line(format!("COMPRESSION {compression}"), points));
    }
    Measured {
        table: digests::by_kind(),
        plot: LineChart {
            title: "t-digests of 1,000,000 exponential samples:\nlargest rank error around each quantile"
                .to_owned(),
            x: Axis::new(
                "requested quantile, %",
                Scale::Linear,
                (0.0, 100.0),
                (0..=10).map(|step| f64::from(step) * 10.0),
                |quantile| quantile.to_string(),
            ),
            y: Axis::new(
                "rank error, % of the samples (logarithmic)",
                Scale::Logarithmic,
                (1e-3, 6.0),
                [0.001, 0.01, 0.1, 1.0],
                |error| error.to_string(),
            ),
            series,
        },
    }
}

/// Rank errors of the quantiles of t-digests in the upper tail: mean and range over several streams.
pub fn t_digest_tail() -> LineChart {
    const STREAMS: u64 = 10;
    /// Samples above each quantile, per 100,000.
    const ABOVE: [u32; 10] = [10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20, 10];
    /// Errors below a tenth of a sample are drawn at the end of the axis.
    const LEAST: f64 = 1e-5;
    const COMPRESSIONS: [i64; 4] = [50, 100, 200, 500];
    let mut errors = vec![vec![Vec::new(); ABOVE.len()]; COMPRESSIONS.len()];
    for stream in 0..STREAMS {
        let samples = EXPONENTIAL.samples(STREAM, 100 + stream);
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        for (compression, errors) in COMPRESSIONS.iter().zip(&mut errors) {
            let mut digest = TDigest::new(*compression, UNLIMITED).expect("a digest");
            for chunk in samples.chunks(100) {
                digest.add(chunk).expect("memory");
            }
            let compressed = digest.compressed().expect("memory");
            for (above, errors) in ABOVE.iter().zip(errors) {
                let quantile = 1.0 - f64::from(*above) / 1e5;
                let answer = compressed.quantile(quantile);
                let rank = sorted.partition_point(|&sample| sample < answer);
                errors.push((rank as f64 / STREAM as f64 - quantile).abs() * 100.0);
            }
        }
    }
    let place = |above: u32| 5.0 - f64::from(above).log10();
    let series = COMPRESSIONS.iter().zip(&errors).enumerate();
    let series = series.map(|(i, (compression, errors))| {
        let points = ABOVE.iter().zip(errors).map(|(above, errors)| {
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
            let most = errors.iter().copied().fold(0.0, f64::max);
            Point {
                // Side by side, so that the ranges do not overlap.
                x: place(*above) + (i as f64 - 1.5) * 0.035,
                y: mean.max(LEAST),
                range: Some((least.max(LEAST), most.max(LEAST))),
            }
        });
        Series {
            name: format!("COMPRESSION {compression}"),
            points: points.collect(),
        }
    });
    LineChart {
        title: "t-digests of 1,000,000 exponential samples: rank error\nin the upper tail, mean and range of 10 streams"
            .to_owned(),
        x: Axis {
            label: "requested quantile, %".to_owned(),
            scale: Scale::Linear,
            from: 0.9,
            to: 4.1,
            ticks: ABOVE
                .map(|above| {
                    let per_cent = 100.0 - f64::from(above) / 1000.0;
                    let is_power = place(above).fract() == 0.0;
                    let text = if is_power { per_cent.to_string() } else { String::new() };
                    (place(above), text)
                })
                .to_vec(),
        },
        y: Axis::new(
            "rank error, % of the samples (logarithmic)",
            Scale::Logarithmic,
            (LEAST, 1.0),
            (-5..=0).map(|power| 10f64.powi(power)),
            |error| error.to_string(),
        ),
        series: series.collect(),
    }
}
