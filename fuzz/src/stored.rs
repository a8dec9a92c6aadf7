//! The stored forms of every sketch: whatever is not refused must survive saving, loading and copying.

use super::allows;
use super::input::{CHUNKED, Input, Output};
use roughly_dump::{Values, type_id};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;

/// The encoding version is in the last ten bits of a type's id.
const VERSION_BITS: u32 = 10;

/// A sketch whose stored forms are fuzzed.
pub trait Subject: Stored {
    /// Parameters that old encoding versions do not store.
    const DEFAULTS: Self::Defaults;

    /// Whether saving may round the state, so that only what was loaded once is stable.
    const ROUNDS: bool = false;

    /// Adds an item, if there is room for it.
    fn add(&mut self, item: &[u8], number: i64);

    /// Runs all operations on a value and checks what they must satisfy.
    fn exercise(self);

    /// Inputs for [`stored`] in old encoding versions, made from `latest` (an input in the version that is written).
    fn old_seeds(&self, _latest: &[u8]) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// Takes bytes for a stored form: an encoding version and its values, or a header with chunks.
pub fn stored<T: Subject>(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let version = input.byte();
    if version < CHUNKED {
        if let Ok(value) = T::load(&mut input, version.into(), &T::DEFAULTS) {
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
        value.add(&chunk[..chunk.len().min(16)], iterator);
    }
    exercise(value);
}

fn exercise<T: Subject>(mut value: T) {
    reloads(&value);
    for iterator in [i64::MIN, -1, 0, 1, 2, 1 << 31, 1 << 32, i64::MAX] {
        let _ = value.chunk(iterator, 100);
        let _ = value.load_chunk(iterator, b"xyz");
        let _ = value.load_chunk(iterator, &[0xff; 8]);
        let _ = value.load_chunk(iterator, b"");
    }
    reloads(&value);
    value.exercise();
}

/// The bytes that a value feeds to a digest.
pub fn digest<T: Stored>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.digest(&mut |part| bytes.extend_from_slice(part));
    bytes
}

/// The value as it is loaded after it was saved.
pub fn reloaded<T: Subject>(value: &T) -> T {
    let mut values = Values::default();
    value.save(&mut values);
    T::load(&mut values, T::ENCODING_VERSION, &T::DEFAULTS).expect("saved by us")
}

/// Checks that a value can be saved and loaded, as values and in chunks, and copied.
pub fn reloads<T: Subject>(value: &T) {
    let name = T::TYPE_NAME
        .to_bytes()
        .first_chunk()
        .expect("nine characters");
    let mut payload = roughly_dump::Writer::new(type_id(name, T::ENCODING_VERSION));
    value.save(&mut payload);
    assert!(payload.finish().len() as u64 <= value.payload_bytes());
    let copy = value.try_clone().expect("little memory");
    assert!(digest(&copy) == digest(value), "the copy differs");
    let again = reloaded(value);
    if !T::ROUNDS {
        assert!(digest(&again) == digest(value), "the loaded value differs");
    }
    if again.has_header() {
        let header = again.header().expect("little memory");
        let mut copy = T::from_header(&header, Budget::UNLIMITED).expect("our header");
        let mut iterator = 1;
        while let Some((next, chunk)) = again.chunk(iterator, 1000) {
            copy.load_chunk(next, chunk).expect("our chunk");
            iterator = next;
        }
        assert!(
            digest(&copy) == digest(&reloaded(&again)),
            "the value loaded from chunks differs"
        );
    }
}

/// Inputs for [`stored`] from the values of a golden payload.
pub fn seeds<T: Subject>(values: &Values) -> Vec<Vec<u8>> {
    let value = T::load(&mut values.clone(), T::ENCODING_VERSION, &T::DEFAULTS);
    let value = value.expect("a golden payload");
    let mut latest = Output::values(T::ENCODING_VERSION as u8);
    value.save(&mut latest);
    let mut chunked = Output::header(&value.header().expect("little memory"));
    let mut iterator = 1;
    while let Some((next, chunk)) = value.chunk(iterator, 1000) {
        chunked.chunk(next, chunk);
        iterator = next;
    }
    let mut seeds = value.old_seeds(&latest.bytes);
    seeds.extend([latest.bytes, chunked.bytes]);
    seeds
}

/// Loads and exercises the values of a DUMP payload of this type; says whether it is of this type.
pub fn payload<T: Subject>(id: u64, values: &mut Values) -> bool {
    let is_of_type = is_type::<T>(id);
    if is_of_type {
        let version = (id & ((1 << VERSION_BITS) - 1)) as u16;
        let _ = T::load(values, version, &T::DEFAULTS).map(exercise);
    }
    is_of_type
}

/// Whether the id of a DUMP payload is that of this type, in any encoding version.
pub fn is_type<T: Subject>(id: u64) -> bool {
    let name = T::TYPE_NAME
        .to_bytes()
        .first_chunk()
        .expect("nine characters");
    id >> VERSION_BITS == type_id(name, 0) >> VERSION_BITS
}
