//! RDB files and append-only files that one module writes and the other one reads.

use super::compare::{Transfer, assert_same};
use super::{Peer, fill};
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};
use crate::support::state::select;
use std::fs;
use std::path::Path;

/// The server must not rewrite the file while the test copies it.
pub const AOF: &[&str] = &["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"];

/// Copies the append-only files of a server to the directory of another one, which does not run.
pub fn copy_log(from: &Server, to: &Path) {
    let to = to.join("appendonlydir");
    // The server creates an append-only file when it starts.
    if to.exists() {
        fs::remove_dir_all(&to).expect("an empty place");
    }
    fs::create_dir(&to).expect("a directory");
    for part in from.aof_parts("") {
        fs::copy(&part, to.join(part.file_name().expect("a name"))).expect("a copy");
    }
}

/// Runs a test with a filled server of each module, in each direction. The test copies its files to the directory of
/// the other server, which then loads them.
fn load_files(
    peer: &Peer,
    arguments: &[&str],
    databases: &[u32],
    transfer: Transfer,
    write: impl Fn(&mut Server, &Path),
) {
    for (source, destination, when) in peer.both_ways() {
        let start = |options: Options| options.arguments(arguments).start();
        let (mut source, mut destination) = (start(source), start(destination));
        let mut connection = source.resp2();
        for db in databases {
            select(&mut connection, *db);
            fill(peer, &mut connection, &mut peer.workload(110));
        }
        destination.kill();
        write(&mut source, destination.dir());
        destination.relaunch();
        let (one, other) = (&mut source.resp2(), &mut destination.resp2());
        let keys = assert_same(one, other, transfer, when);
        assert!(keys > 5, "{when}: {keys} keys");
    }
}

pub fn rdb_files_load_in_both_directions(peer: &Peer) {
    load_files(peer, &[], &[0, 3], Transfer::Values, |source, directory| {
        source.ok("SAVE");
        let file = "dump.rdb";
        fs::copy(source.dir().join(file), directory.join(file)).expect("a copy");
    });
}

/// The file has the commands of clients.
pub fn append_only_files_load_in_both_directions(peer: &Peer) {
    let write = |source: &mut Server, directory: &Path| {
        // The server writes and flushes the file before it replies.
        source.ok("CONFIG SET appendfsync always");
        assert_ne!(source.call("INCR last"), Reply::Integer(0));
        source.check("DEL last", ":1");
        copy_log(source, directory);
    };
    load_files(peer, AOF, &[0, 3], Transfer::Commands, write);
}

/// With an RDB preamble, and as commands. RedisBloom writes commands only for keys of database 0 correctly.
pub fn rewritten_append_only_files_load_in_both_directions(peer: &Peer) {
    for (preamble, databases) in [("yes", &[0, 3][..]), ("no", &[0])] {
        let arguments = [AOF, &["--aof-use-rdb-preamble", preamble]].concat();
        let write = |source: &mut Server, directory: &Path| {
            assert!(source.rewrite_aof());
            copy_log(source, directory);
        };
        load_files(peer, &arguments, databases, Transfer::Values, write);
    }
}
