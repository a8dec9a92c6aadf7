//! The memory of huge pages, and what saves and loads change.

use super::{CREATION, INTERVAL};
use crate::huge_pages::{
    add, create_filled, huge_bytes, kernel_huge_bytes, run, set, start, wait_for, wait_until,
};
use std::thread::sleep;

/// Huge pages are provided where at least three quarters of the memory are in use.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn huge_pages_take_at_most_a_third_more_memory() {
    let (mut server, mut connection) = start();
    set(&server, &mut connection, "no");
    let empty = server.resident_bytes();
    run(&mut connection, &CREATION.replace("KEY", "key"));
    // About three quarters of 58,594 pages, so that some huge pages have more and some less.
    add(&mut connection, CREATION, "key", 0..81_000);
    let used = server.resident_bytes() - empty;
    set(&server, &mut connection, "yes");
    wait_for(&mut server, 1);
    let with_huge_pages = server.resident_bytes() - empty;
    let most = used / 3 * 4 + (8 << 20);
    assert!(with_huge_pages <= most, "{used} bytes, {with_huge_pages}");
    if huge_bytes(&server) > 0 {
        assert!(huge_bytes(&server) < 240_000_000 / 4 * 3);
        assert!(with_huge_pages > used);
    }
}

/// The server allocates and fills the arrays that it loads. Writes during a save divide huge pages, which are restored when
/// the child process has ended. None gets huge before, because the memory would be copied.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn huge_pages_are_restored_after_loads_and_saves() {
    let (mut server, mut connection) = start();
    create_filled(&mut connection, CREATION, "key");
    add(&mut connection, CREATION, "key", 100_000..300_000);
    let all = 230_000_000;
    wait_for(&mut server, all);
    run(&mut connection, "DEBUG RELOAD");
    wait_for(&mut server, all);
    wait_until(&mut server, "the memory of the old array", |server| {
        kernel_huge_bytes(server) == huge_bytes(server)
    });
    // The child process waits so long for each of these keys: long enough to be stopped.
    for number in 0..40 {
        run(&mut connection, &format!("SET key:{number} x"));
    }
    for _ in 0..2 {
        run(&mut connection, "CONFIG SET rdb-key-save-delay 100000");
        run(&mut connection, "BGSAVE");
        assert_eq!(server.signal_children("-STOP"), 1);
        let before = kernel_huge_bytes(&server);
        add(&mut connection, CREATION, "key", 0..20_000);
        let divided = kernel_huge_bytes(&server);
        assert!(divided <= before / 4, "{divided} of {before}");
        sleep(2 * INTERVAL);
        assert_eq!(server.info_number("rdb_bgsave_in_progress"), 1);
        assert!(kernel_huge_bytes(&server) <= divided);
        server.signal_children("-CONT");
        server.wait_until("the save", |server| {
            server.info_number("rdb_bgsave_in_progress") == 0
        });
        wait_until(&mut server, "huge pages", |server| {
            kernel_huge_bytes(server) >= all || server.info_number("bf_huge_page_errors") > 0
        });
    }
}
