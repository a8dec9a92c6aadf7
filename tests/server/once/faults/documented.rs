//! The errors on the pages of the commands.

use crate::families::position_of_part;
use crate::support::command_pages;
use crate::support::resp::Reply;
use crate::workload::Command;
use std::collections::BTreeMap;

/// The errors of the commands by name.
#[derive(Debug, Default)]
pub struct Documented(BTreeMap<String, Vec<String>>);

impl Documented {
    /// Whether the error is on the page of the command. SKETCH.WITHIN, SKETCH.BETWEEN and SKETCH.SERIES reply with the errors of the command they run.
    pub fn has(&mut self, command: &Command, error: &Reply) -> bool {
        let Reply::Error(error) = error else {
            return false;
        };
        let error = String::from_utf8_lossy(error);
        let name = |argument: usize| String::from_utf8_lossy(&command[argument]).to_lowercase();
        let mut names = vec![name(0)];
        if let Some(position) = position_of_part(&command[0]) {
            names.push(name(position));
        }
        names.into_iter().any(|name| {
            let errors = self.0.entry(name).or_insert_with_key(|name| errors(name));
            errors.iter().any(|text| matches(text, &error))
        })
    }
}

/// Whether an error is the one on a page, where `…` stands for any text.
fn matches(documented: &str, error: &str) -> bool {
    match documented.split_once('…') {
        Some((start, end)) => error.starts_with(start) && error.ends_with(end),
        None => error == documented,
    }
}

/// The errors of a command: the first column of the tables of its page's section of errors, and of the errors that the page omits.
fn errors(name: &str) -> Vec<String> {
    let pages = command_pages::all();
    let page = command_pages::find(&pages, &name.to_uppercase());
    let errors = [page.errors(), &page.shared_errors()].map(command_pages::listed_errors);
    errors.concat()
}
