//! Sequences of operations that found faults in earlier versions.

use roughly_models::TYPES;

fn run(name: &str, parameters: &[u8], operations: &[&[u8]]) {
    let of = TYPES.iter().find(|of| of.name == name).expect("the type");
    (of.sequence)(&[parameters, &operations.concat()].concat());
}

/// A step; with 31, of one unit.
const fn step(byte: u8) -> [u8; 3] {
    [255, 0, byte]
}

/// The addition of an item of this length.
const fn add(byte: u8, len: u8, increment: u8) -> [u8; 5] {
    [255, 255, byte, len, increment]
}

#[test]
fn lists_with_one_cell() {
    let operations: [&[u8]; 3] = [&add(0, 0, 1), &add(0, 1, 1), &step(31)];
    run("top_k_window", &[0, 0, 2, 1, 1, 60, 2], &operations);
    // 100 units in one pane, and steps of 2, 13, 39 and 21 units.
    let operations: [&[u8]; 18] = [
        &step(201),
        &add(2, 1, 1),
        &add(2, 2, 1),
        &step(212),
        &add(0, 1, 2),
        &step(31),
        &add(0, 0, 1),
        &add(3, 1, 2),
        &step(138),
        &step(201),
        &add(3, 1, 1),
        &add(2, 2, 2),
        &add(2, 1, 2),
        &add(3, 2, 2),
        &step(201),
        &add(4, 1, 1),
        &add(0, 0, 1),
        &step(220),
    ];
    run("top_k_window", &[0, 255, 4, 4, 1, 1, 255, 0], &operations);
}

/// Of 60 panes, the first one expires while a later one has 100 items.
#[test]
fn an_expired_array() {
    let first = [3, 3, 4, 3].map(|amount| add(0, 1, amount));
    let second: Vec<_> = (0..100).map(|item| add(0, item, 4)).collect();
    let operations: [&[u8]; 6] = [
        first.as_flattened(),
        &step(31),
        &step(141),
        second.as_flattened(),
        &step(169),
        &[255, 80],
    ];
    run("count_min_window", &[5, 0, 0, 8, 3, 4], &operations);
}
