//! Keeps the floors apart (docs/architecture.md): arrows point down only, `unsafe` stays where it is
//! reviewed, and no file is a drawer for leftovers.
//!
//! The sources are read as text, without comments and strings; what a macro of another crate expands to
//! is not seen.

use std::path::{Path, PathBuf};
use std::{fs, iter};

/// Where `unsafe` may stand.
const UNSAFE_ALLOWED: [&str; 3] = ["server/", "sketch/buffer.rs", "sketch/prefetch.rs"];
/// What a floor may not name: its file or folder, and modules or crates.
const FORBIDDEN: [(&str, &[&str]); 3] = [
    ("blocks", &["server", "sketch", "family", "redis_module"]),
    ("sketch", &["server", "family", "redis_module"]),
    ("server", &["sketch", "family"]),
];
/// Names that say nothing about what is inside.
const NAMELESS: [&str; 7] = [
    "utils", "util", "helpers", "helper", "common", "misc", "shared",
];
/// Lines above an `unsafe` in which its reason may stand: a comment of a few lines, attributes, and the
/// beginning of the statement.
const REASON_LINES: usize = 12;

#[test]
fn the_sources_keep_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 5, "only {files:?} found");
    let violations: Vec<_> = files
        .iter()
        .flat_map(|file| {
            let path = file.strip_prefix(&root).expect("a file of src");
            let source = fs::read_to_string(file).expect("a text");
            violations(path.to_str().expect("an ASCII name"), &source)
        })
        .collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// What is wrong with a file; its path is relative to src.
fn violations(path: &str, source: &str) -> Vec<String> {
    let code = without_comments_and_texts(source);
    let tokens = tokens(&code);
    let mut found = Vec::new();
    let mut report = |line: usize, what: &str| found.push(format!("src/{path}:{line}: {what}"));

    let stem = path.trim_end_matches(".rs");
    if let Some(name) = stem.split('/').find(|part| NAMELESS.contains(part)) {
        report(1, &format!("{name} is no name for what is inside"));
    }
    for (floor, forbidden) in FORBIDDEN {
        if stem.split('/').next() == Some(floor) {
            for (line, name) in named_modules(&tokens) {
                if forbidden.contains(&name) {
                    report(line, &format!("{floor} must not know {name}"));
                }
            }
        }
    }
    for (i, (line, token)) in tokens.iter().enumerate() {
        if *token != "unsafe" {
            continue;
        }
        let is_allowed = UNSAFE_ALLOWED.iter().any(|place| path.starts_with(place));
        if !is_allowed {
            report(*line, "unsafe is not allowed here");
        } else if needs_reason(&tokens, i) && !has_reason(source, *line) {
            report(*line, "unsafe without `SAFETY:` or `# Safety` above it");
        }
    }
    found
}

/// Identifiers that stand where a module or crate is named: beside `::`, or anywhere in a `use`.
fn named_modules<'a>(tokens: &[(usize, &'a str)]) -> Vec<(usize, &'a str)> {
    let mut in_use = false;
    let mut named = Vec::new();
    for (i, (line, token)) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).map_or("", |i| tokens[i].1);
        let after = tokens.get(i + 1).map_or("", |(_, token)| token);
        match *token {
            "use" => in_use = true,
            ";" => in_use = false,
            _ if in_use || before == "::" || after == "::" => named.push((*line, *token)),
            _ => {}
        }
    }
    named
}

/// Whether the `unsafe` at this token must say why. Not those that promise nothing of their own: types
/// such as `unsafe extern "C" fn(u8)`; attributes; callbacks, which only the server calls, by the rules of
/// its API; methods of an `unsafe impl`, whose rules are the trait's. What they do inside has blocks.
fn needs_reason(tokens: &[(usize, &str)], at: usize) -> bool {
    let token = |i: usize| tokens.get(i).map_or("", |(_, token)| *token);
    let is_extern = token(at + 1) == "extern";
    let function = if is_extern { at + 3 } else { at + 1 };
    if token(at + 1) == "(" {
        return false;
    }
    if token(function) != "fn" {
        return true;
    }
    let is_type = token(function + 1) == "(";
    let is_public = at > 0 && matches!(token(at - 1), "pub" | ")");
    let is_callback = is_extern && !is_public;
    !is_type && !is_callback && !is_in_unsafe_impl(tokens, at)
}

/// Whether the braces around a token are those of an `unsafe impl`.
fn is_in_unsafe_impl(tokens: &[(usize, &str)], at: usize) -> bool {
    let mut depth = 0;
    for i in (0..at).rev() {
        match tokens[i].1 {
            "}" => depth += 1,
            "{" => depth -= 1,
            "impl" if depth == -1 => return i > 0 && tokens[i - 1].1 == "unsafe",
            _ => {}
        }
    }
    false
}

/// Whether the lines above (or the line itself) say why it is safe, or what the caller owes.
fn has_reason(source: &str, line: usize) -> bool {
    let lines: Vec<_> = source.lines().take(line).collect();
    let first = lines.len().saturating_sub(REASON_LINES + 1);
    // A reason belongs to what follows it: one above the end of another block or statement does not
    // count, unless it is the only thing between.
    let above = lines[first..].iter().rev().enumerate();
    for (distance, text) in above {
        let text = text.trim();
        if text.contains("SAFETY:") || text.contains("# Safety") {
            return true;
        }
        let is_comment = text.starts_with("//") || text.starts_with("#[");
        if distance > 0 && !is_comment && (text.is_empty() || text.ends_with('}')) {
            return false;
        }
    }
    false
}

/// The source with every comment turned to spaces and every text or character literal to `""`, line
/// for line.
fn without_comments_and_texts(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (len, stands_for) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), "")
        } else if rest.starts_with("/*") {
            (block_comment_len(rest), "")
        } else if let Some(len) = raw_text_len(rest).filter(|_| !ends_in_word(&code)) {
            (len, "\"\"")
        } else if first == '"' {
            (quoted_len(rest), "\"\"")
        } else if let Some(len) = character_len(rest) {
            (len, "\"\"")
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        code.push_str(stands_for);
        code.extend(iter::repeat_n('\n', rest[..len].matches('\n').count()));
        rest = &rest[len..];
    }
    code
}

fn ends_in_word(code: &str) -> bool {
    code.ends_with(|last: char| last.is_alphanumeric() || last == '_')
}

fn block_comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut len = 0;
    while len < text.len() {
        if text[len..].starts_with("/*") {
            depth += 1;
            len += 2;
        } else if text[len..].starts_with("*/") {
            depth -= 1;
            len += 2;
            if depth == 0 {
                break;
            }
        } else {
            len += text[len..].chars().next().map_or(1, char::len_utf8);
        }
    }
    len
}

/// The length of `r"..."`, `r#"..."#`, `br"..."`, `cr"..."`.
fn raw_text_len(text: &str) -> Option<usize> {
    let after_prefix = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let hashes_on = after_prefix.strip_prefix('r')?;
    let quote_on = hashes_on.trim_start_matches('#');
    let body = quote_on.strip_prefix('"')?;
    let end = format!("\"{}", &hashes_on[..hashes_on.len() - quote_on.len()]);
    let body_len = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(text.len() - body.len() + body_len)
}

fn quoted_len(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of `'x'` or `'\n'`; a lifetime is no character.
fn character_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    if body.starts_with('\\') {
        return body[2..].find('\'').map(|at| at + 4);
    }
    let character = body.chars().next()?;
    let after = &body[character.len_utf8()..];
    after.starts_with('\'').then_some(character.len_utf8() + 2)
}

/// Words, `::`, `""` and single signs, each with its line.
fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    for (i, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_word = |character: char| character.is_alphanumeric() || character == '_';
            let len = if is_word(first) {
                rest.find(|character| !is_word(character))
                    .unwrap_or(rest.len())
            } else if rest.starts_with("::") || rest.starts_with("\"\"") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push((i + 1, &rest[..len]));
            rest = rest[len..].trim_start();
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_bad(path: &str, source: &str) -> bool {
        !violations(path, source).is_empty()
    }

    #[test]
    fn the_sketch_floor_knows_no_server_and_no_family() {
        for source in [
            "use crate::server::Call;",
            "use crate::{sketch::hash, family};",
            "use crate::{\n    sketch,\n    server as s,\n};",
            "fn f() { crate::server::log(); }",
            "fn f() { super::super::family::x() }",
            "use redis_module as r;",
            "type T = redis_module::Context;",
            "pub(in crate::server) fn f() {}",
        ] {
            assert!(is_bad("sketch/bloom.rs", source), "{source}");
            assert!(is_bad("sketch/mod.rs", source), "{source}");
            assert!(!is_bad("family/bloom/commands.rs", source), "{source}");
        }
    }

    #[test]
    fn the_server_floor_knows_no_sketch_and_no_family() {
        for source in ["use crate::sketch::hash;", "use crate::{family::bloom};"] {
            assert!(is_bad("server/reply.rs", source), "{source}");
            assert!(!is_bad("lib.rs", source), "{source}");
        }
        assert!(!is_bad("server/reply.rs", "use redis_module::raw;"));
        assert!(!is_bad("server/reply.rs", "use crate::server::call;"));
    }

    #[test]
    fn the_ground_knows_no_floor() {
        for source in [
            "use crate::sketch;",
            "use crate::server;",
            "use crate::family;",
        ] {
            assert!(is_bad("blocks.rs", source), "{source}");
        }
        assert!(!is_bad("sketch/mod.rs", "use crate::blocks::Blocks;"));
        assert!(!is_bad("server/defrag.rs", "use crate::blocks::Blocks;"));
    }

    #[test]
    fn words_in_comments_texts_and_other_places_are_free() {
        for source in [
            "// use crate::server;",
            "/* crate::server /* nested */ crate::family */ fn f() {}",
            "/// See `crate::server::x`.\nfn f() {}",
            "const A: &str = \"crate::server::x unsafe\";",
            "const A: &str = \"a \\\" crate::server\";",
            "const A: &str = r#\"a \" crate::server\"#;",
            "const A: char = '\"'; const B: &str = \"crate::server\";",
            "fn f<'a>(server: &'a u8) -> &'a u8 { server }",
            "mod server_side {}",
        ] {
            assert!(!is_bad("sketch/bloom.rs", source), "{source}");
        }
    }

    #[test]
    fn a_literal_does_not_hide_what_follows_it() {
        for source in [
            "const A: char = '\"'; use crate::server;",
            "const A: char = '\\''; use crate::server;",
            "const A: char = '\\u{1f}'; use crate::server;",
            "const A: &[u8] = b\"\\\\\"; use crate::server;",
            "const A: &[u8] = br##\"\"#\"##; use crate::server;",
            "/* a */ use crate::server;",
            "// a\nuse crate::server;",
        ] {
            assert!(is_bad("sketch/bloom.rs", source), "{source}");
        }
    }

    #[test]
    fn unsafe_stays_in_its_places() {
        let source = "fn f() {\n    // SAFETY: sound.\n    unsafe { g() }\n}";
        for path in [
            "sketch/bloom.rs",
            "family/bloom/commands.rs",
            "lib.rs",
            "sketch/mod.rs",
        ] {
            assert!(is_bad(path, source), "{path}");
            assert!(is_bad(path, "#[unsafe(no_mangle)]\nfn f() {}"), "{path}");
        }
        for path in [
            "server/reply.rs",
            "server/key/typed.rs",
            "sketch/buffer.rs",
            "sketch/prefetch.rs",
        ] {
            assert!(!is_bad(path, source), "{path}");
        }
    }

    #[test]
    fn unsafe_needs_a_reason() {
        let bad = [
            "fn f() {\n    unsafe { g() }\n}",
            "unsafe impl Send for A {}",
            "unsafe fn f() {}",
            "unsafe trait A {}",
            "unsafe extern \"C\" {\n    fn f();\n}",
            "pub unsafe extern \"C\" fn f() {}",
            "pub(crate) unsafe extern \"C\" fn f() {}",
            "impl A {\n    unsafe fn f() {}\n}",
            "// SAFETY: sound.\nunsafe impl A for B {\n    unsafe fn f() {}\n}\n\nunsafe fn g() {}",
            "unsafe extern \"C\" fn f() {\n    unsafe { g() }\n}",
            "// SAFETY: of the first.\nunsafe impl Send for A {}\n\nunsafe impl Sync for A {}",
            "fn f() {\n    // SAFETY: of the first.\n    unsafe { g() }\n}\nfn h() { unsafe { g() } }",
        ];
        for source in bad {
            assert!(is_bad("server/a.rs", source), "{source}");
        }
        let good = [
            "fn f() {\n    // SAFETY: sound.\n    let x = h(\n        unsafe { g() },\n    );\n}",
            "fn f() { unsafe { g() } } // SAFETY: sound.",
            "// SAFETY: sound.\n// In two lines.\nunsafe impl Send for A {}",
            "/// What it does.\n///\n/// # Safety\n/// Call it well.\n#[inline]\npub unsafe fn f() {}",
            "type F = unsafe extern \"C\" fn(u8);",
            "struct S { f: Option<unsafe fn(u8)> }",
            "#[unsafe(no_mangle)]\nfn f() {}",
            "unsafe extern \"C\" fn f() {}",
            "// SAFETY: sound.\nunsafe impl A for B {\n    unsafe fn f() {}\n    unsafe fn g() {}\n}",
        ];
        for source in good {
            let found = violations("server/a.rs", source);
            assert!(found.is_empty(), "{source}: {found:?}");
        }
    }

    #[test]
    fn files_have_names_that_say_something() {
        for path in [
            "sketch/utils.rs",
            "server/helpers/reply.rs",
            "common.rs",
            "family/common/mod.rs",
        ] {
            assert!(is_bad(path, ""), "{path}");
        }
        assert!(!is_bad("sketch/uncommon.rs", ""));
    }
}
