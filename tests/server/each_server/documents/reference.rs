//! The fields of INFO and their explanation.

use crate::families::Family;
use crate::support::page::Page;
use crate::support::resp::Reply;
use crate::support::server::Server;
use std::path::Path;

fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.text().expect("a text")).into_owned()
}

/// docs/monitoring.md explains each field of INFO, and no other.
#[test]
fn every_field_of_info_is_explained() {
    let server = Server::start();
    let page = Page::read(Path::new("docs/monitoring.md"));
    let mut explained: Vec<_> = page
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("| `bf_")?.split('`').next())
        .map(|name| format!("bf_{name}"))
        .collect();
    explained.sort();
    let mut shown = Vec::new();
    for section in ["bf_version", "bf_stats"] {
        let info = text(&server.call(&format!("INFO {section}")));
        for line in info.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, _)) = line.split_once(':') else {
                continue;
            };
            // The page explains fields that all families have once, with the placeholder FAMILY.
            let of_family = Family::of_field(name);
            shown.push(of_family.map_or(name.to_owned(), |(_, rest)| format!("bf_FAMILY_{rest}")));
        }
    }
    shown.sort();
    shown.dedup();
    assert_eq!(explained, shown);
}
