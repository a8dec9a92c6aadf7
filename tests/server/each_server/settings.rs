//! All settings of the module: defaults, CONFIG GET, SET and REWRITE, load arguments.

use crate::families::{Setting, one_per_family, setting};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

/// All settings: those of the families and those of the module.
fn settings() -> impl Iterator<Item = &'static Setting> {
    const OWN: &[Setting] = &[
        setting("sketch-max-key-bytes", "0", "1000000", "-1"),
        setting("sketch-windows", "yes", "no", "maybe"),
    ];
    let families = one_per_family().flat_map(|family| family.settings);
    families.chain(OWN)
}

fn get(connection: &mut Connection, name: &str) -> String {
    let reply = connection.send(&["CONFIG", "GET", name]);
    let Some([_, value]) = reply.items() else {
        panic!("{name}: {reply}");
    };
    String::from_utf8(value.text().expect("a text").to_vec()).expect("UTF-8")
}

/// The server has no other settings of the module.
#[test]
fn every_setting_has_its_default_and_refuses_what_is_out_of_range() {
    let server = Server::start();
    let mut connection = server.resp2();
    let count = |connection: &mut Connection, pattern: &str| {
        let reply = connection.send(&["CONFIG", "GET", pattern]);
        reply.items().map_or(0, |items| items.len() / 2)
    };
    let known: usize = ["bf-*", "cf-*", "sketch-*", "bf.bloom-*"]
        .iter()
        .map(|pattern| count(&mut connection, &server.setting(pattern)))
        .sum();
    assert_eq!(known, settings().count());
    for Setting {
        name,
        default,
        other,
        invalid,
    } in settings()
    {
        let full = server.setting(name);
        assert_eq!(get(&mut connection, &full), *default);
        let reply = connection
            .send(&["CONFIG", "SET", &full, invalid])
            .to_string();
        assert!(reply.starts_with('-') && reply.contains(name), "{reply}");
        assert_eq!(get(&mut connection, &full), *default);
        assert!(connection.send(&["CONFIG", "SET", &full, other]).is_ok());
        assert_eq!(get(&mut connection, &full), *other);
    }
}

#[test]
fn every_setting_can_be_a_load_argument() {
    let words: Vec<&str> = settings()
        .flat_map(|setting| [setting.argument(), setting.other])
        .collect();
    let server = Options::new().module_arguments(&words).start();
    let mut connection = server.resp2();
    for setting in settings() {
        let (name, full) = (setting.argument(), server.setting(setting.name));
        assert_eq!(get(&mut connection, &full), setting.other);
        let log = Options::new()
            .module_arguments(&[name, setting.invalid])
            .try_start();
        let log = log.expect_err("a server that does not start");
        assert!(log.contains(name), "{name}: {log}");
    }
}

/// The next start reads the file that CONFIG REWRITE wrote, which takes precedence over the load arguments.
#[test]
fn every_setting_survives_a_rewritten_configuration_file() {
    let mut server = Options::new()
        .config_file()
        .module_arguments(&["bf-initial-size", "55"])
        .start();
    let mut connection = server.resp2();
    for Setting { name, other, .. } in settings() {
        let reply = connection.send(&["CONFIG", "SET", &server.setting(name), other]);
        assert!(reply.is_ok(), "{name}: {reply}");
    }
    assert!(connection.call("CONFIG REWRITE").is_ok());
    let file = std::fs::read_to_string(server.dir().join("server.conf")).expect("a file");
    for Setting { name, other, .. } in settings() {
        let set = format!("{} {other}", server.setting(name));
        let has = |line: &str| line.replace('"', "") == set;
        assert!(file.lines().any(has), "{name} is not in\n{file}");
    }
    // The file now loads the module.
    assert!(file.contains("loadmodule "), "{file}");
    server.restart_with(Options::new().config_file().without_module());
    let mut connection = server.resp2();
    for Setting { name, other, .. } in settings() {
        assert_eq!(get(&mut connection, &server.setting(name)), *other);
    }
}

/// A changed setting does not affect existing keys.
#[test]
fn changed_settings_do_not_affect_existing_keys() {
    let server = Server::start();
    let mut connection = server.resp2();
    for command in ["BF.ADD bf a", "CF.ADD cf a"] {
        assert_eq!(connection.call(command), Reply::Integer(1));
    }
    let look = |connection: &mut Connection| {
        ["DUMP bf", "DUMP cf", "BF.INFO bf", "CF.INFO cf"].map(|command| connection.call(command))
    };
    let before = look(&mut connection);
    // `bf-replies` changes the form of BF.INFO.
    let settings = settings().filter(|setting| setting.name != "bf-replies");
    for Setting { name, other, .. } in settings {
        let reply = connection.send(&["CONFIG", "SET", &server.setting(name), other]);
        assert!(reply.is_ok(), "{name}: {reply}");
        assert_eq!(look(&mut connection), before, "{name}");
    }
    // They also grow with the factors of their creation: two, and one.
    let items: Vec<_> = (0..300).map(|n| n.to_string()).collect();
    connection.call(&format!("BF.MADD bf {}", items.join(" ")));
    let sizes = connection.call("BF.DEBUG bf").to_string();
    assert!(
        sizes.contains("size:100 ") && sizes.contains("size:200 "),
        "{sizes}"
    );
    let info = connection.call("CF.INFO cf").to_string();
    assert!(info.contains("+Expansion rate :1 "), "{info}");
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
