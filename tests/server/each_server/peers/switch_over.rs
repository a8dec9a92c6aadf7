//! The migration by replication, with the commands of docs/migration-replication.md, while clients write.

use super::{Peer, assert_no_refused_command};
use crate::each_server::documents::environment::Environment;
use crate::families::{Family, NumberSet};
use crate::support::page::{Block, Page};
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::{Options, Server, fetched};
use crate::support::set_on_drop::SetOnDrop;
use crate::support::time;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Acknowledged writes before and after the migration.
const WRITES: u64 = 2000;
/// Clients per type.
const CLIENTS: u64 = 2;
/// Maximum time until these writes are acknowledged.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A client that writes numbers to a key of its own.
struct Writer {
    key: String,
    numbers: NumberSet,
    /// The items in the key before the first write.
    initial: u64,
    acknowledged: AtomicU64,
}

impl Writer {
    fn new(family: &Family, client: u64, connection: &mut Connection) -> Option<Self> {
        let (key, numbers) = (format!("{}:{client}", family.name), family.numbers?);
        for command in numbers.creation(&key) {
            connection.send_run(&command);
        }
        let initial = numbers.counted(connection, &key);
        Some(Self {
            key,
            numbers,
            initial,
            acknowledged: AtomicU64::new(0),
        })
    }

    /// Writes to the first of the servers that accepts writes, until the flag is set.
    fn run(&self, ports: [u16; 2], stop: &AtomicBool) {
        // The first write without an acknowledgment.
        let mut number = self.acknowledged() + 1;
        while !stop.load(Ordering::Relaxed) {
            for port in ports {
                let Ok(mut connection) = Connection::open(port, Protocol::Resp2) else {
                    continue;
                };
                while !stop.load(Ordering::Relaxed) {
                    let add = NumberSet::command(self.numbers.add, &self.key, number);
                    match connection.try_send(&add) {
                        Ok(Reply::Error(_)) | Err(_) => break,
                        Ok(_) => {
                            self.acknowledged.fetch_add(1, Ordering::Relaxed);
                            number += 1;
                        }
                    }
                }
            }
        }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// The server has every acknowledged write. A write without a reply may be there, too: at most one per connection that
    /// ended.
    fn assert_complete(&self, server: &Server, when: &str) {
        let counted = self.numbers.counted(&mut server.resp2(), &self.key) - self.initial;
        let acknowledged = self.acknowledged();
        assert!(acknowledged > 0, "{when}: no write to {}", self.key);
        assert!(
            (acknowledged..=acknowledged + 1).contains(&counted),
            "{when}: {counted} of {acknowledged} acknowledged writes to {}",
            self.key
        );
    }
}

/// The blocks of method 2 with the commands that run, up to those that go back, or those of the way without FAILOVER.
fn steps(without_failover: bool) -> Vec<Block> {
    let page = Page::read(Path::new("docs/migration-replication.md"));
    let part = |heading: &str| {
        let section = page.section(heading).expect("a section");
        Page::parse(page.path.clone(), section).blocks
    };
    let manual = part("### Without FAILOVER");
    let mut steps = part("## Replication");
    steps.retain(|block| block.language == "sh");
    assert_eq!((steps.len(), manual.len()), (3, 2));
    let failover = steps[1].lines.join("\n");
    let is_named = failover.contains("FAILOVER TO 127.0.0.1 6380");
    assert!(is_named, "{failover}");
    if without_failover {
        steps.truncate(1);
        steps.extend(manual.into_iter().map(|block| Block {
            language: "sh".to_owned(),
            ..block
        }));
    } else {
        steps.truncate(2);
    }
    steps
}

/// Migrates to a server with these options while clients write, and counts the writes that are lost.
fn migrate(peer: &Peer, new: Options, without_failover: bool) {
    let (old, new) = (peer.options().start(), new.start());
    let ports = [old.port(), new.port()];
    let mut connection = old.resp2();
    let writers: Vec<_> = peer
        .types()
        .flat_map(|family| (0..CLIENTS).map(move |client| (family, client)))
        .filter_map(|(family, client)| Writer::new(family, client, &mut connection))
        .collect();
    let acknowledged = || writers.iter().map(Writer::acknowledged).sum::<u64>();
    let wait_for_writes = |wanted: u64| {
        let is_written = || acknowledged() >= wanted;
        let is_written = time::becomes_true(TIMEOUT, Duration::from_millis(5), is_written);
        assert!(is_written, "too few writes");
    };
    let run = |environment: &mut Environment, blocks: &[Block]| {
        for block in blocks {
            if let Err(difference) = environment.run(block) {
                panic!("{:?}: {difference}", block.lines);
            }
        }
    };
    let run_while_clients_write = |environment: &mut Environment, blocks: &[Block]| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _end = SetOnDrop(&stop);
            for writer in &writers {
                scope.spawn(|| writer.run(ports, &stop));
            }
            wait_for_writes(acknowledged() + WRITES);
            run(environment, blocks);
            wait_for_writes(acknowledged() + WRITES);
        });
    };
    let mut environment = Environment::of(old, new);
    let steps = steps(without_failover);
    if without_failover {
        // The writers stop before the second block.
        run_while_clients_write(&mut environment, &steps[..1]);
        run(&mut environment, &steps[1..]);
        run_while_clients_write(&mut environment, &[]);
    } else {
        run_while_clients_write(&mut environment, &steps);
    }
    let (Some(mut old), Some(mut new)) = environment.into_servers() else {
        panic!("no servers");
    };
    for writer in &writers {
        writer.assert_complete(&new, "the new server");
    }
    if without_failover {
        assert!(!old.is_running());
        return;
    }
    // The old server replicates the new one.
    old.wait_for_link();
    new.wait_for_replica(&old);
    for writer in &writers {
        writer.assert_complete(&old, "the old server");
    }
    assert_no_refused_command(&old);
    assert_no_refused_command(&new);
}

pub fn a_failover_to_roughly_loses_no_acknowledged_write(peer: &Peer) {
    migrate(peer, peer.roughly(), false);
}

pub fn a_migration_without_failover_loses_no_acknowledged_write(peer: &Peer) {
    migrate(peer, peer.roughly(), true);
}

pub fn redis_8_with_redisbloom_moves_to_valkey_9_with_roughly(peer: &Peer) {
    let old = peer.options().start();
    assert!(old.version().is_redis_at_least(8, 0), "an older server");
    let new = Options::new().program(fetched("valkey-newest"));
    let new = new.arguments(&["--rdb-version-check", "relaxed"]);
    migrate(peer, new, false);
}
