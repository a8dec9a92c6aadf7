//! The table docs/worst-cases.md: every command on a large key, measured by the server itself.
//!
//! `cargo test --test server worst_case_table -- --nocapture` prints the table anew.

use crate::persistence::fill_large;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::traffic::Random;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a command may take here, on a busy machine.
const MOST_MICROSECONDS: u64 = 3_000_000;
const CHUNK: usize = 16 << 20;
/// Arguments of a command that fills a key.
const BATCH: usize = 10_000;

/// What the table calls the keys.
const KEYS: &[(&str, &str)] = &[
    ("chain", "a chain of 100 filters"),
    ("bf:a", "a filter of 128 MiB"),
    ("cf", "9.5 million items, sub-filters of 1 MiB"),
    ("brink", "9 million items, sub-filters of 1 MiB"),
    ("cms", "a sketch of 128 MiB, 10 rows"),
    ("cms:a", "a sketch of 128 MiB, 10 rows"),
    ("topk", "k = 100,000, 10 rows"),
    ("td", "600,000 samples, compression 100,000"),
];

/// Creates and fills the keys; see [`expand`] for the arguments.
const SETUP: &[&str] = &[
    "BF.RESERVE chain 0.0001 1000 EXPANSION 1",
    "BF.MADD chain 0..100000",
    "CF.RESERVE cf 1048576 EXPANSION 1",
    // The next item adds a sub-filter.
    "CF.INSERT cf ITEMS 0..8995061",
    "COPY cf brink",
    "CF.INSERT cf ITEMS 8995061..9500000",
    "CMS.INITBYDIM cms 3355443 10",
    "TOPK.RESERVE topk 100000 100000 10 0.9",
    "TOPK.ADD topk 0..200000",
    "TDIGEST.CREATE td COMPRESSION 100000",
    // Not in order, not sorted by a read yet, and nine fewer than make the digest compress itself.
    "TDIGEST.ADD td shuffled:0..600000",
];

/// A row of the table.
struct Run {
    /// Commands that run before, and do not count.
    before: &'static [&'static str],
    /// The command; [`expand`] has its arguments.
    command: &'static str,
    /// What the table says beside the key.
    note: &'static str,
    /// The key that the table describes, if it is not the one in the command.
    key: Option<&'static str>,
}

const fn run(command: &'static str, note: &'static str) -> Run {
    Run {
        before: &[],
        command,
        note,
        key: None,
    }
}

/// As [`run`] on the key `copy`, a copy of `key`.
const fn run_on_copy(
    before: &'static [&'static str],
    command: &'static str,
    key: &'static str,
    note: &'static str,
) -> Run {
    Run {
        before,
        command,
        note,
        key: Some(key),
    }
}

const COPY_OF_BRINK: &[&str] = &["COPY brink copy"];
const COPY_OF_DIGEST: &[&str] = &["COPY td copy"];
/// The note of the reads of a digest that sort its samples first.
const FIRST_READ: &str = "1,000 items, the first read after a write";

const RUNS: &[Run] = &[
    run("BF.RESERVE new 0.001 600000000", "1 GiB"),
    run("BF.ADD chain new", ""),
    run("BF.MADD chain 90000000..90001000", "1,000 items"),
    run("BF.INSERT chain ITEMS 90000000..90001000", "1,000 items"),
    // In the oldest filter, which is looked at last.
    run("BF.EXISTS chain 1", ""),
    run("BF.MEXISTS chain 0..1000", "1,000 items"),
    run("BF.CARD chain", ""),
    run("BF.INFO chain", ""),
    run("BF.DEBUG chain", ""),
    run("BF.SCANDUMP bf:a 1", "16 MiB"),
    Run {
        before: &["BF.RESERVE new 0.001 75000000"],
        command: "BF.LOADCHUNK new chunk:bf:a",
        note: "16 MiB, the first write to its pages",
        key: Some("bf:a"),
    },
    run(
        "BF.MERGE new 8 bf:*8",
        "8 sources of 127 MiB, a quarter of the limit",
    ),
    run("CF.RESERVE new 1073741824", "1 GiB"),
    run_on_copy(
        COPY_OF_BRINK,
        "CF.ADD copy 8995061",
        "brink",
        "the item that adds a sub-filter",
    ),
    run_on_copy(
        COPY_OF_BRINK,
        "CF.ADDNX copy 8995061",
        "brink",
        "the item that adds a sub-filter",
    ),
    run_on_copy(
        COPY_OF_BRINK,
        "CF.INSERT copy ITEMS equal*1000",
        "brink",
        "1,000 equal items, which add 248 sub-filters",
    ),
    run_on_copy(
        COPY_OF_BRINK,
        "CF.INSERTNX copy ITEMS 8995061..8996061",
        "brink",
        "1,000 items, of which one adds a sub-filter",
    ),
    run("CF.EXISTS cf 1", ""),
    run("CF.MEXISTS cf 0..1000", "1,000 items"),
    run("CF.COUNT cf 1", ""),
    // From the middle on, up to the second compaction: of 1,000 states that were tried, this one took longest.
    run_on_copy(
        &["COPY cf copy", "each:CF.DEL copy 4750000..6398760"],
        "CF.DEL copy 6398760",
        "cf",
        "the deletion that sets a compaction off",
    ),
    run("CF.INFO cf", ""),
    run("CF.DEBUG cf", ""),
    run("CF.SCANDUMP cf 1", "a sub-filter"),
    run("CF.LOADCHUNK cf chunk:cf", "a sub-filter"),
    // Of the same states.
    run_on_copy(
        &["COPY cf copy", "each:CF.DEL copy 3325000..4973760"],
        "CF.COMPACT copy",
        "cf",
        "of which 17 % were deleted",
    ),
    run("CMS.INITBYDIM new 268435456 1", "1 GiB"),
    run("CMS.INITBYPROB new 0.000001 0.001", "80 MB"),
    run(
        "CMS.QUERY cms 0..1000",
        "1,000 items, the first read of its pages",
    ),
    run(
        "CMS.INCRBY cms 0..1000=1",
        "1,000 items, the first write to its pages",
    ),
    Run {
        before: &["CMS.INITBYDIM new 3355443 10"],
        command: "CMS.MERGE new 8 cms:*8",
        note: "8 sources, a quarter of the limit",
        key: Some("cms"),
    },
    run("CMS.INFO cms", ""),
    run("CMS.SCANDUMP cms:a 1", "16 MiB"),
    Run {
        before: &["CMS.INITBYDIM new 3355443 10"],
        command: "CMS.LOADCHUNK new chunk:cms:a",
        note: "16 MiB, the first write to its pages",
        key: Some("cms"),
    },
    run("TOPK.RESERVE new 100000 13421772 10 0.9", "1 GiB"),
    // All counts in the list are 1, so that each item enters it.
    run("TOPK.ADD topk 90000000..90001000", "1,000 items"),
    // Each takes buckets from others and sinks to the end of the heap.
    run(
        "TOPK.INCRBY topk 91000000..91001000=100000",
        "1,000 items by 100,000",
    ),
    run("TOPK.QUERY topk 91000000..91001000", "1,000 items"),
    run("TOPK.COUNT topk 0..1000", "1,000 items"),
    Run {
        before: &["TOPK.INCRBY topk 0..200000=?"],
        command: "TOPK.LIST topk WITHCOUNT",
        note: "counts in no order",
        key: None,
    },
    run("TOPK.INFO topk", ""),
    run("TOPK.SCANDUMP topk 0", "all items"),
    run("TOPK.LOADCHUNK topk chunk:topk", "8 MB, all buckets"),
    run(
        "TDIGEST.CREATE new COMPRESSION 100000",
        "compression 100,000",
    ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.ADD copy 0..1000",
        "td",
        "1,000 items, which fill the buffer",
    ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.QUANTILE copy fractions*1000",
        "td",
        FIRST_READ,
    ),
    run_on_copy(COPY_OF_DIGEST, "TDIGEST.CDF copy 0..1000", "td", FIRST_READ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.RANK copy 0..1000",
        "td",
        FIRST_READ,
    ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.REVRANK copy 0..1000",
        "td",
        FIRST_READ,
    ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.BYRANK copy 0..1000",
        "td",
        FIRST_READ,
    ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.BYREVRANK copy 0..1000",
        "td",
        FIRST_READ,
    ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.TRIMMED_MEAN copy 0.1 0.9",
        "td",
        "the first read after a write",
    ),
    run("TDIGEST.MIN td", ""),
    run("TDIGEST.MAX td", ""),
    run("TDIGEST.INFO td", ""),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.SCANDUMP copy 0",
        "td",
        "the whole digest, the first read after a write",
    ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.LOADCHUNK new chunk:copy",
        "td",
        "the whole digest",
    ),
    run_on_copy(
        COPY_OF_DIGEST,
        "TDIGEST.MERGE merged 383 copy*383",
        "td",
        "383 times, the limit",
    ),
    run("TDIGEST.RESET td", ""),
];

fn send(connection: &mut Connection, command: &[Vec<u8>]) -> Reply {
    let reply = connection.send(command);
    let name = String::from_utf8_lossy(&command[0]);
    assert!(!matches!(reply, Reply::Error(_)), "{name}: {reply}");
    reply
}

/// The arguments that an argument stands for, in groups that belong together: `A..B` for the numbers from A to B - 1,
/// `shuffled:A..B` for the same in no order, `A..B=C` for each of them followed by C or, if that is `?`, by a number
/// up to 1,000; `equal*N` for the same item N times, `key:*N` for the keys `key:0` to `key:N-1`, `fractions*N` for
/// numbers from 0 to 1, and `chunk:KEY` for the first chunk of a key with its iterator.
fn expand(connection: &mut Connection, argument: &str) -> Vec<Vec<Vec<u8>>> {
    let text = |number: u64| number.to_string().into_bytes();
    // Any number that shares no factor with the length makes a permutation.
    const STRIDE: u64 = 7919;
    if let Some(key) = argument.strip_prefix("chunk:") {
        return vec![first_chunk(connection, key)];
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

/// The iterator and the bytes of the first chunk after the header, or of the only one.
fn first_chunk(connection: &mut Connection, key: &str) -> Vec<Vec<u8>> {
    let (command, iterator) = match key.split(':').next() {
        Some("bf") => ("BF.SCANDUMP", "1"),
        Some("cf") => ("CF.SCANDUMP", "1"),
        Some("cms") => ("CMS.SCANDUMP", "1"),
        Some("topk") => ("TOPK.SCANDUMP", "1"),
        _ => ("TDIGEST.SCANDUMP", "0"),
    };
    let reply = connection.send(&[command, key, iterator]);
    let Some([Reply::Integer(next), Reply::Bulk(chunk)]) = reply.items() else {
        panic!("{command} {key}: {reply}");
    };
    assert!(chunk.len() <= CHUNK && chunk.len() > 100_000, "{key}");
    vec![next.to_string().into_bytes(), chunk.clone()]
}

/// The arguments of a command.
fn arguments(connection: &mut Connection, command: &str) -> Vec<Vec<u8>> {
    let arguments = command.split(' ');
    arguments
        .flat_map(|argument| expand(connection, argument).into_iter().flatten())
        .collect()
}

/// Runs a command that is not measured, with at most [`BATCH`] of the groups that its last argument stands for at once,
/// or, with `each:` before it, once for each of them.
fn prepare(connection: &mut Connection, command: &str) {
    let (command, batch) = match command.strip_prefix("each:") {
        Some(command) => (command, 1),
        None => (command, BATCH),
    };
    let (head, last) = command.rsplit_once(' ').expect("an argument");
    let head = arguments(connection, head);
    let groups = expand(connection, last);
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
    for command in SETUP {
        prepare(connection, command);
    }
    for source in 0..8 {
        prepare(
            connection,
            &format!("BF.RESERVE bf:{source} 0.001 74000000 NONSCALING"),
        );
        prepare(
            connection,
            &format!("CMS.INITBYDIM cms:{source} 3355443 10"),
        );
    }
    // The sources are empty: a first merge maps their pages, so that the measured one reads memory.
    for command in [
        "BF.MERGE union 8 bf:*8",
        "CMS.INITBYDIM sum 3355443 10",
        "CMS.MERGE sum 8 cms:*8",
        "DEL union sum",
    ] {
        prepare(connection, command);
    }
    // Filters and sketches whose every byte is in use.
    let mut random = Random::new(16);
    for suffix in ["a", "b"] {
        let bloom = "BF.RESERVE KEY 0.001 75000000";
        fill_large(connection, &mut random, "bf", bloom, suffix);
        let count_min = "CMS.INITBYDIM KEY 3355443 10";
        fill_large(connection, &mut random, "cms", count_min, suffix);
    }
}

/// What stands in the table under "on": the key, and what else there is to say.
fn on(run: &Run) -> String {
    let name = run.key.or_else(|| run.command.split(' ').nth(1));
    let key = KEYS.iter().find(|(key, _)| Some(*key) == name);
    let parts = [key.map(|(_, text)| *text), Some(run.note)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join(", ").trim_end_matches(", ").to_owned()
}

/// A number of CF.INFO.
fn cuckoo_number(connection: &mut Connection, key: &str, name: &str) -> i64 {
    let reply = connection.send(&["CF.INFO", key]);
    let fields = reply.items().expect("fields").chunks_exact(2);
    let mut fields = fields.map(|pair| (pair[0].text(), pair[1].integer()));
    let field = fields.find(|(field, _)| *field == Some(name.as_bytes()));
    field.and_then(|(_, number)| number).expect("a number")
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

/// Microseconds of processor time that the server's main thread has taken.
fn processor_time(connection: &mut Connection) -> u64 {
    let reply = connection.call("INFO cpu");
    let text = String::from_utf8_lossy(reply.text().expect("a text")).into_owned();
    let seconds = ["used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"].map(|field| {
        let seconds = text.lines().find_map(|line| line.strip_prefix(field));
        seconds.and_then(|seconds| seconds.trim().parse::<f64>().ok())
    });
    let seconds = seconds[0].zip(seconds[1]).expect("two numbers");
    ((seconds.0 + seconds.1) * 1e6) as u64
}

/// How long a command takes: the time that the server counts for it, or the processor time of its main thread if that
/// is less, because the machine did other work in between. (The latter includes INFO: some 100 microseconds.)
fn microseconds(server: &Server, connection: &mut Connection, command: &[Vec<u8>]) -> u64 {
    connection.call("CONFIG RESETSTAT");
    let before = processor_time(connection);
    send(connection, command);
    let processor_time = processor_time(connection) - before;
    let name = String::from_utf8_lossy(&command[0]).to_lowercase();
    let stats = server.info(&format!("cmdstat_{name}")).expect("stats");
    let mut fields = stats.split(',');
    let usec = fields.find_map(|field| field.strip_prefix("usec="));
    let usec: u64 = usec.and_then(|usec| usec.parse().ok()).expect("a number");
    usec.min(processor_time)
}

/// Checks that the cuckoo filter did what makes the command long: it grew, or compacted itself.
fn check_that_it_was_the_worst(connection: &mut Connection, name: &str) {
    let sub_filters = match name {
        "CF.ADD" | "CF.ADDNX" | "CF.INSERTNX" => 12,
        "CF.INSERT" => 11 + 248,
        "CF.DEL" => 10,
        _ => return,
    };
    let number = cuckoo_number(connection, "copy", "Number of filters");
    assert_eq!(number, sub_filters, "{name}");
    if name == "CF.DEL" {
        let deleted = cuckoo_number(connection, "copy", "Number of items deleted");
        assert_eq!(deleted, 0, "no compaction");
    }
}

/// Runs every command in its worst case, holds it to a time, and the table to what was run.
#[test]
fn every_command_is_in_the_table_and_takes_no_longer_than_it_may() {
    let server = Server::start();
    let mut connection = server.resp2();
    fill(&mut connection);
    let mut listed: Vec<String> = Vec::new();
    let mut table = Vec::new();
    for run in RUNS {
        for command in run.before {
            prepare(&mut connection, command);
        }
        let command = arguments(&mut connection, run.command);
        let name = String::from_utf8_lossy(&command[0]).into_owned();
        let usec = microseconds(&server, &mut connection, &command);
        assert!(usec < MOST_MICROSECONDS, "{name} took {usec} microseconds");
        let complexity = complexity(&mut connection, &name).replace('|', "\\|");
        println!("| {name} | {complexity} | {} | {usec} |", on(run));
        check_that_it_was_the_worst(&mut connection, &name);
        table.push((name.clone(), complexity, on(run)));
        listed.push(name.to_lowercase());
        connection.call("DEL new copy merged");
    }
    // No command of the module's is missing.
    let known = connection.call("COMMAND LIST FILTERBY MODULE bf");
    let known = known.items().expect("names").iter();
    let mut known: Vec<_> = known
        .map(|name| String::from_utf8_lossy(name.text().expect("a name")).into_owned())
        .collect();
    known.sort();
    listed.sort();
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
