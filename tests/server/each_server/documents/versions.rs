//! The versions that the module reports. tests/documents checks those in the documents.

use crate::support::server::Server;

/// The version of the module.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Clients test for this version of RedisBloom in MODULE LIST.
const COMMAND_SET_VERSION: i64 = 81_200;

#[test]
fn the_module_reports_its_version_and_that_of_the_command_set() {
    let server = Server::start();
    let reported = server.info("bf_roughly_version");
    assert_eq!(reported.as_deref(), Some(VERSION));
    assert!(server.log().contains(&format!("Roughly {VERSION} (")));
    let modules = server.call("MODULE LIST");
    let mut modules = modules.items().expect("modules").iter();
    let module =
        modules.find(|module| module.field("name").and_then(|name| name.text()) == Some(b"bf"));
    let version = module.expect("the module").field("ver").expect("a version");
    assert_eq!(version.integer(), Some(COMMAND_SET_VERSION));
}
