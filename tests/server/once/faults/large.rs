//! Allocations that end the process if they fail are small, however large the input is.

use super::injector::{Refused, Requests};
use super::states::{CREATED_MS, PANE_MS};
use super::sweep::MAX_OTHER_BYTES;
use crate::families::{FAMILIES, numbers, run_on};
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;
use crate::support::server::Options;

/// Writes after panes have expired: enough to free all arrays.
const WRITES: u64 = 100;

/// Items of a command.
const ITEMS: u32 = 20_000;

/// Commands with many arguments or replies. ITEMS and PAIRS are many items, and KEYS is many times KEY.
const COMMANDS: [&str; 34] = [
    "BF.MADD KEY ITEMS",
    "BF.ADDNX KEY ITEMS",
    "BF.INSERT KEY ITEMS ITEMS",
    "BF.MEXISTS KEY ITEMS",
    "BF.MERGE KEY 1000 KEYS",
    "BF.DEBUG KEY",
    "BF.SCANDUMP KEY 0",
    "BF.SCANDUMP KEY 1",
    "CF.INSERT KEY ITEMS ITEMS",
    "CF.INSERTNX KEY ITEMS ITEMS",
    "CF.MEXISTS KEY ITEMS",
    "CF.DEBUG KEY",
    "CF.COMPACT KEY",
    "CF.SCANDUMP KEY 0",
    "CMS.INCRBY KEY PAIRS",
    "CMS.INCRBYLIMIT KEY 5 PAIRS",
    "CMS.QUERY KEY ITEMS",
    "CMS.MERGE KEY 1000 KEYS",
    "CMS.SCANDUMP KEY 0",
    "TOPK.ADD KEY ITEMS",
    "TOPK.INCRBY KEY PAIRS",
    "TOPK.QUERY KEY ITEMS",
    "TOPK.COUNT KEY ITEMS",
    "TOPK.LIST KEY WITHCOUNT",
    "TOPK.SCANDUMP KEY 0",
    "TDIGEST.ADD KEY ITEMS",
    "TDIGEST.QUANTILE KEY 0.5",
    "TDIGEST.RANK KEY ITEMS",
    "TDIGEST.REVRANK KEY ITEMS",
    "TDIGEST.CDF KEY ITEMS",
    "TDIGEST.BYRANK KEY ITEMS",
    "TDIGEST.TRIMMED_MEAN KEY 0.1 0.9",
    "TDIGEST.MERGE KEY 1000 KEYS OVERRIDE",
    "TDIGEST.SCANDUMP KEY 0",
];

#[test]
fn allocations_that_cannot_be_refused_are_small() {
    let (_server, mut connection) = Options::new().debug_module().start().connected();
    let items = numbers(0, ITEMS);
    let pairs = items.replace(' ', " 3 ") + " 3";
    let mut wrong = Vec::new();
    for family in Sample::of_run().one_in(2).of(FAMILIES) {
        let prefix = family.command("");
        for (create, key) in [(family.build, "built"), (family.build_large, "large")] {
            connection.call("FLUSHALL SYNC");
            run_on(&mut connection, key, create);
            let keys = vec![key; 1000].join(" ");
            let internal = ["DUMP KEY", "COPY KEY copy", "DEBUG RELOAD", "DEBUG DIGEST"];
            let commands = COMMANDS
                .iter()
                .filter(|command| command.starts_with(&prefix));
            for command in commands.chain(&internal) {
                let text = command.replace("KEYS", &keys).replace("PAIRS", &pairs);
                let text = text.replace(" KEY", &format!(" {key}"));
                let text = match text.strip_suffix(" ITEMS") {
                    Some(head) => format!("{head} {items}"),
                    None => text,
                };
                connection.send(&Refused::NONE.command());
                let reply = connection.call(&text);
                let largest = Requests::end(&mut connection).largest_other;
                // Some types have no merge.
                let is_expected = !reply.is_error() || command.contains("MERGE");
                assert!(is_expected, "{}: {command}: {reply}", family.name);
                if largest > MAX_OTHER_BYTES {
                    wrong.push(format!("{}, {key}: {command}: {largest}", family.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Writes free the arrays of expired panes step by step. If the allocator refuses a smaller block, the array stays until it is
/// freed.
#[test]
fn arrays_of_expired_panes_are_freed_without_memory() {
    let (server, mut connection) = Options::new().debug_module().start().connected();
    for family in FAMILIES.iter().filter(|family| family.has_window) {
        for faults in [Refused::NONE, Refused::all_from(1)] {
            connection.call("FLUSHALL SYNC");
            server.set_clock(&CREATED_MS.to_string());
            run_on(&mut connection, "key", family.build_large);
            let change = family.change.0.replace("KEY", "key");
            let write = |connection: &mut Connection, item: u64| {
                connection.call(&change.replace("NEW", &item.to_string()));
            };
            for pane in 1..4 {
                server.set_clock(&(CREATED_MS + pane * PANE_MS).to_string());
                write(&mut connection, pane);
            }
            let later_ms = CREATED_MS + 9 * PANE_MS;
            server.set_clock(&later_ms.to_string());
            connection.send(&faults.command());
            for item in 0..WRITES {
                write(&mut connection, item);
                if item % 20 == 19 {
                    connection.call(&format!("SKETCH.ADVANCE key {}", later_ms / PANE_MS));
                }
            }
            let requests = Requests::end(&mut connection);
            let what = format!("{}: {requests:?}", family.name);
            assert!(requests.largest_other <= MAX_OTHER_BYTES, "{what}");
            assert_eq!(connection.call("EXISTS key"), Reply::Integer(1), "{what}");
        }
    }
    assert_eq!(server.info_number("bf_internal_errors"), 0);
}
