//! MEMORY USAGE of a key does not grow when the key is saved and loaded, restored or copied.

use crate::families::Usage::{AtMost, Equal};
use crate::families::{self, FAMILIES, Family, MemoryCase, memory_case, on_key, range};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use crate::workload::{Random, Workload, words};
use std::collections::BTreeMap;

/// Memory usage of each key by name.
type Usage = BTreeMap<Vec<u8>, i64>;

fn cases() -> Vec<MemoryCase> {
    let cases = FAMILIES.iter().flat_map(|family| {
        let memory = &family.memory;
        let mut cases = vec![
            memory_case(memory.after_build, family.build),
            memory_case(memory.after_reads, &[family.build, family.reads].concat()),
            memory_case(Equal, family.build_large),
        ];
        cases.extend((memory.cases)());
        cases
    });
    cases.collect()
}

/// Runs the commands of a [`MemoryCase`] on a key. None may fail.
fn run(connection: &mut Connection, commands: &[String], key: &str) {
    for command in commands {
        let commands = match command.strip_prefix("each:") {
            None => vec![on_key(command, key)],
            Some(command) => {
                let (head, numbers) = range(command).expect("numbers");
                let head = head.replace("KEY", key);
                numbers.map(|n| format!("{head} {n}")).collect()
            }
        };
        for command in &commands {
            connection.write(&words(command)).expect("a command");
        }
        for command in &commands {
            let reply = connection.read().expect("a reply");
            assert!(!reply.is_error(), "{command}: {reply}");
        }
    }
}

fn usage(connection: &mut Connection, key: &[u8]) -> i64 {
    let usage = connection.send(&[&b"MEMORY"[..], b"USAGE", key]).integer();
    usage.unwrap_or_else(|| panic!("no key {}", String::from_utf8_lossy(key)))
}

fn usage_of_all(connection: &mut Connection) -> Usage {
    let mut usages = Usage::new();
    for key in connection.keys() {
        let usage = usage(connection, &key);
        usages.insert(key, usage);
    }
    usages
}

/// Encodes the expectation in one byte of the name, so that all names have the same length: the server's part of
/// MEMORY USAGE depends on it.
fn name(prefix: char, number: usize, after: families::Usage) -> String {
    let after = if after == Equal { 'e' } else { 'a' };
    format!("{prefix}:{number:04}:{after}")
}

/// Compares the usage of a key with that of the key that it was loaded or copied from.
fn check(wrong: &mut Vec<String>, what: &str, key: &str, before: i64, after: i64) {
    let expected = match key.as_bytes()[7] {
        b'e' => after == before,
        _ => after <= before,
    };
    if !expected {
        let line = format!("{key}, {what}: {before} bytes before, {after} after");
        wrong.push(line);
    }
}

fn check_all(wrong: &mut Vec<String>, what: &str, before: &Usage, after: &Usage) {
    assert_eq!(before.len(), after.len());
    for (key, &bytes) in before {
        let key_text = String::from_utf8_lossy(key);
        check(wrong, what, &key_text, bytes, after[key]);
    }
}

fn assert_none(wrong: &[String], cases: &[MemoryCase]) {
    let list = wrong.iter().map(|line| {
        let number: usize = line[2..6].parse().expect("a number");
        let commands = cases[number].commands.join("; ");
        let commands: String = commands.chars().take(150).collect();
        format!("{line} ({commands})")
    });
    let list: Vec<_> = list.collect();
    assert!(list.is_empty(), "{} keys:\n{}", list.len(), list.join("\n"));
}

/// Creates a key for each case.
fn build_all(connection: &mut Connection, cases: &[MemoryCase]) {
    for (number, case) in cases.iter().enumerate() {
        let key = name('k', number, case.usage);
        run(connection, &case.commands, &key);
        connection.call(&format!("DEL {key}{{2}}"));
    }
}

fn family_of(connection: &mut Connection, key: &str) -> &'static Family {
    Family::of_type(connection.send(&["TYPE", key]).string().as_bytes())
}

#[test]
fn a_restored_or_copied_key_takes_no_more_memory_than_the_original() {
    let (server, mut connection) = Server::start().connected();
    let cases = cases();
    build_all(&mut connection, &cases);
    let mut wrong = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let key = name('k', number, case.usage);
        let before = usage(&mut connection, key.as_bytes());
        let copies = ['r', 'c', 'l'].map(|prefix| name(prefix, number, case.usage));
        let [restored, copied, chunked] = &copies;
        let payload = &connection.payload(&key);
        let reply = connection.restore(restored, payload);
        assert!(reply.is_ok(), "{reply}");
        connection.check(&format!("COPY {key} {copied}"), ":1");
        let family = family_of(&mut connection, &key);
        let mut other = server.resp2();
        family.copy_in_chunks(&mut connection, &key, &mut other, chunked);
        for (what, copy) in ["RESTORE", "COPY", "LOADCHUNK"].into_iter().zip(&copies) {
            if connection.send(&["EXISTS", copy]) == Reply::Integer(1) {
                let after = usage(&mut connection, copy.as_bytes());
                check(&mut wrong, what, &key, before, after);
            } else {
                let is_empty = what == "LOADCHUNK" && family.has_no_chunks_when_empty;
                assert!(is_empty, "{what} {key}");
            }
        }
        connection.call(&format!("DEL {restored} {copied} {chunked}"));
    }
    assert_none(&wrong, &cases);
}

#[test]
fn a_reload_or_restart_leaves_no_key_with_more_memory() {
    let options = Options::new().module_arguments(&["cf-max-expansions", "1000"]);
    let (mut server, mut connection) = options.start().connected();
    let cases = cases();
    build_all(&mut connection, &cases);
    // If a change makes a copy grow, it grows from the size of the copy, not from that of the original.
    for (number, case) in cases.iter().enumerate() {
        let key = name('k', number, case.usage);
        let copy = name('c', number, AtMost);
        connection.check(&format!("COPY {key} {copy}"), ":1");
        if let Some(change) = family_of(&mut connection, &key).memory.change {
            run(&mut connection, &[change.to_owned()], &copy);
        }
    }
    let mut wrong = Vec::new();
    let mut before = usage_of_all(&mut connection);
    for compression in ["yes", "no"] {
        connection.send(&["CONFIG", "SET", "rdbcompression", compression]);
        connection.ok("DEBUG RELOAD");
        let after = usage_of_all(&mut connection);
        check_all(&mut wrong, "DEBUG RELOAD", &before, &after);
        before = after;
    }
    connection.ok("SAVE");
    server.restart();
    let after = usage_of_all(&mut server.resp2());
    check_all(&mut wrong, "restart", &before, &after);
    assert_none(&wrong, &cases);
}

/// Keys with a long history of random commands, in every family.
#[test]
fn a_reload_adds_no_memory_to_keys_with_a_random_history() {
    let (mut server, mut connection) = Server::start().connected();
    let mut workload = Workload::new(15, "", 40);
    workload.create(&mut connection);
    let mut random = Random::new(15);
    for round in 0..4 {
        workload.run(&mut connection, 4000);
        let before = usage_of_all(&mut connection);
        assert!(before.len() > 150, "{} keys", before.len());
        if random.one_in(2) {
            connection.ok("DEBUG RELOAD");
        } else {
            connection.ok("SAVE");
            server.restart();
            connection = server.resp2();
        }
        for (key, after) in usage_of_all(&mut connection) {
            let before = before[&key];
            let key = String::from_utf8_lossy(&key);
            let what = format!("round {round}, {key}");
            assert!(
                after <= before,
                "{what}: {before} bytes before, {after} after"
            );
        }
    }
}
