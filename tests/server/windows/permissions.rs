//! SKETCH.WITHIN and SKETCH.AGE need the permission for the command whose data they show.

use crate::support::c_modules;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

fn denied(user: &str, command: &str) -> Reply {
    let text = format!("NOPERM User {user} has no permissions to run the '{command}' command");
    Reply::Error(text.into_bytes())
}

fn user(server: &Server, rules: &str) -> Connection {
    let reply = server.call(&format!("ACL SETUSER reader reset on nopass {rules}"));
    assert!(reply.is_ok(), "{reply}");
    let mut connection = server.resp2();
    connection.call("AUTH reader x");
    connection
}

fn create(server: &Server) {
    for command in [
        "CMS.INITBYDIM k 1000 5 WINDOW 60000",
        "CMS.INITBYDIM other 1000 5 WINDOW 60000",
        "BF.RESERVE bf 0.01 10 WINDOW 60000",
        "CF.RESERVE cf 10 WINDOW 60000",
    ] {
        assert!(server.call(command).is_ok(), "{command}");
    }
}

const QUERY: &str = "SKETCH.WITHIN 1000 CMS.QUERY k a";

#[test]
fn the_user_needs_the_permission_for_the_command() {
    let server = Server::start();
    create(&server);
    let mut reader = user(&server, "~* +sketch.within +sketch.age +eval +multi +exec");
    let script = [
        "EVAL",
        "return redis.pcall('SKETCH.WITHIN', '1000', 'CMS.QUERY', KEYS[1], 'a')",
        "1",
        "k",
    ];
    assert_eq!(reader.call(QUERY), denied("reader", "cms.query"));
    // Redis 8.0 checks the number of arguments before the permission.
    let short = reader.call("SKETCH.WITHIN 1000 cms.Query k");
    let arity = Reply::Error(b"ERR wrong number of arguments for 'cms.query' command".to_vec());
    assert!(
        [denied("reader", "cms.query"), arity].contains(&short),
        "{short}"
    );
    assert_eq!(
        reader.call("SKETCH.AGE bf a"),
        denied("reader", "bf.exists")
    );
    assert_eq!(
        reader.call("SKETCH.AGE cf a"),
        denied("reader", "cf.exists")
    );
    let reply = reader.send(&script);
    assert!(reply.to_string().contains("NOPERM"), "{reply}");
    reader.call("MULTI");
    reader.call(QUERY);
    let reply = reader.call("EXEC");
    assert_eq!(
        reply.items().map(|items| &items[0]),
        Some(&denied("reader", "cms.query")),
        "{reply}"
    );
    // Each refused command is in the log.
    let log = server.call("ACL LOG");
    let entries = log.items().expect("entries");
    let of = |command: &str| {
        let entries = entries.iter();
        let has = |entry: &&Reply| {
            let text = |name| entry.field(name).and_then(Reply::text);
            text("object") == Some(command.as_bytes())
                && text("username") == Some(b"reader")
                && text("reason") == Some(b"command")
        };
        entries.filter(has).count()
    };
    for command in ["cms.query", "bf.exists", "cf.exists"] {
        assert!(of(command) > 0, "{command}: {log}");
    }

    server.call("ACL SETUSER reader +cms.query +bf.exists");
    let count = Reply::Array(vec![Reply::Integer(0)]);
    assert_eq!(reader.call(QUERY), count);
    assert_eq!(reader.send(&script), count);
    assert!(matches!(reader.call("SKETCH.AGE bf a"), Reply::Array(_)));
    assert_eq!(
        reader.call("SKETCH.AGE cf a"),
        denied("reader", "cf.exists")
    );
    // A change of the permissions applies to the next command.
    server.call("ACL SETUSER reader -cms.query");
    assert_eq!(reader.call(QUERY), denied("reader", "cms.query"));
}

/// A user may run SKETCH.WITHIN on all keys, and the command itself on some.
#[test]
fn the_permission_is_that_for_the_key() {
    let server = Server::start();
    create(&server);
    let mut reader = user(&server, "+sketch.within ~* (+cms.query ~other)");
    assert_eq!(reader.call(QUERY), denied("reader", "cms.query"));
    let reply = reader.call("SKETCH.WITHIN 1000 CMS.QUERY other a");
    assert_eq!(reply, Reply::Array(vec![Reply::Integer(0)]));
    let mut reader = user(&server, "+sketch.within +cms.query ~other");
    let reply = reader.call(QUERY);
    assert!(
        matches!(&reply, Reply::Error(text) if text.starts_with(b"NOPERM")),
        "{reply}"
    );
}

/// Another module runs the command without a user.
#[test]
fn commands_without_a_user_are_not_checked() {
    let server = Options::new()
        .arguments(&["--loadmodule", c_modules::handler()])
        .start();
    create(&server);
    server.call("CMS.INCRBY k a 3");
    server.call(&format!("HANDLER.ON set {QUERY}"));
    server.call("SET x 1");
    let replies = server.call("HANDLER.OFF");
    let replies = replies.items().expect("replies");
    assert_eq!(
        replies[0].text(),
        Some(&b"*1\r\n:3\r\n"[..]),
        "{}",
        replies[0]
    );
}
