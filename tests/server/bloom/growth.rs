//! The line in the log about a filter with many sub-filters.

use crate::families::numbers;
use crate::support::server::Server;
use std::time::Duration;

/// Longer than the time in which the log suppresses similar lines.
const NEXT_LINE: Duration = Duration::from_millis(2500);

#[test]
fn growth_beyond_64_sub_filters_is_logged_once_per_key() {
    for creation in [
        "BF.RESERVE KEY 0.01 1 EXPANSION 1",
        "BF.RESERVE KEY 0.01 1 EXPANSION 1 WINDOW 315360000000",
        "BF.INSERT KEY CAPACITY 1 EXPANSION 1 TIGHTENING 0.9",
    ] {
        let server = Server::start();
        let mut connection = server.resp2();
        let mut send = |command: &str| {
            let words: Vec<_> = (command.split(' '))
                .map(|word| match word {
                    "KEY" => [&b"a\nb\xff"[..], &[b'x'; 100]].concat(),
                    word => word.as_bytes().to_vec(),
                })
                .collect();
            connection.send(&words)
        };
        let mut sub_filters = |command: &str| {
            send(command);
            let filters = send("BF.INFO KEY FILTERS");
            let filters = filters.items().and_then(|items| items[0].integer());
            filters.expect("a number")
        };
        sub_filters(creation);
        let mut item = 0;
        while sub_filters(&format!("BF.ADD KEY {item}")) < 64 {
            item += 1;
        }
        let line = "has grown to";
        assert_eq!(server.log().matches(line).count(), 0, "{creation}");
        while sub_filters(&format!("BF.ADD KEY {item}")) < 65 {
            item += 1;
        }
        let expected = format!(
            "key \"a\\nb\\xff{}\"... has grown to 65 sub-filters: each command",
            "x".repeat(60)
        );
        let log = server.log();
        assert_eq!(log.matches(&expected).count(), 1, "{creation}: {log}");
        std::thread::sleep(NEXT_LINE);
        assert!(sub_filters(&format!("BF.MADD KEY {}", numbers(1000, 100))) > 66);
        assert_eq!(server.log().matches(line).count(), 1, "{creation}");
    }
}
