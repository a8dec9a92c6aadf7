//! Every command on keys of the three types and on other keys, with the replies of each dialect.

use crate::families::{Family, dump};
use crate::support::resp::{Protocol, Reply};
use crate::support::server::Server;

fn start() -> Server {
    let (server, mut connection) = Server::start().connected();
    for command in [
        "BF.RESERVE classic 0.02 100",
        "BF.ADD classic a",
        "BF.RESERVE window 0.01 100 WINDOW 315360000000 SEED 00112233445566778899aabbccddeeff",
        "BF.ADD window a",
        "BF.INSERT valkey CAPACITY 100 TIGHTENING 0.5 ITEMS a",
        "BF.RESERVE fixed 0.02 100 NONSCALING",
        "SET text x",
    ] {
        connection.run(command);
    }
    server
}

/// Checks the lines `COMMAND => REPLY`, or with four replies separated by ` | `: those of RedisBloom over RESP2 and RESP3, and those
/// of valkey-bloom over RESP2 and RESP3. Lines that begin with `#` are skipped.
fn check(lines: &str) {
    for (at, dialect) in ["redisbloom", "valkey-bloom"].into_iter().enumerate() {
        for (protocol, at) in Protocol::BOTH.into_iter().zip(at * 2..) {
            let server = start();
            server.set("bf-replies", dialect);
            let mut connection = server.connect(protocol);
            let lines = lines.lines().map(str::trim);
            let lines = lines.filter(|line| !line.starts_with('#'));
            for (command, expected) in lines.filter_map(|line| line.split_once(" => ")) {
                let replies: Vec<_> = expected.split(" | ").collect();
                let reply = connection.call(command).to_string();
                let expected = replies.get(at).unwrap_or(&replies[0]);
                assert_eq!(reply, *expected, "{command}, {dialect}, {protocol:?}");
            }
        }
    }
}

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn replies_about_items_depend_on_the_dialect() {
    let of_key = "
        BF.EXISTS KEY a => :1 | #t | :1 | :1
        BF.EXISTS KEY b => :0 | #f | :0 | :0
        BF.MEXISTS KEY a b => *[:1 :0] | *[#t #f] | *[:1 :0] | *[:1 :0]
        BF.ADD KEY a => :0 | #f | :0 | :0
        BF.ADD KEY c => :1 | #t | :1 | :1
        BF.MADD KEY a d => *[:0 :1] | *[#f #t] | *[:0 :1] | *[:0 :1]
        BF.INSERT KEY ITEMS a e => *[:0 :1] | *[#f #t] | *[:0 :1] | *[:0 :1]
        BF.CARD KEY => :4
        BF.RESERVE KEY 0.01 100 => -ERR item exists
    ";
    let of_keys = ["classic", "window", "valkey"].map(|key| of_key.replace("KEY", key));
    check(&of_keys.concat());
}

#[test]
fn keys_of_other_types_and_missing_keys_depend_on_the_dialect() {
    check(&format!(
        "
        BF.EXISTS text a => :0 | #f | {WRONG_TYPE} | {WRONG_TYPE}
        BF.MEXISTS text a => *[:0] | *[#f] | {WRONG_TYPE} | {WRONG_TYPE}
        BF.EXISTS missing a => :0 | #f | :0 | :0
        BF.MEXISTS missing a b => *[:0 :0] | *[#f #f] | *[:0 :0] | *[:0 :0]
        BF.ADD text a => {WRONG_TYPE}
        BF.MADD text a => {WRONG_TYPE}
        BF.INSERT text ITEMS a => {WRONG_TYPE}
        BF.RESERVE text 0.01 100 => {WRONG_TYPE}
        BF.CARD text => {WRONG_TYPE}
        BF.INFO text => {WRONG_TYPE}
        BF.DEBUG text => {WRONG_TYPE}
        BF.LOAD text x => {WRONG_TYPE}
        BF.LOAD classic x => -BUSYKEY Target key name already exists.
        BF.LOAD window x => -BUSYKEY Target key name already exists.
        BF.LOAD valkey x => -BUSYKEY Target key name already exists.
        BF.LOAD missing x => -ERR bloom object decoding failed. Unsupported version
        BF.CARD missing => :0
        BF.INFO missing => -ERR not found
        BF.INSERT missing NOCREATE ITEMS a => -ERR not found
        EXISTS missing => :0
        "
    ));
}

/// BF.INFO of a key of RedisBloom's type, without growth, and of valkey-bloom's type. The sizes are those of the
/// formats.
#[test]
fn info_depends_on_the_dialect_and_the_type() {
    let invalid = "-ERR invalid information value";
    let unknown = "-Invalid information value";
    check(&format!(
        "
        BF.INFO classic CAPACITY => *[:100] | %{{+Capacity :100}} | :100 | :100
        BF.INFO valkey capacity => *[:100] | %{{+Capacity :100}} | :100 | :100
        BF.INFO valkey SIZE => *[:384] | %{{+Size :384}} | :384 | :384
        BF.INFO window ITEMS => *[:1] | %{{+Number of items inserted :1}} | :1 | :1
        BF.INFO valkey FILTERS => *[:1] | %{{+Number of filters :1}} | :1 | :1
        BF.INFO fixed EXPANSION => *[$-1] | %{{+Expansion rate _}} | $-1 | _
        BF.INFO classic ERROR => {unknown} | {unknown} | $0.02 | ,0.02
        BF.INFO valkey ERROR => *[$0.01] | %{{+Error rate ,0.01}} | $0.01 | ,0.01
        BF.INFO classic TIGHTENING => {unknown} | {unknown} | $0.5 | ,0.5
        BF.INFO fixed TIGHTENING => {unknown} | {unknown} | {invalid} | {invalid}
        BF.INFO valkey TIGHTENING => *[$0.5] | %{{+Tightening ratio ,0.5}} | $0.5 | ,0.5
        BF.INFO classic MAXSCALEDCAPACITY => {unknown} | {unknown} | {invalid} | {invalid}
        BF.INFO window MAXSCALEDCAPACITY => {unknown} | {unknown} | {invalid} | {invalid}
        BF.INFO valkey MAXSCALEDCAPACITY => *[:26214300] | %{{+Max scaled capacity :26214300}} | :26214300 | :26214300
        BF.INFO valkey NONE => {unknown} | {unknown} | {invalid} | {invalid}
        BF.INFO valkey => *[+Capacity :100 +Size :384 +Number of filters :1 +Number of items inserted :1 +Expansion rate :2] | %{{+Capacity :100 +Size :384 +Number of filters :1 +Number of items inserted :1 +Expansion rate :2}} | *[+Capacity :100 +Size :384 +Number of filters :1 +Number of items inserted :1 +Error rate $0.01 +Expansion rate :2 +Tightening ratio $0.5 +Max scaled capacity :26214300] | *[+Capacity :100 +Size :384 +Number of filters :1 +Number of items inserted :1 +Error rate ,0.01 +Expansion rate :2 +Tightening ratio ,0.5 +Max scaled capacity :26214300]
        "
    ));
}

fn names(reply: &Reply) -> Vec<String> {
    let items = reply.items().expect("an array");
    items.chunks(2).map(|pair| pair[0].to_string()).collect()
}

#[test]
fn info_of_redisblooms_type_has_the_fields_that_it_has() {
    let server = start();
    server.set("bf-replies", "valkey-bloom");
    let fixed =
        "+Capacity +Size +Number of filters +Number of items inserted +Error rate +Expansion rate";
    let classic = format!("{fixed} +Tightening ratio");
    for protocol in Protocol::BOTH {
        let mut connection = server.connect(protocol);
        for (key, expected) in [("classic", &classic[..]), ("fixed", fixed)] {
            let found = names(&connection.send(&["BF.INFO", key]));
            assert_eq!(found.join(" "), expected, "{key}");
        }
    }
}

const MERGE: &str = "-ERR filters of valkey-bloom cannot be merged";

#[test]
fn filters_of_valkey_bloom_cannot_be_merged() {
    check(&format!(
        "
        BF.MERGE valkey 1 valkey => {MERGE}
        BF.MERGE valkey 1 classic => {MERGE}
        BF.MERGE classic 1 valkey => {MERGE}
        BF.MERGE new 1 valkey => {MERGE}
        BF.MERGE new 2 classic valkey => {MERGE}
        EXISTS new => :0
        BF.CARD classic => :1
        BF.MERGE new 1 classic => +OK
        BF.CARD new => :1
        "
    ));
}

/// RedisBloom's syntax in one dialect, valkey-bloom's in the other. Some options determine the syntax in both.
#[test]
fn the_syntax_depends_on_the_dialect() {
    let text = "-ERR unknown argument received";
    let bad_expansion = "-ERR bad expansion";
    check(&format!(
        "
        # The first letters are sufficient for RedisBloom.
        BF.INSERT k CAP 10 ITEMS a => *[:1] | *[#t] | {text} | {text}
        BF.INSERT valkey CAP 10 ITEMS a => {text}
        BF.INSERT n0 TIGHTENING 0.5 CAP 10 ITEMS a => {text}
        BF.INSERT n1 EXPANSION 0 ITEMS a => *[:1] | *[#t] | {bad_expansion} | {bad_expansion}
        BF.RESERVE n2 0.01 100 EXPANSION 0 => +OK | +OK | {bad_expansion} | {bad_expansion}
        BF.RESERVE n3 0.01 100 NONSCALING NONSCALING => +OK | +OK | -ERROR | -ERROR
        BF.RESERVE n4 1.5 100 => -ERR error rate must be in the range (0.000000, 1.000000) | -ERR error rate must be in the range (0.000000, 1.000000) | -ERR (0 < error rate range < 1) | -ERR (0 < error rate range < 1)
        # The type of the new key is RedisBloom's, so its ranges apply in both dialects.
        BF.RESERVE n5 0.01 1073741825 => -ERR capacity must be in the range [1, 1073741824]
        BF.INSERT n10 EXPANSION 32769 ITEMS a => -Bad expansion | -Bad expansion | -ERR expansion must be in the range [0, 32768] | -ERR expansion must be in the range [0, 32768]
        # An option of only one of them.
        BF.INSERT n6 CAP 50 WINDOW 1000 IT a => *[:1] | *[#t] | *[:1] | *[:1]
        TYPE n6 => +bf-window
        BF.RESERVE n7 0.01 100 EXPANSION 0 WINDOW 1000 => +OK
        BF.INSERT n8 TIGHTENING 0.5 EXPANSION 0 ITEMS a => {bad_expansion}
        BF.INSERT n9 TIGHTENING 0.5 => *[]
        TYPE n9 => +bloomfltr
        BF.INSERT valkey NONSCALING EXPANSION 3 ITEMS z => *[:1] | *[#t] | *[:1] | *[:1]
        EXISTS n0 n4 n5 n8 n10 => :0
        BF.CARD n9 => :0
        EXISTS n9 => :1
        # Items with the names of options are not options, also after an unknown argument.
        BF.INSERT n12 CAP 10 ITEMS WINDOW => *[:1] | *[#t] | {text} | {text}
        BF.INSERT n13 NOCREATE ITEMS WINDOW => -ERR not found
        BF.INSERT n11 ITEMS SEED WINDOW TIGHTENING => *[:1 :1 :1] | *[#t #t #t] | *[:1 :1 :1] | *[:1 :1 :1]
        TYPE n11 => +MBbloom--
        "
    ));
}

/// The chunks of each type are loaded whatever the dialect.
#[test]
fn chunks_do_not_depend_on_the_dialect() {
    let server = start();
    for dialect in ["redisbloom", "valkey-bloom"] {
        server.set("bf-replies", dialect);
        for protocol in Protocol::BOTH {
            let [mut connection, mut other] =
                [protocol; 2].map(|protocol| server.connect(protocol));
            for key in ["classic", "window", "valkey", "fixed"] {
                connection.call("DEL copy");
                Family::of("bf").copy_in_chunks(&mut connection, key, &mut other, "copy");
                let dumps = [key, "copy"].map(|key| dump(&mut connection, key));
                assert_eq!(dumps[0], dumps[1], "{key}");
                let debug = connection.send(&["BF.DEBUG", key]);
                assert_eq!(connection.call("BF.DEBUG copy"), debug, "{key}");
            }
        }
    }
}
