//! The fields of INFO and their explanation.

use crate::families::Family;
use crate::support::names::assert_same_names;
use crate::support::page::Page;
use crate::support::server::Server;
use std::path::Path;

/// The fields that docs/monitoring.md explains in one row, which lists the values of the placeholder.
const PLACEHOLDERS: [(&str, &str); 4] = [
    ("bf_memory_refusals_", "LIMIT"),
    ("bf_within_calls_", "FAMILY"),
    ("bf_between_calls_", "FAMILY"),
    ("bf_series_calls_", "FAMILY"),
];

/// The name on the page of a field, and the value of its placeholder if the row lists the values. Fields that all families have
/// are on the page once, with the placeholder FAMILY.
pub fn on_page(field: &str) -> (String, Option<&str>) {
    for (prefix, placeholder) in PLACEHOLDERS {
        if let Some(value) = field.strip_prefix(prefix) {
            return (format!("{prefix}{placeholder}"), Some(value));
        }
    }
    let of_family = Family::of_field(field);
    let general = of_family.map_or(field.to_owned(), |(_, rest)| format!("bf_FAMILY_{rest}"));
    (general, None)
}

/// docs/monitoring.md explains each field of INFO, and no other.
#[test]
fn every_field_of_info_is_explained() {
    let server = Server::start();
    let page = Page::read(Path::new("docs/monitoring.md"));
    let fields = page.section("## INFO fields").expect("a section");
    let rows = fields
        .lines()
        .filter_map(|line| line.strip_prefix("| `bf_"));
    let names = rows.filter_map(|row| row.split('`').next());
    let explained = names.map(|name| format!("bf_{name}"));
    let mut shown = Vec::new();
    for section in ["bf_version", "bf_stats"] {
        let info = server.call(&format!("INFO {section}")).string();
        for line in info.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, _)) = line.split_once(':') else {
                continue;
            };
            let (general, value) = on_page(name);
            if let Some(value) = value {
                let mut rows = fields.lines();
                let row = rows.find(|row| row.starts_with(&format!("| `{general}`")));
                let row = row.unwrap_or_else(|| panic!("no row of {general}"));
                assert!(row.contains(&format!("`{value}`")), "{general}: {value}");
            }
            shown.push(general);
        }
    }
    shown.sort();
    shown.dedup();
    assert_same_names(explained, shown, "fields on the page");
}
