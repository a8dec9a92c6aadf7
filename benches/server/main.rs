//! The module in a server: the server's own CPU time for a command, under pipelined load.
//!
//! `cargo bench --bench server` measures all and writes target/bench/server.json; arguments after `--` choose
//! cases by their names, `--quick` makes one short round of each. The server is the one that
//! `ROUGHLY_SERVER` names, else that of the PATH; the module is target/release/libroughly.so.
//!
//! Each round measures `EXISTS nokey` and then the case; the reported time is the smallest of the rounds,
//! of both, and their quotient. The CPU time is that of the whole process (INFO: user and system), so that
//! it holds what reading, writing and answering cost, and not the time for which the machine did something
//! else.

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

/// Rounds of a case.
const ROUNDS: usize = 5;
/// Rounds of a point of a curve.
const POINT_ROUNDS: usize = 3;

struct Bench {
    server: Server,
    words: Vec<String>,
    is_quick: bool,
}

impl Bench {
    fn chooses(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
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

    /// CPU time of the server for each command of a load, in ns.
    fn cost(&self, connections: &mut Connections, load: &Load) -> f64 {
        let before = self.cpu_seconds();
        connections.run(load);
        (self.cpu_seconds() - before) * 1e9 / load.commands as f64
    }

    /// Seconds the server has computed, in the kernel and outside.
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
            "goal": case.goal,
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
        println!("{number:>12} {ns:>9.1} ns an item");
        json!([number, ns])
    }
}

fn main() {
    let load_before = record::load_average();
    // Cargo adds `--bench`.
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = words.iter().any(|word| word == "--quick");
    words.retain(|word| !word.starts_with("--"));
    let bench = Bench {
        server: Options::new().arguments(&["--hz", "1"]).start(),
        words,
        is_quick,
    };
    let field = |name| bench.server.info(name);
    let version = match field("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", field("redis_version").unwrap_or_default()),
    };
    println!("server CPU time a command, and how many times that of `EXISTS nokey`, on {version}");

    let cases = cases::all();
    let unit = &cases
        .iter()
        .find(|case| case.name == UNIT)
        .expect("it")
        .load;
    let measured: Vec<Value> = (cases.iter().filter(|case| bench.chooses(case.name)))
        .map(|case| bench.case(case, unit))
        .collect();
    let curves: Vec<Value> = curves::all()
        .into_iter()
        .filter(|curve| bench.chooses(curve.name))
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
        .filter(|pause| bench.chooses(pause.name))
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
    let name = match bench.words.is_empty() {
        true => "server.json",
        false => "server-part.json",
    };
    record::write(name, results, load_before);
}
