//! Roughly without Bloom filters and valkey-bloom in one server. RedisBloom has all five families, so Roughly cannot be loaded
//! beside it.

use super::Peer;
use super::files::AOF;
use crate::families::FAMILIES;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server, module_file};

const FAMILIES_BESIDE: &str = "cf,cms,topk,tdigest";

fn utf8(path: &std::path::Path) -> &str {
    path.to_str().expect("a UTF-8 path")
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
fn start(peer: &Peer, order: Order) -> Server {
    let (roughly, other) = (module_file(), utf8(&peer.module));
    let families = ["families", FAMILIES_BESIDE];
    let options = match order {
        Order::RoughlyFirst => Options::new()
            .module_arguments(&families)
            .arguments(&["--loadmodule", other]),
        Order::RoughlyLast => beside(peer),
        _ => Options::new().module(&peer.module),
    };
    let options = options.arguments(&["--enable-module-command", "yes"]);
    let server = options.arguments(AOF).start();
    let load = match order {
        Order::ModuleLoad => format!("LOAD {roughly}"),
        Order::ModuleLoadex => format!("LOADEX {roughly} CONFIG roughly.cf-bucket-size 4 ARGS"),
        _ => return server,
    };
    server.ok(&format!("MODULE {load} {}", families.join(" ")));
    server
}

/// Options of a server that loads Roughly without Bloom filters after the other module.
fn beside(peer: &Peer) -> Options {
    let options = Options::new().module(&peer.module);
    options.arguments(&["--loadmodule", &module_file(), "families", FAMILIES_BESIDE])
}

/// Creates a key of each type of both modules. Returns the replies that show them.
fn view(connection: &mut Connection) -> Vec<Vec<Reply>> {
    let types = FAMILIES.iter();
    let types = types.filter(|family| family.prefix != "bf" || family.name == "bloomfltr");
    let views = types.map(|family| {
        let (name, is_bloom) = (family.name, family.prefix == "bf");
        match connection.send(&["EXISTS", name]) == Reply::Integer(0) {
            true if is_bloom => {
                connection.ok("BF.RESERVE bloomfltr 0.01 100");
                connection.call("BF.MADD bloomfltr a b c");
            }
            true => family.build(connection, name),
            false => {}
        }
        let reads = ["BF.MEXISTS bloomfltr a b c d", "BF.INFO bloomfltr ITEMS"];
        match is_bloom {
            true => reads.map(|read| connection.call(read)).to_vec(),
            false => family.view(connection, name),
        }
    });
    views.collect()
}

pub fn both_modules_serve_one_server_in_any_order(peer: &Peer) {
    for order in [
        Order::RoughlyFirst,
        Order::RoughlyLast,
        Order::ModuleLoad,
        Order::ModuleLoadex,
    ] {
        println!("{order:?}");
        let server = start(peer, order);
        let connection = &mut server.resp2();
        let modules = connection.call("MODULE LIST").to_string();
        for name in ["$bf ", "$roughly "] {
            assert!(modules.contains(name), "{order:?}: {modules}");
        }
        assert_eq!(view(connection).len(), 9);
        let within = "SKETCH.WITHIN 1000 BF.CARD bloomfltr";
        connection.check(within, "-ERR SKETCH.WITHIN cannot run 'BF.CARD'");
        connection.check("MODULE UNLOAD roughly", "-...");
        for (category, command, other) in [
            ("bloom", "bf.exists", "cf.exists"),
            ("cuckoo", "cf.exists", "bf.exists"),
            ("sketch", "sketch.age", "cf.exists"),
        ] {
            connection.ok(&format!(
                "ACL SETUSER u reset on nopass allkeys +@{category}"
            ));
            for (command, is_permitted) in [(command, true), (other, false)] {
                let reply = connection.call(&format!("ACL DRYRUN u {command} key item"));
                assert_eq!(reply.is_ok(), is_permitted, "{order:?}: {command}: {reply}");
            }
        }
        let docs = connection.call("COMMAND DOCS cf.add bf.add").to_string();
        for module in ["$module $roughly", "$module $bf"] {
            assert!(docs.contains(module), "{order:?}: {docs}");
        }
    }
}

pub fn keys_of_both_modules_survive_replication_files_and_dumps(peer: &Peer) {
    let mut server = start(peer, Order::RoughlyFirst);
    let mut replica = start(peer, Order::RoughlyLast);
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
        let payload = connection.payload(name);
        let reply = connection.replace(name, &payload);
        assert!(reply.is_ok(), "{name}: {reply}");
    }
    assert_eq!(view(connection), before);
}

/// A file of a server that has all families from Roughly, with Bloom filters of valkey-bloom's type only.
pub fn a_file_of_all_families_loads_beside_valkey_bloom_if_its_bloom_filters_are_of_its_type(
    peer: &Peer,
) {
    let all = peer.roughly().start();
    let connection = &mut all.resp2();
    let before = view(connection);
    connection.ok("SAVE");
    let mut both = beside(peer).start();
    both.kill();
    let file = "dump.rdb";
    std::fs::copy(all.dir().join(file), both.dir().join(file)).expect("a copy");
    both.relaunch();
    assert_eq!(view(&mut both.resp2()), before);
}

pub fn a_load_of_all_families_beside_another_module_logs_what_to_do(peer: &Peer) {
    let other = utf8(&peer.module);
    let options = Options::new().arguments(&["--loadmodule", other]);
    let log = options.refused();
    let line = format!("another module with the name bf is loaded ({other}, version ");
    assert!(log.contains(&line), "{log}");
    let has_family = |prefix: &str| {
        let mut types = FAMILIES.iter();
        types.any(|family| family.prefix == prefix && (peer.has_type)(family))
    };
    let mut left: Vec<_> = FAMILIES_BESIDE.split(',').collect();
    left.retain(|prefix| !has_family(prefix));
    let suggestion = "or load only the families that no other module has: families ";
    let rest = log.split(suggestion).nth(1).unwrap_or_default();
    let found = rest.lines().next();
    assert_eq!(found.unwrap_or_default(), left.join(","), "{log}");
    let options = Options::new()
        .module_arguments(&["families", "cf,cms,topk,t-digest"])
        .arguments(&["--loadmodule", other]);
    let log = options.refused();
    let line =
        "not loaded: families must be one or more of bf,cf,cms,topk,tdigest, separated by commas";
    assert!(log.contains(line), "{log}");
}

/// RedisBloom has all five families.
pub fn a_load_of_some_families_beside_redisbloom_logs_its_file(peer: &Peer) {
    let other = utf8(&peer.module);
    let options = Options::new()
        .module_arguments(&["families", FAMILIES_BESIDE])
        .arguments(&["--loadmodule", other]);
    let log = options.refused();
    let line = format!("type MBbloomCF was refused by the server: module bf ({other}, version ");
    assert!(log.contains(&line), "{log}");
    // It has no CMS.INCRBYLIMIT.
    assert!(log.contains("has cf.*, cms.initbydim, "), "{log}");
    let is_explained = log.contains(". Remove the other loadmodule line\n");
    assert!(is_explained, "{log}");
}
