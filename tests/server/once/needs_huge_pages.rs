//! The memory of huge pages, and what saves change, on a kernel that provides them.

use crate::huge_pages::{
    CREATIONS, add, create_filled, huge_bytes, kernel_huge_bytes, start, wait_for,
};

const CREATION: &str = "CMS.INITBYDIM KEY 60000000 1";

/// A reserved filter takes only the memory that it uses: ten pages per item, and tables for them.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn an_almost_empty_filter_takes_few_pages() {
    let (mut server, mut connection) = start();
    connection.run("BF.RESERVE key 0.001 600000000");
    let before = server.resident_bytes();
    add(&mut connection, "BF.RESERVE", "key", 0..1000);
    let taken = server.resident_bytes() - before;
    assert!(taken < 64 << 20, "{taken} bytes");
    // The server looks at both arrays before it replaces pages.
    create_filled(&mut connection, CREATIONS[0], "other");
    wait_for(&mut server, 30 << 20);
    let (huge, of_kernel) = (huge_bytes(&server), kernel_huge_bytes(&server));
    assert!(huge < 40 << 20, "{huge} bytes: those of the other filter");
    assert_eq!(huge, of_kernel);
}

/// Writes during a save divide huge pages, which are restored when the child process has ended. None gets huge before, because
/// the memory would be copied.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn huge_pages_are_restored_after_saves() {
    let (mut server, mut connection) = start();
    create_filled(&mut connection, CREATION, "key");
    add(&mut connection, CREATION, "key", 100_000..300_000);
    let all = 230_000_000;
    wait_for(&mut server, all);
    // The child process waits so long for each of these keys: long enough to be stopped.
    connection.run("DEBUG POPULATE 40");
    for _ in 0..2 {
        connection.run("CONFIG SET rdb-key-save-delay 100000");
        connection.run("BGSAVE");
        assert_eq!(server.signal_children("-STOP"), 1);
        let before = kernel_huge_bytes(&server);
        add(&mut connection, CREATION, "key", 0..20_000);
        let divided = kernel_huge_bytes(&server);
        assert!(divided <= before / 4, "{divided} of {before}");
        // Without a child process, the pages of this array would be replaced.
        create_filled(&mut connection, CREATIONS[0], "other");
        assert_eq!(server.info_number("rdb_bgsave_in_progress"), 1);
        assert!(kernel_huge_bytes(&server) <= divided);
        connection.run("DEL other");
        server.signal_children("-CONT");
        server.wait_until("the save", |server| {
            server.info_number("rdb_bgsave_in_progress") == 0
        });
        wait_for(&mut server, all);
        assert!(server.info_number("bf_huge_page_errors") > 0 || kernel_huge_bytes(&server) >= all);
    }
}
