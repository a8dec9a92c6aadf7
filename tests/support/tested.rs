//! The versions of servers that docs/versioning.md lists as tested on every change.

use super::page::Page;
use std::path::Path;

/// The end of the rows of these versions.
pub const ON_EVERY_CHANGE: &str = "| on every change; 8.0 and 8.1 a sample |";

/// Major and minor versions of a kind (`Redis` or `Valkey`), in the order of the page.
pub fn listed(kind: &str) -> Vec<(u32, u32)> {
    let page = Page::read(Path::new("docs/versioning.md"));
    let section = page.section("## Supported servers").expect("the section");
    let mut rows = section.lines().filter(|row| row.ends_with(ON_EVERY_CHANGE));
    let row = rows.find_map(|row| row.strip_prefix(&format!("| {kind} | ")));
    let row = row.unwrap_or_else(|| panic!("no row of {kind}"));
    let versions = row.strip_suffix(ON_EVERY_CHANGE).expect("versions");
    let versions = versions.trim().split(", ").map(|version| {
        let mut numbers = version.split('.').map(|number| number.parse());
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
            _ => panic!("not a version: {version}"),
        }
    });
    versions.collect()
}
