//! The data sets.

use crate::batches::for_each_key;
use crate::load::{Connections, Load};
use crate::stream::Numbers;
use crate::support::server::Server;

/// A range so wide that few items are repeated.
const WIDE: u64 = 1_000_000_000_000;
/// Bytes of the largest plain string.
const MAX_STRING_BYTES: u64 = 256 << 20;
/// Items per command.
const ITEMS: usize = 100;

/// Keys of one kind.
#[derive(Debug)]
pub struct DataSet {
    /// Name in the tables.
    pub name: &'static str,
    /// Number of keys, `k:0`, `k:1`, ...
    pub keys: usize,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    /// Sketches: the command that creates a key, without the key, and the command that adds items to it: name, arguments that
    /// are repeated, their number, number of commands per key, range of the items.
    Sketches {
        create: (&'static str, String),
        add: (&'static str, &'static str, usize),
        commands: usize,
        range: u64,
        /// Whether each key is merged into itself.
        is_merged: bool,
    },
    /// Random strings of this size.
    Strings { bytes: u64 },
}

/// The data sets that are compared with plain strings.
pub fn compared(is_quick: bool) -> Vec<DataSet> {
    // The part of 1 GiB that one key takes.
    let divisor = if is_quick { 16 } else { 1 };
    let one = |name, create, add, items: u64| DataSet {
        name,
        keys: 1,
        contents: Contents::Sketches {
            create,
            add,
            commands: (items / ITEMS as u64) as usize,
            range: WIDE,
            is_merged: false,
        },
    };
    let bloom_capacity = 597_400_000 / divisor;
    let cuckoo_slots = (1 << 30) / divisor;
    let cells_per_row = (1 << 26) / divisor;
    vec![
        one(
            "Bloom filter of 1 GiB",
            ("BF.RESERVE", format!("0.001 {bloom_capacity} NONSCALING")),
            ("BF.MADD", "item:#", ITEMS),
            bloom_capacity / 2,
        ),
        one(
            "cuckoo filter of 1 GiB",
            ("CF.RESERVE", format!("{cuckoo_slots} BUCKETSIZE 4")),
            ("CF.INSERT ITEMS", "item:#", ITEMS),
            cuckoo_slots / 2,
        ),
        one(
            "count-min sketch of 1 GiB",
            ("CMS.INITBYDIM", format!("{cells_per_row} 4")),
            ("CMS.INCRBY", "item:# 1", ITEMS),
            cells_per_row / 2,
        ),
        DataSet {
            name: "top-k, k 100, 1000 x 5",
            keys: if is_quick { 500 } else { 10_000 },
            contents: Contents::Sketches {
                create: ("TOPK.RESERVE", "100 1000 5 0.9".to_owned()),
                add: ("TOPK.ADD", "item:#", ITEMS),
                commands: 10,
                range: 500,
                is_merged: false,
            },
        },
        DataSet {
            name: "t-digests of 300 samples",
            ..DataSet::digests(300, false, is_quick)
        },
    ]
}

impl DataSet {
    /// t-digests of compression 100 with this number of samples each.
    pub fn digests(samples: usize, is_merged: bool, is_quick: bool) -> Self {
        let per_command = samples.min(1_000);
        Self {
            name: "t-digests",
            keys: if is_quick { 2_000 } else { 100_000 },
            contents: Contents::Sketches {
                create: ("TDIGEST.CREATE", "COMPRESSION 100".to_owned()),
                add: ("TDIGEST.ADD", "#", per_command),
                commands: samples / per_command,
                range: WIDE,
                is_merged,
            },
        }
    }

    /// Plain strings with this number of bytes in total: `keys` of them, or more if they would be larger than
    /// [`MAX_STRING_BYTES`].
    pub fn strings(bytes: u64, keys: usize) -> Self {
        let keys = keys.max(bytes.div_ceil(MAX_STRING_BYTES) as usize);
        let bytes = bytes / keys as u64;
        Self {
            name: "plain strings",
            keys,
            contents: Contents::Strings { bytes },
        }
    }

    /// Creates the keys in an empty server.
    ///
    /// # Panics
    /// If the server refuses a command.
    pub fn fill(&self, server: &Server) {
        let mut connection = server.resp2();
        match &self.contents {
            Contents::Strings { bytes } => {
                let mut numbers = Numbers(1);
                let mut value = vec![0; *bytes as usize];
                for key in 0..self.keys {
                    for block in value.chunks_mut(8) {
                        let number = numbers.below(u64::MAX).to_le_bytes();
                        block.copy_from_slice(&number[..block.len()]);
                    }
                    let reply = connection.send(&[b"SET", name(key).as_bytes(), &value]);
                    assert!(reply.is_ok(), "{reply}");
                }
            }
            Contents::Sketches {
                create: (create, parameters),
                add: (add, arguments, times),
                commands,
                range,
                is_merged,
            } => {
                let words = |line: String| {
                    line.split(' ')
                        .map(|word| word.as_bytes().to_vec())
                        .collect()
                };
                let create = |key| words(format!("{create} {} {parameters}", name(key)));
                for_each_key(&mut connection, self.keys, create, drop);
                let mut connections = Connections::open(server.port(), 1);
                // The key follows the name of the command.
                let (command, option) = add.split_once(' ').unwrap_or((add, ""));
                for key in 0..self.keys {
                    let line = format!("{command} {} {option}", name(key));
                    let load = Load::new(line.trim_end(), *commands, *range);
                    connections.run(&load.with(*times, arguments));
                }
                if *is_merged {
                    let merge = |key| {
                        let key = name(key);
                        words(format!("TDIGEST.MERGE {key} 1 {key} OVERRIDE"))
                    };
                    for_each_key(&mut connection, self.keys, merge, drop);
                }
            }
        }
    }
}

/// The name of a key.
pub fn name(key: usize) -> String {
    format!("k:{key}")
}
