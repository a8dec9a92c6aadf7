//! Keys with 0, 1, 2 and many items at every stage, keys with parameters that only RedisBloom 2.x accepts, and items that it
//! refuses.
//!
//! A server that refuses a command here lacks its key. All keys are small.

use super::Peer;
use crate::families::Family;
use crate::support::resp::{Connection, Reply};
use crate::workload::words;

const SIZES: [usize; 4] = [0, 1, 2, 300];

/// Keys of `N` items: buffered or merged, read, deleted, grown, and reset. `ITEMS` stands for the items, `PAIRS` for items with
/// increments, `NUMBERS` for samples, `HALF` for the first half of the items, one per command.
const STAGES: &[&str] = &[
    "BF.RESERVE bf:stage:N 0.01 100",
    "BF.MADD bf:stage:N ITEMS",
    "BF.RESERVE bf:fixed:N 0.01 400 NONSCALING",
    "BF.MADD bf:fixed:N ITEMS",
    "CF.RESERVE cf:stage:N 100",
    "CF.INSERT cf:stage:N ITEMS ITEMS",
    "CF.RESERVE cf:deleted:N 4 EXPANSION 2",
    "CF.INSERT cf:deleted:N ITEMS ITEMS",
    "CF.DEL cf:deleted:N HALF",
    "CF.COMPACT cf:deleted:N",
    "CMS.INITBYDIM cms:stage:N 50 3",
    "CMS.INCRBY cms:stage:N PAIRS",
    "CMS.INITBYDIM cms:merged:N 50 3",
    "CMS.MERGE cms:merged:N 2 cms:stage:N cms:stage:N WEIGHTS 3 4",
    "TOPK.RESERVE topk:stage:N 5 20 3 1",
    "TOPK.ADD topk:stage:N ITEMS",
    "TOPK.RESERVE topk:decay:N 2",
    "TOPK.INCRBY topk:decay:N PAIRS",
    "TDIGEST.CREATE tdigest:buffered:N",
    "TDIGEST.ADD tdigest:buffered:N NUMBERS",
    "TDIGEST.CREATE tdigest:merged:N COMPRESSION 10",
    "TDIGEST.ADD tdigest:merged:N NUMBERS",
    "TDIGEST.MERGE tdigest:copy:N 1 tdigest:buffered:N",
    "TDIGEST.MERGE tdigest:sum:N 2 tdigest:buffered:N tdigest:merged:N",
    "TDIGEST.CREATE tdigest:read:N",
    "TDIGEST.ADD tdigest:read:N NUMBERS",
    "TDIGEST.QUANTILE tdigest:read:N 0.5",
    "TDIGEST.CREATE tdigest:continued:N",
    "TDIGEST.ADD tdigest:continued:N -1.5",
    "TDIGEST.QUANTILE tdigest:continued:N 0.5",
    "TDIGEST.ADD tdigest:continued:N NUMBERS",
    "TDIGEST.CREATE tdigest:empty:N",
    "TDIGEST.ADD tdigest:empty:N NUMBERS",
    "TDIGEST.RESET tdigest:empty:N",
    "TDIGEST.CREATE tdigest:reset:N",
    "TDIGEST.ADD tdigest:reset:N 1 2 3",
    "TDIGEST.RESET tdigest:reset:N",
    "TDIGEST.ADD tdigest:reset:N NUMBERS",
];

/// Parameters beyond the ranges of clients.
const EXTREMES: &[&str] = &[
    "BF.RESERVE bf:capacity 0.9999 16000000000 NONSCALING",
    "BF.MADD bf:capacity a b c",
    "BF.RESERVE bf:largest 0.9999999999999999 9223372036854775807 NONSCALING",
    "BF.MADD bf:largest a b c",
    "BF.INSERT bf:inserted CAPACITY 16000000000 ERROR 0.9999 NONSCALING ITEMS a b",
    "BF.INSERT bf:both CAPACITY 16000000000 ERROR 0.9999 EXPANSION 5 NONSCALING ITEMS a b",
    "BF.RESERVE bf:factor 0.9 2 EXPANSION 40000",
    "BF.MADD bf:factor a b c d e",
    "BF.RESERVE bf:factor32 0.9 20 EXPANSION 4294967295",
    "BF.MADD bf:factor32 a b c",
    "BF.RESERVE bf:factor33 0.9 2 EXPANSION 4294967299",
    "BF.MADD bf:factor33 a b c d e",
    "BF.RESERVE bf:factor63 0.9 20 EXPANSION 9223372036854775807",
    "BF.INSERT bf:insertedfactor EXPANSION 40000 CAPACITY 3 ITEMS a b c d e",
    "BF.RESERVE bf:rate1 0.3 100",
    "BF.MADD bf:rate1 a b c",
    "BF.RESERVE bf:rate2 0.99999 1",
    "BF.MADD bf:rate2 a b c d e f",
    "BF.RESERVE bf:rate3 0.9 5 NONSCALING",
    "BF.MADD bf:rate3 a b c",
    "BF.INSERT bf:rate4 ERROR 0.5 ITEMS a b c",
    "BF.RESERVE bf:rate5 1e-323 10",
    "BF.MADD bf:rate5 a b c",
    // The chain fails to grow: the next growth factor or error rate is 0.
    "BF.RESERVE bf:failed1 0.9 2 EXPANSION 4294967296",
    "BF.MADD bf:failed1 a b c d e",
    "BF.ADD bf:failed1 f",
    "BF.RESERVE bf:failed2 1e-323 1",
    "BF.ADD bf:failed2 a",
    "BF.ADD bf:failed2 b",
    "BF.ADD bf:failed2 c",
    // Creation parameters of an existing filter are ignored.
    "BF.RESERVE bf:existing 0.01 100",
    "BF.INSERT bf:existing CAPACITY 9223372036854775807 ERROR 0.99 EXPANSION 40000 NONSCALING ITEMS a b c",
    "CF.RESERVE cf:existing 100",
    "CF.INSERT cf:existing CAPACITY 9223372036854775807 ITEMS a b c",
    "CF.RESERVE cf:bucket 600 BUCKETSIZE 255 MAXITERATIONS 65535 EXPANSION 32768",
    "CF.INSERT cf:bucket ITEMS a b c",
    "CMS.INITBYPROB cms:prob 0.9 0.9",
    "CMS.INCRBY cms:prob a 1",
    "CMS.INITBYDIM cms:deep 1 5000",
    "CMS.INCRBY cms:deep a 7",
    // RedisBloom reduces numbers to 32 bits.
    "TOPK.RESERVE topk:wide 4294967298",
    "TOPK.ADD topk:wide a",
    "TOPK.RESERVE topk:all 4294967298 4294967303 4294967298 1",
    "TOPK.ADD topk:all a b",
    "TOPK.RESERVE topk:decay 2 3 2 1e-320",
    "TDIGEST.CREATE tdigest:one COMPRESSION 1",
    "TDIGEST.ADD tdigest:one 1 2 3",
];

/// More bits than 2^64. A filter of RedisBloom 2.8 then has 64 bits. That of 2.6 has none, and the first item ends its server.
const WRAPPED: &[&str] = &[
    "BF.RESERVE bf:wrapped1 0.5 9223372036854775807",
    "BF.MADD bf:wrapped1 a b c d e",
    "BF.RESERVE bf:wrapped2 0.01 4611686018427387904",
    "BF.MADD bf:wrapped2 a b c",
    "BF.INSERT bf:wrapped3 CAPACITY 9223372036854775807 ITEMS a b c",
];

/// Refused, wholly or in part.
const REFUSED: &[&str] = &[
    "BF.RESERVE bf:full 0.01 2 NONSCALING",
    "BF.MADD bf:full a b",
    "BF.ADD bf:full c",
    "BF.MADD bf:full a d e",
    "BF.INSERT bf:full ITEMS f g",
    "BF.INSERT bf:full NOCREATE CAPACITY 16000000000 ERROR 0.9 EXPANSION 40000 ITEMS h",
    "BF.RESERVE bf:full 0.01 10",
    "BF.RESERVE bf:none1 5e-324 1",
    "BF.RESERVE bf:none2 0.01 0",
    "BF.INSERT bf:none3 ERROR 5e-324 ITEMS a",
    "CF.RESERVE cf:none 1",
    "CMS.INITBYDIM cms:none1 0 1",
    "CMS.INITBYPROB cms:none2 1 0.5",
    "TOPK.RESERVE topk:none1 0",
    "TOPK.RESERVE topk:none2 2 3 2 0",
    "TDIGEST.CREATE tdigest:none COMPRESSION 0",
    "CF.RESERVE cf:full 4 EXPANSION 0",
    "CF.INSERT cf:full ITEMS a a a a",
    "CF.ADD cf:full b",
    "CF.ADD cf:full b",
    "CF.ADDNX cf:full c",
    "CF.INSERT cf:full ITEMS d e f",
    "CF.INSERT cf:full CAPACITY 5000000000 ITEMS d e f",
    "CF.INSERTNX cf:full ITEMS a d e",
    "CF.DEL cf:full missing",
    "CF.DEL cf:missing a",
    "CF.COMPACT cf:full",
    "CF.COMPACT cf:missing",
    "CMS.INITBYDIM cms:full 3 1",
    "CMS.INCRBY cms:full a 4294967295",
    "CMS.INCRBY cms:full a 1",
    "CMS.INCRBY cms:full a 5 b 6 a 7",
    "CMS.INCRBY cms:full a x",
    "CMS.INITBYDIM cms:target 3 1",
    // Only RedisBloom 2.6 accepts these.
    "CMS.MERGE cms:target 1 cms:full WEIGHTS 5",
    "CMS.INITBYDIM cms:sum 3 1",
    "CMS.MERGE cms:sum 2 cms:full cms:full",
    "CMS.INCRBY cms:missing a 1",
    "CMS.MERGE cms:target 1 cms:missing",
    "TOPK.RESERVE topk:refused 3 10 2 1",
    "TOPK.INCRBY topk:refused a 5 b 100001",
    "TOPK.INCRBY topk:refused c 100001",
    "TOPK.INCRBY topk:refused d x",
    "TOPK.ADD topk:missing a",
    "TDIGEST.CREATE tdigest:refused",
    "TDIGEST.ADD tdigest:refused 1 2 x",
    "TDIGEST.ADD tdigest:missing 1",
    "TDIGEST.MERGE tdigest:refused 1 tdigest:missing",
    "TDIGEST.RESET tdigest:missing",
];

/// The text of the item with this number.
type Format = fn(usize) -> String;

/// The commands of a stage with this number of items; none for a command that needs one.
fn with_items(stage: &str, number: usize) -> Vec<String> {
    let join = |format: Format, len: usize| {
        let items: Vec<_> = (0..len).map(format).collect();
        items.join(" ")
    };
    let command = stage.replace(":N", &format!(":{number}"));
    let parts: [(_, Format); 3] = [
        ("ITEMS", |n| format!("item{n}")),
        ("PAIRS", |n| format!("item{} {}", n % 40, n + 1)),
        ("NUMBERS", |n| format!("{}", (n * 7919) % 1009 + 1)),
    ];
    if let Some(delete) = command.strip_suffix("HALF") {
        let items = 0..number / 2;
        return items.map(|n| format!("{delete}item{n}")).collect();
    }
    for (part, format) in parts {
        if let Some(start) = command.strip_suffix(part) {
            return match number {
                0 => Vec::new(),
                _ => vec![format!("{start}{}", join(format, number))],
            };
        }
    }
    vec![command]
}

/// Runs the commands for the types that both modules have.
pub fn run(peer: &Peer, connection: &mut Connection) {
    let stages = SIZES.iter().flat_map(|&number| {
        let stages = STAGES.iter();
        stages.flat_map(move |stage| with_items(stage, number))
    });
    let wrapped = if peer.has_wrapped_sizes { WRAPPED } else { &[] };
    let others = [EXTREMES, wrapped, REFUSED].concat();
    let commands = stages.chain(others.into_iter().map(str::to_owned));
    let mut commands: Vec<_> = commands.map(|command| words(&command)).collect();
    commands.retain(|command| {
        let key = std::str::from_utf8(&command[1]).expect("a name");
        (peer.has_type)(Family::of(key))
    });
    for command in &commands {
        connection.write(command).expect("a command");
    }
    let replies = commands.iter().map(|_| connection.read().expect("a reply"));
    let errors = replies.filter(Reply::is_error);
    // RedisBloom replies with an error to some of REFUSED, Roughly also to EXTREMES.
    assert!(errors.count() < commands.len() / 4);
}

/// Adds items to all keys of the selected database, after a replica has loaded them. Some keys refuse them.
pub fn add_more(connection: &mut Connection) {
    for key in connection.call("KEYS *").strings() {
        connection.call(&match Family::of(&key).name {
            "bf" => format!("BF.MADD {key} more1 more2 more3 more4 more5"),
            "cf" => format!("CF.INSERT {key} ITEMS more1 more2 more3 more4 more5"),
            "cms" => format!("CMS.INCRBY {key} more1 1 more2 2"),
            // RedisBloom decays a top-k that it has loaded in another way.
            "topk" => continue,
            "tdigest" => format!("TDIGEST.ADD {key} 5 6.5 -7"),
            _ => format!("BF.ADD {key} more"),
        });
    }
}
