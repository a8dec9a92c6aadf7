//! Programs: the tests start only programs that a minimal Debian system has or scripts/install.sh installs.

use crate::citations::listed;
use std::collections::BTreeSet;

/// These programs: of the packages bash, coreutils, dash, findutils and util-linux, git, and Chromium, which tests/sizing uses.
const PROGRAMS: [&str; 6] = ["bash", "chromium", "find", "git", "prlimit", "sh"];

#[test]
fn tests_start_only_programs_that_are_installed() {
    let mut started = BTreeSet::new();
    for path in listed(&["tests/*.rs", "crates/*.rs"]) {
        let text = std::fs::read_to_string(&path).expect("a source");
        for rest in text.split("Command::new(\"").skip(1) {
            let program = rest.split('"').next().expect("a name").to_owned();
            let is_script = program.starts_with("scripts/");
            if !is_script && !PROGRAMS.contains(&program.as_str()) {
                started.insert(format!("{}: {program}", path.display()));
            }
        }
    }
    assert!(started.is_empty(), "{started:#?}");
}
