//! Records which type supports which feature of the server ("ability"). Tests append records to the file in the
//! environment variable `ROUGHLY_ABILITIES`, if set. scripts/test-matrix.sh sets it, and scripts/abilities.sh generates
//! docs/abilities.md from the records.

use std::fs::File;
use std::io::Write;

/// One line per ability: name, tab, description.
pub const ABILITIES: &str = include_str!("abilities.tsv");

/// The abilities that the defragmentation tests record; these tests run on a separate server.
pub const OF_DEFRAGMENTATION: &str = include_str!("abilities-defrag.tsv");

/// Records that a type has an ability on the server under test. Call it after all checks of the ability.
///
/// # Panics
/// If the tables do not list the ability.
pub fn record(ability: &str, type_name: &str) {
    let lines = ABILITIES.lines().chain(OF_DEFRAGMENTATION.lines());
    let mut names = lines.filter_map(|line| line.split('\t').next());
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
