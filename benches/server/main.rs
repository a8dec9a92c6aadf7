//! Benchmark of the module in a server: CPU time of the server per command under pipelined load.
//!
//! `cargo bench --bench server` runs all cases and writes target/bench/server.json. Arguments after `--`
//! select the cases whose names contain one of them and write server-part.json; `--quick` runs one short
//! round of each case. The environment variable `ROUGHLY_SERVER` selects the server (default: the one in
//! PATH). The module is target/release/libroughly.so.
//!
//! Each round measures `EXISTS nokey` and then the case. The results are the fastest round of each and their
//! ratio. CPU time is that of the whole server process (user and system, from INFO): it includes reading,
//! parsing and replying, but not the time of other processes.

#[path = "../record/mod.rs"]
mod record;
#[path = "../stream/mod.rs"]
mod stream;
#[path = "../../tests/support/mod.rs"]
mod support;

mod cases;
mod curves;
mod load;
mod pauses;

use cases::{Case, UNIT};
use load::{Connections, Load};
use pauses::prepare;
use serde_json::{Value, json};
use support::server::{Options, Server};

/// Rounds per case.
const ROUNDS: usize = 5;
/// Rounds per point of a curve.
const POINT_ROUNDS: usize = 3;

struct Bench {
    server: Server,
    arguments: Vec<String>,
    is_quick: bool,
}

impl Bench {
    fn selects(&self, name: &str) -> bool {
        self.arguments.is_empty()
            || self
                .arguments
                .iter()
                .any(|argument| name.contains(argument.as_str()))
    }

    fn rounds(&self, rounds: usize) -> usize {
        if self.is_quick { 1 } else { rounds }
    }

    fn shortened(&self, load: &Load) -> Load {
        let mut load = load.clone();
        if self.is_quick {
            load.commands = load.commands.div_ceil(20);
        }
        load
    }

    /// CPU time of the server per command of a load, in ns.
    fn cost(&self, connections: &mut Connections, load: &Load) -> f64 {
        let before = self.cpu_seconds();
        connections.run(load);
        (self.cpu_seconds() - before) * 1e9 / load.commands as f64
    }

    /// User and system CPU time of the server, in seconds.
    fn cpu_seconds(&self) -> f64 {
        let info = self.server.call("INFO cpu");
        let text = String::from_utf8_lossy(info.text().expect("a text")).into_owned();
        let field = |name: &str| -> f64 {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .and_then(|number| number.parse().ok())
                .expect("a number")
        };
        field("used_cpu_user") + field("used_cpu_sys")
    }

    fn case(&self, case: &Case, unit: &Load) -> Value {
        let mut connection = self.server.resp2();
        let mut connections = Connections::open(self.server.port(), 1);
        let (unit, load) = (self.shortened(unit), self.shortened(&case.load));
        let (mut unit_ns, mut ns) = (f64::INFINITY, f64::INFINITY);
        for round in 0..self.rounds(ROUNDS) {
            if round == 0 || case.fresh {
                prepare(&mut connection, case.setup);
                if let Some(prefill) = &case.prefill {
                    connections.run(&self.shortened(prefill));
                }
            }
            unit_ns = unit_ns.min(self.cost(&mut connections, &unit));
            ns = ns.min(self.cost(&mut connections, &load));
        }
        println!("{:<44} {ns:>9.0} ns {:>8.2}", case.name, ns / unit_ns);
        json!({
            "name": case.name,
            "ns": ns,
            "exists_ns": unit_ns,
            "multiple": ns / unit_ns,
            "server_share": case.server_share,
        })
    }

    fn point(&self, number: f64, point: &curves::Point) -> Value {
        let mut connection = self.server.resp2();
        let mut connections = Connections::open(self.server.port(), 1);
        prepare(&mut connection, &[&point.setup]);
        connections.run(&self.shortened(&point.prefill));
        let load = self.shortened(&point.load);
        let costs = (0..self.rounds(POINT_ROUNDS)).map(|_| self.cost(&mut connections, &load));
        let ns = costs.fold(f64::INFINITY, f64::min) / point.items as f64;
        println!("{number:>12} {ns:>9.1} ns per item");
        json!([number, ns])
    }
}

fn main() {
    let load_before = record::load_average();
    // Cargo adds `--bench`.
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    arguments.retain(|argument| !argument.starts_with("--"));
    let bench = Bench {
        server: Options::new().arguments(&["--hz", "1"]).start(),
        arguments,
        is_quick,
    };
    let field = |name| bench.server.info(name);
    let version = match field("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", field("redis_version").unwrap_or_default()),
    };
    println!("{version}: server CPU time per command, and its ratio to `EXISTS nokey`");

    let cases = cases::all();
    let unit = &cases
        .iter()
        .find(|case| case.name == UNIT)
        .expect("the unit case exists")
        .load;
    let measured: Vec<Value> = (cases.iter().filter(|case| bench.selects(case.name)))
        .map(|case| bench.case(case, unit))
        .collect();
    let curves: Vec<Value> = curves::all()
        .into_iter()
        .filter(|curve| bench.selects(curve.name))
        .map(|curve| {
            println!("{}, {}", curve.name, curve.unit);
            let points = curve.points.iter();
            let points: Vec<_> = points
                .map(|(number, point)| bench.point(*number, point))
                .collect();
            json!({"name": curve.name, "unit": curve.unit, "points": points})
        })
        .collect();
    let mut connections = Connections::open(bench.server.port(), 1);
    let pauses: Vec<Value> = pauses::all()
        .iter()
        .filter(|pause| bench.selects(pause.name))
        .map(|pause| {
            let us = pause.measure(&bench.server, &mut connections);
            println!("{:<52} {us:?} us", pause.name);
            json!({"name": pause.name, "us": us})
        })
        .collect();
    let results = json!({
        "server": version,
        "allocator": field("mem_allocator"),
        "rounds": bench.rounds(ROUNDS),
        "cases": measured,
        "curves": curves,
        "pauses": pauses,
    });
    let name = match bench.arguments.is_empty() {
        true => "server.json",
        false => "server-part.json",
    };
    record::write(name, results, load_before);
}
