//! The cases. Their names are the keys of the recorded results.

use crate::load::Load;

/// A command to measure on every module.
#[derive(Debug)]
pub struct Case {
    /// Name in the results.
    pub name: &'static str,
    /// Command sent once before the load, to an empty server.
    pub setup: Option<&'static str>,
    /// Load sent before the measurement.
    pub prefill: Option<Load>,
    /// The measured load.
    pub load: Load,
}

impl Case {
    fn new(name: &'static str, setup: &'static str, load: Load) -> Self {
        Self {
            name,
            setup: Some(setup),
            prefill: None,
            load,
        }
    }

    fn without_setup(name: &'static str, load: Load) -> Self {
        Self {
            name,
            setup: None,
            prefill: None,
            load,
        }
    }

    fn after(mut self, prefill: Load) -> Self {
        self.prefill = Some(prefill);
        self
    }

    /// Whether modules with only Bloom filters have the command.
    pub fn is_bloom(&self) -> bool {
        self.load.command().starts_with("BF.")
    }
}

/// A range so wide that few numbers are repeated within a case.
const WIDE: u64 = 1_000_000_000;

/// All cases, in the order in which they are measured.
pub fn all() -> Vec<Case> {
    let mut all = vec![Case::without_setup(
        "floor EXISTS",
        Load::new("EXISTS nokey", 2_000_000, 10),
    )];
    all.extend(bloom());
    all.extend(cuckoo());
    all.extend(count_min());
    all.extend(top_k());
    all.extend(t_digest());
    all
}

/// A load of commands with 100 items.
fn hundred(command: &str, commands: usize, range: u64) -> Load {
    Load::new(command, commands, range).with(100, "item:#")
}

fn bloom() -> Vec<Case> {
    let small = "BF.RESERVE b 0.001 10000000";
    let large = "BF.RESERVE b 0.001 200000000";
    vec![
        Case::new(
            "BF.ADD 10M/0.001",
            small,
            Load::new("BF.ADD b item:#", 2_000_000, WIDE),
        ),
        Case::new(
            "BF.EXISTS hit+miss 10M",
            small,
            Load::new("BF.EXISTS b item:#", 2_000_000, 20_000_000),
        )
        .after(hundred("BF.MADD b", 50_000, 10_000_000)),
        Case::new(
            "BF.ADD 200M/0.001 (cold)",
            large,
            Load::new("BF.ADD b item:#", 1_500_000, WIDE),
        ),
        Case::new(
            "BF.MADD x100 200M (cold)",
            large,
            hundred("BF.MADD b", 30_000, WIDE),
        ),
        Case::new(
            "BF.MEXISTS x100 200M (cold)",
            large,
            hundred("BF.MEXISTS b", 30_000, WIDE),
        )
        .after(hundred("BF.MADD b", 30_000, WIDE)),
        Case::without_setup(
            "BF.MEXISTS x100 scaled 12 filters",
            hundred("BF.MEXISTS b", 20_000, WIDE),
        )
        .after(hundred("BF.MADD b", 6_000, WIDE)),
    ]
}

fn cuckoo() -> Vec<Case> {
    let small = "CF.RESERVE c 10000000";
    let large = "CF.RESERVE c 200000000";
    vec![
        Case::new(
            "CF.ADD 10M",
            small,
            Load::new("CF.ADD c item:#", 2_000_000, WIDE),
        ),
        Case::new(
            "CF.EXISTS 10M",
            small,
            Load::new("CF.EXISTS c item:#", 2_000_000, 20_000_000),
        )
        .after(hundred("CF.INSERT c ITEMS", 50_000, 10_000_000)),
        Case::new(
            "CF.MEXISTS x100 cold 200M",
            large,
            hundred("CF.MEXISTS c", 30_000, WIDE),
        )
        .after(hundred("CF.INSERT c ITEMS", 30_000, WIDE)),
        Case::new(
            "CF.INSERT x100 cold 200M",
            large,
            hundred("CF.INSERT c ITEMS", 30_000, WIDE),
        ),
        Case::without_setup(
            "CF.EXISTS default, grown",
            Load::new("CF.EXISTS c item:#", 1_000_000, WIDE),
        )
        .after(hundred("CF.INSERT c ITEMS", 250, WIDE)),
    ]
}

fn count_min() -> Vec<Case> {
    let small = "CMS.INITBYPROB s 0.001 0.01";
    let large = "CMS.INITBYPROB s 0.00001 0.001";
    let increments =
        |commands| Load::new("CMS.INCRBY s", commands, 10_000_000).with(50, "item:# 3");
    vec![
        Case::new(
            "CMS.INCRBY 0.001/0.01",
            small,
            Load::new("CMS.INCRBY s item:# 1", 2_000_000, 1_000_000),
        ),
        Case::new("CMS.INCRBY x50 1e-5/0.001", large, increments(30_000)),
        Case::new(
            "CMS.QUERY x50 1e-5/0.001",
            large,
            Load::new("CMS.QUERY s", 30_000, 10_000_000).with(50, "item:#"),
        )
        .after(increments(20_000)),
    ]
}

fn top_k() -> Vec<Case> {
    let small = "TOPK.RESERVE t 100 1000 7 0.9";
    let large = "TOPK.RESERVE t 1000 8000 7 0.9";
    vec![
        Case::new(
            "TOPK.ADD k100 zipf-ish",
            small,
            Load::new("TOPK.ADD t item:#", 1_500_000, 2_000),
        ),
        Case::new(
            "TOPK.ADD k1000 wide",
            large,
            Load::new("TOPK.ADD t item:#", 500_000, 20_000),
        ),
        Case::new(
            "TOPK.INCRBY k100 x1000",
            small,
            Load::new("TOPK.INCRBY t item:# 1000", 20_000, 100_000),
        ),
        Case::new(
            "TOPK.QUERY k1000",
            large,
            Load::new("TOPK.QUERY t item:#", 500_000, 20_000),
        )
        .after(Load::new("TOPK.ADD t", 4_000, 20_000).with(50, "item:#")),
    ]
}

fn t_digest() -> Vec<Case> {
    let small = "TDIGEST.CREATE d COMPRESSION 100";
    let large = "TDIGEST.CREATE d COMPRESSION 1000";
    let samples = |commands| Load::new("TDIGEST.ADD d", commands, WIDE).with(100, "#");
    vec![
        Case::new(
            "TDIGEST.ADD c100",
            small,
            Load::new("TDIGEST.ADD d #", 2_000_000, WIDE),
        ),
        Case::new("TDIGEST.ADD c1000 x100", large, samples(40_000)),
        Case::new(
            "TDIGEST.QUANTILE p50 c1000",
            large,
            Load::new("TDIGEST.QUANTILE d 0.5", 500_000, 10),
        )
        .after(samples(10_000)),
        Case::new(
            "TDIGEST.CDF c1000",
            large,
            Load::new("TDIGEST.CDF d #", 500_000, WIDE),
        )
        .after(samples(10_000)),
    ]
}
