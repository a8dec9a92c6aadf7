//! A simulated primary: a full synchronization, then a fixed stream of commands.

use crate::support::resp::{Connection, Reply};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

/// A primary for one replica.
#[derive(Debug)]
pub struct Primary {
    pub port: u16,
    /// Size of the command stream in bytes: the final offset of the replica.
    pub offset: usize,
    thread: JoinHandle<()>,
}

impl Primary {
    /// Waits for a replica and sends it this RDB file and these commands.
    pub fn start(rdb: Vec<u8>, commands: Vec<u8>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let offset = commands.len();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a replica");
            let mut replica = Connection::accepted(stream).expect("a connection");
            // Ends when the replica closes the connection.
            while let Ok(request) = replica.read() {
                let words: Vec<_> = request
                    .items()
                    .expect("a command")
                    .iter()
                    .filter_map(Reply::text)
                    .map(|word| word.to_ascii_uppercase())
                    .collect();
                let answer = match words[0].as_slice() {
                    b"PING" => b"+PONG\r\n".to_vec(),
                    b"REPLCONF" if words[1] == b"ACK" => continue,
                    b"REPLCONF" => b"+OK\r\n".to_vec(),
                    b"PSYNC" => {
                        let id = "0123456789abcdefghijklmnopqrstuv01234567";
                        let mut answer = format!("+FULLRESYNC {id} 0\r\n").into_bytes();
                        answer.extend(format!("${}\r\n", rdb.len()).into_bytes());
                        answer.extend_from_slice(&rdb);
                        answer.extend_from_slice(&commands);
                        answer
                    }
                    _ => b"-ERR unknown command\r\n".to_vec(),
                };
                replica.write_raw(&answer).expect("an answer");
            }
        });
        Self {
            port,
            offset,
            thread,
        }
    }

    /// Waits until the replica has closed the connection.
    pub fn join(self) {
        self.thread.join().expect("the primary");
    }
}
