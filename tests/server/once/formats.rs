//! docs/contributing/formats.md: the commands of each section create a key whose DUMP payload has the annotated bytes.

use crate::families::FAMILIES;
use crate::support::page::Page;
use crate::support::server::Options;
use std::collections::BTreeSet;
use std::path::Path;

/// Bytes after the values of a payload: RDB version and CRC64, which depend on the server.
const FOOTER_BYTES: usize = 10;
/// Bytes of a payload up to the end of the type ID.
const TYPE_ID_END: usize = 10;
/// The time of the examples in milliseconds: a sketch with a window stores its newest pane.
const TIME: &str = "25000";

/// The bytes at the start of an annotated line: hexadecimal numbers of two digits, separated by one space. Two spaces separate
/// them from the annotation.
fn bytes_of(line: &str) -> Vec<u8> {
    let bytes = line.split("  ").next().unwrap_or_default();
    let bytes = bytes.split(' ').map(|byte| {
        assert_eq!(byte.len(), 2, "{line}");
        u8::from_str_radix(byte, 16).unwrap_or_else(|_| panic!("{line}"))
    });
    bytes.collect()
}

/// The texts of the blocks in this language.
fn blocks(section: &str, language: &str) -> Vec<String> {
    let page = Page::parse("section".into(), section);
    let blocks = page.blocks.iter();
    let blocks = blocks.filter(|block| block.language == language);
    blocks.map(|block| block.lines.join("\n")).collect()
}

#[test]
fn annotated_dumps_are_those_of_the_server() {
    let server = Options::new().debug_module().start();
    server.set_clock(TIME);
    let mut connection = server.resp2();
    connection.ok("CONFIG SET rdbcompression no");
    let page = Page::read(Path::new("docs/contributing/formats.md"));
    let mut described = BTreeSet::new();
    for section in page.text.split("\n## ") {
        let ([session], [dump]) = (&blocks(section, "redis")[..], &blocks(section, "text")[..])
        else {
            continue;
        };
        let commands = session.lines().filter_map(|line| line.strip_prefix("> "));
        let commands: Vec<_> = commands.collect();
        let key = commands[0].split(' ').nth(1).expect("a key");
        for command in &commands {
            connection.run(command);
        }
        let payload = connection.payload(key);
        let annotated: Vec<_> = dump.lines().flat_map(bytes_of).collect();
        assert_eq!(annotated, payload[..payload.len() - FOOTER_BYTES], "{key}");
        let name = connection.call(&format!("TYPE {key}")).to_string();
        let name = name.trim_start_matches('+').to_owned();
        // The annotation and the heading of the section name the type and its encoding version.
        let version = payload[TYPE_ID_END - 1] & 63;
        assert!(dump.contains(&format!("type ID: {name}, version {version}\n")));
        assert!(section.contains(&format!("Type `{name}`, encoding version {version}")));
        described.insert(name);
    }
    let types = FAMILIES.iter().map(|family| family.type_name);
    let undescribed: Vec<_> = types.filter(|name| !described.contains(*name)).collect();
    assert!(undescribed.is_empty(), "{undescribed:?}");
    assert!(page.text.contains(&format!("Unix time {TIME} ms")));
}
