//! Clients of a writable replica while it loads asynchronously: the server sets the flag of loading for them, too.

use crate::families::{FAMILIES, on_key};
use crate::support::server::Options;
use crate::workload::words;

/// Keys of the primary; the replica takes 10 ms for each.
const KEYS: usize = 500;

#[test]
fn clients_are_limited_during_asynchronous_loading() {
    let mut primary = Options::new()
        .arguments(&["--repl-backlog-size", "16kb", "--repl-diskless-sync", "yes"])
        .arguments(&["--rdbcompression", "no"])
        .start();
    let mut replica = Options::new()
        .arguments(&["--repl-diskless-load", "swapdb"])
        .arguments(&["--replica-read-only", "no"])
        .arguments(&["--loading-process-events-interval-bytes", "1024"])
        .module_arguments(&["sketch-max-key-bytes", "1", "sketch-windows", "no"])
        .start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    for family in FAMILIES {
        family.build(&mut connection, &format!("{}:source", family.name));
    }
    let value = "x".repeat(1000);
    for number in 0..KEYS {
        connection.send(&["SET", &number.to_string(), &value]);
    }
    primary.wait_for_replica(&replica);
    // The primary has the identity that the replica expects, but not the commands that it lacks.
    replica.ok("CONFIG SET key-load-delay 10000");
    connection.call("MULTI");
    connection.call("CLIENT KILL TYPE replica");
    connection.send(&["SET", "large", &"x".repeat(100_000)]);
    connection.call("EXEC");
    replica.wait_until("asynchronous loading", |replica| {
        replica.info("async_loading").as_deref() == Some("1")
    });
    let mut commands = Vec::new();
    for family in FAMILIES {
        for (number, creation) in family.creations.iter().enumerate() {
            let command = creation.replace("SOURCE", &format!("{}:source", family.name));
            commands.push(on_key(&command, &format!("{}:{number}", family.name)));
        }
    }
    let mut client = replica.resp2();
    for command in &commands {
        client.write(&words(command)).expect("a command");
    }
    client.write(&["INFO", "persistence"]).expect("a command");
    for command in &commands {
        let reply = client.read().expect("a reply").to_string();
        let limits = ["sketch-max-key-bytes", "sketch-windows"];
        let is_limited = limits.iter().any(|limit| reply.contains(limit));
        assert!(is_limited, "{command}: {reply}");
    }
    let info = client.read().expect("a reply").to_string();
    assert!(info.contains("async_loading:1"), "{info}");
    client.ok("CONFIG SET key-load-delay 0");
    primary.wait_for_replica(&replica);
    // The loaded keys are those of the primary.
    for family in FAMILIES {
        replica.check(&format!("EXISTS {}:source", family.name), ":1");
    }
}
