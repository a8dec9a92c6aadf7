//! Features of new servers with every type. The tests of clusters run atomic slot migrations, and tests/defrag.rs runs active
//! defragmentation.

mod needs_redis_8_6;
mod needs_threaded_reads;

use super::settings::settings;
use crate::families::build_all;
use crate::support::server::{Options, module_file};

/// CONFIG sets every setting by its full name, and ARGS has load arguments.
#[test]
fn module_loadex_sets_every_setting() {
    let options = Options::new().without_module();
    let options = options.arguments(&["--enable-module-command", "yes"]);
    let (server, mut connection) = options.start().connected();
    let mut load = vec!["MODULE".to_owned(), "LOADEX".to_owned(), module_file()];
    for setting in settings() {
        let value = setting.other.to_owned();
        load.extend(["CONFIG".to_owned(), server.setting(setting.name), value]);
    }
    connection.send_ok(&load);
    for setting in settings() {
        let name = server.setting(setting.name);
        let shown = connection.send(&["CONFIG", "GET", &name]).to_string();
        assert_eq!(shown, format!("*[${name} ${}]", setting.other));
        connection.ok(&format!("CONFIG SET {name} {}", setting.default));
    }
    build_all(&mut connection);
}
