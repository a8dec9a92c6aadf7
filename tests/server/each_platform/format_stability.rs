//! Every version reads and writes the formats of Roughly 0.1.0, the development version before 1.0.0: DUMP payloads and
//! chunks of every family, recorded in `tests/golden/roughly` with the commands that created them. Version 1.0.0 has the
//! same formats. A changed format fails these tests; it needs a new encoding version, and the files must not change.
//!
//! To record the file of a new family: `ROUGHLY_RECORD=1 cargo test --test server format_stability`.

use crate::families::{FAMILIES, Family};
use crate::golden::recorded;
use crate::golden_dumps::with_footer;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use crate::workload::{Command, Workload};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// Keys of a family and writes to them.
const KEYS: u64 = 8;
const WRITES: usize = 160;
const FOOTER_BYTES: usize = 10;

fn path(family: &Family) -> PathBuf {
    recorded::directory().join(format!("roughly/{}.json", family.name))
}

/// Bytes as text if possible, as in the recordings.
fn to_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({"b64": BASE64_STANDARD.encode(bytes)}),
    }
}

fn from_json(value: &Value) -> Vec<u8> {
    recorded::argument(value, &HashMap::new())
}

/// The time at which the recordings were created, in milliseconds: a sketch with a window stores its newest pane.
const RECORDED_AT: &str = "1790000000000";

/// Starts a server without compression, because the recordings are uncompressed, and with a clock that stands still.
fn start() -> Server {
    let server = Options::new().debug_module().start();
    server.ok("CONFIG SET rdbcompression no");
    server.set_clock(RECORDED_AT);
    server
}

fn body(connection: &mut Connection, key: &str) -> Vec<u8> {
    let mut payload = connection.payload(key);
    payload.truncate(payload.len() - FOOTER_BYTES);
    payload
}

fn base64(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("base64");
    BASE64_STANDARD.decode(text).expect("base64")
}

fn make(connection: &mut Connection, commands: &[Command]) {
    for command in commands {
        connection.send(command);
    }
}

/// Records the file of a family that has none.
fn freeze(family: &'static Family) {
    let seed = u64::from_be_bytes(*b"Roughly!");
    let mut workload = Workload::new(seed, "", KEYS).of(family);
    let mut commands = workload.creations();
    commands.extend((0..WRITES).map(|_| workload.write()));
    let (_server, mut connection) = start().connected();
    make(&mut connection, &commands);
    let keys = (0..KEYS).map(|number| {
        let key = format!("{}:{number}", family.name);
        let chunks = family.chunks(&mut connection, &key).into_iter();
        let chunks = chunks.map(|(position, data)| json!([position, BASE64_STANDARD.encode(data)]));
        let chunks: Vec<_> = chunks.collect();
        let dump = BASE64_STANDARD.encode(body(&mut connection, &key));
        (key, json!({"dump": dump, "chunks": chunks}))
    });
    let keys: Value = keys.collect();
    let words = |command: &Command| command.iter().map(|word| to_json(word)).collect();
    let commands: Vec<Vec<_>> = commands.iter().map(words).collect();
    let file = json!({"version": env!("CARGO_PKG_VERSION"), "commands": commands, "keys": keys});
    let path = path(family);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, serde_json::to_vec(&file).expect("JSON")).expect("a file");
}

/// Keys that the same commands make otherwise since 1.0.0: t-digests whose samples repeat, because they were merged with themselves or
/// with such digests. Their recorded payloads load and save unchanged.
const MADE_OTHERWISE: &[&str] = &["tdigest:1", "tdigest:3", "tdigest:4"];

#[test]
fn recorded_keys_load_and_save_unchanged() {
    let (_server, mut connection) = start().connected();
    let mut made_otherwise = Vec::new();
    for family in FAMILIES {
        let path = path(family);
        if std::env::var_os("ROUGHLY_RECORD").is_some() && !path.exists() {
            freeze(family);
        }
        let file = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file: Value = serde_json::from_slice(&file).expect("JSON");
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let command = |command: &Value| list(command).iter().map(from_json).collect();
        let commands: Vec<Command> = list(&file["commands"]).iter().map(command).collect();
        let keys = file["keys"].as_object().expect("keys");
        assert!(commands.len() > 100 && keys.len() > 5);
        connection.ok("FLUSHALL SYNC");
        make(&mut connection, &commands);
        for (key, recorded) in keys {
            let dump = base64(&recorded["dump"]);
            let chunk = |chunk: &Value| (chunk[0].as_i64().expect("a number"), base64(&chunk[1]));
            let recorded_chunks: Vec<_> = list(&recorded["chunks"]).iter().map(chunk).collect();
            // Created by the same commands.
            if body(&mut connection, key) == dump {
                let is_same = family.chunks(&mut connection, key) == recorded_chunks;
                assert!(is_same, "chunks of {key}");
            } else {
                made_otherwise.push(key.clone());
            }
            // Restored from the payload and from chunks.
            let mut footed = dump.clone();
            footed.extend([0; FOOTER_BYTES]);
            let restored = connection.replace("restored", &with_footer(footed));
            assert!(restored.is_ok(), "{key}: {restored}");
            let is_same = body(&mut connection, "restored") == dump;
            assert!(is_same, "{key} after RESTORE");
            connection.call("DEL loaded");
            for (position, data) in &recorded_chunks {
                let reply = family.load(&mut connection, "loaded", position, data);
                assert!(reply.is_ok(), "{key}: {reply}");
            }
            assert!(!recorded_chunks.is_empty() || family.has_no_chunks_when_empty);
            if !recorded_chunks.is_empty() {
                assert!(body(&mut connection, "loaded") == dump, "{key} from chunks");
            }
        }
    }
    assert_eq!(made_otherwise, MADE_OTHERWISE);
}
