//! A simulated primary: a full synchronization, then a stream of commands.

use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::support::time;
use std::net::TcpListener;
use std::time::Duration;

/// Timeout for data from the replica.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A primary of one replica. Closes the connection when it is dropped.
#[derive(Debug)]
pub struct Primary {
    replica: Connection,
    /// Size of the sent commands in bytes.
    offset: usize,
}

impl Primary {
    /// Makes the server a replica, and sends it this RDB file.
    pub fn of(replica: &Server, rdb: &[u8]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        replica.ok(&format!("REPLICAOF 127.0.0.1 {port}"));
        let (stream, _) = listener.accept().expect("a replica");
        let timeout = Some(time::limit(TIMEOUT));
        stream.set_read_timeout(timeout).expect("a timeout");
        stream.set_write_timeout(timeout).expect("a timeout");
        let mut primary = Self {
            replica: Connection::accepted(stream).expect("a connection"),
            offset: 0,
        };
        loop {
            let arguments = primary.read();
            let answer = match arguments[0].as_slice() {
                b"PING" => b"+PONG\r\n".to_vec(),
                b"REPLCONF" => b"+OK\r\n".to_vec(),
                b"PSYNC" => break,
                _ => b"-ERR unknown command\r\n".to_vec(),
            };
            primary.write(&answer);
        }
        let id = "0123456789abcdefghijklmnopqrstuv01234567";
        let head = format!("+FULLRESYNC {id} 0\r\n${}\r\n", rdb.len());
        primary.write(&[head.as_bytes(), rdb].concat());
        primary
    }

    /// Sends commands in the format of requests.
    pub fn send(&mut self, commands: &[u8]) {
        self.write(commands);
        self.offset += commands.len();
    }

    /// Waits until the replica has run all sent commands.
    pub fn wait(&mut self) {
        let wanted = self.offset;
        self.send(b"*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n");
        loop {
            let arguments = self.read();
            assert_eq!(arguments[..2], [b"REPLCONF".to_vec(), b"ACK".to_vec()]);
            let offset = String::from_utf8_lossy(&arguments[2]).parse::<usize>();
            if offset.expect("an offset") >= wanted {
                return;
            }
        }
    }

    /// The next command of the replica, in upper case.
    fn read(&mut self) -> Vec<Vec<u8>> {
        let skipped = self.replica.skip_newlines();
        let request = skipped.and_then(|()| self.replica.read());
        let request = request.expect("a command of the replica");
        let arguments = request.items().expect("a command").iter();
        let arguments = arguments.filter_map(Reply::text);
        arguments.map(<[u8]>::to_ascii_uppercase).collect()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.replica.write_raw(bytes).expect("a replica that reads");
    }
}
