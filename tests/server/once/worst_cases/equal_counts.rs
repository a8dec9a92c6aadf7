//! Top-k sketches with a window whose items are equally frequent, equally long, and different in their last bytes only: every
//! order of items by count and bytes reads the items as a whole.
//!
//! After idle time, one command merges up to 254 panes. Their items are ordered once per command, not once per pane.

use super::ATTEMPTS;
use super::bounds::{Work, bound_ns};
use super::keys::unix_ms;
use super::rows::duration;
use crate::support::main_thread::MainThread;
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;
use crate::support::server::Server;
use roughly_dump::{Values, type_id};
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopKWindow;
use roughly_sketch::window::{Timed, Window};
use std::ops::Range;

/// A month in panes that grow from a second: 242 panes.
const WINDOW_MS: u64 = 2_592_000_000;
const UNIT_MS: u64 = 1000;
/// The panes of a window, and the largest k for them.
const PANES: usize = 242;
const MAX_K: usize = 164;
/// The items of a sketch have at most as many bytes.
const ITEM_BYTES: usize = 16 << 20;

/// Seconds between the last addition and the command: a few; some that merge panes of several levels; a quarter of the window;
/// almost the whole window; longer than the window.
const IDLE: [u64; 5] = [5, 1000, 648_000, 2_590_000, 3_000_000];

/// The current unit.
fn now() -> u64 {
    unix_ms() / UNIT_MS
}

/// Items of equal length and [`ITEM_BYTES`] in total, the last one in the order of bytes first: the worst order for a search for
/// the first ones.
fn items(number: usize) -> Vec<Vec<u8>> {
    let prefix = vec![b'x'; ITEM_BYTES / number - 8];
    let item = |number: usize| [&prefix[..], format!("{number:08}").as_bytes()].concat();
    (0..number).rev().map(item).collect()
}

/// The payload of a sketch whose panes all have items: pane number n has those at `items_of(n)`, each added once.
fn payload(
    newest: u64,
    k: usize,
    items: &[Vec<u8>],
    items_of: impl Fn(usize) -> Range<usize>,
) -> Vec<u8> {
    let window = Window::of::<TopKWindow>(WINDOW_MS, 12, Some(UNIT_MS)).expect("a window");
    let seed = Seed([7; 16]);
    let new = || {
        let sketch = TopKWindow::new(k as u64, 1200, 5, 0.9, window, seed, Budget::UNLIMITED);
        sketch.expect("valid parameters")
    };
    let mut at_end = new();
    at_end.advance(newest);
    let mut sketch = new();
    let hashes: Vec<_> = items.iter().map(|item| sketch.hash(item)).collect();
    for (pane, range) in at_end.timeline().panes().enumerate() {
        sketch.advance(range.first);
        for number in items_of(pane) {
            let mut uncounted = BlockChanges::<()>::default();
            let (item, hash) = (&items[number], &hashes[number]);
            let added = sketch.add_hashed(item, hash, 1, Budget::UNLIMITED, &mut uncounted);
            added.expect("room for the item");
        }
    }
    let mut values = Values::default();
    sketch.save(&mut values);
    values.to_dump(type_id(b"tk-window", TopKWindow::ENCODING_VERSION))
}

/// A server with the key K.
pub struct Key<'a> {
    connection: &'a mut Connection,
    thread: MainThread,
    slowness: f64,
    idle: u64,
    failures: Vec<String>,
}

impl<'a> Key<'a> {
    /// That of a key that was last written this many seconds ago.
    pub fn new(connection: &'a mut Connection, idle: u64) -> Self {
        let thread = MainThread::of(connection);
        let slowness = thread.slowness(connection);
        Self {
            connection,
            thread,
            slowness,
            idle,
            failures: Vec::new(),
        }
    }

    /// Fails if a command exceeded its bound.
    pub fn finish(self) {
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }

    /// Runs a command on a copy of the key with the name C, after these commands on it. It must be within the bound of a
    /// command that processes a whole key.
    pub fn check(&mut self, before: &[&[&[u8]]], command: &[&[u8]]) -> Reply {
        let mut best = (f64::INFINITY, 0.0);
        let mut last = Reply::Integer(0);
        for _ in 0..ATTEMPTS {
            self.connection.call("COPY K C REPLACE");
            self.connection.call("DEL D");
            for command in before {
                self.connection.send(command);
            }
            let usage = self.connection.call("MEMORY USAGE C").integer();
            let (ns, reply) = self.thread.measured(|| self.connection.send(command));
            assert!(!reply.is_error(), "{reply}");
            let usage = u64::try_from(usage.expect("a size")).expect("a size");
            let bound = bound_ns(&Work::of_keys(usage));
            last = reply;
            let ns = ns as f64 / self.slowness;
            if ns < best.0 {
                best = (ns, bound);
            }
            if best.0 <= bound || best.0 > 4.0 * bound {
                break;
            }
            self.slowness = self.thread.slowness(self.connection);
        }
        let words = command.iter().filter(|word| word.len() < 30);
        let words: Vec<_> = words.map(|word| String::from_utf8_lossy(word)).collect();
        let (time, bound) = (duration(best.0), duration(best.1));
        let (words, idle) = (words.join(" "), self.idle);
        let line = format!("{words} after {idle} s: {time}, bound {bound}");
        println!("{line}");
        if best.0 > best.1 {
            self.failures.push(line);
        }
        last
    }
}

/// Checks commands on a sketch of the `k` most frequent items with these items in its panes after each idle time.
fn check(k: usize, items: &[Vec<u8>], items_of: impl Fn(usize) -> Range<usize>) {
    let (_server, mut connection) = Server::start().connected();
    // RESTORE would also measure the decompression of strings by the server.
    connection.ok("CONFIG SET rdbcompression no");
    let mut failures = Vec::new();
    for idle in Sample::of_run().one_of(IDLE.to_vec(), 1) {
        let payload = payload(now() - idle, k, items, &items_of);
        assert!(connection.replace("K", &payload).is_ok());
        let mut key = Key::new(&mut connection, idle);
        let queries = items[items.len() - k..].iter().map(Vec::as_slice);
        let queries: Vec<&[u8]> = queries.collect();
        let query = |name: &'static str| [&[name.as_bytes(), b"C"], &queries[..]].concat();
        let newest = now().to_string();
        let advance: &[&[u8]] = &[b"SKETCH.ADVANCE", b"C", newest.as_bytes()];
        let half: &[u8] = b"1296000000";
        let list: &[&[u8]] = &[b"TOPK.LIST", b"C", b"WITHCOUNT"];
        let list_of_half: &[&[u8]] = &[b"SKETCH.WITHIN", half, b"TOPK.LIST", b"C", b"WITHCOUNT"];
        let add: &[&[u8]] = &[b"TOPK.ADD", b"C", b"other"];
        let add_present: &[&[u8]] = &[b"TOPK.ADD", b"C", &items[0]];
        for command in [add, add_present, advance, list_of_half] {
            key.check(&[], command);
        }
        key.check(&[], &query("TOPK.COUNT"));
        let listed = key.check(&[], list);
        key.check(&[advance], list);
        key.check(&[advance], list_of_half);
        key.check(&[], &query("TOPK.QUERY"));
        key.check(&[advance], &query("TOPK.QUERY"));
        let series = ["SKETCH.SERIES", "-", "+", "1"].map(str::as_bytes);
        key.check(&[], &[&series[..], &[b"SKETCH.ACCURACY", b"C"]].concat());
        key.check(&[], &[&series[..], &query("TOPK.QUERY")].concat());
        // If each pane lists all items, the reply would have their bytes once per pane.
        if items.len() > k {
            key.check(&[], &[&series, list].concat());
        }
        key.check(&[], &[b"COPY", b"C", b"D"]);
        key.check(&[], &[b"RESTORE", b"D", b"0", &payload]);
        failures.append(&mut key.failures);
        if idle == IDLE[0] {
            assert_eq!(listed.items().map(<[Reply]>::len), Some(2 * k));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Each pane lists the same items of 102 KB.
#[test]
fn the_longest_items_of_equal_counts_are_ordered_in_time() {
    check(MAX_K, &items(MAX_K), |_| 0..MAX_K);
}

/// Each pane lists other items: as many as possible, or fewer and longer ones.
#[test]
fn many_items_of_equal_counts_are_ordered_in_time() {
    for k in Sample::of_run().one_of(vec![MAX_K, 32, 8], 1) {
        check(k, &items(k * PANES), |pane| {
            let first = pane.min(PANES - 1) * k;
            first..first + k
        });
    }
}
