//! The connection of a replica that ends inside of a transaction.

use super::digest;
use crate::families::{FAMILIES, build_all};
use crate::support::resp::Reply;
use crate::support::server::Server;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// No limit of [`Link`].
const UNLIMITED: u64 = u64::MAX;

/// Passes connections on to a server.
struct Link {
    port: u16,
    /// Bytes of the server that are passed on before the connection ends.
    left: Arc<AtomicU64>,
}

impl Link {
    fn to(server: &Server) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let left = Arc::new(AtomicU64::new(UNLIMITED));
        let (target, limit) = (server.port(), Arc::clone(&left));
        // Ends with the process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else {
                    continue;
                };
                let (up, down) = (client.try_clone(), server.try_clone());
                let (up, down) = (up.expect("a stream"), down.expect("a stream"));
                thread::spawn(move || pass(up, server, &AtomicU64::new(UNLIMITED)));
                let limit = Arc::clone(&limit);
                thread::spawn(move || pass(down, client, &limit));
            }
        });
        Self { port, left }
    }
}

/// Copies bytes until one side ends, or this many bytes were copied.
fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicU64) {
    let mut buffer = [0; 4096];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        let limit = left.load(Ordering::SeqCst);
        let passed = limit.min(len as u64);
        if to.write_all(&buffer[..passed as usize]).is_err() {
            break;
        }
        if limit != UNLIMITED {
            // The test may have removed the limit in the meantime.
            let _ =
                left.compare_exchange(limit, limit - passed, Ordering::SeqCst, Ordering::SeqCst);
            if passed == limit {
                break;
            }
        }
    }
    for stream in [from, to] {
        // It may have ended.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// A replica executes a transaction completely or not at all, wherever the connection ends. It then continues.
#[test]
fn a_replica_executes_no_part_of_a_transaction() {
    let (mut primary, mut connection) = Server::start().connected();
    connection.call("CONFIG SET repl-ping-replica-period 3600");
    build_all(&mut connection);
    let link = Link::to(&primary);
    let mut replica = Server::start();
    replica.call(&format!("REPLICAOF 127.0.0.1 {}", link.port));
    replica.wait_for_link();
    let mut transaction = |number: usize| {
        connection.call("MULTI");
        for family in FAMILIES {
            let new = match family.prefix {
                "tdigest" => number.to_string(),
                _ => format!("new:{number:04}"),
            };
            let change = family.change.0.replace("KEY", family.type_name);
            connection.call(&change.replace("NEW", &new));
        }
        let replies = connection.call("EXEC");
        let mut all = replies.items().expect("replies").iter();
        assert!(!all.any(Reply::is_error), "{replies}");
    };
    // The lengths of all following transactions are equal.
    transaction(1000);
    primary.wait_for_replica(&replica);
    let offset = |server: &Server| server.info_number("master_repl_offset").unsigned_abs();
    let start = offset(&primary);
    transaction(1001);
    primary.wait_for_replica(&replica);
    let bytes = offset(&primary) - start;
    let cuts = FAMILIES.len() as u64 + 1;
    for cut in 0..cuts {
        let before = digest(&mut replica.resp2());
        assert_eq!(before, digest(&mut primary.resp2()), "cut {cut}");
        // The last byte is that of EXEC.
        let left = (bytes * cut / cuts).max(1);
        link.left.store(left, Ordering::SeqCst);
        transaction(1002 + cut as usize);
        replica.wait_until("the end of the connection", |replica| !replica.is_linked());
        let found = digest(&mut replica.resp2());
        assert_eq!(found, before, "cut {cut} of {bytes} bytes");
        link.left.store(UNLIMITED, Ordering::SeqCst);
        replica.wait_for_link();
        primary.wait_for_replica(&replica);
    }
}
