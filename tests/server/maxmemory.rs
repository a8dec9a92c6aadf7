//! `maxmemory` limits the total memory of one command, even if each allocation is small.

use crate::families::{Family, numbers};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

fn limit(connection: &mut Connection, bytes: i64) {
    connection.ok(&format!("CONFIG SET maxmemory {bytes}"));
}

/// A command with `count` generated arguments.
fn command(head: &[&str], count: usize, argument: impl Fn(usize) -> String) -> Vec<String> {
    let head = head.iter().map(|&argument| argument.to_owned());
    head.chain((0..count).map(argument)).collect()
}

/// The number of elements of a reply that are errors or -1.
fn refused(reply: &Reply) -> usize {
    let is_refused = |item: &&Reply| matches!(item, Reply::Error(_) | Reply::Integer(-1));
    let items = reply.items().expect("an array").iter();
    items.filter(is_refused).count()
}

/// One request that is larger than the machine's memory, and others beyond `maxmemory`.
#[test]
fn oversized_requests_are_refused_and_change_nothing() {
    let (server, mut connection) = Server::start().connected();
    connection.check_all("TDIGEST.CREATE source\nTDIGEST.ADD source 1 2");
    let changes = ["master_repl_offset", "rdb_changes_since_last_save"];
    let before = changes.map(|field| server.info(field));
    connection.check_all(
        "
        BF.RESERVE huge 1e-300 1073741824 => -ERR Insufficient memory to create filter
        TOPK.RESERVE huge 10 4294967295 4294967295 0.9 => -ERR Insufficient memory to create topk data structure
        TOPK.RESERVE huge 10 2147483648 1073741824 0.9 => -ERR Insufficient memory to create topk data structure
        TOPK.RESERVE huge 10 1000000 1000000 0.9 => -ERR Insufficient memory to create topk data structure
        TOPK.RESERVE huge 4294967295 8 4294967295 0.9 => -ERR Insufficient memory to create topk data structure
        ",
    );
    server.set("cf-initial-size", 1_073_741_824);
    limit(&mut connection, 200 << 20);
    connection.check_all(
        "
        BF.RESERVE huge 0.01 1073741824 => -ERR Insufficient memory to create filter
        BF.INSERT huge CAPACITY 1073741824 ITEMS a => -ERR Insufficient memory to create filter
        CF.RESERVE huge 1073741824 => -ERR Insufficient memory to create filter
        CF.INSERT huge CAPACITY 1073741824 ITEMS a => -ERR Insufficient memory to create filter
        CF.ADD huge a => -ERR Insufficient memory to create filter
        CMS.INITBYDIM huge 9223372036854775807 1 => -CMS: Insufficient memory to create the key
        CMS.INITBYDIM huge 4611686018427387904 1 CELL_SIZE 8 => -CMS: Insufficient memory to create the key
        CMS.INITBYDIM huge 1000000000000 1 CELL_SIZE 1 => -CMS: Insufficient memory to create the key
        CMS.INITBYDIM huge 100000000 1 => -CMS: Insufficient memory to create the key
        CMS.INITBYPROB huge 1e-8 0.01 => -CMS: Insufficient memory to create the key
        TOPK.RESERVE huge 20000000 => -ERR Insufficient memory to create topk data structure
        TOPK.RESERVE huge 10 20000000 2 0.9 => -ERR Insufficient memory to create topk data structure
        TDIGEST.CREATE huge COMPRESSION 357913939 => -ERR T-Digest: allocation failed
        TDIGEST.CREATE huge COMPRESSION 3000000 => -ERR T-Digest: allocation failed
        TDIGEST.MERGE huge 1 source COMPRESSION 357913939 => -ERR T-Digest: allocation of destination digest failed
        TDIGEST.MERGE source 1 source COMPRESSION 3000000 => -ERR T-Digest: allocation of destination digest failed
        TDIGEST.MAX source => $2
        ",
    );
    // Headers of such keys.
    let mut cuckoo = [0u64, 1 << 40, 0, 1].map(u64::to_le_bytes).concat();
    cuckoo.extend([2, 0, 20, 0, 1, 0]);
    let count_min = [1u64 << 40, 1, 0].map(u64::to_le_bytes).concat();
    for (family, header, text) in [
        ("cf", cuckoo, "-Couldn't create filter!"),
        ("cms", count_min, "-ERR received bad data"),
    ] {
        let reply = Family::of(family).load(&mut connection, "huge", 1, &header);
        assert_eq!(reply.to_string(), text);
    }
    connection.check("KEYS *", "*[$source]");
    assert_eq!(changes.map(|field| server.info(field)), before);
    for fits in [
        "BF.RESERVE fits 0.01 10000000",
        "CF.RESERVE fits 10000000",
        "CMS.INITBYDIM fits 10000000 1",
        "TOPK.RESERVE fits 10 1000000 2 0.9",
        // The command checks the limits for 6,000,010 nodes of 16 bytes but does not allocate them.
        "TDIGEST.CREATE fits COMPRESSION 1000000",
    ] {
        connection.ok(fits);
        connection.check("DEL fits", ":1");
    }
}

/// 24,582 equal items make this filter grow 4,096 times, by 768 KiB each time, to 3.0 GiB.
#[test]
fn one_insertion_of_equal_items_grows_a_filter_within_maxmemory() {
    for policy in ["noeviction", "allkeys-lru", "volatile-lru"] {
        let (mut primary, replica) = Server::with_replica();
        let mut connection = primary.resp2();
        connection.ok(&format!("CONFIG SET maxmemory-policy {policy}"));
        limit(&mut connection, 100 << 20);
        let value = "x".repeat(10_000);
        for key in 0..2000 {
            assert!(connection.send(&["SET", &key.to_string(), &value]).is_ok());
        }
        connection.ok("CF.RESERVE k 524288 BUCKETSIZE 3 EXPANSION 1");
        // The output buffer of the replica counts as used memory.
        primary.wait_for_replica(&replica);
        let before = primary.info_number("used_memory");
        let insert = command(&["CF.INSERT", "k", "ITEMS"], 24_582, |_| "same".to_owned());
        let reply = connection.send(&insert);
        let refused = refused(&reply);
        // Growth takes at most half of the free memory, or half of `maxmemory` if the server evicts keys.
        let growth = primary.info_number("used_memory") - before;
        let most = match policy {
            "noeviction" => (100 << 20) - before,
            _ => 100 << 20,
        };
        assert!(growth <= most / 2 + (1 << 20), "{policy}: {growth}");
        assert!(growth >= most / 2 - (2 << 20), "{policy}: {growth}");
        assert!(refused > 20_000, "{policy}: {refused}");
        let inserted = 24_582 - refused as i64;
        connection.check("CF.COUNT k same", format!(":{inserted}"));
        assert_eq!(primary.info_number("bf_cuckoo_refusals"), refused as i64);
        // No other key was evicted.
        connection.check("DBSIZE", ":2001");
        // Only the added items were replicated.
        primary.wait_for_replica(&replica);
        replica.check("CF.COUNT k same", format!(":{inserted}"));
        let digest = "DEBUG DIGEST-VALUE k";
        assert_eq!(replica.call(digest), connection.call(digest));
    }
}

/// Each filter of the chain takes 0.5 MB.
#[test]
fn one_addition_of_many_items_grows_a_chain_within_maxmemory() {
    let (mut primary, replica) = Server::with_replica();
    let mut connection = primary.resp2();
    connection.ok("BF.RESERVE k 1e-250 3000 EXPANSION 1");
    // The memory of the arguments, and 8 MiB.
    let add = command(&["BF.MADD", "k"], 100_000, |item| item.to_string());
    let most = primary.info_number("used_memory") + 100_000 * 24 + (8 << 20);
    limit(&mut connection, most);
    let reply = connection.send(&add);
    let is_refusal = |item: &&Reply| item.to_string() == "-ERR problem inserting into filter";
    let refused = reply.items().unwrap().iter().filter(is_refusal).count();
    assert!((10_000..100_000).contains(&refused), "{refused}");
    assert!(primary.info_number("used_memory") < most);
    assert_eq!(primary.info_number("bf_bloom_refusals"), refused as i64);
    primary.wait_for_replica(&replica);
    let digest = "DEBUG DIGEST-VALUE k";
    assert_eq!(replica.call(digest), connection.call(digest));
}

/// An item that enters a list with a free place takes about 200 bytes. An item that replaces another reuses its memory.
#[test]
fn one_addition_of_many_items_fills_a_heap_within_maxmemory() {
    let (mut primary, replica) = Server::with_replica();
    let mut connection = primary.resp2();
    for (key, k) in [("large", 100_000), ("small", 10)] {
        connection.ok(&format!("TOPK.RESERVE {key} {k} 200000 3 0.9"));
    }
    // The memory of the arguments, and 5 MiB.
    let item = |item| format!("{item:>0$}", 100 + item % 50);
    let most = primary.info_number("used_memory") + 100_000 * 180 + (5 << 20);
    limit(&mut connection, most);
    let reply = connection.send(&command(&["TOPK.ADD", "large"], 100_000, item));
    let refused = refused(&reply);
    assert!((10_000..90_000).contains(&refused), "{refused}");
    assert!(primary.info_number("used_memory") < most);
    assert_eq!(primary.info_number("bf_topk_refusals"), refused as i64);
    let most = primary.info_number("used_memory") + 100_000 * 180 + (5 << 20);
    limit(&mut connection, most);
    let reply = connection.send(&command(&["TOPK.ADD", "small"], 100_000, item));
    assert_eq!(self::refused(&reply), 0);
    primary.wait_for_replica(&replica);
    for key in ["large", "small"] {
        let digest = format!("DEBUG DIGEST-VALUE {key}");
        assert_eq!(replica.call(&digest), connection.call(&digest));
    }
}

/// The buffer of a digest doubles, here from 8 MiB for 1,048,576 samples to 16 MiB.
#[test]
fn samples_are_refused_when_the_buffer_cannot_grow() {
    let (server, mut connection) = Server::start().connected();
    connection.ok("TDIGEST.CREATE k COMPRESSION 1000000");
    let add = command(&["TDIGEST.ADD", "k"], 104_000, |sample| sample.to_string());
    for _ in 0..10 {
        assert!(connection.send(&add).is_ok());
    }
    let grown = server.info_number("bf_tdigest_bytes");
    let add = command(&["TDIGEST.ADD", "k"], 100_000, |sample| sample.to_string());
    let most = server.info_number("used_memory") + (5 << 20);
    limit(&mut connection, most);
    let mut refusals = 0;
    for _ in 0..10 {
        let before = connection.call("TDIGEST.INFO k");
        let reply = connection.send(&add[..1002]);
        if reply.is_ok() {
            continue;
        }
        assert_eq!(reply.to_string(), "-ERR T-Digest: allocation failed");
        assert_eq!(connection.call("TDIGEST.INFO k"), before);
        refusals += 1000;
    }
    assert!(refusals > 0);
    assert_eq!(server.info_number("bf_tdigest_refusals"), refusals);
    assert!(server.info_number("bf_tdigest_bytes") < grown + (5 << 20));
}

/// The server evicts keys between commands, but not between the commands of a transaction.
#[test]
fn a_transaction_takes_at_most_twice_maxmemory_if_keys_are_evicted() {
    let (server, mut connection) = Server::start().connected();
    connection.ok("CONFIG SET maxmemory-policy allkeys-lru");
    limit(&mut connection, 100 << 20);
    connection.ok("MULTI");
    for key in 0..10 {
        connection.call(&format!("BF.RESERVE {key} 0.01 24000000"));
    }
    let reply = connection.call("EXEC");
    let reserved = reply.items().expect("an array").iter();
    assert_eq!(reserved.filter(|reply| reply.is_ok()).count(), 6);
    assert!(server.info_number("used_memory_peak") < 200 << 20);
}

/// Each item in a header takes about 150 bytes until it is in the heap. A limit on the number of elements in the header
/// would include only 32 of these bytes.
#[test]
fn a_header_is_refused_when_its_items_exceed_maxmemory() {
    const ITEMS: u32 = 600_000;
    let (server, mut connection) = Server::start().connected();
    connection.ok(&format!("TOPK.RESERVE k {ITEMS} 1 1 0.9"));
    let family = Family::of("topk");
    let (_, mut header) = family.scan(&mut connection, "k", 0).expect("a header");
    for place in 0..ITEMS {
        header.extend(place.to_le_bytes());
        header.extend(1u32.to_le_bytes());
        header.extend(3u64.to_le_bytes());
        header.extend(&place.to_le_bytes()[..3]);
    }
    connection.check("DEL k", ":1");
    let load = [b"TOPK.LOADCHUNK", &b"k"[..], b"1", &header];
    let used = server.info_number("used_memory") + header.len() as i64;
    limit(&mut connection, used + (70 << 20));
    let reply = connection.send(&load);
    assert_eq!(reply.to_string(), "-ERR received bad data");
    connection.check("EXISTS k", ":0");
    limit(&mut connection, used + (160 << 20));
    connection.send_ok(&load);
    assert!(server.info_number("used_memory_peak") < used + (160 << 20));
}

/// The server does not count the buffers of replicas and of the AOF against `maxmemory`. Here a replica that reads
/// nothing has buffers larger than `maxmemory`.
#[test]
fn buffers_of_a_replica_leave_memory_for_a_filter() {
    const BUFFERS: i64 = 70 << 20;
    for policy in ["noeviction", "allkeys-lru"] {
        let mut server = Options::new()
            .arguments(&["--maxmemory-policy", policy])
            .arguments(&["--client-output-buffer-limit", "replica", "0", "0", "0"])
            .start();
        let mut connection = server.resp2();
        let mut replica = server.resp2();
        replica.write(&["PSYNC", "?", "-1"]).expect("a request");
        server.wait_until("the replica", |server| {
            server.info_number("connected_slaves") == 1
        });
        let value = vec![b'x'; 1 << 20];
        server.wait_until("the buffers", |server| {
            assert!(connection.send(&[&b"SET"[..], b"k", &value]).is_ok());
            server.info_number("mem_not_counted_for_evict") > BUFFERS
        });
        connection.call("DEL k");
        limit(&mut connection, 50 << 20);
        // The server accepts a string of the same size.
        let reply = connection.call("SETRANGE k 31457279 x");
        assert_eq!(reply, Reply::Integer(30 << 20), "{policy}");
        connection.call("DEL k");
        connection.ok("BF.RESERVE f 0.01 20000000 NONSCALING");
        let bytes = server.info_number("bf_bloom_bytes");
        assert!((20 << 20..30 << 20).contains(&bytes), "{bytes}");
        let reply = connection.call("BF.RESERVE g 0.01 50000000").to_string();
        assert!(reply.starts_with("-ERR"), "{policy}: {reply}");
    }
}

/// Each refusal logs the key, the requested bytes, the allowed bytes and the limit.
#[test]
fn the_log_names_the_limit_that_refused_memory() {
    let options = || Options::new().debug_module();
    let (server, mut connection) = options().start().connected();
    let logged = |server: &Server, connection: &mut Connection, commands: &[&str]| {
        server.enter_next_second();
        let lines = |server: &Server| server.log().lines().count();
        let before = lines(server);
        for command in commands {
            let reply = connection.call(command).to_string();
            assert!(reply.contains('-'), "{command}: {reply}");
        }
        let log = server.log();
        let new: Vec<_> = log.lines().skip(before).map(str::to_owned).collect();
        let [line] = &new[..] else {
            panic!("{commands:?}: {new:?}");
        };
        let (_, line) = line.split_once("<bf> ").expect("a line of the module");
        line.to_owned()
    };
    // 8 bytes per bucket and 32 per element.
    let reserve = "topk.reserve t 4000000000 1000000 1000000 0.9";
    let line = logged(&server, &mut connection, &[reserve]);
    let start = "TOPK.RESERVE refused: key \"t\" needs 7.4 TB, ";
    let limits = ["the machine has ", "the control group allows "];
    let is_named = limits
        .iter()
        .any(|limit| line.starts_with(&format!("{start}{limit}")));
    assert!(is_named, "{line}");

    limit(&mut connection, 64 << 20);
    let line = logged(&server, &mut connection, &["BF.RESERVE f 0.01 1000000000"]);
    let start = "BF.RESERVE refused: key \"f\" needs 1.3 GB, maxmemory leaves ";
    let left = line.strip_prefix(start).expect(&line);
    let left = left.strip_suffix(" MB").expect(&line);
    let left: f64 = left.parse().expect("a number");
    assert!((40.0..64.0).contains(&left), "{line}");

    // Checked once per command. The third sub-filter takes 8 GiB and is refused for several items.
    connection.ok("CF.RESERVE c 8 EXPANSION 32768");
    let insert = "CF.INSERT c ITEMS a a a a a a a a a a a a a a";
    let line = logged(&server, &mut connection, &[insert]);
    let start = "CF.INSERT refused: growing key \"c\" needs 16.0 GB free (8.0 GB for the filter, as much in reserve), maxmemory leaves ";
    assert!(line.starts_with(start), "{line}");

    // The suppressed lines are counted.
    let commands = [
        "CMS.INITBYDIM m 9000000000000000 1",
        "CMS.INITBYDIM m 9000000000000000 1024",
    ];
    logged(&server, &mut connection, &commands);
    let create = "TDIGEST.CREATE d COMPRESSION 300000000";
    let line = logged(&server, &mut connection, &[create]);
    let is_counted = line.ends_with(" (1 similar lines were suppressed)");
    assert!(is_counted, "{line}");

    let (server, mut connection) = options().start().connected();
    server.set("sketch-max-key-bytes", 500);
    let line = logged(&server, &mut connection, &["CMS.INITBYDIM c 1000 1"]);
    let start = "CMS.INITBYDIM refused: key \"c\" would hold ";
    let end = " KB, sketch-max-key-bytes allows 500 bytes";
    assert!(line.starts_with(start) && line.ends_with(end), "{line}");
    connection.ok("BF.RESERVE f 0.01 100");
    let add = format!("BF.MADD f {}", numbers(0, 400));
    let line = logged(&server, &mut connection, &[&add]);
    let is_named = line.starts_with("BF.MADD refused: key \"f\" would hold ")
        && line.ends_with(" bytes, sketch-max-key-bytes allows 500 bytes");
    assert!(is_named, "{line}");

    // The name of a key cannot begin another line, and is cut.
    let key = [b"a\r\n\x1b\"\xff".as_slice(), &[b'x'; 1000]].concat();
    let reserve = [b"BF.RESERVE".as_slice(), &key, b"0.01", b"10000"];
    server.enter_next_second();
    let before = server.log().len();
    assert!(connection.send(&reserve).is_error());
    let log = server.log().split_off(before);
    let rest = "x".repeat(58);
    let shown = format!(r#"BF.RESERVE refused: key "a\r\n\x1b\"\xff{rest}"... would hold "#);
    assert!(log.contains(&shown), "{log}");

    let (server, mut connection) = options().address_space(1 << 30).start().connected();
    let line = logged(&server, &mut connection, &["CMS.INITBYDIM c 500000000 1"]);
    // On a machine with less than 2 GB, the limit of the machine refuses the command, not the allocator.
    let allocator = "CMS.INITBYDIM refused: the allocator has no 1.9 GB for key \"c\"";
    let is_named = line == allocator || line.contains("the machine has");
    assert!(is_named, "{line}");
}
