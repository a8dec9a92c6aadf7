//! What counts at which time, compared with exact events.

use super::{SKETCHES, set_ms, start, totals, with_window};
use crate::families::numbers;
use crate::support::resp::{Connection, Reply};
use crate::workload::Random;

const MS: u64 = 60_000;

const CREATIONS: &str = "BF.RESERVE set 1e-9 100;CF.RESERVE cf 5000;CMS.INITBYDIM cms 5000 3;\
    TOPK.RESERVE topk 10 500 4 1;TDIGEST.CREATE digest";
/// Additions of the item `N`.
const ADDITIONS: &str =
    "BF.ADD set N;CF.ADD cf N;CMS.INCRBY cms N 1;TOPK.ADD topk N;TDIGEST.ADD digest N";

/// The events of a sketch: time and item.
#[derive(Default)]
struct Events(Vec<(u64, u64)>);

impl Events {
    /// The events that count at `now`, for panes of `pane` milliseconds; the newest pane is at least `newest`.
    fn live(&self, now: u64, newest: u64, panes: u64) -> Vec<u64> {
        let pane = MS.div_ceil(panes);
        let current = (now / pane).max(newest);
        let is_live = |at: u64| at + panes >= current;
        let live = self.0.iter().filter(|&&(at, _)| is_live(at));
        live.map(|&(_, item)| item).collect()
    }
}

/// Compares the reads of the sketches with the live events. Few distinct items, so that all counts are exact.
fn check(connection: &mut Connection, live: &[u64], when: &str) {
    let count = |item: u64| live.iter().filter(|&&other| other == item).count() as i64;
    let counts: Vec<i64> = (0..10).map(count).collect();
    let exist: Vec<i64> = counts.iter().map(|&count| count.min(1)).collect();
    for (command, expected) in [
        ("BF.MEXISTS set", &exist),
        ("CF.MEXISTS cf", &exist),
        ("CMS.QUERY cms", &counts),
        ("TOPK.COUNT topk", &counts),
    ] {
        let found = connection
            .call(&format!("{command} {}", numbers(0, 10)))
            .integers();
        assert_eq!(&found, expected, "{when}: {command}");
    }
    let distinct: i64 = exist.iter().sum();
    let found = connection.call("BF.CARD set");
    assert_eq!(found, Reply::Integer(distinct), "{when}");
    let total: i64 = totals(connection, "set").iter().sum();
    assert_eq!(total, distinct, "{when}");
    for (command, field) in [
        ("CMS.INFO cms", "count"),
        ("CF.INFO cf", "Number of items inserted"),
        ("TDIGEST.INFO digest", "Observations"),
    ] {
        let found = connection.call(command).number(field);
        assert_eq!(found, live.len() as i64, "{when}: {command}");
    }
    let reply = connection.call("TOPK.LIST topk WITHCOUNT");
    let listed = reply.items().expect("a list");
    for pair in listed.chunks(2) {
        let index: usize = pair[0].string().parse().expect("a number");
        assert_eq!(pair[1].integer(), Some(counts[index]), "{when}: {reply}");
    }
    assert_eq!(listed.len() as i64 / 2, distinct, "{when}");
    let (min, max) = (live.iter().min(), live.iter().max());
    for (command, expected) in [("TDIGEST.MIN digest", min), ("TDIGEST.MAX digest", max)] {
        let value: f64 = connection.call(command).string().parse().expect("a number");
        match expected {
            None => assert!(value.is_nan(), "{when}"),
            Some(&expected) => assert_eq!(value, expected as f64, "{when}"),
        }
    }
    for (item, &count) in counts.iter().enumerate() {
        let reply = connection.call(&format!("CF.COUNT cf {item}"));
        assert_eq!(reply, Reply::Integer(count), "{when}: {item}");
    }
    for key in ["cf", "cms", "topk", "digest"] {
        let total: i64 = totals(connection, key).iter().sum();
        assert_eq!(total, live.len() as i64, "{when}: {key}");
    }
}

/// Random times: the clock stands still, goes on, goes back, and jumps by years.
#[test]
fn reads_count_exactly_the_live_panes() {
    let (server, mut connection) = start(&[]).connected();
    for panes in [1u64, 3, 12, 60] {
        let mut random = Random::new(panes);
        let pane = MS.div_ceil(panes);
        let mut now = 1_700_000_000_000;
        set_ms(&server, now);
        server.call("FLUSHALL");
        let window = format!("WINDOW {MS} PANES {panes}");
        for command in CREATIONS.split(';') {
            connection.ok(&with_window(command, &window));
        }
        let (mut events, mut newest) = (Events::default(), now / pane);
        for step in 0..400 {
            match random.below(12) {
                0..4 => {}
                4..8 => now += random.below(pane),
                8 | 9 => now += random.below(2 * MS),
                10 => now -= random.below(2 * MS),
                _ if random.one_in(4) => now += 3 * 365 * 86_400_000,
                _ => now += MS,
            }
            set_ms(&server, now);
            let when = format!("panes {panes}, step {step}, time {now}");
            if random.one_in(3) {
                check(&mut connection, &events.live(now, newest, panes), &when);
            }
            if random.one_in(2) {
                let item = random.below(10);
                newest = newest.max(now / pane);
                events.0.push((newest, item));
                for command in ADDITIONS.split(';') {
                    let reply = connection.call(&command.replace(" N", &format!(" {item}")));
                    assert!(!reply.is_error(), "{when}: {reply}");
                }
                check(&mut connection, &events.live(now, newest, panes), &when);
            }
            if random.one_in(20) {
                for key in ["set", "cf", "cms", "topk", "digest"] {
                    connection.check(&format!("COPY {key} copy REPLACE"), ":1");
                    connection.call(&format!("RENAME copy {key}"));
                }
                connection.ok("DEBUG RELOAD");
                check(&mut connection, &events.live(now, newest, panes), &when);
            }
        }
    }
}

/// Memory of expired panes is freed by writes. Repeated windows take no more memory than the first.
#[test]
fn expired_panes_take_no_memory_after_writes() {
    let (server, mut connection) = start(&[]).connected();
    for sketch in SKETCHES {
        server.call("FLUSHALL");
        let mut now = 1_000_000;
        set_ms(&server, now);
        sketch.create(&mut connection, "k", "WINDOW 1200 PANES 12");
        let usage = |connection: &mut Connection| {
            let reply = connection.call("MEMORY USAGE k SAMPLES 0");
            reply.integer().expect("bytes")
        };
        let mut largest = [0; 3];
        for largest in &mut largest {
            for _ in 0..13 {
                now += 100;
                set_ms(&server, now);
                (0..300).for_each(|item| sketch.add(&mut connection, "k", item % 100));
                *largest = usage(&mut connection).max(*largest);
            }
        }
        let is_steady = largest[2] <= largest[1] * 11 / 10;
        assert!(is_steady, "{}: {largest:?}", sketch.type_name);
        now += 1_000_000;
        set_ms(&server, now);
        sketch.reads(&mut connection, "k");
        (0..20).for_each(|item| sketch.add(&mut connection, "k", item));
        let after = usage(&mut connection);
        let is_freed = after * 2 < largest[2];
        assert!(is_freed, "{}: {after} of {largest:?}", sketch.type_name);
    }
}
