//! Replication from a simulated primary with valkey-bloom, which sends the recorded keys and commands.

use super::recorded_files::{LOGGED, assert_file, assert_recorded, logged, rdb_for};
use super::recorded_keys::argument;
use super::replicated::{Replicated, Settings};
use super::{replacement, words};
use crate::each_server::migration::files::{self, VALKEY_8_0};
use crate::each_server::migration::primary::Primary;
use crate::golden::compare::{VALKEY_BLOOM_INFO, is_same};
use crate::golden::differences::{Effect, Listed};
use crate::golden::recorded;
use crate::golden_transcripts::Report;
use crate::integration::odd_settings;
use crate::support::resp::Protocol;
use crate::support::server::{Options, Server};
use std::collections::HashSet;

const TOO_LARGE: &str = "ERR operation exceeds bloom object memory limit";
/// A key of `vb-config` with an expansion of 2^32 - 1. The refused items would add 28 GiB to it.
const HUGE: &[u8] = b"ag23";
const MEMORY_LIMIT: &[u8] = b"bf.bloom-memory-usage-limit";

/// A full synchronization with all recorded keys, and the commands that create them once more in another database. The settings
/// of the replicas are those of RedisBloom, those of valkey-bloom, and others, with a memory limit that does not apply.
#[test]
fn replicas_of_valkey_bloom_have_the_recorded_keys() {
    let limited = odd_settings().module_arguments(&["bloom-memory-usage-limit", "1"]);
    let commands = files::commands(&logged());
    for (options, load) in [
        (Options::new(), "disabled"),
        (replacement(), "swapdb"),
        (limited, "disabled"),
    ] {
        let replica = options
            .arguments(&["--repl-diskless-load", load, "--rdbcompression", "no"])
            .start();
        let mut primary = Primary::of(&replica, &rdb_for(&replica));
        primary.send(&commands);
        primary.wait();
        // The replica refuses the items that valkey-bloom has refused and replicates, without an error.
        assert_eq!(replica.info_number("unexpected_error_replies"), 0);
        replica.ok("REPLICAOF NO ONE");
        // The replies depend on these settings.
        replica.set("bf-replies", "valkey-bloom");
        allow_default_size(&replica);
        assert_file(&replica, "size_after_restore");
        assert_recorded(&replica, LOGGED, None);
    }
}

/// The transcripts with commands that create and change keys. That of BF.LOAD is not among them, because valkey-bloom does not
/// replicate the payload.
#[test]
fn replicas_of_valkey_bloom_reply_as_it_does() {
    let replica = odd_settings()
        .module_arguments(&["bf-replies", "valkey-bloom"])
        .arguments(&["--rdbcompression", "no"])
        .start();
    let writer = VALKEY_8_0.for_reader(replica.version());
    // One primary for all transcripts: each connection to a primary takes about a second on Valkey 9.
    let mut primary = Primary::of(&replica, &files::rdb(writer, &[]));
    for transcript in ["vb-mix", "vb-config", "vb-insert", "vb-errors"] {
        for protocol in Protocol::BOTH {
            primary.send(&files::commands(&[words("SELECT 0"), words("FLUSHALL")]));
            allow_default_size(&replica);
            let transcript = format!("valkey-bloom/{transcript}");
            replicate(&transcript, protocol, &replica, &mut primary);
        }
    }
}

fn allow_default_size(server: &Server) {
    server.ok("CONFIG SET bf.bloom-memory-usage-limit 134217728");
}

/// Sends the writes of a transcript to a replica, and compares its replies to the reads.
fn replicate(transcript: &str, protocol: Protocol, replica: &Server, primary: &mut Primary) {
    let version = replica.version();
    let errors = || replica.info_number("unexpected_error_replies");
    let errors_before = errors();
    let mut connection = replica.connect(protocol);
    let mut listed = Listed::of(transcript, version, protocol);
    let mut settings = Settings::new();
    let mut replicated = Replicated::default();
    // Keys to which the replica adds items that the primary has refused because of the memory limit.
    let mut larger = HashSet::new();
    let mut compared = 0;
    let mut report = Report::default();
    let (_, steps) = recorded::transcript(transcript);
    for (number, step) in steps.iter().enumerate() {
        let command: Vec<_> = step.command.iter().map(argument).collect();
        let expected = step.expected(protocol);
        let name = match &*step.name() {
            "CONFIG" => {
                if expected[0] == "str" {
                    settings.set(&command[2], &command[3]);
                    // BF.INFO depends on the limit.
                    if command[2] == MEMORY_LIMIT {
                        assert!(connection.send(&command).is_ok());
                    }
                }
                continue;
            }
            "BF.INFO" => VALKEY_BLOOM_INFO.to_owned(),
            "BF.CARD" | "BF.EXISTS" | "BF.MEXISTS" | "DUMP" | "DEBUG" | "TYPE" => step.name(),
            _ => {
                let parameters = || settings.parameters(&command);
                if let Some(form) = replicated.form(&command, expected, parameters) {
                    let replies = expected[1].as_array();
                    let last = replies.and_then(|replies| replies.last());
                    let is_limited = last.is_some_and(|last| last[1] == TOO_LARGE);
                    if !is_limited || command[1] != HUGE {
                        primary.send(&files::commands(&[form]));
                    }
                    if is_limited {
                        larger.insert(command[1].clone());
                    }
                }
                continue;
            }
        };
        if command.get(1).is_some_and(|key| larger.contains(key)) {
            continue;
        }
        primary.wait();
        let got = connection.send(&command);
        match listed.explain(&command, expected, &got) {
            Some(effect) => assert_eq!(effect, Effect::ReplyOnly),
            None if is_same(expected, &got, &name, &command[1..]) => compared += 1,
            None => report.add(number, &command, &recorded::show(expected), &got),
        }
    }
    let Report { count, text } = report;
    let what = format!("{transcript} over {protocol:?}: {count} replies differ");
    assert!(count == 0, "{what}, {compared} are equal\n{text}");
    assert!(compared > 50, "{transcript}: {compared}");
    primary.wait();
    assert_eq!(errors(), errors_before, "{transcript}");
    let keys = connection.call("DBSIZE").integer();
    assert_eq!(keys, i64::try_from(replicated.keys()).ok(), "{transcript}");
}
