//! The documented ways of loading: CONFIG REWRITE and a restart keep the module, its arguments and its settings.

mod install_script;
mod module_load;
mod repeated_load;

use super::settings::settings;
use crate::families::Setting;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server, module_file, module_path};
use std::fs;
use std::path::Path;

/// A documented way of loading the module.
#[derive(Debug, Clone, Copy)]
enum Way {
    MainFile,
    IncludedFile,
    CommandLine,
    AtRunTime,
}

/// The module's arguments, its name with them, and the start of the names of its settings.
struct Loaded {
    arguments: &'static [&'static str],
    module: &'static str,
    settings: &'static [&'static str],
}

const PLAIN: Loaded = Loaded {
    arguments: &[],
    module: "bf",
    settings: &["bf", "cf-", "sketch-"],
};

const LOADED: [Loaded; 3] = [
    PLAIN,
    Loaded {
        arguments: &["bf-error-rate", "0.002", "cf-bucket-size", "5"],
        ..PLAIN
    },
    Loaded {
        arguments: &["families", "cf,cms,topk,tdigest", "cf-bucket-size", "5"],
        module: "roughly",
        settings: &["cf-", "sketch-"],
    },
];

impl Loaded {
    /// The settings that the module has with these arguments.
    fn settings(&self) -> impl Iterator<Item = &'static Setting> {
        let names = self.settings;
        settings().filter(move |setting| names.iter().any(|start| setting.name.starts_with(start)))
    }

    /// The name of a setting on the server.
    fn name(&self, server: &Server, setting: &Setting) -> String {
        let name = server.setting(setting.name);
        match name.strip_prefix("bf.") {
            Some(name) => format!("{}.{name}", self.module),
            None => name,
        }
    }

    /// The line that loads the module.
    fn line(&self) -> String {
        [&["loadmodule", &module_file()], self.arguments]
            .concat()
            .join(" ")
    }

    /// Starts a server that loads the module in this way. `included` is a file for its directory.
    fn start(&self, way: Way, included: &Path) -> Server {
        let options = Options::new();
        let line = self.line();
        match way {
            Way::MainFile => options
                .without_module()
                .config(&format!("maxmemory 1gb\n{line}\n"))
                .start(),
            Way::IncludedFile => {
                fs::write(included, format!("{line}\n")).expect("a written file");
                let include = format!("maxmemory 1gb\ninclude {}\n", included.display());
                options.without_module().config(&include).start()
            }
            Way::CommandLine => options
                .config("maxmemory 1gb\n")
                .module_arguments(self.arguments)
                .start(),
            Way::AtRunTime => {
                let options = options.without_module().config("maxmemory 1gb\n");
                let options = options.arguments(&["--enable-module-command", "yes"]);
                let server = options.start();
                server.ok(&line.replacen("loadmodule", "MODULE LOAD", 1));
                server
            }
        }
    }

    /// Asserts that the server has one module with these arguments, and these values of its settings.
    fn assert(&self, server: &Server, value: fn(&Setting) -> &'static str) {
        let mut connection = server.resp2();
        let modules = connection.call("MODULE LIST").to_string();
        assert_eq!(modules.matches(&module_file()).count(), 1, "{modules}");
        assert!(modules.contains(&format!("${} ", self.module)), "{modules}");
        let adds_to_bloom = !connection.call("BF.ADD filter item").is_error();
        assert_eq!(adds_to_bloom, self.module == "bf");
        for setting in self.settings() {
            let name = self.name(server, setting);
            let reply = connection.send(&["CONFIG", "GET", &name]);
            let found = reply.items().and_then(|items| items.get(1)?.text());
            assert_eq!(found, Some(value(setting).as_bytes()), "{name}: {reply}");
        }
    }
}

/// CONFIG REWRITE, twice.
fn rewrite(server: &Server, connection: &mut Connection) {
    for _ in 0..2 {
        connection.ok("CONFIG REWRITE");
    }
    let file = fs::read_to_string(server.config_path()).expect("a file");
    let is_loading = |line: &&str| line.starts_with("loadmodule");
    assert_eq!(file.lines().filter(is_loading).count(), 1, "{file}");
}

fn assert_that_settings_survive(way: Way) {
    for loaded in LOADED {
        let dir = tempfile::tempdir().expect("a directory");
        let mut server = loaded.start(way, &dir.path().join("roughly.conf"));
        let values: [fn(&Setting) -> &'static str; 2] =
            [|setting| setting.other, |setting| setting.default];
        for value in values {
            let mut connection = server.resp2();
            for setting in loaded.settings() {
                let (name, value) = (loaded.name(&server, setting), value(setting));
                let reply = connection.send(&["CONFIG", "SET", &name, value]);
                assert!(reply.is_ok(), "{way:?} {name} {value}: {reply}");
            }
            // The first restart reads what the server added to the file, the second what it replaced.
            for _ in 0..2 {
                rewrite(&server, &mut server.resp2());
                server.restart();
                loaded.assert(&server, value);
            }
        }
    }
}

#[test]
fn settings_survive_a_rewrite_with_the_line_in_the_main_file() {
    assert_that_settings_survive(Way::MainFile);
}

#[test]
fn settings_survive_a_rewrite_with_the_line_in_an_included_file() {
    assert_that_settings_survive(Way::IncludedFile);
}

#[test]
fn settings_survive_a_rewrite_with_the_module_on_the_command_line() {
    assert_that_settings_survive(Way::CommandLine);
}

#[test]
fn settings_survive_a_rewrite_after_module_load() {
    assert_that_settings_survive(Way::AtRunTime);
}

/// docs/faq.md: a server without the module does not start with the module's settings.
#[test]
fn settings_of_a_removed_module_prevent_the_start() {
    let dir = tempfile::tempdir().expect("a directory");
    let [loaded, ..] = LOADED;
    let mut server = loaded.start(Way::MainFile, dir.path());
    let set = format!("CONFIG SET {} 5", server.setting("cf-bucket-size"));
    server.ok(&set);
    rewrite(&server, &mut server.resp2());
    server.shut_down();
    let file = fs::read_to_string(server.config_path()).expect("a file");
    let without_line = file.replace(&loaded.line(), "");
    fs::write(server.config_path(), without_line).expect("a written file");
    let log = server.try_relaunch_with(Options::new().without_module().config_file());
    let log = log.expect_err("a server that does not start");
    let reason = "Module Configuration detected without loadmodule directive";
    assert!(log.contains(reason), "{log}");
    let page = fs::read_to_string("docs/configuration.md").expect("a page");
    assert!(page.contains(reason));
}

/// packaging/install.sh refuses such paths.
#[test]
fn a_path_with_a_space_prevents_the_start_after_a_rewrite() {
    let dir = tempfile::tempdir().expect("a directory");
    let module = dir.path().join("lib roughly.so");
    fs::copy(module_path(), &module).expect("a copy");
    let line = format!("loadmodule \"{}\"\n", module.display());
    let mut server = Options::new().without_module().config(&line).start();
    rewrite(&server, &mut server.resp2());
    server.shut_down();
    let log = server.try_relaunch_with(Options::new().without_module().config_file());
    let log = log.expect_err("a server that does not start");
    let reason = format!("Can't load module from {}/lib:", dir.path().display());
    assert!(log.contains(&reason), "{log}");
}
