//! Replication between Roughly and valkey-bloom itself, in both directions. recorded_stream.rs and recorded_files.rs test streams and
//! files of valkey-bloom without its module.

use super::{SEED, replacement, with_random_seeds, with_seed};
use crate::families::numbers;
use crate::support::peers;
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};
use crate::support::state::State;

/// Commands whose items fit, with items that are in the filter already, and options on existing keys.
fn fitting() -> Vec<String> {
    vec![
        "BF.INSERT full ERROR 0.4 CAPACITY 50 NONSCALING SEED".into(),
        format!("BF.MADD full {}", numbers(0, 20)),
        "BF.MADD auto a b a c".into(),
        "BF.MADD auto a d b e d".into(),
        "BF.INSERT auto CAPACITY 7 ERROR 0.1 ITEMS c f".into(),
        "BF.INSERT scaled CAPACITY 3 EXPANSION 1 TIGHTENING 0.9 SEED ITEMS a b c".into(),
        format!("BF.MADD scaled {}", numbers(0, 50)),
        "BF.INSERT scaled VALIDATESCALETO 10 ITEMS a new".into(),
        "BF.RESERVE reserved 1e-9 10 NONSCALING".into(),
        "BF.ADD reserved x".into(),
        "BF.ADD reserved x".into(),
    ]
}

fn run(primary: &Server, commands: &[String]) {
    let mut connection = primary.resp2();
    for command in commands {
        let reply = connection.send(&with_seed(command, SEED));
        assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
    }
}

/// With other defaults on the replica: a filter without `EXPANSION` would not scale there.
#[test]
#[ignore = "needs Valkey 8 and valkey-bloom: ROUGHLY_VALKEY_BLOOM"]
fn valkey_bloom_accepts_what_roughly_replicates() {
    let peer = peers::valkey_bloom();
    let mut primary = with_random_seeds().start();
    let mut replica = Options::new().module(&peer).start();
    replica.ok("CONFIG SET bf.bloom-expansion 0");
    replica.replicate(&primary);
    run(&primary, &fitting());
    // Some items are in the filter, and some do not fit.
    let full = super::error("ERR non scaling filter is full");
    for command in [
        format!("BF.MADD full {}", numbers(0, 200)),
        format!("BF.INSERT full ITEMS {}", numbers(0, 300)),
        "BF.INSERT new CAPACITY 5 NONSCALING ITEMS 0 1 2 3 4 5 6 7 8".to_owned(),
    ] {
        let reply = primary.resp2().send(&with_seed(&command, SEED));
        let last = reply.items().and_then(<[Reply]>::last);
        assert_eq!(last, Some(&full), "{command}");
    }
    primary.wait_for_replica(&replica);
    let expected = State::of(&mut primary.resp2());
    assert_eq!(expected.len(), 5);
    let when = format!("on {}", peer.display());
    State::of(&mut replica.resp2()).assert_same(&expected, &when);
    replica.assert_obeys();
}

#[test]
#[ignore = "needs Valkey 8 and valkey-bloom: ROUGHLY_VALKEY_BLOOM"]
fn roughly_accepts_what_valkey_bloom_replicates() {
    let peer = peers::valkey_bloom();
    for replica in [Options::new(), replacement()] {
        let mut primary = Options::new().module(&peer).start();
        let mut replica = replica.start();
        replica.replicate(&primary);
        run(&primary, &fitting());
        primary.wait_for_replica(&replica);
        let expected = State::of(&mut primary.resp2());
        assert_eq!(expected.len(), 4);
        let when = format!("from {}", peer.display());
        State::of(&mut replica.resp2()).assert_same(&expected, &when);
        replica.assert_obeys();
    }
}
