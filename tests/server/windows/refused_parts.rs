//! Random writes, most of which have refused parts, beside a copy that was advanced first; and memory that is refused.

use super::refused::{START, WINDOW};
use super::{LOG, logged_commands, set_ms, start, with_window};
use crate::families::dump;
use crate::support::sample::Sample;
use crate::workload::{Random, columns};

/// Returns a random command on the key k.
type Write = fn(&mut Random) -> String;

/// Random writes to small sketches, most of which have refused parts.
struct Writes {
    creates: &'static [&'static str],
    write: Write,
}

/// One to four arguments, each of them made from two random numbers.
fn arguments(random: &mut Random, each: impl Fn(u64, u64) -> String) -> String {
    let numbers = (0..=random.below(4)).map(|_| (random.below(16), random.below(100)));
    let words: Vec<_> = numbers.map(|(item, by)| each(item, by)).collect();
    words.join(" ")
}

fn item(item: u64, _: u64) -> String {
    item.to_string()
}

fn pair(item: u64, by: u64) -> String {
    format!("{item} {by}")
}

const WRITES: [Writes; 5] = [
    Writes {
        creates: &[
            "BF.RESERVE k 1e-9 4 NONSCALING",
            "BF.RESERVE k 0.3 12 NONSCALING",
            "BF.RESERVE k 1e-9 2 EXPANSION 1",
            "BF.RESERVE k 1e-14 3 EXPANSION 32768",
        ],
        write: |random| match random.below(4) {
            0 => format!("BF.ADD k {}", random.below(16)),
            1 => format!("BF.MADD k {}", arguments(random, item)),
            2 => format!("BF.INSERT k NOCREATE ITEMS {}", arguments(random, item)),
            _ => format!("BF.ADDNX k {}", arguments(random, item)),
        },
    },
    Writes {
        creates: &[
            "CF.RESERVE k 8 BUCKETSIZE 2 EXPANSION 0",
            "CF.RESERVE k 4 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 0",
            // The setting cf-max-expansions is 3.
            "CF.RESERVE k 2 BUCKETSIZE 1 EXPANSION 1",
            "CF.RESERVE k 4 BUCKETSIZE 2 EXPANSION 2",
        ],
        write: |random| match random.below(6) {
            0 => format!("CF.ADD k {}", random.below(16)),
            1 => format!("CF.ADDNX k {}", random.below(16)),
            2 => format!("CF.INSERT k ITEMS {}", arguments(random, item)),
            3 => format!("CF.INSERTNX k ITEMS {}", arguments(random, item)),
            _ => format!("CF.DEL k {}", random.below(16)),
        },
    },
    Writes {
        creates: &[
            "CMS.INITBYDIM k 4 2 CELL_SIZE 1",
            "CMS.INITBYDIM k 1000 3 CELL_SIZE 1",
            "CMS.INITBYDIM k 4 2 CELL_SIZE 8",
        ],
        write: |random| match random.below(4) {
            0 => format!("CMS.INCRBYLIMIT k 150 {}", arguments(random, pair)),
            1 => {
                let large = |item: u64, by: u64| pair(item, (by / 13) << 60);
                format!("CMS.INCRBY k {}", arguments(random, large))
            }
            2 => format!("CMS.MERGE k 2 k other WEIGHTS 1 {}", 1 + random.below(9)),
            _ => format!("CMS.INCRBY k {}", arguments(random, pair)),
        },
    },
    Writes {
        creates: &["TOPK.RESERVE k 3 8 3 0.9"],
        write: |random| match random.below(3) {
            0 => format!("TOPK.ADD k {}", arguments(random, item)),
            _ => {
                let pair = |item: u64, by: u64| match by < 50 {
                    true => format!("{item} x"),
                    false => format!("{item} {by}"),
                };
                format!("TOPK.INCRBY k {}", arguments(random, pair))
            }
        },
    },
    Writes {
        creates: &["TDIGEST.CREATE k COMPRESSION 10"],
        write: |random| {
            let sample = |item: u64, by: u64| match by < 20 {
                true => "x".to_owned(),
                false => item.to_string(),
            };
            format!("TDIGEST.ADD k {}", arguments(random, sample))
        },
    },
];

/// The creations of [`WRITES`], with the length of a pane in milliseconds. Panes that become one keep the estimates of a sketch
/// without collisions, so only such sketches also have panes that grow with age.
fn creates() -> Vec<(String, u64, Write)> {
    let mut all = Vec::new();
    for Writes { creates, write } in &WRITES {
        for create in *creates {
            all.push((with_window(create, WINDOW), 1000, *write));
            let starts = ["CMS.INITBYDIM k 1000", "TOPK", "TDIGEST"];
            if starts.iter().any(|start| create.starts_with(start)) {
                let create = with_window(create, &format!("{WINDOW} FINEST 250"));
                all.push((create, 250, *write));
            }
        }
    }
    all
}

/// A reply is the one of a copy that was advanced first. If the command changes nothing in that copy, it changes nothing in the
/// key; otherwise both are equal afterwards, and so are a replica and what is loaded from the append-only file.
#[test]
fn a_write_advances_the_window_only_if_it_changes_the_advanced_value() {
    const ROUNDS: u64 = 300;
    let mut primary = start(&["--appendonly", "yes"]);
    let mut replica = start(&[]);
    replica.set_clock("+1000000");
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    primary.set("cf-max-expansions", 3);
    let mut random = Random::new(53);
    let mut keys = Vec::new();
    for (create, pane_ms, write) in Sample::of_run().one_in(2).of(&creates()) {
        let mut now = START;
        set_ms(&primary, now);
        connection.call("DEL other copy");
        connection.ok(create);
        connection.check("COPY k other", ":1");
        let (mut idle, mut changes) = (0, 0);
        for _ in 0..ROUNDS {
            now += random.pick(&[0, 250, 1000, 1000, 1000, 2000, 3000]);
            set_ms(&primary, now);
            if create.starts_with("CMS") && random.one_in(8) {
                connection.call("CMS.INCRBY other 1 20 2 20");
            }
            connection.call("COPY k copy REPLACE");
            connection.call(&format!("SKETCH.ADVANCE copy {}", now / pane_ms));
            let before = ["k", "copy"].map(|key| dump(&mut connection, key));
            let command = write(&mut random);
            // CMS.MERGE has the key twice.
            let of_copy = command.replace(" k ", " copy ").replace(" k ", " copy ");
            let expected = connection.call(&of_copy);
            let reply = connection.call(&command);
            assert_eq!(reply, expected, "{create}: {command}");
            let after = ["k", "copy"].map(|key| dump(&mut connection, key));
            // A merge that is not refused also advances if the sums are the same.
            let is_merge = command.starts_with("CMS.MERGE") && reply.is_ok();
            if before[1] == after[1] && !is_merge {
                assert_eq!(after[0], before[0], "{create}: {command}: {reply}");
                idle += u64::from(before[0] != before[1]);
            } else {
                assert_eq!(after[0], after[1], "{create}: {command}: {reply}");
                changes += 1;
            }
        }
        let counts = format!("{create}: {idle}, {changes} of {ROUNDS}");
        assert!(idle >= 5 && changes >= 50, "{counts}");
        primary.wait_for_replica(&replica);
        let expected = dump(&mut connection, "k");
        assert_eq!(dump(&mut replica.resp2(), "k"), expected, "{create}");
        let key = create.replace(' ', "_");
        connection.ok(&format!("RENAME k {key}"));
        keys.push((key, expected));
    }
    primary.kill_and_restart();
    let mut connection = primary.resp2();
    for (key, expected) in keys {
        assert_eq!(dump(&mut connection, &key), expected, "{key}");
    }
}

/// The memory of expired panes is available after an advance only. So a write that is refused for lack of memory advances the
/// window, and its copies.
#[test]
fn memory_that_is_refused_advances_the_window() {
    for commands in [
        "BF.RESERVE k 1e-9 4 EXPANSION 1000 | BF.MADD k 1 2 3 4 5 | BF.ADD k x",
        "CF.RESERVE k 8 BUCKETSIZE 2 EXPANSION 1000 | CF.INSERT k ITEMS 1 2 3 4 5 6 7 8 9 10 | CF.ADD k x",
        "CMS.INITBYDIM k 1000 3 | CMS.INCRBY k a 1 | CMS.INCRBY k x 1",
        "TOPK.RESERVE k 3 1000 3 0.9 | TOPK.ADD k a | TOPK.ADD k x",
        "TDIGEST.CREATE k COMPRESSION 1000 | TDIGEST.ADD k 1 | TDIGEST.ADD k 2 3 4 5 6 7 8 9 10",
    ] {
        let [create, fill, refused] = columns(commands);
        let (server, mut connection) = start(LOG).connected();
        set_ms(&server, START);
        connection.ok(&with_window(create, WINDOW));
        let reply = connection.call(fill).to_string();
        assert!(!reply.contains("-ERR"), "{fill}: {reply}");
        server.set("sketch-max-key-bytes", 1);
        set_ms(&server, START + 1000);
        let reply = connection.call(refused).to_string();
        let is_refused = reply.contains("-ERR the key would hold");
        assert!(is_refused, "{refused}: {reply}");
        let logged = logged_commands(&server);
        let last = logged.last().map(String::as_str);
        assert_eq!(last, Some("SKETCH.ADVANCE k 1001"), "{refused}");
    }
}
