//! Commands that another module runs in each kind of context that a module can get (tests/server/modules/contexts.c).

use super::c_modules;
use super::resp::Connection;
use super::server::{Options, Server, Version};

/// Options of a server with the module. Its cron runs often, because some kinds wait for it.
#[must_use]
pub fn options() -> Options {
    Options::new().arguments(&["--loadmodule", c_modules::contexts(), "--hz", "500"])
}

/// The key for which the kind `keys` waits. In a cluster, the commands must use keys of the slot of `k`: Valkey looks for all keys
/// of a command in the slot of its first one.
pub const KEY: &str = "{k}contexts";

/// Creates what the kinds need.
pub fn prepare(server: &Server) {
    server.ok(&format!("CMS.INITBYDIM {KEY} 1 1"));
}

/// The kinds of the server in which [`run`] can run any command, if the server has a sender, which is another node of its cluster,
/// or none. Replicas have no jobs after notifications.
#[must_use]
pub fn kinds(server: &Server, has_sender: bool) -> Vec<String> {
    let is_replica = server.info("role").as_deref() == Some("slave");
    let mut kinds = server.call("CONTEXTS.KINDS").strings();
    kinds.retain(|kind| match kind.as_str() {
        "cluster" => has_sender,
        "unnamed" => false,
        "job" => !is_replica,
        _ => true,
    });
    kinds
}

/// Whether a command of a primary can get a context of this kind on a replica: its connection does not end, and sends no AUTH.
/// Newer Valkey does not block a client that is a primary.
#[must_use]
pub fn is_of_stream(kind: &str, version: Version) -> bool {
    match kind {
        "disconnect" | "auth" | "cluster" => false,
        "reply" | "free" | "timeout" | "keys" => !version.is_valkey_at_least(8, 1),
        _ => true,
    }
}

/// Runs a command in a context of a kind, with flags of `RedisModule_Call`, for a connection. Returns the reply in RESP2, or
/// `refused` if the server did not run the command, and the connection, unless its end is the kind: a server finds a client by
/// its id as long as the client is connected.
pub fn run(
    server: &mut Server,
    sender: Option<&Server>,
    mut connection: Connection,
    (kind, flags): (&str, &str),
    command: &str,
) -> (String, Option<Connection>) {
    let mut words = vec!["CONTEXTS.RUN", KEY, kind, flags];
    words.extend(command.split(' '));
    let mut open = None;
    if kind == "disconnect" {
        connection.write(&words).expect("a connection");
        server.wait_until("a blocked client", |server| {
            server.info_number("blocked_clients") == 1
        });
        drop(connection);
    } else {
        connection.send_ok(&words);
        if kind == "auth" {
            connection.check("AUTH nobody x", "-...");
        }
        open = Some(connection);
    }
    let reply = wait(server, kind, sender.filter(|_| kind == "cluster"));
    (reply, open)
}

/// Waits for the reply of the command that another server has sent, in RESP2.
pub fn wait(server: &mut Server, what: &str, sender: Option<&Server>) -> String {
    let mut text = None;
    server.wait_until(what, |server| {
        if let Some(sender) = sender {
            sender.ok("CONTEXTS.SEND");
        }
        let reply = server.call("CONTEXTS.REPLY");
        text = reply.text().map(|text| text.escape_ascii().to_string());
        text.is_some()
    });
    text.unwrap_or_default()
}
