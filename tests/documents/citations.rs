//! Citations: the files and folders that comments and pages name exist, and so do the headings that comments name after a page.

use crate::support::page::Page;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The sources whose comments are checked, as patterns of git.
const SOURCES: &str = "*.rs *.sh *.py *.pyi *.c *.mjs *.js *.go *.toml *.yml *.yaml *.conf *Dockerfile .dockerignore Makefile \
    .ci/run scripts/copy-sketches packaging/monitoring/bf-exporter *.service";

/// The comment in a line of source code.
fn comment(line: &str) -> Option<&str> {
    let start = line.trim_start();
    if start.starts_with("//") || (start.starts_with('#') && !start.starts_with("#[")) {
        return Some(start);
    }
    let position = line.find(" // ").or_else(|| line.find(" # "));
    position.map(|position| &line[position..])
}

/// The comments and docstrings of a source file. Citations may continue on the next line.
fn comments(text: &str) -> String {
    let mut lines = Vec::new();
    let mut is_docstring = false;
    for line in text.lines() {
        let quotes = line.matches("\"\"\"").count();
        let is_start = line.trim_start().starts_with("\"\"\"");
        if is_docstring || is_start {
            lines.push(line.trim());
        } else if let Some(comment) = comment(line) {
            lines.push(comment.trim_start_matches(['/', '#', '!', ' ']));
        }
        if is_docstring || is_start {
            is_docstring ^= quotes % 2 == 1;
        }
    }
    lines.join(" ")
}

/// Whether a character ends a name. A comma does so outside of braces.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || "\"'`()[]|;=".contains(c)
}

/// The alternatives of a name with groups such as `{buffer,prefetch}.rs`.
fn expand(name: &str) -> Vec<String> {
    let group = name.split_once('{').and_then(|(before, rest)| {
        let (group, after) = rest.split_once('}')?;
        Some((before, group, after))
    });
    let Some((before, group, after)) = group else {
        return vec![name.to_owned()];
    };
    let names = group.split(',');
    let names = names.flat_map(|part| expand(&format!("{before}{part}{after}")));
    names.collect()
}

/// The files and folders that a text names, each with the text after it: pages, files of Rust, and all paths that begin with a folder at
/// the root.
fn citations<'a>(text: &'a str, roots: &BTreeSet<String>) -> Vec<(String, &'a str)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut is_group = false;
    let ends = text.char_indices().chain([(text.len(), ' ')]);
    for (end, c) in ends {
        is_group = (is_group || c == '{') && c != '}' && !is_separator(c);
        if !is_separator(c) && (c != ',' || is_group) {
            continue;
        }
        let word = &text[start..end];
        start = end + c.len_utf8();
        if word.contains("://") {
            continue;
        }
        let name = word.split([':', '#']).next().unwrap_or_default();
        let name = name.trim_end_matches(['.', '!', '?', '…']);
        let is_file = name.len() > 3 && (name.ends_with(".md") || name.ends_with(".rs"));
        let root = name.split_once('/').map(|(root, _)| root);
        if is_file || root.is_some_and(|root| roots.contains(root)) {
            let names = expand(name).into_iter();
            found.extend(names.map(|name| (name, &text[end..])));
        }
    }
    found
}

/// The heading in quotes after a citation: `docs/contributing/formats.md, "Bloom filters"`.
fn heading(rest: &str) -> Option<&str> {
    rest.strip_prefix(", \"")?.split('"').next()
}

/// Whether a name fits a pattern with `*`.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    (0..=name.len()).any(|at| name.is_char_boundary(at) && fits(rest, &name[at..]))
}

/// The pattern of a component: `<family>`, `$name`, `…` and a component `VERSION` stand for any name.
fn pattern(component: &str) -> String {
    if component.chars().all(|c| c.is_ascii_uppercase()) {
        return "*".to_owned();
    }
    let (before, rest) = component.split_once('<').unwrap_or((component, ""));
    if let Some((_, after)) = rest.split_once('>') {
        return format!("{before}*{}", pattern(after));
    }
    match component.split_once('$') {
        Some((before, _)) => format!("{before}*"),
        None => component.replace('…', "*"),
    }
}

/// The files and folders of the repository.
struct Repository {
    paths: BTreeSet<PathBuf>,
    /// The folders at the root.
    roots: BTreeSet<String>,
}

impl Repository {
    fn new() -> Self {
        let files = listed(&[]);
        let mut paths = BTreeSet::new();
        for file in &files {
            paths.extend(file.ancestors().map(Path::to_owned));
        }
        let folders = files.iter().filter(|file| file.components().count() > 1);
        let roots = folders.filter_map(|file| file.iter().next());
        let roots = roots.map(|root| root.to_string_lossy().into_owned());
        let roots = roots.collect();
        Self { paths, roots }
    }

    /// The file or folder that a name stands for in a file: below the root, or below a folder that contains the file. A file of Rust may be
    /// named by the end of its path.
    fn cited(&self, file: &Path, name: &str) -> Option<&Path> {
        let folders = file.ancestors().skip(1);
        let mut paths = folders.filter_map(|folder| self.find(&folder.join(name)));
        let is_partial = || {
            let root = name.split('/').next().unwrap_or_default();
            name.ends_with(".rs") && !self.roots.contains(root)
        };
        paths.next().or_else(|| {
            let mut all = self.paths.iter().filter(|_| is_partial());
            all.find(|path| path.ends_with(name)).map(PathBuf::as_path)
        })
    }

    /// The path in the repository. Its patterns fit any file or folder.
    fn find(&self, path: &Path) -> Option<&Path> {
        let mut parts: Vec<String> = Vec::new();
        for component in path.components() {
            match component {
                Component::ParentDir => drop(parts.pop()?),
                Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
                _ => {}
            }
        }
        let literal: PathBuf = parts.iter().collect();
        if let Some(path) = self.paths.get(&literal) {
            return Some(path);
        }
        let patterns: Vec<_> = parts.iter().map(|part| pattern(part)).collect();
        let fits_all = |path: &&PathBuf| {
            let mut pairs = path.iter().zip(&patterns);
            path.components().count() == patterns.len()
                && pairs.all(|(name, pattern)| fits(pattern, &name.to_string_lossy()))
        };
        self.paths.iter().find(fits_all).map(PathBuf::as_path)
    }

    /// What a text of this file cites and does not exist. Paths begin at the root or at a folder that contains the file.
    fn missing(&self, path: &Path, text: &str) -> Vec<String> {
        let mut missing = Vec::new();
        for (name, rest) in citations(text, &self.roots) {
            let Some(cited) = self.cited(path, &name) else {
                if name != RECORD && !is_ignored(&name) {
                    missing.push(format!("{}: {name}", path.display()));
                }
                continue;
            };
            if let (Some(heading), true) = (heading(rest), name.ends_with(".md")) {
                let page = Page::read(cited);
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
}

/// The record that scripts/check-release.sh writes after a run of all checks.
const RECORD: &str = ".ci/release";

/// Whether git ignores the path, as those that commands create.
fn is_ignored(path: &str) -> bool {
    let arguments = ["check-ignore", "--quiet", path];
    let ignored = Command::new("git").args(arguments).status();
    ignored.expect("git").success()
}

/// The files of the repository that fit one of these patterns of git.
pub(crate) fn listed(patterns: &[&str]) -> Vec<PathBuf> {
    let arguments = "ls-files --cached --others --exclude-standard --".split(' ');
    let listed = Command::new("git").args(arguments).args(patterns).output();
    let listed = listed.expect("git");
    let error = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.status.success(), "git ls-files: {error}");
    let listed = String::from_utf8(listed.stdout).expect("names");
    let paths = listed.lines().map(PathBuf::from);
    paths.filter(|path| path.is_file()).collect()
}

#[test]
fn cited_paths_and_headings_exist() {
    let repository = Repository::new();
    let mut cited = 0;
    let mut missing = Vec::new();
    let mut check = |path: &Path, text: &str| {
        cited += citations(text, &repository.roots).len();
        missing.extend(repository.missing(path, text));
    };
    for path in listed(&SOURCES.split(' ').collect::<Vec<_>>()) {
        let text = std::fs::read_to_string(&path).expect("a source");
        check(&path, &comments(&text));
    }
    for path in listed(&["*.md"]) {
        let page = Page::read(&path);
        // The sections of released versions name the files of these versions.
        let unreleased = page.section("## [Unreleased]");
        check(&path, unreleased.unwrap_or(&page.text));
    }
    assert!(cited > 500, "{cited} citations");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn missing_paths_and_headings_are_found() {
    let repository = Repository::new();
    let names = [
        "docs/none.md",
        "README.md, \"No such heading\"",
        "none.rs",
        "server/none.rs",
        "tests/none*",
        "scripts/none/",
        "src/<family>/none.rs",
        "crates/NONE/none",
        "fuzz/NONE.md",
    ];
    let path = Path::new("src/lib.rs");
    let expected = names.map(|name| format!("src/lib.rs: {name}"));
    let text = names.join(" and\n");
    let is_same = |text: &str| repository.missing(path, &comments(text)) == expected;
    for start in "// |    /// |//! |# |x = 1 # |let x = 1; // ".split('|') {
        let commented = text.replace('\n', &format!("\n{start}"));
        assert!(is_same(&format!("{start}{commented}")), "{start}");
    }
    assert!(is_same(&format!("\"\"\"{text}.\"\"\"\nx = 1")));
    assert_eq!(repository.missing(path, &text), expected);
    let group = "`src/server/{none,window}.rs`:";
    let found = repository.missing(path, group);
    assert_eq!(found, ["src/lib.rs: src/server/none.rs"]);
    let text = "src/lib.rs. lib.rs, server/window.rs:1 `src/family/<family>/`, (scripts/test-*.sh)! tests/server/$name.rs; \
        ../SECURITY.md crates/CRATE/src/lib.rs docs/faq.md#x src/….rs fuzz/corpus/TARGET/ target/x https://x/src/none.rs \
        /usr/src/none ${dir}/docs/none tests.";
    let found = repository.missing(Path::new("docs/README.md"), text);
    assert_eq!(found, [""; 0]);
    assert_eq!(comment("#[test]"), None);
}
