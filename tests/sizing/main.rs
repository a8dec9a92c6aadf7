//! Opens docs/sizing.html in a headless browser and compares its figures with table.tsv, and this table with the keys that its commands create.
//!
//! A row has the values of the fields on the page, the command that the page shows (or the error beside a field), and figures, all separated by tabs.
//! `scripts/pages.sh sizing` writes the figures, on Redis 7.0. For a new row with `memory=0`, it fills a key and measures the memory usage.
//!
//! `scripts/check-release.sh sizing` installs Chromium and runs these tests; `cargo test` skips them.

mod browser;
mod figures;
mod memory;
mod page;
#[path = "../support/mod.rs"]
mod support;

use roughly_sketch::window::Window;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::{fs, thread};
use support::server::Server;

const TABLE: &str = "tests/sizing/table.tsv";
/// The memory usage of a filled key. With more to the name, the page may show more: another key of this kind has more sub-filters.
const MEMORY: &str = "memory";
const MORE_MEMORY: &str = "memory, or more";
const MIB: f64 = 1048576.0;

/// Numbers by their names on the page.
type Figures = BTreeMap<String, f64>;

#[derive(Debug)]
struct Row {
    fields: String,
    command: String,
    figures: Figures,
}

impl Row {
    fn parse(line: &str) -> Self {
        let mut columns = line.split('\t');
        let (fields, command) = (columns.next(), columns.next());
        let figures = columns.map(|column| {
            let (name, value) = column.split_once('=').expect("a figure");
            (name.to_owned(), value.parse().expect("a number"))
        });
        Self {
            figures: figures.collect(),
            fields: fields.expect("the fields").to_owned(),
            command: command.expect("a command").to_owned(),
        }
    }

    /// The line of the row, with the figures of the key that its command creates.
    fn measured(&self) -> String {
        let mut line = format!("{}\t{}", self.fields, self.command);
        let mut figures = figures::of(self);
        if self.figures.keys().any(|name| name.starts_with(MEMORY)) {
            let (name, usage) = memory::usage(self, &figures);
            figures.insert(name.to_owned(), usage);
        }
        for (name, value) in figures {
            // The last digits of a double can depend on the C library.
            let value: f64 = format!("{value:.11e}").parse().expect("a number");
            write!(line, "\t{name}={value}").expect("a text");
        }
        line
    }

    /// Whether the page shows an error instead of a command.
    fn is_error(&self) -> bool {
        self.command.contains(": ")
    }

    fn argument(&self, at: usize) -> f64 {
        let argument = self.command.split(' ').nth(at);
        let number = argument.and_then(|argument| argument.parse().ok());
        number.unwrap_or_else(|| panic!("no number in argument {at}: {}", self.command))
    }

    /// The number after an option of the command.
    fn option(&self, name: &str) -> Option<f64> {
        let at = self.command.split(' ').position(|other| other == name)?;
        Some(self.argument(at + 1))
    }

    fn field(&self, name: &str) -> Option<f64> {
        let mut fields = self.fields.split('&');
        fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
    }

    fn window(&self) -> Option<Window> {
        let [ms, panes, finest] =
            ["WINDOW", "PANES", "FINEST"].map(|name| self.option(name).map(|n| n as u64));
        let panes = panes.or(ms.map(|ms| ms.min(Window::DEFAULT_PANES)));
        Some(Window::new(ms?, panes?, finest).expect("a window"))
    }
}

fn rows() -> Vec<Row> {
    let table = fs::read_to_string(TABLE).expect("the table");
    table.lines().map(Row::parse).collect()
}

/// Whether two figures are equal, up to rounding.
fn is_close(expected: f64, shown: f64) -> bool {
    (expected - shown).abs() <= 1e-9 * expected.abs()
}

/// Whether two memory usages differ by at most 3 % or 100 bytes, because allocators differ.
fn is_same_memory(usage: f64, other: f64) -> bool {
    (usage - other).abs() <= f64::max(100.0, 0.03 * usage)
}

/// With ROUGHLY_WRITE set, writes the table. Its memory usages are those of Redis 7.0: other servers may differ.
#[test]
fn the_table_has_the_figures_of_created_keys() {
    let rows = rows();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let measure = |first| {
        let rows = rows.iter().enumerate().skip(first).step_by(threads);
        rows.map(|(at, row)| (at, row.measured())).collect()
    };
    let measured: BTreeMap<usize, String> = thread::scope(|scope| {
        let threads = (0..threads).map(|first| scope.spawn(move || -> Vec<_> { measure(first) }));
        let threads: Vec<_> = threads.collect();
        let rows = threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("the rows"));
        rows.collect()
    });
    if std::env::var_os("ROUGHLY_WRITE").is_some() {
        let lines: Vec<_> = measured.into_values().collect();
        fs::write(TABLE, lines.join("\n") + "\n").expect("a written table");
    } else {
        let version = Server::start().version();
        let is_of_table = version.is_redis_at_least(7, 0) && !version.is_redis_at_least(7, 2);
        for (row, line) in rows.iter().zip(measured.values()) {
            assert_same_figures(row, line, is_of_table);
        }
    }
}

/// Memory usages may differ by the tolerance if the server is not that of the table.
fn assert_same_figures(row: &Row, line: &str, is_server_of_table: bool) {
    let measured = Row::parse(line);
    let has_same_names = row.figures.keys().eq(measured.figures.keys());
    assert!(has_same_names, "{row:?} {line}");
    for (name, value) in &row.figures {
        let of_key = measured.figures[name];
        let is_same = if name.starts_with(MEMORY) && !is_server_of_table {
            is_same_memory(of_key, *value)
        } else {
            is_close(*value, of_key)
        };
        assert!(is_same, "{name} in {row:?} {line}");
    }
}
