//! The pages and the system calls of a server with large arrays.

mod needs_huge_pages;
mod needs_redis;

use crate::huge_pages::{add, huge_bytes, kernel_huge_bytes, run};
use crate::support::server::Server;
use std::thread::sleep;
use std::time::Duration;

/// The thread looks at all pages once in this time if it has nothing to do.
const INTERVAL: Duration = Duration::from_secs(1);

const CREATION: &str = "CMS.INITBYDIM KEY 60000000 1";

/// A reserved filter takes only the memory that it uses.
#[test]
fn an_almost_empty_filter_takes_few_pages() {
    let server = Server::start();
    let mut connection = server.resp2();
    run(&mut connection, "BF.RESERVE key 0.001 597000000");
    let before = server.resident_bytes();
    add(&mut connection, "BF.RESERVE", "key", 0..100);
    sleep(3 * INTERVAL);
    let taken = server.resident_bytes().saturating_sub(before);
    // Ten pages per item, and tables for them.
    assert!(taken < 12 << 20, "{taken} bytes");
    assert_eq!((huge_bytes(&server), kernel_huge_bytes(&server)), (0, 0));
}
