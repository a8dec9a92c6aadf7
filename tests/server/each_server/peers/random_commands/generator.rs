//! Random commands of RedisBloom, valid and invalid ones.
//!
//! The commands are a function of the seed and of the chunks that SCANDUMP returned.

use crate::support::resp::{Reply, Text};
use crate::workload::{Command, Random, with_item, with_items, words};
use std::collections::VecDeque;
use std::sync::LazyLock;

/// Keys per family.
const KEYS: u64 = 4;
/// One in this many valid commands is replaced by an invalid one, or by one with unusual arguments.
const INVALID_ONE_IN: u64 = 4;
/// Samples that later commands use.
const SAMPLES: usize = 40;

const FAMILIES: [&str; 5] = ["bf", "cf", "cms", "topk", "tdigest"];

/// Arguments that are no numbers, or numbers at the limits of a range.
static UNUSUAL: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "| |a|nan|-nan|inf|-inf|+inf|infinity|1e3|1E3|1.0|1.5|.5|5.|+1|01|-0|0.0|-0.0| 1|1 |1\n|1\x002|1,5|\
        0x10|0x1p-4|\u{661}|0|1|2|3|-1|-2|0.25|0.2500001|0.999999|1.0000001|1e-5|1e-320|5e-324|1e-400|1e400|\
        -1e400|255|256|32768|32769|65535|65536|100000|100001|1073741823|1073741824|1073741825|2147483648|\
        4294967295|4294967296|4294967297|9223372036854775807|9223372036854775808|18446744073709551616|\
        -9223372036854775808|-9223372036854775809|99999999999999999999999999|EXPANSION|expansion|NONSCALING|\
        NoCreate|ITEMS|items|CAPACITY|ERROR|BUCKETSIZE|MAXITERATIONS|WEIGHTS|weights|COMPRESSION|\
        compression|OVERRIDE|override|WITHCOUNT|w|string:0|missing:0"
        .split('|')
        .collect()
});

/// Commands with a parameter N, for which every unusual argument is used. KEY is a key of the family.
const PARAMETERS: &[&str] = &[
    "BF.RESERVE KEY N 10",
    "BF.RESERVE KEY 0.01 N",
    "BF.RESERVE KEY 0.01 10 EXPANSION N",
    "BF.RESERVE KEY 0.01 10 EXPANSION N NONSCALING",
    "BF.INSERT KEY ERROR N ITEMS a b a",
    "BF.INSERT KEY CAPACITY N ITEMS a b a",
    "BF.INSERT KEY EXPANSION N ITEMS a b a",
    "BF.INSERT KEY EXPANSION N NONSCALING ITEMS a b a",
    "BF.SCANDUMP KEY N",
    "CF.RESERVE KEY N",
    "CF.RESERVE KEY 1000 BUCKETSIZE N",
    "CF.RESERVE KEY 100 EXPANSION N",
    "CF.RESERVE KEY 100 MAXITERATIONS N",
    "CF.INSERT KEY CAPACITY N ITEMS a b a",
    "CF.INSERTNX KEY CAPACITY N ITEMS a b a",
    "CF.SCANDUMP KEY N",
    "CMS.INITBYDIM KEY N 1",
    "CMS.INITBYDIM KEY 1 N",
    "CMS.INITBYDIM KEY 1 1 CELL_SIZ N",
    "CMS.INITBYPROB KEY N 0.1",
    "CMS.INITBYPROB KEY 0.1 N",
    "CMS.INITBYPROB KEY 0.1 0.1 CELL_SIZ N",
    "CMS.INCRBY KEY a N",
    "CMS.MERGE KEY N KEY",
    "CMS.MERGE KEY 1 KEY WEIGHTS N",
    "TOPK.RESERVE KEY N",
    "TOPK.RESERVE KEY N 8 7 1",
    "TOPK.RESERVE KEY 3 N 7 1",
    "TOPK.RESERVE KEY 3 8 N 1",
    "TOPK.RESERVE KEY 3 8 7 N",
    "TOPK.INCRBY KEY a 1 b N",
    "TOPK.LIST KEY N",
    "TDIGEST.CREATE KEY COMPRESSION N",
    "TDIGEST.MERGE KEY 1 KEY COMPRESSION N",
    "TDIGEST.MERGE KEY N KEY",
    "TDIGEST.ADD KEY 0.123456789 N",
    "TDIGEST.QUANTILE KEY N",
    "TDIGEST.CDF KEY N",
    "TDIGEST.RANK KEY N",
    "TDIGEST.REVRANK KEY N",
    "TDIGEST.BYRANK KEY N",
    "TDIGEST.BYREVRANK KEY N",
    "TDIGEST.TRIMMED_MEAN KEY N 1",
    "TDIGEST.TRIMMED_MEAN KEY 0 N",
];

/// The commands of [`PARAMETERS`] with every unusual argument, each with a key of its own. An option also occurs twice: with a
/// usual value after the unusual one, and before it.
pub fn unusual_parameters() -> Vec<Command> {
    let mut commands = Vec::new();
    for template in PARAMETERS {
        let (before, after) = template.split_once(" N").expect("a parameter");
        let option = before.rsplit(' ').next().expect("a word");
        let mut forms = vec![(*template).to_owned()];
        if option.len() > 3 && template.split(' ').nth(2) != Some("N") && option != "KEY" {
            let usual = if option == "ERROR" { "0.1" } else { "8" };
            let rest = format!("{usual}{after}");
            forms.push(format!("{before} N {option} {rest}"));
            forms.push(format!("{before} {usual} {option} N{after}"));
        }
        for form in forms {
            for unusual in UNUSUAL.iter() {
                let (prefix, _) = form.split_once('.').expect("a family");
                let key = format!("{}:{}", prefix.to_lowercase(), commands.len());
                let mut command = words(&form.replace("KEY", &key));
                for argument in &mut command {
                    if argument == b"N" {
                        *argument = (*unusual).into();
                    }
                }
                commands.push(command);
            }
        }
    }
    commands.retain(|command| !is_excluded(command));
    commands
}

/// The name of a command in upper case.
pub fn name(command: &Command) -> String {
    String::from_utf8_lossy(&command[0]).to_uppercase()
}

/// An endless stream of commands.
pub struct Generator {
    random: Random,
    /// Commands that follow each other.
    queue: VecDeque<Command>,
    /// The last samples of t-digests.
    samples: VecDeque<String>,
    /// The last chunks that SCANDUMP returned: the LOADCHUNK command without its key, as name, iterator and chunk.
    chunks: VecDeque<[Vec<u8>; 3]>,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        let mut generator = Self {
            random: Random::new(seed),
            queue: VecDeque::new(),
            samples: VecDeque::new(),
            chunks: VecDeque::new(),
        };
        for family in FAMILIES {
            for number in 0..KEYS {
                let create = generator.create(&format!("{family}:{number}"), family);
                generator.queue.push_back(create);
            }
        }
        generator
    }

    pub fn next(&mut self) -> Command {
        loop {
            let command = self.queue.pop_front().unwrap_or_else(|| {
                let command = self.valid();
                match self.random.one_in(INVALID_ONE_IN) {
                    true => self.unusual(command),
                    false => command,
                }
            });
            if !is_excluded(&command) {
                return command;
            }
        }
    }

    /// Remembers the chunk that a SCANDUMP command returned.
    pub fn remember(&mut self, command: &Command, reply: &Reply) {
        let name = name(command);
        let Some([Reply::Integer(next), Reply::Bulk(chunk)]) = reply.items() else {
            return;
        };
        if name.ends_with(".SCANDUMP") && *next > 0 {
            let load = name.replace(".SCANDUMP", ".LOADCHUNK").into_bytes();
            let next = next.to_string().into_bytes();
            self.chunks.push_back([load, next, chunk.clone()]);
            self.chunks.keep_last(8);
        }
    }

    fn key(&mut self, family: &str) -> String {
        format!("{family}:{}", self.random.below(KEYS))
    }

    fn number(&mut self, below: u64) -> u64 {
        self.random.below(below)
    }

    fn valid(&mut self) -> Command {
        let family = self.random.pick(&FAMILIES);
        let key = self.key(family);
        match family {
            _ if self.random.one_in(25) => self.generic(&key, family),
            _ if self.random.one_in(12) => {
                let create = self.create(&key, family);
                if self.random.one_in(4) {
                    return create;
                }
                self.queue.push_back(create);
                words(&format!("DEL {key}"))
            }
            _ if self.random.one_in(12) => self.parameter(),
            "bf" => self.bloom(&key),
            "cf" => self.cuckoo(&key),
            "cms" => self.count_min(&key),
            "topk" => self.top_k(&key),
            _ => self.t_digest(&key),
        }
    }

    fn create(&mut self, key: &str, family: &str) -> Command {
        let random = &mut self.random;
        words(&match family {
            "bf" => {
                let rate = random.pick_text("0.1|0.01|0.001|0.25|3e-7|1e-10");
                let capacity = random.below(60) + 1;
                let options = random.pick_text(
                    "|| EXPANSION 1| expansion 4| NONSCALING| nonscaling| EXPANSION 2 NONSCALING| IGNORED",
                );
                format!("BF.RESERVE {key} {rate} {capacity}{options}")
            }
            "cf" => {
                let capacity = random.below(100) + 10;
                let options = random.pick_text(
                    "|| BUCKETSIZE 1| bucketsize 4 EXPANSION 0| EXPANSION 0 BUCKETSIZE 1 MAXITERATIONS 3\
                     | EXPANSION 2| EXPANSION 3| MAXITERATIONS 1| BUCKETSIZE 5 maxiterations 500\
                     | EXPANSION 1 EXPANSION 2",
                );
                format!("CF.RESERVE {key} {capacity}{options}")
            }
            "cms" if random.one_in(5) => {
                let error = random.pick_text("0.1|0.1|0.01|0.9|0.3");
                let probability = random.pick_text("0.03125|0.04|0.5|0.9|0.001|1e-30");
                format!("CMS.INITBYPROB {key} {error} {probability}")
            }
            "cms" => {
                // Few dimensions, so that sketches can be merged.
                let dimensions = random.pick_text("20 5|20 5|20 5|1 1|7 2|300 3");
                format!("CMS.INITBYDIM {key} {dimensions}")
            }
            "topk" => {
                let shape = random.pick_text(
                    "3 8 7 1|5 4 2 1|1 1 1 1|10 50 4 1|10 50 4 1|50 8 7 1|3|10 20 3 0.9",
                );
                format!("TOPK.RESERVE {key} {shape}")
            }
            _ => {
                let options = random
                    .pick_text("| COMPRESSION 100| compression 10| COMPRESSION 1| COMPRESSION 37");
                format!("TDIGEST.CREATE {key}{options}")
            }
        })
    }

    /// A command with an unusual parameter. Often, its key does not exist.
    fn parameter(&mut self) -> Command {
        let template = self.random.pick(PARAMETERS);
        let (prefix, _) = template.split_once('.').expect("a family");
        let key = self.key(&prefix.to_lowercase());
        let mut command = words(&template.replace("KEY", &key));
        let unusual = self.random.pick(&UNUSUAL);
        for argument in &mut command {
            if argument == b"N" {
                *argument = unusual.into();
            }
        }
        if is_excluded(&command) || self.random.one_in(2) {
            return command;
        }
        self.queue.push_back(command);
        words(&format!("DEL {key}"))
    }

    /// A command of the server.
    fn generic(&mut self, key: &str, family: &str) -> Command {
        let other = self.key(family);
        words(&match self.number(9) {
            0..3 => format!("DEL {key}"),
            3 => format!("RENAME {key} {other}"),
            4 | 5 => {
                if family == "tdigest" {
                    let merge = format!("TDIGEST.MERGE {key} 1 {other}");
                    self.queue.push_back(words(&merge));
                    self.queue.push_back(words(&format!("PEXPIRETIME {key}")));
                }
                format!("EXPIREAT {key} 4102444800")
            }
            6 => format!("COPY {key} {other}"),
            7 => format!("TYPE {key}"),
            _ => "SET string:0 text".to_owned(),
        })
    }

    fn bloom(&mut self, key: &str) -> Command {
        let random = &mut self.random;
        match random.below(100) {
            0..30 => with_item(&format!("BF.ADD {key}"), random),
            30..45 => with_items(&format!("BF.MADD {key}"), random, |_| None),
            45..60 => {
                let options = random.pick_text(
                    "| CAPACITY 20| ERROR 0.003 CAPACITY 40| EXPANSION 3 c 5| NOCREATE| nocreate ERROR 0.1\
                     | NONSCALING CAPACITY 15| error 0.2 nonscaling capacity 3| CAPACITY 7 CAPACITY 9",
                );
                let items = random.pick_text("ITEMS|items|i");
                let insert = format!("BF.INSERT {key}{options} {items}");
                with_items(&insert, random, |_| None)
            }
            60..66 => with_item(&format!("BF.EXISTS {key}"), random),
            66..74 => with_items(&format!("BF.MEXISTS {key}"), random, |_| None),
            74..78 => words(&format!("BF.CARD {key}")),
            78..88 => {
                let field = random.pick_text("|| CAPACITY| size| FILTERS| Items| EXPANSION| OTHER");
                words(&format!("BF.INFO {key}{field}"))
            }
            88..92 => words(&format!("BF.DEBUG {key}")),
            92..97 => self.scan("BF", key),
            _ => self.load("BF", key),
        }
    }

    fn cuckoo(&mut self, key: &str) -> Command {
        let random = &mut self.random;
        match random.below(100) {
            0..22 => with_item(&format!("CF.ADD {key}"), random),
            22..28 => with_item(&format!("CF.ADDNX {key}"), random),
            28..44 => {
                let insert = random.pick_text("CF.INSERT|CF.INSERTNX");
                let options = random.pick_text("|| CAPACITY 20| NOCREATE| c 8 n| capacity 9");
                let insert = format!("{insert} {key}{options} ITEMS");
                with_items(&insert, random, |_| None)
            }
            44..50 => with_item(&format!("CF.EXISTS {key}"), random),
            50..57 => with_items(&format!("CF.MEXISTS {key}"), random, |_| None),
            57..62 => with_item(&format!("CF.COUNT {key}"), random),
            62..79 => with_item(&format!("CF.DEL {key}"), random),
            79..82 => words(&format!("CF.COMPACT {key}")),
            82..88 => words(&format!("CF.INFO {key}")),
            88..91 => words(&format!("CF.DEBUG {key}")),
            91..95 => self.scan("CF", key),
            95..98 => self.load("CF", key),
            98 => self.largest_number_of_sub_filters(key),
            _ => self.many_deletions(key),
        }
    }

    /// Commands that delete items of a cuckoo filter with several sub-filters, until it compacts itself.
    fn many_deletions(&mut self, key: &str) -> Command {
        let count = self.number(100) + 20;
        let items: Vec<_> = (0..count).map(|number| format!(" {number}")).collect();
        for command in [
            format!("DEL {key}"),
            format!("CF.RESERVE {key} 16 BUCKETSIZE 2 EXPANSION 1"),
            format!("CF.INSERT {key} ITEMS{}", items.concat()),
        ] {
            self.queue.push_back(words(&command));
        }
        for _ in 0..count / 4 {
            let delete = format!("CF.DEL {key} {}", self.number(count));
            self.queue.push_back(words(&delete));
            self.queue.push_back(words(&format!("CF.INFO {key}")));
        }
        words(&format!("CF.INFO {key}"))
    }

    /// Commands that create a cuckoo filter with so many sub-filters that it accepts no further one, and use it.
    fn largest_number_of_sub_filters(&mut self, key: &str) -> Command {
        let insert = format!("CF.INSERT {key} ITEMS{}", " a".repeat(60));
        let commands = [
            // A filter that doubles would request terabytes.
            &format!("DEL {key}"),
            &format!("CF.RESERVE {key} 2 BUCKETSIZE 1 EXPANSION 1"),
            &insert,
            &insert,
            &format!("CF.ADDNX {key} a"),
            &format!("CF.COUNT {key} a"),
            &format!("CF.DEL {key} a"),
        ];
        self.queue.extend(commands.map(|command| words(command)));
        words(&format!("CF.INFO {key}"))
    }

    fn count_min(&mut self, key: &str) -> Command {
        let others = [self.key("cms"), self.key("cms"), self.key("cms")];
        let random = &mut self.random;
        match random.below(100) {
            0..50 => with_items(&format!("CMS.INCRBY {key}"), random, |random| {
                Some(random.below(1000).to_string())
            }),
            50..52 => with_items(&format!("CMS.INCRBY {key}"), random, |random| {
                let increments = &["4294967295", "4000000000", "2147483648", "4294967290", "5"];
                Some(random.pick(increments).to_owned())
            }),
            52 => with_items(&format!("CMS.INCRBY {key}"), random, |random| {
                let increments = &["9223372036854775807", "4294967296", "-1", "-5", "7"];
                Some(random.pick(increments).to_owned())
            }),
            53..68 => with_items(&format!("CMS.QUERY {key}"), random, |_| None),
            68..88 => {
                let count = random.below(3) as usize + 1;
                let mut merge = format!("CMS.MERGE {key} {count} {}", others[..count].join(" "));
                if random.one_in(2) {
                    merge += random.pick_text(" WEIGHTS| weights");
                    for _ in 0..count {
                        merge += random.pick_text(" 1| 2| 0| 3| 1| -1");
                    }
                }
                words(&merge)
            }
            _ => words(&format!("CMS.INFO {key}")),
        }
    }

    fn top_k(&mut self, key: &str) -> Command {
        let random = &mut self.random;
        match random.below(100) {
            0..34 => with_items(&format!("TOPK.ADD {key}"), random, |_| None),
            34..56 => with_items(&format!("TOPK.INCRBY {key}"), random, |random| {
                // See `is_excluded` about the steps of an increment.
                let most = if random.one_in(500) { 100_001 } else { 40 };
                Some(random.below(most).to_string())
            }),
            56..66 => with_items(&format!("TOPK.QUERY {key}"), random, |_| None),
            66..76 => with_items(&format!("TOPK.COUNT {key}"), random, |_| None),
            76..90 => {
                let option = random.pick_text("| WITHCOUNT| withcount| With");
                words(&format!("TOPK.LIST {key}{option}"))
            }
            _ => words(&format!("TOPK.INFO {key}")),
        }
    }

    fn t_digest(&mut self, key: &str) -> Command {
        let others = [self.key("tdigest"), self.key("tdigest")];
        match self.number(100) {
            0..44 => self.samples(key),
            44..46 => words(&format!("TDIGEST.RESET {key}")),
            46..52 => {
                let count = self.random.below(2) as usize + 1;
                let options = self.random.pick_text(
                    "| OVERRIDE| COMPRESSION 20| compression 200 override| OVERRIDE COMPRESSION 50",
                );
                let others = others[..count].join(" ");
                words(&format!("TDIGEST.MERGE {key} {count} {others}{options}"))
            }
            52..56 => words(&format!("TDIGEST.MIN {key}")),
            56..60 => words(&format!("TDIGEST.MAX {key}")),
            60..68 => self.with_values("TDIGEST.QUANTILE", key, Self::quantile),
            68..75 => self.with_values("TDIGEST.CDF", key, Self::sample_or_other),
            75..79 => self.with_values("TDIGEST.RANK", key, Self::sample_or_other),
            79..83 => self.with_values("TDIGEST.REVRANK", key, Self::sample_or_other),
            83..87 => self.with_values("TDIGEST.BYRANK", key, Self::rank),
            87..91 => self.with_values("TDIGEST.BYREVRANK", key, Self::rank),
            91..96 => {
                let (low, high) = (self.quantile(), self.quantile());
                words(&format!("TDIGEST.TRIMMED_MEAN {key} {low} {high}"))
            }
            _ => words(&format!("TDIGEST.INFO {key}")),
        }
    }

    /// TDIGEST.ADD with distinct samples; repeated ones for the last key.
    fn samples(&mut self, key: &str) -> Command {
        let is_repeated = key == format!("tdigest:{}", KEYS - 1);
        let mut command = words(&format!("TDIGEST.ADD {key}"));
        let count = self.random.pick(&[1, 5, 40, 200]);
        for _ in 0..=self.number(count) {
            let sample = match is_repeated {
                true => self.number(10).to_string(),
                false => self.new_sample(),
            };
            if self.random.one_in(10) {
                self.samples.push_back(sample.clone());
                self.samples.keep_last(SAMPLES);
            }
            command.push(sample.into_bytes());
        }
        command
    }

    fn new_sample(&mut self) -> String {
        let sign = self.random.pick_text("||-");
        let digits = self.random.next() >> 11;
        format!("{sign}{}.{digits:016}", self.number(1000))
    }

    fn sample_or_other(&mut self) -> String {
        let at = self.number(SAMPLES as u64 + 5) as usize;
        let sample = self.samples.get(at).cloned();
        sample.unwrap_or_else(|| self.new_sample())
    }

    fn quantile(&mut self) -> String {
        match self.number(2) {
            0 => {
                let quantiles = "0|1|0.5|0.25|0.999|0.001|1e-9";
                self.random.pick_text(quantiles).to_owned()
            }
            _ => format!("0.{:09}", self.number(1_000_000_000)),
        }
    }

    fn rank(&mut self) -> String {
        let below = self.random.pick(&[3, 30, 300, 3000]);
        self.number(below).to_string()
    }

    fn with_values(&mut self, name: &str, key: &str, value: fn(&mut Self) -> String) -> Command {
        let mut command = words(&format!("{name} {key}"));
        for _ in 0..=self.number(5) {
            command.push(value(self).into_bytes());
        }
        command
    }

    fn scan(&mut self, prefix: &str, key: &str) -> Command {
        let iterator = match self.random.below(5) {
            0 => self.number(200).to_string(),
            1 => "1".to_owned(),
            2 => {
                let last = self.chunks.back();
                last.map_or(String::new(), |[_, iterator, _]| Text(iterator).to_string())
            }
            _ => "0".to_owned(),
        };
        words(&format!("{prefix}.SCANDUMP {key} {iterator}"))
    }

    /// LOADCHUNK with a chunk of another key.
    fn load(&mut self, prefix: &str, key: &str) -> Command {
        let name = format!("{prefix}.LOADCHUNK").into_bytes();
        let chunks = self.chunks.iter();
        let chunks: Vec<_> = chunks.filter(|chunk| chunk[0] == name).collect();
        if chunks.is_empty() {
            return words(&format!("{prefix}.SCANDUMP {key} 0"));
        }
        let [name, iterator, chunk] = self.random.pick(&chunks).clone();
        let is_first = iterator == b"1";
        let load = vec![name, key.into(), iterator, chunk];
        if is_first && self.random.one_in(2) {
            self.queue.push_back(load);
            return words(&format!("DEL {key}"));
        }
        load
    }

    /// The command with other arguments.
    fn unusual(&mut self, mut command: Command) -> Command {
        let is_load = name(&command).ends_with(".LOADCHUNK");
        for _ in 0..self.random.pick(&[1, 1, 1, 2]) {
            let last = command.len() as u64 - 1;
            if last == 0 {
                command.push(b"1".to_vec());
                continue;
            }
            let at = self.random.below(last) as usize + 1;
            match self.random.below(12) {
                // RedisBloom does not validate the content of chunks; Roughly does (docs/migration.md).
                _ if is_load => {
                    let iterators = ["", "0", "-1", "x", "1.5", "9223372036854775808"];
                    command[2] = self.random.pick(&iterators).into();
                }
                0..5 => command[at] = self.random.pick(&UNUSUAL).into(),
                5 => drop(command.remove(at)),
                6 => {
                    let argument = command[at].clone();
                    command.insert(at, argument);
                }
                7 => {
                    let other = self.random.below(last) as usize + 1;
                    command.swap(at, other);
                }
                8 => command[1] = self.other_key().into_bytes(),
                9 => command[0].make_ascii_lowercase(),
                10 => {
                    let argument = self.random.pick(&UNUSUAL).into();
                    let at = self.random.below(last) as usize + 2;
                    command.insert(at, argument);
                }
                _ => command[at].make_ascii_lowercase(),
            }
        }
        command
    }

    /// A key of any family, of no family, or a missing one.
    fn other_key(&mut self) -> String {
        let families = "bf|cf|cms|topk|tdigest|string|missing";
        match self.random.pick_text(families) {
            family @ ("string" | "missing") => format!("{family}:0"),
            family => self.key(family),
        }
    }
}

trait KeepLast {
    fn keep_last(&mut self, len: usize);
}

impl<T> KeepLast for VecDeque<T> {
    /// Removes the first elements until `len` remain.
    fn keep_last(&mut self, len: usize) {
        self.drain(..self.len().saturating_sub(len));
    }
}

/// Whether a command would end or block RedisBloom 2.8, or request so much memory that the reply depends on the machine.
fn is_excluded(command: &Command) -> bool {
    let arguments = command[1..].iter();
    let numbers: Vec<_> = arguments.map(|argument| parse(argument)).collect();
    let number = |at: usize| numbers.get(at).copied().flatten();
    let after = |option: &str| {
        let is_option = |argument: &Vec<u8>| argument.eq_ignore_ascii_case(option.as_bytes());
        let at = command.iter().position(is_option);
        at.and_then(number).unwrap_or(0.0)
    };
    /// Memory that is requested without a dependency on the machine, in bytes.
    const SMALL: f64 = 4e6;
    let is_large = |bytes: f64| bytes > SMALL;
    match name(command).as_str() {
        // Bytes of a filter. RedisBloom 2.8 accepts a larger capacity than 2^30, which does not cost memory until it is used.
        "BF.RESERVE" => {
            let (rate, capacity) = (number(1).unwrap_or(0.5), number(2).unwrap_or(0.0));
            capacity <= MAX_CAPACITY && is_large(capacity * (1.0 - rate.ln()) / 4.0)
        }
        "BF.INSERT" => numbers.iter().flatten().any(|&number| {
            (1e5..=MAX_CAPACITY).contains(&number) || number > 0.0 && number < 1e-100
        }),
        // RedisBloom reads the value of an option behind the last argument.
        "CF.RESERVE" if ends_with_option(command) => true,
        "CF.RESERVE" | "CF.INSERT" | "CF.INSERTNX" => {
            let is_capacity = |number: &f64| (1e5..=MAX_CAPACITY).contains(number);
            // A few growths with such a factor request terabytes.
            numbers.iter().flatten().any(is_capacity)
                || (17.0..=32768.0).contains(&after("EXPANSION"))
        }
        "CMS.INITBYDIM" => {
            let cells = number(1).unwrap_or(0.0) * number(2).unwrap_or(0.0);
            is_large(cells * 4.0) && cells < 9e18
        }
        "CMS.INITBYPROB" => number(1).is_some_and(|error| error < 1e-5 && error > 1e-300),
        // RedisBloom 2.8 reduces these numbers modulo 2^32; 0 then fails an assertion, which ends the server. With a decay of 1, a
        // step that decays a count fails with a probability of 2^-31, and each row has as many steps as the increment.
        "TOPK.RESERVE" => {
            numbers.iter().flatten().any(|&number| number > 1e5)
                || number(3).is_some_and(|depth| depth > 256.0)
        }
        // RedisBloom announces an element per pair and ends the array at an invalid increment, so that the client waits for the
        // other elements.
        "TOPK.INCRBY" => {
            let is_valid = |text: &Vec<u8>| {
                // The server accepts neither a sign nor leading zeros.
                let number = String::from_utf8_lossy(text).parse::<u64>();
                number
                    .is_ok_and(|number| number <= 100_000 && number.to_string().as_bytes() == text)
            };
            let mut increments = command.iter().skip(3).step_by(2);
            increments.next_back();
            !increments.all(is_valid)
        }
        // RedisBloom 2.8 computes the size of the digest modulo 2^32 and writes beyond it.
        "TDIGEST.CREATE" | "TDIGEST.MERGE" => (1e4..1e18).contains(&after("COMPRESSION")),
        _ => false,
    }
}

/// Whether a command would end RedisBloom 2.6, at once or later: it does not check the number of keys of a merge, nor the size of
/// a sketch for overflow.
pub fn ends_2_6(command: &Command) -> bool {
    let number = |at: usize| command.get(at).and_then(|argument| parse(argument));
    let is_any =
        |condition: fn(f64) -> bool| (2..command.len()).any(|at| number(at).is_some_and(condition));
    match name(command).as_str() {
        // A filter of less than one bit, or of more than 2^64.
        "BF.RESERVE" | "BF.INSERT" => {
            is_any(|number| number > 0.9 && number < 1.0 || number > 1e12)
        }
        "CF.RESERVE" | "CF.INSERT" | "CF.INSERTNX" => is_any(|number| number > 1e12),
        "CMS.INITBYDIM" => is_any(|number| number > 1e9),
        "CMS.INITBYPROB" => is_any(|number| number > 0.0 && number < 1e-10),
        "CMS.MERGE" => number(2).is_some_and(|keys| !(0.0..1e12).contains(&keys)),
        _ => false,
    }
}

fn ends_with_option(command: &Command) -> bool {
    let options: [&[u8]; 3] = [b"EXPANSION", b"BUCKETSIZE", b"MAXITERATIONS"];
    let last = command.last().expect("a name");
    options
        .iter()
        .any(|option| last.eq_ignore_ascii_case(option))
}

/// The largest capacity of Bloom and cuckoo filters.
pub const MAX_CAPACITY: f64 = 1_073_741_824.0;

/// The number in an argument, also if it is hexadecimal: some servers accept those of [`UNUSUAL`].
pub fn parse(argument: &[u8]) -> Option<f64> {
    let number: f64 = match std::str::from_utf8(argument).ok()?.trim() {
        "0x10" => 16.0,
        "0x1p-4" => 0.0625,
        text => text.parse().ok()?,
    };
    (!number.is_nan()).then_some(number)
}
