//! `ROUGHLY.FAULT`: counts requests for memory, and refuses some.

use crate::support::resp::{Connection, Reply};
use crate::workload::{Command, words};

/// The requests to refuse: from the first to the second number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub u64, pub u64);

impl Refused {
    pub const NONE: Self = Self(0, 0);

    /// Only request number `position`.
    pub fn one(position: u64) -> Self {
        Self(position, position)
    }

    /// All requests from number `position` on.
    pub fn all_from(position: u64) -> Self {
        Self(position, i64::MAX as u64)
    }

    /// All ways to refuse memory to a command with this many requests.
    pub fn each(count: u64) -> impl Iterator<Item = Self> {
        (1..=count).flat_map(|position| [Self::one(position), Self::all_from(position)])
    }

    /// The command that begins to count and to refuse.
    pub fn command(self) -> Command {
        words(&format!("ROUGHLY.FAULT {} {}", self.0, self.1))
    }
}

/// What happened since the last `ROUGHLY.FAULT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requests {
    /// Requests for memory that can be refused.
    pub count: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Bytes of the largest allocation that cannot be refused.
    pub largest_other: u64,
}

impl Requests {
    /// Refuses nothing from now on. Returns what happened until now.
    pub fn end(connection: &mut Connection) -> Self {
        Self::of(&connection.send(&Refused::NONE.command()))
    }

    /// The reply to `ROUGHLY.FAULT`.
    pub fn of(reply: &Reply) -> Self {
        let Some([count, refused, largest]) = reply.items() else {
            panic!("ROUGHLY.FAULT: {reply}");
        };
        let numbers = [count, refused, largest].map(|number| number.integer().expect("a number"));
        let [count, refused, largest_other] = numbers.map(i64::unsigned_abs);
        Self {
            count,
            refused,
            largest_other,
        }
    }
}
