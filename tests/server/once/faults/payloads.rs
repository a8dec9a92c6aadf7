//! Payloads that end early, with a valid footer.

use crate::families::FAMILIES;
use crate::golden_dumps::with_footer;
use crate::support::resp::request;
use crate::support::server::Server;

const FOOTER_BYTES: usize = 10;
/// Payloads that are sent at once.
const BATCH: usize = 64;

/// RESTORE refuses a payload that was cut at any byte. If less than a footer is missing, the server reads the footer as the last
/// values, which may be valid.
#[test]
fn a_payload_that_ends_early_is_refused() {
    let (server, mut connection) = Server::start().connected();
    for family in FAMILIES {
        connection.call("FLUSHALL SYNC");
        family.build(&mut connection, "key");
        let dump = connection.payload("key");
        connection.call("DEL key");
        let (body, footer) = dump.split_at(dump.len() - FOOTER_BYTES);
        let restore = |len: usize| {
            let payload = with_footer([&body[..len], footer].concat());
            request(&[&b"RESTORE"[..], b"key", b"0", &payload])
        };
        let lengths: Vec<_> = (0..body.len()).collect();
        for lengths in lengths.chunks(BATCH) {
            let requests = |&len| [restore(len), request(&["DEL", "key"])].concat();
            let requests: Vec<_> = lengths.iter().flat_map(requests).collect();
            connection.write_raw(&requests).expect("a connection");
            for len in lengths {
                let reply = connection.read().expect("a reply").to_string();
                connection.read().expect("a reply");
                let what = format!("{}, {len} of {} bytes", family.name, body.len());
                let may_be_valid = len + FOOTER_BYTES >= body.len() && reply == "+OK";
                let is_expected = may_be_valid || reply == "-ERR Bad data format";
                assert!(is_expected, "{what}: {reply}");
            }
        }
        let keys = connection.call("DBSIZE").to_string();
        assert_eq!(keys, ":0", "{}", family.name);
        assert_eq!(family.info(&server, "bytes"), 0, "{}", family.name);
        let whole = restore(body.len());
        connection.write_raw(&whole).expect("a connection");
        let restored = connection.read().expect("a reply");
        assert!(restored.is_ok(), "{}: {restored}", family.name);
    }
    assert_eq!(server.info_number("bf_internal_errors"), 0);
}
