//! Keyspace events of keys of valkey-bloom's type, and their order.

use super::replacement;
use crate::families::valkey_bloom::load_payload;
use crate::support::resp::{Connection, Reply};

/// The events since the last call.
fn events(listener: &mut Connection, connection: &mut Connection) -> Vec<String> {
    // The event of this command marks the end.
    connection.call("SET end x");
    let mut events = Vec::new();
    loop {
        let event = listener.read().expect("an event");
        let texts: Vec<_> = event
            .items()
            .expect("an event")
            .iter()
            .map(|text| String::from_utf8_lossy(text.text().expect("a text")).into_owned())
            .collect();
        let key = texts[2].rsplit_once(':').expect("a key").1;
        if key == "end" {
            return events;
        }
        events.push(format!("{key} {}", texts[3]));
    }
}

#[test]
fn events_are_those_of_valkey_bloom() {
    let server = replacement()
        .arguments(&["--notify-keyspace-events", "KEA"])
        .start();
    let mut connection = server.resp2();
    let mut listener = server.resp2();
    listener.call("PSUBSCRIBE __keyspace@0__:*");
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
        (
            "BF.INSERT s TIGHTENING 0.5 ITEMS 1",
            &["s bloom.add", "s bloom.reserve"],
        ),
    ] {
        let sent = match command.strip_prefix("CONFIG SET ") {
            Some(set) => {
                let (name, value) = set.split_once(' ').expect("a value");
                format!("CONFIG SET {} {value}", server.setting(name))
            }
            None => command.to_owned(),
        };
        connection.call(&sent);
        assert_eq!(
            events(&mut listener, &mut connection),
            expected,
            "{command}"
        );
    }
    let payload = load_payload(&mut connection, "m");
    let load = [&b"BF.LOAD"[..], b"l", &payload];
    assert!(connection.send(&load).is_ok());
    assert_eq!(events(&mut listener, &mut connection), ["l bloom.reserve"]);
    assert!(matches!(connection.send(&load), Reply::Error(_)));
    assert!(events(&mut listener, &mut connection).is_empty());
}
