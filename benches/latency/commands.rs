//! The measured commands, and the keys that they use.

use crate::load::{Connections, Load};
use crate::request::{Request, Source};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

/// A measured command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Name in the tables.
    pub name: &'static str,
    /// The command with its arguments; `#` is a random number.
    arguments: &'static str,
    /// The numbers are uniform in `0..range`.
    range: u64,
    /// Creates one of the small keys that are fragmented for the measurement of active defragmentation.
    pub small_key: &'static str,
}

impl Command {
    /// The request of the command, with random numbers.
    pub fn request(&self, seed: u64) -> Request {
        Request::new(self.arguments, Source::random(seed, self.range))
    }
}

/// A range so wide that few items are repeated.
const WIDE: u64 = 1_000_000_000;
/// Number of different items of the sketches that count them.
const COUNTED: u64 = 100_000;

const SMALL_BLOOM: &str = "BF.RESERVE d:# 0.01 500";
const SMALL_CUCKOO: &str = "CF.RESERVE d:# 512";
const SMALL_COUNT_MIN: &str = "CMS.INITBYDIM d:# 50 3";
const SMALL_TOP_K: &str = "TOPK.RESERVE d:# 10 50 3 0.9";
const SMALL_DIGEST: &str = "TDIGEST.CREATE d:# COMPRESSION 20";
const SMALL_STRING: &str = "SETRANGE d:# 500 x";

const fn command(
    name: &'static str,
    arguments: &'static str,
    range: u64,
    small_key: &'static str,
) -> Command {
    Command {
        name,
        arguments,
        range,
        small_key,
    }
}

/// A write and a read of each family and of strings.
pub const COMMANDS: [Command; 12] = [
    command("BF.ADD", "BF.ADD bf item:#", WIDE, SMALL_BLOOM),
    command("BF.EXISTS", "BF.EXISTS bf item:#", WIDE, SMALL_BLOOM),
    // Few enough different items that the filter does not grow.
    command("CF.ADD", "CF.ADD cf item:#", WIDE, SMALL_CUCKOO),
    command("CF.EXISTS", "CF.EXISTS cf item:#", WIDE, SMALL_CUCKOO),
    command(
        "CMS.INCRBY",
        "CMS.INCRBY cms item:# 1",
        WIDE,
        SMALL_COUNT_MIN,
    ),
    command("CMS.QUERY", "CMS.QUERY cms item:#", WIDE, SMALL_COUNT_MIN),
    command("TOPK.ADD", "TOPK.ADD topk item:#", COUNTED, SMALL_TOP_K),
    command("TOPK.QUERY", "TOPK.QUERY topk item:#", COUNTED, SMALL_TOP_K),
    command("TDIGEST.ADD", "TDIGEST.ADD digest #", WIDE, SMALL_DIGEST),
    command(
        "TDIGEST.QUANTILE",
        "TDIGEST.QUANTILE digest 0.99",
        WIDE,
        SMALL_DIGEST,
    ),
    command("SET", "SET string:# value:#", STRINGS, SMALL_STRING),
    command("GET", "GET string:#", STRINGS, SMALL_STRING),
];

/// Number of string keys.
const STRINGS: u64 = 300_000;

/// Creates the keys of all commands. The filters and the count-min sketch have 2^26 bytes (64 MiB) divided by
/// `divisor`; every page of them is written.
pub fn create_keys(server: &Server, divisor: u64) {
    let mut connection = server.resp2();
    let bytes = (1u64 << 26) / divisor;
    let capacity = (bytes as f64 * 8.0 / 14.3776) as u64;
    for command in [
        "FLUSHALL SYNC",
        &format!("BF.RESERVE bf 0.001 {capacity} NONSCALING"),
        &format!("CF.RESERVE cf {bytes}"),
        &format!("CMS.INITBYDIM cms {} 8", bytes / 32),
        "TOPK.RESERVE topk 1000 8000 7 0.9",
        "TDIGEST.CREATE digest COMPRESSION 1000",
    ] {
        call(&mut connection, command);
    }
    let hundreds = 20_000 / divisor as usize;
    let mut connections = Connections::open(server.port(), 1);
    for (command, arguments, range) in [
        ("BF.MADD bf", "item:#", WIDE),
        ("CF.INSERT cf ITEMS", "item:#", WIDE),
        ("CMS.INCRBY cms", "item:# 1", WIDE),
        ("TOPK.ADD topk", "item:#", COUNTED),
        ("TDIGEST.ADD digest", "#", WIDE),
    ] {
        connections.run(&Load::new(command, hundreds, range).with(100, arguments));
    }
    let mut set = Request::new("SET string:# value:#", Source::from(0));
    send_all(&mut connection, &mut set, STRINGS / divisor);
}

/// Sends a command, with arguments separated by spaces.
///
/// # Panics
/// If the reply is an error.
pub fn call(connection: &mut Connection, command: &str) -> Reply {
    let reply = connection.call(command);
    assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
    reply
}

/// Sends requests, pipelined.
///
/// # Panics
/// If a reply is an error.
pub fn send_all(connection: &mut Connection, request: &mut Request, count: u64) {
    const PIPELINED: u64 = 1_000;
    let mut rest = count;
    while rest > 0 {
        let batch = rest.min(PIPELINED);
        let bytes: Vec<u8> = (0..batch).flat_map(|_| request.next().to_vec()).collect();
        connection.write_raw(&bytes).expect("a connection");
        for _ in 0..batch {
            let reply = connection.read().expect("a reply");
            assert!(!matches!(reply, Reply::Error(_)), "{reply}");
        }
        rest -= batch;
    }
}
