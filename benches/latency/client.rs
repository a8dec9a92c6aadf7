//! The load: one thread, several connections, at most one pending command per connection.
//!
//! In the open loop, command i is due at start + i / rate, whether or not the server has replied to the commands
//! before it. A command that finds no free connection waits in the client. Its latency is the time of the reply minus
//! the time at which the command was due, so a pause of the server counts for every command that was due during the pause.

use crate::request::Request;
use hdrhistogram::Histogram;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Number of connections.
pub const CONNECTIONS: usize = 8;
/// Shortest interval without progress of the client that is recorded: the system ran other threads.
const MIN_GAP: Duration = Duration::from_micros(100);

/// A time interval.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub start: Instant,
    pub end: Instant,
}

impl Interval {
    /// Length in ns.
    pub fn ns(&self) -> u64 {
        self.end.duration_since(self.start).as_nanos() as u64
    }

    /// Length of the common part in ns.
    pub fn overlap_ns(&self, other: &Self) -> u64 {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        end.saturating_duration_since(start).as_nanos() as u64
    }
}

/// What the client measured.
#[derive(Debug)]
pub struct Latencies {
    /// Latencies in ns.
    pub histogram: Histogram<u64>,
    /// The largest pause of the server.
    pub longest: Pause,
}

/// A latency: from the time at which a command was due to its reply.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    pub interval: Interval,
    /// Time in ns within the interval at which the client did not run.
    pub client_ns: u64,
}

impl Pause {
    /// The latency without the time at which the client did not run, in ns.
    pub fn server_ns(&self) -> u64 {
        self.interval.ns() - self.client_ns
    }
}

/// An empty histogram of latencies in ns, up to a minute.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("valid bounds")
}

struct Pending {
    due: Instant,
    connection: usize,
}

/// The connections of the load.
#[derive(Debug)]
pub struct Client {
    streams: Vec<TcpStream>,
    buffers: Vec<Vec<u8>>,
}

impl Client {
    /// Connects to a local server.
    ///
    /// # Panics
    /// If the server refuses a connection.
    pub fn connect(port: u16) -> Self {
        let streams = (0..CONNECTIONS).map(|_| {
            let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            stream.set_nodelay(true).expect("an option of the socket");
            let result = stream.set_nonblocking(true);
            result.expect("an option of the socket");
            stream
        });
        Self {
            streams: streams.collect(),
            buffers: vec![Vec::new(); CONNECTIONS],
        }
    }

    /// Sends a command on each connection as soon as the reply to the previous one is read. Returns the number of
    /// commands per second.
    ///
    /// # Panics
    /// If a connection breaks or a reply is an error.
    pub fn closed_loop(&mut self, request: &mut Request, time: Duration) -> f64 {
        let start = Instant::now();
        let mut commands = 0u64;
        for connection in 0..CONNECTIONS {
            self.send(connection, request);
        }
        let mut pending = CONNECTIONS;
        while pending > 0 {
            for connection in 0..CONNECTIONS {
                if self.receive(connection) {
                    commands += 1;
                    match start.elapsed() < time {
                        true => self.send(connection, request),
                        false => pending -= 1,
                    }
                }
            }
        }
        commands as f64 / start.elapsed().as_secs_f64()
    }

    /// Sends commands at a fixed rate until `is_over`, which is called with the time since the start about every
    /// millisecond, and waits for the replies to all of them.
    ///
    /// # Panics
    /// If a connection breaks or a reply is an error.
    pub fn open_loop(
        &mut self,
        request: &mut Request,
        per_second: f64,
        mut is_over: impl FnMut(Duration) -> bool,
    ) -> Latencies {
        let interval = Duration::from_secs_f64(1.0 / per_second);
        let mut free: Vec<usize> = (0..CONNECTIONS).collect();
        let mut pending: VecDeque<Pending> = VecDeque::with_capacity(CONNECTIONS);
        let mut histogram = histogram();
        let mut gaps: Vec<Interval> = Vec::new();
        let start = Instant::now();
        let mut longest = Pause {
            interval: Interval { start, end: start },
            client_ns: 0,
        };
        let (mut due, mut now, mut next_check) = (start, start, start);
        let mut stop = false;
        while !stop || !pending.is_empty() {
            let previous = std::mem::replace(&mut now, Instant::now());
            if now - previous >= MIN_GAP {
                let (start, end) = (previous, now);
                gaps.push(Interval { start, end });
            }
            if now >= next_check && !stop {
                stop = is_over(now - start);
                next_check = now + Duration::from_millis(1);
            }
            if due <= now
                && !stop
                && let Some(connection) = free.pop()
            {
                self.send(connection, request);
                pending.push_back(Pending { due, connection });
                due += interval;
            }
            let mut i = 0;
            while i < pending.len() {
                if !self.receive(pending[i].connection) {
                    i += 1;
                    continue;
                }
                let Pending { due, connection } = pending.remove(i).expect("a pending command");
                let (start, end) = (due, Instant::now());
                let interval = Interval { start, end };
                histogram.saturating_record(interval.ns());
                let during = gaps.iter().rev().take_while(|gap| gap.end > start);
                let client_ns = during.map(|gap| interval.overlap_ns(gap)).sum();
                let pause = Pause {
                    interval,
                    client_ns,
                };
                if pause.server_ns() > longest.server_ns() {
                    longest = pause;
                }
                free.push(connection);
            }
        }
        Latencies { histogram, longest }
    }

    fn send(&mut self, connection: usize, request: &mut Request) {
        // A request is smaller than the buffer of the socket, and the previous one was read.
        let result = self.streams[connection].write_all(request.next());
        result.expect("a connection");
    }

    /// Reads what has arrived. Returns whether it completes a reply.
    fn receive(&mut self, connection: usize) -> bool {
        let mut bytes = [0; 512];
        match self.streams[connection].read(&mut bytes) {
            Ok(0) => panic!("the server closed a connection"),
            Ok(length) => {
                let buffer = &mut self.buffers[connection];
                buffer.extend_from_slice(&bytes[..length]);
                let is_complete = reply_len(buffer).is_some_and(|length| length == buffer.len());
                if is_complete {
                    buffer.clear();
                }
                is_complete
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => panic!("a connection failed: {error}"),
        }
    }
}

/// The length of the reply at the start of `bytes`; `None` if it is incomplete.
///
/// # Panics
/// If it is an error.
fn reply_len(bytes: &[u8]) -> Option<usize> {
    let line = bytes.windows(2).position(|end| end == b"\r\n")?;
    let text = String::from_utf8_lossy(&bytes[1..line]);
    let after = line + 2;
    let count = || text.parse::<i64>().expect("a length");
    match bytes[0] {
        b'+' | b':' => Some(after),
        b'$' => match usize::try_from(count()) {
            Ok(length) if bytes.len() < after + length + 2 => None,
            Ok(length) => Some(after + length + 2),
            Err(_) => Some(after),
        },
        b'*' => (0..count()).try_fold(after, |at, _| Some(at + reply_len(bytes.get(at..)?)?)),
        _ => panic!("the server replied {text:?}"),
    }
}
