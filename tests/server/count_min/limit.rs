//! CMS.INCRBYLIMIT: replies, what is replicated, events, and what public hashes allow an attacker.

use crate::families::dump;
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use crate::windows::logged_commands;
use roughly_sketch::hash::murmur2;
use sha2::{Digest, Sha256};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_A_NUMBER: &str = "-CMS: Cannot parse number";

#[test]
fn increments_within_the_limit_are_accepted() {
    let server = Server::start();
    let create = "CMS.INITBYDIM k 1000 5";
    server.resp2().ok(create);
    // A reply of arrays in both protocols. An item sees the increments of the items before it.
    for (n, mut connection) in [server.resp2(), server.resp3()].into_iter().enumerate() {
        let [a, b, c] = ["a", "b", "c"].map(|item| format!("{item}{n}"));
        connection.check_all(&format!("
            CMS.INCRBYLIMIT k 10 {a} 4 => *[*[:1 :4]]
            CMS.INCRBYLIMIT k 10 {a} 7 => *[*[:0 :4]]
            CMS.INCRBYLIMIT k 10 {a} 6 => *[*[:1 :10]]
            CMS.INCRBYLIMIT k 10 {a} 0 => *[*[:1 :10]]
            CMS.INCRBYLIMIT k 9 {a} 0 => *[*[:0 :10]]
            CMS.INCRBYLIMIT k 10 {b} 5 {b} 5 {b} 1 {c} 1 {a} 1 => *[*[:1 :5] *[:1 :10] *[:0 :10] *[:1 :1] *[:0 :10]]
            CMS.INCRBYLIMIT k 9223372036854775807 {a} 9223372036854775807 => *[*[:0 :10]]
            CMS.QUERY k {a} {b} {c} => *[:10 :10 :1]
        "));
    }
    assert_eq!(server.info_number("bf_cms_limit_refusals"), 10);
    assert_eq!(server.info_number("bf_cms_refusals"), 0);
}

#[test]
fn errors_are_reported_in_order() {
    let (server, mut connection) = Server::start().connected();
    let arity = "-ERR wrong number of arguments for 'cms.incrbylimit' command";
    connection.ok("SET string x");
    connection.ok("CMS.INITBYDIM k 1000 5");
    let offset = server.info_number("master_repl_offset");
    connection.check_all(&format!(
        "
        CMS.INCRBYLIMIT string x a => {arity}
        CMS.INCRBYLIMIT string x a x b => {arity}
        CMS.INCRBYLIMIT nothing x a x => -CMS: key does not exist
        CMS.INCRBYLIMIT string x a x => {WRONG_TYPE}
        CMS.INCRBYLIMIT k x a 1 => {NOT_A_NUMBER}
        CMS.INCRBYLIMIT k 0 a 0 => {NOT_A_NUMBER}
        CMS.INCRBYLIMIT k -1 a 1 => {NOT_A_NUMBER}
        CMS.INCRBYLIMIT k 9223372036854775808 a 1 => {NOT_A_NUMBER}
        CMS.INCRBYLIMIT k 5 a x => {NOT_A_NUMBER}
        CMS.INCRBYLIMIT k 5 a 1 b -1 => {NOT_A_NUMBER}
        CMS.INCRBYLIMIT k 5 a 1 b 9223372036854775808 => {NOT_A_NUMBER}
        CMS.QUERY k a b => *[:0 :0]
    "
    ));
    assert_eq!(server.info_number("master_repl_offset"), offset);
}

/// The accepted pairs are replicated as CMS.INCRBY. Without any there is neither a command nor an event.
#[test]
fn accepted_increments_are_replicated() {
    let log = ["--appendonly", "yes", "--appendfsync", "always"];
    let [mut primary, mut replica] = [(); 2].map(|()| Options::new().arguments(&log).start());
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    let mut on_replica = replica.resp2();
    let listeners = [primary.listener(), replica.listener()];
    let (mut expected_log, mut expected_events) = (Vec::new(), Vec::new());
    let sizes = [1, 2, 4, 8];
    for size in sizes {
        let create = format!("CMS.INITBYDIM k{size} 100 5 CELL_SIZE {size}");
        connection.ok(&create);
        expected_log.push(create.replace(" CELL_SIZE 4", ""));
        expected_events.push(format!("k{size} cms.initbydim"));
        for (arguments, replicated) in [
            ("10 a 4", "a 4"),
            ("10 a 7", ""),
            ("10 a 0", ""),
            ("10 a 0 b 11 a 0", ""),
            ("10 a 7 b 0 c 3 a 6 d 0 c 8", "c 3 a 6"),
            ("10 d 1 e 2", "d 1 e 2"),
            ("10 d 1 f 0", "d 1"),
            ("10 d 1 d 100", "d 1"),
        ] {
            let reply = connection.call(&format!("CMS.INCRBYLIMIT k{size} {arguments}"));
            assert!(reply.items().is_some(), "{arguments}: {reply}");
            if !replicated.is_empty() {
                expected_log.push(format!("CMS.INCRBY k{size} {replicated}"));
                expected_events.push(format!("k{size} cms.incrby"));
            }
        }
    }
    connection.call("SET end x");
    expected_log.push("SET end x".to_owned());
    primary.wait_for_replica(&replica);
    for mut listener in listeners {
        assert_eq!(listener.events(), expected_events);
    }
    assert_eq!(logged_commands(&primary), expected_log);
    let keys = sizes.map(|size| format!("k{size}"));
    let dumps = |connection: &mut Connection| keys.clone().map(|key| dump(connection, &key));
    let expected = dumps(&mut connection);
    assert_eq!(dumps(&mut on_replica), expected);
    primary.kill_and_restart();
    assert_eq!(dumps(&mut primary.resp2()), expected);
}

/// HMAC-SHA-256 in hexadecimal (RFC 2104).
fn hmac(secret: &[u8], name: &str) -> String {
    let pad = |byte: u8| {
        let mut block = [byte; 64];
        for (pad, key) in block.iter_mut().zip(secret) {
            *pad ^= key;
        }
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(name);
    let outer = Sha256::new().chain_update(pad(0x5c));
    let digest = outer.chain_update(inner.finalize()).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn hmac_is_that_of_rfc_4231() {
    let digest = hmac(b"Jefe", "what do ya want for nothing?");
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(digest, expected);
}

/// The hashes are public: an attacker chooses a name per row that has the victim's cell in this row, and spends the limit of
/// each name. The victim is then refused at once. With HMAC, the attacker cannot know which names have these cells.
#[test]
fn chosen_names_refuse_a_victim_unless_names_are_authenticated() {
    const WIDTH: u32 = 2000;
    const DEPTH: u32 = 5;
    const VICTIM: &str = "198.51.100.7";
    let same_cell = |row: u32| {
        let cell = murmur2(VICTIM.as_bytes(), row) % WIDTH;
        let names = (0..).map(|n| format!("attacker-{row}-{n}"));
        let mut names = names.filter(|name| murmur2(name.as_bytes(), row) % WIDTH == cell);
        names.next().expect("about one of 2,000 names")
    };
    let attackers: Vec<String> = (0..DEPTH).map(same_cell).collect();
    let plain = |name: &str| name.to_owned();
    let authenticated = |name: &str| hmac(b"the secret of the application", name);
    let requests = |connection: &mut Connection, names: &dyn Fn(&str) -> String| {
        connection.ok(&format!("CMS.INITBYDIM k {WIDTH} {DEPTH}"));
        let mut request = |name: &str| {
            let command = format!("CMS.INCRBYLIMIT k 100 {} 1", names(name));
            connection.call(&command)
        };
        for name in &attackers {
            for _ in 0..100 {
                request(name);
            }
        }
        let reply = request(VICTIM).to_string();
        connection.check("DEL k", ":1");
        reply
    };
    let (_server, mut connection) = Server::start().connected();
    assert_eq!(requests(&mut connection, &plain), "*[*[:0 :100]]");
    assert_eq!(requests(&mut connection, &authenticated), "*[*[:1 :1]]");
}
