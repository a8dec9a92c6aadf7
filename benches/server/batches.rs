//! Commands with several items, by the number of items and by their length: CPU time of Roughly divided by that of the other
//! modules. Prints the worst ratio of each command.

use crate::load::Load;
use crate::modules::{Group, Prepared};
use crate::{alternate, check_replies, quartiles};

/// Numbers of items per command.
const ITEMS: [usize; 12] = [1, 2, 3, 4, 5, 8, 16, 32, 64, 100, 300, 1000];
/// Lengths of items, in bytes.
const LENGTHS: [usize; 7] = [4, 8, 16, 32, 128, 1024, 4096];
/// The largest command, in bytes of items.
const MAX_BYTES: usize = 1 << 20;
/// Bytes and items that a measurement sends.
const ALL_BYTES: usize = 1 << 25;
const ALL_ITEMS: usize = 60_000;
/// Parts of a load. Even, so that each module is first equally often.
const BURSTS: usize = 10;
/// A ratio below this is not measured again.
const CLEARLY_FASTER: f64 = 0.95;
/// The digits of the numbers of items that are present, and those of longer items.
const PRESENT_DIGITS: u32 = 4;
const MAX_DIGITS: usize = 12;

/// Name, the command that creates the key, what is sent before the items, and what after each item. Items of a command are absent, unless its name has
/// "present".
const COMMANDS: &str = "\
BF.MADD|BF.RESERVE k 0.001 5000000|BF.MADD k|
BF.MEXISTS, absent|BF.RESERVE k 0.001 5000000|BF.MEXISTS k|
BF.MEXISTS, present|BF.RESERVE k 0.001 5000000|BF.MEXISTS k|
CF.INSERT|CF.RESERVE k 8000000|CF.INSERT k ITEMS|
CF.MEXISTS, absent|CF.RESERVE k 8000000|CF.MEXISTS k|
CF.MEXISTS, present|CF.RESERVE k 8000000|CF.MEXISTS k|
CMS.INCRBY|CMS.INITBYDIM k 20000 7|CMS.INCRBY k| 1
CMS.QUERY, present|CMS.INITBYDIM k 20000 7|CMS.QUERY k|
TOPK.ADD|TOPK.RESERVE k 50 2000 7 0.9|TOPK.ADD k|";

/// Commands with this many items of this length, which contain a number.
fn load(
    commands: usize,
    range: u64,
    start: &str,
    items: usize,
    (number, len): (&str, usize),
    after: &str,
) -> Load {
    let rest = "x".repeat(len.saturating_sub(MAX_DIGITS));
    let load = format!("{commands} {range} {start} {items}× {rest}{number}{after}");
    Load::parse(&load).with_digits(len.min(MAX_DIGITS))
}

/// Adds the items that the command finds, or others.
fn prefill(server: &mut Prepared, name: &str, setup: &str) {
    server.send(setup);
    let (add, after) = match name.split('.').next() {
        Some("BF") => ("BF.MADD k", ""),
        Some("CF") => ("CF.INSERT k ITEMS", ""),
        _ => ("CMS.INCRBY k", " 1"),
    };
    if name.ends_with("present") {
        for len in LENGTHS {
            server.run(&load(
                10usize.pow(PRESENT_DIGITS) / 20,
                1,
                add,
                20,
                ("@", len),
                after,
            ));
        }
    } else if name.ends_with("absent") {
        server.run(&Load::parse(&format!("5000 1 {add} 100× other:@")));
    }
}

/// Prints the worst ratios of the commands that `selects` accepts.
///
/// # Panics
/// Without a module to compare with.
pub fn run(selects: impl Fn(&str) -> bool) {
    let group = Group::all().swap_remove(0);
    assert!(group.modules.len() > 1, "no module to compare with");
    let (server, versions) = group.versions();
    println!(
        "{server}, Roughly {}: ratio of CPU times for {ITEMS:?} items of {LENGTHS:?} bytes",
        versions.join(", ")
    );
    let commands = COMMANDS
        .lines()
        .map(|line| line.split('|').collect::<Vec<_>>());
    for command in commands.filter(|command| selects(command[0])) {
        let [name, setup, start, after] = [0, 1, 2, 3].map(|column| command[column]);
        let mut servers = group.start_all(false, |_, server| prefill(server, name, setup));
        let mut ratios = Vec::new();
        for (items, len) in ITEMS
            .into_iter()
            .flat_map(|items| LENGTHS.map(|len| (items, len)))
        {
            // A cuckoo filter is soon full of the copies of few items.
            if items * len > MAX_BYTES || len < 8 && name == "CF.INSERT" {
                continue;
            }
            let digits = if name.ends_with("present") {
                PRESENT_DIGITS
            } else {
                len.min(9) as u32
            };
            let commands = (ALL_ITEMS / items).min(ALL_BYTES / (items * len)).max(20);
            let mut load = load(commands, 10u64.pow(digits), start, items, ("#", len), after);
            let mut ratio = f64::INFINITY;
            // A ratio that could be the worst is measured again, in more parts.
            for factor in [1, 4] {
                load.commands = commands * factor;
                let mut times = vec![Vec::new(); group.modules.len()];
                alternate(&mut servers, &load, BURSTS * factor, &mut times);
                let peers = times[1..].iter().map(|peer| quartiles(&times[0], peer)[1]);
                ratio = peers.fold(0.0, f64::max);
                if ratio < CLEARLY_FASTER {
                    break;
                }
            }
            ratios.push((ratio, items, len));
        }
        check_replies(name, &servers);
        ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
        print!("{name:<22}");
        for (ratio, items, len) in ratios.iter().take(4) {
            print!("   {ratio:.3} ({items} × {len} bytes)");
        }
        println!("   best {:.3}", ratios[ratios.len() - 1].0);
    }
}
