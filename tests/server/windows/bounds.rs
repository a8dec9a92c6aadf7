//! Parameters with too much work per command are refused, and the work does not depend on the number of panes.

use super::SEED;
use crate::support::cpu;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::workload::columns;

/// A creation, and the error with a window of the next larger parameter; without a window it is accepted.
const LIMITS: [&str; 5] = [
    "CMS.INITBYDIM KEY 10 32 | CMS.INITBYDIM KEY 10 33 | CMS: a sketch with a window can have at most 32 rows",
    "CMS.INITBYPROB KEY 0.1 0.0000000003 | CMS.INITBYPROB KEY 0.1 0.0000000002 | CMS: a sketch with a window can have at most 32 rows",
    "TOPK.RESERVE KEY 5 10 32 0.9 | TOPK.RESERVE KEY 5 10 33 0.9 | TopK: a sketch with a window can have at most 32 rows",
    "TOPK.RESERVE KEY 884 5000 7 0.9 | TOPK.RESERVE KEY 885 5000 7 0.9 | TopK: k is too large for a window with this many panes",
    "TDIGEST.CREATE KEY COMPRESSION 200000 | TDIGEST.CREATE KEY COMPRESSION 200001 | ERR T-Digest: the compression of a digest with a window can be at most 200000",
];

#[test]
fn parameters_with_too_much_work_per_command_are_refused_with_a_window_only() {
    let (_server, mut connection) = Server::start().connected();
    for (number, limit) in LIMITS.into_iter().enumerate() {
        let [accepted, refused, error] = columns(limit);
        let of = |command: &str, key: &str| command.replace("KEY", &format!("{key}{number}"));
        let with_window = |command: String| format!("{command} WINDOW 60000 PANES 100");
        connection.ok(&with_window(of(accepted, "w")));
        connection.check(&with_window(of(refused, "r")), format!("-{error}"));
        connection.check(&of("EXISTS KEY", "r"), ":0");
        connection.ok(&of(refused, "r"));
    }
}

/// When panes expire, a top-k hashes the items of all candidates: more than 16 MiB are refused, on a replica the same.
#[test]
fn long_items_of_a_top_k_with_a_window_are_refused() {
    let (server, mut replica) = Server::with_replica();
    let mut connection = server.resp2();
    // Items of 1 MiB.
    let items = (10..30).map(|number| number.to_string().repeat(1 << 19));
    let items: Vec<_> = items.collect();
    let refused = "TopK: the items of a sketch with a window can have at most 16 MiB in total";
    let window = " WINDOW 3600000 PANES 2";
    for (key, window, accepted) in [("classic", "", 21), ("window", window, 16)] {
        connection.ok(&format!("TOPK.RESERVE {key} 100 1000 5 0.9{window}"));
        let mut command = vec!["TOPK.ADD", key];
        command.extend(items.iter().map(String::as_str));
        command.push("short");
        let mut expected = vec![Reply::Null('$'); 21];
        expected[accepted..].fill(Reply::Error(refused.into()));
        assert_eq!(connection.send(&command), Reply::Array(expected));
    }
    replica.wait_until("the same sketches", |replica| {
        replica.call("DEBUG DIGEST") == server.call("DEBUG DIGEST")
    });
    replica.assert_obeys();
}

/// The least CPU time that a command takes in several attempts, in seconds.
fn least_seconds(connection: &mut Connection, command: &str) -> f64 {
    let attempts = (0..7).map(|_| {
        let (time, ()) = cpu::of_main_thread_during(connection, |server| server.ok(command));
        time.as_secs_f64()
    });
    attempts.fold(f64::INFINITY, f64::min)
}

/// Sketches of which one pane has counts.
#[test]
fn a_merge_of_one_pane_takes_as_long_with_100_panes_as_with_1() {
    let (_server, mut connection) = Server::start().connected();
    let mut merge = |panes: u32| {
        for key in ["to", "one", "other"] {
            connection.call(&format!("DEL {key}"));
            let window = format!("WINDOW 360000000 PANES {panes} SEED {SEED}");
            connection.ok(&format!("CMS.INITBYDIM {key} 1000000 4 {window}"));
            connection.call(&format!("CMS.INCRBY {key} a 1"));
        }
        least_seconds(&mut connection, "CMS.MERGE to 2 one other")
    };
    let (one, hundred) = (merge(1), merge(100));
    assert!(one > 0.0 && hundred < 4.0 * one, "{one} s, {hundred} s");
}
