//! Top-k on real servers: behavior that neither the recordings nor the tests of all families cover. In particular,
//! the same commands give the same bytes, although decay is random.

use crate::families::dump;
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::{Options, Server};
use crate::t_digest::mmix;

/// A sketch that is far too small for [`Stream`], so that nearly all buckets decay.
const RESERVE: &str = "TOPK.RESERVE k 50 100 5 0.9";
/// Items per command.
const BATCH: usize = 500;

/// Maximum number of synchronizations until items are added during one.
const MAX_SYNCHRONIZATIONS: usize = 20;

/// A stream with few frequent items: squared numbers of a linear congruential generator.
struct Stream(u64);

impl Stream {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn number(&mut self, below: u64) -> u64 {
        self.0 = mmix(self.0);
        (self.0 >> 33) % below
    }

    /// The next command: usually TOPK.ADD, sometimes TOPK.INCRBY.
    fn command(&mut self) -> Vec<String> {
        let with_increments = self.number(10) == 0;
        let name = if with_increments { "INCRBY" } else { "ADD" };
        let mut command = vec![format!("TOPK.{name}"), "k".to_owned()];
        for _ in 0..BATCH {
            let root = self.number(300);
            command.push(format!("item:{}", root * root / 30));
            if with_increments {
                command.push(self.number(40).to_string());
            }
        }
        command
    }

    fn add(&mut self, connection: &mut Connection, items: usize) {
        for _ in 0..items / BATCH {
            let reply = connection.send(&self.command());
            assert!(matches!(reply, Reply::Array(_)), "{reply}");
        }
    }
}

/// The visible state of the key.
fn view(connection: &mut Connection) -> Vec<Reply> {
    let mut view = vec![connection.call("TOPK.LIST k WITHCOUNT")];
    view.push(connection.call("DEBUG DIGEST-VALUE k"));
    view.push(dump(connection, "k"));
    view
}

fn assert_in_step(primary: &mut Server, replica: &Server) {
    primary.wait_for_replica(replica);
    let shown = view(&mut replica.resp2());
    assert_eq!(shown, view(&mut primary.resp2()));
    // Fifty items with counts.
    assert_eq!(shown[0].items().unwrap().len(), 100);
}

#[test]
fn a_replica_decays_the_same_buckets_during_and_after_a_full_sync_and_a_fail_over() {
    let mut primary = Server::start();
    let mut replica = Server::start();
    let mut connection = primary.resp2();
    connection.ok(RESERVE);
    // A save takes a second, in which items are added.
    for number in 0..100 {
        connection.send(&["SET", &format!("filler:{number}"), "x"]);
    }
    connection.ok("CONFIG SET rdb-key-save-delay 10000");
    let mut stream = Stream::new(1);
    stream.add(&mut connection, 10_000);
    // Without processor time, a test may add nothing during a synchronization. It then synchronizes again.
    let mut added_during_a_save = 0;
    for _ in 0..MAX_SYNCHRONIZATIONS {
        // Without a history, the replica needs a full synchronization.
        replica.ok("REPLICAOF NO ONE");
        replica.ok("FLUSHALL");
        replica.ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
        replica.wait_until("the full synchronization", |replica| {
            let is_saving = primary.info_number("rdb_bgsave_in_progress") == 1;
            stream.add(&mut connection, 1000);
            added_during_a_save += u32::from(is_saving);
            replica.is_linked()
        });
        if added_during_a_save > 0 {
            break;
        }
    }
    assert!(added_during_a_save > 0, "nothing was added during a save");
    assert_in_step(&mut primary, &replica);

    // Fails over to the former replica.
    replica.ok("REPLICAOF NO ONE");
    Stream::new(2).add(&mut replica.resp2(), 20_000);
    primary.ok("CONFIG SET rdb-key-save-delay 0");
    primary.replicate(&replica);
    Stream::new(3).add(&mut replica.resp2(), 20_000);
    assert_in_step(&mut replica, &primary);
}

/// Compares with a server that is never restarted and receives the same commands.
#[test]
fn restarts_do_not_change_what_decays_afterwards() {
    let aof = ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"];
    let with_preamble = |is| [&aof[..], &["--aof-use-rdb-preamble", is]].concat();
    for (arguments, in_between) in [
        (&["--save", "3600 1000000"][..], ""),
        (&aof, ""),
        (&with_preamble("no"), "BGREWRITEAOF"),
        (&with_preamble("yes"), "BGREWRITEAOF"),
    ] {
        let steady = Server::start();
        let mut server = Options::new().arguments(arguments).start();
        let mut streams = [Stream::new(7), Stream::new(7)];
        let mut both = |server: &Server, items| {
            for (stream, server) in streams.iter_mut().zip([&steady, server]) {
                stream.add(&mut server.resp2(), items);
            }
        };
        for server in [&steady, &server] {
            server.ok(RESERVE);
        }
        both(&server, 50_000);
        if !in_between.is_empty() {
            server.call(in_between);
            both(&server, 10_000);
            assert!(server.wait_for_rewrite());
        }
        both(&server, 10_000);
        server.restart();
        let found = view(&mut server.resp2());
        assert_eq!(found, view(&mut steady.resp2()), "{arguments:?}");
        both(&server, 10_000);
        let found = view(&mut server.resp2());
        assert_eq!(found, view(&mut steady.resp2()), "{arguments:?}");
    }
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

/// A script can create an item that is larger than `maxmemory`; commands from clients are refused before that.
#[test]
fn an_item_refused_for_memory_is_an_error_in_the_reply_and_not_replicated() {
    let (mut primary, replica) = Server::with_replica();
    let mut connection = primary.resp2();
    connection.ok("TOPK.RESERVE k 3 1000 3 0.9");
    connection.ok("CONFIG SET maxmemory 20mb");
    let script = "local huge = string.rep('x', 25 * 1024 * 1024) \
                  local replies = redis.pcall('TOPK.ADD', 'k', 'a', huge, 'b') \
                  return replies['err'] or {#replies, replies[1], replies[2]['err'], replies[3]}";
    let reply = connection.send(&["EVAL", script, "0"]).to_string();
    // Valkey 9 turns a reply that contains an error into an error.
    let is_refused = reply == "*[:3 $-1 $ERR Insufficient memory $-1]"
        || primary.version().is_valkey_at_least(9, 0) && reply.contains("ERR Insufficient memory");
    assert!(is_refused, "{reply}");
    connection.check("TOPK.LIST k WITHCOUNT", "*[$a :1 $b :1]");
    assert_eq!(primary.info("bf_topk_refusals").as_deref(), Some("1"));
    primary.wait_for_replica(&replica);
    assert_eq!(view(&mut replica.resp2()), view(&mut connection));
}

/// The bytes in INFO are updated as items enter and leave, and always equal the sum over all blocks.
#[test]
fn memory_usage_and_info_agree_as_items_change() {
    let (mut server, mut connection) = Server::start().connected();
    connection.ok("TOPK.RESERVE k 200 500 4 0.9");
    let mut uncounted = |when: &str| {
        let usage = connection.call("MEMORY USAGE k").integer().unwrap();
        let counted = server.info_number("bf_topk_bytes");
        println!("{when}: {usage} said, {counted} in INFO");
        usage - counted
    };
    // The part of MEMORY USAGE that is the server's.
    let of_the_key = uncounted("empty");
    let mut stream = Stream::new(5);
    let mut adder = server.resp2();
    for round in 0..30 {
        let mut command = vec!["TOPK.INCRBY".to_owned(), "k".to_owned()];
        for _ in 0..100 {
            let len = stream.number(if round % 3 == 0 { 9000 } else { 30 });
            command.push(format!("{:len$}", stream.number(1000), len = len as usize));
            command.push((round * 100 + stream.number(100)).to_string());
        }
        let reply = adder.send(&command);
        assert_eq!(reply.items().map(<[Reply]>::len), Some(100));
        assert_eq!(uncounted("after a round"), of_the_key);
    }
    adder.check("UNLINK k", ":1");
    server.wait_until("the memory back", |server| {
        server.info("bf_topk_bytes").as_deref() == Some("0")
    });
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
