//! A cluster client that finds the node of a key as client libraries do.

use super::nodes::{Nodes, TIMEOUT, slot};
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::time;
use crate::workload::words;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Connections to the nodes and the known owners of slots.
#[derive(Debug)]
pub struct Client {
    ports: Vec<u16>,
    connections: HashMap<u16, Connection>,
    slots: HashMap<u16, u16>,
    /// Port of the node to ask if the owner is unknown.
    next: usize,
    pub redirections: u64,
}

impl Client {
    pub fn new(nodes: &Nodes) -> Self {
        Self {
            ports: nodes.servers.iter().map(|server| server.port()).collect(),
            connections: HashMap::new(),
            slots: HashMap::new(),
            next: 0,
            redirections: 0,
        }
    }

    fn try_at(&mut self, port: u16, command: &[Vec<u8>], asking: bool) -> io::Result<Reply> {
        let connection = match self.connections.entry(port) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Connection::open(port, Protocol::Resp2)?),
        };
        let reply = match asking {
            true => connection.try_send(&["ASKING"]).map(drop),
            false => Ok(()),
        };
        let reply = reply.and_then(|()| connection.try_send(command));
        if reply.is_err() {
            self.connections.remove(&port);
        }
        reply
    }

    /// Sends a command whose first argument is a key, follows redirections, and waits while the cluster is down. If
    /// the connection breaks, it sends the command again, which may then run twice: callers that expect failures must
    /// send only idempotent commands.
    pub fn send(&mut self, command: &[Vec<u8>]) -> Reply {
        self.send_from(command).0
    }

    /// Like [`Client::send`]; also returns the port of the node that replied.
    fn send_from(&mut self, command: &[Vec<u8>]) -> (Reply, u16) {
        let slot = slot(&command[1]);
        let start = Instant::now();
        let mut ask = None;
        loop {
            let is_late = start.elapsed() >= time::limit(TIMEOUT);
            assert!(!is_late, "the cluster does not answer");
            let known = self.slots.get(&slot).copied();
            let asking = ask.is_some();
            let port = ask.take().or(known);
            let port = port.unwrap_or(self.ports[self.next % self.ports.len()]);
            let Ok(reply) = self.try_at(port, command, asking) else {
                self.slots.remove(&slot);
                self.next += 1;
                thread::sleep(Duration::from_millis(20));
                continue;
            };
            let Reply::Error(text) = &reply else {
                return (reply, port);
            };
            let text = String::from_utf8_lossy(text).into_owned();
            let mut words = text.split(' ');
            let (kind, target) = (words.next().unwrap_or(""), words.nth(1));
            let target = target.and_then(|target| target.rsplit(':').next()?.parse().ok());
            match kind {
                "MOVED" => {
                    self.slots.insert(slot, target.expect("a port"));
                    self.redirections += 1;
                }
                "ASK" => {
                    ask = target;
                    self.redirections += 1;
                }
                "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" => {
                    thread::sleep(Duration::from_millis(10));
                }
                _ => return (reply, port),
            }
        }
    }

    /// Sends a write until a replica has confirmed it.
    pub fn send_to_both(&mut self, command: &[Vec<u8>]) -> Reply {
        let start = Instant::now();
        loop {
            let is_late = start.elapsed() >= time::limit(TIMEOUT);
            assert!(!is_late, "no replica takes the write");
            let (reply, port) = self.send_from(command);
            let wait = words("WAIT 1 1000");
            if matches!(self.try_at(port, &wait, false), Ok(Reply::Integer(1..))) {
                return reply;
            }
        }
    }
}
