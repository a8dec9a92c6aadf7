//! Replicas have the same data as their primary after every kind of synchronization.

use crate::families::{dump, numbers};
use crate::integration::{odd_settings, record_for_all};
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use crate::support::set_on_drop::SetOnDrop;
use crate::support::state::{State, select};
use crate::support::time;
use crate::workload::{Random, Workload};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Keys per family.
const KEYS: u64 = 20;
/// Maximum time until the nodes agree.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until the replicas have applied all that the primary sent, and compares the data.
fn assert_same(primary: &Server, replicas: &[&Server], when: &str) {
    for replica in replicas {
        let has_all = time::becomes_true(TIMEOUT, Duration::from_millis(10), || {
            // Pings increase the offset, so both offsets are read until they are equal.
            let sent = primary.info_number("master_repl_offset");
            replica.is_linked() && replica.info_number("slave_repl_offset") >= sent
        });
        assert!(has_all, "{when}\n{}", replica.log_tail());
    }
    let wanted = State::of(&mut primary.resp2());
    assert!(wanted.len() > 10, "{when}: {} keys", wanted.len());
    for replica in replicas {
        State::of(&mut replica.resp2()).assert_same(&wanted, when);
        replica.assert_obeys();
    }
}

/// Writes at least ten units, and until the flag is set.
fn write_until(stop: &AtomicBool, connection: &mut Connection, workload: &mut Workload) {
    let mut units = 0;
    while units < 10 || !stop.load(Ordering::Relaxed) {
        workload.run(connection, 1);
        units += 1;
    }
}

/// A full synchronization during writes: sent from a file or a socket, loaded from a file or a socket, before or
/// after the old data is removed.
#[test]
fn a_full_synchronization_during_writes_copies_everything() {
    let primary = Server::start();
    let mut workload = Workload::new(1, "", KEYS);
    for db in [0, 2] {
        let mut connection = primary.resp2();
        select(&mut connection, db);
        workload.create(&mut connection);
        workload.run(&mut connection, 500);
    }
    for diskless in ["yes", "no"] {
        primary.call(&format!("CONFIG SET repl-diskless-sync {diskless}"));
        for load in ["disabled", "on-empty-db", "swapdb"] {
            let when = format!("repl-diskless-sync {diskless}, repl-diskless-load {load}");
            // Slows the transfer.
            primary.call("CONFIG SET rdb-key-save-delay 500");
            let load_option = ["--repl-diskless-load", load];
            let mut replica = odd_settings().arguments(&load_option).start();
            let full = primary.info_number("sync_full");
            let stop = AtomicBool::new(false);
            thread::scope(|scope| {
                let _end = SetOnDrop(&stop);
                let writer = scope.spawn(|| {
                    let mut connection = primary.resp2();
                    write_until(&stop, &mut connection, &mut workload)
                });
                replica.replicate(&primary);
                stop.store(true, Ordering::Relaxed);
                writer.join().expect("the writer");
            });
            assert_eq!(primary.info_number("sync_full"), full + 1, "{when}");
            assert_same(&primary, &[&replica], &when);
            // Synchronizes again, now with old data to replace.
            if load == "swapdb" {
                replica.ok("REPLICAOF NO ONE");
                let mut own = Workload::new(9, "own:", KEYS);
                own.create(&mut replica.resp2());
                // The replica replies to reads with the old data while it loads the new data.
                replica.replicate(&primary);
                assert_same(&primary, &[&replica], &when);
            }
        }
    }
    record_for_all("replication");
}

/// The link breaks repeatedly; the primary sends missed writes from its backlog.
#[test]
fn a_partial_synchronization_sends_missed_writes() {
    let (mut primary, mut connection) = Server::start().connected();
    connection.ok("CONFIG SET repl-backlog-size 64mb");
    let mut replica = odd_settings().start();
    let mut workload = Workload::new(2, "", KEYS);
    workload.create(&mut connection);
    replica.replicate(&primary);
    let full = primary.info_number("sync_full");
    for round in 0..5 {
        let partial = primary.info_number("sync_partial_ok");
        primary.check("CLIENT KILL TYPE replica", ":1");
        select(&mut connection, round % 3);
        workload.run(&mut connection, 200);
        primary.wait_until("a partial synchronization", |primary| {
            primary.info_number("sync_partial_ok") > partial
        });
        assert_same(&primary, &[&replica], &format!("round {round}"));
    }
    let found = primary.info_number("sync_full");
    assert_eq!(found, full, "no full one was needed");
}

/// A chain of three replicas with different settings, and a second branch.
#[test]
fn chained_replicas_with_other_settings_have_the_same_data() {
    let primary = Server::start();
    let mut middle = odd_settings().start();
    let mut last = Options::new()
        .module_arguments(&["bf-expansion-factor", "7", "bf-initial-size", "3"])
        .arguments(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"])
        .start();
    let mut workload = Workload::new(3, "", KEYS);
    let mut connection = primary.resp2();
    workload.create(&mut connection);
    middle.replicate(&primary);
    workload.run(&mut connection, 300);
    last.replicate(&middle);
    for db in [0, 5] {
        select(&mut connection, db);
        workload.run(&mut connection, 700);
    }
    assert_same(&primary, &[&middle, &last], "the chain");
    // The AOF of the last replica contains the same data.
    let wanted = State::of(&mut last.resp2());
    last.ok("REPLICAOF NO ONE");
    // After a full synchronization, the replica rewrites its AOF and must complete that before it stops.
    assert!(last.wait_for_rewrite());
    last.restart();
    State::of(&mut last.resp2()).assert_same(&wanted, "the file of the last");
}

/// Fails over to a replica and back while clients write; each new primary continues from the same state.
#[test]
fn failovers_lose_no_data() {
    let mut one = Server::start();
    let mut two = odd_settings().start();
    let mut three = Server::start();
    let mut workload = Workload::new(4, "", KEYS);
    workload.create(&mut one.resp2());
    two.replicate(&one);
    three.replicate(&one);
    for round in 0..4 {
        let (from, to) = match round % 2 {
            0 => (&mut one, &mut two),
            _ => (&mut two, &mut one),
        };
        workload.run(&mut from.resp2(), 300);
        from.fail_over(to);
        workload.run(&mut to.resp2(), 300);
        three.replicate(to);
        assert_same(to, &[from, &three], &format!("fail-over {round}"));
    }
    let are_partial = one.info_number("sync_full") <= 2;
    assert!(are_partial, "the fail-overs were partial");
}

/// Keys expire, and the next write to them creates them again.
#[test]
fn expired_keys_that_are_created_again_are_equal_on_the_replica() {
    let primary = Server::start();
    let mut replica = odd_settings().start();
    replica.replicate(&primary);
    let mut workload = Workload::new(5, "", KEYS);
    let mut random = Random::new(5);
    let mut connection = primary.resp2();
    let start = Instant::now();
    let mut commands = 0;
    // The number of keys that expire before they are written again depends on the speed of the machine.
    while commands < 2000 || primary.info_number("expired_keys") <= 50 {
        assert!(start.elapsed() < time::limit(TIMEOUT), "{commands}");
        commands += 1;
        let command = workload.write();
        connection.send(&command);
        if random.one_in(4) {
            let life = (random.below(5) + 1).to_string();
            connection.send(&[b"PEXPIRE", &command[1][..], life.as_bytes()]);
        }
        if random.one_in(20) {
            thread::sleep(Duration::from_millis(2));
        }
    }
    // Longer than the time to live of any key.
    thread::sleep(Duration::from_millis(50));
    Workload::new(6, "kept:", 5).create(&mut connection);
    assert_same(&primary, &[&replica], "expiry");
}

/// Error rates, and the bits per entry that a filter without scaling stores. For these rates, the last bit of glibc's
/// logarithm differs on processors without FMA instructions.
const BITS_PER_ENTRY: [(&str, u64); 3] = [
    ("0.008194", 0x4023_ffcf_b3b9_2e10),
    ("0.09792", 0x4013_5859_532f_9c22),
    ("0.113854", 0x4012_1704_9076_bd41),
];

#[test]
fn a_replica_on_a_processor_without_fma_stores_the_same_bytes() {
    let primary = Server::start();
    let mut replica = Options::new()
        .environment("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4")
        .start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    for (rate, _) in BITS_PER_ENTRY {
        for (key, growth) in [("scaling", "EXPANSION 2"), ("fixed", "NONSCALING")] {
            connection.ok(&format!("BF.RESERVE {key}:{rate} {rate} 10 {growth}"));
        }
        let command = format!("BF.MADD scaling:{rate} {}", numbers(0, 100));
        assert_eq!(connection.call(&command).items().map(<[_]>::len), Some(100));
        let twice = rate.parse::<f64>().unwrap() * 2.0;
        connection.ok(&format!("BF.RESERVE half:{rate} {twice} 10"));
    }
    connection.ok("CMS.INITBYPROB cms 0.001 0.008194");
    connection.ok("TDIGEST.CREATE digest");
    connection.ok("TOPK.RESERVE top 3 100 5 0.9");
    assert_same(&primary, &[&replica], "without FMA");
    for server in [&primary, &replica] {
        for (rate, bits) in BITS_PER_ENTRY {
            for key in ["fixed", "half"] {
                let payload = dump(&mut server.resp2(), &format!("{key}:{rate}"));
                let stored = payload.text().expect("a payload");
                let mut doubles = stored.windows(8);
                let is_stored = doubles.any(|double| double == bits.to_le_bytes());
                assert!(is_stored, "{key}:{rate}");
            }
        }
    }
}
