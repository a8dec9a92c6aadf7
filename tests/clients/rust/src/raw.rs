//! Calls every command of the families for which the crate has no typed methods.

use crate::cmd;
use redis::{Connection, RedisResult};
use std::collections::HashMap;

/// Copies a sketch chunk by chunk. The last reply of SCANDUMP has null or an empty string instead of a chunk.
fn copy(connection: &mut Connection, family: &str, from: &str, to: &str) -> RedisResult<()> {
    let mut position = 0;
    loop {
        let scan = cmd(&format!("{family}.SCANDUMP {from} {position}"));
        let (next, chunk): (i64, Option<Vec<u8>>) = scan.query(connection)?;
        if next == 0 {
            return Ok(());
        }
        let mut load = cmd(&format!("{family}.LOADCHUNK {to} {next}"));
        load.arg(chunk.expect("a chunk")).exec(connection)?;
        position = next;
    }
}

/// Returns the error text of the reply.
fn refusal(connection: &mut Connection, line: &str) -> String {
    cmd(line).exec(connection).expect_err(line).to_string()
}

/// Calls every `CF.*` command.
pub fn cuckoo(connection: &mut Connection) -> RedisResult<()> {
    let c = connection;
    cmd("CF.RESERVE cf 64 BUCKETSIZE 4 MAXITERATIONS 30 EXPANSION 2").exec(c)?;
    assert!(cmd("CF.ADD cf a").query::<bool>(c)?);
    assert!(!cmd("CF.ADDNX cf a").query::<bool>(c)?);
    assert!(cmd("CF.ADD cf a").query::<bool>(c)?);
    assert_eq!(cmd("CF.COUNT cf a").query::<u64>(c)?, 2);
    assert!(cmd("CF.EXISTS cf a").query::<bool>(c)?);
    let found: Vec<bool> = cmd("CF.MEXISTS cf a z").query(c)?;
    assert_eq!(found, [true, false]);
    assert!(cmd("CF.DEL cf a").query::<bool>(c)?);
    assert!(!cmd("CF.DEL cf z").query::<bool>(c)?);
    let added: Vec<bool> = cmd("CF.INSERT cf CAPACITY 100 ITEMS x y").query(c)?;
    assert_eq!(added, [true, true]);
    // The reply has numbers in RESP3 too, because -1 means that the filter is full.
    let added: Vec<i64> = cmd("CF.INSERTNX cf ITEMS x z").query(c)?;
    assert_eq!(added, [0, 1]);
    let info: HashMap<String, i64> = cmd("CF.INFO cf").query(c)?;
    assert_eq!(info.len(), 8);
    assert_eq!(info["Number of items inserted"], 4);
    assert_eq!(info["Number of items deleted"], 1);
    copy(c, "CF", "cf", "cf:copy")?;
    let found: Vec<bool> = cmd("CF.MEXISTS cf:copy a x y z q").query(c)?;
    assert_eq!(found, [true, true, true, true, false]);
    cmd("CF.COMPACT cf").exec(c)?;
    let debug: String = cmd("CF.DEBUG cf").query(c)?;
    assert!(
        debug.starts_with("bktsize:4 buckets:16 items:4 "),
        "{debug}"
    );
    assert!(refusal(c, "CF.RESERVE cf 64").contains("item exists"));
    Ok(())
}

/// Calls every `CMS.*` command.
pub fn count_min(connection: &mut Connection) -> RedisResult<()> {
    let c = connection;
    cmd("CMS.INITBYDIM cms 1000 5").exec(c)?;
    cmd("CMS.INITBYPROB cms:p 0.001 0.01").exec(c)?;
    let counts: Vec<u64> = cmd("CMS.INCRBY cms a 5 b 2").query(c)?;
    assert_eq!(counts, [5, 2]);
    let limited: Vec<Vec<u64>> = cmd("CMS.INCRBYLIMIT cms 3 y 2 y 2").query(c)?;
    assert_eq!(limited, [[1, 2], [0, 2]]);
    cmd("CMS.INITBYDIM cms:sum 1000 5").exec(c)?;
    cmd("CMS.MERGE cms:sum 1 cms WEIGHTS 10").exec(c)?;
    let counts: Vec<u64> = cmd("CMS.QUERY cms:sum a b z").query(c)?;
    assert_eq!(counts, [50, 20, 0]);
    let info: HashMap<String, u64> = cmd("CMS.INFO cms:sum").query(c)?;
    assert_eq!((info["width"], info["depth"], info["count"]), (1000, 5, 90));
    copy(c, "CMS", "cms", "cms:copy")?;
    let counts: Vec<u64> = cmd("CMS.QUERY cms:copy a b").query(c)?;
    assert_eq!(counts, [5, 2]);
    assert!(refusal(c, "CMS.QUERY none a").contains("key does not exist"));
    Ok(())
}

/// Calls every `TOPK.*` command.
pub fn top_k(connection: &mut Connection) -> RedisResult<()> {
    let c = connection;
    cmd("TOPK.RESERVE topk 2 50 4 0.9").exec(c)?;
    let dropped: Vec<Option<String>> = cmd("TOPK.ADD topk a b").query(c)?;
    assert_eq!(dropped, [None, None]);
    let dropped: Vec<Option<String>> = cmd("TOPK.INCRBY topk a 10 c 7").query(c)?;
    assert_eq!(dropped, [None, Some("b".to_owned())]);
    let found: Vec<bool> = cmd("TOPK.QUERY topk a b").query(c)?;
    assert_eq!(found, [true, false]);
    let counts: Vec<u64> = cmd("TOPK.COUNT topk a z").query(c)?;
    assert_eq!(counts, [11, 0]);
    let list: Vec<(String, u64)> = cmd("TOPK.LIST topk WITHCOUNT").query(c)?;
    assert_eq!(list, [("a".to_owned(), 11), ("c".to_owned(), 7)]);
    let info: HashMap<String, f64> = cmd("TOPK.INFO topk").query(c)?;
    assert_eq!((info["k"], info["decay"]), (2.0, 0.9));
    copy(c, "TOPK", "topk", "topk:copy")?;
    let list: Vec<String> = cmd("TOPK.LIST topk:copy").query(c)?;
    assert_eq!(list, ["a", "c"]);
    assert!(refusal(c, "TOPK.LIST none").contains("key does not exist"));
    Ok(())
}

/// Calls every `TDIGEST.*` command.
pub fn t_digest(connection: &mut Connection) -> RedisResult<()> {
    let c = connection;
    cmd("TDIGEST.CREATE td COMPRESSION 200").exec(c)?;
    assert!(cmd("TDIGEST.MIN td").query::<f64>(c)?.is_nan());
    cmd("TDIGEST.ADD td 1 2.5 4 -3").exec(c)?;
    assert_eq!(cmd("TDIGEST.MIN td").query::<f64>(c)?, -3.0);
    assert_eq!(cmd("TDIGEST.MAX td").query::<f64>(c)?, 4.0);
    for (line, want) in [
        ("TDIGEST.QUANTILE td 0 0.5 1", [-3.0, 2.5, 4.0]),
        ("TDIGEST.CDF td -4 2 9", [0.0, 0.5, 1.0]),
        ("TDIGEST.BYRANK td 0 3 9", [-3.0, 4.0, f64::INFINITY]),
        ("TDIGEST.BYREVRANK td 0 3 9", [4.0, -3.0, f64::NEG_INFINITY]),
    ] {
        assert_eq!(cmd(line).query::<Vec<f64>>(c)?, want, "{line}");
    }
    for (line, want) in [
        ("TDIGEST.RANK td -3 3 9", [0, 3, 4]),
        ("TDIGEST.REVRANK td -3 3 9", [3, 1, -1]),
    ] {
        assert_eq!(cmd(line).query::<Vec<i64>>(c)?, want, "{line}");
    }
    assert_eq!(cmd("TDIGEST.TRIMMED_MEAN td 0 1").query::<f64>(c)?, 1.125);
    let info: HashMap<String, u64> = cmd("TDIGEST.INFO td").query(c)?;
    assert_eq!(
        (info.len(), info["Compression"], info["Observations"]),
        (9, 200, 4)
    );
    cmd("TDIGEST.MERGE td:sum 1 td COMPRESSION 50").exec(c)?;
    assert_eq!(cmd("TDIGEST.MAX td:sum").query::<f64>(c)?, 4.0);
    copy(c, "TDIGEST", "td", "td:copy")?;
    assert_eq!(cmd("TDIGEST.MAX td:copy").query::<f64>(c)?, 4.0);
    cmd("TDIGEST.RESET td:sum").exec(c)?;
    assert!(cmd("TDIGEST.MAX td:sum").query::<f64>(c)?.is_nan());
    assert!(refusal(c, "TDIGEST.MIN none").contains("key does not exist"));
    Ok(())
}
