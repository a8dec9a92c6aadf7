//! The programs of the recipes.

use crate::each_server::documents::environment::Environment;
use crate::support::page::{self, Block, Page};
use crate::support::sample::Sample;
use std::thread;

/// A program can start again on a server that has its keys: a restart of the application, or a second process.
#[test]
fn programs_can_start_twice() {
    let mut pages = page::all();
    pages.retain(|page| page.path.starts_with("docs/recipes"));
    pages.retain(|page| !page.path.ends_with("README.md"));
    for page in &pages {
        let path = page.path.display();
        assert!(programs(page).count() > 0, "{path} has no program");
    }
    thread::scope(|scope| {
        for page in Sample::of_run().of(&pages) {
            scope.spawn(|| run_twice(page));
        }
    });
}

fn programs(page: &Page) -> impl Iterator<Item = &Block> {
    let blocks = page.blocks.iter();
    blocks.filter(|block| block.language == "python")
}

/// Runs each program of a page twice.
fn run_twice(page: &Page) {
    let mut environment = Environment::default();
    for block in programs(page) {
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
}
