//! Atomic slot migration.

mod failed_imports;
mod obeyed;

use super::nodes::{self, Nodes, slot};
use super::{FAMILIES, Migration, fill, tag_in};
use crate::families::{Family, one_per_family};
use crate::support::server::Server;
use crate::workload::{Command, Workload, show, words};

/// The command that migrates slots.
fn migration(nodes: &Nodes) -> Migration {
    Migration::of(nodes.servers[0].version()).expect("a server with atomic slot migration")
}

/// While a slot moves, its node sends each write to the new owner, which then has the data of a single server that executed the
/// same commands. (Redis 8.6 ends if a merge then has the flag `getkeys-api`.)
#[test]
#[ignore = "needs a server with atomic slot migration: Redis 8.4, Valkey 9.0"]
fn writes_of_all_types_run_while_their_slot_moves() {
    let nodes = Nodes::start(3, false);
    let migration = migration(&nodes);
    let model = Server::start();
    let tag = format!("{{{}}}", tag_in(0..5000));
    let slot = slot(tag.trim_matches(['{', '}']).as_bytes());
    let mut client = nodes.servers[nodes.owner(slot)].resp2();
    let mut model = model.resp2();
    let merges: Vec<_> = one_per_family()
        .filter(|family| family.merge.is_some())
        .collect();
    let key = |family: &Family, name: &str| format!("{tag}{}:{name}", family.name);
    for family in &merges {
        for connection in [&mut client, &mut model] {
            for name in ["to", "from"] {
                let create = family.merge.as_ref().expect("a merge").create;
                connection.ok(&create.replace("KEY", &key(family, name)));
            }
        }
    }
    let mut workload = Workload::new(70, &tag, 2);
    for command in workload.creations() {
        assert_eq!(client.send(&command), model.send(&command));
    }
    fill(&mut client, tag.trim_matches(['{', '}']), 200_000);
    let mut rounds = 0;
    let mut run = |command: &Command| {
        let reply = client.send(command);
        let has_moved = reply.to_string().starts_with("-MOVED");
        if !has_moved {
            assert_eq!(reply, model.send(command), "{}", show(command));
        }
        !has_moved
    };
    let is_moved = |family: &&Family, run: &mut dyn FnMut(&Command) -> bool, round: u64| {
        let (to, from) = (key(family, "to"), key(family, "from"));
        let add = family.change.0.replace("KEY", &from);
        let add = add.replace("NEW", &round.to_string());
        let merge = format!("{}.MERGE {to} 1 {from}", family.prefix);
        !run(&words(&add)) || !run(&words(&merge))
    };
    migration.start(&nodes, slot);
    while run(&workload.write())
        && !merges
            .iter()
            .any(|family| is_moved(family, &mut run, rounds))
    {
        rounds += 1;
    }
    assert!(rounds > 20, "{rounds} rounds");
    nodes.wait("the migration", |nodes| {
        let all = 0..nodes.servers.len();
        all.filter(|&node| nodes.has_keys(node, slot)).count() == 1
    });
    nodes.wait_until_ok();
    let mut owner = nodes.servers[nodes.owner(slot)].resp2();
    let mut compare = |key: &str| {
        let dump = format!("DUMP {key}");
        assert_eq!(owner.call(&dump), model.call(&dump), "{key}");
    };
    for family in &merges {
        compare(&key(family, "to"));
    }
    for family in FAMILIES {
        (0..2).for_each(|number| compare(&key(family, &number.to_string())));
    }
}
