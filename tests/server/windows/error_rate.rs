//! The word ERROR of CF.RESERVE with a window.

use super::{LOG, SEED, dumps, logged_without_seeds, start};
use crate::families::{Family, numbers};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Options;

const OUT_OF_RANGE: &str = "-ERR error rate must be in the range (0.000000, 1.000000)";

/// The DUMP of a new filter, which is deleted.
fn dump_of(connection: &mut Connection, create: &str) -> Reply {
    connection.ok(create);
    let dump = dumps(connection, &["k".to_owned()]).remove(0);
    connection.call("DEL k");
    dump
}

#[test]
fn an_invalid_rate_is_refused_as_that_of_a_bloom_filter() {
    let (_server, mut connection) = start(&[]).connected();
    for rate in [
        "x", "", "0.1x", "nan", "0", "-0.1", "1", "1.5", "inf", "-inf", "1e400", "1e-400",
    ] {
        let of_set = ["BF.RESERVE", "k", rate, "100", "WINDOW", "4000"];
        let of_multiset = ["CF.RESERVE", "k", "100", "WINDOW", "4000", "ERROR", rate];
        let reply = connection.send(&of_multiset);
        assert!(reply.is_error(), "{rate}: {reply}");
        assert_eq!(reply, connection.send(&of_set), "{rate}");
    }
    connection.check_all(&format!("
        CF.RESERVE k 100 WINDOW 4000 ERROR x => -ERR bad error rate
        CF.RESERVE k 100 WINDOW 4000 ERROR 1 => {OUT_OF_RANGE}
        # After the length and the panes, before the seed, in any order.
        CF.RESERVE k 100 WINDOW 0 ERROR x => -ERR WINDOW must be between 1 and 315360000000 milliseconds
        CF.RESERVE k 100 WINDOW 4000 ERROR x PANES 0 => -ERR PANES must be between 1 and 1000, and at most WINDOW
        CF.RESERVE k 100 WINDOW 4000 SEED x ERROR 2 PANES 4 => {OUT_OF_RANGE}
        CF.RESERVE k 100 WINDOW 4000 SEED x ERROR 0.1 => -ERR SEED must be 32 hexadecimal digits
        CF.RESERVE k 100 ERROR 0.1 WINDOW 4000 => -ERR syntax error
        CF.RESERVE k 100 EXPANSION -1 WINDOW 4000 ERROR x => -EXPANSION: value must be in the range [0, 32768]
        DBSIZE => :0
        # Without WINDOW it is ignored, as any other argument.
        CF.RESERVE k 100 ERROR x => +OK
        SKETCH.WINDOW k => $-1
    "));
}

/// A rate above the maximum is reduced to it, as that of a Bloom filter, with a line in the log.
#[test]
fn a_rate_above_the_maximum_is_reduced_to_it() {
    let server = start(&[]);
    server.set_clock("1000000");
    let mut connection = server.resp2();
    let create = format!("CF.RESERVE k 100 BUCKETSIZE 4 WINDOW 4000 SEED {SEED} ERROR");
    let mut dump_of = |rate: &str| dump_of(&mut connection, &format!("{create} {rate}"));
    let [largest, above] = ["0.25", "0.3"].map(&mut dump_of);
    assert_eq!(largest, above);
    let line = "error rate 0.3 is above the maximum and was set to 0.25";
    assert!(server.log().contains(line), "{}", server.log());
}

/// The creation is replicated with the rate if it is not that of the bucket size. Every copy has the rate: it determines the
/// slots of the sub-filters that are added later.
#[test]
fn copies_have_the_rate() {
    let mut server = start(LOG);
    server.set_clock("1000000");
    let mut replica = Options::new().start();
    replica.replicate(&server);
    let mut connection = server.resp2();
    let family = Family::of("cf");
    for (key, options) in [
        ("default", "WINDOW 4000 PANES 4"),
        // 4 / 255, the default with a bucket size of 2.
        ("equal", "WINDOW 4000 ERROR 0.01568627450980392 PANES 4"),
        ("low", "WINDOW 4000 ERROR 0.0001 PANES 4"),
        ("capped", "WINDOW 4000 PANES 4 ERROR 0.9"),
    ] {
        connection.ok(&format!("CF.RESERVE {key} 100 {options} SEED {SEED}"));
    }
    let mut creations = logged_without_seeds(&server);
    creations.retain(|command| command.starts_with("CF.RESERVE"));
    let parameters = "BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 WINDOW 4000 PANES 4";
    let names = ["default", "equal", "low", "capped"];
    let errors = ["", "", " ERROR 1e-4", " ERROR 2.5e-1"].into_iter();
    let expected = names.into_iter().zip(errors);
    let expected = expected.map(|(key, error)| format!("CF.RESERVE {key} 100 {parameters}{error}"));
    assert_eq!(creations, expected.collect::<Vec<_>>());
    for key in names {
        // Before the filter grows.
        connection.call(&format!("COPY {key} copy:{key}"));
        let mut chunks = server.resp2();
        family.copy_in_chunks(&mut connection, key, &mut chunks, &format!("chunks:{key}"));
    }
    let keys = ["", "copy:", "chunks:"].map(|prefix| names.map(|key| format!("{prefix}{key}")));
    let keys = keys.concat();
    for key in &keys {
        connection.call(&format!("CF.INSERT {key} ITEMS {}", numbers(0, 1000)));
    }
    let expected = dumps(&mut connection, &keys);
    let (first, copies) = expected.split_at(4);
    assert!(first == &copies[..4] && first == &copies[4..]);
    assert_eq!(first[0], first[1]);
    assert!(first[0] != first[2] && first[2] != first[3]);
    server.wait_for_replica(&replica);
    assert_eq!(dumps(&mut replica.resp2(), &keys), expected);
    server.kill_and_restart();
    assert_eq!(dumps(&mut server.resp2(), &keys), expected);
    // From a rewritten file.
    server.rewrite_aof();
    server.kill_and_restart();
    assert_eq!(dumps(&mut server.resp2(), &keys), expected);
}
