//! AOF rewrite of every family's values.

use crate::server::data_type::DataType;
use crate::server::data_type::aof::{CHUNK_BYTES, Emit, rewrite};
use roughly_dump::{Values, type_id};
use roughly_sketch::bloom::{Chain, Parameters};
use roughly_sketch::count_min::{CellSize, CountMin};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;
use roughly_sketch::top_k::TopK;
use std::ffi::CStr;

/// The emitted commands: name, number, bytes.
#[derive(Debug, Default)]
struct Recorder(Vec<(String, i64, Vec<u8>)>);

impl Emit for Recorder {
    fn emit(&mut self, command: &CStr, number: Option<i64>, bytes: &[u8]) {
        let command = command.to_str().expect("ASCII").to_owned();
        (self.0).push((command, number.unwrap_or(0), bytes.to_vec()));
    }
}

/// The value that the emitted commands create.
fn created<T: DataType>(commands: &[(String, i64, Vec<u8>)], options: &T::LoadOptions) -> T {
    if let [(command, 0, payload)] = commands {
        assert_eq!(command, "RESTORE");
        let (id, mut values) = Values::from_dump(payload).expect("a payload");
        let name = (T::TYPE_NAME.to_bytes().first_chunk()).expect("nine characters");
        assert_eq!(id, type_id(name, T::ENCODING_VERSION));
        return T::load(&mut values, T::ENCODING_VERSION, options).expect("our values");
    }
    let load_chunk = T::LOADCHUNK.to_str().expect("ASCII");
    assert!(commands.iter().all(|(command, ..)| command == load_chunk));
    let [(_, 1, header), chunks @ ..] = commands else {
        panic!("no header: {commands:?}");
    };
    let mut value = T::from_header(header, Budget::UNLIMITED).expect("our header");
    for (_, iterator, chunk) in chunks {
        value.load_chunk(*iterator, chunk).expect("our chunk");
    }
    value
}

fn digest<T: DataType>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.digest(&mut |part| bytes.extend_from_slice(part));
    bytes
}

/// Rewrites a value as RESTORE and as chunks, and compares what the commands create.
fn check<T: DataType>(value: &T, options: &T::LoadOptions) {
    let bytes = value.payload_bytes();
    for (max_restore_bytes, restores) in [
        (u64::MAX, true),
        (bytes, true),
        (bytes - 1, false),
        (0, false),
    ] {
        let mut recorder = Recorder::default();
        rewrite(value, &mut recorder, max_restore_bytes).expect("memory");
        assert_eq!(recorder.0[0].0 == "RESTORE", restores);
        assert_eq!(digest(&created::<T>(&recorder.0, options)), digest(value));
    }
}

const CUCKOO: cuckoo::Parameters = cuckoo::Parameters {
    bucket_size: 2,
    max_iterations: 20,
    expansion: 1,
};

#[test]
fn rewritten_values_are_the_same_restored_or_in_chunks() {
    let parameters = Parameters {
        capacity: 10,
        error_rate: 0.01,
        expansion: 2,
        scaling: true,
    };
    let mut chain = Chain::new(&parameters, Budget::UNLIMITED).expect("memory");
    let mut filter = CuckooFilter::new(4, CUCKOO, Budget::UNLIMITED).expect("memory");
    let mut digest = TDigest::new(20, Budget::UNLIMITED).expect("memory");
    let mut top_k = TopK::new(10, 30, 3, 0.9, Budget::UNLIMITED).expect("memory");
    let sizes = [1, 2, 4, 8].map(|bytes| CellSize::from_bytes(bytes).expect("a size"));
    let mut sketches =
        sizes.map(|size| CountMin::new(101, 3, size, Budget::UNLIMITED).expect("memory"));
    for number in 0..200u8 {
        let item = &[number];
        chain.add(item, (), Budget::UNLIMITED).expect("memory");
        filter.insert(item, Budget::UNLIMITED).expect("memory");
        digest.add(&[f64::from(number)]).expect("memory");
        top_k.add(item, u32::from(number % 9)).expect("memory");
        for sketch in &mut sketches {
            sketch.increment(item, i64::from(number % 3)).expect("room");
        }
    }
    check(&chain, &());
    check(&filter, &CUCKOO);
    check(&digest, &());
    check(&top_k, &());
    sketches.iter().for_each(|sketch| check(sketch, &()));
}

#[test]
fn values_above_64_mebibytes_are_rewritten_in_chunks_of_4() {
    for (width, command, commands) in [
        (15 << 20, "RESTORE", 1),
        ((16 << 20) + 1, "CMS.LOADCHUNK", 18),
    ] {
        let sketch = CountMin::new(width, 1, CellSize::Four, Budget::UNLIMITED).expect("memory");
        let mut recorder = Recorder::default();
        rewrite(&sketch, &mut recorder, CountMin::MAX_RESTORE_BYTES).expect("memory");
        assert_eq!(recorder.0[0].0, command);
        assert_eq!(recorder.0.len(), commands);
        let are_small = (recorder.0.iter().skip(1)).all(|(.., chunk)| chunk.len() <= CHUNK_BYTES);
        assert!(are_small);
    }
}

#[test]
fn filters_are_rewritten_in_chunks() {
    let limits = (Chain::MAX_RESTORE_BYTES, CuckooFilter::MAX_RESTORE_BYTES);
    assert_eq!(limits, (0, 0));
}
