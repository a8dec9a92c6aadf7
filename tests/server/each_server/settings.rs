//! All settings of the module: defaults, CONFIG GET, SET and REWRITE, load arguments.

use crate::families::{Setting, numbers, one_per_family, setting};
use crate::support::names::assert_same_names;
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};

/// All settings: those of the families and those of the module.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    const OWN: &[Setting] = &[
        setting("sketch-huge-pages", "yes", "no", "maybe"),
        setting("sketch-max-key-bytes", "0", "1000000", "-1"),
        setting("sketch-windows", "yes", "no", "maybe"),
    ];
    let families = one_per_family().flat_map(|family| family.settings);
    families.chain(OWN)
}

fn get(connection: &mut Connection, name: &str) -> String {
    let reply = connection.send(&["CONFIG", "GET", name]);
    match reply.items() {
        Some([_, value]) => value.string(),
        _ => panic!("{name}: {reply}"),
    }
}

/// The server has no other settings of the module.
#[test]
fn every_setting_has_its_default_and_refuses_what_is_out_of_range() {
    let (server, mut connection) = Server::start().connected();
    let mut known = Vec::new();
    for pattern in ["bf-*", "cf-*", "sketch-*", "bf.bloom-*"] {
        let reply = connection.send(&["CONFIG", "GET", &server.setting(pattern)]);
        let names = reply.items().unwrap_or_default().iter().step_by(2);
        known.extend(names.map(Reply::string));
    }
    let expected = settings().map(|setting| server.setting(setting.name));
    assert_same_names(known, expected, "settings");
    for setting in settings() {
        let (name, full) = (setting.name, server.setting(setting.name));
        assert_eq!(get(&mut connection, &full), setting.default);
        let reply = connection.send(&["CONFIG", "SET", &full, setting.invalid]);
        let reply = reply.to_string();
        assert!(reply.starts_with('-') && reply.contains(name), "{reply}");
        assert_eq!(get(&mut connection, &full), setting.default);
        connection.send_ok(&["CONFIG", "SET", &full, setting.other]);
        assert_eq!(get(&mut connection, &full), setting.other);
    }
}

#[test]
fn every_setting_can_be_a_load_argument() {
    let words = settings().flat_map(|setting| [setting.argument(), setting.other]);
    let words: Vec<&str> = words.collect();
    let (server, mut connection) = Options::new().module_arguments(&words).start().connected();
    for setting in settings() {
        let (name, full) = (setting.argument(), server.setting(setting.name));
        assert_eq!(get(&mut connection, &full), setting.other);
        let options = Options::new().module_arguments(&[name, setting.invalid]);
        let log = options.refused();
        assert!(log.contains(name), "{name}: {log}");
    }
}

/// The old names, in RedisBloom's spelling.
#[test]
fn deprecated_load_arguments_are_accepted_and_logged() {
    let old_names = [
        ("ERROR_RATE", "bf-error-rate", "0.05"),
        ("INITIAL_SIZE", "bf-initial-size", "33"),
        ("CF_MAX_EXPANSIONS", "cf-max-expansions", "7"),
    ];
    let line = old_names.map(|(old, _, value)| [old, value]).concat();
    let (server, mut connection) = Options::new().module_arguments(&line).start().connected();
    let log = server.log();
    for (old, name, value) in old_names {
        let text = format!("{old} is a deprecated module argument, use {name}");
        assert!(log.contains(&text), "{log}");
        assert_eq!(get(&mut connection, &server.setting(name)), value);
    }
    connection.check("BF.ADD k a", ":1");
    connection.check("BF.INFO k CAPACITY", "*[:33]");
    // The least capacity is 4, also if two buckets have fewer slots.
    for line in [
        &["CF_MAX_EXPANSIONS", "0"][..],
        &["cf-bucket-size", "1", "cf-initial-size", "3"],
        &["cf-bucket-size", "1", "cf-initial-size", "2"],
    ] {
        let log = Options::new().module_arguments(line).refused();
        assert!(log.contains("must be in the range"), "{log}");
    }
    // A single empty argument counts as no argument.
    Options::new().module_arguments(&[""]).start();
}

/// Every server reads a file in which the names have a prefix, as CONFIG REWRITE of some servers writes it. The file takes
/// precedence over the load arguments. The next start reads the file that CONFIG REWRITE of this server wrote.
#[test]
fn every_setting_survives_a_rewritten_configuration_file() {
    let lines = settings().map(|Setting { name, other, .. }| {
        let name = name.strip_prefix("bf.").unwrap_or(name);
        format!("bf.{name} {other}\n")
    });
    let options = Options::new().config(&lines.collect::<String>());
    let options = options.module_arguments(&["bf-initial-size", "55"]);
    let (mut server, mut connection) = options.start().connected();
    for Setting { name, other, .. } in settings() {
        assert_eq!(get(&mut connection, &server.setting(name)), *other);
    }
    connection.ok("CONFIG REWRITE");
    let file = std::fs::read_to_string(server.config_path()).expect("a file");
    for Setting { name, other, .. } in settings() {
        let set = format!("{} {other}", server.setting(name));
        let has = |line: &str| line.replace('"', "") == set;
        assert!(file.lines().any(has), "{name} is not in\n{file}");
    }
    // The file now loads the module.
    assert!(file.contains("loadmodule "), "{file}");
    server.restart_with(Options::new().config("").without_module());
    let mut connection = server.resp2();
    for Setting { name, other, .. } in settings() {
        assert_eq!(get(&mut connection, &server.setting(name)), *other);
    }
}

#[test]
fn changed_settings_do_not_affect_existing_keys() {
    let (server, mut connection) = Server::start().connected();
    for command in ["BF.ADD bf a", "CF.ADD cf a"] {
        connection.check(command, ":1");
    }
    let look = |connection: &mut Connection| {
        ["DUMP bf", "DUMP cf", "BF.INFO bf", "CF.INFO cf"].map(|command| connection.call(command))
    };
    let before = look(&mut connection);
    // `bf-replies` changes the form of BF.INFO.
    let settings = settings().filter(|setting| setting.name != "bf-replies");
    for Setting { name, other, .. } in settings {
        server.set(name, other);
        assert_eq!(look(&mut connection), before, "{name}");
    }
    // They also grow with the factors of their creation: two, and one.
    connection.call(&format!("BF.MADD bf {}", numbers(0, 300)));
    let sizes = connection.call("BF.DEBUG bf").to_string();
    let has_both = sizes.contains("size:100 ") && sizes.contains("size:200 ");
    assert!(has_both, "{sizes}");
    let info = connection.call("CF.INFO cf").to_string();
    assert!(info.contains("+Expansion rate :1 "), "{info}");
}

/// The values of settings, by their names on the server.
type Values = Vec<(String, String)>;

/// The values of all settings, in a fixed order.
fn values(connection: &mut Connection, names: &[String]) -> Values {
    let get = ["CONFIG", "GET"].into_iter();
    let get: Vec<_> = get.chain(names.iter().map(String::as_str)).collect();
    let texts = connection.send(&get).strings();
    let pairs = texts.chunks_exact(2);
    let mut values: Values = pairs
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect();
    assert_eq!(values.len(), names.len());
    values.sort();
    values
}

/// CONFIG SET of several settings. Returns whether the server accepted it.
fn set_all<'a>(
    connection: &mut Connection,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> bool {
    let pairs = pairs.into_iter().flat_map(|(name, value)| [name, value]);
    let set: Vec<_> = ["CONFIG", "SET"].into_iter().chain(pairs).collect();
    connection.send(&set).is_ok()
}

/// All pairs of settings with several values each, in both orders, from several states, alone and before an invalid
/// setting. A failed CONFIG SET changes nothing, and the order of the settings does not matter.
#[test]
fn a_config_set_changes_all_settings_or_none_in_any_order() {
    let (server, mut connection) = Server::start().connected();
    let names: Vec<_> = settings().map(|one| server.setting(one.name)).collect();
    let all: Vec<_> = settings().zip(&names).collect();
    let defaults = all.iter().map(|(one, name)| (name.as_str(), one.default));
    let others = all.iter().map(|(one, name)| (name.as_str(), one.other));
    let sizes = ["cf-bucket-size", "cf-initial-size"].map(|name| server.setting(name));
    let tight = [(sizes[0].as_str(), "50"), (&sizes[1], "100")];
    let states: [Vec<_>; 3] = [defaults.collect(), others.collect(), tight.into()];
    let (mut conflicts, mut pairs) = (0, 0);
    let sample = Sample::of_run();
    for state in &states {
        assert!(set_all(&mut connection, state.iter().copied()), "{state:?}");
        let before = values(&mut connection, &names);
        for (number, (first, first_name)) in all.iter().enumerate() {
            for (second, second_name) in &all[number + 1..] {
                let is_other = |one: &Setting| ![first.name, second.name].contains(&one.name);
                let unrelated = all.iter().find(|(one, _)| is_other(one));
                let (_, unrelated) = unrelated.expect("a third setting");
                pairs += 1;
                if !sample.contains(pairs) {
                    continue;
                }
                for [a, b] in pairs_of_values(first, second) {
                    let [a, b] = [(first_name.as_str(), a), (second_name.as_str(), b)];
                    let mut set = |pairs: &[(&str, &str)]| {
                        let accepted = set_all(&mut connection, pairs.iter().copied());
                        let after = values(&mut connection, &names);
                        if !accepted {
                            assert_eq!(after, before, "{pairs:?}");
                        } else if after != before {
                            let before = before.iter();
                            let back = before.map(|(name, value)| (name.as_str(), value.as_str()));
                            assert!(set_all(&mut connection, back), "{pairs:?}");
                        }
                        accepted.then_some(after)
                    };
                    let together = set(&[a, b]);
                    assert_eq!(set(&[b, a]), together, "{a:?} {b:?}");
                    let invalid = (unrelated.as_str(), "bogus");
                    assert_eq!(set(&[a, b, invalid]), None, "{a:?} {b:?}");
                    assert_eq!(set(&[b, a, invalid]), None, "{b:?} {a:?}");
                    if together.is_none() && set(&[a]).is_some() && set(&[b]).is_some() {
                        conflicts += 1;
                    }
                }
            }
        }
    }
    // Some pairs of values are refused for the pair of settings: all of one pair of settings.
    assert!(conflicts > 0 || !sample.is_all());
}

/// Some values of two settings: the default, another one, and integers of which some are refused.
fn pairs_of_values(
    first: &'static Setting,
    second: &'static Setting,
) -> impl Iterator<Item = [&'static str; 2]> {
    let values = |one: &Setting| [one.default, one.other, "1", "4", "100"];
    let seconds = values(second);
    let pairs = values(first).map(|a| seconds.map(|b| [a, b]));
    pairs.into_iter().flatten()
}

/// The load line and the configuration file accept a pair of settings if CONFIG SET accepts it, in any order. One of the settings
/// can be in each.
#[test]
fn settings_that_limit_each_other_are_loaded_in_any_order() {
    for (bucket, capacity, is_accepted) in [
        ("50", "100", true),
        ("1", "4", true),
        ("2", "4", true),
        ("100", "200", true),
        ("255", "510", true),
        ("50", "99", false),
        ("3", "5", false),
        ("3", "4", false),
    ] {
        let server = Server::start();
        let bucket = ("cf-bucket-size", bucket);
        let capacity = ("cf-initial-size", capacity);
        for pairs in [[bucket, capacity], [capacity, bucket]] {
            let line = pairs.map(|(name, value)| [name, value]).concat();
            let file =
                pairs.map(|(name, value)| [format!("--{}", server.setting(name)), value.into()]);
            let file = file.concat();
            let file: Vec<_> = file.iter().map(String::as_str).collect();
            let named = pairs.map(|(name, value)| (server.setting(name), value));
            let named = named.iter().map(|(name, value)| (name.as_str(), *value));
            let found = set_all(&mut server.resp2(), named);
            assert_eq!(found, is_accepted, "{pairs:?}");
            let half = Options::new().module_arguments(&line[..2]);
            for options in [
                Options::new().module_arguments(&line),
                Options::new().arguments(&file),
                half.arguments(&file[2..]),
            ] {
                match options.try_start() {
                    Ok(server) => {
                        assert!(is_accepted, "{pairs:?}");
                        for (name, value) in pairs {
                            let name = server.setting(name);
                            assert_eq!(get(&mut server.resp2(), &name), value);
                        }
                        server.resp2().check("CF.ADD k a", ":1");
                    }
                    Err(log) => {
                        assert!(!is_accepted, "{pairs:?}: {log}");
                        assert!(log.contains("must be in the range"), "{pairs:?}: {log}");
                    }
                }
            }
        }
    }
}

/// The log messages of a level: `#` warning, `*` notice, `-` verbose.
fn logged(server: &Server, level: char) -> Vec<String> {
    let log = server.log();
    let marked = format!(" {level} ");
    let texts = log.lines().filter_map(|line| line.split_once(&marked));
    // The line with the server's version also contains the process id.
    let texts = texts.filter(|(_, text)| !text.contains(" pid="));
    texts.map(|(_, text)| text.to_owned()).collect()
}

#[test]
fn loading_logs_no_warning_and_whether_settings_are_prefixed() {
    let plain = Options::new().without_module().start();
    let server = Options::new().arguments(&["--loglevel", "verbose"]).start();
    assert_eq!(logged(&server, '#'), logged(&plain, '#'));
    let is_prefixed = !server.setting("").is_empty();
    let notices = logged(&server, '*').join("\n");
    let notice = "this server adds a prefix to the settings of modules: use CONFIG SET bf.<name>";
    assert_eq!(notices.contains(notice), is_prefixed, "{notices}");
    // No message requires action from an operator.
    assert!(!notices.contains("TryCalloc"), "{notices}");
    let version = server.version();
    let has_try_calloc = version.is_valkey_at_least(8, 0) || version.is_redis_at_least(7, 4);
    let verbose = logged(&server, '-').join("\n");
    assert_eq!(verbose.contains("TryCalloc"), !has_try_calloc, "{verbose}");
}
