//! An import of slots that fails ends: afterwards, the limits apply to clients of the target again.

use super::nodes::{Nodes, slot};
use super::{FAMILIES, Migration, fill, migration, tag_in};
use crate::support::resp::Reply;

const FROM: usize = 0;
const TO: usize = 1;

/// A cluster with a slot whose import takes some seconds, and a payload that the target refuses to clients.
struct Import {
    nodes: Nodes,
    migration: Migration,
    slot: u16,
    payload: Vec<u8>,
}

impl Import {
    fn prepare() -> Self {
        let nodes = Nodes::start(3, false);
        let migration = migration(&nodes);
        let tag = tag_in(0..5000);
        let mut source = nodes.servers[FROM].resp2();
        fill(&mut source, &tag, 500_000);
        let mut families = FAMILIES.iter();
        let family = families.find(|family| family.type_name == "bloomfltr");
        let key = format!("{{{tag}}}bloom");
        family.expect("a type").build(&mut source, &key);
        let payload = source.payload(&key);
        nodes.ok(TO, "CONFIG SET bf.bloom-memory-usage-limit 1");
        // The target replies although the source is down.
        nodes.ok(TO, "CONFIG SET cluster-require-full-coverage no");
        let import = Self {
            nodes,
            migration,
            slot: slot(tag.as_bytes()),
            payload,
        };
        assert!(!import.is_running());
        import
    }

    /// Whether the target obeys RESTORE, which no client but the node of the slots should use during an import.
    fn is_running(&self) -> bool {
        let key = format!("{{{}}}k", tag_in(6000..10_000));
        let reply = self.nodes.servers[TO].resp2().replace(key, &self.payload);
        let is_refused = reply.to_string() == "-ERR Bad data format";
        assert!(reply.is_ok() || is_refused, "{reply}");
        reply.is_ok()
    }

    fn start(&self) {
        self.migration.start(&self.nodes, self.slot);
        self.nodes.wait("the import", |_| self.is_running());
    }

    fn cancel(&self) {
        let (node, command) = match self.migration {
            Migration::MigrateSlots => (FROM, "CLUSTER CANCELSLOTMIGRATIONS"),
            Migration::Import => (TO, "CLUSTER MIGRATION CANCEL ALL"),
        };
        self.nodes.servers[node].run(command);
    }

    /// How often Redis has tried the import again.
    fn retries(&self) -> i64 {
        let imports = self.nodes.servers[TO].call("CLUSTER MIGRATION STATUS ALL");
        let imports = imports.items().expect("an array").iter();
        let retries = imports.map(|import| import.field("retries").and_then(Reply::integer));
        retries.map(|retries| retries.expect("a number")).sum()
    }

    /// The import is over and has moved nothing.
    fn assert_ended(&self) {
        let nodes = &self.nodes;
        nodes.wait("the end of the import", |_| !self.is_running());
        nodes.wait("the final state of the import", |nodes| {
            let command = match self.migration {
                Migration::MigrateSlots => "CLUSTER GETSLOTMIGRATIONS",
                Migration::Import => "CLUSTER MIGRATION STATUS ALL",
            };
            let imports = nodes.servers[TO].call(command);
            let imports = imports.items().expect("an array").iter();
            let mut states = imports.map(|import| import.field("state").and_then(Reply::text));
            states.all(|state| {
                [&b"canceled"[..], b"cancelled", b"failed"].contains(&state.expect("a state"))
            })
        });
        // It does not start again.
        assert!(!self.is_running());
        assert!(!nodes.has_keys(TO, self.slot));
    }
}

#[test]
#[ignore = "needs a server with atomic slot migration: Redis 8.4, Valkey 9.0"]
fn a_canceled_import_ends() {
    let import = Import::prepare();
    for _ in 0..3 {
        import.start();
        import.cancel();
        import.assert_ended();
        assert_eq!(import.nodes.owner(import.slot), FROM);
    }
}

#[test]
#[ignore = "needs a server with atomic slot migration: Redis 8.4, Valkey 9.0"]
fn an_import_from_a_killed_node_ends() {
    let mut import = Import::prepare();
    import.start();
    import.nodes.servers[FROM].kill();
    let ends = |import: &Import| import.nodes.wait("a failure", |_| !import.is_running());
    ends(&import);
    if matches!(import.migration, Migration::Import) {
        // Redis tries again until the import is canceled. An attempt can end at once.
        let nodes = &import.nodes;
        nodes.wait("the next import", |_| import.retries() > 0);
        ends(&import);
        import.cancel();
    }
    import.assert_ended();
}
