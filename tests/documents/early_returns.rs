//! Tests do not return early: a test that cannot run is ignored with its reason, or fails.

use super::citations::listed;
use std::fs;

/// The functions of a source that are tests, or the body of tests beside another module (tests/server/each_server/peers.rs): their
/// names and texts.
fn tests(source: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut lines = source.lines();
    let mut is_test = false;
    while let Some(line) = lines.next() {
        is_test |= line.trim() == "#[test]";
        let Some((before, rest)) = line.split_once("fn ") else {
            continue;
        };
        if is_test || rest.ends_with("(peer: &Peer) {") {
            let indentation = before.len() - before.trim_start().len();
            let end = format!("{}}}", &before[..indentation]);
            let body: Vec<_> = lines.by_ref().take_while(|line| *line != end).collect();
            let name = rest.split('(').next().expect("a part");
            found.push((name, body.join("\n")));
        }
        is_test = false;
    }
    found
}

/// Whether a test with this text returns before its end, without a value as tests do.
fn returns(test: &str) -> bool {
    let code = test
        .lines()
        .map(|line| line.split("//").next().expect("a part"));
    let code: String = code.flat_map(str::split_whitespace).collect();
    ["return;", "return}", "returnOk(())"]
        .iter()
        .any(|early| code.contains(early))
}

#[test]
fn no_test_returns_early() {
    let mut count = 0;
    let mut early = Vec::new();
    for path in listed(&["*.rs"]) {
        let source = fs::read_to_string(&path).expect("a source");
        for (name, test) in tests(&source) {
            count += 1;
            if returns(&test) {
                early.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(count > 900, "{count} tests");
    assert!(early.is_empty(), "ignore these with a reason: {early:#?}");
}

#[test]
fn early_returns_are_found() {
    let source = "
    #[ATTRIBUTE]
    fn first() {
        if is_missing() {
            STOP;
        }
    }

    #[ATTRIBUTE]
    #[ignore = \"needs a file\"]
    fn second() {
        // Does not return.
        let returned = 1;
    }

    pub fn third(peer: TYPE) {
        let Some(file) = find() else { STOP };
    }

    fn helper() {
        STOP;
    }
";
    let source = source.replace("ATTRIBUTE", "test").replace("TYPE", "&Peer");
    let source = source.replace("STOP", "return");
    let found = tests(&source);
    let found = found.iter().map(|(name, test)| (*name, returns(test)));
    let expected = [("first", true), ("second", false), ("third", true)];
    assert!(found.eq(expected));
}
