//! Replays the recorded commands of RedisBloom and of valkey-bloom, and compares the replies.
//!
//! Each transcript runs on a new server with RESP2 and on another with RESP3.

use crate::golden::compare::{VALKEY_BLOOM_INFO, is_same};
use crate::golden::differences::{DIFFERENCES, Effect, Listed};
use crate::golden::expected::Wanted;
use crate::golden::recorded::{self, Step};
use crate::golden_dumps::with_footer;
use crate::support::names::assert_same_names;
use crate::support::resp::{Connection, Protocol, Reply, Text};
use crate::support::server::{Server, Version};
use crate::valkey::replacement;
use std::collections::{HashMap, HashSet};

/// Number of differences in a failure message, and maximum length of each text.
const SHOWN: usize = 20;
const SHOWN_CHARACTERS: usize = 300;

/// The folder of the transcripts of valkey-bloom. They run on a server that replaces it.
const VALKEY_BLOOM: &str = "valkey-bloom";

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
        fn every_transcript_is_replayed() {
            let listed: HashSet<_> = [$($transcript),*].map(str::to_owned).into();
            let mut found = HashSet::new();
            for folder in ["2.8", "8.10", VALKEY_BLOOM] {
                for file in recorded::folder(folder).read_dir().unwrap() {
                    let file = file.unwrap().file_name().into_string().unwrap();
                    found.extend(file.strip_suffix(".jsonl.gz").map(|name| format!("{folder}/{name}")));
                }
            }
            assert_same_names(&listed, &found, "transcripts with a test");
            for difference in &*DIFFERENCES {
                for transcript in &difference.transcripts {
                    assert!(listed.contains(*transcript), "{transcript}: {}", difference.reason);
                }
            }
        }
    };
}

transcripts! {
    bloom_of_2_8: "2.8/bf-102",
    bloom_of_8_10: "8.10/bf-101",
    cuckoo_of_2_8: "2.8/cf-102",
    cuckoo_of_8_10: "8.10/cf-101",
    count_min_of_2_8: "2.8/cms-102",
    count_min_of_8_10: "8.10/cms-101",
    configuration_of_8_10: "8.10/config-101",
    errors_of_2_8: "2.8/errors-102",
    errors_of_8_10: "8.10/errors-101",
    mixed_of_2_8: "2.8/mixed-102",
    mixed_of_8_10: "8.10/mixed-101",
    quirks_of_8_10: "8.10/quirks-101",
    rare_cases_of_8_10: "8.10/gaps-101",
    command_info_of_8_10: "8.10/meta-101",
    digests_of_2_8: "2.8/tdigest-102",
    digests_of_8_10: "8.10/tdigest-101",
    digests_of_8_10_written_before_they_are_read: "8.10/tdfresh-101",
    top_k_of_2_8: "2.8/topk-102",
    top_k_of_8_10: "8.10/topk-101",
    configuration_of_valkey_bloom: "valkey-bloom/vb-config",
    errors_of_valkey_bloom: "valkey-bloom/vb-errors",
    options_of_insert_of_valkey_bloom: "valkey-bloom/vb-insert",
    payloads_of_load_of_valkey_bloom: "valkey-bloom/vb-load",
    mixed_commands_of_valkey_bloom: "valkey-bloom/vb-mix",
}

fn replay(transcript: &str, protocol: Protocol) {
    let (family, steps) = recorded::transcript(transcript);
    let needed: HashSet<usize> = steps.iter().flat_map(Step::references).collect();
    assert!(steps.len() > 10, "{transcript}");
    let is_valkey_bloom = transcript.starts_with(VALKEY_BLOOM);
    let server = match is_valkey_bloom {
        true => replacement().start(),
        false => Server::start(),
    };
    let version = server.version();
    let mut connection = server.connect(protocol);
    let mut replies = HashMap::new();
    let mut wanted = Wanted::new(&family);
    let mut listed = Listed::of(transcript, version, protocol);
    let mut report = Report::default();
    for (number, step) in steps.iter().enumerate() {
        let argument = |argument| recorded::argument(argument, &replies);
        let mut command: Vec<_> = step.command.iter().map(argument).collect();
        let mut name = step.name();
        let got = if is_valkey_bloom {
            match &*name {
                // Older servers refuse the recorded RDB version.
                "RESTORE" => command[3] = with_footer(std::mem::take(&mut command[3])),
                "BF.INFO" => name = VALKEY_BLOOM_INFO.to_owned(),
                _ => {}
            }
            connection.send(&command)
        } else {
            send(&mut connection, &command, version)
        };
        let expected = step.expected(protocol);
        let references: Vec<_> = step.references().collect();
        let arguments = &command[1..];
        let is_wanted = wanted.allows(number, &references, &name, arguments, expected, &got);
        match listed.explain(&command, expected, &got) {
            Some(Effect::KeyIsExtra) => {
                let deleted = connection.send(&[b"DEL", &command[1][..]]);
                assert_eq!(deleted, Reply::Integer(1), "{name}");
            }
            // A command without a key is refused.
            Some(effect) => (command.get(1).iter()).for_each(|key| wanted.follow(key, effect)),
            None if is_same(expected, &got, &name, arguments) || is_wanted => {}
            None => report.add(number, &command, &recorded::show(expected), &got),
        }
        if needed.contains(&number) {
            replies.insert(number, got);
        }
    }
    let what = format!("{transcript} over {protocol:?}");
    let (Report { count, text }, all) = (report, steps.len());
    assert!(
        count == 0,
        "{what}: {count} of {all} replies differ\n{text}"
    );
    let unmet = listed.unmet();
    let is_met = unmet.is_empty();
    assert!(
        is_met,
        "{what}: listed differences that did not occur: {unmet:?}"
    );
}

/// Sends a command. If the server requires prefixes of setting names, adds them to the arguments of CONFIG and
/// removes them from the reply.
fn send(connection: &mut Connection, command: &[Vec<u8>], server: Version) -> Reply {
    if !command[0].eq_ignore_ascii_case(b"CONFIG") || server.is_redis_at_least(8, 0) {
        return connection.send(command);
    }
    let mut command = command.to_vec();
    command[2].splice(0..0, *b"bf.");
    without_prefix(connection.send(&command))
}

fn without_prefix(reply: Reply) -> Reply {
    let strip = |text: Vec<u8>| {
        let text = String::from_utf8(text).expect("text");
        let text = text.replace("bf.bf-", "bf-");
        text.replace("bf.cf-", "cf-").into_bytes()
    };
    match reply {
        Reply::Bulk(text) => Reply::Bulk(strip(text)),
        Reply::Error(text) => Reply::Error(strip(text)),
        Reply::Array(items) => Reply::Array(items.into_iter().map(without_prefix).collect()),
        Reply::Map(pairs) => {
            let both = |(key, value)| (without_prefix(key), without_prefix(value));
            Reply::Map(pairs.into_iter().map(both).collect())
        }
        other => other,
    }
}

/// The message of a failed replay.
#[derive(Default)]
pub struct Report {
    pub count: usize,
    pub text: String,
}

impl Report {
    pub fn add(&mut self, number: usize, command: &[Vec<u8>], expected: &str, got: &Reply) {
        self.count += 1;
        if self.count > SHOWN {
            return;
        }
        let words: Vec<_> = command.iter().map(|word| Text(word).to_string()).collect();
        let short = |text: &str| text.chars().take(SHOWN_CHARACTERS).collect::<String>();
        let (command, recorded) = (short(&words.join(" ")), short(expected));
        let got = short(&got.to_string());
        self.text += &format!("#{number} {command}\n   recorded {recorded}\n   got      {got}\n");
    }
}
