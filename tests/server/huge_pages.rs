//! The setting `sketch-huge-pages` and its fields of INFO, in the mode of the machine.

mod needs_huge_pages;

use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use std::fs::{self, File};

const HUGE_PAGES: &str = "sketch-huge-pages";

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

/// The selected mode in a file of the kernel.
fn mode(file: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{file}")).ok()?;
    let (_, selected) = text.split_once('[')?;
    Some(selected.split_once(']')?.0.to_owned())
}

/// Whether the kernel is older than 6.1.
fn is_old_kernel() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's version");
    let mut numbers = (release.split(['.', '-'])).map(|number| number.parse::<u32>().ok());
    let mut next = || numbers.next().flatten();
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
    let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", server.pid()));
    let text = text.expect("the sums of all mappings");
    let mut words = (text.split_whitespace()).skip_while(|word| *word != "AnonHugePages:");
    let kilobytes = words.nth(1).and_then(|word| word.parse::<i64>().ok());
    kilobytes.expect("a number") << 10
}

/// Waits until so many bytes have huge pages and none wait. If the kernel has no free huge pages, waits for this error
/// instead. The time limit applies to each change of the figures.
pub fn wait_for(server: &mut Server, bytes: i64) {
    assert_eq!(expected(), "active");
    let fields = ["bytes", "bytes_waiting", "errors"].map(|field| format!("bf_huge_page_{field}"));
    let figures = |server: &Server| fields.each_ref().map(|field| server.info_number(field));
    loop {
        let now @ [huge, waiting, errors] = figures(server);
        if errors > 0 || huge >= bytes && waiting == 0 {
            return;
        }
        server.wait_until("huge pages", |server| figures(server) != now);
    }
}

/// Adds items with these numbers to a key of the type that `creation` creates.
pub fn add(connection: &mut Connection, creation: &str, key: &str, numbers: std::ops::Range<u32>) {
    let (name, before, after) = match &creation[..2] {
        "BF" => ("BF.MADD", "", ""),
        "CF" => ("CF.INSERT", " ITEMS", ""),
        "CM" => ("CMS.INCRBY", "", " 1"),
        _ => ("TOPK.ADD", "", ""),
    };
    for first in numbers.step_by(100) {
        let items = (first..first + 100).map(|n| format!(" {n}{after}"));
        let items: String = items.collect();
        connection.run(&format!("{name} {key}{before}{items}"));
    }
}

/// Creates a key and writes to almost all of its pages.
pub fn create_filled(connection: &mut Connection, creation: &str, key: &str) {
    connection.run(&creation.replace("KEY", key));
    // Bloom filters have ten hash functions.
    let is_bloom = creation.starts_with("BF") && !creation.contains("WINDOW");
    let items = if is_bloom { 10_000 } else { 100_000 };
    add(connection, creation, key, 0..items);
}

/// A server that can have the keys of [`CREATIONS`], and a connection to it.
pub fn start() -> (Server, Connection) {
    let server = Server::start();
    server.set("bf.bloom-memory-usage-limit", 2_000_000_000);
    server.connected()
}

/// The log names the reason if there is one that the operator did not choose.
#[test]
fn info_and_log_report_whether_huge_pages_are_active() {
    let status = |server: &Server| server.info("bf_huge_pages").expect("a field");
    let server = Server::start();
    assert_eq!(status(&server), expected());
    let line = "large keys do not use huge pages: ";
    assert_eq!(server.log().contains(line), expected() != "active");
    server.set(HUGE_PAGES, "no");
    assert_eq!(status(&server), "disabled-by-setting");
    server.set(HUGE_PAGES, "yes");
    assert_eq!(status(&server), expected());
    let disabled = Options::new().module_arguments(&[HUGE_PAGES, "no"]);
    let server = disabled.start();
    assert_eq!(status(&server), "disabled-by-setting");
    assert!(!server.log().contains(line));
}
