//! Commands with 100 items on large filters with a window, compared with EXISTS on a missing key.

use crate::Figure;
use crate::commands::cpu_seconds;
use crate::load::{Connections, Load};
use crate::support::resp::Reply;
use crate::support::server::{Options, Server};

/// Digits of the numbers of a load allow so many items, so that few are repeated.
const RANGE: u64 = 1_000_000_000_000;
/// Items per command.
const ITEMS: usize = 100;

struct Sizes {
    /// Items per window.
    capacity: usize,
    /// Commands per round.
    commands: usize,
    rounds: usize,
}

/// A family's commands.
struct Family {
    name: &'static str,
    /// Creates a filter with this capacity.
    create: fn(usize) -> String,
    test: &'static str,
    add: &'static str,
    /// Multiples of EXISTS: for `test`, and for `add` to a filter that is half full, and full.
    targets: [Option<f64>; 3],
}

const FAMILIES: [Family; 2] = [
    Family {
        name: "0.1 %, 96 panes",
        create: |capacity| {
            format!("BF.RESERVE key 0.001 {capacity} NONSCALING WINDOW 86400000 PANES 96")
        },
        test: "BF.MEXISTS key",
        add: "BF.MADD key",
        targets: [Some(30.0), Some(55.0), Some(110.0)],
    },
    Family {
        name: "bucket size 2, 96 panes",
        create: |capacity| format!("CF.RESERVE key {capacity} WINDOW 86400000 PANES 96"),
        test: "CF.MEXISTS key",
        add: "CF.INSERT key ITEMS",
        targets: [None; 3],
    },
];

fn load(command: &str, commands: usize) -> Load {
    Load::new(command, commands, RANGE).with(ITEMS, "item:#")
}

/// The server's CPU time per command, in the fastest round. Other connections have other items.
fn fastest(server: &Server, rounds: usize, load: &Load, connections: &mut Connections) -> f64 {
    let times = (0..rounds).map(|_| {
        let before = cpu_seconds(server);
        connections.run(load);
        (cpu_seconds(server) - before) / load.commands as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Measures all commands.
pub fn all(is_quick: bool) -> Vec<Figure> {
    let sizes = if is_quick {
        Sizes {
            capacity: 400_000,
            commands: 100,
            rounds: 2,
        }
    } else {
        Sizes {
            capacity: 50_000_000,
            commands: 2_000,
            rounds: 7,
        }
    };
    let families = FAMILIES.iter();
    families
        .flat_map(|family| measure(family, &sizes))
        .collect()
}

fn measure(family: &Family, sizes: &Sizes) -> Vec<Figure> {
    let Sizes {
        capacity,
        commands,
        rounds,
    } = *sizes;
    let server = Options::new().arguments(&["--hz", "1"]).start();
    let create = (family.create)(capacity);
    assert_eq!(server.call(&create), Reply::Simple(b"OK".to_vec()));
    // The same seed selects the same items.
    let open = |seed| Connections::open(server.port(), seed);
    let (mut adds, mut hits, mut misses) = (open(1), open(1), open(2));
    let exists = Load::new("EXISTS nokey", 200_000, 1);
    let compare = |load: &Load, connections: &mut Connections| {
        let unit = fastest(&server, rounds, &exists, &mut open(3));
        fastest(&server, rounds, load, connections) / unit
    };
    let measured = commands * rounds;
    let mut filled = 0;
    let mut figures = Vec::new();
    let (test, add) = (load(family.test, commands), load(family.add, commands));
    let name = |command: &str, what: &str| {
        let command = command.split(' ').next().unwrap_or_default();
        format!(
            "{command} x{ITEMS} cold, {}, {} million items, {what}",
            family.name,
            capacity as f64 / 1e6
        )
    };
    for (percent, what, target) in [
        (50, "half full", family.targets[1]),
        (100, "at capacity", family.targets[2]),
    ] {
        let before = capacity * percent / 100 / ITEMS - measured;
        adds.run(&load(family.add, before - filled));
        let value = compare(&add, &mut adds);
        figures.push(Figure::new(name(family.add, what), value, "×", target));
        filled = before + measured;
    }
    for (what, connections) in [("hits", &mut hits), ("misses", &mut misses)] {
        let value = compare(&test, connections);
        figures.push(Figure::new(
            name(family.test, what),
            value,
            "×",
            family.targets[0],
        ));
    }
    figures
}
