//! Seeded random writes of every family, for tests that compare servers afterwards.
//!
//! The commands are a function of the seed and do not depend on replies. Some of them fail (an existing key, sketches
//! of different sizes), and must fail on every server in the same way.

use crate::families::{FAMILIES, Family, one_per_family};
use crate::support::resp::{Connection, Reply};
use std::io;

/// A command: its name and arguments.
pub type Command = Vec<Vec<u8>>;

/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}

/// The arguments of a command, separated by spaces.
pub fn words(text: &str) -> Command {
    text.split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

fn item(random: &mut Random) -> Vec<u8> {
    match random.below(20) {
        0 => {
            let len = random.below(40) as usize;
            random.bytes(len)
        }
        1..10 => format!("item:{}", random.below(50)).into_bytes(),
        _ => format!("item:{}", random.below(100_000)).into_bytes(),
    }
}

/// A command with random items: the arguments of `start`, then the items, each followed by the arguments from
/// `after`.
pub fn with_items(
    start: &str,
    random: &mut Random,
    mut after: impl FnMut(&mut Random) -> Option<String>,
) -> Command {
    let mut command = words(start);
    for _ in 0..=random.below(20) {
        command.push(item(random));
        command.extend(after(random).map(String::into_bytes));
    }
    command
}

pub fn with_item(start: &str, random: &mut Random) -> Command {
    let mut command = words(start);
    command.push(item(random));
    command
}

/// A unit that a client sends at once and that the server executes completely or not at all.
#[derive(Debug, Clone)]
pub enum Unit {
    /// One command.
    Single(Command),
    /// MULTI, the commands, EXEC.
    Transaction(Vec<Command>),
    /// A script that runs the commands.
    Script(Vec<Command>),
}

/// ARGV contains for each command the number of its arguments and the arguments.
const RUN_ALL: &str = "local replies, at = {}, 1 \
    while at <= #ARGV do \
      local count, words = tonumber(ARGV[at]), {} \
      for i = 1, count do words[i] = ARGV[at + i] end \
      replies[#replies + 1] = redis.pcall(unpack(words)) \
      at = at + count + 1 \
    end \
    return replies";

impl Unit {
    /// The commands of the unit.
    pub fn sent(&self) -> Vec<Command> {
        match self {
            Self::Single(command) => vec![command.clone()],
            Self::Transaction(commands) => {
                let mut sent = vec![words("MULTI")];
                sent.extend(commands.iter().cloned());
                sent.push(words("EXEC"));
                sent
            }
            Self::Script(commands) => {
                let mut eval = vec![b"EVAL".to_vec(), RUN_ALL.as_bytes().to_vec(), b"0".to_vec()];
                for command in commands {
                    eval.push(command.len().to_string().into_bytes());
                    eval.extend(command.iter().cloned());
                }
                vec![eval]
            }
        }
    }

    /// Sends the unit. The reply is that of the command, of EXEC, or of the script.
    ///
    /// # Errors
    /// The error of the connection; the commands may or may not have run.
    pub fn send(&self, connection: &mut Connection) -> io::Result<Reply> {
        let sent = self.sent();
        for command in &sent {
            connection.write(command)?;
        }
        for _ in 1..sent.len() {
            connection.read()?;
        }
        connection.read()
    }
}

/// An endless stream of writes to several keys of each type.
pub struct Workload {
    random: Random,
    families: Vec<&'static Family>,
    /// Whether a command is left out.
    is_excluded: fn(&Command) -> bool,
    prefix: String,
    keys: u64,
}

impl Workload {
    /// A workload with `keys` keys per type, named `PREFIX FAMILY : NUMBER` without the spaces.
    pub fn new(seed: u64, prefix: &str, keys: u64) -> Self {
        Self {
            random: Random::new(seed),
            families: FAMILIES.iter().collect(),
            is_excluded: |_| false,
            prefix: prefix.to_owned(),
            keys,
        }
    }

    /// Restricts the workload to one type.
    pub fn of(self, family: &'static Family) -> Self {
        self.of_types([family])
    }

    /// Restricts the workload to the types of RedisBloom.
    pub fn one_per_family(self) -> Self {
        self.of_types(one_per_family())
    }

    /// Restricts the workload to these types.
    pub fn of_types(mut self, types: impl IntoIterator<Item = &'static Family>) -> Self {
        self.families = types.into_iter().collect();
        self
    }

    /// Leaves out the commands for which this is true.
    pub fn without(mut self, is_excluded: fn(&Command) -> bool) -> Self {
        self.is_excluded = is_excluded;
        self
    }

    fn name(&mut self, family: &Family) -> String {
        format!(
            "{}{}:{}",
            self.prefix,
            family.name,
            self.random.below(self.keys)
        )
    }

    /// The commands that create every key.
    pub fn creations(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        for family in self.families.clone() {
            for number in 0..self.keys {
                let key = format!("{}{}:{number}", self.prefix, family.name);
                commands.push(self.included(|random| (family.random.create)(random, &key)));
            }
        }
        commands
    }

    /// A write command of the module.
    pub fn write(&mut self) -> Command {
        let family = self.random.pick(&self.families);
        let (key, other) = (self.name(family), self.name(family));
        if self.random.one_in(8) {
            self.included(|random| (family.random.create)(random, &key))
        } else {
            self.included(|random| (family.random.write)(random, &key, &other))
        }
    }

    /// A write command of the module, or a generic one of the server.
    pub fn command(&mut self) -> Command {
        if !self.random.one_in(15) {
            return self.write();
        }
        let family = self.random.pick(&self.families);
        let (key, other) = (self.name(family), self.name(family));
        self.included(|random| generic(random, &key, &other))
    }

    /// The next command that is not left out.
    fn included(&mut self, next: impl Fn(&mut Random) -> Command) -> Command {
        loop {
            let command = next(&mut self.random);
            if !(self.is_excluded)(&command) {
                return command;
            }
        }
    }

    /// A command, a transaction or a script.
    pub fn unit(&mut self) -> Unit {
        let kind = self.random.below(10);
        if kind > 1 {
            return Unit::Single(self.command());
        }
        let len = self.random.below(5) + 1;
        let commands = (0..len).map(|_| self.command()).collect();
        if kind == 0 {
            Unit::Transaction(commands)
        } else {
            Unit::Script(commands)
        }
    }

    /// Runs the next `units` units and ignores their replies.
    pub fn run(&mut self, connection: &mut Connection, units: usize) {
        for _ in 0..units {
            let unit = self.unit();
            unit.send(connection).expect("a reply");
        }
    }
}

/// A command of the server on a key.
fn generic(random: &mut Random, key: &str, other: &str) -> Command {
    // Seconds since 1970, about the year 2100.
    let far = 4_102_444_800 + random.below(1_000_000);
    words(&match random.below(7) {
        0 => format!("DEL {key}"),
        1 => format!("UNLINK {key} {other}"),
        2 | 3 => format!("EXPIREAT {key} {far}"),
        4 => format!("PERSIST {key}"),
        5 => format!("COPY {key} {other} REPLACE"),
        _ => format!("RENAME {key} {other}"),
    })
}
