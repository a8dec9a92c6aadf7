//! Clusters: commands are routed by their keys, and slot migration and failover lose no data.

mod client;
mod needs_slot_migration;
pub mod nodes;

use crate::families::{FAMILIES, NumberSet, PARTS, one_per_family};
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;
use crate::support::server::{Options, Server, Version};
use crate::support::set_on_drop::SetOnDrop;
use crate::support::state::State;
use crate::workload::{Random, Unit, Workload};
use client::Client;
use nodes::{Nodes, slot};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A hash tag whose slot is one of these.
fn tag_in(slots: std::ops::Range<u16>) -> String {
    (0..)
        .map(|number: u32| format!("t{number}"))
        .find(|tag| slots.contains(&slot(tag.as_bytes())))
        .expect("some tag")
}

/// All commands of the module with their arity.
fn commands(connection: &mut Connection) -> BTreeMap<String, i64> {
    let names = connection.call("COMMAND LIST FILTERBY MODULE bf").strings();
    let commands = names.into_iter().map(|name| {
        let info = connection.send(&["COMMAND", "INFO", &name]);
        let info = info.items().expect("a list")[0].items().expect("a command");
        (name.to_uppercase(), info[1].integer().expect("an arity"))
    });
    commands.collect()
}

/// Hash tags of the slots of three nodes.
fn tags() -> [String; 3] {
    [0..5000, 6000..10_000, 11_000..16_000].map(tag_in)
}

/// Fills a slot with this number of keys, so that its snapshot takes longer than the first commands after it.
fn fill(connection: &mut Connection, tag: &str, keys: usize) {
    let script = format!("for i=1,{keys} do redis.call('set',KEYS[1]..i,string.rep('x',100)) end");
    connection.send_run(&["EVAL", &script, "1", &format!("{{{tag}}}fill")]);
}

/// Threads that ask can end the server (docs/operations.md, "Threads of the server"). Then it looks only at the first key of a merge.
#[test]
fn io_threads_do_not_ask_for_keys() {
    for threads in ["1", "2"] {
        let options = Options::new().arguments(&["--io-threads", threads]);
        let nodes = Nodes::start_with(1, false, &options);
        let server = &nodes.servers[0];
        let has_threads = server.call("CONFIG GET io-threads").to_string() != "*[$io-threads $1]";
        let version = server.version();
        let goes_by_specs = version.is_redis_at_least(8, 4);
        let may_ask = version.is_redis_at_least(8, 1) || version.is_valkey_at_least(8, 0);
        let expected = match has_threads && may_ask && !goes_by_specs {
            true => "-CMS: key does not exist",
            false => "-CROSSSLOT",
        };
        let reply = server.call("CMS.MERGE {a}k 1 {b}s").to_string();
        assert!(reply.starts_with(expected), "{threads} threads: {reply}");
    }
}

#[test]
fn every_command_is_routed_by_its_keys() {
    let nodes = Nodes::start(3, false);
    let (here, there) = (tag_in(0..5000), tag_in(11_000..16_000));
    let mut connection = nodes.servers[0].resp2();
    let commands = commands(&mut connection);
    assert!(commands.len() >= 10, "{commands:?}");
    let mut merges = 0;
    for (name, arity) in &commands {
        let call = |first: &str, source: &str| {
            let mut call = vec![name.clone()];
            if let Some((_, arguments)) = PARTS.iter().find(|(of, _)| of == name) {
                call.extend(arguments.split(' ').map(str::to_owned));
                call.push("CMS.QUERY".to_owned());
            }
            call.push(format!("{{{first}}}k"));
            if name.ends_with(".MERGE") {
                call.extend(["1".to_owned(), format!("{{{source}}}s")]);
            }
            while (call.len() as i64) < arity.abs() {
                call.push("1".to_owned());
            }
            call
        };
        let there_slot = slot(there.as_bytes());
        let moved = format!("-MOVED {there_slot} 127.0.0.1:{}", nodes.servers[2].port());
        let reply = connection.send(&call(&there, &there)).to_string();
        assert_eq!(reply, moved, "{name}");
        let reply = connection.send(&call(&here, &here)).to_string();
        let is_served = !reply.starts_with("-MOVED") && !reply.starts_with("-CROSSSLOT");
        assert!(is_served, "{name}: {reply}");
        if name.ends_with(".MERGE") {
            merges += 1;
            for (first, source) in [(&here, &there), (&there, &here)] {
                let reply = connection.send(&call(first, source)).to_string();
                assert!(reply.starts_with("-CROSSSLOT"), "{name}: {reply}");
            }
        }
    }
    let mergeable = one_per_family()
        .filter(|family| family.merge.is_some())
        .count();
    assert_eq!(merges, mergeable);
}

/// Writes until the flag is set, and counts the writes. Returns the commands and their replies, to replay them on the model, and
/// the number of redirections.
fn write_through(
    nodes: &Nodes,
    workload: &mut Workload,
    stop: &AtomicBool,
    writes: &AtomicU64,
) -> (Vec<(Unit, Reply)>, u64) {
    let mut client = Client::new(nodes);
    let mut answered = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let command = workload.write();
        let reply = client.send(&command);
        answered.push((Unit::Single(command), reply));
        writes.fetch_add(1, Ordering::Relaxed);
    }
    (answered, client.redirections)
}

/// Waits until each writer has written `more` times since the call.
fn wait_for_writes(nodes: &Nodes, writes: &[AtomicU64], more: u64) {
    let written = || writes.iter().map(|count| count.load(Ordering::Relaxed));
    let before: Vec<_> = written().collect();
    nodes.wait("the writers", |_| {
        let mut pairs = written().zip(&before);
        pairs.all(|(now, before)| now >= before + more)
    });
}

/// The combined state of all primaries.
fn state(nodes: &Nodes) -> State {
    let mut state = State::default();
    for node in nodes.primaries() {
        state.extend(State::of(&mut nodes.servers[node].resp2()));
    }
    state
}

/// Replays the commands on the model, compares the replies and the data, and each replica with its primary.
fn assert_same_as_model(
    nodes: &Nodes,
    model: &Server,
    answered: impl IntoIterator<Item = (Unit, Reply)>,
    when: &str,
) {
    let mut model = model.resp2();
    for (unit, reply) in answered {
        assert_eq!(unit.send(&mut model).expect("a reply"), reply, "{unit:?}");
    }
    state(nodes).assert_same(&State::of(&mut model), when);
    assert_replicas_same(nodes, when);
}

/// Compares each replica with its primary.
fn assert_replicas_same(nodes: &Nodes, when: &str) {
    for node in nodes.primaries() {
        let (primary, replica) = (&nodes.servers[node], &nodes.servers[nodes.partner(node)]);
        nodes.wait("the replica", |_| {
            let sent = primary.info("master_repl_offset");
            sent.is_some() && sent == replica.info("slave_repl_offset")
        });
        let mut connection = replica.resp2();
        connection.ok("READONLY");
        // After a failover, the replica may briefly redirect reads to the previous owner of the slots.
        nodes.wait("the replica to answer for its slots", |_| {
            let keys = replica.resp2().keys();
            let mut exist = keys
                .iter()
                .map(|key| connection.send(&[b"EXISTS", &key[..]]));
            exist.all(|reply| reply == Reply::Integer(1))
        });
        let found = State::of(&mut connection);
        found.assert_same(&State::of(&mut primary.resp2()), when);
    }
}

/// The slot of keys of about 40 MiB, of the types of the [`Sample`], and the slots of the clients' keys migrate to another node and back while clients
/// write. Afterwards, the cluster has the same data as a single server that executed the same commands.
#[test]
fn slot_migration_during_writes_loses_no_data() {
    let nodes = Nodes::start(3, true);
    let model = Server::start();
    let tags = tags();
    let large = &tags[0];
    // Random bits do not compress, but the attempt takes long.
    for server in nodes.servers.iter().chain([&model]) {
        server.ok("CONFIG SET rdbcompression no");
    }
    // The large keys are created from the same seed on the node of their slot and on the model.
    for server in [&nodes.servers[0], &model] {
        let mut random = Random::new(40);
        for family in Sample::of_run().of(FAMILIES) {
            let key = format!("{}:{{{large}}}large", family.name);
            let create = family.reserve_large;
            family.create_filled(&mut server.resp2(), &mut random, create, &key);
        }
    }
    let mut workload: Vec<_> = (0..tags.len())
        .map(|n| Workload::new(50 + n as u64, &format!("{{{}}}", tags[n]), 6))
        .collect();
    let mut client = Client::new(&nodes);
    for workload in &mut workload {
        for command in workload.creations() {
            let reply = client.send(&command);
            assert_eq!(model.resp2().send(&command), reply);
        }
    }
    let mut redirections = 0;
    for round in 0..2 {
        let stop = AtomicBool::new(false);
        let writes: Vec<_> = tags.iter().map(|_| AtomicU64::new(0)).collect();
        let answered: Vec<_> = thread::scope(|scope| {
            let _end = SetOnDrop(&stop);
            let pairs = workload.iter_mut().zip(&writes);
            let (nodes, stop) = (&nodes, &stop);
            let writers: Vec<_> = pairs
                .map(|(workload, writes)| {
                    scope.spawn(move || write_through(nodes, workload, stop, writes))
                })
                .collect();
            for tag in &tags {
                let slot = slot(tag.as_bytes());
                let owner = nodes.owner(slot);
                // The first round moves the slot to the next node, and the second round moves it back.
                nodes.move_slot(slot, (owner + 1 + round) % 3);
                wait_for_writes(nodes, &writes, 20);
            }
            stop.store(true, Ordering::Relaxed);
            let writers = writers.into_iter();
            writers
                .map(|writer| writer.join().expect("a writer"))
                .collect()
        });
        redirections += answered.iter().map(|(_, count)| count).sum::<u64>();
        let answered = answered.into_iter().flat_map(|(answered, _)| answered);
        assert_same_as_model(&nodes, &model, answered, &format!("round {round}"));
    }
    assert!(redirections > 5, "{redirections} redirections");
    let slot = slot(large.as_bytes());
    if let Some(migration) = Migration::of(nodes.servers[0].version()) {
        // Clients write while the slot moves.
        let (stop, writes) = (AtomicBool::new(false), [AtomicU64::new(0)]);
        let answered = thread::scope(|scope| {
            let _end = SetOnDrop(&stop);
            let (nodes, stop, written) = (&nodes, &stop, &writes[0]);
            let workload = &mut workload[0];
            let writer = scope.spawn(move || write_through(nodes, workload, stop, written));
            wait_for_writes(nodes, &writes, 20);
            migration.move_slot(nodes, slot);
            wait_for_writes(nodes, &writes, 20);
            stop.store(true, Ordering::Relaxed);
            writer.join().expect("a writer").0
        });
        assert_same_as_model(&nodes, &model, answered, "an atomic slot migration");
    }
}

/// The command that migrates a slot atomically, with all its keys.
#[derive(Debug, Clone, Copy)]
enum Migration {
    /// Valkey 9.0: the source sends a stream of commands, like a rewritten append-only file.
    MigrateSlots,
    /// Redis 8.4: the destination requests a snapshot, a stream of RESTORE commands, and then the writes.
    Import,
}

impl Migration {
    /// The command of a server, if it has one.
    fn of(version: Version) -> Option<Self> {
        if version.is_valkey_at_least(9, 0) {
            Some(Self::MigrateSlots)
        } else if version.is_redis_at_least(8, 4) {
            Some(Self::Import)
        } else {
            None
        }
    }

    /// Begins to move a slot to the next node.
    fn start(self, nodes: &Nodes, slot: u16) {
        let from = nodes.owner(slot);
        let to = (from + 1) % 3;
        match self {
            Self::MigrateSlots => {
                let to = &nodes.ids[to];
                let command = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {to}");
                nodes.ok(from, &command);
            }
            Self::Import => {
                let command = format!("CLUSTER MIGRATION IMPORT {slot} {slot}");
                let reply = nodes.servers[to].call(&command);
                assert!(reply.text().is_some(), "no task: {reply}");
            }
        }
    }

    /// Moves a slot to the next node and waits until it has moved.
    fn move_slot(self, nodes: &Nodes, slot: u16) {
        let from = nodes.owner(slot);
        let to = (from + 1) % 3;
        self.start(nodes, slot);
        nodes.wait("the migration", |nodes| {
            // For a moment during the change, neither node owns the slot.
            nodes.has_keys(to, slot) && !nodes.has_keys(from, slot)
        });
        nodes.wait_until_ok();
    }
}

/// A primary is killed during writes and its replica takes over: on request, because the detection of a failure depends on time. The
/// old primary returns as a replica and becomes primary again. Every number that a replica confirmed is still present.
#[test]
fn failover_after_a_kill_loses_no_confirmed_write() {
    let mut nodes = Nodes::start(3, true);
    let tags = tags();
    let key = |tag: &str, name: &str| format!("{{{tag}}}numbers:{name}");
    let sets: Vec<_> = FAMILIES
        .iter()
        .filter_map(|family| Some((family.name, family.numbers?)))
        .collect();
    let mut client = Client::new(&nodes);
    for tag in &tags {
        for (name, set) in &sets {
            for create in set.creation(&key(tag, name)) {
                let reply = client.send_to_both(&create);
                let is_there = reply.to_string().contains("exists");
                assert!(is_there || !reply.is_error(), "{reply}");
            }
        }
    }
    let mut clients: Vec<_> = tags.iter().map(|_| Client::new(&nodes)).collect();
    let stop = AtomicBool::new(false);
    let writes: Vec<_> = tags.iter().map(|_| AtomicU64::new(0)).collect();
    let confirmed: Vec<u64> = thread::scope(|scope| {
        let (sets, stop) = (&sets, &stop);
        let _end = SetOnDrop(stop);
        let write = move |client: &mut Client, tag: &str, writes: &AtomicU64| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                for (name, set) in sets {
                    let add = NumberSet::command(set.add, &key(tag, name), number);
                    let reply = client.send_to_both(&add);
                    assert!(!reply.is_error(), "{reply}");
                }
                writes.store(number, Ordering::Relaxed);
            }
            number
        };
        let triples = clients.iter_mut().zip(&tags).zip(&writes);
        let writers: Vec<_> = triples
            .map(|((client, tag), writes)| scope.spawn(move || write(client, tag, writes)))
            .collect();
        wait_for_writes(&nodes, &writes, 5);
        let partner = nodes.partner(1);
        let known_nodes = nodes.known_nodes(1);
        nodes.servers[1].kill();
        nodes.ok(partner, "CLUSTER FAILOVER TAKEOVER");
        nodes.wait("the replica to take over", |nodes| {
            nodes.servers[partner].info("role").as_deref() == Some("master")
        });
        let file = nodes.servers[1].dir().join("nodes.conf");
        std::fs::write(&file, known_nodes).expect("the same file");
        nodes.servers[1].relaunch();
        nodes.wait("the old primary to follow", |nodes| {
            nodes.primaries() == [0, 2, partner]
        });
        nodes.wait_until_ok();
        wait_for_writes(&nodes, &writes, 5);
        // A failover can time out on a busy machine, so it is repeated.
        let mut asked: Option<Instant> = None;
        nodes.wait("the old primary to take over again", |nodes| {
            if nodes.primaries() == [0, 1, 2] {
                return true;
            }
            if asked.is_none_or(|asked| asked.elapsed() > Duration::from_secs(8)) {
                nodes.servers[1].call("CLUSTER FAILOVER");
                asked = Some(Instant::now());
            }
            false
        });
        nodes.wait_until_ok();
        wait_for_writes(&nodes, &writes, 5);
        stop.store(true, Ordering::Relaxed);
        let writers = writers.into_iter();
        writers
            .map(|writer| writer.join().expect("a writer"))
            .collect()
    });
    // A number may have been sent twice, so the test checks its presence but not its count.
    let mut asked = 0;
    for (tag, last) in tags.iter().zip(confirmed) {
        for (name, set) in &sets {
            for number in 1..=last {
                let reply = client.send(&NumberSet::command(set.test, &key(tag, name), number));
                let answer = reply.items().map_or(&reply, |items| &items[0]).integer();
                assert!(
                    answer > Some(0),
                    "{name} of {tag}, {number} of {last}: {reply}"
                );
                asked += 1;
            }
        }
    }
    println!("{asked} confirmed writes asked for, 0 lost");
    assert_replicas_same(&nodes, "after both fail-overs");
    // A slot of the primary that was killed migrates to another node and back.
    let slot = slot(tags[1].as_bytes());
    let before = state(&nodes);
    for to in [2, 1] {
        nodes.move_slot(slot, to);
        state(&nodes).assert_same(&before, "resharding");
    }
}
