//! t-digests on a real server: behavior that the recordings do not cover.

mod merge;

use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

/// The next state of a generator of numbers with Knuth's MMIX constants.
fn mmix(state: u64) -> u64 {
    let product = state.wrapping_mul(6_364_136_223_846_793_005);
    product.wrapping_add(1_442_695_040_888_963_407)
}

/// A generator of numbers in [0, 1).
struct Uniform(u64);

impl Iterator for Uniform {
    type Item = f64;
    fn next(&mut self) -> Option<f64> {
        self.0 = mmix(self.0);
        Some((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

fn add(connection: &mut Connection, key: &str, values: impl IntoIterator<Item = f64>) {
    let mut command = vec!["TDIGEST.ADD".to_owned(), key.to_owned()];
    command.extend(values.into_iter().map(|value| value.to_string()));
    connection.send_ok(&command);
}

/// MEMORY USAGE adds the memory of the key: its name and entries of the server.
#[test]
fn info_reports_the_memory_that_the_digest_takes() {
    const MAX_KEY_BYTES: i64 = 200;
    let (_server, mut connection) = Server::start().connected();
    for create in [
        "TDIGEST.CREATE KEY",
        "TDIGEST.CREATE KEY COMPRESSION 1000",
        "TDIGEST.CREATE KEY WINDOW 315360000000 PANES 4",
    ] {
        connection.ok("FLUSHALL SYNC");
        connection.ok(&create.replace("KEY", "k"));
        for samples in [0, 10, 1_000, 10_000] {
            for seed in 0..samples / 100 {
                add(&mut connection, "k", Uniform(seed).take(100));
            }
            let usage = connection.call("MEMORY USAGE k").integer().unwrap();
            let info = connection.call("TDIGEST.INFO k");
            let reported = info.number("Memory usage");
            let others = usage - reported;
            let is_exact = (0..MAX_KEY_BYTES).contains(&others);
            assert!(is_exact, "{create}: {usage}, {reported}");
            connection.call("TDIGEST.QUANTILE k 0.5");
        }
    }
}

/// The compressed form that a read creates counts as memory of the key as long as it is kept.
#[test]
fn memory_usage_includes_the_cached_results_of_reads() {
    let (server, mut connection) = Server::start().connected();
    connection.ok("TDIGEST.CREATE k COMPRESSION 1000");
    for seed in 0..100 {
        add(&mut connection, "k", Uniform(seed).take(200));
    }
    let mut usage = || {
        let usage = connection.call("MEMORY USAGE k").integer().unwrap();
        let counted = server.info_number("bf_tdigest_bytes");
        let is_close = (usage - counted).abs() < 200;
        assert!(is_close, "{usage} said, {counted} in INFO");
        (usage, connection.call("TDIGEST.CDF k 0.5"))
    };
    let (written, _) = usage();
    let (read, _) = usage();
    // About 700 centroids of 16 bytes.
    assert!(read > written + 5_000, "{read} after {written}");
    let (read_again, _) = usage();
    assert_eq!(read_again, read);
    // The nodes are kept for the next read, until a compression.
    connection.ok("TDIGEST.ADD k 0.5");
    let counted = server.info_number("bf_tdigest_bytes");
    assert!((counted - read).abs() < 200, "{counted} after {read}");
    add(&mut connection, "k", Uniform(100).take(6_000));
    connection.ok("TDIGEST.ADD k 0.5");
    let counted = server.info_number("bf_tdigest_bytes");
    assert!(counted < read - 20_000, "{counted}");
    connection.ok("TDIGEST.RESET k");
    assert!(server.info_number("bf_tdigest_bytes") < 500);
    assert_eq!(server.info_number("bf_tdigest_items_added"), 26_002);
}

/// The module parses plain decimal numbers itself. Whether a text is a number, and its value, must be the same as
/// with the server's parser, which parses the scores of ZADD.
#[test]
fn numbers_are_parsed_as_the_server_parses_them() {
    let server = Server::start();
    let mut connection = server.resp3();
    let texts = "0|-0|-0.0|007|-007.50|5.|.5|-.5|.|-||+5|--5|1.2.3|1e3|1E-3|1e400|1e-400|5e-324|1 | 1|1_0|0x10|1,5|nan\
        |9007199254740991|9007199254740992|9007199254740993|9999999999999999999|00000000000000000001\
        |12345678901234567890|0.1|0.30000000000000004|0.0000000000000000001|1234567890.123456789\
        |179769313486231570000000000|1.7976931348623157e308|123456789012345678901234567890.5|\u{661}";
    let mut texts: Vec<String> = texts.split('|').map(str::to_owned).collect();
    let mut uniform = Uniform(8);
    for decimals in 0..20usize {
        for magnitude in 0..16 {
            let value = (uniform.next().unwrap() - 0.5) * 10f64.powi(magnitude);
            texts.push(format!("{value:.decimals$}"));
            texts.push(value.to_string());
        }
    }
    for text in texts {
        connection.send(&["DEL", "z", "d"]);
        connection.ok("TDIGEST.CREATE d");
        let score = match connection.send(&["ZADD", "z", &text, "m"]) {
            Reply::Integer(1) => double(&connection.call("ZSCORE z m")),
            _ => None,
        };
        connection.send(&["TDIGEST.ADD", "d", &text]);
        let least = connection.call("TDIGEST.MIN d");
        assert_eq!(double(&least), score, "{text:?}");
        // The module passes numbers with an exponent to the server's parser. The reply must be the same, even for -0.
        if score.is_some() && !text.contains(['e', 'E', 'x']) {
            connection.ok("TDIGEST.RESET d");
            connection.send(&["TDIGEST.ADD", "d", &format!("{text}e0")]);
            assert_eq!(connection.call("TDIGEST.MIN d"), least, "{text:?}");
        }
    }
}

/// The number in a reply; `None` for nan.
fn double(reply: &Reply) -> Option<f64> {
    match reply {
        Reply::Double(text) => text.parse().ok().filter(|value: &f64| !value.is_nan()),
        _ => panic!("{reply}"),
    }
}

/// Checks the statements of the command pages and of COMMAND DOCS, with so few samples that replies are exact.
#[test]
fn cdf_rank_and_revrank_count_half_of_the_equal_samples() {
    let server = Server::start();
    let mut connection = server.resp3();
    for samples in [
        &[3, 3, 3, 3, 5][..],
        &[1, 2, 3, 4, 5],
        &[7],
        &[7, 7, 7],
        &[4, 4, 4, 4, 3, 3, 3, 2, 2, 1],
        &[-1, 8, 8, -1, 0, 8, 5, 5, 8, 8],
    ] {
        connection.call("DEL k");
        connection.ok("TDIGEST.CREATE k");
        let values = samples.iter().map(|&sample| f64::from(sample));
        add(&mut connection, "k", values);
        let all = samples.len() as i64;
        let (min, max) = (samples.iter().min().unwrap(), samples.iter().max().unwrap());
        for x in -2..10 {
            let count = |which: fn(&i32, &i32) -> bool| {
                samples.iter().filter(|sample| which(sample, &x)).count() as i64
            };
            let [below, equal, above] = [count(i32::lt), count(i32::eq), count(i32::gt)];
            let rank = if x < *min { -1 } else { below + equal / 2 };
            let revrank = if x > *max { -1 } else { above + equal / 2 };
            let share = (below as f64 + equal as f64 / 2.0) / all as f64;
            for (command, wanted) in [("RANK", rank), ("REVRANK", revrank)] {
                let reply = connection.call(&format!("TDIGEST.{command} k {x}"));
                let wanted = format!("*[:{wanted}]");
                assert_eq!(reply.to_string(), wanted, "{command} {x} of {samples:?}");
            }
            let reply = connection.call(&format!("TDIGEST.CDF k {x}")).to_string();
            let cdf = reply.trim_matches(['*', '[', ']', ',']);
            let error = cdf.parse::<f64>().expect("a number") - share;
            assert!(error.abs() < 1e-12, "{x} of {samples:?}: {cdf}");
        }
    }
    for command in ["cdf", "rank", "revrank"] {
        let docs = connection.call(&format!("COMMAND DOCS tdigest.{command}"));
        let text = "plus half of the samples that are equal";
        assert!(docs.to_string().contains(text), "{docs}");
    }
}
