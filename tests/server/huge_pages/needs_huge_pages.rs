//! Arrays that get huge pages.

use super::{
    CREATIONS, WHOLE_BYTES, add, create_filled, huge_bytes, kernel_huge_bytes, run, set, start,
    wait_for, wait_until,
};
use crate::support::server::Server;
use std::fs;
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Whether a key was created, copied, restored or loaded, and whether a command or a background thread frees it.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn large_arrays_of_every_type_get_huge_pages() {
    let (mut server, mut connection) = start();
    for (number, creation) in CREATIONS.iter().enumerate() {
        create_filled(&mut connection, creation, &format!("key:{number}"));
    }
    let all = WHOLE_BYTES * i64::try_from(CREATIONS.len()).expect("a number");
    wait_for(&mut server, all);
    for number in 0..CREATIONS.len() {
        run(&mut connection, &format!("COPY key:{number} copy:{number}"));
    }
    wait_for(&mut server, 2 * all);
    for (number, creation) in CREATIONS.iter().enumerate() {
        let payload = connection.call(&format!("DUMP key:{number}"));
        let payload = payload.text().expect("a payload");
        let copy = format!("copy:{number}");
        let restored = connection.send(&[b"RESTORE", copy.as_bytes(), b"0", payload, b"REPLACE"]);
        assert!(restored.is_ok(), "{creation}: {restored}");
    }
    wait_for(&mut server, 2 * all);
    for number in 0..CREATIONS.len() {
        run(&mut connection, &format!("UNLINK copy:{number}"));
    }
    run(&mut connection, "DEBUG RELOAD");
    wait_for(&mut server, all);
    // The allocator keeps the freed memory for some seconds.
    wait_until(&mut server, "figures without the freed arrays", |server| {
        huge_bytes(server) <= kernel_huge_bytes(server)
    });
    run(&mut connection, "FLUSHALL ASYNC");
    wait_until(&mut server, "no arrays", |server| huge_bytes(server) == 0);
    server.wait_until("the memory", |server| kernel_huge_bytes(server) == 0);
}

/// Growth adds an array, and each array gets huge pages of its own.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn arrays_of_grown_filters_get_huge_pages() {
    let mut server = Server::start();
    let mut connection = server.resp2();
    // The second sub-filter has 2^10 times the capacity of the first.
    let creation = "BF.RESERVE key 0.001 50000 EXPANSION 1000";
    run(&mut connection, creation);
    add(&mut connection, creation, "key", 0..60_000);
    wait_for(&mut server, WHOLE_BYTES);
}

/// The setting applies to arrays that exist. Pages that are huge remain so.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn only_large_arrays_get_huge_pages_and_only_if_the_setting_permits_them() {
    let (mut server, mut connection) = start();
    create_filled(&mut connection, "CMS.INITBYDIM KEY 8000000 1", "small");
    set(&server, &mut connection, "no");
    create_filled(&mut connection, "CMS.INITBYDIM KEY 10000000 1", "large");
    // A server with huge pages gets them meanwhile.
    let (mut other, mut of_other) = start();
    create_filled(&mut of_other, "CMS.INITBYDIM KEY 10000000 1", "large");
    wait_for(&mut other, WHOLE_BYTES);
    assert_eq!((huge_bytes(&server), kernel_huge_bytes(&server)), (0, 0));
    set(&server, &mut connection, "yes");
    wait_for(&mut server, WHOLE_BYTES);
    set(&server, &mut connection, "no");
    wait_until(&mut server, "the last huge page", |server| {
        huge_bytes(server) == kernel_huge_bytes(server)
    });
    let bytes = huge_bytes(&server);
    assert!(bytes < 40 << 20, "{bytes} bytes: those of the large array");
}

/// Whether the process has the thread of huge pages. An error: it has ended.
fn has_thread(pid: u32) -> io::Result<bool> {
    for task in fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"))? {
        let name = fs::read_to_string(task?.path().join("comm"))?;
        if name.trim_end() == "bf-huge-pages" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The memory test overwrites the stack and the variables of the thread. (It can end before the report is complete, without the
/// module, too: in 3 of 600 crashes of Redis 7.0.15. So the test does not require the end of the report.)
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn the_thread_ends_before_the_memory_test_of_a_crash_report() {
    // The process can end before the thread is looked for.
    let found = (0..20).find_map(|_| {
        let (mut server, mut connection) = start();
        create_filled(&mut connection, CREATIONS[0], "key");
        server.wait_until("the thread", |server| {
            has_thread(server.pid()).expect("a process")
        });
        let crash = connection.write(&["DEBUG", "SEGFAULT"]);
        crash.expect("a connection");
        while server.is_running() && !server.log().contains("Preparing to test memory region") {
            sleep(Duration::from_millis(1));
        }
        let found = has_thread(server.pid()).ok();
        let found = found.filter(|_| server.is_running());
        server.wait_until("the end", |server| !server.is_running());
        found
    });
    assert_eq!(found, Some(false));
}
