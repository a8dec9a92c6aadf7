//! VALIDATESCALETO and the errors of BF.LOAD, which are the same whatever `bf-replies` is.

use super::{error, replacement, words};
use crate::families::valkey_bloom::load_payload;
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};

#[test]
fn validatescaleto_checks_what_the_filter_can_grow_to() {
    let too_large = "-ERR provided VALIDATESCALETO causes bloom object to exceed memory limit";
    let fixed = "-ERR cannot use NONSCALING and VALIDATESCALETO options together";
    for options in [Options::new(), replacement()] {
        let (_server, mut connection) = options.start().connected();
        connection.check_all(&format!(
            "
            BF.INSERT k VALIDATESCALETO 26214300 => *[]
            DEL k => :1
            BF.INSERT k VALIDATESCALETO 26214301 => {too_large}
            BF.INSERT k VALIDATESCALETO 26214301 CAPACITY 101 => *[]
            DEL k => :1
            BF.INSERT k ERROR 1e-300 TIGHTENING 1e-5 CAPACITY 10 VALIDATESCALETO 31 => -ERR provided VALIDATESCALETO causes false positive to degrade to 0
            BF.INSERT k ERROR 1e-300 TIGHTENING 1e-5 CAPACITY 10 VALIDATESCALETO 30 => *[]
            DEL k => :1
            BF.INSERT k NONSCALING VALIDATESCALETO 10 => {fixed}
            BF.INSERT k VALIDATESCALETO 0 => -ERR (capacity should be larger than 0)
            BF.INSERT k VALIDATESCALETO -1 => -ERR bad capacity
            BF.INSERT k VALIDATESCALETO 1e3 => -ERR bad capacity
            BF.INSERT k VALIDATESCALETO 9223372036854775807 CAPACITY 1 EXPANSION 4294967295 => {too_large}
            EXISTS k => :0
            # It is also checked if the key exists, with the parameters of the command.
            BF.INSERT k NONSCALING TIGHTENING 0.5
            BF.INSERT k VALIDATESCALETO 26214301 ITEMS a => {too_large}
            BF.INSERT k NONSCALING VALIDATESCALETO 1 ITEMS a => {fixed}
            "
        ));
        connection.check("BF.CARD k", ":0");
        let added = connection.call("BF.INSERT k VALIDATESCALETO 26214300 ITEMS a");
        assert_eq!(added.items().map(<[Reply]>::len), Some(1));
        connection.check("BF.CARD k", ":1");
    }
}

/// The server's memory limit for the filter, not that of the primary, is not checked by a replica.
#[test]
fn validatescaleto_is_not_checked_for_commands_of_a_primary() {
    let replica = Server::start();
    let insert = "BF.INSERT k VALIDATESCALETO 999999999999 CAPACITY 10";
    super::replication::replicate_from(&replica, &[words(insert)]);
    replica.check("TYPE k", "+bloomfltr");
    replica.check(insert, "-...");
}

/// `dialects.rs` tests existing keys.
#[test]
fn load_refuses_invalid_payloads() {
    let decoding = error("ERR bloom object decoding failed");
    let version = error("ERR bloom object decoding failed. Unsupported version");
    let rate = error("ERR (0 < error rate range < 1)");
    for options in [Options::new(), replacement()] {
        let (_server, mut connection) = options.start().connected();
        connection.call("BF.INSERT source ERROR 0.2 CAPACITY 3 TIGHTENING 0.5 ITEMS a b c d");
        let sound = load_payload(&mut connection, "source");
        let changed = |at: usize, bytes: &[u8]| {
            let mut payload = sound.clone();
            payload[at..at + bytes.len()].copy_from_slice(bytes);
            payload
        };
        let end = sound.len();
        for (what, payload, expected) in [
            ("nothing", Vec::new(), &decoding),
            ("version 0", changed(0, &[0]), &version),
            ("version 2", changed(0, &[2]), &version),
            ("only a version", vec![1], &decoding),
            ("half", sound[..end / 2].to_vec(), &decoding),
            ("a byte less", sound[..end - 1].to_vec(), &decoding),
            ("rate 0", changed(5, &0f64.to_le_bytes()), &rate),
            ("rate 1", changed(5, &1f64.to_le_bytes()), &rate),
            ("rate nan", changed(5, &f64::NAN.to_le_bytes()), &rate),
            ("ratio 1", changed(13, &1f64.to_le_bytes()), &rate),
            ("flag 2", changed(21, &[2]), &decoding),
            ("no filters", changed(22, &[0; 8]), &decoding),
            ("too many filters", changed(22, &[255; 8]), &decoding),
            ("version of a filter", changed(38, &[2]), &decoding),
            ("capacity 0", changed(end - 8, &[0; 8]), &decoding),
            ("negative items", changed(end - 16, &[255; 8]), &decoding),
        ] {
            let reply = connection.send(&[&b"BF.LOAD"[..], b"k", &payload]);
            assert_eq!(&reply, expected, "{what}");
            assert_eq!(connection.call("EXISTS k"), Reply::Integer(0), "{what}");
        }
        // Bytes after the end are ignored.
        let long = [&sound[..], b"more"].concat();
        assert!(connection.send(&[&b"BF.LOAD"[..], b"k", &long]).is_ok());
        let digests = ["source", "k"].map(|key| connection.send(&["DEBUG", "DIGEST-VALUE", key]));
        assert_eq!(digests[0], digests[1]);
    }
}
