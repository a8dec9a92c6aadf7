//! A mixed workload of all families from 50 clients that connect and disconnect, while settings change, files are
//! written, and a replica is disconnected and reconnected. At the end, a primary, a replica and a server restarted
//! from the AOF must have identical data, and all memory must be freed.
//!
//! The test ends after numbers of commands and events, or after the time that `make soak MINUTES=30` specifies
//! (`ROUGHLY_SOAK_SECONDS`), whichever is later.

use crate::families::{FAMILIES, one_per_family};
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::{Options, Server};
use crate::support::set_on_drop::SetOnDrop;
use crate::support::time;
use crate::support::variables::number;
use crate::workload::{Random, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 50;
/// Keys per type.
const KEYS: u64 = 12;
/// The test runs until the clients have sent this many commands.
const MIN_COMMANDS: usize = 20_000;
/// The test runs until the operator has done this many actions.
const MIN_EVENTS: usize = 4;
/// Maximum time that both may take, in addition to the specified time.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum pause of a client between two commands. The pauses keep the load low, so that commands do not wait for
/// others and the measured times include no waiting.
const MAX_THINK_TIME: Duration = Duration::from_millis(8);
/// Commands of the clients between two actions of the operator.
const COMMANDS_PER_EVENT: usize = 5_000;
/// Interval between two checks of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A client disconnects after one in this many commands without waiting for the reply.
const DISCONNECT_ONE_IN: u64 = 300;
/// Memory that may be in use after all keys are removed, in addition to that at the start: buffers, the backlog,
/// fragmentation of the server's allocator.
const LEFT_BYTES: i64 = 24 << 20;

/// Windows with panes of a fifth of a second and less, which begin and expire during the test.
const WINDOWS: &[&str] = &["1000 PANES 5", "400 PANES 20"];
/// Limits the memory of long runs: equal items make cuckoo filters grow.
const MAX_KEY_BYTES: &str = "1000000";
/// One unit in this many is followed by DUMP and RESTORE.
const RESTORE_ONE_IN: u64 = 50;

/// Errors that this workload can cause, separated by `|`. For example, a command that adds items creates a key without a window.
const EXPECTED_ERRORS: &str = "WITHIN must be at least the pane length|needs a period: from before to|the panes of this period are|\
    step must be between|a filter stores only the last addition|source and destination objects are the same|\
    item exists|not found|Not found|does not exist|already exist|non scaling filter is full|\
    width/depth is not equal|window/panes is not equal|cannot merge|cannot be merged|CMS: CMSk overflow|overflow|\
    the key would hold more bytes|problem inserting into filter|Maximum expansions reached|Filter is full|\
    no such key|WRONGTYPE|bloom object decoding failed|Invalid information value|invalid information value|\
    unknown argument received|cannot be decremented|underflow|has no window|cell size is not equal|\
    needs a Bloom or cuckoo filter with a window|pane is in the future";

/// Histogram of command times, with a resolution of a sixteenth of the time.
#[derive(Default)]
struct Latencies {
    counts: BTreeMap<u64, u64>,
}

impl Latencies {
    fn add(&mut self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        let coarse = micros.ilog2().saturating_sub(4);
        *self.counts.entry(micros >> coarse << coarse).or_default() += 1;
    }

    fn merge(&mut self, other: &Self) {
        for (micros, count) in &other.counts {
            *self.counts.entry(*micros).or_default() += count;
        }
    }

    fn commands(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The time that this share of the commands did not exceed.
    fn quantile(&self, share: f64) -> Duration {
        let mut left = (self.commands() as f64 * share) as u64;
        for (&micros, &count) in &self.counts {
            if left < count {
                return Duration::from_micros(micros);
            }
            left -= count;
        }
        let longest = self.counts.keys().next_back();
        Duration::from_micros(longest.copied().unwrap_or(0))
    }
}

fn errors(reply: &Reply) -> Vec<String> {
    match reply {
        Reply::Error(text) => vec![text.escape_ascii().to_string()],
        reply => (reply.items().unwrap_or(&[]).iter())
            .flat_map(errors)
            .collect(),
    }
}

/// The first 20 failures.
type Complaints = Mutex<Vec<String>>;

fn complain(complaints: &Complaints, what: String) {
    let mut complaints = complaints.lock().unwrap_or_else(PoisonError::into_inner);
    if complaints.len() < 20 {
        complaints.push(what);
    }
}

/// Runs a client that connects and disconnects until the end, and counts its commands. Returns their times.
fn client(
    server: &Server,
    number: u64,
    commands: &AtomicUsize,
    end: &AtomicBool,
    complaints: &Complaints,
) -> Latencies {
    let mut random = Random::new(number);
    let mut workload = Workload::new(!number, "", KEYS)
        .with_windows(WINDOWS)
        .with_all_commands(3);
    let mut latencies = Latencies::default();
    while !end.load(Ordering::Relaxed) {
        let mut connection = server.connect(random.pick(&Protocol::BOTH));
        while !end.load(Ordering::Relaxed) {
            let unit = workload.unit();
            if random.one_in(DISCONNECT_ONE_IN) {
                for command in unit.sent() {
                    let _ = connection.write(&command);
                }
                break;
            }
            let start = Instant::now();
            let reply = unit.send(&mut connection);
            latencies.add(start.elapsed());
            commands.fetch_add(1, Ordering::Relaxed);
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => {
                    complain(complaints, format!("{}: {error}", unit.show()));
                    break;
                }
            };
            for text in errors(&reply) {
                let mut expected = EXPECTED_ERRORS.split('|');
                if !expected.any(|expected| text.contains(expected)) {
                    complain(complaints, format!("{text}: {}", unit.show()));
                }
            }
            if random.one_in(RESTORE_ONE_IN) {
                restore(&mut connection, &workload.key(), complaints);
            }
            thread::sleep(MAX_THINK_TIME * random.below(1000) as u32 / 1000);
        }
    }
    latencies
}

/// Restores a key over itself.
fn restore(connection: &mut Connection, key: &str, complaints: &Complaints) {
    let Ok(Reply::Bulk(payload)) = connection.try_send(&["DUMP", key]) else {
        return;
    };
    let restore = [&b"RESTORE"[..], key.as_bytes(), b"0", &payload, b"REPLACE"];
    let restored = connection.try_send(&restore);
    if !restored.as_ref().is_ok_and(Reply::is_ok) {
        complain(complaints, format!("RESTORE {key}: {restored:?}"));
    }
}

/// Runs the actions of an operator, one after another, until the end, and counts them.
fn operate(
    primary: &Server,
    replica: &Server,
    commands: &AtomicUsize,
    events: &AtomicUsize,
    end: &AtomicBool,
    complaints: &Complaints,
) {
    let mut random = Random::new(0x0b5e55ed);
    let settings = one_per_family().flat_map(|family| family.settings);
    let settings: Vec<_> = settings.collect();
    while !end.load(Ordering::Relaxed) {
        let event = match random.below(6) {
            0..=1 => {
                let setting = random.pick(&settings);
                let value = random.pick(&[setting.default, setting.other]);
                format!("CONFIG SET {} {value}", primary.setting(setting.name))
            }
            2 => "BGSAVE SCHEDULE".to_owned(),
            3 => "BGREWRITEAOF".to_owned(),
            4 => "CLIENT KILL TYPE replica".to_owned(),
            _ => {
                // The replica also loses its replication history: a full synchronization.
                replica.call("REPLICAOF NO ONE");
                replica.call("FLUSHALL");
                replica.call(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
                "PING".to_owned()
            }
        };
        let reply = primary.call(&event);
        let text = reply.to_string();
        if reply.is_error() && !text.contains("already in progress") {
            complain(complaints, format!("{event}: {text}"));
        }
        events.fetch_add(1, Ordering::Relaxed);
        let next = commands.load(Ordering::Relaxed) + COMMANDS_PER_EVENT;
        while commands.load(Ordering::Relaxed) < next && !end.load(Ordering::Relaxed) {
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The keys whose values differ on two servers, with their type, time to live and payload on both.
fn differences(primary: &Server, replica: &Server) -> String {
    const COMMANDS: [&str; 4] = ["DEBUG DIGEST-VALUE", "TYPE", "PTTL", "DUMP"];
    let mut connections = [primary.resp2(), replica.resp2()];
    let mut keys = BTreeSet::new();
    for connection in &mut connections {
        keys.extend(connection.call("KEYS *").strings());
    }
    let mut found = Vec::new();
    for key in keys {
        let [of_primary, of_replica] = connections.each_mut().map(|connection| {
            COMMANDS.map(|command| connection.call(&format!("{command} {key}")).to_string())
        });
        if of_primary != of_replica {
            found.push(format!("{key}: {of_primary:?}, replica: {of_replica:?}"));
        }
    }
    found.join("\n")
}

#[test]
fn mixed_traffic_leaves_primary_replica_and_files_in_agreement() {
    let seconds = number("ROUGHLY_SOAK_SECONDS", 0);
    let mut primary = Options::new()
        .arguments(&["--appendonly", "yes", "--appendfsync", "everysec"])
        .start();
    let mut replica = Server::start();
    replica.replicate(&primary);
    primary.set("sketch-max-key-bytes", MAX_KEY_BYTES);
    let before = primary.info_number("used_memory");
    let (end, complaints) = (AtomicBool::new(false), Complaints::default());
    let (events, most_memory) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let commands = AtomicUsize::new(0);
    let start = Instant::now();
    let mut latencies = Latencies::default();
    thread::scope(|scope| {
        let _end = SetOnDrop(&end);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client_number| {
                let (primary, commands, end) = (&primary, &commands, &end);
                let complaints = &complaints;
                scope.spawn(move || client(primary, client_number, commands, end, complaints))
            })
            .collect();
        scope.spawn(|| {
            let _end = SetOnDrop(&end);
            operate(&primary, &replica, &commands, &events, &end, &complaints);
        });
        let is_enough = || {
            start.elapsed() >= Duration::from_secs(seconds)
                && commands.load(Ordering::Relaxed) >= MIN_COMMANDS
                && events.load(Ordering::Relaxed) >= MIN_EVENTS
        };
        while !is_enough() && !end.load(Ordering::Relaxed) {
            assert!(start.elapsed() < Duration::from_secs(seconds) + time::limit(TIMEOUT));
            thread::sleep(POLL_INTERVAL);
            let now = primary.info_number("used_memory");
            most_memory.fetch_max(now as usize, Ordering::Relaxed);
        }
        end.store(true, Ordering::Relaxed);
        for client in clients {
            latencies.merge(&client.join().expect("a client"));
        }
    });
    println!(
        "soak: {} commands, {} events, at most {} MiB; p50 {:?}, p99 {:?}, p99.9 {:?}, all {:?}",
        latencies.commands(),
        events.into_inner(),
        most_memory.into_inner() >> 20,
        latencies.quantile(0.5),
        latencies.quantile(0.99),
        latencies.quantile(0.999),
        latencies.quantile(1.0),
    );
    let complaints = complaints.into_inner();
    let complaints = complaints.unwrap_or_else(PoisonError::into_inner);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));

    replica.wait_for_link();
    primary.wait_for_replica(&replica);
    let digest = primary.call("DEBUG DIGEST");
    let is_same = replica.call("DEBUG DIGEST") == digest;
    let differences = || differences(&primary, &replica);
    assert!(is_same, "the replica differs: {}", differences());
    primary.wait_until("the RDB file", |primary| {
        primary.info_number("rdb_bgsave_in_progress") == 0
    });
    primary.wait_for_rewrite();
    primary.restart();
    assert_eq!(primary.call("DEBUG DIGEST"), digest, "after the AOF");

    // The replica never restarted, so memory that remains would be a leak.
    replica.ok("REPLICAOF NO ONE");
    replica.ok("FLUSHALL");
    for family in FAMILIES {
        let bytes = format!("{}bytes", family.info_prefix);
        let is_free = |replica: &mut Server| replica.info_number(&bytes) == 0;
        replica.wait_until("the memory back", is_free);
    }
    let left = replica.info_number("used_memory");
    let is_free = left < before + LEFT_BYTES;
    assert!(is_free, "{before} bytes before, {left} after");
}
