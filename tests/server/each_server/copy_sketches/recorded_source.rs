//! A simulated server with the keys that were recorded from RedisBloom or valkey-bloom. It replies to the commands that
//! scripts/copy-sketches sends to a source.

use crate::families::Family;
use crate::golden_dumps::Key;
use crate::support::resp::{Connection, Reply};
use crate::valkey::recorded_keys;
use crc::{CRC_64_REDIS, Crc};
use serde_json::Value;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

/// RDB version that no server accepts.
const RDB_VERSION: u16 = 9999;
/// Bytes at the end of a payload: RDB version and CRC64.
const FOOTER_BYTES: usize = 10;
const UNKNOWN: &[u8] = b"-ERR unknown command\r\n";

/// A key of the simulated server.
struct Stored {
    name: Vec<u8>,
    type_name: &'static str,
    payload: Vec<u8>,
    chunks: Vec<(i64, Vec<u8>)>,
    /// The reply to BF.INFO.
    info: Vec<u8>,
}

/// The simulated server.
#[derive(Debug)]
pub struct RecordedSource {
    port: u16,
}

impl RecordedSource {
    /// Starts a server with RedisBloom and these keys. `change` changes the payloads, without their footers.
    pub fn start(keys: &[(&'static Family, Key)], change: impl Fn(Vec<u8>) -> Vec<u8>) -> Self {
        let stored = keys.iter().map(|(family, key)| Stored {
            name: key.name.clone().into_bytes(),
            type_name: family.type_name,
            payload: with_footer(&key.payload, &change),
            chunks: key.chunks.clone().unwrap_or_default(),
            info: UNKNOWN.to_vec(),
        });
        Self::serve(|name| !name.starts_with(b"SKETCH."), stored.collect())
    }

    /// Starts a server with valkey-bloom and all keys that were recorded from it.
    pub fn of_valkey_bloom() -> Self {
        Self::of_valkey_bloom_with(|_, info| info)
    }

    /// As [`RecordedSource::of_valkey_bloom`]. `change` changes the reply to BF.INFO of a key.
    pub fn of_valkey_bloom_with(change: impl Fn(&str, Value) -> Value) -> Self {
        let stored = recorded_keys::keys().iter().map(|key| Stored {
            name: key.name.clone().into_bytes(),
            type_name: "bloomfltr",
            payload: with_footer(&key.payload, |body| body),
            chunks: Vec::new(),
            info: encoded(&change(&key.name, key.info().clone())),
        });
        Self::serve(|name| name == b"BF.ADD", stored.collect())
    }

    /// Starts a server with these keys, whose module has some commands.
    fn serve(has_command: fn(&[u8]) -> bool, keys: Vec<Stored>) -> Self {
        let keys = Arc::new(keys);
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        // The threads end with the test program.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let keys = Arc::clone(&keys);
                let stream = stream.expect("a connection");
                thread::spawn(move || {
                    let mut client = Connection::accepted(stream).expect("a connection");
                    while let Ok(request) = client.read() {
                        let arguments = request.items().expect("a command").iter();
                        let arguments: Vec<_> = arguments.filter_map(Reply::text).collect();
                        let reply = reply(has_command, &keys, &arguments);
                        client.write_raw(&reply).expect("a reply is sent");
                    }
                });
            }
        });
        Self { port }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

/// A recorded payload with another footer. `change` changes it without its footer.
fn with_footer(payload: &[u8], change: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let mut body = change(payload[..payload.len() - FOOTER_BYTES].to_vec());
    body.extend_from_slice(&RDB_VERSION.to_le_bytes());
    let checksum = Crc::<u64>::new(&CRC_64_REDIS).checksum(&body);
    body.extend_from_slice(&checksum.to_le_bytes());
    body
}

fn reply(has_command: fn(&[u8]) -> bool, keys: &[Stored], arguments: &[&[u8]]) -> Vec<u8> {
    let name = arguments.get(1).copied().unwrap_or_default();
    let key = keys.iter().find(|key| key.name == name);
    match (arguments[0], key) {
        (b"INFO", _) => bulk(b"# Keyspace\r\ndb0:keys=1\r\nrun_id:recorded\r\n"),
        (b"COMMAND", _) => array(arguments[2..].iter().map(|name| match has_command(name) {
            true => b"*1\r\n:1\r\n".to_vec(),
            false => b"*-1\r\n".to_vec(),
        })),
        (b"SCAN", _) => {
            let place = arguments.iter().position(|argument| *argument == b"TYPE");
            let wanted = arguments[place.expect("a type") + 1];
            let found = keys.iter().filter(|key| key.type_name.as_bytes() == wanted);
            array([bulk(b"0"), array(found.map(|key| bulk(&key.name)))].into_iter())
        }
        (b"PTTL", _) => b":-1\r\n".to_vec(),
        (b"MEMORY", _) => b":1000\r\n".to_vec(),
        (b"DUMP", Some(key)) => bulk(&key.payload),
        (b"BF.INFO", Some(key)) => key.info.clone(),
        (b"BF.SCANDUMP" | b"CF.SCANDUMP", Some(key)) => chunk(key, arguments[2]),
        _ => UNKNOWN.to_vec(),
    }
}

fn encoded(reply: &Value) -> Vec<u8> {
    let value = &reply[1];
    match reply[0].as_str() {
        Some("arr") => array(value.as_array().expect("items").iter().map(encoded)),
        Some("int") => format!(":{value}\r\n").into_bytes(),
        Some("null") => b"$-1\r\n".to_vec(),
        Some("str" | "bulk") => bulk(value.as_str().expect("a text").as_bytes()),
        kind => panic!("a reply of the kind {kind:?}"),
    }
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    let start = format!("${}\r\n", bytes.len()).into_bytes();
    [&start, bytes, b"\r\n"].concat()
}

fn array(items: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let items: Vec<_> = items.collect();
    [format!("*{}\r\n", items.len()).into_bytes(), items.concat()].concat()
}

/// The chunk that follows an iterator.
fn chunk(key: &Stored, iterator: &[u8]) -> Vec<u8> {
    let iterator = String::from_utf8_lossy(iterator).parse::<i64>();
    let mut chunks = key.chunks.iter();
    match iterator.expect("an iterator") {
        0 => {}
        last => assert!(chunks.any(|(iterator, _)| *iterator == last)),
    }
    let (next, chunk) = match chunks.next() {
        None => (0, b"$-1\r\n".to_vec()),
        Some((next, chunk)) => (*next, bulk(chunk)),
    };
    array([format!(":{next}\r\n").into_bytes(), chunk].into_iter())
}
