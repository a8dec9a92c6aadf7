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

/// A command with several items.
struct Command {
    name: &'static str,
    /// Creates the key.
    setup: &'static str,
    /// Before the items.
    start: &'static str,
    /// After each item.
    after: &'static str,
    /// Whether all items were added before.
    has_items: bool,
}

const fn command(
    name: &'static str,
    setup: &'static str,
    start: &'static str,
    after: &'static str,
    has_items: bool,
) -> Command {
    Command {
        name,
        setup,
        start,
        after,
        has_items,
    }
}

const BLOOM: &str = "BF.RESERVE k 0.001 5000000";
const CUCKOO: &str = "CF.RESERVE k 8000000";
const COUNT_MIN: &str = "CMS.INITBYDIM k 20000 7";
const TOP_K: &str = "TOPK.RESERVE k 50 2000 7 0.9";

const COMMANDS: [Command; 9] = [
    command("BF.MADD", BLOOM, "BF.MADD k", "", false),
    command("BF.MEXISTS, absent", BLOOM, "BF.MEXISTS k", "", false),
    command("BF.MEXISTS, present", BLOOM, "BF.MEXISTS k", "", true),
    command("CF.INSERT", CUCKOO, "CF.INSERT k ITEMS", "", false),
    command("CF.MEXISTS, absent", CUCKOO, "CF.MEXISTS k", "", false),
    command("CF.MEXISTS, present", CUCKOO, "CF.MEXISTS k", "", true),
    command("CMS.INCRBY", COUNT_MIN, "CMS.INCRBY k", " 1", false),
    command("CMS.QUERY", COUNT_MIN, "CMS.QUERY k", "", true),
    command("TOPK.ADD", TOP_K, "TOPK.ADD k", "", false),
];

impl Command {
    /// The command with this many items of this length.
    fn load(&self, items: usize, len: usize, commands: usize) -> Load {
        let range = 10u64.pow(match self.has_items {
            true => PRESENT_DIGITS,
            false => len.min(9) as u32,
        });
        let item = format!("{}{}", item("#", len), self.after);
        Load::new(self.start, commands, range)
            .with(items, &item)
            .with_digits(len.min(MAX_DIGITS))
    }

    /// Adds the items that the command finds, or others.
    fn prefill(&self, server: &mut Prepared) {
        server.send(self.setup);
        let family = self.name.split('.').next();
        let (add, after) = match family {
            Some("BF") => ("BF.MADD k", ""),
            Some("CF") => ("CF.INSERT k ITEMS", ""),
            Some("CMS") => ("CMS.INCRBY k", " 1"),
            _ => return,
        };
        if self.has_items {
            for len in LENGTHS {
                let item = format!("{}{after}", item("@", len));
                let load = Load::new(add, 10usize.pow(PRESENT_DIGITS) / 20, 1).with(20, &item);
                server.run(&load.with_digits(len.min(MAX_DIGITS)));
            }
        } else if self.name.ends_with("absent") {
            server.run(&Load::new(add, 5000, 1).with(100, "other:@"));
        }
    }
}

/// The digits of the numbers of items that are present.
const PRESENT_DIGITS: u32 = 4;
/// The digits of the numbers in longer items.
const MAX_DIGITS: usize = 12;

/// An item with this length, which contains the placeholder of a number.
fn item(number: &str, len: usize) -> String {
    "x".repeat(len.saturating_sub(MAX_DIGITS)) + number
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
        "{server}, Roughly {}: ratio of CPU times for {} to {} items of {} to {} bytes",
        versions.join(", "),
        ITEMS[0],
        ITEMS[ITEMS.len() - 1],
        LENGTHS[0],
        LENGTHS[LENGTHS.len() - 1],
    );
    for command in COMMANDS.iter().filter(|command| selects(command.name)) {
        let mut servers = group.start_all(false, |_, server| command.prefill(server));
        let mut ratios = Vec::new();
        for items in ITEMS {
            for len in LENGTHS {
                // A cuckoo filter is soon full of the copies of few items.
                let has_few_items = len < 8 && command.name == "CF.INSERT";
                if items * len > MAX_BYTES || has_few_items {
                    continue;
                }
                let commands = (ALL_ITEMS / items).min(ALL_BYTES / (items * len)).max(20);
                let load = command.load(items, len, commands);
                let mut ratio = f64::INFINITY;
                // A ratio that could be the worst is measured again, in more parts.
                for bursts in [BURSTS, 4 * BURSTS] {
                    let mut times = vec![Vec::new(); group.modules.len()];
                    let mut load = load.clone();
                    load.commands *= bursts / BURSTS;
                    alternate(&mut servers, &load, bursts, &mut times);
                    ratio = (times[1..].iter())
                        .map(|peer| quartiles(&times[0], peer)[1])
                        .fold(0.0, f64::max);
                    if ratio < CLEARLY_FASTER {
                        break;
                    }
                }
                ratios.push((ratio, items, len));
            }
        }
        check_replies(command.name, &servers);
        ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
        print!("{:<22}", command.name);
        for (ratio, items, len) in ratios.iter().take(4) {
            print!("   {ratio:.3} ({items} × {len} bytes)");
        }
        println!("   best {:.3}", ratios[ratios.len() - 1].0);
    }
}

/// A ratio below this is not measured again.
const CLEARLY_FASTER: f64 = 0.95;
