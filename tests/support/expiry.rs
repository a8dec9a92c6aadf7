//! Keys that have expired and are still there.

use super::resp::{Connection, Reply};
use std::thread;
use std::time::Duration;

/// Maximum time to live.
const MAX_LIFE: Duration = Duration::from_millis(40);

/// Creates `key` and lets it expire on a server without active expiry, which keeps it until a command accesses it.
///
/// Redis 7.0 deletes the key if its time is over before PEXPIRE ends. With a time of 1 ms, this happened to one key of 3000, when a
/// millisecond ended during the command. Then another key is created, which lives longer.
pub fn create_expired(
    connection: &mut Connection,
    key: &str,
    mut create: impl FnMut(&mut Connection),
) {
    let mut life = Duration::from_millis(1);
    loop {
        create(connection);
        let keys = connection.call("DBSIZE");
        let reply = connection.send(&["PEXPIRE", key, &life.as_millis().to_string()]);
        assert_eq!(reply, Reply::Integer(1), "PEXPIRE {key}");
        thread::sleep(life + Duration::from_millis(2));
        if connection.call("DBSIZE") == keys {
            return;
        }
        life = MAX_LIFE.min(2 * life);
    }
}
