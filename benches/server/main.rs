//! CPU time of the server per command under pipelined load, with Roughly and other modules in turn. Environment variables name
//! the files of the other modules, which must load on `ROUGHLY_SERVER`:
//!
//! | variable | module | results in target/bench |
//! |---|---|---|
//! | `ROUGHLY_REDISBLOOM` | RedisBloom; `make bench` sets it to the one that it fetches | redisbloom.json |
//! | `ROUGHLY_VALKEY_BLOOM` | valkey-bloom, only cases of Bloom filters | valkey-bloom.json |
//! | `ROUGHLY_BASELINE` | another build of Roughly | baseline.json |
//!
//! Without other modules, the benchmark writes no file. The replies of the modules to the same commands must be similar. An error ends
//! the benchmark.
//!
//! A pass of a case starts one server per module, and sends the load in [`BURSTS`] parts, each to one server after the other: other
//! work on the machine slows down neighboring bursts similarly. The ratio of two modules is the median of the ratios of their
//! bursts. A server that fills its memory first gets other pages than the next, so every second pass starts the servers in reverse
//! order. The time of a module is that of its fastest pass: other work makes a pass slower, never faster. CPU time is that of the
//! whole process, user and system (INFO cpu), so it includes reading, parsing and replying.
//!
//! Items are uniform: most of the time of a command is outside of the sketch.
//!
//! Other measurements instead of the cases:
//!
//! | argument | measures |
//! |---|---|
//! | `--huge-pages` | the cases on large arrays, with `sketch-huge-pages yes` and `no` ([`huge_pages`]) |
//! | `--small-keys` | memory, creation, random access and deletion of many small keys ([`small_keys`]) |
//!
//! Arguments select the cases whose names contain one of them; `--quick` runs one pass with a twentieth of the commands. Both
//! write no file.

#[path = "../../tests/support/mod.rs"]
mod support;

mod cases;
mod huge_pages;
mod load;
mod modules;
mod record;
mod small_keys;

use cases::Case;
use load::Load;
use modules::{Group, Prepared};
use serde_json::{Map, Value, json};

/// Number of parts of a load. The servers change after each part. Even, so that each module is first equally often.
const BURSTS: usize = 40;
/// Number of passes of a case. Even, so that each module is started first equally often.
const PASSES: usize = 4;
/// Divisor of the number of commands in a quick run.
const QUICK: usize = 20;

/// CPU time per command of each module, in ns: for each module a list of bursts of all passes.
type Times = Vec<Vec<f64>>;

fn measure(group: &Group, case: &Case, is_quick: bool) -> Times {
    let (passes, divisor) = if is_quick { (1, QUICK) } else { (PASSES, 1) };
    let mut times = vec![Vec::new(); group.modules.len()];
    for pass in 0..passes {
        let mut servers = group.prepare(case, pass % 2 == 1, divisor);
        let mut load = case.load.clone();
        load.commands = load.commands.div_ceil(divisor);
        alternate(&mut servers, &load, BURSTS, &mut times);
        check_replies(case.name, &servers);
    }
    times
}

/// Sends the load to each of the servers in this many parts, and appends the times of the parts to those of the module.
fn alternate(servers: &mut [Prepared], load: &Load, bursts: usize, times: &mut Times) {
    let mut burst = load.clone();
    burst.commands = burst.commands.div_ceil(bursts);
    for i in 0..bursts {
        let mut order: Vec<_> = servers.iter_mut().zip(times.iter_mut()).collect();
        if i % 2 == 1 {
            order.reverse();
        }
        for (prepared, times) in order {
            times.push(prepared.ns_per_command(&burst));
        }
    }
}

/// Panics if the servers have replied differently.
fn check_replies(name: &str, servers: &[Prepared]) {
    let replies = servers.iter().map(|server| server.connections.replies);
    let replies: Vec<_> = replies.collect();
    assert!(
        replies.iter().all(|other| replies[0].are_similar(*other)),
        "{name}: the modules reply differently: {replies:?}"
    );
}

/// The mean of the bursts of the fastest pass.
fn fastest(bursts: &[f64]) -> f64 {
    let means = bursts
        .chunks(BURSTS)
        .map(|pass| pass.iter().sum::<f64>() / pass.len() as f64);
    means.fold(f64::INFINITY, f64::min)
}

/// The ratios of two modules within each burst: the values at 25, 50 and 75 percent.
fn quartiles(ours: &[f64], theirs: &[f64]) -> [f64; 3] {
    let mut ratios: Vec<_> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    [1, 2, 3].map(|i| ratios[(ratios.len() - 1) * i / 4])
}

/// Measures the cases of a group that `selects` accepts. Returns the results of each module, by name of the case.
fn run(group: &Group, selects: impl Fn(&str) -> bool, is_quick: bool) -> Vec<Map<String, Value>> {
    let mut results = vec![Map::new(); group.modules.len()];
    let cases = cases::parse(cases::CASES);
    for case in cases.iter().filter(|case| selects(case.name)) {
        if !group.compares(case) {
            println!("{:<36} not a command of the other module", case.name);
            continue;
        }
        let times = measure(group, case, is_quick);
        let roughly = fastest(&times[0]);
        print!("{:<36} {roughly:>9.0} ns", case.name);
        for (i, module) in group.modules.iter().enumerate().skip(1) {
            let (name, peer) = (module.name, fastest(&times[i]));
            let [low, ratio, high] = quartiles(&times[0], &times[i]);
            print!("   {name} {peer:.0} ns, {ratio:.3} ({low:.3} to {high:.3})");
            let result = json!({
                "roughly": roughly.round(), "peer": peer.round(),
                "ratio": ratio, "ratio_low": low, "ratio_high": high,
            });
            results[i].insert(case.name.to_owned(), result);
        }
        println!();
    }
    results
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
    for argument in std::env::args() {
        match argument.as_str() {
            "--huge-pages" => return huge_pages::run(selects, !arguments.is_empty(), load_before),
            "--small-keys" => return small_keys::run(selects, arguments.is_empty(), load_before),
            _ => {}
        }
    }
    let group = Group::of_environment();
    let (server, versions) = group.versions();
    println!(
        "{server}, Roughly {}: ns of server CPU time per command in the fastest pass; ratio of Roughly to the other module: \
         median of the bursts (quartiles)",
        versions.join(", ")
    );
    let results = run(&group, selects, is_quick);
    if is_quick || !arguments.is_empty() {
        return;
    }
    // The results of Roughly are in the files of the other modules.
    for (i, cases) in results.into_iter().enumerate().skip(1) {
        let results = json!({
            "server": server,
            "unit": "ns of server CPU per command, fastest of interleaved passes; median ratio of bursts",
            "roughly": versions[0],
            "peer": versions[i],
            "cases": cases,
        });
        let name = group.modules[i].name;
        record::write(&format!("{name}.json"), results, load_before);
    }
}
