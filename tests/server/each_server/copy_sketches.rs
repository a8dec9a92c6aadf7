//! scripts/copy-sketches copies all sketches between two servers and verifies them.

mod check;
mod recorded_source;

use crate::each_server::cluster::nodes::{Nodes, slot};
use crate::families::{FAMILIES, Family};
use crate::golden_dumps::{Golden, Key, recorded_families};
use crate::support::resp::{Connection, Reply, Text};
use crate::support::server::{Options, Server, UNUSED_PORT};
use crate::support::state::{State, select};
use crate::support::time;
use crate::valkey::recorded_keys;
use recorded_source::RecordedSource;
use roughly_dump::{Value, Values, type_id};
use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Debian's Python. The script accepts any Python 3.8 or later.
const PYTHON: &str = "/usr/bin/python3";
const SCRIPT: &str = "scripts/copy-sketches";
/// Maximum time until a condition is true.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a run of the script reported.
#[derive(Debug)]
pub struct Run {
    pub status: ExitStatus,
    pub output: String,
    pub errors: String,
}

impl Run {
    /// A count in the summary.
    pub fn count(&self, name: &str) -> u64 {
        let mut lines = self.output.lines();
        lines
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
            .unwrap_or_else(|| panic!("no count {name}: {self:?}"))
    }

    /// Asserts the exit status and the counts. A count that is not listed must be 0, except for `found` and `verified`.
    pub fn assert(&self, status: i32, counts: &[(&str, u64)]) {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        for name in [
            "copied",
            "equal",
            "skipped",
            "failed",
            "removed",
            "copied again",
        ] {
            let wanted = counts.iter().find(|(named, _)| *named == name);
            let wanted = wanted.map_or(0, |(_, count)| *count);
            assert_eq!(self.count(name), wanted, "{name}: {self:?}");
        }
        for (name, count) in counts {
            assert_eq!(self.count(name), *count, "{name}: {self:?}");
        }
    }

    /// Asserts that the run ended with this status and a line that has this text.
    pub fn assert_error(&self, status: i32, text: &str) {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        assert!(self.errors.contains(text), "no {text:?}: {self:?}");
    }
}

fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    Command::new(PYTHON)
        .arg(SCRIPT)
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {PYTHON}: {error}"))
}

fn finish(process: Child) -> Run {
    let output = process.wait_with_output().expect("an output");
    Run {
        status: output.status,
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs the script.
pub fn copy(arguments: &[&str]) -> Run {
    finish(start_with(arguments, &[]))
}

/// The URL of a server.
pub fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

fn names(connection: &mut Connection) -> Vec<String> {
    let reply = connection.call("KEYS *");
    let keys = reply.items().expect("keys").iter();
    let mut names: Vec<_> = keys
        .map(|key| Text(key.text().expect("a key")).to_string())
        .collect();
    names.sort();
    names
}

/// Builds a key of every type, named after its family, and a string.
fn build_all(connection: &mut Connection, suffix: &str) {
    for family in FAMILIES {
        family.build(connection, &format!("{}{suffix}", family.name));
    }
    assert!(connection.call(&format!("SET text{suffix} x")).is_ok());
}

/// Builds many keys of one family.
fn build_many(connection: &mut Connection, count: usize) {
    for number in 0..count {
        FAMILIES[0].build(connection, &format!("key:{number}"));
    }
}

fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < time::limit(TIMEOUT),
            "waited too long for {what}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

fn size(connection: &mut Connection) -> i64 {
    connection.call("DBSIZE").integer().expect("a count")
}

#[test]
fn sketches_of_all_types_and_databases_are_copied_in_both_ways() {
    let count = FAMILIES.len() as u64;
    for mode in [&[][..], &["--chunks", "0"]] {
        // Compression changes the bytes of a DUMP, not the value.
        let compression = ["--rdbcompression", "no"];
        let source = Server::start();
        let destination = Options::new().arguments(&compression).start();
        let mut old = source.resp2();
        let mut new = destination.resp2();
        for db in [0, 7] {
            select(&mut old, db);
            build_all(&mut old, "");
        }
        let ends = [&*url(&source), &url(&destination)];
        let arguments = [mode, &ends].concat();
        copy(&arguments).assert(
            0,
            &[
                ("found", 2 * count),
                ("copied", 2 * count),
                ("verified", 2 * count),
            ],
        );
        for db in [0, 7] {
            select(&mut old, db);
            select(&mut new, db);
            assert_eq!(size(&mut new), i64::try_from(count).unwrap());
            for family in FAMILIES {
                let name = family.name;
                assert_eq!(family.read(&mut new, name), family.read(&mut old, name));
            }
        }
        copy(&arguments).assert(0, &[("equal", 2 * count), ("verified", 2 * count)]);
    }
}

#[test]
fn the_time_to_live_is_copied() {
    for mode in ["64", "0"] {
        let source = Server::start();
        let destination = Server::start();
        let mut old = source.resp2();
        let mut new = destination.resp2();
        build_all(&mut old, "");
        old.call("PEXPIRE bf 3000000");
        let ends = [url(&source), url(&destination)];
        let arguments = ["--chunks", mode, &ends[0], &ends[1]];
        let count = FAMILIES.len() as u64;
        copy(&arguments).assert(0, &[("copied", count), ("verified", count)]);
        let left = new.call("PTTL bf").integer().expect("a time");
        assert!((2_900_000..=3_000_000).contains(&left), "{left}");
        assert_eq!(new.call("PTTL cf"), Reply::Integer(-1));
        // A key that is already at the destination gets the time to live of the source, too.
        old.call("PERSIST bf");
        old.call("PEXPIRE cf 5000000");
        copy(&arguments).assert(0, &[("equal", count), ("verified", count)]);
        assert_eq!(new.call("PTTL bf"), Reply::Integer(-1));
        let left = new.call("PTTL cf").integer().expect("a time");
        assert!((4_900_000..=5_000_000).contains(&left), "{left}");
    }
}

#[test]
fn databases_patterns_and_types_select_keys() {
    let source = Server::start();
    let destination = Server::start();
    let mut old = source.resp2();
    for db in [0, 3] {
        select(&mut old, db);
        build_all(&mut old, ":a");
        build_all(&mut old, ":b");
    }
    let (from, to) = (url(&source), url(&destination));
    let run = copy(&[
        "--dry-run",
        "-v",
        "--match",
        "*:a",
        "--types",
        "BF,cms",
        &from,
    ]);
    assert_eq!(run.status.code(), Some(0));
    // Those of the other types of the families, too.
    assert_eq!(run.count("found"), 10);
    assert!(
        run.output.contains("BF key \"bf:a\" in database 3\n"),
        "{run:?}"
    );
    let mut new = destination.resp2();
    assert_eq!(size(&mut new), 0);
    copy(&["--match", "*:a", "--types", "bf,cms", &from, &to]).assert(0, &[("copied", 10)]);
    let (from, to) = (from + "/3", to + "/5");
    let count = FAMILIES.len() as u64;
    copy(&["--match", "*:b", &from, &to]).assert(0, &[("copied", count)]);
    assert_eq!(
        names(&mut new),
        [
            "bf-window:a",
            "bf:a",
            "bloomfltr:a",
            "cms-window:a",
            "cms:a"
        ]
    );
    select(&mut new, 3);
    assert_eq!(
        names(&mut new),
        [
            "bf-window:a",
            "bf:a",
            "bloomfltr:a",
            "cms-window:a",
            "cms:a"
        ]
    );
    select(&mut new, 5);
    assert_eq!(
        names(&mut new),
        [
            "bf-window:b",
            "bf:b",
            "bloomfltr:b",
            "cf-window:b",
            "cf:b",
            "cms-window:b",
            "cms:b",
            "tdigest-window:b",
            "tdigest:b",
            "topk-window:b",
            "topk:b"
        ]
    );
}

#[test]
fn compare_writes_nothing_and_reports_differences() {
    let mut source = Server::start();
    let mut replica = Server::start();
    replica.replicate(&source);
    let mut old = source.resp2();
    build_all(&mut old, "");
    old.call("PEXPIRE cf 5000000");
    source.wait_for_replica(&replica);
    let count = FAMILIES.len() as u64;
    for mode in ["64", "0"] {
        let arguments = ["--compare", "--chunks", mode];
        // The replica refuses writes.
        let run = copy(&[&arguments[..], &[&url(&source), &url(&replica)]].concat());
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert_eq!((run.count("found"), run.count("equal")), (count, count));

        let other = Server::start();
        let mut new = other.resp2();
        let ends = [url(&source), url(&other)];
        let arguments = [&arguments[..], &["--rounds", "0", &ends[0], &ends[1]]].concat();
        let run = copy(&arguments);
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        assert_eq!((run.count("missing"), run.count("equal")), (count, 0));
        build_all(&mut new, "");
        for family in FAMILIES {
            family.change(&mut new, family.name, "77");
        }
        let before = State::of(&mut new);
        let run = copy(&arguments);
        assert_eq!(
            (run.count("different"), run.count("missing")),
            (count, 0),
            "{run:?}"
        );
        for family in FAMILIES {
            let line = format!(
                "different: {} key \"{}\"",
                family.prefix.to_uppercase(),
                family.name
            );
            assert!(run.errors.contains(&line), "{line}: {run:?}");
        }
        State::of(&mut new).assert_same(&before, "--compare");
    }
    // A different time to live.
    let other = Server::start();
    build_all(&mut other.resp2(), "");
    let run = copy(&["--compare", "--rounds", "0", &url(&source), &url(&other)]);
    assert_eq!(run.count("different"), 1, "{run:?}");
}

/// The bytes that the servers have sent to clients.
fn sent(servers: [&Server; 2]) -> i64 {
    let fields = servers.map(|server| server.info_number("total_net_output_bytes"));
    fields.iter().sum()
}

/// The servers compute digests of the keys, so a run that finds most keys equal transfers few values.
#[test]
fn a_second_run_transfers_only_what_changed() {
    let start = || {
        let options = Options::new().arguments(&["--rdbcompression", "no"]);
        options.start()
    };
    let (source, destination) = (start(), start());
    let mut old = source.resp2();
    for number in 0..50 {
        let reserve = format!("BF.RESERVE filter:{number} 0.001 20000");
        assert!(old.call(&reserve).is_ok());
        FAMILIES[0].change(&mut old, &format!("filter:{number}"), "x");
    }
    // Above 1 MiB, digests of chunks are compared.
    assert!(old.call("BF.RESERVE large 0.001 2000000").is_ok());
    let servers = [&source, &destination];
    let (from, to) = (url(&source), url(&destination));
    let run = |arguments: &[&str]| {
        let before = sent(servers);
        let run = copy(&[arguments, &[&*from, &to]].concat());
        (run, sent(servers) - before)
    };
    let (first, all) = run(&[]);
    first.assert(0, &[("copied", 51), ("verified", 51)]);
    // Each key was sent once.
    assert!(all > 5_000_000, "{all} bytes");
    let (second, bytes) = run(&["--replace"]);
    second.assert(0, &[("equal", 51), ("verified", 51)]);
    assert!(bytes < all / 20, "{bytes} of {all} bytes");
    let (compared, bytes) = run(&["--compare"]);
    assert_eq!(compared.count("equal"), 51, "{compared:?}");
    assert!(bytes < all / 20, "{bytes} of {all} bytes");
    // A changed value, and a changed time to live.
    FAMILIES[0].change(&mut old, "filter:7", "changed");
    old.call("PEXPIRE filter:8 5000000");
    let (third, bytes) = run(&["--replace"]);
    third.assert(0, &[("copied", 1), ("equal", 50), ("verified", 51)]);
    assert!(bytes < all / 10, "{bytes} of {all} bytes");
    let left = destination.call("PTTL filter:8").integer();
    assert!(left > Some(4_900_000), "{left:?}");
    for server in servers {
        server.call("PERSIST filter:8");
    }
    State::of(&mut destination.resp2()).assert_same(&State::of(&mut old), "the third run");
    // A user without scripts gets the same result. The values are transferred.
    for command in ["ACL SETUSER default -eval", "UNLINK filter:9"] {
        destination.call(command);
    }
    let (last, bytes) = run(&["--replace"]);
    last.assert(0, &[("copied", 1), ("equal", 50), ("verified", 51)]);
    assert!(bytes > all, "{bytes} of {all} bytes");
}

#[test]
fn the_progress_has_phase_total_percent_rate_and_remaining_time() {
    let (source, destination) = (Server::start(), Server::start());
    build_many(&mut source.resp2(), 100);
    let run = copy(&["--progress", "0", &url(&source), &url(&destination)]);
    run.assert(0, &[("copied", 100), ("verified", 100)]);
    let lines: Vec<_> = run.errors.lines().collect();
    for phase in ["listing: ", "copying: ", "comparing: "] {
        assert!(
            lines.iter().any(|line| line.starts_with(phase)),
            "{phase}{run:?}"
        );
    }
    let last = lines.iter().rfind(|line| line.starts_with("copying: "));
    let last = last.expect("a line");
    assert!(last.contains("100 of 100 keys, 100 %, "), "{last}");
    assert!(last.contains(" keys/s, 0 s left; "), "{last}");
}

#[test]
fn names_may_have_any_bytes() {
    let source = Server::start();
    let destination = Server::start();
    let mut old = source.resp2();
    let keys: [&[u8]; 5] = [b"", b"\xff\x00\r\n", b"a b", b"{tag", b"a}b"];
    for key in keys {
        let reply = old.send(&[b"BF.ADD", key, b"x"]);
        assert_eq!(reply, Reply::Integer(1));
    }
    for mode in ["64", "0"] {
        let arguments = ["--chunks", mode, &url(&source), &url(&destination)];
        copy(&arguments).assert(0, &[("copied", 5), ("verified", 5)]);
        let wanted = State::of(&mut old);
        State::of(&mut destination.resp2()).assert_same(&wanted, "copied");
        assert!(destination.call("FLUSHALL").is_ok());
    }
}

#[test]
fn a_key_with_another_value_is_overwritten_only_with_replace() {
    for mode in ["64", "0"] {
        let source = Server::start();
        let destination = Server::start();
        let mut old = source.resp2();
        let mut new = destination.resp2();
        build_all(&mut old, "");
        build_all(&mut new, "");
        FAMILIES[0].change(&mut new, "bf", "other");
        assert!(new.call("SET cms text").is_ok());
        let ends = [url(&source), url(&destination)];
        let arguments = ["--chunks", mode, &ends[0], &ends[1]];
        let before = State::of(&mut new);
        let run = copy(&arguments);
        let equal = FAMILIES.len() as u64 - 2;
        run.assert(1, &[("equal", equal), ("skipped", 2), ("verified", equal)]);
        run.assert_error(
            1,
            "BF key \"bf\" in database 0 exists at the destination with another value",
        );
        State::of(&mut new).assert_same(&before, "without --replace");
        let arguments = [&["--replace"][..], &arguments].concat();
        let counts = [("copied", 2), ("equal", equal), ("verified", equal + 2)];
        copy(&arguments).assert(0, &counts);
        State::of(&mut new).assert_same(&State::of(&mut old), "with --replace");
    }
}

#[test]
fn a_killed_run_is_continued() {
    for mode in ["64", "0"] {
        let source = Server::start();
        let destination = Server::start();
        let mut old = source.resp2();
        build_many(&mut old, 3000);
        let ends = [url(&source), url(&destination)];
        let arguments = ["--chunks", mode, &ends[0], &ends[1]];
        let mut new = destination.resp2();
        let mut process = start_with(&arguments, &[]);
        wait("some keys", || size(&mut new) > 50);
        process.kill().expect("a process");
        finish(process);
        let done = u64::try_from(size(&mut new)).unwrap();
        assert!(done < 3000, "the run was too fast");
        let run = copy(&arguments);
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert_eq!(run.count("equal") + run.count("copied"), 3000, "{run:?}");
        // One key may have been incomplete.
        assert!(run.count("equal") + 1 >= done, "{done}: {run:?}");
        // A temporary key of the killed run expires later.
        let leftovers: Vec<_> = names(&mut new)
            .into_iter()
            .filter(|name| name.ends_with(".copy-sketches"))
            .collect();
        for name in &leftovers {
            let left = new.send(&["PTTL", name]).integer().expect("a time");
            assert!(left > 0, "{name} does not expire");
            new.send(&["DEL", name]);
        }
        assert!(leftovers.len() <= 1, "{leftovers:?}");
        State::of(&mut new).assert_same(&State::of(&mut old), "after the second run");
    }
}

/// Starts a copy of many keys and changes one of them at the source after it was copied and before it is verified.
fn copy_and_change(
    arguments: &[&str],
    change: impl FnOnce(&mut Connection, &str),
) -> (Run, Server, Server) {
    let source = Server::start();
    let destination = Server::start();
    let mut old = source.resp2();
    build_many(&mut old, 2000);
    let ends = [&*url(&source), &url(&destination)];
    let mut new = destination.resp2();
    let process = start_with(&[arguments, &ends].concat(), &[]);
    wait("a key", || size(&mut new) > 0);
    let name = match new.call("RANDOMKEY") {
        Reply::Bulk(name) => String::from_utf8(name).expect("a name"),
        other => panic!("{other}"),
    };
    change(&mut old, &name);
    (finish(process), source, destination)
}

#[test]
fn a_key_that_changes_during_the_copy_is_copied_again() {
    let add = |old: &mut Connection, key: &str| FAMILIES[0].change(old, key, "new");
    let (run, source, destination) = copy_and_change(&[], add);
    run.assert(
        0,
        &[("copied", 2000), ("copied again", 1), ("verified", 2000)],
    );
    State::of(&mut destination.resp2()).assert_same(&State::of(&mut source.resp2()), "verified");
    let (run, ..) = copy_and_change(&["--rounds", "0"], add);
    run.assert(
        1,
        &[
            ("copied", 1999),
            ("failed", 1),
            ("verified", 1999),
            ("copied again", 0),
        ],
    );
    run.assert_error(1, "changed after each copy");
}

#[test]
fn a_key_that_is_removed_during_the_copy_is_reported() {
    let remove = |old: &mut Connection, key: &str| {
        assert_eq!(old.send(&["DEL", key]), Reply::Integer(1));
    };
    let (run, ..) = copy_and_change(&[], remove);
    run.assert(1, &[("copied", 1999), ("failed", 1), ("verified", 1999)]);
    run.assert_error(1, "was removed from the source after it was copied");
}

/// All keys that were recorded from one release of RedisBloom.
fn recorded(folder: &'static str) -> Vec<(&'static Family, Key)> {
    recorded_families()
        .flat_map(|family| {
            let keys = Golden::load(folder, family).keys.into_iter();
            keys.map(move |key| (family, key))
        })
        .collect()
}

#[test]
fn keys_of_redisbloom_are_copied_whatever_the_rdb_version() {
    for folder in ["2.8", "8.10"] {
        let keys = recorded(folder);
        let count = keys.len() as u64;
        let source = RecordedSource::start(&keys, |payload| payload);
        let destination = Server::start();
        let mut new = destination.resp2();
        let arguments = [&*source.url(), &url(&destination)];
        copy(&arguments).assert(0, &[("copied", count), ("verified", count)]);
        for (_, key) in &keys {
            key.assert_dump(&mut new);
        }
        copy(&arguments).assert(0, &[("equal", count), ("verified", count)]);
    }
}

#[test]
fn keys_of_valkey_bloom_are_copied_whatever_the_rdb_version() {
    let keys = recorded_keys::keys();
    let count = keys.len() as u64;
    let source = RecordedSource::of_valkey_bloom();
    let destination = Server::start();
    let mut new = destination.resp2();
    let arguments = [&*source.url(), &url(&destination)];
    copy(&arguments).assert(0, &[("copied", count), ("verified", count)]);
    for key in keys {
        key.assert_dump(&mut new);
    }
    copy(&arguments).assert(0, &[("equal", count), ("verified", count)]);
    let compare = ["--compare", "--rounds", "0", arguments[0], arguments[1]];
    let compared = || {
        let run = copy(&compare);
        let counts = ["equal", "different"].map(|name| run.count(name));
        (run.status.code(), counts)
    };
    assert_eq!(compared(), (Some(0), [count, 0]));
    assert_eq!(new.call("COPY fx-auto fx-tiny REPLACE"), Reply::Integer(1));
    copy(&arguments).assert(1, &[("equal", count - 1), ("skipped", 1)]);
    assert_eq!(compared(), (Some(1), [count - 1, 1]));
}

#[test]
fn keys_of_types_that_valkey_bloom_lacks_are_reported() {
    let source = Server::start();
    let mut old = source.resp2();
    let lacks = |family: &&Family| family.name != "bloomfltr";
    for family in FAMILIES.iter().filter(lacks) {
        family.build(&mut old, family.name);
    }
    let destination = RecordedSource::of_valkey_bloom();
    let run = copy(&[&url(&source), &destination.url()]);
    let count = FAMILIES.iter().filter(lacks).count() as u64;
    run.assert(1, &[("failed", count)]);
    for family in FAMILIES.iter().filter(lacks) {
        let prefix = family.prefix.to_uppercase();
        let reason = if family.has_window {
            "valkey-bloom has no windows".to_owned()
        } else {
            let name = family.type_name;
            format!("valkey-bloom does not have the type {name}")
        };
        let name = family.name;
        let line = format!("failed: {prefix} key \"{name}\" in database 0: {reason}\n");
        run.assert_error(1, &line);
    }
}

#[test]
fn a_refused_payload_is_copied_in_chunks_or_reported() {
    let keys = recorded("8.10");
    let has_chunks = |(_, key): &&(&Family, Key)| key.chunks.is_some();
    let copied = keys.iter().filter(has_chunks).count() as u64;
    let failed = keys.len() as u64 - copied;
    // The highest encoding version.
    let source = RecordedSource::start(&keys, |mut payload| {
        payload[8] |= 3;
        payload[9] = 255;
        payload
    });
    let destination = Server::start();
    let run = copy(&[&source.url(), &url(&destination)]);
    run.assert(
        1,
        &[("copied", copied), ("failed", failed), ("verified", copied)],
    );
    run.assert_error(
        1,
        "failed: TDIGEST key \"td-normal\" in database 0: ERR Bad data format; it cannot be copied in chunks either",
    );
    let mut new = destination.resp2();
    for (_, key) in keys.iter().filter(has_chunks) {
        key.assert_dump(&mut new);
    }
}

/// RedisBloom 8.12 writes count-min sketches in encoding version 1, which has one more number. Roughly writes version 0.
#[test]
fn a_key_in_another_encoding_version_is_equal_after_the_copy() {
    let keys: Vec<_> = recorded("8.10")
        .into_iter()
        .filter(|(family, _)| family.prefix == "cms")
        .collect();
    let count = keys.len() as u64;
    let source = RecordedSource::start(&keys, |mut body| {
        body.extend_from_slice(&[0; 10]);
        let (_, mut values) = Values::from_dump(&body).expect("a payload");
        values.values.insert(2, Value::Integer(4));
        let mut payload = values.to_dump(type_id(b"CMSk-TYPE", 1));
        payload.truncate(payload.len() - 10);
        payload
    });
    let destination = Server::start();
    let arguments = [&*source.url(), &url(&destination)];
    copy(&arguments).assert(0, &[("copied", count), ("verified", count)]);
    let mut new = destination.resp2();
    for (_, key) in &keys {
        key.assert_dump(&mut new);
    }
    copy(&arguments).assert(0, &[("equal", count), ("verified", count)]);
    assert_eq!(size(&mut new), i64::try_from(count).unwrap());
    FAMILIES[2].build(&mut new, "other");
    let changed = format!("COPY other {} REPLACE", keys[0].1.name);
    assert_eq!(new.call(&changed), Reply::Integer(1));
    copy(&arguments).assert(1, &[("equal", count - 1), ("skipped", 1)]);
}

#[test]
fn arguments_above_the_bulk_limit_are_reported() {
    let source = Options::new()
        .arguments(&["--rdbcompression", "no"])
        .start();
    let destination = Options::new()
        .arguments(&["--proto-max-bulk-len", "1mb"])
        .start();
    let mut old = source.resp2();
    assert!(old.call("CMS.INITBYDIM large 300000 1").is_ok());
    FAMILIES[0].build(&mut old, "small");
    let run = copy(&[&url(&source), &url(&destination)]);
    run.assert(1, &[("copied", 1), ("failed", 1), ("verified", 1)]);
    run.assert_error(1, "exceed proto-max-bulk-len of the destination");
}

#[test]
fn passwords_are_read_from_urls_and_the_environment() {
    let source = Server::start();
    let destination = Server::start();
    let mut old = source.resp2();
    FAMILIES[0].build(&mut old, "key");
    assert!(old.call("CONFIG SET requirepass secret%2f").is_ok());
    let mut new = destination.resp2();
    assert!(new.call("ACL SETUSER copier on >p@ss ~* &* +@all").is_ok());
    assert!(new.call("ACL SETUSER default -restore").is_ok());
    let port = destination.port();
    let (from, to) = (
        url(&source),
        format!("redis://copier:p%40ss@127.0.0.1:{port}"),
    );
    copy(&[&from, &to]).assert_error(2, "refused INFO: NOAUTH");
    let run = |variable, value| finish(start_with(&[&from, &to], &[(variable, value)]));
    let variable = "COPY_SKETCHES_SOURCE_PASSWORD";
    run(variable, "wrong").assert_error(2, "refused the login: WRONGPASS");
    run(variable, "secret%2f").assert(0, &[("copied", 1), ("verified", 1)]);
    // The default user may not restore.
    new.call("DEL key");
    let run = finish(start_with(
        &[&from, &url(&destination)],
        &[(variable, "secret%2f")],
    ));
    run.assert(1, &[("failed", 1)]);
    run.assert_error(1, "NOPERM");
    assert!(old.call("CONFIG SET requirepass ").is_ok());
}

#[test]
fn clusters_are_copied_as_a_whole() {
    let count = FAMILIES.len() as u64 * 30;
    let single = Server::start();
    let nodes = Nodes::start(3, false);
    let back = Server::start();
    let mut old = single.resp2();
    for number in 0..30 {
        for family in FAMILIES {
            let name = match number % 3 {
                0 => format!("{}:{number}", family.name),
                1 => format!("{{tag:{number}}}:{}", family.name),
                _ => format!("{}}}:{number}", family.name),
            };
            family.build(&mut old, &name);
        }
    }
    let wanted = State::of(&mut old);
    for mode in ["64", "0"] {
        let node = url(&nodes.servers[1]);
        let run = copy(&["--chunks", mode, &url(&single), &node]);
        run.assert(0, &[("copied", count), ("verified", count)]);
        let mut copied = State::default();
        for server in &nodes.servers {
            assert!(size(&mut server.resp2()) > 0);
            copied.extend(State::of(&mut server.resp2()));
        }
        copied.assert_same(&wanted, "to a cluster");
        let run = copy(&["--check", "--for", "roughly", &node]);
        assert_eq!((run.count("found"), run.count("same")), (count, count));
        let run = copy(&["--chunks", mode, &node, &url(&back)]);
        run.assert(0, &[("copied", count), ("verified", count)]);
        State::of(&mut back.resp2()).assert_same(&wanted, "from a cluster");
        for server in nodes.servers.iter().chain([&back]) {
            assert!(server.call("FLUSHALL SYNC").is_ok());
        }
    }
}

#[test]
fn slots_that_move_during_the_copy_are_followed() {
    let single = Server::start();
    let nodes = Nodes::start(3, false);
    let mut old = single.resp2();
    for number in 0..2000 {
        FAMILIES[0].build(&mut old, &format!("{{tag}}{number}"));
    }
    let process = start_with(&[&url(&single), &url(&nodes.servers[0])], &[]);
    let slot = slot(b"tag");
    let from = nodes.owner(slot);
    let mut owner = nodes.servers[from].resp2();
    wait("some keys", || size(&mut owner) > 50);
    nodes.move_slot(slot, (from + 1) % 3);
    let run = finish(process);
    run.assert(0, &[("copied", 2000), ("verified", 2000)]);
    let mut new = nodes.servers[(from + 1) % 3].resp2();
    assert_eq!(size(&mut new), 2000);
}

#[test]
fn errors_name_the_server_that_cannot_be_used() {
    let server = Server::start();
    FAMILIES[0].build(&mut server.resp2(), "key");
    let good = url(&server);
    let nobody = format!("127.0.0.1:{UNUSED_PORT}");
    copy(&[&good, &nobody]).assert_error(2, "cannot connect to the destination");
    copy(&[&nobody, &good]).assert_error(2, "cannot connect to the source");
    copy(&[&good, &good]).assert_error(2, "the same server");
    let bare = Options::new().without_module().start();
    copy(&[&good, &url(&bare)])
        .assert_error(2, "the destination has neither Roughly nor RedisBloom");
    copy(&[&url(&bare), &good]).assert_error(2, "the source has neither Roughly nor RedisBloom");
    let replica = Server::start();
    assert!(
        replica
            .call(&format!("REPLICAOF {nobody}").replace(':', " "))
            .is_ok()
    );
    copy(&[&good, &url(&replica)]).assert_error(2, "refuses commands: READONLY");
    // A server of another protocol.
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let process = start_with(&[&format!("redis://127.0.0.1:{port}"), &good], &[]);
    let (mut stream, _) = listener.accept().expect("a connection");
    stream
        .write_all(b"HTTP/1.1 400 Bad Request\r\n")
        .expect("a line");
    finish(process).assert_error(2, "is no Redis or Valkey server");
}

#[test]
fn a_destination_that_ends_during_the_copy_is_reported() {
    let source = Server::start();
    let mut destination = Server::start();
    build_many(&mut source.resp2(), 2000);
    let process = start_with(&[&url(&source), &url(&destination)], &[]);
    let mut new = destination.resp2();
    wait("some keys", || size(&mut new) > 50);
    destination.kill();
    let run = finish(process);
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    assert!(run.errors.contains("the destination 127.0.0.1"), "{run:?}");
    destination.relaunch();
    copy(&[&url(&source), &url(&destination)]).assert(0, &[("copied", 2000), ("verified", 2000)]);
}

#[test]
fn wrong_arguments_are_refused() {
    for (arguments, text) in [
        (&[][..], "required: source"),
        (&["a"], "required: destination"),
        (&["a", "b", "c"], "unrecognized arguments: c"),
        (&["--check", "a", "b"], "--check has one URL"),
        (&["--check", "--for", "x", "a"], "invalid choice: 'x'"),
        (&["--for", "roughly", "a", "b"], "--for requires --check"),
        (&["--types", "bf,set", "a", "b"], "unknown type 'set'"),
        (&["--chunks", "-1", "a", "b"], "invalid integer value"),
        (&["--rounds", "x", "a", "b"], "invalid integer value"),
        (
            &["--timeout", "0", "a", "b"],
            "invalid number of seconds value",
        ),
        (
            &["http://a", "b"],
            "starts with neither redis:// nor rediss://",
        ),
        (
            &["a/x", "b"],
            "the URL of the source does not have the form",
        ),
        (
            &["a:x", "b"],
            "the URL of the source does not have the form",
        ),
        (
            &["a", "b/-1"],
            "the URL of the destination does not have the form",
        ),
        (
            &["a", "b/1"],
            "a database of the destination requires a database of the source",
        ),
        (
            &["--cacert", "/nonexistent", "rediss://a", "b"],
            "cannot read the certificates",
        ),
    ] {
        copy(arguments).assert_error(2, text);
    }
    let run = copy(&["--help"]);
    assert_eq!(run.status.code(), Some(0));
    for name in [
        "--replace",
        "--chunks",
        "--match",
        "--types",
        "--rounds",
        "--dry-run",
        "--check",
        "--for",
        "--compare",
        "--progress",
    ] {
        assert!(run.output.contains(name), "{name}");
    }
}
