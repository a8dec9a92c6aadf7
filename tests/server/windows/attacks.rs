//! Items that an attacker chooses to collide with a victim's item. The attacker adds items to a key, cannot read it, and has
//! a server with the same module. In a sketch without a window, whose hash is public, the attack succeeds. In a sketch with a
//! window it fails, because its seed is secret. (A t-digest has no hash.)

use super::start;
use crate::support::resp::{Connection, Reply};

const VICTIM: &str = "victim";

/// A seed that the attacker does not know. It is fixed, so that the tests are deterministic.
const SECRET: &str = "5f0c3a9be1d7264880f1b3c5d79e0a2b";

/// The seed of the attacker's own sketches, fixed for the same reason.
const OTHER: &str = "00000000000000000000000000000000";

/// The bits of a Bloom filter of the attacker that contains one item.
fn bits_of(connection: &mut Connection, create: &str, item: &str) -> Vec<u8> {
    connection.call("DEL own");
    connection.call(&create.replace("KEY", "own"));
    connection.call(&format!("BF.ADD own {item}"));
    let reply = connection.call("BF.SCANDUMP own 1");
    let bits = reply.items().and_then(|items| items.get(1)?.text());
    bits.unwrap_or_else(|| panic!("{reply}")).to_vec()
}

/// Items of which each sets a bit of the victim's item, and together all of its bits.
fn covering_items(connection: &mut Connection, create: &str) -> Vec<String> {
    let mut missing = bits_of(connection, create, VICTIM);
    let mut items = Vec::new();
    for number in 0.. {
        if missing.iter().all(|&byte| byte == 0) {
            break;
        }
        let item = format!("item:{number}");
        let bits = bits_of(connection, create, &item);
        let is_useful = missing.iter().zip(&bits).any(|(a, b)| a & b != 0);
        if is_useful {
            missing.iter_mut().zip(&bits).for_each(|(a, b)| *a &= !b);
            items.push(item);
        }
    }
    items
}

/// Items that a sketch of the attacker that contains only the victim's item reports as present. `add`: a command that adds
/// that item to the key `own`; `query`: one that replies a number above 0 for each item that is present.
fn colliding_items(
    connection: &mut Connection,
    create: &str,
    [add, query]: [&str; 2],
    count: usize,
) -> Vec<String> {
    connection.call("DEL own");
    connection.ok(&create.replace("KEY", "own"));
    connection.call(add);
    let mut found = Vec::new();
    for first in (0..).step_by(2000) {
        let items: Vec<_> = (first..first + 2000).map(|n| format!("item:{n}")).collect();
        let replies = connection.call(&format!("{query} {}", items.join(" ")));
        let pairs = items.into_iter().zip(replies.integers());
        let present = pairs.filter(|(_, found)| *found > 0);
        found.extend(present.map(|(item, _)| item));
        if found.len() >= count {
            break;
        }
    }
    found.truncate(count);
    found
}

#[test]
fn chosen_items_hide_an_item_from_a_bloom_filter_without_a_window() {
    let (_server, mut connection) = start(&[]).connected();
    let create = "BF.RESERVE KEY 0.01 1000";
    let items = covering_items(&mut connection, create);
    assert!((1..=8).contains(&items.len()), "{items:?}");
    connection.call(&create.replace("KEY", "seen"));
    connection.call(&format!("BF.MADD seen {}", items.join(" ")));
    // A deduplicator would drop the victim's item.
    connection.check(&format!("BF.ADD seen {VICTIM}"), ":0");
}

#[test]
fn chosen_items_hide_no_item_from_a_bloom_filter_with_a_window() {
    let (_server, mut connection) = start(&[]).connected();
    let create = "BF.RESERVE KEY 0.01 1000 WINDOW 4000000";
    let secret = format!("{create} SEED {SECRET}");
    let commands = ["BF.ADD own victim", "BF.MEXISTS own"];
    let mut attack = |own: &str| {
        let items = colliding_items(&mut connection, own, commands, 8);
        connection.call("DEL seen");
        connection.call(&secret.replace("KEY", "seen"));
        connection.call(&format!("BF.MADD seen {}", items.join(" ")));
        connection.call(&format!("BF.ADD seen {VICTIM}"))
    };
    // An attacker who knows the seed succeeds.
    assert_eq!(attack(&secret), Reply::Integer(0));
    // One who has another seed fails.
    assert_eq!(attack(&format!("{create} SEED {OTHER}")), Reply::Integer(1));
}

/// Checks the replies if an attack on a sketch succeeds, and if it fails. The attacker's sketch and the target have no window, the
/// same secret seed, different seeds, and the target alone has a window.
fn check_attack(
    create: &str,
    [succeeded, failed]: [&str; 2],
    mut attack: impl FnMut(&str, &str) -> String,
) {
    let secret = format!("{create} WINDOW 4000000 SEED {SECRET}");
    let windowed = format!("{create} WINDOW 4000000 SEED {OTHER}");
    assert_eq!(attack(create, create), succeeded);
    assert_eq!(attack(&secret, &secret), succeeded);
    assert_eq!(attack(&windowed, &secret), failed);
    assert_eq!(attack(create, &secret), failed);
}

/// Four items fill the two buckets of the victim's item: it seems to be in the filter, and cannot be added.
#[test]
fn chosen_items_fill_the_buckets_of_an_item_only_without_a_window() {
    let (_server, mut connection) = start(&[]).connected();
    let create = "CF.RESERVE KEY 1024 BUCKETSIZE 2 EXPANSION 0";
    check_attack(create, [":1 -Filter is full", ":0 :1"], |own, target| {
        let commands = ["CF.ADD own victim", "CF.MEXISTS own"];
        let items = colliding_items(&mut connection, own, commands, 4);
        connection.call("DEL seen");
        connection.call(&target.replace("KEY", "seen"));
        connection.call(&format!("CF.INSERT seen ITEMS {}", items.join(" ")));
        let replies = ["CF.EXISTS seen", "CF.ADD seen"];
        let replies = replies.map(|command| connection.call(&format!("{command} {VICTIM}")));
        format!("{} {}", replies[0], replies[1])
    });
}

/// One item shares all counters of the victim's item, which then seems to have been counted 1,000 times.
#[test]
fn chosen_items_raise_a_count_only_without_a_window() {
    let (_server, mut connection) = start(&[]).connected();
    let create = "CMS.INITBYDIM KEY 50 2";
    check_attack(create, ["*[:1000]", "*[:0]"], |own, target| {
        let commands = ["CMS.INCRBY own victim 1", "CMS.QUERY own"];
        let items = colliding_items(&mut connection, own, commands, 1);
        connection.call("DEL seen");
        connection.call(&target.replace("KEY", "seen"));
        connection.call(&format!("CMS.INCRBY seen {} 1000", items[0]));
        let query = format!("CMS.QUERY seen {VICTIM}");
        connection.call(&query).to_string()
    });
}

/// A frequent item takes the bucket of the victim's item, which then is not counted.
#[test]
fn chosen_items_keep_an_item_out_of_a_top_k_only_without_a_window() {
    let (_server, mut connection) = start(&[]).connected();
    // After 10,000 occurrences of one item, the probability that another one decays its cell is 0.9^10,000.
    let mut count = |create: &str, frequent: &[String]| {
        connection.call("DEL key");
        connection.ok(&create.replace("KEY", "key"));
        for item in frequent {
            connection.call(&format!("TOPK.INCRBY key {item} 10000"));
        }
        connection.call(&format!("TOPK.INCRBY key {VICTIM} 100"));
        let count = format!("TOPK.COUNT key {VICTIM}");
        connection.call(&count).to_string()
    };
    let create = "TOPK.RESERVE KEY 1 50 1 0.9";
    check_attack(create, ["*[:0]", "*[:100]"], |own, target| {
        let mut items = Vec::new();
        while count(own, &items) != "*[:0]" {
            items.push(format!("item:{}", items.len()));
        }
        // Only those that are needed: one without a window, with a window those that fill two buckets of five cells.
        for number in (0..items.len()).rev() {
            let without = [&items[..number], &items[number + 1..]].concat();
            if count(own, &without) == "*[:0]" {
                items = without;
            }
        }
        count(target, &items)
    });
}
