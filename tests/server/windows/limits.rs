//! Limits of memory at the first write into a pane, which allocates the memory of the pane.

use super::{set_ms, start, totals};
use crate::families::Family;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use std::cell::Cell;

/// A sketch whose panes take a lot of memory, and how it refuses a write.
struct Case {
    type_name: &'static str,
    /// Creates the key k; the option WINDOW can be appended.
    create: String,
    /// Adds to a pane, which then takes its memory.
    add: String,
    /// The number of items or samples of `add`.
    items: i64,
    /// The error of the command, or of its item, if no limit of the key is exceeded.
    no_memory: &'static str,
    /// The reply has one element per item.
    by_item: bool,
}

/// Each pane takes about `bytes` bytes.
fn cases(bytes: u64) -> [Case; 3] {
    // More items than a pane can have without an array.
    let increments: Vec<_> = (0..4097).map(|item| format!("{item} 1")).collect();
    let samples: Vec<_> = (0..bytes / 8).map(|sample| sample.to_string()).collect();
    [
        Case {
            type_name: "cmswindow",
            create: format!("CMS.INITBYDIM k {} 1", bytes / 4),
            add: format!("CMS.INCRBY k {}", increments.join(" ")),
            items: 4097,
            no_memory: "CMS: Insufficient memory for a pane",
            by_item: true,
        },
        Case {
            type_name: "tk-window",
            create: format!("TOPK.RESERVE k 5 {} 1 0.9", bytes / 8),
            add: "TOPK.ADD k a".to_owned(),
            items: 1,
            no_memory: "ERR Insufficient memory",
            by_item: true,
        },
        Case {
            type_name: "td-window",
            create: "TDIGEST.CREATE k COMPRESSION 100000".to_owned(),
            add: format!("TDIGEST.ADD k {}", samples.join(" ")),
            items: samples.len() as i64,
            no_memory: "ERR T-Digest: allocation failed",
            by_item: false,
        },
    ]
}

impl Case {
    fn family(&self) -> &'static Family {
        Family::of_type(self.type_name.as_bytes())
    }

    /// Adds to the newest pane. Returns the error of the last item if it was refused, and the number of items that were refused.
    fn add(&self, connection: &mut Connection) -> (Option<String>, i64) {
        let reply = connection.call(&self.add);
        let (last, refused) = match reply.items() {
            Some(items) if self.by_item => {
                let refused = items.iter().filter(|item| item.is_error()).count() as i64;
                (items.last().expect("an item").clone(), refused)
            }
            _ => (reply, self.items),
        };
        match last {
            Reply::Error(text) => (Some(String::from_utf8_lossy(&text).into_owned()), refused),
            _ => (None, 0),
        }
    }
}

/// The first write into a second pane is refused with the expected error, and counted; only the pane has begun. Without
/// the limit, it succeeds.
fn check(
    server: &Server,
    case: &Case,
    limit: impl Fn(&Server, bool),
    expected: impl Fn(&Case) -> String,
) {
    let name = case.type_name;
    let mut connection = server.resp2();
    connection.call("FLUSHALL SYNC");
    set_ms(server, 1_000_000);
    connection.ok(&format!("{} WINDOW 4000 PANES 4", case.create));
    assert_eq!(case.add(&mut connection).0, None, "{name}");
    let refusals = case.family().info(server, "refusals");
    limit(server, true);
    set_ms(server, 1_003_000);
    let bytes = case.family().info(server, "bytes");
    let (error, refused) = case.add(&mut connection);
    assert_eq!(error, Some(expected(case)), "{name}");
    let counted = case.family().info(server, "refusals") - refusals;
    assert_eq!(counted, refused, "{name}");
    let after = case.family().info(server, "bytes");
    // A count-min sketch has counted the items before in small memory.
    let small = if refused < case.items { 1 << 17 } else { 0 };
    let is_small = after <= bytes + small;
    assert!(is_small, "{name}: {bytes} bytes before, {after} after");
    let (items, added) = (case.items, case.items - refused);
    let found = totals(&mut connection, "k");
    assert_eq!(found, [0, items, 0, 0, added], "{name}");
    limit(server, false);
    assert_eq!(case.add(&mut connection).0, None, "{name}");
    let found = totals(&mut connection, "k");
    assert_eq!(found, [0, items, 0, 0, added + items], "{name}");
}

#[test]
fn a_pane_beyond_the_limit_of_the_key_is_refused() {
    let server = start(&[]);
    for case in cases(100_000) {
        let max = Cell::new(0);
        let limit = |server: &Server, is_limited: bool| {
            max.set(case.family().info(server, "bytes") + 10_000);
            let bytes = if is_limited { max.get() } else { 0 };
            server.set("sketch-max-key-bytes", bytes);
        };
        let text = "ERR the key would hold more bytes than sketch-max-key-bytes allows";
        check(&server, &case, limit, |_| format!("{text} ({})", max.get()));
    }
}

/// Expired panes do not count: the first write after them is accepted, although their memory is freed step by step.
#[test]
fn expired_panes_do_not_count_for_the_limit_of_the_key() {
    let (server, mut connection) = start(&[]).connected();
    let set_limit = |bytes: i64| server.set("sketch-max-key-bytes", bytes);
    let large = cases(4 << 20).into_iter().take(2);
    for case in cases(100_000).into_iter().chain(large) {
        let name = case.type_name;
        connection.call("FLUSHALL SYNC");
        set_limit(0);
        set_ms(&server, 1_000_000);
        connection.ok(&format!("{} WINDOW 4000 PANES 4", case.create));
        for pane in 0..5 {
            set_ms(&server, 1_000_000 + pane * 1000);
            assert_eq!(case.add(&mut connection).0, None, "{name}");
        }
        set_limit(case.family().info(&server, "bytes") + 10_000);
        for round in 1..4 {
            set_ms(&server, 2_000_000 * round);
            assert_eq!(case.add(&mut connection).0, None, "{name}, round {round}");
        }
        // A live pane counts.
        set_limit(case.family().info(&server, "bytes") / 2);
        set_ms(&server, 6_001_000);
        assert!(case.add(&mut connection).0.is_some(), "{name}");
    }
}

/// Requests below 1 MiB are not checked. Here a command for a t-digest would need so many arguments that the server would
/// refuse it; `maxmemory::samples_are_refused_when_the_buffer_cannot_grow` tests the same code.
#[test]
fn a_pane_beyond_maxmemory_is_refused_with_the_error_of_its_family() {
    let server = start(&[]);
    for case in &cases(4 << 20)[..2] {
        let limit = |server: &Server, is_limited: bool| {
            let bytes = match is_limited {
                true => server.info_number("used_memory") + (2 << 20),
                false => 0,
            };
            server.ok(&format!("CONFIG SET maxmemory {bytes}"));
        };
        check(&server, case, limit, |case| case.no_memory.to_owned());
    }
}
