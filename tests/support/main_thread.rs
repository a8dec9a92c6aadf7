//! CPU time of a server's main thread, and the speed of the machine: for tests that bound the work of a command.
//!
//! The scheduler counts the CPU time of a thread in nanoseconds when the thread stops running, so other processes do not
//! change it, except through shared caches and memory. Tests divide it by [`MainThread::slowness`], which they measure in the
//! same run.

use super::resp::{Connection, request};
use std::fs;

/// EXISTS takes this long on the reference machine.
const REFERENCE_EXISTS_NS: f64 = 300.0;
/// EXISTS commands per round.
const EXISTS: usize = 4000;
/// Rounds of EXISTS; the median counts.
const ROUNDS: usize = 5;

/// The main thread of a server.
#[derive(Debug, Clone, Copy)]
pub struct MainThread {
    process: u32,
}

impl MainThread {
    /// That of the server of a connection.
    ///
    /// # Panics
    /// If INFO does not have the process id.
    pub fn of(connection: &mut Connection) -> Self {
        let info = connection.call("INFO server");
        let info = String::from_utf8_lossy(info.text().expect("a text")).into_owned();
        let mut lines = info.lines();
        let process = lines.find_map(|line| line.strip_prefix("process_id:")?.parse().ok());
        Self {
            process: process.expect("a process id"),
        }
    }

    /// The CPU time that the thread has used, in nanoseconds. Waits until the thread sleeps, so that the work after the last
    /// reply is included.
    ///
    /// # Panics
    /// If /proc does not have it.
    pub fn ns(self) -> u64 {
        let read = |name: &str| {
            let file = format!("/proc/{0}/task/{0}/{name}", self.process);
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
        };
        loop {
            let before = read("schedstat");
            // The state is the first field after the name in parentheses.
            let is_asleep = read("stat")
                .rsplit_once(')')
                .is_some_and(|(_, rest)| rest.trim_start().starts_with('S'));
            if is_asleep && read("schedstat") == before {
                let ns = before.split_whitespace().next();
                return ns.and_then(|ns| ns.parse().ok()).expect("a time");
            }
            std::thread::yield_now();
        }
    }

    /// The CPU time of the thread for what `run` does, in nanoseconds, and its result.
    pub fn measured<R>(self, run: impl FnOnce() -> R) -> (u64, R) {
        let before = self.ns();
        let result = run();
        (self.ns() - before, result)
    }

    /// How many times slower than the reference machine this one is now: the CPU time of EXISTS in a pipeline, divided by
    /// 0.3 µs.
    pub fn slowness(self, connection: &mut Connection) -> f64 {
        let requests = request(&["EXISTS", "missing"]).repeat(EXISTS);
        let mut round = || {
            connection.write_raw(&requests).expect("EXISTS");
            for _ in 0..EXISTS {
                connection.read().expect("a reply");
            }
        };
        let mut rounds: Vec<u64> = (0..ROUNDS).map(|_| self.measured(&mut round).0).collect();
        rounds.sort_unstable();
        rounds[ROUNDS / 2] as f64 / EXISTS as f64 / REFERENCE_EXISTS_NS
    }
}
