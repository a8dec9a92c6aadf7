//! Intended differences of single replies from the recording, each with its reason.
//!
//! Every entry must match at least once in each transcript that it names; otherwise the test fails, so that the list
//! has no outdated entries. Differences that change the value of a key are in [`super::expected`].

pub mod valkey_bloom;

use super::recorded::show;
use crate::support::resp::{Protocol, Reply, Text};
use crate::support::server::Version;

/// An intended difference. In patterns `*` stands for any text.
#[derive(Debug)]
pub struct Difference {
    /// The reason.
    pub reason: &'static str,
    /// The transcripts with the difference.
    pub transcripts: &'static [&'static str],
    /// The servers and the protocol with the difference.
    occurs: fn(Version, Protocol) -> bool,
    /// Patterns of the commands, with arguments separated by spaces.
    commands: &'static [&'static str],
    change: Change,
    /// The consequence for the first key of the command.
    effect: Effect,
}

/// How Roughly's reply differs. Replies are in the notation of [`Reply`]'s text.
#[derive(Debug)]
enum Change {
    /// A pattern of the recorded reply, and one of Roughly's reply.
    Whole(&'static str, &'static str),
    /// A pattern for a part of the recorded reply, and its replacement in Roughly's; the rest is equal.
    Part(&'static str, &'static str),
}

/// The consequence of a difference for the rest of the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// None: only the reply differs.
    ReplyOnly,
    /// The key exists in RedisBloom but not in Roughly: later replies may report a missing key.
    KeyIsMissing,
    /// The key exists in Roughly but not in RedisBloom: the test deletes it.
    KeyIsExtra,
    /// The value of the key differs from RedisBloom's: only the types of later replies are compared.
    KeyDiffers,
}

use Change::{Part, Whole};
use Effect::{KeyDiffers, KeyIsExtra, KeyIsMissing, ReplyOnly};

fn everywhere(_: Version, _: Protocol) -> bool {
    true
}

/// Redis 7.0 has no API for the categories of a module's commands.
fn without_categories(server: Version, _: Protocol) -> bool {
    !server.is_valkey() && !server.is_redis_at_least(7, 2)
}

fn over_resp2(_: Version, protocol: Protocol) -> bool {
    protocol == Protocol::Resp2
}

fn over_resp3(_: Version, protocol: Protocol) -> bool {
    protocol == Protocol::Resp3
}

fn valkey_9(server: Version, _: Protocol) -> bool {
    server.is_valkey_at_least(9, 0)
}

fn valkey_9_over_resp3(server: Version, protocol: Protocol) -> bool {
    server.is_valkey_at_least(9, 0) && protocol == Protocol::Resp3
}

const BLOOM_2_8: &[&str] = &["2.8/bf-102"];
const ERRORS_2_8: &[&str] = &["2.8/errors-102"];
const ERRORS: &[&str] = &["2.8/errors-102", "8.10/errors-101"];
const QUIRKS: &[&str] = &["8.10/quirks-101"];
const COMMAND_INFO: &[&str] = &["8.10/meta-101"];
/// With an expansion of 32768, the second sub-filter takes 32 MiB and the third 1 TiB.
const TERABYTE: &[&str] = &[
    "CF.INSERT c:c101:197 ITEMS a a a a a a a a a",
    "CF.INSERT c:c101:202 ITEMS a a a a a a a a a",
    "CF.INSERT c:c101:207 * ITEMS a a a a a a a a a",
];

/// All intended differences of single replies.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "COPY works for all types; RedisBloom has no copy callback",
        transcripts: &[
            "2.8/bf-102",
            "2.8/cf-102",
            "2.8/cms-102",
            "2.8/mixed-102",
            "2.8/tdigest-102",
            "2.8/topk-102",
            "8.10/bf-101",
            "8.10/cf-101",
            "8.10/cms-101",
            "8.10/mixed-101",
            "8.10/tdigest-101",
            "8.10/topk-101",
        ],
        occurs: everywhere,
        commands: &["COPY * *"],
        change: Whole("-ERR not supported for this module key", ":1"),
        effect: ReplyOnly,
    },
    // COMMAND INFO
    Difference {
        reason: "key specs say what is done with the key",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &[
            "COMMAND INFO bf.card",
            "COMMAND INFO bf.debug",
            "COMMAND INFO bf.exists",
            "COMMAND INFO bf.info",
            "COMMAND INFO bf.mexists",
            "COMMAND INFO bf.card",
            "COMMAND INFO bf.exists",
            "COMMAND INFO bf.mexists",
            "COMMAND INFO cf.count",
            "COMMAND INFO cf.debug",
            "COMMAND INFO cf.exists",
            "COMMAND INFO cf.info",
            "COMMAND INFO cf.mexists",
            "COMMAND INFO tdigest.byrank",
            "COMMAND INFO tdigest.byrevrank",
            "COMMAND INFO tdigest.cdf",
            "COMMAND INFO tdigest.info",
            "COMMAND INFO tdigest.max",
            "COMMAND INFO tdigest.merge",
            "COMMAND INFO tdigest.min",
            "COMMAND INFO tdigest.quantile",
            "COMMAND INFO tdigest.rank",
            "COMMAND INFO tdigest.revrank",
            "COMMAND INFO tdigest.trimmed_mean",
            "COMMAND INFO topk.count",
            "COMMAND INFO topk.info",
            "COMMAND INFO topk.list",
            "COMMAND INFO topk.query",
            "COMMAND INFO cms.info",
            "COMMAND INFO cms.query",
        ],
        change: Part("[+RO]", "[+RO +access]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the reply for a key with a window changes with time, so clients must not cache it",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &[
            "COMMAND INFO bf.card",
            "COMMAND INFO bf.exists",
            "COMMAND INFO bf.mexists",
            "COMMAND INFO cf.count",
            "COMMAND INFO cf.exists",
            "COMMAND INFO cf.mexists",
            "COMMAND INFO cms.query",
            "COMMAND INFO tdigest.byrank",
            "COMMAND INFO tdigest.byrevrank",
            "COMMAND INFO tdigest.cdf",
            "COMMAND INFO tdigest.max",
            "COMMAND INFO tdigest.min",
            "COMMAND INFO tdigest.quantile",
            "COMMAND INFO tdigest.rank",
            "COMMAND INFO tdigest.revrank",
            "COMMAND INFO tdigest.trimmed_mean",
            "COMMAND INFO topk.count",
            "COMMAND INFO topk.info",
            "COMMAND INFO topk.list",
            "COMMAND INFO topk.query",
        ],
        change: Part("[]", "[$dont_cache]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "key specs say what is done with the key; SCANDUMP only reads it",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND INFO bf.scandump", "COMMAND INFO cf.scandump"],
        change: Part("[+RW]", "[+RO +access]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "key specs say what is done with the key",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &[
            "COMMAND INFO bf.add",
            "COMMAND INFO bf.insert",
            "COMMAND INFO bf.madd",
            "COMMAND INFO bf.reserve",
            "COMMAND INFO cf.add",
            "COMMAND INFO cf.addnx",
            "COMMAND INFO cf.insert",
            "COMMAND INFO cf.insertnx",
            "COMMAND INFO cf.reserve",
            "COMMAND INFO tdigest.add",
            "COMMAND INFO tdigest.create",
            "COMMAND INFO topk.reserve",
            "COMMAND INFO cms.initbydim",
            "COMMAND INFO cms.initbyprob",
        ],
        change: Part("[+RW]", "[+RW +insert]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "key specs say what is done with the key",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND INFO bf.loadchunk", "COMMAND INFO cf.loadchunk"],
        change: Part("[+RW]", "[+RW +update]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "key specs say what is done with the key; who may not read it may not run a command that returns stored data",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &[
            "COMMAND INFO cms.incrby",
            "COMMAND INFO tdigest.merge",
            "COMMAND INFO topk.add",
            "COMMAND INFO topk.incrby",
        ],
        change: Part("[+RW]", "[+RW +access +update]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "key specs say what is done with the key",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND INFO cf.del", "COMMAND INFO tdigest.reset"],
        change: Part("[+RW]", "[+RW +delete]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a command that writes is flagged as a write",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND INFO cf.compact"],
        change: Part("[+readonly +module +fast]", "[+write +module]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a command that writes is in the category of writes",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND INFO cf.compact"],
        change: Part("[+@read ", "[+@write "),
        effect: ReplyOnly,
    },
    Difference {
        reason: "CELL_SIZE may follow",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND INFO cms.initbydim", "COMMAND INFO cms.initbyprob"],
        change: Part(" :4 ", " :-4 "),
        effect: ReplyOnly,
    },
    Difference {
        reason: "CMS.MERGE declares its sources",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND INFO cms.merge"],
        change: Whole(
            "*[$cms.merge :-4 *[+write +denyoom +module] :1 :1 :1 *$flags *[+RW] *",
            "*[$cms.merge :-4 *[+write +denyoom +module +movablekeys] :1 :1 :1 *$flags *[+RW +access +update] *$flags *[+RO +access] *$keynum *$keynumidx :0 $firstkey :1 $keystep :1*",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "CMS.MERGE declares its sources",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND GETKEYS CMS.MERGE k 1 cms"],
        change: Whole("*[$k]", "*[$k $cms]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "CMS.MERGE declares its sources",
        transcripts: COMMAND_INFO,
        occurs: everywhere,
        commands: &["COMMAND GETKEYS CMS.MERGE d 2 a b"],
        change: Whole("*[$d]", "*[$d $a $b]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "this server takes no ACL categories from modules",
        transcripts: COMMAND_INFO,
        occurs: without_categories,
        commands: &["COMMAND INFO *"],
        change: Part("[+@*]", "[]"),
        effect: ReplyOnly,
    },
    // Items with a NUL
    Difference {
        reason: "a NUL does not cut an item",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["TOPK.LIST t *"],
        change: Whole(
            "*[$ :1 $plain :1 $nul :1 $ :1]",
            "*[$ :1 $plain :1 $nul\\x00tail :1 $\\x00lead :1]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a NUL does not cut an item in a dump",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["DUMP t"],
        change: Whole(
            "[\"kdump\",0,*]",
            "$\\x07*nul\\x00tail\\x00*\\x00lead\\x00*",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a NUL does not cut an item, nor is an empty one lost in a dump",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["TOPK.LIST t2 WITHCOUNT"],
        change: Whole(
            "*[* :1 $plain :1 $nul :1 * :1]",
            "*[$ :1 $plain :1 $nul\\x00tail :1 $\\x00lead :1]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "items with a NUL are found after a restore",
        transcripts: QUIRKS,
        occurs: over_resp2,
        commands: &["TOPK.QUERY t2 nul\\x00tail nul \\x00lead  plain"],
        change: Whole("*[:0 :0 :0 :1 :1]", "*[:1 :0 :1 :1 :1]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "items with a NUL are found after a restore",
        transcripts: QUIRKS,
        occurs: over_resp3,
        commands: &["TOPK.QUERY t2 nul\\x00tail nul \\x00lead  plain"],
        change: Whole("*[#f #f #f #t #t]", "*[#t #f #t #t #t]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "WEIGHTS is looked for behind the keys only: a key may have that name",
        transcripts: &["8.10/quirks-101"],
        occurs: everywhere,
        commands: &["CMS.MERGE m 1 WEIGHTS", "CMS.MERGE m 1 WEIGHTS WEIGHTS 2"],
        change: Whole("-CMS: wrong number of keys/weights", "+OK"),
        effect: ReplyOnly,
    },
    // Option words as keys
    Difference {
        reason: "options are recognized only after the positional arguments: a key may be named EXPANSION",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["BF.RESERVE EXPANSION 0.01 100"],
        change: Whole("-ERR bad expansion", "+OK"),
        effect: KeyIsExtra,
    },
    Difference {
        reason: "a key that is called NONSCALING holds a filter that scales",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["BF.INFO NONSCALING"],
        change: Whole(
            "*+Size :216*+Expansion rate *",
            "*+Size :240*+Expansion rate :2*",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "options are recognized only after the positional arguments: a key may be named nonscaling",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["BF.RESERVE nonscaling 0.01 100 EXPANSION 2"],
        change: Whole("-Nonscaling filters cannot expand", "+OK"),
        effect: KeyIsExtra,
    },
    Difference {
        reason: "options are recognized only after the positional arguments: a key may be named BUCKETSIZE",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["CF.RESERVE BUCKETSIZE 8"],
        change: Whole("-Capacity must be in the range *", "+OK"),
        effect: KeyIsExtra,
    },
    // Differences between servers
    Difference {
        reason: "on this server the list of subcommands is an array, not a set",
        transcripts: COMMAND_INFO,
        occurs: valkey_9_over_resp3,
        commands: &["COMMAND INFO *"],
        change: Part(" ~[]]]", " *[]]]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "this server does not name the script in its errors",
        transcripts: &["2.8/mixed-102", "8.10/mixed-101"],
        occurs: valkey_9,
        commands: &["EVAL *", "EVAL_RO *"],
        change: Part("script: *, on @user_script", "script: on @user_script"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "this server does not read hexadecimal doubles",
        transcripts: ERRORS,
        occurs: valkey_9,
        commands: &["BF.RESERVE * 0x1p-4 10"],
        change: Whole("+OK", "-ERR bad error rate"),
        effect: KeyIsMissing,
    },
    Difference {
        reason: "this server does not read hexadecimal doubles",
        transcripts: &["2.8/errors-102", "8.10/errors-101"],
        occurs: valkey_9,
        commands: &["TDIGEST.ADD tv 1 0x10 2"],
        change: Whole("+OK", "-ERR T-Digest: error parsing val parameter"),
        effect: KeyDiffers,
    },
    Difference {
        reason: "this server does not read hexadecimal doubles",
        transcripts: &["2.8/errors-102", "8.10/errors-101"],
        occurs: valkey_9,
        commands: &["TDIGEST.RANK tv 0x10", "TDIGEST.REVRANK tv 0x10"],
        change: Whole("*[*]", "-ERR T-Digest: error parsing value"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "this server does not read hexadecimal doubles",
        transcripts: &["2.8/errors-102", "8.10/errors-101"],
        occurs: valkey_9,
        commands: &["TDIGEST.CDF tv 0x10"],
        change: Whole("*[*]", "-ERR T-Digest: error parsing cdf"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "this server does not read hexadecimal doubles",
        transcripts: &["2.8/errors-102", "8.10/errors-101"],
        occurs: valkey_9,
        commands: &["TDIGEST.QUANTILE tv 0x10"],
        change: Whole(
            "-ERR T-Digest: quantile should be in [0,1]",
            "-ERR T-Digest: error parsing quantile",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "this server does not read hexadecimal doubles",
        transcripts: &["2.8/errors-102", "8.10/errors-101"],
        occurs: valkey_9,
        commands: &["TDIGEST.TRIMMED_MEAN tv 0x10 1"],
        change: Whole(
            "-ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]",
            "-ERR T-Digest: error parsing low_cut_percentile",
        ),
        effect: ReplyOnly,
    },
    // Digests of numbers near the limits of doubles
    // Key e has 20 samples of each limit: the exact CDF of 0 is 0.5. COMPRESSION 1 keeps one run. The
    // other samples are centroids of the weights 7 and 13, from whose last center answers interpolate.
    Difference {
        reason: "no answer is nan because a difference of samples is not finite",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["TDIGEST.QUANTILE e 0 0.25 0.5 0.75 1"],
        change: Whole(
            "*[*-1.7976931348623157e+308 *-1.7976931348623157e+308 *nan *nan *1.7976931348623157e+308]",
            "*[*-1.7976931348623157e+308 *-1.7976931348623157e+308 *1.7976931348623157e+308 *1.7976931348623157e+308 *1.7976931348623157e+308]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "no answer is wrong because a difference of samples is not finite",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["TDIGEST.CDF e 0 1e308 -1e308"],
        change: Whole(
            "*[*0.98* *0.98* *0.98*]",
            "*[*0.41875* *0.46394681275* *0.37355318724*]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "no answer is wrong because a difference of samples is not finite",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["TDIGEST.RANK e 0"],
        change: Whole("*[:39]", "*[:17]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "no answer is nan because a sum of samples is not finite",
        transcripts: QUIRKS,
        occurs: everywhere,
        commands: &["TDIGEST.TRIMMED_MEAN e 0 1"],
        change: Whole("*nan", "*1.5592502418*e+292"),
        effect: ReplyOnly,
    },
    // Changes of Bloom filters in RedisBloom 8 since 2.8
    Difference {
        reason: "a command with too few words is refused when it is queued, which ends the transaction",
        transcripts: &["2.8/mixed-102"],
        occurs: everywhere,
        commands: &["BF.ADD tx:m102:*"],
        change: Whole(
            "+QUEUED",
            "-ERR wrong number of arguments for 'bf.add' command",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "an error rate above 0.25 is taken as 0.25",
        transcripts: &["2.8/bf-102", "2.8/mixed-102"],
        occurs: everywhere,
        commands: &["BF.RESERVE * 0.3 1 EXPANSION 1"],
        change: Whole("+OK", "+OK"),
        effect: KeyDiffers,
    },
    Difference {
        reason: "an error rate above 0.25 is taken as 0.25",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["BF.RESERVE * 0.2500001 10", "BF.RESERVE * 0.999999 10"],
        change: Whole("+OK", "+OK"),
        effect: KeyDiffers,
    },
    Difference {
        reason: "the text about the error rate is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["BF.RESERVE * * 10"],
        change: Whole(
            "-ERR (0 < error rate range < 1) ",
            "-ERR error rate must be in the range (0.000000, 1.000000)",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the text about the capacity is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["BF.RESERVE * 0.01 0", "BF.RESERVE * 0.01 -1"],
        change: Whole(
            "-ERR (capacity should be larger than 0)",
            "-ERR capacity must be in the range [1, 1073741824]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the text about the capacity is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["BF.INSERT * CAPACITY 0 *", "BF.INSERT * CAPACITY -1 *"],
        change: Whole("-Bad argument received", "-Bad capacity"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a capacity above 2^30 is refused",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &[
            "BF.RESERVE * 0.01 1073741825",
            "BF.RESERVE * 0.01 1073741824000",
            "BF.RESERVE * 0.01 9223372036854775807",
        ],
        change: Whole("+OK", "-ERR capacity must be in the range [1, 1073741824]"),
        effect: KeyIsMissing,
    },
    Difference {
        reason: "a capacity above 2^30 is refused",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &[
            "BF.INSERT * CAPACITY 1073741825 ITEMS a",
            "BF.INSERT * CAPACITY 1073741824000 ITEMS a",
            "BF.INSERT * CAPACITY 9223372036854775807 ITEMS a",
        ],
        change: Whole("*[*]", "-Bad capacity"),
        effect: KeyIsMissing,
    },
    Difference {
        reason: "the text about the expansion is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["BF.RESERVE * 0.01 10 EXPANSION -1"],
        change: Whole(
            "-ERR expansion should be greater or equal to 1",
            "-ERR expansion must be in the range [0, 32768]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the text about the expansion is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["BF.INSERT * EXPANSION -1 ITEMS a"],
        change: Whole("-Bad argument received", "-Bad expansion"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the expansion is parsed before it is held against NONSCALING",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &[
            "BF.RESERVE * 0.01 10 EXPANSION x NONSCALING",
            "BF.RESERVE * 0.01 10 EXPANSION  NONSCALING",
            "BF.RESERVE * 0.01 10 EXPANSION 1.5 NONSCALING",
        ],
        change: Whole("-Nonscaling filters cannot expand", "-ERR bad expansion"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "an expansion of 0 means a filter that does not scale",
        transcripts: &["2.8/bf-102", "2.8/errors-102"],
        occurs: everywhere,
        commands: &["BF.RESERVE * EXPANSION 0"],
        change: Whole("-ERR expansion should be greater or equal to 1", "+OK"),
        effect: KeyIsExtra,
    },
    Difference {
        reason: "an expansion of 0 means a filter that does not scale",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["BF.RESERVE * EXPANSION 0 NONSCALING"],
        change: Whole("-Nonscaling filters cannot expand", "+OK"),
        effect: KeyIsExtra,
    },
    Difference {
        reason: "an expansion of 0 means a filter that does not scale",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["BF.INSERT * EXPANSION 0 ITEMS a"],
        change: Whole("-Bad argument received", "*[*]"),
        effect: KeyIsExtra,
    },
    Difference {
        reason: "an expansion of 0 is taken, so the items get into a key that is there",
        transcripts: BLOOM_2_8,
        occurs: everywhere,
        commands: &["BF.INSERT bf:b102:2 CZZ 77 e 0 it 531 531"],
        change: Whole("-Bad argument received", "*[*]"),
        effect: KeyDiffers,
    },
    Difference {
        reason: "an expansion above 32768 is refused",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &[
            "BF.RESERVE * 0.01 10 EXPANSION 32769",
            "BF.RESERVE * 0.01 10 EXPANSION 65536",
        ],
        change: Whole("+OK", "-ERR expansion must be in the range [0, 32768]"),
        effect: KeyIsMissing,
    },
    Difference {
        reason: "an expansion above 32768 is refused",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &[
            "BF.INSERT * EXPANSION 32769 ITEMS a",
            "BF.INSERT * EXPANSION 65536 ITEMS a",
        ],
        change: Whole("*[*]", "-Bad expansion"),
        effect: KeyIsMissing,
    },
    // Cuckoo filters
    Difference {
        reason: "a terabyte is more than the machine has, so the third sub-filter is refused",
        transcripts: &["8.10/config-101"],
        occurs: over_resp2,
        commands: TERABYTE,
        change: Whole(
            "*[:1 :1 :1 :1 :1 :1 :1 :1 :1]",
            "*[:1 :1 :1 :1 :1 :1 :1 :-1 :-1]",
        ),
        effect: KeyDiffers,
    },
    Difference {
        reason: "a terabyte is more than the machine has, so the third sub-filter is refused",
        transcripts: &["8.10/config-101"],
        occurs: over_resp3,
        commands: TERABYTE,
        change: Whole(
            "*[#t #t #t #t #t #t #t #t #t]",
            "*[#t #t #t #t #t #t #t #f #f]",
        ),
        effect: KeyDiffers,
    },
    Difference {
        reason: "a chunk begins at the byte that is asked for",
        transcripts: ERRORS,
        occurs: everywhere,
        commands: &["CF.SCANDUMP cf 2"],
        change: Whole("*[:130 *]", "*[:129 *]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a chunk that starts past the end is refused",
        transcripts: ERRORS,
        occurs: everywhere,
        commands: &["CF.LOADCHUNK lc:*:271 33 *"],
        change: Whole("+OK", "-Couldn't load chunk!"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a header's number of sub-filters is not cut to 16 bits",
        transcripts: ERRORS,
        occurs: everywhere,
        commands: &["CF.LOADCHUNK lc:*:304 1 *"],
        change: Whole("+OK", "-Couldn't create filter!"),
        effect: KeyIsMissing,
    },
    // Changes of cuckoo filters in RedisBloom 8 since 2.8
    Difference {
        reason: "a header's expansion above 32768 is refused",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.LOADCHUNK lc:*:311 1 *"],
        change: Whole("+OK", "-Couldn't create filter!"),
        effect: KeyIsMissing,
    },
    Difference {
        reason: "the text about the capacity is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.RESERVE *"],
        change: Whole(
            "-Capacity must be at least (BucketSize * 2)",
            "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the text about the capacity is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.INSERT * CAPACITY * ITEMS a"],
        change: Whole(
            "-Capacity must be at least (BucketSize * 2)",
            "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a capacity above 2^30 is refused",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.RESERVE * 1073741825", "CF.RESERVE * 1073741824000"],
        change: Whole(
            "+OK",
            "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
        ),
        effect: KeyIsMissing,
    },
    Difference {
        reason: "a capacity above 2^30 is refused",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &[
            "CF.INSERT * CAPACITY 1073741825 ITEMS a",
            "CF.INSERT * CAPACITY 1073741824000 ITEMS a",
        ],
        change: Whole(
            "*[*]",
            "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]",
        ),
        effect: KeyIsMissing,
    },
    Difference {
        reason: "a capacity above 2^30 is refused, whatever memory there is",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.RESERVE * 9223372036854775807"],
        change: Whole(
            "-ERR Insufficient memory to create filter",
            "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a capacity above 2^30 is refused, whatever memory there is",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.INSERT * CAPACITY 9223372036854775807 ITEMS a"],
        change: Whole(
            "-ERR Insufficient memory to create filter",
            "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the text about the range of an option is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.RESERVE * EXPANSION *"],
        change: Whole(
            "-EXPANSION: value must be an integer between 0 and 32768, inclusive.",
            "-EXPANSION: value must be in the range [0, 32768]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the text about the range of an option is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.RESERVE * BUCKETSIZE *"],
        change: Whole(
            "-BUCKETSIZE: value must be an integer between 1 and 255, inclusive.",
            "-BUCKETSIZE: value must be in the range [1, 255]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the text about the range of an option is another",
        transcripts: ERRORS_2_8,
        occurs: everywhere,
        commands: &["CF.RESERVE * MAXITERATIONS *"],
        change: Whole(
            "-MAXITERATIONS: value must be an integer between 1 and 65535, inclusive.",
            "-MAXITERATIONS: value must be in the range [1, 65535]",
        ),
        effect: ReplyOnly,
    },
];

/// The differences that may occur in one transcript, and those that have not occurred yet.
#[derive(Debug)]
pub struct Listed {
    listed: Vec<&'static Difference>,
    unmet: Vec<&'static Difference>,
}

impl Listed {
    /// The differences of a transcript on this server with this protocol.
    pub fn of(transcript: &str, server: Version, protocol: Protocol) -> Self {
        let listed: Vec<_> = DIFFERENCES
            .iter()
            .chain(valkey_bloom::DIFFERENCES)
            .filter(|difference| difference.transcripts.contains(&transcript))
            .filter(|difference| (difference.occurs)(server, protocol))
            .collect();
        Self {
            unmet: listed.clone(),
            listed,
        }
    }

    /// The consequence of the listed difference between a recorded reply and Roughly's, if there is one. The replies
    /// may be equal while the values of the keys differ.
    pub fn explain(
        &mut self,
        command: &[Vec<u8>],
        recorded: &serde_json::Value,
        got: &Reply,
    ) -> Option<Effect> {
        let words: Vec<_> = command.iter().map(|word| Text(word).to_string()).collect();
        let command = words.join(" ");
        let mut candidates = self.listed.clone();
        candidates.retain(|d| d.commands.iter().any(|pattern| matches(pattern, &command)));
        if candidates.is_empty() {
            return None;
        }
        let (recorded, got) = (show(recorded), got.to_string());
        let is_whole = |d: &&Difference| match d.change {
            Whole(theirs, ours) => matches(theirs, &recorded) && matches(ours, &got),
            Part(..) => false,
        };
        if let Some(whole) = candidates.iter().copied().find(is_whole) {
            self.meet(whole);
            return Some(whole.effect);
        }
        // Several parts of a reply may differ.
        let mut changed = recorded;
        let mut met = Vec::new();
        for difference in candidates {
            if let Part(theirs, ours) = difference.change
                && let Some(replaced) = replace(&changed, theirs, ours)
            {
                changed = replaced;
                met.push(difference);
            }
        }
        (changed == got && !met.is_empty()).then(|| {
            met.iter().for_each(|difference| self.meet(difference));
            ReplyOnly
        })
    }

    /// The reasons of the differences that have not occurred.
    pub fn unmet(&self) -> Vec<&'static str> {
        self.unmet
            .iter()
            .map(|difference| difference.reason)
            .collect()
    }

    fn meet(&mut self, met: &Difference) {
        self.unmet
            .retain(|difference| !std::ptr::eq(*difference, met));
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    text.strip_prefix(head).is_some_and(|text| {
        (0..=text.len())
            .filter(|&skip| text.is_char_boundary(skip))
            .any(|skip| matches(rest, &text[skip..]))
    })
}

/// Replaces the first part of the text that matches a pattern. `*` matches as little as possible and may occur once.
fn replace(text: &str, pattern: &str, with: &str) -> Option<String> {
    let (head, tail) = pattern.split_once('*').unwrap_or((pattern, ""));
    let start = text.find(head)?;
    let rest = &text[start + head.len()..];
    let end = text.len() - rest.len() + rest.find(tail)? + tail.len();
    Some([&text[..start], with, &text[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pattern_matches_around_its_placeholders() {
        assert!(matches("COPY * *", "COPY a b"));
        assert!(!matches("COPY * *", "COPY a"));
        assert!(!matches("COPY", "COPY a"));
        assert!(!matches("a*b", "ab "));
        assert!(matches("a*b*", "a b b c"));
        assert!(!matches("", "a"));
    }

    #[test]
    fn a_part_is_replaced_completely_and_only_once() {
        assert_eq!(replace("a[+RO]b", "[+RO]", "[+RW]").unwrap(), "a[+RW]b");
        assert_eq!(replace("a[+@x +@y] []", "[+@*]", "[]").unwrap(), "a[] []");
        assert_eq!(replace("[+x]", "[+@*]", "[]"), None);
    }

    fn explain(listed: &mut Listed, command: &str, recorded: &str, got: Reply) -> Option<Effect> {
        let words: Vec<_> = command.split(' ').map(|word| word.into()).collect();
        listed.explain(&words, &json!(["err", recorded]), &got)
    }

    fn listed(difference: &'static Difference) -> Listed {
        Listed {
            listed: vec![difference],
            unmet: vec![difference],
        }
    }

    #[test]
    fn a_difference_allows_only_its_patterns() {
        let mut copy = listed(&DIFFERENCES[0]);
        let refusal = "ERR not supported for this module key";
        let one = || Reply::Integer(1);
        assert_eq!(
            explain(&mut copy, "COPY a b", refusal, Reply::Integer(0)),
            None
        );
        assert_eq!(explain(&mut copy, "COPY a b", "ERR", one()), None);
        assert_eq!(explain(&mut copy, "RENAME a b", refusal, one()), None);
        assert_eq!(copy.unmet().len(), 1);
        let met = explain(&mut copy, "COPY a b", refusal, one());
        assert_eq!(met, Some(ReplyOnly));
        assert!(copy.unmet().is_empty());
    }

    #[test]
    fn a_part_may_differ_and_the_rest_must_be_equal() {
        static PART: Difference = Difference {
            reason: "",
            transcripts: &[],
            occurs: everywhere,
            commands: &["X"],
            change: Part("[*]", "()"),
            effect: ReplyOnly,
        };
        let mut part = listed(&PART);
        let error = |text: &str| Reply::Error(text.into());
        assert_eq!(explain(&mut part, "X", "a [b] c", error("a () d")), None);
        assert_eq!(explain(&mut part, "X", "a c", error("a c")), None);
        assert!(explain(&mut part, "X", "a [b] c", error("a () c")).is_some());
    }
}
