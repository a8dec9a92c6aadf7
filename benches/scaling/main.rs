//! Benchmark of scaling: throughput by size of the filter, items per command, number of keys and sub-filters per chain.
//!
//! `cargo bench -p benches --bench scaling` writes target/bench/scaling.json. With `--quick`, it measures a few points for a short
//! time. The environment variable `ROUGHLY_SERVER` selects the server (default: the one in PATH).
//!
//! The look-ups by size are measured without a server, and compared with the time of random reads of the
//! same memory (see [`chase`]). The other curves are CPU time of the server under pipelined load. Each time is the fastest
//! round; rounds are repeated until the fastest two agree.

#[path = "../record/mod.rs"]
mod record;
#[allow(dead_code)]
#[path = "../rounds/mod.rs"]
mod rounds;
#[path = "../stream/mod.rs"]
mod stream;
#[path = "../../tests/support/mod.rs"]
mod support;

mod chase;
mod curves;
#[allow(dead_code)]
#[path = "../server/load.rs"]
mod load;
mod sizes;

use curves::Bench;
use serde_json::json;
use support::server::Options;

fn main() {
    record::enter_repository();
    let load_before = record::load_average();
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let sizes: Vec<_> = (sizes::sizes(is_quick).into_iter())
        .map(sizes::measure)
        .collect();
    let server = Options::new().arguments(&["--hz", "1"]).start();
    // By default, a cuckoo filter has at most 32 sub-filters.
    let limit = format!("CONFIG SET {} 128", server.setting("cf-max-expansions"));
    let reply = server.call(&limit);
    assert!(reply.is_ok(), "{limit}: {reply}");
    let bench = Bench {
        server: &server,
        is_quick,
    };
    let version = match server.info("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", server.info("redis_version").unwrap_or_default()),
    };
    let results = json!({
        "server": version,
        "sizes": sizes,
        "items": bench.by_items(),
        "keys": bench.by_keys(),
        "sub_filters": bench.by_sub_filters(),
    });
    let name = match is_quick {
        true => "scaling-quick.json",
        false => "scaling.json",
    };
    record::write(name, results, load_before);
}
