//! Creations are replicated with all parameters, whatever was replicated before them.

use crate::support::server::Options;
use crate::valkey::{AOF, logged};

const SEED: &str = "00112233445566778899aabbccddeeff";

/// Commands, and what is replicated for them; `None` if it is the command itself. In both, `S` is the seed.
const COMMANDS: &[(&str, Option<&[&str]>)] = &[
    (
        "BF.ADD a x",
        Some(&["BF.RESERVE a 1e-2 100 EXPANSION 2", "BF.ADD a x"]),
    ),
    (
        "BF.RESERVE b .001 7",
        Some(&["BF.RESERVE b 1e-3 7 EXPANSION 2"]),
    ),
    (
        "BF.MADD c x y",
        Some(&["BF.RESERVE c 1e-2 100 EXPANSION 2", "BF.MADD c x y"]),
    ),
    ("BF.RESERVE b0 .001 7 expansion 4", None),
    (
        "BF.RESERVE b1 1e-3 7 EXPANSION 4",
        Some(&["BF.RESERVE b1 1e-3 7 EXPANSION 4"]),
    ),
    (
        "BF.RESERVE b2 0.5 7 EXPANSION 4",
        Some(&["BF.RESERVE b2 2.5e-1 7 EXPANSION 4"]),
    ),
    (
        "BF.RESERVE b4 0.25 7 EXPANSION 2 MORE",
        Some(&["BF.RESERVE b4 2.5e-1 7 EXPANSION 2"]),
    ),
    ("BF.RESERVE d 0.01 100 NONSCALING", None),
    (
        "BF.RESERVE e 0.25 100 WINDOW 3600000 PANES 4 SEED S",
        Some(&["BF.RESERVE e 2.5e-1 100 EXPANSION 2 WINDOW 3600000 PANES 4 SEED S"]),
    ),
    (
        "BF.INSERT f ITEMS x",
        Some(&["BF.RESERVE f 1e-2 100 EXPANSION 2", "BF.INSERT f ITEMS x"]),
    ),
    ("bf.insert f items y z", None),
    ("BF.INSERT f I u", Some(&["BF.MADD f u"])),
    ("BF.INSERT f CAPACITY 9 ITEMS v w", Some(&["BF.MADD f v w"])),
    (
        "CF.ADD g x",
        Some(&[
            "CF.RESERVE g 1024 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1",
            "CF.ADD g x",
        ]),
    ),
    (
        "CF.RESERVE h 64 BUCKETSIZE 4 EXPANSION 3",
        Some(&["CF.RESERVE h 64 BUCKETSIZE 4 MAXITERATIONS 20 EXPANSION 4"]),
    ),
    (
        "CF.RESERVE i 1024 WINDOW 1000 PANES 5 ERROR 0.001 SEED S",
        Some(&[
            "CF.RESERVE i 1024 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 WINDOW 1000 PANES 5 ERROR 1e-3 SEED S",
        ]),
    ),
    ("cms.initbydim j 10 5", None),
    (
        "CMS.INITBYDIM k 10 5 CELL_SIZE 4",
        Some(&["CMS.INITBYDIM k 10 5"]),
    ),
    (
        "CMS.INITBYPROB l 0.1 0.125",
        Some(&["CMS.INITBYDIM l 20 3"]),
    ),
    ("CMS.INITBYDIM m 10 5 CELL_SIZE 8", None),
    (
        "CMS.INITBYDIM n 10 5 WINDOW 64000 FINEST 1000 SEED S PANES 4",
        Some(&["CMS.INITBYDIM n 10 5 WINDOW 64000 PANES 4 FINEST 1000 SEED S"]),
    ),
    ("TOPK.RESERVE o 3", None),
    (
        "TOPK.RESERVE q 3 9 5 0.9 WINDOW 1000 SEED S PANES 5",
        Some(&["TOPK.RESERVE q 3 9 5 0.9 WINDOW 1000 PANES 5 SEED S"]),
    ),
    ("TDIGEST.CREATE r", None),
    (
        "TDIGEST.CREATE s COMPRESSION 50 WINDOW 1000",
        Some(&["TDIGEST.CREATE s COMPRESSION 50 WINDOW 1000 PANES 12"]),
    ),
];

#[test]
fn creations_are_replicated_with_all_parameters() {
    let server = Options::new().arguments(AOF).start();
    let mut connection = server.resp2();
    let mut expected = Vec::new();
    // Twice, so that each command also follows commands with its parameters and with others.
    for round in ["1", "2"] {
        for (command, replicated) in COMMANDS {
            let with_round = |command: &str| -> Vec<Vec<u8>> {
                let words = command.split(' ').enumerate();
                let word = |(index, word): (usize, &str)| match (index, word) {
                    (1, key) => format!("{key}{round}").into(),
                    (_, "S") => SEED.into(),
                    (_, word) => word.into(),
                };
                words.map(word).collect()
            };
            connection.send(&with_round(command));
            expected.extend(match replicated {
                None => vec![with_round(command)],
                Some(commands) => commands.iter().map(|command| with_round(command)).collect(),
            });
            // The pane of an advance depends on the time.
            let mut commands = logged(&server);
            commands.retain(|command| command[0] != b"SKETCH.ADVANCE");
            assert_eq!(commands, expected, "{command}");
        }
    }
}
