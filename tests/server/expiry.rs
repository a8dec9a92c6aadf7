//! Expired keys that the server has not deleted yet. DEBUG DIGEST includes them.

use crate::families::{FAMILIES, run_on};
use crate::support::expiry::create_expired;
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};

const KEY: &str = "k";
/// A built-in type, for comparison with the module's types.
const LIST: (&str, &[&str]) = ("list", &["RPUSH KEY a b c"]);

/// Every type with the commands that create a value.
fn types() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let samples = FAMILIES.iter();
    std::iter::once(LIST).chain(samples.map(|family| (family.type_name, family.build)))
}

/// A primary with an AOF and a replica. They delete an expired key only when a command accesses it.
struct Nodes {
    primary: Server,
    replica: Server,
}

impl Nodes {
    fn start() -> Self {
        let primary = Options::new().arguments(&["--appendonly", "yes"]).start();
        let mut replica = Server::start();
        replica.replicate(&primary);
        for server in [&primary, &replica] {
            server.ok("DEBUG SET-ACTIVE-EXPIRE 0");
        }
        Self { primary, replica }
    }

    /// Accesses the key on the primary, which deletes it if it has expired.
    fn open(&self) {
        self.primary.check(&format!("TYPE {KEY}"), "+none");
    }

    /// The digests of primary and replica.
    fn digests(&mut self) -> (Reply, Reply) {
        self.primary.wait_for_replica(&self.replica);
        let digest = |server: &Server| server.call("DEBUG DIGEST");
        (digest(&self.primary), digest(&self.replica))
    }
}

/// DEBUG RELOAD drops expired keys without sending DEL to the replicas and the AOF.
#[test]
fn a_reload_of_the_primary_handles_expired_sketches_like_lists() {
    let mut nodes = Nodes::start();
    let empty = nodes.digests().0;
    let mut outcomes = types().map(|(name, build)| {
        let mut steps = Vec::new();
        let mut observe = |step, nodes: &mut Nodes| {
            let (primary, replica) = nodes.digests();
            steps.push((step, primary == replica, primary == empty, replica == empty));
        };
        create_expired(&mut nodes.primary.resp2(), KEY, |connection| {
            run_on(connection, KEY, build);
        });
        observe("expired", &mut nodes);
        nodes.primary.ok("DEBUG LOADAOF");
        observe("AOF with the expired key loaded", &mut nodes);
        nodes.primary.ok("DEBUG RELOAD");
        observe("reloaded", &mut nodes);
        nodes.open();
        observe("opened", &mut nodes);
        run_on(&mut nodes.primary.resp2(), KEY, build);
        observe("created again", &mut nodes);
        nodes.primary.ok("DEBUG LOADAOF");
        observe("AOF loaded", &mut nodes);
        nodes.primary.call(&format!("DEL {KEY}"));
        observe("deleted", &mut nodes);
        (name, steps)
    });
    let (_, list) = outcomes.next().expect("the list");
    assert_eq!(list.last(), Some(&("deleted", true, true, true)));
    for (name, steps) in outcomes {
        assert_eq!(steps, list, "{name}");
    }
}
