//! Bloom filters of valkey-bloom's type, and the settings `bf-new-keys` and `bf-replies` (docs/configuration.md).

mod aof;
mod dialects;
mod events;
mod limits;
mod options;
mod propagation;
mod recorded_files;
pub mod recorded_keys;
mod recorded_stream;
mod replicated;
pub mod replication;
mod settings;

use crate::support::resp::error;
use crate::support::server::{Options, Server};
use crate::workload::{Command as Words, words};

/// A server that replaces valkey-bloom: it creates keys of its type and replies as it does.
fn with_random_seeds() -> Options {
    Options::new().module_arguments(&["bf-new-keys", "valkey-bloom", "bf-replies", "valkey-bloom"])
}

/// [`with_random_seeds`], but new keys have the fixed seed, so that their false positives are the same in each run. Small
/// filters have many more of them than the error rate: two hashes determine all bits of each item.
pub fn replacement() -> Options {
    with_random_seeds().module_arguments(&["bloom-use-random-seed", "no"])
}

/// Logs commands without a preamble. Test servers do not synchronize the file, so they write it before they reply.
pub const AOF: &[&str] = &["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];

/// The seed of new keys if `bf.bloom-use-random-seed` is `no`.
fn fixed_seed() -> Vec<u8> {
    let hex = "590ff522ea7811daa714d8093b3e7bd91d898a733e988887307f97cd28073383";
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// [`words`], in which `SEED` is followed by this seed.
fn with_seed(command: &str, seed: &[u8]) -> Words {
    let mut words = words(command);
    if let Some(at) = words.iter().position(|word| word == b"SEED") {
        words.insert(at + 1, seed.to_vec());
    }
    words
}

const SEED: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

/// The commands of the part of the append-only file whose name has this end, except for SELECT.
fn logged_in(server: &Server, end: &str) -> Vec<Words> {
    server.wait_until_logged();
    let log = std::fs::read(&server.aof_parts(end)[0]).expect("a log");
    let mut commands = Vec::new();
    let mut rest = &log[..];
    while !rest.is_empty() {
        // Lines of annotations begin with `#`.
        let (line, after) = line(rest);
        rest = after;
        let Some(count) = line.strip_prefix('*') else {
            continue;
        };
        let mut command = Words::new();
        for _ in 0..count.parse::<usize>().expect("a number") {
            let (length, after) = self::line(rest);
            let length: usize = length[1..].parse().expect("a length");
            command.push(after[..length].to_vec());
            rest = &after[length + 2..];
        }
        if !command[0].eq_ignore_ascii_case(b"SELECT") {
            commands.push(command);
        }
    }
    commands
}

/// The first line, and the bytes after it.
fn line(bytes: &[u8]) -> (&str, &[u8]) {
    let end = bytes.windows(2).position(|end| end == b"\r\n");
    let end = end.expect("a line");
    let line = std::str::from_utf8(&bytes[..end]).expect("text");
    (line, &bytes[end + 2..])
}

/// The commands since the start or the last rewrite, except for SELECT.
pub fn logged_with_transactions(server: &Server) -> Vec<Words> {
    logged_in(server, ".incr.aof")
}

/// [`logged_with_transactions`] without MULTI and EXEC.
pub fn logged(server: &Server) -> Vec<Words> {
    let mut commands = logged_with_transactions(server);
    commands.retain(|command| !["MULTI", "EXEC"].map(words).contains(command));
    commands
}
