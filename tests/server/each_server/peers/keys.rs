//! Single keys: DUMP and RESTORE, and SCANDUMP and LOADCHUNK.

use super::compare::{Transfer, assert_same};
use super::{each, fill};
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

#[test]
fn dumps_are_restored_in_both_directions() {
    each(|pair| {
        for (source, destination, when) in pair.both_ways() {
            let (source, destination) = (source.start(), destination.start());
            let (mut from, mut to) = (source.resp2(), destination.resp2());
            fill(pair, &mut from, &mut pair.workload(120));
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
    });
}

#[test]
fn chunks_are_loaded_in_both_directions() {
    let recorded = recorded_commands();
    let has_chunks = |family: &Family| {
        family.recorded.is_some() && recorded.contains(&format!("{}.scandump", family.prefix))
    };
    assert_eq!(
        FAMILIES.iter().filter(|family| has_chunks(family)).count(),
        2
    );
    each(|pair| {
        // valkey-bloom has no commands for chunks.
        if !pair.types().any(has_chunks) {
            return;
        }
        for (source, destination, when) in pair.both_ways() {
            let (source, destination) = (source.start(), destination.start());
            let (mut from, mut to) = (source.resp2(), destination.resp2());
            let types = pair.types().filter(|family| has_chunks(family));
            fill(pair, &mut from, &mut pair.workload(121).of_types(types));
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
    });
}
