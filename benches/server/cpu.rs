//! CPU time of a server.

use crate::load::{Connections, Load};
use crate::support::server::Server;

/// User and system CPU time of the server process, in seconds.
fn seconds(server: &Server) -> f64 {
    let info = server.call("INFO cpu");
    let text = String::from_utf8_lossy(info.text().expect("a text")).into_owned();
    let field = |name: &str| -> f64 {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .and_then(|number| number.parse().ok())
            .expect("a number")
    };
    field("used_cpu_user") + field("used_cpu_sys")
}

/// Sends a load. Returns the CPU time of the server per command, in ns.
///
/// # Panics
/// If a connection breaks or a reply is an error.
pub fn per_command(server: &Server, connections: &mut Connections, load: &Load) -> f64 {
    let before = seconds(server);
    connections.run(load);
    (seconds(server) - before) * 1e9 / load.commands as f64
}

/// Name and version of the server, such as `Redis 8.0.2`.
pub fn version(server: &Server) -> String {
    match server.info("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", server.info("redis_version").unwrap_or_default()),
    }
}
