//! What count-min sketches write to the append-only file.

use crate::support::server::Options;
use crate::windows::logged_commands;

#[test]
fn only_changes_are_written_to_the_aof() {
    let log = ["--appendonly", "yes", "--appendfsync", "always"];
    let (server, mut connection) = Options::new().arguments(&log).start().connected();
    connection.ok("CMS.INITBYPROB k 0.01 0.01 CELL_SIZE 1");
    for command in [
        "CMS.INCRBY k a 0 b -1",
        "CMS.INCRBY k a 200 b 1",
        "CMS.INCRBY k a 100 b 1 c 0 a -300 d 3",
        "CMS.MERGE k 1 k",
        "CMS.MERGE k 1 k WEIGHTS 2",
        "CMS.MERGE k 1 k WEIGHTS 0",
    ] {
        connection.call(command);
    }
    let expected = "CMS.INITBYDIM k 200 7 CELL_SIZE 1\n\
        CMS.INCRBY k a 200 b 1\n\
        CMS.INCRBY k b 1 d 3\n\
        CMS.MERGE k 1 k WEIGHTS 0";
    assert_eq!(logged_commands(&server).join("\n"), expected);
}
