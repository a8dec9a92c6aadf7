//! Files of a server with valkey-bloom, built from the recorded keys: RDB files, rewritten append-only files, and logged commands.

use super::recorded_keys::keys;
use super::replicated::{Parameters, Replicated};
use super::{AOF, Words, words};
use crate::each_server::migration::files::{self, VALKEY_8_0};
use crate::integration::odd_settings;
use crate::support::resp::Protocol;
use crate::support::server::{Options, Server};
use crate::support::state::select;
use roughly_dump::Values;
use std::fs;

/// The first millisecond of 2100, in which the keys of a database expire.
const EXPIRES: u64 = 4_102_444_800_000;

/// The databases of a file.
const PERSISTENT: u8 = 0;
const EXPIRING: u8 = 3;
/// The database of logged or replicated commands.
pub const LOGGED: u8 = 11;

/// Settings that do not apply to existing keys, and the replies that were recorded.
fn options() -> Options {
    odd_settings()
        .module_arguments(&["bf-replies", "valkey-bloom"])
        .arguments(&["--rdbcompression", "no"])
}

/// An RDB file that `server` accepts, with all keys in two databases. In one of them they have an expiration time.
pub fn rdb_for(server: &Server) -> Vec<u8> {
    let database = |expires| {
        let keys = keys().iter();
        let keys = keys.map(move |key| (&*key.name, &*key.payload, expires));
        keys.collect()
    };
    let persistent = (PERSISTENT, database(None));
    let expiring = (EXPIRING, database(Some(EXPIRES)));
    let writer = VALKEY_8_0.for_reader(server.version());
    files::rdb(writer, &[persistent, expiring])
}

/// The same keys as commands of a rewritten append-only file.
fn rewritten() -> Vec<Words> {
    let mut commands = Vec::new();
    for db in [PERSISTENT, EXPIRING] {
        commands.push(words(&format!("SELECT {db}")));
        for key in keys() {
            commands.push(key.load_command());
            if db == EXPIRING {
                commands.push(words(&format!("PEXPIREAT {} {EXPIRES}", key.name)));
            }
        }
    }
    commands
}

/// The recorded commands of all keys in the form in which valkey-bloom logs and replicates them, for one database. The last items
/// of some did not fit.
pub fn logged() -> Vec<Words> {
    let mut commands = vec![words(&format!("SELECT {LOGGED}"))];
    let mut refused = 0;
    for key in keys() {
        let mut replicated = Replicated::default();
        for (command, reply) in &key.commands {
            if let Some(form) = replicated.form(command, reply, || Parameters::of_key(key)) {
                commands.push(form);
                let replies = reply[1].as_array();
                let last = replies.and_then(|replies| replies.last());
                refused += usize::from(last.is_some_and(|last| last[0] == "err"));
            }
        }
    }
    assert!(refused > 0);
    commands
}

/// Checks all keys of a database without expiration times.
pub fn assert_recorded(server: &Server, db: u8, size: Option<&str>) {
    for protocol in Protocol::BOTH {
        let mut connection = server.connect(protocol);
        select(&mut connection, db.into());
        assert_eq!(connection.call("DBSIZE").to_string(), ":31", "{db}");
        for key in keys() {
            key.assert_dump(&mut connection);
            key.assert_reads(&mut connection, protocol, size);
        }
    }
}

/// Checks the databases of a file, whose kind determines the size of the keys.
pub fn assert_file(server: &Server, size: &str) {
    assert_recorded(server, PERSISTENT, Some(size));
    let mut connection = server.resp2();
    select(&mut connection, EXPIRING.into());
    connection.check("DBSIZE", ":31");
    for key in keys() {
        key.assert_dump(&mut connection);
        let time = connection.send(&["PEXPIRETIME", &key.name]).integer();
        assert_eq!(time, i64::try_from(EXPIRES).ok(), "{}", key.name);
    }
}

/// A server that has loaded the RDB file.
fn loaded() -> Server {
    let mut server = options().start();
    let file = rdb_for(&server);
    fs::write(server.dir().join("dump.rdb"), file).expect("a file");
    server.kill_and_restart();
    server
}

#[test]
fn rdb_files_of_valkey_bloom_load() {
    let server = loaded();
    assert_file(&server, "size_after_restore");
    server.ok("DEBUG RELOAD");
    assert_file(&server, "size_after_restore");
}

/// valkey-bloom reads neither other encodings nor data of the module outside of its keys.
#[test]
fn saved_rdb_files_have_the_recorded_values_and_no_other_data_of_the_module() {
    let server = loaded();
    server.ok("SAVE");
    let mut file = fs::read(server.dir().join("dump.rdb")).expect("a file");
    for expires in [None, Some(EXPIRES)] {
        for key in keys() {
            let (id, values) = Values::from_dump(&key.payload).expect("a payload");
            // One recorded payload has compressed strings.
            let payload = values.to_dump(id);
            let record = files::record(&(&*key.name, &payload, expires));
            let mut windows = file.windows(record.len());
            let at = windows.position(|window| window == record);
            let at = at.unwrap_or_else(|| panic!("no record of {}", key.name));
            file.drain(at..at + record.len());
        }
    }
    // After the header, fields and databases.
    let mut rest = &file[9..];
    while rest[0] != 0xff {
        rest = match rest[0] {
            0xfa => after_string(after_string(&rest[1..])),
            0xfe => &rest[2..],
            0xfb => &rest[3..],
            opcode => panic!("opcode {opcode}"),
        };
    }
    // The checksum.
    assert_eq!(rest.len(), 9);
}

/// The bytes after a short string or an integer.
fn after_string(bytes: &[u8]) -> &[u8] {
    let size = match bytes[0] {
        len @ 0..64 => usize::from(len),
        0xc0 => 1,
        0xc1 => 2,
        0xc2 => 4,
        first => panic!("string {first}"),
    };
    &bytes[1 + size..]
}

/// The base is an RDB file or a rewritten log, and logged commands follow it.
#[test]
fn append_only_files_of_valkey_bloom_load() {
    let log = files::commands(&logged());
    for (has_preamble, size) in [(true, "size_after_restore"), (false, "size_after_load")] {
        let mut server = options().start();
        let base = match has_preamble {
            true => rdb_for(&server),
            false => files::commands(&rewritten()),
        };
        files::write_parts(server.dir(), &base, &log);
        server.restart_with(options().arguments(AOF));
        assert_file(&server, size);
        assert_eq!(server.info_number("unexpected_error_replies"), 0);
        assert_recorded(&server, LOGGED, None);
    }
}
