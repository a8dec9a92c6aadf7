//! The arguments that make a command do the most work.

use super::keys::{PANE_MS, Sizes, current_pane, item, units};
use super::types::{PARTS, Type};
use crate::families::valkey_bloom::load_payload;
use crate::families::{Family, position_of_part};
use crate::support::resp::{Connection, Reply};
use crate::workload::{Command, words};

/// Short items of a command.
pub const SHORT_ITEMS: u64 = 100;
const LONG_BYTES: usize = 1 << 20;

/// Last arguments that are read from the largest key.
const FROM_KEY: [&str; 3] = ["HEADER", "PAYLOAD", "DUMP"];

/// An item of 1 MiB.
pub fn long_item() -> Vec<u8> {
    vec![b'x'; LONG_BYTES]
}

#[derive(Debug, Clone)]
pub struct Call {
    pub command: Command,
    /// The text on the page: the template without the key, or a description of its last argument.
    pub text: String,
    pub items: u64,
    /// How many of its arguments are keys of this size.
    pub keys: u64,
    /// Whether it creates a key, whatever the largest key is.
    pub is_creation: bool,
}

impl Call {
    /// The position of the command's name: after the command that runs it on a part of the window, and its arguments.
    fn first(&self) -> usize {
        position_of_part(&self.command[0]).unwrap_or(0)
    }

    /// Whether it is a read of each pane, which processes the whole key.
    pub fn is_series(&self) -> bool {
        self.command[0] == b"SKETCH.SERIES"
    }

    /// The name of the command, without the one that runs it on a part of the window.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.command[self.first()]).into_owned()
    }

    /// The name in the table.
    pub fn title(&self) -> String {
        let before = String::from_utf8_lossy(&self.command[0]).into_owned();
        match self.first() {
            0 => before,
            _ => format!("{before} {}", self.name()),
        }
    }

    pub fn key_index(&self) -> usize {
        self.first() + 1
    }
}

/// The commands of a template. `base` is the key that `SOURCE` stands for. An item (`ITEM`) is long or short; several items
/// (`ITEMS`, `PAIRS` with increments, numbers as `VALUES`, `RANKS` or `FRACTIONS`) are one long item, or 100 short ones: items
/// of the key, others, or equal ones.
pub fn calls(
    connection: &mut Connection,
    family: &Family,
    template: &str,
    base: &str,
    sizes: &Sizes,
) -> Vec<Call> {
    let is_key = |word: &&str| ["KEY", "SOURCE"].contains(word);
    let keys = template.split(' ').filter(is_key).count();
    let mut parts = PARTS.iter();
    let of_command = parts.find_map(|(_, before)| template.strip_prefix(before));
    let of_command = of_command.unwrap_or(template);
    let part = (units(sizes) * *PANE_MS / 2).max(*PANE_MS);
    let (head, last) = template.rsplit_once(' ').expect("arguments");
    let head = head.split(' ').map(|word| match word {
        "SOURCE" => base.into(),
        "PART" => part.to_string().into_bytes(),
        // A window of one pane has no shorter period.
        "PAST" if units(sizes) == 1 => b"+".to_vec(),
        "PAST" => format!("-{part}").into_bytes(),
        word => word.into(),
    });
    let head: Command = head.collect();
    let last_word = last;
    let call = |last: Vec<Vec<u8>>, text: &str, items: u64| Call {
        command: [head.clone(), last].concat(),
        text: text.to_owned(),
        items,
        keys: keys as u64,
        is_creation: keys == 0 && !FROM_KEY.contains(&last_word),
    };
    let panes = units(sizes) + 1;
    let many = |item: &dyn Fn(u64) -> Vec<Vec<u8>>| (0..SHORT_ITEMS).flat_map(item).collect();
    let number = |number: f64| vec![number.to_string().into_bytes()];
    let long = |start: &str, digit: u8| vec![[start.as_bytes(), &vec![digit; LONG_BYTES]].concat()];
    let numbers = |long: Vec<Vec<u8>>, number: &dyn Fn(u64) -> Vec<Vec<u8>>| {
        let short = call(many(number), "100 numbers", SHORT_ITEMS);
        vec![call(long, "a number of 1 MiB", 1), short]
    };
    let present = |number: u64| item(number * 7 % panes, number);
    match last {
        "ITEM" => vec![
            call(vec![long_item()], "an item of 1 MiB", 1),
            call(vec![present(1)], "an item of the key", 1),
            call(vec![b"other".to_vec()], "another item", 1),
        ],
        "ITEMS" | "PAIRS" => {
            let of_item = |item: Vec<u8>| match last {
                "ITEMS" => vec![item],
                _ => vec![item, b"100000".to_vec()],
            };
            let short = |text: &str, item: &dyn Fn(u64) -> Vec<u8>| {
                call(many(&|number| of_item(item(number))), text, SHORT_ITEMS)
            };
            vec![
                call(of_item(long_item()), "an item of 1 MiB", 1),
                short("100 items of the key", &present),
                short("100 other items", &|number| item(u64::MAX, number)),
                short("100 equal items", &|_| item(u64::MAX, 0)),
            ]
        }
        "VALUES" => numbers(long("0.", b'3'), &|n| number(n as f64 * 42_949_672.95)),
        "RANKS" => numbers(long("", b'0'), &|n| number((n * n) as f64)),
        "FRACTIONS" => numbers(long("0.", b'3'), &|n| number(n as f64 / SHORT_ITEMS as f64)),
        "NOW" => vec![call(vec![current_pane().to_string().into_bytes()], "", 1)],
        "HEADER" | "CHUNK" => {
            let header = family.scan(connection, base, 0);
            let (text, chunk) = match (last, header) {
                ("CHUNK", header) => {
                    let (first, _) = header.expect("a header");
                    ("a chunk", family.scan(connection, base, first))
                }
                (_, header) => ("the header", header),
            };
            let chunk = chunk.map(|(next, chunk)| vec![next.to_string().into_bytes(), chunk]);
            let call = chunk.map(|chunk| call(chunk, text, 1));
            call.into_iter().collect()
        }
        "PAYLOAD" => vec![call(vec![load_payload(connection, base)], "", 1)],
        "DUMP" => vec![call(vec![connection.payload(base)], "", 1)],
        "KEY" | "SOURCE" if of_command.split(' ').count() == 2 => vec![call(words(last), "", 1)],
        _ => {
            let last = if last == "SOURCE" { base } else { last };
            let (_, text) = of_command.split_once(' ').unwrap_or_default();
            let text = text.replace("SOURCE", "KEY").replace("KEY", "key");
            vec![call(words(last), &text, 1)]
        }
    }
}

/// Whether the type may reply with this error to the command: a refusal, or a number or item that is too long.
pub fn is_accepted(of_type: &Type, call: &Call, reply: &Reply) -> bool {
    match reply {
        Reply::Error(text) => {
            let text = String::from_utf8_lossy(text);
            of_type.may_refuse(&call.name(), &text) || call.text == "a number of 1 MiB"
        }
        _ => true,
    }
}
