//! The families of the module: what the tests need for each of their types, one file per family.
//!
//! A new type needs an entry in [`FAMILIES`]. Each further type of a family has an entry of its own, with the commands of
//! the family: the type with a window, whose keys are created with [`window!`], and the type of valkey-bloom.
//!
//! Arguments of commands are separated by spaces. `KEY` is the key, `SOURCE` another key of the same type. A last argument
//! `FIRST..END` stands for these numbers.

/// A command that creates a t-digest, which has no seed, with a window whose panes last 2.5 years: the current pane does not
/// change during a test. tests/server/windows tests panes that change.
macro_rules! seedless_window {
    ($command:literal) => {
        concat!($command, " WINDOW 315360000000 PANES 4")
    };
}

/// As [`seedless_window!`], for the types with a seed. The seed is fixed, so that the false positives are the same in every run.
macro_rules! window {
    ($command:literal) => {
        concat!(
            seedless_window!($command),
            " SEED 00112233445566778899aAbBcCdDeEfF"
        )
    };
}

mod bloom;
mod count_min;
mod cuckoo;
mod t_digest;
mod top_k;
pub mod valkey_bloom;

use crate::support::names::assert_same_names;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::workload::{Command, Random, words};

/// All types of the module: those of RedisBloom in the order of the module's families, then those with a window, then
/// the others.
pub static FAMILIES: &[Family] = &[
    bloom::FAMILY,
    cuckoo::FAMILY,
    count_min::FAMILY,
    top_k::FAMILY,
    t_digest::FAMILY,
    bloom::WINDOW,
    cuckoo::WINDOW,
    count_min::WINDOW,
    top_k::WINDOW,
    t_digest::WINDOW,
    valkey_bloom::TYPE,
];

/// The entries of RedisBloom's types, one per family: for tests of commands, which are the same for all types of a
/// family.
pub fn one_per_family() -> impl Iterator<Item = &'static Family> + Clone {
    let families = FAMILIES.iter();
    families.filter(|family| family.name == family.prefix)
}

/// ACL category of the commands for sketches of any family, which have no type of their own.
pub const SKETCH_CATEGORY: &str = "sketch";

/// The commands for sketches of any family, with the flags of their keys.
pub const SKETCH_COMMANDS: [(&str, &str); 7] = [
    ("sketch.accuracy", READ),
    ("sketch.within", READ),
    ("sketch.between", READ),
    ("sketch.series", READ),
    ("sketch.age", READ),
    ("sketch.window", READ),
    ("sketch.advance", UPDATE),
];

/// The commands for sketches of any family with a key K, which may have any value.
pub const SKETCH_USES: &[&str] = &[
    "SKETCH.WINDOW K",
    "SKETCH.ACCURACY K",
    "SKETCH.WITHIN 80000000000 SKETCH.ACCURACY K",
    "SKETCH.AGE K a b",
    "SKETCH.WITHIN 1000 BF.EXISTS K a",
    "SKETCH.WITHIN 80000000000 BF.MEXISTS K a b",
    "SKETCH.WITHIN 80000000000 BF.CARD K",
    "SKETCH.WITHIN 1000 CF.EXISTS K a",
    "SKETCH.WITHIN 80000000000 CF.MEXISTS K a b",
    "SKETCH.WITHIN 80000000000 CF.COUNT K a",
    "SKETCH.WITHIN 80000000000 CMS.QUERY K a b",
    "SKETCH.WITHIN 80000000000 TOPK.LIST K WITHCOUNT",
    "SKETCH.WITHIN 80000000000 TOPK.QUERY K a b",
    "SKETCH.WITHIN 80000000000 TOPK.COUNT K a b",
    "SKETCH.WITHIN 80000000000 TDIGEST.MIN K",
    "SKETCH.WITHIN 80000000000 TDIGEST.MAX K",
    "SKETCH.WITHIN 80000000000 TDIGEST.QUANTILE K 0.5",
    "SKETCH.WITHIN 80000000000 TDIGEST.CDF K 1",
    "SKETCH.WITHIN 80000000000 TDIGEST.RANK K 1",
    "SKETCH.WITHIN 80000000000 TDIGEST.REVRANK K 1",
    "SKETCH.WITHIN 80000000000 TDIGEST.BYRANK K 1",
    "SKETCH.WITHIN 80000000000 TDIGEST.BYREVRANK K 1",
    "SKETCH.WITHIN 80000000000 TDIGEST.TRIMMED_MEAN K 0.1 0.9",
    "SKETCH.BETWEEN - + SKETCH.WINDOW K",
    "SKETCH.BETWEEN - -1 SKETCH.ACCURACY K",
    "SKETCH.BETWEEN -80000000000 -1 CMS.QUERY K a b",
    "SKETCH.BETWEEN -160000000000 -1 TOPK.LIST K WITHCOUNT",
    "SKETCH.BETWEEN -160000000000 -80000000000 TOPK.QUERY K a b",
    "SKETCH.BETWEEN - -1 TOPK.COUNT K a b",
    "SKETCH.BETWEEN - -1 TDIGEST.MIN K",
    "SKETCH.BETWEEN -80000000000 -1 TDIGEST.QUANTILE K 0.5",
    "SKETCH.BETWEEN - -80000000000 TDIGEST.TRIMMED_MEAN K 0.1 0.9",
    "SKETCH.BETWEEN 5 4 TDIGEST.CDF K 1",
    "SKETCH.SERIES - + 80000000000 SKETCH.ACCURACY K",
    "SKETCH.SERIES - + 1 CMS.QUERY K a b",
    "SKETCH.SERIES - + 1000 TOPK.LIST K WITHCOUNT",
    "SKETCH.SERIES - -1 160000000000 TOPK.QUERY K a b",
    "SKETCH.SERIES - + 160000000000 TOPK.COUNT K a b",
    "SKETCH.SERIES - + 160000000000 TDIGEST.MAX K",
    "SKETCH.SERIES - + 1 TDIGEST.QUANTILE K 0.5",
    "SKETCH.SERIES - -80000000000 80000000000 TDIGEST.RANK K 1",
    "SKETCH.SERIES - + 0 TDIGEST.CDF K 1",
    "SKETCH.ADVANCE K 1",
    "SKETCH.ADVANCE K 9223372036854775807",
];

/// The commands that run a command on a part of the window, each with the arguments before that command.
pub const PARTS: [(&str, &str); 3] = [
    ("SKETCH.WITHIN", "1000"),
    ("SKETCH.BETWEEN", "- +"),
    ("SKETCH.SERIES", "- + 1"),
];

/// The position of the command that this command runs on a part of the window; `None` for other commands.
pub fn position_of_part(name: &[u8]) -> Option<usize> {
    let mut parts = PARTS.iter();
    let (_, part) = parts.find(|(of, _)| name.eq_ignore_ascii_case(of.as_bytes()))?;
    Some(1 + part.split(' ').count())
}

/// Every command of the module in lower case, with the flags of its first key.
pub fn all_commands() -> Vec<(String, &'static str)> {
    let sketch = SKETCH_COMMANDS.map(|(name, flags)| (name.to_owned(), flags));
    let commands = one_per_family().flat_map(Family::commands);
    commands.chain(sketch).collect()
}

/// A family of commands and one of its types.
pub struct Family {
    /// The name of this entry, in names of keys and files: the prefix for RedisBloom's type, followed by `-window` for a
    /// type with a window, and the name of the type for other types.
    pub name: &'static str,
    pub has_window: bool,
    /// The type, as TYPE reports it.
    pub type_name: &'static str,
    /// The newest encoding version of the type.
    pub encoding_version: u16,
    /// Prefix of the commands in lower case, without the period.
    pub prefix: &'static str,
    /// ACL category.
    pub category: &'static str,
    pub info_prefix: &'static str,
    pub page: &'static str,

    /// Names of the read commands, without the prefix, separated by spaces.
    pub read_commands: &'static str,
    pub write_commands: &'static [Write],
    /// Version of RedisBloom that introduced the commands, except for those in [`Family::since_exceptions`].
    pub since: &'static str,
    /// Commands that a later version of RedisBloom introduced.
    pub since_exceptions: &'static [(&'static str, &'static str)],
    /// Commands that RedisBloom does not have.
    pub added_commands: &'static [&'static str],
    pub settings: &'static [Setting],

    /// Creates a missing key with several items.
    pub build: &'static [&'static str],
    /// Read-only commands whose replies show the value.
    pub reads: &'static [&'static str],
    /// A write that always changes the value, with its keyspace event. `NEW` is an item that `build` does not add.
    pub change: (&'static str, &'static str),
    /// Write commands that have no effect after `build`.
    pub idle: &'static [&'static str],
    /// Creates a key of more than 4 MiB.
    pub build_large: &'static [&'static str],
    /// Creates a key of at least 128 MiB: the command and how many chunks of 16 MiB fill it. `None` for a type whose
    /// memory is not allocated at its creation.
    pub reserve_huge: Option<(&'static str, usize)>,
    /// Creates a key of about 40 MiB that [`Fill`] fills.
    pub reserve_large: &'static str,
    /// How to fill a key that [`Family::reserve_large`] created.
    pub fill: Fill,

    /// Every way to create a key, except for LOADCHUNK.
    pub creations: &'static [&'static str],
    /// Every way to make a key grow.
    pub growths: &'static [Growth],
    /// MERGE of the family, if it exists and keys of the type can be destinations.
    pub merge: Option<Merge>,
    /// Kinds of values in the stored form of what `build` creates: `integer`, `double`, `bytes`.
    pub stored_kinds: &'static [&'static str],
    /// SCANDUMP returns no chunks for a value without items.
    pub has_no_chunks_when_empty: bool,
    /// How stored values compare with those recorded from RedisBloom. `None` if RedisBloom does not have the type.
    pub recorded: Option<Comparison>,
    /// Keys whose memory usage is measured.
    pub memory: Memory,

    pub random: RandomCommands,
    /// Commands that store a set of numbers. `None` for top-k, which does not keep all items.
    pub numbers: Option<NumberSet>,
    /// Every command with a key K, which may have any value.
    pub uses: &'static [&'static str],
    /// Commands with a key K and a size `*`.
    pub sizes: &'static [&'static str],
    /// A command on SOURCE for a handler of another module, and its reply in RESP2.
    pub handler: (&'static str, &'static str),
    /// Keys for the test of active defragmentation.
    #[allow(dead_code)] // Only tests/defrag.rs reads it.
    pub defrag: Defrag,
}

pub struct Write {
    /// Name without the prefix.
    pub name: &'static str,
    /// The flags of its (first) key.
    pub flags: &'static str,
    /// A built-in command that reads and writes its key in the same way.
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
/// The flags of the key of a read command.
pub const READ: &str = "[+RO +access]";

#[derive(Clone, Copy)]
pub struct Setting {
    /// Name. With the prefix `bf.` if it has the prefix on all servers, and not only on some.
    pub name: &'static str,
    pub default: &'static str,
    /// Another valid value.
    pub other: &'static str,
    /// A value out of range.
    pub invalid: &'static str,
}

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

/// How to fill a large key.
pub enum Fill {
    /// With random chunks. The function makes the bytes valid.
    Chunks(fn(&mut [u8])),
    /// With a command to which random numbers are appended.
    Numbers(&'static str),
}

/// A command that makes a key grow.
pub struct Growth {
    pub create: &'static [&'static str],
    /// The command. Its last argument, `ITEMS` or `PAIRS`, is replaced by new items each time.
    pub command: &'static str,
    /// Items per command.
    pub items: usize,
    /// How the reply reports a refused item.
    pub refusal: Refusal,
}

impl Growth {
    /// The command with these items, in pairs with the next number if it has pairs.
    pub fn with_items(&self, items: std::ops::Range<usize>) -> String {
        let (head, last) = self.command.rsplit_once(' ').expect("items");
        let item = |n: usize| match last {
            "PAIRS" => format!(" {n} {}", n + 1),
            _ => format!(" {n}"),
        };
        head.to_owned() + &items.map(item).collect::<String>()
    }
}

/// How a reply reports a refused item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The reply is the error.
    Command,
    /// The item's element of the reply is the error.
    Element,
    /// The item's element of the reply is -1.
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

pub struct Merge {
    /// Creates a key that can be source or destination.
    pub create: &'static str,
    pub missing_source: &'static str,
}

/// How the stored form of a value compares with that recorded from RedisBloom.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Equal when loaded, and equal when created by the same commands.
    Exact,
    /// Equal, except that RedisBloom stores a pointer where Roughly stores the random state.
    ExactExceptPointers,
    /// Equal, except that doubles differ by rounding.
    Close,
}

/// Keys whose MEMORY USAGE is compared before and after loading.
pub struct Memory {
    pub after_build: Usage,
    /// After [`Family::build`] and [`Family::reads`].
    pub after_reads: Usage,
    /// Further keys.
    pub cases: fn() -> Vec<MemoryCase>,
    /// A write that all these keys accept. `None` if some are full.
    pub change: Option<&'static str>,
}

/// How MEMORY USAGE after loading compares with that before loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// Equal: the memory is a function of the state.
    Equal,
    /// At most equal: the key has memory that is not part of its state (the compressed form that queries keep, or the
    /// buffer of the last item that left the list of a top-k sketch).
    AtMost,
}

/// Commands that create a key. With the prefix `each:`, a command runs once per number of its last argument.
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

pub fn memory_case(usage: Usage, commands: &[&str]) -> MemoryCase {
    MemoryCase {
        usage,
        commands: commands.iter().map(ToString::to_string).collect(),
    }
}

pub struct RandomCommands {
    pub create: fn(&mut Random, &str) -> Command,
    /// Writes to a key; the second name is that of another key of the family.
    pub write: fn(&mut Random, &str, &str) -> Command,
}

/// Commands that store a set of numbers in a key, one number per command. `N` is the number.
#[derive(Clone, Copy)]
pub struct NumberSet {
    pub create: &'static [&'static str],
    pub add: &'static str,
    /// Replies with a positive integer for a number that was added.
    pub test: &'static str,
    /// The command that reports the number of added items, and the field with the number if the reply has fields.
    pub count: (&'static str, &'static str),
}

impl NumberSet {
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

    pub fn creation(&self, key: &str) -> impl Iterator<Item = Command> {
        let create = self.create.iter();
        create.map(move |template| Self::command(template, key, 0))
    }

    /// The number of items in the key.
    pub fn counted(&self, connection: &mut Connection, key: &str) -> u64 {
        let (command, field) = self.count;
        let reply = connection.send(&Self::command(command, key, 0));
        let number = reply.integer().or_else(|| reply.field(field)?.integer());
        let number = number.unwrap_or_else(|| panic!("{command}: {reply}"));
        u64::try_from(number).expect("a count")
    }
}

/// Numbered keys for active defragmentation, of different sizes. The allocator puts blocks of less than 14 KiB into
/// slabs, so the blocks of these keys are smaller than that.
#[allow(dead_code)] // Only tests/defrag.rs reads it.
pub struct Defrag {
    pub create: fn(&str, u32) -> Vec<String>,
    pub write: fn(&str, u32) -> String,
}

/// The numbers from `first` on, as arguments.
pub fn numbers(first: u32, count: u32) -> String {
    let numbers: Vec<_> = (first..first + count).map(|n| n.to_string()).collect();
    numbers.join(" ")
}

/// Items of 20 bytes, which have a block of their own in a top-k.
pub fn long_items(first: u32, count: u32) -> String {
    let items: Vec<_> = (first..first + count)
        .map(|n| format!("item:{n:015}"))
        .collect();
    items.join(" ")
}

/// The numbers of a last argument `FIRST..END`, and the command before it.
pub fn range(command: &str) -> Option<(&str, std::ops::Range<u32>)> {
    let (head, last) = command.rsplit_once(' ')?;
    let (first, end) = last.split_once("..")?;
    Some((head, first.parse().ok()?..end.parse().ok()?))
}

/// A command on a key, with the numbers of its last argument.
pub fn on_key(command: &str, key: &str) -> String {
    let command = command.replace("KEY", key);
    match range(&command) {
        Some((head, range)) => format!("{head} {}", numbers(range.start, range.len() as u32)),
        None => command,
    }
}

/// Creates a key of each type, with the name of the type.
pub fn build_all(connection: &mut Connection) {
    for family in FAMILIES {
        family.build(connection, family.type_name);
    }
}

/// The [`Family::view`] of all keys of [`build_all`].
pub fn view_all(connection: &mut Connection) -> Vec<Vec<Reply>> {
    let view = |family: &Family| family.view(connection, family.type_name);
    FAMILIES.iter().map(view).collect()
}

/// Runs commands on a key; none may fail.
pub fn run_on(connection: &mut Connection, key: &str, commands: &[&str]) -> Vec<Reply> {
    let commands = commands.iter().map(|command| on_key(command, key));
    commands.map(|command| connection.run(&command)).collect()
}

/// A command that creates a key, with the window of [`window!`].
fn windowed(mut command: Command) -> Command {
    command.extend(words(window!("").trim_start()));
    command
}

/// Commands of which the first creates a key, with this window.
fn first_windowed(mut commands: Vec<String>, window: &str) -> Vec<String> {
    commands[0] += window;
    commands
}

/// A list of commands with one more.
const fn with_command<const LEN: usize>(
    commands: &[&'static str],
    last: &'static str,
) -> [&'static str; LEN] {
    assert!(LEN == commands.len() + 1);
    let mut all = [last; LEN];
    all.split_at_mut(commands.len()).0.copy_from_slice(commands);
    all
}

/// The DUMP of a key without the footer.
pub fn dump(connection: &mut Connection, key: &str) -> Reply {
    without_footer(connection.send(&["DUMP", key]))
}

/// A reply to DUMP without its last ten bytes, which depend on the server.
pub fn without_footer(reply: Reply) -> Reply {
    match reply {
        Reply::Bulk(mut payload) => {
            payload.truncate(payload.len().saturating_sub(10));
            Reply::Bulk(payload)
        }
        other => other,
    }
}

impl Setting {
    /// The name in the arguments of MODULE LOAD.
    pub fn argument(&self) -> &'static str {
        self.name.strip_prefix("bf.").unwrap_or(self.name)
    }
}

impl Family {
    /// The entry of a command (without a window), of a key that [`crate::workload::Workload`] created, or with this
    /// name.
    pub fn of(name: &str) -> &'static Self {
        let start = name.split(['.', ':']).next().expect("a part");
        let mut families = FAMILIES.iter();
        let found = families.find(|family| family.name.eq_ignore_ascii_case(start));
        found.unwrap_or_else(|| panic!("no family of {name}"))
    }

    /// The entry of a type, as TYPE reports it.
    pub fn of_type(name: &[u8]) -> &'static Self {
        let mut families = FAMILIES.iter();
        let found = families.find(|family| family.type_name.as_bytes() == name);
        found.unwrap_or_else(|| panic!("no type {}", name.escape_ascii()))
    }

    /// The entry whose field of INFO this is, and the field without the prefix.
    pub fn of_field(field: &str) -> Option<(&'static Self, &str)> {
        let found = FAMILIES
            .iter()
            .filter_map(|family| Some((family, field.strip_prefix(family.info_prefix)?)));
        // The prefixes of the other types begin with that of RedisBloom's type.
        found.min_by_key(|(_, rest)| rest.len())
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
        let reads = self.read_commands.split(' ').map(|name| (name, READ));
        let writes = self.write_commands.iter();
        let all = reads.chain(writes.map(|write| (write.name, write.flags)));
        let all = all.map(|(name, flags)| (format!("{}.{name}", self.prefix), flags));
        all.collect()
    }

    /// Creates the value at `key`.
    pub fn build(&self, connection: &mut Connection, key: &str) {
        run_on(connection, key, self.build);
    }

    /// The replies of the reads, without the field of SKETCH.WINDOW that changes with time.
    pub fn read(&self, connection: &mut Connection, key: &str) -> Vec<Reply> {
        let mut replies = run_on(connection, key, self.reads);
        for reply in &mut replies {
            reply.remove_field("covered");
        }
        replies
    }

    /// The visible state of the value: replies of its reads, its DUMP without the footer, its digest.
    pub fn view(&self, connection: &mut Connection, key: &str) -> Vec<Reply> {
        let mut view = self.read(connection, key);
        view.push(dump(connection, key));
        view.push(connection.send(&["DEBUG", "DIGEST-VALUE", key]));
        view
    }

    /// Changes the value; different values of `new` make different changes.
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

    /// Creates a key with this command and fills it with random bits as far as the type accepts them.
    pub fn create_filled(
        &self,
        connection: &mut Connection,
        random: &mut Random,
        create: &str,
        key: &str,
    ) {
        run_on(connection, key, &[create]);
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
                    connection.send_run(&command);
                }
            }
        }
    }
}

/// The server's categories, settings and commands match these tables. `digests_are_equal_for_equal_values_only` compares
/// the types.
#[test]
fn the_list_of_families_matches_the_module() {
    let mut module = Vec::new();
    for family in roughly::MODULE.families {
        let category = family.category.to_str().expect("UTF-8");
        let settings = family.settings.iter();
        let names = settings.map(|setting| setting.name);
        let names = names.chain(family.commands.iter().map(|command| command.name));
        let names = names.map(|name| name.to_str().expect("UTF-8"));
        module.extend(names.map(|name| format!("{name} of {category}")));
    }
    let mut listed = SKETCH_COMMANDS
        .map(|(name, _)| format!("{name} of {SKETCH_CATEGORY}"))
        .to_vec();
    for family in one_per_family() {
        let settings = family.settings.iter().map(Setting::argument);
        let names = settings.map(str::to_owned);
        let names = names.chain(family.commands().into_iter().map(|(name, _)| name));
        listed.extend(names.map(|name| format!("{name} of {}", family.category)));
    }
    assert_same_names(listed, module, "commands and settings");
}

/// The tests in `hostile/` run the commands of [`Family::uses`], [`SKETCH_USES`] and [`Family::sizes`] on damaged and
/// extreme values.
#[test]
fn every_command_is_used_by_the_hostile_tests() {
    for family in FAMILIES {
        let sketch = SKETCH_COMMANDS.map(|(name, flags)| (name.to_owned(), flags));
        for (name, _) in family.commands().into_iter().chain(sketch) {
            let mut uses = family.uses.iter().chain(SKETCH_USES).chain(family.sizes);
            let is_used = uses.any(|command| {
                let used = command.split(' ').next().expect("a name");
                used.eq_ignore_ascii_case(&name)
            });
            assert!(is_used, "{name}");
        }
    }
}
