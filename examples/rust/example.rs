//! Uses all five sketches in a web shop, with the `redis` crate:
//!
//!     cargo add redis --features bloom
//!
//! Environment: ROUGHLY_PORT is the port of the server on this machine (default 6379).
//! The keys of this example start with `shop:`. The program deletes them first.

use redis::{Commands, RedisResult, cmd};

fn main() -> RedisResult<()> {
    let port = std::env::var("ROUGHLY_PORT").unwrap_or_else(|_| "6379".to_owned());
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/?protocol=resp3"))?;
    let mut connection = client.get_connection()?;
    let c = &mut connection;
    for sketch in ["seen", "carts", "views", "trending", "latency"] {
        let _: () = c.del(format!("shop:{sketch}"))?;
    }

    // Bloom filter: was this visitor here before? The answer is a false yes for at most 1 in 1,000 new visitors.
    let _: () = c.bf_reserve("shop:seen", 0.001, 100_000)?;
    let _: Vec<bool> = c.bf_madd("shop:seen", &["ann", "bob"])?;
    let seen: Vec<bool> = c.bf_mexists("shop:seen", &["ann", "cid"])?;
    println!("seen before: ann {}, cid {}", seen[0], seen[1]);

    // Cuckoo filter: like a Bloom filter, but items can be deleted. The crate has methods for Bloom filters
    // only, so the other families use `cmd` with typed replies.
    cmd("CF.RESERVE").arg("shop:carts").arg(10_000).exec(c)?;
    cmd("CF.ADD").arg("shop:carts").arg("ann:teapot").exec(c)?;
    cmd("CF.DEL").arg("shop:carts").arg("ann:teapot").exec(c)?;
    let there: bool = cmd("CF.EXISTS")
        .arg("shop:carts")
        .arg("ann:teapot")
        .query(c)?;
    println!("teapot in the cart after its removal: {there}");

    // Count-min sketch: how often was this page viewed? The estimate is never too low and rarely too high.
    cmd("CMS.INITBYPROB")
        .arg("shop:views")
        .arg(0.001)
        .arg(0.01)
        .exec(c)?;
    for (page, readers) in [("/teapots", 120), ("/cups", 45)] {
        cmd("CMS.INCRBY")
            .arg("shop:views")
            .arg(page)
            .arg(readers)
            .exec(c)?;
    }
    let views: Vec<u64> = cmd("CMS.QUERY")
        .arg("shop:views")
        .arg("/teapots")
        .query(c)?;
    println!("views of /teapots: {}", views[0]);

    // Top-k: the two most frequent search terms, with their counts.
    cmd("TOPK.RESERVE").arg("shop:trending").arg(2).exec(c)?;
    for (word, searches) in [("teapot", 30), ("cup", 20), ("spoon", 1)] {
        cmd("TOPK.INCRBY")
            .arg("shop:trending")
            .arg(word)
            .arg(searches)
            .exec(c)?;
    }
    let list: Vec<(String, u64)> = cmd("TOPK.LIST")
        .arg("shop:trending")
        .arg("WITHCOUNT")
        .query(c)?;
    println!("most searched: {list:?}");

    // t-digest: the median and the 99th percentile of response times, in milliseconds.
    cmd("TDIGEST.CREATE").arg("shop:latency").exec(c)?;
    let milliseconds: Vec<u32> = (1..=1000).collect();
    cmd("TDIGEST.ADD")
        .arg("shop:latency")
        .arg(&milliseconds)
        .exec(c)?;
    let slow: Vec<f64> = cmd("TDIGEST.QUANTILE")
        .arg("shop:latency")
        .arg(0.5)
        .arg(0.99)
        .query(c)?;
    println!(
        "latency: 50 % within {:.0} ms, 99 % within {:.0} ms",
        slow[0], slow[1]
    );
    Ok(())
}
