//! Memory of the sketches of each family, for the tables in docs/families/.

use crate::rate_filters::cuckoo_of;
use crate::stream_memory::Bytes;
use crate::streams::{REALS, Random, STREAMS};
use crate::{size, table};
use roughly_sketch::blocks::Blocks;
use roughly_sketch::bloom::shape::{Shape, Sizing};
use roughly_sketch::cache::Cache;
use roughly_sketch::count_min::dimensions_for;
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{DigestCache, TDigest};
use roughly_sketch::top_k::{DEFAULT_DECAY, TopK};

/// Growing Bloom filters. The first sub-filter has half the error rate of the filter.
pub fn bloom() -> String {
    let rates = [0.1, 0.01, 0.001, 0.0001];
    let rows = rates.map(|rate| {
        let of = |capacity| Shape::new(capacity, rate / 2.0, Sizing::Exact).expect("a shape");
        let mut row = vec![
            rate.to_string(),
            format!("{:.1}", of(1).bits_per_entry),
            of(1).hashes.to_string(),
        ];
        let capacities = [10_000, 1_000_000, 100_000_000, 1_000_000_000];
        row.extend(capacities.map(|capacity| size(of(capacity).bytes())));
        row
    });
    let head = [
        "error rate",
        "bits per item",
        "hash functions",
        "10,000 items",
        "1 million",
        "100 million",
        "1 billion",
    ];
    table(&head, &rows)
}

/// Cuckoo filters: memory (one byte per slot), and the share of slots that can be used.
pub fn cuckoo() -> String {
    format!(
        "{}\nSlots in use, in %, when a filter first has to grow (or is full), with 20 iterations: the mean of several sets of items, and the lowest:\n\n{}",
        cuckoo_bytes(),
        cuckoo_fill()
    )
}

/// For sets of items, the share of the slots that docs/sizing.html expects to be in use before an insertion fails: of at most 2^24 slots,
/// and of more. The largest bucket size that is not above that of the filter applies. The share that is measured is random and decreases
/// with the number of slots.
pub const FILLS: [(u8, f64, f64); 7] = [
    (32, 0.88, 0.88),
    (16, 0.86, 0.86),
    (8, 0.8, 0.78),
    (4, 0.7, 0.65),
    (3, 0.65, 0.58),
    (2, 0.15, 0.15),
    (1, 0.03, 0.03),
];
/// The slots up to which the first of the shares applies.
pub const MAX_SLOTS_OF_FIRST_SHARE: u64 = 1 << 24;

/// Share of slots in use at the first failed insertion: mean and minimum over several sets of items.
fn cuckoo_fill() -> String {
    const RUNS: [(u32, u64, &str); 6] = [
        (10, 2000, "capacity 1,024 (2,000 sets)"),
        (14, 200, "16,384 (200)"),
        (17, 40, "131,072 (40)"),
        (20, 8, "1,048,576 (8)"),
        (23, 1, "8,388,608 (1)"),
        (25, 1, "33,554,432 (1)"),
    ];
    // The bucket sizes, and whether the table shows them.
    let bucket_sizes = [
        (1u8, true),
        (2, true),
        (3, false),
        (4, true),
        (8, true),
        (16, true),
        (32, false),
    ];
    let rows = (bucket_sizes.into_iter()).filter_map(|(bucket_size, is_shown)| {
        let mut row = vec![bucket_size.to_string()];
        row.extend(RUNS.map(|(power, runs, _)| {
            if power == 25 && ![3, 4, 8].contains(&bucket_size) {
                return "–".to_owned();
            }
            let fill = |run: u64| {
                let parameters = cuckoo_of(bucket_size, 20, 0);
                let mut filter =
                    CuckooFilter::new(1 << power, parameters, Budget::UNLIMITED).expect("a filter");
                let mut random = Random(run << 32);
                while (filter.insert(&random.next_u64().to_le_bytes(), Budget::UNLIMITED)).is_ok() {
                }
                let slots = filter.num_buckets() * u64::from(bucket_size);
                let fill = filter.items() as f64 / slots as f64;
                let mut fills = FILLS.iter();
                let (_, small, large) =
                    (fills.find(|fill| fill.0 == bucket_size)).expect("a share");
                let is_large = slots > MAX_SLOTS_OF_FIRST_SHARE;
                let expected = if is_large { large } else { small };
                assert!(fill >= *expected, "{bucket_size}, {slots} slots: {fill}");
                fill * 100.0
            };
            let fills: Vec<_> = (0..runs).map(fill).collect();
            let mean = fills.iter().sum::<f64>() / runs as f64;
            match runs {
                1 => format!("{mean:.0}"),
                _ => format!(
                    "{mean:.0}, {:.1}",
                    fills.iter().copied().fold(100.0, f64::min)
                ),
            }
        }));
        is_shown.then_some(row)
    });
    let mut head = vec!["BUCKETSIZE"];
    head.extend(RUNS.map(|(_, _, name)| name));
    table(&head, &rows.collect::<Vec<_>>())
}

fn cuckoo_bytes() -> String {
    let rows = [1u8, 2, 4, 8].map(|bucket_size| {
        [1_000, 1_000_000, 50_000_000, 100_000_000].map(|capacity| {
            let parameters = cuckoo_of(bucket_size, 20, 0);
            let filter =
                CuckooFilter::new(capacity, parameters, Budget::UNLIMITED).expect("a filter");
            size(filter.num_buckets() * u64::from(bucket_size))
        })
    });
    assert!(rows.iter().all(|row| row == &rows[0]), "{rows:?}");
    let head = ["capacity 1,000", "1 million", "50 million", "100 million"];
    table(&head, &[rows[0].to_vec()])
}

/// Count-min sketches with 4-byte cells.
pub fn count_min() -> String {
    let wanted = [
        (0.01, 0.01),
        (0.001, 0.01),
        (0.001, 0.001),
        (0.0001, 0.01),
        (0.00001, 0.001),
    ];
    let rows = wanted.map(|(error, probability)| {
        let (width, depth) = dimensions_for(error, probability).expect("dimensions");
        vec![
            error.to_string(),
            probability.to_string(),
            width.to_string(),
            depth.to_string(),
            size(width * depth * 4),
        ]
    });
    table(&["error", "probability", "width", "depth", "memory"], &rows)
}

/// Top-k sketches with a width of 8 × k: buckets, and full lists of items of 14 and of 20 bytes.
pub fn top_k() -> String {
    let rows = [10u64, 100, 1_000, 10_000].map(|k| {
        let (width, depth) = (8 * k, 5);
        let buckets = 8 * width * depth;
        let list = |item_len| {
            let sketch = TopK::new(k, width, depth, DEFAULT_DECAY, Budget::UNLIMITED);
            let mut sketch = sketch.expect("a sketch");
            for number in 0..k {
                let item = format!("{number:0item_len$}");
                sketch.add(item.as_bytes(), 1).expect("memory");
            }
            let mut bytes = Bytes::default();
            sketch.for_each_block(&mut bytes);
            size(bytes.0 as u64 - buckets)
        };
        vec![
            format!("`TOPK.RESERVE key {k} {width} {depth} 0.9`"),
            size(buckets),
            list(14),
            list(20),
        ]
    });
    table(
        &[
            "command",
            "buckets",
            "list, with items of up to 14 bytes",
            "of 20 bytes",
        ],
        &rows,
    )
}

/// Maximum memory of t-digests over all samples of the collection, with a query after every 1,000 samples: of those of which hardly any
/// repeats, and of whole numbers.
pub fn t_digest() -> String {
    const SAMPLES: usize = 200_000;
    let streams = STREAMS.iter().filter(|stream| stream.has_samples);
    let kinds: [Vec<_>; 2] = [
        ((REALS.iter()).map(|kind| kind.samples(SAMPLES, 14))).collect(),
        streams.map(|stream| stream.samples(SAMPLES, 14)).collect(),
    ];
    let rows = [20, 50, 100, 200, 500, 1000].map(|compression| {
        let new = || TDigest::new(compression, Budget::UNLIMITED).expect("a digest");
        let capacity = new().info().capacity;
        let mut row = vec![compression.to_string(), capacity.to_string()];
        for kinds in &kinds {
            let (mut max_bytes, mut centroids) = (0, 0);
            for samples in kinds {
                let mut digest = new();
                let mut cache = DigestCache::default();
                for (step, samples) in samples.chunks(100).enumerate() {
                    cache.forget(&digest, &mut ());
                    digest.add(samples).expect("memory");
                    cache.forget(&digest, &mut ());
                    if step % 10 == 0 {
                        let compressed = digest.compressed_with(&mut cache);
                        centroids = centroids.max(compressed.expect("memory").centroids().len());
                    }
                    max_bytes = max_bytes.max(digest.block_bytes() + cache.block_bytes());
                }
            }
            row.extend([centroids.to_string(), size(max_bytes as u64)]);
        }
        row
    });
    let head = [
        "COMPRESSION",
        "nodes at most",
        "centroids of 200,000 samples, at most",
        "blocks",
        "of whole numbers, at most",
        "blocks",
    ];
    table(&head, &rows)
}
