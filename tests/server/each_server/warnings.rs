//! The lines in the log about keys whose parameters give bad results.

use crate::families::numbers;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

/// A key that must not begin another line of the log, longer than the log shows.
fn key(number: usize) -> Vec<u8> {
    let start = format!("{number}\na\x1b[2J\"");
    [start.as_bytes(), b"\xff", &[b'x'; 100]].concat()
}

/// The start of [`key`] as the log shows it.
fn shown(number: usize) -> String {
    format!(r#"key "{number}\na\x1b[2J\"\xffxxx"#)
}

/// Sends a command in which `KEY` stands for this key.
fn send(connection: &mut Connection, key: &[u8], command: &str) -> Reply {
    let words = command.split(' ').map(|word| match word {
        "KEY" => key,
        word => word.as_bytes(),
    });
    let reply = connection.send(&words.collect::<Vec<_>>());
    assert!(!reply.is_error(), "{command}: {reply}");
    reply
}

/// The lines of the log with one of these texts.
fn lines(server: &Server, texts: &[&str]) -> Vec<String> {
    let log = server.log();
    let lines = (log.lines()).filter(|line| texts.iter().any(|text| line.contains(text)));
    lines.map(str::to_owned).collect()
}

/// The text of every line about growth.
const GROWN: &str = " has grown to ";
/// The text of every line about top-k sketches.
const DEFAULTS: &str = " has the default width and depth";

/// A type of filters that grow.
struct Growing {
    type_name: &'static str,
    create: &'static str,
    /// The commands that add items, separated by `|`. The last takes several.
    add: &'static str,
    /// The numbers of sub-filters that the log reports.
    reported: [i64; 2],
}

const BLOOM: Growing = Growing {
    type_name: "MBbloom--",
    create: "BF.RESERVE KEY 0.01 1 EXPANSION 1",
    add: "BF.ADD KEY|BF.INSERT KEY ITEMS|BF.ADDNX KEY|BF.MADD KEY",
    reported: [8, 64],
};
const CUCKOO: Growing = Growing {
    type_name: "MBbloomCF",
    create: "CF.RESERVE KEY 4",
    add: "CF.ADD KEY|CF.ADDNX KEY|CF.INSERTNX KEY ITEMS|CF.INSERT KEY ITEMS",
    reported: [4, 16],
};

const GROWING: &[Growing] = &[
    BLOOM,
    Growing {
        type_name: "bf-window",
        create: "BF.RESERVE KEY 0.01 1 EXPANSION 1 WINDOW 315360000000",
        ..BLOOM
    },
    Growing {
        type_name: "bloomfltr",
        create: "BF.INSERT KEY CAPACITY 1 EXPANSION 1 TIGHTENING 0.9",
        ..BLOOM
    },
    CUCKOO,
    Growing {
        type_name: "cf-window",
        create: "CF.RESERVE KEY 4 WINDOW 315360000000",
        ..CUCKOO
    },
];

fn sub_filters(connection: &mut Connection, key: &[u8]) -> i64 {
    match send(connection, key, "TYPE KEY").to_string().as_str() {
        "+MBbloomCF" | "+cf-window" => {
            send(connection, key, "CF.INFO KEY").number("Number of filters")
        }
        _ => {
            let reply = send(connection, key, "BF.INFO KEY FILTERS");
            let number = reply.items().and_then(|items| items[0].integer());
            number.expect("a number")
        }
    }
}

impl Growing {
    /// Creates a key and adds items with this command until it has so many sub-filters. Returns the lines of the log after each
    /// reported number of sub-filters.
    fn grow(&self, server: &Server, key: &[u8], add: &str) -> [usize; 2] {
        let mut connection = server.resp2();
        send(&mut connection, key, self.create);
        let name = self.type_name;
        let found = send(&mut connection, key, "TYPE KEY").to_string();
        assert_eq!(found, format!("+{name}"));
        let mut item = 0;
        self.reported.map(|reported| {
            let before = lines(server, &[GROWN]).len();
            let mut grown = sub_filters(&mut connection, key);
            while grown < reported {
                let found = lines(server, &[GROWN]).len();
                assert_eq!(found, before, "{name} {add}: {grown}");
                send(&mut connection, key, &format!("{add} {item}"));
                item += 1;
                grown = sub_filters(&mut connection, key);
            }
            assert_eq!(grown, reported, "{name} {add}");
            lines(server, &[GROWN]).len() - before
        })
    }
}

/// Moves the clock of the server, which is stopped, by so many seconds.
struct Clock<'s>(&'s Server, u64);

impl<'s> Clock<'s> {
    fn start(server: &'s Server) -> Self {
        let mut clock = Self(server, 1_000_000_000);
        clock.advance(0);
        clock
    }

    fn advance(&mut self, seconds: u64) {
        self.1 += seconds;
        self.0.set_clock(&(self.1 * 1000).to_string());
    }
}

fn start(arguments: &[&str]) -> Server {
    Options::new().debug_module().arguments(arguments).start()
}

/// Whatever command adds the items, and at most once a minute for each number of sub-filters.
#[test]
fn growth_is_reported_once_a_minute() {
    let server = start(&[]);
    let mut clock = Clock::start(&server);
    for filter in GROWING {
        for (number, add) in filter.add.split('|').enumerate() {
            let what = format!("{} {add}", filter.type_name);
            server.call("FLUSHALL");
            clock.advance(60);
            assert_eq!(filter.grow(&server, &key(number), add), [1, 1], "{what}");
            let all = lines(&server, &[GROWN]);
            for (line, reported) in all[all.len() - 2..].iter().zip(filter.reported) {
                let start = shown(number);
                assert!(line.contains(&start), "{what}: {line}");
                let expected = format!("\"...{GROWN}{reported} sub-filters");
                assert!(line.contains(&expected), "{what}: {line}");
                assert!(!line.contains("suppressed"), "{what}: {line}");
                let window = line.contains(" WINDOW ...");
                assert_eq!(window, filter.type_name.ends_with("-window"), "{line}");
            }
            clock.advance(59);
            assert_eq!(filter.grow(&server, b"second", add), [0, 0], "{what}");
            clock.advance(1);
            assert_eq!(filter.grow(&server, b"third", add), [1, 1], "{what}");
            let all = lines(&server, &[GROWN]);
            for line in &all[all.len() - 2..] {
                let expected = "(1 similar lines were suppressed)";
                assert!(line.ends_with(expected), "{what}: {line}");
            }
        }
    }
}

/// A command that adds many sub-filters has one line. Types of another family do not suppress it.
#[test]
fn one_command_has_one_line_about_growth() {
    let server = start(&[]);
    let mut clock = Clock::start(&server);
    for filter in GROWING {
        clock.advance(60);
        let mut connection = server.resp2();
        let before = lines(&server, &[GROWN]).len();
        send(&mut connection, b"k", filter.create);
        let (_, add) = filter.add.rsplit_once('|').expect("commands");
        send(&mut connection, b"k", &format!("{add} {}", numbers(0, 200)));
        let grown = sub_filters(&mut connection, b"k");
        assert!(grown > filter.reported[1], "{}: {grown}", filter.type_name);
        let all = lines(&server, &[GROWN]);
        let expected = format!("key \"k\"{GROWN}{grown} sub-filters");
        assert!(all[before].contains(&expected), "{all:?}");
        assert_eq!(all.len(), before + 1, "{all:?}");
        connection.check("UNLINK k", ":1");
    }
    let mut connection = server.resp2();
    clock.advance(60);
    let before = lines(&server, &[GROWN, DEFAULTS]).len();
    for filter in [&GROWING[0], &GROWING[3]] {
        let (add, _) = filter.add.split_once('|').expect("commands");
        filter.grow(&server, filter.type_name.as_bytes(), add);
    }
    send(&mut connection, b"t", "TOPK.RESERVE KEY 11");
    assert_eq!(lines(&server, &[GROWN, DEFAULTS]).len(), before + 5);
}

/// The end of a line after `Reserve it with`: a command for the key `key`.
fn recommended(line: &str) -> String {
    let command = line.split("Reserve it with ").nth(1).expect(line);
    let command = command.split(", and ").next().unwrap_or_default();
    command.replace(" key ", " KEY ")
}

/// The reservation in the line would have avoided the growth, also for a quarter more items.
#[test]
fn the_log_recommends_a_sufficient_reservation() {
    let server = start(&[]);
    let mut clock = Clock::start(&server);
    for (prefix, create) in [
        ("BF", ""),
        ("BF", "BF.RESERVE KEY 0.0001 10 EXPANSION 1"),
        ("BF", "BF.INSERT KEY CAPACITY 10 TIGHTENING 0.9"),
        ("BF", "BF.RESERVE KEY 0.01 10 EXPANSION 1 WINDOW 3600000"),
        ("CF", ""),
        ("CF", "CF.RESERVE KEY 1000 BUCKETSIZE 1"),
        ("CF", "CF.RESERVE KEY 1000 BUCKETSIZE 8"),
        ("CF", "CF.RESERVE KEY 100 EXPANSION 2"),
        ("CF", "CF.RESERVE KEY 100 WINDOW 3600000"),
    ] {
        let add = match prefix {
            "BF" => "BF.MADD KEY",
            _ => "CF.INSERT KEY ITEMS",
        };
        let mut connection = server.resp2();
        server.call("FLUSHALL");
        clock.advance(60);
        if !create.is_empty() {
            send(&mut connection, b"k", create);
        }
        let before = lines(&server, &[GROWN]).len();
        let mut items = 0;
        let line = loop {
            send(&mut connection, b"k", &format!("{add} {items}"));
            items += 1;
            if let Some(line) = lines(&server, &[GROWN]).get(before) {
                break line.clone();
            }
        };
        let filters = sub_filters(&mut connection, b"k");
        assert!(filters == 4 || filters == 8, "{create}: {filters}");
        let (head, rest) = line.split_once(" % of look-ups").unwrap_or_default();
        if !rest.is_empty() {
            let percent: f64 = head.rsplit(' ').next().unwrap_or_default().parse().unwrap();
            let accuracy = send(&mut connection, b"k", "SKETCH.ACCURACY KEY");
            let rate = accuracy.field("false positive rate").expect("a rate");
            let rate = 100.0 * rate.string().parse::<f64>().expect("a number");
            let is_close = (percent - rate).abs() <= 0.05 + rate / 20.0;
            assert!(is_close, "{create}: {percent} {rate}");
        }
        assert_eq!(rest.is_empty(), add.starts_with("BF"), "{line}");
        let window = create.split_once(" WINDOW ").map_or("", |(_, ms)| ms);
        let command = recommended(&line).replace("...", window);
        send(&mut connection, b"large", &command);
        let add = format!("{add} {}", numbers(0, items * 5 / 4));
        send(&mut connection, b"large", &add);
        let found = sub_filters(&mut connection, b"large");
        assert_eq!(found, 1, "{create}: {command}");
    }
}

/// With the default dimensions only, and only with a k for which they are too small.
#[test]
fn small_defaults_of_a_large_top_k_are_reported_once_a_minute() {
    let server = start(&[]);
    let mut clock = Clock::start(&server);
    let mut connection = server.resp2();
    let mut number = 0;
    let mut reserve = |arguments: &str| {
        number += 1;
        let key = key(number);
        let reserve = format!("TOPK.RESERVE KEY {arguments}");
        send(&mut connection, &key, &reserve);
        lines(&server, &[DEFAULTS])
    };
    for silent in "10|11 8 7 0.9|1 WINDOW 1000|11 8 7 0.9 WINDOW 1000".split('|') {
        assert_eq!(reserve(silent), [""; 0]);
    }
    let first = reserve("11");
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(first[0].contains(&shown(5)), "{first:?}");
    let is_advised = first[0].ends_with("Reserve it with TOPK.RESERVE key 11 88 5 0.9");
    assert!(is_advised, "{first:?}");
    clock.advance(59);
    assert_eq!(reserve("50 WINDOW 1000"), first);
    clock.advance(1);
    let lines = reserve("50 WINDOW 1000");
    assert_eq!(lines.len(), 2);
    let expected = "TOPK.RESERVE key 50 400 5 0.9 WINDOW ... (1 similar lines were suppressed)";
    assert!(lines[1].ends_with(expected), "{lines:?}");
    for line in &lines {
        let command = recommended(line).replace("...", "1000");
        let command = command.split(" (").next().unwrap_or_default();
        send(&mut server.resp2(), command.as_bytes(), command);
    }
}

/// Replicas, and a server that reads its append-only file, obey commands of which a log has the line already.
#[test]
fn commands_that_must_be_obeyed_are_not_reported() {
    let mut server = start(&["--appendonly", "yes", "--appendfsync", "always"]);
    Clock::start(&server);
    let mut replica = start(&[]);
    replica.replicate(&server);
    for filter in GROWING {
        let (add, _) = filter.add.split_once('|').expect("commands");
        filter.grow(&server, filter.type_name.as_bytes(), add);
    }
    send(&mut server.resp2(), b"t", "TOPK.RESERVE KEY 11");
    let texts = [GROWN, DEFAULTS];
    // Two of each family of filters, whatever the number of types.
    assert_eq!(lines(&server, &texts).len(), 5);
    server.wait_for_replica(&replica);
    let grown = sub_filters(&mut replica.resp2(), b"MBbloom--");
    assert_eq!(grown, 64);
    assert_eq!(lines(&replica, &texts), [""; 0]);
    server.kill_and_restart();
    assert_eq!(sub_filters(&mut server.resp2(), b"MBbloom--"), 64);
    assert_eq!(lines(&server, &texts).len(), 5);
}
