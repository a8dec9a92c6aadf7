//! Execution times of the slowest commands, which block the server: reservations, growth, frees, merges.
//!
//! SLOWLOG measures the time: from start to end of the command, including page faults and allocation,
//! without the network.

use crate::load::{Connections, Load};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

/// Number of measurements per command.
pub const ATTEMPTS: usize = 4;

/// A command that may block the server for long.
#[derive(Debug)]
pub struct Pause {
    /// Name in the tables.
    pub name: &'static str,
    /// Commands sent once before each attempt, to an empty server.
    setup: &'static [&'static str],
    /// Loads sent after the setup.
    prefill: Vec<Load>,
    /// Changes the key so that the next command is slow.
    approach: fn(&mut Connection, &mut Connections),
    /// The command to measure.
    command: String,
}

impl Pause {
    /// Execution time of the command in each attempt, in microseconds.
    ///
    /// # Panics
    /// If the connection breaks or a reply is an error.
    pub fn measure(&self, server: &Server, connections: &mut Connections) -> Vec<i64> {
        let mut connection = server.resp2();
        let attempts = (0..ATTEMPTS).map(|_| {
            prepare(&mut connection, self.setup);
            for load in &self.prefill {
                connections.run(load);
            }
            (self.approach)(&mut connection, connections);
            ok(&mut connection, "CONFIG SET slowlog-log-slower-than 0");
            ok(&mut connection, "SLOWLOG RESET");
            ok(&mut connection, &self.command);
            ok(&mut connection, "CONFIG SET slowlog-log-slower-than -1");
            let name = self.command.split(' ').next().unwrap_or_default();
            longest(&connection.call("SLOWLOG GET -1"), name)
        });
        attempts.collect()
    }
}

/// Fills a Bloom filter of this capacity exactly.
fn fill_bloom(connection: &mut Connection, capacity: i64) {
    let mut next = 0;
    while let missing @ 1.. = capacity - integer(&connection.call("BF.CARD k")) {
        let items = (0..missing).map(|i| format!(" x{}", next + i));
        ok(
            connection,
            &format!("BF.MADD k{}", items.collect::<String>()),
        );
        next += missing;
    }
}

/// Fills the two buckets of one item, which have four slots in total.
fn fill_buckets(connection: &mut Connection, _: &mut Connections) {
    for _ in 0..4 {
        ok(connection, "CF.ADD k item");
    }
    assert_eq!(cuckoo_field(connection, "Number of filters"), 1);
}

/// Deletes items until one more deletion makes the number of deleted items exceed a tenth of the remaining items.
fn delete_a_tenth(connection: &mut Connection, connections: &mut Connections) {
    // The measured command deletes this item, so it must exist.
    ok(connection, "CF.ADD k last");
    loop {
        let items = cuckoo_field(connection, "Number of items inserted");
        let deleted = cuckoo_field(connection, "Number of items deleted");
        // The largest n for which n more deletions give deleted + n <= (items - n) / 10.
        let left = (items - 10 * deleted) / 11;
        if left <= 0 {
            return;
        }
        // Deletions of missing items have no effect, so a load never deletes too many, and several loads
        // may be necessary.
        let commands = usize::try_from(left).expect("a number");
        connections.run(&Load::new("CF.DEL k item:#", commands, CUCKOO_ITEMS));
    }
}

fn cuckoo_field(connection: &mut Connection, name: &str) -> i64 {
    let info = connection.call("CF.INFO k");
    let fields = info.items().expect("an array").chunks(2);
    let value = fields.filter(|field| field[0].text() == Some(name.as_bytes()));
    value.map(|field| integer(&field[1])).next().expect(name)
}

fn integer(reply: &Reply) -> i64 {
    reply
        .integer()
        .unwrap_or_else(|| panic!("expected an integer: {reply}"))
}

/// Removes all keys and executes the commands.
///
/// # Panics
/// If a reply is an error.
pub fn prepare(connection: &mut Connection, setup: &[impl AsRef<str>]) {
    ok(connection, "FLUSHALL SYNC");
    for command in setup {
        ok(connection, command.as_ref());
    }
}

fn ok(connection: &mut Connection, command: &str) {
    let reply = connection.call(command);
    assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
}

/// The longest time of a command in SLOWLOG. Fields of an entry: id, timestamp, microseconds, arguments, ...
fn longest(log: &Reply, command: &str) -> i64 {
    let of_entry = |entry: &Reply| {
        let fields = entry.items()?;
        let name = fields.get(3)?.items()?.first()?.text()?;
        let is_command = name.eq_ignore_ascii_case(command.as_bytes());
        is_command.then(|| fields[2].integer())?
    };
    let entries = log.items().expect("an array");
    entries.iter().filter_map(of_entry).max().unwrap_or(0)
}

/// A filter of 1 GiB: 2^33 bits at 14.38 bits per item.
const GIBIBYTE: &str = "BF.RESERVE k 0.001 597400000 NONSCALING";
/// A range so wide that few items are repeated.
const WIDE: u64 = 1_000_000_000;

fn once(
    name: &'static str,
    setup: &'static [&'static str],
    prefill: Vec<Load>,
    command: impl Into<String>,
) -> Pause {
    Pause {
        name,
        setup,
        prefill,
        approach: |_, _| (),
        command: command.into(),
    }
}

impl Pause {
    fn approached_by(mut self, approach: fn(&mut Connection, &mut Connections)) -> Self {
        self.approach = approach;
        self
    }
}

fn items(command: &str, items: usize, range: u64) -> Load {
    Load::new(command, items / 100, range).with(100, "item:#")
}

/// Range of the item numbers of a cuckoo filter.
const CUCKOO_ITEMS: u64 = 10_000_000;

/// All measured commands.
pub fn all() -> Vec<Pause> {
    [
        reservations_and_frees(),
        compactions(),
        merges(),
        many_items(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn reservations_and_frees() -> Vec<Pause> {
    let touched = || vec![items("BF.MADD k", 2_000_000, WIDE)];
    vec![
        once("BF.RESERVE of 1 GiB", &[], vec![], GIBIBYTE),
        once(
            "CF.RESERVE of 1 GiB",
            &[],
            vec![],
            "CF.RESERVE k 1073741824",
        ),
        once(
            "BF.ADD that adds a filter of 512 MiB",
            &["BF.RESERVE k 0.001 8285 EXPANSION 32768"],
            vec![],
            "BF.ADD k more",
        )
        .approached_by(|connection, _| fill_bloom(connection, 8_285)),
        once(
            "CF.ADD that adds a sub-filter of 512 MiB",
            &["CF.RESERVE k 32768 EXPANSION 16384"],
            vec![],
            "CF.ADD k item",
        )
        .approached_by(fill_buckets),
        once(
            "UNLINK of 1 GiB, all pages in use",
            &[GIBIBYTE],
            touched(),
            "UNLINK k",
        ),
        once(
            "DEL of 1 GiB, all pages in use",
            &[GIBIBYTE],
            touched(),
            "DEL k",
        ),
    ]
}

fn compactions() -> Vec<Pause> {
    let setup: &[&str] = &["CF.RESERVE k 2097152"];
    // Several sub-filters of 2,097,152 slots each.
    let grown = || vec![items("CF.INSERT k ITEMS", 7_000_000, CUCKOO_ITEMS)];
    vec![
        once(
            "CF.DEL that compacts a filter of 7M items",
            setup,
            grown(),
            "CF.DEL k last",
        )
        .approached_by(delete_a_tenth),
        once(
            "CF.COMPACT of a filter of 7M items",
            setup,
            grown(),
            "CF.COMPACT k",
        )
        .approached_by(delete_a_tenth),
    ]
}

fn merges() -> Vec<Pause> {
    let cms: &[&str] = &[
        "CMS.INITBYDIM a 2500000 10",
        "CMS.INITBYDIM b 2500000 10",
        "CMS.INITBYDIM d 2500000 10",
    ];
    let bf: &[&str] = &[
        "BF.RESERVE a 0.001 55640000 NONSCALING",
        "BF.RESERVE b 0.001 55640000 NONSCALING",
    ];
    let counts = |command| Load::new(command, 3_000, WIDE).with(100, "item:# 1");
    let samples = |command| Load::new(command, 1_000, WIDE).with(100, "#");
    vec![
        once(
            "CMS.MERGE of 2 x 100 MB",
            cms,
            vec![counts("CMS.INCRBY a"), counts("CMS.INCRBY b")],
            "CMS.MERGE d 2 a b",
        ),
        once(
            "BF.MERGE of 2 x 100 MB into a new key",
            bf,
            vec![
                items("BF.MADD a", 500_000, WIDE),
                items("BF.MADD b", 500_000, WIDE),
            ],
            "BF.MERGE d 2 a b",
        ),
        once(
            "TDIGEST.MERGE of 2, c 1,000",
            &[
                "TDIGEST.CREATE a COMPRESSION 1000",
                "TDIGEST.CREATE b COMPRESSION 1000",
            ],
            vec![samples("TDIGEST.ADD a"), samples("TDIGEST.ADD b")],
            "TDIGEST.MERGE d 2 a b",
        ),
    ]
}

fn many_items() -> Vec<Pause> {
    let top: &[&str] = &["TOPK.RESERVE k 10000 80000 7 0.9"];
    let seen = || vec![Load::new("TOPK.ADD k", 5_000, 100_000).with(100, "item:#")];
    let items: String = (0..1_000)
        .map(|i| format!(" item:{:012}", i * 97))
        .collect();
    let samples: String = (0..10_000)
        .map(|i| format!(" {}", i * 7_919 % 10_007))
        .collect();
    vec![
        once(
            "TOPK.ADD x1,000, k 10,000",
            top,
            seen(),
            format!("TOPK.ADD k{items}"),
        ),
        once("TOPK.LIST, k 10,000", top, seen(), "TOPK.LIST k"),
        once(
            "TDIGEST.ADD x10,000, c 1,000",
            &["TDIGEST.CREATE k COMPRESSION 1000"],
            vec![Load::new("TDIGEST.ADD k", 1_000, WIDE).with(100, "#")],
            format!("TDIGEST.ADD k{samples}"),
        ),
    ]
}
