//! A day of a web shop in five sketches, with the `redis` crate:
//!
//!     cargo add redis --features bloom
//!
//! The server is on port 6379 of this machine, or on ROUGHLY_PORT. Keys of this example start with
//! `shop:` and are removed first.

use redis::{Commands, RedisResult, cmd};

fn main() -> RedisResult<()> {
    let port = std::env::var("ROUGHLY_PORT").unwrap_or_else(|_| "6379".to_owned());
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/?protocol=resp3"))?;
    let mut connection = client.get_connection()?;
    let c = &mut connection;
    for sketch in ["seen", "carts", "views", "trending", "latency"] {
        let _: () = c.del(format!("shop:{sketch}"))?;
    }

    // Bloom filter: has this visitor been here? One in a thousand newcomers is taken for a known one.
    let _: () = c.bf_reserve("shop:seen", 0.001, 100_000)?;
    let _: Vec<bool> = c.bf_madd("shop:seen", &["ann", "bob"])?;
    let seen: Vec<bool> = c.bf_mexists("shop:seen", &["ann", "cid"])?;
    println!("seen before: ann {}, cid {}", seen[0], seen[1]);

    // Cuckoo filter: as above, and what went in can be taken out. The crate has no methods for the
    // families from here on: commands are written out, and their replies have a type.
    cmd("CF.RESERVE").arg("shop:carts").arg(10_000).exec(c)?;
    cmd("CF.ADD").arg("shop:carts").arg("ann:teapot").exec(c)?;
    cmd("CF.DEL").arg("shop:carts").arg("ann:teapot").exec(c)?;
    let there: bool = cmd("CF.EXISTS")
        .arg("shop:carts")
        .arg("ann:teapot")
        .query(c)?;
    println!("teapot in the cart after it was taken out: {there}");

    // Count-min sketch: how often was this page read? Never too few, and seldom too many.
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

    // Top-k: the two words most searched for, with their counts.
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
    println!("searched most: {list:?}");

    // t-digest: how long does the slowest hundredth of the answers take?
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
        "latency: half within {:.0} ms, 99 % within {:.0} ms",
        slow[0], slow[1]
    );
    Ok(())
}
