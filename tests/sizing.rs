//! Opens docs/sizing.html in a headless browser and compares its figures with the sketches and with the memory usage of
//! filled keys.
//!
//! `scripts/check-release.sh sizing` installs Chromium and runs these tests; `cargo test` skips them.

mod support;

use roughly_sketch::bloom::Chain;
use roughly_sketch::bloom::shape::{Shape, Sizing};
use roughly_sketch::count_min::{CellSize, CountMin, dimensions_for};
use roughly_sketch::cuckoo::{CuckooFilter, Parameters};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;
use roughly_sketch::top_k::TopK;
use roughly_sketch::window::{Panes, Window};
use roughly_sketch::window_filter::{
    BloomWindow, BloomWindowParameters, CuckooWindow, CuckooWindowParameters, Kind, Seed,
    WindowFilter,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use support::resp::{Connection, Reply};
use support::server::{Options, Server};
use support::streams::{REALS, Reals};

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;

/// The results on the page.
#[derive(Debug)]
struct Shown {
    figures: BTreeMap<String, f64>,
    command: String,
    /// The text below the command.
    note: String,
    /// Points of the first curve, from the table below the chart.
    points: Vec<(f64, f64)>,
    /// Title of the table of rank errors, and for each kind of samples mean and maximum in % at p50, p90, p99 and p99.9.
    rank_errors: (String, BTreeMap<String, Vec<[f64; 2]>>),
    /// Numbers of items, and the memory of a set, a Bloom filter and a cuckoo filter.
    comparison: Vec<(f64, Vec<f64>)>,
    /// The message in place of a result, or an empty text.
    refusal: String,
    /// The errors beside fields.
    errors: BTreeMap<String, String>,
}

impl Shown {
    fn figure(&self, id: &str) -> f64 {
        *self
            .figures
            .get(id)
            .unwrap_or_else(|| panic!("no figure {id} in {self:?}"))
    }
}

/// The text between `before` and `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

/// Opens the page with these input values and reads the results.
fn open_page(values: &str) -> Shown {
    let page = Path::new("docs/sizing.html")
        .canonicalize()
        .expect("the page");
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--dump-dom", &format!("file://{}#{values}", page.display())])
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot run chromium ({error}); `scripts/check-release.sh sizing` installs it")
        });
    let dom = String::from_utf8_lossy(&output.stdout);
    assert!(
        dom.contains("</html>"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("{text}"));
    let figures = between(&dom, "<dl id=\"figures\">", "</dl>").expect("figures");
    let message = between(&dom, "<p id=\"message\"", "</p>").expect("a message");
    let (attributes, text) = message.split_once('>').expect("a tag");
    let mut points: Vec<(f64, f64)> = Vec::new();
    for cell in dom.split("data-x=\"").skip(1) {
        let x = number(cell.split('"').next().expect("a value"));
        let y = number(between(cell, "data-y=\"", "\"").expect("a value"));
        // All curves have the same x values.
        if points.last().is_none_or(|last| last.0 != x) {
            points.push((x, y));
        }
    }
    let rows = dom.split("<tr data-items=\"").skip(1).map(|row| {
        let (items, rest) = row.split_once('"').expect("a value");
        let cells = rest.split("</tr>").next().unwrap_or_default();
        let cells = cells.split("data-bytes=\"").skip(1);
        // The page shows no number if one key cannot hold that many items.
        let memory = cells.map(|cell| cell.split('"').next().and_then(|n| n.parse().ok()));
        let memory = memory.map(|bytes| bytes.unwrap_or(f64::NAN));
        (number(items), memory.collect())
    });
    let kinds = dom.split("<tr data-kind=\"").skip(1).map(|row| {
        let (kind, rest) = row.split_once('"').expect("a value");
        let cells = rest.split("</tr>").next().unwrap_or_default();
        let cells = cells.split("data-mean=\"").skip(1).map(|cell| {
            let mean = cell.split('"').next().expect("a value");
            [mean, between(cell, "data-most=\"", "\"").expect("a value")].map(number)
        });
        (kind.to_owned(), cells.collect())
    });
    let title = between(&dom, "data-title=\"", "\"").unwrap_or_default();
    let errors = dom.split("<small id=\"").skip(1).filter_map(|small| {
        let (id, rest) = small.split_once("-error\" class=\"error\">")?;
        let text = rest.split("</small>").next()?;
        (!id.contains('"')).then(|| (id.to_owned(), text.to_owned()))
    });
    Shown {
        rank_errors: (title.to_owned(), kinds.collect()),
        comparison: rows.collect(),
        errors: errors.collect(),
        figures: figures
            .split("<dd id=\"")
            .skip(1)
            .map(|figure| {
                let id = figure.split('"').next().expect("a name").to_owned();
                (
                    id,
                    number(between(figure, "data-value=\"", "\"").expect("a value")),
                )
            })
            .collect(),
        command: between(&dom, "<code id=\"command\"", "</code>")
            .and_then(|code| code.split_once('>'))
            .map_or_else(String::new, |code| code.1.to_owned()),
        note: between(&dom, "<p id=\"note\"", "</p>")
            .and_then(|note| note.split_once('>'))
            .map_or_else(String::new, |note| note.1.to_owned()),
        points,
        refusal: if attributes.contains("hidden") {
            String::new()
        } else {
            text.to_owned()
        },
    }
}

/// Asserts that the page shows the expected figure, up to rounding.
fn assert_close(expected: f64, shown: f64, what: &str) {
    let difference = (expected - shown).abs();
    assert!(
        difference <= 1e-9 * expected.abs(),
        "{what}: expected {expected}, the page shows {shown}"
    );
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

#[test]
fn bloom_figures_match_the_filters() {
    for (capacity, error, expansion, command) in [
        (1, 0.5, 2, "BF.RESERVE key 0.5 1"),
        (100, 0.01, 2, "BF.RESERVE key 0.01 100"),
        (
            1_000_000,
            0.001,
            0,
            "BF.RESERVE key 0.001 1000000 NONSCALING",
        ),
        (12_345, 0.3, 1, "BF.RESERVE key 0.3 12345 EXPANSION 1"),
        (
            1 << 30,
            0.000_000_1,
            4,
            "BF.RESERVE key 1e-7 1073741824 EXPANSION 4",
        ),
    ] {
        let shown = open_page(&format!(
            "family=bloom&capacity={capacity}&error={error}&expansion={expansion}"
        ));
        assert_eq!(shown.command, command);
        let rate = f64::min(error, 0.25);
        let first = if expansion == 0 { rate } else { rate / 2.0 };
        let shape = Shape::new(capacity, first, Sizing::Exact).expect("a shape");
        assert_close(shape.bytes() as f64, shown.figure("bytes"), command);
        assert_close(f64::from(shape.hashes), shown.figure("hashes"), command);
        let full = chain_error(capacity, rate, expansion, capacity as f64);
        assert_close(full, shown.figure("error-full"), command);
        assert!(shown.points.len() >= 2, "{shown:?}");
        for (items, error) in shown.points {
            assert_close(
                chain_error(capacity, rate, expansion, items),
                error,
                command,
            );
        }
    }
}

/// The page warns of filters whose error rate exceeds the specified one, and of no other filters. A filter with
/// `EXPANSION 1` has at most the error rate that the page shows, here with 64 full sub-filters.
#[test]
fn small_bloom_filters_have_a_warning() {
    const ABSENT_ITEMS: u64 = 50_000;
    for (capacity, error_rate, expansion, is_warned) in [
        (1, 0.01, 1, true),
        (10, 0.01, 1, true),
        (100, 0.01, 1, true),
        (100, 0.000_1, 1, true),
        (799, 0.01, 1, true),
        (800, 0.01, 1, false),
        (10, 0.01, 2, true),
        (100, 0.01, 2, false),
        (1_000, 0.000_001, 2, true),
        (100_000, 0.000_001, 2, false),
    ] {
        let shown = open_page(&format!(
            "family=bloom&capacity={capacity}&error={error_rate}&expansion={expansion}"
        ));
        let command = &shown.command;
        assert_eq!(shown.note.contains("Warning: "), is_warned, "{command}");
        assert_eq!(shown.figures.contains_key("error-grown"), expansion == 1);
        if expansion > 1 {
            continue;
        }
        let parameters = roughly_sketch::bloom::Parameters {
            capacity,
            error_rate,
            expansion,
            scaling: true,
        };
        let mut chain = Chain::new(&parameters, UNLIMITED).expect("a filter");
        for item in 0u64.. {
            let added = chain.add(&item.to_le_bytes(), (), UNLIMITED);
            added.expect("memory");
            if chain.filters().len() > 64 {
                break;
            }
        }
        let absent = (0..ABSENT_ITEMS).map(|n| (n | 1 << 40).to_le_bytes());
        let found = absent.filter(|item| chain.contains(item)).count();
        let measured = found as f64 / ABSENT_ITEMS as f64;
        assert!(
            measured <= shown.figure("error-grown"),
            "{command}: {measured}"
        );
        // Without a warning, the specified rate is exceeded by at most a tenth, and the noise of this measurement.
        assert!(
            is_warned || measured < 1.2 * error_rate,
            "{command}: {measured}"
        );
    }
}

#[test]
fn cuckoo_figures_match_the_filters() {
    for (items, bucket_size, expansion) in [
        (5, 4, 1),
        (1_000, 4, 1),
        (100_000, 2, 1),
        (200_000, 3, 0),
        (700_000, 8, 2),
        (1_000_000, 4, 1),
        (300_000, 16, 1),
        (120_000, 255, 1),
        (3_000, 2, 0),
        (3_000, 1, 0),
        // Above 2^24 slots, fewer are in use.
        (21_000_000, 4, 0),
        (14_000_000, 3, 0),
    ] {
        let shown = open_page(&format!(
            "family=cuckoo&capacity={items}&bucket={bucket_size}&expansion={expansion}"
        ));
        let mut arguments = shown.command.split(' ').skip(2);
        let capacity = arguments
            .next()
            .and_then(|argument| argument.parse().ok())
            .expect("a capacity");
        let options: Vec<_> = arguments.collect();
        assert_eq!(
            options.contains(&"BUCKETSIZE"),
            bucket_size != 2,
            "{shown:?}"
        );
        assert_eq!(options.contains(&"EXPANSION"), expansion != 1, "{shown:?}");
        let parameters = Parameters {
            bucket_size,
            max_iterations: 20,
            expansion: 0,
        };
        let mut filter = CuckooFilter::new(capacity, parameters, UNLIMITED).expect("a filter");
        let slots = filter.num_buckets() * u64::from(bucket_size);
        assert_close(
            filter.num_buckets() as f64,
            shown.figure("buckets"),
            &shown.command,
        );
        let growth = u64::max(expansion, 1).next_power_of_two();
        let all_slots: u64 = (0..shown.figure("filters") as u32)
            .map(|filter| slots * growth.pow(filter))
            .sum();
        assert_close(all_slots as f64, shown.figure("bytes"), &shown.command);
        assert_close(
            items as f64 / all_slots as f64,
            shown.figure("slots-used"),
            &shown.command,
        );
        let compared = 2.0 * f64::from(bucket_size) * items as f64 / slots as f64;
        let error = 1.0 - (1.0 - 1.0 / 255.0f64).powf(compared);
        assert_close(error, shown.figure("error-full"), &shown.command);
        // The filter has space for all items. Only a growing filter with buckets of 1 or 2 slots may need to grow.
        for number in 0..items {
            let added = filter.insert(&u64::to_le_bytes(number), UNLIMITED);
            assert!(
                added.is_ok() || (expansion > 0 && bucket_size < 3),
                "{}: item {number}",
                shown.command
            );
        }
    }
}

#[test]
fn count_min_figures_match_the_sketches() {
    for (error, probability, cell, command) in [
        (0.001, 0.01, 4, "CMS.INITBYPROB key 0.001 0.01"),
        (0.01, 0.01, 1, "CMS.INITBYPROB key 0.01 0.01 CELL_SIZE 1"),
        (
            0.3,
            0.000_001,
            8,
            "CMS.INITBYPROB key 0.3 0.000001 CELL_SIZE 8",
        ),
        (
            0.1,
            0.007_812_5,
            2,
            "CMS.INITBYPROB key 0.1 0.0078125 CELL_SIZE 2",
        ),
        (0.000_01, 0.9, 4, "CMS.INITBYPROB key 0.00001 0.9"),
    ] {
        let shown = open_page(&format!(
            "family=cms&error={error}&probability={probability}&cell={cell}&total=1000"
        ));
        assert_eq!(shown.command, command);
        let (width, depth) = dimensions_for(error, probability).expect("dimensions");
        assert_close(width as f64, shown.figure("width"), command);
        assert_close(depth as f64, shown.figure("depth"), command);
        assert_close(
            (width * depth * cell) as f64,
            shown.figure("bytes"),
            command,
        );
        assert_close(error * 1000.0, shown.figure("bound"), command);
        for (counts, bound) in shown.points {
            assert_close(error * counts, bound, command);
        }
    }
}

#[test]
fn top_k_figures_match_the_sketches() {
    for k in [1u64, 10, 1_000] {
        let shown = open_page(&format!("family=topk&k={k}&item=20"));
        let (width, depth) = (shown.figure("width") as u64, shown.figure("depth") as u64);
        assert_eq!(
            shown.command,
            format!("TOPK.RESERVE key {k} {width} {depth} 0.9")
        );
        let sketch = TopK::new(k, width, depth, 0.9, UNLIMITED).expect("a sketch");
        assert_close(
            sketch.bucket_bytes().len() as f64,
            shown.figure("bytes"),
            &shown.command,
        );
        for (heavy, probability) in shown.points {
            let shared = 1.0 - (1.0 - 1.0 / width as f64).powf(heavy - 1.0);
            assert_close(shared.powf(depth as f64), probability, &shown.command);
        }
    }
}

#[test]
fn t_digest_figures_match_the_digests() {
    for (compression, command) in [
        (50, "TDIGEST.CREATE key COMPRESSION 50"),
        (100, "TDIGEST.CREATE key"),
        (1_000, "TDIGEST.CREATE key COMPRESSION 1000"),
    ] {
        let shown = open_page(&format!("family=tdigest&compression={compression}"));
        assert_eq!(shown.command, command);
        let digest = TDigest::new(compression, UNLIMITED).expect("a digest");
        let info = digest.info();
        assert_close(f64::from(info.capacity), shown.figure("capacity"), command);
    }
}

/// Rank errors in % at p50, p90, p99 and p99.9 of digests of 500,000 samples: means of several streams.
fn mean_rank_errors(compression: i64, kind: &Reals) -> [f64; 4] {
    const STREAMS: u64 = 4;
    const SAMPLES: usize = 500_000;
    let mut means = [0.0; 4];
    for stream in 0..STREAMS {
        let samples = kind.samples(SAMPLES, stream << 32);
        let mut digest = TDigest::new(compression, UNLIMITED).expect("a digest");
        for chunk in samples.chunks(100) {
            digest.add(chunk).expect("memory");
        }
        let mut sorted = samples;
        sorted.sort_by(f64::total_cmp);
        let compressed = digest.compressed().expect("memory");
        for (mean, quantile) in means.iter_mut().zip([0.5, 0.9, 0.99, 0.999]) {
            let answer = compressed.quantile(quantile);
            let rank = sorted.partition_point(|&sample| sample < answer) as f64;
            let error = (rank / SAMPLES as f64 - quantile).abs() * 100.0;
            *mean += error / STREAMS as f64;
        }
    }
    means
}

/// The page shows rank errors of the largest measured compression up to that of the digest. They are those of other digests, up to a
/// factor of three and the rank of a sample.
#[test]
fn rank_errors_match_the_digests() {
    for (compression, measured) in [
        (49, None),
        (50, Some(50)),
        (100, Some(100)),
        (499, Some(200)),
        (5_000, Some(1_000)),
    ] {
        let shown = open_page(&format!("family=tdigest&compression={compression}"));
        let (title, errors) = &shown.rank_errors;
        let Some(measured) = measured else {
            assert!(errors.is_empty(), "{errors:?}");
            continue;
        };
        let start = match measured {
            1_000 => "Measured rank errors in % with compression 1,000:".to_owned(),
            _ => format!("Measured rank errors in % with compression {measured}:"),
        };
        assert!(title.starts_with(&start), "{title}");
        assert!(
            errors.values().flatten().all(|[mean, most]| mean <= most),
            "{errors:?}"
        );
        for kind in ["uniform", "exponential"] {
            let reals = REALS.iter().find(|reals| reals.name == kind);
            let means = mean_rank_errors(measured, reals.expect("the samples"));
            assert_eq!(errors[kind].len(), means.len());
            for (mean, [expected, _]) in means.iter().zip(&errors[kind]) {
                let limits = expected / 3.0 - 0.001..=expected * 3.0 + 0.001;
                assert!(
                    limits.contains(mean),
                    "{kind}, {measured}: {means:?}, {errors:?}"
                );
            }
        }
    }
}

/// Values of the fields `window`, `panes` and `finest`, and the option of the command.
struct WindowCase {
    ms: u64,
    panes: Option<u64>,
    finest: Option<u64>,
    option: &'static str,
}

const WINDOWS: [WindowCase; 6] = [
    WindowCase {
        ms: 3_600_000,
        panes: None,
        finest: None,
        option: "WINDOW 3600000",
    },
    WindowCase {
        ms: 30_000,
        panes: Some(7),
        finest: None,
        option: "WINDOW 30000 PANES 7",
    },
    WindowCase {
        ms: 30_000,
        panes: Some(60),
        finest: None,
        option: "WINDOW 30000 PANES 60",
    },
    WindowCase {
        ms: 5,
        panes: Some(5),
        finest: None,
        option: "WINDOW 5",
    },
    WindowCase {
        ms: 2_592_000_000,
        panes: None,
        finest: Some(1000),
        option: "WINDOW 2592000000 FINEST 1000",
    },
    WindowCase {
        ms: 4000,
        panes: Some(4),
        finest: Some(900),
        option: "WINDOW 4000 PANES 4 FINEST 900",
    },
];

impl WindowCase {
    /// The fields of the page.
    fn fields(&self) -> String {
        let panes = self.panes.map(|panes| format!("&panes={panes}"));
        let finest = self.finest.map(|finest| format!("&finest={finest}"));
        let [panes, finest] = [panes, finest].map(Option::unwrap_or_default);
        format!("window={}{panes}{finest}", self.ms)
    }

    /// The window, with the default number of panes if there is none.
    fn window(&self) -> Window {
        let panes = self.panes.unwrap_or(Window::DEFAULT_PANES.min(self.ms));
        Window::new(self.ms, panes, self.finest).expect("a window")
    }
}

/// The page shows the length of a pane, and adds the option to the command. The memory of a top-k and a t-digest is at
/// most that of the sketch without a window, times the number of live panes plus one.
#[test]
fn window_figures_match_the_windows() {
    for case in &WINDOWS {
        let window = case.window();
        for family in [
            "family=cms&error=0.001&probability=0.01&cell=2&total=1000",
            "family=topk&k=10&item=20",
            "family=tdigest&compression=200",
        ] {
            let without = open_page(family);
            let shown = open_page(&format!("{family}&{}", case.fields()));
            let command = format!("{} {}", without.command, case.option);
            assert_eq!(shown.command, command);
            assert_close(window.pane_ms() as f64, shown.figure("pane"), &command);
            assert!(!without.figures.contains_key("pane"), "{without:?}");
            let parts = (window.live_panes() + 1) as f64;
            if family.starts_with("family=cms") {
                assert_close(without.figure("bytes"), shown.figure("bytes"), &command);
                let arrays = (parts - 1.0) * shown.figure("bytes");
                assert!(shown.figure("memory") > arrays, "{shown:?}");
            } else {
                let most = parts * without.figure("memory");
                assert!(shown.figure("memory") <= most, "{shown:?}");
            }
            // The chart of a top-k is that of the table without a window.
            match family.starts_with("family=topk") {
                true => assert!(shown.points.is_empty(), "{shown:?}"),
                false => assert_eq!(shown.points, without.points),
            }
        }
    }
}

/// The page shows the first sub-filter of this filter.
fn assert_shows_filter<K: Kind>(shown: &Shown, filter: &WindowFilter<K>, window: Window) {
    let what = &shown.command;
    let first = filter.sub_filters(Panes::ALL).next().expect("a sub-filter");
    for (id, expected) in [
        ("bytes", filter.slot_bytes() as f64),
        ("buckets", filter.num_buckets() as f64),
        ("limit", filter.limit() as f64),
        ("error-full", first.error_rate),
        ("pane", window.pane_ms() as f64),
    ] {
        assert_close(expected, shown.figure(id), what);
    }
    // The error rate is proportional to the number of live items.
    assert!(shown.points.len() >= 2, "{shown:?}");
    for &(items, error) in &shown.points {
        let part = items / filter.limit() as f64;
        assert_close(first.error_rate * part, error, what);
    }
}

#[test]
fn figures_of_filters_with_a_window_match_the_filters() {
    // Filters do not have panes that grow with age.
    for case in WINDOWS.iter().filter(|case| case.finest.is_none()) {
        for (capacity, error, expansion) in [
            (1, 0.5, 2),
            (1_000, 0.01, 0),
            (1_000_000, 0.001, 1),
            (1 << 20, 0.000_000_1, 4),
        ] {
            let shown = open_page(&format!(
                "family=bloom&capacity={capacity}&error={error}&expansion={expansion}&{}",
                case.fields()
            ));
            assert!(shown.command.ends_with(case.option), "{shown:?}");
            let parameters = BloomWindowParameters {
                seed: Seed::default(),
                capacity,
                error_rate: f64::min(error, 0.25),
                expansion,
            };
            let filter = BloomWindow::new(case.window(), &parameters, UNLIMITED).expect("a filter");
            assert_shows_filter(&shown, &filter, case.window());
        }
        for (capacity, bucket_size, expansion, error) in [
            (1, 1, 1, None),
            (1_000, 2, 0, None),
            (1_000_000, 4, 1, None),
            (200_000, 3, 2, None),
            (120_000, 255, 1, None),
            (1_000_000, 4, 1, Some("0.001")),
            (20_000, 255, 0, Some("0.0001")),
            (500, 2, 1, Some("0.9")),
        ] {
            let field = error.map_or(String::new(), |error| format!("&error={error}"));
            let shown = open_page(&format!(
                "family=cuckoo&capacity={capacity}&bucket={bucket_size}&expansion={expansion}{field}&{}",
                case.fields()
            ));
            let option = error.map_or(String::new(), |error| format!(" ERROR {error}"));
            let end = format!("{}{option}", case.option);
            assert!(shown.command.ends_with(&end), "{shown:?}");
            let error_rate =
                error.map(|error| error.parse().map_or(0.0, |rate: f64| rate.min(0.25)));
            let parameters = CuckooWindowParameters {
                seed: Seed::default(),
                capacity: capacity.max(2 * u64::from(bucket_size)),
                error_rate,
                bucket_size,
                max_iterations: 20,
                expansion,
            };
            let filter =
                CuckooWindow::new(case.window(), &parameters, UNLIMITED).expect("a filter");
            assert_shows_filter(&shown, &filter, case.window());
        }
    }
}

/// Sends a command for `items` items, at most 1,000 per request. A request has the arguments `command`, then those of
/// each item.
fn fill(
    connection: &mut Connection,
    command: &[&str],
    items: u64,
    arguments: impl Fn(u64) -> Vec<String>,
) {
    let items: Vec<u64> = (0..items).collect();
    for chunk in items.chunks(1000) {
        let mut request: Vec<String> = command.iter().map(ToString::to_string).collect();
        request.extend(chunk.iter().flat_map(|&item| arguments(item)));
        let reply = connection.send(&request);
        assert!(!matches!(reply, Reply::Error(_)), "{reply}");
    }
}

fn memory_usage(connection: &mut Connection) -> f64 {
    let reply = connection.call("MEMORY USAGE key");
    reply.integer().unwrap_or_else(|| panic!("{reply}")) as f64
}

/// The value of a field in the reply of an INFO command.
fn field(connection: &mut Connection, command: &str, name: &str) -> i64 {
    let reply = connection.call(command);
    let fields = reply.items().unwrap_or_else(|| panic!("{reply}"));
    let at = fields
        .iter()
        .position(|field| field.text() == Some(name.as_bytes()));
    let at = at.unwrap_or_else(|| panic!("no {name} in {reply}"));
    fields[at + 1].integer().expect("an integer")
}

/// Asserts that MEMORY USAGE and the page differ by at most 3 % or 100 bytes, because allocators differ.
fn assert_same_memory(usage: f64, shown: &Shown) {
    let memory = shown.figure("memory");
    assert!(
        (usage - memory).abs() <= f64::max(100.0, 0.03 * usage),
        "{}: {usage} bytes, the page shows {memory}",
        shown.command
    );
}

/// Starts a server and creates the key with the command of the page.
fn create(shown: &Shown) -> (Server, Connection) {
    let server = Server::start();
    let mut connection = server.resp2();
    let reply = connection.call(&shown.command);
    assert!(reply.is_ok(), "{}: {reply}", shown.command);
    (server, connection)
}

#[test]
fn filled_bloom_filters_use_the_memory_on_the_page() {
    for (capacity, error, expansion) in [
        (1, 0.5, 2),
        (100, 0.01, 2),
        (1_000, 0.001, 0),
        (10_000, 0.01, 2),
        (123_456, 0.05, 1),
        (500_000, 0.0001, 4),
    ] {
        let shown = open_page(&format!(
            "family=bloom&capacity={capacity}&error={error}&expansion={expansion}"
        ));
        let (_server, mut connection) = create(&shown);
        fill(&mut connection, &["BF.MADD", "key"], capacity, |item| {
            vec![item.to_string()]
        });
        assert_eq!(
            field(&mut connection, "BF.INFO key", "Number of filters"),
            1
        );
        assert_same_memory(memory_usage(&mut connection), &shown);
    }
}

#[test]
fn filled_cuckoo_filters_use_the_memory_on_the_page() {
    for (items, bucket_size, expansion) in [
        (1_000_000, 2, 1),
        (50_000, 2, 1),
        (1_000, 2, 0),
        (30_000, 2, 4),
        (300_000, 1, 1),
        (20_000, 1, 2),
        (10_000, 3, 1),
        (1_000, 4, 1),
        (100_000, 4, 0),
        (700_000, 4, 1),
        (50_000, 8, 2),
        (200_000, 16, 1),
        (120_000, 255, 1),
    ] {
        let shown = open_page(&format!(
            "family=cuckoo&capacity={items}&bucket={bucket_size}&expansion={expansion}"
        ));
        let (_server, mut connection) = create(&shown);
        fill(
            &mut connection,
            &["CF.INSERT", "key", "ITEMS"],
            items,
            |item| vec![format!("item:{item}")],
        );
        let inserted = field(&mut connection, "CF.INFO key", "Number of items inserted");
        assert_eq!(inserted, items as i64, "{}", shown.command);
        let filters = field(&mut connection, "CF.INFO key", "Number of filters") as f64;
        let usage = memory_usage(&mut connection);
        assert!(
            filters <= shown.figure("filters"),
            "{}: {filters}",
            shown.command
        );
        assert!(
            usage <= shown.figure("memory") + 100.0,
            "{}: {usage}",
            shown.command
        );
        if filters == shown.figure("filters") {
            assert_same_memory(usage, &shown);
        } else {
            assert!(bucket_size < 3, "{}: {filters} filters", shown.command);
        }
        if (items, bucket_size) == (1_000_000, 2) {
            assert_eq!(filters, 2.0);
        }
    }
}

/// A filter with a window takes its memory when it is created, for any number of panes with items.
#[test]
fn filled_filters_with_a_window_use_the_memory_on_the_page() {
    for (family, options, add, info) in [
        (
            "bloom",
            "error=0.01&expansion=2&panes=4",
            &["BF.MADD", "key"][..],
            "BF.INFO key",
        ),
        (
            "bloom",
            "error=0.00001&expansion=0&panes=1000",
            &["BF.MADD", "key"],
            "BF.INFO key",
        ),
        (
            "cuckoo",
            "bucket=4&expansion=1&panes=12",
            &["CF.INSERT", "key", "ITEMS"],
            "CF.INFO key",
        ),
        (
            "cuckoo",
            "bucket=2&expansion=0&panes=60",
            &["CF.INSERT", "key", "ITEMS"],
            "CF.INFO key",
        ),
        (
            "cuckoo",
            "bucket=255&expansion=1&panes=1",
            &["CF.INSERT", "key", "ITEMS"],
            "CF.INFO key",
        ),
    ] {
        for capacity in [600, 20_000, 500_000] {
            let shown = open_page(&format!(
                "family={family}&capacity={capacity}&window=86400000&{options}"
            ));
            let (_server, mut connection) = create(&shown);
            assert_same_memory(memory_usage(&mut connection), &shown);
            fill(&mut connection, add, capacity, |item| {
                vec![item.to_string()]
            });
            let filters = field(&mut connection, info, "Number of filters");
            assert_eq!(filters, 1, "{}", shown.command);
            assert_same_memory(memory_usage(&mut connection), &shown);
        }
    }
}

#[test]
fn count_min_sketches_use_the_memory_on_the_page() {
    for (error, probability, cell) in [
        (0.001, 0.01, 4),
        (0.01, 0.001, 1),
        (0.0001, 0.1, 8),
        (0.3, 0.4, 2),
    ] {
        let shown = open_page(&format!(
            "family=cms&error={error}&probability={probability}&cell={cell}&total=1000"
        ));
        let (_server, mut connection) = create(&shown);
        fill(&mut connection, &["CMS.INCRBY", "key"], 5_000, |item| {
            vec![item.to_string(), "1".to_owned()]
        });
        assert_same_memory(memory_usage(&mut connection), &shown);
    }
}

/// The dimensions are those of the bound: an estimate exceeds the count by more than 2 × requests / width with a
/// probability of at most 2^-depth; with a window, by more than 1.45 × requests / width.
#[test]
fn rate_limits_have_the_dimensions_of_the_bound() {
    for (clients, requests, limit, early, share, window, command) in [
        (
            10_000_000u64,
            100_000_000u64,
            1000,
            0.1,
            0.01,
            "&window=3600000",
            "CMS.INITBYDIM key 1450000 7 CELL_SIZE 2 WINDOW 3600000",
        ),
        (
            100_000,
            400_000,
            100,
            0.2,
            0.05,
            "&window=60000&panes=6",
            "CMS.INITBYDIM key 29000 5 CELL_SIZE 1 WINDOW 60000 PANES 6",
        ),
        // At most 5,000 requests can be accepted.
        (
            500,
            1_000_000,
            10,
            0.5,
            0.5,
            "&window=",
            "CMS.INITBYDIM key 2000 1 CELL_SIZE 1",
        ),
        (
            1000,
            1_000_000,
            100_000,
            0.1,
            0.001,
            "&window=",
            "CMS.INITBYDIM key 200 10",
        ),
    ] {
        let shown = open_page(&format!(
            "family=limit&clients={clients}&requests={requests}&limit={limit}&early={early}&share={share}{window}"
        ));
        assert_eq!(shown.command, command, "{shown:?}");
        assert_eq!(shown.figure("margin"), limit as f64 * early);
        let accepted = u64::min(requests, clients * limit) as f64;
        let factor = match command.contains("WINDOW") {
            true => 1.45,
            false => 2.0,
        };
        let bound = factor * accepted / shown.figure("width");
        assert!(bound <= shown.figure("margin"), "{command}");
        assert!(f64::powf(0.5, shown.figure("depth")) <= share, "{command}");
    }
    let refused = open_page("family=limit&share=1e-20");
    let error = "Enter a larger fraction: the sketch would have more than 32 rows.";
    assert_eq!(refused.errors["share"], error);
}

/// The memory of the sketch and of exact counters, and which of them the page recommends.
#[test]
fn rate_limits_and_exact_counters_use_the_memory_on_the_page() {
    for (clients, requests, is_exact_better) in
        [(1000u64, 1_000_000, true), (100_000, 100_000, false)]
    {
        let shown = open_page(&format!(
            "family=limit&clients={clients}&requests={requests}&limit=1000&early=0.1&share=0.01&window="
        ));
        let advice = shown.note.contains("Exact counters take less memory");
        assert_eq!(advice, is_exact_better, "{shown:?}");
        assert_eq!(
            shown.figure("exact") <= shown.figure("memory"),
            is_exact_better
        );
        let (server, mut connection) = create(&shown);
        assert_same_memory(memory_usage(&mut connection), &shown);
        let before = server.info_number("used_memory");
        for start in (0..clients).step_by(1000) {
            let fields = (start..start + 1000).map(|client| format!("{client:020} 1234"));
            connection.call(&format!(
                "HSET exact {}",
                fields.collect::<Vec<_>>().join(" ")
            ));
        }
        // Lookups finish the incremental rehashing.
        for client in 0..clients {
            connection.call(&format!("HEXISTS exact {client:020}"));
        }
        let used = (server.info_number("used_memory") - before) as f64;
        let difference = used - shown.figure("exact");
        assert!(
            (-0.03 * used..=0.03 * used + 100_000.0).contains(&difference),
            "{clients} counters take {used} bytes, the page has {}",
            shown.figure("exact")
        );
    }
}

/// Clients with random requests. The share of the clients that are refused too early is within that on the page. The
/// hashes and the requests are fixed.
#[test]
fn rate_limits_refuse_at_most_the_share_of_clients_on_the_page() {
    const CLIENTS: u64 = 20_000;
    const LIMIT: u64 = 100;
    let shown = open_page(&format!(
        "family=limit&clients={CLIENTS}&requests=200000&limit={LIMIT}&early=0.2&share=0.05&window="
    ));
    let dimensions = ["width", "depth"].map(|name| shown.figure(name) as u64);
    let mut sketch =
        CountMin::new(dimensions[0], dimensions[1], CellSize::One, UNLIMITED).expect("a sketch");
    let margin = shown.figure("margin") as u64;
    let mut too_early = 0;
    for client in 0..CLIENTS {
        // A twentieth of the clients try to exceed the limit, the others send few requests: 10 on average.
        let requests = if client % 20 == 0 {
            LIMIT + 1
        } else {
            client % 11
        };
        let name = format!("client:{client}");
        let accepted = (0..requests)
            .take_while(|_| sketch.increment_limited(name.as_bytes(), 1, LIMIT).is_ok())
            .count() as u64;
        assert!(accepted <= LIMIT, "{name}");
        too_early += u64::from(accepted < requests && accepted + margin < LIMIT);
    }
    assert!(sketch.total() <= 200_000, "{}", sketch.total());
    assert!(too_early * 20 <= CLIENTS, "{too_early} of {CLIENTS}");
}

#[test]
fn filled_top_k_sketches_use_the_memory_on_the_page() {
    for (k, length) in [
        (1, 20),
        (8, 20),
        (10, 7),
        (100, 20),
        (1_000, 100),
        (5_000, 20),
        (50_000, 20),
    ] {
        let shown = open_page(&format!("family=topk&k={k}&item={length}"));
        let (_server, mut connection) = create(&shown);
        fill(&mut connection, &["TOPK.INCRBY", "key"], 3 * k, |item| {
            vec![format!("{item:0length$}"), "1000".to_owned()]
        });
        let list = connection.call("TOPK.LIST key");
        let listed = list.items().expect("a list");
        assert!(
            listed.iter().all(|item| item.text().is_some()),
            "the list is not full"
        );
        assert_same_memory(memory_usage(&mut connection), &shown);
    }
}

/// The test adds samples and queries quantiles. The maximum memory usage of the digest depends on the samples: it may
/// be up to 20 % less than the page shows.
#[test]
fn t_digests_use_at_most_the_memory_on_the_page() {
    for compression in [10u64, 20, 50, 100, 200, 500, 1_000] {
        let shown = open_page(&format!("family=tdigest&compression={compression}"));
        let (_server, mut connection) = create(&shown);
        let mut max_bytes = 0f64;
        for step in 0..300u64 {
            let samples = 10 + compression;
            fill(
                &mut connection,
                &["TDIGEST.ADD", "key"],
                samples,
                |number| vec![((step * samples + number) * 7919 % 200_003).to_string()],
            );
            connection.call("TDIGEST.QUANTILE key 0.5");
            max_bytes = max_bytes.max(memory_usage(&mut connection));
        }
        let memory = shown.figure("memory");
        assert!(
            (0.8 * memory..=1.02 * memory).contains(&max_bytes),
            "compression {compression}: {max_bytes} bytes, the page shows {memory}"
        );
    }
}

/// Creates the key that the page shows on a server whose clock the test sets.
fn create_with_clock(shown: &Shown) -> (Server, Connection) {
    let server = Options::new().debug_module().start();
    server.set_clock("1000000");
    let mut connection = server.resp2();
    let reply = connection.call(&shown.command);
    assert!(reply.is_ok(), "{}: {reply}", shown.command);
    (server, connection)
}

/// Calls `write` in as many consecutive units as make all panes of a window live.
fn write_in_every_pane(
    server: &Server,
    connection: &mut Connection,
    window: Window,
    mut write: impl FnMut(&mut Connection),
) {
    let newest = field(connection, "SKETCH.WINDOW key", "newest pane") as u64 / window.pane_ms();
    for pane in newest..=newest + window.units() + (1 << window.levels()) - 1 {
        server.set_clock(&window.start_of(pane).to_string());
        write(connection);
    }
}

/// The window and the inputs on the page for `WINDOW 30000 PANES panes` and, if it is not 0, `FINEST finest`.
fn window_of_30_s(panes: u64, finest: u64) -> (Window, String) {
    let (finest, field) = match finest {
        0 => (None, String::new()),
        _ => (Some(finest), format!("&finest={finest}")),
    };
    let window = Window::new(30_000, panes, finest).expect("a window");
    (window, format!("window=30000&panes={panes}{field}"))
}

#[test]
fn count_min_sketches_with_a_window_use_the_memory_on_the_page() {
    for (error, probability, cell, panes, finest) in [
        (0.001, 0.01, 4, 12, 0),
        (0.01, 0.001, 1, 60, 0),
        (0.0001, 0.1, 8, 1, 0),
        (0.3, 0.4, 2, 30, 0),
        (0.001, 0.01, 4, 4, 500),
    ] {
        let (window, values) = window_of_30_s(panes, finest);
        let shown = open_page(&format!(
            "family=cms&error={error}&probability={probability}&cell={cell}&total=1000&{values}"
        ));
        let (server, mut connection) = create_with_clock(&shown);
        let mut most = 0f64;
        write_in_every_pane(&server, &mut connection, window, |connection| {
            // More items than a pane can have without an array.
            fill(connection, &["CMS.INCRBY", "key"], 4097, |item| {
                vec![item.to_string(), "1".to_owned()]
            });
            most = most.max(memory_usage(connection));
        });
        assert_same_memory(most, &shown);
    }
}

#[test]
fn top_k_sketches_with_a_window_use_at_most_the_memory_on_the_page() {
    for (k, length, panes, finest) in [
        (1, 20, 12, 0),
        (10, 7, 60, 0),
        (100, 20, 12, 0),
        (1_000, 100, 5, 0),
        (10, 20, 4, 500),
    ] {
        let (window, values) = window_of_30_s(panes, finest);
        let shown = open_page(&format!("family=topk&k={k}&item={length}&{values}"));
        let (server, mut connection) = create_with_clock(&shown);
        let (mut usage, mut first) = (0f64, 0);
        // Each pane has other frequent items.
        write_in_every_pane(&server, &mut connection, window, |connection| {
            fill(connection, &["TOPK.INCRBY", "key"], 2 * k, |item| {
                vec![format!("{:0length$}", first + item), "1000".to_owned()]
            });
            first += 2 * k;
            // A read of a part keeps its counts.
            connection.call("SKETCH.WITHIN 20000 TOPK.LIST key");
            usage = usage.max(memory_usage(connection));
        });
        let most = shown.figure("memory");
        println!(
            "{}: {usage} bytes, the page shows at most {most}",
            shown.command
        );
        assert!(
            (0.75 * most..=most).contains(&usage),
            "{}: {usage} bytes, the page shows at most {most}",
            shown.command
        );
    }
}

#[test]
fn t_digests_with_a_window_use_at_most_the_memory_on_the_page() {
    for (compression, panes, finest) in [
        (10u64, 12, 0),
        (50, 1, 0),
        (100, 60, 0),
        (200, 12, 0),
        (1_000, 5, 0),
        (100, 4, 500),
    ] {
        let (window, values) = window_of_30_s(panes, finest);
        let shown = open_page(&format!(
            "family=tdigest&compression={compression}&{values}"
        ));
        let (server, mut connection) = create_with_clock(&shown);
        let (mut usage, mut step) = (0f64, 0);
        write_in_every_pane(&server, &mut connection, window, |connection| {
            for _ in 0..10 {
                let first = step * compression;
                fill(connection, &["TDIGEST.ADD", "key"], compression, |number| {
                    vec![((first + number) * 7919 % 200_003).to_string()]
                });
                connection.call("TDIGEST.QUANTILE key 0.5");
                connection.call("SKETCH.WITHIN 20000 TDIGEST.QUANTILE key 0.5");
                usage = usage.max(memory_usage(connection));
                step += 1;
            }
        });
        let most = shown.figure("memory");
        println!(
            "{}: {usage} bytes, the page shows at most {most}",
            shown.command
        );
        assert!(
            (0.6 * most..=most).contains(&usage),
            "{}: {usage} bytes, the page shows at most {most}",
            shown.command
        );
    }
}

/// The next lower number with three significant digits.
fn next_lower(rate: f64) -> String {
    let text = format!("{rate:.2e}");
    let (mantissa, exponent) = text.split_once('e').expect("an exponent");
    let mantissa = (mantissa.parse::<f64>().expect("a number") * 100.0).round() as u32;
    let exponent: i32 = exponent.parse().expect("a number");
    match mantissa {
        100 => format!("999e{}", exponent - 3),
        mantissa => format!("{}e{}", mantissa - 1, exponent - 2),
    }
}

#[test]
fn the_error_rate_for_a_memory_limit_is_the_lowest_that_fits() {
    for (family, values, mib) in [
        ("bloom", "capacity=50000000&expansion=2", 200.0),
        ("bloom", "capacity=50000000&expansion=0", 200.0),
        ("bloom", "capacity=1000000&expansion=1", 1.5),
        ("bloom", "capacity=1000&expansion=2", 0.002),
        ("bloom", "capacity=1073741824&expansion=2", 1024.0),
        (
            "bloom",
            "capacity=1000000&expansion=2&window=86400000&panes=24",
            2.6,
        ),
        ("cms", "probability=0.01&cell=4&total=1000", 10.0),
        ("cms", "probability=0.001&cell=8&total=1000", 0.01),
        ("cms", "probability=0.9&cell=1&total=1000", 0.3),
        (
            "cms",
            "probability=0.01&cell=4&total=1000&window=3600000&panes=60",
            10.0,
        ),
    ] {
        let limit = mib * f64::from(1 << 20);
        let found = open_page(&format!("family={family}&find=limit&mib={mib}&{values}"));
        let rate = found.figure("error");
        assert!(found.figure("memory") <= limit, "{found:?}");
        // The page gives the same result if this error rate is its input.
        let same = open_page(&format!("family={family}&error={rate}&{values}"));
        assert_eq!(same.command, found.command);
        assert_close(
            same.figure("memory"),
            found.figure("memory"),
            &found.command,
        );
        let next = next_lower(rate);
        let next = open_page(&format!("family={family}&error={next}&{values}"));
        assert!(
            next.figure("memory") > limit,
            "{}: {} fits as well",
            found.command,
            next.command
        );
    }
}

#[test]
fn the_number_of_items_for_a_memory_limit_is_the_largest_that_fits() {
    for (bucket, expansion, mib, window) in [
        (4, 1, 10.0, ""),
        (2, 1, 3.1, ""),
        (1, 0, 0.01, ""),
        (255, 2, 100.0, ""),
        (4, 1, 10.0, "&window=86400000&panes=24"),
    ] {
        let limit = mib * f64::from(1 << 20);
        let values = format!("bucket={bucket}&expansion={expansion}{window}");
        let found = open_page(&format!("family=cuckoo&find=limit&mib={mib}&{values}"));
        let items = found.figure("items");
        assert!(found.figure("memory") <= limit, "{found:?}");
        let same = open_page(&format!("family=cuckoo&capacity={items}&{values}"));
        assert_eq!(same.command, found.command);
        let more = items + 1.0;
        let more = open_page(&format!("family=cuckoo&capacity={more}&{values}"));
        assert!(
            more.figure("memory") > limit,
            "{} has room for more",
            found.command
        );
    }
}

#[test]
fn keys_for_a_memory_limit_stay_within_it_on_a_server() {
    for (values, fill_command) in [
        ("family=bloom&capacity=100000&expansion=2", "BF.MADD"),
        ("family=cms&probability=0.01&cell=4&total=1000", "CMS.QUERY"),
    ] {
        let found = open_page(&format!("{values}&find=limit&mib=0.25"));
        let (_server, mut connection) = create(&found);
        fill(&mut connection, &[fill_command, "key"], 100_000, |item| {
            vec![item.to_string()]
        });
        let usage = memory_usage(&mut connection);
        assert!(
            usage <= 0.25 * f64::from(1 << 20) + 100.0,
            "{}: {usage}",
            found.command
        );
        assert_same_memory(usage, &found);
    }
}

#[test]
fn a_memory_limit_that_is_too_low_is_refused_with_the_lowest_possible() {
    for values in [
        "family=bloom&capacity=1000000&expansion=2",
        "family=cuckoo&bucket=255&expansion=1",
        "family=bloom&capacity=1000000&expansion=2&window=86400000",
        "family=cuckoo&bucket=4&expansion=1&window=86400000",
        "family=cms&probability=0.000001&cell=8",
    ] {
        let refused = open_page(&format!("{values}&find=limit&mib=0.0001"));
        let error = &refused.errors["mib"];
        let lowest = error
            .strip_prefix("Too little memory. Enter at least ")
            .and_then(|rest| rest.strip_suffix('.'))
            .unwrap_or_else(|| panic!("{error}"));
        let found = open_page(&format!("{values}&find=limit&mib={lowest}"));
        assert!(found.errors.is_empty(), "{found:?}");
        assert!(!found.command.is_empty(), "{found:?}");
    }
}

/// The comparison shows the results of the families, and a set takes the memory that a server allocates for it.
#[test]
fn the_comparison_has_the_memory_of_set_bloom_and_cuckoo() {
    let shown = open_page("family=bloom&capacity=20000&error=0.001");
    let items: Vec<_> = shown.comparison.iter().map(|row| row.0).collect();
    assert_eq!(items, [1e3, 1e4, 2e4, 1e5, 1e6, 1e7, 1e8]);
    for (items, memory) in &shown.comparison[..4] {
        let bloom = open_page(&format!("family=bloom&capacity={items}&error=0.001"));
        let cuckoo = open_page(&format!("family=cuckoo&capacity={items}&bucket=4"));
        assert_close(bloom.figure("memory"), memory[1], "Bloom");
        assert_close(cuckoo.figure("memory"), memory[2], "cuckoo");
        let server = Server::start();
        let before = server.info_number("used_memory");
        let mut connection = server.resp2();
        let item = |number| vec![format!("{number:020}")];
        fill(&mut connection, &["SADD", "key"], *items as u64, item);
        // Lookups finish the incremental rehashing of the set.
        fill(&mut connection, &["SMISMEMBER", "key"], *items as u64, item);
        let used = (server.info_number("used_memory") - before) as f64;
        // Buffers of connections and of the server count as well.
        let is_near = (-0.03 * used..=0.03 * used + 100_000.0).contains(&(used - memory[0]));
        assert!(
            is_near,
            "a set of {items} items takes {used} bytes, the page has {}",
            memory[0]
        );
    }
    assert!(open_page("family=topk").comparison.is_empty());
}

/// Values with thousands separators, exponents and units, as users type them; percent-encoded.
#[test]
fn numbers_with_units_are_understood() {
    for (values, command) in [
        (
            "capacity=50M&error=0.1%20%25",
            "BF.RESERVE key 0.001 50000000",
        ),
        (
            "capacity=50%20million&error=1%25",
            "BF.RESERVE key 0.01 50000000",
        ),
        ("capacity=1e6&error=0.001", "BF.RESERVE key 0.001 1000000"),
        (
            "capacity=1,000,000&error=1e-3",
            "BF.RESERVE key 0.001 1000000",
        ),
        (
            "capacity=1%20000%20000&error=.5%25",
            "BF.RESERVE key 0.005 1000000",
        ),
        (
            "capacity=1.1m&error=100%20ppm",
            "BF.RESERVE key 0.0001 1100000",
        ),
        (
            "capacity=20k&window=24h",
            "BF.RESERVE key 0.01 20000 WINDOW 86400000",
        ),
        (
            "capacity=20k&window=7%20days",
            "BF.RESERVE key 0.01 20000 WINDOW 604800000",
        ),
        (
            "capacity=20k&window=90s",
            "BF.RESERVE key 0.01 20000 WINDOW 90000",
        ),
        (
            "capacity=20k&window=15m",
            "BF.RESERVE key 0.01 20000 WINDOW 900000",
        ),
        (
            "capacity=20k&window=500",
            "BF.RESERVE key 0.01 20000 WINDOW 500",
        ),
    ] {
        let shown = open_page(&format!("family=bloom&{values}"));
        assert_eq!(shown.command, command, "{values}: {shown:?}");
    }
    let limited = |mib: &str| open_page(&format!("family=cuckoo&find=limit&mib={mib}"));
    assert_eq!(limited("1%20GiB").command, limited("1024").command);
    assert_eq!(limited("1.048576%20MB").command, limited("1").command);
}

#[test]
fn invalid_values_are_refused_beside_their_fields() {
    for (values, field, error) in [
        (
            "family=bloom&capacity=0",
            "capacity",
            "Enter a whole number from 1 to 1,073,741,824.",
        ),
        (
            "family=bloom&error=1",
            "error",
            "Enter a number greater than 0 and less than 1.",
        ),
        // A decimal comma is not a thousands separator, and a window has no fractions.
        (
            "family=bloom&error=0,1%25",
            "error",
            "Enter a number greater than 0 and less than 1.",
        ),
        (
            "family=bloom&window=50%25",
            "window",
            "Enter a whole number from 1 to 315,360,000,000.",
        ),
        (
            "family=bloom&find=limit&mib=0",
            "mib",
            "Enter a number from 0.0001 to 1,048,576.",
        ),
        ("family=cms&cell=3", "cell", "Select a value."),
        (
            "family=cms&probability=0.99999999",
            "probability",
            "Enter a probability that is further from 0 and 1.",
        ),
        (
            "family=cms&window=0",
            "window",
            "Enter a whole number from 1 to 315,360,000,000.",
        ),
        (
            "family=topk&window=5&panes=6",
            "panes",
            "Enter at most one pane per millisecond of the window.",
        ),
        (
            "family=tdigest&panes=6",
            "panes",
            "Enter a window, or leave this field empty.",
        ),
        (
            "family=tdigest&compression=many",
            "compression",
            "Enter a whole number from 1 to 357,913,939.",
        ),
    ] {
        let shown = open_page(values);
        assert_eq!(shown.refusal, "Correct the marked values.");
        let errors: Vec<_> = shown.errors.iter().collect();
        assert_eq!(errors, [(&field.to_owned(), &error.to_owned())]);
        assert!(
            shown.command.is_empty() && shown.figures.is_empty(),
            "{shown:?}"
        );
    }
}
