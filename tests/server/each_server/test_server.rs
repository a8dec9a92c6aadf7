//! Tests of tests/support itself, on servers without the module.

use crate::support::server::{Options, Server};

fn plain() -> Server {
    Options::new().without_module().start()
}

#[test]
fn replies_keep_their_types_in_both_protocols() {
    let server = plain();
    let (mut resp2, mut resp3) = (server.resp2(), server.resp3());
    let bignum = "(1234567999999999999999999999999999999";
    let verbatim = "=txt:This is a verbatim\\nstring";
    let shown = [
        ("PING", "+PONG", "+PONG"),
        ("NOSUCH", "-ERR unknown command 'NOSUCH'", ""),
        ("STRLEN nothing", ":0", ":0"),
        ("GET nothing", "$-1", "_"),
        ("ECHO a\x01\u{e9}", "$a\\x01\\xc3\\xa9", "$a\\x01\\xc3\\xa9"),
        ("HSET h a 1", ":1", ":0"),
        ("HGETALL h", "*[$a $1]", "%{$a $1}"),
        ("ZADD z 1.5 m", ":1", ":0"),
        ("ZSCORE z m", "$1.5", ",1.5"),
        ("SADD s m", ":1", ":0"),
        ("SMEMBERS s", "*[$m]", "~[$m]"),
        ("BLPOP nothing 0.001", "*-1", "_"),
        ("DEBUG PROTOCOL true", ":1", "#t"),
        ("DEBUG PROTOCOL bignum", "", bignum),
        ("DEBUG PROTOCOL verbatim", "", verbatim),
    ];
    for (command, in_resp2, in_resp3) in shown {
        let (two, three) = (resp2.call(command), resp3.call(command));
        assert!(two.to_string().starts_with(in_resp2), "{command}: {two}");
        let is_expected = three.to_string().starts_with(in_resp3);
        assert!(is_expected, "{command}: {three}");
    }
}

#[test]
fn a_restart_keeps_the_directory_and_saves_if_there_are_save_points() {
    let options = Options::new().without_module();
    let mut server = options.arguments(&["--save", "3600 1"]).start();
    server.ok("SET k v");
    server.restart();
    server.check("GET k", "$v");
    server.ok("SET k w");
    server.kill_and_restart();
    server.check("GET k", "$v");
}

#[test]
fn without_save_points_a_restart_is_empty() {
    let mut server = plain();
    server.ok("SET k v");
    server.restart();
    server.check("GET k", "$-1");
}

#[test]
fn dropping_a_server_stops_it_and_removes_its_directory() {
    let server = plain();
    let (port, dir) = (server.port(), server.dir().to_owned());
    assert!(dir.is_dir());
    drop(server);
    assert!(!dir.exists());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn the_server_version_is_supported() {
    let version = plain().version();
    let found = version.is_valkey_at_least(7, 2);
    assert_ne!(found, version.is_redis_at_least(7, 0));
}
