//! packaging/monitoring: the exporter delivers every field of INFO, and the rules and the dashboard use no other
//! metrics.

use super::documents::reference::on_page;
use crate::families::{FAMILIES, Family};
use crate::support::page::Page;
use crate::support::server::{Options, Server, UNUSED_PORT};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const DIRECTORY: &str = "packaging/monitoring";

/// A running exporter.
struct Exporter {
    process: Child,
    address: String,
}

impl Exporter {
    /// Starts the exporter on a free port, for the server on `port`, and waits until it listens.
    fn start(port: u16) -> Self {
        let mut process = Command::new(format!("{DIRECTORY}/bf-exporter"))
            .args(["--server", &format!("redis://127.0.0.1:{port}")])
            .args(["--listen", "127.0.0.1:0"])
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
    let within = field.strip_prefix("bf_within_calls_");
    let within = within.map(|family| ("within_calls", "family", family));
    let limit = field.strip_prefix("bf_memory_refusals_");
    let limit = limit.map(|limit| ("memory_refusals", "limit", limit));
    let status = (kind == "text").then_some(("huge_pages", "status", value));
    match family.or(within).or(limit).or(status) {
        Some((name, label, value)) => format!("bf_{name}{total}{{{label}=\"{value}\"}}"),
        None => format!("{field}{total}"),
    }
}

#[test]
fn the_exporter_delivers_every_field_as_documented() {
    let server = Server::start();
    let mut connection = server.resp2();
    for family in FAMILIES {
        family.build(&mut connection, family.type_name);
    }
    let exporter = Exporter::start(server.port());
    let metrics = exporter.metrics();
    let documented = documented();
    let info = connection.call("INFO bf_version bf_stats");
    let info = String::from_utf8(info.text().expect("a text").to_vec()).unwrap();
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
        let set = connection.call(&format!("CONFIG SET maxmemory {maxmemory}"));
        assert_eq!(set.to_string(), "+OK");
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
    assert!(
        missing.iter().all(|name| name.contains("family=\"bloom")),
        "{missing:?}"
    );
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
fn rules_and_dashboard_use_metrics_of_the_exporter_only() {
    let server = Server::start();
    let exporter = Exporter::start(server.port());
    let delivered = exporter.metrics().types;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c| !is_name(c));
        words
            .filter(|word| word.starts_with("bf_"))
            .map(str::to_owned)
            .collect()
    };
    let rules = fs::read_to_string(format!("{DIRECTORY}/alerts.yml")).expect("the rules");
    let expressions: Vec<_> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "))
        .collect();
    assert_eq!(expressions.len(), rules.matches("- alert: ").count());
    let dashboard = fs::read_to_string(format!("{DIRECTORY}/dashboard.json")).expect("a dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).expect("valid JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let queries: Vec<_> = targets
        .map(|target| target["expr"].as_str().expect("a query"))
        .collect();
    assert!(queries.len() > FAMILIES.len() * 4);
    for text in expressions.iter().chain(&queries) {
        let used = names(text);
        assert!(!used.is_empty(), "{text}");
        for name in used {
            assert!(delivered.contains_key(&name), "{name} in {text}");
        }
    }
    // Every metric has a panel.
    let shown = names(&queries.join(" "));
    let missing: Vec<_> = delivered
        .keys()
        .filter(|name| !shown.contains(*name))
        .collect();
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
    let alerts = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let untested: Vec<_> = alerts.filter(|alert| !fires(alert)).collect();
    assert!(untested.is_empty(), "{untested:?}");
}
