//! No limit of the target refuses keys of imported slots, neither those of the snapshot nor those of the commands after it.

use super::nodes::{Nodes, slot};
use super::{FAMILIES, fill, migration, tag_in};
use crate::obeyed::{OF_SYSTEM, lower};
use crate::support::server::Options;

/// Lowers all limits that a test can set.
fn lower_limits(nodes: &Nodes, node: usize) {
    let server = &nodes.servers[node];
    for (name, value) in [
        ("sketch-max-key-bytes", "1"),
        ("sketch-windows", "no"),
        ("cf-max-expansions", "1"),
        ("bf.bloom-memory-usage-limit", "1"),
    ] {
        let name = server.setting(name);
        nodes.ok(node, &format!("CONFIG SET {name} {value}"));
    }
    for limit in OF_SYSTEM {
        lower(server, limit);
    }
    // Valkey itself ends an import into a node above `maxmemory`.
    if !server.version().is_valkey() {
        nodes.ok(node, "CONFIG SET maxmemory 1mb");
    }
}

#[test]
#[ignore = "needs a server with atomic slot migration: Redis 8.4, Valkey 9.0"]
fn limits_of_the_target_refuse_no_key_of_an_imported_slot() {
    let nodes = Nodes::start_with(3, false, &Options::new().debug_module());
    let migration = migration(&nodes);
    let tag = tag_in(0..5000);
    let (from, to) = (0, 1);
    let mut source = nodes.servers[from].resp2();
    let (mut keys, mut payloads) = (Vec::new(), Vec::new());
    for family in FAMILIES {
        let key = format!("{{{tag}}}{}", family.name);
        family.build(&mut source, &key);
        payloads.push((family, source.payload(&key)));
        keys.push(key);
    }
    fill(&mut source, &tag, 200_000);
    lower_limits(&nodes, to);
    let slot = slot(tag.as_bytes());
    migration.start(&nodes, slot);
    // Until the source does not own the slot any more.
    'rounds: for round in 0.. {
        for (family, payload) in &payloads {
            let restored = format!("{{{tag}}}{}:restored{round}", family.name);
            let reply = source.restore(&restored, payload);
            if reply.to_string().starts_with("-MOVED") {
                break 'rounds;
            }
            keys.push(restored);
            let built = format!("{{{tag}}}{}:built{round}", family.name);
            let command = family.creations[0].replace("KEY", &built);
            if source.call(&command).to_string().starts_with("-MOVED") {
                break 'rounds;
            }
            keys.push(built);
        }
    }
    assert!(keys.len() > 2 * FAMILIES.len(), "{} keys", keys.len());
    nodes.wait("the migration", |nodes| {
        nodes.has_keys(to, slot) && !nodes.has_keys(from, slot)
    });
    nodes.wait_until_ok();
    let mut target = nodes.servers[to].resp2();
    for key in keys {
        target.check(&format!("EXISTS {key}"), ":1");
    }
    // The limits apply to clients again.
    for (family, payload) in &payloads {
        let key = format!("{{{tag}}}{}:later", family.name);
        target.check(&family.creations[0].replace("KEY", &key), "-...");
        if family.type_name == "bloomfltr" {
            let reply = target.restore(&key, payload);
            assert!(reply.is_error(), "{key}: {reply}");
        }
    }
}
