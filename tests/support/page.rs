//! Pages of Markdown: their fenced blocks, sections and links.

use std::fs;
use std::path::{Path, PathBuf};

/// A fenced block.
#[derive(Debug)]
pub struct Block {
    /// The text after the opening fence.
    pub language: String,
    /// Number of the opening fence's line.
    pub line: usize,
    /// The lines between the fences.
    pub lines: Vec<String>,
}

#[derive(Debug)]
pub struct Page {
    pub path: PathBuf,
    pub text: String,
    pub blocks: Vec<Block>,
}

impl Page {
    /// Splits a text into its blocks.
    pub fn parse(path: PathBuf, text: &str) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        // The indentation of the open block, which is part of a list item.
        let mut open = None;
        for (index, line) in text.lines().enumerate() {
            let text = line.trim_start_matches(' ');
            if let Some(language) = text.strip_prefix("```") {
                if open.take().is_none() {
                    open = Some(line.len() - text.len());
                    blocks.push(Block {
                        language: language.to_owned(),
                        line: index + 1,
                        lines: Vec::new(),
                    });
                }
            } else if let (Some(block), Some(indentation)) = (blocks.last_mut(), open) {
                let spaces = line.len() - text.len();
                block.lines.push(line[spaces.min(indentation)..].to_owned());
            }
        }
        assert!(open.is_none(), "{} ends inside a block", path.display());
        Self {
            path,
            text: text.to_owned(),
            blocks,
        }
    }

    pub fn read(path: &Path) -> Self {
        let text =
            fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(path.to_owned(), &text)
    }

    /// The text below a heading, up to the next heading of the same or a higher level.
    pub fn section(&self, heading: &str) -> Option<&str> {
        let level = heading.split(' ').next()?.len();
        let start = self.text.find(&format!("\n{heading}\n"))? + heading.len() + 2;
        let rest = &self.text[start..];
        let ends = (1..=level).filter_map(|level| rest.find(&format!("\n{} ", "#".repeat(level))));
        Some(&rest[..ends.min().unwrap_or(rest.len())])
    }

    /// The lines where a numbered list continues after text that ends it: the site would number the rest from 1. A paragraph or block
    /// within an item is indented by at least four spaces.
    pub fn restarted_lists(&self) -> Vec<usize> {
        let mut found = Vec::new();
        // A number within a paragraph starts no list.
        let (mut is_in_list, mut is_in_block, mut is_start) = (false, false, true);
        for (index, line) in self.text.lines().enumerate() {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let number = line[..line.len() - rest.len()].parse::<u32>();
            let is_fence = line.trim_start().starts_with("```");
            let is_item = number.is_ok() && rest.starts_with(". ") && !is_in_block;
            if is_item && (is_in_list || is_start) {
                if number != Ok(1) && !is_in_list {
                    found.push(index + 1);
                }
                is_in_list = true;
            } else if !line.is_empty() && !line.starts_with("    ") && (is_start || is_fence) {
                is_in_list = false;
            }
            is_in_block ^= is_fence;
            is_start = line.is_empty() || is_fence;
        }
        found
    }

    /// The anchors of the headings.
    pub fn headings(&self) -> impl Iterator<Item = String> {
        let lines = self.text.lines().filter(|line| line.starts_with('#'));
        lines.map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
            let kept = title.chars().filter(is_kept);
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
    }

    /// Targets of links within the repository.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        let targets = self.text.split("](").skip(1);
        let targets = targets.filter_map(|rest| rest.split(')').next());
        targets.filter(|target| !target.contains("://") && !target.contains(' '))
    }
}

/// The pages outside of docs/, and all pages of docs/, in order.
pub fn all() -> Vec<Page> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                found.push(path);
            }
        }
    }
    let outside =
        "README.md SECURITY.md CONTRIBUTING.md CODE_OF_CONDUCT.md CHANGELOG.md examples/README.md";
    let mut paths: Vec<_> = outside.split(' ').map(PathBuf::from).collect();
    walk(Path::new("docs"), &mut paths);
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}
