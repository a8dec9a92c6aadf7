//! Sends one command per key, with several commands in flight.

use crate::support::resp::{Connection, Reply, request};

/// Number of commands in flight.
const BATCH: usize = 100;

/// Sends the command of each key and passes the replies to `receive`.
///
/// # Panics
/// If a reply is an error.
pub fn for_each_key(
    connection: &mut Connection,
    keys: usize,
    mut command: impl FnMut(usize) -> Vec<Vec<u8>>,
    mut receive: impl FnMut(Reply),
) {
    for first in (0..keys).step_by(BATCH) {
        let batch = first..keys.min(first + BATCH);
        for key in batch.clone() {
            send(connection, &command(key));
        }
        for _ in batch {
            let reply = connection.read().expect("a reply");
            assert!(!matches!(reply, Reply::Error(_)), "{reply}");
            receive(reply);
        }
    }
}

/// Sends a command. Does not copy a large last argument.
fn send(connection: &mut Connection, arguments: &[Vec<u8>]) {
    /// Below this size, one write is faster than three.
    const LARGE: usize = 1 << 16;
    let last = arguments.last().expect("a command");
    if last.len() < LARGE {
        connection
            .write_raw(&request(arguments))
            .expect("a connection");
        return;
    }
    let mut head = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in &arguments[..arguments.len() - 1] {
        head.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        head.extend_from_slice(argument);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(format!("${}\r\n", last.len()).as_bytes());
    for part in [&head, last, &b"\r\n"[..]] {
        connection.write_raw(part).expect("a connection");
    }
}
