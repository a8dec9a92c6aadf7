//! The current version in documents and packaging files.

use crate::support::page;
use std::fs;

/// The version of the module.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Texts that precede the current version: names of packages and images, and the log line about loading.
const PREFIXES: [&str; 4] = ["roughly-", "roughly_", "roughly:", "`Roughly "];

/// Files outside of the documents that name the current version.
const OTHER_FILES: [&str; 1] = ["packaging/kubernetes/valkey-with-roughly.yaml"];

/// Whether the text is a version number: three numbers with dots between them.
fn is_version(text: &str) -> bool {
    let mut numbers = text.split('.');
    text.split('.').count() == 3 && numbers.all(|number| number.parse::<u32>().is_ok())
}

/// The version numbers that follow one of [`PREFIXES`].
fn current_versions(text: &str) -> Vec<&str> {
    let rests = PREFIXES
        .iter()
        .flat_map(|prefix| text.split(prefix).skip(1));
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
        "`Roughly 0.0.1 (…)",
    ] {
        assert_eq!(current_versions(text), ["0.0.1"], "{text}");
    }
}

/// `make release` uses the section of the version as the notes of the release.
#[test]
fn the_changelog_has_a_dated_section_for_the_version() {
    let text = fs::read_to_string("CHANGELOG.md").expect("the changelog");
    let headings: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    assert_eq!(headings[0], "[Unreleased]");
    let (version, date) = headings[1].split_once(" - ").expect("a version and a date");
    assert_eq!(version, format!("[{VERSION}]"));
    let numbers: Vec<_> = date.split('-').map(str::len).collect();
    assert_eq!(numbers, [4, 2, 2], "{date}");
    assert!(
        date.chars().all(|c| c.is_ascii_digit() || c == '-'),
        "{date}"
    );
}
