//! Increments of count-min sketches with a window that a file or a primary contains.

use super::{append, options};
use crate::support::cpu;
use crate::support::resp::Connection;
use crate::support::sample::Sample;
use crate::support::streams::{Pane, STREAMS};
use std::time::Duration;

/// Increments of a pane, at most.
const EVENTS: usize = 200;
/// Panes of the window, each with increments.
const PANES: usize = 100;
/// Measurements of a stream, at most. Another process on the core makes one longer, never shorter.
const ROUNDS: usize = 10;
/// The first pane of the increments, later than that of the creation.
const NEWEST: usize = 10_000_000_000;

/// The CPU time of the main thread that loads a file with these commands, which have so many increments.
fn load(create: &str, commands: &[String], increments: usize) -> Duration {
    let (server, mut connection) = options().start().connected();
    connection.ok(create);
    append(&server, commands.iter().map(String::as_str));
    let load = |connection: &mut Connection| connection.ok("DEBUG LOADAOF");
    let (time, ()) = cpu::of_main_thread_during(&mut connection, load);
    let total = connection.call("CMS.INFO k").to_string();
    assert!(total.contains(&format!(":{increments}")), "{total}");
    time
}

/// An increment reads no older pane, so it costs what the rows cost: at most twice the increment of a sketch without a window. The shortest
/// times of the rounds are compared. In a sample, some streams.
#[test]
fn increments_of_a_window_cost_as_much_as_without_one() {
    let depths = [7, 32].into_iter().cycle();
    let cases: Vec<_> = STREAMS.into_iter().zip(depths).collect();
    for &(stream, depth) in Sample::of_run().of(&cases) {
        let create = format!("CMS.INITBYDIM k 64 {depth}");
        let of_pane = |number| {
            let pane = Pane {
                number,
                events: EVENTS,
                k: 10,
            };
            let events = stream.events(pane, 1).into_iter();
            let increments = events.map(|item| format!("CMS.INCRBY k item:{item} 1"));
            increments.collect::<Vec<_>>()
        };
        let panes: Vec<_> = (0..PANES as u32).map(of_pane).collect();
        let increments = panes.concat();
        let create_window = format!("{create} WINDOW {} PANES {PANES}", PANES * 1000);
        let mut commands = Vec::new();
        for (pane, increments) in panes.iter().enumerate() {
            commands.push(format!("SKETCH.ADVANCE k {}", NEWEST + pane));
            commands.extend_from_slice(increments);
        }
        let (mut classic, mut windowed) = (Duration::MAX, Duration::MAX);
        let is_as_cheap = (0..ROUNDS).any(|_| {
            classic = classic.min(load(&create, &increments, increments.len()));
            windowed = windowed.min(load(&create_window, &commands, increments.len()));
            windowed <= 2 * classic
        });
        let what = format!("{}, depth {depth}", stream.name);
        assert!(
            is_as_cheap,
            "{what}: {windowed:?} with a window, {classic:?} without"
        );
    }
}
