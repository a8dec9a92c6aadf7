//! Creations are replicated with all parameters, whatever was replicated before them.

use crate::support::server::Options;
use crate::valkey::{AOF, logged};

const SEED: &str = "00112233445566778899aabbccddeeff";

/// Commands, and the commands that are replicated for them, if they are others. `S` is the seed.
const COMMANDS: &str = "
    BF.ADD a x => BF.RESERVE a 1e-2 100 EXPANSION 2; BF.ADD a x
    BF.RESERVE b .001 7 => BF.RESERVE b 1e-3 7 EXPANSION 2
    BF.MADD c x y => BF.RESERVE c 1e-2 100 EXPANSION 2; BF.MADD c x y
    BF.RESERVE b0 .001 7 expansion 4
    BF.RESERVE b1 1e-3 7 EXPANSION 4 => BF.RESERVE b1 1e-3 7 EXPANSION 4
    BF.RESERVE b2 0.5 7 EXPANSION 4 => BF.RESERVE b2 2.5e-1 7 EXPANSION 4
    BF.RESERVE b4 0.25 7 EXPANSION 2 MORE => BF.RESERVE b4 2.5e-1 7 EXPANSION 2
    BF.RESERVE d 0.01 100 NONSCALING
    BF.RESERVE e 0.25 100 WINDOW 3600000 PANES 4 SEED S => BF.RESERVE e 2.5e-1 100 EXPANSION 2 WINDOW 3600000 PANES 4 SEED S
    BF.INSERT f ITEMS x => BF.RESERVE f 1e-2 100 EXPANSION 2; BF.INSERT f ITEMS x
    bf.insert f items y z
    BF.INSERT f I u => BF.MADD f u
    BF.INSERT f CAPACITY 9 ITEMS v w => BF.MADD f v w
    CF.ADD g x => CF.RESERVE g 1024 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1; CF.ADD g x
    CF.RESERVE h 64 BUCKETSIZE 4 EXPANSION 3 => CF.RESERVE h 64 BUCKETSIZE 4 MAXITERATIONS 20 EXPANSION 4
    CF.RESERVE i 1024 WINDOW 1000 PANES 5 ERROR 0.001 SEED S => CF.RESERVE i 1024 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 WINDOW 1000 PANES 5 ERROR 1e-3 SEED S
    cms.initbydim j 10 5
    CMS.INITBYDIM k 10 5 CELL_SIZE 4 => CMS.INITBYDIM k 10 5
    CMS.INITBYPROB l 0.1 0.125 => CMS.INITBYDIM l 20 3
    CMS.INITBYDIM m 10 5 CELL_SIZE 8
    CMS.INITBYDIM n 10 5 WINDOW 64000 FINEST 1000 SEED S PANES 4 => CMS.INITBYDIM n 10 5 WINDOW 64000 PANES 4 FINEST 1000 SEED S
    TOPK.RESERVE o 3
    TOPK.RESERVE q 3 9 5 0.9 WINDOW 1000 SEED S PANES 5 => TOPK.RESERVE q 3 9 5 0.9 WINDOW 1000 PANES 5 SEED S
    TDIGEST.CREATE r
    TDIGEST.CREATE s COMPRESSION 50 WINDOW 1000 => TDIGEST.CREATE s COMPRESSION 50 WINDOW 1000 PANES 12
";

#[test]
fn creations_are_replicated_with_all_parameters() {
    let (server, mut connection) = Options::new().arguments(AOF).start().connected();
    let mut expected = Vec::new();
    // Twice, so that each command also follows commands with its parameters and with others.
    for round in ["1", "2"] {
        for line in COMMANDS.trim().lines().map(str::trim) {
            let (command, replicated) = line.split_once(" => ").unwrap_or((line, line));
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
            expected.extend(replicated.split("; ").map(with_round));
            // The pane of an advance depends on the time.
            let mut commands = logged(&server);
            commands.retain(|command| command[0] != b"SKETCH.ADVANCE");
            assert_eq!(commands, expected, "{command}");
        }
    }
}
