//! The longest time that one command keeps everyone else waiting: reservations, growth, frees, merges.
//!
//! The time is the server's own (SLOWLOG): from the beginning of the command to its end, page faults and the
//! allocator's work included, the network not.

use crate::load::{Connections, Load};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

/// How often each is tried.
pub const ATTEMPTS: usize = 4;

/// Something that takes long, or might.
#[derive(Debug)]
pub struct Pause {
    /// What the tables call it.
    pub name: &'static str,
    /// Sent once before each attempt, to an empty server.
    setup: &'static [&'static str],
    /// Sent before each attempt, after that.
    prefill: Vec<Load>,
    /// Brings the key to the point where one more command takes long.
    approach: fn(&mut Connection, &mut Connections),
    /// The command that takes long.
    command: String,
}

impl Pause {
    /// How long the command took in each attempt, in microseconds.
    ///
    /// # Panics
    /// If the server breaks or answers an error.
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
            let word = self.command.split(' ').next().unwrap_or_default();
            longest(&connection.call("SLOWLOG GET -1"), word)
        });
        attempts.collect()
    }
}

/// Fills a Bloom filter of this capacity to the last item.
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

/// Fills the two buckets of one item, which has room for four of it.
fn fill_buckets(connection: &mut Connection, _: &mut Connections) {
    for _ in 0..4 {
        ok(connection, "CF.ADD k item");
    }
    assert_eq!(cuckoo_field(connection, "Number of filters"), 1);
}

/// Deletes until one more deletion makes more than a tenth of the items that are left.
fn delete_a_tenth(connection: &mut Connection, connections: &mut Connections) {
    // An item that is deleted last must be there then.
    ok(connection, "CF.ADD k last");
    loop {
        let items = cuckoo_field(connection, "Number of items inserted");
        let deleted = cuckoo_field(connection, "Number of items deleted");
        // Of n more deletions, deleted + n > (items - n) / 10 for the first time.
        let left = (items - 10 * deleted) / 11;
        if left <= 0 {
            return;
        }
        // Some are of items that are not there, so that it takes several loads; none is too many.
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
        .unwrap_or_else(|| panic!("{reply} where an integer belongs"))
}

/// Empties the server and sends the commands.
///
/// # Panics
/// If one is answered with an error.
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

/// The longest time of a command in the entries of SLOWLOG: number, when, microseconds, arguments.
fn longest(log: &Reply, command: &str) -> i64 {
    let of_entry = |entry: &Reply| {
        let fields = entry.items()?;
        let word = fields.get(3)?.items()?.first()?.text()?;
        let is_it = word.eq_ignore_ascii_case(command.as_bytes());
        is_it.then(|| fields[2].integer())?
    };
    let entries = log.items().expect("an array");
    entries.iter().filter_map(of_entry).max().unwrap_or(0)
}

/// 8 GiB of bits, at 14.38 an item.
const GIBIBYTE: &str = "BF.RESERVE k 0.001 597400000 NONSCALING";
/// Fills no filter to the last, but touches all its pages.
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

/// Numbers of the items of a cuckoo filter.
const CUCKOO_ITEMS: u64 = 10_000_000;

/// All that are measured.
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
    // Several sub-filters of two million slots each.
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
