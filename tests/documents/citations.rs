//! Citations in comments: a cited page exists, and so does the heading that a comment names after it.

use crate::support::page::Page;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The comment in a line of source code.
fn comment(line: &str) -> Option<&str> {
    let start = line.trim_start();
    if start.starts_with("//") || (start.starts_with('#') && !start.starts_with("#[")) {
        return Some(start);
    }
    line.find(" // ").map(|position| &line[position..])
}

/// The comments of a source file. Citations may continue on the next line.
fn comments(text: &str) -> String {
    let comments = text.lines().filter_map(comment);
    let lines = comments.map(|line| line.trim_start_matches(['/', '#', '!', ' ']));
    lines.collect::<Vec<_>>().join(" ")
}

/// The pages that a text cites, each with the text after it.
fn citations(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices(".md").filter_map(|(end, _)| {
        let rest = &text[end + 3..];
        let is_end = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_name = |c: char| c.is_alphanumeric() || "-_./*".contains(c);
        let start = text[..end].rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
        let name = &text[start..end + 3];
        let is_file = is_end && name.len() > 3 && !name.contains('*');
        is_file.then_some((name, rest))
    })
}

/// The heading in quotes after a citation: `docs/contributing/formats.md, "Bloom filters"`.
fn heading(rest: &str) -> Option<&str> {
    rest.strip_prefix(", \"")?.split('"').next()
}

/// What a file cites and does not exist. Paths begin at the root or at the directory of the file.
fn missing(path: &Path, text: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, rest) in citations(&comments(text)) {
        let beside = path.parent().unwrap_or(Path::new("")).join(name);
        let found = [PathBuf::from(name), beside];
        let Some(page) = found.iter().find(|page| page.is_file()) else {
            missing.push(format!("{}: {name}", path.display()));
            continue;
        };
        if let Some(heading) = heading(rest) {
            let page = Page::read(page);
            let has = |level: usize| {
                let line = format!("{} {heading}", "#".repeat(level));
                page.text.lines().any(|found| found == line)
            };
            if !(1..=6).any(has) {
                missing.push(format!("{}: {name}, \"{heading}\"", path.display()));
            }
        }
    }
    missing
}

#[test]
fn cited_pages_and_headings_exist() {
    let patterns = ["*.rs", "*.sh", "*.py", "*.c", "*.mjs", "*.go", ".ci/run"];
    let listed = Command::new("git").arg("ls-files").args(patterns).output();
    let listed = String::from_utf8(listed.expect("git").stdout).expect("names");
    let mut cited = 0;
    let mut all = Vec::new();
    for path in listed.lines().map(Path::new).filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(path).expect("a source");
        cited += citations(&comments(&text)).count();
        all.extend(missing(path, &text));
    }
    assert!(cited > 50, "{cited} citations");
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn missing_pages_and_headings_are_found() {
    let path = Path::new("src/lib.rs");
    let text = "// docs/none.md, and README.md, \"No such heading\".\n//! docs/versioning.md, \"Supported\n//! servers\"";
    let found = missing(path, text);
    let expected = ["docs/none.md", "README.md, \"No such heading\""];
    assert_eq!(found, expected.map(|cited| format!("src/lib.rs: {cited}")));
    assert_eq!(comment("let x = 1; // why"), Some(" // why"));
    assert_eq!(comment("#[test]"), None);
}
