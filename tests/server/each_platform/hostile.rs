//! Hostile input: damaged payloads with valid footers, chunks in any order and of any size, extreme numbers, and a
//! server without memory. The server must reply to every command and must not restart.

mod edges;
mod payloads;

use crate::families::valkey_bloom::load_payload;
use crate::families::{Family, SKETCH_USES};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

/// A server with this limit of memory and 4 GiB of address space.
fn with_memory(maxmemory: &str) -> (Server, Connection) {
    let options = Options::new().arguments(&["--maxmemory", maxmemory]);
    options.address_space(4 << 30).start().connected()
}

/// Sends all commands of the family with key K. Panics if the connection breaks or a reply is malformed.
fn use_key(connection: &mut Connection, family: &Family) {
    for command in family.uses.iter().chain(SKETCH_USES) {
        connection.call(command);
    }
    for iterator in ["0", "1", "9", "-1", "9223372036854775807"] {
        connection.send(&[&family.command("SCANDUMP"), "K", iterator]);
    }
    connection.call("MEMORY USAGE K");
    connection.call("DEBUG DIGEST-VALUE K");
    connection.call("COPY K copy REPLACE");
    // The payload may need its memory.
    connection.call("DEL copy");
    // The result can be saved and restored.
    if let Reply::Bulk(payload) = connection.call("DUMP K") {
        let mut restored = connection.replace("K", &payload);
        if family.name == "bloomfltr" && restored.is_error() {
            // The limit of RESTORE applies to the size for the capacity and the rate, which a damaged value can
            // contradict. BF.LOAD uses the size of the value.
            let load = load_payload(connection, "K");
            connection.call("DEL K");
            restored = connection.send(&[&b"BF.LOAD"[..], b"K", &load]);
        }
        assert!(restored.is_ok(), "{}: {restored}", family.name);
    }
}
