//! The memory usage of filled keys on a server.

use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use crate::{Figures, MEMORY, MORE_MEMORY, Row};
use roughly_sketch::window::Window;

/// Sends a command with these arguments, at most those of 1,000 items per request.
pub fn fill(connection: &mut Connection, command: &str, items: impl Iterator<Item = String>) {
    for chunk in items.collect::<Vec<_>>().chunks(1000) {
        connection.run(&format!("{command} {}", chunk.join(" ")));
    }
}

fn memory_usage(connection: &mut Connection) -> f64 {
    let reply = connection.call("MEMORY USAGE key");
    reply.integer().unwrap_or_else(|| panic!("{reply}")) as f64
}

/// The value of a field in the reply of an INFO command.
fn field(connection: &mut Connection, command: &str, name: &str) -> i64 {
    let reply = connection.call(command);
    let value = reply.field(name).and_then(Reply::integer);
    value.unwrap_or_else(|| panic!("no {name} in {reply}"))
}

/// Creates the key of a row, fills it, and returns its largest memory usage, with the name in the table.
pub fn usage(row: &Row, figures: &Figures) -> (&'static str, f64) {
    let usage = match (row.command.split('.').next(), row.window()) {
        (Some("BF" | "CF"), _) => return filter(row, figures),
        (Some("CMS"), None) => {
            let (_server, mut connection) = create(row, Options::new());
            fill(&mut connection, "CMS.INCRBY key", counts(5000));
            memory_usage(&mut connection)
        }
        (Some("CMS"), Some(window)) => in_every_pane(row, window, |connection| {
            // More items than a pane can have without an array.
            fill(connection, "CMS.INCRBY key", counts(4097));
            memory_usage(connection)
        }),
        (Some("TOPK"), window) => top_k(row, window),
        (_, window) => t_digest(row, window),
    };
    (MEMORY, usage)
}

fn create(row: &Row, options: Options) -> (Server, Connection) {
    let server = options.start();
    server.set_clock("1000000");
    let mut connection = server.resp2();
    connection.ok(&row.command);
    (server, connection)
}

fn counts(items: u64) -> impl Iterator<Item = String> {
    (0..items).map(|item| format!("{item} 1"))
}

/// A filter with a window takes its memory when it is created.
fn filter(row: &Row, figures: &Figures) -> (&'static str, f64) {
    let (_server, mut connection) = create(row, Options::new());
    let connection = &mut connection;
    let created = memory_usage(connection);
    let items = row.field("capacity").expect("the items") as i64;
    let (command, info, prefix) = match (row.command.starts_with("BF"), row.window()) {
        (true, _) => ("BF.MADD key", "BF.INFO key", ""),
        (false, None) => ("CF.INSERT key ITEMS", "CF.INFO key", "item:"),
        (false, Some(_)) => ("CF.INSERT key ITEMS", "CF.INFO key", ""),
    };
    let names = (0..items).map(|item| format!("{prefix}{item}"));
    fill(connection, command, names);
    let usage = memory_usage(connection);
    let filters = field(connection, info, "Number of filters");
    let expected = figures.get("filters").map_or(1, |filters| *filters as i64);
    assert!(filters <= expected, "{}: {filters} filters", row.command);
    if row.window().is_some() {
        assert_eq!(created, usage, "{}", row.command);
    } else if row.command.starts_with("CF") {
        let inserted = field(connection, info, "Number of items inserted");
        assert_eq!(inserted, items, "{}", row.command);
    }
    let has_more = filters < expected;
    let name = if has_more { MORE_MEMORY } else { MEMORY };
    (name, usage)
}

/// The part of a window that reads ask for, in milliseconds.
fn part_of(window: Window) -> u64 {
    window.ms() * 2 / 3
}

/// The list is full.
fn top_k(row: &Row, window: Option<Window>) -> f64 {
    let k = row.field("k").expect("a k") as u64;
    let length = row.field("item").expect("a length") as usize;
    let items =
        |range: std::ops::Range<u64>| range.map(move |item| format!("{item:0length$} 1000"));
    let Some(window) = window else {
        let (_server, mut connection) = create(row, Options::new());
        fill(&mut connection, "TOPK.INCRBY key", items(0..3 * k));
        let list = connection.call("TOPK.LIST key");
        let listed = list.items().expect("a list");
        let is_full = listed.iter().all(|item| item.text().is_some());
        assert!(is_full, "the list is not full");
        return memory_usage(&mut connection);
    };
    let (part, mut first) = (part_of(window), 0);
    // Each pane has other frequent items.
    in_every_pane(row, window, |connection| {
        fill(connection, "TOPK.INCRBY key", items(first..first + 2 * k));
        first += 2 * k;
        // A read of a part keeps its counts.
        connection.call(&format!("SKETCH.WITHIN {part} TOPK.LIST key"));
        memory_usage(connection)
    })
}

/// Adds samples and reads quantiles. Without a window, more samples at a time.
fn t_digest(row: &Row, window: Option<Window>) -> f64 {
    let compression = row.option("COMPRESSION").unwrap_or(100.0) as u64;
    let mut first = 0;
    let mut add = |connection: &mut Connection, samples: u64, steps| {
        let usages = (0..steps).map(|_| {
            let numbers = (first..first + samples).map(|n| (n * 7919 % 200_003).to_string());
            fill(connection, "TDIGEST.ADD key", numbers);
            first += samples;
            connection.call("TDIGEST.QUANTILE key 0.5");
            if let Some(part) = window.map(part_of) {
                connection.call(&format!("SKETCH.WITHIN {part} TDIGEST.QUANTILE key 0.5"));
            }
            memory_usage(connection)
        });
        usages.fold(0.0, f64::max)
    };
    let Some(window) = window else {
        let (_server, mut connection) = create(row, Options::new());
        return add(&mut connection, 10 + compression, 300);
    };
    in_every_pane(row, window, |connection| add(connection, compression, 10))
}

/// Creates the key and calls `write` in consecutive units, or in each pane if panes grow with age, so that all panes of the window are live. Returns the largest
/// result.
fn in_every_pane(row: &Row, window: Window, mut write: impl FnMut(&mut Connection) -> f64) -> f64 {
    let (server, mut connection) = create(row, Options::new().debug_module());
    let newest = field(&mut connection, "SKETCH.WINDOW key", "newest pane") as u64;
    let mut unit = newest / window.pane_ms();
    let end = unit + window.units() + (1 << window.levels());
    let mut most = 0f64;
    while unit < end {
        server.set_clock(&window.start_of(unit).to_string());
        most = most.max(write(&mut connection));
        unit += ((end - unit) / (2 * window.panes() + 4)).max(1);
    }
    most
}
