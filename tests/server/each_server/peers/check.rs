//! `scripts/copy-sketches --check` predicts which keys the other module refuses or answers differently. Every key is then
//! moved there by DUMP and RESTORE.

use super::Peer;
use crate::each_server::copy_sketches::{copy, url};
use crate::families::{FAMILIES, run_on};
use crate::support::peers;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use std::collections::BTreeMap;

/// What becomes of a key, in the words of the script.
const SAME: &str = "same";
const DIFFERENT: &str = "different";
const REFUSED: &str = "refused";
const RESULTS: [&str; 3] = [SAME, DIFFERENT, REFUSED];

/// Keys that both modules can have. A line of this list and of the following ones is a key: its name, which begins with the prefix of its
/// commands, what becomes of it, and the commands that create it.
const COMMON: &str = "
bf:empty | same | BF.RESERVE KEY 0.01 100
bf:grown | same | BF.RESERVE KEY 0.01 10 | BF.MADD KEY 0..300
bf:fixed | same | BF.RESERVE KEY 0.01 100 NONSCALING | BF.MADD KEY 0..50
bf:precise | same | BF.RESERVE KEY 1e-300 100 | BF.MADD KEY 0..50
cf:empty | same | CF.RESERVE KEY 1000
cf:grown | same | CF.RESERVE KEY 4 BUCKETSIZE 1 EXPANSION 2 | CF.INSERT KEY ITEMS 0..200
cf:largest-options | same | CF.RESERVE KEY 1000 BUCKETSIZE 255 MAXITERATIONS 65535 EXPANSION 32768 | CF.INSERT KEY ITEMS 0..200
cf:deleted | same | CF.RESERVE KEY 100 EXPANSION 0 | CF.INSERT KEY ITEMS 0..50 | CF.DEL KEY 7
cms:empty | same | CMS.INITBYPROB KEY 0.01 0.01
cms:saturated | same | CMS.INITBYDIM KEY 100 2 | CMS.INCRBY KEY a 4294967295 1 3
topk:empty | same | TOPK.RESERVE KEY 5
topk:decayed | same | TOPK.RESERVE KEY 10 | TOPK.ADD KEY 0..300
topk:exact | same | TOPK.RESERVE KEY 3 50 4 1 | TOPK.INCRBY KEY a 100000 1 7
topk:many | same | TOPK.RESERVE KEY 1200 4000 3 1 | TOPK.ADD KEY 0..1200
tdigest:empty | same | TDIGEST.CREATE KEY
tdigest:two | same | TDIGEST.CREATE KEY | TDIGEST.ADD KEY 1e300 -7.5
tdigest:equal | same | TDIGEST.CREATE KEY COMPRESSION 10 | TDIGEST.ADD KEY 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5
tdigest:compressed | same | TDIGEST.CREATE KEY COMPRESSION 20 | TDIGEST.ADD KEY 0..400 | TDIGEST.MERGE KEY 1 KEY OVERRIDE
";

/// Keys of Roughly, and what becomes of them in RedisBloom 2, besides those of types that RedisBloom does not have.
const OF_ROUGHLY: &str = "
bf:expansion-0 | same | BF.RESERVE KEY 0.01 100 EXPANSION 0 | BF.MADD KEY 0..50
bf:merged | same | BF.RESERVE KEY 0.01 10 | BF.MERGE KEY 1 bf:grown
cms:cell-size-4 | same | CMS.INITBYDIM KEY 100 2 CELL_SIZE 4 | CMS.INCRBY KEY 1 3
cms:decremented | same | CMS.INITBYDIM KEY 100 2 | CMS.INCRBY KEY 1 9 2 3 | CMS.INCRBY KEY 1 -4
topk:zero-byte | different | TOPK.RESERVE KEY 3 50 4 1 | TOPK.ADD KEY a\0b c c
# The counts remain, but no list has the item.
topk:zero-byte-expelled | same | TOPK.RESERVE KEY 1 50 4 1 | TOPK.ADD KEY a\0b c c
topk:empty-item | different | TOPK.RESERVE KEY 3 50 4 1 | TOPK.ADD KEY  c c
tdigest:one | same | TDIGEST.CREATE KEY | TDIGEST.ADD KEY 42
tdigest:few | same | TDIGEST.CREATE KEY | TDIGEST.ADD KEY 0..20
tdigest:not-compressed | different | TDIGEST.CREATE KEY COMPRESSION 20 | TDIGEST.ADD KEY 0..100
tdigest:large | different | LARGE_SAMPLES
";

/// As [`OF_ROUGHLY`]. These are not moved: RedisBloom does not check their cells.
const OTHER_CELLS: &str = "
cms:cell-size-1 | refused | CMS.INITBYDIM KEY 100 2 CELL_SIZE 1 | CMS.INCRBY KEY 1 3
cms:cell-size-2 | refused | CMS.INITBYDIM KEY 100 2 CELL_SIZE 2 | CMS.INCRBY KEY 1 3
cms:cell-size-8 | refused | CMS.INITBYDIM KEY 100 2 CELL_SIZE 8 | CMS.INCRBY KEY 1 3
";

/// Keys of RedisBloom 2, and what becomes of them in Roughly.
const OF_REDISBLOOM: &str = "
bf:error-rate | same | BF.RESERVE KEY 0.9 10 | BF.MADD KEY 0..300
bf:smallest-error-rate | same | BF.RESERVE KEY 5e-324 10 NONSCALING | BF.MADD KEY 0..5
# RedisBloom failed to add the last sub-filter, because its error rate would be 0.
bf:exhausted | same | BF.RESERVE KEY 0.5 1 EXPANSION 1 | BF.MADD KEY 0..3000
bf:factor | same | BF.RESERVE KEY 0.1 10 EXPANSION 40000 | BF.MADD KEY 0..5
# RedisBloom keeps 32 bits of the growth factor.
bf:factor-0 | same | BF.RESERVE KEY 0.1 10 EXPANSION 4294967296 | BF.MADD KEY 0..5
cms:overflowed | different | CMS.INITBYDIM KEY 100 1 | CMS.INCRBY KEY a 9223372036854775807 | CMS.INCRBY KEY a 9223372036854775807
topk:zero-byte | different | TOPK.RESERVE KEY 3 50 4 1 | TOPK.ADD KEY a\0b c c
topk:zero-byte-twice | different | TOPK.RESERVE KEY 3 50 4 1 | TOPK.ADD KEY a\0b a a a
topk:empty-item | same | TOPK.RESERVE KEY 3 50 4 1 | TOPK.ADD KEY  c c
tdigest:not-compressed | same | TDIGEST.CREATE KEY COMPRESSION 20 | TDIGEST.ADD KEY 0..100
tdigest-one | same | TDIGEST.CREATE KEY | TDIGEST.ADD KEY 42
tdigest:nan | refused | LARGE_SAMPLES
tdigest:large | different | TDIGEST.CREATE KEY | TDIGEST.ADD KEY 1.7e308 1.6e308 1.5e308
";

/// Keys of RedisBloom 2.6, which does not check sizes for overflow.
const OF_REDISBLOOM_2_6: &str = "
bf:overflow | refused | BF.RESERVE KEY 0.01 9223372036854775807
cf:overflow | refused | CF.RESERVE KEY 9223372036854775807
cf:overflow-bucket | refused | CF.RESERVE KEY 9223372036854775807 BUCKETSIZE 255
cms:overflow | refused | CMS.INITBYDIM KEY 4611686018427387904 1
topk:overflow | refused | TOPK.RESERVE KEY 1 2147483648 1073741824 0.9
";

/// Differences of these samples, times their weights, exceed the largest double.
const LARGE_SAMPLES: &str = "TDIGEST.CREATE KEY COMPRESSION 1 \
    | TDIGEST.ADD KEY 1.7e308 -1.7e308 1.7e308 -1.7e308 1.7e308 -1.7e308 1.7e308 -1.7e308 \
    | TDIGEST.ADD KEY 1.6e308 -1.6e308 1.6e308 -1.6e308 1.6e308 -1.6e308 1.6e308 -1.6e308 \
    | TDIGEST.ADD KEY 1.5e308 -1.5e308 1.5e308 -1.5e308 1.5e308 -1.5e308 1.5e308 -1.5e308";

/// The commands that the user of the script needs: docs/copy-sketches.md.
const ACCESS: &str = "+info +select +scan +dump +memory|usage +command|info +bf.scandump +cf.info +cms.info +topk.info +topk.list +topk.query \
                      +tdigest.info +tdigest.min +tdigest.max";

pub fn check_predicts_what_becomes_of_the_keys_of_roughly(peer: &Peer) {
    let (source, destination) = (peer.roughly().start(), peer.options().start());
    let mut from = source.resp2();
    let mut expected = build(&mut from, &[COMMON, OF_ROUGHLY]);
    for family in FAMILIES.iter().filter(|family| !(peer.has_type)(family)) {
        family.build(&mut from, family.name);
        expected.insert(family.name.to_owned(), REFUSED);
    }
    let not_moved = build(&mut from, &[OTHER_CELLS]);
    expected.extend(not_moved.clone());
    let access = format!("{ACCESS} +tdigest.scandump");
    let target = ["--for", "redisbloom-2.8"];
    assert_eq!(check(&source, &access, &target), expected);
    expected.retain(|key, _| !not_moved.contains_key(key));
    let moved = move_all(&mut from, &mut destination.resp2(), &expected);
    assert_eq!(moved, expected);
}

pub fn check_predicts_what_becomes_of_the_keys_of_redisbloom(peer: &Peer) {
    let (source, destination) = (peer.options().start(), peer.roughly().start());
    let mut from = source.resp2();
    let mut expected = build(&mut from, &[COMMON, OF_REDISBLOOM]);
    if peer.module == peers::redisbloom_2_6() {
        expected.extend(build(&mut from, &[OF_REDISBLOOM_2_6]));
    }
    // Takes 34 GB of addresses: some servers and machines refuse that.
    let reply = from.call("TDIGEST.CREATE tdigest:compression COMPRESSION 357913940");
    if reply.is_ok() {
        expected.insert("tdigest:compression".to_owned(), REFUSED);
    } else {
        assert!(reply.to_string().contains("allocation failed"), "{reply}");
    }
    for (name, result, header) in headers() {
        let command = format!("{}.LOADCHUNK", &name[..2]);
        from.send_ok(&[command.as_bytes(), name.as_bytes(), b"1", &header]);
        expected.insert(name.to_owned(), result);
    }
    assert_eq!(check(&source, ACCESS, &[]), expected);
    let moved = move_all(&mut from, &mut destination.resp2(), &expected);
    assert_eq!(moved, expected);
}

/// Keys that only LOADCHUNK creates, what becomes of them, and their headers.
fn headers() -> [(&'static str, &'static str, Vec<u8>); 6] {
    let filter = |sub_filter| bloom_header(&[sub_filter]);
    let many = bloom_header(&[(4, 6.25, 5, 0); 2049]);
    [
        ("bf:capacity-0", REFUSED, filter((0, 6.25, 5, 0))),
        ("bf:bits-per-item", REFUSED, filter((4, 2000.0, 1387, 0))),
        ("bf:power", REFUSED, filter((4, 6.25, 5, 64))),
        ("bf:sub-filters", REFUSED, many),
        ("cf:factor-3", DIFFERENT, cuckoo_header(3)),
        ("cf:factor-40000", REFUSED, cuckoo_header(40_000)),
    ]
}

/// The header of a Bloom filter without items. Each sub-filter has 8 bytes, and this capacity, bits per item, number of hash
/// functions and power.
fn bloom_header(sub_filters: &[(u64, f64, u32, u8)]) -> Vec<u8> {
    let count = u32::try_from(sub_filters.len()).expect("a count");
    let mut header = 0_u64.to_le_bytes().to_vec();
    // Options and growth factor.
    for field in [count, 5, 2] {
        header.extend(field.to_le_bytes());
    }
    for (capacity, bits_per_item, hashes, power) in sub_filters {
        for field in [8_u64, 64, 0] {
            header.extend(field.to_le_bytes());
        }
        header.extend(0.05_f64.to_le_bytes());
        header.extend(bits_per_item.to_le_bytes());
        header.extend(hashes.to_le_bytes());
        header.extend(capacity.to_le_bytes());
        header.push(*power);
    }
    header
}

/// The header of an empty cuckoo filter of 8 buckets with this growth factor.
fn cuckoo_header(expansion: u16) -> Vec<u8> {
    let [items, buckets, deletes, filters] = [0_u64, 8, 0, 1].map(u64::to_le_bytes);
    let [bucket_size, max_iterations, expansion] = [2, 20, expansion].map(u16::to_le_bytes);
    let fields = [items, buckets, deletes, filters].concat();
    [fields, [bucket_size, max_iterations, expansion].concat()].concat()
}

/// Creates the keys. Returns what becomes of each.
fn build(connection: &mut Connection, lists: &[&str]) -> BTreeMap<String, &'static str> {
    let lists = lists.concat().replace("LARGE_SAMPLES", LARGE_SAMPLES);
    let is_key = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let keys = lists.lines().filter(is_key).map(|line| {
        let parts: Vec<_> = line.split(" | ").collect();
        let [name, result, commands @ ..] = &parts[..] else {
            panic!("{line}")
        };
        run_on(connection, name, commands);
        let result = RESULTS.into_iter().find(|known| known == result);
        ((*name).to_owned(), result.expect("a result"))
    });
    keys.collect()
}

/// The result of every key that the script reports. Its user may run only these commands.
fn check(server: &Server, access: &str, target: &[&str]) -> BTreeMap<String, &'static str> {
    server.ok(&format!("ACL SETUSER reader on >secret ~* {access}"));
    let url = url(server).replace("redis://", "redis://reader:secret@");
    let run = copy(&[&["--check", "-v", &url], target].concat());
    let results = run.output.lines().filter_map(|line| {
        let mut all = RESULTS.into_iter();
        let result = all.find(|result| line.starts_with(&format!("{result}: ")))?;
        Some((line.split('"').nth(1)?.to_owned(), result))
    });
    let results: BTreeMap<_, _> = results.collect();
    let count = |result| results.values().filter(|found| **found == result).count() as u64;
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    for result in RESULTS {
        assert!(count(result) > 1, "{result}: {run:?}");
        assert_eq!(run.count(result), count(result), "{run:?}");
    }
    assert_eq!(run.count("failed"), 0, "{run:?}");
    results
}

/// Moves the keys. Returns what became of each.
fn move_all(
    from: &mut Connection,
    to: &mut Connection,
    keys: &BTreeMap<String, &'static str>,
) -> BTreeMap<String, &'static str> {
    let move_one = |key: &String| {
        let restored = to.restore(key, &from.payload(key));
        let result = match restored.is_ok() {
            true if answers(from, key) == answers(to, key) => SAME,
            true => DIFFERENT,
            false => REFUSED,
        };
        (key.clone(), result)
    };
    keys.keys().map(move_one).collect()
}

/// The replies to the commands that read a key.
fn answers(connection: &mut Connection, key: &str) -> Vec<Reply> {
    let commands: &[&str] = match key.split(':').next() {
        Some("bf") => &["BF.MEXISTS KEY 0..400", "BF.INFO KEY", "BF.CARD KEY"],
        Some("cf") => &["CF.MEXISTS KEY 0..400", "CF.COUNT KEY 1", "CF.INFO KEY"],
        Some("cms") => &["CMS.QUERY KEY a 1 2 3 4", "CMS.INFO KEY"],
        Some("topk") => &[
            "TOPK.LIST KEY WITHCOUNT",
            "TOPK.QUERY KEY 0..300",
            "TOPK.QUERY KEY a a\0b b c ",
            "TOPK.COUNT KEY a a\0b b c ",
            "TOPK.INFO KEY",
        ],
        Some("tdigest") => &[
            "TDIGEST.MIN KEY",
            "TDIGEST.MAX KEY",
            "TDIGEST.QUANTILE KEY 0 0.01 0.05 0.11 0.2 0.33 0.5 0.61 0.75 0.9 0.97 0.99 1",
            "TDIGEST.CDF KEY 0 1.5 7 33.3 42 61.8 99 240.1 399",
            "TDIGEST.RANK KEY 0 1.5 7 33.3 42 61.8 99 240.1 399",
            "TDIGEST.TRIMMED_MEAN KEY 0.1 0.9",
        ],
        // With one sample, RedisBloom replies NaN to all other commands.
        Some("tdigest-one") => &["TDIGEST.MIN KEY", "TDIGEST.MAX KEY"],
        _ => panic!("no commands for {key}"),
    };
    run_on(connection, key, commands)
}
