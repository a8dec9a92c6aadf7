//! Tracks keys whose later replies may differ from the recording.
//!
//! Three intended differences change the value of a key, so that all later replies about it may differ. A read of a
//! t-digest compresses the digest in RedisBloom but not in Roughly. The compression of equal samples is more accurate in Roughly. Count-min sketches behave like RedisBloom 8.12,
//! while the recordings are of 8.10 and 2.8. Some of the differences in [`super::differences`] also change values.
//! This module tracks such keys through renames, copies, dumps and merges, and compares only the types of replies
//! about them.

use super::compare::{is_same_shape, is_same_type};
use super::differences::Effect;
use crate::support::resp::{Reply, error};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The known state of a key.
#[derive(Debug, Default, Clone, Copy)]
struct State {
    /// A t-digest that was read: RedisBloom compressed it at that moment, Roughly did not.
    is_read: bool,
    /// Its value differs from RedisBloom's.
    is_off: bool,
}

/// What was added to a digest.
#[derive(Debug, Default, Clone)]
struct Samples {
    /// `None` is the default.
    compression: Option<f64>,
    /// The distinct samples, as they were written.
    distinct: HashSet<Vec<u8>>,
    count: usize,
}

impl Samples {
    fn add(&mut self, samples: &[Vec<u8>]) {
        self.distinct.extend(samples.iter().cloned());
        self.count += samples.len();
    }

    /// Whether there are equal samples, and a compression can merge nodes. If it merges any, it merges two in the middle, from (n / 2 - 1) / n
    /// to (n / 2 + 1) / n.
    fn are_compressed_with_runs(&self) -> bool {
        let (all, compression) = (self.count as f64, self.compression.unwrap_or(100.0));
        let scaled = 2.0 * compression / (2.0 * std::f64::consts::PI * all * all.ln());
        self.distinct.len() < self.count && scaled <= 0.25 - 1.0 / (all * all)
    }
}

/// The keys of one transcript.
#[derive(Debug, Default, Clone)]
pub struct Wanted {
    read: HashSet<Vec<u8>>,
    off: HashSet<Vec<u8>>,
    samples: HashMap<Vec<u8>, Samples>,
    /// Keys that exist in RedisBloom but not in Roughly.
    missing: HashSet<Vec<u8>>,
    /// The state of the key at each DUMP and SCANDUMP, by the number of the command.
    dumped: HashMap<usize, State>,
    /// The transcript never writes to a digest after it was read, so merges are equal.
    merges_agree: bool,
    /// The transcript has digests of equal samples that are compressed.
    has_equal_samples: bool,
}

impl Wanted {
    pub fn new(family: &str) -> Self {
        Self {
            merges_agree: family == "tdfresh",
            has_equal_samples: ["tdigest", "mixed"].contains(&family),
            ..Self::default()
        }
    }

    /// Tracks a key that a listed difference changed.
    pub fn follow(&mut self, key: &[u8], effect: Effect) {
        match effect {
            Effect::ReplyOnly | Effect::KeyIsExtra => {}
            Effect::KeyIsMissing => drop(self.missing.insert(key.to_vec())),
            Effect::KeyDiffers => drop(self.off.insert(key.to_vec())),
        }
    }

    /// Whether a difference in this reply is intended. Must be called for every command in order.
    ///
    /// `number` is the position of the command in the transcript; `references` are the commands whose replies are
    /// among its arguments.
    pub fn allows(
        &mut self,
        number: usize,
        references: &[usize],
        command: &str,
        arguments: &[Vec<u8>],
        recorded: &Value,
        got: &Reply,
    ) -> bool {
        let key = arguments.first().cloned().unwrap_or_default();
        let state = self.state(&key);
        match command {
            "FLUSHALL" | "FLUSHDB" | "SWAPDB" | "DEBUG" => {
                *self = Self {
                    merges_agree: self.merges_agree,
                    has_equal_samples: self.has_equal_samples,
                    dumped: std::mem::take(&mut self.dumped),
                    ..Self::default()
                };
                false
            }
            "EXEC" => !self.is_clear(),
            "EVAL" | "EVAL_RO" if self.is_info_of_read_digest(arguments) => {
                is_same_shape(recorded, got)
            }
            "EVAL" | "EVAL_RO" | "FCALL" | "FCALL_RO" => {
                if script_reads_digest(&key) {
                    self.read.extend(script_keys(arguments).iter().cloned());
                }
                let speaks_of = |family: &[u8]| {
                    arguments.iter().any(|argument| {
                        let argument = argument.to_ascii_uppercase();
                        argument.windows(family.len()).any(|part| part == family)
                    })
                };
                !self.is_clear() && (speaks_of(b"TDIGEST") || speaks_of(b"CMS"))
            }
            "DEL" | "UNLINK" | "TDIGEST.RESET" => {
                for key in arguments {
                    self.set(key, State::default());
                    let samples = self.samples.remove(key);
                    if let Some(mut samples) = samples.filter(|_| command == "TDIGEST.RESET") {
                        (samples.distinct, samples.count) = Default::default();
                        self.samples.insert(key.clone(), samples);
                    }
                    self.missing.remove(key);
                }
                false
            }
            "RESTORE" => {
                let source = references
                    .first()
                    .and_then(|number| self.dumped.get(number));
                self.set(&key, source.copied().unwrap_or_default());
                false
            }
            "RENAME" | "COPY" if arguments.len() > 1 => {
                self.set(&arguments[1], state);
                false
            }
            "DUMP" => {
                let is_digest = recorded[0] == "tdump";
                if is_digest {
                    self.read.insert(key.clone());
                }
                self.dumped.insert(number, self.state(&key));
                is_digest || state.is_off
            }
            "BF.SCANDUMP" | "CF.SCANDUMP" => {
                self.dumped.insert(number, state);
                self.is_follow_up(&key, recorded, got)
            }
            // Any chunk of a dump may be the one that differs.
            "BF.LOADCHUNK" | "CF.LOADCHUNK" => {
                let references = references.iter();
                let mut sources = references.filter_map(|number| self.dumped.get(number));
                if sources.any(|source| source.is_off) {
                    self.off.insert(key.clone());
                }
                self.is_follow_up(&key, recorded, got)
            }
            "TDIGEST.MERGE" => self.merge_digests(arguments, recorded, got),
            "CMS.MERGE" if arguments.iter().any(|key| self.off.contains(key)) => {
                self.off.insert(key);
                true
            }
            // The recorded RedisBloom applied an increment that 8.12 refuses, or the reverse.
            "CMS.INCRBY"
                if mentions(recorded, "INCRBY overflow")
                    || mentions(recorded, "cannot be negative") =>
            {
                self.off.insert(key);
                true
            }
            // RedisBloom 8.12 appends a field.
            "CMS.INFO" if matches!(got, Reply::Array(_) | Reply::Map(_)) => {
                state.is_off || is_beginning(recorded, got)
            }
            // The numbers of nodes show whether the digest was compressed.
            "TDIGEST.INFO" if state.is_read || state.is_off => is_same_shape(recorded, got),
            "TDIGEST.CREATE" => {
                if arguments.len() == 3 && got.is_ok() {
                    let compression = std::str::from_utf8(&arguments[2]).ok();
                    let samples = self.samples.entry(key.clone()).or_default();
                    samples.compression = compression.and_then(|text| text.parse().ok());
                }
                self.is_follow_up(&key, recorded, got)
            }
            _ => {
                if command == "TDIGEST.ADD" && (state.is_read || self.adds_equal_samples(arguments))
                {
                    self.off.insert(key.clone());
                } else if reads_digest(command) {
                    self.read.insert(key.clone());
                }
                self.is_follow_up(&key, recorded, got)
                    || command == "CMS.INCRBY" && self.off.contains(&key)
            }
        }
    }

    /// Whether the reply is possible for a tracked key.
    fn is_follow_up(&self, key: &[u8], recorded: &Value, got: &Reply) -> bool {
        self.off.contains(key) && is_same_type(recorded, got)
            || self.missing.contains(key) && *got == error("ERR not found")
    }

    /// Tracks a merge, of which the first argument is the key.
    fn merge_digests(&mut self, arguments: &[Vec<u8>], recorded: &Value, got: &Reply) -> bool {
        let key = arguments.first().cloned().unwrap_or_default();
        let differs = |key: &Vec<u8>| self.off.contains(key) || self.read.contains(key);
        if !self.merges_agree || arguments.iter().any(differs) {
            self.off.insert(key.clone());
        }
        // RedisBloom compresses the sources of a merge.
        self.read.extend(arguments.iter().cloned());
        self.off.contains(&key) && is_same_type(recorded, got)
    }

    /// Whether a digest has equal samples after TDIGEST.ADD, and is large enough that they are compressed.
    fn adds_equal_samples(&mut self, arguments: &[Vec<u8>]) -> bool {
        let Some((key, added)) = arguments.split_first() else {
            return false;
        };
        let samples = self.samples.entry(key.clone()).or_default();
        samples.add(added);
        self.has_equal_samples && samples.are_compressed_with_runs()
    }

    /// Whether a script requests the INFO of a digest that was read.
    fn is_info_of_read_digest(&self, arguments: &[Vec<u8>]) -> bool {
        let start = b"return redis.call('TDIGEST.INFO'";
        let asks = (arguments.first()).is_some_and(|script| script.starts_with(start));
        let mut keys = script_keys(arguments).iter();
        asks && keys.any(|key| self.read.contains(key))
    }

    fn is_clear(&self) -> bool {
        self.read.is_empty() && self.off.is_empty()
    }

    fn state(&self, key: &[u8]) -> State {
        State {
            is_read: self.read.contains(key),
            is_off: self.off.contains(key),
        }
    }

    fn set(&mut self, key: &[u8], state: State) {
        self.read.remove(key);
        self.off.remove(key);
        self.read.extend(state.is_read.then(|| key.to_vec()));
        self.off.extend(state.is_off.then(|| key.to_vec()));
    }
}

/// Commands that make RedisBloom compress a digest.
fn reads_digest(command: &str) -> bool {
    let reads = "QUANTILE CDF RANK REVRANK BYRANK BYREVRANK TRIMMED_MEAN";
    let name = command.strip_prefix("TDIGEST.");
    reads.split(' ').any(|read| name == Some(read))
}

/// Whether a script contains a command that makes RedisBloom compress a digest.
fn script_reads_digest(script: &[u8]) -> bool {
    let script = String::from_utf8_lossy(script);
    script.split('\'').any(reads_digest)
}

/// The keys of EVAL, whose arguments are the script, the number of keys, and the keys.
fn script_keys(arguments: &[Vec<u8>]) -> &[Vec<u8>] {
    let count = arguments.get(1).map(|count| String::from_utf8_lossy(count));
    let count = count.and_then(|count| count.parse::<usize>().ok());
    let keys = count.and_then(|count| arguments.get(2..2 + count));
    keys.unwrap_or(&[])
}

fn mentions(recorded: &Value, text: &str) -> bool {
    recorded.to_string().contains(text)
}

/// Whether the reply starts with the recorded one and has further elements.
fn is_beginning(recorded: &Value, got: &Reply) -> bool {
    let Some(items) = recorded[1].as_array() else {
        return false;
    };
    let begins = match got {
        Reply::Array(got) if got.len() > items.len() => Reply::Array(got[..items.len()].to_vec()),
        Reply::Map(got) if got.len() > items.len() => Reply::Map(got[..items.len()].to_vec()),
        _ => return false,
    };
    super::compare::is_same(recorded, &begins, "CMS.INFO", &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Run {
        wanted: Wanted,
        number: usize,
    }

    impl Run {
        fn new(family: &str) -> Self {
            let (wanted, number) = (Wanted::new(family), 0);
            Self { wanted, number }
        }

        /// Whether a reply of the same type is accepted, and whether one of another type is.
        fn step(&mut self, command: &str, references: &[usize], recorded: &Value) -> [bool; 2] {
            self.step_with(command, references, recorded, Reply::Array(vec![]))
        }

        fn step_with(
            &mut self,
            command: &str,
            references: &[usize],
            recorded: &Value,
            got: Reply,
        ) -> [bool; 2] {
            let mut words = command.split(' ');
            let name = words.next().unwrap();
            let arguments: Vec<_> = words.map(|word| word.as_bytes().to_vec()).collect();
            let mut twin = self.wanted.clone();
            let allows = |wanted: &mut Wanted, got| {
                wanted.allows(self.number, references, name, &arguments, recorded, &got)
            };
            let other = allows(&mut twin, Reply::Push(vec![]));
            let same = allows(&mut self.wanted, got);
            self.number += 1;
            [same, other]
        }

        fn array(&mut self, command: &str) -> [bool; 2] {
            self.step(command, &[], &json!(["arr", []]))
        }
    }

    #[test]
    fn a_digest_differs_once_it_is_written_after_a_read() {
        let mut run = Run::new("tdigest");
        assert_eq!(run.array("TDIGEST.ADD a 1"), [false, false]);
        assert_eq!(run.array("TDIGEST.QUANTILE a 0.5"), [false, false]);
        assert_eq!(run.array("TDIGEST.QUANTILE a 0.5"), [false, false]);
        assert_eq!(run.array("TDIGEST.INFO a"), [true, false]);
        run.array("TDIGEST.ADD a 2");
        assert_eq!(run.array("TDIGEST.QUANTILE a 0.5"), [true, false]);
        assert_eq!(run.array("TDIGEST.QUANTILE b 0.5"), [false, false]);
        run.array("RENAME a b");
        assert_eq!(run.array("TDIGEST.QUANTILE b 0.5"), [true, false]);
        run.array("TDIGEST.RESET b");
        assert_eq!(run.array("TDIGEST.QUANTILE b 0.5"), [false, false]);
    }

    #[test]
    fn a_digest_of_equal_samples_differs_once_it_is_compressed() {
        for (family, differs) in [("tdigest", true), ("tdfresh", false)] {
            for (compression, compressed) in [(10, 8), (100, 36)] {
                let mut run = Run::new(family);
                let created = json!(["simple", "OK"]);
                let create = format!("TDIGEST.CREATE a COMPRESSION {compression}");
                run.step_with(&create, &[], &created, Reply::Simple(b"OK".to_vec()));
                for number in 2..compressed {
                    run.array(&format!("TDIGEST.ADD a {number}"));
                }
                run.array("TDIGEST.ADD a 2");
                assert_eq!(run.array("TDIGEST.MAX a"), [false, false]);
                run.array("TDIGEST.ADD a 1000");
                assert_eq!(run.array("TDIGEST.MAX a"), [differs, false]);
                run.array("TDIGEST.RESET a");
                for number in 0..compressed + 1 {
                    run.array(&format!("TDIGEST.ADD a {number}"));
                }
                assert_eq!(run.array("TDIGEST.MAX a"), [false, false]);
            }
        }
    }

    #[test]
    fn a_script_that_reads_counts_as_a_read() {
        let mut wanted = Wanted::new("mixed");
        let mut run = |script: &str, got: Reply| {
            let words = [script.as_bytes(), b"1", b"k"].map(<[u8]>::to_vec);
            let recorded = json!(["arr", [["str", "Merged nodes"], ["int", 3]]]);
            wanted.allows(0, &[], "EVAL", &words, &recorded, &got)
        };
        let info = "return redis.call('TDIGEST.INFO', KEYS[1])";
        let nodes = |nodes| {
            let name = Reply::Simple(b"Merged nodes".to_vec());
            Reply::Array(vec![name, Reply::Integer(nodes)])
        };
        assert!(!run(info, nodes(0)));
        run("return redis.call('TDIGEST.CDF', KEYS[1], 1)", nodes(3));
        assert!(run(info, nodes(0)));
        assert!(!run(info, Reply::Integer(0)));
    }

    #[test]
    fn a_difference_is_tracked_through_dumps() {
        let mut run = Run::new("tdigest");
        for command in ["TDIGEST.CDF a 1", "TDIGEST.ADD a 2", "DUMP a", "FLUSHALL"] {
            run.array(command);
        }
        assert_eq!(run.array("TDIGEST.CDF b 1"), [false, false]);
        run.step("RESTORE b 0 payload", &[2], &json!(["str", "OK"]));
        assert_eq!(run.array("TDIGEST.CDF b 1"), [true, false]);
        run.step("RESTORE b 0 payload", &[], &json!(["str", "OK"]));
        assert_eq!(run.array("TDIGEST.MIN b"), [false, false]);
    }

    #[test]
    fn a_key_that_differs_has_chunks_that_differ() {
        let mut run = Run::new("bf");
        run.wanted.follow(b"a", Effect::KeyDiffers);
        assert_eq!(run.array("BF.MADD a x"), [true, false]);
        run.array("BF.SCANDUMP a 0");
        run.step("BF.LOADCHUNK b 1 data", &[1], &json!(["str", "OK"]));
        assert_eq!(run.array("BF.MADD b x"), [true, false]);
        run.array("DEL a b");
        assert_eq!(run.array("BF.MADD a x"), [false, false]);
        assert_eq!(run.array("BF.MADD b x"), [false, false]);
    }

    #[test]
    fn not_found_is_the_only_accepted_error_for_a_missing_key() {
        let mut wanted = Wanted::new("errors");
        wanted.follow(b"k", Effect::KeyIsMissing);
        let mut allows = |key: &[u8], got: &str| {
            let (key, recorded) = ([key.to_vec()], json!(["arr", []]));
            wanted.allows(0, &[], "BF.INFO", &key, &recorded, &error(got))
        };
        assert!(allows(b"k", "ERR not found"));
        assert!(!allows(b"k", "ERR"));
        assert!(!allows(b"l", "ERR not found"));
    }

    #[test]
    fn merges_of_fresh_digests_agree_where_the_transcript_says_so() {
        let mut run = Run::new("tdfresh");
        run.array("TDIGEST.MERGE d 1 a");
        assert_eq!(run.array("TDIGEST.MIN d"), [false, false]);
        let mut run = Run::new("tdigest");
        run.array("TDIGEST.MERGE d 1 a");
        assert_eq!(run.array("TDIGEST.MIN d"), [true, false]);
    }

    #[test]
    fn a_sketch_differs_after_an_increment_that_8_12_handles_differently() {
        let mut run = Run::new("cms");
        assert_eq!(run.array("CMS.INCRBY s a 1"), [false, false]);
        let overflow = json!(["arr", [["err", "CMS: INCRBY overflow"]]]);
        assert_eq!(run.step("CMS.INCRBY s a 9", &[], &overflow), [true, true]);
        assert_eq!(run.array("CMS.QUERY s a"), [true, false]);
        assert_eq!(run.array("CMS.QUERY t a"), [false, false]);
        run.array("CMS.MERGE t 1 s");
        assert_eq!(run.array("CMS.QUERY t a"), [true, false]);
        assert_eq!(run.array("BF.EXISTS u a"), [false, false]);
    }

    #[test]
    fn a_fourth_field_of_cms_info_is_allowed_and_a_changed_third_is_not() {
        let recorded = json!(["arr", [["str", "count"], ["int", 3]]]);
        let info = |count, more: &[Reply]| {
            let known = [Reply::Simple(b"count".to_vec()), Reply::Integer(count)];
            Reply::Array([&known[..], more].concat())
        };
        let more = [Reply::Simple(b"saturated".to_vec()), Reply::Integer(0)];
        let allows = |got: &Reply| {
            let key = [b"s".to_vec()];
            Wanted::new("cms").allows(0, &[], "CMS.INFO", &key, &recorded, got)
        };
        assert!(allows(&info(3, &more)));
        assert!(!allows(&info(4, &more)));
        assert!(!allows(&info(4, &[])));
    }
}
