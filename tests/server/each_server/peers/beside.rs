//! Roughly without Bloom filters and valkey-bloom in one server. RedisBloom has all five families, so Roughly cannot be loaded
//! beside it.

use super::{Pair, each};
use crate::families::FAMILIES;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server, module_path};

const FAMILIES_BESIDE: &str = "cf,cms,topk,tdigest";
const AOF: &[&str] = &["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"];

fn utf8(path: &std::path::Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

/// Runs a test for each version of valkey-bloom on each server that loads it.
fn each_valkey_bloom(test: impl Fn(&Pair)) {
    each(|pair| {
        if pair.peer.file.starts_with("valkey-bloom") {
            test(pair);
        }
    });
}

/// How a server loads the two modules.
#[derive(Debug, Clone, Copy)]
enum Order {
    RoughlyFirst,
    RoughlyLast,
    ModuleLoad,
    ModuleLoadex,
}

/// A server with both modules.
fn start(pair: &Pair, order: Order) -> Server {
    let roughly = module_path();
    let (roughly, peer) = (utf8(&roughly), utf8(&pair.module));
    let commands = ["--enable-module-command", "yes"];
    let options = match order {
        Order::RoughlyFirst => Options::new()
            .module_arguments(&["families", FAMILIES_BESIDE])
            .arguments(&["--loadmodule", peer]),
        Order::RoughlyLast => Options::new().module(&pair.module).arguments(&[
            "--loadmodule",
            roughly,
            "families",
            FAMILIES_BESIDE,
        ]),
        _ => Options::new().module(&pair.module),
    };
    let server = pair
        .with(options.arguments(&commands).arguments(AOF))
        .start();
    let load: &[&str] = match order {
        Order::ModuleLoad => &["MODULE", "LOAD", roughly, "families", FAMILIES_BESIDE],
        Order::ModuleLoadex => &[
            "MODULE",
            "LOADEX",
            roughly,
            "CONFIG",
            "roughly.cf-bucket-size",
            "4",
            "ARGS",
            "families",
            FAMILIES_BESIDE,
        ],
        _ => return server,
    };
    let reply = server.resp2().send(load);
    assert!(reply.is_ok(), "{order:?}: {reply}");
    server
}

/// Creates a key of each type of both modules. Returns the replies that show them.
fn view(connection: &mut Connection) -> Vec<Vec<Reply>> {
    let types = FAMILIES.iter();
    let types = types.filter(|family| family.prefix != "bf" || family.name == "bloomfltr");
    types
        .map(|family| {
            if connection.send(&["EXISTS", family.name]) == Reply::Integer(0) {
                if family.prefix == "bf" {
                    let reply = connection.call("BF.RESERVE bloomfltr 0.01 100");
                    assert!(reply.is_ok(), "{reply}");
                    connection.call("BF.MADD bloomfltr a b c");
                } else {
                    family.build(connection, family.name);
                }
            }
            match family.prefix {
                "bf" => vec![
                    connection.call("BF.MEXISTS bloomfltr a b c d"),
                    connection.call("BF.INFO bloomfltr ITEMS"),
                ],
                _ => family.view(connection, family.name),
            }
        })
        .collect()
}

#[test]
fn both_modules_serve_one_server_in_any_order() {
    each_valkey_bloom(|pair| {
        for order in [
            Order::RoughlyFirst,
            Order::RoughlyLast,
            Order::ModuleLoad,
            Order::ModuleLoadex,
        ] {
            let server = start(pair, order);
            let connection = &mut server.resp2();
            let modules = connection.call("MODULE LIST").to_string();
            for name in ["$bf ", "$roughly "] {
                assert!(modules.contains(name), "{order:?}: {modules}");
            }
            assert_eq!(view(connection).len(), 9);
            let reply = connection.call("SKETCH.WITHIN 1000 BF.CARD bloomfltr");
            let expected = "-ERR SKETCH.WITHIN cannot run 'BF.CARD'";
            assert_eq!(reply.to_string(), expected, "{order:?}");
            let reply = connection.call("MODULE UNLOAD roughly");
            assert!(matches!(reply, Reply::Error(_)), "{order:?}: {reply}");
            for (category, command, other) in [
                ("bloom", "bf.exists", "cf.exists"),
                ("cuckoo", "cf.exists", "bf.exists"),
                ("sketch", "sketch.age", "cf.exists"),
            ] {
                let rules = format!("ACL SETUSER u reset on nopass allkeys +@{category}");
                assert!(connection.call(&rules).is_ok(), "{order:?}: {category}");
                let mut may_run = |command: &str| {
                    connection
                        .send(&["ACL", "DRYRUN", "u", command, "key", "item"])
                        .is_ok()
                };
                assert!(may_run(command), "{order:?}: {command}");
                assert!(!may_run(other), "{order:?}: {other}");
            }
            let docs = connection.call("COMMAND DOCS cf.add bf.add").to_string();
            for module in ["$module $roughly", "$module $bf"] {
                assert!(docs.contains(module), "{order:?}: {docs}");
            }
        }
    });
}

#[test]
fn keys_of_both_modules_survive_replication_files_and_dumps() {
    each_valkey_bloom(|pair| {
        let mut server = start(pair, Order::RoughlyFirst);
        let mut replica = start(pair, Order::RoughlyLast);
        replica.replicate(&server);
        let before = view(&mut server.resp2());
        server.wait_for_replica(&replica);
        assert_eq!(view(&mut replica.resp2()), before);
        for rewrites in [false, true] {
            assert!(!rewrites || server.rewrite_aof());
            server.restart();
            assert_eq!(view(&mut server.resp2()), before, "rewritten: {rewrites}");
        }
        let connection = &mut server.resp2();
        for name in ["bloomfltr", "cf", "cms-window"] {
            let dump = connection.send(&["DUMP", name]);
            let dump = dump.text().expect("a payload");
            let restore: [&[u8]; 5] = [b"RESTORE", name.as_bytes(), b"0", dump, b"REPLACE"];
            let reply = connection.send(&restore);
            assert!(reply.is_ok(), "{name}: {reply}");
        }
        assert_eq!(view(connection), before);
    });
}

/// A file of a server that has all families from Roughly, with Bloom filters of valkey-bloom's type only.
#[test]
fn a_file_of_all_families_loads_beside_valkey_bloom_if_its_bloom_filters_are_of_its_type() {
    each_valkey_bloom(|pair| {
        let all = pair.roughly().start();
        let connection = &mut all.resp2();
        let before = view(connection);
        assert!(connection.call("SAVE").is_ok());
        let roughly = module_path();
        let beside = ["--loadmodule", utf8(&roughly), "families", FAMILIES_BESIDE];
        let options = Options::new().module(&pair.module).arguments(&beside);
        let mut both = pair.with(options).start();
        both.kill();
        let file = "dump.rdb";
        std::fs::copy(all.dir().join(file), both.dir().join(file)).expect("a copy");
        both.relaunch();
        assert_eq!(view(&mut both.resp2()), before);
    });
}

#[test]
fn a_load_of_all_families_beside_another_module_logs_what_to_do() {
    each(|pair| {
        let peer = utf8(&pair.module);
        let options = pair.with(Options::new().arguments(&["--loadmodule", peer]));
        let log = options
            .try_start()
            .expect_err("a server that does not start");
        let line = format!("another module with the name bf is loaded ({peer}, version ");
        assert!(log.contains(&line), "{log}");
        let line =
            "or load only the families that the other module lacks: families cf,cms,topk,tdigest";
        assert!(log.contains(line), "{log}");
        let options = Options::new()
            .module_arguments(&["families", "cf,cms,topk,t-digest"])
            .arguments(&["--loadmodule", peer]);
        let log = pair.with(options).try_start();
        let log = log.expect_err("a server that does not start");
        let line = "not loaded: families must be one or more of bf,cf,cms,topk,tdigest, separated by commas";
        assert!(log.contains(line), "{log}");
        if pair.peer.file.starts_with("redisbloom") {
            let options = Options::new()
                .module_arguments(&["families", FAMILIES_BESIDE])
                .arguments(&["--loadmodule", peer]);
            let log = pair.with(options).try_start();
            let log = log.expect_err("a server that does not start");
            let line =
                format!("type MBbloomCF was refused by the server: module bf ({peer}, version ");
            assert!(log.contains(&line), "{log}");
        }
    });
}
