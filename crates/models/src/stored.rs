//! Stored forms of the sketches: a value that the decoder accepts must not change when it is saved and loaded,
//! or copied.

use super::allows;
use super::input::{CHUNKED, Input, Output};
use roughly_dump::{Values, type_id};
use roughly_sketch::blocks::{BlockMover, BlockVisitor};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::Timed;
use std::fmt::Debug;

/// The lowest ten bits of a type id are the encoding version.
const VERSION_BITS: u32 = 10;

/// A sketch whose stored forms are checked.
pub trait Subject: Stored {
    /// The options of [`Stored::load`].
    const LOAD_OPTIONS: Self::LoadOptions;

    /// Whether saving may round the state: only a state that was saved and loaded before must stay equal.
    const ROUNDS: bool = false;

    /// The results of reads.
    type Results: PartialEq + Debug;

    /// Adds an item if the sketch and the budget accept it.
    fn add(&mut self, item: &[u8], number: i64, budget: Budget<'_>);

    /// Executes the other writes of the type, and checks their results.
    fn change(&mut self) {}

    /// Executes all reads at this time, and checks and returns the results.
    fn read(&self, current: u64) -> Self::Results;

    /// Inputs for [`stored`] in old encoding versions, derived from `latest` (an input in the current version).
    fn old_seeds(&self, _latest: &[u8]) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// Decodes `bytes` as a stored form (an encoding version and its values, or a header with chunks) and checks it.
pub fn stored<T: Subject>(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let version = input.byte();
    if version < CHUNKED {
        if let Ok(value) = T::load(&mut input, version.into(), &T::LOAD_OPTIONS) {
            exercise(value);
        }
        return;
    }
    let len = input.u16();
    let Ok(mut value) = T::from_header(input.bytes(len.into()), Budget::new(&allows)) else {
        return;
    };
    while !input.is_empty() {
        let (iterator, chunk) = input.chunk();
        let _ = value.load_chunk(iterator, chunk);
        let item = &chunk[..chunk.len().min(16)];
        value.add(item, iterator, Budget::new(&allows));
        if let (8, Some(timeline)) = (chunk.len(), value.timeline()) {
            let pane = timeline.newest() + 1;
            value.advance(pane);
        }
    }
    exercise(value);
}

/// Changes a value in all ways until its panes have expired. In each state, reads and moves of blocks must not change the value,
/// and copies must give equal results and continue as the value.
pub fn exercise<T: Subject>(mut value: T) {
    reloads(&value);
    for iterator in [i64::MIN, -1, 0, 1, 2, 1 << 31, 1 << 32, i64::MAX] {
        let _ = value.chunk(iterator, 100);
        let _ = value.load_chunk(iterator, b"xyz");
        let _ = value.load_chunk(iterator, &[0xff; 8]);
        let _ = value.load_chunk(iterator, b"");
    }
    reloads(&value);
    let panes = value.timeline().map(|timeline| timeline.window().units());
    let steps = panes.map(|panes| vec![0, 1, 1, panes / 2, panes, panes + 1, u64::MAX]);
    for (number, step) in steps.unwrap_or(vec![0; 3]).into_iter().enumerate() {
        if T::ROUNDS {
            value = reloaded(&value);
        }
        let results = read(&value);
        move_blocks(&mut value);
        let mut copy = match number % 3 {
            1 => reloaded(&value),
            2 if value.has_header() => from_chunks(&value),
            _ => value.try_clone().expect("enough memory"),
        };
        assert!(read(&copy) == results, "a copy gives other results");
        for value in [&mut value, &mut copy] {
            write(value);
            if let Some(timeline) = value.timeline() {
                let pane = timeline.newest().saturating_add(step);
                advance(value, pane);
            }
            value.expire();
        }
        let is_equal = digest(&copy) == digest(&value);
        assert!(is_equal, "a copy continues in another way");
        assert_eq!(read(&copy), read(&value));
        reloads(&value);
    }
}

fn write<T: Subject>(value: &mut T) {
    for number in [0, -1, 255, 1 << 32, i64::MAX] {
        for item in [&b""[..], b"a", b"bc\0d"] {
            value.add(item, number, Budget::new(&allows));
        }
    }
    (0..12u8).for_each(|item| value.add(&[item], 1, Budget::new(&allows)));
    value.change();
}

/// The number of the blocks that are visited or moved, and their bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Visited(usize, usize);

impl BlockVisitor for Visited {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        let bytes = vec.capacity() * size_of::<T>();
        *self = Self(self.0 + usize::from(bytes > 0), self.1 + bytes);
    }
}

impl BlockMover for Visited {
    fn relocate<T>(&mut self, vec: &mut Vec<T>) {
        self.visit(vec);
        let mut moved = Vec::with_capacity(vec.capacity());
        moved.append(vec);
        *vec = moved;
    }
}

/// Moves the blocks that a value visits.
fn move_blocks<T: Subject>(value: &mut T) {
    let (before, mut visited, mut moved) = (digest(value), Visited::default(), Visited::default());
    value.for_each_block(&mut visited);
    assert!(value.arrays().map(<[u8]>::len).sum::<usize>() <= visited.1);
    let mut index = 0;
    while value.relocate_block(index, &mut moved) {
        index += 1;
    }
    assert_eq!(moved, visited);
    assert!(digest(value) == before, "a move changed the state");
}

/// Advances a value and checks its timeline.
pub fn advance<T: Stored>(value: &mut T, pane: u64) {
    let before = (digest(value), *value.timeline().expect("a window"));
    let (newest, max) = (before.1.newest(), before.1.window().max_pane());
    assert_eq!(value.advance(pane), newest < pane.min(max));
    let after = value.timeline().expect("a window").newest();
    assert_eq!(after, newest.max(pane.min(max)));
    let is_unchanged = pane > newest || digest(value) == before.0;
    assert!(is_unchanged, "nothing must change");
}

/// Times before, at and after the newest pane.
pub fn times(value: &impl Timed) -> Vec<u64> {
    let Some(timeline) = value.timeline() else {
        return vec![0];
    };
    let (newest, panes) = (timeline.newest(), timeline.window().units());
    let ahead = [0, 1, panes / 2, panes, panes + 1].map(|ahead| newest.saturating_add(ahead));
    ([0].into_iter().chain(ahead))
        .chain([u64::MAX, newest])
        // The number of a unit has 63 bits.
        .map(|unit| unit.min(i64::MAX.cast_unsigned()))
        .collect()
}

/// Reads at all [`times`]. The value must not change.
fn read<T: Subject>(value: &T) -> Vec<T::Results> {
    let before = digest(value);
    let results = times(value).into_iter().map(|current| value.read(current));
    let results = results.collect();
    assert!(digest(value) == before, "a read changed the state");
    results
}

/// The bytes that a value contributes to DEBUG DIGEST.
pub fn digest<T: Stored>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.digest(&mut |part| bytes.extend_from_slice(part));
    bytes
}

/// The RDB values of a value.
pub fn values<T: Stored>(value: &T) -> Values {
    let mut values = Values::default();
    value.save(&mut values);
    values
}

/// Saves a value and loads it.
pub fn reloaded<T: Subject>(value: &T) -> T {
    T::load(&mut values(value), T::ENCODING_VERSION, &T::LOAD_OPTIONS).expect("a saved value")
}

/// The value that the header and the chunks of a value describe.
pub fn from_chunks<T: Subject>(value: &T) -> T {
    let header = value.header().expect("enough memory");
    let mut copy = T::from_header(&header, Budget::UNLIMITED).expect("a valid header");
    let mut iterator = 1;
    while let Some((next, chunk)) = value.chunk(iterator, 1000) {
        copy.load_chunk(next, chunk).expect("a valid chunk");
        iterator = next;
    }
    copy
}

/// Checks that a value does not change when it is copied, saved and loaded, or loaded from chunks.
pub fn reloads<T: Subject>(value: &T) {
    let mut payload = roughly_dump::Writer::new(id_of::<T>());
    value.save(&mut payload);
    assert!(payload.finish().len() as u64 <= value.payload_bytes());
    let copy = value.try_clone().expect("enough memory");
    assert!(digest(&copy) == digest(value), "the copy differs");
    let again = reloaded(value);
    if !T::ROUNDS {
        assert!(digest(&again) == digest(value), "the loaded value differs");
    }
    if again.has_header() {
        let is_equal = digest(&from_chunks(&again)) == digest(&reloaded(&again));
        assert!(is_equal, "the value loaded from chunks differs");
    }
}

/// The value after it was copied, saved and loaded, or loaded from chunks.
pub fn copied<T: Subject>(input: &mut Input<'_>, value: &T) -> T {
    match input.byte() % 3 {
        0 => value.try_clone().expect("enough memory"),
        1 => reloaded(value),
        _ => from_chunks(value),
    }
}

/// Inputs for [`stored`] in all encoding versions and in chunks, from the values of a valid payload.
pub fn seeds<T: Subject>(values: &Values) -> Vec<Vec<u8>> {
    let value = T::load(&mut values.clone(), T::ENCODING_VERSION, &T::LOAD_OPTIONS);
    let value = value.expect("a valid payload");
    let mut latest = Output::values(T::ENCODING_VERSION as u8);
    value.save(&mut latest);
    let mut chunked = Output::header(&value.header().expect("enough memory"));
    let mut iterator = 1;
    while let Some((next, chunk)) = value.chunk(iterator, 1000) {
        chunked.chunk(next, chunk);
        iterator = next;
    }
    let mut seeds = value.old_seeds(&latest.bytes);
    seeds.extend([latest.bytes, chunked.bytes]);
    seeds
}

/// Loads and checks the values of a DUMP payload if it is of this type. Returns whether it is.
pub fn payload<T: Subject>(id: u64, values: &mut Values) -> bool {
    let is_of_type = is_type::<T>(id);
    if is_of_type {
        let version = (id & ((1 << VERSION_BITS) - 1)) as u16;
        let _ = T::load(values, version, &T::LOAD_OPTIONS).map(exercise);
    }
    is_of_type
}

/// Whether the type id of a DUMP payload is that of this type, in any encoding version.
pub fn is_type<T: Subject>(id: u64) -> bool {
    id >> VERSION_BITS == id_of::<T>() >> VERSION_BITS
}

/// The type id of the payloads that the type writes.
pub fn id_of<T: Stored>() -> u64 {
    let name = T::TYPE_NAME.to_bytes().first_chunk();
    type_id(name.expect("nine characters"), T::ENCODING_VERSION)
}
