//! The pages of docs/commands. The title of a page lists its commands.

use super::page::Page;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub const FOLDER: &str = "docs/commands";
/// The page with links to the pages of all commands.
pub const INDEX: &str = "docs/commands/README.md";
/// The sections of [`INDEX`] with the errors that the pages of the commands omit.
pub const SHARED_ERRORS: &str = "## Errors of every command";
pub const WINDOW_ERRORS: &str = "## Errors of the window options";
/// The start of a page's row at the place of [`WINDOW_ERRORS`] in the order of the checks.
const WINDOW_ROW: &str =
    "\n| [errors of the window options](README.md#errors-of-the-window-options) | ";

/// The names of all commands in upper case, in the order of the command table.
pub fn all_commands() -> Vec<String> {
    let families = roughly::MODULE.families.iter();
    let commands = families.flat_map(|family| family.commands);
    let names = commands.map(|command| command.name.to_str().expect("a name").to_uppercase());
    names.collect()
}

/// The page of one or more commands.
#[derive(Debug)]
pub struct CommandPage {
    pub page: Page,
    /// The names of the title. A name without a dot stands for this command of all families that have it.
    pub names: Vec<String>,
}

impl CommandPage {
    pub fn new(page: Page) -> Self {
        let line = page.text.lines().next();
        let title = line.and_then(|line| line.strip_prefix("# "));
        let names = title.map_or_else(Vec::new, |title| {
            title.split(", ").map(str::to_owned).collect()
        });
        Self { page, names }
    }

    /// The page without the folder.
    pub fn file(&self) -> String {
        let name = self.page.path.file_name().expect("a name");
        name.to_string_lossy().into_owned()
    }

    pub fn errors(&self) -> &str {
        self.page.section("## Errors").unwrap_or_default()
    }

    /// Whether [`WINDOW_ERRORS`] belongs to its errors.
    pub fn has_window_errors(&self) -> bool {
        self.errors().contains(WINDOW_ROW)
    }

    /// The errors that it omits.
    pub fn shared_errors(&self) -> String {
        let mut errors = shared_errors(SHARED_ERRORS);
        if self.has_window_errors() {
            errors.push_str(&shared_errors(WINDOW_ERRORS));
        }
        errors
    }

    /// Its commands, in the order of the title.
    pub fn commands<'a>(&self, known: &'a [String]) -> Vec<&'a str> {
        let names = self.names.iter();
        names.flat_map(|name| commands_of(name, known)).collect()
    }
}

/// The commands that a name of a title stands for.
pub fn commands_of<'a>(name: &str, known: &'a [String]) -> Vec<&'a str> {
    let is_meant = |command: &&str| match command.split_once('.') {
        Some((_, rest)) if !name.contains('.') => rest == name,
        _ => *command == name,
    };
    known.iter().map(String::as_str).filter(is_meant).collect()
}

/// All pages but [`INDEX`], in the order of their files.
pub fn all() -> Vec<CommandPage> {
    let entries = fs::read_dir(FOLDER).expect("the folder").flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path != Path::new(INDEX));
    paths.sort();
    let pages = paths.iter().map(|path| CommandPage::new(Page::read(path)));
    pages.collect()
}

pub fn find<'a>(pages: &'a [CommandPage], command: &str) -> &'a CommandPage {
    let known = [command.to_owned()];
    let mut pages = pages.iter();
    let page = pages.find(|page| !page.commands(&known).is_empty());
    page.unwrap_or_else(|| panic!("no page of {command}"))
}

/// A section of [`INDEX`].
pub fn shared_errors(heading: &str) -> String {
    let index = Page::read(Path::new(INDEX));
    index.section(heading).expect(heading).to_owned()
}

/// The errors in the first column of the tables of a section.
pub fn listed_errors(section: &str) -> Vec<String> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let columns = rows.filter_map(|row| row.split(" | ").next());
    let texts = columns.flat_map(|column| column.split('`').step_by(2));
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

/// The errors in the titles: each command is in exactly one title, and the first name of a title is the name of the file.
pub fn faults_of_titles(pages: &[CommandPage], known: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    places.extend(known.iter().map(|command| (command.as_str(), Vec::new())));
    for page in pages {
        let file = page.file();
        let first = page.names.first().map(|name| name.to_lowercase());
        if first.is_none_or(|first| format!("{first}.md") != file) {
            faults.push(format!(
                "{file}: the title does not begin with the name of the file"
            ));
        }
        for name in &page.names {
            let commands = commands_of(name, known);
            if commands.is_empty() {
                faults.push(format!("{file}: {name} in the title is no command"));
            }
            for command in commands {
                places.entry(command).or_default().push(file.clone());
            }
        }
    }
    for (command, files) in places {
        match &files[..] {
            [_] => {}
            [] => faults.push(format!("{command}: no title has this command")),
            _ => faults.push(format!("{command}: in the titles of {}", files.join(", "))),
        }
    }
    faults
}
