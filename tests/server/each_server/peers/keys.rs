//! Single keys: DUMP and RESTORE, and SCANDUMP and LOADCHUNK.

use super::compare::{Transfer, assert_same};
use super::{Peer, fill};
use crate::each_server::commands::recorded_commands;
use crate::families::{FAMILIES, Family};
use crate::support::resp::{Connection, Reply};

/// The names of the keys.
fn names(connection: &mut Connection) -> Vec<String> {
    let reply = connection.call("KEYS *");
    let keys = reply.items().expect("keys").iter();
    keys.map(|key| String::from_utf8(key.text().expect("a key").to_vec()).expect("a name"))
        .collect()
}

pub fn dumps_are_restored_in_both_directions(peer: &Peer) {
    for (source, destination, when) in peer.both_ways() {
        let (source, destination) = (source.start(), destination.start());
        let (mut from, mut to) = (source.resp2(), destination.resp2());
        fill(peer, &mut from, &mut peer.workload(120));
        for key in names(&mut from) {
            let Reply::Bulk(payload) = from.send(&["DUMP", &key]) else {
                panic!("no DUMP of {key}");
            };
            let time = from.send(&["PEXPIRETIME", &key]).integer();
            let time = time.expect("a time").max(0).to_string();
            let restore = [
                b"RESTORE",
                key.as_bytes(),
                time.as_bytes(),
                &payload,
                b"ABSTTL",
            ];
            let reply = to.send(&restore);
            assert!(reply.is_ok(), "{when}: RESTORE {key}: {reply}");
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
    assert_eq!(
        FAMILIES.iter().filter(|family| has_chunks(family)).count(),
        2
    );
    for (source, destination, when) in peer.both_ways() {
        let (source, destination) = (source.start(), destination.start());
        let (mut from, mut to) = (source.resp2(), destination.resp2());
        let types = peer.types().filter(|family| has_chunks(family));
        fill(peer, &mut from, &mut peer.workload(121).of_types(types));
        for key in names(&mut from) {
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
