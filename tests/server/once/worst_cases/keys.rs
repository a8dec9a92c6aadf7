//! The largest keys that creation accepts, in states of different age.

use super::arguments::long_item;
use crate::support::resp::{Connection, Reply, request};
use crate::support::server::{Options, Server};
use crate::workload::{Command, words};
use roughly_sketch::hash::rows::LANES;
use roughly_sketch::work_limit::{hash_work, within_work_limit};
use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The length of a pane in milliseconds: at most a day, of which at least half is left now, so that the current pane does not change during
/// a test.
pub static PANE_MS: LazyLock<u64> = LazyLock::new(|| {
    let now = unix_ms();
    let mut lengths = (40_000_000..=86_400_000).rev().step_by(100_000);
    let length = lengths.find(|length| now % length < length / 2);
    length.expect("a length")
});
/// No limit except that of the creation.
pub const MAX: u64 = u64::MAX;
/// The most rows for which the work limit allows an item of 1 MiB in a key of the largest size.
pub const MAX_ROWS_OF_LONG_ITEM: u64 = u64::MAX - 1;

/// The parameters of a key, by name.
pub type Sizes = BTreeMap<&'static str, u64>;

/// A parameter that decides how large a key is.
pub struct Axis {
    /// Its name, as the page shows it.
    pub name: &'static str,
    pub min: u64,
    /// The test uses the largest values that creation accepts up to these limits. The bounds of commands change at the limits
    /// other than [`MAX`].
    pub limits: &'static [u64],
}

pub const fn axis(name: &'static str, min: u64, limits: &'static [u64]) -> Axis {
    Axis { name, min, limits }
}

/// Keys of a type whose parameters are as large as creation accepts. The parameter `panes` is that of a window, and `levels` the
/// highest level of a pane in a window whose panes grow with age.
pub struct Largest {
    /// The parameters. One at a time is made as large as possible, then the others in this order.
    pub axes: &'static [Axis],
    /// The bytes of a key with these parameters and items.
    pub bytes: fn(&Sizes) -> f64,
    /// The command that creates the key `KEY`, its first argument.
    pub create: fn(&Sizes) -> Command,
    /// The commands that fill a unit of the window, from 0 to [`units`]. A type without a window has unit 0. None if the creation
    /// fills the key, or for all units but the newest: [`in_newest`].
    pub fill: fn(&Sizes, u64) -> Vec<Command>,
}

pub fn item(pane: u64, number: u64) -> Vec<u8> {
    format!("{pane}:{number}").into_bytes()
}

/// Commands that add items to a pane, each followed by `after(item)`, in commands of at most 1,000 items.
pub fn additions(
    head: &str,
    pane: u64,
    items: u64,
    after: impl Fn(u64) -> Option<u64>,
) -> Vec<Command> {
    let numbers: Vec<_> = (0..items).collect();
    let command = |numbers: &[u64]| {
        let mut command = words(head);
        for &number in numbers {
            command.push(item(pane, number));
            command.extend(after(number).map(|after| after.to_string().into_bytes()));
        }
        command
    };
    numbers.chunks(1000).map(command).collect()
}

pub const PANES: Axis = axis("panes", 1, &[MAX]);
/// The parameter of a window whose panes grow with age.
pub const LEVELS: Axis = axis("levels", 1, &[MAX]);

/// The length of the window in newest panes; 0 for a key without a window.
pub fn units(sizes: &Sizes) -> u64 {
    let panes = sizes.get("panes").copied().unwrap_or(0);
    match sizes.get(LEVELS.name) {
        Some(levels) => (panes + 1) << levels.min(&20),
        None => panes,
    }
}

/// The largest number of live panes.
pub fn live_panes(sizes: &Sizes) -> u64 {
    let levels = sizes.get(LEVELS.name).copied().unwrap_or(0);
    (sizes["panes"] + 1) * (levels + 1) + u64::from(levels > 0)
}

/// The option `WINDOW` for these sizes.
fn window(sizes: &Sizes) -> String {
    let (length, panes) = (units(sizes) * *PANE_MS, sizes["panes"]);
    let window = format!(" WINDOW {length} PANES {panes}");
    match sizes.contains_key(LEVELS.name) {
        true => format!("{window} FINEST {}", *PANE_MS),
        false => window,
    }
}

/// A command with a size in place of each name in angle brackets, and the option `WINDOW` in place of `<window>`.
pub fn with_sizes(template: &str, sizes: &Sizes) -> Command {
    let mut text = template.to_owned();
    for (name, size) in sizes {
        text = text.replace(&format!("<{name}>"), &size.to_string());
    }
    if text.contains("<window>") {
        text = text.replace("<window>", &window(sizes));
    }
    words(&text)
}

/// See [`MAX_ROWS_OF_LONG_ITEM`].
fn max_rows_of_long_item(max_bytes: f64) -> u64 {
    let item = long_item();
    let is_allowed = |rows: &u64| {
        let work = [hash_work(&item, *rows)];
        within_work_limit(work.into_iter(), *rows, max_bytes as u64)
    };
    let rows = (1..).map(|passes| passes * LANES as u64);
    let allowed = rows.take_while(is_allowed).last();
    allowed.expect("a number of rows")
}

fn for_key(mut command: Command, key: &str) -> Command {
    command[1] = key.as_bytes().to_vec();
    command
}

/// The commands of `fill` if the unit is the newest one.
pub fn in_newest(fill: fn(&Sizes, u64) -> Vec<Command>, sizes: &Sizes, unit: u64) -> Vec<Command> {
    match unit == units(sizes) {
        true => fill(sizes, unit),
        false => Vec::new(),
    }
}

impl Largest {
    /// Whether only the newest pane of a window has items.
    pub fn has_one_pane(&self, sizes: &Sizes) -> bool {
        let [first, newest] = [0, units(sizes)].map(|unit| (self.fill)(sizes, unit).is_empty());
        first && !newest
    }

    /// The parameters of the largest keys of at most `max_bytes` bytes.
    pub fn all_sizes(&self, connection: &mut Connection, max_bytes: f64) -> Vec<Sizes> {
        let mut found = Vec::new();
        let smallest: Sizes = self.axes.iter().map(|axis| (axis.name, axis.min)).collect();
        let is_accepted = self.accepts(connection, &smallest, max_bytes);
        assert!(is_accepted, "{smallest:?}");
        for first in self.axes {
            for &limit in first.limits {
                let mut sizes = smallest.clone();
                self.maximize(connection, &mut sizes, first, limit, max_bytes);
                for axis in self.axes.iter().filter(|axis| axis.name != first.name) {
                    self.maximize(connection, &mut sizes, axis, axis.limits[0], max_bytes);
                }
                if !found.contains(&sizes) {
                    found.push(sizes);
                }
            }
        }
        found
    }

    /// Makes a parameter as large as creation accepts.
    fn maximize(
        &self,
        connection: &mut Connection,
        sizes: &mut Sizes,
        axis: &Axis,
        limit: u64,
        max_bytes: f64,
    ) {
        let limit = match limit {
            MAX_ROWS_OF_LONG_ITEM => max_rows_of_long_item(max_bytes),
            limit => limit,
        };
        let mut accepts = |value| {
            let mut sizes = sizes.clone();
            sizes.insert(axis.name, value);
            value <= limit && self.accepts(connection, &sizes, max_bytes)
        };
        let (mut accepted, mut step) = (axis.min, 1u64);
        while accepts(accepted.saturating_add(step)) {
            accepted += step;
            step = step.saturating_mul(2);
        }
        while step > 0 {
            if accepts(accepted.saturating_add(step)) {
                accepted += step;
            }
            step /= 2;
        }
        sizes.insert(axis.name, accepted);
    }

    fn accepts(&self, connection: &mut Connection, sizes: &Sizes, max_bytes: f64) -> bool {
        if (self.bytes)(sizes) > max_bytes {
            return false;
        }
        let reply = connection.send(&for_key((self.create)(sizes), "probe"));
        connection.call("DEL probe");
        !reply.is_error()
    }

    /// Appends the commands that create a key and fill its panes up to `newest`.
    fn append_commands(&self, log: &mut Vec<u8>, sizes: &Sizes, key: &str, newest: Option<u64>) {
        let mut append = |command| log.extend(request(&for_key(command, key)));
        append((self.create)(sizes));
        let last = newest.map_or(0, |_| units(sizes));
        for pane in 0..=last {
            if let Some(newest) = newest {
                let current = newest - (last - pane);
                append(words(&format!("SKETCH.ADVANCE KEY {current}")));
            }
            (self.fill)(sizes, pane).into_iter().for_each(&mut append);
        }
    }

    /// Starts a server with a key of these parameters in each state, under the name of the state. It loads an append-only
    /// file, since a client cannot choose the pane of a write.
    pub fn build(&self, sizes: &Sizes) -> (Server, Vec<State>) {
        let mut log = Vec::new();
        let states = match sizes.get("panes") {
            None => vec![State::WITHOUT_WINDOW],
            Some(_) => State::of_window(units(sizes), sizes.contains_key(LEVELS.name)),
        };
        for state in &states {
            let newest = state.idle_panes.map(|idle| current_pane() - idle);
            self.append_commands(&mut log, sizes, state.key, newest);
        }
        let mut server = Server::start();
        server.kill();
        fs::write(server.dir().join("appendonly.aof"), log).expect("a file");
        // The limits are those of payloads of the largest keys.
        let options = "--appendonly yes --appendfsync no --proto-max-bulk-len 16gb --client-query-buffer-limit 32gb";
        let options: Vec<_> = options.split(' ').collect();
        server.relaunch_with(Options::new().arguments(&options));
        let mut connection = server.resp2();
        // RESTORE would also measure the decompression of strings by the server.
        for setting in ["appendonly", "rdbcompression"] {
            connection.ok(&format!("CONFIG SET {setting} no"));
        }
        for state in &states {
            // The log has no replies, so this shows that its commands were accepted.
            if (self.fill)(sizes, units(sizes)).is_empty() {
                assert_eq!(connection.send(&["EXISTS", state.key]), Reply::Integer(1));
            } else {
                connection.send(&for_key((self.create)(sizes), "empty"));
                let keys = ["empty", state.key];
                let digests = keys.map(|key| connection.send(&["DEBUG", "DIGEST-VALUE", key]));
                assert_ne!(digests[0], digests[1], "{sizes:?}");
                connection.call("DEL empty");
            }
            if let Some(idle) = state.idle_panes {
                let window = connection.send(&["SKETCH.WINDOW", state.key]);
                let newest = window.field("newest pane").and_then(Reply::integer);
                let expected = (current_pane() - idle) * *PANE_MS;
                assert_eq!(newest, i64::try_from(expected).ok(), "{sizes:?}");
            }
        }
        (server, states)
    }
}

/// How long ago a key was written.
#[derive(Debug, Clone, Copy)]
pub struct State {
    pub key: &'static str,
    /// How many panes before the current one the newest pane of the key is. `None` for a key without a window.
    pub idle_panes: Option<u64>,
    /// The text on the page.
    pub text: &'static str,
    pub is_expired: bool,
}

impl State {
    const WITHOUT_WINDOW: Self = Self {
        key: "written",
        idle_panes: None,
        text: "",
        is_expired: false,
    };

    fn of_window(units: u64, has_levels: bool) -> Vec<Self> {
        let state = |key, idle_panes, text| Self {
            key,
            idle_panes: Some(idle_panes),
            text,
            is_expired: idle_panes > units,
        };
        let mut states = vec![
            state("written", 0, ""),
            state("half", units.div_ceil(2), "idle for half a window"),
            state("expired", 2 * units, "idle for two windows"),
        ];
        if has_levels {
            // Each step merges two panes.
            states.push(state("step", 1, "idle for one pane"));
        }
        states
    }
}

/// The current pane of keys with panes of [`PANE_MS`].
pub fn current_pane() -> u64 {
    unix_ms() / *PANE_MS
}

pub fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now");
    u64::try_from(now.as_millis()).expect("a time")
}
