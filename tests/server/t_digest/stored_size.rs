//! The stored size of a digest, and what changes it.

use super::{Uniform, add, answers};
use crate::families::dump;
use crate::support::resp::Reply;
use crate::support::server::Server;

fn size(payload: &Reply) -> usize {
    payload.text().expect("a payload").len()
}

/// Samples are stored one by one until a compression. A read does not change the stored form. A merge of
/// the digest into itself does, with the same answers, and the replicas apply it.
#[test]
fn a_merge_into_itself_stores_the_compressed_form_on_primary_and_replica() {
    const SAMPLES: usize = 600;
    let (mut primary, replica) = Server::with_replica();
    let mut connection = primary.resp2();
    connection.ok("TDIGEST.CREATE digest");
    add(&mut connection, "digest", Uniform(5).take(SAMPLES));
    let before = dump(&mut connection, "digest");
    assert!(size(&before) > 2 * 9 * SAMPLES, "{} bytes", size(&before));

    let expected = answers(&mut connection, "digest");
    assert_eq!(dump(&mut connection, "digest"), before);
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    assert_eq!(answers(&mut on_replica, "digest"), expected);
    assert_eq!(dump(&mut on_replica, "digest"), before);

    connection.ok("TDIGEST.MERGE digest 1 digest OVERRIDE");
    let after = dump(&mut connection, "digest");
    assert!(size(&after) < size(&before) / 4, "{} bytes", size(&after));
    assert_eq!(answers(&mut connection, "digest"), expected);
    primary.wait_for_replica(&replica);
    assert_eq!(dump(&mut on_replica, "digest"), after);
    assert_eq!(answers(&mut on_replica, "digest"), expected);
}
