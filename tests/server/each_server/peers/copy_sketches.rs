//! `scripts/copy-sketches` between servers with different modules.

use super::compare::{Transfer, assert_same};
use super::{Peer, fill};
use crate::each_server::copy_sketches::{copy, url};
use crate::families::{Comparison, FAMILIES, numbers};
use crate::support::resp::Connection;
use crate::support::server::Server;

fn size(connection: &mut Connection) -> u64 {
    let count = connection.call("DBSIZE").integer().expect("a count");
    u64::try_from(count).expect("a count")
}

pub fn copy_sketches_copies_in_both_directions(peer: &Peer) {
    for (source, destination, when) in peer.both_ways() {
        for mode in ["64", "0"] {
            let (source, destination) = (source.clone().start(), destination.clone().start());
            let mut from = source.resp2();
            fill(peer, &mut from, &mut peer.workload(130));
            // The tool copies the remaining time to live, so that the expiration times would differ by some milliseconds.
            for key in from.keys() {
                from.send(&[b"PERSIST", &key[..]]);
            }
            let count = size(&mut from);
            let arguments = ["--chunks", mode, &url(&source), &url(&destination)];
            copy(&arguments).assert_all("copied", count);
            let mut to = destination.resp2();
            let keys = assert_same(&mut from, &mut to, Transfer::Values, when);
            assert!(keys > 5, "{when}: {keys} keys");
            copy(&arguments).assert_all("equal", count);
        }
    }
}

/// A replica refuses writes. The counts of a top-k of RedisBloom differ between a primary and its replicas.
pub fn compare_reports_what_differs_between_a_server_and_its_replica(peer: &Peer) {
    let (mut source, mut destination) = (peer.options().start(), peer.roughly().start());
    destination.replicate(&source);
    let mut from = source.resp2();
    fill(peer, &mut from, &mut peer.workload(131));
    // RedisBloom compresses digests when it is read, also by DUMP.
    for key in from.call("KEYS tdigest*").strings() {
        from.send(&["DEL", &key]);
    }
    source.wait_for_replica(&destination);
    let ends = [&*url(&source), &url(&destination)];
    let arguments = [&["--compare"][..], &ends].concat();
    let run = copy(&arguments);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    let count = size(&mut from);
    let decayed = run.count("random decay");
    assert_eq!(run.count("equal") + decayed, count, "{run:?}");
    let top_k = Some(Comparison::ExactExceptPointers);
    let has_top_k = peer.types().any(|family| family.recorded == top_k);
    assert_eq!(decayed > 0, has_top_k, "{run:?}");
    // The destination no longer receives writes.
    destination.ok("REPLICAOF NO ONE");
    let family = peer.types().next().expect("a type");
    family.build(&mut from, "missing");
    from.check(&format!("DEL {}", family.name), ":1");
    run_changed(peer, &source, &destination, count);
}

/// Compares after a key was added to the source, and another one replaced.
fn run_changed(peer: &Peer, source: &Server, destination: &Server, count: u64) {
    let mut from = source.resp2();
    let family = peer.types().next().expect("a type");
    family.build(&mut from, family.name);
    family.change(&mut from, family.name, "changed");
    let ends = [&*url(source), &url(destination)];
    let run = copy(&[&["--compare", "--rounds", "0"][..], &ends].concat());
    let counts = run.counts(["found", "different", "missing"]);
    assert_eq!(counts, [count + 1, 1, 1], "{run:?}");
    run.assert_error(1, "missing: BF key \"missing\" in database 0");
}

/// The reason is reported for every type that the other module does not have.
pub fn keys_of_types_that_the_destination_lacks_are_reported(peer: &Peer) {
    let (source, destination) = (Server::start(), peer.options().start());
    let mut from = source.resp2();
    let lacking = FAMILIES.iter().filter(|family| !(peer.has_type)(family));
    let lacking: Vec<_> = lacking.collect();
    for family in &lacking {
        family.build(&mut from, family.name);
    }
    let run = copy(&[&url(&source), &url(&destination)]);
    run.assert(1, &[("failed", lacking.len() as u64)]);
    for family in lacking {
        let prefix = family.prefix.to_uppercase();
        let line = format!("failed: {prefix} key \"{}\" in database 0: ", family.name);
        let reason = match family.has_window {
            true => "has no windows".to_owned(),
            false => format!("does not have the type {}", family.type_name),
        };
        let mut lines = run.errors.lines();
        let found = lines.find(|found| found.starts_with(&line));
        let is_refused = found.is_some_and(|found| found.ends_with(&reason));
        assert!(is_refused, "{line}{reason}: {run:?}");
    }
}

/// Points at which the answers of two servers are compared.
const POINTS: u32 = 200;

fn cdf(connection: &mut Connection, key: &str) -> Vec<f64> {
    let values = connection
        .call(&format!("TDIGEST.CDF {key} {}", numbers(0, POINTS)))
        .strings();
    let values = values.iter().map(|value| value.parse().expect("a double"));
    values.collect()
}

fn largest_difference(one: &[f64], other: &[f64]) -> f64 {
    let pairs = one.iter().zip(other);
    let differences = pairs.map(|(one, other)| (one - other).abs());
    differences.fold(0.0, f64::max)
}

/// The samples of loads with repeated values: of two values, of five, and mostly of one.
fn repeated() -> [(&'static str, Vec<u32>); 3] {
    let numbers = || (0..2000_u32).map(|n| n * 7919 % 2000);
    [
        ("two", numbers().map(|n| n % 2 * 1000).collect()),
        ("five", numbers().map(|n| 1 + n % 5).collect()),
        ("one", numbers().map(|n| n.saturating_sub(1800)).collect()),
    ]
}

/// Also after a digest was compressed in Roughly: RedisBloom would join the repeated values if it compressed the copy.
pub fn repeated_values_that_were_copied_to_redisbloom_stay_exact(peer: &Peer) {
    let (source, destination) = (peer.roughly().start(), peer.options().start());
    let (mut from, mut to) = (source.resp2(), destination.resp2());
    for (name, samples) in repeated() {
        for key in [name.to_owned(), format!("{name}-merged")] {
            from.ok(&format!("TDIGEST.CREATE {key}"));
            for batch in samples.chunks(100) {
                let batch: Vec<_> = batch.iter().map(u32::to_string).collect();
                from.ok(&format!("TDIGEST.ADD {key} {}", batch.join(" ")));
            }
        }
        let merged = format!("{name}-merged");
        from.ok(&format!("TDIGEST.MERGE {merged} 1 {merged} OVERRIDE"));
    }
    copy(&[&url(&source), &url(&destination)]).assert_all("copied", 6);
    let run = copy(&["--compare", &url(&source), &url(&destination)]);
    assert_eq!(run.count("equal"), 6, "{run:?}");
    let quantiles: Vec<_> = (0..200)
        .map(|n| (f64::from(n) / 200.0).to_string())
        .collect();
    for key in from.call("KEYS *").strings() {
        let command = format!("TDIGEST.QUANTILE {key} {}", quantiles.join(" "));
        assert_eq!(to.call(&command), from.call(&command), "{key}");
    }
}

/// The counts of a sketch that a key at the destination has stay, also with --replace.
pub fn count_min_sketches_with_other_cells_are_not_copied(peer: &Peer) {
    let (source, destination) = (peer.roughly().start(), peer.options().start());
    let (mut from, mut to) = (source.resp2(), destination.resp2());
    for size in [1, 2, 4, 8] {
        let key = format!("cells-{size}");
        from.ok(&format!("CMS.INITBYDIM {key} 100 2 CELL_SIZE {size}"));
        from.call(&format!("CMS.INCRBY {key} item 3"));
        to.ok(&format!("CMS.INITBYDIM {key} 100 2"));
        to.call(&format!("CMS.INCRBY {key} item 77"));
    }
    let urls = [&*url(&source), &url(&destination)];
    let run = copy(&[&["--replace"][..], &urls].concat());
    run.assert(1, &[("copied", 1), ("failed", 3)]);
    assert!(run.errors.contains("four bytes"), "{run:?}");
    for (size, count) in [(1, 77), (2, 77), (4, 3), (8, 77)] {
        let query = format!("CMS.QUERY cells-{size} item");
        to.check(&query, format!("*[:{count}]"));
    }
}

/// RedisBloom answers less accurately from a digest with samples that Roughly has not merged yet. docs/migration.md names a command that
/// compresses it before.
pub fn a_t_digest_that_was_copied_to_redisbloom_answers_as_the_original(peer: &Peer) {
    let (source, destination) = (peer.roughly().start(), peer.options().start());
    let (mut from, mut to) = (source.resp2(), destination.resp2());
    from.ok("TDIGEST.CREATE digest");
    // 5,000 samples from 0 to 199.999, in an order without pattern.
    for batch in 0..50_u64 {
        let samples = (0..100).map(|n| ((batch * 100 + n) * 7919 % 5000) as f64 / 25.0);
        let samples: Vec<_> = samples.map(|sample| sample.to_string()).collect();
        from.ok(&format!("TDIGEST.ADD digest {}", samples.join(" ")));
    }
    from.check("EXPIRE digest 10000", ":1");
    let original = cdf(&mut from, "digest");
    let arguments = ["--replace", &url(&source), &url(&destination)];
    copy(&arguments).assert_all("copied", 1);
    assert!(largest_difference(&cdf(&mut to, "digest"), &original) > 0.02);
    from.ok("TDIGEST.MERGE digest 1 digest OVERRIDE");
    copy(&arguments).assert_all("copied", 1);
    let copied = cdf(&mut to, "digest");
    assert!(largest_difference(&copied, &original) < 0.001);
    let left = to.call("TTL digest").integer().expect("a time");
    assert!((9000..=10_000).contains(&left), "{left}");
}

/// RedisBloom stores it as if it were not merged yet.
pub fn the_only_sample_of_a_digest_is_equal_after_the_copy(peer: &Peer) {
    for (source, destination, when) in peer.both_ways() {
        let (source, destination) = (source.clone().start(), destination.clone().start());
        source.ok("TDIGEST.CREATE digest");
        source.ok("TDIGEST.ADD digest 42");
        let urls = [&*url(&source), &url(&destination)];
        copy(&urls).assert_all("copied", 1);
        let run = copy(&[&["--compare"][..], &urls].concat());
        assert_eq!(run.count("equal"), 1, "{when}: {run:?}");
    }
}
