//! Forks that fail.

use super::digest;
use crate::families::{FAMILIES, build_all};
use crate::support::c_modules;
use crate::support::server::{Options, Server};
use std::fs;

/// BGSAVE, BGREWRITEAOF and the synchronization of a replica report the error. Commands keep working, and each succeeds when
/// fork works again.
#[test]
fn a_failed_fork_changes_nothing() {
    let mut server = Options::new()
        .environment("LD_PRELOAD", c_modules::no_fork())
        .arguments(&["--appendonly", "yes"])
        .start();
    let mut connection = server.resp2();
    build_all(&mut connection);
    let file = server.dir().join("roughly-no-fork");
    fs::write(&file, "").expect("a file");
    for command in ["BGSAVE", "BGREWRITEAOF"] {
        connection.check(command, "-...");
    }
    // Valkey 8.0 and 9.1 crash if the fork for a replica fails, also without a module.
    let mut replica = (!server.version().is_valkey()).then(Server::start);
    if let Some(replica) = &replica {
        replica.call(&format!("REPLICAOF 127.0.0.1 {}", server.port()));
        server.wait_until("a failed synchronization", |server| {
            server.log().contains("BGSAVE for replication failed")
        });
    }
    for family in FAMILIES {
        family.change(&mut connection, family.type_name, "changed");
    }
    let expected = digest(&mut connection);
    fs::remove_file(&file).expect("the file");
    assert!(server.rewrite_aof());
    if let Some(replica) = &mut replica {
        replica.wait_for_link();
        server.wait_for_replica(replica);
        assert_eq!(digest(&mut replica.resp2()), expected);
    }
    server.kill_and_restart();
    assert_eq!(digest(&mut server.resp2()), expected);
}
