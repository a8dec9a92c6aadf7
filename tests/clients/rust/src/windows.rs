//! Calls the commands of each family on a sketch with a window, and every `SKETCH.*` command. The crate has no typed methods
//! for these families.

use crate::cmd;
use redis::{Connection, RedisResult, Value, from_redis_value};
use std::collections::HashMap;

/// Ten years: no pane expires.
const WINDOW: &str = "WINDOW 315360000000 PANES 4";
const SEED: &str = "SEED 00112233445566778899aabbccddeeff";
const PANE_MS: u64 = 78_840_000_000;

/// Calls the commands on a key of each type.
pub fn walk(connection: &mut Connection) -> RedisResult<()> {
    let c = connection;
    cmd(&format!("CMS.INITBYDIM cms:w 1000 5 {WINDOW} {SEED}")).exec(c)?;
    let counts: Vec<u64> = cmd("CMS.INCRBY cms:w a 5 b 2").query(c)?;
    assert_eq!(counts, [5, 2]);
    let counts: Vec<u64> = cmd("CMS.QUERY cms:w a b z").query(c)?;
    assert_eq!(counts, [5, 2, 0]);
    let info: HashMap<String, u64> = cmd("CMS.INFO cms:w").query(c)?;
    assert_eq!((info.len(), info["width"], info["count"]), (3, 1000, 7));
    window(c, "cms:w", 7)?;

    cmd(&format!("TOPK.RESERVE topk:w 2 50 4 0.9 {WINDOW} {SEED}")).exec(c)?;
    let dropped: Vec<Option<String>> = cmd("TOPK.INCRBY topk:w a 10 b 5 c 7").query(c)?;
    assert_eq!(dropped, [None, None, Some("b".to_owned())]);
    let found: Vec<bool> = cmd("TOPK.QUERY topk:w a b").query(c)?;
    assert_eq!(found, [true, false]);
    let list: Vec<(String, u64)> = cmd("TOPK.LIST topk:w WITHCOUNT").query(c)?;
    assert_eq!(list, [("a".to_owned(), 10), ("c".to_owned(), 7)]);
    window(c, "topk:w", 22)?;

    cmd(&format!("TDIGEST.CREATE td:w COMPRESSION 200 {WINDOW}")).exec(c)?;
    cmd("TDIGEST.ADD td:w 1 2.5 4 -3").exec(c)?;
    let quantiles: Vec<f64> = cmd("TDIGEST.QUANTILE td:w 0 0.5 1").query(c)?;
    assert_eq!(quantiles, [-3.0, 2.5, 4.0]);
    let info: HashMap<String, u64> = cmd("TDIGEST.INFO td:w").query(c)?;
    assert_eq!((info.len(), info["Observations"]), (9, 4));
    cmd("TDIGEST.MERGE td:w:sum 1 td:w").exec(c)?;
    assert_eq!(cmd("TDIGEST.MAX td:w:sum").query::<f64>(c)?, 4.0);
    window(c, "td:w", 4)
}

/// Checks the replies of SKETCH.WINDOW and SKETCH.ADVANCE for a sketch with one live pane that has items.
fn window(connection: &mut Connection, key: &str, total: u64) -> RedisResult<()> {
    let info: HashMap<String, Value> = cmd(&format!("SKETCH.WINDOW {key}")).query(connection)?;
    assert_eq!(info.len(), 7);
    let number = |name: &str| from_redis_value::<u64>(info[name].clone()).expect("a number");
    assert_eq!(
        ["window", "panes", "pane length"].map(number),
        [4 * PANE_MS, 4, PANE_MS]
    );
    assert!((4 * PANE_MS..=5 * PANE_MS).contains(&number("covered")));
    let totals: Vec<u64> = from_redis_value(info["items per pane"].clone())?;
    assert_eq!(totals, [0, 0, 0, 0, total]);
    let starts: Vec<u64> = from_redis_value(info["pane starts"].clone())?;
    let newest = number("newest pane");
    assert_eq!(starts, [4, 3, 2, 1, 0].map(|pane| newest - pane * PANE_MS));
    let command = match key.split(':').next() {
        Some("cms") => format!("CMS.QUERY {key} a"),
        Some("topk") => format!("TOPK.COUNT {key} a"),
        _ => format!("TDIGEST.RANK {key} 1.5"),
    };
    let expected: Vec<i64> = cmd(&command).query(connection)?;
    let recent: Vec<i64> = cmd(&format!("SKETCH.WITHIN {PANE_MS} {command}")).query(connection)?;
    assert_eq!(recent, expected);
    let period = cmd(&format!("SKETCH.BETWEEN -{PANE_MS} + {command}"));
    assert_eq!(period.query::<Vec<i64>>(connection)?, expected);
    let series = cmd(&format!("SKETCH.SERIES - + {PANE_MS} {command}"));
    let rows: Vec<(u64, u64, Vec<i64>)> = series.query(connection)?;
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[4].2, expected);
    let ages: Vec<Option<i64>> = cmd("SKETCH.AGE none a b").query(connection)?;
    assert_eq!(ages, [None, None]);
    let accuracy: HashMap<String, f64> =
        cmd(&format!("SKETCH.ACCURACY {key}")).query(connection)?;
    let name = match key.split(':').next() {
        Some("cms") => "count",
        Some("topk") => "smallest listed count",
        _ => "samples",
    };
    assert!((total.min(1) as f64..=total as f64).contains(&accuracy[name]));
    let advance = |pane: u64| cmd(&format!("SKETCH.ADVANCE {key} {pane}"));
    let newest = number("newest pane") / PANE_MS;
    assert_eq!(advance(newest).query::<u64>(connection)?, 0);
    let error = advance(newest + 1).exec(connection).expect_err("an error");
    assert!(
        error.to_string().contains("pane is in the future"),
        "{error}"
    );
    Ok(())
}
