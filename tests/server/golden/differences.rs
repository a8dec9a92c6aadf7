//! Intended differences of single replies from the recording, each with its reason: `tests/golden/differences.txt`.
//!
//! Every entry must match at least once in each transcript that it names; otherwise the test fails, so that the list
//! has no outdated entries. Differences that change the value of a key are in [`super::expected`].

use super::recorded::show;
use crate::support::resp::{Protocol, Reply, Text};
use crate::support::server::Version;
use std::sync::LazyLock;

/// An intended difference. In patterns `*` stands for any text.
#[derive(Debug, Default)]
pub struct Difference {
    pub reason: &'static str,
    pub transcripts: Vec<&'static str>,
    /// Servers and protocols. The difference occurs if all are those of the replay.
    occurs: &'static str,
    /// Patterns of the commands, with arguments separated by spaces.
    commands: Vec<&'static str>,
    change: Change,
    /// The consequence for the first key of the command.
    effect: Effect,
}

/// How Roughly's reply differs. Replies are in the notation of [`Reply`]'s text.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// A pattern of the recorded reply, and one of Roughly's reply.
    Whole(&'static str, &'static str),
    /// A pattern for a part of the recorded reply, and its replacement in Roughly's; the rest is equal.
    Part(&'static str, &'static str),
}

impl Default for Change {
    fn default() -> Self {
        Whole("", "")
    }
}

/// The consequence of a difference for the rest of the transcript.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// None: only the reply differs.
    #[default]
    ReplyOnly,
    /// The key exists in RedisBloom but not in Roughly: later replies may report a missing key.
    KeyIsMissing,
    /// The key exists in Roughly but not in RedisBloom: the test deletes it.
    KeyIsExtra,
    /// The value of the key differs from RedisBloom's: only the types of later replies are compared.
    KeyDiffers,
}

use Change::{Part, Whole};
use Effect::{KeyDiffers, KeyIsExtra, KeyIsMissing, ReplyOnly};

/// All intended differences of single replies.
pub static DIFFERENCES: LazyLock<Vec<Difference>> = LazyLock::new(|| {
    let text = include_str!("../../golden/differences.txt");
    let mut differences: Vec<_> = text.split("\n\n").map(Difference::parse).collect();
    differences.retain(|difference| !difference.reason.is_empty());
    differences
});

impl Difference {
    fn parse(lines: &'static str) -> Self {
        let mut difference = Self::default();
        for line in lines.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once(": ").expect("a name and a value");
            let quoted = |value: &'static str| value.strip_prefix('"')?.strip_suffix('"');
            let value = quoted(value).unwrap_or(value);
            match (name, difference.change) {
                ("reason", _) => difference.reason = value,
                ("transcripts", _) => difference.transcripts = value.split(' ').collect(),
                ("occurs", _) => difference.occurs = value,
                ("command", _) => difference.commands.push(value),
                ("recorded", _) => difference.change = Whole(value, ""),
                ("recorded part", _) => difference.change = Part(value, ""),
                ("reply", Whole(recorded, "")) => difference.change = Whole(recorded, value),
                ("part", Part(recorded, "")) => difference.change = Part(recorded, value),
                ("key", _) => {
                    difference.effect = match value {
                        "missing" => KeyIsMissing,
                        "extra" => KeyIsExtra,
                        "differs" => KeyDiffers,
                        _ => panic!("{line}"),
                    }
                }
                _ => panic!("{line}"),
            }
        }
        difference
    }

    fn occurs(&self, server: Version, protocol: Protocol) -> bool {
        let mut conditions = self.occurs.split_whitespace();
        conditions.all(|condition| match condition {
            // It has no API for the categories of a module's commands.
            "redis-7.0" => !server.is_valkey() && !server.is_redis_at_least(7, 2),
            "valkey-9" => server.is_valkey_at_least(9, 0),
            "resp2" => protocol == Protocol::Resp2,
            "resp3" => protocol == Protocol::Resp3,
            _ => panic!("{condition}"),
        })
    }
}

/// The differences that may occur in one transcript, and those that have not occurred yet.
#[derive(Debug)]
pub struct Listed {
    listed: Vec<&'static Difference>,
    unmet: Vec<&'static Difference>,
}

impl Listed {
    /// The differences of a transcript on this server with this protocol.
    pub fn of(transcript: &str, server: Version, protocol: Protocol) -> Self {
        let mut listed: Vec<_> = DIFFERENCES.iter().collect();
        listed.retain(|difference| difference.transcripts.contains(&transcript));
        listed.retain(|difference| difference.occurs(server, protocol));
        let unmet = listed.clone();
        Self { listed, unmet }
    }

    /// The consequence of the listed difference between a recorded reply and Roughly's, if there is one. The replies
    /// may be equal while the values of the keys differ.
    pub fn explain(
        &mut self,
        command: &[Vec<u8>],
        recorded: &serde_json::Value,
        got: &Reply,
    ) -> Option<Effect> {
        let words: Vec<_> = command.iter().map(|word| Text(word).to_string()).collect();
        let command = words.join(" ");
        let mut candidates = self.listed.clone();
        candidates.retain(|d| d.commands.iter().any(|pattern| matches(pattern, &command)));
        if candidates.is_empty() {
            return None;
        }
        let (recorded, got) = (show(recorded), got.to_string());
        let is_whole = |d: &&Difference| match d.change {
            Whole(theirs, ours) => matches(theirs, &recorded) && matches(ours, &got),
            Part(..) => false,
        };
        if let Some(whole) = candidates.iter().copied().find(is_whole) {
            self.meet(whole);
            return Some(whole.effect);
        }
        // Several parts of a reply may differ.
        let mut changed = recorded;
        let mut met = Vec::new();
        for difference in candidates {
            if let Part(theirs, ours) = difference.change
                && let Some(replaced) = replace(&changed, theirs, ours)
            {
                changed = replaced;
                met.push(difference);
            }
        }
        (changed == got && !met.is_empty()).then(|| {
            met.iter().for_each(|difference| self.meet(difference));
            ReplyOnly
        })
    }

    /// The reasons of the differences that have not occurred.
    pub fn unmet(&self) -> Vec<&'static str> {
        let unmet = self.unmet.iter();
        unmet.map(|difference| difference.reason).collect()
    }

    fn meet(&mut self, met: &Difference) {
        self.unmet
            .retain(|difference| !std::ptr::eq(*difference, met));
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    text.strip_prefix(head).is_some_and(|text| {
        let mut tails = (0..=text.len()).filter_map(|skip| text.get(skip..));
        tails.any(|tail| matches(rest, tail))
    })
}

/// Replaces the first part of the text that matches a pattern. `*` matches as little as possible and may occur once.
fn replace(text: &str, pattern: &str, with: &str) -> Option<String> {
    let (head, tail) = pattern.split_once('*').unwrap_or((pattern, ""));
    let start = text.find(head)?;
    let rest = &text[start + head.len()..];
    let end = text.len() - rest.len() + rest.find(tail)? + tail.len();
    Some([&text[..start], with, &text[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::resp::error;
    use serde_json::json;

    #[test]
    fn a_pattern_matches_around_its_placeholders() {
        assert!(matches("COPY * *", "COPY a b"));
        assert!(!matches("COPY * *", "COPY a"));
        assert!(!matches("COPY", "COPY a"));
        assert!(!matches("a*b", "ab "));
        assert!(matches("a*b*", "a b b c"));
        assert!(!matches("", "a"));
    }

    #[test]
    fn a_part_is_replaced_completely_and_only_once() {
        assert_eq!(replace("a[+RO]b", "[+RO]", "[+RW]").unwrap(), "a[+RW]b");
        assert_eq!(replace("a[+@x +@y] []", "[+@*]", "[]").unwrap(), "a[] []");
        assert_eq!(replace("[+x]", "[+@*]", "[]"), None);
    }

    fn explain(listed: &mut Listed, command: &str, recorded: &str, got: Reply) -> Option<Effect> {
        let words: Vec<_> = command.split(' ').map(|word| word.into()).collect();
        listed.explain(&words, &json!(["err", recorded]), &got)
    }

    fn listed(difference: &'static Difference) -> Listed {
        let (listed, unmet) = (vec![difference], vec![difference]);
        Listed { listed, unmet }
    }

    #[test]
    fn a_difference_allows_only_its_patterns() {
        let mut copy = listed(&DIFFERENCES[0]);
        let refusal = "ERR not supported for this module key";
        let one = || Reply::Integer(1);
        let zero = Reply::Integer(0);
        assert_eq!(explain(&mut copy, "COPY a b", refusal, zero), None);
        assert_eq!(explain(&mut copy, "COPY a b", "ERR", one()), None);
        assert_eq!(explain(&mut copy, "RENAME a b", refusal, one()), None);
        assert_eq!(copy.unmet().len(), 1);
        let met = explain(&mut copy, "COPY a b", refusal, one());
        assert_eq!(met, Some(ReplyOnly));
        assert!(copy.unmet().is_empty());
    }

    #[test]
    fn a_part_may_differ_and_the_rest_must_be_equal() {
        static PART: LazyLock<Difference> =
            LazyLock::new(|| Difference::parse("command: X\nrecorded part: [*]\npart: ()"));
        let mut part = listed(&PART);
        assert_eq!(explain(&mut part, "X", "a [b] c", error("a () d")), None);
        assert_eq!(explain(&mut part, "X", "a c", error("a c")), None);
        assert!(explain(&mut part, "X", "a [b] c", error("a () c")).is_some());
    }
}
