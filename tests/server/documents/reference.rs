//! The command reference: each family's page describes its commands as the server does.

use super::page::Page;
use crate::families::FAMILIES;
use crate::support::resp::Reply;
use crate::support::server::Server;
use std::collections::BTreeMap;
use std::path::Path;

fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.text().expect("a text")).into_owned()
}

/// The fields of a flat list of names and values.
fn fields(reply: &Reply) -> BTreeMap<String, &Reply> {
    let items = reply.items().expect("pairs");
    items
        .chunks(2)
        .map(|pair| (text(&pair[0]), &pair[1]))
        .collect()
}

/// How the arguments of a command are written, from their tree in COMMAND DOCS.
fn syntax(arguments: &Reply, between: &str) -> String {
    let all = arguments.items().expect("arguments").iter().map(argument);
    all.collect::<Vec<_>>().join(between)
}

fn argument(reply: &Reply) -> String {
    let fields = fields(reply);
    let field = |name: &str| fields.get(name).map(|value| text(value));
    let flags = fields.get("flags").and_then(|flags| flags.items());
    let has = |flag: &str| flags.is_some_and(|flags| flags.iter().any(|one| text(one) == flag));
    let token = field("token");
    let mut written = match field("type").as_deref() {
        Some("pure-token") => String::new(),
        Some("oneof") => syntax(fields["arguments"], " | "),
        Some("block") => syntax(fields["arguments"], " "),
        _ => field("name").expect("a name"),
    };
    if has("multiple") {
        written = format!("{written} [{written} …]");
    }
    if let Some(token) = token {
        written = format!("{token} {written}").trim_end().to_owned();
    }
    if has("optional") {
        written = format!("[{written}]");
    }
    written
}

/// The lines of a page about a command that are derived from COMMAND DOCS.
fn lines(name: &str, docs: &Reply) -> [String; 3] {
    let fields = fields(docs);
    let field = |name: &str| text(fields[name]);
    let arguments = fields
        .get("arguments")
        .map_or_else(String::new, |tree| syntax(tree, " "));
    [
        format!("`{}`", format!("{name} {arguments}").trim_end()),
        format!("{}.", field("summary")),
        format!(
            "- Complexity: {}. Since {}.",
            field("complexity"),
            field("since")
        ),
    ]
}

#[test]
fn every_command_is_documented_as_the_server_describes_it() {
    let server = Server::start();
    let mut connection = server.resp2();
    let names = connection.call("COMMAND LIST FILTERBY MODULE bf");
    let mut names: Vec<_> = names.items().expect("names").iter().map(text).collect();
    names.sort();
    assert!(names.len() > 50);
    let mut missing = Vec::new();
    for family in FAMILIES {
        let (prefix, path) = (family.prefix.to_uppercase(), family.page);
        let page = Page::read(Path::new(path));
        let mut documented: Vec<_> = page
            .text
            .lines()
            .filter_map(|line| {
                line.strip_prefix("### ")?
                    .strip_prefix(&prefix)?
                    .strip_prefix('.')
            })
            .collect();
        documented.sort_unstable();
        let ours = names.iter().filter_map(|name| name.split_once('.'));
        let ours: Vec<_> = ours
            .filter(|(family, _)| family.eq_ignore_ascii_case(&prefix))
            .map(|(_, name)| name.to_uppercase())
            .collect();
        assert_eq!(documented, ours, "{path}");
        for short in documented {
            let name = format!("{prefix}.{short}");
            let docs = connection.send(&["COMMAND", "DOCS", &name]);
            let section = page.section(&format!("### {name}")).unwrap_or_default();
            let docs = &docs.items().expect("a command and its docs")[1];
            for line in lines(&name, docs) {
                if !section.lines().any(|written| written == line) {
                    missing.push(format!("{path}, {name}: {line}"));
                }
            }
            for word in ["\n- Reply: ", "\n- Errors: "] {
                if !section.contains(word) {
                    missing.push(format!("{path}, {name}: {}", word.trim()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
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
            // The families have the same fields: explained once, for FAMILY.
            let mut general = name.to_owned();
            for family in FAMILIES {
                general = general.replace(family.info_prefix, "bf_FAMILY_");
            }
            shown.push(general);
        }
    }
    shown.sort();
    shown.dedup();
    assert_eq!(explained, shown);
}
