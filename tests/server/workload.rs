//! Seeded random commands of every family, for tests that compare servers afterwards.
//!
//! The commands are a function of the seed and do not depend on replies. Some of them fail (an existing key, sketches
//! of different sizes), and must fail on every server in the same way.

use crate::families::{FAMILIES, Family, SKETCH_USES};
use crate::support::resp::{Connection, Reply, Text};
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

    /// One of some texts, which `|` separates.
    pub fn pick_text<'a>(&mut self, texts: &'a str) -> &'a str {
        let texts: Vec<_> = texts.split('|').collect();
        self.pick(&texts)
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

/// The columns of a row, with ` | ` between them.
pub fn columns<const N: usize>(row: &str) -> [&str; N] {
    let columns: Vec<_> = row.split(" | ").collect();
    columns.try_into().unwrap_or_else(|_| panic!("{row}"))
}

/// A command, readable.
pub fn show(command: &[Vec<u8>]) -> String {
    let arguments: Vec<_> = (command.iter().map(|argument| Text(argument).to_string())).collect();
    arguments.join(" ")
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

    /// The commands of the unit, readable.
    pub fn show(&self) -> String {
        let (Self::Transaction(commands) | Self::Script(commands)) = self else {
            return self.sent().iter().map(|command| show(command)).collect();
        };
        let commands: Vec<_> = commands.iter().map(|command| show(command)).collect();
        commands.join("; ")
    }

    /// Sends the unit. The reply is that of the command, of EXEC, or of the script. After an error, the commands may have run.
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
    /// Values and options of WINDOW, one of which replaces those of the families.
    windows: &'static [&'static str],
    /// Further ones for the types whose panes can grow with age.
    levels: &'static [&'static str],
    /// One in this many commands is any command of the module; 0 for writes only.
    any_one_in: u64,
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
            windows: &[],
            levels: &[],
            any_one_in: 0,
            is_excluded: |_| false,
            prefix: prefix.to_owned(),
            keys,
        }
    }

    /// Restricts the workload to one type.
    pub fn of(self, family: &'static Family) -> Self {
        self.of_types([family])
    }

    /// Restricts the workload to these types.
    pub fn of_types(mut self, types: impl IntoIterator<Item = &'static Family>) -> Self {
        self.families = types.into_iter().collect();
        self
    }

    /// Creates sketches with these windows, such as `1000 PANES 5`.
    pub fn with_windows(mut self, windows: &'static [&'static str]) -> Self {
        self.windows = windows;
        self
    }

    /// Creates sketches whose panes can grow with age also with these windows, such as `1000 PANES 5 FINEST 10`.
    pub fn with_levels(mut self, levels: &'static [&'static str]) -> Self {
        self.levels = levels;
        self
    }

    /// Adds the other commands of the module: one in `one_in` is one of [`Family::uses`], [`Family::reads`] or
    /// [`SKETCH_USES`].
    pub fn with_all_commands(mut self, one_in: u64) -> Self {
        self.any_one_in = one_in;
        self
    }

    /// Leaves out the commands for which this is true.
    pub fn without(mut self, is_excluded: fn(&Command) -> bool) -> Self {
        self.is_excluded = is_excluded;
        self
    }

    /// The name of a random key of a random type.
    pub fn key(&mut self) -> String {
        let family = self.random.pick(&self.families);
        self.name(family)
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

    /// A command that creates a key.
    pub fn creation(&mut self) -> Command {
        let family = self.random.pick(&self.families);
        let key = self.name(family);
        self.included(|random| (family.random.create)(random, &key))
    }

    /// A command of the module, or a generic one of the server.
    pub fn command(&mut self) -> Command {
        if self.any_one_in > 0 && self.random.one_in(self.any_one_in) {
            return self.any();
        }
        if !self.random.one_in(15) {
            return self.write();
        }
        let family = self.random.pick(&self.families);
        let (key, other) = (self.name(family), self.name(family));
        self.included(|random| generic(random, &key, &other))
    }

    /// Any command of the module.
    pub fn any(&mut self) -> Command {
        let family = self.random.pick(&self.families);
        let (key, other) = (self.name(family), self.name(family));
        let templates = self.random.pick(&[family.uses, family.reads, SKETCH_USES]);
        let template = self.random.pick(templates);
        let arguments = template.split(' ').map(|argument| match argument {
            "K" | "KEY" => key.clone(),
            "K2" => other.clone(),
            argument => argument.to_owned(),
        });
        arguments.map(String::into_bytes).collect()
    }

    /// The next command that is not left out, with one of the windows of this workload.
    fn included(&mut self, next: impl Fn(&mut Random) -> Command) -> Command {
        loop {
            let mut command = next(&mut self.random);
            let window = command.iter().position(|argument| argument == b"WINDOW");
            if let (Some(at), false) = (window, self.windows.is_empty()) {
                let has_levels = !command[0].starts_with(b"BF.") && !command[0].starts_with(b"CF.");
                let windows = match has_levels && !self.levels.is_empty() {
                    true if self.random.below(2) == 0 => self.levels,
                    _ => self.windows,
                };
                let window = words(self.random.pick(windows));
                command.splice(at + 1..at + 4, window);
            }
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

    /// Runs [`Self::creations`] and ignores their replies.
    pub fn create(&mut self, connection: &mut Connection) {
        for command in self.creations() {
            connection.send(&command);
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
