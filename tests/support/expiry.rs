//! Keys that have expired and are still there.

use super::resp::{Connection, Reply};
use super::time;
use std::thread;
use std::time::Duration;

/// Lets `key` expire on a server without active expiry, which keeps it until a command accesses it.
///
/// Redis 7.0 deletes the key if its time is over before PEXPIRE ends. With a time of 1 ms, this happened to one key of 3000, when a
/// millisecond ended during the command. With 200 ms, the server would have to be suspended for this time within the command.
///
/// # Panics
/// If the key does not exist or PEXPIRE deleted it.
pub fn expire(connection: &mut Connection, key: &str) {
    let life = time::limit(Duration::from_millis(200));
    let keys = connection.call("DBSIZE");
    let reply = connection.send(&["PEXPIRE", key, &life.as_millis().to_string()]);
    assert_eq!(reply, Reply::Integer(1), "PEXPIRE {key}");
    thread::sleep(life + Duration::from_millis(2));
    assert_eq!(
        connection.call("DBSIZE"),
        keys,
        "{key} was deleted when it expired"
    );
}
