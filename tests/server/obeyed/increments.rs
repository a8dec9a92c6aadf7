//! Increments of count-min sketches with a window that a file or a primary contains.

use super::{append, options};
use crate::support::cpu;
use std::time::Duration;

/// Increments in a file. So many items make an array of each pane.
const INCREMENTS: usize = 20_000;
/// Different items.
const ITEMS: usize = 5_000;
/// Panes of the window, each with increments.
const PANES: usize = 100;
/// The first pane of the increments, later than that of the creation.
const NEWEST: usize = 10_000_000_000;

/// The CPU time of the main thread that loads a file with these commands, per increment.
fn load(create: &str, commands: &[String]) -> Duration {
    let server = options().start();
    let mut connection = server.resp2();
    let created = connection.call(create);
    assert!(created.is_ok(), "{create}: {created}");
    append(&server, commands.iter().map(String::as_str));
    let (time, reply) = cpu::of_main_thread_during(&mut connection, |connection| {
        connection.call("DEBUG LOADAOF")
    });
    assert!(reply.is_ok(), "{reply}");
    let total = connection.call("CMS.INFO k").to_string();
    assert!(total.contains(&format!(":{INCREMENTS}")), "{total}");
    time / INCREMENTS as u32
}

/// An increment reads no older pane, so it costs what the rows cost: at most twice the increment of a sketch without a window.
#[test]
fn increments_of_a_window_cost_as_much_as_without_one() {
    for depth in [7, 32] {
        let create = format!("CMS.INITBYDIM k 64 {depth}");
        let increment = |number| format!("CMS.INCRBY k item:{} 1", number * 7919 % ITEMS);
        let increments: Vec<_> = (0..INCREMENTS).map(increment).collect();
        let classic = load(&create, &increments);
        let create = format!("{create} WINDOW {} PANES {PANES}", PANES * 1000);
        let mut commands = Vec::new();
        for (pane, increments) in increments.chunks(INCREMENTS.div_ceil(PANES)).enumerate() {
            commands.push(format!("SKETCH.ADVANCE k {}", NEWEST + pane));
            commands.extend_from_slice(increments);
        }
        let windowed = load(&create, &commands);
        assert!(
            windowed <= 2 * classic,
            "depth {depth}: {windowed:?} per increment with a window, {classic:?} without"
        );
    }
}
