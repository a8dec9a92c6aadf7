//! Golden payloads, work counters, stored forms and checks of validation rules for the tests of all sketches.

use crate::blocks::{Addresses, Blocks, Bytes, MovesAll};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use roughly_dump::{Value, Values, type_id};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// The work of a sketch in the current thread, in steps: tests compare counts instead of times.
#[derive(Debug, Default)]
pub struct Work(Cell<u64>);

impl Work {
    /// Counts a step.
    pub fn count(&self) {
        self.add(1);
    }

    /// Counts this many steps.
    pub fn add(&self, steps: u64) {
        self.0.set(self.0.get() + steps);
    }

    /// The number of steps while `work` runs.
    pub fn during(&self, work: impl FnOnce()) -> u64 {
        let before = self.0.get();
        work();
        self.0.get() - before
    }
}

thread_local! {
    /// Passes over an item to hash it for a top-k sketch.
    pub static HASH_PASSES: Work = Work::default();
    /// Estimates that are read from the tables of a top-k sketch with a window.
    pub static ESTIMATES: Work = Work::default();
    /// Bytes of items that a top-k sketch may read to compare two items, and one for each comparison.
    pub static COMPARED_BYTES: Work = Work::default();
}

/// Versions of RedisBloom that recorded the golden payloads.
pub const GOLDEN_VERSIONS: [&str; 2] = ["8.10", "2.8"];

/// A file of the golden payloads that this version recorded.
fn golden_path(version: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden/dumps")
        .join(version)
        .join(file)
}

/// The bytes of a file of the golden payloads.
pub fn golden_bytes(version: &str, file: &str) -> Vec<u8> {
    let path = golden_path(version, file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The values of the golden payload `name`, which must be of the type `type_name` and of this encoding version.
pub fn golden_values(version: &str, name: &str, type_name: &[u8; 9], encoding: u16) -> Values {
    let payload = golden_bytes(version, &format!("{name}.dump"));
    let (id, values) = Values::from_dump(&payload).expect("a payload");
    assert_eq!(id, type_id(type_name, encoding), "{version} {name}");
    values
}

/// The values that [`Stored::save`] writes.
pub fn saved<T: Stored>(value: &T) -> Values {
    let mut values = Values::default();
    value.save(&mut values);
    values
}

/// The bytes that [`Stored::digest`] feeds.
pub fn fed<T: Stored>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.digest(&mut |part| bytes.extend_from_slice(part));
    bytes
}

/// The value after a save and a load.
pub fn reloaded<T: Stored>(value: &T) -> T {
    let options = T::LoadOptions::default();
    T::load(&mut saved(value), T::ENCODING_VERSION, &options).unwrap()
}

/// The value from its header and chunks of at most this many bytes.
pub fn from_chunks<T: Stored>(value: &T, max_bytes: usize) -> T {
    let mut copy = T::from_header(&value.header().unwrap(), Budget::UNLIMITED).unwrap();
    let mut iterator = 1;
    while let Some((next, chunk)) = value.chunk(iterator, max_bytes) {
        copy.load_chunk(next, chunk).unwrap();
        iterator = next;
    }
    copy
}

/// The bytes of all blocks.
pub fn bytes(value: &impl Blocks) -> u64 {
    let mut bytes = Bytes::default();
    value.for_each_block(&mut bytes);
    bytes.0
}

/// Moves all blocks. Returns the number of indexes of blocks, and of moves.
pub fn move_all(value: &mut impl Blocks) -> (usize, usize) {
    let (mut mover, mut index) = (MovesAll::default(), 0);
    while value.relocate_block(index, &mut mover) {
        index += 1;
    }
    (index, mover.moves)
}

/// The number of blocks, which are all visited and can be moved, and their bytes.
pub fn blocks(value: &mut impl Blocks) -> (usize, u64) {
    let (mut shown, bytes) = (Addresses::default(), bytes(value));
    value.for_each_block(&mut shown);
    let (_, moves) = move_all(value);
    assert_eq!(moves, shown.0.len());
    (moves, bytes)
}

/// The bits of a number; all nans are equal.
pub fn bits(value: f64) -> u64 {
    if value.is_nan() {
        f64::NAN.to_bits()
    } else {
        value.to_bits()
    }
}

/// The values of a payload with one of them replaced.
pub fn with(values: &Values, position: usize, value: Value) -> Values {
    let mut values = values.clone();
    values.values[position] = value;
    values
}

/// A change that breaks a rule of a format: the position of a value, its new value, and the text of the error.
pub type Rule = (usize, Value, &'static str);

/// Checks that a valid payload loads, that each of these changes is refused with its error, and that fewer values and
/// values of other types are refused.
pub fn check_rules<T>(
    values: &Values,
    load: impl Fn(&mut Values) -> Result<T, FormatError>,
    rules: &[Rule],
) {
    let load = |mut values: Values| load(&mut values).map(drop);
    assert_eq!(load(values.clone()), Ok(()));
    let wrong = rules.iter().enumerate().filter_map(|(number, rule)| {
        let (position, value, error) = rule;
        let result = load(with(values, *position, value.clone()));
        (result != Err(FormatError::Invalid(error))).then_some((number, rule, result))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for position in 0..values.values.len() {
        let mut fewer = values.clone();
        fewer.values.truncate(position);
        assert_eq!(load(fewer), Err(FormatError::Truncated), "{position}");
        let other = match values.values[position] {
            Value::Bytes(_) => Value::Integer(1),
            _ => Value::Bytes(vec![1; 8]),
        };
        let refused = load(with(values, position, other));
        assert_eq!(refused, Err(FormatError::Truncated), "{position}");
    }
}

/// A change of a header that breaks a rule: the offset of a field, its new bytes, and the text of the error.
pub type HeaderRule<'a> = (usize, &'a [u8], &'static str);

/// Checks that a valid header loads, that each of these changes is refused with its error before memory is requested, and
/// that shorter and longer headers are refused.
pub fn check_header_rules<T: Stored>(header: &[u8], rules: &[HeaderRule<'_>]) {
    let load = |header: &[u8]| {
        let no_request = |bytes| panic!("{bytes} bytes were requested");
        T::from_header(header, Budget::new(&no_request)).map(drop)
    };
    assert!(T::from_header(header, Budget::UNLIMITED).is_ok());
    for (offset, bytes, rule) in rules {
        let mut changed = header.to_vec();
        changed[*offset..][..bytes.len()].copy_from_slice(bytes);
        assert_eq!(
            load(&changed),
            Err(FormatError::Invalid(rule)),
            "{offset} {bytes:?}"
        );
    }
    for len in 0..header.len() {
        assert!(load(&header[..len]).is_err(), "{len}");
    }
    assert!(load(&[header, &[0]].concat()).is_err());
}
