//! Compares the keys of two servers with different modules.

use crate::families::{Comparison, Family};
use crate::golden::compare::clear_pointers;
use crate::golden_dumps::are_close;
use crate::support::names::assert_same_names;
use crate::support::resp::{Connection, Reply, Text};
use crate::support::state::{databases, select};
use roughly_dump::{Value, Values};
use std::collections::BTreeSet;

/// How the second server got its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// As stored values: the values are equal, except for rounding and unused bytes.
    Values,
    /// As commands: the values of a top-k may differ if its decay is below 1, because RedisBloom decays counts randomly, and
    /// those of a t-digest, because RedisBloom also compresses it when it is read.
    Commands,
}

/// Asserts that both servers have the same keys with the same values and expiration times. The names of the keys begin
/// with those of their types. Returns the number of keys.
pub fn assert_same(
    one: &mut Connection,
    other: &mut Connection,
    transfer: Transfer,
    when: &str,
) -> usize {
    let used = databases(one);
    assert_eq!(databases(other), used, "{when}");
    let mut count = 0;
    for db in used {
        select(one, db);
        select(other, db);
        let keys = names(one);
        let (found, expected) = (names(other), keys.iter().map(|key| Text(key)));
        let found = found.iter().map(|key| Text(key));
        assert_same_names(found, expected, &format!("{when}: database {db}"));
        count += keys.len();
        for key in keys {
            let text = String::from_utf8(key).expect("a name");
            let [found, expected] =
                [&mut *other, &mut *one].map(|server| server.send(&["PEXPIRETIME", &text]));
            assert_eq!(found, expected, "{when}: expiration of {text}");
            if let Err(difference) = compare(one, other, &text, transfer) {
                panic!("{when}: {text}: {difference}");
            }
        }
    }
    select(one, 0);
    select(other, 0);
    count
}

/// The keys of the selected database.
pub fn names(connection: &mut Connection) -> BTreeSet<Vec<u8>> {
    connection.keys().into_iter().collect()
}

/// Compares a key, whose name begins with that of its type. The error describes the first difference.
pub fn compare(
    one: &mut Connection,
    other: &mut Connection,
    key: &str,
    transfer: Transfer,
) -> Result<(), String> {
    let family = Family::of(key);
    let found = other.send(&["TYPE", key]);
    if found != Reply::Simple(family.type_name.into()) {
        return Err(format!("{found}"));
    }
    match (family.recorded, transfer) {
        (Some(Comparison::Close), Transfer::Commands) => {
            let [expected, got] = [one, other].map(|server| summary_of_t_digest(server, key));
            match expected == got {
                true => Ok(()),
                false => Err(format!("{got}, expected {expected}")),
            }
        }
        (comparison, _) => {
            let mut values = [&mut *one, &mut *other].map(|server| stored(server, key));
            if comparison == Some(Comparison::Close) {
                for (_, digest) in &mut values {
                    store_sample(digest);
                }
            }
            if values[0] == values[1] {
                return Ok(());
            }
            let [(id, mut first), (other_id, mut second)] = values;
            let is_same = match comparison {
                Some(Comparison::ExactExceptPointers) => {
                    for top_k in [&mut first, &mut second] {
                        clear_pointers(top_k);
                        sort_heap(top_k);
                    }
                    // k, width, depth and decay.
                    if transfer == Transfer::Commands && first.values[3] != Value::Double(1.0) {
                        first.values.truncate(4);
                        second.values.truncate(4);
                    }
                    first == second
                }
                Some(Comparison::Close) => are_close(&first, &second),
                Some(Comparison::Exact) | None => false,
            };
            if id == other_id && is_same {
                return Ok(());
            }
            Err(difference(&first, &second))
        }
    }
}

fn stored(connection: &mut Connection, key: &str) -> (u64, Values) {
    Values::from_dump(&connection.payload(key)).expect("values")
}

/// Adds the node that RedisBloom 2.x does not store for a t-digest of one sample.
fn store_sample(digest: &mut Values) {
    let values = &mut digest.values;
    let no_node_of_one = [Value::Integer(0), Value::Integer(1)];
    if values.range(4..6).eq(&no_node_of_one) {
        for (at, nodes, weight) in [(0, 1, 1.0), (1, 0, 0.0)] {
            values[4 + at] = Value::Integer(nodes);
            values[7 + at] = Value::Double(weight);
        }
        // The minimum is the sample.
        values.push_back(values[1].clone());
        values.push_back(Value::Double(1.0));
    }
}

/// Sorts the heap of a top-k: RedisBloom stores heaps that are out of order, and Roughly reorders them when it loads them.
fn sort_heap(top_k: &mut Values) {
    // k, width, depth, decay, buckets, heap, then an item per element of the heap.
    let values = top_k.values.make_contiguous();
    let (fixed, items) = values.split_at_mut(6);
    let Value::Bytes(heap) = &mut fixed[5] else {
        panic!("a top-k without a heap");
    };
    let records = heap.chunks_exact(24).map(<[u8]>::to_vec);
    let mut elements: Vec<_> = records.zip(items.iter().cloned()).collect();
    elements.sort_by(|(one, _), (other, _)| one.cmp(other));
    let (records, sorted): (Vec<_>, Vec<_>) = elements.into_iter().unzip();
    *heap = records.concat();
    items.clone_from_slice(&sorted);
}

/// What does not depend on when a t-digest was compressed. These commands do not compress it.
fn summary_of_t_digest(connection: &mut Connection, key: &str) -> String {
    let info = connection.send(&["TDIGEST.INFO", key]);
    let fields = ["Compression", "Observations"].map(|name| info.field(name).expect(name).clone());
    let [min, max] = ["TDIGEST.MIN", "TDIGEST.MAX"].map(|name| connection.send(&[name, key]));
    format!("{} {} {min} {max}", fields[0], fields[1])
}

/// The first different value.
fn difference(one: &Values, other: &Values) -> String {
    if one.values.len() != other.values.len() {
        return format!("{} and {} values", one.values.len(), other.values.len());
    }
    let show = |value: &Value| match value {
        Value::Bytes(bytes) => Text(&bytes[..bytes.len().min(200)]).to_string(),
        value => format!("{value:?}"),
    };
    let mut pairs = one.values.iter().zip(&other.values).enumerate();
    let different = pairs.find(|(_, (one, other))| one != other);
    different.map_or_else(String::new, |(i, (one, other))| {
        format!("value {i}: {} and {}", show(one), show(other))
    })
}
