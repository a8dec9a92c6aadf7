//! Arrays that get huge pages.

use super::{
    CREATIONS, WHOLE_BYTES, add, create_filled, huge_bytes, kernel_huge_bytes, run, set, start,
    wait_for,
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
    assert!(huge_bytes(&server) <= kernel_huge_bytes(&server));
    run(&mut connection, "FLUSHALL ASYNC");
    server.wait_until("the freed arrays", |server| huge_bytes(server) == 0);
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
    let bytes = huge_bytes(&server);
    assert!(bytes < 40 << 20, "{bytes} bytes: those of the large array");
    assert_eq!(kernel_huge_bytes(&server), bytes);
}

/// The system call in which the thread of huge pages is, with its arguments; `None` if there is no such thread.
fn system_call(pid: u32) -> io::Result<Option<String>> {
    for task in fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"))? {
        let task = task?.path();
        if fs::read_to_string(task.join("comm"))?.trim_end() == "bf-huge-pages" {
            return fs::read_to_string(task.join("syscall")).map(Some);
        }
    }
    Ok(None)
}

/// During the memory test of a crash report, which overwrites its stack and its variables, the thread waits without a timeout.
#[test]
#[ignore = "needs a kernel that provides huge pages"]
fn the_thread_stops_before_the_memory_test_of_a_crash_report() {
    // The process can end before the thread is looked at.
    let observed = (0..20).find_map(|_| {
        let (mut server, mut connection) = start();
        create_filled(&mut connection, CREATIONS[0], "key");
        assert!(system_call(server.pid()).expect("a process").is_some());
        connection
            .write(&["DEBUG", "SEGFAULT"])
            .expect("a connection");
        while server.is_running() && !server.log().contains("Preparing to test memory region") {
            sleep(Duration::from_millis(1));
        }
        let call = system_call(server.pid()).ok().flatten();
        server.wait_until("the end", |server| !server.is_running());
        let log = server.log();
        assert!(log.contains("BUG REPORT END"), "{}", server.log_tail());
        call.filter(|call| !call.is_empty())
    });
    let call = observed.expect("a thread during a memory test");
    // futex(2): number, address, operation, value, timeout.
    assert_eq!(call.split(' ').nth(4), Some("0x0"), "{call}");
}
