//! Documents and scripts that must agree with the sources and with each other, without a server: links, versions, error texts and the
//! table of abilities. tests/server/each_server/documents.rs runs the examples of the documents.

mod abilities;
mod citations;
mod early_returns;
mod imports;
mod key_functions;
mod messages;
mod programs;
mod run_script;
mod sleeps;
mod support;
mod versions;

use std::collections::BTreeSet;
use std::path::Path;
use support::command_pages::{self, CommandPage};
use support::names::assert_same_names;
use support::page::{self, Page};

/// Links to files and headings of this repository have targets.
#[test]
fn links_have_targets() {
    let mut links = 0;
    for page in page::all() {
        for target in page.links() {
            links += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() {
                page.path.clone()
            } else {
                page.path.parent().expect("a directory").join(file)
            };
            assert!(path.exists(), "{} links to {target}", page.path.display());
            if !heading.is_empty() && path.extension().is_some_and(|kind| kind == "md") {
                let there = Page::read(&path).headings().any(|known| known == heading);
                assert!(there, "{} links to {target}", page.path.display());
            }
        }
    }
    assert!(links > 30, "{links} links");
}

/// The nightly workflow runs each check of a release as a job, and CONTRIBUTING.md has a row for each.
#[test]
fn the_nightly_workflow_runs_every_check() {
    let read = |path: &str| std::fs::read_to_string(path).expect(path);
    let (script, workflow) = (
        read("scripts/check-release.sh"),
        read(".github/workflows/nightly.yml"),
    );
    let list = |text: &str, start: &str, end: char| -> Vec<String> {
        let (_, rest) = text.split_once(start).expect("a list");
        let names = rest.split(end).next().expect("a part");
        let names = names
            .split([' ', ',', '\n'])
            .filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let checks = list(&script, "\nall=\"", '"');
    assert!(checks.len() > 10, "{checks:?}");
    let page = read("CONTRIBUTING.md");
    let (_, table) = page.split_once("| check of a release |").expect("a table");
    let rows = table.split("\n\n").next().expect("rows").lines();
    let rows = rows.filter_map(|row| Some(row.strip_prefix("| `")?.split_once('`')?.0.to_owned()));
    assert_same_names(rows, &checks, "rows of CONTRIBUTING.md");
    assert_same_names(
        list(&workflow, "check: [", ']'),
        checks,
        "jobs of the nightly workflow",
    );
}

/// The steps of a numbered list keep their numbers on the site.
#[test]
fn numbered_lists_do_not_restart() {
    let mut found = Vec::new();
    for page in page::all() {
        let lines = page.restarted_lists().into_iter();
        found.extend(lines.map(|line| format!("{}:{line}", page.path.display())));
    }
    assert!(
        found.is_empty(),
        "indent the text of the items by four spaces: {found:#?}"
    );
    for (text, wrong) in [
        ("1. a\n2. b\n", false),
        ("1. a\n\n    ```sh\n    x\n    ```\n\n2. b\n", false),
        ("1. a\n   b\n2. b\n\nText.\n\n1. c\n", false),
        ("1. a\n\n```sh\nx\n```\n\n2. b\n", true),
        ("1. a\n\n   ```sh\n   x\n   ```\n\n2. b\n", true),
        ("1. a\n\nText.\n\n2. b\n", true),
    ] {
        let page = Page::parse("page.md".into(), text);
        assert_eq!(!page.restarted_lists().is_empty(), wrong, "{text}");
    }
}

/// The terms of the glossary are in order, each has one definition, and a page links to each.
#[test]
fn terms_of_the_glossary_are_linked() {
    let glossary = Page::read(Path::new("docs/glossary.md"));
    let terms: Vec<_> = glossary.headings().skip(1).collect();
    assert!(terms.is_sorted(), "{terms:?}");
    assert!(terms.windows(2).all(|pair| pair[0] != pair[1]), "{terms:?}");
    let mut linked = BTreeSet::new();
    for page in page::all() {
        let own = page.path == glossary.path;
        let links = page.links().filter_map(|link| link.split_once('#'));
        let links =
            links.filter(|(file, _)| file.ends_with("glossary.md") || own && file.is_empty());
        linked.extend(links.map(|(_, term)| term.to_owned()));
    }
    for term in terms {
        assert!(linked.contains(&term), "no link to {term}");
    }
}

/// The programs of examples/ have the functions that a recipe names.
#[test]
fn recipes_exist_in_other_languages() {
    let mut recipes = 0;
    for page in page::all() {
        let Some(section) = page.section("## Other languages") else {
            continue;
        };
        recipes += 1;
        let name = page.path.file_stem().expect("a name").to_string_lossy();
        assert!(section.contains(&format!("`recipe: {name}`")));
        for program in ["node/recipes.mjs", "go/recipes.go", "rust/recipes.rs"] {
            assert!(section.contains(program), "{name}");
            let text = std::fs::read_to_string(format!("examples/{program}")).expect(program);
            let starts = text.matches(&format!("// recipe: {name}\n")).count();
            assert_eq!(starts, 1, "{name} in {program}");
        }
    }
    assert!(recipes > 5, "{recipes} recipes");
}

/// The title of a page of docs/commands lists its commands.
#[test]
fn every_command_is_in_the_title_of_one_page() {
    let known = command_pages::all_commands();
    let faults = command_pages::faults_of_titles(&command_pages::all(), &known);
    assert!(faults.is_empty(), "{faults:#?}");

    let known = ["BF.ADD", "BF.MADD", "BF.CARD", "CF.CARD"].map(str::to_owned);
    let faults = |pages: &[(&str, &str)]| {
        let pages = pages
            .iter()
            .map(|(file, title)| CommandPage::new(Page::parse(file.into(), &format!("{title}\n"))));
        command_pages::faults_of_titles(&pages.collect::<Vec<_>>(), &known)
    };
    let (adds, cards) = (("bf.add.md", "# BF.ADD, BF.MADD"), ("card.md", "# CARD"));
    assert_eq!(faults(&[adds, cards]), [""; 0]);
    for (pages, expected) in [
        (
            vec![("bf.add.md", "# BF.ADD"), cards],
            "BF.MADD: no title has this command",
        ),
        (
            vec![adds, cards, ("bf.madd.md", "# BF.MADD")],
            "BF.MADD: in the titles of bf.add.md, bf.madd.md",
        ),
        (
            vec![adds, cards, ("cf.card.md", "# CF.CARD")],
            "CF.CARD: in the titles of card.md, cf.card.md",
        ),
        (
            vec![("bf.add.md", "# BF.ADD, BF.MADD, BF.ADD"), cards],
            "BF.ADD: in the titles of bf.add.md, bf.add.md",
        ),
        (
            vec![("bf.add.md", "# BF.MADD, BF.ADD"), cards],
            "bf.add.md: the title does not begin with the name of the file",
        ),
        (
            vec![adds, cards, ("bf.sub.md", "# BF.SUB")],
            "bf.sub.md: BF.SUB in the title is no command",
        ),
        (
            vec![adds, cards, ("sub.md", "# SUB")],
            "sub.md: SUB in the title is no command",
        ),
        (
            vec![adds, cards, ("bf.sub.md", "BF.SUB")],
            "bf.sub.md: the title does not begin with the name of the file",
        ),
    ] {
        assert_eq!(faults(&pages), [expected], "{pages:?}");
    }
}

/// The page with all commands links to the page of each command, by its name in the title.
#[test]
fn the_index_links_to_every_command() {
    let index = Page::read(Path::new(command_pages::INDEX));
    for page in command_pages::all() {
        for name in &page.names {
            let link = format!("[{name}]({})", page.file());
            assert!(index.text.contains(&link), "no link {link}");
        }
    }
}

/// The programs of examples/ have each command, except those that copy keys, debug or replicate.
#[test]
fn commands_have_examples_in_other_languages() {
    let exempt = ["SCANDUMP", "LOADCHUNK", "DEBUG", "LOAD", "ADVANCE"];
    let mut expected = command_pages::all_commands();
    expected.retain(|name| !exempt.iter().any(|end| name.ends_with(&format!(".{end}"))));
    let programs = "python/commands.py node/commands.mjs go/commands/main.go rust/commands.rs";
    for program in programs.split(' ') {
        let text = std::fs::read_to_string(format!("examples/{program}")).expect(program);
        let marked = text
            .lines()
            .filter_map(|line| line.split_once(" command: "));
        assert_same_names(marked.map(|(_, name)| name), &expected, program);
    }
}
