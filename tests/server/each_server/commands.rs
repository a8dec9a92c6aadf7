//! What the server reports about each command (COMMAND INFO, DOCS, GETKEYSANDFLAGS), and who may run it: ACLs, scripts,
//! functions, servers at maxmemory.

use crate::families::{
    FAMILIES, PARTS, READ, SKETCH_CATEGORY, SKETCH_COMMANDS, all_commands, one_per_family,
    position_of_part,
};
use crate::golden::recorded;
use crate::support::abilities::record;
use crate::support::names::assert_same_names;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use crate::workload::columns;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;

/// The version of Roughly that introduced the commands that RedisBloom does not have.
const ROUGHLY_SINCE: &str = "1.0.0";

fn text<'a>(fields: &'a Reply, name: &str) -> Option<&'a str> {
    std::str::from_utf8(fields.field(name)?.text()?).ok()
}

fn command_info(connection: &mut Connection, name: &str) -> Vec<Reply> {
    let infos = connection.send(&["COMMAND", "INFO", name]);
    infos.items().expect("an array")[0]
        .items()
        .expect("a command")
        .to_vec()
}

/// COMMAND DOCS of a command.
fn docs(connection: &mut Connection, name: &str) -> Reply {
    let docs = connection.send(&["COMMAND", "DOCS", name]);
    docs.items().expect("docs")[1].clone()
}

#[test]
fn the_server_lists_exactly_these_commands() {
    let (_server, mut connection) = Server::start().connected();
    let listed = connection.call("COMMAND LIST FILTERBY MODULE bf").strings();
    let expected = all_commands().into_iter().map(|(name, _)| name);
    assert_same_names(listed, expected, "commands");
}

/// Checks that clients can build hints from an argument and its parts.
fn check_argument(command: &str, argument: &Reply) {
    let what = || format!("{command}: {argument}");
    let kind = text(argument, "type").unwrap_or_else(|| panic!("{}", what()));
    let has_name = text(argument, "name").is_some_and(|name| !name.is_empty());
    assert!(has_name, "{}", what());
    let below = argument.field("arguments").and_then(Reply::items);
    let below = below.unwrap_or_default();
    match kind {
        "oneof" | "block" => assert!(!below.is_empty(), "{}", what()),
        "key" => assert!(argument.field("key_spec_index").is_some(), "{}", what()),
        "pure-token" => assert!(text(argument, "token").is_some(), "{}", what()),
        "string" | "integer" | "double" => assert!(below.is_empty(), "{}", what()),
        _ => panic!("{}", what()),
    }
    if let Some(token) = text(argument, "token") {
        assert_eq!(token, token.to_uppercase(), "{}", what());
    }
    for argument in below {
        check_argument(command, argument);
    }
}

#[test]
fn every_command_is_described() {
    let (_server, mut connection) = Server::start().connected();
    for (name, does) in all_commands() {
        let docs = &docs(&mut connection, &name);
        for part in ["summary", "since", "complexity"] {
            let described = text(docs, part).is_some_and(|text| !text.is_empty());
            assert!(described, "{name} lacks {part}: {docs}");
        }
        let has_complexity = text(docs, "complexity").unwrap().starts_with("O(");
        assert!(has_complexity, "{docs}");
        assert_eq!(text(docs, "module"), Some("bf"));
        let arguments = docs.field("arguments").and_then(Reply::items);
        let arguments = arguments.expect("arguments");
        // Arguments of the command are numbered from 0 here.
        let first_key = position_of_part(name.as_bytes()).unwrap_or(0);
        assert_eq!(text(&arguments[first_key], "type"), Some("key"), "{name}");
        for argument in arguments {
            check_argument(&name, argument);
        }

        // The arity is at least the number of required arguments.
        let info = command_info(&mut connection, &name);
        let arity = info[1].integer().expect("an arity");
        let is_optional = |argument: &&Reply| {
            let flags = argument.field("flags").map(Reply::to_string);
            flags.is_some_and(|flags| flags.contains("optional"))
        };
        let optional = arguments.iter().filter(is_optional).count();
        let needed = (arguments.len() - optional) as i64;
        // A token and its value are two arguments, and so is a block of two.
        let is_enough = needed < arity.abs() || name == "cf.compact";
        assert!(is_enough, "{name}: {needed} arguments, arity {arity}");
        let flags = info[2].to_string();
        let kinds = ["readonly", "write"].map(|kind| flags.contains(kind));
        assert_eq!(kinds, [does == READ, does != READ], "{name}: {flags}");
        assert!(!flags.contains("noscript"), "{name}: {flags}");
        // A server at maxmemory refuses commands that allocate memory, but not those that only free it.
        let frees = ["cf.del", "cf.compact", "sketch.advance"].contains(&&name[..]);
        let denies = !frees && does != READ;
        assert_eq!(flags.contains("denyoom"), denies, "{name}: {flags}");
    }
    for family in FAMILIES {
        record("COMMAND DOCS", family.type_name);
    }
}

/// RedisBloom 8.10 describes one change of a command: it has declared TOPK.COUNT deprecated.
#[test]
fn only_topk_count_is_described_as_deprecated() {
    let (_server, mut connection) = Server::start().connected();
    for (name, _) in all_commands() {
        let docs = docs(&mut connection, &name);
        let history = docs.field("history").and_then(Reply::items).unwrap_or(&[]);
        let entries = history.iter().map(Reply::to_string);
        let deprecated = "*[$2.4.0 $Deprecated by RedisBloom, because the counts are estimates]";
        let expected = (name == "topk.count").then_some(deprecated);
        assert!(entries.eq(expected), "{name}: {docs}");
    }
}

/// RedisBloom's commands as recorded from COMMAND INFO.
pub fn recorded_commands() -> HashSet<String> {
    let (_, steps) = recorded::transcript("8.10/meta-101");
    let info = steps.iter().filter(|step| step.command[1] == "INFO");
    info.map(|step| step.command[2].as_str().expect("a name").to_owned())
        .collect()
}

/// A description of arguments in the form of the recording.
fn described(arguments: &Reply) -> Value {
    let describe = |argument: &Reply| {
        let mut described = serde_json::Map::new();
        for name in ["name", "type", "token"] {
            if let Some(text) = text(argument, name) {
                described.insert(name.to_owned(), text.into());
            }
        }
        if let Some(flags) = argument.field("flags").and_then(Reply::items) {
            let mut flags: Vec<_> = flags.iter().map(Reply::string).collect();
            flags.sort();
            described.insert("flags".to_owned(), flags.into());
        }
        if let Some(parts) = argument.field("arguments") {
            described.insert("arguments".to_owned(), self::described(parts));
        }
        Value::from(described)
    };
    let list = arguments.items().expect("arguments").iter();
    list.map(describe).collect()
}

/// What Roughly adds: options after those of RedisBloom, and before the items, which end the command.
fn without_additions(recorded: &[Value], described: &[Value]) -> Option<Vec<Value>> {
    let is_items = |pair: &[Value]| pair[0]["token"] == "ITEMS" && pair[1]["name"] == "item";
    let end = recorded.windows(2).position(is_items);
    let end = end.unwrap_or(recorded.len());
    let (options, items) = recorded.split_at(end);
    let start = described.get(..options.len())?;
    let rest = described.get(described.len().checked_sub(items.len())?..)?;
    let mut kept = [start, rest].concat();
    for (kept, recorded) in kept.iter_mut().zip(recorded) {
        let Some(parts) = recorded["arguments"].as_array() else {
            continue;
        };
        let found = kept["arguments"].as_array()?;
        kept["arguments"] = without_additions(parts, found)?.into();
    }
    Some(kept)
}

/// Tools read these lists. The positions of keys may differ: RedisBloom does not declare all of them.
#[test]
fn arguments_are_described_as_in_redisbloom() {
    let path = recorded::directory().join("command-docs-redisbloom-8.10.json");
    let recording = fs::read_to_string(path).expect("a recording");
    // A misspelled name in RedisBloom.
    let recording = recording.replace("capcaity", "capacity");
    let recording: Value = serde_json::from_str(&recording).expect("JSON");
    let recording = recording.as_object().expect("commands");
    assert_same_names(recording.keys(), recorded_commands(), "recorded commands");
    let (_server, mut connection) = Server::start().connected();
    let mut differences = Vec::new();
    for (name, recorded) in recording {
        let mut recorded = recorded["arguments"].clone();
        if recorded.is_null() {
            recorded = Value::Array(Vec::new());
        }
        remove_fields(&mut recorded, &["display_text", "key_spec_index"]);
        let recorded = recorded.as_array().expect("arguments");
        let docs = docs(&mut connection, name);
        let described = described(docs.field("arguments").expect("arguments"));
        let described = described.as_array().expect("arguments");
        if without_additions(recorded, described).as_ref() != Some(recorded) {
            let [recorded, described] = [recorded, described].map(|list| Value::from(list.clone()));
            differences.push(format!(
                "{name}\nrecorded:  {recorded}\ndescribed: {described}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Removes these fields of all arguments.
fn remove_fields(arguments: &mut Value, names: &[&str]) {
    for argument in arguments.as_array_mut().into_iter().flatten() {
        let fields = argument.as_object_mut().expect("an argument");
        fields.retain(|name, _| !names.contains(&name.as_str()));
        remove_fields(&mut argument["arguments"], names);
        let fields = argument.as_object_mut().expect("an argument");
        fields.retain(|_, value| !value.is_null());
    }
}

#[test]
fn since_is_the_version_that_introduced_the_command() {
    let (_server, mut connection) = Server::start().connected();
    let recorded = recorded_commands();
    assert!(recorded.len() > 50);
    let since = |connection: &mut Connection, name: &str| {
        text(&docs(connection, name), "since")
            .expect("a version")
            .to_owned()
    };
    for (name, _) in SKETCH_COMMANDS {
        let expected = match ["sketch.between", "sketch.series"].contains(&name) {
            true => "1.1.0",
            false => ROUGHLY_SINCE,
        };
        assert_eq!(since(&mut connection, name), expected, "{name}");
        assert!(!recorded.contains(name), "{name}");
    }
    for family in one_per_family() {
        for (name, _) in family.commands() {
            let since = since(&mut connection, &name);
            let is_recorded = recorded.contains(&name);
            let (_, short) = name.split_once('.').expect("a prefix");
            let mut exceptions = family.since_exceptions.iter();
            let wanted = match exceptions.find(|(command, _)| *command == short) {
                Some((_, version)) => version,
                None if !is_recorded => ROUGHLY_SINCE,
                None => family.since,
            };
            assert_eq!(since, wanted, "{name}");
            let is_added = family.added_commands.contains(&short);
            assert_ne!(is_recorded, is_added, "{name}");
        }
    }
}

#[test]
fn command_getkeys_finds_the_keys_of_every_command() {
    let (_server, mut connection) = Server::start().connected();
    for (name, does) in all_commands() {
        let words = arguments(&mut connection, &name, ["k", "a", "b"]);
        let wanted = if name.ends_with(".merge") {
            format!("*[*[$k *{does}] *[$a *{READ}] *[$b *{READ}]]")
        } else {
            format!("*[*[$k *{does}]]")
        };
        let call = format!("{name} {}", words.join(" "));
        connection.check(&format!("COMMAND GETKEYS {call}"), keys_only(&wanted));
        connection.check(&format!("COMMAND GETKEYSANDFLAGS {call}"), wanted);
    }
    for family in FAMILIES {
        if family.merge.is_some() {
            let call = format!("COMMAND GETKEYS {} k 1 a OPTION b", family.command("MERGE"));
            connection.check(&call, "*[$k $a]");
        }
        record("COMMAND GETKEYSANDFLAGS", family.type_name);
    }
}

/// A reply of GETKEYSANDFLAGS without the flags.
fn keys_only(keys: &str) -> String {
    let words = keys.split([' ', '[', ']']);
    let keys: Vec<_> = words.filter(|word| word.starts_with('$')).collect();
    format!("*[{}]", keys.join(" "))
}

/// As many arguments as the arity requires. The key is the first of these keys; a merge uses all three.
fn arguments(connection: &mut Connection, name: &str, keys: [&str; 3]) -> Vec<String> {
    let [destination, first, second] = keys.map(str::to_owned);
    if name.ends_with(".merge") {
        return vec![destination, "2".into(), first, second];
    }
    if let Some((_, arguments)) = PARTS.iter().find(|(of, _)| of.eq_ignore_ascii_case(name)) {
        let arguments = format!("{arguments} tdigest.min {destination}");
        return arguments.split(' ').map(str::to_owned).collect();
    }
    let arity = command_info(connection, name)[1].integer().unwrap();
    let mut arguments = vec!["1".to_owned(); arity.unsigned_abs().max(2) as usize - 1];
    arguments[0] = destination;
    arguments
}

/// The flags of the first key, from COMMAND INFO.
fn key_flags(connection: &mut Connection, name: &str) -> String {
    let info = command_info(connection, name);
    let specs = info[8].items().expect("key specs");
    specs[0].field("flags").expect("flags").to_string()
}

#[test]
fn a_write_returns_stored_data_only_if_the_servers_comparable_command_does() {
    let (_server, mut connection) = Server::start().connected();
    let families = one_per_family().flat_map(|family| {
        let writes = family.write_commands.iter();
        writes.map(|write| (format!("{}.{}", family.prefix, write.name), write.like))
    });
    // Like PERSIST, SKETCH.ADVANCE replies whether it had an effect.
    for (name, like) in families.chain([("sketch.advance".to_owned(), "persist")]) {
        let [ours, theirs] = [&name[..], like].map(|command| {
            let flags = key_flags(&mut connection, command);
            assert!(flags.contains("+RW"), "{command}: {flags}");
            flags.contains("+access")
        });
        assert_eq!(ours, theirs, "{name}, {like}");
    }
}

/// The reply to a write does not depend on stored data unless the command requires permission to read or, like SADD
/// and SREM, reports whether an item was present.
#[test]
fn a_write_without_access_does_not_return_stored_data() {
    let (_server, mut connection) = Server::start().connected();
    let mut differing = Vec::new();
    for family in FAMILIES {
        for write in family.write_commands {
            let replies = [false, true].map(|is_changed| {
                connection.call("FLUSHALL");
                family.build(&mut connection, "k");
                if is_changed {
                    family.change(&mut connection, "k", "NEW");
                    // An item that every top-k sketch lists.
                    connection.call("TOPK.INCRBY k v 100000");
                }
                let arguments = write.arguments.replace("SOURCE", "k");
                let command = format!("{}.{} k {arguments}", family.prefix, write.name);
                connection.call(command.trim_end()).to_string()
            });
            let name = format!("{}.{}", family.prefix, write.name);
            if replies[0] != replies[1] {
                let allowed = key_flags(&mut connection, &name).contains("+access")
                    || ["sadd", "srem"].contains(&write.like);
                assert!(allowed, "{name}: {replies:?}");
                differing.push(name);
            }
        }
    }
    // The replies of these commands must be among those that differ.
    for name in ["bf.add", "cf.del", "cms.incrby", "topk.incrby"] {
        assert!(differing.iter().any(|one| one == name), "{differing:?}");
    }
}

fn user(server: &Server, rules: &str) -> Connection {
    server.ok(&format!("ACL SETUSER u reset on nopass {rules}"));
    let mut connection = server.resp2();
    connection.ok("AUTH u x");
    connection
}

fn is_denied(reply: &Reply) -> bool {
    reply.to_string().starts_with("-NOPERM")
}

/// Every command requires exactly the key permissions of its flags: `%R` for ACCESS, `%W` for INSERT, UPDATE and
/// DELETE. ACL DRYRUN and real calls agree.
#[test]
fn every_command_needs_the_key_permissions_of_its_flags() {
    let (server, mut admin) = Server::start().connected();
    let mut user = server.resp2();
    for (name, does) in all_commands() {
        let reads = does.contains("+access");
        let writes = does != READ;
        let is_merge = name.ends_with(".merge");
        let mut arguments = arguments(&mut admin, &name, ["k", "a", "b"]);
        arguments.insert(0, name.clone());
        for (rules, is_allowed) in [
            ("~*", true),
            ("%R~* %W~*", true),
            ("%R~*", !writes),
            ("%W~*", !reads),
            ("~other", false),
            ("", false),
            // A merge needs permissions for its destination and for each source.
            ("~k", !is_merge),
            ("~k ~a", !is_merge),
            ("%RW~k %R~a %R~b", true),
            ("%RW~k %R~a %W~b", !is_merge),
            ("%R~k %R~a %R~b", !writes),
            ("%W~k %R~a %R~b", !reads),
        ] {
            admin.ok(format!("ACL SETUSER u reset on nopass +@all {rules}").trim_end());
            user.ok("AUTH u x");
            let dry_run = [&["ACL", "DRYRUN", "u"].map(str::to_owned), &arguments[..]].concat();
            let dry_run = admin.send(&dry_run);
            let found = dry_run.is_ok();
            assert_eq!(found, is_allowed, "{arguments:?}, {rules}: {dry_run}");
            let reply = user.send(&arguments);
            let found = is_denied(&reply);
            assert_eq!(found, !is_allowed, "{arguments:?}, {rules}: {reply}");
        }
    }
    for family in FAMILIES {
        record("ACL, keys", family.type_name);
    }
}

/// One read and one write of each family, and those for sketches of any family, allowed and denied in every way that the
/// server supports.
#[test]
fn users_are_limited_by_command_and_by_category() {
    let server = Server::start();
    let version = server.version();
    let mut admin = server.resp2();
    for family in FAMILIES {
        let key = family.type_name;
        family.build(&mut admin, key);
        let sketch = SKETCH_COMMANDS.map(|(name, flags)| (name.to_owned(), flags));
        for (category, read, write, commands) in [
            (
                family.category,
                family.reads[0],
                family.change.0,
                family.commands(),
            ),
            (
                SKETCH_CATEGORY,
                "SKETCH.WINDOW KEY",
                "SKETCH.ADVANCE KEY 1",
                sketch.to_vec(),
            ),
        ] {
            let [read, write] = [read, write].map(|command| command.replace("KEY", key));
            let name = |command: &str| command.split(' ').next().unwrap().to_lowercase();
            // ACL rules, and whether they allow the read and the write.
            let try_rules = |rules: &str, may_read: bool, may_write: bool| {
                let mut user = user(&server, &format!("~* {rules}"));
                assert_eq!(is_denied(&user.call(&read)), !may_read, "{key}, {rules}");
                assert_eq!(is_denied(&user.call(&write)), !may_write, "{key}, {rules}");
            };
            try_rules(&format!("+{}", name(&read)), true, false);
            try_rules(&format!("+{}", name(&write)), false, true);
            try_rules(&format!("+@all -{}", name(&write)), true, false);
            try_rules(&format!("+@all -{}", name(&read)), false, true);

            try_rules("+@all", true, true);
            try_rules("+@all -@all", false, false);
            // Redis 7.0 adds commands of modules only to the category @all.
            if version.is_valkey() || version.is_redis_at_least(7, 2) {
                try_rules("+@read", true, false);
                try_rules("+@write", false, true);
                try_rules("+@all -@write", true, false);
                for (name, flags) in &commands {
                    let categories = command_info(&mut admin, name)[6].to_string();
                    let is_read = *flags == READ;
                    for (category, is_in) in [("+@read", is_read), ("+@write", !is_read)] {
                        assert_eq!(categories.contains(category), is_in, "{name}: {categories}");
                    }
                }
            }
            // Redis 7.0 and 7.2 do not support categories of modules.
            if version.is_valkey_at_least(8, 0) || version.is_redis_at_least(7, 4) {
                try_rules(&format!("+@{category}"), true, true);
                try_rules(&format!("+@all -@{category}"), false, false);
                for (name, _) in &commands {
                    let categories = command_info(&mut admin, name)[6].to_string();
                    let own = format!("+@{category}");
                    assert!(categories.contains(&own), "{name}: {categories}");
                }
            }
        }
        record("ACL, commands", key);
        record("ACL, categories", key);
    }
}

fn call_function(connection: &mut Connection, how: &[&str], command: &str) -> String {
    let call = how.iter().copied().chain(command.split(' '));
    connection.send(&call.collect::<Vec<_>>()).to_string()
}

const LIBRARY: &str = "#!lua name=lib\n\
    local function run(keys, words) return redis.call(unpack(words)) end\n\
    redis.register_function{function_name='look', callback=run, flags={'no-writes'}}\n\
    redis.register_function{function_name='change', callback=run}";

/// Scripts and functions declared with `no-writes` can only read; others can write.
#[test]
fn no_writes_scripts_and_functions_cannot_write() {
    let (_server, mut connection) = Server::start().connected();
    let loaded = connection.send(&["FUNCTION", "LOAD", LIBRARY]);
    assert_eq!(loaded.string(), "lib");
    let script = "#!lua flags=no-writes\nreturn redis.call(unpack(ARGV))";
    let plain = "return redis.call(unpack(ARGV))";
    for family in FAMILIES {
        let key = family.type_name;
        family.build(&mut connection, key);
        let before = family.view(&mut connection, key);
        let write = family.change.0.replace("KEY", key);
        for how in [
            &["EVAL", script, "0"][..],
            &["EVAL_RO", plain, "0"],
            &["FCALL", "look", "0"],
            &["FCALL_RO", "look", "0"],
        ] {
            for read in family.reads {
                let reply = call_function(&mut connection, how, &read.replace("KEY", key));
                assert!(!reply.starts_with('-'), "{how:?} {read}: {reply}");
            }
            let reply = call_function(&mut connection, how, &write);
            let is_refused = reply.contains("Write commands are not allowed");
            assert!(is_refused, "{how:?} {write}: {reply}");
        }
        assert_eq!(family.view(&mut connection, key), before);
        let reply = call_function(&mut connection, &["FCALL_RO", "change", "0"], &write);
        assert!(reply.starts_with('-'), "{reply}");
        let reply = call_function(&mut connection, &["FCALL", "change", "0"], &write);
        assert!(!reply.starts_with('-'), "{reply}");
        assert_ne!(family.view(&mut connection, key), before);
        record("no-writes", key);
    }
}

/// At maxmemory, writes that may grow a key are refused without effect, except for those of scripts declared with `allow-oom`. Reads
/// succeed.
#[test]
fn at_maxmemory_only_reads_and_allow_oom_scripts_run() {
    let (_server, mut connection) = Server::start().connected();
    for family in FAMILIES {
        let key = family.type_name;
        family.build(&mut connection, key);
        let before = family.view(&mut connection, key);
        let write = family.change.0.replace("KEY", key).replace("NEW", "full");
        connection.call("CONFIG SET maxmemory 1");
        let refused = connection.call(&write).to_string();
        assert!(refused.starts_with("-OOM"), "{write}: {refused}");
        for command in family.build {
            // The server does not refuse commands that never grow a key. They fail because the key is missing.
            connection.check(&command.replace("KEY", "another"), "-...");
        }
        connection.check("EXISTS another", ":0");
        let run = "return redis.call(unpack(ARGV))";
        for script in [run.to_owned(), format!("#!lua\n{run}")] {
            let reply = call_function(&mut connection, &["EVAL", &script, "0"], &write);
            assert!(reply.contains("OOM"), "{write}: {reply}");
        }
        let looks = format!("#!lua flags=no-writes\n{run}");
        for read in family.reads {
            let read = read.replace("KEY", key);
            let reply = call_function(&mut connection, &["EVAL", &looks, "0"], &read);
            assert!(!reply.starts_with('-'), "{read}: {reply}");
        }
        assert_eq!(family.view(&mut connection, key), before);
        let may = format!("#!lua flags=allow-oom\n{run}");
        let reply = call_function(&mut connection, &["EVAL", &may, "0"], &write);
        assert!(!reply.starts_with('-'), "{write}: {reply}");
        assert_ne!(family.view(&mut connection, key), before);
        connection.call("CONFIG SET maxmemory 0");
        record("maxmemory", key);
        record("allow-oom", key);
    }
}

/// The log lines about ignored arguments.
fn ignored_arguments(server: &Server) -> Vec<String> {
    let log = server.log();
    let texts = log
        .lines()
        .filter_map(|line| Some(line.split_once("<bf> ")?.1));
    let ignored = texts.filter(|text| text.contains(" ignores the argument "));
    ignored.map(str::to_owned).collect()
}

#[test]
fn ignored_arguments_are_logged() {
    let (server, mut connection) = Options::new().debug_module().start().connected();
    connection.call("TDIGEST.CREATE source");
    // No argument is ignored here.
    for command in [
        "BF.RESERVE b1 0.01 100 nonscaling EXPANSION 0",
        "BF.RESERVE b0 0.01 100 NONSCALING NONSCALING",
        "CF.RESERVE c1 100 EXPANSION 2 BUCKETSIZE 4 MAXITERATIONS 9",
        "TDIGEST.MERGE t1 1 source OVERRIDE COMPRESSION 10 OVERRIDE",
        "BF.INSERT b2 NONSCALING EXPANSION 0 ITEMS NOSCALING",
    ] {
        connection.run(command);
    }
    assert_eq!(ignored_arguments(&server), [""; 0]);
    for row in [
        r#"BF.RESERVE b3 0.01 100 NOSCALING | BF.RESERVE ignores the argument "NOSCALING""#,
        r#"bf.reserve b4 0.01 100 EXPANSION 2 expansion | BF.RESERVE ignores the argument "expansion""#,
        r#"BF.RESERVE b5 0.01 100 WINDWO 1000 | BF.RESERVE ignores the argument "WINDWO" and 1 more"#,
        r#"CF.RESERVE c2 100 BUCKETSZE 4 | CF.RESERVE ignores the argument "BUCKETSZE" and 1 more"#,
        r#"CF.RESERVE c3 100 EXPANSION 2 BUCKETSIZE 4 3 MAXITERATIONS 5 what | CF.RESERVE ignores the argument "3" and 1 more"#,
        r#"TDIGEST.MERGE t2 1 source OVERIDE COMPRESSION 10 | TDIGEST.MERGE ignores the argument "OVERIDE""#,
    ] {
        let [command, wanted] = columns(row);
        let before = ignored_arguments(&server).len();
        server.enter_next_second();
        connection.ok(command);
        assert_eq!(ignored_arguments(&server)[before..], [wanted]);
    }
}

/// No surplus argument is ignored silently: the command refuses it, accepts it as one more repeated argument, or logs
/// that it ignores it.
#[test]
fn surplus_arguments_are_refused_or_logged() {
    let (server, mut connection) = Options::new().debug_module().start().connected();
    let mut named = Vec::new();
    connection.ok("CMS.INITBYDIM built 10 2 WINDOW 1000");
    for command in ["WINDOW built", "ACCURACY built", "ADVANCE built 1"] {
        let command = format!("SKETCH.{command}");
        for surplus in ["surplus", "1 surplus"] {
            let surplus = format!("{command} {surplus}");
            connection.check(&surplus, "-ERR wrong number of arguments...");
        }
        connection.run(&command);
    }
    for family in one_per_family() {
        let reads = family.read_commands.split(' ').map(|name| (name, None));
        let writes = family.write_commands.iter();
        for (name, write) in reads.chain(writes.map(|write| (write.name, Some(write)))) {
            let name = format!("{}.{name}", family.prefix);
            connection.call("FLUSHALL");
            family.build(&mut connection, "built");
            let arguments = match write {
                Some(write) => write.arguments.replace("SOURCE", "built"),
                None => arguments(&mut connection, &name, [""; 3])[1..].join(" "),
            };
            let docs = docs(&mut connection, &name);
            let last = docs.field("arguments").and_then(Reply::items);
            let last = last.and_then(<[_]>::last).expect("arguments");
            let flags = last.field("flags").map(Reply::to_string);
            let is_repeated = flags.is_some_and(|flags| flags.contains("multiple"));
            // CF.RESERVE accepts further arguments only in pairs. TDIGEST.MERGE ignores unknown arguments after a known
            // one.
            let surplus = format!("surplus-{name}");
            for more in ["", &surplus, "OVERRIDE"] {
                let key = if write.is_some() { "new" } else { "built" };
                let command = format!("{name} {key} {arguments} {surplus} {more}");
                let words: Vec<_> = command.split_whitespace().collect();
                let reply = connection.send(&words);
                if reply.is_error() || is_repeated {
                    continue;
                }
                connection.call("DEL new");
                server.enter_next_second();
                assert_eq!(connection.send(&words), reply);
                connection.call("DEL new");
                let lines = ignored_arguments(&server);
                let is_logged = lines.iter().any(|line| line.contains(&surplus));
                assert!(is_logged, "{command}: {reply}");
                named.push(name.clone());
            }
        }
    }
    named.dedup();
    assert_eq!(named, ["bf.reserve", "cf.reserve", "tdigest.merge"]);
}

#[test]
fn ignored_arguments_are_escaped_in_the_log() {
    let (server, mut connection) = Options::new().debug_module().start().connected();
    let before = server.log().lines().count();
    let mut argument = b"x\r\n1:M 01 Jan 2030 00:00:00.000 # <bf> forged\x1b[2J\0".to_vec();
    argument.extend([b'y'; 100_000]);
    server.enter_next_second();
    for number in 0..500 {
        let key = number.to_string();
        let reserve = [b"BF.RESERVE", key.as_bytes(), b"0.01", b"10", &argument];
        connection.send_ok(&reserve);
    }
    let log = server.log();
    let lines: Vec<_> = log.lines().skip(before).collect();
    // One line per second: the argument cannot start a line of its own.
    let [line] = &lines[..] else {
        panic!("{lines:?}");
    };
    let escaped = r#"<bf> BF.RESERVE ignores the argument "x\r\n1:M 01 Jan 2030 "#;
    assert!(line.contains(escaped), "{line}");
    let is_short = line.len() < 300 && line.is_ascii() && !line.contains(char::is_control);
    assert!(is_short, "{line}");
}
