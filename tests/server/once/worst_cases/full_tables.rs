//! A step to a later pane that merges two tables of top-k sketches, of the largest size, without an empty cell.

use super::equal_counts::Key;
use super::keys::unix_ms;
use crate::support::resp::Reply;
use crate::support::server::Server;
use roughly_dump::{Value, Values, type_id};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopKWindow;
use roughly_sketch::top_k::window::MAX_MERGED_TABLE_BYTES;
use roughly_sketch::window::{Timed, Window};

/// An hour.
const UNIT_MS: u64 = 3_600_000;
const UNITS: u64 = 16;
const WIDTH: u64 = MAX_MERGED_TABLE_BYTES / 8;

/// The current unit.
fn now() -> u64 {
    unix_ms() / UNIT_MS
}

/// Random cells with counts above 0.
fn full_table(bytes: usize, random: &mut u64) -> Value {
    let cells = (0..bytes / 8).flat_map(|_| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random | 1 << 32).to_le_bytes()
    });
    Value::Bytes(cells.collect())
}

/// The payload of a sketch with two full tables, in the closed panes of the units before `newest`.
fn payload(newest: u64) -> Vec<u8> {
    let window = Window::of::<TopKWindow>(UNITS * UNIT_MS, 1, Some(UNIT_MS)).expect("a window");
    let seed = Seed([7; 16]);
    let sketch = TopKWindow::new(100, WIDTH, 1, 0.9, window, seed, Budget::UNLIMITED);
    let mut sketch = sketch.expect("valid parameters");
    for unit in newest - 2..newest {
        sketch.advance(unit);
        for item in 0..100u64 {
            let item = (item + 1000 * unit).to_le_bytes();
            sketch.add(&item, 5).expect("memory");
        }
    }
    sketch.advance(newest);
    let mut values = Values::default();
    sketch.save(&mut values);
    let (mut random, mut tables) = (88_172_645_463_325_252, 0);
    for value in &mut values.values {
        if let Value::Bytes(bytes) = value
            && bytes.len() as u64 > MAX_MERGED_TABLE_BYTES / 2
        {
            *value = full_table(bytes.len(), &mut random);
            tables += 1;
        }
    }
    assert_eq!(tables, 2);
    values.to_dump(type_id(b"tk-window", TopKWindow::ENCODING_VERSION))
}

#[test]
fn two_full_tables_are_merged_in_time() {
    let (_server, mut connection) = Server::start().connected();
    connection.ok("CONFIG SET rdbcompression no");
    // Two siblings with the end e become one when the newest pane is e + 3: three or four units ago, e was the newest one.
    let end = (now() - 3) & !1;
    assert!(connection.restore("K", &payload(end)).is_ok());
    let mut key = Key::new(&mut connection, (now() - end) * UNIT_MS / 1000);
    let newest = now().to_string();
    key.check(&[], &[b"TOPK.ADD", b"C", b"other"]);
    key.check(&[], &[b"SKETCH.ADVANCE", b"C", newest.as_bytes()]);
    key.finish();
    // The tables have become one.
    let usage = |reply: Reply| reply.integer().expect("a size") as u64;
    let before = usage(connection.call("MEMORY USAGE K"));
    let after = usage(connection.call("MEMORY USAGE C"));
    let is_smaller = before > 2 * WIDTH * 8 - 1000 && after < WIDTH * 12;
    assert!(is_smaller, "{before}, {after}");
}
