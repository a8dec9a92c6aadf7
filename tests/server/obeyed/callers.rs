//! Commands that other modules, scripts and functions run on a replica, as part of a command of the primary. They have no
//! client of the primary, and so not the flag REPLICATED.

use crate::families::{FAMILIES, Family, on_key};
use crate::support::c_modules;
use crate::support::contexts;
use crate::support::resp::Reply;
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};

/// How a command of the primary runs another command.
const CONTEXTS: &[&str] = &[
    "HANDLER.CALL !",
    "HANDLER.CALL !C",
    "HANDLER.CALL !K",
    "transaction",
    "script",
    "function",
    "HANDLER.CALL ! in a script",
    "HANDLER.CALL ! in a function",
    "HANDLER.ON set",
];

const SCRIPT: &str = "return redis.call(unpack(ARGV))";
const LIBRARY: &str = "#!lua name=callers\nredis.register_function('run', function(keys, arguments) \
                       return redis.call(unpack(arguments)) end)";

fn options() -> Options {
    c_modules::with_handler().debug_module()
}

/// Makes the replica run a command in a context. The primary does not run it.
fn run(primary: &mut Server, replica: &Server, context: &str, command: &str) {
    let words: Vec<_> = command.split(' ').collect();
    let in_call = [&["HANDLER.CALL", "!"][..], &words].concat();
    let script = ["EVAL", SCRIPT, "0"];
    let function = ["FCALL", "run", "0"];
    let mut connection = primary.resp2();
    let mut replicate = |caller: &[&str], command: &[&str]| {
        let arguments = [&["HANDLER.REPLICATE"], caller, command].concat();
        connection.send_run(&arguments);
    };
    match context {
        "script" => replicate(&script, &words),
        "function" => replicate(&function, &words),
        "HANDLER.CALL ! in a script" => replicate(&script, &in_call),
        "HANDLER.CALL ! in a function" => replicate(&function, &in_call),
        "transaction" => {
            connection.run("MULTI");
            let queued = [&["HANDLER.REPLICATE"][..], &in_call].concat();
            connection.send_run(&queued);
            connection.run("SET x 1");
            connection.run("EXEC");
        }
        "HANDLER.ON set" => {
            replica.ok(&format!("{context} {command}"));
            connection.run("SET x 1");
        }
        other => {
            let caller: Vec<_> = other.split(' ').collect();
            replicate(&caller, &words);
        }
    }
    primary.wait_for_replica(replica);
}

/// Whether the server lets a module run a command in this context: RedisModule_Call refuses the flag C because the client of the
/// primary has no user, and the flag K on older servers.
fn is_refused(context: &str) -> bool {
    context.starts_with("HANDLER.CALL !C") || context.starts_with("HANDLER.CALL !K")
}

fn newest_pane(server: &Server, key: &str) -> Option<i64> {
    let reply = server.call(&format!("SKETCH.WINDOW {key}"));
    reply.field("newest pane").and_then(Reply::integer)
}

fn digest(server: &Server, key: &str) -> Reply {
    server.call(&format!("DEBUG DIGEST-VALUE {key}"))
}

fn command(family: &Family, template: &str, key: &str, number: usize) -> String {
    let source = format!("{}:source", family.name);
    let command = template.replace("SOURCE", &source);
    on_key(&command.replace("NEW", &number.to_string()), key)
}

/// A replica with limits that refuse every creation by a client, and a clock three years later.
fn limited(options: Options, primary: &Server) -> Server {
    let limits = ["sketch-max-key-bytes", "1", "sketch-windows", "no"];
    let mut replica = options.module_arguments(&limits).start();
    replica.replicate(primary);
    replica.set_clock("+94608000000");
    replica
}

#[test]
fn commands_without_a_client_of_the_primary_are_obeyed_on_a_replica() {
    let mut primary = options().start();
    let mut replica = limited(options(), &primary);
    let mut connection = primary.resp2();
    connection.send_run(&["FUNCTION", "LOAD", LIBRARY]);
    for family in FAMILIES {
        family.build(&mut connection, family.name);
        family.build(&mut connection, &format!("{}:source", family.name));
    }
    primary.wait_for_replica(&replica);
    let mut run_contexts = 0;
    for (number, context) in CONTEXTS.iter().enumerate() {
        for family in FAMILIES {
            let at = format!("{}, {context}", family.name);
            let before = digest(&replica, family.name);
            let pane = newest_pane(&replica, family.name);
            assert_eq!(pane.is_some(), family.has_window);
            let change = command(family, family.change.0, family.name, number);
            run(&mut primary, &replica, context, &change);
            replica.wait_until(&at, |replica| {
                is_refused(context) || digest(replica, family.name) != before
            });
            assert_eq!(newest_pane(&replica, family.name), pane, "{at}");
            let key = format!("{}:{number}", family.name);
            let creation = command(family, family.creations[0], &key, number);
            run(&mut primary, &replica, context, &creation);
            let exists = |replica: &Server| replica.call(&format!("EXISTS {key}")).integer();
            let is_refused = is_refused(context);
            replica.wait_until(&at, |replica| is_refused || exists(replica) == Some(1));
            run_contexts += 1;
        }
    }
    assert_eq!(run_contexts, CONTEXTS.len() * FAMILIES.len());
    // The primary has run none of these commands.
    primary.check("EXISTS bf:0", ":0");
}

/// Before the command of the primary, a client of the replica gets a context of another kind: in all orders of two kinds. The
/// server then may use a client for modules again, with the id of this client's connection.
#[test]
fn commands_in_every_context_after_every_other_are_obeyed_on_a_replica() {
    let handler = ["--loadmodule", c_modules::handler()];
    let options = || contexts::options().arguments(&handler);
    let mut primary = options().debug_module().start();
    let mut replica = limited(options().debug_module(), &primary);
    contexts::prepare(&primary);
    let mut connection = primary.resp2();
    for family in FAMILIES {
        family.build(&mut connection, family.name);
        family.build(&mut connection, &format!("{}:source", family.name));
    }
    primary.wait_for_replica(&replica);
    let version = replica.version();
    let kinds = contexts::kinds(&replica, false);
    let mut of_stream: Vec<_> = kinds.iter().collect();
    of_stream.retain(|kind| contexts::is_of_stream(kind, version));
    assert!(of_stream.len() >= 15, "{of_stream:?}");
    // So each kind gets each type.
    assert_ne!(of_stream.len() % FAMILIES.len(), 0);
    assert!(kinds.len() >= FAMILIES.len());
    let sample = Sample::of_run();
    let mut number = 0;
    for first in &kinds {
        for second in &of_stream {
            let family = &FAMILIES[number % FAMILIES.len()];
            number += 1;
            if !sample.contains(number) {
                continue;
            }
            let at = format!("{}, {first}, then {second}", family.name);
            let key = format!("{}:{number}", family.name);
            for (template, key) in [(family.change.0, family.name), (family.creations[0], &key)] {
                let client = replica.resp2();
                let _open = contexts::run(&mut replica, None, client, (first, ""), "EXISTS x");
                let pane = newest_pane(&replica, family.name);
                let command = command(family, template, key, number);
                let words: Vec<_> = command.split(' ').collect();
                let replicate = ["HANDLER.REPLICATE", "CONTEXTS.RUN"];
                let context = [contexts::KEY, second, ""];
                let arguments = [&replicate[..], &context, &words].concat();
                connection.send_run(&arguments);
                let reply = contexts::wait(&mut replica, &at, None);
                let is_obeyed = !reply.starts_with('-') && reply != "refused";
                assert!(is_obeyed, "{at}: {reply}");
                assert_eq!(newest_pane(&replica, family.name), pane, "{at}");
                let exists = replica.call(&format!("EXISTS {key}"));
                assert_eq!(exists, Reply::Integer(1), "{at}");
            }
        }
    }
    assert_eq!(number, kinds.len() * of_stream.len());
}

/// Clients of a replica can read, also in scripts and functions: the limits of work apply to them.
#[test]
fn reads_of_clients_of_a_replica_are_limited() {
    let mut primary = options().start();
    let mut replica = options().start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    connection.send_run(&["FUNCTION", "LOAD", LIBRARY]);
    connection.ok("CMS.INITBYDIM k 1 1000000");
    primary.wait_for_replica(&replica);
    let item = "a".repeat(100_000);
    let query = ["CMS.QUERY", "k", &item];
    let mut connection = replica.resp2();
    for caller in [
        &[][..],
        &["HANDLER.CALL", "0"],
        &["HANDLER.CALL", "C"],
        &["EVAL", SCRIPT, "0"],
        &["EVAL", SCRIPT, "0", "HANDLER.CALL", "0"],
    ] {
        let reply = connection.send(&[caller, &query].concat()).to_string();
        assert!(reply.contains("too much work"), "{caller:?}: {reply}");
    }
}
