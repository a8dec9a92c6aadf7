//! MEMORY USAGE of a key does not grow when the key is saved and loaded, restored or copied.

use crate::samples::SAMPLES;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use crate::traffic::{Random, Traffic};
use std::collections::BTreeMap;

/// Bytes of each key, by name.
type Usage = BTreeMap<Vec<u8>, i64>;

/// A sequence of commands that creates a key. `KEY` stands for its name; a range `FIRST..END` as the last argument
/// stands for these numbers, and with `each:` before it the command runs once for each of them.
struct Case {
    /// How MEMORY USAGE after loading compares with that before.
    after: After,
    commands: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// The same: the memory is a function of the state.
    Equal,
    /// Perhaps less: the key holds memory that is not part of its state (answers that reads keep, the buffer of the
    /// item that a top-k expelled last).
    AtMost,
}
use After::{AtMost, Equal};

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |after: After, commands: &[&str]| {
        cases.push(Case {
            after,
            commands: commands.iter().map(ToString::to_string).collect(),
        });
    };
    for sample in SAMPLES {
        // Items enter and leave the sample of top-k.
        let after = match sample.type_name {
            "TopK-TYPE" => AtMost,
            _ => Equal,
        };
        case(after, sample.build);
        let after_reads = match sample.type_name {
            "TDIS-TYPE" => AtMost,
            _ => after,
        };
        case(after_reads, &[sample.build, sample.reads].concat());
        case(Equal, sample.build_large);
    }

    case(Equal, &["BF.RESERVE KEY 0.01 100"]);
    case(Equal, &["BF.ADD KEY a"]);
    case(
        Equal,
        &["BF.RESERVE KEY 0.01 100 NONSCALING", "BF.MADD KEY 0..99"],
    );
    case(Equal, &["BF.RESERVE KEY 0.01 10", "BF.MADD KEY 0..5000"]);
    for filters in 2..10 {
        let items = format!("BF.MADD KEY 0..{}", filters * 100 - 50);
        case(Equal, &["BF.RESERVE KEY 0.0001 100 EXPANSION 1", &items]);
    }
    case(
        Equal,
        &[
            "BF.RESERVE KEY{2} 0.01 10",
            "BF.MADD KEY{2} 0..3000",
            "BF.MERGE KEY 1 KEY{2}",
        ],
    );

    case(Equal, &["CF.RESERVE KEY 1000 BUCKETSIZE 5"]);
    case(Equal, &["CF.ADD KEY a"]);
    for items in [10, 50, 100, 300, 1000] {
        let items = format!("CF.INSERT KEY ITEMS 0..{items}");
        case(Equal, &["CF.RESERVE KEY 16 EXPANSION 1", &items]);
        case(
            Equal,
            &["CF.RESERVE KEY 16 EXPANSION 2 BUCKETSIZE 3", &items],
        );
        // Most sub-filters are removed.
        case(
            Equal,
            &[
                "CF.RESERVE KEY 16",
                &items,
                "each:CF.DEL KEY 0..900",
                "CF.COMPACT KEY",
            ],
        );
    }

    for cell_size in [1, 2, 4, 8] {
        let create = format!("CMS.INITBYDIM KEY 101 3 CELL_SIZE {cell_size}");
        case(Equal, &[&create]);
        case(Equal, &[&create, "each:CMS.INCRBY KEY a 0..20"]);
    }
    case(
        Equal,
        &[
            "CMS.INITBYPROB KEY 0.001 0.01",
            "CMS.INCRBY KEY a 3",
            "CMS.MERGE KEY 2 KEY KEY",
        ],
    );

    case(Equal, &["TOPK.RESERVE KEY 10"]);
    for k in [1, 3, 4, 6, 50, 5000] {
        let create = format!("TOPK.RESERVE KEY {k} 200 4 0.9");
        for items in [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 100] {
            // The second time the items are present: they need no memory. A list that is full keeps a buffer for
            // the next item.
            let after = if items < k { Equal } else { AtMost };
            let add = format!("TOPK.ADD KEY 0..{items}");
            case(after, &[&create, &add, &add]);
            case(after, &[&create, &format!("each:{add}")]);
        }
    }
    let long = format!("TOPK.INCRBY KEY {} 5 short 3", "x".repeat(3000));
    case(
        AtMost,
        &[
            "TOPK.RESERVE KEY 3 50 4 0.9",
            &long,
            "TOPK.ADD KEY 0..100",
            "TOPK.INCRBY KEY b 9 c 9 d 9",
        ],
    );
    case(
        AtMost,
        &[
            "TOPK.RESERVE KEY 2 50 4 0.9",
            &long,
            "TOPK.LIST KEY WITHCOUNT",
            "TOPK.QUERY KEY short",
        ],
    );

    case(Equal, &["TDIGEST.CREATE KEY"]);
    for samples in [
        1, 2, 3, 4, 5, 100, 127, 128, 129, 500, 608, 609, 610, 611, 650, 700, 1217, 1218, 1219,
        5000,
    ] {
        let add = format!("TDIGEST.ADD KEY 0..{samples}");
        let each = format!("each:{add}");
        case(Equal, &["TDIGEST.CREATE KEY", &add]);
        case(Equal, &["TDIGEST.CREATE KEY", &each]);
        case(
            Equal,
            &[
                "TDIGEST.CREATE KEY",
                &add,
                "TDIGEST.MIN KEY",
                "TDIGEST.MAX KEY",
            ],
        );
        case(
            AtMost,
            &["TDIGEST.CREATE KEY", &add, "TDIGEST.QUANTILE KEY 0.5"],
        );
        case(Equal, &["TDIGEST.CREATE KEY COMPRESSION 20", &add, &add]);
        case(
            Equal,
            &[
                "TDIGEST.CREATE KEY COMPRESSION 1000",
                &add,
                "TDIGEST.ADD KEY 5 5 5 5",
            ],
        );
        case(
            Equal,
            &[
                "TDIGEST.CREATE KEY{2}",
                &add.replace("KEY", "KEY{2}"),
                "TDIGEST.MERGE KEY 2 KEY{2} KEY{2}",
            ],
        );
        case(
            Equal,
            &[
                "TDIGEST.CREATE KEY{2}",
                &add.replace("KEY", "KEY{2}"),
                "TDIGEST.MERGE KEY 2 KEY{2} KEY{2}",
                &add,
            ],
        );
        case(Equal, &["TDIGEST.CREATE KEY", &add, "TDIGEST.RESET KEY"]);
    }
    // Centroids and samples of the same mean.
    case(
        Equal,
        &[
            "TDIGEST.CREATE KEY COMPRESSION 5",
            "each:TDIGEST.ADD KEY 7 7 -0.0 0 7 3 0..40",
            "TDIGEST.ADD KEY 7 0 -0",
        ],
    );
    cases
}

/// Runs commands on a key; see [`Case`]. None may fail.
fn run(connection: &mut Connection, commands: &[String], key: &str) {
    for command in commands {
        let command = command.replace("KEY", key);
        let (is_each, command) = match command.strip_prefix("each:") {
            Some(command) => (true, command),
            None => (false, &command[..]),
        };
        let (head, last) = command.rsplit_once(' ').expect("an argument");
        let numbers = last
            .split_once("..")
            .and_then(|(first, end)| Some(first.parse::<u32>().ok()?..end.parse::<u32>().ok()?));
        let commands = match numbers {
            None => vec![command.to_owned()],
            Some(numbers) if is_each => numbers.map(|n| format!("{head} {n}")).collect(),
            Some(numbers) => {
                let numbers: Vec<_> = numbers.map(|n| n.to_string()).collect();
                vec![format!("{head} {}", numbers.join(" "))]
            }
        };
        for command in &commands {
            connection
                .write(&command.split(' ').collect::<Vec<_>>())
                .expect("a command");
        }
        for command in &commands {
            let reply = connection.read().expect("a reply");
            assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
        }
    }
}

fn usage(connection: &mut Connection, key: &[u8]) -> i64 {
    let usage = connection.send(&[&b"MEMORY"[..], b"USAGE", key]).integer();
    usage.unwrap_or_else(|| panic!("no key {}", String::from_utf8_lossy(key)))
}

fn usage_of_all(connection: &mut Connection) -> Usage {
    let keys = connection.call("KEYS *");
    let keys = keys.items().expect("keys").iter();
    keys.map(|key| {
        let key = key.text().expect("a key");
        (key.to_vec(), usage(connection, key))
    })
    .collect()
}

/// One byte of the name says what is expected, so that all names have the same length: the server's own share of
/// MEMORY USAGE depends on it.
fn name(prefix: char, number: usize, after: After) -> String {
    let after = if after == Equal { 'e' } else { 'a' };
    format!("{prefix}:{number:04}:{after}")
}

/// Checks a key's usage against that of the key that it was loaded or copied from.
fn check(wrong: &mut Vec<String>, what: &str, key: &str, before: i64, after: i64) {
    let expected = match key.as_bytes()[7] {
        b'e' => after == before,
        _ => after <= before,
    };
    if !expected {
        wrong.push(format!(
            "{key}, {what}: {before} bytes before, {after} after"
        ));
    }
}

fn check_all(wrong: &mut Vec<String>, what: &str, before: &Usage, after: &Usage) {
    assert_eq!(before.len(), after.len());
    for (key, &bytes) in before {
        let key_text = String::from_utf8_lossy(key);
        check(wrong, what, &key_text, bytes, after[key]);
    }
}

fn assert_none(wrong: &[String], cases: &[Case]) {
    let list: Vec<_> = wrong
        .iter()
        .map(|line| {
            let number: usize = line[2..6].parse().expect("a number");
            let commands = cases
                .get(number)
                .map_or(String::new(), |case| case.commands.join("; "));
            let end = commands
                .char_indices()
                .nth(150)
                .map_or(commands.len(), |(at, _)| at);
            format!("{line} ({})", &commands[..end])
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} keys:\n{}",
        list.len(),
        list.join("\n")
    );
}

/// Creates a key for each case.
fn build_all(connection: &mut Connection, cases: &[Case]) {
    for (number, case) in cases.iter().enumerate() {
        run(connection, &case.commands, &name('k', number, case.after));
        connection.send(&["DEL", &format!("{}{{2}}", name('k', number, case.after))]);
    }
}

/// Copies a key with SCANDUMP and LOADCHUNK.
fn copy_in_chunks(connection: &mut Connection, prefix: &str, from: &str, to: &str) {
    let mut iterator = 0;
    loop {
        let scan = [
            format!("{prefix}.SCANDUMP"),
            from.to_owned(),
            iterator.to_string(),
        ];
        let reply = connection.send(&scan);
        let Some([Reply::Integer(next), chunk]) = reply.items() else {
            panic!("{scan:?}: {reply}");
        };
        if *next == 0 {
            return;
        }
        iterator = *next;
        let load = format!("{prefix}.LOADCHUNK");
        let chunk = chunk.text().expect("a chunk");
        let reply = connection.send(&[
            load.as_bytes(),
            to.as_bytes(),
            iterator.to_string().as_bytes(),
            chunk,
        ]);
        assert!(reply.is_ok(), "{load}: {reply}");
    }
}

fn chunk_prefix(connection: &mut Connection, key: &str) -> &'static str {
    let reply = connection.send(&["TYPE", key]);
    match reply.text().expect("a type") {
        b"MBbloom--" => "BF",
        b"MBbloomCF" => "CF",
        b"CMSk-TYPE" => "CMS",
        b"TopK-TYPE" => "TOPK",
        b"TDIS-TYPE" => "TDIGEST",
        other => panic!("{}", String::from_utf8_lossy(other)),
    }
}

#[test]
fn a_restored_or_copied_key_takes_no_more_memory_than_the_original() {
    let server = Server::start();
    let mut connection = server.resp2();
    let cases = cases();
    build_all(&mut connection, &cases);
    let mut wrong = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let key = name('k', number, case.after);
        let before = usage(&mut connection, key.as_bytes());
        let [restored, copied, chunked] =
            ['r', 'c', 'l'].map(|prefix| name(prefix, number, case.after));
        let payload = connection.send(&["DUMP", &key]);
        let payload = payload.text().expect("a payload");
        let reply = connection.send(&[&b"RESTORE"[..], restored.as_bytes(), b"0", payload]);
        assert!(reply.is_ok(), "{reply}");
        assert_eq!(connection.send(&["COPY", &key, &copied]), Reply::Integer(1));
        let prefix = chunk_prefix(&mut connection, &key);
        copy_in_chunks(&mut connection, prefix, &key, &chunked);
        for (what, copy) in [
            ("RESTORE", &restored),
            ("COPY", &copied),
            ("LOADCHUNK", &chunked),
        ] {
            // An empty cuckoo filter has no chunks.
            if connection.send(&["EXISTS", copy]) == Reply::Integer(1) {
                let after = usage(&mut connection, copy.as_bytes());
                check(&mut wrong, what, &key, before, after);
            } else {
                assert_eq!((what, prefix), ("LOADCHUNK", "CF"));
            }
        }
        connection.send(&["DEL", &restored, &copied, &chunked]);
    }
    assert_none(&wrong, &cases);
}

#[test]
fn a_reload_or_restart_leaves_no_key_with_more_memory() {
    let mut server = Options::new()
        .module_arguments(&["cf-max-expansions", "1000"])
        .start();
    let mut connection = server.resp2();
    let cases = cases();
    build_all(&mut connection, &cases);
    // Copies that are changed afterwards grow from what the copy took.
    for (number, case) in cases.iter().enumerate() {
        let key = name('k', number, case.after);
        let copy = name('c', number, AtMost);
        assert_eq!(connection.send(&["COPY", &key, &copy]), Reply::Integer(1));
        let add = match chunk_prefix(&mut connection, &key) {
            // Some are full.
            "BF" => continue,
            "CF" => "CF.INSERT KEY ITEMS 9000..9100",
            "CMS" => "each:CMS.INCRBY KEY a 1..30",
            "TOPK" => "each:TOPK.ADD KEY 9000..9006",
            _ => "each:TDIGEST.ADD KEY 9000..9100",
        };
        run(&mut connection, &[add.to_owned()], &copy);
    }
    let mut wrong = Vec::new();
    let mut before = usage_of_all(&mut connection);
    for compression in ["yes", "no"] {
        connection.send(&["CONFIG", "SET", "rdbcompression", compression]);
        assert!(connection.call("DEBUG RELOAD").is_ok());
        let after = usage_of_all(&mut connection);
        check_all(&mut wrong, "DEBUG RELOAD", &before, &after);
        before = after;
    }
    assert!(connection.call("SAVE").is_ok());
    server.restart();
    let after = usage_of_all(&mut server.resp2());
    check_all(&mut wrong, "restart", &before, &after);
    assert_none(&wrong, &cases);
}

/// Once with the commands as they were sent, once rewritten with and once without an RDB preamble.
#[test]
fn a_restart_from_aof_leaves_no_key_with_more_memory() {
    let cases = cases();
    for (rewrite, preamble) in [(false, "no"), (true, "no"), (true, "yes")] {
        let options = ["--appendonly", "yes", "--aof-use-rdb-preamble", preamble];
        let mut server = Options::new().arguments(&options).start();
        let mut connection = server.resp2();
        build_all(&mut connection, &cases);
        if rewrite {
            connection.call("BGREWRITEAOF");
            server.wait_until("the rewrite", |server| {
                server.info("aof_rewrite_in_progress").as_deref() == Some("0")
                    && server.info("aof_rewrite_scheduled").as_deref() == Some("0")
            });
        }
        let before = usage_of_all(&mut connection);
        server.restart();
        let after = usage_of_all(&mut server.resp2());
        let mut wrong = Vec::new();
        let what = format!("AOF, rewritten: {rewrite}, preamble: {preamble}");
        check_all(&mut wrong, &what, &before, &after);
        assert_none(&wrong, &cases);
    }
}

/// Keys with a long history of random commands, in every family.
#[test]
fn a_reload_adds_no_memory_to_keys_with_a_random_history() {
    let mut server = Server::start();
    let mut connection = server.resp2();
    let mut traffic = Traffic::new(15, "", 40);
    for command in traffic.creations() {
        connection.send(&command);
    }
    let mut random = Random::new(15);
    for round in 0..4 {
        traffic.run(&mut connection, 4000);
        let before = usage_of_all(&mut connection);
        assert!(before.len() > 150, "{} keys", before.len());
        if random.one_in(2) {
            assert!(connection.call("DEBUG RELOAD").is_ok());
        } else {
            assert!(connection.call("SAVE").is_ok());
            server.restart();
            connection = server.resp2();
        }
        for (key, after) in usage_of_all(&mut connection) {
            let before = before[&key];
            let key = String::from_utf8_lossy(&key);
            assert!(
                after <= before,
                "round {round}, {key}: {before} bytes before, {after} after"
            );
        }
    }
}
