//! docs/troubleshooting.md has all errors and log lines of the module. The errors of a family are also on the pages of
//! its commands. The tests collect these texts from the sources.

use crate::support::command_pages::{self, CommandPage, SHARED_ERRORS, WINDOW_ERRORS};
use crate::support::names::assert_same_names;
use std::fs;
use std::path::{Path, PathBuf};

const TROUBLESHOOTING: &str = "docs/troubleshooting.md";
/// The prefix of each family's commands, and the source files and directories with their errors.
const SOURCES: [(&str, &str); 6] = [
    (
        "bf",
        "src/family/bloom src/family/chunks.rs src/family/filters.rs",
    ),
    ("cf", "src/family/cuckoo src/family/filters.rs"),
    (
        "cms",
        "src/family/count_min crates/sketch/src/count_min src/family/chunks.rs src/family/window_option.rs crates/sketch/src/window/length.rs",
    ),
    (
        "topk",
        "src/family/top_k crates/sketch/src/top_k src/family/chunks.rs src/family/window_option.rs crates/sketch/src/window/length.rs",
    ),
    (
        "tdigest",
        "src/family/t_digest crates/sketch/src/t_digest src/family/window_option.rs crates/sketch/src/window/length.rs",
    ),
    (
        "sketch",
        "src/family/sketch crates/sketch/src/window/period.rs",
    ),
];
/// Texts with spaces that are not errors but names of reply fields.
const FIELDS: &str = "Number of filters;Number of items inserted;Expansion rate;Error rate;Tightening ratio;Max scaled capacity;\
    Number of buckets;Number of items deleted;Bucket size;Max iterations;Merged nodes;Unmerged nodes;Merged weight;Unmerged weight;\
    Total compressions;Memory usage;pane length;newest pane;items per pane;pane starts;Not found";
/// Errors of the sketch layer that no command replies. The last four are those of the Python package.
const NOT_REPLIED: [&str; 5] = [
    "the number of panes is out of range",
    "a period needs a start that is before its end",
    "T-Digest: a weight must be an integer of at least 1",
    "TopK: {0}",
    "TopK: a count would exceed 4,294,967,295",
];
/// This field name is also the text of an error of CF.DEL.
const NOT_A_FIELD: &str = "Not found";

/// The source files in a directory and its subdirectories, or the file with that name.
fn sources(place: &Path) -> Vec<(PathBuf, String)> {
    let mut paths = vec![place.to_owned()];
    if place.is_dir() {
        let entries = fs::read_dir(place).expect("a directory");
        paths = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
    }
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]\nmod tests {").next();
            // A string may be continued on the next line, and comments may contain quotes.
            let code = code.unwrap_or_default().replace("\\\n", "");
            let mut lines: Vec<_> = code.lines().collect();
            lines.retain(|line| !line.trim_start().starts_with("//"));
            found.push((path, lines.join("\n")));
        }
    }
    found
}

/// The string literals after each occurrence of a prefix that ends with a quote.
fn literals<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let rests = code.split(prefix).skip(1);
    rests.filter_map(|rest| rest.split('"').next())
}

/// The texts of the errors of a source of the sketch layer.
fn error_attributes(code: &str) -> impl Iterator<Item = &str> {
    let attributes = code.split("#[error(").skip(1);
    let texts =
        attributes.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    texts.filter(|text| !NOT_REPLIED.contains(text))
}

/// All C string literals.
fn c_strings(code: &str) -> impl Iterator<Item = &str> {
    let pieces: Vec<_> = code.split('"').collect();
    let marked = |before: &str| {
        let mut last = before.chars().rev();
        last.next() == Some('c') && !last.next().is_some_and(char::is_alphanumeric)
    };
    let pairs = pieces.chunks_exact(2).filter(|pair| marked(pair[0]));
    let strings: Vec<_> = pairs.map(|pair| pair[1]).collect();
    strings.into_iter()
}

/// The error replies of a family's commands.
fn errors(places: &str) -> Vec<String> {
    let mut found: Vec<_> = places
        .split(' ')
        .flat_map(|place| sources(Path::new(place)))
        .filter(|(path, _)| !path.ends_with("commands.rs"))
        .flat_map(|(path, code)| {
            if path.starts_with("crates") {
                return error_attributes(&code).map(str::to_owned).collect();
            }
            let made = literals(&code, "format!(\"").filter(|text| text.starts_with("ERR "));
            let texts = c_strings(&code).chain(made);
            texts.map(str::to_owned).collect::<Vec<_>>()
        })
        .filter(|text| text.contains(' '))
        .filter(|text| text == NOT_A_FIELD || !FIELDS.split(';').any(|field| field == text))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The pages of a family's commands, each with the errors that it omits.
fn command_pages(prefix: &str) -> String {
    let mut known = command_pages::all_commands();
    known.retain(|name| name.to_lowercase().starts_with(&format!("{prefix}.")));
    let mut pages = command_pages::all();
    pages.retain(|page| !page.commands(&known).is_empty());
    let text = |page: &CommandPage| page.page.text.clone() + &page.shared_errors();
    pages.iter().map(text).collect()
}

#[test]
fn every_family_has_sources() {
    let names = roughly::MODULE.families.iter().map(|family| {
        let name = family.commands[0].name.to_str().expect("UTF-8");
        name.split('.').next().expect("a prefix")
    });
    let prefixes = SOURCES.map(|(prefix, _)| prefix);
    assert_same_names(prefixes, names, "prefixes in SOURCES");
    let listed = SOURCES.iter().flat_map(|(_, sources)| sources.split(' '));
    let listed = listed.filter(|path| path.starts_with("src") && Path::new(path).is_dir());
    let entries = fs::read_dir("src/family").expect("a directory");
    let folders = entries.map(|entry| entry.expect("an entry").path());
    let folders = folders.filter(|path| path.join("commands.rs").exists());
    let folders = folders.map(|path| path.to_string_lossy().into_owned());
    assert_same_names(listed, folders, "folders in SOURCES");
}

#[test]
fn every_error_is_on_a_command_page_and_in_troubleshooting() {
    let all = fs::read_to_string(TROUBLESHOOTING).expect("the page");
    let mut missing = Vec::new();
    let mut count = 0;
    for (prefix, sources) in SOURCES {
        let path = format!("pages of the commands {prefix}.*");
        let page = command_pages(prefix);
        for error in errors(sources) {
            count += 1;
            for (place, text) in [(path.as_str(), &page), (TROUBLESHOOTING, &all)] {
                // The errors of the sketch layer lack the error code.
                let has = |code: &str| text.contains(&format!("`{code}{error}`"));
                let is_there = match error.contains('{') {
                    true => is_on(text, &error),
                    false => has("") || has("ERR "),
                };
                if !is_there {
                    missing.push(format!("{place}: {error}"));
                }
            }
        }
    }
    assert!(count > 70, "{count} errors");
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// The errors that the pages of the commands omit are in the section about every command, with the texts of the sources.
#[test]
fn errors_of_every_command_are_in_the_index_and_in_troubleshooting() {
    let texts = shared_errors(SHARED_ERRORS);
    let server = |path: &str, start: &str| {
        let (_, code) = sources(Path::new(path)).remove(0);
        let mut literals = literals(&code, "\"").filter(|text| text.starts_with(start));
        literals.next().expect(start).replace("{max}", "…")
    };
    let expected = [
        // The server's text.
        "ERR wrong number of arguments for '…' command".to_owned(),
        server("src/server/call.rs", "WRONGTYPE "),
        server("src/server/memory/mod.rs", "ERR the key would hold"),
    ];
    assert_eq!(texts, expected);
    let all = fs::read_to_string(TROUBLESHOOTING).expect("the page");
    for text in expected {
        assert!(all.contains(&format!("| `{text}`")), "{text}");
    }
}

/// The section about the window options has all errors of the option's sources, and no others. The pages of all commands that
/// have the option, and of no others, have it in place of these errors.
#[test]
fn errors_of_the_window_options_are_in_the_index_and_in_troubleshooting() {
    let of = |paths: &[&str]| {
        let sources = paths.iter().flat_map(|path| sources(Path::new(path)));
        sources.map(|(_, code)| code).collect::<String>()
    };
    let parser = of(&["src/family/window_option.rs"]);
    let sketches = of(&["crates/sketch/src/window/length.rs"]);
    // `ERR {error}` is an error of the sketch layer.
    let parsed =
        literals(&parser, "\"").filter(|text| text.starts_with("ERR ") && *text != "ERR {error}");
    let checked = error_attributes(&sketches).map(|text| format!("ERR {text}"));
    let expected = parsed.map(str::to_owned).chain(checked);
    // Filters can have more panes than other sketches.
    let expected = expected.flat_map(|text| match text.contains("{max}") {
        true => ["1000", "100"]
            .map(|max| text.replace("{max}", max))
            .to_vec(),
        false => vec![text],
    });
    let expected: Vec<_> = expected.collect();
    let texts = shared_errors(WINDOW_ERRORS);
    assert_same_names(&texts, &expected, "errors of the window options");
    let all = fs::read_to_string(TROUBLESHOOTING).expect("the page");
    for text in &texts {
        assert!(all.contains(&format!("`{text}`")), "{text}");
    }
    for page in command_pages::all() {
        let has_option = page.page.text.contains("\n| `WINDOW` | integer |");
        assert_eq!(page.has_window_errors(), has_option, "{}", page.file());
        let repeated = texts
            .iter()
            .find(|text| page.errors().contains(&format!("`{text}`")));
        assert_eq!(repeated, None, "{}", page.file());
    }
}

/// The errors in the first column of a section of the index.
fn shared_errors(heading: &str) -> Vec<String> {
    command_pages::listed_errors(&command_pages::shared_errors(heading))
}

/// Whether the page has the parts of a text between its placeholders. The placeholders on the page may differ.
fn is_on(page: &str, text: &str) -> bool {
    let parts = text.split(['{', '}', '\\']).step_by(2);
    let mut parts = parts.map(|part| part.trim_matches([' ', '`', '"']));
    parts.all(|part| part.len() <= 3 || page.contains(part))
}

#[test]
fn every_error_of_the_server_layer_and_log_line_is_in_troubleshooting() {
    let page = fs::read_to_string(TROUBLESHOOTING).expect("the page");
    let mut texts = Vec::new();
    for (path, code) in sources(Path::new("src")) {
        let code = code.replace('\n', "").replace("  ", "");
        let calls = "verbose(\" notice(\" notice(&format!(\" warning(\" warning(&format!(\" warning_of_input(&format!(\"";
        for call in calls.split(' ') {
            let prefix = format!("log::{call}");
            texts.extend(literals(&code, &prefix).map(str::to_owned));
        }
        // The texts of lines with a limit are in a closure or in a function.
        for place in ["WARNINGS.warning(", "fn many_sub_filters("] {
            let limited = code.split(place).skip(1);
            let limited = limited.filter_map(|rest| literals(rest, "format!(\"").next());
            texts.extend(limited.map(str::to_owned));
        }
        if path.starts_with("src/server") {
            for prefix in [
                "return Err(\"",
                "return Err(format!(\"",
                "Err(format!(\"",
                "c\"ERR ",
            ] {
                texts.extend(literals(&code, prefix).map(str::to_owned));
            }
        }
    }
    texts.sort();
    texts.dedup();
    assert!(texts.len() > 15, "{texts:?}");
    let missing: Vec<_> = texts.iter().filter(|text| !is_on(&page, text)).collect();
    assert!(missing.is_empty(), "not in {TROUBLESHOOTING}: {missing:#?}");
}
