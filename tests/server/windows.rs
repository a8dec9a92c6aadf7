//! Sketches with a sliding window (docs/sliding-windows.md).
//!
//! Most of these tests set the server's clock, which only the module that is built with the tests supports.

mod addnx;
mod age;
mod ahead;
mod attacks;
mod bloom;
mod bounds;
mod creation;
mod cuckoo;
mod error_rate;
mod expiry;
mod filter;
mod freed;
mod limits;
mod merges;
mod options;
mod periods;
mod permissions;
mod rate_limits;
mod refused;
mod refused_parts;
mod replicas;
mod seeds;
mod sketch_commands;
mod within;

use crate::families::dump;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use crate::valkey::logged_with_transactions;

/// The server logs each command before its reply.
const LOG: &[&str] = &["--appendonly", "yes", "--appendfsync", "always"];

/// The error of a creation if `sketch-windows` is `no`.
const DISABLED: &str = "-ERR sketches with a window are disabled (sketch-windows)";

/// The seed of the sketches that the tests create, so that no reply depends on chance.
const SEED: &str = "00112233445566778899aabbccddeeff";

/// The command that creates a sketch, with a window and a fixed seed if its type has one.
fn with_window(create: &str, window: &str) -> String {
    let mut types = ["BF.RESERVE", "CF.RESERVE", "CMS.INIT", "TOPK.RESERVE"].iter();
    let has_seed = types.any(|command| create.starts_with(command));
    match has_seed && window.starts_with("WINDOW") && !window.contains("SEED") {
        true => format!("{create} {window} SEED {SEED}"),
        false => format!("{create} {window}"),
    }
}

/// A command that creates a sketch with a window, with a fixed seed.
fn seeded(create: &str) -> String {
    format!("{create} SEED {SEED}")
}

/// A type with windows.
struct Sketch {
    type_name: &'static str,
    /// Creates KEY; the option WINDOW can be appended.
    create: &'static str,
    /// Adds an item to KEY.
    add: &'static str,
    /// Reads that show the value, with ` | ` between them.
    reads: &'static str,
}

const SKETCHES: [Sketch; 5] = [
    Sketch {
        type_name: "bf-window",
        create: "BF.RESERVE KEY 0.001 20",
        add: "BF.ADD KEY ITEM",
        reads: "BF.MEXISTS KEY 1 2 3 4 5 6 7 8 9 | BF.CARD KEY | BF.INFO KEY | BF.DEBUG KEY",
    },
    Sketch {
        type_name: "cf-window",
        create: "CF.RESERVE KEY 500",
        add: "CF.ADD KEY ITEM",
        reads: "CF.INFO KEY | CF.DEBUG KEY | CF.MEXISTS KEY 1 2 3 4 5 6 7 8 9 | CF.COUNT KEY 1",
    },
    Sketch {
        type_name: "cmswindow",
        create: "CMS.INITBYDIM KEY 2000 5",
        add: "CMS.INCRBY KEY ITEM 1",
        reads: "CMS.INFO KEY | CMS.QUERY KEY 1 2 3 4 5 6 7 8 9",
    },
    Sketch {
        type_name: "tk-window",
        create: "TOPK.RESERVE KEY 5 50 4 0.9",
        add: "TOPK.ADD KEY ITEM",
        reads: "TOPK.LIST KEY WITHCOUNT | TOPK.QUERY KEY 1 2 3 4 5 6 7 8 9 | \
                TOPK.COUNT KEY 1 2 3 4 5 6 7 8 9 | TOPK.INFO KEY",
    },
    Sketch {
        type_name: "td-window",
        create: "TDIGEST.CREATE KEY COMPRESSION 50",
        add: "TDIGEST.ADD KEY ITEM",
        reads: "TDIGEST.MIN KEY | TDIGEST.MAX KEY | TDIGEST.QUANTILE KEY 0 0.1 0.5 0.9 1 | \
                TDIGEST.TRIMMED_MEAN KEY 0.1 0.8 | TDIGEST.RANK KEY 1 2 3 4 | TDIGEST.INFO KEY",
    },
];

impl Sketch {
    /// The largest number of panes, as the module has it.
    fn max_panes(&self) -> u64 {
        let mut types = roughly::MODULE.data_types();
        let found = types.find(|each| each.name.to_str() == Ok(self.type_name));
        found.expect("a type with windows").max_panes
    }

    /// Whether the type has the word FINEST.
    fn has_finest(&self) -> bool {
        ["cmswindow", "tk-window", "td-window"].contains(&self.type_name)
    }

    /// Whether the type has the word ERROR.
    fn has_error(&self) -> bool {
        self.type_name == "cf-window"
    }

    /// Whether the type has the word SEED.
    fn has_seed(&self) -> bool {
        self.type_name != "td-window"
    }

    fn create(&self, connection: &mut Connection, key: &str, window: &str) {
        connection.ok(&with_window(&self.create.replace("KEY", key), window));
    }

    fn add(&self, connection: &mut Connection, key: &str, item: u64) {
        let command = self.add.replace("KEY", key);
        connection.run(&command.replace("ITEM", &item.to_string()));
    }

    fn reads(&self, connection: &mut Connection, key: &str) -> Vec<Reply> {
        let reads = self.reads.replace("KEY", key);
        reads
            .split(" | ")
            .map(|read| connection.call(read))
            .collect()
    }
}

/// A server whose clock the tests set.
fn start(arguments: &[&str]) -> Server {
    Options::new().debug_module().arguments(arguments).start()
}

/// Sets the clock to a time in milliseconds.
fn set_ms(server: &Server, ms: u64) {
    server.set_clock(&ms.to_string());
}

/// The totals of the live panes.
fn totals(connection: &mut Connection, key: &str) -> Vec<i64> {
    let reply = connection.call(&format!("SKETCH.WINDOW {key}"));
    let totals = reply.field("items per pane");
    totals
        .unwrap_or_else(|| panic!("{key}: {reply}"))
        .integers()
}

fn dumps(connection: &mut Connection, keys: &[String]) -> Vec<Reply> {
    keys.iter().map(|key| dump(connection, key)).collect()
}

/// [`logged_commands`] without the random seeds of filters.
fn logged_without_seeds(server: &Server) -> Vec<String> {
    let mut commands = logged_commands(server);
    for command in &mut commands {
        let end = command.find(" SEED ").unwrap_or(command.len());
        command.truncate(end);
    }
    commands
}

/// The commands of the append-only file, except for SELECT, with their arguments separated by spaces.
pub fn logged_commands(server: &Server) -> Vec<String> {
    let commands = logged_with_transactions(server).into_iter();
    let commands = commands.map(|command| command.join(&b' '));
    commands
        .map(|command| String::from_utf8_lossy(&command).into_owned())
        .collect()
}

/// [`logged_without_seeds`] without MULTI and EXEC.
fn logged_writes(server: &Server) -> Vec<String> {
    let mut commands = logged_without_seeds(server);
    commands.retain(|command| !["MULTI", "EXEC"].contains(&command.as_str()));
    commands
}
