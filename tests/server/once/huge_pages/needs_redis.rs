//! The system calls of a server with large arrays.

mod needs_huge_pages;

use super::{CREATION, INTERVAL};
use crate::huge_pages::{CREATIONS, add, create_filled, run};
use crate::support::c_modules;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use std::fs;
use std::thread::sleep;
use std::time::Instant;

/// System calls of the main thread, counted by count_calls.c.
struct Calls {
    server: Server,
}

impl Calls {
    fn start() -> (Self, Connection) {
        let server = Options::new()
            .environment("LD_PRELOAD", c_modules::count_calls())
            .start();
        assert!(!server.version().is_valkey(), "Redis");
        fs::write(server.dir().join("roughly-calls"), [0; 16]).expect("a file");
        let mut connection = server.resp2();
        let limit = server.setting("bf.bloom-memory-usage-limit");
        run(&mut connection, &format!("CONFIG SET {limit} 1000000000"));
        (Self { server }, connection)
    }

    /// All counted calls so far, and calls about huge pages.
    fn counts(&self) -> [u64; 2] {
        let bytes = fs::read(self.server.dir().join("roughly-calls")).expect("the counts");
        let (numbers, _) = bytes.as_chunks::<8>();
        [0, 1].map(|i| u64::from_ne_bytes(numbers[i]))
    }
}

/// The main thread makes no system call about huge pages, whatever it does with arrays of every type.
#[test]
#[ignore = "needs Redis: Valkey lets modules call the C library directly (RTLD_DEEPBIND)"]
fn commands_make_no_calls_about_huge_pages() {
    let (calls, mut connection) = Calls::start();
    for creation in CREATIONS {
        create_filled(&mut connection, creation, "key");
        for command in ["COPY key copy", "DEL copy", "DEBUG RELOAD", "UNLINK key"] {
            run(&mut connection, command);
        }
    }
    // A command that expires a pane frees an array in steps, with a `realloc` for each.
    let of_window = "CMS.INITBYDIM KEY 10000000 1 WINDOW 1000 PANES 2";
    run(&mut connection, &of_window.replace("KEY", "window"));
    for _ in 0..4 {
        add(&mut connection, of_window, "window", 0..100);
        sleep(INTERVAL);
    }
    let [all, _] = calls.counts();
    const COMMANDS: u64 = 200;
    for _ in 0..COMMANDS {
        run(&mut connection, "CMS.INCRBY window a 1");
    }
    let [after, about_huge_pages] = calls.counts();
    assert!(all > 0, "no call was counted");
    assert_eq!(about_huge_pages, 0);
    // The allocator's calls. Some return memory to the system.
    let of_commands = after - all;
    assert!(of_commands <= 4 * COMMANDS, "{of_commands} system calls");
}

/// INFO asks the system at most once per second.
#[test]
#[ignore = "needs Redis: Valkey lets modules call the C library directly (RTLD_DEEPBIND)"]
fn info_makes_few_calls() {
    const COMMANDS: u64 = 1000;
    let (calls, mut connection) = Calls::start();
    run(&mut connection, "INFO bf_stats");
    let [before, _] = calls.counts();
    let start = Instant::now();
    for _ in 0..COMMANDS {
        run(&mut connection, "INFO bf_stats");
    }
    let [after, _] = calls.counts();
    let seconds = start.elapsed().as_secs() + 1;
    let most = COMMANDS / 10 + 100 * seconds;
    assert!(after - before < most, "{} system calls", after - before);
}
