//! The measured operations.

use crate::batches::for_each_key;
use crate::data::{DataSet, name};
use crate::peak;
use crate::rounds::{Rounds, until_agreement};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Options of all servers. The server looks for ended child processes `hz` times per second.
const ARGUMENTS: [&str; 12] = [
    "--hz",
    "500",
    "--rdbcompression",
    "no",
    "--aof-use-rdb-preamble",
    "no",
    "--proto-max-bulk-len",
    "4gb",
    "--client-query-buffer-limit",
    "8gb",
    "--repl-diskless-sync",
    "yes",
];
/// Interval between two looks for the end of a child process.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Fewest and most rounds.
const ROUNDS: (usize, usize) = (2, 4);

/// An operation on all keys of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// BGSAVE.
    BackgroundSave,
    /// BGREWRITEAOF.
    Rewrite,
    /// REPLICAOF on an empty server.
    FullSynchronization,
    /// COPY of each key.
    Copy,
    /// DUMP of each key.
    Dump,
    /// RESTORE of each key.
    Restore,
    /// SAVE.
    Save,
    /// A start with an RDB file.
    LoadRdb,
    /// A start with an append-only file.
    LoadAof,
}

impl Operation {
    /// All operations in the order of their measurement. A t-digest sorts its new samples when it is saved; a child process sorts
    /// its own copy. So the operations of child processes are first.
    pub const ALL: [Self; 9] = [
        Self::BackgroundSave,
        Self::Rewrite,
        Self::FullSynchronization,
        Self::Copy,
        Self::Dump,
        Self::Restore,
        Self::Save,
        Self::LoadRdb,
        Self::LoadAof,
    ];

    /// The name in the tables.
    fn name(self) -> &'static str {
        match self {
            Self::BackgroundSave => "BGSAVE",
            Self::Rewrite => "BGREWRITEAOF",
            Self::FullSynchronization => "full synchronization",
            Self::Copy => "COPY",
            Self::Dump => "DUMP",
            Self::Restore => "RESTORE",
            Self::Save => "SAVE",
            Self::LoadRdb => "load of the RDB file",
            Self::LoadAof => "load of the append-only file",
        }
    }
}

/// One round of an operation. Sizes are in bytes.
#[derive(Debug, Default)]
struct Round {
    seconds: f64,
    /// Peak memory of the server, and of its child process beyond the memory that they share.
    peak: u64,
    /// Peak memory of the replica.
    replica_peak: Option<u64>,
    /// Size of the file.
    file: Option<u64>,
}

/// A server with a data set.
#[derive(Debug)]
pub struct Bench {
    server: Server,
    keys: usize,
    rounds: (usize, usize),
    loads_aof: bool,
}

/// The options of the server; with `with_aof`, it loads an append-only file.
fn options(with_aof: bool) -> Options {
    let aof = ["--appendonly", if with_aof { "yes" } else { "no" }];
    Options::new().arguments(&ARGUMENTS).arguments(&aof)
}

/// Name and version of the server.
pub fn server_version() -> String {
    let server = Server::start();
    match server.info("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", server.info("redis_version").unwrap_or_default()),
    }
}

impl Bench {
    /// Starts a server and fills it. With `is_quick`, each operation is measured once.
    pub fn filled(set: &DataSet, is_quick: bool) -> Self {
        let server = options(false).start();
        set.fill(&server);
        Self {
            server,
            keys: set.keys,
            rounds: if is_quick { (1, 1) } else { ROUNDS },
            loads_aof: false,
        }
    }

    /// Measures operations, the first of which must be BGSAVE. Returns the results and the size of the RDB file.
    pub fn measure(mut self, operations: &[Operation]) -> (Vec<Value>, u64) {
        let results = operations
            .iter()
            .map(|&operation| self.rounds_of(operation));
        let results: Vec<Value> = results.collect();
        let rdb_bytes = size(&self.rdb_file());
        (results, rdb_bytes)
    }

    fn rounds_of(&mut self, operation: Operation) -> Value {
        let mut largest = Round::default();
        let seconds: Rounds = until_agreement(self.rounds.0, self.rounds.1, || {
            let round = self.round(operation);
            largest.peak = largest.peak.max(round.peak);
            largest.replica_peak = largest.replica_peak.max(round.replica_peak);
            largest.file = round.file;
            round.seconds
        });
        let dbsize = self.server.call("DBSIZE").integer();
        assert_eq!(dbsize, Some(self.keys as i64), "after {}", operation.name());
        println!(
            "{:<30} {:>8.3} s {:>8} MiB{}",
            operation.name(),
            seconds.fastest(),
            largest.peak >> 20,
            largest
                .replica_peak
                .map_or_else(String::new, |peak| format!(", replica {} MiB", peak >> 20)),
        );
        json!({
            "name": operation.name(),
            "seconds": seconds.to_json(),
            "peak_bytes": largest.peak,
            "replica_peak_bytes": largest.replica_peak,
            "file_bytes": largest.file,
        })
    }

    fn round(&mut self, operation: Operation) -> Round {
        match operation {
            Operation::BackgroundSave => {
                let mut round = self.child("BGSAVE", "rdb_bgsave_in_progress", "rdb_last_cow_size");
                round.file = Some(size(&self.rdb_file()));
                round
            }
            Operation::Rewrite => {
                let (running, copied) = ("aof_rewrite_in_progress", "aof_last_cow_size");
                let mut round = self.child("BGREWRITEAOF", running, copied);
                round.file = Some(size(&self.aof_file()));
                round
            }
            Operation::FullSynchronization => self.synchronization(),
            Operation::Copy => {
                let copy = |key| arguments(&["COPY", &name(key), &copy_name(key)]);
                let round = self.timed(|connection, keys| {
                    for_each_key(connection, keys, copy, drop);
                });
                self.delete_copies();
                round
            }
            Operation::Dump => self.timed(|connection, keys| {
                for_each_key(connection, keys, dump, drop);
            }),
            Operation::Restore => {
                let mut payloads = self.payloads();
                let restore = |key: usize| {
                    let mut command = arguments(&["RESTORE", &copy_name(key), "0"]);
                    command.push(std::mem::take(&mut payloads[key]));
                    command
                };
                let round = self.timed(|connection, keys| {
                    for_each_key(connection, keys, restore, drop);
                });
                self.delete_copies();
                round
            }
            Operation::Save => {
                let mut round = self.timed(|connection, _| {
                    let reply = connection.call("SAVE");
                    assert!(reply.is_ok(), "{reply}");
                });
                round.file = Some(size(&self.rdb_file()));
                round
            }
            Operation::LoadRdb => {
                self.server.kill_and_restart();
                self.loaded()
            }
            Operation::LoadAof => {
                if self.loads_aof {
                    self.server.kill_and_restart();
                } else {
                    self.server.restart_with(options(true));
                    self.loads_aof = true;
                }
                self.loaded()
            }
        }
    }

    /// Measures commands of one connection.
    fn timed(&self, commands: impl FnOnce(&mut Connection, usize)) -> Round {
        let mut connection = self.server.resp2();
        peak::reset(self.server.pid());
        let start = Instant::now();
        commands(&mut connection, self.keys);
        Round {
            seconds: start.elapsed().as_secs_f64(),
            peak: peak::bytes(self.server.pid()),
            ..Round::default()
        }
    }

    /// Measures a child process that the command starts. `running` and `copied` are fields of INFO: whether it is running, and the
    /// bytes that it did not share with the server.
    fn child(&self, command: &str, running: &str, copied: &str) -> Round {
        let mut connection = self.server.resp2();
        peak::reset(self.server.pid());
        let start = Instant::now();
        let reply = connection.call(command);
        assert!(!matches!(reply, Reply::Error(_)), "{reply}");
        while persistence(&mut connection, running) != 0 {
            std::thread::sleep(POLL_INTERVAL);
        }
        let seconds = start.elapsed().as_secs_f64();
        Round {
            seconds,
            peak: peak::bytes(self.server.pid()) + persistence(&mut connection, copied),
            ..Round::default()
        }
    }

    /// Measures the full synchronization of a new replica.
    fn synchronization(&self) -> Round {
        let mut replica = options(false).start();
        peak::reset(self.server.pid());
        let start = Instant::now();
        replica.replicate(&self.server);
        let seconds = start.elapsed().as_secs_f64();
        let mut connection = self.server.resp2();
        while persistence(&mut connection, "rdb_bgsave_in_progress") != 0 {
            std::thread::sleep(POLL_INTERVAL);
        }
        let copied = persistence(&mut connection, "rdb_last_cow_size");
        Round {
            seconds,
            peak: peak::bytes(self.server.pid()) + copied,
            replica_peak: Some(peak::bytes(replica.pid())),
            file: None,
        }
    }

    /// The load at the last start.
    fn loaded(&self) -> Round {
        let log = self.server.log();
        let line = log
            .lines()
            .rfind(|line| line.contains("DB loaded from"))
            .expect("a log line");
        let seconds = line.rsplit(": ").next().and_then(|end| {
            end.trim_end_matches('.')
                .strip_suffix(" seconds")?
                .parse()
                .ok()
        });
        Round {
            seconds: seconds.expect("seconds"),
            peak: peak::bytes(self.server.pid()),
            ..Round::default()
        }
    }

    /// The DUMP of each key.
    fn payloads(&self) -> Vec<Vec<u8>> {
        let mut payloads = Vec::new();
        let receive = |reply| match reply {
            Reply::Bulk(payload) => payloads.push(payload),
            other => panic!("DUMP replied {other}"),
        };
        for_each_key(&mut self.server.resp2(), self.keys, dump, receive);
        payloads
    }

    fn delete_copies(&self) {
        let delete = |key| arguments(&["DEL", &copy_name(key)]);
        let found = |reply: Reply| assert_eq!(reply.integer(), Some(1));
        for_each_key(&mut self.server.resp2(), self.keys, delete, found);
    }

    fn rdb_file(&self) -> PathBuf {
        self.server.dir().join("dump.rdb")
    }

    /// The newest base file. The server deletes older ones in the background.
    fn aof_file(&self) -> PathBuf {
        let dir = self.server.dir().join("appendonlydir");
        fs::read_dir(dir)
            .expect("a directory")
            .map(|entry| entry.expect("a file").path())
            .filter(|file| file.to_string_lossy().contains(".base."))
            .max_by_key(|file| fs::metadata(file).and_then(|data| data.modified()).ok())
            .expect("a base file")
    }
}

fn arguments(command: &[&str]) -> Vec<Vec<u8>> {
    command
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect()
}

fn dump(key: usize) -> Vec<Vec<u8>> {
    arguments(&["DUMP", &name(key)])
}

fn copy_name(key: usize) -> String {
    format!("copy:{key}")
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).expect("a file").len()
}

/// A number in the section "persistence" of INFO.
fn persistence(connection: &mut Connection, field: &str) -> u64 {
    let reply = connection.call("INFO persistence");
    let text = String::from_utf8_lossy(reply.text().expect("a string")).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no number {field} in INFO"))
}
