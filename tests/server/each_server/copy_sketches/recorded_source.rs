//! A simulated server with the keys that were recorded from RedisBloom or valkey-bloom. It replies to the commands that
//! scripts/copy-sketches sends to a source.

use crate::families::Family;
use crate::golden_dumps::Key;
use crate::support::resp::{Connection, Reply};
use crate::valkey::recorded_keys;
use crc::{CRC_64_REDIS, Crc};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// RDB version that no server accepts.
const RDB_VERSION: u16 = 9999;
/// Bytes at the end of a payload: RDB version and CRC64.
const FOOTER_BYTES: usize = 10;

/// A key of the simulated server.
struct Stored {
    name: Vec<u8>,
    type_name: &'static str,
    payload: Vec<u8>,
    chunks: Vec<(i64, Vec<u8>)>,
    /// The reply to BF.INFO.
    info: Vec<u8>,
}

/// The module of the simulated server, and its keys.
struct Contents {
    /// Whether the module has this command.
    has_command: fn(&str) -> bool,
    keys: Vec<Stored>,
}

/// The simulated server.
#[derive(Debug)]
pub struct RecordedSource {
    port: u16,
}

impl RecordedSource {
    /// Starts a server with RedisBloom and these keys. `change` changes the payloads, without their footers.
    pub fn start(keys: &[(&'static Family, Key)], change: impl Fn(Vec<u8>) -> Vec<u8>) -> Self {
        let stored = keys.iter().map(|(family, key)| {
            let body = key.payload[..key.payload.len() - FOOTER_BYTES].to_vec();
            Stored {
                name: key.name.clone().into_bytes(),
                type_name: family.type_name,
                payload: with_footer(change(body)),
                chunks: key.chunks.clone().unwrap_or_default(),
                info: unknown(),
            }
        });
        Self::serve(Contents {
            has_command: |name| !name.starts_with("SKETCH."),
            keys: stored.collect(),
        })
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
            payload: with_footer(key.payload[..key.payload.len() - FOOTER_BYTES].to_vec()),
            chunks: Vec::new(),
            info: encoded(&change(&key.name, key.info().clone())),
        });
        Self::serve(Contents {
            has_command: |name| name == "BF.ADD",
            keys: stored.collect(),
        })
    }

    fn serve(contents: Contents) -> Self {
        let contents = Arc::new(contents);
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        // The thread ends with the test program.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let contents = Arc::clone(&contents);
                thread::spawn(move || serve(&contents, stream.expect("a connection")));
            }
        });
        Self { port }
    }

    /// URL of the server.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

fn with_footer(mut body: Vec<u8>) -> Vec<u8> {
    body.extend_from_slice(&RDB_VERSION.to_le_bytes());
    let checksum = Crc::<u64>::new(&CRC_64_REDIS).checksum(&body);
    body.extend_from_slice(&checksum.to_le_bytes());
    body
}

/// Replies to the commands of a connection until it ends.
fn serve(contents: &Contents, stream: TcpStream) {
    let mut client = Connection::accepted(stream).expect("a connection");
    while let Ok(request) = client.read() {
        let arguments: Vec<_> = request
            .items()
            .expect("a command")
            .iter()
            .filter_map(Reply::text)
            .collect();
        client
            .write_raw(&reply(contents, &arguments))
            .expect("a reply is sent");
    }
}

fn reply(contents: &Contents, arguments: &[&[u8]]) -> Vec<u8> {
    let keys = &contents.keys;
    let find = || {
        keys.iter()
            .find(|key| arguments.get(1) == Some(&&*key.name))
    };
    let command = String::from_utf8_lossy(arguments[0]);
    match &*command {
        "INFO" if arguments[1] == b"keyspace" => bulk(b"# Keyspace\r\ndb0:keys=1\r\n"),
        "INFO" => bulk(b"# Section\r\nrun_id:recorded\r\ncluster_enabled:0\r\n"),
        "COMMAND" if !(contents.has_command)(&String::from_utf8_lossy(arguments[2])) => {
            b"*1\r\n*-1\r\n".to_vec()
        }
        "COMMAND" => b"*1\r\n*1\r\n$11\r\nbf.scandump\r\n".to_vec(),
        "SCAN" => scan(keys, arguments),
        "PTTL" => b":-1\r\n".to_vec(),
        "MEMORY" => b":1000\r\n".to_vec(),
        "DUMP" => find().map_or_else(|| b"$-1\r\n".to_vec(), |key| bulk(&key.payload)),
        "BF.INFO" => find().map_or_else(unknown, |key| key.info.clone()),
        "BF.SCANDUMP" | "CF.SCANDUMP" => find().map_or_else(unknown, |key| chunk(key, arguments)),
        _ => unknown(),
    }
}

fn unknown() -> Vec<u8> {
    b"-ERR unknown command\r\n".to_vec()
}

/// A recorded reply, encoded.
fn encoded(reply: &Value) -> Vec<u8> {
    let value = &reply[1];
    match reply[0].as_str() {
        Some("arr") => {
            let items = value.as_array().expect("items");
            let start = format!("*{}\r\n", items.len()).into_bytes();
            items
                .iter()
                .map(encoded)
                .fold(start, |all, item| [all, item].concat())
        }
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

/// The names of all keys of the type.
fn scan(keys: &[Stored], arguments: &[&[u8]]) -> Vec<u8> {
    let place = arguments.iter().position(|argument| *argument == b"TYPE");
    let wanted = arguments[place.expect("a type") + 1];
    let names: Vec<_> = keys
        .iter()
        .filter(|key| key.type_name.as_bytes() == wanted)
        .map(|key| bulk(&key.name))
        .collect();
    let start = format!("*2\r\n$1\r\n0\r\n*{}\r\n", names.len()).into_bytes();
    [start, names.concat()].concat()
}

/// The chunk that follows an iterator.
fn chunk(key: &Stored, arguments: &[&[u8]]) -> Vec<u8> {
    let iterator = String::from_utf8_lossy(arguments[2])
        .parse()
        .expect("an iterator");
    let next = match iterator {
        0 => key.chunks.first(),
        after => {
            let place = key
                .chunks
                .iter()
                .position(|(iterator, _)| *iterator == after);
            key.chunks.get(place.expect("an iterator") + 1)
        }
    };
    match next {
        None => b"*2\r\n:0\r\n$-1\r\n".to_vec(),
        Some((iterator, data)) => {
            let start = format!("*2\r\n:{iterator}\r\n").into_bytes();
            [start, bulk(data)].concat()
        }
    }
}
