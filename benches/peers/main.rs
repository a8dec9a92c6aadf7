//! Comparison of Roughly with other modules: CPU time of the server per command under pipelined load.
//!
//! `make bench-peers` runs this benchmark. Environment variables select the modules:
//!
//! | variable | module | server | results in target/bench |
//! |---|---|---|---|
//! | `REDISBLOOM` | RedisBloom | `ROUGHLY_SERVER` | peers-redisbloom.json |
//! | `VALKEY_BLOOM` | valkey-bloom, only cases of Bloom filters | `ROUGHLY_VALKEY_SERVER` | peers-valkey-bloom.json |
//! | `BASELINE` | another build of Roughly | both | peers-baseline.json, peers-baseline-valkey.json |
//!
//! Each round of a case measures every module on a new server. The order alternates: A B, B A, A B, … The rounds of a case are
//! repeated until two rounds of each module agree (benches/rounds). The result of a module is its fastest round. The spread of the
//! ratio is the smallest and the largest ratio of two modules within one round.
//!
//! Arguments select the cases whose names contain one of them; `--quick` runs one short round. Both write files with the
//! suffix `-part`, which `make bench-report` does not read.

#[path = "../server/cpu.rs"]
mod cpu;
#[path = "../server/load.rs"]
mod load;
#[path = "../record/mod.rs"]
mod record;
#[allow(dead_code)] // Several modules are measured in turn, so this benchmark has its own loop.
#[path = "../rounds/mod.rs"]
mod rounds;
#[path = "../stream/mod.rs"]
mod stream;
#[path = "../../tests/support/mod.rs"]
mod support;

mod cases;
mod modules;

use cases::Case;
use load::Load;
use modules::Group;
use rounds::Rounds;
use serde_json::{Map, Value, json};

/// Minimum number of rounds: even, so that each module is first equally often.
const MIN_ROUNDS: usize = 4;
/// Maximum number of rounds, if those of a module do not agree.
const MAX_ROUNDS: usize = 12;

/// Times of one case: the rounds of each module, in the order of the rounds.
type Times = Vec<Vec<f64>>;

fn rounds_of(times: &[f64]) -> Rounds {
    let mut rounds = Rounds::default();
    times.iter().for_each(|&time| rounds.push(time));
    rounds
}

fn measure(group: &Group, case: &Case, is_quick: bool) -> Times {
    let shortened = |load: &Load| {
        let mut load = load.clone();
        if is_quick {
            load.commands = load.commands.div_ceil(20);
        }
        load
    };
    let mut times = vec![Vec::new(); group.modules.len()];
    let max = if is_quick { 1 } else { MAX_ROUNDS };
    for round in 0..max {
        let mut order: Vec<_> = group.modules.iter().enumerate().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for (i, module) in order {
            times[i].push(group.measure(module, case, shortened));
        }
        if round + 1 >= MIN_ROUNDS && times.iter().all(|times| rounds_of(times).agree()) {
            break;
        }
    }
    times
}

/// The result of a case: times of Roughly and of another module, and the smallest and the largest ratio within a round.
fn comparison(roughly: &[f64], peer: &[f64]) -> Value {
    let ratios = || roughly.iter().zip(peer).map(|(ours, other)| ours / other);
    let (ours, other) = (rounds_of(roughly), rounds_of(peer));
    json!({
        "roughly": ours.fastest(),
        "peer": other.fastest(),
        "ratio_low": ratios().fold(f64::INFINITY, f64::min),
        "ratio_high": ratios().fold(0.0, f64::max),
        "rounds": roughly.len(),
        "agree": ours.agree() && other.agree(),
    })
}

fn main() {
    let load_before = record::load_average();
    // Cargo adds `--bench`.
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    arguments.retain(|argument| !argument.starts_with("--"));
    let selects = |name: &str| {
        let mut arguments = arguments.iter();
        arguments.len() == 0 || arguments.any(|argument| name.contains(argument.as_str()))
    };
    let part = match is_quick || !arguments.is_empty() {
        true => "-part",
        false => "",
    };
    let groups = Group::all();
    assert!(
        !groups.is_empty(),
        "no module to compare with: set REDISBLOOM, VALKEY_BLOOM or BASELINE to a module file"
    );
    for group in groups {
        let (server, versions) = group.versions();
        println!("{server}, ns of server CPU time per command: fastest round; ratio, its range");
        let mut results = vec![Map::new(); group.modules.len()];
        for case in cases::all() {
            if !group.compares(&case) || !selects(case.name) {
                continue;
            }
            let times = measure(&group, &case, is_quick);
            println!("{:<36} {:>9.0}", case.name, rounds_of(&times[0]).fastest());
            for (i, module) in group.modules.iter().enumerate().skip(1) {
                let result = comparison(&times[0], &times[i]);
                println!("{}", shown(module.name, &result));
                results[i].insert(case.name.to_owned(), result);
            }
        }
        for (i, cases) in results.into_iter().enumerate().skip(1) {
            let results = json!({
                "server": server,
                "unit": "ns of server CPU per command, fastest of interleaved rounds",
                "roughly": versions[0],
                "peer": versions[i],
                "cases": cases,
            });
            let name = format!("peers-{}{part}.json", group.modules[i].name);
            record::write(&name, results, load_before);
        }
    }
}

/// The result of a case, for the terminal.
fn shown(name: &str, result: &Value) -> String {
    let number = |field: &str| result[field].as_f64().unwrap_or(f64::NAN);
    let rounds = match result["rounds"].as_u64() {
        Some(1) => "one round".to_owned(),
        rounds => format!("{} rounds", rounds.unwrap_or(0)),
    };
    let warning = match result["agree"] == false && rounds != "one round" {
        true => ", rounds of a module disagree",
        false => "",
    };
    format!(
        "    {name:<32} {:>9.0} {:>8.3} ({:.3} to {:.3}) in {rounds}{warning}",
        number("peer"),
        number("roughly") / number("peer"),
        number("ratio_low"),
        number("ratio_high"),
    )
}
