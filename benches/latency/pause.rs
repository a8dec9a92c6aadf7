//! The largest pause of the server in a measurement, and its cause according to the counters of the server and of Linux.
//!
//! The pause is the latency of a command without the time at which the client did not run.

use crate::client::{self, Interval};
use crate::observer::{Counters, Samples};
use crate::support::resp::{Connection, Reply};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A pause and what happened during it. Times are in ms.
#[derive(Debug)]
pub struct Pause {
    longest: client::Pause,
    /// The part of the fork that lies in the interval, and the whole fork (`latest_fork_usec`).
    fork_ms: (f64, f64),
    /// The longest command of the measurement, according to SLOWLOG.
    longest_command: (String, f64),
    /// The events of the measurement and their maxima, according to LATENCY LATEST.
    latency_events: Vec<(String, i64)>,
    server: Counters,
}

impl Pause {
    /// Collects the facts. `fork` is the time at which the server was asked to fork, and the duration of the fork.
    pub fn new(
        longest: client::Pause,
        samples: &Samples,
        fork: Option<(Instant, Duration)>,
        connection: &mut Connection,
    ) -> Self {
        let interval = longest.interval;
        let fork_ns = fork.map_or((0, 0), |(start, time)| {
            let end = start + time;
            (
                interval.overlap_ns(&Interval { start, end }),
                time.as_nanos() as u64,
            )
        });
        Self {
            longest,
            fork_ms: (ms(fork_ns.0), ms(fork_ns.1)),
            longest_command: longest_command(&connection.call("SLOWLOG GET -1")),
            latency_events: latency_events(&connection.call("LATENCY LATEST")),
            server: samples.within(&interval),
        }
    }

    /// The cause: what took at least half of the pause.
    pub fn cause(&self) -> String {
        let (name, command_ms) = &self.longest_command;
        let is_fork = name.starts_with("BG");
        let causes = [
            ("fork".to_owned(), self.fork_ms.0),
            (
                "the server waited for a processor".to_owned(),
                ms(self.server.waiting_ns),
            ),
            (
                "the server was blocked in a system call or idle".to_owned(),
                self.blocked_ms(),
            ),
            (
                format!("one {name}"),
                if is_fork { 0.0 } else { *command_ms },
            ),
        ];
        let half = self.ms() / 2.0;
        let largest = causes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        match largest {
            Some((cause, ms)) if ms >= half => cause,
            _ if ms(self.server.running_ns) >= half => {
                "backlog: the server ran earlier commands".to_owned()
            }
            _ => "several".to_owned(),
        }
    }

    /// The part of the pause in which the server neither ran nor waited for a processor.
    fn blocked_ms(&self) -> f64 {
        (self.ms() - ms(self.server.running_ns + self.server.waiting_ns)).max(0.0)
    }

    /// The time without that of the client.
    pub fn ms(&self) -> f64 {
        ms(self.longest.server_ns())
    }

    /// The facts for the file of results.
    pub fn to_json(&self) -> Value {
        json!({
            "ms": self.ms(),
            "cause": self.cause(),
            "fork_ms": self.fork_ms.1,
            "longest_command": self.longest_command.0,
            "longest_command_ms": self.longest_command.1,
            "latency_events": self.latency_events,
            "server_waiting_ms": ms(self.server.waiting_ns),
            "server_running_ms": ms(self.server.running_ns),
            "server_blocked_ms": self.blocked_ms(),
            "server_page_faults": self.server.page_faults,
            "client_waiting_ms": ms(self.longest.client_ns),
        })
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Name and ms of the longest command in SLOWLOG. Fields of an entry: id, timestamp, microseconds, arguments, ...
fn longest_command(log: &Reply) -> (String, f64) {
    let entries = log.items().expect("an array").iter();
    let of_entry = |entry: &Reply| {
        let fields = entry.items()?;
        let name = fields.get(3)?.items()?.first()?.text()?;
        let name = String::from_utf8_lossy(name).to_uppercase();
        Some((name, fields[2].integer()? as f64 / 1e3))
    };
    let longest = entries
        .filter_map(of_entry)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    longest.unwrap_or_default()
}

/// Names and maxima of the events. Fields of an event: name, timestamp, latest ms, maximum ms, ...
fn latency_events(latest: &Reply) -> Vec<(String, i64)> {
    let events = latest.items().expect("an array").iter();
    let of_event = |event: &Reply| {
        let fields = event.items()?;
        let name = String::from_utf8_lossy(fields.first()?.text()?).into_owned();
        Some((name, fields.get(3)?.integer()?))
    };
    events.filter_map(of_event).collect()
}
