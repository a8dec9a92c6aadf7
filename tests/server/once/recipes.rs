//! The programs of the recipes.

use crate::each_server::documents::environment::Environment;
use crate::support::page::{self, Block, Page};
use std::thread;

/// A program can start again on a server that has its keys: a restart of the application, or a second process.
#[test]
fn programs_can_start_twice() {
    let mut pages = page::all();
    pages.retain(|page| page.path.starts_with("docs/recipes"));
    let programs: usize = thread::scope(|scope| {
        let threads: Vec<_> = (pages.iter())
            .map(|page| scope.spawn(|| run_twice(page)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum()
    });
    assert!(programs > 15, "{programs} programs");
}

/// Runs each program of a page twice. Returns the number of programs.
fn run_twice(page: &Page) -> usize {
    let mut environment = Environment::default();
    let programs = page
        .blocks
        .iter()
        .filter(|block| block.language == "python");
    let mut number = 0;
    for block in programs {
        number += 1;
        // The second run can print something else than the comments.
        let code_of = |line: &String| line.split("  # ").next().unwrap_or_default().to_owned();
        let silent = Block {
            language: block.language.clone(),
            line: block.line,
            lines: block.lines.iter().map(code_of).collect(),
        };
        for run in [1, 2] {
            if let Err(fault) = environment.run(&silent) {
                panic!("{}:{}, run {run}: {fault}", page.path.display(), block.line);
            }
        }
    }
    number
}
