//! Values that cannot be saved: an incomplete file or payload is never kept, and existing files remain.
//!
//! The servers run the module as `cargo test` builds it, because only debug builds support fault injection
//! (src/server/injected.rs).

mod needs_rdb_save;

use crate::families::{FAMILIES, build_all, dump, run_on};
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use crate::support::state::State;
use std::fs;
use std::path::{Path, PathBuf};

/// Kinds of stored values. A fault ends a saved value before its first part of one kind.
const KINDS: [&str; 3] = ["integer", "double", "bytes"];

fn start(arguments: &[&str]) -> Server {
    Options::new()
        .debug_module()
        .arguments(arguments)
        .environment("RUST_BACKTRACE", "1")
        .start()
}

/// Enables exactly these faults.
fn inject(server: &Server, faults: &[&str]) {
    fs::write(server.dir().join("roughly-faults"), faults.join("\n")).expect("a written file");
}

/// Names and contents of all files below a directory.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|kind| kind == "rdb") {
            let content = fs::read(&path).expect("a file");
            found.push((path, content));
        }
    }
    found.sort();
    found
}

/// Runs a check for each type with each fault that affects its values.
fn for_each_fault(
    server: &mut Server,
    check: impl Fn(&mut Server, &mut Connection, &'static str, &str),
) {
    let mut connection = server.resp2();
    for family in FAMILIES {
        inject(server, &[]);
        connection.call("FLUSHALL");
        run_on(&mut connection, "key", family.build);
        let whole = dump(&mut connection, "key");
        for kind in KINDS {
            let fault = &format!("rdb_save {kind}");
            inject(server, &[]);
            connection.ok("SAVE");
            inject(server, &[fault]);
            let is_cut_off = dump(&mut connection, "key") != whole;
            let has_kind = family.stored_kinds.contains(&kind);
            assert_eq!(is_cut_off, has_kind, "{}, {fault}", family.type_name);
            if is_cut_off {
                check(server, &mut connection, family.type_name, fault);
            }
        }
    }
}

#[test]
fn a_file_that_lacks_a_value_does_not_replace_the_old_one() {
    let mut server = start(&[]);
    for_each_fault(&mut server, |server, connection, name, fault| {
        let before = files(server.dir());
        assert_eq!(before.len(), 1, "{name}, {fault}");
        let state = |connection: &mut Connection| {
            inject(server, &[]);
            let state = State::of(connection);
            inject(server, &[fault]);
            state
        };
        let held = state(connection);
        connection.ok("SET marker 1");
        for command in ["SAVE", "DEBUG RELOAD", "SHUTDOWN SAVE"] {
            assert!(
                connection.call(command).is_error(),
                "{command}: {name}, {fault}"
            );
            assert_eq!(files(server.dir()), before, "{command}: {name}, {fault}");
        }
        connection.call("DEL marker");
        state(connection).assert_same(&held, fault);
    });
    // Without faults, a save succeeds again.
    inject(&server, &[]);
    let held = State::of(&mut server.resp2());
    server.ok("DEBUG RELOAD");
    State::of(&mut server.resp2()).assert_same(&held, "after DEBUG RELOAD");
    server.ok("SAVE");
    server.kill_and_restart();
    State::of(&mut server.resp2()).assert_same(&held, "after a restart");
}

#[test]
fn info_counts_internal_errors() {
    let (server, mut connection) = start(&[]).connected();
    run_on(&mut connection, "key", FAMILIES[0].build);
    for count in 0..3 {
        assert_eq!(server.info_number("bf_internal_errors"), count);
        inject(&server, &["rdb_save integer"]);
        dump(&mut connection, "key");
        inject(&server, &[]);
    }
}

#[test]
fn a_child_that_cannot_save_a_value_ends_with_an_error() {
    let mut server = start(&[]);
    for_each_fault(&mut server, |server, connection, name, fault| {
        let before = files(server.dir());
        connection.ok("SET marker 1");
        assert!(!server.save_in_background(), "{name}, {fault}");
        assert_eq!(files(server.dir()), before, "{name}, {fault}");
        inject(server, &[]);
        assert!(server.save_in_background(), "{name}, {fault}");
    });
}

#[test]
fn a_payload_that_lacks_a_value_is_refused() {
    let mut server = start(&[]);
    let target = Server::start();
    let port = target.port();
    for_each_fault(&mut server, |_, connection, name, fault| {
        let payload = connection.payload("key");
        let reply = target.resp2().restore("copy", &payload).to_string();
        assert_eq!(reply, "-ERR Bad data format", "{name}, {fault}");
        let reply = connection.call(&format!("MIGRATE 127.0.0.1 {port} key 0 5000"));
        assert!(reply.to_string().contains("Bad data format"), "{reply}");
        target.check("DBSIZE", ":0");
        connection.check("EXISTS key", ":1");
    });
}

#[test]
fn a_replica_rejects_a_synchronization_that_lacks_a_value() {
    for diskless in ["yes", "no"] {
        let (primary, mut connection) = start(&["--repl-diskless-sync", diskless]).connected();
        build_all(&mut connection);
        let held = State::of(&mut connection);
        inject(&primary, &["rdb_save double"]);
        let mut replica = Server::start();
        replica.ok("SET own 1");
        replica.call(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
        let failed = "this child process ends with an error";
        replica.wait_until("two failed synchronizations", |_| {
            primary.log().matches(failed).count() >= 2
        });
        assert_eq!(replica.info("master_link_status").as_deref(), Some("down"));
        let found = replica.call("DBSIZE").to_string();
        assert_eq!(found, ":1", "diskless: {diskless}");
        inject(&primary, &[]);
        replica.wait_for_link();
        State::of(&mut replica.resp2()).assert_same(&held, diskless);
    }
}

#[test]
fn a_rewrite_of_the_aof_that_lacks_a_value_is_dropped() {
    for (preamble, place, parts) in [
        ("no", "aof_rewrite", ["first", "second", "memory"]),
        ("yes", "rdb_save", KINDS),
    ] {
        let arguments = ["--appendonly", "yes", "--aof-use-rdb-preamble", preamble];
        let (mut server, mut connection) = start(&arguments).connected();
        build_all(&mut connection);
        let held = State::of(&mut connection);
        for fault in parts.map(|part| format!("{place} {part}")) {
            inject(&server, &[&fault]);
            assert!(!server.rewrite_aof(), "preamble {preamble}, {fault}");
            inject(&server, &[]);
            server.kill_and_restart();
            State::of(&mut server.resp2()).assert_same(&held, &fault);
        }
        assert!(server.rewrite_aof(), "preamble {preamble}");
        server.kill_and_restart();
        State::of(&mut server.resp2()).assert_same(&held, "after a rewrite");
    }
}

/// The allocator refuses all memory while a value is saved, including a top-k sketch with too many elements for the
/// shared buffer and one with a long item.
#[test]
fn saving_allocates_no_memory() {
    let (mut server, mut connection) = start(&[]).connected();
    build_all(&mut connection);
    connection.ok("TOPK.RESERVE large 50000");
    for first in (0..2000).step_by(100) {
        let items = (first..first + 100).map(|n: u32| format!(" item:{n}"));
        connection.call(&format!("TOPK.ADD large{}", items.collect::<String>()));
    }
    connection.ok("TOPK.RESERVE long 3");
    connection.call(&format!("TOPK.ADD long {}", "x".repeat(3 << 20)));
    let held = State::of(&mut connection);
    inject(&server, &["rdb_save memory"]);
    State::of(&mut connection).assert_same(&held, "without memory");
    connection.ok("SAVE");
    assert!(server.save_in_background());
    inject(&server, &[]);
    server.kill_and_restart();
    State::of(&mut server.resp2()).assert_same(&held, "after a restart");
}
