//! Modules that run commands in their handlers of keyspace events during a command of this module.
//! tests/server/modules/handler.c is such a module.

mod needs_jemalloc;

use crate::families::valkey_bloom::load_payload;
use crate::families::{FAMILIES, Family, one_per_family};
use crate::support::c_modules;
use crate::support::expiry::create_expired;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;
use crate::workload::words;

fn start() -> Server {
    c_modules::with_handler().start()
}

/// Runs `handler` on every event with this name until [`replies`] is called.
fn on(connection: &mut Connection, event: &str, handler: &str) {
    connection.ok(&format!("HANDLER.ON {event} {handler}"));
}

/// The replies to the handler's commands in RESP2, without the last line terminator.
fn replies(connection: &mut Connection) -> Vec<String> {
    let mut texts = connection.call("HANDLER.OFF").strings();
    for text in &mut texts {
        *text = text.trim_end().replace("\r\n", " ");
    }
    texts
}

/// A command that creates a key.
#[derive(Debug, Clone)]
struct Creation {
    arguments: Vec<Vec<u8>>,
    event: String,
}

impl Creation {
    fn name(&self) -> String {
        String::from_utf8_lossy(&self.arguments[0]).into_owned()
    }

    /// The event is named after the command, except for keys of valkey-bloom's type.
    fn new(arguments: Vec<Vec<u8>>) -> Self {
        let event = String::from_utf8_lossy(&arguments[0]).to_lowercase();
        Self { arguments, event }
    }

    fn run(&self, connection: &mut Connection, key: &str) -> Reply {
        let arguments = self.arguments.iter().map(|argument| match &argument[..] {
            b"KEY" => key.as_bytes(),
            other => other,
        });
        connection.send(&arguments.collect::<Vec<_>>())
    }
}

/// The key that the commands of [`creations`] create for a family.
fn source(family: &Family) -> String {
    format!("source:{}", family.name)
}

/// Every way to create a key. Also creates a source of each family.
fn creations(connection: &mut Connection) -> Vec<Creation> {
    let mut creations = Vec::new();
    for family in FAMILIES {
        let source = source(family);
        family.build(connection, &source);
        for command in family.creations {
            let command = command.replace("SOURCE", &source);
            let mut creation = Creation::new(words(&command));
            if family.type_name == "bloomfltr" {
                creation.event = "bloom.reserve".to_owned();
            }
            creations.push(creation);
        }
        let (iterator, chunk) = family.scan(connection, &source, 0).expect("a header");
        assert_eq!(iterator, 1);
        let load = family.command("LOADCHUNK").into_bytes();
        creations.push(Creation::new(vec![load, b"KEY".into(), b"1".into(), chunk]));
    }
    let payload = load_payload(connection, "source:bloomfltr");
    creations.push(Creation {
        arguments: vec![b"BF.LOAD".into(), b"KEY".into(), payload],
        event: "bloom.reserve".to_owned(),
    });
    creations
}

/// Bytes and keys that INFO counts for each family.
fn figures(server: &Server) -> Vec<Option<String>> {
    let prefixes = FAMILIES.iter().map(|family| family.info_prefix);
    let fields = prefixes.flat_map(|prefix| [format!("{prefix}keys"), format!("{prefix}bytes")]);
    fields.map(|field| server.info(&field)).collect()
}

fn assert_no_internal_error(server: &Server) {
    let log = server.log();
    let found = log.lines().find(|line| line.contains("internal error"));
    assert_eq!(found, None);
}

#[test]
fn every_command_that_creates_a_key_is_tested() {
    let (_server, mut connection) = Server::start().connected();
    let tested = creations(&mut connection).into_iter();
    let tested: Vec<_> = tested
        .map(|creation| creation.name().to_lowercase())
        .collect();
    let mut creating = 0;
    for family in one_per_family() {
        for write in family.write_commands {
            let name = format!("{}.{}", family.prefix, write.name);
            let arguments = write.arguments.replace("SOURCE", &source(family));
            // These create a key, but `write.arguments` has no valid header or payload.
            let creates = ["loadchunk", "load"].contains(&write.name) || {
                connection.call(format!("{name} new {arguments}").trim_end());
                connection.call("DEL new") == Reply::Integer(1)
            };
            assert_eq!(tested.contains(&name), creates, "{name}");
            creating += usize::from(creates);
        }
    }
    assert!(creating > 10, "{creating}");
}

/// Any command can run during the event of a new key or of a change.
#[test]
fn commands_run_by_a_handler_reply_as_usual() {
    let (server, mut connection) = start().connected();
    let creations = creations(&mut connection);
    let handlers = FAMILIES.iter().map(|family| {
        let (command, reply) = family.handler;
        (command.replace("SOURCE", &source(family)), reply)
    });
    let handlers = handlers.chain([("BF.EXISTS other x".to_owned(), ":0")]);
    let handlers: Vec<_> = handlers.collect();
    for creation in &creations {
        let command = creation.name();
        let wanted = creation.run(&mut connection, "plain");
        for (handler, reply) in &handlers {
            for event in ["new", &creation.event] {
                on(&mut connection, event, handler);
                let got = creation.run(&mut connection, "key");
                let replies = replies(&mut connection);
                assert_eq!(got, wanted, "{command}, {event}, {handler}");
                assert_eq!(replies, [*reply], "{command}, {event}, {handler}");
                connection.check("DEL key", ":1");
            }
        }
        connection.call("DEL plain");
    }
    for (number, family) in FAMILIES.iter().enumerate() {
        family.build(&mut connection, "key");
        let (change, event) = family.change;
        on(&mut connection, event, "BF.EXISTS other x");
        let change = change.replace("KEY", "key");
        connection.call(&change.replace("NEW", &number.to_string()));
        assert_eq!(replies(&mut connection), [":0"], "{change}");
        connection.call("DEL key");
    }
    assert_no_internal_error(&server);
}

/// Opening a source can delete it if it has expired, or publish that it is missing.
#[test]
fn commands_can_run_while_a_merge_opens_its_keys() {
    let (server, mut connection) = start().connected();
    connection.ok("DEBUG SET-ACTIVE-EXPIRE 0");
    for family in FAMILIES {
        let Some(merge) = &family.merge else {
            continue;
        };
        let command = format!("{} d 2 a b", family.command("MERGE"));
        for handler in ["BF.ADD log KEY", "DEL a", "DEL d"] {
            for event in ["keymiss", "expired"] {
                for key in ["a", "b", "d"] {
                    connection.ok(&merge.create.replace("KEY", key));
                }
                connection.call("DEL b");
                if event == "expired" {
                    create_expired(&mut connection, "b", |connection| {
                        connection.call(&merge.create.replace("KEY", "b"));
                    });
                }
                on(&mut connection, event, handler);
                let reply = connection.call(&command).to_string();
                let replies = replies(&mut connection);
                assert_eq!(reply, merge.missing_source, "{command}, {event}, {handler}");
                // A destination that is deleted is also reported as missing.
                assert!(!replies.is_empty(), "{command}, {event}, {handler}");
                let refused = replies.iter().find(|reply| !reply.starts_with(':'));
                assert_eq!(refused, None, "{command}, {event}, {handler}");
                connection.call("DEL a b d log");
            }
        }
    }
    assert_no_internal_error(&server);
}
