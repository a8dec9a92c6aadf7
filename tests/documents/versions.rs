//! The current version in documents and packaging files, and the versions of the tested servers.

use crate::support::page;
use crate::support::tested::{self, ON_EVERY_CHANGE};
use roughly::server::load::server_version::{NEWEST_REDIS, NEWEST_VALKEY};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Texts that precede the current version: names of packages and images, the log line about loading, and the address of a release.
const PREFIXES: &str = "roughly-|roughly_|roughly:|roughly-module:|`Roughly |download/v";

/// Files outside of the documents that name the current version.
const OTHER_FILES: [&str; 3] = [
    "packaging/kubernetes/Dockerfile",
    "packaging/kubernetes/charts/bitnami-valkey.yaml",
    "packaging/kubernetes/valkey-with-roughly.yaml",
];

/// Whether the text is a version number: three numbers with dots between them.
fn is_version(text: &str) -> bool {
    let mut numbers = text.split('.');
    text.split('.').count() == 3 && numbers.all(|number| number.parse::<u32>().is_ok())
}

/// The version numbers that follow one of [`PREFIXES`].
fn current_versions(text: &str) -> Vec<&str> {
    let rests = PREFIXES.split('|');
    let rests = rests.flat_map(|prefix| text.split(prefix).skip(1));
    let starts = rests.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        rest[..end.unwrap_or(rest.len())].trim_end_matches('.')
    });
    starts.filter(|start| is_version(start)).collect()
}

#[test]
fn documents_name_the_current_version() {
    let pages = page::all().into_iter();
    let pages = pages.map(|page| (page.path.display().to_string(), page.text));
    let others = OTHER_FILES.map(|path| {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        (path.to_owned(), text)
    });
    let mut files = 0;
    for (path, text) in pages.chain(others) {
        let versions = current_versions(&text);
        files += usize::from(!versions.is_empty());
        for version in versions {
            assert_eq!(version, VERSION, "{path}");
        }
    }
    assert!(files >= 5, "{files} files name the version");
    // The search finds each kind of name.
    for text in [
        "roughly-0.0.1-linux",
        "roughly_0.0.1_amd64",
        "x/roughly:0.0.1.",
        "x/roughly-module:0.0.1",
        "`Roughly 0.0.1 (…)",
    ] {
        assert_eq!(current_versions(text), ["0.0.1"], "{text}");
    }
}

/// `make release` uses the section of the version as the notes of the release.
#[test]
fn the_changelog_has_a_dated_section_for_the_version() {
    let text = fs::read_to_string("CHANGELOG.md").expect("the changelog");
    let mut headings = text.lines().filter_map(|line| line.strip_prefix("## "));
    let newest = headings.find(|heading| *heading != "[Unreleased]");
    let (version, date) = newest
        .and_then(|heading| heading.split_once(" - "))
        .expect("a version and a date");
    assert_eq!(version, format!("[{VERSION}]"));
    let numbers: Vec<_> = date.split('-').map(str::len).collect();
    assert_eq!(numbers, [4, 2, 2], "{date}");
    let is_date = date.chars().all(|c| c.is_ascii_digit() || c == '-');
    assert!(is_date, "{date}");
}

/// The versions of a kind in the file that `ROUGHLY_TESTED` names: one server per line, such as `Redis 8.6.3`.
fn recorded(file: &str, kind: &str) -> String {
    let rows = file.lines().filter_map(|line| line.split_once(' '));
    let versions = rows.filter(|(name, _)| *name == kind).map(|(_, version)| {
        let numbers = version.split('.').map(|part| part.parse::<u32>());
        let numbers = numbers.collect::<Result<Vec<_>, _>>();
        (numbers.expect("a version"), version)
    });
    let versions: BTreeSet<_> = versions.collect();
    let versions = versions.into_iter().map(|(_, version)| version);
    versions.collect::<Vec<_>>().join(", ")
}

/// The table of docs/versioning.md has the versions that the complete run of the test matrix recorded in the file `ROUGHLY_TESTED`; if
/// it is set, this test writes them. They are the servers with a version in their name and a newer one, above which the module logs a
/// line. tests/server/each_server/documents/versions.rs compares the table with every server of the matrix.
#[test]
fn the_tested_versions_are_those_of_the_test_matrix() {
    const PATH: &str = "docs/versioning.md";
    if let Some(file) = std::env::var_os("ROUGHLY_TESTED") {
        let file = fs::read_to_string(file).expect("the recorded versions");
        let page = fs::read_to_string(PATH).expect("the page");
        let rows = page.lines().map(|row| {
            let kind = row.split(' ').nth(1).unwrap_or_default();
            match row.ends_with(ON_EVERY_CHANGE) {
                true => format!("| {kind} | {} {ON_EVERY_CHANGE}\n", recorded(&file, kind)),
                false => format!("{row}\n"),
            }
        });
        fs::write(PATH, rows.collect::<String>()).expect("the page is written");
    }
    let names = Command::new("scripts/fetch.sh").arg("list").output();
    let names = String::from_utf8(names.expect("the names of the servers").stdout).expect("names");
    for (kind, newest) in [("Redis", NEWEST_REDIS), ("Valkey", NEWEST_VALKEY)] {
        let prefix = format!("{}-", kind.to_lowercase());
        let versions = names
            .lines()
            .filter_map(|name| name.strip_prefix(&*prefix))
            .map(|version| match version.split_once('.') {
                Some((major, minor)) => (major.parse().unwrap(), minor.parse().unwrap()),
                None => newest,
            });
        let versions: BTreeSet<_> = versions.collect();
        assert_eq!(
            versions.last(),
            Some(&newest),
            "{kind}: src/server/load/server_version.rs"
        );
        let listed = tested::listed(kind);
        let is_same = listed.iter().eq(&versions);
        assert!(is_same, "{kind}: {listed:?} instead of {versions:?}");
    }
}

/// The first sentence of both first pages ends with the newest tested versions.
#[test]
fn the_first_pages_name_the_supported_servers() {
    let (redis, valkey) = (NEWEST_REDIS, NEWEST_VALKEY);
    let servers = format!(
        "Redis 7.0 to {}.{} and Valkey 7.2 to {}.{}",
        redis.0, redis.1, valkey.0, valkey.1
    );
    for path in ["README.md", "docs/README.md"] {
        let text = fs::read_to_string(path).expect(path);
        assert!(text.contains(&servers), "{path}: {servers}");
    }
}
