//! The pages and the system calls of a server with large arrays.

use crate::huge_pages::{
    CREATIONS, add, create_filled, expected, huge_bytes, kernel_huge_bytes, run, set, start,
    wait_for,
};
use crate::support::c_modules;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The thread looks at all pages once in this time if it has nothing to do.
const INTERVAL: Duration = Duration::from_secs(1);

const CREATION: &str = "CMS.INITBYDIM KEY 60000000 1";

/// A reserved filter takes only the memory that it uses.
#[test]
fn an_almost_empty_filter_takes_few_pages() {
    let server = Server::start();
    let mut connection = server.resp2();
    run(&mut connection, "BF.RESERVE key 0.001 597000000");
    let before = server.resident_bytes();
    add(&mut connection, "BF.RESERVE", "key", 0..100);
    sleep(3 * INTERVAL);
    let taken = server.resident_bytes().saturating_sub(before);
    // Ten pages per item, and tables for them.
    assert!(taken < 12 << 20, "{taken} bytes");
    assert_eq!((huge_bytes(&server), kernel_huge_bytes(&server)), (0, 0));
}

/// Huge pages are provided where at least three quarters of the memory are in use.
#[test]
fn huge_pages_take_at_most_a_third_more_memory() {
    let (mut server, mut connection) = start();
    set(&server, &mut connection, "no");
    let empty = server.resident_bytes();
    run(&mut connection, &CREATION.replace("KEY", "key"));
    // About three quarters of 58,594 pages, so that some huge pages have more and some less.
    add(&mut connection, CREATION, "key", 0..81_000);
    let used = server.resident_bytes() - empty;
    set(&server, &mut connection, "yes");
    wait_for(&mut server, 1);
    let with_huge_pages = server.resident_bytes() - empty;
    let most = used / 3 * 4 + (8 << 20);
    assert!(with_huge_pages <= most, "{used} bytes, {with_huge_pages}");
    if huge_bytes(&server) > 0 {
        assert!(huge_bytes(&server) < 240_000_000 / 4 * 3);
        assert!(with_huge_pages > used);
    }
}

/// The server allocates and fills the arrays that it loads. Writes during a save divide huge pages, which are restored when
/// the child process has ended. None gets huge before, because the memory would be copied.
#[test]
fn huge_pages_are_restored_after_loads_and_saves() {
    let (mut server, mut connection) = start();
    create_filled(&mut connection, CREATION, "key");
    add(&mut connection, CREATION, "key", 100_000..300_000);
    let all = if expected() == "active" {
        230_000_000
    } else {
        0
    };
    wait_for(&mut server, all);
    run(&mut connection, "DEBUG RELOAD");
    wait_for(&mut server, all);
    server.wait_until("the memory of the old array", |server| {
        kernel_huge_bytes(server) <= huge_bytes(server)
    });
    // The child process waits so long for each of these keys: long enough to be stopped.
    for number in 0..40 {
        run(&mut connection, &format!("SET key:{number} x"));
    }
    for _ in 0..2 {
        run(&mut connection, "CONFIG SET rdb-key-save-delay 100000");
        run(&mut connection, "BGSAVE");
        assert_eq!(server.signal_children("-STOP"), 1);
        let before = kernel_huge_bytes(&server);
        add(&mut connection, CREATION, "key", 0..20_000);
        let divided = kernel_huge_bytes(&server);
        assert!(divided <= before / 4, "{divided} of {before}");
        sleep(2 * INTERVAL);
        assert_eq!(server.info_number("rdb_bgsave_in_progress"), 1);
        assert!(kernel_huge_bytes(&server) <= divided);
        server.signal_children("-CONT");
        server.wait_until("the save", |server| {
            server.info_number("rdb_bgsave_in_progress") == 0
        });
        server.wait_until("huge pages", |server| {
            kernel_huge_bytes(server) >= all || server.info_number("bf_huge_page_errors") > 0
        });
    }
}

/// System calls of the main thread, counted by count_calls.c.
struct Calls {
    server: Server,
}

impl Calls {
    /// `None` on Valkey: it lets modules call the C library directly (`RTLD_DEEPBIND`).
    fn start() -> Option<(Self, Connection)> {
        let server = Options::new()
            .environment("LD_PRELOAD", c_modules::count_calls())
            .start();
        if server.version().is_valkey() {
            return None;
        }
        fs::write(server.dir().join("roughly-calls"), [0; 16]).expect("a file");
        let mut connection = server.resp2();
        let limit = server.setting("bf.bloom-memory-usage-limit");
        run(&mut connection, &format!("CONFIG SET {limit} 1000000000"));
        Some((Self { server }, connection))
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
fn commands_make_no_calls_about_huge_pages() {
    let Some((calls, mut connection)) = Calls::start() else {
        return;
    };
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
fn info_makes_few_calls() {
    const COMMANDS: u64 = 1000;
    let Some((calls, mut connection)) = Calls::start() else {
        return;
    };
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

#[test]
fn an_unreadable_pagemap_is_reported() {
    let Some((calls, mut connection)) = Calls::start() else {
        return;
    };
    let server = calls.server;
    if expected() != "active" {
        return;
    }
    fs::write(server.dir().join("roughly-no-pagemap"), "").expect("a file");
    let mut server = server;
    server.wait_until("the status", |server| {
        server.info("bf_huge_pages").as_deref() == Some("pagemap-not-readable")
    });
    create_filled(&mut connection, CREATION, "key");
    sleep(2 * INTERVAL);
    assert_eq!((huge_bytes(&server), kernel_huge_bytes(&server)), (0, 0));
    server.restart();
    let line = "large keys do not use huge pages: the server's user cannot read /proc/self/pagemap";
    assert!(server.log().contains(line), "{}", server.log_tail());
}
