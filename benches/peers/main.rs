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
//! A pass of a case starts one server per module, and sends the load in [`BURSTS`] parts, each to one server after the other. Other
//! work on the machine slows down neighboring bursts similarly, so the ratio of two modules is the median of the ratios within each
//! burst; its spread is the two quartiles. A server that fills its memory first gets other pages than the next, which changes the
//! times of large filters by a few percent. So passes come in pairs, of which the second starts the servers in reverse order. Pairs
//! are repeated until the medians of two successive ones agree (benches/rounds). The time of a module is that of its fastest pass.
//!
//! Arguments select the cases whose names contain one of them; `--quick` runs one pair of short passes. Both write files with the
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
use modules::Group;
use rounds::AGREEMENT;
use serde_json::{Map, Value, json};

/// Number of parts of a load. The servers change after each part. Even, so that each module is first equally often.
const BURSTS: usize = 40;
/// Maximum number of pairs of passes, if no two successive pairs agree.
const MAX_PAIRS: usize = 4;

/// CPU time per command of each module in one pass, in ns: a list of bursts for each module.
type Pass = Vec<Vec<f64>>;

fn pass(group: &Group, case: &Case, is_reversed: bool, is_quick: bool) -> Pass {
    let divisor = if is_quick { 20 } else { 1 };
    let mut servers = group.prepare(case, is_reversed, divisor);
    let mut burst = case.load.clone();
    burst.commands = burst.commands.div_ceil(BURSTS * divisor);
    let mut times = vec![Vec::with_capacity(BURSTS); servers.len()];
    for i in 0..BURSTS {
        let mut order: Vec<_> = servers.iter_mut().zip(&mut times).collect();
        if i % 2 == 1 {
            order.reverse();
        }
        for (prepared, times) in order {
            times.push(prepared.per_command(&burst));
        }
    }
    times
}

/// The values at 25, 50 and 75 percent.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|i| values[(values.len() - 1) * i / 4])
}

/// The ratios of Roughly's time to that of a module in each burst.
fn ratios(passes: &[Pass], module: usize) -> Vec<f64> {
    let bursts = passes
        .iter()
        .flat_map(|pass| pass[0].iter().zip(&pass[module]));
    bursts.map(|(ours, other)| ours / other).collect()
}

/// Whether the median ratios of a module in the last two pairs of passes agree.
fn agree(passes: &[Pass], module: usize) -> bool {
    let mut pairs = passes.rchunks_exact(2);
    let (Some(last), Some(earlier)) = (pairs.next(), pairs.next()) else {
        return false;
    };
    let [a, b] = [last, earlier].map(|pair| quartiles(ratios(pair, module))[1]);
    (a / b).max(b / a) <= 1.0 + AGREEMENT
}

fn measure(group: &Group, case: &Case, is_quick: bool) -> Vec<Pass> {
    let max = if is_quick { 1 } else { MAX_PAIRS };
    let mut passes = Vec::new();
    while passes.len() < 2 * max && !(1..group.modules.len()).all(|module| agree(&passes, module)) {
        passes.extend([false, true].map(|is_reversed| pass(group, case, is_reversed, is_quick)));
    }
    passes
}

/// CPU time per command of a module in its fastest pass.
fn fastest(passes: &[Pass], module: usize) -> f64 {
    let means = passes.iter().map(|pass| {
        let bursts = &pass[module];
        bursts.iter().sum::<f64>() / bursts.len() as f64
    });
    means.fold(f64::INFINITY, f64::min)
}

/// The result of a case: times of Roughly and of another module, and the quartiles of their ratio.
fn comparison(passes: &[Pass], module: usize) -> Value {
    let [low, median, high] = quartiles(ratios(passes, module));
    json!({
        "roughly": fastest(passes, 0),
        "peer": fastest(passes, module),
        "ratio": median,
        "ratio_low": low,
        "ratio_high": high,
        "passes": passes.len(),
        "agree": agree(passes, module),
    })
}

fn main() {
    record::enter_repository();
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
        println!(
            "{server}, ns of server CPU time per command: fastest pass; median ratio, its quartiles"
        );
        let mut results = vec![Map::new(); group.modules.len()];
        for case in cases::all() {
            if !group.compares(&case) || !selects(case.name) {
                continue;
            }
            let passes = measure(&group, &case, is_quick);
            println!("{:<36} {:>9.0}", case.name, fastest(&passes, 0));
            for (i, module) in group.modules.iter().enumerate().skip(1) {
                let result = comparison(&passes, i);
                println!("{}", shown(module.name, &result));
                results[i].insert(case.name.to_owned(), result);
            }
        }
        for (i, cases) in results.into_iter().enumerate().skip(1) {
            let results = json!({
                "server": server,
                "unit": "ns of server CPU per command, fastest of interleaved passes; median ratio of bursts",
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
    let passes = result["passes"].as_u64().unwrap_or(0);
    let warning = match result["agree"] == false && passes > 2 {
        true => ", pairs of passes disagree",
        false => "",
    };
    format!(
        "    {name:<32} {:>9.0} {:>8.3} ({:.3} to {:.3}) in {passes} passes{warning}",
        number("peer"),
        number("ratio"),
        number("ratio_low"),
        number("ratio_high"),
    )
}
