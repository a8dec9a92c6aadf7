//! Other modules that run commands from their handlers of keyspace events, while a command of this module
//! runs. tests/server/modules/handler.c is such a module.

use crate::samples::SAMPLES;
use crate::state::State;
use crate::support::handler;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use std::thread;
use std::time::Duration;

fn start() -> Server {
    Options::new()
        .arguments(&["--loadmodule", handler::module()])
        .start()
}

/// Runs `handler` on every event of this name until [`replies`].
fn on(connection: &mut Connection, event: &str, handler: &str) {
    let reply = connection.call(&format!("HANDLER.ON {event} {handler}"));
    assert!(reply.is_ok(), "{reply}");
}

/// What the handler's commands replied, as RESP2 without the last line end.
fn replies(connection: &mut Connection) -> Vec<String> {
    let reply = connection.call("HANDLER.OFF");
    let replies = reply.items().expect("an array").iter();
    let texts = replies.map(|reply| String::from_utf8_lossy(reply.text().expect("a text")).into());
    texts
        .map(|text: String| text.trim_end().replace("\r\n", " "))
        .collect()
}

/// Commands that make the keys that [`creations`] need.
const SOURCES: &[&str] = &[
    "BF.ADD bloom a",
    "CF.ADD cuckoo a",
    "CMS.INITBYDIM cms 10 2",
    "TOPK.RESERVE topk 3",
    "TDIGEST.CREATE tdigest",
    "TDIGEST.ADD tdigest 1 2 3",
];

/// Commands that create the key `KEY`, with the event that they cause beside `new`.
const CREATIONS: &[(&str, &str)] = &[
    ("BF.RESERVE KEY 0.01 100", "bf.reserve"),
    (
        "BF.RESERVE KEY 0.01 100 NONSCALING EXPANSION 0",
        "bf.reserve",
    ),
    ("BF.ADD KEY a", "bf.add"),
    ("BF.MADD KEY a b c", "bf.madd"),
    ("BF.INSERT KEY ITEMS a b c", "bf.insert"),
    ("BF.MERGE KEY 1 bloom", "bf.merge"),
    ("BF.MERGE KEY 2 bloom bloom", "bf.merge"),
    ("CF.RESERVE KEY 100", "cf.reserve"),
    ("CF.ADD KEY a", "cf.add"),
    ("CF.ADDNX KEY a", "cf.addnx"),
    ("CF.INSERT KEY ITEMS a b c", "cf.insert"),
    ("CF.INSERTNX KEY ITEMS a b c", "cf.insertnx"),
    ("CMS.INITBYDIM KEY 10 2", "cms.initbydim"),
    ("CMS.INITBYPROB KEY 0.1 0.1", "cms.initbyprob"),
    ("TOPK.RESERVE KEY 3", "topk.reserve"),
    ("TDIGEST.CREATE KEY", "tdigest.create"),
    ("TDIGEST.MERGE KEY 1 tdigest", "tdigest.merge"),
    (
        "TDIGEST.MERGE KEY 2 tdigest tdigest OVERRIDE",
        "tdigest.merge",
    ),
];

/// Families with their key of [`SOURCES`], whose header creates another key.
const CHUNKS: &[(&str, &str)] = &[
    ("BF", "bloom"),
    ("CF", "cuckoo"),
    ("CMS", "cms"),
    ("TOPK", "topk"),
    ("TDIGEST", "tdigest"),
];

/// Commands that are refused at a full memory but do not create a key.
const NOT_CREATING: &[&str] = &[
    "cms.incrby",
    "cms.merge",
    "topk.add",
    "topk.incrby",
    "tdigest.add",
    "tdigest.reset",
];

/// A command that creates a key.
#[derive(Debug, Clone)]
struct Creation {
    arguments: Vec<Vec<u8>>,
    event: String,
}

impl Creation {
    fn run(&self, connection: &mut Connection, key: &str) -> Reply {
        let arguments = self.arguments.iter().map(|argument| match &argument[..] {
            b"KEY" => key.as_bytes(),
            other => other,
        });
        connection.send(&arguments.collect::<Vec<_>>())
    }
}

/// Every way to create a key, after [`SOURCES`].
fn creations(connection: &mut Connection) -> Vec<Creation> {
    for source in SOURCES {
        let reply = connection.call(source);
        assert!(!matches!(reply, Reply::Error(_)), "{source}: {reply}");
    }
    let texts = CREATIONS.iter().map(|&(command, event)| Creation {
        arguments: command.split(' ').map(|word| word.into()).collect(),
        event: event.to_owned(),
    });
    let mut creations: Vec<_> = texts.collect();
    for (family, key) in CHUNKS {
        let scan = connection.call(&format!("{family}.SCANDUMP {key} 0"));
        let Some([Reply::Integer(1), Reply::Bulk(chunk)]) = scan.items() else {
            panic!("{scan}");
        };
        let command = format!("{family}.LOADCHUNK");
        creations.push(Creation {
            event: command.to_lowercase(),
            arguments: vec![command.into(), b"KEY".into(), b"1".into(), chunk.clone()],
        });
    }
    creations
}

/// Bytes and keys that INFO counts for each family.
fn figures(server: &Server) -> Vec<Option<String>> {
    let prefixes = SAMPLES.iter().map(|sample| sample.info_prefix);
    let fields =
        prefixes.flat_map(|prefix| ["keys", "bytes"].map(|field| format!("{prefix}{field}")));
    fields.map(|field| server.info(&field)).collect()
}

fn assert_no_internal_error(server: &Server) {
    let log = server.log();
    let found = log.lines().find(|line| line.contains("internal error"));
    assert_eq!(found, None);
}

#[test]
fn every_command_that_creates_a_key_is_among_the_tested_ones() {
    let server = Server::start();
    let mut connection = server.resp2();
    let tested: Vec<_> = (creations(&mut connection).into_iter())
        .map(|creation| String::from_utf8_lossy(&creation.arguments[0]).to_lowercase())
        .collect();
    let reply = connection.call("COMMAND LIST FILTERBY MODULE bf");
    let names = reply.items().expect("an array").iter();
    let names = names.map(|name| String::from_utf8_lossy(name.text().expect("a name")).into());
    let growing: Vec<String> = names
        .filter(|name: &String| {
            let info = connection.call(&format!("COMMAND INFO {name}")).to_string();
            info.contains("denyoom")
        })
        .collect();
    assert!(growing.len() > NOT_CREATING.len(), "{growing:?}");
    for name in &growing {
        let is_creating = tested.contains(name);
        assert_ne!(is_creating, NOT_CREATING.contains(&&name[..]), "{name}");
    }
}

/// While a new key is announced, and while a change is, any command can run.
#[test]
fn commands_that_a_handler_runs_are_answered_as_ever() {
    let server = start();
    let mut connection = server.resp2();
    let creations = creations(&mut connection);
    let handlers = [
        ("BF.EXISTS other x", ":0"),
        ("BF.ADD bloom a", ":0"),
        ("CF.INSERT cuckoo ITEMS b", "*1 :1"),
        ("CMS.QUERY cms a", "*1 :0"),
        ("TOPK.LIST topk", "*0"),
        ("TDIGEST.MERGE tdigest 1 tdigest OVERRIDE", "+OK"),
    ];
    for creation in &creations {
        let command = String::from_utf8_lossy(&creation.arguments[0]).into_owned();
        let wanted = creation.run(&mut connection, "plain");
        for (handler, reply) in handlers {
            for event in ["new", &creation.event] {
                on(&mut connection, event, handler);
                let got = creation.run(&mut connection, "key");
                let replies = replies(&mut connection);
                assert_eq!(got, wanted, "{command}, {event}, {handler}");
                assert_eq!(replies, [reply], "{command}, {event}, {handler}");
                assert_eq!(connection.call("DEL key"), Reply::Integer(1));
            }
        }
        connection.call("DEL plain");
    }
    for (number, sample) in SAMPLES.iter().enumerate() {
        crate::samples::Sample::run(&mut connection, sample.build, "key");
        let (change, event) = sample.change;
        on(&mut connection, event, "BF.EXISTS other x");
        let change = change
            .replace("KEY", "key")
            .replace("NEW", &number.to_string());
        connection.call(&change);
        assert_eq!(replies(&mut connection), [":0"], "{change}");
        connection.call("DEL key");
    }
    assert_no_internal_error(&server);
}

/// The reply is that of a command that created the key, and replicas end up with what the primary has.
#[test]
fn a_new_key_can_be_deleted_or_replaced_before_its_command_ends() {
    let mut server = start();
    let mut replica = Server::start();
    let mut connection = server.resp2();
    let creations = creations(&mut connection);
    replica.replicate(&server);
    let before = figures(&server);
    // Redis 7.0 ends with an assertion, also after its own SET, if a handler deletes the new key.
    let version = server.version();
    let allows_deletion = version.is_valkey() || version.is_redis_at_least(7, 2);
    for (handler, left) in [
        ("HANDLER.DELETE KEY", "none"),
        ("HANDLER.SET KEY text", "string"),
    ] {
        if left == "none" && !allows_deletion {
            continue;
        }
        for creation in &creations {
            let command = String::from_utf8_lossy(&creation.arguments[0]).into_owned();
            let wanted = creation.run(&mut connection, "plain");
            assert_eq!(connection.call("DEL plain"), Reply::Integer(1));
            on(&mut connection, "new", handler);
            let got = creation.run(&mut connection, "key");
            let replies = replies(&mut connection);
            assert_eq!(got, wanted, "{command}, {handler}");
            assert_eq!(replies, ["+OK"], "{command}, {handler}");
            let kind = connection.call("TYPE key");
            assert_eq!(kind, Reply::Simple(left.into()), "{command}, {handler}");
            server.wait_for_replica(&replica);
            let (ours, theirs) = (State::of(&mut connection), State::of(&mut replica.resp2()));
            theirs.assert_same(&ours, &format!("{command}, {handler}"));
            connection.call("DEL key");
            assert_eq!(figures(&server), before, "{command}, {handler}");
        }
    }
    assert_no_internal_error(&server);
}

/// To open a source can delete it, because it has expired, or report it as missing.
#[test]
fn commands_run_while_a_merge_opens_its_keys() {
    let server = start();
    let mut connection = server.resp2();
    assert!(connection.call("DEBUG SET-ACTIVE-EXPIRE 0").is_ok());
    for (command, create, not_found) in [
        (
            "BF.MERGE d 2 a b",
            "BF.RESERVE KEY 0.01 100",
            "-ERR not found",
        ),
        (
            "CMS.MERGE d 2 a b",
            "CMS.INITBYDIM KEY 10 2",
            "-CMS: key does not exist",
        ),
        (
            "TDIGEST.MERGE d 2 a b",
            "TDIGEST.CREATE KEY",
            "-ERR T-Digest: key does not exist",
        ),
    ] {
        for handler in ["BF.ADD log KEY", "DEL a", "DEL d"] {
            for event in ["keymiss", "expired"] {
                for key in ["a", "b", "d"] {
                    let reply = connection.call(&create.replace("KEY", key));
                    assert!(reply.is_ok(), "{create}: {reply}");
                }
                if event == "expired" {
                    assert_eq!(connection.call("PEXPIRE b 1"), Reply::Integer(1));
                    thread::sleep(Duration::from_millis(5));
                } else {
                    connection.call("DEL b");
                }
                on(&mut connection, event, handler);
                let reply = connection.call(command).to_string();
                let replies = replies(&mut connection);
                assert_eq!(reply, not_found, "{command}, {event}, {handler}");
                // A deleted destination is missing as well.
                assert!(!replies.is_empty(), "{command}, {event}, {handler}");
                let refused = replies.iter().find(|reply| !reply.starts_with(':'));
                assert_eq!(refused, None, "{command}, {event}, {handler}");
                connection.call("DEL a b d log");
            }
        }
    }
    assert_no_internal_error(&server);
}
