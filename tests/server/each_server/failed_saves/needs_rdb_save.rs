//! Files that other modules let the server write.

use super::{inject, start};
use crate::families::{FAMILIES, run_on};
use crate::support::c_modules;
use std::fs;

/// If another module makes the server write a file directly under its final name, this module cannot remove the file.
#[test]
#[ignore = "needs a server whose modules can save files: Valkey, Redis 7.2"]
fn the_process_aborts_rather_than_complete_a_file_that_lacks_a_value() {
    let (mut server, mut connection) = start(&["--loadmodule", c_modules::handler()]).connected();
    run_on(&mut connection, "key", FAMILIES[0].build);
    connection.ok("HANDLER.SAVE whole.rdb");
    inject(&server, &["rdb_save bytes"]);
    let reply = connection.try_send(&["HANDLER.SAVE", "partial.rdb"]);
    assert!(reply.is_err(), "{reply:?}");
    server.wait_until("the server to end", |server| !server.is_running());
    assert!(
        server
            .log()
            .contains("cannot be removed: ending the process")
    );
    // A complete file ends with the opcode 255 and eight bytes of checksum.
    let ends = |name: &str| {
        let content = fs::read(server.dir().join(name)).unwrap_or_default();
        content.iter().rev().nth(8) == Some(&255)
    };
    assert!(ends("whole.rdb") && !ends("partial.rdb"));
}
