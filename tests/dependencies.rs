//! What the module is built of: every crate has a licence that allows what ours does, and comes from the
//! one registry with a checksum in Cargo.lock.
//!
//! Databases of advisories are kept on git hosts; where one can be had, `cargo audit` adds what this test
//! cannot know.

use serde_json::Value;
use std::process::Command;

/// Licences without conditions beyond keeping their notice. An `OR` needs one of them, an `AND` all.
const ALLOWED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
/// Crates that name a file instead of a licence, with what the file is.
const IN_A_FILE: [(&str, &str); 1] = [("fuchsia-cprng", "BSD-3-Clause")];
/// The crates that the module itself names. One more is a decision, not an accident.
const DIRECT: [&str; 5] = ["crc", "libc", "libm", "redis-module", "thiserror"];

/// What `cargo metadata` says. It needs no network: building the tests fetched all crates.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .arg("--manifest-path")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .output()
        .expect("cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Whether an SPDX expression is satisfied by the allowed licences.
fn is_allowed(expression: &str) -> bool {
    expression.replace('/', " OR ").split(" AND ").all(|part| {
        part.trim_matches(['(', ')'])
            .split(" OR ")
            .any(|licence| ALLOWED.contains(&licence.trim_matches(['(', ')', ' '])))
    })
}

#[test]
fn expressions_are_read_as_they_are_meant() {
    for allowed in ["MIT", "Apache-2.0/MIT", "(MIT OR GPL-3.0) AND Unicode-3.0"] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "SSPL-1.0 OR AGPL-3.0", ""] {
        assert!(!is_allowed(refused), "{refused}");
    }
}

#[test]
fn every_crate_has_a_licence_and_a_known_source() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 20);
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let in_a_file = IN_A_FILE.iter().find(|(known, _)| *known == name);
        let licence = package["license"].as_str().or(in_a_file.map(|file| file.1));
        assert!(
            licence.is_some_and(is_allowed),
            "{name} has the licence {licence:?}"
        );
        let source = package["source"].as_str();
        assert!(
            name == env!("CARGO_PKG_NAME") || source.is_some_and(|s| s.starts_with("registry+")),
            "{name} comes from {source:?}"
        );
    }
}

#[test]
fn the_module_names_few_crates() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let ours = packages
        .iter()
        .find(|package| package["name"] == env!("CARGO_PKG_NAME"))
        .expect("this package");
    let mut direct: Vec<_> = ours["dependencies"]
        .as_array()
        .expect("dependencies")
        .iter()
        .filter(|dependency| dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .collect();
    direct.sort_unstable();
    assert_eq!(direct, DIRECT);
}
