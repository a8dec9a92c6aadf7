//! Many keys with little data: memory per key, and the CPU time to create, write, read and delete them, with Roughly and other
//! modules in turn.
//!
//! The keys have the default parameters of both modules, except for the count-min sketch, which has none. Writes and reads are
//! to random keys, so that most of them miss the caches of the processor.

use crate::load::Load;
use crate::modules::{Group, Prepared};
use crate::{Times, alternate, check_replies, quartiles, record};
use serde_json::{Map, Value, json};

/// Parts of each load; even, so that each module is first equally often.
const BURSTS: usize = 20;
/// Even, so that each module is started first equally often.
const PASSES: usize = 2;

/// Name, number of keys, and the commands that create a key (`@` is its number), write to a random one (`#`) and read it. Each t-digest of RedisBloom takes 10 KB.
const KINDS: &str = "\
Bloom filter | 1000000 | BF.ADD key:@ item:1 | BF.ADD key:# item:# | BF.EXISTS key:# item:#
cuckoo filter | 1000000 | CF.ADD key:@ item:1 | CF.ADD key:# item:# | CF.EXISTS key:# item:#
cuckoo filter, capacity 64 | 1000000 | CF.RESERVE key:@ 64 | CF.ADD key:# item:# | CF.EXISTS key:# item:#
count-min sketch, 100 × 5 | 1000000 | CMS.INITBYDIM key:@ 100 5 | CMS.INCRBY key:# item:# 1 | CMS.QUERY key:# item:#
top-k, k 10 | 500000 | TOPK.RESERVE key:@ 10 | TOPK.ADD key:# item:# | TOPK.QUERY key:# item:#
t-digest | 200000 | TDIGEST.CREATE key:@ | TDIGEST.ADD key:# 1 | TDIGEST.QUANTILE key:# 0.5";

/// What is measured, in the order of the loads.
const MEASURES: [&str; 4] = ["creation", "random write", "random read", "deletion"];

/// The CPU times of each measure, and the bytes per key of each module, of all passes.
fn measure(group: &Group, kind: &[&str]) -> ([Times; 4], Vec<f64>) {
    let mut times = [const { Vec::new() }; 4].map(|_: Times| vec![Vec::new(); group.modules.len()]);
    let mut bytes = vec![0.0; group.modules.len()];
    let keys = kind[1];
    let loads = [kind[2], kind[3], kind[4], "DEL key:@"]
        .map(|command| Load::parse(&format!("{keys} {keys} {command}")));
    for pass in 0..PASSES {
        let mut servers = group.start_all(pass % 2 == 1, |_, _| {});
        let before: Vec<_> = servers.iter().map(Prepared::used_memory).collect();
        for (i, (load, times)) in loads.iter().zip(&mut times).enumerate() {
            for server in &mut servers {
                server.connections.restart_sequence();
            }
            alternate(&mut servers, load, BURSTS, times);
            if i == 0 {
                for ((server, bytes), before) in servers.iter().zip(&mut bytes).zip(&before) {
                    *bytes = (server.used_memory() - before) / loads[0].commands as f64;
                }
            }
        }
        // Not compared for items: the modules hash differently, and nearly all reads are of absent items.
        check_replies(kind[0], &servers);
    }
    (times, bytes)
}

/// Measures the kinds of keys that `selects` accepts, and prints the results. With `is_complete`, also writes them to
/// target/bench/small-keys.json.
pub fn run(selects: impl Fn(&str) -> bool, is_complete: bool, load_before: f64) {
    let group = Group::of_environment();
    let (server, versions) = group.versions();
    println!(
        "{server}, Roughly {}: per key or command",
        versions.join(", ")
    );
    let mut results = Map::new();
    let kinds = KINDS
        .lines()
        .map(|line| line.split(" | ").collect::<Vec<_>>());
    for kind in kinds.filter(|kind| selects(kind[0])) {
        let name = kind[0];
        let print = |measure: &str, unit: &str, peer: usize, values: &[f64], ratio: f64| {
            let [ours, theirs] = [values[0], values[peer]];
            let peer = group.modules[peer].name;
            println!(
                "{name:<28} {measure:<14} {ours:>8.0} {unit:<5}   {peer} {theirs:>8.0} {unit:<5}   {ratio:.3}"
            );
        };
        let (times, bytes) = measure(&group, &kind);
        let peers = 1..group.modules.len();
        peers
            .clone()
            .for_each(|i| print("memory", "bytes", i, &bytes, bytes[0] / bytes[i]));
        let mut of_kind =
            json!({"keys": kind[1].parse::<u64>().expect("a number"), "memory": {"bytes": bytes}});
        for (measure, times) in MEASURES.iter().zip(&times) {
            let means: Vec<_> = times.iter().map(|times| mean(times)).collect();
            let ratios = peers.clone().map(|i| {
                let [_, ratio, _] = quartiles(&times[0], &times[i]);
                print(measure, "ns", i, &means, ratio);
                ratio
            });
            of_kind[measure] = json!({"ratios": ratios.collect::<Vec<_>>(), "ns": means});
        }
        results.insert(name.into(), of_kind);
    }
    if is_complete {
        let results = json!({
            "server": server,
            "unit": "bytes of used_memory per key after the creation; ns of server CPU per command: mean of all bursts; \
                     ratios: Roughly to each other module, median of the bursts",
            "modules": versions,
            "kinds": Value::Object(results),
        });
        record::write("small-keys.json", results, load_before);
    }
}

fn mean(values: &[f64]) -> f64 {
    (values.iter().sum::<f64>() / values.len() as f64).round()
}
