//! The core of each recipe of docs/recipes, with the `redis` crate.
//!
//!     cd examples/rust
//!     cargo run --bin recipes
//!
//! The server is on port 6379 of this machine, or on ROUGHLY_PORT. The program deletes the keys that it uses:
//! run it on a server without other data. It prints the lines of examples/recipes.txt.

use redis::{Connection, RedisResult, cmd, pipe};
use sha1_smol::Sha1;
use std::time::{Duration, UNIX_EPOCH};

// recipe: stream-deduplication
/// Deduplicating a stream consumer: returns the IDs that were not processed before.
fn new_messages<'a>(c: &mut Connection, ids: &[&'a str]) -> RedisResult<Vec<&'a str>> {
    let is_new: Vec<bool> = cmd("BF.MADD").arg("orders:seen").arg(ids).query(c)?;
    let messages = ids.iter().zip(is_new);
    Ok(messages
        .filter(|(_, new)| *new)
        .map(|(id, _)| *id)
        .collect())
}
// end

// recipe: crawler
/// Crawler: returns the URLs that were not crawled on any of these days, such as today and the six days before.
fn due<'a>(c: &mut Connection, urls: &[&'a str], days: &[&str]) -> RedisResult<Vec<&'a str>> {
    let mut requests = pipe();
    for day in days {
        requests
            .cmd("BF.MEXISTS")
            .arg(format!("crawled:{day}"))
            .arg(urls);
    }
    let replies: Vec<Vec<bool>> = requests.query(c)?;
    let is_due = |i: usize| !replies.iter().any(|seen| seen[i]);
    Ok((0..urls.len())
        .filter(|i| is_due(*i))
        .map(|i| urls[i])
        .collect())
}

fn mark_crawled(c: &mut Connection, urls: &[&str], today: &str) -> RedisResult<()> {
    let key = format!("crawled:{today}");
    let mut requests = pipe();
    requests.atomic().cmd("BF.INSERT").arg(&key);
    requests
        .arg("CAPACITY")
        .arg(10_000)
        .arg("ERROR")
        .arg(0.001)
        .arg("ITEMS")
        .arg(urls);
    requests.cmd("EXPIRE").arg(&key).arg(8 * 86_400);
    requests.exec(c)
}
// end

// recipe: heavy-hitters
/// Heavy hitters: counts requests, and returns the most requested pages of an hour with their counts.
fn count_pages(c: &mut Connection, hour: &str, pages: &[&str]) -> RedisResult<()> {
    cmd("TOPK.ADD")
        .arg(format!("pages:{hour}"))
        .arg(pages)
        .exec(c)
}

fn top_pages(c: &mut Connection, hour: &str) -> RedisResult<Vec<(String, u64)>> {
    cmd("TOPK.LIST")
        .arg(format!("pages:{hour}"))
        .arg("WITHCOUNT")
        .query(c)
}
// end

// recipe: latency-percentiles
/// Latency percentiles: one digest per pod, merged by each query.
fn record_latencies(c: &mut Connection, pod: &str, milliseconds: &[f64]) -> RedisResult<()> {
    let key = format!("latency:{{checkout}}:{pod}");
    cmd("TDIGEST.ADD").arg(key).arg(milliseconds).exec(c)
}

fn percentiles(c: &mut Connection, pods: &[&str], quantiles: &[f64]) -> RedisResult<Vec<f64>> {
    let sources: Vec<_> = pods
        .iter()
        .map(|pod| format!("latency:{{checkout}}:{pod}"))
        .collect();
    let mut merge = cmd("TDIGEST.MERGE");
    merge
        .arg("latency:{checkout}")
        .arg(sources.len())
        .arg(sources);
    merge.arg("OVERRIDE").exec(c)?;
    cmd("TDIGEST.QUANTILE")
        .arg("latency:{checkout}")
        .arg(quantiles)
        .query(c)
}
// end

// recipe: now-and-then
/// The p99 of a period of the past: Unix times in milliseconds, or negative numbers of milliseconds before now.
fn p99_between(c: &mut Connection, from: i64, to: i64) -> RedisResult<f64> {
    let mut read = cmd("SKETCH.BETWEEN");
    read.arg(from).arg(to).arg("TDIGEST.QUANTILE");
    let [p99] = read.arg("latency:days").arg(0.99).query(c)?;
    Ok(p99)
}
// end

// recipe: ad-frequency-capping
/// Frequency capping: whether an ad may be shown to a user once more, and counts it if so.
fn may_show(c: &mut Connection, day: &str, ad: &str, user: &str) -> RedisResult<bool> {
    const CAP: u64 = 3;
    let (key, item) = (format!("shown:{day}"), format!("{ad}:{user}"));
    let [count]: [u64; 1] = cmd("CMS.QUERY").arg(&key).arg(&item).query(c)?;
    if count >= CAP {
        return Ok(false);
    }
    let [shown]: [u64; 1] = cmd("CMS.INCRBY").arg(&key).arg(&item).arg(1).query(c)?;
    Ok(shown <= CAP)
}
// end

// recipe: membership-checks
/// Breached passwords: whether the SHA-1 of a password is in the filter.
fn is_breached(c: &mut Connection, password: &str) -> RedisResult<bool> {
    let digest = Sha1::from(password).digest().to_string().to_uppercase();
    cmd("BF.EXISTS").arg("breached").arg(digest).query(c)
}

/// Cache penetration: false only if the filter is loaded and the ID is not in it.
fn may_exist(c: &mut Connection, id: &str) -> RedisResult<bool> {
    let mut look_up = cmd("BF.MEXISTS");
    look_up.arg("{products}:ids").arg(id).arg("loaded");
    let [exists, loaded]: [bool; 2] = look_up.query(c)?;
    Ok(exists || !loaded)
}
// end

// recipe: rate-limiting
/// Rate limit: creates the sketch, and counts a request of a client if it is one of at most 100 per minute.
fn create_limit(c: &mut Connection) -> RedisResult<()> {
    let mut create = cmd("CMS.INITBYPROB");
    create.arg("limit").arg(0.0001).arg(0.01);
    create
        .arg("WINDOW")
        .arg(60_000)
        .arg("PANES")
        .arg(12)
        .exec(c)
}

fn is_allowed(c: &mut Connection, name: &str) -> RedisResult<bool> {
    let mut count = cmd("CMS.INCRBYLIMIT");
    let [[accepted, _]]: [[u64; 2]; 1] = count.arg("limit").arg(100).arg(name).arg(1).query(c)?;
    Ok(accepted == 1)
}

/// Requests of the last hour: creates the sketch, counts a request of an API key, and returns the counts of API keys.
fn create_requests(c: &mut Connection) -> RedisResult<()> {
    let mut create = cmd("CMS.INITBYPROB");
    create.arg("requests:hour").arg(0.0001).arg(0.01);
    create.arg("WINDOW").arg(3_600_000);
    create.arg("PANES").arg(12).exec(c)
}

fn count_request(c: &mut Connection, api_key: &str) -> RedisResult<u64> {
    let mut count = cmd("CMS.INCRBY");
    let [count]: [u64; 1] = count.arg("requests:hour").arg(api_key).arg(1).query(c)?;
    Ok(count)
}

fn requests_of(c: &mut Connection, api_keys: &[&str]) -> RedisResult<Vec<u64>> {
    cmd("CMS.QUERY").arg("requests:hour").arg(api_keys).query(c)
}
// end

fn main() -> RedisResult<()> {
    let port = std::env::var("ROUGHLY_PORT").unwrap_or_else(|_| "6379".to_owned());
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/?protocol=resp3"))?;
    let c = &mut client.get_connection()?;
    let days = [
        "2026-11-29",
        "2026-11-28",
        "2026-11-27",
        "2026-11-26",
        "2026-11-25",
        "2026-11-24",
        "2026-11-23",
        "2026-11-22",
        "2026-11-21",
        "2026-11-20",
        "2026-11-19",
        "2026-11-18",
        "2026-11-17",
        "2026-11-16",
    ];
    let keys = [
        "orders:seen",
        "crawled:2026-11-22",
        "pages:2026-11-22T10",
        "latency:{checkout}:pod-1",
        "latency:{checkout}:pod-2",
        "latency:{checkout}",
        "latency:days",
        "breached",
        "shown:2026-11-22",
        "{products}:ids",
        "limit",
        "requests:hour",
    ];
    cmd("DEL").arg(&keys).exec(c)?;

    cmd("BF.RESERVE")
        .arg("orders:seen")
        .arg(0.001)
        .arg(20_000)
        .exec(c)?;
    let orders = new_messages(c, &["order-1", "order-2", "order-1"])?;
    println!("new orders: {}", orders.join(" "));

    mark_crawled(c, &["https://example.com/a"], "2026-11-22")?;
    let urls = ["https://example.com/a", "https://example.com/b"];
    println!("due today: {}", due(c, &urls, &days[7..])?.len());
    println!("due after six days: {}", due(c, &urls, &days[1..8])?.len());
    println!("due after seven days: {}", due(c, &urls, &days[..7])?.len());

    cmd("TOPK.RESERVE")
        .arg("pages:2026-11-22T10")
        .arg(&[10, 80, 5])
        .arg(0.9)
        .exec(c)?;
    count_pages(
        c,
        "2026-11-22T10",
        &["/home", "/news", "/home", "/home", "/news"],
    )?;
    let top = top_pages(c, "2026-11-22T10")?;
    let top: Vec<_> = top
        .iter()
        .map(|(page, count)| format!("{page} {count}"))
        .collect();
    println!("top pages: {}", top.join(", "));

    for pod in ["pod-1", "pod-2"] {
        let key = format!("latency:{{checkout}}:{pod}");
        cmd("TDIGEST.CREATE")
            .arg(key)
            .arg("COMPRESSION")
            .arg(200)
            .exec(c)?;
    }
    record_latencies(c, "pod-1", &[10.0, 20.0, 30.0])?;
    record_latencies(c, "pod-2", &[40.0, 50.0])?;
    let latency = percentiles(c, &["pod-1", "pod-2"], &[0.5, 0.99])?;
    println!("latency: p50 {} ms, p99 {} ms", latency[0], latency[1]);

    let mut create = cmd("TDIGEST.CREATE");
    create.arg("latency:days").arg("WINDOW").arg(4000);
    create.arg("PANES").arg(100).exec(c)?;
    let add = |c: &mut Connection, ms: f64| cmd("TDIGEST.ADD").arg("latency:days").arg(ms).exec(c);
    let pause = || std::thread::sleep(Duration::from_millis(50));
    add(c, 400.0)?;
    pause();
    let change = UNIX_EPOCH.elapsed().expect("a time after 1970").as_millis() as i64;
    pause();
    add(c, 20.0)?;
    let then = p99_between(c, 0, change)?;
    let now = p99_between(c, change, change + 10_000)?;
    println!("p99 then and now: {then} ms, {now} ms");

    let hash = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
    cmd("BF.RESERVE")
        .arg("breached")
        .arg(0.001)
        .arg(20_000)
        .arg("NONSCALING")
        .exec(c)?;
    cmd("BF.ADD").arg("breached").arg(hash).exec(c)?;
    println!("breached: {}", is_breached(c, "password")?);
    println!(
        "breached: {}",
        is_breached(c, "correct horse battery staple")?
    );

    let mut create = cmd("CMS.INITBYDIM");
    create
        .arg("shown:2026-11-22")
        .arg(6000)
        .arg(7)
        .arg("CELL_SIZE")
        .arg(1)
        .exec(c)?;
    let mut shown = 0;
    for _ in 0..5 {
        shown += u32::from(may_show(c, "2026-11-22", "ad-1", "user-1")?);
    }
    println!("ads shown: {shown} of 5");

    println!("may exist before the load: {}", may_exist(c, "absent")?);
    let mut load = cmd("BF.INSERT");
    load.arg("{products}:ids")
        .arg("CAPACITY")
        .arg(10_000)
        .arg("ERROR")
        .arg(0.01);
    load.arg("ITEMS").arg("product-1").arg("loaded").exec(c)?;
    println!("may exist after the load: {}", may_exist(c, "absent")?);

    create_limit(c)?;
    let mut allowed = 0;
    for _ in 0..150 {
        allowed += u32::from(is_allowed(c, "client-1")?);
    }
    println!("requests allowed: {allowed} of 150");

    create_requests(c)?;
    for api_key in ["key-1", "key-2", "key-1"] {
        count_request(c, api_key)?;
    }
    let counts = requests_of(c, &["key-1", "key-2"])?;
    println!("requests of the last hour: {} {}", counts[0], counts[1]);
    Ok(())
}
