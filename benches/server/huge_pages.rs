//! Roughly with `sketch-huge-pages yes` divided by Roughly with `no`: CPU time of commands on large arrays, the fork of a
//! BGSAVE and the bytes that are copied while it runs, resident memory, and latencies while pages are replaced.

use crate::cases;
use crate::load::{Connections, Load};
use crate::modules::{Group, send, wait_for_huge_pages};
use crate::record;
use crate::support::server::Server;
use crate::{BURSTS, fastest, measure};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Number of rounds of the measurements with BGSAVE and of latencies.
const ROUNDS: usize = 3;
/// The name that selects the measurements with BGSAVE and of latencies.
const PAUSES: &str = "pauses";
/// Filter of 1 GiB.
const LARGE: &str = "BF.RESERVE k 0.001 597000000";
/// The unit of values that only a server with huge pages has.
const SECONDS: &str = "s";
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

/// Measurements of one server, by name and unit.
type Measured = Vec<(&'static str, &'static str, f64)>;

/// Latencies of single additions by one client, and of a PING after each: values at 50 and 99.9 percent, and the largest, in
/// µs.
fn latencies(server: &Server, key: &str, first: usize) -> [[f64; 3]; 2] {
    let mut connection = server.resp2();
    let mut time = |arguments: &[&str]| {
        let start = Instant::now();
        connection.send(arguments);
        start.elapsed().as_secs_f64() * 1e6
    };
    let mut times = [const { Vec::new() }; 2];
    for n in 0..ADDITIONS {
        times[0].push(time(&["BF.ADD", key, &(first + n).to_string()]));
        times[1].push(time(&["PING"]));
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        [
            times[ADDITIONS / 2],
            times[ADDITIONS * 999 / 1000],
            times[ADDITIONS - 1],
        ]
    })
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

/// A filter of 1 GiB that was just filled, and saves during additions.
fn of_saves(server: &mut Server) -> Measured {
    const SAVES: [&str; 3] = [
        "fork after 1 save with 20,000 additions",
        "fork after 2 saves with 20,000 additions",
        "fork after 3 saves with 20,000 additions",
    ];
    send(server, LARGE);
    let fill = Load::new("BF.MADD k", 30_000, 1_000_000_000).with(100, "item:#");
    Connections::open(server.port(), 1).run(&fill);
    let mut numbers = (0..).step_by(ADDITIONS);
    let mut next = || numbers.next().expect("a number");
    let [filled, ping] = latencies(server, "k", next());
    let replaced = wait_for_huge_pages(server);
    let quiet = Duration::from_millis(1);
    let fork = save(server, quiet, |_| {});
    let [before, _] = latencies(server, "k", next());
    let mut measured = vec![
        ("all pages huge after the fill", SECONDS, replaced),
        ("fork after the fill", "ms", fork),
        ("BF.ADD, after the first fill, median", "µs", filled[0]),
        ("BF.ADD, after the first fill, 99.9 %", "µs", filled[1]),
        ("BF.ADD, after the first fill, longest", "µs", filled[2]),
        ("PING, after the first fill, 99.9 %", "µs", ping[1]),
        ("PING, after the first fill, longest", "µs", ping[2]),
        ("BF.ADD, no save, median", "µs", before[0]),
        ("BF.ADD, no save, 99.9 %", "µs", before[1]),
        ("BF.ADD, no save, longest", "µs", before[2]),
    ];
    for (i, name) in SAVES.into_iter().enumerate() {
        let first = next();
        let mut during = [0.0; 3];
        save(server, Duration::from_secs(10), |server| {
            [during, _] = latencies(server, "k", first);
        });
        if i == 0 {
            let copied = server.info_number("rdb_last_cow_size") as f64 / f64::from(1 << 20);
            measured.extend([
                ("copied during a save with 20,000 additions", "MiB", copied),
                ("BF.ADD during a save, median", "µs", during[0]),
                ("BF.ADD during a save, 99.9 %", "µs", during[1]),
                ("BF.ADD during a save, longest", "µs", during[2]),
            ]);
        }
        if i == 2 {
            let again = save(server, quiet, |_| {});
            measured.push(("fork right after such a save", "ms", again));
        }
        let restored = wait_for_huge_pages(server);
        if i == 0 {
            measured.push(("all pages huge after such a save", SECONDS, restored));
        }
        measured.push((name, "ms", save(server, quiet, |_| {})));
    }
    measured
}

/// A new filter of 1 GiB: additions, and the memory that it takes.
fn of_new_filter(server: &mut Server) -> Measured {
    send(server, LARGE);
    let resident = |additions: usize| {
        let fill = Load::new("BF.ADD k", additions, 1_000_000_000).with(1, "item:#");
        Connections::open(server.port(), 1).run(&fill);
        wait_for_huge_pages(server);
        server.resident_bytes() as f64 / f64::from(1 << 20)
    };
    let (few, more) = (resident(100), resident(10_000));
    send(server, "BF.RESERVE other 0.001 200000000");
    let [times, _] = latencies(server, "other", 0);
    vec![
        ("resident, 100 items in a filter of 1 GiB", "MiB", few),
        ("resident, 10,000 items in a filter of 1 GiB", "MiB", more),
        ("BF.ADD, new filter, median", "µs", times[0]),
        ("BF.ADD, new filter, 99.9 %", "µs", times[1]),
        ("BF.ADD, new filter, longest", "µs", times[2]),
    ]
}

/// Measures on a new server per setting and round, in alternating order.
fn rounds(group: &Group, measure: fn(&mut Server) -> Measured, results: &mut Map<String, Value>) {
    let mut measured: [Vec<Measured>; 2] = Default::default();
    for round in 0..ROUNDS {
        for i in [round % 2, 1 - round % 2] {
            measured[i].push(measure(&mut group.start(&group.modules[i])));
        }
    }
    let [yes, no] = measured;
    for (i, &(name, unit, _)) in yes[0].iter().enumerate() {
        let of = |rounds: &[Measured]| rounds.iter().map(|round| round[i].2).collect::<Vec<_>>();
        let (yes, no) = (of(&yes), of(&no));
        let medians = [&yes, &no].map(|values| range(values.clone())[1]);
        if unit == SECONDS {
            println!("{name:<40} yes {yes:.1?} {unit}");
            results.insert(name.to_owned(), json!({"unit": unit, "yes": medians[0]}));
            continue;
        }
        let [low, _, high] = range(yes.iter().zip(&no).map(|(yes, no)| yes / no).collect());
        let ratios = [low, medians[0] / medians[1], high];
        results.insert(name.to_owned(), entry(name, unit, medians, ratios));
    }
}

/// Measures the cases and pauses that `selects` accepts. Writes the results if not `is_part`.
pub fn run(selects: impl Fn(&str) -> bool, is_part: bool, load_before: f64) {
    let group = Group::of_huge_pages();
    let (server, versions) = group.versions();
    let active = group.start(&group.modules[0]).info("bf_huge_pages");
    assert_eq!(
        active.as_deref(),
        Some("active"),
        "this machine has no huge pages"
    );
    println!("{server}: CPU time and pauses with huge pages, and divided by those without");
    let mut results = Map::new();
    for case in cases::large().iter().filter(|case| selects(case.name)) {
        let times = measure(&group, case, false);
        let ns = [0, 1].map(|i| fastest(&times[i]));
        let ratios = ratio_of_passes(&times[0], &times[1]);
        results.insert(case.name.to_owned(), entry(case.name, "ns", ns, ratios));
    }
    let mut pauses = Map::new();
    if selects(PAUSES) {
        rounds(&group, of_saves, &mut pauses);
        rounds(&group, of_new_filter, &mut pauses);
    }
    if is_part {
        return;
    }
    let results = json!({
        "server": server, "roughly": versions[0], "cases": results, "pauses": pauses,
        "unit": "ns of server CPU per command, fastest of interleaved passes; pauses: medians of rounds and their ratio; ratio_low, ratio_high: of a round",
    });
    record::write("huge-pages.json", results, load_before);
}
