//! The benchmark cases: commands of each family, built-in commands for comparison, and commands on missing
//! keys, which measure the call overhead of the server.

use crate::load::Load;

/// A command to measure under load.
#[derive(Debug)]
pub struct Case {
    /// Name in the tables.
    pub name: &'static str,
    /// Commands sent once before the load, to an empty server.
    pub setup: &'static [&'static str],
    /// Load sent before the measurement.
    pub prefill: Option<Load>,
    /// The measured load, sent once per round.
    pub load: Load,
    /// Whether every round starts with an empty server: setup and prefill are repeated, and each round
    /// includes the page faults of new memory.
    pub fresh: bool,
    /// Names of cases whose sum approximates the call overhead of such a command: the same numbers of
    /// arguments and replies, on a missing key. The prefix `-` subtracts a case.
    pub server_share: &'static [&'static str],
}

impl Case {
    fn new(name: &'static str, setup: &'static [&'static str], load: Load) -> Self {
        Self {
            name,
            setup,
            prefill: None,
            load,
            fresh: false,
            server_share: &[],
        }
    }

    fn after(mut self, prefill: Load) -> Self {
        self.prefill = Some(prefill);
        self
    }

    fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    fn share(mut self, cases: &'static [&'static str]) -> Self {
        self.server_share = cases;
        self
    }
}

/// The case that all others are compared with.
pub const UNIT: &str = "EXISTS, no such key";

// Commands per round: enough for at least 50 ms.
const SINGLE: usize = 300_000;
const MANY: usize = 6_000;

/// A range so wide that few numbers are repeated within a benchmark.
const WIDE: u64 = 1_000_000_000;

const ONE: &[&str] = &["BF.EXISTS, no such key"];
const HUNDRED: &[&str] = &["BF.MEXISTS x100, no such key"];
const FIFTY: &[&str] = &["BF.MEXISTS x50, no such key"];
/// A hundred arguments, a reply of one element.
const HUNDRED_IN: &[&str] = &[
    "BF.EXISTS, no such key",
    "LPUSHX x100, no such key",
    "-LPUSHX, no such key",
];
/// A hundred arguments, a reply of fifty elements.
const HUNDRED_IN_FIFTY_OUT: &[&str] = &[
    "BF.MEXISTS x50, no such key",
    "LPUSHX x100, no such key",
    "-LPUSHX x50, no such key",
];

fn single(command: &str, range: u64) -> Load {
    Load::new(command, SINGLE, range)
}

fn many(command: &str, times: usize, arguments: &str, range: u64) -> Load {
    Load::new(command, MANY, range).with(times, arguments)
}

fn items(command: &str, commands: usize, range: u64) -> Load {
    Load::new(command, commands, range).with(100, "item:#")
}

/// All cases in the order of the tables.
pub fn all() -> Vec<Case> {
    let mut all = missing_key();
    all.extend(built_in());
    all.extend(bloom());
    all.extend(cuckoo());
    all.extend(count_min());
    all.extend(top_k());
    all.extend(t_digest());
    all
}

/// Built-in commands and commands of the module on a missing key.
fn missing_key() -> Vec<Case> {
    vec![
        Case::new(UNIT, &[], single("EXISTS nokey", 1)),
        Case::new("BF.CARD, no such key", &[], single("BF.CARD nokey", 1)),
        Case::new(
            "BF.EXISTS, no such key",
            &[],
            single("BF.EXISTS nokey item:#", WIDE),
        ),
        Case::new(
            "BF.MEXISTS x50, no such key",
            &[],
            many("BF.MEXISTS nokey", 50, "item:#", WIDE),
        ),
        Case::new(
            "BF.MEXISTS x100, no such key",
            &[],
            many("BF.MEXISTS nokey", 100, "item:#", WIDE),
        ),
        Case::new(
            "LPUSHX, no such key",
            &[],
            single("LPUSHX nokey item:#", WIDE),
        ),
        Case::new(
            "LPUSHX x50, no such key",
            &[],
            many("LPUSHX nokey", 50, "item:#", WIDE),
        ),
        Case::new(
            "LPUSHX x100, no such key",
            &[],
            many("LPUSHX nokey", 100, "item:#", WIDE),
        ),
        Case::new(
            "SMISMEMBER x100, no such key",
            &[],
            many("SMISMEMBER nokey", 100, "item:#", WIDE),
        ),
        Case::new(
            "EXISTS x100, no such keys",
            &[],
            many("EXISTS", 100, "item:#", WIDE),
        ),
    ]
}

fn built_in() -> Vec<Case> {
    vec![
        Case::new("GET", &["SET k value"], single("GET k", 1)),
        Case::new("SET", &[], single("SET k item:#", WIDE)),
        Case::new("INCR", &[], single("INCR k", 1)),
        Case::new(
            "SADD, 1,000,000 members",
            &[],
            single("SADD k item:#", 1_000_000),
        ),
        Case::new(
            "SISMEMBER, 1,000,000 members",
            &[],
            single("SISMEMBER k item:#", 2_000_000),
        )
        .after(items("SADD k", 30_000, 1_000_000)),
        Case::new(
            "SMISMEMBER x100, 1,000,000 members",
            &[],
            many("SMISMEMBER k", 100, "item:#", 2_000_000),
        )
        .after(items("SADD k", 30_000, 1_000_000)),
        Case::new(
            "HINCRBY, 100,000 fields",
            &[],
            single("HINCRBY k item:# 1", 100_000),
        ),
        Case::new(
            "ZADD, 100,000 members",
            &[],
            single("ZADD k # item:#", 100_000),
        ),
        Case::new(
            "ZINCRBY, 2,000 members",
            &[],
            single("ZINCRBY k 1 item:#", 2_000),
        ),
        Case::new("PFADD", &[], single("PFADD k item:#", WIDE)),
        Case::new("PFADD x100", &[], many("PFADD k", 100, "item:#", WIDE)),
    ]
}

const BF_10M: &[&str] = &["BF.RESERVE k 0.001 10000000"];
const BF_200M: &[&str] = &["BF.RESERVE k 0.001 200000000"];

fn bloom() -> Vec<Case> {
    vec![
        Case::new("BF.CARD", BF_10M, single("BF.CARD k", 1)).share(&["BF.CARD, no such key"]),
        Case::new("BF.ADD, 10M", BF_10M, single("BF.ADD k item:#", WIDE)).share(ONE),
        Case::new(
            "BF.EXISTS, 10M",
            BF_10M,
            single("BF.EXISTS k item:#", 20_000_000),
        )
        .after(items("BF.MADD k", 50_000, 10_000_000))
        .share(ONE),
        Case::new(
            "BF.ADD, 200M cold",
            BF_200M,
            Load::new("BF.ADD k item:#", 1_000_000, WIDE),
        )
        .fresh()
        .share(ONE),
        Case::new(
            "BF.MADD x100, 200M cold",
            BF_200M,
            items("BF.MADD k", 30_000, WIDE),
        )
        .fresh()
        .share(HUNDRED),
        Case::new(
            "BF.MADD x100, 200M cold, pre-faulted",
            BF_200M,
            items("BF.MADD k", MANY, WIDE),
        )
        .after(items("BF.MADD k", 30_000, WIDE))
        .share(HUNDRED),
        Case::new(
            "BF.MEXISTS x100, 200M cold",
            BF_200M,
            items("BF.MEXISTS k", 10_000, WIDE),
        )
        .after(items("BF.MADD k", 30_000, WIDE))
        .share(HUNDRED),
        Case::new(
            "BF.MEXISTS x100, 12 filters",
            &[],
            items("BF.MEXISTS k", MANY, WIDE),
        )
        .after(items("BF.MADD k", 6_000, WIDE))
        .share(HUNDRED),
        Case::new("BF.MADD x100, 10M", BF_10M, items("BF.MADD k", MANY, WIDE)).share(HUNDRED),
        Case::new(
            "BF.INSERT x100, 10M",
            BF_10M,
            items("BF.INSERT k ITEMS", MANY, WIDE),
        )
        .share(HUNDRED),
        Case::new("BF.INFO", BF_10M, single("BF.INFO k", 1)),
    ]
}

const CF_10M: &[&str] = &["CF.RESERVE k 10000000"];
const CF_200M: &[&str] = &["CF.RESERVE k 200000000"];

fn cuckoo() -> Vec<Case> {
    let ten_million = || items("CF.INSERT k ITEMS", 50_000, 10_000_000);
    vec![
        Case::new("CF.ADD, 10M", CF_10M, single("CF.ADD k item:#", WIDE)).share(ONE),
        Case::new("CF.ADDNX, 10M", CF_10M, single("CF.ADDNX k item:#", WIDE)).share(ONE),
        Case::new(
            "CF.EXISTS, 10M",
            CF_10M,
            single("CF.EXISTS k item:#", 20_000_000),
        )
        .after(ten_million())
        .share(ONE),
        Case::new(
            "CF.COUNT, 10M",
            CF_10M,
            single("CF.COUNT k item:#", 20_000_000),
        )
        .after(ten_million())
        .share(ONE),
        Case::new("CF.DEL, 10M", CF_10M, single("CF.DEL k item:#", 20_000_000))
            .after(ten_million())
            .share(ONE),
        Case::new(
            "CF.INSERT x100, 200M cold",
            CF_200M,
            items("CF.INSERT k ITEMS", 30_000, WIDE),
        )
        .fresh()
        .share(HUNDRED),
        Case::new(
            "CF.INSERT x100, 200M cold, pre-faulted",
            CF_200M,
            items("CF.INSERT k ITEMS", MANY, WIDE),
        )
        .after(items("CF.INSERT k ITEMS", 30_000, WIDE))
        .share(HUNDRED),
        Case::new(
            "CF.MEXISTS x100, 200M cold",
            CF_200M,
            items("CF.MEXISTS k", 10_000, WIDE),
        )
        .after(items("CF.INSERT k ITEMS", 30_000, WIDE))
        .share(HUNDRED),
        Case::new(
            "CF.EXISTS, default, grown by 25,000 items",
            &[],
            single("CF.EXISTS k item:#", WIDE),
        )
        .after(items("CF.INSERT k ITEMS", 250, WIDE))
        .share(ONE),
    ]
}

const CMS_SMALL: &[&str] = &["CMS.INITBYPROB k 0.001 0.01"];
const CMS_LARGE: &[&str] = &["CMS.INITBYPROB k 0.00001 0.001"];

fn count_min() -> Vec<Case> {
    let fifty = |command| many(command, 50, "item:# 3", 10_000_000);
    vec![
        Case::new(
            "CMS.INCRBY, 0.001/0.01",
            CMS_SMALL,
            single("CMS.INCRBY k item:# 1", 1_000_000),
        )
        .share(ONE),
        Case::new(
            "CMS.QUERY, 0.001/0.01",
            CMS_SMALL,
            single("CMS.QUERY k item:#", 1_000_000),
        )
        .after(single("CMS.INCRBY k item:# 1", 1_000_000))
        .share(ONE),
        Case::new(
            "CMS.INCRBY x50, 1e-5/0.001",
            CMS_LARGE,
            fifty("CMS.INCRBY k"),
        )
        .share(HUNDRED_IN_FIFTY_OUT),
        Case::new(
            "CMS.QUERY x50, 1e-5/0.001",
            CMS_LARGE,
            many("CMS.QUERY k", 50, "item:#", 10_000_000),
        )
        .after(fifty("CMS.INCRBY k"))
        .share(FIFTY),
        Case::new("CMS.INFO", CMS_SMALL, single("CMS.INFO k", 1)),
    ]
}

const TOPK_100: &[&str] = &["TOPK.RESERVE k 100 1000 7 0.9"];
const TOPK_10000: &[&str] = &["TOPK.RESERVE k 10000 80000 7 0.9"];
const TOPK_1000: &[&str] = &["TOPK.RESERVE k 1000 8000 7 0.9"];

fn top_k() -> Vec<Case> {
    let fill = |range| Load::new("TOPK.ADD k", 4_000, range).with(50, "item:#");
    vec![
        Case::new(
            "TOPK.ADD, k 100",
            TOPK_100,
            single("TOPK.ADD k item:#", 2_000),
        )
        .share(ONE),
        Case::new(
            "TOPK.ADD, k 1,000",
            TOPK_1000,
            single("TOPK.ADD k item:#", 20_000),
        )
        .share(ONE),
        Case::new(
            "TOPK.ADD, k 10,000",
            TOPK_10000,
            single("TOPK.ADD k item:#", 200_000),
        )
        .share(ONE),
        Case::new(
            "TOPK.INCRBY by 1,000, k 100",
            TOPK_100,
            Load::new("TOPK.INCRBY k item:# 1000", 60_000, 100_000),
        )
        .share(ONE),
        Case::new(
            "TOPK.QUERY, k 1,000",
            TOPK_1000,
            single("TOPK.QUERY k item:#", 20_000),
        )
        .after(fill(20_000))
        .share(ONE),
        Case::new(
            "TOPK.COUNT, k 1,000",
            TOPK_1000,
            single("TOPK.COUNT k item:#", 20_000),
        )
        .after(fill(20_000))
        .share(ONE),
        Case::new(
            "TOPK.LIST, k 100",
            TOPK_100,
            Load::new("TOPK.LIST k", 20_000, 1),
        )
        .after(fill(2_000)),
    ]
}

const TD_100: &[&str] = &["TDIGEST.CREATE k COMPRESSION 100"];
const TD_1000: &[&str] = &["TDIGEST.CREATE k COMPRESSION 1000"];

fn t_digest() -> Vec<Case> {
    let fill = || Load::new("TDIGEST.ADD k", 10_000, WIDE).with(100, "#");
    let asked =
        |name, command, range| Case::new(name, TD_1000, single(command, range)).after(fill());
    vec![
        Case::new(
            "TDIGEST.ADD, c 100",
            TD_100,
            single("TDIGEST.ADD k #", WIDE),
        )
        .share(ONE),
        Case::new(
            "TDIGEST.ADD x100, c 1,000",
            TD_1000,
            many("TDIGEST.ADD k", 100, "#", WIDE),
        )
        .share(HUNDRED_IN),
        asked("TDIGEST.QUANTILE, c 1,000", "TDIGEST.QUANTILE k 0.5", 1).share(ONE),
        asked("TDIGEST.CDF, c 1,000", "TDIGEST.CDF k #", WIDE).share(ONE),
        asked("TDIGEST.RANK, c 1,000", "TDIGEST.RANK k #", WIDE).share(ONE),
        asked("TDIGEST.BYRANK, c 1,000", "TDIGEST.BYRANK k 500000", 1).share(ONE),
        asked(
            "TDIGEST.TRIMMED_MEAN, c 1,000",
            "TDIGEST.TRIMMED_MEAN k 0.1 0.9",
            1,
        )
        .share(ONE),
        asked("TDIGEST.MIN, c 1,000", "TDIGEST.MIN k", 1).share(&["BF.CARD, no such key"]),
    ]
}
