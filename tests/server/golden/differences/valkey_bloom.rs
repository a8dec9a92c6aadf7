//! Intended differences from the recordings of valkey-bloom.

use super::Change::Whole;
use super::Effect::ReplyOnly;
use super::{Difference, everywhere};

const ERRORS: &[&str] = &["valkey-bloom/vb-errors"];
const INSERT: &[&str] = &["valkey-bloom/vb-insert"];
const CONFIG: &[&str] = &["valkey-bloom/vb-config"];
const LOAD: &[&str] = &["valkey-bloom/vb-load"];

/// All intended differences from valkey-bloom.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "the server checks the number of arguments; its error has the name in lower case",
        transcripts: &["valkey-bloom/vb-errors", "valkey-bloom/vb-insert"],
        occurs: everywhere,
        commands: &["BF.*", "bf.*"],
        change: Whole(
            "-ERR wrong number of arguments for 'BF.* command",
            "-ERR wrong number of arguments for 'bf.* command",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the server refuses BF.INSERT with fewer than four arguments, as with RedisBloom",
        transcripts: INSERT,
        occurs: everywhere,
        commands: &[
            "BF.INSERT d",
            "BF.INSERT d NOCREATE",
            "BF.INSERT zz NOCREATE",
            "BF.INSERT str NOCREATE",
            "BF.INSERT old NONSCALING",
            "BF.INSERT am20 NONSCALING",
        ],
        change: Whole(
            "*",
            "-ERR wrong number of arguments for 'bf.insert' command",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key",
        transcripts: INSERT,
        occurs: everywhere,
        commands: &["BF.INFO d"],
        change: Whole("*[+Capacity :100 *", "-ERR not found"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the server refuses BF.INSERT with fewer than four arguments, as with RedisBloom",
        transcripts: ERRORS,
        occurs: everywhere,
        commands: &["BF.INSERT k", "BF.INSERT str"],
        change: Whole(
            "*",
            "-ERR wrong number of arguments for 'bf.insert' command",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a payload with more items than the capacity is refused",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.LOAD al37 *"],
        change: Whole("+OK", "-ERR bloom object decoding failed"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key (BF.INFO)",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.INFO al37"],
        change: Whole("*[+Capacity :100 *", "-ERR not found"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key (BF.CARD)",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.CARD al37"],
        change: Whole(":150", ":0"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a payload with filters of different seeds is refused",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.LOAD al30 *", "BF.LOAD al32 *"],
        change: Whole("+OK", "-ERR bloom object decoding failed"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key of 3 filters (BF.INFO)",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.INFO al30"],
        change: Whole("*[+Capacity :700 *", "-ERR not found"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key of 3 filters (BF.CARD)",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.CARD al30"],
        change: Whole(":690", ":0"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key of 3 filters (BF.MEXISTS)",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.MEXISTS al30 *"],
        change: Whole(
            "*[:1 :0 :0 :0 :0 :0 :0 :0 :0 :1 :0 :0]",
            "*[:0 :0 :0 :0 :0 :0 :0 :0 :0 :0 :0 :0]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key of 3 filters (BF.MADD)",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.MADD al30 *"],
        change: Whole("*[:0 :1 :1 :1 :1 :1]", "*[:1 :1 :1 :1 :1 :1]"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key of 5 filters (BF.INFO)",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.INFO al32"],
        change: Whole("*[+Capacity :35 *", "-ERR not found"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "so it did not create this key of 5 filters (BF.CARD)",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["BF.CARD al32"],
        change: Whole(":35", ":0"),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the sub-filters of this capacity would have more than 2,201,600 hash functions",
        transcripts: CONFIG,
        occurs: everywhere,
        commands: &["BF.INFO ag4", "BF.INFO ag5", "BF.INFO ag6"],
        change: Whole(
            "*+Expansion rate :1 * +Max scaled capacity :60381]",
            "*+Expansion rate :1 * +Max scaled capacity :48285]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "the sub-filters of this capacity would have more than 2,201,600 hash functions, too",
        transcripts: CONFIG,
        occurs: everywhere,
        commands: &["BF.INFO ag7"],
        change: Whole(
            "*+Expansion rate :1 * +Max scaled capacity :53568]",
            "*+Expansion rate :1 * +Max scaled capacity :42816]",
        ),
        effect: ReplyOnly,
    },
    Difference {
        reason: "a filter with a subnormal error rate can be restored",
        transcripts: LOAD,
        occurs: everywhere,
        commands: &["RESTORE sub2 *"],
        change: Whole("-ERR Bad data format", "+OK"),
        effect: ReplyOnly,
    },
];
