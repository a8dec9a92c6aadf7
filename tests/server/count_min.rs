//! Count-min sketches on a real server: behavior that the recordings do not cover.

mod limit;
mod logged;

use crate::families::dump;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

#[test]
fn creation_reports_errors_in_order() {
    let (server, mut connection) = Server::start().connected();
    let arity = |command| format!("-ERR wrong number of arguments for '{command}' command");
    let (by_dim, by_prob) = (arity("cms.initbydim"), arity("cms.initbyprob"));
    connection.ok("SET string x");
    connection.check_all(&format!(
        "
        CMS.INITBYDIM string x 1 CELL_SIZE => {by_dim}
        CMS.INITBYPROB string x 1 CELL_SIZE => {by_prob}
        CMS.INITBYDIM string 1 1 CELL_SIZE 1 1 => {by_dim}
        CMS.INITBYDIM string x x x x => -CMS: key already exists
        CMS.INITBYPROB string x x => -CMS: key already exists
        CMS.INITBYDIM k x x x x => -CMS: invalid width
        CMS.INITBYDIM k 1 0 x x => -CMS: invalid depth
        CMS.INITBYDIM k 1 1 CELLSIZE 4 => -CMS: invalid cell size
        CMS.INITBYDIM k 1 1 CELL_SIZE 3 => -CMS: invalid cell size
        CMS.INITBYDIM k 1 1 CELL_SIZE -1 => -CMS: invalid cell size
        CMS.INITBYDIM k 1 1 CELL_SIZE x => -CMS: invalid cell size
        CMS.INITBYPROB k 1 x x x => -CMS: invalid overestimation value
        CMS.INITBYPROB k 0.1 inf x x => -CMS: invalid prob value
        CMS.INITBYPROB k 0.1 0.1 x 4 => -CMS: invalid cell size
        CMS.INITBYDIM k 4294967296 4294967296 CELL_SIZE 1 => -CMS: invalid init arguments
        EXISTS k => :0
        CMS.INITBYDIM k 7 3 cell_size 8 => +OK
        CMS.INITBYDIM l 7 3 CELL_SIZE 4 => +OK
        CMS.INITBYPROB m 0.01 0.0078125 CELL_SIZE 1 => +OK
        CMS.INFO k => *[+width :7 +depth :3 +count :0 +cell_size :8]
        CMS.INFO l => *[+width :7 +depth :3 +count :0]
        CMS.INFO m => *[+width :200 +depth :7 +count :0 +cell_size :1]
    "
    ));
    server.resp3().check_all(
        "
        CMS.INFO k => %{+width :7 +depth :3 +count :0 +cell_size :8}
        CMS.INFO l => %{+width :7 +depth :3 +count :0}
    ",
    );
}

/// Every cell size counts up to its maximum. An item that fails changes nothing on the primary or on a replica, and
/// the other items are still counted.
#[test]
fn counts_stop_at_their_limits() {
    let (mut primary, replica) = Server::with_replica();
    let mut connection = primary.resp2();
    let limits = [
        (1, 255u64),
        (2, 65_535),
        (4, 4_294_967_295),
        (8, 9_223_372_036_854_775_807),
    ];
    for (size, max) in limits {
        connection.ok(&format!("CMS.INITBYDIM k{size} 1000 5 CELL_SIZE {size}"));
        let (over, under) = ("-CMS: INCRBY overflow", "-CMS: INCRBY underflow");
        let before = max - 1;
        connection.check_all(&format!("
            CMS.INCRBY k{size} a {before} a 2 a 1 a 1 a 9223372036854775807 => *[:{before} {over} :{max} {over} {over}]
            CMS.INCRBY k{size} a -9223372036854775808 a 0 b -1 a -{max} a -1 => *[{under} :{max} {under} :0 {under}]
            CMS.INCRBY k{size} a {max} c 0 => *[:{max} :0]
            CMS.QUERY k{size} a b c => *[:{max} :0 :0]
        "));
        let total = connection.call(&format!("CMS.INFO k{size}")).to_string();
        assert!(total.contains(&format!("+count :{max}")), "{total}");
    }
    // Only 8-byte cells allow the total to reach its maximum.
    connection.check_all(
        "
        CMS.INCRBY k8 b 1 => *[-CMS: INCRBY overflow]
        CMS.INCRBY k4 b 1 => *[:1]
        CMS.INCRBY k4 b 1 c x => -CMS: Cannot parse number
        CMS.INCRBY k4 b 1 c 9223372036854775808 => -CMS: Cannot parse number
        CMS.QUERY k4 b c => *[:1 :0]
    ",
    );
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    for (size, _) in limits {
        let key = format!("k{size}");
        assert_eq!(dump(&mut on_replica, &key), dump(&mut connection, &key));
    }
    // Six items per cell size are refused and six are counted. After that, one more is refused and one more is counted.
    let figure = |name: &str| primary.info(&format!("bf_cms_{name}")).unwrap();
    let figures = [figure("refusals"), figure("items_added")];
    assert_eq!(figures, ["25", "25"]);
}

/// Creates `count` sketches of the same shape, named after `names`, with different counts.
pub fn sketches(connection: &mut Connection, names: &[&str]) {
    for (n, name) in names.iter().enumerate() {
        connection.ok(&format!("CMS.INITBYDIM {name} 500 4"));
        let command = format!("CMS.INCRBY {name} a {} {name} 100", n + 1);
        assert!(matches!(connection.call(&command), Reply::Array(_)));
    }
}

#[test]
fn merges_report_errors_in_order() {
    let (server, mut connection) = Server::start().connected();
    sketches(&mut connection, &["d", "s", "t"]);
    connection.ok("SET string x");
    connection.ok("CMS.INITBYDIM wide 501 4");
    connection.ok("CMS.INITBYDIM deep 500 5 CELL_SIZE 1");
    connection.ok("CMS.INITBYDIM small 500 4 CELL_SIZE 2");
    let before = dump(&mut connection, "d");
    let offset = server.info_number("master_repl_offset");
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    connection.check_all(&format!(
        "
        CMS.MERGE nothing 1 => -ERR wrong number of arguments for 'cms.merge' command
        CMS.MERGE nothing x s => -CMS: key does not exist
        CMS.MERGE string x s => {wrong_type}
        CMS.MERGE d x nothing => -CMS: invalid numkeys
        CMS.MERGE d 0 nothing => -CMS: Number of keys must be positive
        CMS.MERGE d -1 nothing => -CMS: Number of keys must be positive
        CMS.MERGE d -9223372036854775808 nothing => -CMS: Number of keys must be positive
        CMS.MERGE d 2 nothing => -CMS: wrong number of keys
        CMS.MERGE d 1 nothing x => -CMS: wrong number of keys
        CMS.MERGE d 9223372036854775807 nothing => -CMS: wrong number of keys
        CMS.MERGE d 1 nothing WEIGHTS => -CMS: wrong number of keys/weights
        CMS.MERGE d 2 nothing weights 1 2 => -CMS: wrong number of keys/weights
        CMS.MERGE d 1 nothing WEIGHTS 1 2 => -CMS: wrong number of keys/weights
        CMS.MERGE d 2 nothing string WEIGHTS x 1 => -CMS: invalid weight value
        CMS.MERGE d 2 nothing string WEIGHTS 1 x => -CMS: key does not exist
        CMS.MERGE d 2 string nothing => {wrong_type}
        CMS.MERGE d 2 wide nothing => -CMS: width/depth is not equal
        CMS.MERGE d 2 deep nothing => -CMS: width/depth is not equal
        CMS.MERGE d 2 small nothing => -CMS: cell size is not equal
        CMS.MERGE d 2 s nothing WEIGHTS -1 1 => -CMS: key does not exist
        CMS.MERGE d 1 s WEIGHTS -1 => -CMS: MERGE overflow
        CMS.MERGE d 2 s d WEIGHTS 1 9223372036854775807 => -CMS: MERGE overflow
    "
    ));
    assert_eq!(dump(&mut connection, "d"), before);
    assert_eq!(server.info_number("master_repl_offset"), offset);
}

#[test]
fn a_merge_can_include_the_destination_and_weights() {
    let mut primary = Server::start();
    let mut replica = Server::start();
    let mut connection = primary.resp2();
    // A key may have the name of an option.
    sketches(&mut connection, &["d", "s", "WEIGHTS"]);
    replica.replicate(&primary);
    connection.check("EXPIRE d 1000", ":1");
    connection.check_all(
        "
        CMS.MERGE d 1 s => +OK
        CMS.QUERY d a d s => *[:2 :0 :100]
        CMS.MERGE d 3 d s d weights 2 3 -1 => +OK
        CMS.QUERY d a d s => *[:8 :0 :400]
        CMS.MERGE d 2 s WEIGHTS => +OK
        CMS.QUERY d a s WEIGHTS => *[:5 :100 :100]
        CMS.MERGE d 1 WEIGHTS WEIGHTS 2 => +OK
        CMS.QUERY d a s WEIGHTS => *[:6 :0 :200]
        CMS.INFO d => *[+width :500 +depth :4 +count :206]
        CMS.MERGE d 1 d WEIGHTS 0 => +OK
        CMS.QUERY d a s WEIGHTS => *[:0 :0 :0]
        CMS.MERGE d 2 d s => +OK
        CMS.QUERY s a s => *[:2 :100]
    ",
    );
    assert!(connection.call("TTL d").integer() > Some(900));
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    for key in ["d", "s", "WEIGHTS"] {
        assert_eq!(dump(&mut on_replica, key), dump(&mut connection, key));
    }
    assert!(on_replica.call("TTL d").integer() > Some(900));
}
