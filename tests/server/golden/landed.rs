//! Leaves out of the recordings what belongs to families that are not built yet.
//!
//! When a family lands: add its prefix to [`LANDED`], move its lines from [`AWAITED`] to `transcripts!` in
//! golden_transcripts.rs, and give its dumps two tests in golden_dumps.rs. To be removed, with its uses,
//! when all five are there.

use super::recorded::{Step, bytes};
use std::collections::HashSet;

/// Prefixes of the commands of the families that are built.
const LANDED: &[&str] = &["BF.", "CF.", "CMS.", "TOPK.", "TDIGEST."];
/// Prefixes of the commands of all families.
const ALL: [&str; 5] = ["BF.", "CF.", "CMS.", "TOPK.", "TDIGEST."];

/// Transcripts that wait for a family, since nearly all of their commands are of those missing or mix
/// families in transactions and scripts.
pub const AWAITED: &[&str] = &["2.8/mixed-102", "8.10/mixed-101", "8.10/quirks-101"];

/// Whether a family, named as in the manifests, is built.
pub fn is_landed(family: &str) -> bool {
    LANDED
        .iter()
        .any(|prefix| prefix.trim_end_matches('.').eq_ignore_ascii_case(family))
}

/// Of each step whether it can be replayed: it is no command of a missing family, names no key that
/// such a command names, and needs no reply of a step that is left out.
pub fn replayable(steps: &[Step]) -> Vec<bool> {
    let mut foreign: HashSet<Vec<u8>> = steps
        .iter()
        .filter(|step| is_foreign(step) && !matches!(&*step.name(), "COMMAND" | "CONFIG"))
        .filter_map(|step| step.command.get(1).map(bytes))
        .collect();
    let mut kept = Vec::new();
    for step in steps {
        let names_foreign_key = || {
            let plain = step.command[1..].iter().filter(|a| a.get("rep").is_none());
            let mut plain = plain.filter(|a| a.get("ref").is_none()).map(bytes);
            plain.any(|argument| foreign.contains(&argument))
        };
        let is_kept =
            !is_foreign(step) && !names_foreign_key() && step.references().all(|i| kept[i]);
        if !is_kept && step.name().ends_with(".MERGE") {
            // What it would have made is missing too.
            foreign.insert(bytes(&step.command[1]));
        }
        kept.push(is_kept);
    }
    kept
}

/// Whether a step is about a family that is not built: by its command, or by the command or the option
/// that COMMAND and CONFIG are asked about.
fn is_foreign(step: &Step) -> bool {
    let subject = match step.name().as_str() {
        "COMMAND" => step.command[2].as_str().unwrap_or("").to_uppercase(),
        "CONFIG" => step.command[2]
            .as_str()
            .unwrap_or("")
            .to_uppercase()
            .replace('-', "."),
        name => name.to_owned(),
    };
    ALL.iter()
        .any(|prefix| subject.starts_with(prefix) && !LANDED.contains(prefix))
}
