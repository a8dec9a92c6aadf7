//! SKETCH.WITHIN and SKETCH.AGE need the permission for the command whose data they show.

use super::with_window;
use crate::support::c_modules::with_handler;
use crate::support::contexts;
use crate::support::resp::{Connection, Reply, error};
use crate::support::sample::Sample;
use crate::support::server::Server;

fn denied(command: &str) -> String {
    format!("-NOPERM User reader has no permissions to run the '{command}' command")
}

fn user(server: &Server, rules: &str) -> Connection {
    server.ok(&format!("ACL SETUSER reader reset on nopass {rules}"));
    let mut connection = server.resp2();
    connection.call("AUTH reader x");
    connection
}

fn create(server: &Server) {
    let creations = "CMS.INITBYDIM k 1000 5;CMS.INITBYDIM other 1000 5;\
        BF.RESERVE bf 0.01 10;CF.RESERVE cf 10;BF.RESERVE {k}bf 0.01 10";
    for create in creations.split(';') {
        server.ok(&with_window(create, WINDOW));
    }
}

/// Ten years: nothing expires while a test runs, however long it takes.
const WINDOW: &str = "WINDOW 315360000000";

const QUERY: &str = "SKETCH.WITHIN 315360000000 CMS.QUERY k a";

#[test]
fn the_user_needs_the_permission_for_the_command() {
    let server = Server::start();
    create(&server);
    let mut reader = user(&server, "~* +sketch.within +sketch.age +eval +multi +exec");
    let script = "return redis.pcall('SKETCH.WITHIN', '315360000000', 'CMS.QUERY', KEYS[1], 'a')";
    let script = ["EVAL", script, "1", "k"];
    reader.check(QUERY, denied("cms.query"));
    // Redis 8.0 checks the number of arguments before the permission.
    let short = reader.call("SKETCH.WITHIN 315360000000 cms.Query k");
    let arity = error("ERR wrong number of arguments for 'cms.query' command");
    let is_denied = short.to_string() == denied("cms.query");
    assert!(is_denied || short == arity, "{short}");
    reader.check("SKETCH.AGE bf a", denied("bf.exists"));
    reader.check("SKETCH.AGE cf a", denied("cf.exists"));
    let reply = reader.send(&script);
    assert!(reply.to_string().contains("NOPERM"), "{reply}");
    reader.call("MULTI");
    reader.call(QUERY);
    reader.check("EXEC", format!("*[{}]", denied("cms.query")));
    // Each refused command is in the log.
    let log = server.call("ACL LOG");
    for command in ["cms.query", "bf.exists", "cf.exists"] {
        let mut entries = log.items().expect("entries").iter();
        let is_logged = entries.any(|entry| {
            let fields = ["object", "username", "reason"];
            let texts = fields.map(|name| entry.field(name).expect(name).string());
            texts == [command, "reader", "command"]
        });
        assert!(is_logged, "{command}: {log}");
    }

    server.call("ACL SETUSER reader +cms.query +bf.exists");
    reader.check(QUERY, "*[:0]");
    assert_eq!(reader.send(&script).to_string(), "*[:0]");
    reader.check("SKETCH.AGE bf a", "*[...");
    reader.check("SKETCH.AGE cf a", denied("cf.exists"));
    // A change of the permissions applies to the next command.
    server.call("ACL SETUSER reader -cms.query");
    reader.check(QUERY, denied("cms.query"));
    // Of SKETCH.BETWEEN and SKETCH.SERIES, the command and the permission are checked before the key.
    let rules = "ACL SETUSER reader resetkeys ~k +sketch.between +sketch.series -cms.query";
    for part in ["SKETCH.BETWEEN - +", "SKETCH.SERIES - + 1"] {
        server.ok(rules);
        reader.check(&format!("{part} cms.Query k a"), denied("cms.query"));
        let filter = format!("{part} BF.EXISTS k a");
        reader.check(&filter, "-ERR a filter stores only the last addition...");
        server.ok("ACL SETUSER reader +cms.query");
        reader.run(&format!("{part} CMS.QUERY k a"));
        reader.check(&format!("{part} CMS.QUERY other a"), "-NOPERM...");
    }
}

/// A user may run SKETCH.WITHIN on all keys, and the command itself on some.
#[test]
fn the_permission_is_that_for_the_key() {
    let server = Server::start();
    create(&server);
    let mut reader = user(&server, "+sketch.within ~* (+cms.query ~other)");
    reader.check(QUERY, denied("cms.query"));
    reader.check("SKETCH.WITHIN 315360000000 CMS.QUERY other a", "*[:0]");
    let mut reader = user(&server, "+sketch.within +cms.query ~other");
    reader.check(QUERY, "-NOPERM...");
}

/// A function that runs the command in its arguments, also on a read-only replica.
const LIBRARY: &str = "#!lua name=callers\nredis.register_function{function_name='run', flags={'no-writes'}, \
                       callback=function(keys, arguments) return redis.call(unpack(arguments)) end}";

/// Other modules run the commands with and without a user, in MULTI, scripts and functions, on a primary and on a replica. No flag
/// of the command shows whether it has a user.
#[test]
fn other_modules_run_the_commands_in_scripts_and_transactions() {
    let (mut primary, mut replica) = (with_handler().start(), with_handler().start());
    create(&primary);
    primary.call("BF.ADD bf a");
    primary.call("CMS.INCRBY k a 3");
    let loaded = primary.resp2().send(&["FUNCTION", "LOAD", LIBRARY]);
    assert_eq!(loaded.string(), "callers");
    replica.replicate(&primary);
    run_in_every_caller(&mut primary);
    run_in_every_caller(&mut replica);
}

fn run_in_every_caller(server: &mut Server) {
    let mut connection = server.resp2();
    let none = Reply::Array(vec![Reply::Null('$')]);
    let three = Reply::Array(vec![Reply::Integer(3)]);
    let refused = Reply::Error(b"ERR refused".to_vec());
    for (command, expected) in [(QUERY, &three), ("SKETCH.AGE bf b", &none)] {
        // Redis 7.0 has no flag K.
        for flags in ["!", "!C", "!K", "!CK"] {
            let call = format!("HANDLER.CALL {flags} {command}");
            let is_expected =
                |reply: &Reply| reply == expected || flags.contains('K') && *reply == refused;
            let reply = connection.call(&call);
            assert!(is_expected(&reply), "{call}: {reply}");
            connection.call("MULTI");
            connection.call(&call);
            let reply = connection.call("EXEC");
            let replies = reply.items().unwrap_or_else(|| panic!("{call}: {reply}"));
            // Inside of MULTI, the flag K is not allowed.
            let in_multi = &replies[0];
            let is_error = flags.contains('K') && in_multi.is_error();
            assert!(is_expected(in_multi) || is_error, "{call}: {reply}");
            let words: Vec<_> = call.split(' ').collect();
            for caller in [
                ["EVAL", "return redis.call(unpack(ARGV))", "0"],
                ["FCALL", "run", "0"],
            ] {
                let reply = connection.send(&[&caller, &words[..]].concat());
                let is_error = flags.contains('K') && reply.is_error();
                let is_right = is_expected(&reply) || is_error;
                assert!(is_right, "{call} in {caller:?}: {reply}");
            }
        }
    }
}

/// Kinds in which RedisModule_Call with the flag C runs the command as the user of the client.
const OF_CLIENT: &str = "command scan notification reply timeout keys";

/// Other modules run the commands in every context after every other, as a client that may not read the data. Without the flag C
/// the command has no user.
fn run_in_every_context(server: &mut Server, sender: Option<&Server>) {
    server.call("ACL SETUSER reader reset on nopass ~* +@all -cms.query -bf.exists");
    let kinds = contexts::kinds(server, sender.is_some());
    let is_kind = |kind: &str| kinds.iter().any(|other| other == kind);
    assert!(OF_CLIENT.split(' ').all(is_kind), "{kinds:?}");
    let mut run = |(kind, flags): (&str, &str), command: &str| {
        let mut connection = server.resp2();
        connection.call("AUTH reader x");
        contexts::run(server, sender, connection, (kind, flags), command)
    };
    let sample = Sample::of_run();
    for (number, first) in kinds.iter().enumerate() {
        if !sample.contains(number) {
            continue;
        }
        for second in &kinds {
            for (command, expected) in [
                (QUERY, "*1\\r\\n:3\\r\\n"),
                ("SKETCH.AGE {k}bf b", "*1\\r\\n$-1\\r\\n"),
            ] {
                let _open = run((first, ""), "EXISTS x");
                let (reply, _open) = run((second, ""), command);
                let what = format!("{command}: {first}, then {second}");
                assert_eq!(reply, expected, "{what}");
                let (reply, _open) = run((second, "C"), command);
                let is_denied = reply == "refused" || reply.starts_with("-NOPERM");
                let is_of_client = OF_CLIENT.split(' ').any(|kind| kind == second);
                let may_read = !is_of_client && reply == expected;
                assert!(is_denied || may_read, "{what} as a user: {reply}");
            }
        }
    }
}

#[test]
fn other_modules_run_the_commands_in_every_context_after_every_other() {
    let mut primary = contexts::options().start();
    let mut replica = contexts::options().start();
    create(&primary);
    contexts::prepare(&primary);
    primary.call("CMS.INCRBY k a 3");
    replica.replicate(&primary);
    primary.wait_for_replica(&replica);
    run_in_every_context(&mut replica, None);
}

/// As above, with messages of a cluster.
#[test]
fn other_modules_run_the_commands_in_every_context_of_a_cluster() {
    let mut node = contexts::options().cluster().start();
    let sender = contexts::options().cluster().start();
    node.ok("CLUSTER ADDSLOTSRANGE 0 16383");
    let (port, bus_port) = (node.port(), node.bus_port());
    sender.ok(&format!("CLUSTER MEET 127.0.0.1 {port} {bus_port}"));
    node.wait_until("the cluster", |node| {
        node.call("CLUSTER INFO")
            .to_string()
            .contains("cluster_state:ok")
    });
    create(&node);
    contexts::prepare(&node);
    node.call("CMS.INCRBY k a 3");
    run_in_every_context(&mut node, Some(&sender));
}

/// To find the user, the module calls a command without a name. Filters of other modules can run commands then.
#[test]
fn commands_can_run_while_the_user_is_looked_up() {
    let mut server = contexts::options().start();
    create(&server);
    server.check("BF.ADD bf a", ":1");
    for (read, missing) in [
        ("SKETCH.AGE bf a", "*[$-1]"),
        ("SKETCH.WITHIN 315360000000 BF.EXISTS bf a", ":0"),
    ] {
        for (command, reply, deletes) in [
            ("BF.ADD other-bf x", ":1", false),
            ("BF.EXISTS bf a", ":1", false),
            ("DEL bf other-bf", ":2", true),
        ] {
            let mut run = vec!["CONTEXTS.RUN", contexts::KEY, "unnamed", ""];
            run.extend(command.split(' '));
            server.resp2().send_ok(&run);
            let read_reply = server.resp2().call(read).to_string();
            let got = contexts::wait(&mut server, command, None);
            assert_eq!(got.split("\\r").next(), Some(reply), "{read}, {command}");
            let is_missing = read_reply == missing;
            assert_eq!(is_missing, deletes, "{read}, {command}: {read_reply}");
        }
        server.call(&with_window("BF.RESERVE bf 0.01 10", WINDOW));
        server.call("BF.ADD bf a");
    }
    assert!(!server.log().contains("internal error"));
}
