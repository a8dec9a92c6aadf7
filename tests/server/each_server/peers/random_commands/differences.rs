//! Wanted differences between the replies of RedisBloom and of Roughly.

use super::generator::{MAX_CAPACITY, name, parse};
use crate::golden::compare::is_same_shape;
use crate::golden::differences::matches;
use crate::golden::recorded;
use crate::support::resp::{Reply, Text};
use crate::workload::Command;
use std::collections::BTreeSet;

/// Replies are those of RedisBloom 8.10, and of 8.12 for count-min sketches.
const VERSION_2: &str = "docs/migration.md#differences-from-redisbloom-2x";
/// Versions of RedisBloom, as in MODULE LIST.
pub const VERSION_2_8: i64 = 20_800;
const VERSION_8: i64 = 80_000;
const VERSION_8_12: i64 = 81_200;
/// No version is without the difference.
const NO_VERSION: i64 = i64::MAX;

const DIFFERENCES_OF_ROUGHLY: &str = "docs/migration.md#differences-from-redisbloom";
const T_DIGESTS: &str = "docs/families/t-digest.md#comparison-with-redisbloom";

const CAPACITY_OF_RESERVE: &str = "-ERR capacity must be in the range [1, 1073741824]";
const EXPANSION_OF_RESERVE: &str = "-ERR expansion must be in the range [0, 32768]";
const CAPACITY_OF_CUCKOO: &str = "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
const CAPACITY_OF_CUCKOO_INSERT: &str =
    "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]";

/// Samples of which equal ones are merged in another order.
const EQUAL_SAMPLES: &str = "TDIGEST.ADD k 2 4 1 2 1 1 0 4 2 3 2 0 3 2 3 2 0 2 4 2 0 1 3 1 1 0 1 3 3 0 2 0 1 4 3 4 1 0 0 1 4 2 4 1 \
    2 0 2 2 1";

/// A command with the replies of both servers.
pub struct Case<'a> {
    pub command: &'a Command,
    redisbloom: &'a Reply,
    roughly: &'a Reply,
    /// The command in text, with its name in upper case, and the replies of RedisBloom and of Roughly.
    text: String,
    replies: [String; 2],
    /// The key is a top-k with a decay below 1.
    pub decays: bool,
    /// The key is a t-digest.
    pub is_digest: bool,
    /// The key is a t-digest with equal samples.
    pub has_equal_samples: bool,
    /// The key is a t-digest with one sample.
    pub has_one_sample: bool,
}

impl<'a> Case<'a> {
    pub fn new(command: &'a Command, redisbloom: &'a Reply, roughly: &'a Reply) -> Self {
        let mut arguments = vec![name(command)];
        let others = command[1..].iter();
        arguments.extend(others.map(|argument| Text(argument).to_string()));
        Self {
            command,
            redisbloom,
            roughly,
            text: arguments.join(" "),
            replies: [redisbloom.to_string(), roughly.to_string()],
            decays: false,
            is_digest: false,
            has_equal_samples: false,
            has_one_sample: false,
        }
    }

    /// Whether the replies have the same type and length.
    fn has_same_shape(&self) -> bool {
        is_same_shape(&recorded::json(self.redisbloom), self.roughly)
    }

    /// Whether a number after an option that begins with these letters is in the range.
    fn has_option(&self, start: &str, is_in_range: fn(f64) -> bool) -> bool {
        let options = self.command.iter().enumerate().skip(2);
        let mut options = options
            .filter(|(_, argument)| (argument.to_ascii_uppercase()).starts_with(start.as_bytes()));
        options.any(|(at, _)| self.number(at + 1).is_some_and(is_in_range))
    }

    fn number(&self, at: usize) -> Option<f64> {
        parse(self.command.get(at)?)
    }
}

/// A wanted difference. Patterns are texts in which `*` stands for any text.
pub struct Difference {
    pub reason: &'static str,
    /// The page that states it.
    pub page: &'static str,
    /// Only versions of RedisBloom below this one have the difference.
    pub below: i64,
    /// Patterns of the commands, with the name in upper case. `|` separates them.
    commands: &'static str,
    /// Pairs of patterns: the reply of RedisBloom, and that of Roughly. The replies may be equal if a value differs.
    replies: &'static [(&'static str, &'static str)],
    /// What the patterns do not express.
    when: fn(&Case) -> bool,
    /// Commands with the key k on an empty server, the last of which shows the difference.
    pub example: &'static [&'static str],
    /// The arguments that are keys whose values may differ afterwards: the test deletes them.
    pub deleted: &'static [usize],
}

impl Difference {
    /// Whether this is the difference between the replies.
    pub fn explains(&self, case: &Case) -> bool {
        let [redisbloom, roughly] = &case.replies;
        let mut commands = self.commands.split('|');
        let mut replies = self.replies.iter();
        commands.any(|pattern| matches(pattern, &case.text))
            && replies.any(|(one, other)| matches(one, redisbloom) && matches(other, roughly))
            && (self.when)(case)
    }
}

macro_rules! setters {
    ($($field:ident: $type:ty),*) => {
        impl Difference {
            $(const fn $field(self, $field: $type) -> Self {
                Self { $field, ..self }
            })*
        }
    };
}

setters!(
    page: &'static str,
    below: i64,
    commands: &'static str,
    replies: &'static [(&'static str, &'static str)],
    when: fn(&Case) -> bool,
    example: &'static [&'static str],
    deleted: &'static [usize]
);

/// A difference from RedisBloom 2.x.
const fn of_version_2(reason: &'static str) -> Difference {
    Difference {
        reason,
        page: VERSION_2,
        below: VERSION_8,
        commands: "",
        replies: &[],
        when: |_| true,
        example: &[],
        deleted: &[],
    }
}

const fn of_any_version(reason: &'static str) -> Difference {
    let difference = of_version_2(reason);
    difference.page(DIFFERENCES_OF_ROUGHLY).below(NO_VERSION)
}

pub const DIFFERENCES: &[Difference] = &[
    of_any_version("COPY works for all types")
        .commands("COPY * *")
        .replies(&[("-ERR not supported for this module key", ":1")])
        .example(&["BF.ADD k a", "COPY k l"])
        .deleted(&[2]),
    of_any_version("a key may have the name of an option")
        .commands("BF.RESERVE *|CF.RESERVE *")
        .replies(&[("*", "*")])
        .when(|case| {
            let options: [&[u8]; 4] =
                [b"EXPANSION", b"NONSCALING", b"BUCKETSIZE", b"MAXITERATIONS"];
            let key = &case.command[1];
            options
                .iter()
                .any(|option| key.eq_ignore_ascii_case(option))
        })
        .example(&["BF.RESERVE NONSCALING 0.01 10 EXPANSION 2"])
        .deleted(&[1]),
    of_any_version("a key may have the name of an option")
        .commands("CMS.MERGE *")
        .replies(&[("-CMS: wrong number of keys/weights", "*")])
        .when(|case| {
            let is_option = |key: &Vec<u8>| key.eq_ignore_ascii_case(b"WEIGHTS");
            let count = case.number(2).map_or(0, |count| count as usize);
            case.command.iter().skip(3).take(count).any(is_option)
        })
        .example(&["CMS.INITBYDIM k 2 2", "CMS.MERGE k 1 WEIGHTS WEIGHTS 1"])
        .deleted(&[1]),
    // Bloom filters
    of_version_2("the text for an error rate out of range")
        .commands("BF.RESERVE *")
        .replies(&[(
            "-ERR (0 < error rate range < 1) ",
            "-ERR error rate must be in the range (0.000000, 1.000000)",
        )])
        .example(&["BF.RESERVE k 1 10"]),
    of_version_2("the text for a capacity out of range")
        .commands("BF.RESERVE *")
        .replies(&[(
            "-ERR (capacity should be larger than 0)",
            CAPACITY_OF_RESERVE,
        )])
        .example(&["BF.RESERVE k 0.01 0"]),
    of_version_2("the text for a capacity out of range")
        .commands("BF.INSERT *")
        .replies(&[("*", "-Bad capacity")])
        .when(|case| case.has_option("C", |capacity| capacity < 1.0))
        .example(&["BF.INSERT k CAPACITY 0 ITEMS a"])
        .deleted(&[1]),
    of_version_2("the text for an error rate out of range")
        .commands("BF.INSERT *")
        .replies(&[("*", "-Bad error rate")])
        .when(|case| case.has_option("ER", |rate| rate <= 0.0 || rate >= 1.0))
        .example(&["BF.INSERT k ERROR 1 ITEMS a"])
        .deleted(&[1]),
    of_version_2("a capacity above 2^30 is refused")
        .commands("BF.RESERVE *")
        .replies(&[("*", CAPACITY_OF_RESERVE)])
        .when(|case| case.number(3).is_some_and(|number| number > MAX_CAPACITY))
        .example(&["BF.RESERVE k 0.01 1073741825"])
        .deleted(&[1]),
    of_version_2("a capacity above 2^30 is refused")
        .commands("BF.INSERT *")
        .replies(&[("*", "-Bad capacity")])
        .when(|case| case.has_option("C", |capacity| capacity > MAX_CAPACITY))
        .example(&["BF.INSERT k CAPACITY 1073741825 ITEMS a"])
        .deleted(&[1]),
    of_version_2("the text for an expansion out of range")
        .commands("BF.RESERVE *")
        .replies(&[(
            "-ERR expansion should be greater or equal to 1",
            EXPANSION_OF_RESERVE,
        )])
        .example(&["BF.RESERVE k 0.01 10 EXPANSION -1"]),
    of_version_2("the text for an expansion out of range")
        .commands("BF.INSERT *")
        .replies(&[("*", "-Bad expansion")])
        .when(|case| case.has_option("E", |expansion| expansion < 0.0))
        .example(&["BF.INSERT k EXPANSION -1 ITEMS a"])
        .deleted(&[1]),
    of_version_2("the expansion is parsed before NONSCALING is considered")
        .commands("BF.RESERVE *")
        .replies(&[("-Nonscaling filters cannot expand", "-ERR bad expansion")])
        .example(&["BF.RESERVE k 0.01 10 EXPANSION x NONSCALING"]),
    of_version_2("an expansion of 0 creates a filter that does not scale")
        .commands("BF.RESERVE *")
        .replies(&[
            ("-ERR expansion should be greater or equal to 1", "*"),
            ("-Nonscaling filters cannot expand", "*"),
        ])
        .when(|case| case.has_option("EXPANSION", |expansion| expansion == 0.0))
        .example(&["BF.RESERVE k 0.01 10 EXPANSION 0"])
        .deleted(&[1]),
    of_version_2("an expansion of 0 creates a filter that does not scale")
        .commands("BF.INSERT *")
        .replies(&[("-Bad argument received", "*")])
        .when(|case| case.has_option("E", |expansion| expansion == 0.0))
        .example(&["BF.INSERT k EXPANSION 0 ITEMS a"])
        .deleted(&[1]),
    of_version_2("an expansion above 32768 is refused")
        .commands("BF.RESERVE *")
        .replies(&[("*", EXPANSION_OF_RESERVE)])
        .when(|case| case.has_option("EXPANSION", |expansion| expansion > 32768.0))
        .example(&["BF.RESERVE k 0.01 10 EXPANSION 32769"])
        .deleted(&[1]),
    of_version_2("an expansion above 32768 is refused")
        .commands("BF.INSERT *")
        .replies(&[("*", "-Bad expansion")])
        .when(|case| case.has_option("E", |expansion| expansion > 32768.0))
        .example(&["BF.INSERT k EXPANSION 32769 ITEMS a"])
        .deleted(&[1]),
    of_version_2("an error rate above 0.25 is taken as 0.25")
        .commands("BF.RESERVE *")
        .replies(&[("+OK", "+OK")])
        .when(|case| case.number(2).is_some_and(|rate| rate > 0.25))
        .example(&["BF.RESERVE k 0.9 10"])
        .deleted(&[1]),
    of_version_2("an error rate above 0.25 is taken as 0.25")
        .commands("BF.INSERT *")
        .replies(&[("*[*]", "*[*]")])
        .when(|case| case.has_option("ER", |rate| rate > 0.25))
        .example(&["BF.INSERT k ERROR 0.9 ITEMS a"])
        .deleted(&[1]),
    // Cuckoo filters
    of_version_2("the text for a capacity out of range")
        .commands("CF.RESERVE *")
        .replies(&[(
            "-Capacity must be at least (BucketSize * 2)",
            CAPACITY_OF_CUCKOO,
        )])
        .example(&["CF.RESERVE k 1"]),
    of_version_2("the text for a capacity out of range")
        .commands("CF.INSERT *|CF.INSERTNX *")
        .replies(&[(
            "-Capacity must be at least (BucketSize * 2)",
            CAPACITY_OF_CUCKOO_INSERT,
        )])
        .example(&["CF.INSERT k CAPACITY 1 ITEMS a"]),
    of_version_2("a capacity above 2^30 is refused")
        .commands("CF.RESERVE *")
        .replies(&[("*", CAPACITY_OF_CUCKOO)])
        .when(|case| case.number(2).is_some_and(|number| number > MAX_CAPACITY))
        .example(&["CF.RESERVE k 1073741825"])
        .deleted(&[1]),
    of_version_2("a capacity above 2^30 is refused")
        .commands("CF.INSERT *|CF.INSERTNX *")
        .replies(&[("*", CAPACITY_OF_CUCKOO_INSERT)])
        .when(|case| case.has_option("C", |capacity| capacity > MAX_CAPACITY))
        .example(&["CF.INSERT k CAPACITY 1073741825 ITEMS a"])
        .deleted(&[1]),
    of_version_2("the text for an option of `CF.RESERVE` out of range")
        .commands("CF.RESERVE *")
        .replies(&[
            (
                "-EXPANSION: value must be an integer between 0 and 32768, inclusive.",
                "-EXPANSION: value must be in the range [0, 32768]",
            ),
            (
                "-BUCKETSIZE: value must be an integer between 1 and 255, inclusive.",
                "-BUCKETSIZE: value must be in the range [1, 255]",
            ),
            (
                "-MAXITERATIONS: value must be an integer between 1 and 65535, inclusive.",
                "-MAXITERATIONS: value must be in the range [1, 65535]",
            ),
        ])
        .example(&["CF.RESERVE k 10 BUCKETSIZE 256"]),
    of_any_version("a chunk begins at the requested byte")
        .commands("CF.SCANDUMP * *")
        .replies(&[("*[:* $*]", "*[:* $*]")])
        .when(|case| {
            case.redisbloom != case.roughly && case.number(2).is_some_and(|iterator| iterator > 1.0)
        })
        .example(&["CF.ADD k a", "CF.SCANDUMP k 2"]),
    of_any_version("a chunk that starts past the end is refused")
        .commands("CF.LOADCHUNK *")
        .replies(&[("+OK", "-Couldn't load chunk!")])
        .when(|case| case.number(2).is_some_and(|iterator| iterator > 1.0))
        .example(&["CF.RESERVE k 63 BUCKETSIZE 1", "CF.LOADCHUNK k 115 ab"])
        .deleted(&[1]),
    // Count-min sketches
    of_version_2(
        "an increment that a counter or the total cannot hold changes nothing, as in 8.12",
    )
    .below(VERSION_8_12)
    .commands("CMS.INCRBY *")
    .replies(&[
        ("*CMS: INCRBY overflow*", "*[*]"),
        ("*[*]", "*CMS: INCRBY overflow*"),
    ])
    .when(|case| case.has_same_shape())
    .example(&["CMS.INITBYDIM k 2 2", "CMS.INCRBY k a 4294967295 a 1"])
    .deleted(&[1]),
    of_version_2("a merge that a counter or the total cannot hold changes nothing, as in 2.8")
        .below(VERSION_2_8)
        .commands("CMS.MERGE *")
        .replies(&[("+OK", "-CMS: MERGE overflow")])
        .example(&[
            "CMS.INITBYDIM k 2 2",
            "CMS.INCRBY k a 4294967290",
            "CMS.MERGE k 1 k WEIGHTS 2",
        ])
        .deleted(&[1]),
    of_version_2("the text for a number of keys that is not positive")
        .below(VERSION_2_8)
        .commands("CMS.MERGE *")
        .replies(&[(
            "-CMS: wrong number of keys*",
            "-CMS: Number of keys must be positive",
        )])
        .example(&["CMS.INITBYDIM k 2 2", "CMS.MERGE k 0 k WEIGHTS 1"])
        .deleted(&[1]),
    of_version_2("an increment may be negative, as in 8.12")
        .below(VERSION_8_12)
        .commands("CMS.INCRBY *")
        .replies(&[
            ("-CMS: Number cannot be negative", "*[*]"),
            (
                "-CMS: Number cannot be negative",
                "-CMS: Cannot parse number",
            ),
        ])
        .when(|case| case.text.contains(" -"))
        .example(&["CMS.INITBYDIM k 2 2", "CMS.INCRBY k a -1"])
        .deleted(&[1]),
    of_version_2("CELL_SIZE may follow, as in 8.12")
        .below(VERSION_8_12)
        .commands("CMS.INITBYDIM * * * * *|CMS.INITBYPROB * * * * *")
        .replies(&[(
            "-ERR wrong number of arguments for 'cms.initby*' command",
            "-CMS: *",
        )])
        .when(|case| case.command.len() == 6)
        .example(&["CMS.INITBYDIM k 2 2 CELL_SIZE 3"]),
    // Top-k
    of_any_version("a NUL does not truncate an item")
        .commands("TOPK.ADD *|TOPK.INCRBY *")
        .replies(&[("*[*]", "*[*]")])
        .when(|case| {
            case.command[2..].iter().any(|item| item.contains(&0)) && case.has_same_shape()
        })
        .example(&["TOPK.RESERVE k 3 8 7 1", "TOPK.ADD k a\0b"])
        .deleted(&[1]),
    of_any_version("RedisBloom decays counts randomly")
        .page("docs/versioning.md#compatibility-with-redisbloom")
        .commands("TOPK.ADD *|TOPK.INCRBY *|TOPK.QUERY *|TOPK.COUNT *|TOPK.LIST *")
        .replies(&[("*[*]", "*[*]")])
        .when(|case| case.decays)
        .example(&[
            "TOPK.RESERVE k 9 2 1 0.9",
            "TOPK.INCRBY k a 80 b 80 c 80 d 80 e 100000 f 100000",
            "TOPK.LIST k WITHCOUNT",
        ]),
    // CMS and TOPK
    of_any_version("a command that would take too long is refused")
        .commands("CMS.INCRBY *|CMS.QUERY *|TOPK.ADD *|TOPK.INCRBY *|TOPK.QUERY *|TOPK.COUNT *")
        .replies(&[
            ("*[*]", "-CMS: too much work for the depth of the sketch"),
            ("*[*]", "-TopK: too much work for the depth of the sketch"),
        ])
        .example(&[
            "CMS.INITBYDIM k 1 100000",
            "CMS.QUERY k a b c d e f g h i j k l m n o p q r s t u v w x y z",
        ])
        .deleted(&[1]),
    // t-digests
    of_any_version("TDIGEST.MERGE keeps the time to live of the destination")
        .commands("PEXPIRETIME *")
        .replies(&[(":-1", ":*000")])
        .when(|case| case.is_digest)
        .example(&[
            "TDIGEST.CREATE k",
            "EXPIREAT k 4102444800",
            "TDIGEST.MERGE k 1 k",
            "PEXPIRETIME k",
        ])
        .deleted(&[1]),
    of_any_version("the order of equal means in RedisBloom is arbitrary")
        .page(T_DIGESTS)
        .commands(
            "TDIGEST.QUANTILE *|TDIGEST.CDF *|TDIGEST.RANK *|TDIGEST.REVRANK *|\
            TDIGEST.BYRANK *|TDIGEST.BYREVRANK *|TDIGEST.TRIMMED_MEAN *",
        )
        .replies(&[("*", "*")])
        .when(|case| case.has_equal_samples && case.has_same_shape())
        .example(&[
            "TDIGEST.CREATE k COMPRESSION 1",
            EQUAL_SAMPLES,
            "TDIGEST.QUANTILE k 0.5",
        ]),
    of_any_version("the order of equal means in RedisBloom is arbitrary")
        .page(T_DIGESTS)
        .commands("TDIGEST.INFO *")
        .replies(&[("*", "*")])
        .when(|case| {
            let mut fields = ["Compression", "Capacity", "Observations"].iter();
            let is_equal = |name: &&str| case.redisbloom.field(name) == case.roughly.field(name);
            case.has_equal_samples && fields.all(is_equal)
        })
        .example(&[
            "TDIGEST.CREATE k COMPRESSION 1",
            EQUAL_SAMPLES,
            "TDIGEST.INFO k",
        ]),
    of_version_2("the answers for one sample are numbers")
        .commands(
            "TDIGEST.CDF *|TDIGEST.QUANTILE *|TDIGEST.RANK *|TDIGEST.REVRANK *|\
            TDIGEST.TRIMMED_MEAN *",
        )
        .replies(&[("*nan*", "*"), ("*:-9223372036854775808*", "*")])
        .when(|case| case.has_one_sample && case.has_same_shape())
        .example(&["TDIGEST.CREATE k", "TDIGEST.ADD k 1", "TDIGEST.CDF k 1"]),
];

/// The table of docs/migration.md has a row per difference from RedisBloom 2.x, and no others.
#[test]
fn the_page_lists_the_differences_from_redisbloom_2() {
    let page = include_str!("../../../../../docs/migration.md");
    let section = page.split("### Differences from RedisBloom 2.x\n").nth(1);
    let section = section.and_then(|section| section.split("\n### ").next());
    let section = section.expect("a section");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let rows = rows.filter_map(|row| row.split(" | ").next());
    let listed: Vec<_> = rows.skip(1).collect();
    let differences = DIFFERENCES.iter();
    let differences = differences.filter(|difference| difference.page == VERSION_2);
    let mut wanted: Vec<_> = differences.map(|difference| difference.reason).collect();
    // Several commands can have the same difference.
    let mut seen = BTreeSet::new();
    wanted.retain(|reason| seen.insert(*reason));
    assert_eq!(listed, wanted);
}
