//! Each command of the pages docs/commands, with the `redis` crate. A comment after a call has its output.
//!
//! ```console
//! cargo run --bin commands
//! ```
//!
//! The server is on port 6379 of this machine, or on ROUGHLY_PORT. The program refuses a server that has keys, and deletes its own keys
//! at the end.

use redis::{Commands, RedisResult, Value, cmd};
use std::collections::HashMap;
use std::env;

#[rustfmt::skip] // One line per call.
fn main() -> RedisResult<()> {
    let port = env::var("ROUGHLY_PORT").unwrap_or("6379".to_owned());
    let mut c = redis::Client::open(format!("redis://127.0.0.1:{port}"))?.get_connection()?;
    let c = &mut c;
    if cmd("INFO").arg("keyspace").query::<String>(c)?.contains("keys=") {
        eprintln!("The server on port {port} has keys. Set ROUGHLY_PORT to the port of a server without data.");
        std::process::exit(1);
    }

    // command: BF.RESERVE
    let reply: String = c.bf_reserve("visitors", 0.01, 1000)?;
    println!("{reply}"); // OK
    // command: BF.ADD
    let is_new: bool = c.bf_add("visitors", "alice")?;
    println!("{is_new}"); // true
    // command: BF.MADD
    let are_new: Vec<bool> = c.bf_madd("visitors", &["alice", "bob"])?;
    println!("{are_new:?}"); // [false, true]
    // command: BF.ADDNX
    let are_new: Vec<bool> = cmd("BF.ADDNX").arg("visitors").arg(&["bob", "carol"]).query(c)?;
    println!("{are_new:?}"); // [false, true]
    // command: BF.INSERT
    let mut insert = cmd("BF.INSERT");
    insert.arg("members").arg("CAPACITY").arg(1000).arg("ERROR").arg(0.01);
    let are_new: Vec<bool> = insert.arg("ITEMS").arg(&["alice", "dave"]).query(c)?;
    println!("{are_new:?}"); // [true, true]
    // command: BF.EXISTS
    let exists: bool = c.bf_exists("visitors", "alice")?;
    println!("{exists}"); // true
    // command: BF.MEXISTS
    let exist: Vec<bool> = c.bf_mexists("visitors", &["bob", "eve"])?;
    println!("{exist:?}"); // [true, false]
    // command: BF.CARD
    let items: u64 = c.bf_card("visitors")?;
    println!("{items}"); // 3
    // command: BF.INFO
    let fields: HashMap<String, Option<u64>> = cmd("BF.INFO").arg("visitors").query(c)?;
    println!("{:?}", fields["Capacity"]); // Some(1000)
    // command: BF.MERGE
    let reply: String = cmd("BF.MERGE").arg("everyone").arg(2).arg(&["visitors", "members"]).query(c)?;
    println!("{reply}"); // OK

    // command: CF.RESERVE
    let reply: String = cmd("CF.RESERVE").arg("sessions").arg(1000).query(c)?;
    println!("{reply}"); // OK
    // command: CF.ADD
    let added: bool = cmd("CF.ADD").arg("sessions").arg("session:1").query(c)?;
    println!("{added}"); // true
    // command: CF.ADDNX
    let added: bool = cmd("CF.ADDNX").arg("sessions").arg("session:1").query(c)?;
    println!("{added}"); // false
    // command: CF.INSERT
    let items = ["session:2", "session:3"];
    let added: Vec<bool> = cmd("CF.INSERT").arg("sessions").arg("ITEMS").arg(&items).query(c)?;
    println!("{added:?}"); // [true, true]
    // command: CF.INSERTNX
    let items = ["session:3", "session:4"];
    let added: Vec<i64> = cmd("CF.INSERTNX").arg("sessions").arg("ITEMS").arg(&items).query(c)?;
    println!("{added:?}"); // [0, 1]
    // command: CF.EXISTS
    let exists: bool = cmd("CF.EXISTS").arg("sessions").arg("session:1").query(c)?;
    println!("{exists}"); // true
    // command: CF.MEXISTS
    let items = ["session:1", "session:9"];
    let exist: Vec<bool> = cmd("CF.MEXISTS").arg("sessions").arg(&items).query(c)?;
    println!("{exist:?}"); // [true, false]
    // command: CF.COUNT
    let count: u64 = cmd("CF.COUNT").arg("sessions").arg("session:1").query(c)?;
    println!("{count}"); // 1
    // command: CF.DEL
    let deleted: bool = cmd("CF.DEL").arg("sessions").arg("session:1").query(c)?;
    println!("{deleted}"); // true
    // command: CF.INFO
    let fields: HashMap<String, u64> = cmd("CF.INFO").arg("sessions").query(c)?;
    println!("{}", fields["Number of items deleted"]); // 1
    // command: CF.COMPACT
    let reply: String = cmd("CF.COMPACT").arg("sessions").query(c)?;
    println!("{reply}"); // OK

    // command: CMS.INITBYPROB
    let reply: String = cmd("CMS.INITBYPROB").arg("views").arg(0.001).arg(0.01).query(c)?;
    println!("{reply}"); // OK
    // command: CMS.INITBYDIM
    let reply: String = cmd("CMS.INITBYDIM").arg("views:all").arg(2000).arg(7).query(c)?;
    println!("{reply}"); // OK
    // command: CMS.INCRBY
    let increments = [("/home", 3), ("/news", 1)];
    let counts: Vec<u64> = cmd("CMS.INCRBY").arg("views").arg(&increments).query(c)?;
    println!("{counts:?}"); // [3, 1]
    // command: CMS.INCRBYLIMIT
    let increments = [("/home", 2), ("/home", 1)];
    let counts: Vec<(bool, u64)> = cmd("CMS.INCRBYLIMIT").arg("views").arg(5).arg(&increments).query(c)?;
    println!("{counts:?}"); // [(true, 5), (false, 5)]
    // command: CMS.QUERY
    let counts: Vec<u64> = cmd("CMS.QUERY").arg("views").arg(&["/home", "/shop"]).query(c)?;
    println!("{counts:?}"); // [5, 0]
    // command: CMS.MERGE
    let mut merge = cmd("CMS.MERGE");
    merge.arg("views:all").arg(1).arg("views").arg("WEIGHTS").arg(10);
    println!("{}", merge.query::<String>(c)?); // OK
    // command: CMS.INFO
    let fields: HashMap<String, u64> = cmd("CMS.INFO").arg("views").query(c)?;
    println!("{}", fields["width"]); // 2000

    // command: TOPK.RESERVE
    let reply: String = cmd("TOPK.RESERVE").arg("pages").arg(2).arg(50).arg(5).arg(0.9).query(c)?;
    println!("{reply}"); // OK
    // command: TOPK.ADD
    let dropped: Vec<Option<String>> = cmd("TOPK.ADD").arg("pages").arg(&["/home", "/news"]).query(c)?;
    println!("{dropped:?}"); // [None, None]
    // command: TOPK.INCRBY
    let increments = [("/home", 41), ("/shop", 17)];
    let dropped: Vec<Option<String>> = cmd("TOPK.INCRBY").arg("pages").arg(&increments).query(c)?;
    println!("{dropped:?}"); // [None, Some("/news")]
    // command: TOPK.LIST
    let list: Vec<(String, u64)> = cmd("TOPK.LIST").arg("pages").arg("WITHCOUNT").query(c)?;
    println!("{list:?}"); // [("/home", 42), ("/shop", 17)]
    // command: TOPK.QUERY
    let listed: Vec<bool> = cmd("TOPK.QUERY").arg("pages").arg(&["/home", "/news"]).query(c)?;
    println!("{listed:?}"); // [true, false]
    // command: TOPK.COUNT
    let counts: Vec<u64> = cmd("TOPK.COUNT").arg("pages").arg(&["/home", "/news"]).query(c)?;
    println!("{counts:?}"); // [42, 1]
    // command: TOPK.INFO
    let fields: HashMap<String, f64> = cmd("TOPK.INFO").arg("pages").query(c)?;
    println!("{}", fields["k"]); // 2

    // command: TDIGEST.CREATE
    let reply: String = cmd("TDIGEST.CREATE").arg("latency").query(c)?;
    println!("{reply}"); // OK
    // command: TDIGEST.ADD
    let samples = [12, 9, 11, 10, 250, 9, 10, 31];
    let reply: String = cmd("TDIGEST.ADD").arg("latency").arg(&samples).query(c)?;
    println!("{reply}"); // OK
    // command: TDIGEST.QUANTILE
    let values: Vec<f64> = cmd("TDIGEST.QUANTILE").arg("latency").arg(&[0.5, 0.99]).query(c)?;
    println!("{values:?}"); // [11.0, 250.0]
    // command: TDIGEST.CDF
    let fractions: Vec<f64> = cmd("TDIGEST.CDF").arg("latency").arg(&[10, 100]).query(c)?;
    println!("{fractions:?}"); // [0.375, 0.875]
    // command: TDIGEST.RANK
    let ranks: Vec<i64> = cmd("TDIGEST.RANK").arg("latency").arg(11).query(c)?;
    println!("{ranks:?}"); // [4]
    // command: TDIGEST.REVRANK
    let ranks: Vec<i64> = cmd("TDIGEST.REVRANK").arg("latency").arg(31).query(c)?;
    println!("{ranks:?}"); // [1]
    // command: TDIGEST.BYRANK
    let values: Vec<f64> = cmd("TDIGEST.BYRANK").arg("latency").arg(&[0, 7]).query(c)?;
    println!("{values:?}"); // [9.0, 250.0]
    // command: TDIGEST.BYREVRANK
    let values: Vec<f64> = cmd("TDIGEST.BYREVRANK").arg("latency").arg(&[0, 7]).query(c)?;
    println!("{values:?}"); // [250.0, 9.0]
    // command: TDIGEST.MIN
    let smallest: f64 = cmd("TDIGEST.MIN").arg("latency").query(c)?;
    println!("{smallest}"); // 9
    // command: TDIGEST.MAX
    let largest: f64 = cmd("TDIGEST.MAX").arg("latency").query(c)?;
    println!("{largest}"); // 250
    // command: TDIGEST.TRIMMED_MEAN
    let mean: f64 = cmd("TDIGEST.TRIMMED_MEAN").arg("latency").arg(0.1).arg(0.75).query(c)?;
    println!("{mean}"); // 10.166666666666666
    // command: TDIGEST.INFO
    let fields: HashMap<String, u64> = cmd("TDIGEST.INFO").arg("latency").query(c)?;
    println!("{}", fields["Compression"]); // 100
    // command: TDIGEST.MERGE
    let reply: String = cmd("TDIGEST.MERGE").arg("latency:all").arg(1).arg("latency").query(c)?;
    println!("{reply}"); // OK
    // command: TDIGEST.RESET
    let reply: String = cmd("TDIGEST.RESET").arg("latency").query(c)?;
    println!("{reply}"); // OK

    // command: SKETCH.WINDOW
    let mut reserve = cmd("TOPK.RESERVE");
    reserve.arg("recent").arg(10).arg(80).arg(5).arg(0.9).arg("WINDOW").arg(3_600_000).exec(c)?;
    let fields: Vec<Value> = cmd("SKETCH.WINDOW").arg("recent").query(c)?;
    println!("{:?}", fields[1]); // int(3600000)
    // command: SKETCH.WITHIN
    cmd("TOPK.ADD").arg("recent").arg("/home").exec(c)?;
    let list: Vec<String> = cmd("SKETCH.WITHIN").arg(300_000).arg("TOPK.LIST").arg("recent").query(c)?;
    println!("{list:?}"); // ["/home"]
    // command: SKETCH.BETWEEN
    let list: Vec<String> = cmd("SKETCH.BETWEEN").arg(-900_000).arg("+").arg("TOPK.LIST").arg("recent").query(c)?;
    println!("{list:?}"); // ["/home"]
    // command: SKETCH.SERIES
    let mut series = cmd("SKETCH.SERIES");
    series.arg(-3_600_000).arg("+").arg(3_600_000).arg("TOPK.COUNT").arg("recent").arg("/home");
    let rows: Vec<(u64, u64, Vec<u64>)> = series.query(c)?;
    println!("{:?}", rows.last().map(|row| &row.2)); // Some([1])
    // command: SKETCH.AGE
    let mut reserve = cmd("BF.RESERVE");
    reserve.arg("seen").arg(0.01).arg(1000).arg("WINDOW").arg(3_600_000).exec(c)?;
    let ages: Vec<Option<u64>> = cmd("SKETCH.AGE").arg("seen").arg("alice").query(c)?;
    println!("{ages:?}"); // [None]
    // command: SKETCH.ACCURACY
    let fields: Vec<String> = cmd("SKETCH.ACCURACY").arg("seen").query(c)?;
    println!("{:?}", &fields[2..4]); // ["specified rate", "0.01"]
    // end
    let keys = ["visitors", "members", "everyone", "sessions", "views", "views:all", "pages", "latency", "latency:all", "recent", "seen"];
    cmd("DEL").arg(&keys).exec(c)?;
    Ok(())
}
