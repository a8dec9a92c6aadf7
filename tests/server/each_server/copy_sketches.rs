//! scripts/copy-sketches copies all sketches between two servers and verifies them.

mod check;
mod recorded_source;

use crate::each_server::cluster::nodes::{Nodes, slot};
use crate::families::{FAMILIES, Family};
use crate::golden_dumps::{Golden, Key, recorded_families};
use crate::support::names::assert_same_names;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server, UNUSED_PORT};
use crate::support::state::{State, select};
use crate::support::time;
use crate::valkey::recorded_keys;
use recorded_source::RecordedSource;
use roughly_dump::{Value, Values, type_id};
use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Debian's Python, which has the library redis.
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

    /// Some counts in the summary.
    pub fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.count(name))
    }

    /// Asserts the exit status and the counts. A count that is not listed must be 0, except for `found` and `verified`.
    pub fn assert(&self, status: i32, counts: &[(&str, u64)]) {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        let names = "copied equal skipped failed removed";
        let zero = names.split(' ').chain(["copied again"]);
        let zero = zero.filter(|name| counts.iter().all(|(listed, _)| listed != name));
        for (name, count) in zero.map(|name| (name, 0)).chain(counts.iter().copied()) {
            assert_eq!(self.count(name), count, "{name}: {self:?}");
        }
    }

    /// Asserts that all keys are verified and have this result.
    pub fn assert_all(&self, result: &str, keys: u64) {
        self.assert(0, &[("found", keys), (result, keys), ("verified", keys)]);
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

pub fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

/// Number of types of keys.
fn all() -> u64 {
    FAMILIES.len() as u64
}

/// A source and a destination, and a connection to each.
struct Pair {
    source: Server,
    destination: Server,
    old: Connection,
    new: Connection,
}

impl Pair {
    fn of(source: Options, destination: Options) -> Self {
        let (source, destination) = (source.start(), destination.start());
        Self {
            old: source.resp2(),
            new: destination.resp2(),
            source,
            destination,
        }
    }

    fn start() -> Self {
        Self::of(Options::new(), Options::new())
    }

    /// A source with keys of one family.
    fn with_many(count: usize) -> Self {
        let mut pair = Self::start();
        for number in 0..count {
            FAMILIES[0].build(&mut pair.old, &format!("key:{number}"));
        }
        pair
    }

    /// Starts the script.
    fn begin(&self, options: &[&str]) -> Child {
        let ends = [&*url(&self.source), &url(&self.destination)];
        start_with(&[options, &ends].concat(), &[])
    }

    /// Starts the script, and waits until it has copied some keys.
    fn begin_and_wait(&mut self, options: &[&str], keys: i64) -> Child {
        let process = self.begin(options);
        wait("some keys", || size(&mut self.new) > keys);
        process
    }

    fn copy(&self, options: &[&str]) -> Run {
        finish(self.begin(options))
    }

    fn assert_same(&mut self, when: &str) {
        State::of(&mut self.new).assert_same(&State::of(&mut self.old), when);
    }
}

fn names(connection: &mut Connection) -> Vec<String> {
    let mut names = connection.call("KEYS *").strings();
    names.sort();
    names
}

/// Builds a key of every type, named after its family, and a string.
fn build_all(connection: &mut Connection, suffix: &str) {
    for family in FAMILIES {
        family.build(connection, &format!("{}{suffix}", family.name));
    }
    connection.ok(&format!("SET text{suffix} x"));
}

fn wait(what: &str, condition: impl FnMut() -> bool) {
    let is_true = time::becomes_true(TIMEOUT, Duration::from_millis(1), condition);
    assert!(is_true, "waited too long for {what}");
}

fn size(connection: &mut Connection) -> i64 {
    connection.call("DBSIZE").integer().expect("a count")
}

#[test]
fn sketches_of_all_types_and_databases_are_copied_in_both_ways() {
    let count = 2 * all();
    for mode in ["64", "0"] {
        // Compression changes the bytes of a DUMP, not the value.
        let destination = Options::new().arguments(&["--rdbcompression", "no"]);
        let mut pair = Pair::of(Options::new(), destination);
        for db in [0, 7] {
            select(&mut pair.old, db);
            build_all(&mut pair.old, "");
        }
        pair.copy(&["--chunks", mode]).assert_all("copied", count);
        for db in [0, 7] {
            select(&mut pair.old, db);
            select(&mut pair.new, db);
            assert_eq!(size(&mut pair.new), i64::try_from(all()).unwrap());
            for family in FAMILIES {
                let name = family.name;
                let found = family.read(&mut pair.new, name);
                assert_eq!(found, family.read(&mut pair.old, name));
            }
        }
        pair.copy(&["--chunks", mode]).assert_all("equal", count);
    }
}

#[test]
fn the_time_to_live_is_copied() {
    for mode in ["64", "0"] {
        let mut pair = Pair::start();
        build_all(&mut pair.old, "");
        pair.old.call("PEXPIRE bf 3000000");
        pair.copy(&["--chunks", mode]).assert_all("copied", all());
        let left = pair.new.call("PTTL bf").integer().expect("a time");
        assert!((2_900_000..=3_000_000).contains(&left), "{left}");
        assert_eq!(pair.new.call("PTTL cf"), Reply::Integer(-1));
        // A key that is already at the destination gets the time to live of the source, too.
        pair.old.call("PERSIST bf");
        pair.old.call("PEXPIRE cf 5000000");
        pair.copy(&["--chunks", mode]).assert_all("equal", all());
        assert_eq!(pair.new.call("PTTL bf"), Reply::Integer(-1));
        let left = pair.new.call("PTTL cf").integer().expect("a time");
        assert!((4_900_000..=5_000_000).contains(&left), "{left}");
    }
}

#[test]
fn databases_patterns_and_types_select_keys() {
    let mut pair = Pair::start();
    for db in [0, 3] {
        select(&mut pair.old, db);
        build_all(&mut pair.old, ":a");
        build_all(&mut pair.old, ":b");
    }
    let (from, to) = (url(&pair.source), url(&pair.destination));
    let list = ["--dry-run", "-v", "--match", "*:a", "--types", "BF,cms"];
    let run = copy(&[&list[..], &[&from]].concat());
    assert_eq!(run.status.code(), Some(0));
    // Those of the other types of the families, too.
    assert_eq!(run.count("found"), 10);
    let line = "BF key \"bf:a\" in database 3\n";
    assert!(run.output.contains(line), "{run:?}");
    assert_eq!(size(&mut pair.new), 0);
    pair.copy(&["--match", "*:a", "--types", "bf,cms"])
        .assert(0, &[("copied", 10)]);
    let ends = [&*(from + "/3"), &(to + "/5")];
    copy(&[&["--match", "*:b"], &ends[..]].concat()).assert(0, &[("copied", all())]);
    let copied = "bf-window:a bf:a bloomfltr:a cms-window:a cms:a";
    for db in [0, 3] {
        select(&mut pair.new, db);
        assert_eq!(names(&mut pair.new).join(" "), copied);
    }
    select(&mut pair.new, 5);
    let wanted = FAMILIES.iter().map(|family| format!("{}:b", family.name));
    assert_same_names(names(&mut pair.new), wanted, "copied keys");
}

#[test]
fn compare_writes_nothing_and_reports_differences() {
    let mut pair = Pair::start();
    let mut replica = Server::start();
    replica.replicate(&pair.source);
    build_all(&mut pair.old, "");
    pair.old.call("PEXPIRE cf 5000000");
    pair.source.wait_for_replica(&replica);
    for mode in ["64", "0"] {
        let arguments = ["--compare", "--chunks", mode, "--rounds", "0"];
        // The replica refuses writes.
        let ends = [&*url(&pair.source), &url(&replica)];
        let run = copy(&[&arguments[..3], &ends].concat());
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert_eq!(run.counts(["found", "equal"]), [all(), all()]);

        pair.new.ok("FLUSHALL");
        let run = pair.copy(&arguments);
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        assert_eq!(run.counts(["missing", "equal"]), [all(), 0]);
        build_all(&mut pair.new, "");
        for family in FAMILIES {
            family.change(&mut pair.new, family.name, "77");
        }
        let before = State::of(&mut pair.new);
        let run = pair.copy(&arguments);
        assert_eq!(run.counts(["different", "missing"]), [all(), 0], "{run:?}");
        for family in FAMILIES {
            let prefix = family.prefix.to_uppercase();
            let line = format!("different: {prefix} key \"{}\"", family.name);
            assert!(run.errors.contains(&line), "{line}: {run:?}");
        }
        State::of(&mut pair.new).assert_same(&before, "--compare");
    }
    // A different time to live.
    pair.new.ok("FLUSHALL");
    build_all(&mut pair.new, "");
    let run = pair.copy(&["--compare", "--rounds", "0"]);
    assert_eq!(run.count("different"), 1, "{run:?}");
}

/// A key at the destination that has the name of a temporary key is none, unless it expires.
#[test]
fn a_key_with_a_temporary_name_stays() {
    let mut pair = Pair::start();
    pair.old.run("BF.ADD key item");
    pair.new.run("BF.ADD key.copy-sketches other");
    let run = pair.copy(&["--chunks", "0"]);
    run.assert(1, &[("failed", 1)]);
    pair.new.check("BF.EXISTS key.copy-sketches other", ":1");
    pair.new.run("EXPIRE key.copy-sketches 1000");
    pair.copy(&["--chunks", "0"]).assert_all("copied", 1);
    pair.new.check("BF.EXISTS key item", ":1");
    pair.new.check("EXISTS key.copy-sketches", ":0");
}

/// The bytes that the servers have sent to clients.
fn sent(servers: [&Server; 2]) -> i64 {
    let fields = servers.map(|server| server.info_number("total_net_output_bytes"));
    fields.iter().sum()
}

/// The servers compute digests of the keys, so a run that finds most keys equal transfers few values.
#[test]
fn a_second_run_transfers_only_what_changed() {
    let options = Options::new().arguments(&["--rdbcompression", "no"]);
    let mut pair = Pair::of(options.clone(), options);
    for number in 0..50 {
        pair.old
            .ok(&format!("BF.RESERVE filter:{number} 0.001 20000"));
        FAMILIES[0].change(&mut pair.old, &format!("filter:{number}"), "x");
    }
    // Above 1 MiB, digests of chunks are compared.
    pair.old.ok("BF.RESERVE large 0.001 2000000");
    let run = |pair: &Pair, option: &str| {
        let before = sent([&pair.source, &pair.destination]);
        let run = pair.copy(&[option]);
        (run, sent([&pair.source, &pair.destination]) - before)
    };
    let (first, all) = run(&pair, "--replace");
    first.assert_all("copied", 51);
    // Each key was sent once.
    assert!(all > 5_000_000, "{all} bytes");
    let (second, bytes) = run(&pair, "--replace");
    second.assert_all("equal", 51);
    assert!(bytes < all / 20, "{bytes} of {all} bytes");
    let (compared, bytes) = run(&pair, "--compare");
    assert_eq!(compared.count("equal"), 51, "{compared:?}");
    assert!(bytes < all / 20, "{bytes} of {all} bytes");
    // A changed value, and a changed time to live.
    FAMILIES[0].change(&mut pair.old, "filter:7", "changed");
    pair.old.call("PEXPIRE filter:8 5000000");
    let (third, bytes) = run(&pair, "--replace");
    third.assert(0, &[("copied", 1), ("equal", 50), ("verified", 51)]);
    assert!(bytes < all / 10, "{bytes} of {all} bytes");
    let left = pair.new.call("PTTL filter:8").integer();
    assert!(left > Some(4_900_000), "{left:?}");
    for connection in [&mut pair.old, &mut pair.new] {
        connection.call("PERSIST filter:8");
    }
    pair.assert_same("the third run");
    // A user without scripts gets the same result. The values are transferred.
    for command in ["ACL SETUSER default -eval", "UNLINK filter:9"] {
        pair.new.call(command);
    }
    let (last, bytes) = run(&pair, "--replace");
    last.assert(0, &[("copied", 1), ("equal", 50), ("verified", 51)]);
    assert!(bytes > all, "{bytes} of {all} bytes");
}

#[test]
fn the_progress_has_phase_total_percent_rate_and_remaining_time() {
    let run = Pair::with_many(100).copy(&["--progress", "0"]);
    run.assert_all("copied", 100);
    let lines: Vec<_> = run.errors.lines().collect();
    for phase in ["listing: ", "copying: ", "comparing: "] {
        let is_shown = lines.iter().any(|line| line.starts_with(phase));
        assert!(is_shown, "{phase}{run:?}");
    }
    let last = lines.iter().rfind(|line| line.starts_with("copying: "));
    let last = last.expect("a line");
    assert!(last.contains("100 of 100 keys, 100 %, "), "{last}");
    assert!(last.contains(" keys/s, 0:00:00 left; "), "{last}");
}

#[test]
fn names_may_have_any_bytes() {
    let mut pair = Pair::start();
    let keys: [&[u8]; 5] = [b"", b"\xff\x00\r\n", b"a b", b"{tag", b"a}b"];
    for key in keys {
        assert_eq!(pair.old.send(&[b"BF.ADD", key, b"x"]), Reply::Integer(1));
    }
    for mode in ["64", "0"] {
        pair.copy(&["--chunks", mode]).assert_all("copied", 5);
        pair.assert_same("copied");
        pair.new.ok("FLUSHALL");
    }
}

#[test]
fn a_key_with_another_value_is_overwritten_only_with_replace() {
    for mode in ["64", "0"] {
        let mut pair = Pair::start();
        build_all(&mut pair.old, "");
        build_all(&mut pair.new, "");
        FAMILIES[0].change(&mut pair.new, "bf", "other");
        pair.new.ok("SET cms text");
        let before = State::of(&mut pair.new);
        let run = pair.copy(&["--chunks", mode]);
        let equal = all() - 2;
        run.assert(1, &[("equal", equal), ("skipped", 2), ("verified", equal)]);
        let line = "BF key \"bf\" in database 0 exists at the destination with another value";
        run.assert_error(1, line);
        State::of(&mut pair.new).assert_same(&before, "without --replace");
        let counts = [("copied", 2), ("equal", equal), ("verified", equal + 2)];
        pair.copy(&["--chunks", mode, "--replace"])
            .assert(0, &counts);
        pair.assert_same("with --replace");
    }
}

#[test]
fn a_killed_run_is_continued() {
    for (mode, keys) in [("64", 3000), ("0", 1000)] {
        let mut pair = Pair::with_many(keys);
        let mut process = pair.begin_and_wait(&["--chunks", mode], 50);
        process.kill().expect("a process");
        finish(process);
        let done = u64::try_from(size(&mut pair.new)).unwrap();
        assert!(done < keys as u64, "the run was too fast");
        let run = pair.copy(&["--chunks", mode]);
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        let found = run.count("equal") + run.count("copied");
        assert_eq!(found, keys as u64, "{run:?}");
        // One key may have been incomplete.
        assert!(run.count("equal") + 1 >= done, "{done}: {run:?}");
        // A temporary key of the killed run expires later.
        let mut leftovers = names(&mut pair.new);
        leftovers.retain(|name| name.ends_with(".copy-sketches"));
        for name in &leftovers {
            let left = pair.new.send(&["PTTL", name]).integer().expect("a time");
            assert!(left > 0, "{name} does not expire");
            pair.new.send(&["DEL", name]);
        }
        assert!(leftovers.len() <= 1, "{leftovers:?}");
        pair.assert_same("after the second run");
    }
}

/// Changes a key at the source after it was copied and before it is verified.
fn copy_and_change(options: &[&str], change: impl FnOnce(&mut Connection, &str)) -> (Run, Pair) {
    let mut pair = Pair::with_many(2000);
    let process = pair.begin_and_wait(options, 0);
    let name = pair.new.call("RANDOMKEY").string();
    change(&mut pair.old, &name);
    (finish(process), pair)
}

#[test]
fn a_key_that_changes_during_the_copy_is_copied_again() {
    let add = |old: &mut Connection, key: &str| FAMILIES[0].change(old, key, "new");
    let (run, mut pair) = copy_and_change(&[], add);
    let counts = [("copied", 2000), ("copied again", 1), ("verified", 2000)];
    run.assert(0, &counts);
    pair.assert_same("verified");
    let (run, _) = copy_and_change(&["--rounds", "0"], add);
    let counts = [("copied", 1999), ("failed", 1), ("verified", 1999)];
    run.assert(1, &counts);
    run.assert_error(1, "changed after each copy");
    let remove = |old: &mut Connection, key: &str| old.check(&format!("DEL {key}"), ":1");
    let (run, _) = copy_and_change(&[], remove);
    run.assert(1, &counts);
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
        let source = RecordedSource::start(&keys, |payload| payload);
        assert_recorded(&source, &keys);
    }
}

/// Copies all keys twice to a new server with Roughly, checks them there, and returns the server with the URLs.
fn assert_copied(
    source: &RecordedSource,
    count: usize,
    assert_dumps: impl FnOnce(&mut Connection),
) -> (Server, [String; 2]) {
    let destination = Server::start();
    let ends = [source.url(), url(&destination)];
    let run = || copy(&[&ends[0], &ends[1]]);
    let count = count as u64;
    run().assert_all("copied", count);
    let mut new = destination.resp2();
    assert_dumps(&mut new);
    run().assert_all("equal", count);
    assert_eq!(size(&mut new), i64::try_from(count).unwrap());
    (destination, ends)
}

/// As [`assert_copied`], for recorded keys of RedisBloom.
fn assert_recorded(
    source: &RecordedSource,
    keys: &[(&'static Family, Key)],
) -> (Server, [String; 2]) {
    assert_copied(source, keys.len(), |new| {
        keys.iter().for_each(|(_, key)| key.assert_dump(new));
    })
}

#[test]
fn keys_of_valkey_bloom_are_copied_whatever_the_rdb_version() {
    let keys = recorded_keys::keys();
    let count = keys.len() as u64;
    let source = RecordedSource::of_valkey_bloom();
    let (destination, ends) = assert_copied(&source, keys.len(), |new| {
        keys.iter().for_each(|key| key.assert_dump(new));
    });
    let compare = ["--compare", "--rounds", "0", &ends[0], &ends[1]];
    let compared = || copy(&compare).counts(["equal", "different"]);
    assert_eq!(compared(), [count, 0]);
    destination.check("COPY fx-auto fx-tiny REPLACE", ":1");
    copy(&compare[3..]).assert(1, &[("equal", count - 1), ("skipped", 1)]);
    assert_eq!(compared(), [count - 1, 1]);
    assert_eq!(copy(&compare).status.code(), Some(1));
}

#[test]
fn keys_of_types_that_valkey_bloom_lacks_are_reported() {
    let (source, mut old) = Server::start().connected();
    let mut lines = Vec::new();
    for family in FAMILIES.iter().filter(|family| family.name != "bloomfltr") {
        family.build(&mut old, family.name);
        let (prefix, name) = (family.prefix.to_uppercase(), family.name);
        let reason = match family.has_window {
            true => "has no windows".to_owned(),
            false => format!("does not have the type {}", family.type_name),
        };
        let key = format!("failed: {prefix} key \"{name}\" in database 0");
        lines.push(format!("{key}: valkey-bloom {reason}\n"));
    }
    let run = copy(&[&url(&source), &RecordedSource::of_valkey_bloom().url()]);
    run.assert(1, &[("failed", lines.len() as u64)]);
    for line in lines {
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
    let counts = [("copied", copied), ("failed", failed), ("verified", copied)];
    run.assert(1, &counts);
    let reason = "Bad data format; it cannot be copied in chunks either";
    let line = format!("failed: TDIGEST key \"td-normal\" in database 0: {reason}");
    run.assert_error(1, &line);
    let mut new = destination.resp2();
    for (_, key) in keys.iter().filter(has_chunks) {
        key.assert_dump(&mut new);
    }
}

/// RedisBloom 8.12 writes count-min sketches in encoding version 1, which has one more number. Roughly writes version 0.
#[test]
fn a_key_in_another_encoding_version_is_equal_after_the_copy() {
    let mut keys = recorded("8.10");
    keys.retain(|(family, _)| family.prefix == "cms");
    let source = RecordedSource::start(&keys, |mut body| {
        body.extend_from_slice(&[0; 10]);
        let (_, mut values) = Values::from_dump(&body).expect("a payload");
        values.values.insert(2, Value::Integer(4));
        let mut payload = values.to_dump(type_id(b"CMSk-TYPE", 1));
        payload.truncate(payload.len() - 10);
        payload
    });
    let (destination, ends) = assert_recorded(&source, &keys);
    let mut new = destination.resp2();
    FAMILIES[2].build(&mut new, "other");
    new.check(&format!("COPY other {} REPLACE", keys[0].1.name), ":1");
    let counts = [("equal", keys.len() as u64 - 1), ("skipped", 1)];
    copy(&[&ends[0], &ends[1]]).assert(1, &counts);
}

#[test]
fn arguments_above_the_bulk_limit_are_reported() {
    let source = Options::new().arguments(&["--rdbcompression", "no"]);
    let destination = Options::new().arguments(&["--proto-max-bulk-len", "1mb"]);
    let mut pair = Pair::of(source, destination);
    pair.old.ok("CMS.INITBYDIM large 300000 1");
    FAMILIES[0].build(&mut pair.old, "small");
    let run = pair.copy(&[]);
    run.assert(1, &[("copied", 1), ("failed", 1), ("verified", 1)]);
    run.assert_error(1, "exceed proto-max-bulk-len of the destination");
}

#[test]
fn passwords_are_read_from_urls_and_the_environment() {
    let mut pair = Pair::start();
    FAMILIES[0].build(&mut pair.old, "key");
    pair.old.ok("CONFIG SET requirepass p@ss/%2f:#");
    pair.new.ok("ACL SETUSER copier on >p@ss ~* &* +@all");
    pair.new.ok("ACL SETUSER default -restore");
    let from = url(&pair.source);
    let to = url(&pair.destination).replace("://", "://copier:p%40ss@");
    copy(&[&from, &to]).assert_error(2, "no access to the source");
    let encoded = from.replace("://", "://:p%40ss%2F%252f%3A%23@");
    copy(&[&encoded, &to]).assert_all("copied", 1);
    let run = |value, to: &str| {
        let password = ("COPY_SKETCHES_SOURCE_PASSWORD", value);
        finish(start_with(&[&from, to], &[password]))
    };
    run("wrong", &to).assert_error(2, "source 127.0.0.1:");
    run("p@ss/%2f:#", &to).assert_all("equal", 1);
    // The default user may not restore.
    pair.new.call("DEL key");
    let run = run("p@ss/%2f:#", &url(&pair.destination));
    run.assert(1, &[("failed", 1)]);
    run.assert_error(1, "no permissions");
    pair.old.ok("CONFIG SET requirepass ");
}

#[test]
fn servers_may_listen_on_unix_sockets() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a socket");
    let path = path.display().to_string();
    let listening = Options::new().arguments(&["--unixsocket", &path]);
    let mut pair = Pair::of(listening, Options::new());
    select(&mut pair.old, 3);
    build_all(&mut pair.old, "");
    let socket = format!("unix://{}", path.replace(' ', "%20"));
    let to = url(&pair.destination);
    copy(&[&format!("{socket}?db=3"), &to]).assert_all("copied", all());
    copy(&[&socket, &to]).assert_all("equal", all());
}

#[test]
fn clusters_are_copied_as_a_whole() {
    let count = all() * 30;
    let (single, back) = (Server::start(), Server::start());
    let nodes = Nodes::start(3, false);
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
        copy(&["--chunks", mode, &url(&single), &node]).assert_all("copied", count);
        let mut copied = State::default();
        for server in &nodes.servers {
            assert!(size(&mut server.resp2()) > 0);
            copied.extend(State::of(&mut server.resp2()));
        }
        copied.assert_same(&wanted, "to a cluster");
        let run = copy(&["--check", "--for", "roughly", &node]);
        assert_eq!(run.counts(["found", "same"]), [count; 2]);
        copy(&["--chunks", mode, &node, &url(&back)]).assert_all("copied", count);
        State::of(&mut back.resp2()).assert_same(&wanted, "from a cluster");
        for server in nodes.servers.iter().chain([&back]) {
            server.ok("FLUSHALL SYNC");
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
    finish(process).assert_all("copied", 2000);
    let mut new = nodes.servers[(from + 1) % 3].resp2();
    assert_eq!(size(&mut new), 2000);
}

#[test]
fn errors_name_the_server_that_cannot_be_used() {
    let server = Server::start();
    FAMILIES[0].build(&mut server.resp2(), "key");
    let good = url(&server);
    let nobody = format!("127.0.0.1:{UNUSED_PORT}");
    let bare = Options::new().without_module().start();
    let replica = Server::start();
    replica.ok(&format!("REPLICAOF 127.0.0.1 {UNUSED_PORT}"));
    let (numbered, without) = (format!("{good}/1"), format!("{good}/99"));
    let no_module = "has neither Roughly nor RedisBloom";
    for (source, destination, role, text) in [
        (&good, &nobody, "destination", "cannot connect to"),
        (&nobody, &good, "source", "cannot connect to"),
        (&good, &good, "destination", "the same server"),
        (&good, &url(&bare), "destination", no_module),
        (&url(&bare), &good, "source", no_module),
        (&good, &url(&replica), "destination", "refuses commands: "),
        (&good, &numbered, "destination", "requires a database"),
        (&without, &good, "source", "has no database 99"),
    ] {
        let run = copy(&[source, destination]);
        run.assert_error(2, text);
        run.assert_error(2, role);
    }
    // A server of another protocol.
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let process = start_with(&[&format!("redis://127.0.0.1:{port}"), &good], &[]);
    let (mut stream, _) = listener.accept().expect("a connection");
    let page = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n");
    page.expect("a line");
    finish(process).assert_error(2, "is no Redis or Valkey server");
}

#[test]
fn a_server_that_ends_during_the_copy_is_reported() {
    let mut pair = Pair::with_many(2000);
    let process = pair.begin_and_wait(&[], 50);
    pair.destination.kill();
    finish(process).assert_error(2, "the destination 127.0.0.1");
    pair.destination.relaunch();
    pair.new = pair.destination.resp2();
    // A source that has restarted without its keys has not removed them.
    let process = pair.begin_and_wait(&[], 50);
    pair.source.kill();
    pair.source.relaunch();
    finish(process).assert_error(2, "the source 127.0.0.1");
}

#[test]
fn wrong_arguments_are_refused() {
    let negative = "--chunks, --rounds and --progress must be at least 0";
    let database = "a database of the destination requires a database of the source";
    let certificates = "cannot read the certificates";
    for (arguments, text) in [
        ("", "required: source"),
        ("a", "required: destination"),
        ("a b c", "unrecognized arguments: c"),
        ("--check a b", "--check has one URL"),
        ("--check --for x a", "invalid choice: 'x'"),
        ("--for roughly a b", "--for requires --check"),
        ("--types bf,set a b", "unknown type 'set'"),
        ("--chunks -1 a b", negative),
        ("--rounds x a b", "invalid int value: 'x'"),
        ("--timeout 0 a b", "--timeout must be above 0"),
        ("http://a b", "the URL of the source: "),
        ("a/x b", "the URL of the source: 'x' is no number"),
        ("a:x b", "the URL of the source: "),
        ("a b/-1", "the URL of the destination: '-1' is no number"),
        ("a b/1", database),
        ("--cacert /nonexistent rediss://a b", certificates),
    ] {
        let arguments: Vec<_> = arguments.split_whitespace().collect();
        copy(&arguments).assert_error(2, text);
    }
    let run = copy(&["--help"]);
    assert_eq!(run.status.code(), Some(0));
    let options = "replace chunks match types rounds dry-run check for compare progress";
    for name in options.split(' ') {
        assert!(run.output.contains(&format!("--{name}")), "{name}");
    }
}

#[test]
fn a_missing_library_is_named() {
    // Without the directories in which packages are installed.
    let command = Command::new(PYTHON).args(["-S", SCRIPT, "a"]).output();
    let output = command.expect("an output");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("install python3-redis"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}
