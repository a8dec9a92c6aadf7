//! Benchmark of latencies under load: percentiles of the commands of each family while the server saves, rewrites its
//! AOF, grows a filter, or defragments its memory.
//!
//! `cargo bench -p benches --bench latency` writes target/bench/latency.json. With `--quick`, it measures three commands for a short time.
//! The environment variable `ROUGHLY_SERVER` selects the server (default: the one in PATH). Active defragmentation is
//! measured on target/servers/redis-defrag/server (`scripts/build-server.sh defrag`), and left out if it does not exist.
//!
//! Right before each measurement, the benchmark measures the saturation: the commands per second of a closed loop, the median of
//! several short windows. Then it sends commands at 50 % or 90 % of this rate (see [`client`]). Other work on the machine thus changes
//! both, and does not turn a load of 90 % into one that the server cannot serve.

#[path = "../record/mod.rs"]
mod record;
#[allow(dead_code)]
#[path = "../rounds/mod.rs"]
mod rounds;
#[path = "../stream/mod.rs"]
mod stream;
#[path = "../../tests/support/mod.rs"]
mod support;

mod client;
mod commands;
mod events;
#[allow(dead_code)]
#[path = "../server/load.rs"]
mod load;
mod observer;
mod pause;
mod request;

use client::{CONNECTIONS, Client};
use commands::{COMMANDS, Command, call, create_keys};
use events::{Event, Trigger};
use hdrhistogram::Histogram;
use observer::{Counters, Observer};
use pause::Pause;
use rounds::Rounds;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::server::{Options, Server};

/// Number of windows in which saturation is measured; odd.
const WINDOWS: usize = 9;
/// Time of each of them.
const WINDOW: Duration = Duration::from_millis(80);
/// The loads, in percent of saturation.
const LOADS: [u32; 2] = [50, 90];
/// The server that supports active defragmentation.
const DEFRAGMENTING_SERVER: &str = "target/servers/redis-defrag/server";
/// Commands of the quick mode.
const QUICK: [&str; 3] = ["BF.ADD", "BF.EXISTS", "SET"];

/// How long to measure.
struct Plan {
    commands: Vec<Command>,
    /// Minimum time of a measurement.
    time: Duration,
    rounds: usize,
}

/// A command, an event and a load.
struct Cell {
    command: Command,
    event: Event,
    load: u32,
    /// p99 of each round, in ns.
    p99: Rounds,
    /// The round with the lowest p99: other work on the machine makes latencies longer, never shorter.
    best: Option<Round>,
}

/// The results of one round.
struct Round {
    saturation: Saturation,
    histogram: Histogram<u64>,
    pause: Pause,
}

impl Round {
    fn p99(&self) -> u64 {
        self.histogram.value_at_quantile(0.99)
    }
}

impl Cell {
    fn new(command: Command, event: Event, load: u32) -> Self {
        Self {
            command,
            event,
            load,
            p99: Rounds::default(),
            best: None,
        }
    }

    fn add(&mut self, round: Round) {
        self.p99.push(round.p99() as f64);
        if self
            .best
            .as_ref()
            .is_none_or(|best| round.p99() < best.p99())
        {
            self.best = Some(round);
        }
    }

    fn to_json(&self) -> Value {
        let best = self.best.as_ref().expect("at least one round");
        let us = |quantile| best.histogram.value_at_quantile(quantile) as f64 / 1e3;
        json!({
            "command": self.command.name,
            "event": self.event.name(),
            "load": self.load,
            "saturation": best.saturation.to_json(),
            "commands": best.histogram.len(),
            "p50_us": us(0.5),
            "p99_us": us(0.99),
            "p999_us": us(0.999),
            "max_us": best.histogram.max() as f64 / 1e3,
            "p99_ns_of_rounds": self.p99.to_json(),
            "pause": best.pause.to_json(),
        })
    }
}

/// A closed loop.
struct Saturation {
    /// Commands per second.
    per_second: f64,
    /// The part of the time in which the main thread of the server ran.
    server_share: f64,
}

impl Saturation {
    fn measure(server: &Server, command: &Command, seed: u64) -> Self {
        let mut client = Client::connect(server.port());
        let mut request = command.request(seed);
        let before = (Instant::now(), Counters::of(server.pid()));
        let mut rates = [0.0; WINDOWS];
        rates.fill_with(|| client.closed_loop(&mut request, WINDOW));
        let running = Counters::of(server.pid()).running_ns - before.1.running_ns;
        rates.sort_by(f64::total_cmp);
        Self {
            per_second: rates[WINDOWS / 2],
            server_share: running as f64 / before.0.elapsed().as_nanos() as f64,
        }
    }

    fn to_json(&self) -> Value {
        json!({"per_second": self.per_second, "server_cpu_share": self.server_share})
    }
}

/// Measures one round of a cell. Rounds with different seeds use different items, so that they add new ones.
fn measure(server: &Server, cell: &mut Cell, time: Duration, seed: u64) {
    let mut connection = server.resp2();
    let time = cell.event.time(time);
    let saturation = Saturation::measure(server, &cell.command, !seed);
    let rate = saturation.per_second * f64::from(cell.load) / 100.0;
    let expected = (rate * time.as_secs_f64()) as u64;
    let mut request = events::prepare(cell.event, &cell.command, &mut connection, expected, seed);
    call(&mut connection, "SLOWLOG RESET");
    call(&mut connection, "LATENCY RESET");
    let mut client = Client::connect(server.port());
    let mut trigger = Trigger::new(cell.event, server);
    let observer = Observer::start(server.pid());
    let latencies = client.open_loop(&mut request, rate, |elapsed| trigger.is_over(elapsed, time));
    let samples = observer.finish();
    let sent = trigger.sent;
    trigger.finish();
    events::check(cell.event, &cell.command, server);
    let fork = sent.filter(|_| cell.event.forks()).map(|sent| {
        let us = server.info_number("latest_fork_usec");
        (sent, Duration::from_micros(us.unsigned_abs()))
    });
    let pause = Pause::new(latencies.longest, &samples, fork, &mut connection);
    println!(
        "{:<18} {:<22} {:>3} %  p50 {:>8.1} us  p99 {:>9.1} us  pause {:>8.2} ms: {}",
        cell.command.name,
        cell.event.name(),
        cell.load,
        latencies.histogram.value_at_quantile(0.5) as f64 / 1e3,
        latencies.histogram.value_at_quantile(0.99) as f64 / 1e3,
        pause.ms(),
        pause.cause(),
    );
    cell.add(Round {
        saturation,
        histogram: latencies.histogram,
        pause,
    });
}

/// Measures all commands during these events.
fn measure_all(server: &mut Server, plan: &Plan, events: &[Event]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for &event in events {
        for command in plan
            .commands
            .iter()
            .filter(|&command| event.applies_to(command))
        {
            cells.extend(LOADS.map(|load| Cell::new(*command, event, load)));
        }
    }
    for round in 0..plan.rounds {
        for &event in events {
            set_aof(server, event == Event::Rewrite);
            for cell in cells.iter_mut().filter(|cell| cell.event == event) {
                let seed = (round as u64 * 10 + event as u64) * 1000 + u64::from(cell.load);
                measure(server, cell, plan.time, seed);
            }
        }
    }
    cells
}

/// Turns the append-only file on or off.
fn set_aof(server: &mut Server, is_on: bool) {
    let value = if is_on { "yes" } else { "no" };
    let command = format!("CONFIG SET appendonly {value}");
    call(&mut server.resp2(), &command);
    let has_succeeded = server.wait_for_rewrite();
    assert!(
        has_succeeded,
        "the server cannot write the append-only file"
    );
}

/// Options of both servers: the logs of slow commands and of events, and no automatic rewrites.
fn options() -> Options {
    Options::new().arguments(&[
        "--slowlog-log-slower-than",
        "100",
        "--slowlog-max-len",
        "10000",
        "--latency-monitor-threshold",
        "1",
        "--auto-aof-rewrite-percentage",
        "0",
    ])
}

/// The measurements during defragmentation, and the version of their server; `None` if there is no such server.
fn defragmentation(plan: &Plan) -> Option<(Vec<Cell>, String)> {
    let program = record::repository().join(DEFRAGMENTING_SERVER);
    if !program.exists() {
        println!("active defragmentation: not measured, no {DEFRAGMENTING_SERVER}");
        return None;
    }
    // Low thresholds, so that the server defragments at once, and 10 % to 25 % of the time (default: 1 % to 25 %).
    let thresholds = [
        "--active-defrag-ignore-bytes",
        "1",
        "--active-defrag-threshold-lower",
        "5",
        "--active-defrag-cycle-min",
        "10",
    ];
    let mut server = options().program(program).arguments(&thresholds).start();
    // Fragmentation is a part of the memory, so the other keys are small.
    create_keys(&server, 16);
    let cells = measure_all(&mut server, plan, &[Event::Defragmentation]);
    Some((cells, version(&server)))
}

fn version(server: &Server) -> String {
    match server.info("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", server.info("redis_version").unwrap_or_default()),
    }
}

fn main() {
    record::enter_repository();
    let load_before = record::load_average();
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let plan = match is_quick {
        true => Plan {
            commands: (COMMANDS.into_iter())
                .filter(|command| QUICK.contains(&command.name))
                .collect(),
            time: Duration::from_millis(500),
            rounds: 1,
        },
        false => Plan {
            commands: COMMANDS.to_vec(),
            time: Duration::from_millis(1_200),
            rounds: 4,
        },
    };
    let mut server = options().start();
    create_keys(&server, 1);
    let resident = server.resident_bytes();
    let events = [Event::None, Event::Save, Event::Rewrite, Event::Growth];
    let mut cells = measure_all(&mut server, &plan, &events);
    let version = version(&server);
    drop(server);
    let defragmented = defragmentation(&Plan { rounds: 2, ..plan });
    let (of_defragmentation, defragmenting_server) = defragmented.unzip();
    cells.extend(of_defragmentation.into_iter().flatten());
    let results = json!({
        "server": version,
        "defragmenting_server": defragmenting_server,
        "resident_bytes": resident,
        "connections": CONNECTIONS,
        "rounds": plan.rounds,
        "cells": cells.iter().map(Cell::to_json).collect::<Vec<_>>(),
    });
    let name = match is_quick {
        true => "latency-quick.json",
        false => "latency.json",
    };
    record::write(name, results, load_before);
}
