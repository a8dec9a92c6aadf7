//! README.md and docs/: runs every example and compares its output with the page.
//!
//! The first word of a fenced block is its kind. `redis` blocks are input of the command-line client (`redis resp3`
//! uses RESP3; `redis redis-8` runs only on Redis 8 and above), and their output is compared. `sh` and `python`
//! blocks run, must succeed, and must print the comments that follow two spaces; `python roughly`, `python dask` and
//! `python spark` blocks use the Python package, whose tests run them in the same way. `make` blocks name targets of the
//! Makefile. `conf` blocks start a server. `text` blocks do not run. `console` blocks change the reader's machine and
//! do not run, but their lines with `make` must name targets of the Makefile. The blocks of a page share one server and
//! run in order.
//!
//! tests/documents has the tests of documents that need no server.

mod commands;
pub mod environment;
pub mod reference;
mod versions;

use crate::support::page::{self, Block, Page};
use crate::support::server::{Options, Server};
use environment::Environment;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// Number of pages that are checked at the same time.
const THREADS: usize = 4;

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
    let next = AtomicUsize::new(0);
    let check_pages = || {
        let mut found = Vec::new();
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(faults(page));
        }
        found
    };
    let faults: Vec<_> = thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(check_pages));
        let found = threads.map(|thread| thread.join().expect("no panic"));
        found.into_iter().flatten().collect()
    });
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    for language in ["redis", "redis resp3", "sh", "python", "make"] {
        let mut blocks = pages.iter().flat_map(|page| &page.blocks);
        assert!(blocks.any(|block| block.language == language), "{language}");
    }
}

/// The table of questions on the first page: the commands that create the keys, and those that ask.
#[test]
fn the_questions_of_the_first_page_have_answers() {
    let page = fs::read_to_string("README.md").expect("the page");
    let table = page.split("| question | create the key |").nth(1);
    let table = table.and_then(|rest| rest.split("\n\n").next());
    let rows = table.expect("the table").lines().skip(2);
    let server = Server::start();
    let mut count = 0;
    for row in rows {
        let cells: Vec<_> = row.split('|').collect();
        for command in cells[2..4]
            .iter()
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        {
            server.run(command);
            count += 1;
        }
    }
    assert!(count >= 15, "{count} commands");
}

/// The terminal session docs/plots/session.svg, which is not generated: the server gives the same replies. The clock
/// of the server stands still, except for the pauses of the session.
#[test]
fn the_recorded_session_has_the_replies_of_the_server() {
    let file = fs::read_to_string("docs/plots/session.svg").expect("the session");
    let texts = file.split("<text ").skip(1).map(|part| {
        let text = part.split(['<', '>']).nth(1).expect("a text");
        text.replace("&gt;", ">")
            .replace("&lt;", "<")
            .replace("&amp;", "&")
    });
    let lines: Vec<_> = texts.collect();
    let is_command = |line: &&String| line.starts_with("> ");
    assert!(lines.iter().filter(is_command).count() >= 5);
    let pause = |line: &String| -> Option<u64> {
        line.strip_prefix("# ")?
            .strip_suffix(" seconds later")?
            .parse()
            .ok()
    };
    let pauses: u64 = lines.iter().filter_map(pause).sum();
    let mut ms = time_of_series(&lines) - 1000 * pauses;
    let start = ms;
    let server = Options::new().debug_module().start();
    server.set_clock(&ms.to_string());
    let mut environment = Environment::of(server, Server::start());
    for lines in lines.chunk_by(|_, line| pause(line).is_none()) {
        ms += 1000 * lines.first().and_then(pause).unwrap_or(0);
        environment.server().set_clock(&ms.to_string());
        let lines = lines.iter().filter(|line| pause(line).is_none());
        let block = Block {
            language: "redis".to_owned(),
            line: 1,
            lines: lines.cloned().collect(),
        };
        environment.run(&block).expect("the replies of the file");
    }
    assert!(ms > start, "no pause");
}

/// When the last command ran, a series: its last row ends at this time. A row has its start, the time that it covers, and a count.
fn time_of_series(lines: &[String]) -> u64 {
    let is_series = |line: &String| line.starts_with("> SKETCH.SERIES ");
    let at = lines.iter().position(is_series).expect("a series");
    let number = |line: &String| line.rsplit_once("(integer) ")?.1.parse().ok();
    let numbers: Vec<u64> = lines[at + 1..].iter().filter_map(number).collect();
    let [.., start, covered, _] = numbers[..] else {
        panic!("{numbers:?}");
    };
    start + covered
}

/// Checks the test of the examples: it must report a block with wrong output.
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
        ("```rust\nuse redis::Nothing;\n```", true),
        ("```\n> BF.ADD a x\n(integer) 1\n```", true),
    ] {
        let found = faults(&Page::parse("example.md".into(), text));
        assert_eq!(!found.is_empty(), wrong, "{text}: {found:?}");
    }
}
