//! Top-k sketches with a window of the streams of the collection.

use super::{SEED, set_ms, start};
use crate::families::dump;
use crate::support::streams::{Pane, STREAMS};
use std::cmp::Reverse;
use std::collections::HashMap;

const PANES: u32 = 12;
const K: usize = 10;
/// In a pane of a stream.
const EVENTS: usize = 1_500;
/// The least share of the true top k on a list, and the least mean of the streams. Streams and seeds are fixed.
const MIN_RECALL: f64 = 0.8;
const MIN_MEAN_RECALL: f64 = 0.95;

/// The share of the k most frequent events that are on the list. Of several items that tie for rank k, any counts.
fn recall(list: &[String], events: &[u32]) -> f64 {
    let mut counts = HashMap::<String, u32>::new();
    for event in events {
        *counts.entry(event.to_string()).or_default() += 1;
    }
    let mut largest: Vec<u32> = counts.values().copied().collect();
    largest.sort_unstable_by_key(|&count| Reverse(count));
    let least = largest[K - 1];
    let found = list.iter().filter(|item| counts[*item] >= least);
    found.count() as f64 / K as f64
}

/// The lists have the steady items of streams whose panes differ. A replica and a reload draw the same random numbers.
#[test]
fn lists_of_the_collection_of_streams_are_the_true_ones_on_all_copies() {
    let mut server = start(&[]);
    let mut replica = start(&[]);
    replica.replicate(&server);
    let mut connection = server.resp2();
    let streams: Vec<_> = STREAMS.iter().filter(|stream| stream.has_top).collect();
    let create = format!("320 5 0.9 WINDOW 12000 PANES {PANES} SEED {SEED}");
    let mut events = vec![Vec::new(); streams.len()];
    let first = 1_700_000_400_000;
    for number in 0..PANES {
        set_ms(&server, first + 1000 * u64::from(number));
        set_ms(&replica, first + 1000 * u64::from(number));
        for (stream, events) in streams.iter().zip(&mut events) {
            if number == 0 {
                connection.send_ok(&reserve(stream.name, &create));
            }
            let pane = Pane {
                number,
                events: EVENTS,
                k: K,
            };
            let added = stream.events(pane, 1);
            for added in added.chunks(500) {
                let mut command = vec!["TOPK.ADD".to_owned(), stream.name.to_owned()];
                command.extend(added.iter().map(ToString::to_string));
                let reply = connection.send(&command);
                assert_eq!(reply.items().expect("a reply").len(), added.len());
            }
            events.extend(added);
        }
    }
    let dumps = |connection: &mut _| {
        let names = streams.iter().map(|stream| stream.name);
        names.map(|name| dump(connection, name)).collect::<Vec<_>>()
    };
    let expected = dumps(&mut connection);
    server.wait_for_replica(&replica);
    assert_eq!(dumps(&mut replica.resp2()), expected);
    connection.ok("DEBUG RELOAD");
    assert_eq!(dumps(&mut connection), expected);
    let mut recalls = Vec::new();
    for (stream, events) in streams.iter().zip(&events) {
        let list = connection.send(&["TOPK.LIST", stream.name]).strings();
        let recall = recall(&list, events);
        assert!(recall >= MIN_RECALL, "{}: {recall}", stream.name);
        recalls.push(recall);
    }
    println!("{recalls:?}");
    let mean = recalls.iter().sum::<f64>() / recalls.len() as f64;
    assert!(mean >= MIN_MEAN_RECALL, "{recalls:?}");
}

fn reserve<'a>(key: &'a str, arguments: &'a str) -> Vec<&'a str> {
    let mut command = vec!["TOPK.RESERVE", key, "10"];
    command.extend(arguments.split(' '));
    command
}
