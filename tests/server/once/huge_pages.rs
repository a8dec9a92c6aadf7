//! The memory of a server with large arrays: which pages are huge, and the number of mappings. The kernel limits mappings to
//! 65,530 by default; above it, the allocator gets no memory and the server ends.

use crate::huge_pages::expected;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use std::fs;

/// Number of large arrays. They take 1.6 TB of address space, and memory only when they are written to.
const ARRAYS: usize = 40_000;
/// The maximum number of advised arrays.
const MAX_ADVISED: usize = 8192;
/// The kernel's default of the maximum number of mappings.
const MAX_MAPPINGS: usize = 65_530;

fn mappings(server: &Server) -> usize {
    let text = fs::read_to_string(format!("/proc/{}/maps", server.pid())).expect("the mappings");
    text.lines().count()
}

fn advised(server: &Server) -> usize {
    usize::try_from(server.info_number("bf_huge_page_arrays")).expect("a number")
}

/// Runs the commands in pipelines.
fn run_all(connection: &mut Connection, commands: impl Iterator<Item = String>) {
    let commands: Vec<_> = commands.collect();
    for part in commands.chunks(100) {
        for command in part {
            let arguments: Vec<_> = command.split(' ').collect();
            connection.write(&arguments).expect("a command");
        }
        for command in part {
            let reply = connection.read().expect("a reply");
            assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
        }
    }
}

/// A server whose DEL does not return before the memory is free.
fn start() -> Server {
    Options::new()
        .arguments(&["--lazyfree-lazy-user-del", "no"])
        .start()
}

fn create(n: usize) -> String {
    format!("CMS.INITBYDIM {n} 10000000 1")
}

fn set(server: &Server, value: &str) {
    let name = server.setting("sketch-huge-pages");
    let reply = server.call(&format!("CONFIG SET {name} {value}"));
    assert!(reply.is_ok(), "{reply}");
}

/// Kilobytes of the server in huge pages.
fn in_huge_pages(server: &Server) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/smaps", server.pid())).expect("mappings");
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("AnonHugePages:"));
    let kilobytes = lines.map(|line| line.trim().trim_end_matches(" kB").parse::<u64>());
    kilobytes.map(|number| number.expect("a number")).sum()
}

/// How often the kernel had no free huge page, which depends on the rest of the machine: for a page that was used for the
/// first time, or to restore one.
fn missing_huge_pages() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").expect("the kernel's counters");
    let counters = ["thp_fault_fallback ", "thp_collapse_alloc_failed "];
    let numbers = text.lines().filter_map(|line| {
        let mut numbers = counters.iter().map(|name| line.strip_prefix(name));
        numbers.find_map(|number| number)
    });
    numbers
        .map(|number| number.parse::<u64>().expect("a number"))
        .sum()
}

/// Writes to random cells of the array.
fn write(connection: &mut Connection, first: usize) {
    run_all(
        connection,
        (first..first + 1000).map(|n| format!("CMS.INCRBY 0 {n} 1")),
    );
}

#[test]
fn large_arrays_get_huge_pages_only_if_the_setting_permits_them() {
    let server = start();
    let mut connection = server.resp2();
    // The memory of a freed array is not advised any more.
    for value in ["no", "yes", "no"] {
        set(&server, value);
        let missing = missing_huge_pages();
        run_all(&mut connection, [create(0)].into_iter());
        write(&mut connection, 0);
        let has_huge_pages = in_huge_pages(&server) > 0;
        if value == "yes" && expected() == "active" {
            assert!(has_huge_pages || missing_huge_pages() > missing);
        } else {
            assert!(!has_huge_pages);
        }
        run_all(&mut connection, ["DEL 0".to_owned()].into_iter());
    }
}

/// The server allocates and fills the arrays that it loads. Writes during a save divide huge pages.
#[test]
fn huge_pages_are_restored_after_loads_and_saves() {
    let mut server = Server::start();
    let mut connection = server.resp2();
    let missing = missing_huge_pages();
    run_all(&mut connection, [create(0)].into_iter());
    write(&mut connection, 0);
    let before = in_huge_pages(&server);
    if expected() == "active" {
        assert!(before > 0 || missing_huge_pages() > missing);
    } else {
        assert_eq!(before, 0);
    }
    let restored = |server: &mut Server| {
        server.wait_until("huge pages", |server| {
            in_huge_pages(server) >= before || missing_huge_pages() > missing
        });
    };
    assert!(connection.call("DEBUG RELOAD").is_ok());
    restored(&mut server);
    // The child process waits so long for each of these keys.
    run_all(&mut connection, (0..20).map(|n| format!("SET key:{n} x")));
    let delay = connection.call("CONFIG SET rdb-key-save-delay 100000");
    assert!(delay.is_ok(), "{delay}");
    connection.call("BGSAVE");
    write(&mut connection, 1000);
    let is_saving = |server: &Server| server.info_number("rdb_bgsave_in_progress") == 1;
    server.wait_until("the save", |server| !is_saving(server));
    restored(&mut server);
    assert_eq!(server.info_number("bf_huge_page_errors"), 0);
}

#[test]
fn many_large_arrays_leave_room_for_other_mappings() {
    let server = start();
    let mut connection = server.resp2();
    let before = mappings(&server);
    run_all(&mut connection, (0..ARRAYS).map(create));
    let max = if expected() == "active" {
        MAX_ADVISED
    } else {
        0
    };
    assert_eq!(advised(&server), max);
    assert!(mappings(&server) < before + 2 * max + 1000);
    run_all(&mut connection, (0..ARRAYS).map(|n| format!("DEL {n}")));
    assert_eq!(advised(&server), 0);
    run_all(&mut connection, (0..10).map(create));
    assert_eq!(advised(&server), if max > 0 { 10 } else { 0 });
}

/// Advised arrays move through the address space: each round replaces all of them by arrays at other addresses. Freed memory
/// keeps mappings of its own.
#[test]
fn mappings_of_freed_arrays_are_limited() {
    let server = start();
    let mut connection = server.resp2();
    set(&server, "no");
    let mut ordinary: Vec<_> = (0..ARRAYS - MAX_ADVISED).rev().collect();
    run_all(&mut connection, ordinary.iter().rev().map(|&n| create(n)));
    set(&server, "yes");
    let mut advised: Vec<_> = (ARRAYS - MAX_ADVISED..ARRAYS).collect();
    run_all(&mut connection, advised.iter().map(|&n| create(n)));
    for next in [ARRAYS, ARRAYS + 2 * MAX_ADVISED] {
        let replaced = advised.drain(..).zip(&ordinary);
        let commands = replaced.enumerate().flat_map(|(i, (old, other))| {
            let new = next + 2 * i;
            [format!("DEL {other} {old}"), create(new), create(new + 1)]
        });
        run_all(&mut connection, commands);
        ordinary.drain(..MAX_ADVISED);
        advised.extend((0..MAX_ADVISED).map(|i| next + 2 * i));
    }
    let mappings = mappings(&server);
    assert!(mappings < MAX_MAPPINGS / 2 + 2 * MAX_ADVISED, "{mappings}");
}
