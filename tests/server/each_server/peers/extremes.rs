//! Filters of hundreds of megabytes and more, whose memory is not used: creations that clients of Roughly cannot run.

use super::Peer;
use super::files::copy_log;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

const COMMANDS: &[&str] = &[
    "BF.RESERVE scaling 0.9 1600000000",
    "BF.MADD scaling a b c",
    "BF.INSERT scaling CAPACITY 1600000000 ERROR 0.01 ITEMS d e f g",
    "BF.INSERT inserted CAPACITY 1600000000 ERROR 0.9 EXPANSION 40000 ITEMS a b c d",
    "BF.RESERVE grown 0.9 2 EXPANSION 1000000000",
    "BF.MADD grown a b c d",
    "CF.RESERVE cuckoo 1073741825",
    "CF.INSERT cuckoo ITEMS a b c",
    "CF.INSERT cuckooinserted CAPACITY 1500000000 ITEMS a b c",
];

/// The parameters of the filters, and which of some items they contain.
fn view(connection: &mut Connection) -> Vec<Reply> {
    let filters = "BF scaling|BF inserted|BF grown|CF cuckoo|CF cuckooinserted".split('|');
    let reads = filters.flat_map(|filter| {
        let (prefix, key) = filter.split_once(' ').expect("a key");
        let items = "a b c d e f g h i j";
        [
            format!("{prefix}.SCANDUMP {key} 0"),
            format!("{prefix}.MEXISTS {key} {items}"),
        ]
    });
    reads.map(|read| connection.call(&read)).collect()
}

pub fn large_filters_are_obeyed(peer: &Peer) {
    let logs = |server: &Server| server.log().contains("== CRITICAL ==");
    let log = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut primary = peer.options().arguments(&log).start();
    let mut replica = peer.roughly().arguments(&log).start();
    replica.replicate(&primary);
    // The replica rewrites its log after the synchronization.
    assert!(replica.wait_for_rewrite());
    let mut connection = primary.resp2();
    for command in COMMANDS {
        connection.run(command);
    }
    primary.wait_for_replica(&replica);
    let wanted = view(&mut connection);
    assert_eq!(view(&mut replica.resp2()), wanted, "replica");
    assert!(!logs(&replica));
    // Its own log, in which it replicates what it obeyed.
    replica.kill();
    replica.relaunch();
    assert_eq!(view(&mut replica.resp2()), wanted, "log of the replica");
    // The log of the primary.
    replica.kill();
    copy_log(&primary, replica.dir());
    replica.relaunch();
    assert_eq!(view(&mut replica.resp2()), wanted, "log of the primary");
    assert!(!logs(&replica));
    // Clients have the ranges of RedisBloom 8.10.
    let mut client = replica.resp2();
    client.ok("REPLICAOF NO ONE");
    client.ok("FLUSHALL");
    for command in COMMANDS {
        let creates = command.contains("RESERVE") || command.contains("CAPACITY");
        let reply = client.call(command);
        assert!(reply.is_error() || !creates, "{command}: {reply}");
    }
}
