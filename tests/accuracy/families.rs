//! Accuracy measurements of each family.

use crate::plot::{Axis, Plot, SeriesLabelPosition};
use crate::streams::{Random, counts, zipf};
use crate::{Measured, per_cent, size, table};
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::count_min::{CellSize, CountMin, shape::dimensions_for};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;
use roughly_sketch::top_k::TopK;

const ANY: Budget<'static> = Budget::UNLIMITED;
/// Number of absent items that are looked up at each point.
const STRANGERS: u64 = 100_000;
/// Length of the streams.
const STREAM: usize = 1_000_000;
/// Number of distinct items in the streams.
const UNIVERSE: usize = 100_000;

fn stranger(number: u64) -> [u8; 8] {
    (number | 1 << 40).to_le_bytes()
}

/// False-positive rate of Bloom filters as they fill and grow.
pub fn bloom() -> Measured {
    let reserved = |expansion, scaling| bloom::Parameters {
        capacity: 100_000,
        error_rate: 0.01,
        expansion,
        scaling,
    };
    let by_default = bloom::Parameters {
        capacity: 100,
        ..reserved(2, true)
    };
    let kinds = [
        ("reserved for 100,000, growing", reserved(2, true)),
        ("reserved for 100,000, NONSCALING", reserved(2, false)),
        ("made by BF.ADD, for 100", by_default),
    ];
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for (name, parameters) in kinds {
        let mut chain = Chain::new(&parameters, ANY).expect("a filter");
        let mut line = vec![(0.0, 0.0)];
        let mut number = 0u64;
        'fill: for step in 1..=40u64 {
            while chain.items() < step * 10_000 {
                let hash = chain.hash(&number.to_le_bytes());
                if chain.add(hash, ANY).is_err() {
                    break 'fill;
                }
                number += 1;
            }
            let found = (0..STRANGERS).filter(|&n| chain.contains(chain.hash(&stranger(n))));
            let rate = found.count() as f64 / STRANGERS as f64;
            line.push(((step * 10_000) as f64, rate * 100.0));
            if [5, 10, 20, 40].contains(&step) {
                rows.push(vec![
                    name.to_owned(),
                    format!("{},000", step * 10),
                    chain.filters().len().to_string(),
                    size(chain.bit_bytes()),
                    per_cent(rate),
                ]);
            }
        }
        lines.push((name.to_owned(), line));
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
        plot: Plot {
            title: "Bloom filters for an error rate of 1 %: false positives as items are added",
            x: Axis {
                label: "items added",
                from: 0.0,
                to: 400_000.0,
                logarithmic: false,
                format: |items| format!("{:.0}k", items / 1000.0),
            },
            y: Axis {
                label: "false positives, per cent",
                from: 0.0,
                to: 2.0,
                logarithmic: false,
                format: |rate| format!("{rate:.1}"),
            },
            lines,
            legend: SeriesLabelPosition::UpperLeft,
        },
    }
}

/// False-positive rate of cuckoo filters as they fill, and the fill ratio at the first failed insertion.
pub fn cuckoo() -> Measured {
    const SLOTS: u64 = 1 << 17;
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for bucket_size in [1u8, 2, 4, 8] {
        let filled = |max_iterations: u16, line: &mut Vec<(f64, f64)>| {
            let parameters = cuckoo::Parameters {
                bucket_size,
                max_iterations,
                expansion: 0,
            };
            let mut filter = CuckooFilter::new(SLOTS, parameters, ANY).expect("a filter");
            let mut number = 0u64;
            while filter.insert(&number.to_le_bytes(), ANY).is_ok() {
                number += 1;
                if number.is_multiple_of(SLOTS / 32) {
                    let found = (0..STRANGERS).filter(|&n| filter.contains(&stranger(n)));
                    let rate = found.count() as f64 / STRANGERS as f64;
                    line.push((number as f64 / SLOTS as f64 * 100.0, rate * 100.0));
                }
            }
            number as f64 / SLOTS as f64
        };
        let mut line = vec![(0.0, 0.0)];
        let full = filled(20, &mut line);
        let half = line.iter().find(|point| point.0 >= 50.0);
        let half = half.map_or_else(
            || "(full before)".to_owned(),
            |point| per_cent(point.1 / 100.0),
        );
        let patient = filled(500, &mut Vec::new());
        rows.push(vec![
            bucket_size.to_string(),
            per_cent(full),
            per_cent(patient),
            half,
            per_cent(line.last().expect("a point").1 / 100.0),
            per_cent(2.0 * f64::from(bucket_size) / 255.0),
        ]);
        lines.push((format!("BUCKETSIZE {bucket_size}"), line));
    }
    let head = [
        "BUCKETSIZE",
        "fill at the first refusal",
        "with MAXITERATIONS 500",
        "false positives at half",
        "at the last point before the refusal",
        "never more than",
    ];
    Measured {
        table: table(&head, &rows),
        plot: Plot {
            title: "Cuckoo filters of 131,072 slots: false positives as they fill",
            x: Axis {
                label: "slots in use, per cent (a line ends where the filter is full or grows)",
                from: 0.0,
                to: 100.0,
                logarithmic: false,
                format: |fill| format!("{fill:.0}"),
            },
            y: Axis {
                label: "false positives, per cent",
                from: 0.0,
                to: 7.0,
                logarithmic: false,
                format: |rate| format!("{rate:.0}"),
            },
            lines,
            legend: SeriesLabelPosition::UpperLeft,
        },
    }
}

/// Overestimates of count-min sketches.
pub fn count_min() -> Measured {
    let stream = zipf(UNIVERSE, STREAM, 11);
    let counts = counts(UNIVERSE, &stream);
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for (error, probability) in [(0.01, 0.01), (0.001, 0.5), (0.001, 0.01), (0.0001, 0.01)] {
        let (width, depth) = dimensions_for(error, probability).expect("dimensions");
        let mut sketch = CountMin::new(width, depth, CellSize::Four, ANY).expect("a sketch");
        for (item, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let increment = i64::try_from(count).expect("a count");
            let bytes = (item as u32).to_le_bytes();
            sketch.increment(&bytes, increment).expect("no overflow");
        }
        let mut errors: Vec<_> = (0..UNIVERSE)
            .map(|item| sketch.query(&(item as u32).to_le_bytes()) - counts[item])
            .collect();
        errors.sort_unstable();
        let share_above = |limit: f64| {
            let below = errors.partition_point(|&error| error as f64 <= limit);
            (UNIVERSE - below) as f64 / UNIVERSE as f64
        };
        let mean = errors.iter().sum::<u64>() as f64 / UNIVERSE as f64;
        rows.push(vec![
            format!("{error} {probability}"),
            format!("{width} × {depth}"),
            size(sketch.shape().bytes().expect("a size")),
            format!("{:.0}", error * STREAM as f64),
            per_cent(share_above(error * STREAM as f64)),
            format!("{mean:.1}"),
            errors[UNIVERSE * 99 / 100].to_string(),
        ]);
        let points = (0..=80).map(|step| {
            let limit = 10f64.powf(f64::from(step) / 20.0);
            (limit, share_above(limit) * 100.0)
        });
        lines.push((
            format!("error {error}, probability {probability}"),
            points.collect(),
        ));
    }
    let head = [
        "error probability",
        "width × depth",
        "memory",
        "promised: error × total",
        "items above it",
        "mean over-estimate",
        "99 % are within",
    ];
    Measured {
        table: table(&head, &rows),
        plot: Plot {
            title: "Count-min sketches: items over-estimated by more than so much, of a total of 1,000,000",
            x: Axis {
                label: "over-estimate",
                from: 0.0,
                to: 4.0,
                logarithmic: true,
                format: |limit| format!("{limit:.0}"),
            },
            y: Axis {
                label: "items above it, per cent",
                from: 0.0,
                to: 105.0,
                logarithmic: false,
                format: |share| format!("{share:.0}"),
            },
            lines,
            legend: SeriesLabelPosition::MiddleLeft,
        },
    }
}

/// Share of the true top k items that top-k sketches list, and the error of their counts.
pub fn top_k() -> Measured {
    let stream = zipf(UNIVERSE, STREAM, 12);
    let counts = counts(UNIVERSE, &stream);
    let mut by_count: Vec<_> = (0..UNIVERSE).collect();
    by_count.sort_by_key(|&item| std::cmp::Reverse(counts[item]));
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for k in [10usize, 100, 1000] {
        let mut line = Vec::new();
        for factor in [1usize, 2, 4, 8, 16] {
            let (width, depth) = ((k * factor) as u64, 5);
            let mut sketch = TopK::new(k as u64, width, depth, 0.9, ANY).expect("a sketch");
            for item in &stream {
                sketch.add(&item.to_le_bytes(), 1).expect("memory");
            }
            // Several items may tie for rank k: any of them counts as found.
            let least = counts[by_count[k - 1]];
            let listed: Vec<_> = sketch
                .list()
                .expect("memory")
                .map(|(item, count)| {
                    let bytes: [u8; 4] = item.try_into().expect("an item");
                    (counts[u32::from_le_bytes(bytes) as usize], u64::from(count))
                })
                .collect();
            let found = listed.iter().filter(|(truth, _)| *truth >= least).count();
            let off = |&(truth, count): &(u64, u64)| truth.abs_diff(count) as f64 / truth as f64;
            let error = listed.iter().map(off).sum::<f64>() / listed.len() as f64;
            let recall = found as f64 / k as f64;
            line.push((factor as f64, recall * 100.0));
            rows.push(vec![
                k.to_string(),
                format!("{width} × {depth}"),
                size(width * depth * 8),
                per_cent(recall),
                per_cent(error),
            ]);
        }
        lines.push((format!("k = {k}"), line));
    }
    let head = [
        "k",
        "width × depth",
        "buckets",
        "found",
        "mean error of the counts",
    ];
    Measured {
        table: table(&head, &rows),
        plot: Plot {
            title: "Top-k sketches of depth 5, decay 0.9: share of the true top k that is found",
            x: Axis {
                label: "width, in multiples of k",
                from: 0.0,
                to: 1.21,
                logarithmic: true,
                format: |factor| format!("{factor:.1}"),
            },
            y: Axis {
                label: "found, per cent",
                from: 50.0,
                to: 105.0,
                logarithmic: false,
                format: |share| format!("{share:.0}"),
            },
            lines,
            legend: SeriesLabelPosition::LowerRight,
        },
    }
}

/// Rank errors of the quantiles of t-digests.
pub fn t_digest() -> Measured {
    let mut random = Random(13);
    // Exponential distribution, which has a long tail like latencies.
    let samples: Vec<_> = (0..STREAM)
        .map(|_| -(1.0 - random.fraction()).ln())
        .collect();
    let mut sorted = samples.clone();
    sorted.sort_by(f64::total_cmp);
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for compression in [50, 100, 200, 500] {
        let mut digest = TDigest::new(compression, ANY).expect("a digest");
        for chunk in samples.chunks(100) {
            digest.add(chunk).expect("memory");
        }
        let compressed = digest.compressed().expect("memory");
        let off = |quantile: f64| {
            let answer = compressed.quantile(quantile);
            let rank = sorted.partition_point(|&sample| sample < answer);
            (rank as f64 / STREAM as f64 - quantile).abs()
        };
        // The largest error around each point, because the error oscillates around zero.
        let points = (0..60).map(|step| {
            let from = f64::from(step) / 60.0;
            let worst = (1..=20).map(|part| off(from + f64::from(part) / 1201.0));
            (
                (from + 1.0 / 120.0) * 100.0,
                worst.fold(0.0, f64::max) * 100.0,
            )
        });
        lines.push((format!("COMPRESSION {compression}"), points.collect()));
        let mut row = vec![
            compression.to_string(),
            compressed.centroids().len().to_string(),
        ];
        row.extend(
            [0.5, 0.9, 0.99, 0.999].map(|quantile| format!("{:.4} %", off(quantile) * 100.0)),
        );
        rows.push(row);
    }
    let head = ["COMPRESSION", "centroids", "p50", "p90", "p99", "p99.9"];
    Measured {
        table: table(&head, &rows),
        plot: Plot {
            title: "t-digests of 1,000,000 samples: largest error of the rank around each quantile",
            x: Axis {
                label: "quantile asked for, per cent",
                from: 0.0,
                to: 100.0,
                logarithmic: false,
                format: |quantile| format!("{quantile:.0}"),
            },
            y: Axis {
                label: "error, per cent of the samples",
                from: -4.0,
                to: 2.0,
                logarithmic: true,
                format: |error| format!("{error}"),
            },
            lines,
            legend: SeriesLabelPosition::UpperLeft,
        },
    }
}
