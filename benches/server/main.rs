//! Benchmark of the module in a server: CPU time of the server per command under pipelined load.
//!
//! `cargo bench -p benches --bench server` runs all cases and writes target/bench/server.json. Arguments after `--`
//! select the cases whose names contain one of them; `--quick` runs one short round of each case. Both write
//! server-part.json instead, which `make bench-report` does not read. The environment variable `ROUGHLY_SERVER` selects
//! the server (default: the one in PATH). The module is target/release/libroughly.so.
//!
//! Each round measures `EXISTS nokey` and then the case. The rounds of a case are repeated until two of them agree
//! (benches/rounds). The results are the fastest round of each and their ratio, and the spread of the rounds. CPU time is
//! that of the whole server process (user and system, from INFO): it includes reading, parsing and replying, but
//! not the time of other processes.

#[path = "../record/mod.rs"]
mod record;
#[path = "../rounds/mod.rs"]
mod rounds;
#[path = "../stream/mod.rs"]
mod stream;
#[path = "../../tests/support/mod.rs"]
mod support;

mod cases;
mod cpu;
mod curves;
mod load;
mod pauses;

use cases::{Case, UNIT};
use load::{Connections, Load};
use pauses::prepare;
use rounds::{Rounds, until_agreement};
use serde_json::{Value, json};
use support::server::{Options, Server};

/// Minimum number of rounds per case and per point of a curve.
const MIN_ROUNDS: usize = 3;
/// Maximum number of rounds, if no two of them agree.
const MAX_ROUNDS: usize = 12;

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

    /// Repeats a measurement until two rounds agree.
    fn rounds(&self, measure: impl FnMut() -> f64) -> Rounds {
        match self.is_quick {
            true => until_agreement(1, 1, measure),
            false => until_agreement(MIN_ROUNDS, MAX_ROUNDS, measure),
        }
    }

    fn shortened(&self, load: &Load) -> Load {
        let mut load = load.clone();
        if self.is_quick {
            load.commands = load.commands.div_ceil(20);
        }
        load
    }

    fn case(&self, case: &Case, unit: &Load) -> Value {
        let mut connection = self.server.resp2();
        let mut connections = Connections::open(self.server.port(), 1);
        let (unit, load) = (self.shortened(unit), self.shortened(&case.load));
        let mut units = Rounds::default();
        let mut is_prepared = false;
        let rounds = self.rounds(|| {
            if case.fresh || !is_prepared {
                is_prepared = true;
                prepare(&mut connection, case.setup);
                if let Some(prefill) = &case.prefill {
                    connections.run(&self.shortened(prefill));
                }
            }
            units.push(cpu::per_command(&self.server, &mut connections, &unit));
            cpu::per_command(&self.server, &mut connections, &load)
        });
        let (ns, unit_ns) = (rounds.fastest(), units.fastest());
        println!(
            "{:<44} {ns:>9.0} ns {:>8.2} {}",
            case.name,
            ns / unit_ns,
            shown(&rounds)
        );
        json!({
            "name": case.name,
            "ns": ns,
            "rounds": rounds.to_json(),
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
        let per_item =
            || cpu::per_command(&self.server, &mut connections, &load) / point.items as f64;
        let rounds = self.rounds(per_item);
        let ns = rounds.fastest();
        println!("{number:>12} {ns:>9.1} ns per item {}", shown(&rounds));
        json!([number, ns, rounds.to_json()])
    }
}

/// Spread and agreement of rounds, for the terminal.
fn shown(rounds: &Rounds) -> String {
    if rounds.difference().is_infinite() {
        return "one round".to_owned();
    }
    let spread = rounds.spread() * 100.0;
    let warning = if rounds.agree() {
        ""
    } else {
        ", rounds disagree"
    };
    format!("spread {spread:.1} %{warning}")
}

fn main() {
    record::enter_repository();
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
    let version = cpu::version(&bench.server);
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
        "cases": measured,
        "curves": curves,
        "pauses": pauses,
    });
    let name = match bench.arguments.is_empty() && !bench.is_quick {
        true => "server.json",
        false => "server-part.json",
    };
    record::write(name, results, load_before);
}
