//! Replicas, the AOF and RDB files have the state of the primary, whatever the clock of the server that loads it.

use super::{SKETCHES, Sketch, dumps, logged_without_seeds, set_ms, start, totals};
use crate::families::Family;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::workload::Random;

/// The keys of a test: one per type and window.
fn keys() -> Vec<(Sketch, String, &'static str)> {
    let windows = [
        "WINDOW 1 PANES 1",
        "WINDOW 5000 PANES 5",
        "WINDOW 60000 PANES 60",
    ];
    let mut keys = Vec::new();
    for window in windows {
        for (number, sketch) in SKETCHES.into_iter().enumerate() {
            keys.push((
                sketch,
                format!("{{tag}}{number}:{window}").replace(' ', "-"),
                window,
            ));
        }
    }
    keys
}

/// Random writes. The clock of `server` goes on between them, or back.
fn write(server: &Server, connection: &mut Connection, random: &mut Random, writes: usize) {
    let keys = keys();
    let mut now = 1_700_000_000_000 + random.below(1000);
    for _ in 0..writes {
        now = match random.below(20) {
            0 => now - random.below(10_000),
            1 => now + random.below(100_000),
            2..10 => now + random.below(700),
            _ => now,
        };
        set_ms(server, now);
        let (sketch, key, window) = &keys[random.below(keys.len() as u64) as usize];
        if connection.call(&format!("EXISTS {key}")) == Reply::Integer(0) {
            sketch.create(connection, key, window);
        }
        match random.below(30) {
            0 => {
                connection.call(&format!("DEL {key}"));
            }
            1 => {
                let clear = match sketch.type_name {
                    "td-window" => "TDIGEST.RESET",
                    _ => "DEL",
                };
                connection.call(&format!("{clear} {key}"));
            }
            2 => {
                // Several writes in one transaction.
                connection.call("MULTI");
                for item in 0..3 {
                    let add = sketch
                        .add
                        .replace("KEY", key)
                        .replace("ITEM", &item.to_string());
                    connection.call(&add);
                }
                let reply = connection.call("EXEC");
                assert!(reply.items().is_some(), "{reply}");
            }
            3 => {
                let add = sketch.add.replace("KEY", key).replace("ITEM", "7");
                let words: Vec<_> = add.split(' ').map(|word| format!("'{word}'")).collect();
                let script = format!("redis.call({0}) return redis.call({0})", words.join(","));
                let reply = connection.send(&["EVAL", &script, "1", key]);
                assert!(!matches!(reply, Reply::Error(_)), "{reply}");
            }
            4 => {
                connection.call(&format!("COPY {key} {key}:copy REPLACE"));
                connection.call(&format!("RENAME {key}:copy {key}"));
            }
            _ => sketch.add(connection, key, random.below(20)),
        }
    }
}

fn names() -> Vec<String> {
    keys().into_iter().map(|(_, key, _)| key).collect()
}

#[test]
fn replicas_with_other_clocks_are_equal() {
    let mut primary = start(&[]);
    let mut replicas = [start(&[]), start(&[])];
    for (replica, clock) in replicas.iter_mut().zip(["+5000", "-5000"]) {
        replica.set_clock(clock);
        replica.replicate(&primary);
    }
    let mut connection = primary.resp2();
    for seed in 0..6 {
        write(&primary, &mut connection, &mut Random::new(seed), 400);
        let expected = dumps(&mut connection, &names());
        let digest = connection.call("DEBUG DIGEST");
        for replica in &replicas {
            primary.wait_for_replica(replica);
            let mut other = replica.resp2();
            // Reads of a replica do not change it, although all its panes have expired.
            for (sketch, key, _) in keys() {
                sketch.reads(&mut other, &key);
            }
            assert_eq!(dumps(&mut other, &names()), expected, "seed {seed}");
            assert_eq!(other.call("DEBUG DIGEST"), digest, "seed {seed}");
        }
    }
    // A replica that becomes the primary continues with its own clock.
    let [replica, _] = &mut replicas;
    replica.call("REPLICAOF NO ONE");
    set_ms(replica, 1_900_000_000_000);
    for (sketch, key, _) in keys() {
        let mut connection = replica.resp2();
        if connection.call(&format!("EXISTS {key}")) == Reply::Integer(1) {
            sketch.add(&mut connection, &key, 3);
            assert_eq!(
                totals(&mut connection, &key).iter().sum::<i64>(),
                1,
                "{key}"
            );
        }
    }
}

#[test]
fn the_aof_and_rdb_files_are_loaded_days_later() {
    for preamble in ["yes", "no"] {
        let mut server = start(&[
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--aof-use-rdb-preamble",
            preamble,
        ]);
        let mut connection = server.resp2();
        for seed in 10..13 {
            write(&server, &mut connection, &mut Random::new(seed), 300);
            let expected = dumps(&mut connection, &names());
            let digest = connection.call("DEBUG DIGEST");
            set_ms(&server, 1_800_000_000_000);
            for reload in ["DEBUG RELOAD", "DEBUG LOADAOF"] {
                assert!(connection.call(reload).is_ok());
                assert_eq!(
                    dumps(&mut connection, &names()),
                    expected,
                    "{reload}, seed {seed}"
                );
            }
            if seed == 11 {
                assert!(server.rewrite_aof());
            }
            server.kill_and_restart();
            connection = server.resp2();
            assert_eq!(dumps(&mut connection, &names()), expected, "seed {seed}");
            assert_eq!(connection.call("DEBUG DIGEST"), digest, "seed {seed}");
        }
    }
}

/// The advance and the write are one transaction.
#[test]
fn an_advance_is_replicated_before_its_write() {
    for sketch in SKETCHES {
        let server = start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let mut connection = server.resp2();
        set_ms(&server, 1_000_000);
        sketch.create(&mut connection, "k", "WINDOW 1000 PANES 10");
        for (at, item) in [(1_000_050, 1), (1_000_150, 2), (900_000, 3)] {
            set_ms(&server, at);
            sketch.add(&mut connection, "k", item);
        }
        let commands = logged_without_seeds(&server);
        let is_add = |command: &String, item: u64| {
            command
                == &sketch
                    .add
                    .replace("KEY", "k")
                    .replace("ITEM", &item.to_string())
        };
        let [
            multi,
            create,
            advance,
            exec,
            first,
            multi_2,
            advance_2,
            second,
            exec_2,
            third,
        ] = &commands[..]
        else {
            panic!("{commands:#?}");
        };
        assert_eq!(
            [multi, exec, multi_2, exec_2],
            ["MULTI", "EXEC", "MULTI", "EXEC"]
        );
        assert!(create.ends_with("WINDOW 1000 PANES 10"), "{create}");
        assert_eq!(advance, "SKETCH.ADVANCE k 10000");
        assert_eq!(advance_2, "SKETCH.ADVANCE k 10001");
        assert!(
            is_add(first, 1) && is_add(second, 2) && is_add(third, 3),
            "{commands:#?}"
        );
    }
}

/// All commands on filters of several shapes, while the clock moves. The replicas have other clocks.
#[test]
fn replicas_are_equal_after_random_commands_on_filters() {
    for prefix in ["bf", "cf"] {
        check_random_commands(prefix);
    }
}

fn check_random_commands(prefix: &str) {
    let mut primary = start(&[]);
    let mut replicas = [start(&[]), start(&[])];
    for (replica, clock) in replicas.iter_mut().zip(["+7000", "-7000"]) {
        replica.set_clock(clock);
        replica.replicate(&primary);
    }
    let random_commands = &Family::of(prefix).random;
    let keys: Vec<String> = (0..6).map(|number| format!("{prefix}:{number}")).collect();
    let mut connection = primary.resp2();
    let mut random = Random::new(23);
    let mut now = 1_700_000_000_000;
    for round in 0..4 {
        set_ms(&primary, now);
        for (number, key) in keys.iter().enumerate() {
            connection.call(&format!("DEL {key}"));
            let mut create = (random_commands.create)(&mut random, key);
            let window = ["1 PANES 1", "3000 PANES 3", "30000 PANES 30"][number % 3];
            let window = format!("WINDOW {window}");
            create.extend(window.split(' ').map(|argument| argument.into()));
            let reply = connection.send(&create);
            assert!(reply.is_ok(), "{key}: {reply}");
        }
        for _ in 0..1500 {
            now = match random.below(20) {
                0 => now - random.below(5_000),
                1 => now + random.below(40_000),
                2..8 => now + random.below(700),
                _ => now,
            };
            set_ms(&primary, now);
            let key = &keys[random.below(keys.len() as u64) as usize];
            connection.send(&(random_commands.write)(&mut random, key, key));
        }
        let expected = dumps(&mut connection, &keys);
        let digest = format!("DEBUG DIGEST-VALUE {}", keys.join(" "));
        let digests = connection.call(&digest);
        for replica in &replicas {
            primary.wait_for_replica(replica);
            let mut other = replica.resp2();
            assert_eq!(
                dumps(&mut other, &keys),
                expected,
                "{prefix}, round {round}"
            );
            assert_eq!(other.call(&digest), digests, "{prefix}, round {round}");
        }
    }
}
