//! Keyspace events of keys of valkey-bloom's type, and their order.

use super::replacement;
use crate::families::valkey_bloom::load_payload;
use crate::support::resp::Connection;

/// The events since the last call.
fn events(listener: &mut Connection, connection: &mut Connection) -> Vec<String> {
    connection.call("SET end x");
    listener.events()
}

#[test]
fn events_are_those_of_valkey_bloom() {
    let (server, mut connection) = replacement().start().connected();
    let mut listener = server.listener();
    let tightened = "BF.INSERT s TIGHTENING 0.5 ITEMS 1";
    for (command, expected) in [
        ("BF.ADD a 1", &["a bloom.add", "a bloom.reserve"][..]),
        ("BF.ADD a 1", &[]),
        ("BF.ADD a 2", &["a bloom.add"]),
        ("BF.MADD m 1 2 3", &["m bloom.add", "m bloom.reserve"]),
        ("BF.MADD m 1 2 4", &["m bloom.add"]),
        ("BF.MADD m 1 2", &[]),
        ("BF.RESERVE r 0.01 2 NONSCALING", &["r bloom.reserve"]),
        // The last item is refused.
        ("BF.MADD r 1 2 3", &["r bloom.add"]),
        ("BF.ADD r 3", &[]),
        ("BF.INSERT i ITEMS 1", &["i bloom.add", "i bloom.reserve"]),
        ("BF.INSERT e CAPACITY 5", &["e bloom.reserve"]),
        ("BF.INSERT e CAPACITY 5", &[]),
        ("BF.EXISTS a 1", &[]),
        ("BF.INFO a", &[]),
        // Only the type of the key matters, not the setting.
        ("CONFIG SET bf-new-keys redisbloom", &[]),
        ("BF.ADD a 5", &["a bloom.add"]),
        ("BF.ADD classic 5", &["classic bf.add"]),
        (tightened, &["s bloom.add", "s bloom.reserve"]),
    ] {
        match command {
            "CONFIG SET bf-new-keys redisbloom" => server.set("bf-new-keys", "redisbloom"),
            _ => drop(connection.call(command)),
        }
        let found = events(&mut listener, &mut connection);
        assert_eq!(found, expected, "{command}");
    }
    let payload = load_payload(&mut connection, "m");
    let load = [&b"BF.LOAD"[..], b"l", &payload];
    assert!(connection.send(&load).is_ok());
    assert_eq!(events(&mut listener, &mut connection), ["l bloom.reserve"]);
    assert!(connection.send(&load).is_error());
    assert!(events(&mut listener, &mut connection).is_empty());
}
