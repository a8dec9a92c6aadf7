//! Pipelined load: the same command again and again, with other items each time, over a few connections.
//!
//! One thread keeps all connections supplied: while it reads the replies to one batch, the server works on
//! the others. Replies are counted, not kept; an error ends the bench, so that none is ever measured.

use crate::stream::Numbers;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Connections.
const CONNECTIONS: usize = 8;
/// Commands sent ahead on a connection.
const DEPTH: usize = 64;
/// Words sent ahead on a connection: commands with many are sent fewer at a time.
const WORDS_AHEAD: usize = 6_400;
/// Digits of a number in an item.
const DIGITS: usize = 12;
/// Stands for such a number in a command.
const NUMBER: u8 = b'#';

/// A command whose numbers differ each time: `BF.ADD key item:#`.
#[derive(Debug, Clone)]
pub struct Load {
    words: Vec<String>,
    /// How many times the command is sent.
    pub commands: usize,
    /// Numbers are in `0..range`, uniform.
    range: u64,
}

impl Load {
    /// The command, its arguments separated by spaces; each `#` becomes twelve digits of a number in
    /// `0..range`.
    pub fn new(command: &str, commands: usize, range: u64) -> Self {
        Self {
            words: command.split(' ').map(str::to_owned).collect(),
            commands,
            range,
        }
    }

    /// With some more arguments, repeated.
    pub fn with(mut self, times: usize, words: &str) -> Self {
        for _ in 0..times {
            self.words.extend(words.split(' ').map(str::to_owned));
        }
        self
    }

    /// The first argument.
    pub fn command(&self) -> &str {
        &self.words[0]
    }

    fn depth(&self) -> usize {
        (WORDS_AHEAD / self.words.len()).clamp(1, DEPTH)
    }
}

/// A batch of one command on the wire, and where its numbers stand.
struct Batch {
    bytes: Vec<u8>,
    numbers: Vec<usize>,
    command_bytes: usize,
}

impl Batch {
    fn new(load: &Load) -> Self {
        let mut bytes = format!("*{}\r\n", load.words.len()).into_bytes();
        let mut numbers = Vec::new();
        for word in &load.words {
            let more = word.bytes().filter(|&byte| byte == NUMBER).count() * (DIGITS - 1);
            bytes.extend_from_slice(format!("${}\r\n", word.len() + more).as_bytes());
            for byte in word.bytes() {
                if byte == NUMBER {
                    numbers.push(bytes.len());
                    bytes.extend_from_slice(&[b'0'; DIGITS]);
                } else {
                    bytes.push(byte);
                }
            }
            bytes.extend_from_slice(b"\r\n");
        }
        let command_bytes = bytes.len();
        let places = (0..load.depth())
            .flat_map(|i| numbers.iter().map(move |at| i * command_bytes + at))
            .collect();
        Self {
            bytes: bytes.repeat(load.depth()),
            numbers: places,
            command_bytes,
        }
    }

    /// Other numbers, and the bytes of so many commands.
    fn next(&mut self, commands: usize, range: u64, numbers: &mut Numbers) -> &[u8] {
        for &at in &self.numbers {
            let mut number = numbers.below(range);
            for digit in self.bytes[at..at + DIGITS].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        &self.bytes[..commands * self.command_bytes]
    }
}

/// The connections of a load.
#[derive(Debug)]
pub struct Connections {
    streams: Vec<BufReader<TcpStream>>,
    numbers: Numbers,
}

impl Connections {
    /// Opens them, to a server of this machine. The seed decides which items are sent.
    ///
    /// # Panics
    /// If the server does not take them.
    pub fn open(port: u16, seed: u64) -> Self {
        let streams = (0..CONNECTIONS).map(|_| {
            let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            stream.set_nodelay(true).expect("an option of the socket");
            BufReader::with_capacity(1 << 16, stream)
        });
        Self {
            streams: streams.collect(),
            numbers: Numbers(seed),
        }
    }

    /// Sends the whole load and waits for the last reply.
    ///
    /// # Panics
    /// If a connection breaks or a reply is an error.
    pub fn run(&mut self, load: &Load) {
        let mut batch = Batch::new(load);
        let mut owed = [0; CONNECTIONS];
        let (mut unsent, mut unread) = (load.commands, load.commands);
        while unread > 0 {
            for (stream, owed) in self.streams.iter_mut().zip(&mut owed) {
                for _ in 0..*owed {
                    skip_reply(stream, load);
                }
                unread -= *owed;
                *owed = unsent.min(load.depth());
                if *owed > 0 {
                    let bytes = batch.next(*owed, load.range, &mut self.numbers);
                    stream.get_mut().write_all(bytes).expect("a connection");
                }
                unsent -= *owed;
            }
        }
    }
}

/// Reads one reply, with all that is in it.
fn skip_reply(stream: &mut BufReader<TcpStream>, load: &Load) {
    let mut replies = 1;
    let mut line = Vec::with_capacity(32);
    while replies > 0 {
        replies -= 1;
        line.clear();
        stream.read_until(b'\n', &mut line).expect("a reply");
        let text = String::from_utf8_lossy(line.get(1..).unwrap_or_default());
        let length = || text.trim_end().parse::<i64>().expect("a length").max(-1);
        match line.first() {
            Some(b'-') => panic!("{} was answered {}", load.command(), text.trim_end()),
            Some(b'$') if length() >= 0 => {
                let mut bytes = (stream.by_ref()).take(length() as u64 + 2);
                std::io::copy(&mut bytes, &mut std::io::sink()).expect("a text");
            }
            Some(b'*') => replies += length().max(0),
            Some(b'$' | b':' | b'+') => {}
            _ => panic!("{} was answered {text:?}", load.command()),
        }
    }
}
