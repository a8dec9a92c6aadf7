//! A RESP client that preserves the type of every reply, in RESP2 and RESP3.
//!
//! Client libraries convert replies, so that an integer `0`, a boolean and a bulk string `0` may become equal values.
//! This client converts nothing, so that tests compare the exact replies.

use super::time;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Timeout for a reply. Long, because a server with a sanitizer is slow.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The default of a new connection.
    Resp2,
    /// Selected with `HELLO 3`; adds types such as maps, booleans and doubles.
    Resp3,
}

impl Protocol {
    /// Both versions, for tests that check each of them.
    pub const BOTH: [Self; 2] = [Self::Resp2, Self::Resp3];
}

/// A reply without conversions. Strings are bytes, not necessarily UTF-8.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// `+`
    Simple(Vec<u8>),
    /// `-`
    Error(Vec<u8>),
    /// `:`
    Integer(i64),
    /// `$`
    Bulk(Vec<u8>),
    /// Null, with its type character: `$` or `*` (length -1) in RESP2, `_` in RESP3.
    Null(char),
    /// `*`
    Array(Vec<Reply>),
    /// `%`
    Map(Vec<(Reply, Reply)>),
    /// `~`
    Set(Vec<Reply>),
    /// `>`
    Push(Vec<Reply>),
    /// `#`
    Boolean(bool),
    /// `,`: the digits as sent.
    Double(String),
    /// `(`: the digits as sent.
    BigNumber(String),
    /// `=`: format and text.
    Verbatim(Vec<u8>),
}

impl Reply {
    pub fn is_ok(&self) -> bool {
        *self == Self::Simple(b"OK".to_vec())
    }

    /// The items of an array, set or push.
    pub fn items(&self) -> Option<&[Reply]> {
        match self {
            Self::Array(items) | Self::Set(items) | Self::Push(items) => Some(items),
            _ => None,
        }
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }

    /// A string, with replacement characters for what is not UTF-8.
    #[track_caller]
    pub fn string(&self) -> String {
        let text = self.text().unwrap_or_else(|| panic!("no string: {self}"));
        String::from_utf8_lossy(text).into_owned()
    }

    #[track_caller]
    pub fn strings(&self) -> Vec<String> {
        let items = self.items().unwrap_or_else(|| panic!("no array: {self}"));
        items.iter().map(Self::string).collect()
    }

    pub fn integers(&self) -> Vec<i64> {
        let items = self.items().unwrap_or_else(|| panic!("no array: {self}"));
        items.iter().filter_map(Self::integer).collect()
    }

    /// The number of elements of an array that are 1.
    pub fn ones(&self) -> usize {
        self.integers().into_iter().filter(|&n| n == 1).count()
    }

    /// The integer in a field.
    pub fn number(&self, field: &str) -> i64 {
        let number = self.field(field).and_then(Self::integer);
        number.unwrap_or_else(|| panic!("no number {field}: {self}"))
    }

    /// The value of a field in a map, or in an array of names and values.
    pub fn field(&self, name: &str) -> Option<&Reply> {
        if let Self::Map(pairs) = self {
            let mut pairs = pairs.iter();
            let pair = pairs.find(|(key, _)| key.text() == Some(name.as_bytes()));
            return pair.map(|(_, value)| value);
        }
        let mut pairs = self.items()?.chunks_exact(2);
        let pair = pairs.find(|pair| pair[0].text() == Some(name.as_bytes()))?;
        Some(&pair[1])
    }

    /// Removes a field from a map, or from an array of names and values.
    pub fn remove_field(&mut self, name: &str) {
        match self {
            Self::Map(pairs) => pairs.retain(|(key, _)| key.text() != Some(name.as_bytes())),
            Self::Array(items) => {
                let mut names = items.iter().step_by(2);
                if let Some(index) = names.position(|key| key.text() == Some(name.as_bytes())) {
                    items.drain(2 * index..(2 * index + 2).min(items.len()));
                }
            }
            _ => {}
        }
    }

    /// The bytes of a simple, bulk or verbatim string.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Simple(text) | Self::Bulk(text) | Self::Verbatim(text) => Some(text),
            _ => None,
        }
    }

    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }
}

pub fn error(text: &str) -> Reply {
    Reply::Error(text.as_bytes().to_vec())
}

/// Compact notation with the type characters of RESP, and brackets around aggregates: `+OK`, `-ERR no`, `:1`, `$text`, `_`
/// (or `$-1`, `*-1`), `#t`, `,0.5`, `*[:1 $a]`, `%{+Size :3}`, `~[..]`. [`Text`] escapes the bytes.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(text) => write!(f, "+{}", Text(text)),
            Self::Error(text) => write!(f, "-{}", Text(text)),
            Self::Integer(value) => write!(f, ":{value}"),
            Self::Bulk(text) => write!(f, "${}", Text(text)),
            Self::Null('_') => write!(f, "_"),
            Self::Null(form) => write!(f, "{form}-1"),
            Self::Array(items) => write!(f, "*[{}]", joined(items)),
            Self::Set(items) => write!(f, "~[{}]", joined(items)),
            Self::Push(items) => write!(f, ">[{}]", joined(items)),
            Self::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| format!("{key} {value}"));
                write!(f, "%{{{}}}", pairs.collect::<Vec<_>>().join(" "))
            }
            Self::Boolean(value) => write!(f, "#{}", if *value { "t" } else { "f" }),
            Self::Double(text) => write!(f, ",{text}"),
            Self::BigNumber(text) => write!(f, "({text}"),
            Self::Verbatim(text) => write!(f, "={}", Text(text)),
        }
    }
}

/// Displays bytes: printable ASCII unchanged, other bytes and the backslash escaped as in Rust.
#[derive(Debug)]
pub struct Text<'a>(pub &'a [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            match byte {
                b'\'' | b'"' => write!(f, "{}", char::from(*byte))?,
                _ => write!(f, "{}", byte.escape_ascii())?,
            }
        }
        Ok(())
    }
}

fn joined(items: &[Reply]) -> String {
    let items: Vec<_> = items.iter().map(Reply::to_string).collect();
    items.join(" ")
}

/// A connection to a server. Errors are those of the socket, and [`io::ErrorKind::InvalidData`] if a reply is not RESP, or the server
/// refuses the protocol.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to a local port. For RESP3, sends `HELLO 3`.
    pub fn open(port: u16, protocol: Protocol) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(time::limit(REPLY_TIMEOUT)))?;
        stream.set_write_timeout(Some(time::limit(REPLY_TIMEOUT)))?;
        let mut connection = Self {
            stream: BufReader::new(stream),
        };
        if protocol == Protocol::Resp3 {
            let hello = connection.try_send(&["HELLO", "3"])?;
            if !matches!(hello, Reply::Map(_)) {
                return Err(invalid(&format!("HELLO 3 replied {hello}")));
            }
        }
        Ok(connection)
    }

    /// Wraps an accepted connection, for tests that act as a server.
    pub fn accepted(stream: TcpStream) -> io::Result<Self> {
        // A client sends several commands at once, and would otherwise wait 40 ms for some replies.
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    pub fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Sends a command, with arguments separated by spaces, and waits for its reply.
    pub fn call(&mut self, command: &str) -> Reply {
        self.send(&command.split(' ').collect::<Vec<_>>())
    }

    /// Sends a command as [`Connection::call`]; the reply must not be an error.
    #[track_caller]
    pub fn run(&mut self, command: &str) -> Reply {
        let reply = self.call(command);
        assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
        reply
    }

    /// Sends a command as [`Connection::call`]; the reply must be `OK`.
    #[track_caller]
    pub fn ok(&mut self, command: &str) {
        let reply = self.call(command);
        assert!(reply.is_ok(), "{command}: {reply}");
    }

    /// Sends a command as [`Connection::call`]; the reply must have this text. If the text ends with `...`, it is only the beginning:
    /// `-...` is any error.
    #[track_caller]
    pub fn check(&mut self, command: &str, reply: impl AsRef<str>) {
        let (found, reply) = (self.call(command).to_string(), reply.as_ref());
        match reply.strip_suffix("...") {
            Some(start) => assert!(found.starts_with(start), "{command}: {found}, not {reply}"),
            None => assert_eq!(found, reply, "{command}"),
        }
    }

    /// Runs the lines of a text: [`Connection::check`] for `COMMAND => REPLY`, [`Connection::run`] for `COMMAND`. Empty lines and
    /// lines that begin with `#` are skipped.
    #[track_caller]
    pub fn check_all(&mut self, lines: &str) {
        let lines = lines.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.split_once(" => ") {
                Some((command, reply)) => self.check(command.trim_end(), reply),
                None => drop(self.run(line)),
            }
        }
    }

    /// Sends a command as [`Connection::send`]; the reply must not be an error.
    #[track_caller]
    pub fn send_run(&mut self, arguments: &[impl AsRef<[u8]>]) -> Reply {
        let reply = self.send(arguments);
        assert!(!reply.is_error(), "{}: {reply}", start_of(arguments));
        reply
    }

    /// Sends a command as [`Connection::send`]; the reply must be `OK`.
    #[track_caller]
    pub fn send_ok(&mut self, arguments: &[impl AsRef<[u8]>]) {
        let reply = self.send(arguments);
        assert!(reply.is_ok(), "{}: {reply}", start_of(arguments));
    }

    /// Sends RESTORE for a missing key, without a time to live.
    pub fn restore(&mut self, key: impl AsRef<[u8]>, payload: &[u8]) -> Reply {
        self.send(&[b"RESTORE", key.as_ref(), b"0", payload])
    }

    /// As [`Connection::restore`], for a key that may exist.
    pub fn replace(&mut self, key: impl AsRef<[u8]>, payload: &[u8]) -> Reply {
        self.send(&[b"RESTORE", key.as_ref(), b"0", payload, b"REPLACE"])
    }

    /// The payload that DUMP replies.
    #[track_caller]
    pub fn payload(&mut self, key: impl AsRef<[u8]>) -> Vec<u8> {
        match self.send(&[b"DUMP", key.as_ref()]) {
            Reply::Bulk(payload) => payload,
            other => panic!("DUMP {}: {other}", Text(key.as_ref())),
        }
    }

    /// The value of a field in a section of INFO; `None` if there is no such field.
    pub fn info(&mut self, section: &str, field: &str) -> Option<String> {
        let text = self.call(&format!("INFO {section}")).string();
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(':')?.to_owned()))
    }

    /// The names of the keys of the selected database.
    pub fn keys(&mut self) -> Vec<Vec<u8>> {
        let reply = self.call("KEYS *");
        let names = reply.items().expect("the keys").iter();
        let names = names.map(|name| name.text().expect("a name"));
        names.map(<[u8]>::to_vec).collect()
    }

    /// The keyspace events until that of the key `end`, as `KEY NAME`. The connection is subscribed to those of all keys.
    pub fn events(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        loop {
            let event = self.read().expect("an event").to_string();
            let (_, event) = event.rsplit_once("__:").expect("a key");
            if event.starts_with("end ") {
                return events;
            }
            events.push(event.trim_end_matches(']').replace('$', ""));
        }
    }

    /// Sends a command with arbitrary bytes as arguments and waits for its reply.
    pub fn send(&mut self, arguments: &[impl AsRef<[u8]>]) -> Reply {
        let reply = self.try_send(arguments);
        reply.unwrap_or_else(|error| panic!("no reply to {}: {error}", start_of(arguments)))
    }

    /// Like [`Connection::send`], for commands that may stop the server.
    pub fn try_send(&mut self, arguments: &[impl AsRef<[u8]>]) -> io::Result<Reply> {
        self.write(arguments)?;
        self.read()
    }

    /// Sends a command without waiting for its reply.
    pub fn write(&mut self, arguments: &[impl AsRef<[u8]>]) -> io::Result<()> {
        self.write_raw(&request(arguments))
    }

    pub fn read(&mut self) -> io::Result<Reply> {
        let line = self.line()?;
        let Some((kind, rest)) = line.split_first() else {
            return Err(invalid("an empty line"));
        };
        Ok(match kind {
            b'+' => Reply::Simple(rest.to_vec()),
            b'-' => Reply::Error(rest.to_vec()),
            b':' => Reply::Integer(number(rest)?),
            b'$' if rest == b"-1" => Reply::Null('$'),
            b'*' if rest == b"-1" => Reply::Null('*'),
            b'_' => Reply::Null('_'),
            b'$' => Reply::Bulk(self.bytes(number(rest)?)?),
            b'=' => Reply::Verbatim(self.bytes(number(rest)?)?),
            b'*' => Reply::Array(self.replies(number(rest)?)?),
            b'~' => Reply::Set(self.replies(number(rest)?)?),
            b'>' => Reply::Push(self.replies(number(rest)?)?),
            b'%' => Reply::Map(
                (0..number::<usize>(rest)?)
                    .map(|_| Ok((self.read()?, self.read()?)))
                    .collect::<io::Result<_>>()?,
            ),
            b'#' => Reply::Boolean(rest == b"t"),
            b',' => Reply::Double(rest.escape_ascii().to_string()),
            b'(' => Reply::BigNumber(rest.escape_ascii().to_string()),
            _ => return Err(invalid(&format!("unknown reply {}", line.escape_ascii()))),
        })
    }

    /// Skips newlines, which a replica sends to its primary while it loads.
    pub fn skip_newlines(&mut self) -> io::Result<()> {
        while self.stream.fill_buf()?.first() == Some(&b'\n') {
            self.stream.consume(1);
        }
        Ok(())
    }

    fn replies(&mut self, len: usize) -> io::Result<Vec<Reply>> {
        (0..len).map(|_| self.read()).collect()
    }

    /// Reads a line and removes its terminator.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\r\n") {
            let kind = io::ErrorKind::UnexpectedEof;
            return Err(io::Error::new(kind, "the server closed the connection"));
        }
        line.truncate(line.len() - 2);
        Ok(line)
    }

    fn bytes(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(len);
        Ok(bytes)
    }
}

/// The name and the first two arguments of a command, for messages.
fn start_of(arguments: &[impl AsRef<[u8]>]) -> String {
    let start: Vec<&[u8]> = arguments.iter().take(3).map(AsRef::as_ref).collect();
    Text(&start.join(&b' ')).to_string()
}

/// Encodes a command in RESP, the format of requests and of append-only files.
pub fn request(arguments: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        let argument = argument.as_ref();
        request.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        request.extend_from_slice(argument);
        request.extend_from_slice(b"\r\n");
    }
    request
}

fn number<N: std::str::FromStr>(digits: &[u8]) -> io::Result<N> {
    let number = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok());
    number.ok_or_else(|| invalid(&format!("expected a number: {}", digits.escape_ascii())))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
