//! `--check` lists keys without writing. `tests/server/each_server/peers/check.rs` compares what it lists with migrations.

use super::recorded_source::RecordedSource;
use super::{Run, all, build_all, copy, recorded, url};
use crate::support::server::{Options, Server, client_program};
use crate::valkey::recorded_keys;
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

/// The lines about keys, sorted.
fn keys(run: &Run) -> Vec<&str> {
    let lines = run.output.lines();
    let mut lines: Vec<_> = lines.filter(|line| line.contains(" key \"")).collect();
    lines.sort_unstable();
    lines
}

/// Checks the keys of a server for another module.
fn check(url: &str, target: &str) -> Run {
    copy(&["--check", "--for", target, url])
}

/// The user has exactly the commands of docs/copy-sketches.md.
#[test]
fn a_user_who_may_only_read_checks_a_replica() {
    let (mut source, replica) = Server::with_replica();
    build_all(&mut source.resp2(), "");
    source.wait_for_replica(&replica);
    let access = "+info +select +scan +dump +memory|usage +command|info +bf.scandump +bf.info +cf.info +cms.info +topk.info +topk.list \
                  +topk.query +tdigest.info +tdigest.min +tdigest.max +tdigest.scandump";
    let reader = format!("ACL SETUSER reader on >secret ~* {access}");
    replica.ok(&reader);
    let login = url(&replica).replace("redis://", "redis://reader:secret@");
    for target in ["redisbloom-2.8", "redisbloom-8", "valkey-bloom", "roughly"] {
        let run = copy(&["--check", "-v", "--for", target, &login]);
        let listed = copy(&["--check", "-v", "--for", target, &url(&source)]);
        assert_eq!(keys(&run), keys(&listed), "{target}");
        assert_eq!(run.count("found"), all(), "{target}: {run:?}");
        let status = i32::from(target != "roughly");
        assert_eq!(run.status.code(), Some(status), "{target}: {run:?}");
    }
    replica.ok("ACL SETUSER reader -cms.info");
    let run = check(&login, "redisbloom-8");
    run.assert_error(2, "the source refused a command: ");
    run.assert_error(2, "no permissions");
}

/// Without --for, the other module is Roughly.
#[test]
fn the_module_of_the_other_server_has_a_default_unless_the_source_has_it() {
    let source = Server::start();
    let run = copy(&["--check", &url(&source)]);
    let text = "specify the other module, for example --for redisbloom-2.8";
    run.assert_error(2, text);
    let source = RecordedSource::of_valkey_bloom();
    let count = recorded_keys::keys().len() as u64;
    let run = copy(&["--check", &source.url()]);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert_eq!((run.count("same"), keys(&run).len()), (count, 0));
    // The version of the simulated server.
    assert!(run.output.contains("RDB version: 9999\n"), "{run:?}");
    let run = check(&source.url(), "redisbloom-8");
    assert_eq!((run.status.code(), run.count("refused")), (Some(1), count));
    for line in keys(&run) {
        let reason = ": RedisBloom does not have the type bloomfltr";
        assert!(line.ends_with(reason), "{line}");
    }
}

/// Roughly refuses values with more than 2,201,600 hash functions. Each of the 5,000 sub-filters has about 1,000 of them in
/// one key, and about 6 in the other.
#[test]
fn keys_of_valkey_bloom_with_too_many_hash_functions_are_listed() {
    let source = RecordedSource::of_valkey_bloom_with(|name, mut info| {
        let error_rate = match name {
            "fx-empty" => "1e-300",
            "fx-auto" => "0.5",
            _ => return info,
        };
        let fields = info[1].as_array_mut().expect("fields");
        for pair in fields.chunks_exact_mut(2) {
            pair[1] = match pair[0][1].as_str() {
                Some("Capacity" | "Number of filters") => json!(["int", 5000]),
                Some("Error rate") => json!(["bulk", error_rate]),
                Some("Tightening ratio") => json!(["bulk", "0.9999"]),
                _ => continue,
            };
        }
        info
    });
    let run = copy(&["--check", &source.url()]);
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    let line = "refused: BF key \"fx-empty\" in database 0: its 5000 sub-filters have more than 2201600 hash functions";
    assert_eq!(keys(&run), [line]);
}

/// TOPK.LIST of so many items would take the server too much time and memory.
#[test]
fn a_top_k_with_too_many_items_is_not_checked() {
    let (source, mut old) = Server::start().connected();
    old.ok("TOPK.RESERVE large 1048577 8 7 0.9");
    old.ok("TOPK.RESERVE small 1048576 8 7 0.9");
    let run = check(&url(&source), "redisbloom-8");
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    let reason = "not checked: more than 1048576 items or nodes";
    let line = format!("failed: TOPK key \"large\" in database 0: {reason}");
    assert_eq!(keys(&run), [line]);
    assert_eq!(run.count("failed"), 1);
}

/// A filter above valkey-bloom's memory limit, and one whose error rate is a subnormal number.
#[test]
fn filters_that_valkey_bloom_refuses_are_listed() {
    let (source, mut old) = Server::start().connected();
    old.ok("CONFIG SET bf.bloom-memory-usage-limit 1000000000");
    for (key, options) in [
        ("large", "CAPACITY 120000000"),
        ("subnormal", "ERROR 1e-310 CAPACITY 10"),
        ("good", "CAPACITY 1000000"),
    ] {
        let reply = old.call(&format!("BF.INSERT {key} {options} TIGHTENING 0.5 ITEMS a"));
        assert_eq!(reply.items().map(<[_]>::len), Some(1), "{key}: {reply}");
    }
    let run = check(&url(&source), "valkey-bloom");
    assert_eq!(
        keys(&run),
        [
            "refused: BF key \"large\" in database 0: it is larger than 128 MiB, the default of \
             bf.bloom-memory-usage-limit: raise it there",
            "refused: BF key \"subnormal\" in database 0: its error rate is below 2.3e-308",
        ]
    );
    assert_eq!(run.count("same"), 1);
}

/// RedisBloom wrote these keys, so it loads them. From the digest with repeated values, Roughly answers more accurately.
#[test]
fn of_the_recorded_keys_of_redisbloom_the_one_with_repeated_values_is_listed() {
    let (source, mut old) = Server::start().connected();
    let mut count = 0;
    for folder in ["2.8", "8.10"] {
        for (_, key) in recorded(folder) {
            let name = format!("{folder}:{}", key.name);
            assert!(old.restore(&name, &key.payload).is_ok(), "{name}");
            count += 1;
        }
    }
    for target in ["redisbloom-2.8", "redisbloom-8"] {
        let run = check(&url(&source), target);
        let counts = run.counts(["found", "same", "different"]);
        assert_eq!(counts, [count, count - 2, 2], "{run:?}");
        let are_ties = keys(&run).iter().all(|line| line.contains(":td-ties\""));
        assert!(are_ties, "{run:?}");
    }
}

/// A server with the other module replays the commands in an append-only file with other random numbers.
#[test]
fn an_append_only_file_that_is_not_rewritten_is_reported() {
    let mut source = Options::new().arguments(&["--appendonly", "yes"]).start();
    build_all(&mut source.resp2(), "");
    let is_reported = |source: &Server| {
        let run = check(&url(source), "roughly");
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        run.output.contains("run BGREWRITEAOF")
    };
    assert!(is_reported(&source));
    assert!(source.rewrite_aof());
    assert!(!is_reported(&source));
}

/// docs/migration.md passes the commands in the list to the client. After them, no digest is listed: of distinct samples, and of a few and many
/// repeated values.
#[test]
fn the_listed_commands_compress_t_digests_of_any_name() {
    let (source, mut old) = Server::start().connected();
    let names: [&[u8]; 5] = [b"plain", b"a b", b"\"it's\"", b"\\n\n", b"\xff\0"];
    for (name, values) in names.into_iter().zip([100, 2, 5, 25, 60]) {
        old.send_ok(&[b"TDIGEST.CREATE", name, b"COMPRESSION", b"10"]);
        let samples = (0..100).map(|number| (number % values).to_string().into_bytes());
        let add = [b"TDIGEST.ADD".to_vec(), name.to_vec()]
            .into_iter()
            .chain(samples);
        old.send_ok(&add.collect::<Vec<_>>());
    }
    let run = check(&url(&source), "redisbloom-2.8");
    assert_eq!(run.count("different"), names.len() as u64, "{run:?}");
    let commands = run.output.lines().filter_map(|line| {
        let start = line.find("TDIGEST.MERGE \"")?;
        Some(format!("{}\n", &line[start..]))
    });
    let mut client = Command::new(client_program())
        .args(["-p", &source.port().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the client starts");
    let mut input = client.stdin.take().expect("an input");
    input
        .write_all(commands.collect::<String>().as_bytes())
        .expect("the commands are written");
    drop(input);
    let output = client.wait_with_output().expect("an output").stdout;
    assert_eq!(output, b"OK\n".repeat(names.len()));
    let run = check(&url(&source), "redisbloom-2.8");
    assert_eq!(run.status.code(), Some(0), "{run:?}");
}
