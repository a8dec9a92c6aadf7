//! The rank errors that SKETCH.ACCURACY reports of t-digests, compared with the true ones.

use crate::digests::short;
use crate::streams::{ALTERNATING, LOGNORMAL, REALS, Stream};
use crate::table;
use roughly_sketch::accuracy::{Accuracy, Field, Figure};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{Compressed, DigestCache, TDigest, TDigestWindow, WindowCache};
use roughly_sketch::window::{Panes, Timed, Window};

/// The kinds of samples and of digests that the page has. The others have at least [`MIN_COVERAGE`].
const SHOWN: [&str; 8] = [
    "uniform",
    LOGNORMAL.name,
    ALTERNATING.name,
    "one digest",
    "one digest of 1,000,000 samples",
    "merge of 10 to 50 digests",
    "16 digests, merged in pairs",
    "centroids of a digest of compression 1,000",
];
const MIN_COVERAGE: f64 = 0.94;
/// The kinds of digests with nodes of other digests, and the coverage of each quantile, without the samples [`ALTERNATING`].
const OF_DIGESTS: [usize; 3] = [2, 7, 8];
const MIN_COVERAGE_OF_DIGESTS: f64 = 0.95;

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
const COMPRESSIONS: [i64; 4] = [50, 100, 200, 1000];
/// The numbers of samples, and of streams.
const STREAMS: [(usize, u64); 4] = [(100, 4), (1_000, 6), (10_000, 6), (100_000, 2)];

/// The kinds of digests.
const DIGESTS: [&str; 9] = [
    "one digest",
    "one digest of 1,000,000 samples",
    "merge of 10 to 50 digests",
    "`PANES 12`",
    "`PANES 12`, `SKETCH.WITHIN` the last quarter",
    "`FINEST`, 6 levels",
    "`FINEST`, `SKETCH.WITHIN` the last quarter",
    "16 digests, merged in pairs",
    "centroids of a digest of compression 1,000",
];

/// The true and the reported error of a quantile of a digest.
#[derive(Debug, Clone, Copy)]
struct Read {
    kind: usize,
    digest: usize,
    quantile: usize,
    error: f64,
    reported: f64,
}

impl Read {
    /// The errors differ by rounding if both are distances of the same ranks.
    fn is_covered(&self) -> bool {
        self.error <= self.reported + 1e-12
    }
}

/// The distance between a quantile and the range of the ranks of its answer: from the share of the samples below it to the share of
/// those up to it.
fn rank_error(compressed: &Compressed, sorted: &[f64], quantile: f64) -> f64 {
    let answer = compressed.quantile(quantile);
    let share = |count: usize| count as f64 / sorted.len() as f64;
    let below = share(sorted.partition_point(|&sample| sample < answer));
    let up_to = share(sorted.partition_point(|&sample| sample <= answer));
    (below - quantile).max(quantile - up_to).max(0.0)
}

/// The reads of a digest, by quantile: the true errors and those of the fields.
fn reads_of<'a>(
    (kind, digest): (usize, usize),
    compressed: &'a Compressed,
    sorted: &'a [f64],
    fields: Vec<Field>,
) -> impl Iterator<Item = Read> + 'a {
    assert_eq!(fields[3].1, Figure::Count(sorted.len() as u64));
    (QUANTILES.iter().enumerate()).map(move |(at, &quantile)| match fields[at].1 {
        Figure::Ratio(reported) => Read {
            kind,
            digest,
            quantile: at,
            error: rank_error(compressed, sorted, quantile),
            reported,
        },
        Figure::Count(_) => panic!("{fields:?}"),
    })
}

fn digest_of(compression: i64, samples: &[f64]) -> TDigest {
    let mut digest = TDigest::new(compression, Budget::UNLIMITED).expect("a digest");
    for chunk in samples.chunks(100) {
        digest.add(chunk).expect("memory");
    }
    digest
}

fn merged(compression: i64, digests: &[TDigest]) -> TDigest {
    let operands: Vec<_> = digests.iter().collect();
    TDigest::merge(compression, &operands, Budget::UNLIMITED).expect("memory")
}

/// A digest of 16 parts of the samples: digests are merged in pairs until one is left.
fn tree_of(compression: i64, samples: &[f64]) -> TDigest {
    let mut digests: Vec<_> = (samples.chunks(samples.len().div_ceil(16)))
        .map(|part| digest_of(compression, part))
        .collect();
    while digests.len() > 1 {
        let pairs = digests.chunks(2);
        digests = pairs.map(|pair| merged(compression, pair)).collect();
    }
    digests.swap_remove(0)
}

/// A digest of the centroids of one with compression 1,000.
fn imported(compression: i64, samples: &[f64]) -> TDigest {
    let source = digest_of(1000, samples).compressed().expect("memory");
    let centroids: Vec<_> = source.centroids().collect();
    let (min, max) = (centroids[0].mean, centroids[centroids.len() - 1].mean);
    let digest = TDigest::from_centroids(compression, &centroids, min, max, Budget::UNLIMITED);
    digest.expect("a digest")
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn read_digest(reads: &mut Vec<Read>, of: (usize, usize), digest: &TDigest, sorted: &[f64]) {
    let fields = digest.accuracy(Panes::ALL, &mut DigestCache::default());
    let compressed = digest.compressed().expect("memory");
    reads.extend(reads_of(of, &compressed, sorted, fields.expect("memory")));
}

/// Reads a digest with a window of so many units, to which the samples are added evenly: all, and the last quarter.
fn read_window(
    reads: &mut Vec<Read>,
    (kind, digests): (usize, [usize; 2]),
    compression: i64,
    (units, finest): (u64, Option<u64>),
    samples: &[f64],
) {
    let window = Window::new(units, 12, finest).expect("a window");
    let mut digest = TDigestWindow::new(compression, window, Budget::UNLIMITED).expect("a digest");
    let of_unit = samples.len().div_ceil(units as usize);
    for (unit, added) in samples.chunks(of_unit).enumerate() {
        digest.advance(unit as u64);
        digest.add_within(added, Budget::UNLIMITED).expect("memory");
    }
    let timeline = *digest.timeline();
    let part = timeline.panes_within(timeline.newest(), units / 4);
    let mut cache = WindowCache::default();
    for (panes, digest_kind) in [Panes::ALL, part].into_iter().zip(digests) {
        let fields = digest.accuracy(panes, &mut cache).expect("memory");
        let first = samples.len() - digest.observations_at(panes) as usize;
        let compressed = digest.compressed_at(panes, &mut cache).expect("memory");
        let of = (kind, digest_kind);
        reads.extend(reads_of(of, compressed, &sorted(&samples[first..]), fields));
    }
}

/// Reads digests of all kinds with these samples.
fn read_all(reads: &mut Vec<Read>, kind: usize, compression: i64, samples: &[f64]) {
    let (count, sorted) = (samples.len(), sorted(samples));
    let one = digest_of(compression, samples);
    read_digest(reads, (kind, 0), &one, &sorted);
    let of_part = count / if count < 10_000 { 10 } else { 50 };
    let parts: Vec<_> =
        ((samples.chunks(of_part)).map(|part| digest_of(compression, part))).collect();
    read_digest(reads, (kind, 2), &merged(compression, &parts), &sorted);
    let tree = tree_of(compression, samples);
    read_digest(reads, (kind, 7), &tree, &sorted);
    if compression < 1000 {
        let imported = imported(compression, samples);
        read_digest(reads, (kind, 8), &imported, &sorted);
    }
    let uniform = (12, None);
    read_window(reads, (kind, [3, 4]), compression, uniform, samples);
    if count > 100 {
        let finest = (13 << 6, Some(1));
        read_window(reads, (kind, [5, 6]), compression, finest, samples);
    }
}

fn all_reads() -> Vec<Read> {
    let mut reads = Vec::new();
    for (kind, of_kind) in REALS.iter().enumerate() {
        for (count, streams) in STREAMS {
            for stream in 0..streams {
                let samples = of_kind.samples(count, 1100 + stream);
                for compression in COMPRESSIONS {
                    read_all(&mut reads, kind, compression, &samples);
                }
            }
        }
        let samples = of_kind.samples(1_000_000, 1200);
        let sorted = sorted(&samples);
        for compression in [100, 1000] {
            let one = digest_of(compression, &samples);
            read_digest(&mut reads, (kind, 1), &one, &sorted);
        }
    }
    reads
}

pub const HEAD: [&str; 4] = ["stream of the collection", "p50", "p90", "p99"];

/// Of digests of all kinds.
pub fn rows_of_stream(stream: &Stream) -> Vec<Vec<String>> {
    if !stream.has_samples {
        return Vec::new();
    }
    let mut reads = Vec::new();
    for (count, seed) in [
        (1_200, 1),
        (1_200, 2),
        (12_000, 1),
        (12_000, 2),
        (120_000, 1),
    ] {
        let samples = stream.samples(count, seed);
        for compression in COMPRESSIONS {
            read_all(&mut reads, 0, compression, &samples);
        }
    }
    let of_quantile = |quantile| {
        let of_cell = |read: &&Read| read.quantile == quantile;
        cell(&reads.iter().filter(of_cell).copied().collect::<Vec<_>>())
    };
    let mut row = vec![stream.name.to_owned()];
    row.extend((0..QUANTILES.len()).map(of_quantile));
    vec![row]
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The share of these reads that are covered.
fn coverage(reads: &[Read]) -> f64 {
    reads.iter().filter(|read| read.is_covered()).count() as f64 / reads.len() as f64
}

/// Coverage, and the medians of the true and of the reported errors.
fn cell(reads: &[Read]) -> String {
    let [error, reported] = medians(reads);
    let covered = (coverage(reads) * 100.0).floor();
    format!("{covered:.0}, {}, {}", short(error), short(reported))
}

fn medians(reads: &[Read]) -> [f64; 2] {
    [
        median(reads.iter().map(|read| read.error)),
        median(reads.iter().map(|read| read.reported)),
    ]
}

/// A row per name: its reads by quantile.
fn rows(head: &str, names: &[&str], reads: &[Read], index: fn(&Read) -> usize) -> String {
    let rows = names.iter().enumerate().filter_map(|(at, name)| {
        let is_shown = SHOWN.contains(name);
        let of_quantile = |quantile| {
            let of_row = |read: &&Read| index(read) == at && read.quantile == quantile;
            let reads: Vec<_> = reads.iter().filter(of_row).copied().collect();
            assert!(is_shown || coverage(&reads) >= MIN_COVERAGE, "{name}");
            cell(&reads)
        };
        let mut row = vec![(*name).to_owned()];
        row.extend((0..QUANTILES.len()).map(of_quantile));
        is_shown.then_some(row)
    });
    table(&[head, "p50", "p90", "p99"], &rows.collect::<Vec<_>>())
}

/// By kind of samples, and by kind of digest.
pub fn ranks() -> String {
    let reads = all_reads();
    for (quantile, name) in QUANTILES.into_iter().enumerate() {
        let of_quantile = reads.iter().filter(|read| read.quantile == quantile);
        let covered = coverage(&of_quantile.copied().collect::<Vec<_>>());
        assert!(covered >= 0.95, "{name}: {covered}");
        for digest in OF_DIGESTS {
            let of_digest = reads.iter().filter(|read| {
                read.quantile == quantile
                    && read.digest == digest
                    && REALS[read.kind].name != ALTERNATING.name
            });
            let covered = coverage(&of_digest.copied().collect::<Vec<_>>());
            let digest = DIGESTS[digest];
            let is_enough = covered >= MIN_COVERAGE_OF_DIGESTS;
            assert!(is_enough, "{digest}, {name}: {covered}");
        }
    }
    let by_kind = rows("samples", &REALS.map(|kind| kind.name), &reads, |read| {
        read.kind
    });
    let by_digest = rows("digest", &DIGESTS, &reads, |read| read.digest);
    format!("{by_kind}\n{by_digest}")
}
