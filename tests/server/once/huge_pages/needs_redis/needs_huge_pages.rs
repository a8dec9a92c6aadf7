//! A server whose user cannot read the states of its pages.

use super::{CREATION, Calls, INTERVAL};
use crate::huge_pages::{create_filled, huge_bytes, kernel_huge_bytes};
use std::fs;
use std::thread::sleep;

#[test]
#[ignore = "needs a kernel that provides huge pages, and Redis: Valkey lets modules call the C library directly (RTLD_DEEPBIND)"]
fn an_unreadable_pagemap_is_reported() {
    let (Calls { mut server }, mut connection) = Calls::start();
    fs::write(server.dir().join("roughly-no-pagemap"), "").expect("a file");
    server.wait_until("the status", |server| {
        server.info("bf_huge_pages").as_deref() == Some("pagemap-not-readable")
    });
    create_filled(&mut connection, CREATION, "key");
    sleep(2 * INTERVAL);
    assert_eq!((huge_bytes(&server), kernel_huge_bytes(&server)), (0, 0));
    server.restart();
    let line = "large keys do not use huge pages: the server's user cannot read /proc/self/pagemap";
    assert!(server.log().contains(line), "{}", server.log_tail());
}
