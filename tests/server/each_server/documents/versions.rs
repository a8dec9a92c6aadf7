//! The versions that the module reports. tests/documents checks those in the documents.

use crate::support::server::{Options, Server, debug_module_path, server_program};
use crate::support::tested;
use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Clients test for this version of RedisBloom in MODULE LIST.
const COMMAND_SET_VERSION: i64 = 81_200;

#[test]
fn the_module_reports_its_version_and_that_of_the_command_set() {
    let server = Server::start();
    let reported = server.info("bf_roughly_version");
    assert_eq!(reported.as_deref(), Some(VERSION));
    assert!(server.log().contains(&format!("Roughly {VERSION} (")));
    assert_eq!(server.module_version(), COMMAND_SET_VERSION);
}

/// docs/versioning.md lists every server of the test matrix (target/servers/NAME/server). Other servers are newer or not, and the log
/// says which.
#[test]
fn the_servers_of_the_matrix_are_listed_as_tested() {
    let server = Server::start();
    let (kind, number) = server.version().kind_and_number();
    let listed = tested::listed(kind);
    let program = server_program();
    let in_matrix = Path::new(&program).parent().and_then(Path::parent);
    if in_matrix.is_some_and(|parent| parent.ends_with("target/servers")) {
        assert!(
            listed.contains(&number),
            "add {kind} {}.{} to docs/versioning.md, and the newest version to src/server/load/server_version.rs",
            number.0,
            number.1
        );
    }
    let line = "is newer than every version that this module was tested on";
    let found = server.log().contains(line);
    assert_eq!(found, listed.iter().all(|old| *old < number));
}

#[test]
fn a_server_that_is_newer_than_the_tested_ones_is_logged_once() {
    let mut server = Options::new().debug_module().start();
    let (kind, _) = server.version().kind_and_number();
    let (major, minor) = *tested::listed(kind).last().expect("a version");
    let newer = format!("{major}.{}", minor + 1);
    let file = server.dir().join("roughly-server-version");
    std::fs::write(file, format!("{newer}.0")).expect("a written file");
    server.restart();
    let line = format!(
        "{kind} {newer} is newer than every version that this module was tested on: the newest is {major}.{minor}"
    );
    assert_eq!(server.log().matches(&line).count(), 1, "{}", server.log());
}

#[test]
fn a_server_that_is_too_old_logs_why_the_module_is_not_loaded() {
    let options = Options::new().without_module();
    let options = options.arguments(&["--enable-module-command", "yes"]);
    let server = options.start();
    let (kind, oldest, too_old) = match server.version().is_valkey() {
        true => ("Valkey", "7.2", "7.1"),
        false => ("Redis", "7.0", "6.2"),
    };
    let file = server.dir().join("roughly-server-version");
    std::fs::write(&file, format!("{too_old}.16")).expect("a written file");
    let mut connection = server.resp2();
    let module = debug_module_path();
    let load = ["MODULE", "LOAD", module.to_str().expect("a UTF-8 path")];
    assert!(connection.send(&load).is_error());
    let line =
        format!("not loaded: {kind} {too_old} is too old: the module needs {kind} {oldest}\n");
    assert!(server.log().contains(&line), "{}", server.log());
    std::fs::write(&file, format!("{oldest}.0")).expect("a written file");
    connection.send_ok(&load);
}
