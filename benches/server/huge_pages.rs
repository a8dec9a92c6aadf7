//! Roughly with `sketch-huge-pages yes` divided by Roughly with `no`: CPU time of commands on large arrays, the fork of a
//! BGSAVE, and latencies while it runs.

use crate::cases;
use crate::load::{Connections, Load};
use crate::modules::{Group, send, wait_for_huge_pages};
use crate::record;
use crate::support::server::Server;
use crate::{BURSTS, fastest, measure};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Number of rounds of the measurements with BGSAVE.
const ROUNDS: usize = 3;
/// The name that selects the measurements with BGSAVE.
const PAUSES: &str = "pauses";
/// Additions of one client, each after the reply to the last one.
const ADDITIONS: usize = 20_000;

/// The smallest value, the median and the largest value.
fn range(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    let median = f64::midpoint(values[last / 2], values[last.div_ceil(2)]);
    [values[0], median, values[last]]
}

/// The smallest and the largest ratio of the CPU times of a pass, and between them that of the fastest passes. The ratios of
/// bursts, which are the results of the other cases, would leave out the few bursts that write to new pages. In a virtual
/// machine, new pages can be very slow: the host may have to provide them, to the server that is the first to use them.
fn ratio_of_passes(yes: &[f64], no: &[f64]) -> [f64; 3] {
    let total = |pass: &[f64]| pass.iter().sum::<f64>();
    let ratios = yes.chunks(BURSTS).zip(no.chunks(BURSTS));
    let [low, _, high] = range(ratios.map(|(yes, no)| total(yes) / total(no)).collect());
    [low, fastest(yes) / fastest(no), high]
}

fn entry(name: &str, unit: &str, [yes, no]: [f64; 2], [low, ratio, high]: [f64; 3]) -> Value {
    println!(
        "{name:<40} yes {yes:>8.1} {unit}, no {no:>8.1} {unit}, {ratio:.3} ({low:.3} to {high:.3})"
    );
    json!({"unit": unit, "yes": yes, "no": no, "ratio": ratio, "ratio_low": low, "ratio_high": high})
}

/// Saves in a child process, which waits for `delay` before it ends. Returns the time of the fork in ms.
fn save(server: &mut Server, delay: Duration, meanwhile: impl FnOnce(&Server)) -> f64 {
    let command = format!("CONFIG SET rdb-key-save-delay {}", delay.as_micros());
    send(server, &command);
    send(server, "BGSAVE");
    meanwhile(server);
    let is_saving = |server: &Server| server.info_number("rdb_bgsave_in_progress") == 1;
    assert!(is_saving(server), "the save ended too early");
    server.wait_until("the save", |server| !is_saving(server));
    server.info_number("latest_fork_usec") as f64 / 1e3
}

/// The measurements of one server, with their units.
const SAVES: [(&str, &str); 3] = [
    ("fork after the fill", "ms"),
    ("BF.ADD during a save, median", "µs"),
    ("BF.ADD during a save, longest", "µs"),
];

/// A filter of 1 GiB that was just filled, and a save during additions.
fn of_saves(server: &mut Server) -> [f64; 3] {
    send(server, "BF.RESERVE k 0.001 597000000");
    let fill = Load::parse("30000 1000000000 BF.MADD k 100× item:#");
    Connections::open(server.port(), 1).run(&fill);
    wait_for_huge_pages(server);
    let fork = save(server, Duration::from_millis(1), |_| {});
    let mut times = Vec::new();
    save(server, Duration::from_secs(10), |server| {
        let mut connection = server.resp2();
        times.extend((0..ADDITIONS).map(|number| {
            let start = Instant::now();
            connection.send(&["BF.ADD", "k", &number.to_string()]);
            start.elapsed().as_secs_f64() * 1e6
        }));
    });
    let [_, median, longest] = range(times);
    [fork, median, longest]
}

/// Measures on a new server per setting and round, in alternating order.
fn pauses(group: &Group) -> Map<String, Value> {
    let mut measured = [const { Vec::new() }; 2];
    for round in 0..ROUNDS {
        for i in [round % 2, 1 - round % 2] {
            measured[i].push(of_saves(&mut group.modules[i].start()));
        }
    }
    let results = SAVES.iter().enumerate().map(|(at, &(name, unit))| {
        let [yes, no] = [0, 1].map(|i| {
            measured[i]
                .iter()
                .map(|round| round[at])
                .collect::<Vec<_>>()
        });
        let [low, _, high] = range(yes.iter().zip(&no).map(|(yes, no)| yes / no).collect());
        let medians = [yes, no].map(|values| range(values)[1]);
        let ratios = [low, medians[0] / medians[1], high];
        (name.to_owned(), entry(name, unit, medians, ratios))
    });
    results.collect()
}

/// Measures the cases and pauses that `selects` accepts. Writes the results if not `is_part`.
pub fn run(selects: impl Fn(&str) -> bool, is_part: bool, load_before: f64) {
    let group = Group::of_huge_pages();
    let (server, versions) = group.versions();
    let active = group.modules[0].start().info("bf_huge_pages");
    let is_active = active.as_deref() == Some("active");
    assert!(is_active, "this machine has no huge pages");
    println!("{server}: CPU time and pauses with huge pages, and divided by those without");
    let mut results = Map::new();
    let cases = cases::parse(cases::LARGE);
    for case in cases.iter().filter(|case| selects(case.name)) {
        let times = measure(&group, case, false);
        let ns = [0, 1].map(|i| fastest(&times[i]));
        let ratios = ratio_of_passes(&times[0], &times[1]);
        results.insert(case.name.to_owned(), entry(case.name, "ns", ns, ratios));
    }
    let pauses = if selects(PAUSES) {
        pauses(&group)
    } else {
        Map::new()
    };
    if is_part {
        return;
    }
    let results = json!({
        "server": server, "roughly": versions[0], "cases": results, "pauses": pauses,
        "unit": "ns of server CPU per command, fastest of interleaved passes; pauses: medians of rounds and their ratio; ratio_low, ratio_high: of a round",
    });
    record::write("huge-pages.json", results, load_before);
}
