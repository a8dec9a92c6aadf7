//! One sample of each type, for the tests that hold for every type alike.

use crate::support::resp::{Connection, Reply};

/// How to make a value of a type, look at it and change it. Commands are words between spaces; `KEY`
/// stands for the key.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// The type, as TYPE names it.
    pub type_name: &'static str,
    /// The prefix of the family's fields in INFO.
    pub info_prefix: &'static str,
    /// Makes a value of some size at a missing key.
    pub build: &'static [&'static str],
    /// Read-only commands whose replies tell the value.
    pub reads: &'static [&'static str],
    /// A write that changes the value every time, with its keyspace event.
    pub change: (&'static str, &'static str),
    /// Write commands that change nothing once `build` has run.
    pub idle: &'static [&'static str],
    /// Makes a value of more than 4 MiB at a missing key.
    pub build_large: &'static [&'static str],
}

/// All types that the module has.
pub const SAMPLES: &[Sample] = &[BLOOM, CUCKOO, COUNT_MIN, TOP_K, T_DIGEST];

const BLOOM: Sample = Sample {
    type_name: "MBbloom--",
    info_prefix: "bf_bloom_",
    build: &[
        "BF.RESERVE KEY 0.001 4 EXPANSION 3",
        "BF.MADD KEY a b c d e f g h i j k l m n o p q r s t u v w x y z",
    ],
    reads: &[
        "BF.INFO KEY",
        "BF.DEBUG KEY",
        "BF.MEXISTS KEY a b z nothing 1 2 3",
        "BF.CARD KEY",
        "BF.SCANDUMP KEY 1",
    ],
    change: ("BF.ADD KEY NEW", "bf.add"),
    idle: &[
        "BF.ADD KEY a",
        "BF.MADD KEY a b c",
        "BF.INSERT KEY ITEMS a b",
        "BF.MERGE KEY 1 KEY",
    ],
    build_large: &["BF.RESERVE KEY 0.001 5000000", "BF.ADD KEY a"],
};

const CUCKOO: Sample = Sample {
    type_name: "MBbloomCF",
    info_prefix: "bf_cuckoo_",
    build: &[
        "CF.RESERVE KEY 16 BUCKETSIZE 3 MAXITERATIONS 5 EXPANSION 2",
        "CF.INSERT KEY ITEMS a b c d e f g h i j k l m n o p q r s t u v w x y z a a",
        "CF.DEL KEY e",
        "CF.COMPACT KEY",
        "CF.DEL KEY f",
        "CF.COMPACT KEY",
    ],
    reads: &[
        "CF.INFO KEY",
        "CF.DEBUG KEY",
        "CF.MEXISTS KEY a b z nothing 1 2 3",
        "CF.COUNT KEY a",
        "CF.SCANDUMP KEY 0",
        "CF.SCANDUMP KEY 1",
    ],
    change: ("CF.ADD KEY NEW", "cf.add"),
    idle: &[
        "CF.ADDNX KEY a",
        "CF.INSERTNX KEY ITEMS a b",
        "CF.DEL KEY nothing",
        "CF.COMPACT KEY",
    ],
    build_large: &["CF.RESERVE KEY 5000000", "CF.ADD KEY a"],
};

/// Merges a digest with itself, which then has 64 times its samples.
const SIXTY_FOUR_TIMES: &str = "TDIGEST.MERGE KEY 63 \
     KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY \
     KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY \
     KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY KEY";

const T_DIGEST: Sample = Sample {
    type_name: "TDIS-TYPE",
    info_prefix: "bf_tdigest_",
    build: &[
        "TDIGEST.CREATE KEY COMPRESSION 20",
        "TDIGEST.ADD KEY 3 1 4 1.5 9 2.6 5 3.5 8 -9.7 9 3.2 3 8.4 -6 2.6 4 3.3 8 3 27.9 5 0 -2.8 84 1e-9 71",
        // Joins neighbours. Once more joins none.
        "TDIGEST.MERGE KEY 1 KEY OVERRIDE",
    ],
    reads: &[
        "TDIGEST.QUANTILE KEY 0 0.1 0.25 0.5 0.77 0.99 1",
        "TDIGEST.CDF KEY -10 -6 0 3 3.1 30 99",
        "TDIGEST.RANK KEY 0 3 9",
        "TDIGEST.BYREVRANK KEY 0 2 7",
        "TDIGEST.TRIMMED_MEAN KEY 0.1 0.8",
        "TDIGEST.MIN KEY",
        "TDIGEST.MAX KEY",
        "TDIGEST.SCANDUMP KEY 0",
    ],
    change: ("TDIGEST.ADD KEY 6.25", "tdigest.add"),
    idle: &["TDIGEST.MERGE KEY 1 KEY OVERRIDE"],
    // Memory follows the samples: each command makes 64 times as many of them.
    build_large: &[
        "TDIGEST.CREATE KEY COMPRESSION 4000000",
        "TDIGEST.ADD KEY 3 1 4 1.5 9 2.6 5 3.5 8 -9.7 9 3.2 3 8.4 -6 2.6 4 3.3 8 3 27.9 5 0 -2.8 84 1e-9 71",
        SIXTY_FOUR_TIMES,
        SIXTY_FOUR_TIMES,
        "TDIGEST.MERGE KEY 3 KEY KEY KEY",
    ],
};

/// So small that items meet in buckets, where decay is random.
const TOP_K: Sample = Sample {
    type_name: "TopK-TYPE",
    info_prefix: "bf_topk_",
    build: &[
        "TOPK.RESERVE KEY 5 3 2 0.9",
        "TOPK.ADD KEY a b c d e f g h i j k l m n o p q r s t u v w x y z",
        "TOPK.INCRBY KEY a 30 b 20 c 9 d 7 e 0 f 12",
    ],
    reads: &[
        "TOPK.LIST KEY WITHCOUNT",
        "TOPK.QUERY KEY a b z nothing",
        "TOPK.COUNT KEY a b c d e f z nothing",
        "TOPK.INFO KEY",
        "TOPK.SCANDUMP KEY 0",
        "TOPK.SCANDUMP KEY 1",
    ],
    change: ("TOPK.ADD KEY NEW", "topk.add"),
    idle: &["TOPK.INCRBY KEY a 0", "TOPK.INCRBY KEY b x c 5"],
    build_large: &["TOPK.RESERVE KEY 1000 200000 3 0.9", "TOPK.ADD KEY a"],
};

const COUNT_MIN: Sample = Sample {
    type_name: "CMSk-TYPE",
    info_prefix: "bf_cms_",
    build: &[
        "CMS.INITBYPROB KEY 0.01 0.02 CELL_SIZE 2",
        "CMS.INCRBY KEY a 1 b 2 c 3 d 4000 e 65535 f 1 g 1",
        "CMS.INCRBY KEY a -1 b 5",
        "CMS.MERGE KEY 2 KEY KEY WEIGHTS 3 -2",
    ],
    reads: &[
        "CMS.INFO KEY",
        "CMS.QUERY KEY a b c d e f g nothing 1 2 3",
        "CMS.SCANDUMP KEY 0",
        "CMS.SCANDUMP KEY 1",
    ],
    change: ("CMS.INCRBY KEY NEW 1", "cms.incrby"),
    idle: &[
        "CMS.INCRBY KEY a 0 b 0",
        "CMS.INCRBY KEY e 65535 nothing -1",
        "CMS.MERGE KEY 1 KEY",
        "CMS.MERGE KEY 2 KEY KEY WEIGHTS 5 -4",
    ],
    build_large: &["CMS.INITBYDIM KEY 200000 7", "CMS.INCRBY KEY a 1"],
};

impl Sample {
    /// Runs commands on a key; none may fail.
    pub fn run(connection: &mut Connection, commands: &[&str], key: &str) -> Vec<Reply> {
        commands
            .iter()
            .map(|command| {
                let command = command.replace("KEY", key);
                let reply = connection.call(&command);
                assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
                reply
            })
            .collect()
    }

    /// Makes the value at `key`.
    pub fn build(&self, connection: &mut Connection, key: &str) {
        Self::run(connection, self.build, key);
    }

    /// All that can be seen of the value: its reads, its DUMP without the footer, its digest.
    pub fn view(&self, connection: &mut Connection, key: &str) -> Vec<Reply> {
        let mut view = Self::run(connection, self.reads, key);
        view.push(dump(connection, key));
        view.push(connection.send(&["DEBUG", "DIGEST-VALUE", key]));
        view
    }

    /// Changes the value; `new` makes each change another one.
    pub fn change(&self, connection: &mut Connection, key: &str, new: &str) {
        Self::run(connection, &[&self.change.0.replace("NEW", new)], key);
    }
}

/// The DUMP of a key without its last ten bytes, which are the server's.
pub fn dump(connection: &mut Connection, key: &str) -> Reply {
    match connection.send(&["DUMP", key]) {
        Reply::Bulk(mut payload) => {
            payload.truncate(payload.len().saturating_sub(10));
            Reply::Bulk(payload)
        }
        other => other,
    }
}
