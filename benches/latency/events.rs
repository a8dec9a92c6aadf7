//! What happens on the server during a measurement: nothing, a save, a rewrite, growth, or defragmentation.

use crate::commands::{Command, call, send_all};
use crate::observer::has_children;
use crate::request::{Request, Source};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use std::time::{Duration, Instant};

/// Time from the start of the load to the event.
const DELAY: Duration = Duration::from_millis(250);
/// Interval between two checks whether the event has ended.
const CHECK: Duration = Duration::from_millis(5);
/// Maximum time of a measurement.
const MAX_TIME: Duration = Duration::from_secs(60);
/// Number of small keys that are created to fragment the memory. Three of four are deleted.
const SMALL_KEYS: u64 = 30_000;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    None,
    Save,
    Rewrite,
    Growth,
    Defragmentation,
}

impl Event {
    /// Name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Save => "BGSAVE",
            Self::Rewrite => "BGREWRITEAOF",
            Self::Growth => "growth",
            Self::Defragmentation => "active defragmentation",
        }
    }

    /// Whether the event can be measured with this command.
    pub fn applies_to(self, command: &Command) -> bool {
        self != Self::Growth || GROWING.iter().any(|growing| growing.name == command.name)
    }

    /// Time to measure if `time` is enough for the load.
    pub fn time(self, time: Duration) -> Duration {
        match self {
            // The server checks once per second whether to defragment.
            Self::Defragmentation => time.max(Duration::from_millis(2_500)),
            _ => time,
        }
    }

    /// Whether the server forks.
    pub fn forks(self) -> bool {
        matches!(self, Self::Save | Self::Rewrite)
    }

    /// The command that starts the event.
    fn trigger(self) -> Option<&'static [&'static str]> {
        match self {
            Self::None | Self::Growth => None,
            Self::Save => Some(&["BGSAVE"]),
            Self::Rewrite => Some(&["BGREWRITEAOF"]),
            Self::Defragmentation => Some(&["CONFIG", "SET", "activedefrag", "yes"]),
        }
    }
}

/// A filter that grows by a filter of about 64 MiB.
struct Growing {
    name: &'static str,
    create: &'static str,
    add: &'static str,
    add_many: &'static str,
    info: &'static str,
}

const GROWING: [Growing; 2] = [
    Growing {
        name: "BF.ADD",
        create: "BF.RESERVE growing 0.001 100000 EXPANSION 330",
        add: "BF.ADD growing item:#",
        add_many: "BF.MADD growing",
        info: "BF.INFO growing",
    },
    Growing {
        name: "CF.ADD",
        create: "CF.RESERVE growing 131072 EXPANSION 512",
        add: "CF.ADD growing item:#",
        add_many: "CF.INSERT growing ITEMS",
        info: "CF.INFO growing",
    },
];

impl Growing {
    /// Creates the filter again and adds the items with the numbers in `0..items`.
    fn fill(&self, connection: &mut Connection, items: u64) {
        call(connection, "UNLINK growing");
        call(connection, self.create);
        for start in (0..items).step_by(BATCH) {
            self.add_batch(connection, start, (start + BATCH as u64).min(items));
        }
    }

    fn add_batch(&self, connection: &mut Connection, start: u64, end: u64) {
        let items: String = (start..end).map(|i| format!(" item:{i:012}")).collect();
        call(connection, &format!("{}{items}", self.add_many));
    }

    fn filters(&self, connection: &mut Connection) -> i64 {
        let info = call(connection, self.info);
        let filters = info.field("Number of filters").and_then(Reply::integer);
        filters.expect("a number of filters")
    }

    /// The number of items that the filter holds before it grows, up to one batch less.
    fn capacity(&self, connection: &mut Connection) -> u64 {
        self.fill(connection, 0);
        let mut items = 0;
        loop {
            self.add_batch(connection, items, items + BATCH as u64);
            if self.filters(connection) > 1 {
                return items;
            }
            items += BATCH as u64;
        }
    }
}

/// Items per command that fills a growing filter.
const BATCH: usize = 500;

/// Prepares an event and returns the requests to send. `commands` is the expected number of commands: a growing filter
/// grows at about half of them.
pub fn prepare(
    event: Event,
    command: &Command,
    connection: &mut Connection,
    commands: u64,
    seed: u64,
) -> Request {
    match event {
        Event::None | Event::Save | Event::Rewrite => command.request(seed),
        Event::Growth => {
            let of_command = |growing: &&Growing| growing.name == command.name;
            let growing = GROWING.iter().find(of_command).expect("a growing filter");
            let next = growing.capacity(connection).saturating_sub(commands / 2);
            growing.fill(connection, next);
            Request::new(growing.add, Source::from(next))
        }
        Event::Defragmentation => {
            call(connection, "CONFIG SET activedefrag no");
            call(connection, "CONFIG RESETSTAT");
            let delete = |connection: &mut Connection, next| {
                let numbers = Source::Sequence { next, step: 4 };
                send_all(
                    connection,
                    &mut Request::new("DEL d:#", numbers),
                    SMALL_KEYS / 4,
                );
            };
            (0..4).for_each(|next| delete(connection, next));
            let mut create = Request::new(command.small_key, Source::from(0));
            send_all(connection, &mut create, SMALL_KEYS);
            (1..4).for_each(|next| delete(connection, next));
            command.request(seed)
        }
    }
}

/// Checks that the event took place.
///
/// # Panics
/// If it did not.
pub fn check(event: Event, command: &Command, server: &Server) {
    match event {
        Event::None | Event::Save | Event::Rewrite => {}
        Event::Growth => {
            let mut of_command = GROWING
                .iter()
                .filter(|growing| growing.name == command.name);
            let growing = of_command.next().expect("a growing filter");
            let filters = growing.filters(&mut server.resp2());
            assert_eq!(filters, 2, "{} did not grow", command.name);
        }
        Event::Defragmentation => {
            let moved = server.info_number("active_defrag_hits");
            assert!(moved > 0, "{}: no blocks were moved", command.name);
        }
    }
}

/// Starts an event during the load and detects its end.
#[derive(Debug)]
pub struct Trigger {
    event: Event,
    process: u32,
    connection: Connection,
    /// When the command that starts the event was sent.
    pub sent: Option<Instant>,
    next_check: Duration,
    has_forked: bool,
    has_ended: bool,
}

impl Trigger {
    pub fn new(event: Event, server: &Server) -> Self {
        Self {
            event,
            process: server.pid(),
            connection: server.resp2(),
            sent: None,
            next_check: Duration::ZERO,
            has_forked: false,
            has_ended: !event.forks(),
        }
    }

    /// Sends the command when it is time, without waiting for the reply. Returns whether the event has ended and at least
    /// `time` has passed.
    ///
    /// # Panics
    /// If the event takes too long.
    pub fn is_over(&mut self, elapsed: Duration, time: Duration) -> bool {
        if self.sent.is_none()
            && elapsed >= DELAY.min(time / 4)
            && let Some(command) = self.event.trigger()
        {
            self.connection.write(command).expect("a connection");
            self.sent = Some(Instant::now());
        }
        if !self.has_ended && self.sent.is_some() && elapsed >= self.next_check {
            self.next_check = elapsed + CHECK;
            let is_running = has_children(self.process);
            self.has_ended = self.has_forked && !is_running;
            self.has_forked |= is_running;
        }
        assert!(elapsed < MAX_TIME, "{} takes too long", self.event.name());
        self.has_ended && elapsed >= time
    }

    /// Reads the reply to the command.
    ///
    /// # Panics
    /// If it is an error.
    pub fn finish(mut self) {
        if self.sent.is_some() {
            let reply = self.connection.read().expect("a reply");
            assert!(!matches!(reply, Reply::Error(_)), "{reply}");
        }
    }
}
