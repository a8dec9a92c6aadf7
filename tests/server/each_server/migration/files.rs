//! RDB and append-only files as a server with RedisBloom or valkey-bloom writes them, built from recorded payloads.

use crate::support::resp::request;
use crate::support::server::Version;
use crate::workload::Command;
use crc::{CRC_64_REDIS, Crc};
use std::fs;
use std::path::Path;

/// Size of the part of a DUMP payload that an RDB file does not contain.
const FOOTER_BYTES: usize = 10;

/// A key, its DUMP payload, and its expiration time in milliseconds since 1970.
pub type Entry<'a> = (&'a str, &'a [u8], Option<u64>);

/// The server that writes an RDB file.
#[derive(Debug, Clone, Copy)]
pub struct Writer {
    rdb_version: u8,
    /// Name and value of the field with the server's version.
    version: (&'static str, &'static str),
}

pub const REDIS_6_2: Writer = Writer {
    rdb_version: 9,
    version: ("redis-ver", "6.2.14"),
};

/// The server on which valkey-bloom was recorded.
pub const VALKEY_8_0: Writer = Writer {
    rdb_version: 11,
    version: ("valkey-ver", "8.0.1"),
};

impl Writer {
    /// As this server writes it, but with the RDB version that `reader` accepts.
    pub fn for_reader(self, reader: Version) -> Self {
        let redis_7_0 = !reader.is_valkey() && !reader.is_redis_at_least(7, 2);
        let max = if redis_7_0 { 10 } else { u8::MAX };
        Self {
            rdb_version: self.rdb_version.min(max),
            ..self
        }
    }
}

fn string(file: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        len @ 0..64 => file.push(len as u8),
        len => file.extend_from_slice(&(0x4000 | len as u16).to_be_bytes()),
    }
    file.extend_from_slice(text);
}

/// A key in an RDB file. A value of a module type has the same bytes as in a DUMP payload, but the key's name is between the type
/// byte and the value.
pub fn record((name, payload, expires): &Entry<'_>) -> Vec<u8> {
    let mut record = Vec::new();
    if let Some(time) = expires {
        record.push(0xfc);
        record.extend_from_slice(&time.to_le_bytes());
    }
    record.push(payload[0]);
    string(&mut record, name.as_bytes());
    record.extend_from_slice(&payload[1..payload.len() - FOOTER_BYTES]);
    record
}

/// An RDB file: a header, fields about the server, the databases, and a CRC64.
pub fn rdb(writer: Writer, databases: &[(u8, Vec<Entry<'_>>)]) -> Vec<u8> {
    let mut file = format!("REDIS{:04}", writer.rdb_version).into_bytes();
    for (name, value) in [writer.version, ("redis-bits", "64")] {
        file.push(0xfa);
        string(&mut file, name.as_bytes());
        string(&mut file, value.as_bytes());
    }
    for (db, entries) in databases {
        file.extend([0xfe, *db]);
        for entry in entries {
            file.extend(record(entry));
        }
    }
    file.push(0xff);
    let checksum = Crc::<u64>::new(&CRC_64_REDIS).checksum(&file);
    file.extend_from_slice(&checksum.to_le_bytes());
    file
}

/// Commands in the format of an append-only file.
pub fn commands(commands: &[Command]) -> Vec<u8> {
    let requests = commands.iter().map(|command| request(command));
    requests.flatten().collect()
}

/// The append-only file of Redis 7 and later: a directory with a base, an RDB file or commands, and an increment.
pub fn write_parts(dir: &Path, base: &[u8], increment: &[u8]) {
    let dir = dir.join("appendonlydir");
    fs::create_dir(&dir).expect("a directory");
    let write = |name: &str, bytes: &[u8]| fs::write(dir.join(name), bytes).expect("a file");
    let is_rdb = base.starts_with(b"REDIS");
    let base_name = format!(
        "appendonly.aof.1.base.{}",
        if is_rdb { "rdb" } else { "aof" }
    );
    let increment_name = "appendonly.aof.1.incr.aof";
    write(&base_name, base);
    write(increment_name, increment);
    let manifest = format!("file {base_name} seq 1 type b\nfile {increment_name} seq 1 type i\n");
    write("appendonly.aof.manifest", manifest.as_bytes());
}
