//! Kills servers with SIGKILL at random times. Afterwards, the server has all acknowledged writes and no others, except
//! that it may have the last, unacknowledged write of each client.
//!
//! A kill ends the process, not the machine: data that the server passed to the operating system remains. With
//! `appendfsync always` the server also syncs it to disk before it replies.
//!
//! `ROUGHLY_KILLS` sets the number of kills in the first test (half as many in the second), and `ROUGHLY_SEED` the
//! seed. In `scripts/check-release.sh kills`, the first test kills 200 times.

use crate::families::{FAMILIES, Family, NumberSet};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use crate::support::set_on_drop::SetOnDrop;
use crate::support::state::{State, select};
use crate::support::variables::number;
use crate::workload::{Command, Random, Unit, Workload};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Number of concurrent writers, each in its own database.
const WRITERS: u32 = 4;
/// Keys per family and writer.
const KEYS: u64 = 5;
/// Numbers per lookup command.
const BATCH: usize = 500;

/// The families that store sets of numbers.
fn sets() -> impl Iterator<Item = (&'static Family, NumberSet)> {
    let families = FAMILIES.iter();
    families.filter_map(|family| Some((family, family.numbers?)))
}

/// A unit of the workload, or a number to add to the set of the family with this name.
#[derive(Debug, Clone)]
enum Write {
    Unit(Unit),
    Add(&'static str, u64),
}

impl Write {
    fn unit(&self) -> Unit {
        match self {
            Self::Unit(unit) => unit.clone(),
            Self::Add(name, number) => {
                let set = Family::of(name).numbers.expect("a set of numbers");
                Unit::Single(NumberSet::command(set.add, &set_key(name), *number))
            }
        }
    }
}

fn set_key(name: &str) -> String {
    format!("numbers:{name}")
}

/// Whether a command may create a sketch with a random seed, which the model's sketch does not have.
fn draws_a_seed(command: &Command) -> bool {
    let has = |option: &str| command.iter().any(|argument| argument == option.as_bytes());
    let is_digest = command[0].starts_with(b"TDIGEST.");
    has("WINDOW") && !has("SEED") && !is_digest
}

/// A writer: its past and future writes.
struct Writer {
    db: u32,
    workload: Workload,
    random: Random,
    /// The highest number added to the set of each family.
    added: BTreeMap<&'static str, u64>,
    acknowledged: Vec<(Write, Reply)>,
    in_flight: Option<Write>,
}

impl Writer {
    fn new(seed: u64, db: u32) -> Self {
        Self {
            db,
            workload: Workload::new(seed, "", KEYS).without(draws_a_seed),
            random: Random::new(seed ^ 0xabcd),
            added: sets().map(|(family, _)| (family.name, 0)).collect(),
            acknowledged: Vec::new(),
            in_flight: None,
        }
    }

    fn next(&mut self) -> Write {
        if self.random.one_in(2) {
            return Write::Unit(self.workload.unit());
        }
        let names: Vec<_> = self.added.keys().copied().collect();
        let name = self.random.pick(&names);
        Write::Add(name, self.added[name] + 1)
    }

    /// Writes until the connection breaks or the flag is set. A number that may have been stored is not sent again,
    /// because some families would count it twice; see [`Writer::verify`].
    fn run(&mut self, mut connection: Connection, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let write = self.next();
            match write.unit().send(&mut connection) {
                Ok(reply) => self.acknowledge(write, reply),
                Err(_) => {
                    self.in_flight = Some(write);
                    return;
                }
            }
        }
    }

    fn acknowledge(&mut self, write: Write, reply: Reply) {
        if let Write::Add(name, number) = write {
            assert!(!reply.is_error(), "{reply}");
            self.added.insert(name, number);
        }
        self.acknowledged.push((write, reply));
    }

    /// After a restart: replays the acknowledged writes on the model and compares it with the server. The last,
    /// unacknowledged write may have been applied completely or not at all.
    fn verify(&mut self, server: &mut Connection, model: &mut Connection, counts: &mut Counts) {
        select(model, self.db);
        for (write, reply) in std::mem::take(&mut self.acknowledged) {
            let again = write.unit().send(model).expect("the model's reply");
            // The replies of a script or transaction are in the order of its commands.
            assert_eq!(
                again,
                reply,
                "{}: the model answers otherwise",
                write.unit().show()
            );
            counts.acknowledged += 1;
        }
        let found = State::of_database(server, self.db);
        let mut wanted = State::of_database(model, self.db);
        if let Some(write) = self.in_flight.take()
            && found != wanted
        {
            write.unit().send(model).expect("the model's reply");
            wanted = State::of_database(model, self.db);
            counts.in_flight_found += 1;
            if let Write::Add(name, number) = write {
                self.added.insert(name, number);
            }
        }
        for line in found.differences(&wanted) {
            match line.ends_with("missing") {
                true => counts.lost.push(line),
                false => counts.invented.push(line),
            }
        }
        self.check_numbers(server, counts);
    }

    /// Checks that every number that was added is present, and that no other numbers are.
    fn check_numbers(&self, server: &mut Connection, counts: &mut Counts) {
        for (&name, &last) in &self.added {
            let set = Family::of(name).numbers.expect("a set of numbers");
            let key = set_key(name);
            let numbers: Vec<_> = (1..=last).collect();
            for batch in numbers.chunks(BATCH) {
                for number in batch {
                    let test = NumberSet::command(set.test, &key, *number);
                    server.write(&test).expect("a question");
                }
                for number in batch {
                    let reply = server.read().expect("an answer");
                    let answer = reply.items().map_or(&reply, |items| &items[0]);
                    if answer.integer().is_none_or(|answer| answer <= 0) {
                        let lost = format!("{} {key}: number {number}: {reply}", self.db);
                        counts.lost.push(lost);
                    }
                }
            }
            counts.asked += last;
            let counted = set.counted(server, &key);
            if counted > last + 1 {
                let invented = format!("{} {key}: {counted}, not {last}", self.db);
                counts.invented.push(invented);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    acknowledged: u64,
    in_flight_found: u64,
    asked: u64,
    during_rewrite: u64,
    during_save: u64,
    lost: Vec<String>,
    invented: Vec<String>,
}

impl Counts {
    fn report(&self, kills: u64, how: &str) {
        println!("{how}: {kills} kills, {self:#?}");
        let is_exact = self.lost.is_empty() && self.invented.is_empty();
        assert!(is_exact, "{self:#?}");
    }
}

/// Waits until the clients have sent about this many further commands.
fn wait_for_writes(server: &mut Server, more: u64) {
    let commands = |server: &Server| server.info_number("total_commands_processed");
    let last = commands(server) + more as i64;
    server.wait_until("the writers", |server| commands(server) >= last);
}

fn is_busy(server: &Server, field: &str) -> bool {
    server.info(field).as_deref() == Some("1")
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let (kills, seed) = (number("ROUGHLY_KILLS", 12), number("ROUGHLY_SEED", 8));
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let model = Server::start();
    let mut server = Options::new()
        .arguments(&["--appendonly", "yes", "--appendfsync", "always"])
        .arguments(&["--auto-aof-rewrite-percentage", "0"])
        .start();
    let writer = |db| Writer::new(seed * 100 + u64::from(db), db);
    let mut writers: Vec<_> = (0..WRITERS).map(writer).collect();
    for writer in &mut writers {
        let mut connection = server.resp2();
        select(&mut connection, writer.db);
        let mut commands = Vec::new();
        for (family, set) in sets() {
            commands.extend(set.creation(&set_key(family.name)));
        }
        commands.extend(writer.workload.creations());
        for command in commands {
            let unit = Unit::Single(command);
            let reply = unit.send(&mut connection).expect("a reply");
            writer.acknowledge(Write::Unit(unit), reply);
        }
    }
    for _ in 0..kills {
        let preamble = random.pick(&["yes", "no"]);
        server.call(&format!("CONFIG SET aof-use-rdb-preamble {preamble}"));
        // Slows rewrites and saves, in microseconds per key.
        let delay = random.pick(&[0, 200, 2000]);
        server.call(&format!("CONFIG SET rdb-key-save-delay {delay}"));
        let connection = |writer: &Writer| {
            let mut connection = server.resp2();
            select(&mut connection, writer.db);
            connection
        };
        let connections: Vec<_> = writers.iter().map(connection).collect();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _end = SetOnDrop(&stop);
            for (writer, connection) in writers.iter_mut().zip(connections) {
                scope.spawn(|| writer.run(connection, &stop));
            }
            wait_for_writes(&mut server, random.below(300));
            match random.below(3) {
                0 => drop(server.call("BGREWRITEAOF")),
                1 => drop(server.call("BGSAVE")),
                _ => {}
            }
            wait_for_writes(&mut server, random.below(300));
            counts.during_rewrite += u64::from(is_busy(&server, "aof_rewrite_in_progress"));
            counts.during_save += u64::from(is_busy(&server, "rdb_bgsave_in_progress"));
            server.kill();
        });
        server.relaunch();
        let (mut connection, mut model) = (server.resp2(), model.resp2());
        for writer in &mut writers {
            select(&mut connection, writer.db);
            writer.verify(&mut connection, &mut model, &mut counts);
        }
    }
    counts.report(kills, "append-only file");
}

/// Without an append-only file, the server has exactly the data of the last complete save.
#[test]
fn a_kill_during_a_save_leaves_the_previous_save() {
    let (kills, seed) = (number("ROUGHLY_KILLS", 12) / 2, number("ROUGHLY_SEED", 8));
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let mut server = Server::start();
    let mut workload = Workload::new(seed, "", 30);
    let mut connection = server.resp2();
    workload.create(&mut connection);
    connection.ok("SAVE");
    let mut before = State::of(&mut connection);
    for kill in 0..kills {
        let mut connection = server.resp2();
        let db = (kill % 3) as u32;
        select(&mut connection, db);
        workload.run(&mut connection, 200);
        counts.acknowledged += 200;
        let now = State::of(&mut connection);
        let delay = random.pick(&[0, 50, 500]);
        connection.call(&format!("CONFIG SET rdb-key-save-delay {delay}"));
        let save = ["SAVE", "BGSAVE"][usize::from(random.one_in(2))];
        connection.write(&[save]).expect("a save");
        // About the duration of a save, so that some saves are complete at the kill and some are not.
        thread::sleep(Duration::from_micros(random.below(5000 + 600 * delay)));
        server.kill_and_restart();
        let found = State::of(&mut server.resp2());
        let complete = found == now;
        counts.during_save += u64::from(!complete);
        let wanted = if complete { &now } else { &before };
        counts.lost.extend(found.differences(wanted));
        before = found;
    }
    counts.report(kills, "RDB file");
}
