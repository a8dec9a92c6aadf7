//! Payloads whose counts contradict what they count.
//!
//! Each number of a payload is replaced by others, one at a time. A command on a key that RESTORE accepts may do, once, as much
//! as it does for the right counts. After that, it takes at most [`MAX_NS`], or [`MAX_RATIO`] times as long as on
//! the key with the right counts: no count in a payload makes every command process the whole key.

use super::TYPES;
use super::arguments::{Call, SHORT_ITEMS, calls};
use super::bounds::processes_whole_keys;
use super::keys::{Sizes, item};
use super::types::Type;
use crate::families::{FAMILIES, Family};
use crate::support::main_thread::MainThread;
use crate::support::resp::Connection;
use crate::support::sample::Sample;
use crate::support::server::Server;
use crate::workload::{Command, words};
use roughly_dump::{Value, Values};
use std::collections::BTreeMap;

/// CPU time per command on the reference machine. A pass over a tenth of a key takes longer.
const MAX_NS: f64 = 1e6;
const MAX_RATIO: f64 = 4.0;
/// The runs of a command that are measured together.
const RUNS: u64 = 10;
/// How often the runs are repeated before they take too long.
const ATTEMPTS: u32 = 5;
/// The numbers at the start of a payload that are replaced. Later ones belong to further sub-filters or panes.
const MAX_POSITIONS: usize = 24;

/// The values that replace a number.
fn false_numbers(number: &Value) -> Vec<Value> {
    let mut numbers = match *number {
        Value::Integer(count) => [0, 1, count.saturating_mul(2), 1 << 32, u64::MAX]
            .map(Value::Integer)
            .to_vec(),
        Value::Double(sum) => [0.0, 1.0, sum * 2.0, 1e15].map(Value::Double).to_vec(),
        Value::Bytes(_) => Vec::new(),
    };
    numbers.retain(|other| other != number);
    numbers
}

/// The payload with other numbers, one at a time, each with a description.
fn with_false_numbers(family: &Family, payload: &[u8]) -> Vec<(String, Vec<u8>)> {
    let (type_id, mut values) = Values::from_dump(payload).expect("a payload");
    let mut payloads = Vec::new();
    // A window begins with its length, its panes, the newest pane and the length of a pane.
    let first = if family.has_window { 4 } else { 0 };
    for position in first..values.values.len().min(MAX_POSITIONS) {
        let right = values.values[position].clone();
        for other in false_numbers(&right) {
            let text = format!("value {position} is {other:?} instead of {right:?}");
            values.values[position] = other;
            payloads.push((text, values.to_dump(type_id)));
        }
        values.values[position] = right;
    }
    payloads
}

/// The runs of a call on the key K from number `first` on: an item of the key is another one in each run.
fn runs(call: &Call, first: u64, count: u64) -> Vec<Command> {
    let run = |number| {
        let argument = |argument: &Vec<u8>| match &argument[..] {
            b"KEY" => b"K".to_vec(),
            argument if argument == item(0, 1) => item(0, SHORT_ITEMS + number),
            other => other.to_vec(),
        };
        call.command.iter().map(argument).collect()
    };
    (first..first + count).map(run).collect()
}

struct Measured<'a> {
    connection: &'a mut Connection,
    thread: MainThread,
}

impl Measured<'_> {
    /// The CPU time of each run of the call on the restored key in nanoseconds, after two others.
    fn ns(&mut self, payload: &[u8], call: &Call) -> Option<f64> {
        if !self.connection.replace("K", payload).is_ok() {
            return None;
        }
        for command in runs(call, 0, 2) {
            self.connection.send(&command);
        }
        let commands = runs(call, 2, RUNS);
        let connection = &mut *self.connection;
        let (ns, ()) = self.thread.measured(|| {
            for command in &commands {
                connection.send(command);
            }
        });
        Some(ns as f64 / RUNS as f64)
    }
}

/// The calls on a key that do not create another one, and need not process the whole key.
fn calls_on_key(connection: &mut Connection, family: &Family, of_type: &Type) -> Vec<Call> {
    let sizes: Sizes = BTreeMap::from([("panes", 0)]);
    let on_key = |template: &&str| template.contains(" KEY") && !template.contains(" new");
    let templates = of_type.all_calls(family).filter(on_key);
    let calls = templates.flat_map(|template| calls(connection, family, template, "right", &sizes));
    let is_measured = |call: &Call| {
        let name = call.name();
        let is_whole = processes_whole_keys(&name, false);
        let only_after_changes = ["CF.DEL", "TOPK.LIST"].contains(&&*name);
        let only_after_changes = only_after_changes || family.prefix == "tdigest";
        (!is_whole || only_after_changes) && !call.text.contains("1 MiB")
    };
    calls.filter(is_measured).collect()
}

/// Returns how many commands were measured on keys with false counts.
fn check(of_type: &'static Type) -> usize {
    let family = Family::of(of_type.name);
    let (_server, mut connection) = Server::start().connected();
    let option = match family.has_window {
        true => " WINDOW 315360000000 PANES 4",
        false => "",
    };
    let create = words(&format!("{}{option}", of_type.create_counted));
    for mut command in [vec![create], (of_type.counted)()].concat() {
        command[1] = b"right".to_vec();
        connection.send_run(&command);
    }
    connection.ok("CONFIG SET rdbcompression no");
    let right = connection.payload("right");
    let calls = calls_on_key(&mut connection, family, of_type);
    let payloads = with_false_numbers(family, &right);
    let thread = MainThread::of(&mut connection);
    let slowness = thread.slowness(&mut connection);
    let connection = &mut connection;
    let mut measured = Measured { connection, thread };
    let ns = |call| measured.ns(&right, call).expect("the right counts");
    let expected: Vec<_> = calls.iter().map(ns).collect();
    let mut restored = 0;
    let mut failures = Vec::new();
    for (text, payload) in &payloads {
        for (call, expected) in calls.iter().zip(&expected) {
            let limit = (MAX_NS * slowness).max(MAX_RATIO * expected);
            let mut best = f64::INFINITY;
            for _ in 0..ATTEMPTS {
                let Some(ns) = measured.ns(payload, call) else {
                    best = 0.0;
                    break;
                };
                restored += 1;
                best = best.min(ns);
                if best <= limit {
                    break;
                }
            }
            if best > limit {
                let times = format!("{best} ns, {expected} ns with the right counts");
                failures.push(format!("{} {}: {times}, {text}", call.title(), call.text));
            }
        }
    }
    let (name, payloads, calls) = (of_type.name, payloads.len(), calls.len());
    println!("{name}: {payloads} payloads, {calls} commands, {restored} measured");
    assert!(failures.is_empty(), "{name}:\n{}", failures.join("\n"));
    restored
}

#[test]
fn no_count_in_a_payload_makes_every_command_slow() {
    assert_eq!(TYPES.len(), FAMILIES.len());
    for of_type in Sample::of_run().of(TYPES) {
        // Every type accepts some false counts.
        assert!(check(of_type) > 0, "{}", of_type.name);
    }
}
