//! RDB files and append-only files that one module writes and the other one reads.

use super::compare::{Transfer, assert_same};
use super::{Peer, fill};
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};
use crate::support::state::select;
use std::fs;
use std::path::Path;

const AOF: &[&str] = &[
    "--appendonly",
    "yes",
    // The server must not rewrite the file while the test copies it.
    "--auto-aof-rewrite-percentage",
    "0",
];

fn copy_directory(from: &Path, to: &Path) {
    // The server creates an append-only file when it starts.
    if to.exists() {
        fs::remove_dir_all(to).expect("an empty place");
    }
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
}

/// Copies the append-only files of a server to another one, which does not run.
pub fn copy_log(from: &Server, to: &Server) {
    let name = "appendonlydir";
    copy_directory(&from.dir().join(name), &to.dir().join(name));
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
    load_files(
        peer,
        AOF,
        &[0, 3],
        Transfer::Commands,
        |source, directory| {
            // The server writes and flushes the file before it replies.
            source.ok("CONFIG SET appendfsync always");
            assert_ne!(source.call("INCR last"), Reply::Integer(0));
            source.check("DEL last", ":1");
            let name = "appendonlydir";
            copy_directory(&source.dir().join(name), &directory.join(name));
        },
    );
}

/// With an RDB preamble, and as commands. RedisBloom writes commands only for keys of database 0 correctly.
pub fn rewritten_append_only_files_load_in_both_directions(peer: &Peer) {
    for (preamble, databases) in [("yes", &[0, 3][..]), ("no", &[0])] {
        let arguments = [AOF, &["--aof-use-rdb-preamble", preamble]].concat();
        load_files(
            peer,
            &arguments,
            databases,
            Transfer::Values,
            |source, directory| {
                assert!(source.rewrite_aof());
                let name = "appendonlydir";
                copy_directory(&source.dir().join(name), &directory.join(name));
            },
        );
    }
}
