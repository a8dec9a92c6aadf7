//! `scripts/copy-sketches` between servers with different modules.

use super::compare::{Transfer, assert_same};
use super::{each, fill};
use crate::each_server::copy_sketches::{copy, url};

#[test]
fn copy_sketches_copies_in_both_directions() {
    each(|pair| {
        for (source, destination, when) in pair.both_ways() {
            for mode in ["64", "0"] {
                let (source, destination) = (source.clone().start(), destination.clone().start());
                let mut from = source.resp2();
                fill(pair, &mut from, &mut pair.workload(130));
                // The tool copies the remaining time to live, so that the expiration times differ by some milliseconds.
                let expiring = from.call("KEYS *");
                for key in expiring.items().expect("keys") {
                    from.send(&[b"PERSIST", key.text().expect("a key")]);
                }
                let count = u64::try_from(from.call("DBSIZE").integer().expect("a count")).unwrap();
                let arguments = ["--chunks", mode, &url(&source), &url(&destination)];
                copy(&arguments).assert(0, &[("copied", count), ("verified", count)]);
                let mut to = destination.resp2();
                let keys = assert_same(&mut from, &mut to, Transfer::Values, when);
                assert!(keys > 5, "{when}: {keys} keys");
                copy(&arguments).assert(0, &[("equal", count), ("verified", count)]);
            }
        }
    });
}
