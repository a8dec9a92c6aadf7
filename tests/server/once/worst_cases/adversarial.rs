//! Input that maximizes the work of a command, and that the largest keys alone do not cover. Each test states the reason for
//! the bound.

use super::ATTEMPTS;
use super::bounds::{Work, bound_ns};
use crate::families::numbers;
use crate::support::main_thread::MainThread;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::workload::words;

/// Sends a command, which must be within its bound. Each argument after the key counts as an item.
fn timed(connection: &mut Connection, words: &[impl AsRef<[u8]>]) -> Reply {
    timed_within(connection, words, items(words))
}

/// The work of a command on a key with few sub-filters.
fn items(words: &[impl AsRef<[u8]>]) -> Work {
    let items = words.len() as u64 - 2;
    Work { items, ..Work::ONE }
}

/// As [`timed`], for a filter with many sub-filters. It is not repeated, because the filter is then another one.
fn timed_on_chain(connection: &mut Connection, words: &[impl AsRef<[u8]>]) -> Reply {
    let mut work = items(words);
    work.sub_filters = 4097;
    timed_in(1, connection, words, work)
}

/// Sends a CF.INSERT of this many equal items, which adds sub-filters.
fn insert_equal_items(connection: &mut Connection, number: usize) -> Reply {
    let words = [&["CF.INSERT", "K", "ITEMS"][..], &vec!["same"; number]].concat();
    timed_on_chain(connection, &words)
}

/// Sends a command, which must be within the bound of its work. If it is not, it is repeated, as in [`check`](super::check).
fn timed_within(connection: &mut Connection, words: &[impl AsRef<[u8]>], work: Work) -> Reply {
    timed_in(ATTEMPTS, connection, words, work)
}

/// As [`timed_within`], in at most so many attempts, which do the same work.
fn timed_in(
    attempts: u32,
    connection: &mut Connection,
    words: &[impl AsRef<[u8]>],
    work: Work,
) -> Reply {
    let (thread, bound) = (MainThread::of(connection), bound_ns(&work));
    let (mut ns, reply) = thread.measured(|| connection.send(words));
    for attempt in 1.. {
        // No machine is four times as fast as the reference machine.
        if ns as f64 <= bound / 4.0 || ns as f64 / thread.slowness(connection) <= bound {
            break;
        }
        let name = words[0].as_ref().escape_ascii();
        assert!(attempt < attempts, "{name} took {ns} ns of CPU time");
        (ns, _) = thread.measured(|| connection.send(words));
    }
    reply
}

/// Equal items fill two buckets of each sub-filter. An insertion tests two buckets of each sub-filter and evicts
/// fingerprints in the newest. `cf-max-expansions` limits the number of sub-filters, but is checked once per command,
/// as in RedisBloom: one command adds up to 4,096 sub-filters and refuses its remaining items. Here: 10,000 equal
/// items in buckets of one slot.
#[test]
fn equal_items_fill_one_sub_filter_after_another_in_time() {
    let (_server, mut connection) = Server::start().connected();
    connection.call("CF.RESERVE K 1024 MAXITERATIONS 500 EXPANSION 1");
    for _ in 0..20 {
        insert_equal_items(&mut connection, 1000);
    }
    let filters = connection.call("CF.INFO K").number("Number of filters");
    assert!((1..=250).contains(&filters), "{filters}");
}

#[test]
fn one_command_of_equal_items_adds_at_most_4096_sub_filters() {
    let (server, mut replica) = Server::with_replica();
    let mut connection = server.resp2();
    connection.call("CF.RESERVE K 2 BUCKETSIZE 1 EXPANSION 1");
    let reply = insert_equal_items(&mut connection, 10_000);
    let answers = reply.items().expect("an array");
    assert_eq!(answers.len(), 10_000);
    let refused = Reply::Integer(-1);
    let inserted = answers.iter().filter(|&answer| *answer != refused).count();
    assert!((4097..=2 * 4097).contains(&inserted), "{inserted}");
    // The refused items are not in the filter.
    wait_for_same_keys(&mut replica, &server);
}

fn wait_for_same_keys(replica: &mut Server, server: &Server) {
    replica.wait_until("the same keys", |replica| {
        replica.call("DEBUG DIGEST") == server.call("DEBUG DIGEST")
    });
}

/// A payload of BF.LOAD: full filters of 32 bytes with these numbers of hashes. If there are more than 256, all bits but
/// one are set, otherwise none. The seed of filter number n is the n-th of `seeds`, in turn.
fn valkey_payload(hashes: &[u32], seeds: &[[u8; 32]]) -> Vec<u8> {
    let mut payload = vec![1];
    payload.extend(1u32.to_le_bytes());
    payload.extend([0.9, 1.0 - 1e-9f64].map(f64::to_le_bytes).concat());
    payload.push(1);
    payload.extend((hashes.len() as u64).to_le_bytes());
    for (hashes, seed) in hashes.iter().zip(seeds.iter().cycle()) {
        payload.extend((45u64 + 32).to_le_bytes());
        payload.push(1);
        payload.extend(32u64.to_le_bytes());
        payload.extend(hashes.to_le_bytes());
        payload.extend(seed);
        let byte = if *hashes > 256 { 0xff } else { 0 };
        payload.extend([byte; 31]);
        payload.push(byte & 0x7f);
        payload.extend([1u64, 1].map(u64::to_le_bytes).concat());
    }
    payload
}

/// The filters of valkey-bloom's type have at most 2,201,600 hashes in total, and one seed, so that an item is hashed
/// once: here with the most hashes per filter and with the most filters. The limit also ends the growth, on a replica at
/// the same item.
#[test]
fn lookups_in_the_longest_chain_of_valkey_bloom_end_in_time() {
    const MAX_HASHES: u32 = 2048 * 1075;
    let (server, mut replica) = Server::with_replica();
    let mut connection = server.resp2();
    let large = vec![b'x'; 1 << 20];
    let items: Vec<_> = (0..100).map(|item| item.to_string()).collect();
    let [seed, other]: [[u8; 32]; 2] = [0, 1].map(|first| std::array::from_fn(|n| first + n as u8));
    let full = Reply::Error(b"ERR bloom object reached max number of filters".into());
    for hashes in [vec![2048; 1075], vec![16; (MAX_HASHES / 16) as usize]] {
        let mut load = [b"BF.LOAD".to_vec(), b"K".to_vec(), Vec::new()];
        let with_more = [&hashes[..], &[1]].concat();
        for (hashes, seeds) in [(&with_more, &[seed][..]), (&hashes, &[seed, other])] {
            load[2] = valkey_payload(hashes, seeds);
            let reply = timed_on_chain(&mut connection, &load).to_string();
            assert_eq!(reply, "-ERR bloom object decoding failed");
        }
        load[2] = valkey_payload(&hashes, &[seed]);
        assert!(timed_on_chain(&mut connection, &load).is_ok());
        for command in ["BF.EXISTS", "BF.ADD"] {
            timed_on_chain(&mut connection, &[command.as_bytes(), b"K", &large]);
        }
        let words = |command: &str| [&[command.to_owned(), "K".to_owned()][..], &items].concat();
        let found = timed_on_chain(&mut connection, &words("BF.MEXISTS"));
        let added = timed_on_chain(&mut connection, &words("BF.MADD"));
        let mut found = found.items().expect("an array").iter();
        let absent = found.position(|found| *found == Reply::Integer(0));
        let absent = absent.expect("an item that is absent");
        let mut expected = vec![Reply::Integer(0); absent];
        expected.push(full.clone());
        assert_eq!(added, Reply::Array(expected));
        let filters = connection.call("BF.DEBUG K");
        assert_eq!(filters.items().map(<[Reply]>::len), Some(hashes.len() + 1));
        connection.call("DEL K");
        // Growth up to the limit: a new filter has one byte and six hashes.
        let fewer = hashes.len() - 1;
        load[2] = valkey_payload(&hashes[..fewer], &[seed]);
        assert!(connection.send(&load).is_ok());
        let added = timed_on_chain(&mut connection, &words("BF.MADD"));
        if hashes[0] == 16 {
            let added = added.items().expect("an array");
            assert_eq!(added.last(), Some(&full));
            let new = added.iter().filter(|added| **added == Reply::Integer(1));
            assert_eq!(new.count(), 2);
        }
        wait_for_same_keys(&mut replica, &server);
        connection.call("DEL K");
    }
    replica.assert_obeys();
}

/// Sorted, reversed, constant and organ-pipe input, for which some digests need one node per sample. Here the nodes
/// never exceed their capacity, and a thousand samples cost one sort and a few passes over the nodes.
#[test]
fn samples_in_adverse_orders_are_added_in_time() {
    const SAMPLES: i64 = 100_000;
    let (_server, mut connection) = Server::start().connected();
    type Order = fn(i64) -> i64;
    let orders: [(&str, Order); 5] = [
        ("sorted", |i| i),
        ("reversed", |i| -i),
        ("constant", |_| 7),
        ("organ pipe", |i| i.min(SAMPLES - i)),
        ("outwards", |i| if i % 2 == 0 { i } else { -i }),
    ];
    for (name, order) in orders {
        connection.call("DEL K");
        connection.ok("TDIGEST.CREATE K COMPRESSION 100");
        for first in (0..SAMPLES).step_by(1000) {
            let mut words = vec!["TDIGEST.ADD".to_owned(), "K".to_owned()];
            words.extend((first..first + 1000).map(|i| order(i).to_string()));
            assert!(timed(&mut connection, &words).is_ok());
        }
        timed(&mut connection, &["TDIGEST.QUANTILE", "K", "0.5"]);
        let info = connection.call("TDIGEST.INFO K");
        let nodes = info.number("Merged nodes") + info.number("Unmerged nodes");
        assert!(nodes <= 610, "{name}: {nodes}");
        assert_eq!(info.number("Observations"), SAMPLES, "{name}");
    }
}

/// Items that begin with a prefix of whole words and have the same 32-bit MurmurHash2 under seed 1919, the fingerprint of
/// top-k: the last word reverts the effect of the word before on the state of the hash.
fn items_of_one_fingerprint(prefix: &[u8], number: u32) -> Vec<Vec<u8>> {
    const M: u32 = 0x5bd1_e995;
    // M times this is 1 modulo 2^32.
    const INVERSE: u32 = 0xe59b_19bd;
    let mix = |word: u32| {
        let word = word.wrapping_mul(M);
        (word ^ word >> 24).wrapping_mul(M)
    };
    let unmix = |mixed: u32| {
        let word = mixed.wrapping_mul(INVERSE);
        (word ^ word >> 24).wrapping_mul(INVERSE)
    };
    let next = |state: u32, word| state.wrapping_mul(M) ^ mix(word);
    let words = prefix.as_chunks().0.iter().copied().map(u32::from_le_bytes);
    let after_prefix = words.fold(1919 ^ (prefix.len() as u32 + 8), next);
    let items = (0..number).map(|first| {
        let last = unmix(next(after_prefix, first).wrapping_mul(M));
        [prefix, &first.to_le_bytes(), &last.to_le_bytes()].concat()
    });
    items.collect()
}

/// Many items with the same fingerprint in a heap that can hold all of them. Only heaps of at most 4,096 elements look
/// up items by fingerprint, so a lookup compares at most 4,096 items. Without this limit the last command would
/// compare each of 20,000 items with about 190,000 others.
#[test]
fn items_of_one_fingerprint_in_a_large_heap_are_found_in_time() {
    let (_server, mut connection) = Server::start().connected();
    let items = items_of_one_fingerprint(b"", 200_000);
    let found = roughly_sketch::hash::murmur2(&items[0], 1919);
    assert_eq!(found, roughly_sketch::hash::murmur2(&items[199_999], 1919));
    for k in [4096, 200_000] {
        connection.call("DEL K");
        connection.ok(&format!("TOPK.RESERVE K {k} 10 3 0.9"));
        for items in items[..k].chunks(20_000) {
            for name in ["TOPK.ADD", "TOPK.QUERY", "TOPK.COUNT"] {
                let mut words: Vec<&[u8]> = vec![name.as_bytes(), b"K"];
                words.extend(items.iter().map(|item| &item[..]));
                timed(&mut connection, &words);
            }
        }
        let list = connection.call("TOPK.LIST K");
        assert_eq!(list.items().map(<[Reply]>::len), Some(k));
    }
}

/// The largest heap whose items are looked up by fingerprint, with items of one fingerprint, equal length and a long common
/// prefix: a lookup compares one of them, not all, which have up to 64 MiB.
#[test]
fn long_items_of_one_fingerprint_are_found_in_time() {
    const K: usize = 4096;
    let (_server, mut connection) = Server::start().connected();
    for len in [16 << 10, 200] {
        let items = items_of_one_fingerprint(&vec![b'x'; len - 8], K as u32 + 100);
        connection.call("DEL K");
        connection.ok(&format!("TOPK.RESERVE K {K} 10 3 0.9"));
        let (added, others) = items.split_at(K);
        for name in ["TOPK.ADD", "TOPK.QUERY", "TOPK.COUNT"] {
            for items in added.chunks(100).chain([others]) {
                let words = [&[name.into(), b"K".to_vec()][..], items].concat();
                timed(&mut connection, &words);
            }
        }
        let usage = connection.call("MEMORY USAGE K").integer();
        let usage = u64::try_from(usage.expect("a size")).expect("a size");
        let usage = Work::of_keys(usage);
        connection.ok("CONFIG SET rdbcompression no");
        let payload = &connection.payload("K");
        let restore = [b"RESTORE", &b"R"[..], b"0", payload, b"REPLACE"];
        assert!(timed_within(&mut connection, &restore, usage).is_ok());
        let found = connection.call("TOPK.LIST R");
        assert_eq!(found, connection.call("TOPK.LIST K"));
    }
}

/// A sketch of a million rows and items of 64 KiB: the server refuses items that take too long to hash, and accepts
/// shorter items.
#[test]
fn items_too_long_for_a_deep_sketch_are_refused() {
    let (server, mut replica) = Server::with_replica();
    let mut connection = server.resp2();
    let (long, short) = ("x".repeat(1 << 16), "x".repeat(100));
    connection.ok("CMS.INITBYDIM K 1 1000000");
    connection.ok("TOPK.RESERVE L 1 1 1000000 0.9");
    let digest = server.call("DEBUG DIGEST");
    let commands = [
        ("CMS.INCRBY K I 5", "-CMS: "),
        ("CMS.QUERY K I", "-CMS: "),
        ("TOPK.ADD L I", "-TopK: "),
        ("TOPK.INCRBY L I 2", "-TopK: "),
        ("TOPK.COUNT L I", "-TopK: "),
    ];
    let with = |command: &str, item: &str| words(&command.replace(" I", &format!(" {item}")));
    for (command, family) in commands {
        let refused = timed(&mut connection, &with(command, &long)).to_string();
        let expected = format!("{family}too much work for the depth of the sketch");
        assert_eq!(refused, expected, "{command}");
    }
    assert_eq!(server.call("DEBUG DIGEST"), digest);
    for (command, _) in commands {
        let taken = timed(&mut connection, &with(command, &short));
        assert!(!taken.is_error(), "{command}: {taken}");
    }
    wait_for_same_keys(&mut replica, &server);
    // With a decay near 1, an increment takes up to 100,000 random numbers per row.
    connection.ok("TOPK.RESERVE slow 1 1 32 0.999999999");
    for increment in ["100000", "1"] {
        let pairs: Vec<_> = (0..1000)
            .map(|item| format!("{item} {increment}"))
            .collect();
        let command = words(&format!("TOPK.INCRBY slow {}", pairs.join(" ")));
        let reply = timed(&mut connection, &command);
        assert_eq!(reply.is_error(), increment == "100000", "{reply}");
    }
    // A sketch with few rows accepts any item.
    connection.ok("CMS.INITBYDIM M 10 32");
    let longest = "x".repeat(64 << 20);
    let taken = connection.send(&with("CMS.INCRBY M I 5", &longest));
    assert_eq!(taken.to_string(), "*[:5]");
}

/// In a new sketch, each counter can be on a page that the operating system provides at its first use. The limit counts
/// these pages, at most one per item and row. So does the test, because the time of a page is that of the operating system.
#[test]
fn items_that_use_too_many_new_pages_of_a_deep_sketch_are_refused() {
    const ROWS: u64 = 33;
    /// A page that is read and then written to is provided twice: at first, all such pages are the same page of zeros.
    const FAULTS_PER_PAGE: u64 = 2;
    /// Pages of the command and of its reply.
    const OTHER_PAGES: u64 = 200;
    let (_server, mut connection) = Server::start().connected();
    // These keys take only address space until their pages are used.
    let keys = [
        ("CMS.INITBYDIM K 15000000 33", "CMS.INCRBY K", " 1", 651),
        // The work of a decrement counts, too, so top-k may accept fewer items.
        ("TOPK.RESERVE K 1 7500000 33 1", "TOPK.ADD K", "", 100),
    ];
    for (create, command, increment, number) in keys {
        connection.call("DEL K");
        connection.ok(create);
        let on_items = |items: u64| {
            let items: Vec<_> = (0..items)
                .map(|item| format!("{item}{increment}"))
                .collect();
            words(&format!("{command} {}", items.join(" ")))
        };
        let mut work = Work::ONE;
        work.rows = ROWS;
        let refused = timed_within(&mut connection, &on_items(652), work).to_string();
        let is_refused = refused.ends_with("too much work for the depth of the sketch");
        assert!(is_refused, "{refused}");
        let thread = MainThread::of(&mut connection);
        let before = thread.page_faults();
        connection.send_run(&on_items(number));
        let used = thread.page_faults() - before;
        let most = number * ROWS * FAULTS_PER_PAGE + OTHER_PAGES;
        assert!(used > most / 2, "{used} pages");
    }
}

/// A source that occurs several times is read once: otherwise 4,000 occurrences of a source of 16 MiB would read 64
/// GiB.
#[test]
fn merges_with_a_source_named_4000_times_end_in_time() {
    let (_server, mut connection) = Server::start().connected();
    connection.check_all(
        "
        CMS.INITBYDIM s 4194304 1 => +OK
        CMS.INITBYDIM d 4194304 1 => +OK
        CMS.INCRBY s a 7 => *[:7]
        BF.RESERVE f 0.001 9000000 => +OK
        BF.ADD f a => :1
        ",
    );
    for (name, destination, source) in [("CMS.MERGE", "d", "s"), ("BF.MERGE", "u", "f")] {
        let words = [&[name, destination, "4000"][..], &[source; 4000]].concat();
        let reply = timed_within(&mut connection, &words, Work::of_keys(2 << 24));
        assert!(reply.is_ok(), "{name}: {reply}");
    }
    connection.check("CMS.QUERY d a", "*[:28000]");
    connection.check("BF.EXISTS u a", ":1");
}

/// Merges read at most 4 GiB: more is refused before any source is read. A merge of a destination and one source is
/// never refused, so that a large merge can be split.
#[test]
fn merges_of_too_many_large_sources_are_refused() {
    let (_server, mut connection) = Server::start().connected();
    // These keys take only address space, because nothing is written to them.
    for key in 0..33 {
        connection.ok(&format!("BF.RESERVE f{key} 0.001 75000000"));
        connection.ok(&format!("CMS.INITBYDIM s{key} 3355443 10"));
    }
    connection.ok("TDIGEST.CREATE t COMPRESSION 100000");
    for first in (0..500_000).step_by(10_000) {
        let add = words(&format!("TDIGEST.ADD t {}", numbers(first, 10_000)));
        assert!(timed(&mut connection, &add).is_ok());
    }
    let digest = connection.call("DEBUG DIGEST-VALUE t");
    let merge = |head: &str, sources: &[String]| {
        let count = sources.len();
        words(&format!("{head} {count} {}", sources.join(" ")))
    };
    let keys = |prefix: &str| -> Vec<_> { (0..33).map(|key| format!("{prefix}{key}")).collect() };
    let text = "too much work for one merge, merge fewer sources at a time";
    for (head, sources, prefix) in [
        ("BF.MERGE f0", keys("f"), "ERR"),
        ("CMS.MERGE s0", keys("s"), "CMS:"),
        (
            "TDIGEST.MERGE t",
            vec!["t".to_owned(); 1000],
            "ERR T-Digest:",
        ),
    ] {
        let too_many = merge(head, &sources);
        let reply = timed_within(&mut connection, &too_many, Work::of_keys(0));
        assert_eq!(reply.to_string(), format!("-{prefix} {text}"));
        let one = merge(head, &sources[..1]);
        let reply = timed_within(&mut connection, &one, Work::of_keys(2 << 27));
        assert!(reply.is_ok(), "{head}: {reply}");
    }
    let merged = connection.call("DEBUG DIGEST-VALUE t");
    assert_ne!(merged, digest);
}
