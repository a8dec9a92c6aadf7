//! The cases: commands of each type, and built-in commands for comparison. Their names are the keys of the results.

use crate::load::Load;

/// A command to measure on every module.
#[derive(Debug)]
pub struct Case {
    /// Name in the results and tables.
    pub name: &'static str,
    /// Command sent once before the load, to an empty server; may be empty.
    pub setup: &'static str,
    /// Load sent before the measurement.
    pub prefill: Option<Load>,
    /// The measured load.
    pub load: Load,
}

impl Case {
    fn new(name: &'static str, setup: &'static str, load: Load) -> Self {
        Self {
            name,
            setup,
            prefill: None,
            load,
        }
    }

    fn after(mut self, prefill: Load) -> Self {
        self.prefill = Some(prefill);
        self
    }

    /// Whether modules with only Bloom filters have the command, in the same syntax.
    pub fn is_bloom(&self) -> bool {
        let command = self.load.command();
        (command.starts_with("BF.") || !command.contains('.')) && !self.is_added()
    }

    /// Whether only Roughly has the command, or its keys: those with a window.
    pub fn is_added(&self) -> bool {
        self.setup.contains("WINDOW") || self.load.command().starts_with("CMS.INCRBYLIMIT")
    }
}

/// A range so wide that few numbers are repeated within a case.
const WIDE: u64 = 1_000_000_000;
/// The number of items in a filter whose look-ups find all of them.
const PRESENT: u64 = 5_000_000;
/// A window that does not end during a benchmark.
const DAY: &str = "WINDOW 86400000";

fn one(command: &str, range: u64) -> Load {
    Load::new(command, 1_000_000, range)
}

fn many(command: &str, commands: usize, times: usize, arguments: &str, range: u64) -> Load {
    Load::new(command, commands, range).with(times, arguments)
}

fn hundred(command: &str, commands: usize, range: u64) -> Load {
    many(command, commands, 100, "item:#", range)
}

/// All cases, in the order in which they are measured.
pub fn all() -> Vec<Case> {
    [
        built_in(),
        bloom(),
        cuckoo(),
        count_min(),
        top_k(),
        t_digest(),
        windows(),
        parts_of_windows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Cases on large arrays, for the comparison of huge pages with ordinary ones. The load of a case without a load before it
/// is the first that writes to the array.
pub fn large() -> Vec<Case> {
    let bloom = "BF.RESERVE k 0.001 200000000";
    let cuckoo = "CF.RESERVE k 200000000";
    let count_min = "CMS.INITBYPROB k 0.000001 0.001";
    let window: &str = format!("{bloom} {DAY}").leak();
    let top_k = "TOPK.RESERVE k 1000 2000000 7 0.9";
    let madd = |commands| hundred("BF.MADD k", commands, WIDE);
    let insert = |commands| hundred("CF.INSERT k ITEMS", commands, WIDE);
    let increments = |commands| many("CMS.INCRBY k", commands, 50, "item:# 3", WIDE);
    vec![
        Case::new("BF.ADD", bloom, one("BF.ADD k item:#", WIDE)).after(madd(30_000)),
        Case::new("BF.EXISTS", bloom, one("BF.EXISTS k item:#", WIDE)).after(madd(30_000)),
        Case::new("BF.MADD ×100", bloom, madd(20_000)).after(madd(30_000)),
        Case::new(
            "BF.MEXISTS ×100",
            bloom,
            hundred("BF.MEXISTS k", 30_000, WIDE),
        )
        .after(madd(30_000)),
        Case::new("CF.ADD", cuckoo, one("CF.ADD k item:#", WIDE)).after(insert(30_000)),
        Case::new("CF.EXISTS", cuckoo, one("CF.EXISTS k item:#", WIDE)).after(insert(30_000)),
        Case::new("CF.INSERT ×100", cuckoo, insert(20_000)).after(insert(30_000)),
        Case::new(
            "CF.MEXISTS ×100",
            cuckoo,
            hundred("CF.MEXISTS k", 30_000, WIDE),
        )
        .after(insert(30_000)),
        Case::new("CMS.INCRBY ×50", count_min, increments(30_000)).after(increments(20_000)),
        Case::new(
            "CMS.QUERY ×50",
            count_min,
            many("CMS.QUERY k", 30_000, 50, "item:#", WIDE),
        )
        .after(increments(20_000)),
        Case::new("TOPK.ADD", top_k, one("TOPK.ADD k item:#", WIDE))
            .after(one("TOPK.ADD k item:#", WIDE)),
        Case::new("BF.MADD ×100, window", window, madd(20_000)).after(madd(30_000)),
        Case::new(
            "BF.MEXISTS ×100, window",
            window,
            hundred("BF.MEXISTS k", 30_000, WIDE),
        )
        .after(madd(30_000)),
        Case::new("BF.ADD, first fill", bloom, one("BF.ADD k item:#", WIDE)),
        Case::new("BF.MADD ×100, first fill", bloom, madd(30_000)),
        Case::new("BF.MADD ×100, 50 million items", bloom, madd(500_000)),
        Case::new("CF.ADD, first fill", cuckoo, one("CF.ADD k item:#", WIDE)),
        Case::new("CF.INSERT ×100, first fill", cuckoo, insert(30_000)),
        Case::new("CMS.INCRBY ×50, first fill", count_min, increments(30_000)),
        Case::new("BF.MADD ×100, window, first fill", window, madd(30_000)),
    ]
}

fn built_in() -> Vec<Case> {
    vec![
        Case::new("EXISTS", "", one("EXISTS nokey", 10)),
        Case::new("GET", "SET k value", one("GET k", 1)),
        Case::new("SET", "", one("SET k item:#", WIDE)),
        Case::new(
            "SADD, 1,000,000 members",
            "",
            one("SADD k item:#", 1_000_000),
        ),
        Case::new(
            "SMISMEMBER ×100",
            "",
            hundred("SMISMEMBER k", 10_000, 2_000_000),
        )
        .after(hundred("SADD k", 30_000, 1_000_000)),
        Case::new("ZADD, 100,000 members", "", one("ZADD k # item:#", 100_000)),
        Case::new("PFADD ×100", "", hundred("PFADD k", 10_000, WIDE)),
    ]
}

fn bloom() -> Vec<Case> {
    let small = "BF.RESERVE k 0.001 10000000";
    let large = "BF.RESERVE k 0.001 200000000";
    let present = many("BF.MADD k", PRESENT as usize / 100, 100, "item:@", 1);
    vec![
        Case::new("BF.ADD", small, one("BF.ADD k item:#", WIDE)),
        Case::new("BF.ADD, 200M", large, one("BF.ADD k item:#", WIDE)),
        Case::new("BF.EXISTS", small, one("BF.EXISTS k item:#", 20_000_000)).after(hundred(
            "BF.MADD k",
            50_000,
            10_000_000,
        )),
        Case::new(
            "BF.EXISTS, present",
            small,
            one("BF.EXISTS k item:#", PRESENT),
        )
        .after(present.clone()),
        Case::new(
            "BF.MEXISTS, present",
            small,
            one("BF.MEXISTS k item:#", PRESENT),
        )
        .after(present.clone()),
        Case::new(
            "BF.MEXISTS ×100, present",
            small,
            hundred("BF.MEXISTS k", 10_000, PRESENT),
        )
        .after(present),
        Case::new("BF.MADD ×100", large, hundred("BF.MADD k", 30_000, WIDE)),
        Case::new(
            "BF.MADD ×100, pages present",
            large,
            hundred("BF.MADD k", 20_000, WIDE),
        )
        .after(hundred("BF.MADD k", 30_000, WIDE)),
        Case::new(
            "BF.MEXISTS ×100",
            large,
            hundred("BF.MEXISTS k", 30_000, WIDE),
        )
        .after(hundred("BF.MADD k", 30_000, WIDE)),
        Case::new(
            "BF.MEXISTS ×100, grown",
            "",
            hundred("BF.MEXISTS k", 20_000, WIDE),
        )
        .after(hundred("BF.MADD k", 6_000, WIDE)),
    ]
}

fn cuckoo() -> Vec<Case> {
    let small = "CF.RESERVE k 10000000";
    let large = "CF.RESERVE k 200000000";
    let insert = |commands, range| hundred("CF.INSERT k ITEMS", commands, range);
    vec![
        Case::new("CF.ADD", small, one("CF.ADD k item:#", WIDE)),
        Case::new("CF.EXISTS", small, one("CF.EXISTS k item:#", 20_000_000))
            .after(insert(50_000, 10_000_000)),
        Case::new("CF.EXISTS, grown", "", one("CF.EXISTS k item:#", WIDE)).after(insert(250, WIDE)),
        Case::new("CF.DEL", small, one("CF.DEL k item:#", 20_000_000))
            .after(insert(50_000, 10_000_000)),
        Case::new("CF.INSERT ×100", large, insert(30_000, WIDE)),
        Case::new(
            "CF.MEXISTS ×100",
            large,
            hundred("CF.MEXISTS k", 30_000, WIDE),
        )
        .after(insert(30_000, WIDE)),
    ]
}

fn count_min() -> Vec<Case> {
    let small = "CMS.INITBYPROB k 0.001 0.01";
    let large = "CMS.INITBYPROB k 0.00001 0.001";
    let increments = |commands| many("CMS.INCRBY k", commands, 50, "item:# 3", 10_000_000);
    vec![
        Case::new("CMS.INCRBY", small, one("CMS.INCRBY k item:# 1", 1_000_000)),
        Case::new("CMS.INCRBY ×50", large, increments(30_000)),
        Case::new(
            "CMS.INCRBYLIMIT",
            small,
            one("CMS.INCRBYLIMIT k 1000000 item:# 1", 1_000_000),
        ),
        Case::new(
            "CMS.INCRBYLIMIT ×50",
            large,
            many(
                "CMS.INCRBYLIMIT k 1000000",
                30_000,
                50,
                "item:# 3",
                10_000_000,
            ),
        ),
        Case::new(
            "CMS.QUERY ×50",
            large,
            many("CMS.QUERY k", 30_000, 50, "item:#", 10_000_000),
        )
        .after(increments(20_000)),
    ]
}

fn top_k() -> Vec<Case> {
    let small = "TOPK.RESERVE k 100 1000 7 0.9";
    let large = "TOPK.RESERVE k 1000 8000 7 0.9";
    vec![
        Case::new("TOPK.ADD, k 100", small, one("TOPK.ADD k item:#", 2_000)),
        Case::new("TOPK.ADD, k 1,000", large, one("TOPK.ADD k item:#", 20_000)),
        Case::new(
            "TOPK.INCRBY by 1,000",
            small,
            Load::new("TOPK.INCRBY k item:# 1000", 20_000, 100_000),
        ),
        Case::new(
            "TOPK.QUERY, k 1,000",
            large,
            one("TOPK.QUERY k item:#", 20_000),
        )
        .after(many("TOPK.ADD k", 4_000, 50, "item:#", 20_000)),
    ]
}

fn t_digest() -> Vec<Case> {
    let small = "TDIGEST.CREATE k COMPRESSION 100";
    let large = "TDIGEST.CREATE k COMPRESSION 1000";
    let samples = |commands| many("TDIGEST.ADD k", commands, 100, "#", WIDE);
    vec![
        Case::new("TDIGEST.ADD", small, one("TDIGEST.ADD k #", WIDE)),
        Case::new("TDIGEST.ADD ×100", large, samples(40_000)),
        Case::new("TDIGEST.QUANTILE", large, one("TDIGEST.QUANTILE k 0.5", 10))
            .after(samples(10_000)),
        Case::new("TDIGEST.CDF", large, one("TDIGEST.CDF k #", WIDE)).after(samples(10_000)),
    ]
}

/// The same commands on keys with a window.
fn windows() -> Vec<Case> {
    let window = |setup: &str| -> &'static str { format!("{setup} {DAY}").leak() };
    let bloom = window("BF.RESERVE k 0.001 10000000");
    let large = window("BF.RESERVE k 0.001 200000000");
    let count_min = window("CMS.INITBYPROB k 0.001 0.01");
    let t_digest = window("TDIGEST.CREATE k COMPRESSION 1000");
    vec![
        Case::new("BF.ADD, window", bloom, one("BF.ADD k item:#", WIDE)),
        Case::new(
            "BF.EXISTS, window",
            bloom,
            one("BF.EXISTS k item:#", 20_000_000),
        )
        .after(hundred("BF.MADD k", 50_000, 10_000_000)),
        Case::new(
            "BF.MADD ×100, window",
            large,
            hundred("BF.MADD k", 30_000, WIDE),
        ),
        Case::new(
            "BF.MEXISTS ×100, window",
            large,
            hundred("BF.MEXISTS k", 30_000, WIDE),
        )
        .after(hundred("BF.MADD k", 30_000, WIDE)),
        Case::new(
            "CMS.INCRBY, window",
            count_min,
            one("CMS.INCRBY k item:# 1", 1_000_000),
        ),
        Case::new(
            "TOPK.ADD, k 100, window",
            window("TOPK.RESERVE k 100 1000 7 0.9"),
            one("TOPK.ADD k item:#", 2_000),
        ),
        Case::new(
            "TDIGEST.ADD, window",
            t_digest,
            one("TDIGEST.ADD k #", WIDE),
        ),
        Case::new(
            "TDIGEST.QUANTILE, window",
            t_digest,
            one("TDIGEST.QUANTILE k 0.5", 10),
        )
        .after(many("TDIGEST.ADD k", 10_000, 100, "#", WIDE)),
    ]
}

/// Reads of a part of a window, beside the same reads of the whole window.
fn parts_of_windows() -> Vec<Case> {
    let window = |setup: &str| -> &'static str { format!("{setup} {DAY}").leak() };
    let bloom = window("BF.RESERVE k 0.001 10000000");
    let cuckoo = window("CF.RESERVE k 10000000");
    let count_min = window("CMS.INITBYPROB k 0.001 0.01");
    let t_digest = window("TDIGEST.CREATE k COMPRESSION 100");
    let items = || hundred("BF.MADD k", 50_000, 10_000_000);
    let occurrences = || hundred("CF.INSERT k ITEMS", 50_000, 10_000_000);
    let increments = || many("CMS.INCRBY k", 5_000, 50, "item:# 3", 1_000_000);
    // The length of a pane.
    let within = "SKETCH.WITHIN 7200000";
    let range = 20_000_000;
    vec![
        Case::new(
            "BF.EXISTS, last two hours",
            bloom,
            one(&format!("{within} BF.EXISTS k item:#"), range),
        )
        .after(items()),
        Case::new(
            "BF.MEXISTS ×100, last two hours",
            bloom,
            hundred(&format!("{within} BF.MEXISTS k"), 10_000, range),
        )
        .after(items()),
        Case::new("SKETCH.AGE", bloom, one("SKETCH.AGE k item:#", range)).after(items()),
        Case::new(
            "CF.EXISTS, window",
            cuckoo,
            one("CF.EXISTS k item:#", range),
        )
        .after(occurrences()),
        Case::new(
            "CF.EXISTS, last two hours",
            cuckoo,
            one(&format!("{within} CF.EXISTS k item:#"), range),
        )
        .after(occurrences()),
        Case::new(
            "CMS.QUERY, window",
            count_min,
            one("CMS.QUERY k item:#", 1_000_000),
        )
        .after(increments()),
        Case::new(
            "CMS.QUERY, last two hours",
            count_min,
            one(&format!("{within} CMS.QUERY k item:#"), 1_000_000),
        )
        .after(increments()),
        Case::new(
            "TDIGEST.QUANTILE, last two hours",
            t_digest,
            one(&format!("{within} TDIGEST.QUANTILE k 0.5"), 10),
        )
        .after(many("TDIGEST.ADD k", 10_000, 100, "#", WIDE)),
    ]
}
