//! Pipelined load: repeats one command with different items over several connections.
//!
//! One thread serves all connections: while it reads the replies to one batch, the server executes the
//! others. Replies are only counted. An error reply ends the benchmark, so that no errors are measured.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Number of connections.
const CONNECTIONS: usize = 8;
/// Maximum number of pipelined commands per connection.
const MAX_PIPELINED_COMMANDS: usize = 64;
/// Maximum number of pipelined arguments per connection. Fewer commands with many arguments are pipelined.
const MAX_PIPELINED_ARGUMENTS: usize = 6_400;
/// Digits of a generated number.
const DIGITS: usize = 12;
/// Placeholder of a random number in a command.
const RANDOM: u8 = b'#';
/// Placeholder of the next number of the connections' sequence.
const NEXT: u8 = b'@';

/// Uniform numbers, the same in every run: a linear congruential generator modulo 2^64 with the constants of Knuth's MMIX.
#[derive(Debug)]
struct Numbers(u64);

impl Numbers {
    /// The next number in `0..end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

/// A command that is sent with different numbers each time, such as `BF.ADD key item:#`.
#[derive(Debug, Clone)]
pub struct Load {
    arguments: Vec<String>,
    /// Number of times to send the command.
    pub commands: usize,
    /// Random numbers are uniform in `0..range`.
    range: u64,
}

impl Load {
    /// Parses a load such as `30000 1000000 CMS.INCRBY k 50× item:# 3`: 30,000 commands with random numbers below 1,000,000. The arguments after
    /// `50×` are repeated. Each `#` is replaced by a random number, each `@` by the next number from 0 on; both have twelve digits.
    pub fn parse(text: &str) -> Self {
        let mut words = text.split(' ');
        let mut number = || {
            words
                .next()
                .and_then(|word| word.parse().ok())
                .expect("a number")
        };
        let (commands, range) = (number(), number());
        let mut arguments: Vec<String> = words.map(str::to_owned).collect();
        if let Some(at) = arguments.iter().position(|word| word.ends_with('×')) {
            let repeated = arguments.split_off(at);
            let times: usize = repeated[0].trim_end_matches('×').parse().expect("a number");
            let count = times * (repeated.len() - 1);
            arguments.extend(repeated[1..].iter().cycle().take(count).cloned());
        }
        Self {
            arguments,
            commands: commands as usize,
            range,
        }
    }

    /// Name of the command.
    pub fn command(&self) -> &str {
        &self.arguments[0]
    }

    fn depth(&self) -> usize {
        (MAX_PIPELINED_ARGUMENTS / self.arguments.len()).clamp(1, MAX_PIPELINED_COMMANDS)
    }
}

/// A batch of one command in RESP.
struct Batch {
    bytes: Vec<u8>,
    /// The offset of each number, and whether it is random.
    numbers: Vec<(usize, bool)>,
    command_bytes: usize,
}

impl Batch {
    fn new(load: &Load) -> Self {
        let mut bytes = format!("*{}\r\n", load.arguments.len()).into_bytes();
        let mut numbers = Vec::new();
        for argument in &load.arguments {
            let is_number = |byte| byte == RANDOM || byte == NEXT;
            let in_argument = argument.bytes().filter(|&byte| is_number(byte)).count();
            let len = argument.len() + in_argument * (DIGITS - 1);
            bytes.extend_from_slice(format!("${len}\r\n").as_bytes());
            for byte in argument.bytes() {
                if is_number(byte) {
                    numbers.push((bytes.len(), byte == RANDOM));
                    bytes.resize(bytes.len() + DIGITS, b'0');
                } else {
                    bytes.push(byte);
                }
            }
            bytes.extend_from_slice(b"\r\n");
        }
        let command_bytes = bytes.len();
        let places = (0..load.depth())
            .flat_map(|i| {
                (numbers.iter()).map(move |&(at, random)| (i * command_bytes + at, random))
            })
            .collect();
        Self {
            bytes: bytes.repeat(load.depth()),
            numbers: places,
            command_bytes,
        }
    }

    /// Replaces the numbers of the first `commands` commands and returns the bytes of these commands.
    fn next(
        &mut self,
        commands: usize,
        load: &Load,
        numbers: &mut Numbers,
        next: &mut u64,
    ) -> &[u8] {
        let end = commands * self.command_bytes;
        for &(at, is_random) in self.numbers.iter().take_while(|(at, _)| *at < end) {
            let mut number = match is_random {
                true => numbers.below(load.range),
                false => {
                    *next += 1;
                    *next - 1
                }
            };
            for digit in self.bytes[at..at + DIGITS].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        &self.bytes[..end]
    }
}

/// Numbers of replies, including the elements of arrays.
#[derive(Debug, Default, Clone, Copy)]
pub struct Replies {
    all: usize,
    /// Integers above 0: items that are new or found, counts.
    positive: usize,
}

impl Replies {
    /// Whether two servers replied alike to the same commands. The positive integers may differ by 1 % of the replies: the
    /// order of the connections and random decisions affect them.
    pub fn are_similar(self, other: Self) -> bool {
        self.all == other.all && self.positive.abs_diff(other.positive) <= self.all / 100
    }
}

/// The connections that send a load.
#[derive(Debug)]
pub struct Connections {
    streams: Vec<BufReader<TcpStream>>,
    numbers: Numbers,
    /// The next number of the sequence.
    next: u64,
    /// The replies to all loads.
    pub replies: Replies,
}

impl Connections {
    /// Connects to a local server. The seed selects the items to send.
    pub fn open(port: u16, seed: u64) -> Self {
        let streams = (0..CONNECTIONS).map(|_| {
            let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            stream.set_nodelay(true).expect("an option of the socket");
            BufReader::with_capacity(1 << 16, stream)
        });
        Self {
            streams: streams.collect(),
            numbers: Numbers(seed),
            next: 0,
            replies: Replies::default(),
        }
    }

    /// Begins the sequence of numbers again.
    pub fn restart_sequence(&mut self) {
        self.next = 0;
    }

    /// Sends the whole load and waits for the last reply.
    pub fn run(&mut self, load: &Load) {
        let mut batch = Batch::new(load);
        let mut pending = [0; CONNECTIONS];
        let (mut unsent, mut unread) = (load.commands, load.commands);
        while unread > 0 {
            for (stream, pending) in self.streams.iter_mut().zip(&mut pending) {
                for _ in 0..*pending {
                    read_reply(stream, load, &mut self.replies);
                }
                unread -= *pending;
                *pending = unsent.min(load.depth());
                if *pending > 0 {
                    let bytes = batch.next(*pending, load, &mut self.numbers, &mut self.next);
                    stream.get_mut().write_all(bytes).expect("a connection");
                }
                unsent -= *pending;
            }
        }
    }
}

/// Reads and counts one reply with its nested elements.
fn read_reply(stream: &mut BufReader<TcpStream>, load: &Load, replies: &mut Replies) {
    let mut unread = 1;
    let mut line = Vec::with_capacity(32);
    while unread > 0 {
        unread -= 1;
        replies.all += 1;
        line.clear();
        stream.read_until(b'\n', &mut line).expect("a reply");
        let text = String::from_utf8_lossy(line.get(1..).unwrap_or_default());
        let number = || text.trim_end().parse::<i64>().expect("a number");
        match line.first() {
            Some(b'-') => panic!("{} replied {}", load.command(), text.trim_end()),
            Some(b'$') if number() >= 0 => {
                let mut bytes = (stream.by_ref()).take(number() as u64 + 2);
                std::io::copy(&mut bytes, &mut std::io::sink()).expect("a string");
            }
            Some(b'*') => unread += number().max(0),
            Some(b':') => replies.positive += usize::from(number() > 0),
            Some(b'$' | b'+') => {}
            _ => panic!("{} replied {text:?}", load.command()),
        }
    }
}
