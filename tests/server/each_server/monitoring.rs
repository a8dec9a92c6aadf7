//! packaging/monitoring: the exporter delivers every field of INFO, and the rules and the dashboard use no other
//! metrics.

use super::documents::reference::on_page;
use crate::families::{FAMILIES, Family, build_all};
use crate::support::page::Page;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server, UNUSED_PORT};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const DIRECTORY: &str = "packaging/monitoring";

struct Exporter {
    process: Child,
    address: String,
}

impl Exporter {
    /// Starts the exporter on a free port, for the server on `port`, and waits until it listens.
    fn start(port: u16) -> Self {
        Self::start_with(port, &[b""; 0])
    }

    /// As [`Exporter::start`], with further arguments.
    fn start_with(port: u16, arguments: &[impl AsRef<[u8]>]) -> Self {
        let arguments = arguments.iter().map(AsRef::as_ref);
        let mut process = Command::new(format!("{DIRECTORY}/bf-exporter"))
            .args(["--server", &format!("redis://127.0.0.1:{port}")])
            .args(["--listen", "127.0.0.1:0"])
            .args(arguments.map(OsStr::from_bytes))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the exporter runs");
        let mut line = String::new();
        let errors = process.stderr.as_mut().expect("a pipe");
        BufReader::new(errors).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("bf-exporter: http://");
        let address = address.and_then(|rest| rest.strip_suffix("/metrics"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { process, address }
    }

    /// The body of the reply to a request.
    fn get(&self, path: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).expect("a connection");
        write!(connection, "GET {path} HTTP/1.0\r\n\r\n").expect("a request");
        let mut reply = String::new();
        connection.read_to_string(&mut reply).expect("a reply");
        let (head, body) = reply.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.0 200 "), "{head}");
        body.to_owned()
    }

    fn metrics(&self) -> Metrics {
        Metrics::parse(&self.get("/metrics"))
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What an exporter delivers.
#[derive(Debug, Default)]
struct Metrics {
    /// Types by name.
    types: BTreeMap<String, String>,
    /// Values by name and labels.
    values: BTreeMap<String, String>,
}

impl Metrics {
    fn parse(text: &str) -> Self {
        let mut metrics = Self::default();
        let mut helped = BTreeSet::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type");
                metrics.types.insert(name.to_owned(), kind.to_owned());
            } else if let Some(rest) = line.strip_prefix("# HELP ") {
                helped.insert(rest.split_once(' ').expect("a text").0.to_owned());
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a sample");
                metrics.values.insert(name.to_owned(), value.to_owned());
            }
        }
        assert!(metrics.types.keys().eq(helped.iter()), "{text}");
        metrics
    }
}

/// The type of each field in the table of docs/monitoring.md.
fn documented() -> BTreeMap<String, String> {
    let page = Page::read(Path::new("docs/monitoring.md"));
    let table = page.section("## INFO fields").expect("a section");
    let rows = table.lines().filter(|line| line.starts_with("| `bf_"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [_, field, kind, ..] = cells[..] else {
            panic!("{row}");
        };
        (field.trim_matches('`').to_owned(), kind.to_owned())
    })
    .collect()
}

/// The metric of a field, as the page describes it.
fn metric(field: &str, value: &str, kind: &str) -> String {
    let total = if kind == "counter" { "_total" } else { "" };
    let family = Family::of_field(field).map(|(family, rest)| {
        let name = &family.info_prefix["bf_".len()..family.info_prefix.len() - 1];
        (rest, "family", name)
    });
    let calls = ["within_calls", "between_calls", "series_calls"];
    let calls = calls.iter().find_map(|name| {
        let family = field.strip_prefix(&format!("bf_{name}_"))?;
        Some((*name, "family", family))
    });
    let limit = field.strip_prefix("bf_memory_refusals_");
    let limit = limit.map(|limit| ("memory_refusals", "limit", limit));
    let status = (kind == "text").then_some(("huge_pages", "status", value));
    match family.or(calls).or(limit).or(status) {
        Some((name, label, value)) => format!("bf_{name}{total}{{{label}=\"{value}\"}}"),
        None => format!("{field}{total}"),
    }
}

#[test]
fn the_exporter_delivers_every_field_as_documented() {
    let (server, mut connection) = Server::start().connected();
    build_all(&mut connection);
    let exporter = Exporter::start(server.port());
    let metrics = exporter.metrics();
    let documented = documented();
    let info = connection.call("INFO bf_version bf_stats").string();
    let fields = info.lines().filter_map(|line| line.split_once(':'));
    // bf_up, and bf_maxmemory_bytes, which is a field of the server.
    let mut samples = 2;
    for (field, value) in fields {
        let kind = &documented[&on_page(field).0];
        if let Some(label) = field.strip_prefix("bf_roughly_") {
            let label = format!("{label}=\"{value}\"");
            let mut build = metrics.values.keys();
            let has = |key: &String| key.starts_with("bf_build_info{") && key.contains(&label);
            assert!(build.any(has), "{field}");
            continue;
        }
        samples += 1;
        let metric = metric(field, value, kind);
        let (name, _) = metric.split_once('{').unwrap_or((&metric, ""));
        let (shown, kind) = match kind.as_str() {
            "text" => ("1", "gauge"),
            kind => (value, kind),
        };
        assert_eq!(metrics.types[name], kind, "{field}");
        assert_eq!(metrics.values[&metric], shown, "{field}");
    }
    assert_eq!(metrics.values["bf_up"], "1");
    for maxmemory in ["0", "123456789"] {
        connection.ok(&format!("CONFIG SET maxmemory {maxmemory}"));
        let metrics = exporter.metrics();
        assert_eq!(metrics.types["bf_maxmemory_bytes"], "gauge");
        assert_eq!(metrics.values["bf_maxmemory_bytes"], maxmemory);
    }
    // All text fields are labels of one metric.
    assert_eq!(metrics.values.len(), samples + 1);
    let untyped = metrics.types.values().filter(|&kind| kind == "untyped");
    assert_eq!(untyped.count(), 0);
}

/// The prefix of the fields in INFO is then `roughly_`; the metrics have the same names.
#[test]
fn metrics_have_the_same_names_without_bloom_filters() {
    let names = |arguments: &[&str]| {
        let server = Options::new().module_arguments(arguments).start();
        let metrics = Exporter::start(server.port()).metrics();
        assert_eq!(metrics.values["bf_up"], "1");
        let names = metrics.values.into_keys();
        names.collect::<BTreeSet<_>>()
    };
    let all = names(&[]);
    let without = names(&["families", "cf,cms,topk,tdigest"]);
    let missing: Vec<_> = all.difference(&without).collect();
    let are_of_family = missing.iter().all(|name| name.contains("family=\"bloom"));
    assert!(are_of_family, "{missing:?}");
    assert!(!missing.is_empty());
    assert_eq!(without.difference(&all).count(), 0);
}

#[test]
fn the_exporter_reports_an_unreachable_server() {
    let exporter = Exporter::start(UNUSED_PORT);
    let metrics = exporter.metrics();
    let values: Vec<_> = metrics.values.into_iter().collect();
    assert_eq!(values, [("bf_up".to_owned(), "0".to_owned())]);
}

#[test]
fn the_first_page_of_the_exporter_has_a_link_and_a_second_exporter_ends() {
    let exporter = Exporter::start(UNUSED_PORT);
    let page = exporter.get("/");
    let link = page.split("href=\"").nth(1).expect("a link");
    exporter.get(link.split('"').next().expect("a path"));
    let second = Command::new(format!("{DIRECTORY}/bf-exporter"))
        .args(["--listen", &exporter.address])
        .output()
        .expect("the exporter runs");
    let errors = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{errors}");
    let start = format!("bf-exporter: cannot listen on {}: ", exporter.address);
    let is_one_line = errors.starts_with(&start) && errors.lines().count() == 1;
    assert!(is_one_line, "{errors}");
}

/// The samples of a key with this escaped name and this type that the exporter should deliver.
fn accuracy(
    connection: &mut Connection,
    key: &[u8],
    label: &str,
    kind: &str,
) -> BTreeMap<String, String> {
    let reply = connection.send(&[b"SKETCH.ACCURACY", key]);
    let fields = reply.items().expect("fields").chunks_exact(2);
    let samples = fields.map(|pair| {
        let name = match &*pair[0].string() {
            // The suffix _count is reserved.
            "count" => "increments".to_owned(),
            field => field.replace(' ', "_"),
        };
        let labels = format!("{{key=\"{label}\",type=\"{kind}\"}}");
        let number = pair[1].integer().map(|number| number.to_string());
        let value = number.unwrap_or_else(|| pair[1].string());
        (format!("bf_accuracy_{name}{labels}"), value)
    });
    samples.collect()
}

impl Metrics {
    /// The samples of SKETCH.ACCURACY.
    fn accuracy(&self) -> BTreeMap<String, String> {
        let mut samples = self.values.clone();
        samples.retain(|name, _| {
            name.starts_with("bf_accuracy_") && !name.starts_with("bf_accuracy_keys_skipped")
        });
        samples
    }

    /// The numbers of keys that were not read: because of the limits of keys and of bytes, and of errors.
    fn skipped(&self) -> [&str; 3] {
        ["keys", "bytes", "error"].map(|reason| {
            self.values[&format!("bf_accuracy_keys_skipped{{reason=\"{reason}\"}}")].as_str()
        })
    }
}

#[test]
fn the_exporter_delivers_the_accuracy_of_matching_keys() {
    let (server, mut connection) = Server::start().connected();
    build_all(&mut connection);
    let exporter = fs::read_to_string(format!("{DIRECTORY}/bf-exporter")).expect("the exporter");
    for family in FAMILIES {
        let has_type = exporter.contains(&format!("\"{}\"", family.type_name));
        assert!(has_type, "{}", family.type_name);
    }
    connection.call("SET string x");
    let mut expected = BTreeMap::new();
    for kind in FAMILIES.iter().map(|family| family.type_name) {
        expected.extend(accuracy(&mut connection, kind.as_bytes(), kind, kind));
    }
    let metrics = Exporter::start_with(server.port(), &["--accuracy", "*"]).metrics();
    assert_eq!(metrics.accuracy(), expected);
    assert_eq!(metrics.skipped(), ["0", "0", "0"]);
    assert_eq!(metrics.types["bf_accuracy_fill"], "gauge");
    assert_eq!(metrics.values["bf_up"], "1");
    // Names, each once, also if a pattern matches it, too.
    let arguments = ["missing", "string", "MBbloomCF", "*CF", "bf-[w]indow"];
    let arguments = arguments.map(|pattern| ["--accuracy", pattern]);
    let metrics = Exporter::start_with(server.port(), arguments.as_flattened()).metrics();
    expected.retain(|name, _| name.contains("\"MBbloomCF\"") || name.contains("\"bf-window\""));
    assert_eq!(metrics.accuracy(), expected);
    assert_eq!(metrics.skipped(), ["0", "0", "0"]);
    let without = Exporter::start(server.port()).get("/metrics");
    assert!(!without.contains("bf_accuracy"));
}

#[test]
fn the_exporter_escapes_keys() {
    let (server, mut connection) = Server::start().connected();
    let mut expected = BTreeMap::new();
    for (key, label) in [
        (&b"a b{\"}"[..], r#"a b{\"}"#),
        (b"a\\b", r"a\\b"),
        (b"a\nb\x1b\0", r"a\\nb\\x1b\\x00"),
        ("\u{e9}\u{3b1}".as_bytes(), "\u{e9}\u{3b1}"),
        (b"\xff", r"\\xff"),
    ] {
        assert_eq!(connection.send(&[b"BF.ADD", key, b"x"]), Reply::Integer(1));
        expected.extend(accuracy(&mut connection, key, label, "MBbloom--"));
        // An argument has no null byte, and a backslash is special in patterns.
        if !key.contains(&0) && !key.contains(&b'\\') {
            let metrics = Exporter::start_with(server.port(), &[&b"--accuracy"[..], key]).metrics();
            let one = accuracy(&mut connection, key, label, "MBbloom--");
            assert_eq!(metrics.accuracy(), one);
        }
    }
    let metrics = Exporter::start_with(server.port(), &["--accuracy", "*"]).metrics();
    assert_eq!(metrics.accuracy(), expected);
    // A key with the same label as another one.
    connection.send(&[&b"BF.ADD"[..], br"\xff", b"x"]);
    let metrics = Exporter::start_with(server.port(), &["--accuracy", "*"]).metrics();
    assert_eq!(metrics.accuracy(), expected);
}

#[test]
fn the_exporter_limits_the_accuracy_of_a_scrape() {
    let (server, mut connection) = Server::start().connected();
    for key in ["a1", "a2", "b3"] {
        connection.ok(&format!("BF.RESERVE {key} 0.01 100000"));
    }
    let metrics = |arguments: &[&str]| {
        let arguments = [&["--accuracy", "a*", "--accuracy", "b3"], arguments].concat();
        let exporter = Exporter::start_with(server.port(), &arguments);
        let metrics = exporter.metrics();
        // The next scrape gives the same result.
        assert_eq!(exporter.metrics().accuracy(), metrics.accuracy());
        let rates = (metrics.values.keys()).filter(|name| name.starts_with("bf_accuracy_fill"));
        (rates.count(), metrics.skipped().map(str::to_owned))
    };
    let skipped = |numbers: [u32; 3]| numbers.map(|number| number.to_string());
    assert_eq!(metrics(&[]), (3, skipped([0, 0, 0])));
    assert_eq!(metrics(&["--accuracy-keys", "3"]), (3, skipped([0, 0, 0])));
    assert_eq!(metrics(&["--accuracy-keys", "2"]), (2, skipped([1, 0, 0])));
    assert_eq!(metrics(&["--accuracy-keys", "0"]), (0, skipped([2, 0, 0])));
    let size = connection.call("MEMORY USAGE a1").integer();
    let size = size.expect("a size");
    for (bytes, read) in [(3 * size, 3), (3 * size - 1, 2), (size, 1), (size - 1, 0)] {
        let found = metrics(&["--accuracy-bytes", &bytes.to_string()]);
        assert_eq!(found, (read as usize, skipped([0, 3 - read, 0])));
    }
}

/// A scrape runs at most 100 SCAN, and the next one continues.
#[test]
fn a_scan_of_many_keys_takes_several_scrapes() {
    let (server, mut connection) = Server::start().connected();
    connection.call("BF.ADD seen x");
    for start in (0..150_000).step_by(10_000) {
        let keys: Vec<_> = (start..start + 10_000)
            .map(|key| format!("k{key} x"))
            .collect();
        connection.ok(&format!("MSET {}", keys.join(" ")));
    }
    let exporter = Exporter::start_with(server.port(), &["--accuracy", "s*"]);
    connection.call("CONFIG RESETSTAT");
    exporter.metrics();
    let calls = connection.call("INFO commandstats").to_string();
    assert!(calls.contains("cmdstat_scan:calls=100,"), "{calls}");
    for _ in 0..4 {
        assert_eq!(exporter.metrics().accuracy().len(), 3);
    }
    connection.call("UNLINK seen");
    assert_eq!(exporter.metrics().accuracy().len(), 0);
}

/// The permissions of the exporter in a section of docs/monitoring.md.
fn permissions(heading: &str) -> String {
    let page = Page::read(Path::new("docs/monitoring.md"));
    let mut lines = page.section(heading).expect(heading).lines();
    let user = lines.find_map(|line| line.strip_prefix("> ACL SETUSER exporter "));
    user.expect("the permissions").to_owned()
}

/// The permissions on docs/monitoring.md are sufficient, and an error does not remove other metrics.
#[test]
fn the_exporter_tolerates_errors() {
    let user = permissions("### Accuracy of keys");
    let (server, mut connection) = Server::start().connected();
    for key in ["seen:1", "users", "other"] {
        connection.call(&format!("CF.ADD {key} x"));
    }
    let mut skipped = |changes: &str| {
        connection.ok(&format!("ACL SETUSER exporter {user}{changes}"));
        let url = format!("redis://exporter:secret@127.0.0.1:{}", server.port());
        let arguments =
            format!("--server {url} --accuracy seen:* --accuracy users --accuracy other");
        let arguments: Vec<_> = arguments.split(' ').collect();
        let all = Exporter::start_with(server.port(), &arguments).metrics();
        assert_eq!(all.values["bf_up"], "1");
        assert_eq!(all.values["bf_keys{family=\"cuckoo\"}"], "3");
        let permitted = Exporter::start_with(server.port(), &arguments[..6]).metrics();
        [permitted, all].map(|metrics| (metrics.accuracy().len(), metrics.skipped()[2].to_owned()))
    };
    let [none, one, two, three] = [0, 1, 2, 3].map(|errors: u32| errors.to_string());
    assert_eq!(skipped(""), [(4, none), (4, one.clone())]);
    assert_eq!(skipped(" -scan"), [(0, one.clone()), (0, one)]);
    for command in ["type", "memory|usage", "sketch.accuracy"] {
        let expected = [(0, two.clone()), (0, three.clone())];
        assert_eq!(skipped(&format!(" -{command}")), expected);
    }
}

/// Of the last period, for a user with the permissions on docs/monitoring.md.
#[test]
fn the_exporter_delivers_quantiles_and_top_items_within_limits() {
    let user = permissions("### Quantiles and top items");
    let (server, mut connection) = Server::start().connected();
    for command in [
        &format!("ACL SETUSER exporter {user}")[..],
        "TDIGEST.CREATE latency:a WINDOW 3600000",
        "TDIGEST.ADD latency:a 1 2 3",
        "TDIGEST.CREATE latency:b WINDOW 3600000",
        "TDIGEST.CREATE latency:without-a-window",
        "SET latency:string x",
        "TOPK.RESERVE pages 9 80 5 0.9 WINDOW 3600000",
    ] {
        connection.ok(command);
    }
    // The last item has the same label as the one before.
    let accent = "\u{e9}".as_bytes();
    let items: [&[u8]; 5] = [b"/home", b"a \"b\"\n", accent, b"\xff", br"\xff"];
    for (number, item) in items.into_iter().enumerate() {
        let count = (90 - number).to_string();
        connection.send(&[&b"TOPK.INCRBY"[..], b"pages", item, count.as_bytes()]);
    }
    let url = format!("redis://exporter:secret@127.0.0.1:{}", server.port());
    let samples = |arguments: &str| {
        let arguments = format!("--server {url} {arguments}");
        let arguments: Vec<_> = arguments.split(' ').collect();
        let metrics = Exporter::start_with(server.port(), &arguments).metrics();
        let samples = metrics.values.into_iter();
        let mut samples: Vec<_> = samples
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        let own = ["bf_quantile", "bf_top", "bf_query"];
        samples.retain(|sample| own.iter().any(|own| sample.starts_with(own)));
        samples.sort();
        samples
    };
    let expected = |keys: u32, time: u32, error: u32, others: &[&str]| {
        let mut samples: Vec<_> = others.iter().map(ToString::to_string).collect();
        for (reason, count) in [("keys", keys), ("time", time), ("error", error)] {
            samples.push(format!(
                "bf_query_keys_skipped{{reason=\"{reason}\"}} {count}"
            ));
        }
        samples.sort();
        samples
    };
    let latency = [
        r#"bf_quantile{key="latency:a",quantile="0.5"} 2"#,
        r#"bf_quantile{key="latency:a",quantile="1"} 3"#,
        r#"bf_quantile{key="latency:b",quantile="0.5"} NaN"#,
        r#"bf_quantile{key="latency:b",quantile="1"} NaN"#,
    ];
    let pages = [
        r#"bf_top{key="pages",item="/home"} 90"#,
        r#"bf_top{key="pages",item="a \"b\"\\n"} 89"#,
        "bf_top{key=\"pages\",item=\"\u{e9}\"} 88",
        r#"bf_top{key="pages",item="\\xff"} 87"#,
    ];
    // Also a key without a window, others with another type, and a missing key.
    let quantiles = "--quantiles latency:*=0.5,1@5m --quantiles pages=0.5@5m";
    let found = samples(&format!("{quantiles} --top latency:missing=3@5m"));
    assert_eq!(found, expected(0, 0, 1, &latency));
    // A key without permission, and a part that is shorter than a pane.
    let refused = samples("--top other=3@5m --top pages=9@299999ms");
    assert_eq!(refused, expected(0, 0, 2, &[]));
    assert_eq!(samples("--top pages=9@5m"), expected(0, 0, 0, &pages));
    // The first option that matches counts; limits are those of all options together.
    let both = "--quantiles latency:a=0.5@5m --quantiles latency:a=0.5@1h --top pages=1@1d";
    let read = [latency[0], pages[0]];
    let limited = |option| samples(&format!("{both} {option}"));
    assert_eq!(limited("--query-keys 3"), expected(0, 0, 0, &read));
    assert_eq!(limited("--query-keys 2"), expected(1, 0, 0, &read[..1]));
    assert_eq!(limited("--query-keys 0"), expected(3, 0, 0, &[]));
    assert_eq!(limited("--query-seconds 0"), expected(0, 3, 0, &[]));
    for argument in ["a=2@60s", "a=0.5,@60s", "a=0.5@60"] {
        let output = Command::new(format!("{DIRECTORY}/bf-exporter"))
            .args(["--quantiles", argument])
            .output();
        let errors = String::from_utf8(output.expect("the exporter runs").stderr).unwrap();
        let start = "error: argument --quantiles: invalid";
        assert!(errors.contains(start), "{errors}");
    }
}

/// Servers that reply as if a key was removed or replaced between two commands, or that fail.
#[test]
fn the_exporter_tolerates_keys_that_are_removed() {
    // After the type, the size and the accuracy.
    for ([size, accuracy], skipped) in [
        (["$-1", "-ERR no such key"], "0"),
        ([":1", "-WRONGTYPE Operation"], "0"),
        ([":1", "-ERR Insufficient memory"], "1"),
        ([":1", "*2\r\n+fill"], "1"),
        ([":1", "?"], "1"),
    ] {
        let replies = ["$13\r\nbf_errors:5\r\n", "+MBbloom--", size, accuracy];
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let exporter = Exporter::start_with(port, &["--accuracy", "k"]);
        let metrics = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (stream, _) = listener.accept().expect("a connection");
                let mut connection = Connection::accepted(stream).expect("a connection");
                for reply in replies {
                    connection.read().expect("a command");
                    let reply = format!("{reply}\r\n");
                    connection.write_raw(reply.as_bytes()).expect("a reply");
                }
            });
            exporter.metrics()
        });
        assert_eq!(metrics.values["bf_up"], "1", "{replies:?}");
        assert_eq!(metrics.values["bf_errors"], "5", "{replies:?}");
        assert!(metrics.accuracy().is_empty(), "{replies:?}");
        assert_eq!(metrics.skipped(), ["0", "0", skipped], "{replies:?}");
    }
}

#[test]
fn rules_and_dashboard_use_metrics_of_the_exporter_only() {
    let server = Server::start();
    build_all(&mut server.resp2());
    let arguments = ["--accuracy", "*", "--top", "tk-window=1@1h"];
    let exporter = Exporter::start_with(server.port(), &arguments);
    let delivered = exporter.metrics().types;
    assert!(delivered.contains_key("bf_accuracy_specified_rate"));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c| !is_name(c));
        let names = words.filter(|word| word.starts_with("bf_"));
        names.map(str::to_owned).collect()
    };
    let rules = fs::read_to_string(format!("{DIRECTORY}/alerts.yml")).expect("the rules");
    let expressions = rules.lines().map(str::trim);
    let expressions = expressions.filter_map(|line| line.strip_prefix("expr: "));
    let expressions: Vec<_> = expressions.collect();
    assert_eq!(expressions.len(), rules.matches("- alert: ").count());
    let dashboard = fs::read_to_string(format!("{DIRECTORY}/dashboard.json")).expect("a dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).expect("valid JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let queries = targets.flatten().map(|target| target["expr"].as_str());
    let queries: Vec<_> = queries.map(|query| query.expect("a query")).collect();
    assert!(queries.len() > FAMILIES.len() * 4);
    for text in expressions.iter().chain(&queries) {
        let used = names(text);
        assert!(!used.is_empty(), "{text}");
        for name in used {
            assert!(delivered.contains_key(&name), "{name} in {text}");
        }
    }
    let page = Page::read(Path::new("docs/monitoring.md"));
    let sections = ["### Accuracy of keys", "### Quantiles and top items"];
    let sections = sections.map(|title| page.section(title).expect("a section"));
    let documented = names(&sections.concat()).into_iter();
    let unknown = documented.filter(|name| !delivered.contains_key(name));
    assert_eq!(unknown.collect::<Vec<_>>(), ["bf_accuracy_FIELD"]);
    // Every metric has a panel.
    let shown = names(&queries.join(" "));
    let names = delivered.keys();
    let missing: Vec<_> = names.filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // Every type has panels.
    for family in FAMILIES {
        let name = family.info_prefix.strip_prefix("bf_").expect("a prefix");
        let name = name.trim_end_matches('_');
        let own = format!("family=\"{name}\"");
        let panels = queries.iter().filter(|query| {
            query.contains(&own) || name.ends_with("_window") && query.contains(".*_window")
        });
        assert!(panels.count() >= 4, "{name}");
    }
}

#[test]
fn every_alert_rule_has_a_unit_test_in_which_it_fires() {
    let rules = fs::read_to_string(format!("{DIRECTORY}/alerts.yml")).expect("the rules");
    let tests = fs::read_to_string("tests/monitoring/alerts.test.yml").expect("the tests");
    let fires = |alert: &str| {
        let name = format!("alertname: {alert}");
        tests.split(&name).skip(1).any(|rest| {
            let rest = rest.trim_start_matches([' ', ',', '\n']);
            rest.starts_with("exp_alerts:")
        })
    };
    let lines = rules.lines().map(str::trim);
    let alerts = lines.filter_map(|line| line.strip_prefix("- alert: "));
    let untested: Vec<_> = alerts.filter(|alert| !fires(alert)).collect();
    assert!(untested.is_empty(), "{untested:?}");
}
