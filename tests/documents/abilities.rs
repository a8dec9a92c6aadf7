//! Checks that docs/abilities.md is complete and matches the abilities that the tests record.

use crate::families::FAMILIES;
use crate::support::abilities::{ABILITIES, OF_DEFRAGMENTATION};
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cells of a table row, without surrounding spaces.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|');
    line.split('|').map(str::trim).collect()
}

/// The tables of a file: groups of lines that start with a vertical bar.
fn tables(text: &str) -> Vec<Vec<Vec<&str>>> {
    let mut tables = vec![Vec::new()];
    for line in text.lines() {
        if line.starts_with('|') {
            tables.last_mut().expect("a table").push(cells(line));
        } else if tables.last().is_some_and(|table| !table.is_empty()) {
            tables.push(Vec::new());
        }
    }
    tables.retain(|table| !table.is_empty());
    tables
}

/// The table has a row for every ability with its description, a column for every server, and "all eleven" in every
/// cell.
#[test]
fn the_table_of_abilities_is_complete() {
    let text = fs::read_to_string(root().join("docs/abilities.md")).expect("the table");
    let matrix = Command::new(root().join("scripts/fetch-servers.sh"))
        .arg("--list")
        .output()
        .expect("the names of the servers");
    let matrix = String::from_utf8(matrix.stdout).expect("names");
    let tables = tables(&text);
    let lists = [
        (ABILITIES, matrix.lines().collect::<Vec<_>>()),
        (OF_DEFRAGMENTATION, vec!["redis-defrag"]),
    ];
    assert_eq!(tables.len(), lists.len());
    for (table, (list, servers)) in tables.iter().zip(lists) {
        let wanted: Vec<_> = list
            .lines()
            .map(|line| {
                let (ability, meaning) = line.split_once('\t').expect("a name and a meaning");
                let filled = servers.iter().map(|_| "all eleven");
                let cells = [ability].into_iter().chain(filled).chain([meaning]);
                cells.collect::<Vec<_>>()
            })
            .collect();
        let head = ["ability"].into_iter().chain(servers.iter().copied());
        assert_eq!(
            table[0],
            head.chain(["what was checked"]).collect::<Vec<_>>()
        );
        assert_eq!(
            table[2..],
            wanted,
            "scripts/pages.sh abilities writes the table"
        );
    }
}

/// The list of types in the script is complete.
#[test]
fn the_table_of_abilities_lists_all_types() {
    let script = fs::read_to_string(root().join("scripts/abilities.sh")).expect("the script");
    let types = script
        .lines()
        .find_map(|line| line.strip_prefix("types=\""));
    let mut types: Vec<_> = types
        .expect("types")
        .trim_end_matches('"')
        .split(' ')
        .collect();
    let mut known: Vec<_> = FAMILIES.iter().map(|family| family.type_name).collect();
    types.sort_unstable();
    known.sort_unstable();
    assert_eq!(types, known);
}
