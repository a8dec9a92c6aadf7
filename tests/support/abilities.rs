//! Which type has which ability. Tests record it in the file that `ROUGHLY_ABILITIES` names, if it is set;
//! scripts/test-matrix.sh sets it, and scripts/abilities.sh makes docs/abilities.md of the records.

use std::fs::File;
use std::io::Write;

/// A line for each ability: its name, a tab, its meaning.
pub const ABILITIES: &str = include_str!("abilities.tsv");

/// The same of the tests of active defragmentation, which run on a server of their own.
pub const OF_DEFRAGMENTATION: &str = include_str!("abilities-defrag.tsv");

/// Records that a type has an ability on the server under test. To be called when all was checked.
///
/// # Panics
/// If the table has no such ability.
pub fn record(ability: &str, type_name: &str) {
    let lines = ABILITIES.lines().chain(OF_DEFRAGMENTATION.lines());
    let mut names = lines.filter_map(|line| line.split('\t').next());
    assert!(
        names.any(|name| name == ability),
        "no table of abilities has {ability}"
    );
    let Some(path) = std::env::var_os("ROUGHLY_ABILITIES") else {
        return;
    };
    let file = File::options().create(true).append(true).open(&path);
    let mut file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // One write, so that lines of several threads do not mix.
    file.write_all(format!("{ability}\t{type_name}\n").as_bytes())
        .expect("a record");
}
