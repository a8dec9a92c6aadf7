//! Records which type supports which feature of the server ("ability"). Tests append records to the file in the
//! environment variable `ROUGHLY_ABILITIES`, if set. docs/abilities.md lists the abilities; tests/documents/abilities.rs
//! checks that the records are complete.

use std::fs::File;
use std::io::Write;

const PAGE: &str = include_str!("../../docs/abilities.md");

/// The abilities in the table below a heading of docs/abilities.md. A row can have several, with ` · ` between them.
pub fn listed(heading: &str) -> impl Iterator<Item = &'static str> {
    let lines = PAGE.lines().skip_while(move |line| *line != heading);
    let rows = lines.skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells = rows.filter_map(|row| row.split(" | ").next()?.strip_prefix("| "));
    cells.flat_map(|cell| cell.split(" · "))
}

/// The headings of both tables: all servers, and the server of the defragmentation tests.
pub const HEADINGS: [&str; 2] = ["## On every server", "## Active defragmentation"];

/// Whether this run records abilities. Then each type must have all of them, also in a sample.
#[allow(dead_code)] // Not all test programs use it.
pub fn are_recorded() -> bool {
    std::env::var_os("ROUGHLY_ABILITIES").is_some()
}

/// Records that a type has an ability on the server under test. Call it after all checks of the ability.
pub fn record(ability: &str, type_name: &str) {
    let mut names = HEADINGS.into_iter().flat_map(listed);
    assert!(
        names.any(|name| name == ability),
        "unknown ability: {ability}"
    );
    let Some(path) = std::env::var_os("ROUGHLY_ABILITIES") else {
        return;
    };
    let file = File::options().create(true).append(true).open(&path);
    let mut file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // A single write, so that lines of concurrent tests are not interleaved.
    file.write_all(format!("{ability}\t{type_name}\n").as_bytes())
        .expect("a record");
}
