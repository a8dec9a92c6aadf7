//! The table docs/worst-cases.md: every command on a large key, measured by the server itself.
//!
//! `cargo test --test server worst_case_table -- --nocapture` prints the table anew.

use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a command may take here, on a busy machine.
const MOST_MICROSECONDS: u64 = 3_000_000;
/// Items of a command with several.
const ITEMS: usize = 1000;
const CHUNK: usize = 16 << 20;

/// The keys, and how they become large.
const KEYS: &[(&str, &str)] = &[
    ("chain", "a chain of 100 filters"),
    ("bf", "a filter of 128 MiB"),
    ("cf", "9 million items, sub-filters of 1 MiB"),
    ("cms", "a sketch of 128 MiB, 10 rows"),
    ("topk", "k = 100,000, 10 rows"),
    ("td", "600,000 samples, compression 100,000"),
];

/// What is run: `N` stands for 1,000 items that are there, `P` for as many pairs, `NEW` for 1,000 that are
/// not, `CHUNK` for a chunk of 16 MiB of the key, `F` for 1,000 fractions, `KEY:n` for n keys of that name
/// and a number, `n*KEY` for n times the key.
const RUNS: &[(&str, &str)] = &[
    ("BF.RESERVE new 0.001 600000000", "1 GiB"),
    ("BF.ADD chain new", ""),
    ("BF.MADD chain NEW", "1,000 items"),
    ("BF.INSERT chain ITEMS NEW", "1,000 items"),
    ("BF.EXISTS chain 1", ""),
    ("BF.MEXISTS chain N", "1,000 items"),
    ("BF.CARD chain", ""),
    ("BF.INFO chain", ""),
    ("BF.DEBUG chain", ""),
    ("BF.SCANDUMP bf 1", "16 MiB"),
    ("BF.LOADCHUNK bf CHUNK", "16 MiB"),
    (
        "BF.MERGE new 8 bf:8",
        "8 sources of 127 MiB, a quarter of the limit",
    ),
    ("CF.RESERVE new 1073741824", "1 GiB"),
    ("CF.ADD cf new", ""),
    ("CF.ADDNX cf other", ""),
    ("CF.INSERT cf ITEMS NEW", "1,000 items"),
    ("CF.INSERTNX cf ITEMS NEW", "1,000 items"),
    ("CF.EXISTS cf 1", ""),
    ("CF.MEXISTS cf N", "1,000 items"),
    ("CF.COUNT cf 1", ""),
    ("CF.DEL cf 2", ""),
    ("CF.INFO cf", ""),
    ("CF.DEBUG cf", ""),
    ("CF.SCANDUMP cf 1", "a sub-filter"),
    ("CF.LOADCHUNK cf CHUNK", "a sub-filter"),
    ("CF.COMPACT cf", ""),
    ("CMS.INITBYDIM new 268435456 1", "1 GiB"),
    ("CMS.INITBYPROB new 0.000001 0.001", "80 MB"),
    ("CMS.INCRBY cms P", "1,000 items"),
    ("CMS.QUERY cms N", "1,000 items"),
    ("CMS.MERGE cms 8 cms:8", "8 sources, a quarter of the limit"),
    ("CMS.INFO cms", ""),
    ("CMS.SCANDUMP cms 1", "16 MiB"),
    ("CMS.LOADCHUNK cms CHUNK", "16 MiB"),
    ("TOPK.RESERVE new 100000 13421772 10 0.9", "1 GiB"),
    ("TOPK.ADD topk NEW", "1,000 items"),
    ("TOPK.INCRBY topk P", "1,000 items"),
    ("TOPK.QUERY topk N", "1,000 items"),
    ("TOPK.COUNT topk N", "1,000 items"),
    ("TOPK.LIST topk WITHCOUNT", ""),
    ("TOPK.INFO topk", ""),
    ("TOPK.SCANDUMP topk 0", "all items"),
    ("TOPK.LOADCHUNK topk CHUNK", "8 MB, all buckets"),
    (
        "TDIGEST.CREATE new COMPRESSION 100000",
        "compression 100,000",
    ),
    ("TDIGEST.ADD td N", "1,000 items, which fill the buffer"),
    (
        "TDIGEST.QUANTILE td F",
        "1,000 fractions, the first read after a write",
    ),
    ("TDIGEST.CDF td N", "1,000 items"),
    ("TDIGEST.RANK td N", "1,000 items"),
    ("TDIGEST.REVRANK td N", "1,000 items"),
    ("TDIGEST.BYRANK td N", "1,000 items"),
    ("TDIGEST.BYREVRANK td N", "1,000 items"),
    ("TDIGEST.TRIMMED_MEAN td 0.1 0.9", ""),
    ("TDIGEST.MIN td", ""),
    ("TDIGEST.MAX td", ""),
    ("TDIGEST.INFO td", ""),
    ("TDIGEST.SCANDUMP td 0", "the whole digest"),
    ("TDIGEST.LOADCHUNK loaded CHUNK", "the whole digest"),
    (
        "TDIGEST.MERGE merged 383 383*td",
        "600,000 samples, compression 100,000, 383 times, the limit",
    ),
    ("TDIGEST.RESET td", ""),
];

fn numbers(from: usize, count: usize) -> Vec<Vec<u8>> {
    let numbers = from..from + count;
    numbers
        .map(|number| number.to_string().into_bytes())
        .collect()
}

fn send(connection: &mut Connection, command: &[Vec<u8>]) -> Reply {
    let reply = connection.send(command);
    let name = String::from_utf8_lossy(&command[0]);
    assert!(!matches!(reply, Reply::Error(_)), "{name}: {reply}");
    reply
}

fn words(command: &str) -> Vec<Vec<u8>> {
    command
        .split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

fn fill(connection: &mut Connection) {
    // Empty sources take address space only. The merges map it, which takes longer than reading it.
    for source in 0..8 {
        let sources = [
            format!("BF.RESERVE bf:{source} 0.001 74000000 NONSCALING"),
            format!("CMS.INITBYDIM cms:{source} 3355443 10"),
        ];
        for create in sources {
            send(connection, &words(&create));
        }
    }
    for command in [
        "BF.MERGE union 8 bf:8",
        "CMS.INITBYDIM sum 3355443 10",
        "CMS.MERGE sum 8 cms:8",
        "DEL union sum",
    ] {
        let command = words_of(connection, command);
        send(connection, &command);
    }
    for create in [
        "BF.RESERVE chain 0.0001 1000 EXPANSION 1",
        "BF.RESERVE bf 0.001 75000000",
        "CF.RESERVE cf 1048576 EXPANSION 1",
        "CMS.INITBYDIM cms 3355443 10",
        "TOPK.RESERVE topk 100000 100000 10 0.9",
        "TDIGEST.CREATE td COMPRESSION 100000",
    ] {
        send(connection, &words(create));
    }
    let mut add = |head: &str, from: usize, to: usize| {
        for first in (from..to).step_by(10_000) {
            let command = [words(head), numbers(first, 10_000)].concat();
            send(connection, &command);
        }
    };
    add("BF.MADD chain", 0, 100_000);
    add("CF.INSERT cf ITEMS", 0, 9_000_000);
    add("TOPK.ADD topk", 0, 200_000);
    // One sample less than makes the digest compress itself.
    add("TDIGEST.ADD td", 0, 600_000);
}

/// The words of a run.
fn words_of(connection: &mut Connection, run: &str) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for word in run.split(' ') {
        match word {
            "N" => all.extend(numbers(0, ITEMS)),
            "NEW" => all.extend(numbers(90_000_000, ITEMS)),
            "F" => all.extend((0..ITEMS).map(|n| format!("0.{n:03}").into_bytes())),
            "P" => {
                for number in numbers(0, ITEMS) {
                    all.extend([number, b"1".to_vec()]);
                }
            }
            "CHUNK" => {
                let scan = String::from_utf8_lossy(&all[0]).replace("LOADCHUNK", "SCANDUMP");
                let (key, first) = match &all[1][..] {
                    b"loaded" => (b"td".to_vec(), "0"),
                    key => (key.to_vec(), "1"),
                };
                let scan = [scan.into_bytes(), key, first.into()];
                let reply = send(connection, &scan);
                let Some([Reply::Integer(next), Reply::Bulk(chunk)]) = reply.items() else {
                    panic!("{run}: {reply}");
                };
                assert!(chunk.len() <= CHUNK && chunk.len() > 100_000, "{run}");
                all.extend([next.to_string().into_bytes(), chunk.clone()]);
            }
            word => {
                if let Some((key, count)) = word.split_once(':') {
                    let count: usize = count.parse().expect("a number");
                    all.extend((0..count).map(|n| format!("{key}:{n}").into_bytes()));
                } else if let Some((count, key)) = word.split_once('*') {
                    let count: usize = count.parse().expect("a number");
                    all.extend(std::iter::repeat_n(key.as_bytes().to_vec(), count));
                } else {
                    all.push(word.as_bytes().to_vec());
                }
            }
        }
    }
    all
}

/// What stands in the table under "on": the key, and what else there is to say.
fn on(run: &str, note: &str) -> String {
    let name = run.split(' ').nth(1).expect("a key");
    let key = KEYS
        .iter()
        .find(|(key, _)| *key == name)
        .map(|(_, key)| *key);
    let parts: Vec<_> = [key, Some(note)].into_iter().flatten().collect();
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

/// Runs every command in its worst case, holds it to a time, and the table to what was run.
#[test]
fn every_command_is_in_the_table_and_takes_no_longer_than_it_may() {
    let server = Server::start();
    let mut connection = server.resp2();
    fill(&mut connection);
    let mut listed: Vec<String> = Vec::new();
    let mut table = Vec::new();
    for (run, note) in RUNS {
        let command = words_of(&mut connection, run);
        let name = String::from_utf8_lossy(&command[0]).into_owned();
        connection.call("CONFIG RESETSTAT");
        send(&mut connection, &command);
        let stats = server.info(&format!("cmdstat_{}", name.to_lowercase()));
        let stats = stats.expect("stats");
        let usec = stats
            .split(',')
            .find_map(|field| field.strip_prefix("usec="));
        let usec: u64 = usec.and_then(|usec| usec.parse().ok()).expect("a number");
        assert!(usec < MOST_MICROSECONDS, "{run} took {usec} microseconds");
        let complexity = complexity(&mut connection, &name).replace('|', "\\|");
        println!("| {name} | {complexity} | {} | {usec} |", on(run, note));
        table.push((name.clone(), complexity, on(run, note)));
        listed.push(name.to_lowercase());
        connection.call("DEL new");
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
