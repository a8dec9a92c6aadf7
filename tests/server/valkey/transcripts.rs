//! Replays the recorded commands of valkey-bloom on a server that replaces it, and compares the replies.

use super::replacement;
use crate::golden::compare::{VALKEY_BLOOM_INFO, is_same};
use crate::golden::differences::{Effect, Listed, valkey_bloom};
use crate::golden::recorded;
use crate::golden_dumps::with_footer;
use crate::golden_transcripts::Report;
use crate::support::names::assert_same_names;
use crate::support::resp::Protocol;
use std::collections::{HashMap, HashSet};

/// Defines a test for each transcript, and one that checks that every file has a test.
macro_rules! transcripts {
    ($($test:ident: $transcript:literal,)*) => {
        $(
            #[test]
            fn $test() {
                for protocol in Protocol::BOTH {
                    replay($transcript, protocol);
                }
            }
        )*

        #[test]
        fn every_transcript_of_valkey_bloom_is_replayed() {
            let listed: HashSet<_> = [$($transcript),*].map(str::to_owned).into();
            let files = recorded::directory().join("valkey-bloom").read_dir().unwrap();
            let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            let found: HashSet<_> = files
                .filter_map(|file| Some(format!("valkey-bloom/{}", file.strip_suffix(".jsonl.gz")?)))
                .collect();
            assert_same_names(&listed, &found, "transcripts with a test");
            for difference in valkey_bloom::DIFFERENCES {
                for transcript in difference.transcripts {
                    assert!(listed.contains(*transcript), "{transcript}: {}", difference.reason);
                }
            }
        }
    };
}

transcripts! {
    configuration: "valkey-bloom/vb-config",
    errors: "valkey-bloom/vb-errors",
    options_of_insert: "valkey-bloom/vb-insert",
    payloads_of_load: "valkey-bloom/vb-load",
    mixed_commands: "valkey-bloom/vb-mix",
}

fn replay(transcript: &str, protocol: Protocol) {
    let (_, steps) = recorded::transcript_of(transcript);
    assert!(steps.len() > 200);
    let server = replacement().start();
    let mut connection = server.connect(protocol);
    let mut listed = Listed::of(transcript, server.version(), protocol);
    let mut replies = HashMap::new();
    let mut report = Report::default();
    for (number, step) in steps.iter().enumerate() {
        let arguments = step.command.iter();
        let mut command: Vec<_> = arguments
            .map(|argument| recorded::argument(argument, &replies))
            .collect();
        if step.name() == "RESTORE" {
            // Older servers refuse the recorded RDB version.
            command[3] = with_footer(std::mem::take(&mut command[3]));
        }
        let got = connection.send(&command);
        let expected = step.expected(protocol);
        let name = match &step.name()[..] {
            "BF.INFO" => VALKEY_BLOOM_INFO.to_owned(),
            name => name.to_owned(),
        };
        match listed.explain(&command, expected, &got) {
            Some(effect) => assert_eq!(effect, Effect::ReplyOnly),
            None if is_same(expected, &got, &name, &command[1..]) => {}
            None => report.add(number, &command, &recorded::show(expected), &got),
        }
        replies.insert(number, got);
    }
    assert!(
        report.count == 0,
        "{transcript} over {protocol:?}: {} of {} replies differ\n{}",
        report.count,
        steps.len(),
        report.text
    );
    assert!(
        listed.unmet().is_empty(),
        "{transcript} over {protocol:?}: listed differences that did not occur: {:?}",
        listed.unmet()
    );
}
