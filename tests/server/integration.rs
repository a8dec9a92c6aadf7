//! Every type is copied, counted, freed and watched like a built-in type. persistence.rs and replication.rs test files and replicas.

use crate::families::valkey_bloom::allow_huge_keys;
use crate::families::{FAMILIES, build_all, run_on};
use crate::support::abilities::record;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

/// Records an ability of every type. Call it after all types were checked.
pub fn record_for_all(ability: &str) {
    for family in FAMILIES {
        record(ability, family.type_name);
    }
}

/// Settings that differ from the primary's: replication must not depend on them.
pub fn odd_settings() -> Options {
    let settings = "bf-error-rate 0.2 bf-initial-size 7 bf-expansion-factor 0 cf-bucket-size 7 cf-initial-size 99 \
        cf-max-iterations 3 cf-expansion-factor 4 cf-max-expansions 1 bf-new-keys valkey-bloom \
        bloom-capacity 9 bloom-expansion 0 bloom-fp-rate 0.3 bloom-tightening-ratio 0.9 \
        bloom-use-random-seed no";
    Options::new().module_arguments(&settings.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn writes_without_effect_are_not_replicated_and_do_not_touch_watched_keys() {
    // The primary counts what it replicates only if it has a replica. Its pings must not change the offset.
    let (mut primary, replica) = Server::with_replica();
    let mut connection = primary.resp2();
    connection.ok("CONFIG SET repl-ping-replica-period 3600");
    connection.ok("CONFIG SET notify-keyspace-events KEA");
    build_all(&mut connection);
    primary.wait_for_replica(&replica);
    for family in FAMILIES {
        let key = family.type_name;
        let mut watcher = primary.resp2();
        let mut listener = primary.resp2();
        listener.send(&["PSUBSCRIBE", &format!("__keyspace@0__:{key}")]);
        assert!(watcher.send(&["WATCH", key]).is_ok());
        let offset = primary.info_number("master_repl_offset");
        run_on(&mut connection, key, family.idle);
        run_on(&mut connection, key, family.reads);
        let found = primary.info_number("master_repl_offset");
        assert_eq!(found, offset, "{key} replicated what changed nothing");
        watcher.ok("MULTI");
        watcher.call("PING");
        assert!(matches!(watcher.call("EXEC"), Reply::Array(_)), "{key}");

        assert!(watcher.send(&["WATCH", key]).is_ok());
        family.change(&mut connection, key, "of");
        assert!(primary.info_number("master_repl_offset") > offset);
        watcher.ok("MULTI");
        watcher.call("PING");
        assert!(matches!(watcher.call("EXEC"), Reply::Null(_)), "{key}");
        // The change publishes exactly one event.
        let event = listener.read().expect("an event").to_string();
        let is_of_change = event.ends_with(&format!("${}]", family.change.1));
        assert!(is_of_change, "{event}");
        for ability in ["keyspace events", "WATCH"] {
            record(ability, key);
        }
    }
}

#[test]
fn client_side_caches_are_invalidated_by_changes_only() {
    let (server, mut connection) = Server::start().connected();
    build_all(&mut connection);
    for family in FAMILIES {
        let key = family.type_name;
        let mut caching = server.resp3();
        caching.ok("CLIENT TRACKING ON");
        run_on(&mut caching, key, &family.reads[..1]);
        run_on(&mut connection, key, family.idle);
        caching.check("PING", "+PONG");
        family.change(&mut connection, key, "cached");
        let told = caching.read().expect("an invalidation").to_string();
        assert!(told.contains("invalidate") && told.contains(key), "{told}");
        record("CLIENT TRACKING", key);
    }
}

#[test]
fn a_copy_is_equal_and_independent() {
    let (_server, mut connection) = Server::start().connected();
    build_all(&mut connection);
    for family in FAMILIES {
        let key = family.type_name;
        let copied = connection.send(&["COPY", key, "copy", "REPLACE"]);
        assert_eq!(copied, Reply::Integer(1));
        let view = family.view(&mut connection, key);
        assert_eq!(family.view(&mut connection, "copy"), view);
        family.change(&mut connection, "copy", "other");
        assert_eq!(family.view(&mut connection, key), view);
        assert_ne!(family.view(&mut connection, "copy"), view);
        family.change(&mut connection, key, "other");
        let both = family.view(&mut connection, key);
        assert_eq!(family.view(&mut connection, "copy"), both);
        record("COPY", key);
    }
}

#[test]
fn a_dump_can_be_restored_over_a_key_of_another_type() {
    let (_server, mut connection) = Server::start().connected();
    build_all(&mut connection);
    for (family, other) in FAMILIES.iter().zip(FAMILIES.iter().cycle().skip(1)) {
        let key = family.type_name;
        let before = family.view(&mut connection, key);
        let payload = connection.payload(key);
        other.build(&mut connection, "restored");
        let restore = |connection: &mut Connection, how: &[&[u8]]| {
            let words = [&[b"RESTORE", &b"restored"[..], b"500000", &payload], how].concat();
            connection.send(&words).to_string()
        };
        let busy = restore(&mut connection, &[]);
        assert!(busy.starts_with("-BUSYKEY"), "{busy}");
        assert_eq!(restore(&mut connection, &[b"REPLACE"]), "+OK");
        assert!(connection.call("PTTL restored").integer() > Some(0));
        // DEBUG DIGEST includes the time to live.
        connection.call("PERSIST restored");
        assert_eq!(family.view(&mut connection, "restored"), before);
        family.change(&mut connection, "restored", "other");
        assert_eq!(family.view(&mut connection, key), before);
        connection.call("DEL restored");
        record("DUMP, RESTORE", key);
    }
}

/// Equal values have equal digests on any server; a change changes the digest.
#[test]
fn digests_are_equal_for_equal_values_only() {
    let (mut primary, mut replica) = Server::with_replica();
    let mut connection = primary.resp2();
    build_all(&mut connection);
    let digest = |server: &Server, key: &str| {
        let reply = server.call(&format!("DEBUG DIGEST-VALUE {key}"));
        reply.items().expect("a digest")[0].to_string()
    };
    for family in FAMILIES {
        let key = family.type_name;
        let before = digest(&primary, key);
        family.build(&mut connection, "twin");
        assert_eq!(digest(&primary, "twin"), before);
        primary.wait_for_replica(&replica);
        assert_eq!(digest(&replica, key), before);
        for server in [&primary, &replica] {
            server.ok("DEBUG RELOAD");
            assert_eq!(digest(server, key), before);
        }
        replica.wait_for_link();
        family.change(&mut connection, key, "digest");
        let after = digest(&primary, key);
        assert_ne!(after, before);
        primary.wait_for_replica(&replica);
        assert_eq!(digest(&replica, key), after);
        connection.call("DEL twin");
        primary.check(&format!("TYPE {key}"), format!("+{key}"));
        for ability in ["TYPE", "DEBUG DIGEST-VALUE"] {
            record(ability, key);
        }
    }
}

#[test]
fn transactions_and_scripts_work() {
    let (_server, mut connection) = Server::start().connected();
    for family in FAMILIES {
        family.build(&mut connection, "plain");
        let plain = family.view(&mut connection, "plain");
        connection.ok("MULTI");
        for command in family.build {
            connection.call(&command.replace("KEY", "multi"));
        }
        assert!(matches!(connection.call("EXEC"), Reply::Array(_)));
        for command in family.build {
            let command = command.replace("KEY", "lua");
            let mut call = vec!["EVAL", "return redis.call(unpack(ARGV))", "0"];
            call.extend(command.split(' '));
            connection.send_run(&call);
        }
        for key in ["multi", "lua"] {
            assert_eq!(family.view(&mut connection, key), plain, "{key}");
        }
        record("MULTI, EVAL", family.type_name);
        connection.ok("FLUSHALL SYNC");
    }
}

#[test]
fn huge_reservations_take_address_space_only() {
    let (mut server, mut connection) = Server::start().connected();
    allow_huge_keys(&mut connection);
    for family in FAMILIES {
        let Some((reserve, _)) = family.reserve_huge else {
            continue;
        };
        let before = server.resident_bytes();
        run_on(&mut connection, "huge", &[reserve]);
        family.change(&mut connection, "huge", "1");
        assert!(connection.call("MEMORY USAGE huge").integer() >= Some(128 << 20));
        let taken = server.resident_bytes().saturating_sub(before);
        assert!(taken < 16 << 20, "{}: {taken} bytes", family.type_name);
        connection.check("UNLINK huge", ":1");
        server.wait_until("the memory to be freed", |server| {
            family.info(server, "bytes") == 0
        });
    }
}

#[test]
fn memory_usage_matches_used_memory() {
    let (server, mut connection) = Server::start().connected();
    for family in FAMILIES {
        let before = server.info_number("used_memory");
        run_on(&mut connection, "large", family.build_large);
        let taken = server.info_number("used_memory") - before;
        let usage = connection.call("MEMORY USAGE large").integer().unwrap();
        assert!(usage > 4 << 20, "{usage}");
        let counted = family.info(&server, "bytes");
        let name = family.type_name;
        for (what, bytes) in [("said", usage), ("in INFO", counted)] {
            let off = (bytes - taken).abs() as f64 / taken as f64;
            assert!(off < 0.05, "{name}: {bytes} {what}, {taken} taken");
        }
        record("MEMORY USAGE", name);
        connection.ok("FLUSHALL SYNC");
    }
}

#[test]
fn a_merge_counts_a_keyspace_miss_for_a_missing_source_and_none_for_a_missing_destination() {
    let (server, mut connection) = Server::start().connected();
    for family in FAMILIES.iter().filter(|family| family.merge.is_some()) {
        connection.call("FLUSHALL");
        family.build(&mut connection, "here");
        for (keys, misses) in [
            ("here 1 here", 0),
            ("missing 1 here", 0),
            ("here 1 missing", 1),
        ] {
            connection.call("CONFIG RESETSTAT");
            let command = format!("{} {keys}", family.command("MERGE"));
            let reply = connection.call(&command);
            let counted = server.info_number("keyspace_misses");
            assert_eq!(counted, misses, "{command}: {reply}");
            // BF.MERGE and TDIGEST.MERGE create their destination.
            connection.call("DEL missing");
        }
    }
}
