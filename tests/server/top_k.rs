//! Top-k on real servers: behavior that neither the recordings nor the tests of all families cover.

use crate::families::dump;
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::Server;

/// The visible state of the key.
fn view(connection: &mut Connection) -> Vec<Reply> {
    let mut view = vec![connection.call("TOPK.LIST k WITHCOUNT")];
    view.push(connection.call("DEBUG DIGEST-VALUE k"));
    view.push(dump(connection, "k"));
    view
}

const BAD_INCREMENT: &str = "-TopK: increment must be an integer greater or equal to 0                            and smaller or equal to 100,000";

#[test]
fn a_bad_increment_ends_the_reply_and_only_applied_increments_are_replicated() {
    let (mut primary, replica) = Server::with_replica();
    for (protocol, null) in [(Protocol::Resp2, "$-1"), (Protocol::Resp3, "_")] {
        let mut connection = primary.connect(protocol);
        connection.ok("FLUSHALL SYNC");
        connection.ok("TOPK.RESERVE k 1 1000 3 0.9");
        let replies = format!("*[{null} $a {BAD_INCREMENT} {BAD_INCREMENT}]");
        connection.check("TOPK.INCRBY k a 5 b 6 c -1 d 9", replies);
        connection.check("PING", "+PONG");
        connection.check("TOPK.LIST k WITHCOUNT", "*[$b :6]");
        connection.check("TOPK.COUNT k a c d", "*[:5 :0 :0]");
        primary.wait_for_replica(&replica);
        assert_eq!(view(&mut replica.resp2()), view(&mut primary.resp2()));
        // Without a valid pair before it, nothing changes and nothing is replicated.
        let offset = primary.info("master_repl_offset");
        let before = view(&mut primary.resp2());
        let long = format!("TOPK.INCRBY k{}", " e 100001".repeat(40));
        connection.check(&long, format!("*[{}]", [BAD_INCREMENT; 40].join(" ")));
        assert_eq!(primary.info("master_repl_offset"), offset);
        // After many valid pairs.
        let mut long = "TOPK.INCRBY k".to_owned();
        for number in 0..50 {
            let increment = number.to_string().replace("33", "x");
            long += &format!(" f{number} {increment}");
        }
        let reply = connection.call(&long);
        let items = reply.items().expect("an array");
        assert_eq!(items.len(), 50);
        for (number, item) in items.iter().enumerate() {
            assert_eq!(item.is_error(), number >= 33, "{number}: {item}");
        }
        assert_ne!(view(&mut primary.resp2()), before);
        connection.check("TOPK.LIST k WITHCOUNT", "*[$f32 :32]");
        primary.wait_for_replica(&replica);
        assert_eq!(view(&mut replica.resp2()), view(&mut primary.resp2()));
    }
}

#[test]
fn every_prefix_of_withcount_in_any_case_is_the_option_of_list() {
    const OPTION: &str = "WITHCOUNT";
    let (_server, mut connection) = Server::start().connected();
    for window in ["", " WINDOW 3600000"] {
        connection.call("DEL k");
        connection.ok(&format!("TOPK.RESERVE k 3 100 5 0.9{window}"));
        connection.call("TOPK.INCRBY k a 2 b 1");
        // The empty argument is a prefix, too.
        for len in 0..=OPTION.len() {
            let upper = &OPTION[..len];
            let lower = upper.to_lowercase();
            let mixed = [&upper[..len / 2], &lower[len / 2..]].concat();
            for option in [upper, &lower, &mixed] {
                let reply = connection.send(&["TOPK.LIST", "k", option]);
                assert_eq!(reply.to_string(), "*[$a :2 $b :1]", "{option:?}{window}");
            }
        }
        for option in ["WITHCOUNTS", "WITHCOUNT ", " ", "ITHCOUNT", "WITHX", "X"] {
            let reply = connection.send(&["TOPK.LIST", "k", option]).to_string();
            assert_eq!(reply, "-WITHCOUNT keyword expected", "{option:?}{window}");
        }
    }
}
