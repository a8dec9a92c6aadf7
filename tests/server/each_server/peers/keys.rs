//! Single keys: DUMP and RESTORE, and SCANDUMP and LOADCHUNK.

use super::compare::{Transfer, assert_same};
use super::{Peer, fill};
use crate::each_server::commands::recorded_commands;
use crate::families::{FAMILIES, Family};

pub fn dumps_are_restored_in_both_directions(peer: &Peer) {
    for (source, destination, when) in peer.both_ways() {
        let (source, destination) = (source.start(), destination.start());
        let (mut from, mut to) = (source.resp2(), destination.resp2());
        fill(peer, &mut from, &mut peer.workload(120));
        for key in from.keys() {
            let payload = from.payload(&key);
            let time = from.send(&[b"PEXPIRETIME", &key[..]]).integer();
            let time = time.expect("a time").max(0).to_string();
            let reply = to.send(&[b"RESTORE", &key[..], time.as_bytes(), &payload, b"ABSTTL"]);
            assert!(reply.is_ok(), "{when}: {}: {reply}", key.escape_ascii());
        }
        let keys = assert_same(&mut from, &mut to, Transfer::Values, when);
        assert!(keys > 5, "{when}: {keys} keys");
    }
}

pub fn chunks_are_loaded_in_both_directions(peer: &Peer) {
    let recorded = recorded_commands();
    let has_chunks = |family: &Family| {
        family.recorded.is_some() && recorded.contains(&format!("{}.scandump", family.prefix))
    };
    let with_chunks = FAMILIES.iter().filter(|family| has_chunks(family));
    assert_eq!(with_chunks.count(), 2);
    for (source, destination, when) in peer.both_ways() {
        let (source, destination) = (source.start(), destination.start());
        let (mut from, mut to) = (source.resp2(), destination.resp2());
        let types = peer.types().filter(|family| has_chunks(family));
        fill(peer, &mut from, &mut peer.workload(121).of_types(types));
        for key in from.call("KEYS *").strings() {
            let family = Family::of(&key);
            if has_chunks(family) && family.copy_in_chunks(&mut from, &key, &mut to, &key) > 0 {
                // Chunks have no time to live.
                from.send(&["PERSIST", &key]);
            } else {
                from.send(&["DEL", &key]);
            }
        }
        let keys = assert_same(&mut from, &mut to, Transfer::Values, when);
        assert!(keys > 5, "{when}: {keys} keys");
    }
}
