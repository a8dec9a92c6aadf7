//! The command reference: each page of docs/commands has the commands of its title. Its header and the lists of commands in
//! the guides are generated from the command table. `make pages` writes them, and this test compares them.

use crate::families::one_per_family;
use crate::support::command_pages::{self, CommandPage, FOLDER};
use crate::support::page::Page;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use roughly::server::command::{Command, Since};
use roughly::server::load::Family;
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

/// The guide to the commands for sketches of any family.
const SKETCH_GUIDE: &str = "docs/sliding-windows.md";
/// With this variable, the test writes the generated parts instead of comparing them.
const WRITE: &str = "ROUGHLY_WRITE";
/// The lines around a generated part.
const START: &str = "<!-- commands: generated from the command table by `make pages` -->";
const END: &str = "<!-- end -->";
/// The sections of a page, in this order.
const SECTIONS: &str = "Arguments, Examples, Reply, Errors, Notes, valkey-bloom, See also";
/// The sections that a page may omit.
const OPTIONAL_SECTIONS: [&str; 2] = ["Notes", PEER];
/// The section with everything about valkey-bloom's type, in a collapsed block. The rest of the page only links to it.
const PEER: &str = "valkey-bloom";
/// The only command that is about valkey-bloom's type and nothing else.
const COMMAND_OF_PEER: &str = "BF.LOAD";
/// The number of characters of a line of syntax that a phone displays.
const SYNTAX_WIDTH: usize = 40;

/// An argument of COMMAND DOCS.
struct Argument<'a>(&'a Reply);

impl<'a> Argument<'a> {
    /// The arguments of a command, or the parts of an argument.
    fn list(of: &'a Reply) -> Vec<Self> {
        let arguments = of.field("arguments").and_then(Reply::items);
        arguments.unwrap_or_default().iter().map(Self).collect()
    }

    fn field(&self, name: &str) -> Option<String> {
        self.0.field(name).map(Reply::string)
    }

    fn has(&self, flag: &str) -> bool {
        let flags = self.0.field("flags").map(Reply::strings);
        flags.is_some_and(|flags| flags.iter().any(|one| one == flag))
    }

    fn parts(&self) -> Vec<Self> {
        Self::list(self.0)
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
    syntax: String,
    /// The rows of the table in the generated part of its page.
    rows: [(&'static str, String); 5],
    /// The names that the table of arguments must have.
    arguments: Vec<String>,
}

impl Described {
    fn new(connection: &mut Connection, family: &Family, command: &Command) -> Self {
        let name = command.name.to_str().expect("a name").to_uppercase();
        let reply = connection.send(&["COMMAND", "DOCS", &name]);
        let docs = &reply.items().expect("a command and its docs")[1];
        let field = |name: &str| docs.field(name).expect(name).string();
        let arguments = Argument::list(docs);
        let info = connection.send(&["COMMAND", "INFO", &name]);
        let info = info.items().expect("commands")[0].items().expect("fields");
        let flags = info[2].strings().into_iter();
        let flags = flags.filter(|flag| flag != "module");
        let categories = family.category.to_bytes().split(|_| false);
        let categories = categories.chain(command.acl.to_bytes().split(|&byte| byte == b' '));
        let categories = categories.map(|name| format!("@{}", String::from_utf8_lossy(name)));
        let module = match command.since.unwrap_or(family.since) {
            Since::RedisBloom(_) => "RedisBloom",
            Since::Roughly(_) => "Roughly",
        };
        let since = format!("{module} {}", field("since"));
        let keys = info[8].items().expect("key specs").iter().map(key);
        Self {
            summary: field("summary"),
            syntax: command_syntax(&name, &arguments),
            rows: [
                ("Since", since),
                ("Time complexity", field("complexity")),
                ("ACL categories", coded(categories)),
                ("Flags", coded(flags)),
                ("Keys", keys.collect::<Vec<_>>().join("; ")),
            ],
            arguments: names(&arguments),
            name,
        }
    }

    /// The link to its page. `folder` is the path from the page with the link to the pages of the commands.
    fn link(&self, pages: &[CommandPage], folder: &str) -> String {
        let name = &self.name;
        let file = command_pages::find(pages, name).file();
        format!("[{name}]({folder}{file})")
    }

    /// The errors in its page.
    fn faults(&self, page: &CommandPage) -> Vec<String> {
        let mut faults = Vec::new();
        let section = |name: &str| page.page.section(&format!("## {name}")).unwrap_or_default();
        for name in &self.arguments {
            let row = format!("\n| `{name}` |");
            if !section("Arguments").contains(&row) {
                faults.push(format!("does not explain the argument {name}"));
            }
        }
        // A table of replies is the same for all commands of the page, or begins with the name of a command in each row.
        let (name, own) = (&self.name, std::slice::from_ref(&self.name));
        let mut starts = vec!["\n".to_owned()];
        let names = page.names.iter();
        let names = names.filter(|name| !command_pages::commands_of(name, own).is_empty());
        starts.extend(names.map(|name| format!("\n| {name} ")));
        for protocol in ["RESP2", "RESP3"] {
            let rows = [protocol, "RESP2, RESP3"].map(|protocol| format!("| {protocol} |"));
            let has =
                |start: &String, row: &String| section("Reply").contains(&format!("{start}{row}"));
            if !rows
                .iter()
                .any(|row| starts.iter().any(|start| has(start, row)))
            {
                faults.push(format!("does not state the reply of {name} in {protocol}"));
            }
        }
        let calls = [format!("\n> {name} "), format!("redis-cli {name} ")];
        if !calls.iter().any(|call| section("Examples").contains(call)) {
            faults.push(format!("has no example of {name}"));
        }
        faults
    }
}

/// The generated part of a page.
fn header(page: &CommandPage, commands: &[&Described]) -> String {
    let syntax = commands.iter().map(|command| command.syntax.as_str());
    let syntax = syntax.collect::<Vec<_>>().join("\n");
    // The first lines of a page describe a command of several families, such as SCANDUMP.
    let is_named = |command: &&&Described| page.names.contains(&command.name);
    let summaries = commands.iter().filter(is_named);
    let summaries = summaries.map(|command| match commands.len() {
        1 => format!("{}.\n", command.summary),
        _ => format!("- {}: {}.\n", command.name, command.summary),
    });
    let mut summaries: String = summaries.collect();
    if !summaries.is_empty() {
        summaries.push('\n');
    }
    let rows = (0..5).map(|row| {
        let name = commands[0].rows[row].0;
        format!("| {name} | {} |", value(page, commands, row))
    });
    format!(
        "{START}\n\n```text\n{syntax}\n```\n\n{summaries}| | |\n| --- | --- |\n{}\n\n{END}",
        rows.collect::<Vec<_>>().join("\n"),
    )
}

/// A row of the table in the generated part: the value of all commands, or each value after the names of its commands.
fn value(page: &CommandPage, commands: &[&Described], row: usize) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for command in commands {
        let value = &command.rows[row].1;
        match groups.iter_mut().find(|(known, _)| known == value) {
            Some((_, names)) => names.push(command.name.clone()),
            None => groups.push((value, vec![command.name.clone()])),
        }
    }
    if let [(value, _)] = groups[..] {
        return value.to_owned();
    }
    let all = commands.iter().map(|command| command.name.clone());
    let all: Vec<_> = all.collect();
    let groups = groups.into_iter().map(|(value, mut names)| {
        // A name of the title replaces the commands that it stands for.
        for name in &page.names {
            let meant = command_pages::commands_of(name, &all);
            let is_meant = |known: &String| meant.contains(&known.as_str());
            let first = names.iter().position(is_meant);
            let number = names.iter().filter(|known| is_meant(known)).count();
            if let Some(first) = first
                && number == meant.len()
            {
                names.retain(|known| !is_meant(known));
                names.insert(first, name.clone());
            }
        }
        format!("{}: {value}", names.join(", "))
    });
    groups.collect::<Vec<_>>().join("<br>")
}

/// The errors in the sections of a page.
fn faults_of_sections(page: &Page) -> Vec<String> {
    let lines = page.text.lines();
    let headings: Vec<_> = lines.filter_map(|line| line.strip_prefix("## ")).collect();
    let mut expected: Vec<_> = SECTIONS.split(", ").collect();
    expected.retain(|section| headings.contains(section) || !OPTIONAL_SECTIONS.contains(section));
    if headings == expected {
        return Vec::new();
    }
    vec![format!("has the sections {headings:?}")]
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
        let mut words = [PEER, "bloomfltr", "bf-replies", "bf-new-keys"].iter();
        let is_about = words.any(|word| line.contains(word));
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
    let field = |name: &str| {
        reply
            .field(name)
            .unwrap_or_else(|| panic!("no {name}: {reply}"))
    };
    let first = field("begin_search")
        .field("spec")
        .expect("a spec")
        .number("index");
    let kind = field("find_keys").field("type").expect("a type").string();
    let place = match kind.as_str() {
        "keynum" => format!("the keys after argument {first}, which is their number"),
        _ => format!("argument {first}"),
    };
    format!("{place}: {}", coded(field("flags").strings().into_iter()))
}

/// The commands of each family, in the order of the command table.
fn described() -> Vec<(&'static str, Vec<Described>)> {
    let (_server, mut connection) = Server::start().connected();
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

fn list(commands: &[Described], pages: &[CommandPage], folder: &str) -> String {
    let links = commands.iter().map(|command| command.link(pages, folder));
    let links = links.collect::<Vec<_>>().join(",\n");
    format!("{START}\n\n{links}\n\n{END}")
}

/// Compares the generated part of a page, or writes it if [`WRITE`] is set.
fn check_generated(page: &mut Page, generated: &str, faults: &mut Vec<String>) {
    let part = page.text.find(START).and_then(|start| {
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
    let known = command_pages::all_commands();
    let mut pages = command_pages::all();
    let mut faults = command_pages::faults_of_titles(&pages, &known);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    for (guide, commands) in &families {
        let mut guide = Page::read(Path::new(guide));
        let folder = match guide.path.starts_with("docs/families") {
            true => "../commands/",
            false => "commands/",
        };
        let generated = list(commands, &pages, folder);
        check_generated(&mut guide, &generated, &mut faults);
    }
    let all = families.iter().flat_map(|(_, commands)| commands);
    let all = all.map(|command| (command.name.as_str(), command));
    let all: BTreeMap<_, _> = all.collect();
    for page in &mut pages {
        let commands = page.commands(&known).into_iter();
        let commands: Vec<_> = commands.map(|name| all[name]).collect();
        let generated = header(page, &commands);
        check_generated(&mut page.page, &generated, &mut faults);
        let mut found = faults_of_sections(&page.page);
        found.extend(commands.iter().flat_map(|command| command.faults(page)));
        if page.names != [COMMAND_OF_PEER] {
            found.extend(faults_of_peer(&page.page));
        }
        let found = found.into_iter();
        faults.extend(found.map(|fault| format!("{FOLDER}/{}: {fault}", page.file())));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
