//! The module argument `families`: only the commands, settings, types, ACL categories and INFO fields of these families exist.

use crate::families::{FAMILIES, Family, PARTS, Setting, one_per_family};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use std::collections::BTreeSet;

/// The name of the module that has these families, and its prefix on servers that put it before settings.
fn module_name(prefixes: &[&str]) -> &'static str {
    match prefixes.contains(&"bf") {
        true => "bf",
        false => "roughly",
    }
}

/// The names in a reply, in lower case.
fn names(reply: &Reply) -> BTreeSet<String> {
    let names = reply.strings().into_iter();
    names.map(|name| name.to_lowercase()).collect()
}

/// Whether a server has what belongs to a family.
fn assert_family(server: &Server, connection: &mut Connection, family: &Family, prefixes: &[&str]) {
    let is_loaded = prefixes.contains(&family.prefix);
    let what = format!("{} of {prefixes:?}", family.name);
    let commands = names(&connection.call("COMMAND LIST"));
    for (command, _) in family.commands() {
        assert_eq!(commands.contains(&command), is_loaded, "{what}: {command}");
    }
    let module = module_name(prefixes);
    for Setting { name, .. } in family.settings {
        // Redis 8 shows the setting without the module's name, except those of valkey-bloom.
        let shown = match server.setting("").is_empty() && !name.starts_with("bf.") {
            true => (*name).to_owned(),
            false => format!("{module}.{}", name.strip_prefix("bf.").unwrap_or(name)),
        };
        let found = connection.send(&["CONFIG", "GET", &shown]);
        let found = found.items().is_some_and(|fields| !fields.is_empty());
        assert_eq!(found, is_loaded, "{what}: {shown}");
    }
    let categories = names(&connection.call("ACL CAT"));
    if categories.contains("sketch") {
        assert_eq!(categories.contains(family.category), is_loaded, "{what}");
    }
    let field = family.info_prefix.strip_prefix("bf_").expect("a prefix");
    let field = format!("{module}_{field}keys");
    assert_eq!(server.info(&field).is_some(), is_loaded, "{what}: {field}");
    let field = format!("{module}_within_calls_{}", family.category);
    assert_eq!(server.info(&field).is_some(), is_loaded, "{what}: {field}");
}

#[test]
fn only_the_selected_families_exist() {
    let all: Vec<_> = one_per_family().map(|family| family.prefix).collect();
    let singles = all.chunks(1).map(<[_]>::to_vec);
    let without_bloom = std::iter::once(all[1..].to_vec());
    for prefixes in singles.chain(without_bloom).chain([all.clone()]) {
        let list = prefixes.join(",").to_uppercase();
        let options = Options::new().module_arguments(&["families", &list]);
        let (server, mut connection) = options.start().connected();
        let modules = connection.call("MODULE LIST").to_string();
        let name = module_name(&prefixes);
        assert!(modules.contains(&format!("${name} ")), "{modules}");
        let commands = names(&connection.call("COMMAND LIST"));
        for (command, _) in PARTS {
            assert!(commands.contains(&command.to_lowercase()));
        }
        for family in FAMILIES {
            assert_family(&server, &mut connection, family, &prefixes);
            if prefixes.contains(&family.prefix) {
                family.build(&mut connection, family.name);
                assert!(!family.view(&mut connection, family.name).is_empty());
            } else {
                let name = family.command("CARD");
                for (command, arguments) in PARTS {
                    let expected = format!("-ERR {command} cannot run '{name}'");
                    connection.check(&format!("{command} {arguments} {name} key"), expected);
                }
            }
        }
    }
}

/// The file of a server with all families needs all families.
#[test]
fn a_value_of_a_family_that_is_not_loaded_is_refused() {
    let all = Options::new().start();
    let connection = &mut all.resp2();
    let dumps = FAMILIES.iter().map(|family| {
        family.build(connection, family.name);
        connection.payload(family.name)
    });
    let dumps: Vec<_> = dumps.collect();
    for one in one_per_family() {
        let options = Options::new().module_arguments(&["families", one.prefix]);
        let server = options.start();
        let connection = &mut server.resp2();
        for (family, dump) in FAMILIES.iter().zip(&dumps) {
            let reply = connection.restore(family.name, dump);
            let is_loaded = family.prefix == one.prefix;
            assert_eq!(reply.is_ok(), is_loaded, "{}: {reply}", family.name);
        }
    }
}

/// A replica that has fewer families than its primary cannot run the primary's commands; the page names the condition. With the
/// same families, whatever the module's name, all keys are equal.
#[test]
fn a_module_without_bloom_filters_replicates_and_reloads_its_keys() {
    let arguments = ["families", "cf,cms,topk,tdigest"];
    let start = || {
        let options = Options::new().module_arguments(&arguments);
        options
            .arguments(&["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"])
            .start()
    };
    let (mut server, mut replica) = (start(), start());
    replica.replicate(&server);
    let families = || FAMILIES.iter().filter(|family| family.prefix != "bf");
    let mut connection = server.resp2();
    for family in families() {
        family.build(&mut connection, family.name);
    }
    let view = |connection: &mut Connection| {
        let views = families().map(|family| family.view(connection, family.name));
        views.collect::<Vec<_>>()
    };
    let before = view(&mut connection);
    server.wait_for_replica(&replica);
    assert_eq!(view(&mut replica.resp2()), before);
    for rewrites in [false, true] {
        assert!(!rewrites || server.rewrite_aof());
        server.restart();
        assert_eq!(view(&mut server.resp2()), before, "rewritten: {rewrites}");
    }
    // A server with all families has the types too: their encoding does not depend on the module's name.
    let mut all = Options::new().start();
    all.replicate(&server);
    server.wait_for_replica(&all);
    assert_eq!(view(&mut all.resp2()), before);
}

#[test]
fn an_invalid_list_of_families_is_refused() {
    let names = "bf,cf,cms,topk,tdigest";
    let unknown =
        format!("not loaded: families must be one or more of {names}, separated by commas");
    let duplicate =
        format!("not loaded: families must be specified once, with each of {names} at most once");
    for (arguments, expected) in [
        (&["families", "bf,cg"][..], &unknown),
        (&["families", ""], &unknown),
        (&["families", "cf,"], &unknown),
        (&["families", "cf, cms"], &unknown),
        (&["families", "sketch"], &unknown),
        (&["families", "cf,cms,CF"], &duplicate),
        (&["families", "cf", "families", "cms"], &duplicate),
    ] {
        let log = Options::new().module_arguments(arguments).refused();
        assert!(log.contains(expected), "{arguments:?}: {log}");
    }
    // Of a family that is not loaded, an argument is unknown, and the line does not name it.
    let arguments = ["families", "cf", "bf-error-rate", "0.01"];
    let log = Options::new().module_arguments(&arguments).refused();
    let line = "unknown module argument bf-error-rate. Known arguments: cf-";
    assert!(log.contains(line), "{log}");
    assert!(!log.contains("bf-expansion-factor"), "{log}");
}
