//! Arrays that get huge pages.

use super::{CREATIONS, HUGE_PAGES, create_filled, huge_bytes, kernel_huge_bytes, start, wait_for};

/// An array of 32 MiB that begins within a huge page has at least this many bytes in whole ones.
const WHOLE_BYTES: i64 = 30 << 20;

/// Whether a key was created, copied or loaded, and whether a command or a background thread frees it.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn large_arrays_of_every_type_get_huge_pages() {
    let (mut server, mut connection) = start();
    for (number, creation) in CREATIONS.iter().enumerate() {
        create_filled(&mut connection, creation, &format!("key:{number}"));
        connection.run(&format!("COPY key:{number} copy:{number}"));
    }
    let all = WHOLE_BYTES * i64::try_from(CREATIONS.len()).expect("a number");
    wait_for(&mut server, 2 * all);
    for number in 0..CREATIONS.len() {
        connection.run(&format!("UNLINK copy:{number}"));
    }
    connection.run("DEBUG RELOAD");
    wait_for(&mut server, all);
    connection.run("FLUSHALL ASYNC");
    server.wait_until("no arrays", |server| huge_bytes(server) == 0);
    // The allocator keeps the freed memory for some seconds.
    server.wait_until("the memory", |server| kernel_huge_bytes(server) == 0);
}

/// The setting applies to arrays that exist. Pages that are huge remain so.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn only_large_arrays_get_huge_pages_and_only_if_the_setting_permits_them() {
    let (mut server, mut connection) = start();
    create_filled(&mut connection, "CMS.INITBYDIM KEY 8000000 1", "small");
    server.set(HUGE_PAGES, "no");
    create_filled(&mut connection, "CMS.INITBYDIM KEY 10000000 1", "large");
    // A server with huge pages gets them meanwhile.
    let (mut other, mut of_other) = start();
    create_filled(&mut of_other, "CMS.INITBYDIM KEY 10000000 1", "large");
    wait_for(&mut other, WHOLE_BYTES);
    assert_eq!((huge_bytes(&server), kernel_huge_bytes(&server)), (0, 0));
    server.set(HUGE_PAGES, "yes");
    wait_for(&mut server, WHOLE_BYTES);
    let huge = huge_bytes(&server);
    assert!(huge < 40 << 20, "{huge} bytes: those of the large array");
    server.set(HUGE_PAGES, "no");
    let (of_info, of_kernel) = (huge_bytes(&server), kernel_huge_bytes(&server));
    assert_eq!((of_info, of_kernel), (huge, huge));
}
