//! Seeded streams of writes of every family, for the tests that compare servers afterwards.
//!
//! A stream is a function of its seed: what a command is does not depend on what was answered. Some of
//! its commands fail (a name that is taken, a sketch of another size); that too must be alike everywhere.

use crate::samples::SAMPLES;
use crate::support::resp::{Connection, Reply};
use std::io;

/// A command, word by word.
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

/// The words of a command without blanks in them.
pub fn words(text: &str) -> Command {
    text.split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

/// What a family's traffic is made of.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// The type, as in [`SAMPLES`].
    pub type_name: &'static str,
    /// In front of the names of its keys.
    pub prefix: &'static str,
    /// Makes a key.
    pub create: fn(&mut Random, &str) -> Command,
    /// Writes to a key; the second name is that of another key of the family.
    pub write: fn(&mut Random, &str, &str) -> Command,
    /// How numbers are noted, one a command, so that each can be asked for and all are counted. A top-k
    /// forgets by design.
    pub ledger: Option<Ledger>,
    /// Makes a key of some 40 MiB.
    pub large: &'static str,
}

/// Commands with `KEY` and `N` in them.
#[derive(Debug, Clone, Copy)]
pub struct Ledger {
    /// Makes the key.
    pub open: &'static str,
    /// Notes a number.
    pub note: &'static str,
    /// Answers a positive integer for a number that was noted.
    pub ask: &'static str,
    /// Tells how many were noted: an integer, or pairs with this name in them.
    pub count: (&'static str, &'static str),
}

impl Ledger {
    /// The command with its blanks filled in.
    pub fn command(text: &str, key: &str, number: u64) -> Command {
        let number = number.to_string();
        let fill = |word: &str| match word {
            "KEY" => key.to_owned(),
            "N" => number.clone(),
            word => word.to_owned(),
        };
        text.split(' ')
            .map(|word| fill(word).into_bytes())
            .collect()
    }

    /// How many numbers the key has.
    pub fn counted(&self, connection: &mut Connection, key: &str) -> u64 {
        let (command, field) = self.count;
        let reply = connection.send(&Self::command(command, key, 0));
        let number = match &reply {
            Reply::Integer(number) => Some(*number),
            Reply::Array(pairs) => {
                let at = pairs
                    .iter()
                    .position(|name| name.text() == Some(field.as_bytes()));
                at.and_then(|at| pairs[at + 1].integer())
            }
            _ => None,
        };
        let number = number.unwrap_or_else(|| panic!("{command}: {reply}"));
        u64::try_from(number).expect("a count")
    }
}

/// All families; [`families`] are those that the module has.
const FAMILIES: &[Family] = &[BLOOM, CUCKOO, COUNT_MIN, TOP_K, T_DIGEST];

/// The families that the module has.
pub fn families() -> Vec<Family> {
    let has = |family: &&Family| SAMPLES.iter().any(|s| s.type_name == family.type_name);
    FAMILIES.iter().filter(has).copied().collect()
}

#[test]
fn every_type_has_its_traffic() {
    for sample in SAMPLES {
        let name = sample.type_name;
        assert!(families().iter().any(|f| f.type_name == name), "{name}");
    }
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

/// The words, then some items, each followed by what `after` makes.
fn with_items(
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

fn with_item(start: &str, random: &mut Random) -> Command {
    let mut command = words(start);
    command.push(item(random));
    command
}

const BLOOM: Family = Family {
    type_name: "MBbloom--",
    prefix: "bf",
    create: |random, key| {
        let capacity = random.below(200) + 1;
        let rate = random.pick(&["0.1", "0.01", "0.001", "3e-7"]);
        let growth = random.pick(&["", " EXPANSION 1", " EXPANSION 3", " NONSCALING"]);
        words(&format!("BF.RESERVE {key} {rate} {capacity}{growth}"))
    },
    write: |random, key, other| match random.below(9) {
        8 => words(&format!("BF.MERGE {key} 1 {other}")),
        0..3 => with_item(&format!("BF.ADD {key}"), random),
        3..6 => with_items(&format!("BF.MADD {key}"), random, |_| None),
        6 => with_items(
            &format!("BF.INSERT {key} ERROR 0.003 CAPACITY 40 ITEMS"),
            random,
            |_| None,
        ),
        _ => with_items(&format!("BF.INSERT {key} NONSCALING ITEMS"), random, |_| {
            None
        }),
    },
    ledger: Some(Ledger {
        open: "BF.RESERVE KEY 1e-9 1000",
        note: "BF.ADD KEY N",
        ask: "BF.EXISTS KEY N",
        count: ("BF.CARD KEY", ""),
    }),
    large: "BF.RESERVE KEY 0.001 22000000",
};

const CUCKOO: Family = Family {
    type_name: "MBbloomCF",
    prefix: "cf",
    create: |random, key| {
        let capacity = random.below(200) + 10;
        let bucket = random.pick(&["1", "2", "4", "5"]);
        let growth = random.pick(&["", " EXPANSION 0", " EXPANSION 2", " MAXITERATIONS 3"]);
        words(&format!(
            "CF.RESERVE {key} {capacity} BUCKETSIZE {bucket}{growth}"
        ))
    },
    write: |random, key, _| match random.below(10) {
        0..3 => with_item(&format!("CF.ADD {key}"), random),
        3 => with_item(&format!("CF.ADDNX {key}"), random),
        4..6 => with_items(
            &format!("CF.INSERT {key} CAPACITY 50 ITEMS"),
            random,
            |_| None,
        ),
        6 => with_items(&format!("CF.INSERTNX {key} ITEMS"), random, |_| None),
        7 => words(&format!("CF.COMPACT {key}")),
        _ => with_item(&format!("CF.DEL {key}"), random),
    },
    ledger: Some(Ledger {
        open: "CF.RESERVE KEY 1000 EXPANSION 2",
        note: "CF.ADD KEY N",
        ask: "CF.EXISTS KEY N",
        count: ("CF.INFO KEY", "Number of items inserted"),
    }),
    large: "CF.RESERVE KEY 33554432 BUCKETSIZE 1",
};

const COUNT_MIN: Family = Family {
    type_name: "CMSk-TYPE",
    prefix: "cms",
    create: |random, key| {
        let shape = random.pick(&[
            "INITBYDIM KEY 60 4",
            "INITBYDIM KEY 60 4 CELL_SIZE 8",
            "INITBYPROB KEY 0.02 0.1",
        ]);
        words(&format!("CMS.{}", shape.replace("KEY", key)))
    },
    write: |random, key, other| match random.below(8) {
        0 => words(&format!("CMS.MERGE {key} 2 {key} {other} WEIGHTS 1 2")),
        1 => words(&format!("CMS.MERGE {key} 1 {other}")),
        _ => with_items(&format!("CMS.INCRBY {key}"), random, |random| {
            Some((random.below(1000) as i64 - 100).to_string())
        }),
    },
    ledger: Some(Ledger {
        open: "CMS.INITBYDIM KEY 2000 5",
        note: "CMS.INCRBY KEY N 1",
        ask: "CMS.QUERY KEY N",
        count: ("CMS.INFO KEY", "count"),
    }),
    large: "CMS.INITBYDIM KEY 1048576 10",
};

const TOP_K: Family = Family {
    type_name: "TopK-TYPE",
    prefix: "topk",
    create: |random, key| {
        let shape = random.pick(&["3", "10 20 3 0.9", "50 8 7 0.5", "5 4 2 1"]);
        words(&format!("TOPK.RESERVE {key} {shape}"))
    },
    write: |random, key, _| match random.below(2) {
        0 => with_items(&format!("TOPK.ADD {key}"), random, |_| None),
        _ => with_items(&format!("TOPK.INCRBY {key}"), random, |random| {
            Some(random.below(300).to_string())
        }),
    },
    ledger: None,
    large: "TOPK.RESERVE KEY 100 524288 10 0.9",
};

const T_DIGEST: Family = Family {
    type_name: "TDIS-TYPE",
    prefix: "tdigest",
    create: |random, key| {
        let compression = random.pick(&["100", "10", "37"]);
        words(&format!("TDIGEST.CREATE {key} COMPRESSION {compression}"))
    },
    // Digests are reset more often than they are merged, or their weights would come to the end, 2^63.
    write: |random, key, other| match random.below(20) {
        0 => words(&format!("TDIGEST.MERGE {key} 1 {other}")),
        1 => words(&format!(
            "TDIGEST.MERGE {key} 2 {key} {other} OVERRIDE COMPRESSION 50"
        )),
        2..5 => words(&format!("TDIGEST.RESET {key}")),
        _ => {
            let mut command = words(&format!("TDIGEST.ADD {key}"));
            for _ in 0..=random.below(30) {
                let value = random.below(1 << 30) as f64 / 1024.0 - 1e5;
                command.push(value.to_string().into_bytes());
            }
            command
        }
    },
    ledger: Some(Ledger {
        open: "TDIGEST.CREATE KEY",
        note: "TDIGEST.ADD KEY N",
        // A number above the smallest has a rank above 0.
        ask: "TDIGEST.RANK KEY N",
        count: ("TDIGEST.INFO KEY", "Observations"),
    }),
    // A digest of this size is made by adding to it: its payload follows its samples.
    large: "TDIGEST.CREATE KEY COMPRESSION 100000",
};

/// What a client sends at once, and what happens wholly or not at all.
#[derive(Debug, Clone)]
pub enum Unit {
    /// One command.
    Single(Command),
    /// MULTI, the commands, EXEC.
    Transaction(Vec<Command>),
    /// A script that runs the commands.
    Script(Vec<Command>),
}

/// ARGV has each command as the number of its words and its words.
const RUN_ALL: &str = "local replies, at = {}, 1 \
    while at <= #ARGV do \
      local count, words = tonumber(ARGV[at]), {} \
      for i = 1, count do words[i] = ARGV[at + i] end \
      replies[#replies + 1] = redis.pcall(unpack(words)) \
      at = at + count + 1 \
    end \
    return replies";

impl Unit {
    /// The commands as sent.
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

    /// Sends it; the reply is that of the command, of EXEC, or of the script.
    ///
    /// # Errors
    /// What the connection says: then nobody knows whether it happened.
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

/// An endless stream of writes to a number of keys of each family.
#[derive(Debug)]
pub struct Traffic {
    random: Random,
    families: Vec<Family>,
    prefix: String,
    keys: u64,
}

impl Traffic {
    /// Keys named `PREFIX FAMILY : NUMBER`, `keys` of each family.
    pub fn new(seed: u64, prefix: &str, keys: u64) -> Self {
        Self {
            random: Random::new(seed),
            families: families(),
            prefix: prefix.to_owned(),
            keys,
        }
    }

    /// Only one family.
    pub fn of(mut self, family: Family) -> Self {
        self.families = vec![family];
        self
    }

    fn name(&mut self, family: Family) -> String {
        format!(
            "{}{}:{}",
            self.prefix,
            family.prefix,
            self.random.below(self.keys)
        )
    }

    /// What makes every key.
    pub fn creations(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        for family in self.families.clone() {
            for number in 0..self.keys {
                let key = format!("{}{}:{number}", self.prefix, family.prefix);
                commands.push((family.create)(&mut self.random, &key));
            }
        }
        commands
    }

    /// A write of the module.
    pub fn write(&mut self) -> Command {
        let family = self.random.pick(&self.families);
        let (key, other) = (self.name(family), self.name(family));
        if self.random.one_in(8) {
            (family.create)(&mut self.random, &key)
        } else {
            (family.write)(&mut self.random, &key, &other)
        }
    }

    /// A write of the module, or one of the server that is about keys whatever their type.
    pub fn command(&mut self) -> Command {
        if !self.random.one_in(15) {
            return self.write();
        }
        let family = self.random.pick(&self.families);
        let (key, other) = (self.name(family), self.name(family));
        // Seconds since 1970, in the year 2100 or so.
        let far = 4_102_444_800 + self.random.below(1_000_000);
        words(&match self.random.below(7) {
            0 => format!("DEL {key}"),
            1 => format!("UNLINK {key} {other}"),
            2 | 3 => format!("EXPIREAT {key} {far}"),
            4 => format!("PERSIST {key}"),
            5 => format!("COPY {key} {other} REPLACE"),
            _ => format!("RENAME {key} {other}"),
        })
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

    /// Runs the next `units`, whatever they answer.
    pub fn run(&mut self, connection: &mut Connection, units: usize) {
        for _ in 0..units {
            let unit = self.unit();
            unit.send(connection).expect("a reply");
        }
    }
}
