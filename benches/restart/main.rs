//! Benchmark of persistence, replication and copies: time, peak memory and file size of SAVE, BGSAVE, the load of the RDB file,
//! BGREWRITEAOF, the load of the append-only file, a full synchronization, COPY, DUMP and RESTORE.
//!
//! `cargo bench -p benches --bench restart` measures all data sets and writes target/bench/restart.json. Arguments after `--` select the
//! data sets whose names contain one of them and write restart-part.json. `--quick` measures one round of small data sets
//! and writes restart-quick.json. The environment variable `ROUGHLY_SERVER` selects the server (default: the one in PATH),
//! `TMPDIR` the file system of the files. The module is target/release/libroughly.so. Without `--quick`, the benchmark needs
//! 6 GiB of memory and 6 GiB of disk space.
//!
//! Each data set is compared with plain strings: as many keys with as many bytes in the RDB file. Values above 256 MiB become
//! several strings of at most 256 MiB, because `proto-max-bulk-len` is 512 MiB by default. The benchmark raises this limit
//! and `client-query-buffer-limit`, so that clients can restore a DUMP of 1 GiB. The server compresses nothing
//! (`rdbcompression no`) and rewrites append-only files without RDB preamble.
//!
//! Times are wall-clock times; those of loads are from the server's log and exclude its start. Each is the fastest of three
//! or more rounds.

#[path = "../server/load.rs"]
mod load;
#[path = "../record/mod.rs"]
mod record;
#[path = "../rounds/mod.rs"]
#[allow(dead_code)] // It uses a part of the module.
mod rounds;
#[path = "../stream/mod.rs"]
mod stream;
#[path = "../../tests/support/mod.rs"]
mod support;

mod batches;
mod data;
mod operations;
mod peak;

use data::DataSet;
use operations::{Bench, Operation};
use serde_json::{Value, json};

/// Numbers of samples of the t-digests whose RDB files are compared.
const SAMPLES: [usize; 6] = [10, 100, 300, 600, 1_000, 10_000];

struct Selection {
    names: Vec<String>,
    is_quick: bool,
}

impl Selection {
    /// Reads the arguments. Cargo adds `--bench`.
    fn from_arguments() -> Self {
        let mut names: Vec<String> = std::env::args().skip(1).collect();
        let is_quick = names.iter().any(|argument| argument == "--quick");
        names.retain(|argument| !argument.starts_with("--"));
        Self { names, is_quick }
    }

    fn selects(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part.as_str()))
    }

    /// The name of the file for the results.
    fn file(&self) -> &'static str {
        match (self.is_quick, self.names.is_empty()) {
            (true, _) => "restart-quick.json",
            (false, true) => "restart.json",
            (false, false) => "restart-part.json",
        }
    }
}

/// Measures a data set, and plain strings with as many bytes in the RDB file.
fn comparison(set: &DataSet, is_quick: bool) -> Value {
    println!("{}, {} keys", set.name, set.keys);
    let (operations, rdb_bytes) = Bench::filled(set, is_quick).measure(&Operation::ALL);
    let strings = DataSet::strings(rdb_bytes, set.keys);
    println!("{} plain strings", strings.keys);
    let (of_strings, string_bytes) = Bench::filled(&strings, is_quick).measure(&Operation::ALL);
    json!({
        "name": set.name,
        "keys": set.keys,
        "rdb_bytes": rdb_bytes,
        "operations": operations,
        "strings": {
            "keys": strings.keys,
            "rdb_bytes": string_bytes,
            "operations": of_strings,
        },
    })
}

/// Measures how many bytes and how much time t-digests take in an RDB file, as `TDIGEST.ADD` leaves them and after
/// `TDIGEST.MERGE key 1 key OVERRIDE`.
fn digest(samples: usize, is_merged: bool, is_quick: bool) -> Value {
    let set = DataSet::digests(samples, is_merged, is_quick);
    println!("{}, {} keys", set.name, set.keys);
    let operations = [Operation::BackgroundSave, Operation::LoadRdb];
    let (measured, rdb_bytes) = Bench::filled(&set, is_quick).measure(&operations);
    json!({
        "samples": samples,
        "is_merged": is_merged,
        "keys": set.keys,
        "rdb_bytes": rdb_bytes,
        "operations": measured,
    })
}

fn main() {
    record::enter_repository();
    let load_before = record::load_average();
    let selection = Selection::from_arguments();
    let is_quick = selection.is_quick;
    let (mut sets, mut digests) = (Vec::new(), Vec::new());
    // After each data set, so that an interrupted run keeps its results.
    let write = |sets: &[Value], digests: &[Value]| {
        let results = json!({
            "server": operations::server_version(),
            "is_quick": is_quick,
            "data_sets": sets,
            "t_digests": digests,
        });
        record::write(selection.file(), results, load_before);
    };
    for set in data::compared(is_quick) {
        if selection.selects(set.name) {
            sets.push(comparison(&set, is_quick));
            write(&sets, &digests);
        }
    }
    if selection.selects("t-digest-rdb") {
        for samples in SAMPLES {
            for is_merged in [false, true] {
                digests.push(digest(samples, is_merged, is_quick));
            }
            write(&sets, &digests);
        }
    }
}
