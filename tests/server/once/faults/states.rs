//! The states of a key that the sweep begins with.

use crate::families::{Family, on_key, range, run_on};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

#[derive(Debug, Clone)]
pub struct State {
    pub name: String,
    /// The DUMP of the key; `None` if it is missing.
    pub payload: Option<Vec<u8>>,
    /// The server's clock in milliseconds since the Unix epoch.
    pub clock_ms: u64,
    pub max_key_bytes: i64,
    /// Commands that read the restored key before the fault.
    pub reads: &'static [&'static str],
}

impl State {
    /// The number of the current pane.
    pub fn pane(&self) -> u64 {
        self.clock_ms / PANE_MS
    }
}

/// The clock at which keys are created: a tenth of the length of a pane after a pane of the keys of
/// [`crate::families`] has begun.
pub const CREATED_MS: u64 = 20 * PANE_MS + PANE_MS / 10;
/// The length of a pane of these keys.
pub const PANE_MS: u64 = 315_360_000_000 / 4;

/// The creation of a filter whose items are deleted.
const DELETED_WINDOW: &str = "CF.RESERVE KEY 16 EXPANSION 1 WINDOW 315360000000 PANES 4 ERROR 0.01";

/// The items that are added to find the last state before a key grows.
const MAX_ITEMS: u32 = 400;

pub fn states(server: &Server, connection: &mut Connection, family: &'static Family) -> Vec<State> {
    server.set_clock(&CREATED_MS.to_string());
    let mut payload = |name: &str, commands: &[&str]| {
        connection.call("FLUSHALL SYNC");
        run_on(connection, "key", commands);
        let bytes = family.info(server, "bytes");
        (state(name, taken(connection)), bytes)
    };
    let (missing, _) = payload("missing", &[]);
    let (built, bytes) = payload("built", family.build);
    let mut creations = family.creations.iter();
    let creation = creations.find(|command| !command.contains("SOURCE"));
    let (created, _) = payload("created", &[creation.expect("a creation")]);
    let deleted = match family.name {
        "cf" => "CF.RESERVE KEY 16 EXPANSION 1",
        "cf-window" => DELETED_WINDOW,
        _ => "",
    };
    let deletions = ["CF.INSERT KEY ITEMS 0..100", "CF.DEL KEY 5", "CF.DEL KEY 6"];
    let deleted = (!deleted.is_empty()).then(|| {
        let commands = [&[deleted], &deletions[..]].concat();
        payload("with deleted items", &commands).0
    });
    let mut states = vec![missing, created, built.clone()];
    states.extend(deleted);
    let growing = about_to_grow(server, connection, family);
    if family.has_window {
        states.extend(growing.iter().map(|state| State {
            name: format!("{}, 1 pane later", state.name),
            clock_ms: state.clock_ms + PANE_MS,
            ..state.clone()
        }));
    }
    states.extend(growing);
    states.push(State {
        name: "at its limit".to_owned(),
        max_key_bytes: bytes,
        ..built.clone()
    });
    if family.has_window {
        // A window has four panes: the first of these states is in a new pane, and in the last two, all panes have expired.
        for panes in [1, 3, 4, 9] {
            states.push(State {
                name: format!("{panes} panes later"),
                clock_ms: built.clock_ms + panes * PANE_MS,
                ..built.clone()
            });
        }
    }
    // Reads fill a cache in these types.
    if family.memory.after_reads == crate::families::Usage::AtMost {
        let mut read = states.clone();
        read.retain(|state| state.payload.is_some() && state.max_key_bytes == 0);
        for state in &mut read {
            state.name += ", read";
            state.reads = family.reads;
        }
        states.extend(read);
    }
    connection.call("FLUSHALL SYNC");
    states
}

fn state(name: &str, payload: Option<Vec<u8>>) -> State {
    State {
        name: name.to_owned(),
        payload,
        clock_ms: CREATED_MS,
        max_key_bytes: 0,
        reads: &[],
    }
}

/// The DUMP of the key.
fn taken(connection: &mut Connection) -> Option<Vec<u8>> {
    match connection.call("DUMP key") {
        Reply::Bulk(payload) => Some(payload),
        _ => None,
    }
}

/// For each way to grow, the last states before the key takes more memory for the first and second time.
fn about_to_grow(
    server: &Server,
    connection: &mut Connection,
    family: &'static Family,
) -> Vec<State> {
    let mut states: Vec<State> = Vec::new();
    for growth in family.growths {
        if growth.create.is_empty() {
            continue;
        }
        connection.call("FLUSHALL SYNC");
        run_on(connection, "key", growth.create);
        let mut bytes = family.info(server, "bytes");
        let mut found = 0;
        for item in 0..MAX_ITEMS {
            let before = taken(connection);
            let (head, items) = growth.command.rsplit_once(' ').expect("items");
            let count = if items == "PAIRS" { " 1" } else { "" };
            let command = on_key(head, "key");
            connection.call(&format!("{command} {}{count}", item + 1000));
            let grown = family.info(server, "bytes");
            if grown > bytes {
                bytes = grown;
                if !states.iter().any(|state| state.payload == before) {
                    states.push(state(&format!("about to grow at item {item}"), before));
                }
                found += 1;
                if found == 2 {
                    break;
                }
            }
        }
    }
    states
}

/// The numbers of a last argument `FIRST..END`, at most `max` of them.
pub fn shortened(command: &str, max: u32) -> String {
    match range(command) {
        Some((head, range)) => {
            let end = range.end.min(range.start + max);
            on_key(&format!("{head} {}..{end}", range.start), "KEY")
        }
        None => command.to_owned(),
    }
}
