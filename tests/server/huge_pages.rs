//! The setting `sketch-huge-pages` and its fields of INFO, in the mode of the machine.

use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use std::fs;

/// Creates keys with an array of at least 32 MiB, of every type whose arrays have their final size at creation.
const CREATIONS: &[&str] = &[
    "BF.RESERVE KEY 0.001 20000000",
    "BF.RESERVE KEY 0.001 20000000 WINDOW 3600000",
    "BF.INSERT KEY CAPACITY 20000000 ERROR 0.001 SEED 0123456789abcdefghijklmnopqrstuv ITEMS a",
    "CF.RESERVE KEY 60000000",
    "CF.RESERVE KEY 60000000 WINDOW 3600000",
    "CMS.INITBYDIM KEY 10000000 1",
    "TOPK.RESERVE KEY 10 5000000 1 0.9",
];

/// The selected mode in a file of the kernel.
fn mode(file: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{file}")).ok()?;
    let (_, selected) = text.split_once('[')?;
    Some(selected.split_once(']')?.0.to_owned())
}

/// What INFO has to report on this machine, with the server's default of `disable-thp`.
pub fn expected() -> &'static str {
    let of_size = mode("hugepages-2048kB/enabled").filter(|mode| mode != "inherit");
    let of_all = mode("enabled");
    let page = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    match (of_size.as_ref().or(of_all.as_ref()), page) {
        (None, _) | (_, Err(_)) => "not-supported",
        (_, Ok(page)) if page.trim() != "2097152" => "page-size-above-2mb",
        (Some(mode), _) if mode == "never" => "mode-never",
        _ if of_all.as_deref() == Some("always") => "disabled-for-process",
        _ => "active",
    }
}

/// The number of advised arrays.
fn arrays(server: &Server) -> i64 {
    server.info_number("bf_huge_page_arrays")
}

/// Waits until so many arrays are advised: DEL may free a key on another thread.
fn wait_for(server: &mut Server, number: i64) {
    server.wait_until("the other thread", |server| arrays(server) == number);
}

/// `number` if huge pages are active on this machine, otherwise 0.
fn if_active(number: i64) -> i64 {
    match expected() {
        "active" => number,
        _ => 0,
    }
}

fn run(connection: &mut Connection, command: &str) {
    let reply = connection.call(command);
    assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply}");
}

fn set(server: &Server, connection: &mut Connection, value: &str) {
    let name = server.setting("sketch-huge-pages");
    run(connection, &format!("CONFIG SET {name} {value}"));
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

/// Whether a key was created, copied, restored or loaded, and whether a command or a background thread frees it.
#[test]
fn large_arrays_of_every_type_are_advised_until_they_are_freed() {
    let mut server = Server::start();
    let mut connection = server.resp2();
    let limit = server.setting("bf.bloom-memory-usage-limit");
    run(&mut connection, &format!("CONFIG SET {limit} 1000000000"));
    for creation in CREATIONS {
        run(&mut connection, &creation.replace("KEY", "key"));
        let of_key = arrays(&server);
        assert!(of_key >= if_active(1), "{creation}: {of_key}");
        run(&mut connection, "COPY key copy");
        assert_eq!(arrays(&server), 2 * of_key, "{creation}");
        run(&mut connection, "DEL copy");
        wait_for(&mut server, of_key);
        let payload = connection.call("DUMP key");
        let payload = payload.text().expect("a payload");
        let restored = connection.send(&[b"RESTORE", &b"copy"[..], b"0", payload]);
        assert!(restored.is_ok(), "{creation}: {restored}");
        assert_eq!(arrays(&server), 2 * of_key, "{creation}");
        run(&mut connection, "UNLINK copy");
        wait_for(&mut server, of_key);
        run(&mut connection, "DEBUG RELOAD");
        wait_for(&mut server, of_key);
        run(&mut connection, "FLUSHALL ASYNC");
        wait_for(&mut server, 0);
    }
    assert_eq!(server.info_number("bf_huge_page_errors"), 0);
}

#[test]
fn small_arrays_and_those_of_a_disabled_setting_are_not_advised() {
    let mut server = Server::start();
    let mut connection = server.resp2();
    run(&mut connection, "CMS.INITBYDIM small 8000000 1");
    assert_eq!(arrays(&server), 0);
    run(&mut connection, "CMS.INITBYDIM large 9000000 1");
    assert_eq!(arrays(&server), if_active(1));
    set(&server, &mut connection, "no");
    for creation in CREATIONS {
        run(&mut connection, &creation.replace("KEY", "other"));
        assert_eq!(arrays(&server), if_active(1), "{creation}");
        run(&mut connection, "DEL other");
    }
    // The setting applies to new arrays.
    run(&mut connection, "COPY large copy");
    assert_eq!(arrays(&server), if_active(1));
    run(&mut connection, "DEL large");
    wait_for(&mut server, 0);
    set(&server, &mut connection, "yes");
    run(&mut connection, "DEL copy");
    wait_for(&mut server, 0);
    run(&mut connection, "CMS.INITBYDIM large 9000000 1");
    assert_eq!(arrays(&server), if_active(1));
}

/// Growth adds an array, and a filter with a window frees its old arrays in parts.
#[test]
fn arrays_of_grown_filters_are_advised() {
    let mut server = Server::start();
    let mut connection = server.resp2();
    // The second sub-filter has 2^10 times the capacity of the first.
    run(&mut connection, "BF.RESERVE key 0.001 50000 EXPANSION 1000");
    for first in (0..60_000).step_by(1000) {
        let items: Vec<_> = (first..first + 1000).map(|n| n.to_string()).collect();
        run(&mut connection, &format!("BF.MADD key {}", items.join(" ")));
    }
    assert_eq!(arrays(&server), if_active(1));
    run(&mut connection, "DEL key");
    wait_for(&mut server, 0);
}

/// Saves, rewrites and synchronizations during writes keep the keys, in both modes of the setting.
#[test]
fn saves_during_writes_keep_the_keys() {
    for value in ["yes", "no"] {
        let options = Options::new().module_arguments(&["sketch-huge-pages", value]);
        let options = options.arguments(&["--appendonly", "yes"]);
        let options = options.arguments(&["--aof-use-rdb-preamble", "no"]);
        let mut server = options.start();
        let mut replica = Server::start();
        let mut connection = server.resp2();
        run(&mut connection, "CF.RESERVE key 60000000");
        replica.replicate(&server);
        let mut next = 0;
        let mut write = |connection: &mut Connection| {
            for _ in 0..100 {
                let items: Vec<_> = (next..next + 100).map(|n| n.to_string()).collect();
                run(
                    connection,
                    &format!("CF.INSERT key ITEMS {}", items.join(" ")),
                );
                next += 100;
            }
        };
        write(&mut connection);
        for save in ["BGSAVE", "BGREWRITEAOF"] {
            run(&mut connection, save);
            write(&mut connection);
            server.wait_until("the save", |server| {
                ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"]
                    .iter()
                    .all(|field| server.info_number(field) == 0)
            });
        }
        assert_eq!(server.info("rdb_last_bgsave_status").as_deref(), Some("ok"));
        server.wait_for_replica(&replica);
        let digest = connection.call("DEBUG DIGEST-VALUE key");
        assert_eq!(replica.call("DEBUG DIGEST-VALUE key"), digest);
        server.restart();
        assert_eq!(server.call("DEBUG DIGEST-VALUE key"), digest);
    }
}
