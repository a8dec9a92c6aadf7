//! A filter with a window, and the clock of its server.

use super::{LOG, set_ms, start, with_window};
use crate::support::resp::Connection;
use crate::support::server::Server;
use std::ops::{Deref, DerefMut};

const START: u64 = 1_000_000;

/// A server with a filter `k` whose window has four full panes of one second, and its commands.
pub struct Filter {
    pub server: Server,
    pub connection: Connection,
}

impl Filter {
    /// Starts a server that writes an append-only file. The filter is created with this command and the option WINDOW.
    pub fn new(reserve: &str) -> Self {
        let (server, connection) = start(LOG).connected();
        let mut filter = Self { server, connection };
        filter.at(0);
        filter.ok(&with_window(reserve, "WINDOW 4000 PANES 4"));
        filter
    }

    /// Sets the clock to this second.
    pub fn at(&self, second: u64) {
        set_ms(&self.server, START + second * 1000);
    }

    /// A field of the reply to this command.
    pub fn field(&mut self, command: &str, field: &str) -> i64 {
        self.call(command).number(field)
    }
}

impl Deref for Filter {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Filter {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
