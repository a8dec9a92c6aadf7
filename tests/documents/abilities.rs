//! Checks that docs/abilities.md lists the servers and types, and that the tests record its abilities for each type.

use crate::support::abilities::{HEADINGS, listed};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn types() -> Vec<&'static str> {
    let types = roughly::MODULE.families.iter();
    let types = types.flat_map(|family| family.data_types);
    types
        .map(|data_type| data_type.name.to_str().expect("UTF-8"))
        .collect()
}

#[test]
fn the_page_lists_all_servers_and_types() {
    let text = fs::read_to_string(root().join("docs/abilities.md")).expect("the page");
    let matrix = Command::new(root().join("scripts/fetch.sh"))
        .arg("list")
        .output()
        .expect("the names of the servers");
    let matrix = String::from_utf8(matrix.stdout).expect("names");
    assert!(!matrix.is_empty());
    for name in matrix.lines().chain(types()) {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
    assert_eq!(listed(HEADINGS[0]).count(), 28);
    assert_eq!(listed(HEADINGS[1]).count(), 1);
}

/// The records in the directory `ROUGHLY_ABILITIES`, one file per server, have every ability for each type.
#[test]
#[ignore = "needs the records of scripts/test-matrix.sh: ROUGHLY_ABILITIES"]
fn the_recorded_abilities_are_complete() {
    let directory = std::env::var_os("ROUGHLY_ABILITIES").expect("a directory");
    let (mut missing, mut files) = (BTreeSet::new(), 0);
    for file in fs::read_dir(directory).expect("the records") {
        files += 1;
        let path = file.expect("a file").path();
        let server = path.file_stem().expect("a name").to_string_lossy();
        let records = fs::read_to_string(&path).expect("records");
        let records: BTreeSet<_> = records.lines().collect();
        for ability in listed(HEADINGS[usize::from(server == "redis-defrag")]) {
            for name in types() {
                let record = format!("{ability}\t{name}");
                if !records.contains(&*record) {
                    missing.insert(format!("{server}: {record}"));
                }
            }
        }
    }
    assert!(
        files > 0 && missing.is_empty(),
        "{files} files: {missing:#?}"
    );
}
