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

/// A type of keys.
struct Kind {
    name: &'static str,
    keys: usize,
    /// Creates a key; `@` is its number.
    create: &'static str,
    /// `#` is the number of a random key.
    write: &'static str,
    read: &'static str,
}

const MILLION: usize = 1_000_000;

const KINDS: [Kind; 6] = [
    Kind {
        name: "Bloom filter",
        keys: MILLION,
        create: "BF.ADD key:@ item:1",
        write: "BF.ADD key:# item:#",
        read: "BF.EXISTS key:# item:#",
    },
    Kind {
        name: "cuckoo filter",
        keys: MILLION,
        create: "CF.ADD key:@ item:1",
        write: "CF.ADD key:# item:#",
        read: "CF.EXISTS key:# item:#",
    },
    Kind {
        name: "cuckoo filter, capacity 64",
        keys: MILLION,
        create: "CF.RESERVE key:@ 64",
        write: "CF.ADD key:# item:#",
        read: "CF.EXISTS key:# item:#",
    },
    Kind {
        name: "count-min sketch, 100 × 5",
        keys: MILLION,
        create: "CMS.INITBYDIM key:@ 100 5",
        write: "CMS.INCRBY key:# item:# 1",
        read: "CMS.QUERY key:# item:#",
    },
    Kind {
        name: "top-k, k 10",
        keys: MILLION / 2,
        create: "TOPK.RESERVE key:@ 10",
        write: "TOPK.ADD key:# item:#",
        read: "TOPK.QUERY key:# item:#",
    },
    Kind {
        name: "t-digest",
        // RedisBloom's take 10 KB each.
        keys: MILLION / 5,
        create: "TDIGEST.CREATE key:@",
        write: "TDIGEST.ADD key:# 1",
        read: "TDIGEST.QUANTILE key:# 0.5",
    },
];

/// What is measured, in the order of the loads.
const MEASURES: [&str; 4] = ["creation", "random write", "random read", "deletion"];

/// The CPU times of each measure, and the bytes per key of each module, of all passes.
fn measure(group: &Group, kind: &Kind) -> ([Times; 4], Vec<f64>) {
    let mut times = [const { Vec::new() }; 4].map(|_: Times| vec![Vec::new(); group.modules.len()]);
    let mut bytes = vec![0.0; group.modules.len()];
    let range = kind.keys as u64;
    let loads = [kind.create, kind.write, kind.read, "DEL key:@"]
        .map(|command| Load::new(command, kind.keys, range));
    for pass in 0..PASSES {
        let mut servers = group.start_all(pass % 2 == 1, |_, _| {});
        let before: Vec<_> = servers.iter().map(Prepared::used_memory).collect();
        for (i, (load, times)) in loads.iter().zip(&mut times).enumerate() {
            servers.iter_mut().for_each(Prepared::restart_sequence);
            alternate(&mut servers, load, BURSTS, times);
            if i == 0 {
                for ((server, bytes), before) in servers.iter().zip(&mut bytes).zip(&before) {
                    *bytes = (server.used_memory() - before) / kind.keys as f64;
                }
            }
        }
        // Not compared for items: the modules hash differently, and nearly all reads are of absent items.
        check_replies(kind.name, &servers);
    }
    (times, bytes)
}

/// Measures the kinds of keys that `selects` accepts, and prints the results. With `is_complete`, also writes them to
/// target/bench/small-keys.json.
pub fn run(selects: impl Fn(&str) -> bool, is_complete: bool, load_before: f64) {
    let group = Group::all().swap_remove(0);
    let (server, versions) = group.versions();
    println!(
        "{server}, Roughly {}: per key or command",
        versions.join(", ")
    );
    let mut results = Map::new();
    for kind in KINDS.iter().filter(|kind| selects(kind.name)) {
        let (times, bytes) = measure(&group, kind);
        for (module, peer) in group.modules.iter().zip(&bytes).skip(1) {
            let ratio = bytes[0] / peer;
            print_ratio(
                kind.name,
                "memory",
                "bytes",
                [bytes[0], *peer],
                ratio,
                module.name,
            );
        }
        let mut of_kind = Map::new();
        of_kind.insert("keys".into(), kind.keys.into());
        of_kind.insert("memory".into(), json!({"bytes": bytes}));
        for (measure, times) in MEASURES.iter().zip(&times) {
            let means: Vec<_> = times.iter().map(|times| mean(times)).collect();
            let mut ratios = Vec::new();
            for (i, module) in group.modules.iter().enumerate().skip(1) {
                let [_, ratio, _] = quartiles(&times[0], &times[i]);
                ratios.push(ratio);
                let both = [means[0], means[i]];
                print_ratio(kind.name, measure, "ns", both, ratio, module.name);
            }
            of_kind.insert((*measure).into(), json!({"ns": means, "ratios": ratios}));
        }
        results.insert(kind.name.into(), Value::Object(of_kind));
    }
    if is_complete {
        let results = json!({
            "server": server,
            "unit": "bytes of used_memory per key after the creation; ns of server CPU per command: mean of all bursts; \
                     ratios: Roughly to each other module, median of the bursts",
            "modules": versions,
            "kinds": results,
        });
        record::write("small-keys.json", results, load_before);
    }
}

fn mean(values: &[f64]) -> f64 {
    (values.iter().sum::<f64>() / values.len() as f64).round()
}

fn print_ratio(kind: &str, measure: &str, unit: &str, both: [f64; 2], ratio: f64, peer: &str) {
    let [ours, theirs] = both;
    println!(
        "{kind:<28} {measure:<14} {ours:>8.0} {unit:<5}   {peer} {theirs:>8.0} {unit:<5}   {ratio:.3}"
    );
}
