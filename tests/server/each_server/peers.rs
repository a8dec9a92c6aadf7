//! Roughly beside RedisBloom and valkey-bloom: replication, files, DUMPs, chunks, `scripts/copy-sketches` and failovers, in
//! both directions.
//!
//! The tests run on the server of `ROUGHLY_SERVER`, or without this variable, on every server in target/servers. A module
//! whose file is missing (`support::peers`) or that the server cannot load is skipped; the test prints a line.

mod beside;
mod compare;
mod copy_sketches;
mod files;
mod keys;
mod replication;
mod switch_over;
mod t_digest;

use crate::families::{FAMILIES, Family};
use crate::support::peers;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server, Version};
use crate::workload::{Command, Workload, words};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

/// Keys per type.
const KEYS: u64 = 10;

/// Another module, beside which Roughly is tested.
struct Peer {
    /// The name of its file.
    file: &'static str,
    /// Whether the module has a type.
    has_type: fn(&Family) -> bool,
    /// Module arguments with which Roughly creates keys as this module does.
    settings: &'static [&'static str],
    /// Whether this module replicates all parameters of a key that it creates, so that the settings of a replica may differ.
    replicates_parameters: bool,
    /// Whether a server can load the module.
    loads_on: fn(Version) -> bool,
    /// Whether a command for keys of these types works on a server with Roughly, but not on one with this module.
    lacks: fn(&Command) -> bool,
}

const PEERS: [Peer; 3] = [
    Peer {
        file: "redisbloom-8.10.so",
        has_type: |family| family.recorded.is_some(),
        settings: &[],
        replicates_parameters: false,
        loads_on: |server| server.is_redis_at_least(8, 0) || server.is_valkey_at_least(9, 1),
        lacks: redisbloom_8_10_lacks,
    },
    valkey_bloom("valkey-bloom-1.0.1.so"),
    valkey_bloom("valkey-bloom-2026-04.so"),
];

const fn valkey_bloom(file: &'static str) -> Peer {
    Peer {
        file,
        has_type: |family| family.name == "bloomfltr",
        settings: &["bf-new-keys", "valkey-bloom", "bf-replies", "valkey-bloom"],
        replicates_parameters: true,
        loads_on: |server| server.is_valkey_at_least(8, 0),
        lacks: |_| false,
    }
}

fn redisbloom_8_10_lacks(command: &Command) -> bool {
    let has = |wanted: fn(&[u8]) -> bool| command[1..].iter().any(|argument| wanted(argument));
    match command[0].as_slice() {
        b"BF.MERGE" | b"COPY" => true,
        b"CMS.INCRBY" => has(|argument| argument.starts_with(b"-")),
        b"TOPK.ADD" | b"TOPK.INCRBY" => has(|argument| argument.contains(&0)),
        _ => has(|argument| argument == b"CELL_SIZE"),
    }
}

/// A module and a server that can load both it and Roughly.
struct Pair {
    peer: &'static Peer,
    module: PathBuf,
    program: PathBuf,
}

impl Pair {
    /// A server with the other module.
    fn peer(&self) -> Options {
        self.with(Options::new()).module(&self.module)
    }

    /// A server with Roughly.
    fn roughly(&self) -> Options {
        self.with(Options::new().module_arguments(self.peer.settings))
    }

    /// These options, with the server of this pair.
    fn with(&self, options: Options) -> Options {
        options.program(self.program.clone())
    }

    /// The types that both modules have.
    fn types(&self) -> impl Iterator<Item = &'static Family> {
        FAMILIES
            .iter()
            .filter(|family| (self.peer.has_type)(family))
    }

    /// Random commands that both modules support.
    fn workload(&self, seed: u64) -> Workload {
        Workload::new(seed, "", KEYS)
            .of_types(self.types())
            .without(self.peer.lacks)
    }

    /// Both directions: the other module first, then Roughly.
    fn both_ways(&self) -> [(Options, Options, &'static str); 2] {
        [
            (self.peer(), self.roughly(), "to Roughly"),
            (self.roughly(), self.peer(), "from Roughly"),
        ]
    }
}

/// Builds keys of the types, named after them, and creates keys by random commands.
fn fill(pair: &Pair, connection: &mut Connection, workload: &mut Workload) {
    for family in pair.types() {
        let mut commands = family.build.iter().map(|command| words(command));
        if !commands.any(|command| (pair.peer.lacks)(&command)) {
            family.build(connection, family.name);
        }
    }
    for command in workload.creations() {
        connection.send(&command);
    }
    workload.run(connection, 1000);
}

/// Runs a test for every module on every server that can load it.
fn each(test: impl Fn(&Pair)) {
    for peer in &PEERS {
        let Some(module) = peers::find(peer.file) else {
            continue;
        };
        let mut tested = false;
        for (program, version) in servers() {
            if (peer.loads_on)(*version) {
                println!("{} on {}", peer.file, program.display());
                test(&Pair {
                    peer,
                    module: module.clone(),
                    program: program.clone(),
                });
                tested = true;
            }
        }
        if !tested {
            println!("skipped: no server that loads {}", peer.file);
        }
    }
}

/// The servers to test on.
fn servers() -> &'static [(PathBuf, Version)] {
    static SERVERS: OnceLock<Vec<(PathBuf, Version)>> = OnceLock::new();
    SERVERS.get_or_init(|| {
        let programs = match env::var_os("ROUGHLY_SERVER") {
            Some(program) => vec![PathBuf::from(program)],
            None => fetched(),
        };
        let programs = programs.into_iter().map(|program| {
            let options = Options::new().without_module().program(program.clone());
            let version = options.start().version();
            (program, version)
        });
        programs.collect()
    })
}

/// The servers that scripts/fetch.sh server fetched.
fn fetched() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/servers");
    let entries = fs::read_dir(directory).into_iter().flatten();
    let programs = entries.map(|entry| entry.expect("an entry").path().join("server"));
    let mut programs: Vec<_> = programs.filter(|program| program.is_file()).collect();
    programs.sort();
    programs
}

/// Asserts that a replica has refused no command of its primary.
fn assert_no_refused_command(replica: &Server) {
    let log = replica.log();
    let refused = log
        .lines()
        .filter(|line| {
            line.contains("error to its master") || line.contains("error to its primary")
        })
        // valkey-bloom also replicates items that it did not add: docs/migration-valkey-bloom.md, "Replication".
        .find(|line| !line.contains("non scaling filter is full"));
    assert_eq!(refused, None);
}
