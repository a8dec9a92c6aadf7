//! The setting `sketch-huge-pages`, its fields of INFO and its thread, in the mode of the machine.

mod needs_huge_pages;

use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use std::fs::{self, File};
use std::thread::sleep;
use std::time::Duration;

/// Creates keys with an array of at least 32 MiB, of every type whose arrays have their final size at creation.
pub const CREATIONS: &[&str] = &[
    "BF.RESERVE KEY 0.001 20000000",
    "BF.RESERVE KEY 0.001 20000000 WINDOW 3600000",
    "BF.INSERT KEY CAPACITY 20000000 ERROR 0.001 SEED 0123456789abcdefghijklmnopqrstuv ITEMS a",
    "CF.RESERVE KEY 30000000",
    "CF.RESERVE KEY 20000000 WINDOW 3600000",
    "CMS.INITBYDIM KEY 10000000 1",
    "TOPK.RESERVE KEY 10 5000000 1 0.9",
];

/// An array of 32 MiB that begins within a huge page has at least this many bytes in whole ones.
const WHOLE_BYTES: i64 = 30 << 20;

/// The selected mode in a file of the kernel.
fn mode(file: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{file}")).ok()?;
    let (_, selected) = text.split_once('[')?;
    Some(selected.split_once(']')?.0.to_owned())
}

/// Whether the kernel is older than 6.1.
fn is_old_kernel() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's version");
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse().ok());
    (next(), next()) < (Some(6), Some(1))
}

/// What INFO has to report on this machine, with the server's default of `disable-thp`.
pub fn expected() -> &'static str {
    let of_size = mode("hugepages-2048kB/enabled").filter(|mode| mode != "inherit");
    let of_all = mode("enabled");
    let page = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    match (of_size.as_ref().or(of_all.as_ref()), page) {
        (None, _) | (_, Err(_)) => "not-supported",
        (_, Ok(page)) if page.trim() != "2097152" => "page-size-above-2mb",
        _ if is_old_kernel() => "kernel-before-6.1",
        (Some(mode), _) if mode == "never" => "mode-never",
        _ if of_all.as_deref() == Some("always") => "disabled-for-process",
        _ if File::open("/proc/self/pagemap").is_err() => "pagemap-not-readable",
        _ => "active",
    }
}

/// Bytes of arrays in huge pages, according to INFO.
pub fn huge_bytes(server: &Server) -> i64 {
    server.info_number("bf_huge_page_bytes")
}

/// Bytes of the server in huge pages, according to the kernel.
pub fn kernel_huge_bytes(server: &Server) -> i64 {
    let text = fs::read_to_string(format!("/proc/{}/smaps", server.pid())).expect("mappings");
    let lines = (text.lines()).filter_map(|line| line.strip_prefix("AnonHugePages:"));
    let kilobytes = lines.map(|line| line.trim().trim_end_matches(" kB").parse::<i64>());
    kilobytes
        .map(|number| number.expect("a number") << 10)
        .sum()
}

/// INFO has the figures of at most one second ago, if the processors are idle.
const MAX_AGE: Duration = Duration::from_secs(2);

/// Waits until a condition is true. The thread of huge pages runs after all others of the machine: the time limit applies to
/// each change of its figures, not to the whole wait.
///
/// # Panics
/// If the condition is not true and the figures do not change in time.
pub fn wait_until(server: &mut Server, what: &str, is_true: impl Fn(&Server) -> bool) {
    let figures = |server: &Server| {
        let waiting = server.info_number("bf_huge_page_bytes_waiting");
        (huge_bytes(server), waiting)
    };
    while !is_true(server) {
        let before = figures(server);
        server.wait_until(what, |server| is_true(server) || figures(server) != before);
    }
}

/// Waits until so many bytes have huge pages and none wait. If the kernel has no free huge pages, waits for this error
/// instead.
///
/// # Panics
/// If huge pages are not active on this machine.
pub fn wait_for(server: &mut Server, bytes: i64) {
    assert_eq!(expected(), "active");
    sleep(MAX_AGE);
    wait_until(server, "huge pages", |server| {
        let waiting = server.info_number("bf_huge_page_bytes_waiting");
        huge_bytes(server) >= bytes && waiting == 0 || server.info_number("bf_huge_page_errors") > 0
    });
}

/// Runs the commands in pipelines.
pub fn run_all(connection: &mut Connection, commands: impl Iterator<Item = String>) {
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

pub fn run(connection: &mut Connection, command: &str) {
    run_all(connection, [command.to_owned()].into_iter());
}

/// Adds items with these numbers to a key of the type that `creation` creates.
pub fn add(connection: &mut Connection, creation: &str, key: &str, numbers: std::ops::Range<u32>) {
    let (name, before, after) = match &creation[..2] {
        "BF" => ("BF.MADD", "", ""),
        "CF" => ("CF.INSERT", " ITEMS", ""),
        "CM" => ("CMS.INCRBY", "", " 1"),
        _ => ("TOPK.ADD", "", ""),
    };
    let commands = numbers.step_by(100).map(|first| {
        let items = (first..first + 100).map(|n| format!(" {n}{after}"));
        format!("{name} {key}{before}{}", items.collect::<String>())
    });
    run_all(connection, commands);
}

/// Creates a key and writes to almost all of its pages.
pub fn create_filled(connection: &mut Connection, creation: &str, key: &str) {
    run(connection, &creation.replace("KEY", key));
    // Bloom filters have ten hash functions.
    let is_bloom = creation.starts_with("BF") && !creation.contains("WINDOW");
    let items = if is_bloom { 10_000 } else { 100_000 };
    add(connection, creation, key, 0..items);
}

pub fn set(server: &Server, connection: &mut Connection, value: &str) {
    let name = server.setting("sketch-huge-pages");
    run(connection, &format!("CONFIG SET {name} {value}"));
}

/// A server that can have the keys of [`CREATIONS`], and a connection to it.
pub fn start() -> (Server, Connection) {
    let server = Server::start();
    let mut connection = server.resp2();
    let limit = server.setting("bf.bloom-memory-usage-limit");
    run(&mut connection, &format!("CONFIG SET {limit} 1000000000"));
    (server, connection)
}

fn status(server: &Server) -> String {
    server.info("bf_huge_pages").expect("a field")
}

/// The log names the reason if there is one that the operator did not choose.
#[test]
fn info_and_log_report_whether_huge_pages_are_active() {
    let server = Server::start();
    assert_eq!(status(&server), expected());
    let line = "large keys do not use huge pages: ";
    assert_eq!(server.log().contains(line), expected() != "active");
    set(&server, &mut server.resp2(), "no");
    assert_eq!(status(&server), "disabled-by-setting");
    set(&server, &mut server.resp2(), "yes");
    assert_eq!(status(&server), expected());
    let disabled = Options::new().module_arguments(&["sketch-huge-pages", "no"]);
    let server = disabled.start();
    assert_eq!(status(&server), "disabled-by-setting");
    assert!(!server.log().contains(line));
}

/// A field of a status file of a process or thread.
fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.expect("a field").trim()
}

fn blocked_signals(status: &str) -> u64 {
    u64::from_str_radix(field(status, "SigBlk:"), 16).expect("a number")
}

/// The main thread is known by its number, because new threads have its name until they set their own.
fn main_thread(server: &Server) -> String {
    let file = format!("/proc/{0}/task/{0}/status", server.pid());
    fs::read_to_string(file).expect("a status")
}

/// The states of the module's threads.
fn module_threads(server: &Server) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{}/task", server.pid())).expect("threads");
    let statuses = threads.filter_map(|thread| {
        fs::read_to_string(thread.expect("a thread").path().join("status")).ok()
    });
    let of_module = statuses.filter(|status| field(status, "Name:") == "bf-huge-pages");
    of_module.collect()
}

/// Signals are for the main thread, such as that of the watchdog.
#[test]
fn the_thread_blocks_all_signals_and_the_main_thread_none() {
    let (mut server, mut connection) = start();
    assert!(module_threads(&server).is_empty());
    assert_eq!(blocked_signals(&main_thread(&server)), 0);
    create_filled(&mut connection, CREATIONS[0], "key");
    assert_eq!(blocked_signals(&main_thread(&server)), 0);
    let is_possible = matches!(expected(), "active" | "mode-never" | "disabled-for-process");
    let count = usize::from(is_possible);
    server.wait_until("the thread", |server| module_threads(server).len() == count);
    // No thread can block signals 9 and 19. From 32 on, they are those of the C library and of programs.
    let all = 0x7fff_ffff & !(1 << 8) & !(1 << 18);
    for thread in module_threads(&server) {
        assert_eq!(blocked_signals(&thread) & all, all, "{thread}");
    }
}

/// Saves, rewrites, synchronizations, copies and freed keys during writes, while the setting changes: a replica without huge
/// pages and a restarted server have the same values.
#[test]
fn saves_and_freed_keys_during_writes_keep_the_values() {
    let mut server = Options::new()
        .arguments(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"])
        .start();
    let mut connection = server.resp2();
    let disabled = Options::new().module_arguments(&["sketch-huge-pages", "no"]);
    let mut replica = disabled.start();
    let creations = ["CF.RESERVE KEY 30000000", "CMS.INITBYDIM KEY 10000000 1"];
    let digests = |connection: &mut Connection| {
        ["0", "1", "copy"].map(|key| connection.call(&format!("DEBUG DIGEST-VALUE {key}")))
    };
    for round in 0..6 {
        let value = if round % 3 == 2 { "no" } else { "yes" };
        set(&server, &mut connection, value);
        if round % 3 == 0 {
            run(&mut connection, "FLUSHALL ASYNC");
            for (key, creation) in creations.iter().enumerate() {
                create_filled(&mut connection, creation, &key.to_string());
            }
        }
        if round == 1 || round == 4 {
            // A full synchronization.
            run(&mut replica.resp2(), "REPLICAOF NO ONE");
            replica.replicate(&server);
        }
        run(&mut connection, "COPY 0 copy REPLACE");
        run(
            &mut connection,
            if round % 2 == 0 {
                "BGSAVE"
            } else {
                "BGREWRITEAOF"
            },
        );
        for part in 0..20 {
            let first = 100_000 + 100_000 * round + 2000 * part;
            for (key, creation) in creations.iter().enumerate() {
                add(
                    &mut connection,
                    creation,
                    &key.to_string(),
                    first..first + 2000,
                );
            }
            run(&mut connection, "COPY 1 other REPLACE");
            run(&mut connection, "UNLINK other");
        }
        server.wait_until("the save", |server| {
            ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"]
                .iter()
                .all(|field| server.info_number(field) == 0)
        });
        assert_eq!(server.info("rdb_last_bgsave_status").as_deref(), Some("ok"));
        if round > 0 {
            server.wait_for_replica(&replica);
            assert_eq!(digests(&mut replica.resp2()), digests(&mut connection));
        }
    }
    let before = digests(&mut connection);
    server.restart();
    assert_eq!(digests(&mut server.resp2()), before);
}
