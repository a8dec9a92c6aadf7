//! The families of the module: everything that the tests need to know of each, one file per family.
//!
//! A new family is one more file here and one more line in [`FAMILIES`].
//!
//! Commands are arguments between spaces. `KEY` is the key, `SOURCE` another key of the same type.

mod bloom;
mod count_min;
mod cuckoo;
mod t_digest;
mod top_k;

use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::workload::{Command, Random, words};

/// All families of the module, in its order.
pub static FAMILIES: &[Family] = &[
    bloom::FAMILY,
    cuckoo::FAMILY,
    count_min::FAMILY,
    top_k::FAMILY,
    t_digest::FAMILY,
];

/// A family of commands and its type.
pub struct Family {
    /// The type, as TYPE reports it.
    pub type_name: &'static str,
    /// The newest encoding version of the type.
    pub encoding_version: u16,
    /// Prefix of the commands without the period, in lower case. The tests name keys and files after it.
    pub prefix: &'static str,
    /// ACL category.
    pub category: &'static str,
    /// Prefix of the fields in INFO.
    pub info_prefix: &'static str,
    /// Page of the documentation.
    pub page: &'static str,
    /// Source files and directories whose errors the page explains.
    pub sources: &'static [&'static str],

    /// Commands that read, without the prefix.
    pub read_commands: &'static [&'static str],
    /// Commands that write.
    pub write_commands: &'static [Write],
    /// Version of RedisBloom that introduced the commands, unless [`Family::since_exceptions`] has another.
    pub since: &'static str,
    /// Commands that a later version of RedisBloom introduced.
    pub since_exceptions: &'static [(&'static str, &'static str)],
    /// Commands that RedisBloom does not have.
    pub added_commands: &'static [&'static str],
    /// Settings of the family.
    pub settings: &'static [Setting],

    /// Creates a key of several items where there is none.
    pub build: &'static [&'static str],
    /// Read-only commands whose replies show the value.
    pub reads: &'static [&'static str],
    /// A write that changes the value every time, with its keyspace event. `NEW` is an item that `build` does not add.
    pub change: (&'static str, &'static str),
    /// Write commands that change nothing after `build`.
    pub idle: &'static [&'static str],
    /// Creates a key of more than 4 MiB.
    pub build_large: &'static [&'static str],
    /// Creates a key of at least 128 MiB: the command and how many chunks of 16 MiB fill it. `None` for a type without
    /// a reservation.
    pub reserve_huge: Option<(&'static str, usize)>,
    /// Creates a key of some 40 MiB once [`Fill`] has filled it.
    pub reserve_large: &'static str,
    /// How a key created by [`Family::reserve_large`] is filled.
    pub fill: Fill,

    /// Every way to create a key, except for LOADCHUNK.
    pub creations: &'static [&'static str],
    /// Every way to make a key grow.
    pub growths: &'static [Growth],
    /// How the family merges keys, where it does.
    pub merge: Option<Merge>,
    /// Kinds of values in the stored form: `integer`, `double`, `bytes`.
    pub stored_kinds: &'static [&'static str],
    /// SCANDUMP returns no chunks for a value without items.
    pub has_no_chunks_when_empty: bool,
    /// How values compare with those recorded of RedisBloom. `None` if RedisBloom does not have the type.
    pub recorded: Option<Comparison>,
    /// Keys whose memory usage is measured.
    pub memory: Memory,

    /// Random commands.
    pub random: RandomCommands,
    /// Commands for the soak test: K and L are keys, I items, N small numbers, X large ones.
    pub soak: &'static [&'static str],
    /// How a key stores a set of numbers. `None` for top-k, which forgets by design.
    pub numbers: Option<NumberSet>,
    /// Every command on a key K, whatever the key contains.
    pub uses: &'static [&'static str],
    /// Commands on a key K with a size `*`.
    pub sizes: &'static [&'static str],
    /// A command on SOURCE that a handler of another module runs, and its reply in RESP2.
    pub handler: (&'static str, &'static str),
    /// Keys and commands of the table of worst cases.
    pub worst_cases: WorstCases,
    /// Keys for the test of active defragmentation.
    #[allow(dead_code)] // Only tests/defrag.rs reads it.
    pub defrag: Defrag,
}

/// A command that writes.
pub struct Write {
    /// Name without the prefix.
    pub name: &'static str,
    /// The flags of its (first) key.
    pub flags: &'static str,
    /// A command of the server that reads and writes its key in the same way.
    pub like: &'static str,
    /// Arguments after the key.
    pub arguments: &'static str,
}

const fn write(
    name: &'static str,
    flags: &'static str,
    like: &'static str,
    arguments: &'static str,
) -> Write {
    Write {
        name,
        flags,
        like,
        arguments,
    }
}

const INSERT: &str = "[+RW +insert]";
const UPDATE: &str = "[+RW +update]";
const ACCESS_UPDATE: &str = "[+RW +access +update]";
const DELETE: &str = "[+RW +delete]";
/// The flags of the key of a command that reads.
pub const READ: &str = "[+RO +access]";

/// A setting.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Name without the prefix that some servers put before it.
    pub name: &'static str,
    /// The value that it has by default.
    pub default: &'static str,
    /// Another valid value.
    pub other: &'static str,
    /// A value out of range.
    pub invalid: &'static str,
}

/// Shorthand for a [`Setting`].
pub const fn setting(
    name: &'static str,
    default: &'static str,
    other: &'static str,
    invalid: &'static str,
) -> Setting {
    Setting {
        name,
        default,
        other,
        invalid,
    }
}

/// How a large key is filled.
pub enum Fill {
    /// With random chunks. The function makes the bytes valid.
    Chunks(fn(&mut [u8])),
    /// With a command that random numbers are appended to.
    Numbers(&'static str),
}

/// A command that makes a key grow.
pub struct Growth {
    /// Creates the key.
    pub create: &'static [&'static str],
    /// The command. Its last argument stands for new items, `ITEMS` or `PAIRS`, each time.
    pub command: &'static str,
    /// Items per command.
    pub items: usize,
    /// What the command replies for an item that is refused.
    pub refusal: Refusal,
}

/// How a command reports an item that is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The reply to the command is the error.
    Command,
    /// The error is the item's element of the reply.
    Element,
    /// -1 is the item's element of the reply.
    MinusOne,
}

const fn growth(
    create: &'static [&'static str],
    command: &'static str,
    items: usize,
    refusal: Refusal,
) -> Growth {
    Growth {
        create,
        command,
        items,
        refusal,
    }
}

/// A MERGE command.
pub struct Merge {
    /// Creates a key that can be source or destination.
    pub create: &'static str,
    /// The error for a missing source.
    pub missing_source: &'static str,
}

/// How the stored form of a value compares with the one recorded of RedisBloom.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Equal, and equal after the same commands.
    Exact,
    /// Equal, except that RedisBloom stores a pointer where Roughly stores the random state.
    ExactExceptPointers,
    /// Equal, except that doubles differ by rounding.
    Close,
}

/// Keys whose MEMORY USAGE is compared before and after loading.
pub struct Memory {
    /// After [`Family::build`].
    pub after_build: Usage,
    /// After [`Family::build`] and [`Family::reads`].
    pub after_reads: Usage,
    /// Further keys.
    pub cases: fn() -> Vec<MemoryCase>,
    /// A write that all these keys accept. `None` if some are full.
    pub change: Option<&'static str>,
}

/// How MEMORY USAGE after loading compares with that before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// The same: the memory is a function of the state.
    Equal,
    /// At most the same: the key has memory that is not part of its state (answers that reads keep, the buffer of the
    /// item that a top-k removed last).
    AtMost,
}

/// Commands that create a key. A range `FIRST..END` as the last argument stands for these numbers; with `each:` before
/// the command, it runs once for each of them.
pub struct MemoryCase {
    pub usage: Usage,
    pub commands: Vec<String>,
}

fn equal(commands: &[&str]) -> MemoryCase {
    memory_case(Usage::Equal, commands)
}

fn at_most(commands: &[&str]) -> MemoryCase {
    memory_case(Usage::AtMost, commands)
}

/// Shorthand for a [`MemoryCase`].
pub fn memory_case(usage: Usage, commands: &[&str]) -> MemoryCase {
    MemoryCase {
        usage,
        commands: commands.iter().map(ToString::to_string).collect(),
    }
}

/// Random commands on keys of a family.
pub struct RandomCommands {
    /// Creates a key.
    pub create: fn(&mut Random, &str) -> Command,
    /// Writes to a key; the second name is that of another key of the family.
    pub write: fn(&mut Random, &str, &str) -> Command,
}

/// Commands that store a set of numbers in a key, one number per command. `N` is the number.
#[derive(Clone, Copy)]
pub struct NumberSet {
    /// Creates the key.
    pub create: &'static [&'static str],
    /// Adds a number.
    pub add: &'static str,
    /// Replies with a positive integer for a number that was added.
    pub test: &'static str,
    /// Reports how many were added: an integer, or pairs of which one has this name.
    pub count: (&'static str, &'static str),
}

impl NumberSet {
    /// The command for a key and a number.
    pub fn command(template: &str, key: &str, number: u64) -> Command {
        let number = number.to_string();
        let argument = |argument: &str| match argument {
            "KEY" => key.to_owned(),
            "N" => number.clone(),
            argument => argument.to_owned(),
        };
        template
            .split(' ')
            .map(|word| argument(word).into_bytes())
            .collect()
    }

    /// The commands that create the key.
    pub fn creation(&self, key: &str) -> impl Iterator<Item = Command> {
        let create = self.create.iter();
        create.map(move |template| Self::command(template, key, 0))
    }

    /// How many numbers the key has.
    pub fn counted(&self, connection: &mut Connection, key: &str) -> u64 {
        let (command, field) = self.count;
        let reply = connection.send(&Self::command(command, key, 0));
        let number = reply.integer().or_else(|| reply.field(field)?.integer());
        let number = number.unwrap_or_else(|| panic!("{command}: {reply}"));
        u64::try_from(number).expect("a count")
    }
}

/// The part of a family in the table of worst cases. See `worst_case_table.rs` for the arguments of commands.
pub struct WorstCases {
    /// How the table describes the keys.
    pub keys: &'static [(&'static str, &'static str)],
    /// Creates and fills the keys.
    pub setup: &'static [&'static str],
    /// Creates keys that are then filled with [`Fill`].
    pub filled: &'static [&'static str],
    /// The rows.
    pub rows: &'static [Row],
}

/// A row of the table of worst cases.
pub struct Row {
    /// Commands that run before and are not measured.
    pub before: &'static [&'static str],
    /// The command.
    pub command: &'static str,
    /// What the table has after the description of the key.
    pub note: &'static str,
    /// The key that the table describes, if it is not the one in the command.
    pub key: Option<&'static str>,
    /// Fields of INFO of the key `copy` that the command must leave.
    pub leaves: &'static [(&'static str, i64)],
}

const fn row(command: &'static str, note: &'static str) -> Row {
    Row {
        before: &[],
        command,
        note,
        key: None,
        leaves: &[],
    }
}

impl Row {
    const fn before(mut self, commands: &'static [&'static str]) -> Self {
        self.before = commands;
        self
    }

    const fn key(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    const fn leaves(mut self, fields: &'static [(&'static str, i64)]) -> Self {
        self.leaves = fields;
        self
    }
}

/// Keys for active defragmentation, each with a number: of different sizes, with blocks of less than 14 KiB, which the
/// allocator puts into slabs.
#[allow(dead_code)] // Only tests/defrag.rs reads it.
pub struct Defrag {
    /// Creates a key.
    pub create: fn(&str, u32) -> Vec<String>,
    /// A write that changes the key.
    pub write: fn(&str, u32) -> String,
}

/// The numbers from `first` on, as arguments.
pub fn numbers(first: u32, count: u32) -> String {
    let numbers: Vec<_> = (first..first + count).map(|n| n.to_string()).collect();
    numbers.join(" ")
}

/// Runs commands on a key; none may fail.
pub fn run_on(connection: &mut Connection, key: &str, commands: &[&str]) -> Vec<Reply> {
    let commands = commands.iter().map(|command| command.replace("KEY", key));
    commands
        .map(|command| {
            let reply = connection.call(&command);
            assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
            reply
        })
        .collect()
}

/// The DUMP of a key without its last ten bytes, which depend on the server.
pub fn dump(connection: &mut Connection, key: &str) -> Reply {
    match connection.send(&["DUMP", key]) {
        Reply::Bulk(mut payload) => {
            payload.truncate(payload.len().saturating_sub(10));
            Reply::Bulk(payload)
        }
        other => other,
    }
}

impl Family {
    /// The family of a command or of a key that [`crate::workload::Workload`] or a test named after the prefix.
    ///
    /// # Panics
    /// If there is none.
    pub fn of(name: &str) -> &'static Self {
        let prefix = name.split(['.', ':']).next().expect("a part");
        let mut families = FAMILIES.iter();
        families
            .find(|family| family.prefix.eq_ignore_ascii_case(prefix))
            .unwrap_or_else(|| panic!("no family of {name}"))
    }

    /// A command of the family in upper case.
    pub fn command(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix).to_uppercase()
    }

    /// A field of the family in INFO.
    pub fn info(&self, server: &Server, field: &str) -> i64 {
        server.info_number(&format!("{}{field}", self.info_prefix))
    }

    /// Every command in lower case, with the flags of its first key.
    pub fn commands(&self) -> Vec<(String, &'static str)> {
        let reads = self.read_commands.iter().map(|&name| (name, READ));
        let writes = self
            .write_commands
            .iter()
            .map(|write| (write.name, write.flags));
        let all = reads.chain(writes);
        all.map(|(name, flags)| (format!("{}.{name}", self.prefix), flags))
            .collect()
    }

    /// Creates the value at `key`.
    pub fn build(&self, connection: &mut Connection, key: &str) {
        run_on(connection, key, self.build);
    }

    /// All that can be seen of the value: its reads, its DUMP without the footer, its digest.
    pub fn view(&self, connection: &mut Connection, key: &str) -> Vec<Reply> {
        let mut view = run_on(connection, key, self.reads);
        view.push(dump(connection, key));
        view.push(connection.send(&["DEBUG", "DIGEST-VALUE", key]));
        view
    }

    /// Changes the value; every `new` makes a different change.
    pub fn change(&self, connection: &mut Connection, key: &str, new: &str) {
        run_on(connection, key, &[&self.change.0.replace("NEW", new)]);
    }

    /// Calls SCANDUMP.
    pub fn scan(
        &self,
        connection: &mut Connection,
        key: &str,
        iterator: i64,
    ) -> Option<(i64, Vec<u8>)> {
        let reply = connection.send(&[&self.command("SCANDUMP"), key, &iterator.to_string()]);
        match reply.items() {
            Some([Reply::Integer(0), _]) => None,
            Some([Reply::Integer(next), Reply::Bulk(chunk)]) => Some((*next, chunk.clone())),
            _ => panic!("SCANDUMP {key} {iterator}: {reply}"),
        }
    }

    /// All chunks that SCANDUMP returns for a key, with their iterators; the header is the first.
    pub fn chunks(&self, connection: &mut Connection, key: &str) -> Vec<(i64, Vec<u8>)> {
        let first = self.scan(connection, key, 0);
        std::iter::successors(first, |(next, _)| self.scan(connection, key, *next)).collect()
    }

    /// Calls LOADCHUNK.
    pub fn load(
        &self,
        connection: &mut Connection,
        key: &str,
        iterator: impl ToString,
        chunk: &[u8],
    ) -> Reply {
        let (command, iterator) = (self.command("LOADCHUNK"), iterator.to_string());
        connection.send(&[
            command.as_bytes(),
            key.as_bytes(),
            iterator.as_bytes(),
            chunk,
        ])
    }

    /// Copies a key with SCANDUMP and LOADCHUNK; returns the number of chunks, with the header.
    pub fn copy_in_chunks(
        &self,
        from: &mut Connection,
        key: &str,
        to: &mut Connection,
        copy: &str,
    ) -> usize {
        let chunks = self.chunks(from, key);
        for (iterator, chunk) in &chunks {
            assert!(chunk.len() <= 16 << 20);
            let reply = self.load(to, copy, iterator, chunk);
            assert!(reply.is_ok(), "{key} {iterator}: {reply}");
        }
        chunks.len()
    }

    /// Creates a key with this command and fills it with random bits, as far as the type takes them.
    pub fn create_filled(
        &self,
        connection: &mut Connection,
        random: &mut Random,
        create: &str,
        key: &str,
    ) {
        let reply = connection.send(&words(&create.replace("KEY", key)));
        assert!(reply.is_ok(), "{create}: {reply}");
        match self.fill {
            Fill::Chunks(validate) => {
                let mut iterator = 1;
                while let Some((next, chunk)) = self.scan(connection, key, iterator) {
                    let mut bytes = random.bytes(chunk.len());
                    validate(&mut bytes);
                    let reply = self.load(connection, key, next, &bytes);
                    assert!(reply.is_ok(), "{key}: {reply}");
                    iterator = next;
                }
            }
            Fill::Numbers(command) => {
                for _ in 0..100 {
                    let mut command = words(&command.replace("KEY", key));
                    for _ in 0..1000 {
                        command.push(random.below(1 << 40).to_string().into_bytes());
                    }
                    let reply = connection.send(&command);
                    assert!(!matches!(reply, Reply::Error(_)), "{key}: {reply}");
                }
            }
        }
    }
}

/// Categories, settings and commands. Types are compared by `type_reports_the_type_name`.
#[test]
fn the_families_are_those_of_the_module() {
    let module = roughly::MODULE.families.iter();
    let module: Vec<_> = module
        .map(|family| {
            let commands = family.commands.iter();
            let mut commands: Vec<_> = commands
                .map(|command| command.name.to_str().expect("UTF-8").to_owned())
                .collect();
            commands.sort();
            let settings = family.settings.iter();
            let settings = settings.map(|setting| setting.name.to_str().expect("UTF-8"));
            let category = family.category.to_str().expect("UTF-8");
            (category, settings.collect::<Vec<_>>(), commands)
        })
        .collect();
    let listed: Vec<_> = FAMILIES
        .iter()
        .map(|family| {
            let mut commands: Vec<_> = family
                .commands()
                .into_iter()
                .map(|(name, _)| name)
                .collect();
            commands.sort();
            let settings = family.settings.iter().map(|setting| setting.name);
            (family.category, settings.collect(), commands)
        })
        .collect();
    assert_eq!(listed, module);
}

/// The damaged and hostile values of `hostile/` go through every command.
#[test]
fn every_command_is_used_by_the_hostile_tests() {
    for family in FAMILIES {
        for (name, _) in family.commands() {
            let mut uses = family.uses.iter().chain(family.sizes);
            let is_used = uses.any(|command| {
                let used = command.split(' ').next().expect("a name");
                used.eq_ignore_ascii_case(&name)
            });
            assert!(is_used, "{name}");
        }
    }
}
