//! The end of a server whose allocator has no memory for an operation that must be obeyed.

use crate::support::server::Options;

/// Commands that take more than 1 GiB at once.
const HUGE: &[&str] = &[
    "BF.RESERVE huge 0.001 700000000",
    "CF.RESERVE huge 1073741824",
    "CMS.INITBYDIM huge 300000000 1",
];

fn with_aof() -> Options {
    Options::new().arguments(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"])
}

/// Without the server's crash report after the end of the module, in which Valkey 8.0.1 hung once in 600 ends.
pub fn without_crash_report(options: Options) -> Options {
    options.arguments(&["--crash-log-enabled", "no"])
}

/// Checks the log line of the end: operation, size and key.
pub fn assert_ended(log: &str, operation: &str, key: &str) {
    let start = format!("{operation} must be obeyed, and the allocator has no ");
    let line = log
        .lines()
        .find_map(|line| Some(line.split_once(&start)?.1));
    let line = line.unwrap_or_else(|| panic!("{operation} {key}: {log}"));
    let (bytes, rest) = line.split_once(" for key ").expect("a key");
    assert!(bytes.ends_with('B') || bytes.ends_with("bytes"), "{bytes}");
    assert_eq!(rest, format!("\"{key}\": the server ends"));
}

/// A replica, and a server that reads its AOF, end with a line in the log. A client is refused, and its server keeps running.
#[test]
fn a_server_without_memory_for_an_obeyed_command_ends() {
    for command in HUGE {
        let name = command.split(' ').next().expect("a name");
        let mut primary = with_aof().start();
        let small = || without_crash_report(with_aof()).address_space(1 << 30);
        let mut replica = small().start();
        replica.replicate(&primary);
        primary.ok(command);
        replica.wait_until("the end", |replica| !replica.is_running());
        assert_ended(&replica.log(), name, "huge");
        let client = small().start();
        client.check(command, "-...");
        client.check("EXISTS huge", ":0");
        primary.shut_down();
        let started = primary.try_relaunch_with(small());
        assert!(started.is_err(), "{command}");
        assert_ended(&primary.log(), name, "huge");
    }
}
