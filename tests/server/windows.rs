//! Sketches with a sliding window (spec: window.md).
//!
//! Most of these tests set the server's clock, which only the module that is built with the tests supports.

mod creation;
mod expiry;
mod limits;
mod merges;
mod replicas;
mod sketch_commands;

use crate::families::dump;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

/// A type with windows.
struct Sketch {
    type_name: &'static str,
    /// Creates KEY; the option WINDOW can be appended.
    create: &'static str,
    /// Adds an item to KEY.
    add: &'static str,
    /// Reads that show the value.
    reads: &'static [&'static str],
}

const SKETCHES: [Sketch; 3] = [
    Sketch {
        type_name: "cmswindow",
        create: "CMS.INITBYDIM KEY 2000 5",
        add: "CMS.INCRBY KEY ITEM 1",
        reads: &["CMS.INFO KEY", "CMS.QUERY KEY 1 2 3 4 5 6 7 8 9"],
    },
    Sketch {
        type_name: "tk-window",
        create: "TOPK.RESERVE KEY 5 50 4 0.9",
        add: "TOPK.ADD KEY ITEM",
        reads: &[
            "TOPK.LIST KEY WITHCOUNT",
            "TOPK.QUERY KEY 1 2 3 4 5 6 7 8 9",
            "TOPK.COUNT KEY 1 2 3 4 5 6 7 8 9",
            "TOPK.INFO KEY",
        ],
    },
    Sketch {
        type_name: "td-window",
        create: "TDIGEST.CREATE KEY COMPRESSION 50",
        add: "TDIGEST.ADD KEY ITEM",
        reads: &[
            "TDIGEST.MIN KEY",
            "TDIGEST.MAX KEY",
            "TDIGEST.QUANTILE KEY 0 0.1 0.5 0.9 1",
            "TDIGEST.TRIMMED_MEAN KEY 0.1 0.8",
            "TDIGEST.RANK KEY 1 2 3 4",
            "TDIGEST.INFO KEY",
        ],
    },
];

impl Sketch {
    fn create(&self, connection: &mut Connection, key: &str, window: &str) {
        let command = format!("{} {window}", self.create.replace("KEY", key));
        let reply = connection.call(&command);
        assert!(reply.is_ok(), "{command}: {reply}");
    }

    fn add(&self, connection: &mut Connection, key: &str, item: u64) {
        let command = self.add.replace("KEY", key);
        let command = command.replace("ITEM", &item.to_string());
        let reply = connection.call(&command);
        assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
    }

    fn reads(&self, connection: &mut Connection, key: &str) -> Vec<Reply> {
        let reads = self.reads.iter().map(|read| read.replace("KEY", key));
        reads.map(|read| connection.call(&read)).collect()
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
    let totals = reply.field("items per pane").and_then(Reply::items);
    let totals = totals.unwrap_or_else(|| panic!("{key}: {reply}"));
    totals.iter().filter_map(Reply::integer).collect()
}

fn dumps(connection: &mut Connection, keys: &[String]) -> Vec<Reply> {
    keys.iter().map(|key| dump(connection, key)).collect()
}
