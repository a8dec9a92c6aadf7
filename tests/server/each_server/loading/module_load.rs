//! MODULE LOAD that fails: the server keeps running and saving, and a later MODULE LOAD without the error succeeds.

use crate::families::{FAMILIES, Setting, all_commands, build_all, view_all};
use crate::support::c_modules;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server, module_file};

use super::super::settings::settings;

/// A server without the module that permits MODULE LOAD. `stays_mapped`: the library stays in memory when loading fails,
/// as with musl.
fn start(stays_mapped: bool) -> (Server, Connection) {
    let mut options = Options::new().without_module();
    options = options.arguments(&["--enable-module-command", "yes"]);
    if stays_mapped {
        options = options.arguments(&["--loadmodule", c_modules::names()]);
        options = options.arguments(&["keeper", "KEEP", &module_file()]);
    }
    options.start().connected()
}

/// Loads a module named `module` that has `name`, of this kind (tests/server/modules/names.c).
fn take_name(connection: &mut Connection, module: &str, kind: &str, name: &str) {
    connection.send_ok(&["MODULE", "LOAD", c_modules::names(), module, kind, name]);
}

/// Runs a MODULE LOAD or LOADEX that must fail with `reason` in the log. Then the server must save, load its file and
/// delete keys.
fn fail(server: &Server, connection: &mut Connection, load: &[&str], reason: &str) {
    let before = server.log().len();
    let reply = connection.send(load);
    assert!(reply.is_error(), "{load:?}: {reply}");
    let log = server.log().split_off(before);
    assert!(log.contains(reason), "{load:?}: {log}");
    assert!(!log.contains("internal error"), "{load:?}: {log}");
    for command in ["SET key value", "SAVE", "DEBUG RELOAD", "FLUSHALL"] {
        let reply = connection.call(command);
        assert!(reply.is_ok(), "{load:?}, {command}: {reply}");
    }
}

#[test]
fn a_failed_load_changes_nothing() {
    for stays_mapped in [false, true] {
        let (mut server, mut connection) = start(stays_mapped);
        let module = module_file();
        let mut arguments = vec![
            (vec!["bf-error-rate"], "must be pairs"),
            (vec!["bf-error-rate", "x"], "bf-error-rate"),
            (vec!["unknown", "1"], "unknown module argument unknown"),
            (
                vec!["cf-bucket-size", "100", "cf-initial-size", "100"],
                "Value for `cf-bucket-size` must be in the range",
            ),
        ];
        arguments.extend(settings().map(|setting| {
            let name = setting.argument();
            (vec![name, setting.invalid], name)
        }));
        for (arguments, reason) in arguments {
            let load = [&["MODULE", "LOAD", &module], &arguments[..]].concat();
            fail(&server, &mut connection, &load, reason);
        }
        for Setting { name, invalid, .. } in settings() {
            let name = server.setting(name);
            let load = ["MODULE", "LOADEX", &module, "CONFIG", &name, invalid];
            let reason = "a setting in the configuration file was refused";
            fail(&server, &mut connection, &load, reason);
        }
        // Only Redis 8 has names of settings that two modules can share.
        let has_shared_names = server.setting("").is_empty();
        let settings = settings().filter(|_| has_shared_names);
        let settings = settings.filter(|setting| !setting.name.starts_with("bf."));
        let settings = settings.map(|setting| ("SETTING", setting.name.to_owned()));
        let commands = all_commands();
        let commands = commands.into_iter().map(|(name, _)| ("COMMAND", name));
        for (kind, name) in settings.chain(commands) {
            take_name(&mut connection, "other", kind, &name);
            let mut reason = format!("{} {name} was refused by the server", kind.to_lowercase());
            if kind == "COMMAND" {
                reason += &taken(&name);
            }
            let load = ["MODULE", "LOAD", &module];
            fail(&server, &mut connection, &load, &reason);
            connection.ok("MODULE UNLOAD other");
        }
        assert!(server.save_in_background());
        connection.send_ok(&["MODULE", "LOAD", &module, "cf-bucket-size", "4"]);
        let name = server.setting("cf-bucket-size");
        let shown = connection.send(&["CONFIG", "GET", &name]).to_string();
        assert_eq!(shown, format!("*[${name} $4]"));
        build_all(&mut connection);
        let before = view_all(&mut connection);
        connection.ok("DEBUG RELOAD");
        assert_eq!(view_all(&mut connection), before);
    }
}

/// The end of the line for a command that the module `other` has.
fn taken(command: &str) -> String {
    let other = c_modules::names();
    let line = format!(
        ": module other ({other}, version 1) has {command}. Remove the other loadmodule line"
    );
    let (prefix, _) = command.split_once('.').expect("a prefix");
    let mut families = vec!["bf", "cf", "cms", "topk", "tdigest"];
    families.retain(|family| *family != prefix);
    match prefix {
        // These are always loaded.
        "sketch" => line + "\n",
        _ => format!(
            "{line}, or load only the families that no other module has: families {}\n",
            families.join(",")
        ),
    }
}

/// A module `bf` that has commands of other families, too, as valkey-bloom's next release may.
#[test]
fn the_log_names_the_families_to_leave_out_beside_another_module() {
    let other = c_modules::names();
    let commands = all_commands();
    let of = |prefix: &str| {
        let names = commands.iter().map(|(name, _)| name.as_str());
        names
            .filter(|name| name.starts_with(prefix))
            .collect::<Vec<_>>()
    };
    let module = module_file();
    let all = ["MODULE", "LOAD", &module];
    let [bf, topk, cms] = ["bf.", "topk.", "cms."].map(of);
    let both = [&topk[..], &cms[..]].concat();
    for (names, left, owned) in [
        (&topk[..], "cf,cms,tdigest", "topk.*"),
        (&topk[..1], "cf,cms,tdigest", topk[0]),
        (&both, "cf,tdigest", "cms.*, topk.*"),
    ] {
        let (server, mut connection) = start(false);
        let mut load = vec!["MODULE", "LOAD", other, "bf"];
        for name in bf.iter().chain(names) {
            load.extend(["COMMAND", name]);
        }
        connection.send_ok(&load);
        let line = format!("or load only the families that no other module has: families {left}\n");
        fail(&server, &mut connection, &all, &line);
        let selected = [&all[..], &["families", "cf,cms,topk,tdigest"]].concat();
        let line = format!(
            " was refused by the server: module bf ({other}, version 1) has {owned}. Remove the other loadmodule line, or load \
             only the families that no other module has: families {left}\n"
        );
        fail(&server, &mut connection, &selected, &line);
        let load = [&all[..], &["families", left]].concat();
        assert!(connection.send(&load).is_ok(), "{left}");
    }
}

/// The server opens a library once, so a second load of the same file must not change the state of the first.
#[test]
fn a_second_load_of_the_same_file_fails_and_changes_nothing() {
    const FIRST: &[&str] = &["families", "bf"];
    const OTHERS: &[&str] = &["families", "cf,cms,topk,tdigest"];
    const ALL: &[&str] = &[];
    let cases = [
        (ALL, OTHERS),
        (ALL, FIRST),
        (ALL, ALL),
        (ALL, &["families", "none"]),
        (ALL, &["unknown", "1"]),
        (OTHERS, ALL),
        (OTHERS, FIRST),
        (FIRST, OTHERS),
    ];
    for (loaded, second) in cases {
        let (server, mut connection) = start(false);
        let module = module_file();
        let load = |arguments: &[&'static str]| [&["MODULE", "LOAD", &module], arguments].concat();
        connection.send_ok(&load(loaded));
        let name = if loaded == OTHERS { "roughly" } else { "bf" };
        let families = FAMILIES.iter().filter(|family| {
            let is_first = family.prefix == "bf";
            loaded == ALL || is_first == (loaded == FIRST)
        });
        let families: Vec<_> = families.collect();
        for suffix in ["", "2"] {
            for family in &families {
                let key = format!("{}{suffix}", family.type_name);
                family.build(&mut connection, &key);
                let view = family.view(&mut connection, &key);
                for arguments in [second, loaded] {
                    let reason = format!(
                        "<{name}> not loaded: this file is loaded already, as {name}. Remove one of its loadmodule lines"
                    );
                    let before = server.log().len();
                    let reply = connection.send(&load(arguments));
                    assert!(reply.is_error(), "{arguments:?}: {reply}");
                    let log = server.log().split_off(before);
                    assert!(log.contains(&reason), "{arguments:?}: {log}");
                }
                assert_eq!(family.view(&mut connection, &key), view, "{key}");
                connection.check(&format!("TYPE {key}"), format!("+{}", family.type_name));
            }
            connection.ok("DEBUG RELOAD");
        }
        for family in &families {
            connection.check(&format!("DEL {}", family.type_name), ":1");
        }
    }
}

/// The module of the other type cannot be unloaded.
#[test]
fn a_load_that_needs_the_type_of_another_module_fails_again() {
    for stays_mapped in [false, true] {
        let (mut server, mut connection) = start(stays_mapped);
        let module = module_file();
        let load = ["MODULE", "LOAD", &module];
        // The types are registered in another order than they have here, so each has a module of its own, and the next
        // failure may be one of those before.
        for (number, family) in FAMILIES.iter().enumerate() {
            let other = format!("other{number}");
            take_name(&mut connection, &other, "TYPE", family.type_name);
            for _ in 0..2 {
                fail(&server, &mut connection, &load, " was refused");
            }
        }
        assert!(server.save_in_background());
    }
}

/// The line that names the module with the name `bf` in a log.
fn name_conflict(log: &str) -> &str {
    let mut lines = log.lines();
    let line = lines.find_map(|line| line.split_once("not loaded: "));
    line.unwrap_or_else(|| panic!("no line in {log}")).1
}

#[test]
fn a_load_beside_a_module_with_the_same_name_logs_which_one() {
    let other = c_modules::names();
    let line = |description: &str| {
        format!(
            "another module with the name bf is loaded{description}. Remove its loadmodule line or \
             the one of Roughly ({}), or load only the families that no other module has: families \
             cf,cms,topk,tdigest",
            module_file()
        )
    };
    let named = line(&format!(" ({other}, version 1)"));
    for stays_mapped in [false, true] {
        let (server, mut connection) = start(stays_mapped);
        let module = module_file();
        // The second line is logged after a failure at a later step.
        let load = ["MODULE", "LOAD", &module, "unknown", "1"];
        fail(&server, &mut connection, &load, "unknown module argument");
        connection.send_ok(&["MODULE", "LOAD", other, "bf"]);
        fail(&server, &mut connection, &load[..3], &named);
    }
    // When the server starts, also without the command MODULE.
    for (arguments, expected) in [
        (&[][..], named),
        (&["--rename-command", "MODULE", ""], line("")),
    ] {
        let options = Options::new().arguments(&["--loadmodule", other, "bf"]);
        let log = options.arguments(arguments).refused();
        assert_eq!(name_conflict(&log), expected);
    }
}
