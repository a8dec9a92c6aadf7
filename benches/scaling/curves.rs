//! CPU time of the server per item, by items per command, number of keys and sub-filters per chain.

use crate::load::{Connections, Load};
use crate::rounds::{Rounds, until_agreement};
use crate::support::resp::{Connection, Reply, request};
use crate::support::server::Server;
use serde_json::{Value, json};

/// Items of each measurement.
const ITEMS: usize = 400_000;
/// Range of the items: so wide that few are repeated.
const WIDE: u64 = 1_000_000_000;
/// Items per command in the curves by number of sub-filters.
const BATCH: usize = 100;

/// The server, and how long to measure.
pub struct Bench<'s> {
    pub server: &'s Server,
    pub is_quick: bool,
}

/// A command and its arguments for each item.
type Command = (&'static str, &'static str);

/// A curve by items per command: what creates the key, what fills it, what is measured.
const BY_ITEMS: [(&str, Command, Command); 8] = [
    (
        "BF.RESERVE k 0.001 10000000",
        ("BF.MADD k", "item:#"),
        ("BF.MADD k", "item:#"),
    ),
    (
        "BF.RESERVE k 0.001 10000000",
        ("BF.MADD k", "item:#"),
        ("BF.MEXISTS k", "item:#"),
    ),
    (
        "CF.RESERVE k 16777216",
        ("CF.INSERT k ITEMS", "item:#"),
        ("CF.INSERT k ITEMS", "item:#"),
    ),
    (
        "CF.RESERVE k 16777216",
        ("CF.INSERT k ITEMS", "item:#"),
        ("CF.MEXISTS k", "item:#"),
    ),
    (
        "CMS.INITBYDIM k 2000 7",
        ("CMS.INCRBY k", "item:# 1"),
        ("CMS.INCRBY k", "item:# 1"),
    ),
    (
        "CMS.INITBYDIM k 2000 7",
        ("CMS.INCRBY k", "item:# 1"),
        ("CMS.QUERY k", "item:#"),
    ),
    (
        "TOPK.RESERVE k 100 1000 7 0.9",
        ("TOPK.ADD k", "item:#"),
        ("TOPK.ADD k", "item:#"),
    ),
    (
        "TDIGEST.CREATE k COMPRESSION 100",
        ("TDIGEST.ADD k", "#"),
        ("TDIGEST.ADD k", "#"),
    ),
];

/// A curve by number of keys: what creates a key, and what is measured. `%` is the number of the key.
const BY_KEYS: [(&str, &str); 6] = [
    ("BF.RESERVE k:% 0.01 100", "BF.ADD k:# item"),
    ("BF.RESERVE k:% 0.01 100", "BF.EXISTS k:# item"),
    ("CF.RESERVE k:% 128", "CF.EXISTS k:# item"),
    ("CMS.INITBYDIM k:% 20 3", "CMS.INCRBY k:# item 1"),
    ("SET k:% value", "SET k:# value"),
    ("SET k:% value", "GET k:#"),
];

/// A curve by number of sub-filters: what creates the filter, what adds, what is measured.
const BY_SUB_FILTERS: [(&str, &str, &str); 2] = [
    (
        "BF.RESERVE k 0.001 10000 EXPANSION 1",
        "BF.MADD k",
        "BF.MEXISTS k",
    ),
    (
        "CF.RESERVE k 16384 EXPANSION 1",
        "CF.INSERT k ITEMS",
        "CF.MEXISTS k",
    ),
];

impl Bench<'_> {
    /// Items per command.
    pub fn by_items(&self) -> Vec<Value> {
        let numbers: &[usize] = if self.is_quick {
            &[1, 100]
        } else {
            &[1, 3, 10, 30, 100, 300, 1_000]
        };
        let curves = BY_ITEMS
            .iter()
            .map(|(create, (fill, filled), (command, arguments))| {
                let mut connection = self.fresh(&[create]);
                let prefill = Load::new(fill, 20_000, WIDE).with(BATCH, filled);
                Connections::open(self.server.port(), 1).run(&prefill);
                let name = command.split(' ').next().unwrap_or_default();
                self.curve(name, numbers, |items| {
                    let commands = (ITEMS / items).min(200_000);
                    let load = Load::new(command, commands, WIDE).with(items, arguments);
                    self.ns(&mut connection, &load, items)
                })
            });
        curves.collect()
    }

    /// Number of keys.
    pub fn by_keys(&self) -> Vec<Value> {
        let numbers: &[usize] = if self.is_quick {
            &[1, 10_000]
        } else {
            &[1, 100, 1_000, 10_000, 100_000, 1_000_000]
        };
        let curves = BY_KEYS.iter().map(|(create, command)| {
            let mut connection = self.fresh(&[]);
            let mut keys = 0;
            let name = command.split(' ').next().unwrap_or_default();
            self.curve(name, numbers, |number| {
                let numbers = keys..number;
                keys = number;
                send_all(
                    &mut connection,
                    numbers.map(|key| create.replace('%', &format!("{key:012}"))),
                );
                let load = Load::new(command, ITEMS / 2, number as u64);
                self.ns(&mut connection, &load, 1)
            })
        });
        curves.collect()
    }

    /// Sub-filters per chain.
    pub fn by_sub_filters(&self) -> Vec<Value> {
        let numbers: &[usize] = if self.is_quick {
            &[1, 4]
        } else {
            &[1, 2, 4, 8, 16, 32, 64]
        };
        let curves = BY_SUB_FILTERS.iter().map(|(create, add, test)| {
            let mut connection = self.fresh(&[create]);
            let name = test.split(' ').next().unwrap_or_default();
            let info = format!("{}.INFO k", &test[..2]);
            let mut next = 0;
            self.curve(name, numbers, |filters| {
                while number_of_filters(&mut connection, &info) < filters as i64 {
                    let items: String = (next..next + BATCH)
                        .map(|i| format!(" item:{i:012}"))
                        .collect();
                    call(&mut connection, &format!("{add}{items}"));
                    next += BATCH;
                }
                let load = Load::new(test, ITEMS / BATCH, 2 * next as u64).with(BATCH, "item:#");
                self.ns(&mut connection, &load, BATCH)
            })
        });
        curves.collect()
    }

    /// Removes all keys and executes the commands.
    fn fresh(&self, commands: &[&str]) -> Connection {
        let mut connection = self.server.resp2();
        call(&mut connection, "FLUSHALL SYNC");
        for command in commands {
            call(&mut connection, command);
        }
        connection
    }

    fn curve(
        &self,
        name: &str,
        numbers: &[usize],
        mut measure: impl FnMut(usize) -> Rounds,
    ) -> Value {
        let points = numbers.iter().map(|&number| {
            let ns = measure(number);
            println!("{name:<14} {number:>9} {:>8.1} ns per item", ns.fastest());
            json!({"number": number, "ns": ns.to_json()})
        });
        json!({"name": name, "points": points.collect::<Vec<_>>()})
    }

    /// CPU time of the server per item.
    fn ns(&self, connection: &mut Connection, load: &Load, items: usize) -> Rounds {
        let mut load = load.clone();
        let rounds = if self.is_quick { 1 } else { 5 };
        if self.is_quick {
            load.commands = load.commands.div_ceil(10);
        }
        let mut connections = Connections::open(self.server.port(), 1);
        until_agreement(rounds.min(2), rounds, || {
            let before = cpu_seconds(connection);
            connections.run(&load);
            let seconds = cpu_seconds(connection) - before;
            seconds * 1e9 / (load.commands * items) as f64
        })
    }
}

/// User and system CPU time of the server.
fn cpu_seconds(connection: &mut Connection) -> f64 {
    let info = connection.call("INFO cpu");
    let text = String::from_utf8_lossy(info.text().expect("a text")).into_owned();
    let field = |name: &str| -> f64 {
        let mut values = text
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let value = values.next().and_then(|value| value.parse().ok());
        value.expect("a number")
    };
    field("used_cpu_user") + field("used_cpu_sys")
}

fn number_of_filters(connection: &mut Connection, info: &str) -> i64 {
    let reply = connection.call(info);
    let filters = reply.field("Number of filters").and_then(Reply::integer);
    filters.expect("a number of filters")
}

fn call(connection: &mut Connection, command: &str) {
    let reply = connection.call(command);
    assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
}

/// Sends commands, pipelined.
fn send_all(connection: &mut Connection, commands: impl Iterator<Item = String>) {
    const PIPELINED: usize = 1_000;
    let mut commands = commands.peekable();
    while commands.peek().is_some() {
        let batch: Vec<Vec<u8>> = (commands.by_ref().take(PIPELINED))
            .map(|command| request(&command.split(' ').collect::<Vec<_>>()))
            .collect();
        connection.write_raw(&batch.concat()).expect("a connection");
        for _ in &batch {
            let reply = connection.read().expect("a reply");
            assert!(!matches!(reply, Reply::Error(_)), "{reply}");
        }
    }
}
