//! Benchmark of latencies under load: percentiles of the commands of each family while the server saves, rewrites its
//! AOF, grows a filter, or defragments its memory.
//!
//! `cargo bench --bench latency` writes target/bench/latency.json. With `--quick`, it measures three commands for a short time.
//! The environment variable `ROUGHLY_SERVER` selects the server (default: the one in PATH). Active defragmentation is
//! measured on target/servers/redis-defrag/server (`scripts/build-server.sh defrag`), and left out if it does not exist.
//!
//! The benchmark first measures the saturation of each command: the commands per second of a closed loop, the fastest of the
//! rounds. Then it sends commands at 50 % and 90 % of this rate (see [`client`]).

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
use rounds::{Rounds, until_agreement};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use support::server::{Options, Server};

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

/// A command, an event and a load, with its results of all rounds.
struct Cell {
    command: Command,
    event: Event,
    load: u32,
    histogram: Histogram<u64>,
    /// p99 of each round, in ns.
    p99: Rounds,
    pause: Option<Pause>,
}

impl Cell {
    fn new(command: Command, event: Event, load: u32) -> Self {
        Self {
            command,
            event,
            load,
            histogram: client::histogram(),
            p99: Rounds::default(),
            pause: None,
        }
    }

    fn to_json(&self) -> Value {
        let us = |quantile| self.histogram.value_at_quantile(quantile) as f64 / 1e3;
        json!({
            "command": self.command.name,
            "event": self.event.name(),
            "load": self.load,
            "commands": self.histogram.len(),
            "p50_us": us(0.5),
            "p99_us": us(0.99),
            "p999_us": us(0.999),
            "max_us": self.histogram.max() as f64 / 1e3,
            "p99_ns_of_rounds": self.p99.to_json(),
            "pause": self.pause.as_ref().map(Pause::to_json),
        })
    }
}

/// Commands per second of a closed loop, for each command.
struct Saturation {
    /// In the order of the plan.
    per_second: Vec<f64>,
    results: Vec<Value>,
}

impl Saturation {
    fn measure(server: &Server, plan: &Plan) -> Self {
        let mut client = Client::connect(server.port());
        let (mut per_second, mut results) = (Vec::new(), Vec::new());
        for command in &plan.commands {
            let mut request = command.request(1);
            let before = (Instant::now(), Counters::of(server.pid()));
            let ns = until_agreement(plan.rounds, 2 * plan.rounds, || {
                1e9 / client.closed_loop(&mut request, plan.time)
            });
            let running = Counters::of(server.pid()).running_ns - before.1.running_ns;
            let server_share = running as f64 / before.0.elapsed().as_nanos() as f64;
            let rate = 1e9 / ns.fastest();
            println!("{:<18} {rate:>9.0} commands per second", command.name);
            per_second.push(rate);
            results.push(json!({
                "command": command.name,
                "per_second": rate,
                "server_cpu_share": server_share,
                "ns_of_rounds": ns.to_json(),
            }));
        }
        Self {
            per_second,
            results,
        }
    }
}

/// Measures one round of a cell.
fn measure(server: &Server, cell: &mut Cell, per_second: f64, time: Duration) {
    let mut connection = server.resp2();
    let time = cell.event.time(time);
    let rate = per_second * f64::from(cell.load) / 100.0;
    let expected = (rate * time.as_secs_f64()) as u64;
    // Each measurement uses other items, so that it also adds new ones.
    let seed = cell.histogram.len() + u64::from(cell.load);
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
    cell.p99
        .push(latencies.histogram.value_at_quantile(0.99) as f64);
    let added = cell.histogram.add(&latencies.histogram);
    added.expect("histograms with the same bounds");
    if cell
        .pause
        .as_ref()
        .is_none_or(|other| other.ms() < pause.ms())
    {
        cell.pause = Some(pause);
    }
}

/// Measures all commands during these events.
fn measure_all(
    server: &mut Server,
    plan: &Plan,
    events: &[Event],
    saturation: &Saturation,
) -> Vec<Cell> {
    let mut cells: Vec<(Cell, f64)> = Vec::new();
    for &event in events {
        for (command, per_second) in plan.commands.iter().zip(&saturation.per_second) {
            for load in LOADS.into_iter().filter(|_| event.applies_to(command)) {
                cells.push((Cell::new(*command, event, load), *per_second));
            }
        }
    }
    for _ in 0..plan.rounds {
        for &event in events {
            set_aof(server, event == Event::Rewrite);
            for (cell, per_second) in cells.iter_mut().filter(|(cell, _)| cell.event == event) {
                measure(server, cell, *per_second, plan.time);
            }
        }
    }
    cells.into_iter().map(|(cell, _)| cell).collect()
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
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(DEFRAGMENTING_SERVER);
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
    let saturation = Saturation::measure(&server, plan);
    let cells = measure_all(&mut server, plan, &[Event::Defragmentation], &saturation);
    Some((cells, version(&server)))
}

fn version(server: &Server) -> String {
    match server.info("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", server.info("redis_version").unwrap_or_default()),
    }
}

fn main() {
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
            rounds: 2,
        },
    };
    let mut server = options().start();
    create_keys(&server, 1);
    let resident = server.resident_bytes();
    let saturation = Saturation::measure(&server, &plan);
    let events = [Event::None, Event::Save, Event::Rewrite, Event::Growth];
    let mut cells = measure_all(&mut server, &plan, &events, &saturation);
    let version = version(&server);
    drop(server);
    let defragmented = defragmentation(&Plan { rounds: 1, ..plan });
    let (of_defragmentation, defragmenting_server) = defragmented.unzip();
    cells.extend(of_defragmentation.into_iter().flatten());
    let results = json!({
        "server": version,
        "defragmenting_server": defragmenting_server,
        "resident_bytes": resident,
        "connections": CONNECTIONS,
        "rounds": plan.rounds,
        "saturation": saturation.results,
        "cells": cells.iter().map(Cell::to_json).collect::<Vec<_>>(),
    });
    let name = match is_quick {
        true => "latency-quick.json",
        false => "latency.json",
    };
    record::write(name, results, load_before);
}
