//! Features of new servers with every type. The tests of clusters run atomic slot migrations, and tests/defrag.rs runs active
//! defragmentation.

mod needs_redis_8_6;
mod needs_threaded_reads;

use super::settings::settings;
use crate::families::FAMILIES;
use crate::support::resp::Connection;
use crate::support::server::{Options, module_path};

fn ok(connection: &mut Connection, command: &[&str]) {
    let reply = connection.send(command);
    assert!(reply.is_ok(), "{command:?}: {reply}");
}

/// CONFIG sets every setting by its full name, and ARGS has load arguments.
#[test]
fn module_loadex_sets_every_setting() {
    let options = Options::new().without_module();
    let options = options.arguments(&["--enable-module-command", "yes"]);
    let (server, mut connection) = options.start().connected();
    let module = module_path();
    let mut load: Vec<_> = ["MODULE", "LOADEX"].map(str::to_owned).into();
    load.push(module.to_str().expect("a UTF-8 path").to_owned());
    for setting in settings() {
        let value = setting.other.to_owned();
        load.extend(["CONFIG".to_owned(), server.setting(setting.name), value]);
    }
    let reply = connection.send(&load);
    assert!(reply.is_ok(), "{reply}\n{}", server.log_tail());
    for setting in settings() {
        let name = server.setting(setting.name);
        let shown = connection.send(&["CONFIG", "GET", &name]).to_string();
        assert_eq!(shown, format!("*[${name} ${}]", setting.other));
        ok(&mut connection, &["CONFIG", "SET", &name, setting.default]);
    }
    for family in FAMILIES {
        family.build(&mut connection, family.type_name);
    }
}
