//! Calls every command with the `redis` crate, in RESP2 and RESP3. Bloom filters use the crate's typed methods. The
//! crate has no methods for the other families, which use `redis::cmd` with typed replies.
//!
//! Environment: ROUGHLY_PORT is the port of the server on this machine (required). The program deletes all keys.

mod bloom;
mod raw;
mod windows;

use redis::{Client, Connection, RedisResult};
use std::collections::{HashMap, HashSet};

/// Parses a command line whose arguments are separated by spaces.
pub fn cmd(line: &str) -> redis::Cmd {
    let mut parts = line.split(' ');
    let mut command = redis::cmd(parts.next().unwrap_or_default());
    for argument in parts {
        command.arg(argument);
    }
    command
}

/// Calls the commands of all families on one connection; returns the number of commands of the module.
fn walk(connection: &mut Connection) -> RedisResult<usize> {
    cmd("FLUSHALL").exec(connection)?;
    cmd("CONFIG RESETSTAT").exec(connection)?;
    bloom::walk(connection)?;
    raw::cuckoo(connection)?;
    raw::count_min(connection)?;
    raw::top_k(connection)?;
    raw::t_digest(connection)?;
    windows::walk(connection)?;
    all_called(connection)
}

/// Checks with the server's counters that every command of the module was called; returns their number.
fn all_called(connection: &mut Connection) -> RedisResult<usize> {
    let names: HashSet<String> = cmd("COMMAND LIST FILTERBY MODULE bf").query(connection)?;
    let stats: redis::InfoDict = cmd("INFO commandstats").query(connection)?;
    let missed: Vec<_> = names
        .iter()
        .filter(|name| !stats.contains_key(&format!("cmdstat_{name}").as_str()))
        .collect();
    assert!(names.len() > 50, "{names:?}");
    assert!(missed.is_empty(), "not called: {missed:?}");
    Ok(names.len())
}

fn main() -> RedisResult<()> {
    let port = std::env::var("ROUGHLY_PORT").expect("ROUGHLY_PORT");
    let mut commands = HashMap::new();
    for protocol in ["resp2", "resp3"] {
        let client = Client::open(format!("redis://127.0.0.1:{port}/?protocol={protocol}"))?;
        commands.insert(protocol, walk(&mut client.get_connection()?)?);
    }
    println!(
        "  redis (Rust): {} commands, RESP2 and RESP3",
        commands["resp3"]
    );
    Ok(())
}
