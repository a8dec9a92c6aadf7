//! SKETCH.BETWEEN and SKETCH.SERIES: periods, rows, errors in their order, permissions, scripts, replicas.

use super::within::{
    NO_WINDOW, WRONG_TYPE, calls, calls_of, check_error, create_keys, error_of, readers,
};
use super::{SKETCHES, Sketch, seeded, set_ms, start};
use crate::families::{FAMILIES, run_on};
use crate::support::resp::{Connection, Protocol, Reply, error};
use crate::support::server::Server;
use crate::workload::columns;
use roughly::server::part::Parts;

const START_MS: u64 = 1_000_000;
const LAST_ADDITION: &str =
    "ERR a filter stores only the last addition of an item: SKETCH.WITHIN and SKETCH.AGE read it";
const MISSING_DIGEST: &str = "-ERR T-Digest: key does not exist";
const STEP: &str = "-ERR step must be between 1 and 315360000000 milliseconds";

/// The types with periods in the past.
fn sketches() -> impl Iterator<Item = &'static Sketch> {
    SKETCHES.iter().filter(|sketch| sketch.has_finest())
}

/// Calls on `k` that this command runs on a sketch of this type.
fn calls_on_k(sketch: &Sketch, by: Parts) -> Vec<String> {
    let calls = calls_of(sketch, by).into_iter();
    calls.map(|call| call.replace("key", "k")).collect()
}

/// Adds items at irregular times, and sets the clock to a later time, which it returns. `ends` runs at the times between.
fn fill(
    server: &Server,
    connection: &mut Connection,
    sketch: &Sketch,
    window: &str,
    mut between: impl FnMut(&mut Connection, u64),
) -> u64 {
    connection.call("DEL k");
    set_ms(server, START_MS);
    sketch.create(connection, "k", window);
    let mut now = START_MS;
    for step in 0..60 {
        now += [3, 41, 0, 97, 160][step % 5];
        set_ms(server, now);
        sketch.add(connection, "k", step as u64 * 7 % 9);
        between(connection, now);
    }
    now += 30;
    set_ms(server, now);
    now
}

const WINDOWS: [&str; 3] = [
    "WINDOW 1000 PANES 10",
    "WINDOW 4000 PANES 3 FINEST 20",
    "WINDOW 2003 PANES 7",
];

/// These types with each of the windows.
fn cases() -> impl Iterator<Item = (&'static Sketch, &'static str)> {
    sketches().flat_map(|sketch| WINDOWS.map(|window| (sketch, window)))
}

/// The elements of an array of integers.
fn integers(reply: &Reply) -> Vec<i64> {
    let items = reply.items().unwrap_or_else(|| panic!("{reply}")).iter();
    let integers = items.map(|item| item.integer().expect("an integer"));
    integers.collect()
}

/// The elements of a row: start, milliseconds covered, reply.
fn rows(series: &Reply) -> Vec<(u64, u64, &Reply)> {
    let rows = series.items().unwrap_or_else(|| panic!("{series}"));
    let rows = rows.iter().map(|row| match row.items() {
        Some([Reply::Integer(start), Reply::Integer(covered), reply]) => {
            let [start, covered] = [start, covered].map(|&ms| u64::try_from(ms).expect("a time"));
            (start, covered, reply)
        }
        _ => panic!("{series}"),
    });
    rows.collect()
}

#[test]
fn a_period_until_now_is_read_as_by_sketch_within() {
    let server = start(&[]);
    assert_eq!(readers(Parts::Between).len(), 15);
    assert_eq!(readers(Parts::Series).len(), 14);
    let mut equal = 0;
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        for (sketch, window) in cases() {
            let calls = calls_on_k(sketch, Parts::Between);
            let mut reads = 0;
            let between = |connection: &mut Connection, now: u64| {
                // The newest pane can be ahead of the clock, or long ago.
                let now = now + [0, 0, 1_000, 0][reads % 4] - [0, 150, 0, 0][reads % 4];
                set_ms(&server, now);
                let call = &calls[reads % calls.len()];
                reads += 1;
                for ms in [20, 100, 333, 900, 1_000, 2_003, 2_500, 4_000, 9_000] {
                    let within = connection.call(&format!("SKETCH.WITHIN {ms} {call}"));
                    let later = now + 50;
                    for times in [
                        format!("-{ms} +"),
                        format!("-{ms} -0"),
                        format!("{} {now}", now - ms),
                        format!("{} {later}", now - ms),
                    ] {
                        let reply = connection.call(&format!("SKETCH.BETWEEN {times} {call}"));
                        if !within.is_error() && !reply.is_error() {
                            assert_eq!(reply, within, "{times} {call} at {now}: {window}");
                            equal += 1;
                        }
                    }
                }
            };
            fill(&server, &mut connection, sketch, window, between);
        }
    }
    assert!(equal > 5_000, "{equal}");
    assert_eq!(server.info_number("bf_internal_errors"), 0);
}

/// A read of a missing key is one miss for the server, of SKETCH.SERIES also with wrong arguments of the command.
#[test]
fn a_missing_key_is_one_miss() {
    let (server, mut connection) = start(&[]).connected();
    for (times, parts) in ["60000", "- +", "- + 1000"].into_iter().zip(Parts::ALL) {
        let calls = sketches().flat_map(|sketch| calls_on_k(sketch, parts));
        for call in calls {
            connection.ok("CONFIG RESETSTAT");
            connection.call(&format!("SKETCH.{} {times} {call}", parts.name()));
            assert_eq!(server.info_number("keyspace_misses"), 1, "{parts:?} {call}");
        }
    }
    connection.ok("CONFIG RESETSTAT");
    connection.check("SKETCH.SERIES - + 1000 TDIGEST.RANK k x", "*[]");
    assert_eq!(server.info_number("keyspace_misses"), 1);
}

/// Each pane is in one row, and a row replies what SKETCH.BETWEEN replies for its panes.
#[test]
fn rows_are_the_periods_of_their_panes() {
    let server = start(&[]);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        for (sketch, window) in cases() {
            let now = fill(&server, &mut connection, sketch, window, |_, _| ());
            let shown = connection.call("SKETCH.WINDOW k");
            let starts = integers(shown.field("pane starts").expect("starts"));
            let starts: Vec<_> = starts.into_iter().map(i64::cast_unsigned).collect();
            let length = shown.number("pane length").cast_unsigned();
            let newest_end = starts.last().expect("a pane") + length;
            for step in [1, 100, 130, 1_000, 100_000] {
                for call in calls_on_k(sketch, Parts::Series) {
                    let series = connection.call(&format!("SKETCH.SERIES - + {step} {call}"));
                    let rows = rows(&series);
                    let mut panes = starts.clone();
                    panes.dedup_by_key(|start| *start / step);
                    let row_starts: Vec<u64> = rows.iter().map(|row| row.0).collect();
                    assert_eq!(row_starts, panes, "{call} by {step}: {window}");
                    for (number, &(start, covered, reply)) in rows.iter().enumerate() {
                        let next = rows.get(number + 1).map(|next| next.0);
                        // After the newest pane, the rest of the step had no additions.
                        let last_end = newest_end.max((start / step + 1) * step).min(now);
                        let expected = next.unwrap_or(last_end);
                        assert_eq!(start + covered, expected, "{call} by {step}: {window}");
                        let end = next.map_or("+".to_owned(), |next| next.to_string());
                        let period = format!("{start} {end}");
                        let between = connection.call(&format!("SKETCH.BETWEEN {period} {call}"));
                        // The newest pane can be shorter than a pane.
                        if next.is_some() || now - start >= 286 {
                            assert_eq!(reply, &between, "{call} {start} {end}: {window}");
                        }
                    }
                }
            }
        }
    }
}

/// One event per pane of 100 ms: item 1 in [1,000,100, 1,000,200), and so on.
#[test]
fn a_period_has_the_panes_that_overlap_it() {
    let (server, mut connection) = start(&[]).connected();
    for item in 1..=9 {
        set_ms(&server, START_MS + item * 100);
        if item == 1 {
            connection.call(&seeded("CMS.INITBYDIM k 2000 5 WINDOW 1000 PANES 10"));
        }
        connection.call(&format!("CMS.INCRBY k {item} 1"));
    }
    let query = "CMS.QUERY k 1 2 3 4 5 6 7 8 9";
    let present = |connection: &mut Connection, times: &str| {
        let reply = connection.call(&format!("SKETCH.BETWEEN {times} {query}"));
        let counts = reply.items().map(|counts| {
            let present = (1..)
                .zip(counts)
                .filter(|(_, count)| **count != Reply::Integer(0));
            present.map(|(item, _)| item).collect::<Vec<u64>>()
        });
        counts.ok_or(reply.to_string())
    };
    let items = |first: u64, last: u64| Ok((first..=last).collect::<Vec<u64>>());
    let empty = "-ERR SKETCH.BETWEEN needs a period: from before to".to_owned();
    let short =
        "-ERR the panes of this period are 100 milliseconds long, read at least as much".to_owned();
    for (now, times, expected) in [
        (1_000_950, "1000200 1000400", items(2, 3)),
        (1_000_950, "1000199 1000400", items(1, 3)),
        (1_000_950, "1000200 1000401", items(2, 4)),
        (1_000_950, "1000250 1000350", items(2, 3)),
        (1_000_950, "1000250 1000349", Err(short.clone())),
        (1_000_950, "- 1000100", items(1, 0)),
        (1_000_950, "- 1000101", items(1, 1)),
        (1_000_950, "0 1000301", items(1, 3)),
        (1_000_950, "-150 -50", items(8, 8)),
        (1_000_950, "-151 -49", items(7, 9)),
        (1_000_950, "-99 +", Err(short.clone())),
        (1_000_950, "-100 +", items(8, 9)),
        (1_000_950, "1000900 1000950", Err(short.clone())),
        (1_000_950, "- +", items(1, 9)),
        (1_000_950, "- 2000000", items(1, 9)),
        (1_000_950, "1000950 1000960", Err(empty.clone())),
        (1_000_950, "+ -", Err(empty.clone())),
        (1_000_950, "0 999800", Err(empty.clone())),
        (1_000_950, "-9223372036854775808 +", items(1, 9)),
        // Panes 1 and 2 have expired: the window begins with pane 3, at 1,000,300.
        (1_001_300, "- 1000400", items(3, 3)),
        (1_001_300, "- 1000300", Err(empty.clone())),
        (1_001_300, "1000000 1000399", Err(short.clone())),
        // A time without additions.
        (1_001_300, "1001000 1001200", items(1, 0)),
        (1_001_300, "1000950 1001050", items(9, 9)),
        (1_003_000, "- +", items(1, 0)),
        (1_003_000, "-500 -100", items(1, 0)),
        // The newest pane is ahead of the clock.
        (1_000_450, "- +", items(1, 9)),
        (1_000_450, "-300 +", items(1, 9)),
        (1_000_450, "-300 -50", items(1, 3)),
    ] {
        set_ms(&server, now);
        let found = present(&mut connection, times);
        assert_eq!(found, expected, "{times} at {now}");
    }
    set_ms(&server, 1_000_950);
    for row in [
        "- + 250 | [999900 100 0] [1000000 300 2] [1000300 200 2] [1000500 300 3] [1000800 150 2]",
        "1000350 1000800 250 | [1000300 200 2] [1000500 300 3]",
        "1000250 + 250 | [1000300 200 2] [1000500 300 3] [1000800 150 2]",
        "1000500 1000600 100000 | [1000000 600 5]",
    ] {
        let [times, expected] = columns(row);
        // The whole row of a step has the panes that begin before the end of the period.
        let series = connection.call(&format!("SKETCH.SERIES {times} {query}"));
        let rows = rows(&series).into_iter().map(|(start, covered, counts)| {
            let sum: i64 = integers(counts).iter().sum();
            format!("[{start} {covered} {sum}]")
        });
        assert_eq!(rows.collect::<Vec<_>>().join(" "), expected, "{times}");
    }
}

/// With panes that grow with age, the error has the length of the longest pane, and SKETCH.WINDOW the panes of the period.
#[test]
fn old_panes_are_longer() {
    let (server, mut connection) = start(&[]).connected();
    set_ms(&server, START_MS);
    connection.call("TDIGEST.CREATE k WINDOW 8000 PANES 4 FINEST 10");
    for step in 0..800 {
        set_ms(&server, START_MS + step * 10);
        connection.call(&format!("TDIGEST.ADD k {step}"));
    }
    let window = connection.call("SKETCH.WINDOW k");
    let field = |reply: &Reply, name| integers(reply.field(name).expect(name));
    let [starts, items] = ["pane starts", "items per pane"].map(|name| field(&window, name));
    assert!(starts.len() > 20, "{starts:?}");
    for (first, last) in [(0, 1), (1, 4), (3, 9), (8, 20)] {
        let (from, to) = (starts[first], starts[last]);
        let longest = starts[first + 1] - from;
        let read = |connection: &mut Connection, to: i64| {
            connection.call(&format!("SKETCH.BETWEEN {from} {to} SKETCH.WINDOW k"))
        };
        let reply = read(&mut connection, to);
        assert_eq!(field(&reply, "pane starts"), starts[first..last]);
        assert_eq!(field(&reply, "items per pane"), items[first..last]);
        assert_eq!(reply.number("covered"), to - from);
        let text = format!(
            "ERR the panes of this period are {longest} milliseconds long, read at least as much"
        );
        assert_eq!(read(&mut connection, from + longest - 1), error(&text));
        let digest = connection.call(&format!("SKETCH.BETWEEN {from} {to} TDIGEST.RANK k 9999"));
        let samples: i64 = items[first..last].iter().sum();
        assert_eq!(digest, Reply::Array(vec![Reply::Integer(samples)]));
    }
}

#[test]
fn errors_are_checked_in_order() {
    let server = Server::start();
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        create_keys(&mut connection);
        let short =
            "ERR the panes of this period are 5000 milliseconds long, read at least as much";
        for (name, step) in [("SKETCH.BETWEEN", ""), ("SKETCH.SERIES", " 1000")] {
            let (is_series, lower) = (!step.is_empty(), name.to_lowercase());
            let period = format!("ERR {name} needs a period: from before to");
            let own = "WITHCOUNT keyword expected";
            let quantile = "ERR T-Digest: quantile should be in [0,1]";
            connection.check_all(&format!(
                "
                {name} x y{step} GET => -ERR wrong number of arguments for '{lower}' command
                {name} x +{step} GET string => -{period}
                {name} - x{step} GET string => -{period}
                {name} 1.5 +{step} GET string => -{period}
                {name} +5 +{step} GET string => -{period}
                {name} -- +{step} GET string => -{period}
                {name} 99999999999999999999 +{step} GET string => -{period}
                {name} + +{step} GET string => -{period}
                {name} - -{step} GET string => -{period}
                {name} - 0{step} GET string => -{period}
                {name} 5 5{step} GET string => -{period}
                {name} 9999999999999 +{step} GET string => -{period}
                {name} - +{step} GET string => -ERR {name} cannot run 'GET'
                {name} - +{step} SKETCH.AGE string => -ERR {name} cannot run 'SKETCH.AGE'
                {name} - +{step} BF.INFO bf => -ERR {name} cannot run 'BF.INFO'
                {name} - +{step} SKETCH.WITHIN 1 CMS.QUERY cms a => -ERR {name} cannot run 'SKETCH.WITHIN'
                {name} - +{step} SKETCH.BETWEEN - + CMS.QUERY cms a => -ERR {name} cannot run 'SKETCH.BETWEEN'
                {name} - +{step} SKETCH.SERIES - + 1 CMS.QUERY cms a => -ERR {name} cannot run 'SKETCH.SERIES'
                {name} - +{step} BF.EXISTS string => -{LAST_ADDITION}
                {name} - +{step} cf.count string a b c => -{LAST_ADDITION}
                {name} - +{step} BF.CARD missing => -{LAST_ADDITION}
                {name} - +{step} CMS.QUERY string => -ERR wrong number of arguments for 'cms.query' command
                {name} - +{step} TOPK.LIST missing WITHCOUNT x => -ERR wrong number of arguments for 'topk.list' command
                {name} - +{step} TDIGEST.MIN missing x => -ERR wrong number of arguments for 'tdigest.min' command
                {name} - -1{step} TOPK.LIST string x => -{WRONG_TYPE}
                {name} - -1{step} TOPK.LIST td x => -{WRONG_TYPE}
                {name} - -1{step} SKETCH.ACCURACY string => -{WRONG_TYPE}
                {name} - -1{step} SKETCH.ACCURACY bf => -{LAST_ADDITION}
                {name} - -1{step} SKETCH.ACCURACY classic => -{NO_WINDOW}
                {name} - -1{step} TOPK.LIST plain x => -{NO_WINDOW}
                {name} - -1{step} CMS.QUERY cms a => -{NO_WINDOW}
                {name} 0 5{step} TOPK.LIST topk x => -{period}
                {name} -4999 +{step} TOPK.LIST topk x => -{short}
                {name} -9000 -4001{step} TDIGEST.QUANTILE td 2 => -{short}
                {name} -5000 +{step} TOPK.LIST topk x => -{own}
                {name} -9000 -4000{step} TDIGEST.QUANTILE td 2 => -{quantile}
                {name} -9000 -4000{step} TDIGEST.BYRANK td -1 => -ERR T-Digest: rank needs to be non negative
                "
            ));
            let cannot = format!("-ERR {name} cannot run 'SKETCH.WINDOW'");
            for (rest, of_between, of_series) in [
                ("TOPK.LIST missing x", "-WITHCOUNT keyword expected", "*[]"),
                ("TOPK.LIST missing", "-TopK: key does not exist", "*[]"),
                ("CMS.QUERY missing a", "-CMS: key does not exist", "*[]"),
                ("TDIGEST.QUANTILE missing 2", MISSING_DIGEST, "*[]"),
                ("SKETCH.ACCURACY missing", "-ERR no such key", "*[]"),
                ("SKETCH.WINDOW bf", &format!("-{LAST_ADDITION}"), &cannot),
            ] {
                let expected = if is_series { of_series } else { of_between };
                connection.check(&format!("{name} - -1{step} {rest}"), expected);
            }
        }
        for (step, expected) in [
            ("0", STEP),
            ("-1", STEP),
            ("x", STEP),
            ("1.5", STEP),
            ("315360000001", STEP),
            ("1", "-ERR SKETCH.SERIES cannot run 'GET'"),
            ("315360000000", "-ERR SKETCH.SERIES cannot run 'GET'"),
        ] {
            connection.check(&format!("SKETCH.SERIES - + {step} GET string"), expected);
            let empty = format!("SKETCH.SERIES - - {step} GET string");
            connection.check(&empty, "-ERR SKETCH.SERIES needs a period: from before to");
        }
        // Line breaks would end the error.
        let name = [b"GET\r\n\0".to_vec(), vec![b'x'; 100]].concat();
        let reply = connection.send(&[b"SKETCH.BETWEEN", &b"-"[..], b"+", &name, b"bf"]);
        let cannot = format!("-ERR SKETCH.BETWEEN cannot run 'GET   {}'", "x".repeat(58));
        assert_eq!(reply.to_string(), cannot);
        for call in calls(Parts::Series) {
            let call = call.to_lowercase();
            for family in FAMILIES {
                connection.call("DEL key");
                run_on(&mut connection, "key", family.build);
                let is_filter = ["bf", "cf"].contains(&family.prefix);
                let of_filter = is_filter.then_some(LAST_ADDITION);
                for before in ["SKETCH.BETWEEN - +", "SKETCH.SERIES - + 1000"] {
                    let reply = connection.call(&format!("{before} {call}"));
                    let what = format!("{before} {call} {}", family.name);
                    check_error(&reply, error_of(&call, family).or(of_filter), &what);
                }
            }
        }
    }
    assert_eq!(server.info_number("bf_internal_errors"), 0);
}

#[test]
fn proxies_do_not_cache_the_replies() {
    let (_server, mut connection) = Server::start().connected();
    let info = connection.call("COMMAND INFO sketch.between sketch.series");
    for command in info.items().expect("commands") {
        let tips = command.items().expect("a command")[7].to_string();
        assert!(tips.contains("dont_cache"), "{command}");
    }
}

/// Neither command changes the value, or the results that it keeps.
#[test]
fn a_key_stays_as_it_is() {
    let (server, mut connection) = start(&[]).connected();
    for (sketch, window) in cases() {
        fill(&server, &mut connection, sketch, window, |_, _| ());
        sketch.reads(&mut connection, "k");
        let state = |connection: &mut Connection| {
            ["DUMP k", "DEBUG DIGEST-VALUE k"].map(|command| connection.call(command))
        };
        let (before, bytes) = (state(&mut connection), connection.call("MEMORY USAGE k"));
        for call in calls_on_k(sketch, Parts::Series) {
            let series = connection.call(&format!("SKETCH.SERIES - + 70 {call}"));
            assert!(rows(&series).len() > 5, "{series}");
        }
        let found = connection.call("MEMORY USAGE k");
        assert_eq!(found, bytes, "{}", sketch.type_name);
        for call in calls_on_k(sketch, Parts::Between) {
            connection.run(&format!("SKETCH.BETWEEN -900 -300 {call}"));
        }
        assert_eq!(state(&mut connection), before);
    }
}

/// The reply has the items of each row, so it can be many times as large as the key.
#[test]
fn the_lists_of_a_series_hold_at_most_64_mebibytes() {
    let (server, mut connection) = start(&[]).connected();
    set_ms(&server, START_MS);
    connection.call(&seeded("TOPK.RESERVE k 10 80 5 1 WINDOW 1000 PANES 100"));
    let items: Vec<_> = ('a'..='j')
        .map(|name| String::from(name).repeat(100_000))
        .collect();
    let add = format!("TOPK.ADD k {}", items.join(" "));
    for pane in 0..68 {
        set_ms(&server, START_MS + pane * 10);
        connection.call(&add);
    }
    let error =
        "TopK: the lists of the rows hold more than 64 MiB, use longer steps or a shorter period";
    let reply = connection.call("SKETCH.SERIES - + 1 TOPK.LIST k WITHCOUNT");
    assert_eq!(reply, Reply::Error(error.into()));
    for (command, listed) in [
        ("SKETCH.SERIES - + 20 TOPK.LIST k", 340),
        ("SKETCH.SERIES -660 + 1 TOPK.LIST k", 670),
    ] {
        let reply = connection.call(command);
        let rows = rows(&reply).into_iter();
        let items = rows.map(|(_, _, list)| list.items().map_or(0, <[_]>::len));
        assert_eq!(items.sum::<usize>(), listed, "{command}");
    }
}

#[test]
fn the_rows_of_a_series_hold_at_most_a_million_values() {
    let (server, mut connection) = start(&[]).connected();
    set_ms(&server, START_MS);
    for create in [
        "CMS.INITBYDIM c 10 2",
        "TOPK.RESERVE k 2 8 2 1",
        "TDIGEST.CREATE t",
    ] {
        connection.ok(&format!("{create} WINDOW 1000 PANES 100"));
    }
    for add in ["CMS.INCRBY c 1 1", "TOPK.ADD k 1", "TDIGEST.ADD t 1"] {
        connection.call(add);
    }
    let error = Reply::Error(
        "ERR the rows would hold more than 1000000 values, use longer steps or a shorter period"
            .into(),
    );
    for call in [
        "CMS.QUERY c",
        "TOPK.QUERY k",
        "TOPK.COUNT k",
        "TDIGEST.QUANTILE t",
        "TDIGEST.CDF t",
        "TDIGEST.RANK t",
        "TDIGEST.REVRANK t",
        "TDIGEST.BYRANK t",
        "TDIGEST.BYREVRANK t",
    ] {
        for step in [1, 40] {
            let mut series = |values: usize| {
                connection.call(&format!(
                    "SKETCH.SERIES - + {step} {call}{}",
                    " 1".repeat(values)
                ))
            };
            let len = rows(&series(1)).len();
            // The name of the command and the key count, too.
            let most = 1_000_000 / len - 2;
            let reply = series(most);
            let rows = rows(&reply);
            assert_eq!(rows.len(), len);
            let is_full = |row: &Reply| row.items().map(<[Reply]>::len) == Some(most);
            assert!(rows.iter().all(|(_, _, row)| is_full(row)), "{call}");
            assert_eq!(series(most + 1), error, "{call}");
        }
    }
}
