//! The command reference: docs/commands has one page per command. Its header and the tables of commands are generated
//! from the command table. `make pages` writes them, and this test compares them.

use crate::families::one_per_family;
use crate::support::names::assert_same_names;
use crate::support::page::Page;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use roughly::server::command::{Command, Since};
use roughly::server::load::Family;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FOLDER: &str = "docs/commands";
/// The guide to the commands for sketches of any family.
const SKETCH_GUIDE: &str = "docs/sliding-windows.md";
/// With this variable, the test writes the generated parts instead of comparing them.
const WRITE: &str = "ROUGHLY_WRITE";
/// The lines around a generated part.
const START: &str = "<!-- commands: generated from the command table by `make pages` -->";
const END: &str = "<!-- end -->";
/// The sections of a page, in this order.
const SECTIONS: [&str; 7] = [
    "Arguments",
    "Examples",
    "Reply",
    "Errors",
    "Notes",
    PEER,
    "See also",
];
/// The sections that a page may omit.
const OPTIONAL_SECTIONS: [&str; 2] = ["Notes", PEER];
/// The section with everything about valkey-bloom's type, in a collapsed block. The rest of the page only links to it.
const PEER: &str = "valkey-bloom";
/// The only command that is about valkey-bloom's type and nothing else.
const COMMAND_OF_PEER: &str = "BF.LOAD";
/// The number of characters of a line of syntax that a phone displays.
const SYNTAX_WIDTH: usize = 40;

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

fn texts(reply: &Reply) -> impl Iterator<Item = String> {
    reply.items().expect("a list").iter().map(text)
}

/// An argument of COMMAND DOCS.
struct Argument<'a> {
    fields: BTreeMap<String, &'a Reply>,
}

impl<'a> Argument<'a> {
    /// The arguments in a list.
    fn list(reply: &'a Reply) -> Vec<Self> {
        let items = reply.items().expect("arguments").iter();
        items
            .map(|item| Self {
                fields: fields(item),
            })
            .collect()
    }

    fn field(&self, name: &str) -> Option<String> {
        self.fields.get(name).map(|value| text(value))
    }

    fn has(&self, flag: &str) -> bool {
        let flags = self.fields.get("flags");
        flags.is_some_and(|flags| texts(flags).any(|one| one == flag))
    }

    fn parts(&self) -> Vec<Self> {
        let parts = self.fields.get("arguments");
        parts.map_or_else(Vec::new, |parts| Self::list(parts))
    }

    /// The argument in the notation of a syntax line.
    fn syntax(&self) -> String {
        let mut written = match self.field("type").as_deref() {
            Some("pure-token") => String::new(),
            Some("oneof") => syntax(&self.parts(), " | "),
            Some("block") => syntax(&self.parts(), " "),
            _ => self.field("name").expect("a name"),
        };
        if self.has("multiple") {
            written = format!("{written} [{written} …]");
        }
        if let Some(token) = self.field("token") {
            written = format!("{token} {written}").trim_end().to_owned();
        }
        if self.has("optional") {
            written = format!("[{written}]");
        }
        written
    }

    /// Its names in the table of arguments: the keyword of an option, the name of any other argument.
    fn names(&self) -> Vec<String> {
        let parts = self.parts();
        match self.field("token") {
            Some(token) => vec![token],
            None if parts.is_empty() => vec![self.field("name").expect("a name")],
            None if self.is("oneof") => parts.iter().flat_map(Self::names).collect(),
            None => names(&parts),
        }
    }

    fn is(&self, kind: &str) -> bool {
        self.field("type").as_deref() == Some(kind)
    }
}

/// The names of arguments in the table of arguments. A keyword that is not optional stands for the argument after it.
fn names(arguments: &[Argument<'_>]) -> Vec<String> {
    let is_keyword =
        |argument: &Argument<'_>| argument.is("pure-token") && !argument.has("optional");
    let named = arguments.iter().enumerate().filter(|(index, _)| {
        let before = index.checked_sub(1).map(|before| &arguments[before]);
        !before.is_some_and(is_keyword)
    });
    named.flat_map(|(_, argument)| argument.names()).collect()
}

fn syntax(arguments: &[Argument<'_>], between: &str) -> String {
    let all = arguments.iter().map(Argument::syntax);
    all.collect::<Vec<_>>().join(between)
}

/// The syntax of a command: on one line if it is short. Otherwise, each option and what follows the options has a line.
fn command_syntax(name: &str, arguments: &[Argument<'_>]) -> String {
    let line = format!("{name} {}", syntax(arguments, " "));
    if line.chars().count() <= SYNTAX_WIDTH {
        return line.trim_end().to_owned();
    }
    let is_option = |argument: &Argument<'_>| argument.has("optional");
    let first = arguments.iter().position(is_option);
    let first = first.unwrap_or(arguments.len());
    let mut lines = vec![format!("{name} {}", syntax(&arguments[..first], " "))];
    for (index, argument) in arguments.iter().enumerate().skip(first) {
        if is_option(argument) || is_option(&arguments[index - 1]) {
            lines.push("  ".to_owned());
        } else {
            lines.last_mut().expect("a line").push(' ');
        }
        *lines.last_mut().expect("a line") += &argument.syntax();
    }
    lines.join("\n")
}

/// A command as the server and the command table describe it.
struct Described {
    /// Name in upper case.
    name: String,
    summary: String,
    /// The generated part of its page.
    header: String,
    /// The names that the table of arguments must have.
    arguments: Vec<String>,
}

impl Described {
    fn new(connection: &mut Connection, family: &Family, command: &Command) -> Self {
        let name = command.name.to_str().expect("a name").to_uppercase();
        let reply = connection.send(&["COMMAND", "DOCS", &name]);
        let docs = fields(&reply.items().expect("a command and its docs")[1]);
        let field = |name: &str| text(docs[name]);
        let arguments = docs.get("arguments");
        let arguments = arguments.map_or_else(Vec::new, |list| Argument::list(list));
        let info = connection.send(&["COMMAND", "INFO", &name]);
        let info = info.items().expect("commands")[0].items().expect("fields");
        let flags = texts(&info[2]).filter(|flag| flag != "module");
        let categories = family.category.to_bytes().split(|_| false);
        let categories = categories.chain(command.acl.to_bytes().split(|&byte| byte == b' '));
        let categories = categories.map(|name| format!("@{}", String::from_utf8_lossy(name)));
        let module = match command.since.unwrap_or(family.since) {
            Since::RedisBloom(_) => "RedisBloom",
            Since::Roughly(_) => "Roughly",
        };
        let since = format!("{module} {}", field("since"));
        let keys = info[8].items().expect("key specs").iter().map(key);
        let syntax = command_syntax(&name, &arguments);
        let rows = [
            ("Since", since),
            ("Time complexity", field("complexity")),
            ("ACL categories", coded(categories)),
            ("Flags", coded(flags)),
            ("Keys", keys.collect::<Vec<_>>().join("; ")),
        ];
        let rows = rows.map(|(name, value)| format!("| {name} | {value} |"));
        Self {
            summary: field("summary"),
            header: format!(
                "{START}\n\n```text\n{syntax}\n```\n\n{}.\n\n| | |\n| --- | --- |\n{}\n\n{END}",
                field("summary"),
                rows.join("\n"),
            ),
            arguments: names(&arguments),
            name,
        }
    }

    fn page(&self) -> PathBuf {
        Path::new(FOLDER).join(format!("{}.md", self.name.to_lowercase()))
    }

    /// Its row in a table of commands. `folder` is the path from the page with the table to the pages of the commands.
    fn row(&self, folder: &str) -> String {
        let Self { name, summary, .. } = self;
        let file = name.to_lowercase();
        format!("| [{name}]({folder}{file}.md) | {summary} |")
    }

    /// The errors in its page.
    fn faults(&self, page: &Page) -> Vec<String> {
        let mut faults = Vec::new();
        if !page.text.starts_with(&format!("# {}\n", self.name)) {
            faults.push(format!("does not begin with # {}", self.name));
        }
        let headings = page
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("## "));
        let headings: Vec<_> = headings.collect();
        let mut expected = SECTIONS.to_vec();
        expected
            .retain(|section| headings.contains(section) || !OPTIONAL_SECTIONS.contains(section));
        if headings != expected {
            faults.push(format!("has the sections {headings:?}"));
        }
        let section = |name: &str| page.section(&format!("## {name}")).unwrap_or_default();
        for name in &self.arguments {
            let row = format!("\n| `{name}` |");
            if !section("Arguments").contains(&row) {
                faults.push(format!("does not explain the argument {name}"));
            }
        }
        for protocol in ["RESP2", "RESP3"] {
            if !section("Reply").contains(&format!("\n| {protocol} |"))
                && !section("Reply").contains("\n| RESP2, RESP3 |")
            {
                faults.push(format!("does not state the reply in {protocol}"));
            }
        }
        let call = format!("\n> {} ", self.name);
        let script = format!("redis-cli {} ", self.name);
        let examples = section("Examples");
        if !examples.contains(&call) && !examples.contains(&script) {
            faults.push("has no example".to_owned());
        }
        if self.name != COMMAND_OF_PEER {
            faults.extend(faults_of_peer(page));
        }
        faults
    }
}

/// The errors in the section about valkey-bloom, and the lines of other sections that belong to it.
fn faults_of_peer(page: &Page) -> Vec<String> {
    let mut faults = Vec::new();
    let section = page.section(&format!("## {PEER}")).unwrap_or_default();
    let block = section.trim();
    let is_collapsed = block.starts_with("<details>\n<summary>") && block.ends_with("</details>");
    if !block.is_empty() && !is_collapsed {
        faults.push(format!("the section {PEER} is not one collapsed block"));
    }
    let link = format!("(#{PEER})");
    let rest = page.text.replace(section, "");
    for line in rest.lines().filter(|line| !line.starts_with('#')) {
        let is_about = [PEER, "bloomfltr", "bf-replies", "bf-new-keys"]
            .iter()
            .any(|word| line.contains(word));
        if is_about && !line.contains(&link) {
            faults.push(format!(
                "does not have this line in the section {PEER}: {line}"
            ));
        }
    }
    faults
}

/// Names as code, separated by commas.
fn coded(names: impl Iterator<Item = String>) -> String {
    let names = names.map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

/// A key spec in words.
fn key(reply: &Reply) -> String {
    let spec = fields(reply);
    let search = fields(spec["begin_search"]);
    let Reply::Integer(first) = *fields(search["spec"])["index"] else {
        panic!("a key spec without a position");
    };
    let place = if text(fields(spec["find_keys"])["type"]) == "keynum" {
        format!("the keys after argument {first}, which is their number")
    } else {
        format!("argument {first}")
    };
    format!("{place}: {}", coded(texts(spec["flags"])))
}

/// The commands of each family, in the order of the command table.
fn described() -> Vec<(&'static str, Vec<Described>)> {
    let server = Server::start();
    let mut connection = server.resp2();
    let guides = one_per_family().map(|family| family.page);
    let families = roughly::MODULE.families.iter();
    let families = families.zip(guides.chain([SKETCH_GUIDE]));
    let described = families.map(|(family, guide)| {
        let commands = family.commands.iter();
        let commands = commands.map(|command| Described::new(&mut connection, family, command));
        (guide, commands.collect())
    });
    described.collect()
}

fn table<'a>(commands: impl Iterator<Item = &'a Described>, folder: &str) -> String {
    let rows: Vec<_> = commands.map(|command| command.row(folder)).collect();
    format!(
        "{START}\n\n| command | summary |\n| --- | --- |\n{}\n\n{END}",
        rows.join("\n")
    )
}

/// Compares the generated part of a page, or writes it if [`WRITE`] is set.
fn check_generated(page: &mut Page, place: usize, generated: &str, faults: &mut Vec<String>) {
    let start = page.text.match_indices(START).nth(place);
    let part = start.and_then(|(start, _)| {
        let end = page.text[start..].find(END)? + END.len();
        Some(start..start + end)
    });
    let Some(part) = part else {
        faults.push(format!("{}: no line {START}", page.path.display()));
        return;
    };
    if page.text[part.clone()] == *generated {
        return;
    }
    if env::var_os(WRITE).is_some() {
        page.text.replace_range(part, generated);
        fs::write(&page.path, &page.text).expect("a page");
    } else {
        let path = page.path.display();
        faults.push(format!("{path} is not up to date: run `make pages`"));
    }
}

#[test]
fn every_command_has_a_page_that_matches_the_command_table() {
    let families = described();
    let mut faults = Vec::new();
    let mut index = Page::read(&Path::new(FOLDER).join("README.md"));
    let mut expected = vec![index.path.clone()];
    for (place, (guide, commands)) in families.iter().enumerate() {
        check_generated(&mut index, place, &table(commands.iter(), ""), &mut faults);
        let mut guide = Page::read(Path::new(guide));
        let folder = match guide.path.starts_with("docs/families") {
            true => "../commands/",
            false => "commands/",
        };
        let generated = table(commands.iter(), folder);
        check_generated(&mut guide, 0, &generated, &mut faults);
        for command in commands {
            let path = command.page();
            expected.push(path.clone());
            if !path.exists() {
                faults.push(format!("{}: no such page", path.display()));
                continue;
            }
            let mut page = Page::read(&path);
            check_generated(&mut page, 0, &command.header, &mut faults);
            let found = command.faults(&page).into_iter();
            faults.extend(found.map(|fault| format!("{}: {fault}", path.display())));
        }
    }
    let entries = fs::read_dir(FOLDER).expect("the folder").flatten();
    let pages = entries.map(|entry| entry.path().display().to_string());
    let expected = expected.iter().map(|path| path.display());
    assert_same_names(pages, expected, "pages of commands");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
