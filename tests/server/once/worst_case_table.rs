//! The table in docs/worst-cases.md: every command on a large key, with the execution time that the server measures.
//!
//! `cargo test --test server worst_case_table -- --nocapture` prints the table.

use crate::families::valkey_bloom::load_payload;
use crate::families::{FAMILIES, Family, Row};
use crate::support::cpu;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::workload::Random;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Maximum time of a command on a busy machine.
const MAX_MICROSECONDS: u64 = 3_000_000;
const CHUNK: usize = 16 << 20;
/// Arguments per command that fills a key.
const BATCH: usize = 10_000;

fn send(connection: &mut Connection, command: &[Vec<u8>]) -> Reply {
    let reply = connection.send(command);
    let name = String::from_utf8_lossy(&command[0]);
    assert!(!matches!(reply, Reply::Error(_)), "{name}: {reply}");
    reply
}

/// Expands an argument of a template into groups that must stay together. `A..B` gives the numbers from A to B - 1,
/// and `shuffled:A..B` the same numbers in another order. `A..B=C` appends C to each number, or a number up to 1,000
/// if C is `?`. `equal*N` gives the same item N times, `key:*N` the keys `key:0` to `key:N-1`, `fractions*N` numbers
/// from 0 to 1, `chunk:KEY` the first chunk of a key with its iterator, `payload:KEY`
/// the argument of BF.LOAD that creates an equal key, and `pane:KEY+N` the pane that is N panes after
/// the newest one of a key with a window, or after the current one if that is later.
fn expand(connection: &mut Connection, family: &Family, argument: &str) -> Vec<Vec<Vec<u8>>> {
    let text = |number: u64| number.to_string().into_bytes();
    let number = |text: &str| text.parse::<u64>().expect("a number");
    // Multiplication by a number coprime to the length is a permutation.
    const STRIDE: u64 = 7919;
    if let Some(key) = argument.strip_prefix("chunk:") {
        return vec![first_chunk(connection, family, key)];
    }
    if let Some(key) = argument.strip_prefix("payload:") {
        return vec![vec![load_payload(connection, key)]];
    }
    if let Some(pane) = argument.strip_prefix("pane:") {
        let (key, ahead) = pane.split_once('+').expect("a number of panes");
        return vec![vec![text(current_pane(connection, key) + number(ahead))]];
    }
    if let Some((word, times)) = argument.split_once('*') {
        let times: u64 = times.parse().expect("a number");
        let argument = |n: u64| match word {
            "fractions" => format!("{}", n as f64 / times as f64).into_bytes(),
            prefix if prefix.ends_with(':') => format!("{prefix}{n}").into_bytes(),
            word => word.as_bytes().to_vec(),
        };
        return (0..times).map(|n| vec![argument(n)]).collect();
    }
    let (numbers, second) = match argument.split_once('=') {
        Some((numbers, second)) => (numbers, Some(second)),
        None => (argument, None),
    };
    let is_shuffled = numbers.starts_with("shuffled:");
    let numbers = numbers.trim_start_matches("shuffled:").split_once("..");
    let numbers = numbers.and_then(|(a, b)| Some((a.parse::<u64>().ok()?, b.parse::<u64>().ok()?)));
    let Some((first, end)) = numbers else {
        return vec![vec![argument.as_bytes().to_vec()]];
    };
    let numbers = (0..end - first).map(|n| {
        let step = if is_shuffled { STRIDE } else { 1 };
        let mut group = vec![text(first + n * step % (end - first))];
        group.extend(second.map(|second| match second {
            "?" => text(n * STRIDE % 1000 + 1),
            number => number.as_bytes().to_vec(),
        }));
        group
    });
    numbers.collect()
}

/// The newest pane of a key with a window, or the current pane if that is later.
fn current_pane(connection: &mut Connection, key: &str) -> u64 {
    let reply = connection.send(&["SKETCH.WINDOW", key]);
    let field = |name| {
        let number = reply.field(name).and_then(Reply::integer);
        u64::try_from(number.expect("a window")).expect("a time")
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now");
    let unix_ms = u64::try_from(now.as_millis()).expect("a time");
    unix_ms.max(field("newest pane")) / field("pane length")
}

/// Iterator and bytes of the first chunk after the header, or of the header if it is the only chunk.
fn first_chunk(connection: &mut Connection, family: &Family, key: &str) -> Vec<Vec<u8>> {
    let header = family.scan(connection, key, 0).expect("a header");
    let (next, chunk) = family.scan(connection, key, header.0).unwrap_or(header);
    assert!(chunk.len() <= CHUNK && chunk.len() > 100_000, "{key}");
    vec![next.to_string().into_bytes(), chunk]
}

/// The arguments of a command.
fn arguments(connection: &mut Connection, family: &Family, command: &str) -> Vec<Vec<u8>> {
    let arguments = command.split(' ');
    arguments
        .flat_map(|argument| expand(connection, family, argument).into_iter().flatten())
        .collect()
}

/// Runs a command without measuring it, with at most [`BATCH`] groups of its last argument at once, or, with the
/// prefix `each:`, once per group. With the prefix `repeat:N `, the commands, separated by `; `, run N times; `#` is
/// replaced by the number of the run.
fn prepare(connection: &mut Connection, family: &Family, command: &str) {
    if let Some(rest) = command.strip_prefix("repeat:") {
        let (times, command) = rest.split_once(' ').expect("a command");
        for n in 0..times.parse::<u32>().expect("a number") {
            for command in command.split("; ") {
                prepare(connection, family, &command.replace('#', &n.to_string()));
            }
        }
        return;
    }
    let (command, batch) = match command.strip_prefix("each:") {
        Some(command) => (command, 1),
        None => (command, BATCH),
    };
    let (head, last) = command.rsplit_once(' ').expect("an argument");
    let head = arguments(connection, family, head);
    let groups = expand(connection, family, last);
    for commands in groups.chunks(BATCH) {
        let commands = commands.chunks(batch);
        for groups in commands.clone() {
            let command: Vec<_> = head.iter().chain(groups.iter().flatten()).collect();
            connection.write(&command).expect("a command");
        }
        for _ in commands {
            let reply = connection.read().expect("a reply");
            assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
        }
    }
}

fn fill(connection: &mut Connection) {
    // Random data, so that every byte of the filled keys is in use.
    let mut random = Random::new(16);
    for family in FAMILIES {
        for command in family.worst_cases.setup {
            prepare(connection, family, command);
        }
        for create in family.worst_cases.filled {
            let key = create.split(' ').nth(1).expect("a key");
            family.create_filled(connection, &mut random, create, key);
        }
    }
}

/// The column "key and arguments" of the table: the key and the note.
fn on(family: &Family, row: &Row) -> String {
    let name = row.key.or_else(|| row.command.split(' ').nth(1));
    let keys = family.worst_cases.keys;
    let key = keys.iter().find(|(key, _)| Some(*key) == name);
    let parts = [key.map(|(_, text)| *text), Some(row.note)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join(", ").trim_end_matches(", ").to_owned()
}

fn complexity(connection: &mut Connection, name: &str) -> String {
    let docs = connection.send(&["COMMAND", "DOCS", name]);
    let fields = docs.items().expect("docs")[1]
        .items()
        .expect("fields")
        .to_vec();
    let mut pairs = fields.chunks_exact(2);
    let pair = pairs.find(|pair| pair[0].text() == Some(b"complexity"));
    let text = pair.expect("a complexity")[1]
        .text()
        .expect("a text")
        .to_vec();
    String::from_utf8(text).expect("UTF-8")
}

/// Execution time of a command: the time that the server counts for it, which includes other work of a busy machine, or
/// the processor time of its main thread if that is less. The processor time includes an INFO command.
fn microseconds(server: &Server, connection: &mut Connection, command: &[Vec<u8>]) -> u64 {
    connection.call("CONFIG RESETSTAT");
    let (processor_time, _) = cpu::of_main_thread_during(connection, |connection| {
        send(connection, command);
    });
    let name = String::from_utf8_lossy(&command[0]).to_lowercase();
    let stats = server.info(&format!("cmdstat_{name}")).expect("stats");
    let mut fields = stats.split(',');
    let usec = fields.find_map(|field| field.strip_prefix("usec="));
    let usec: u64 = usec.and_then(|usec| usec.parse().ok()).expect("a number");
    usec.min(processor_time.as_micros() as u64)
}

/// Runs every command in its worst case within a maximum time, and compares the table with the rows.
#[test]
fn every_command_is_in_the_table_and_within_its_time() {
    let server = Server::start();
    let mut connection = server.resp2();
    fill(&mut connection);
    let mut listed: Vec<String> = Vec::new();
    let mut table = Vec::new();
    let rows = FAMILIES.iter().flat_map(|family| {
        let rows = family.worst_cases.rows.iter();
        rows.map(move |row| (family, row))
    });
    for (family, row) in rows {
        for command in row.before {
            prepare(&mut connection, family, command);
        }
        let command = arguments(&mut connection, family, row.command);
        let name = String::from_utf8_lossy(&command[0]).into_owned();
        let usec = microseconds(&server, &mut connection, &command);
        assert!(usec < MAX_MICROSECONDS, "{name} took {usec} microseconds");
        let complexity = complexity(&mut connection, &name).replace('|', "\\|");
        let on = on(family, row);
        println!("| {name} | {complexity} | {on} | {usec} |");
        // Checks that the command had its slow effect: the filter grew or was compacted.
        let info = connection.send(&[&family.command("INFO"), "copy"]);
        for (field, number) in row.leaves {
            let found = info.field(field).and_then(Reply::integer);
            assert_eq!(found, Some(*number), "{name}: {field}");
        }
        table.push((name.clone(), complexity, on));
        listed.push(name.to_lowercase());
        connection.call("DEL new copy merged");
    }
    // The table has every command of the module.
    let known = connection.call("COMMAND LIST FILTERBY MODULE bf");
    let known = known.items().expect("names").iter();
    let mut known: Vec<_> = known
        .map(|name| String::from_utf8_lossy(name.text().expect("a name")).into_owned())
        .collect();
    known.sort();
    listed.sort();
    // Keys with a window have rows of their own.
    listed.dedup();
    assert_eq!(listed, known);

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/worst-cases.md");
    let text = fs::read_to_string(path).expect("the table");
    let rows: BTreeMap<_, _> = text
        .lines()
        .filter_map(|line| {
            let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
            let (head, microseconds) = cells.rsplit_once(" | ")?;
            Some((head.to_owned(), microseconds.to_owned()))
        })
        .collect();
    for (name, complexity, on) in table {
        let head = format!("{name} | {complexity} | {on}");
        let measured = rows
            .get(&head)
            .unwrap_or_else(|| panic!("no row for {head}"));
        assert!(measured.parse::<u64>().is_ok(), "{head}: {measured}");
    }
}
