//! README.md and docs/: every example runs and must print what the page shows.
//!
//! The first word of a fenced block is its kind. `redis` blocks are input of the command line
//! client (`redis resp3` with RESP3, `redis redis-8` on a Redis of at least version 8 only) and its output is
//! compared; `sh` and `python` blocks are run, must succeed, and print what comments behind two blanks say;
//! `make` blocks name targets of the Makefile; `conf` blocks start a server. `text` is not run, nor is
//! `console`, which is for what changes the reader's machine (of its lines with make the targets are looked up).
//! The blocks of a page share one server, in order.

mod environment;
mod messages;
pub mod page;
mod reference;

use environment::Environment;
use page::Page;

/// Runs every block of a page and returns the differences.
fn faults(page: &Page) -> Vec<String> {
    let mut environment = Environment::default();
    let faults = page.blocks.iter().filter_map(|block| {
        let fault = environment.run(block).err()?;
        Some(format!("{}:{}: {fault}", page.path.display(), block.line))
    });
    faults.collect()
}

#[test]
fn examples_print_the_documented_output() {
    let pages = page::all();
    assert!(pages.len() > 10, "{} pages", pages.len());
    let faults: Vec<_> = pages.iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    for language in ["redis", "redis resp3", "sh", "python", "make"] {
        let mut blocks = pages.iter().flat_map(|page| &page.blocks);
        assert!(blocks.any(|block| block.language == language), "{language}");
    }
}

/// Checks the test above: it finds a block with wrong output.
#[test]
fn a_wrong_example_is_found() {
    for (text, wrong) in [
        ("```redis\n> BF.ADD a x\n(integer) 1\n```", false),
        ("```redis\n> BF.ADD a x\n(integer) 0\n```", true),
        ("```redis\n> BF.ADD a x\n```", true),
        ("```redis resp3\n> BF.ADD a x\n(true)\n```", false),
        ("```redis resp3\n> BF.ADD a x\n(integer) 1\n```", true),
        ("```sh\nredis-cli BF.ADD a x | grep -x 1\n```", false),
        ("```sh\nredis-cli BF.ADD a x | grep -x 0\n```", true),
        ("```sh\nredis-cli GET nothing NONSENSE\n```", true),
        ("```sh\nredis-cli BF.ADD a x  # 1\n```", false),
        ("```sh\nredis-cli BF.ADD a x  # 0\n```", true),
        ("```python\nprint(1 + 1)  # 2\n```", false),
        ("```python\nprint(1 + 1)  # 3\n```", true),
        ("```make\nmake help     # lists\n```", false),
        ("```make\nmake nothing\n```", true),
        ("```console\nsudo make install\nmake help\n```", false),
        ("```console\nmake nothing\n```", true),
        ("```conf\nloadmodule /path/to/libroughly.so\n```", false),
        (
            "```conf\nloadmodule /path/to/libroughly.so no-such 1\n```",
            true,
        ),
        ("```\n> BF.ADD a x\n(integer) 1\n```", true),
    ] {
        let found = faults(&Page::parse("example.md".into(), text));
        assert_eq!(!found.is_empty(), wrong, "{text}: {found:?}");
    }
}

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
