//! The t-digests of a run: which of them RedisBloom compressed by reading them, and which answer differently.

use super::generator::name;
use crate::support::resp::Reply;
use crate::workload::Command;
use std::collections::{HashMap, HashSet};

/// What is known about the samples of a digest.
#[derive(Default, Clone)]
struct Digest {
    samples: HashSet<u64>,
    /// A sample was added twice.
    has_equal_samples: bool,
    /// A read compressed the digest in RedisBloom, but not in Roughly.
    was_read: bool,
}

#[derive(Default)]
pub struct Digests(HashMap<Vec<u8>, Digest>);

impl Digests {
    pub fn contains(&self, key: &[u8]) -> bool {
        self.0.contains_key(key)
    }

    /// Whether the digest has equal samples, whose order in RedisBloom is arbitrary.
    pub fn has_equal_samples(&self, key: &[u8]) -> bool {
        let digest = self.0.get(key);
        digest.is_some_and(|digest| digest.has_equal_samples)
    }

    pub fn has_one_sample(&self, key: &[u8]) -> bool {
        let digest = self.0.get(key);
        digest.is_some_and(|digest| digest.samples.len() == 1 && !digest.has_equal_samples)
    }

    /// The keys of a command whose digests RedisBloom compressed in a read, if the command depends on that. The caller makes
    /// the digests equal.
    pub fn take_read(&mut self, command: &Command) -> Vec<Vec<u8>> {
        let depends = ["TDIGEST.ADD", "TDIGEST.MERGE", "TDIGEST.INFO"];
        if !depends.contains(&name(command).as_str()) {
            return Vec::new();
        }
        let mut keys = command[1..].to_vec();
        keys.retain(|key| self.0.get(key).is_some_and(|digest| digest.was_read));
        for key in &keys {
            self.0.entry(key.clone()).or_default().was_read = false;
        }
        keys
    }

    /// Follows a command that both servers executed.
    pub fn follow(&mut self, command: &Command, reply: &Reply) {
        if reply.is_error() || command.len() < 2 {
            return;
        }
        let key = &command[1];
        match name(command).as_str() {
            "TDIGEST.CREATE" | "TDIGEST.RESET" => {
                drop(self.0.insert(key.clone(), Digest::default()))
            }
            "DEL" => self.0.retain(|key, _| !command[1..].contains(key)),
            "RENAME" => {
                let digest = self.0.remove(key);
                self.0.remove(&command[2]);
                let renamed = digest.map(|digest| (command[2].clone(), digest));
                self.0.extend(renamed);
            }
            "TDIGEST.ADD" => {
                let digest = self.0.entry(key.clone()).or_default();
                for sample in &command[2..] {
                    let sample = String::from_utf8_lossy(sample).parse::<f64>();
                    // -0 equals 0. A sample that only the server can parse counts as an equal one.
                    let is_new =
                        sample.is_ok_and(|sample| digest.samples.insert((sample + 0.0).to_bits()));
                    digest.has_equal_samples |= !is_new;
                }
            }
            "TDIGEST.MERGE" => self.merge(command),
            "TDIGEST.MIN" | "TDIGEST.MAX" | "TDIGEST.INFO" => {}
            name if name.starts_with("TDIGEST.") => {
                self.0.entry(key.clone()).or_default().was_read = true;
            }
            _ => {}
        }
    }

    fn merge(&mut self, command: &Command) {
        let count = std::str::from_utf8(&command[2]).expect("a number");
        let count: usize = count.parse().expect("a number");
        let overrides = |argument: &Vec<u8>| argument.eq_ignore_ascii_case(b"OVERRIDE");
        let (keys, options) = command[3..].split_at(count);
        let mut merged = match options.iter().any(overrides) {
            true => Digest::default(),
            false => self.0.get(&command[1]).cloned().unwrap_or_default(),
        };
        merged.was_read = false;
        for key in keys {
            let source = self.0.entry(key.clone()).or_default();
            // RedisBloom compresses the sources of a merge.
            source.was_read = true;
            merged.has_equal_samples |=
                source.has_equal_samples || !merged.samples.is_disjoint(&source.samples);
            merged.samples.extend(&source.samples);
        }
        self.0.insert(command[1].clone(), merged);
    }
}
