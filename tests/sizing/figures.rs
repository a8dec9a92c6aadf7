//! The figures of the sketch that a command creates.

use crate::{Figures, Row};
use roughly_sketch::bloom::shape::{Shape, Sizing};
use roughly_sketch::count_min::dimensions_for;
use roughly_sketch::cuckoo::{CuckooFilter, Parameters};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;
use roughly_sketch::top_k::TopK;
use roughly_sketch::window::{Panes, Window};
use roughly_sketch::window_filter::{
    BloomWindow, BloomWindowParameters, CuckooWindow, CuckooWindowParameters, Kind, Seed,
    WindowFilter,
};
use serde_json::Value;

pub const UNLIMITED: Budget<'static> = Budget::UNLIMITED;

pub fn of(row: &Row) -> Figures {
    if row.is_error() {
        return Figures::new();
    }
    let window = row.window();
    let mut figures = match (row.command.split(' ').next(), window) {
        (Some("BF.RESERVE"), None) => bloom(row),
        (Some("BF.RESERVE"), Some(window)) => bloom_window(row, window),
        (Some("CF.RESERVE"), None) => cuckoo(row),
        (Some("CF.RESERVE"), Some(window)) => cuckoo_window(row, window),
        (Some("CMS.INITBYPROB"), _) => count_min(row),
        (Some("CMS.INITBYDIM"), _) => rate_limit(row),
        (Some("TOPK.RESERVE"), _) => top_k(row),
        (Some("TDIGEST.CREATE"), _) => t_digest(row),
        _ => panic!("unexpected command: {}", row.command),
    };
    if let Some(window) = window {
        figures.insert("pane".to_owned(), window.pane_ms() as f64);
    }
    figures
}

fn named<const N: usize>(figures: [(&str, f64); N]) -> Figures {
    let figures = figures.map(|(name, value)| (name.to_owned(), value));
    figures.into_iter().collect()
}

/// Adds the values of a curve.
fn with_points(mut figures: Figures, xs: &[f64], y: impl Fn(f64) -> f64) -> Figures {
    figures.extend(xs.iter().map(|&x| (format!("at {x}"), y(x))));
    figures
}

/// False-positive rate of a chain with `items` items, computed from the shapes of its sub-filters (Bloom 1970).
fn chain_error(capacity: u64, rate: f64, expansion: u64, items: f64) -> f64 {
    let (mut capacity, mut left, mut right) = (capacity, items, 1.0);
    let mut rate = if expansion == 0 { rate } else { rate / 2.0 };
    while left > 0.0 {
        let shape = Shape::new(capacity, rate, Sizing::Exact).expect("a shape");
        let (hashes, bits) = (f64::from(shape.hashes), shape.bits as f64);
        let in_it = left.min(capacity as f64);
        right *= 1.0 - (-(-hashes * in_it / bits).exp_m1()).powf(hashes);
        left -= capacity as f64;
        capacity *= expansion.max(1);
        rate /= 2.0;
    }
    1.0 - right
}

/// Error rate, capacity and expansion of a Bloom filter.
fn bloom_parameters(row: &Row) -> (f64, u64, u64) {
    let is_fixed = row.command.contains("NONSCALING");
    let expansion = row.option("EXPANSION").unwrap_or(2.0) as u64;
    let expansion = if is_fixed { 0 } else { expansion };
    (row.argument(2).min(0.25), row.argument(3) as u64, expansion)
}

fn bloom(row: &Row) -> Figures {
    let (rate, capacity, expansion) = bloom_parameters(row);
    let first = if expansion == 0 { rate } else { rate / 2.0 };
    let shape = Shape::new(capacity, first, Sizing::Exact).expect("a shape");
    let error = |items| chain_error(capacity, rate, expansion, items);
    let items = capacity as f64;
    let figures = named([
        ("bytes", shape.bytes() as f64),
        ("hashes", f64::from(shape.hashes)),
        ("error-full", error(items)),
    ]);
    let points = [items / 2.0, items, 2.0 * items, 4.0 * items];
    let number = if expansion == 0 { 2 } else { 4 };
    with_points(figures, &points[..number], error)
}

fn bloom_window(row: &Row, window: Window) -> Figures {
    let (error_rate, capacity, expansion) = bloom_parameters(row);
    let parameters = BloomWindowParameters {
        seed: Seed::default(),
        capacity,
        error_rate,
        expansion: expansion as u32,
    };
    let filter = BloomWindow::new(window, &parameters, UNLIMITED).expect("a filter");
    window_filter(&filter, capacity)
}

fn cuckoo_window(row: &Row, window: Window) -> Figures {
    let parameters = CuckooWindowParameters {
        seed: Seed::default(),
        capacity: row.argument(2) as u64,
        error_rate: row.option("ERROR").map(|rate| rate.min(0.25)),
        bucket_size: row.option("BUCKETSIZE").unwrap_or(2.0) as u8,
        max_iterations: 20,
        expansion: row.option("EXPANSION").unwrap_or(1.0) as u32,
    };
    let filter = CuckooWindow::new(window, &parameters, UNLIMITED).expect("a filter");
    window_filter(&filter, parameters.capacity)
}

/// The error rate is proportional to the number of live items.
fn window_filter<K: Kind>(filter: &WindowFilter<K>, capacity: u64) -> Figures {
    let first = filter.sub_filters(Panes::ALL).next().expect("a sub-filter");
    let limit = filter.limit() as f64;
    let figures = named([
        ("bytes", filter.slot_bytes() as f64),
        ("buckets", filter.num_buckets() as f64),
        ("limit", limit),
        ("error-full", first.error_rate),
    ]);
    let points = [capacity as f64 / 2.0, capacity as f64, limit];
    with_points(figures, &points, |items| first.error_rate * items / limit)
}

/// The filter has space for all items, unless it may grow and its buckets have one or two slots.
fn cuckoo(row: &Row) -> Figures {
    let items = row.field("capacity").expect("the items");
    let bucket_size = row.option("BUCKETSIZE").unwrap_or(2.0) as u8;
    let expansion = row.option("EXPANSION").unwrap_or(1.0) as u64;
    let parameters = Parameters {
        bucket_size,
        max_iterations: 20,
        expansion: 0,
    };
    let mut filter =
        CuckooFilter::new(row.argument(2) as u64, parameters, UNLIMITED).expect("a filter");
    let filters = match (bucket_size, expansion) {
        (1, 1..) => 3,
        (2, 1..) => 2,
        _ => 1,
    };
    for number in 0..items as u64 {
        let added = filter.insert(&number.to_le_bytes(), UNLIMITED);
        let has_grown = added.is_ok() || filters > 1;
        assert!(has_grown, "{}: item {number}", row.command);
    }
    let slots = (filter.num_buckets() * u64::from(bucket_size)) as f64;
    let growth = expansion.max(1).next_power_of_two() as f64;
    let all_slots: f64 = (0..filters).map(|filter| slots * growth.powi(filter)).sum();
    let compared = 2.0 * f64::from(bucket_size) * items / slots;
    named([
        ("buckets", filter.num_buckets() as f64),
        ("filters", f64::from(filters)),
        ("bytes", all_slots),
        ("slots-used", items / all_slots),
        ("error-full", 1.0 - (1.0 - 1.0 / 255.0f64).powf(compared)),
    ])
}

fn count_min(row: &Row) -> Figures {
    let error = row.argument(2);
    let (width, depth) = dimensions_for(error, row.argument(3)).expect("dimensions");
    let total = row.field("total").expect("a total");
    let figures = named([
        ("width", width as f64),
        ("depth", depth as f64),
        (
            "bytes",
            (width * depth) as f64 * row.option("CELL_SIZE").unwrap_or(4.0),
        ),
        ("bound", error * total),
    ]);
    let points = [total / 2.0, total, 2.0 * total];
    with_points(figures, &points, |counts| error * counts)
}

/// The dimensions are those of the bound: an estimate exceeds the count by more than 2 × requests / width with a probability of at most 2^-depth; with a
/// window, by more than 1.45 × requests / width.
fn rate_limit(row: &Row) -> Figures {
    let [width, depth] = [2, 3].map(|at| row.argument(at));
    let [clients, requests, limit, early, share] =
        ["clients", "requests", "limit", "early", "share"].map(|name| row.field(name).expect(name));
    let margin = limit * early;
    let factor = if row.window().is_some() { 1.45 } else { 2.0 };
    let accepted = requests.min(clients * limit);
    assert!(factor * accepted / width <= margin, "{}", row.command);
    assert!(f64::powf(0.5, depth) <= share, "{}", row.command);
    let bytes = width * depth * row.option("CELL_SIZE").unwrap_or(4.0);
    let figures = [
        ("width", width),
        ("depth", depth),
        ("bytes", bytes),
        ("margin", margin),
    ];
    let points = [accepted / 2.0, accepted, 2.0 * accepted];
    with_points(named(figures), &points, |n| margin * n / accepted)
}

fn top_k(row: &Row) -> Figures {
    let [k, width, depth] = [2, 3, 4].map(|at| row.argument(at) as u64);
    let sketch = TopK::new(k, width, depth, row.argument(5), UNLIMITED).expect("a sketch");
    let figures = named([
        ("width", width as f64),
        ("depth", depth as f64),
        ("bytes", sketch.bucket_bytes().len() as f64),
    ]);
    if row.window().is_some() {
        return figures;
    }
    let points = [k, width, 2 * width, 4 * width].map(|n| n as f64);
    with_points(figures, &points, |heavy| {
        let shared = 1.0 - (1.0 - 1.0 / width as f64).powf(heavy - 1.0);
        shared.powf(depth as f64)
    })
}

/// The rank errors in the page are those of the largest measured compression up to that of the digest. crates/models/tests/accuracy measures them and
/// compares them with the page.
fn t_digest(row: &Row) -> Figures {
    let compression = row.option("COMPRESSION").unwrap_or(100.0);
    let digest = TDigest::new(compression as i64, UNLIMITED).expect("a digest");
    let mut figures = named([("capacity", f64::from(digest.info().capacity))]);
    let page = std::fs::read_to_string("docs/sizing.html").expect("the page");
    let after = |start: &str| page.split_once(start).expect("the measured values").1;
    let values = |text: &str| -> Vec<Value> {
        let line = text.lines().next().expect("a line");
        serde_json::from_str(line.trim_end_matches(',')).expect("numbers")
    };
    let compressions = values(after("compressions: "));
    let measured = compressions
        .iter()
        .rposition(|measured| measured.as_f64() <= Some(compression));
    let Some(at) = measured else {
        return figures;
    };
    figures.insert(
        "compression of the table".to_owned(),
        number(&compressions[at]),
    );
    for kind in ["uniform", "exponential"] {
        let errors = &values(after(&format!("    \"{kind}\": ")))[at];
        for (quantile, errors) in errors.as_array().expect("errors").iter().enumerate() {
            figures.insert(format!("{kind} {quantile}"), number(&errors[0]));
            figures.insert(format!("{kind} {quantile} max"), number(&errors[1]));
        }
    }
    figures
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}
