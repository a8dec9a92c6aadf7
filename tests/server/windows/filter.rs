//! A filter with a window, and the clock of its server.

use super::{set_ms, start, with_window};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

const START: u64 = 1_000_000;

/// A server with a filter `k` whose window has four full panes of one second, and its commands.
pub struct Filter {
    pub server: Server,
    pub connection: Connection,
}

impl Filter {
    /// Starts a server that writes an append-only file. The filter is created with this command and the option WINDOW.
    pub fn new(reserve: &str) -> Self {
        let server = start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let connection = server.resp2();
        let mut filter = Self { server, connection };
        filter.at(0);
        let reserve = with_window(reserve, "WINDOW 4000 PANES 4");
        assert!(filter.call(&reserve).is_ok(), "{reserve}");
        filter
    }

    /// Sets the clock to this second.
    pub fn at(&self, second: u64) {
        set_ms(&self.server, START + second * 1000);
    }

    pub fn call(&mut self, command: &str) -> Reply {
        self.connection.call(command)
    }

    pub fn integer(&mut self, command: &str) -> i64 {
        let reply = self.call(command);
        reply
            .integer()
            .unwrap_or_else(|| panic!("{command}: {reply}"))
    }

    pub fn integers(&mut self, command: &str) -> Vec<i64> {
        let reply = self.call(command);
        let items = reply
            .items()
            .unwrap_or_else(|| panic!("{command}: {reply}"));
        items.iter().filter_map(Reply::integer).collect()
    }

    /// A field of the reply to this command.
    pub fn field(&mut self, command: &str, field: &str) -> i64 {
        let reply = self.call(command);
        let number = reply.field(field).and_then(Reply::integer);
        number.unwrap_or_else(|| panic!("{field}: {reply}"))
    }
}
