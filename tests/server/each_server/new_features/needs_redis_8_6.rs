//! HOTKEYS, and statistics of the keyspace.

use crate::families::{FAMILIES, Family, build_all};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

/// The names of the keys in a list of HOTKEYS GET, which has a number after each name.
fn hot_keys(reply: &Reply, list: &str) -> Vec<String> {
    // The reply is an array with one element, or a flat list of fields.
    let field = reply
        .field(list)
        .or_else(|| reply.items()?.first()?.field(list));
    let list = field.unwrap_or_else(|| panic!("no {list}: {reply}"));
    let names = list.items().expect("keys").iter().step_by(2);
    names.map(Reply::string).collect()
}

/// HOTKEYS finds the keys of commands of modules by their key specs: with reads, writes and merges.
#[test]
#[ignore = "needs Redis 8.6"]
fn hotkeys_lists_keys_of_every_type() {
    let (_server, mut connection) = Server::start().connected();
    build_all(&mut connection);
    for family in FAMILIES {
        family.build(&mut connection, &format!("{}:read", family.type_name));
    }
    connection.ok("HOTKEYS START METRICS 2 CPU NET COUNT 64");
    for family in FAMILIES {
        family.change(&mut connection, family.type_name, "77");
        family.read(&mut connection, &format!("{}:read", family.type_name));
    }
    let found = connection.call("HOTKEYS GET");
    for list in ["by-cpu-time-us", "by-net-bytes"] {
        let keys = hot_keys(&found, list);
        for family in FAMILIES {
            for key in [family.type_name, &format!("{}:read", family.type_name)] {
                assert!(keys.iter().any(|found| found == key), "{list}: {keys:?}");
            }
        }
    }
    connection.ok("HOTKEYS STOP");
    connection.ok("HOTKEYS RESET");
}

/// Statistics of the keyspace, which the server itself compares with its keys after every command.
#[test]
#[ignore = "needs Redis 8.6"]
fn statistics_of_the_keyspace_stay_correct() {
    let options = Options::new().arguments(&["--key-memory-histograms", "yes"]);
    let (_server, mut connection) = options.start().connected();
    connection.ok("DEBUG KEYSIZES-HIST-ASSERT 1");
    for family in FAMILIES {
        run_life(family, &mut connection, family.type_name);
    }
    connection.ok("DEBUG RELOAD");
    for family in FAMILIES {
        connection.check(&format!("DEL {}", family.type_name), ":1");
    }
    connection.ok("FLUSHALL");
    connection.check("DBSIZE", ":0");
}

/// What changes the keyspace: creation, writes, copies, names, values and times to live.
fn run_life(family: &Family, connection: &mut Connection, key: &str) {
    family.build(connection, key);
    for item in 0..200 {
        family.change(connection, key, &item.to_string());
    }
    let view = family.view(connection, key);
    let dump = connection.payload(key);
    let (copy, moved) = (format!("{key}:copy"), format!("{key}:moved"));
    connection.check(&format!("COPY {key} {copy}"), ":1");
    connection.ok(&format!("RENAME {copy} {moved}"));
    let restore: [&[u8]; 5] = [b"RESTORE", moved.as_bytes(), b"60000", &dump, b"REPLACE"];
    connection.send_ok(&restore);
    assert_eq!(connection.send(&["PERSIST", &moved]).integer(), Some(1));
    assert_eq!(family.view(connection, &moved), view, "{}", family.name);
    assert_eq!(connection.send(&["UNLINK", &moved]).integer(), Some(1));
}
