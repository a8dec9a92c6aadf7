//! The commands of the sweep.

use super::states::shortened;
use crate::families::valkey_bloom::load_payload;
use crate::families::{Family, SKETCH_USES, numbers};
use crate::support::resp::Connection;
use crate::workload::{Command, words};
use std::collections::HashSet;

/// Items of a command at most.
const MAX_ITEMS: u32 = 40;

/// The value of sizes.
const SIZES: [&str; 2] = ["1", "20"];

/// The commands for a type, with the placeholders KEY and SOURCE. SOURCE is another key of the type.
///
/// `connection` must have a SOURCE.
pub fn commands(connection: &mut Connection, family: &Family) -> Vec<Command> {
    let mut texts: Vec<String> = Vec::new();
    for (list, key) in [
        (family.uses, "K"),
        (SKETCH_USES, "K"),
        (family.reads, "KEY"),
        (family.idle, "KEY"),
        (&[family.change.0], "KEY"),
        (family.creations, "KEY"),
    ] {
        let shortened = |text: &&str| shortened(&text.replace("NEW", "new"), MAX_ITEMS);
        texts.extend(list.iter().map(|text| with_key(&shortened(text), key)));
    }
    for text in family.sizes {
        texts.extend(SIZES.map(|size| with_key(&text.replace('*', size), "K")));
    }
    for write in family.write_commands {
        let arguments = write.arguments.replace("NEW", "new");
        let text = format!("{} KEY {arguments}", family.command(write.name));
        texts.push(text.trim_end().to_owned());
    }
    for growth in family.growths {
        let count = (growth.items as u32).min(MAX_ITEMS);
        let (head, items) = growth.command.rsplit_once(' ').expect("items");
        let items = match items {
            "PAIRS" => numbers(7000, count).replace(' ', " 2 ") + " 2",
            _ => numbers(7000, count),
        };
        texts.push(format!("{head} {items}"));
    }
    if let Some(merge) = &family.merge {
        let name = family.command("MERGE");
        texts.push(format!("{name} KEY 1 SOURCE"));
        texts.push(format!("{name} KEY 3 SOURCE KEY SOURCE"));
        texts.push(merge.create.to_owned());
    }
    if family.prefix == "cf" {
        texts.push("CF.DEL KEY 7".to_owned());
    }
    if family.prefix == "tdigest" {
        texts.push("TDIGEST.MERGE KEY 2 SOURCE KEY COMPRESSION 50 OVERRIDE".to_owned());
    }
    // Another destination would keep its value.
    texts.retain(|text| !text.split(' ').any(|argument| argument == "K2"));
    let mut commands: Vec<_> = texts.iter().map(|text| words(text)).collect();
    // Chunks of the source.
    let chunks = family.chunks(connection, "SOURCE");
    for (iterator, chunk) in chunks.into_iter().take(3) {
        let head = format!("{} KEY {iterator}", family.command("LOADCHUNK"));
        commands.push([words(&head), vec![chunk]].concat());
    }
    if family.name == "bloomfltr" {
        let payload = load_payload(connection, "SOURCE");
        commands.push([words("BF.LOAD KEY"), vec![payload]].concat());
    }
    let mut seen = HashSet::new();
    commands.retain(|command| seen.insert(command.clone()));
    commands
}

/// The command with the placeholder KEY instead of `key`.
fn with_key(text: &str, key: &str) -> String {
    let mut arguments: Vec<_> = text.split(' ').collect();
    for argument in &mut arguments[1..] {
        if *argument == key {
            *argument = "KEY";
        }
    }
    arguments.join(" ")
}

pub fn on(command: &Command, key: &str, source: &str) -> Command {
    let argument = |argument: &Vec<u8>| match &argument[..] {
        b"KEY" => key.as_bytes().to_vec(),
        b"SOURCE" => source.as_bytes().to_vec(),
        _ => argument.clone(),
    };
    command.iter().map(argument).collect()
}

/// The command with the items that were not refused. `refused` has an element for each reply; the items after the last
/// reply were refused.
pub fn accepted(command: &Command, refused: &[bool]) -> Command {
    let is_keyword = |argument: &Vec<u8>| argument.eq_ignore_ascii_case(b"ITEMS");
    let is_limited = command[0].ends_with(b"INCRBYLIMIT");
    let first = match command.iter().position(is_keyword) {
        Some(keyword) => keyword + 1,
        None if is_limited => 3,
        None => 2,
    };
    let width = 1 + usize::from(is_limited || command[0].ends_with(b"INCRBY"));
    let (head, items) = command.split_at(first);
    let refused = refused.iter().chain(std::iter::repeat(&true));
    let kept = items.chunks(width).zip(refused);
    let kept = kept.filter(|(_, refused)| !**refused);
    let kept = kept.flat_map(|(item, _)| item);
    head.iter().chain(kept).cloned().collect()
}
