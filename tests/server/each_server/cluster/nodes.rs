//! A local cluster: several primaries, each with one replica.

use crate::support::resp::Reply;
use crate::support::server::{Options, Server};
use crate::support::time;
use crc::{CRC_16_XMODEM, Crc};
use std::time::Duration;

pub const SLOTS: u16 = 16384;
/// Maximum time until the nodes agree on a state.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// Cluster node timeout in milliseconds. No test waits until a node is considered failed: on a busy machine, a node that migrates a
/// large key may not answer for several seconds.
const NODE_TIMEOUT: &str = "60000";

/// The slot of a key, or of its hash tag if it has one.
pub fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let len = rest.iter().position(|byte| *byte == b'}')?;
        (len > 0).then(|| &rest[..len])
    });
    Crc::<u16>::new(&CRC_16_XMODEM).checksum(tag.unwrap_or(key)) % SLOTS
}

/// The nodes: all primaries, then their replicas in the same order.
#[derive(Debug)]
pub struct Nodes {
    pub servers: Vec<Server>,
    pub ids: Vec<String>,
    primaries: usize,
}

impl Nodes {
    /// Starts a cluster and waits until it accepts commands.
    pub fn start(primaries: usize, with_replicas: bool) -> Self {
        Self::start_with(primaries, with_replicas, &Options::new())
    }

    /// As [`Nodes::start`], with further options.
    pub fn start_with(primaries: usize, with_replicas: bool, options: &Options) -> Self {
        let count = primaries * (1 + usize::from(with_replicas));
        let options = (options.clone().cluster())
            .arguments(&["--cluster-node-timeout", NODE_TIMEOUT])
            .arguments(&["--cluster-allow-replica-migration", "no"])
            .arguments(&["--cluster-replica-validity-factor", "0"]);
        let servers: Vec<_> = (0..count).map(|_| options.clone().start()).collect();
        let id = |server: &Server| server.call("CLUSTER MYID").string();
        let ids = servers.iter().map(id).collect();
        let nodes = Self {
            servers,
            ids,
            primaries,
        };
        for node in 0..count {
            nodes.ok(node, &format!("CLUSTER SET-CONFIG-EPOCH {}", node + 1));
        }
        for node in 0..primaries {
            let start = usize::from(SLOTS) * node / primaries;
            let end = usize::from(SLOTS) * (node + 1) / primaries - 1;
            nodes.ok(node, &format!("CLUSTER ADDSLOTSRANGE {start} {end}"));
        }
        // All pairs: gossip about other nodes can take half of the node timeout.
        for (node, server) in nodes.servers.iter().enumerate() {
            let (port, bus) = (server.port(), server.bus_port());
            for earlier in 0..node {
                nodes.ok(earlier, &format!("CLUSTER MEET 127.0.0.1 {port} {bus}"));
            }
        }
        nodes.wait("the nodes to know each other", |nodes| {
            let known = count.to_string();
            let field = |node| nodes.field(node, "cluster_known_nodes");
            (0..count).all(|node| field(node).as_deref() == Some(&known))
        });
        for node in primaries..count {
            // A node may not have received yet that the other node is a primary.
            let command = format!("CLUSTER REPLICATE {}", nodes.ids[node - primaries]);
            nodes.wait("a replica", |nodes| {
                nodes.servers[node].call(&command).is_ok()
            });
        }
        nodes.wait_until_ok();
        nodes
    }

    /// Sends a command that must reply OK.
    pub fn ok(&self, node: usize, command: &str) {
        self.servers[node].ok(command);
    }

    /// Assigns a slot on a node. Valkey first waits for the replicas of the node and fails if one of them lags behind;
    /// the command is then repeated.
    fn set_slot(&self, node: usize, command: &str) {
        let command = format!("CLUSTER SETSLOT {command}");
        self.wait("a replica in step", |nodes| {
            let reply = nodes.servers[node].call(&command);
            let waits = reply.to_string().starts_with("-NOREPLICAS");
            assert!(reply.is_ok() || waits, "node {node}: {command}: {reply}");
            !waits
        });
    }

    fn field(&self, node: usize, name: &str) -> Option<String> {
        let reply = self.servers[node].call("CLUSTER INFO");
        // A replica that loads the data of its primary replies with an error.
        let text = String::from_utf8_lossy(reply.text()?);
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.to_owned()))
    }

    pub fn has_keys(&self, node: usize, slot: u16) -> bool {
        let keys = self.servers[node].call(&format!("CLUSTER COUNTKEYSINSLOT {slot}"));
        keys.integer().expect("a number of keys") > 0
    }

    pub fn wait(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let is_true = time::becomes_true(TIMEOUT, Duration::from_millis(20), || condition(self));
        assert!(is_true, "waited too long for {what}");
    }

    /// The indexes of the primaries, according to a node.
    fn primaries_seen_by(&self, node: usize) -> Vec<usize> {
        let text = self.servers[node].call("CLUSTER NODES").string();
        let is_primary = |id: &String| {
            let line = text.lines().find(|line| line.starts_with(id));
            let flags = line.and_then(|line| line.split(' ').nth(2));
            flags.is_some_and(|flags| flags.split(',').any(|flag| flag == "master"))
        };
        let all = 0..self.servers.len();
        all.filter(|node| is_primary(&self.ids[*node])).collect()
    }

    /// Waits until all nodes report that the cluster works and all replicas are synchronized, and agree about the roles. (A
    /// node refuses its vote to a replica that it takes for a primary, and the others do not vote again for a long time.)
    pub fn wait_until_ok(&self) {
        self.wait("the cluster", |nodes| {
            let primaries = nodes.primaries();
            let agrees = |node| nodes.primaries_seen_by(node) == primaries;
            let works = |node| nodes.field(node, "cluster_state").as_deref() == Some("ok");
            let linked = |node| match nodes.role(node).as_str() {
                "master" => true,
                _ => nodes.servers[node].is_linked(),
            };
            (0..nodes.servers.len()).all(|node| works(node) && linked(node) && agrees(node))
        });
    }

    /// Waits until the nodes.conf of a node is valid, and returns it, for a restart after a kill. Two defects of
    /// servers can prevent this restart. Valkey 8.1 overwrites the file in place, so a kill may leave an incomplete
    /// file. Valkey 8.0 and 8.1 refuse a file in which a replica and its primary have different shards, although they
    /// write such files until they have received the new shard after REPLICATE.
    pub fn known_nodes(&self, node: usize) -> Vec<u8> {
        let file = self.servers[node].dir().join("nodes.conf");
        let mut bytes = Vec::new();
        self.wait("a list of nodes without contradictions", |nodes| {
            nodes.ok(node, "CLUSTER SAVECONFIG");
            bytes = std::fs::read(&file).expect("the nodes that the node knows");
            is_consistent(&String::from_utf8_lossy(&bytes), nodes.servers.len())
        });
        bytes
    }

    /// `master` or `slave`.
    pub fn role(&self, node: usize) -> String {
        self.servers[node].info("role").expect("a role")
    }

    /// The indexes of the current primaries.
    pub fn primaries(&self) -> Vec<usize> {
        let all = 0..self.servers.len();
        all.filter(|node| self.role(*node) == "master").collect()
    }

    /// The other node of a pair of primary and replica.
    pub fn partner(&self, node: usize) -> usize {
        (node + self.primaries) % self.servers.len()
    }

    /// The owner of a slot according to the primaries.
    pub fn owner(&self, slot: u16) -> usize {
        let owns = |node: &usize| {
            // A node's line has eight fields and then the slot ranges.
            let text = self.servers[*node].call("CLUSTER NODES").string();
            let line = text.lines().find(|line| line.contains("myself"));
            line.expect("itself").split(' ').skip(8).any(|range| {
                let (start, end) = range.split_once('-').unwrap_or((range, range));
                match (start.parse::<u16>(), end.parse::<u16>()) {
                    (Ok(start), Ok(end)) => (start..=end).contains(&slot),
                    _ => false,
                }
            })
        };
        let owner = self.primaries().into_iter().find(owns);
        owner.unwrap_or_else(|| panic!("nobody has slot {slot}"))
    }

    /// Migrates a slot with all its keys, a few keys at a time, like `--cluster reshard` of the client.
    pub fn move_slot(&self, slot: u16, to: usize) {
        let from = self.owner(slot);
        assert_ne!(from, to);
        self.set_slot(to, &format!("{slot} IMPORTING {}", self.ids[from]));
        self.set_slot(from, &format!("{slot} MIGRATING {}", self.ids[to]));
        let mut source = self.servers[from].resp2();
        loop {
            let reply = source.call(&format!("CLUSTER GETKEYSINSLOT {slot} 3"));
            let keys = reply.items().expect("keys");
            if keys.is_empty() {
                break;
            }
            let port = self.servers[to].port().to_string();
            let command = ["MIGRATE", "127.0.0.1", &port, "", "0", "60000", "KEYS"];
            let mut command = command.map(str::as_bytes).to_vec();
            command.extend(keys.iter().filter_map(Reply::text));
            source.send_run(&command);
        }
        let mut others = self.primaries();
        others.retain(|node| ![to, from].contains(node));
        for node in [to, from].into_iter().chain(others) {
            self.set_slot(node, &format!("{slot} NODE {}", self.ids[to]));
        }
        self.wait("the slot's new owner", |nodes| nodes.owner(slot) == to);
    }
}

/// Whether the text of a `nodes.conf` is complete, and every replica has the shard of its primary.
fn is_consistent(text: &str, count: usize) -> bool {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let Some((vars, nodes)) = lines.split_last() else {
        return false;
    };
    let shard = |id: &str| {
        let node = nodes.iter().find(|words| words[0] == id)?;
        let mut about = node.get(1)?.split(',');
        Some(about.find_map(|field| field.strip_prefix("shard-id=")))
    };
    let stands_right = |words: &Vec<&str>| match words.get(3) {
        None => false,
        Some(&"-") => true,
        Some(primary) => shard(primary).is_some_and(|its| Some(its) == shard(words[0])),
    };
    // The last line ends with an epoch and a line feed.
    let whole = vars.first() == Some(&"vars") && vars.len() == 5 && text.ends_with('\n');
    whole && nodes.len() == count && nodes.iter().all(stands_right)
}
