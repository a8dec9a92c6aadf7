//! Bloom filters: stored forms, and sequences against a set.

use super::input::{CHUNKED, Input, Output};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::bloom::batch::Additions;
use roughly_sketch::bloom::parts::{self, ENCODING_VERSION};
use roughly_sketch::bloom::{Chain, Error, Parameters};
use roughly_sketch::format::dump::Values;
use std::collections::HashSet;

/// Bytes for a stored form.
pub fn stored(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let version = input.byte();
    if version < CHUNKED {
        if let Ok(chain) = parts::load(&mut input, version.into()) {
            exercise(chain);
        }
        return;
    }
    let len = input.u16();
    let Ok(mut chain) = parts::load_header(input.bytes(len.into()), &allows) else {
        return;
    };
    while !input.is_empty() {
        let (iterator, chunk) = input.chunk();
        let _ = chain.load_chunk(iterator, chunk);
        let _ = add(&mut chain, &chunk[..chunk.len().min(16)]);
    }
    exercise(chain);
}

fn add(chain: &mut Chain, item: &[u8]) -> Result<bool, Error> {
    chain.add(chain.hash(item), &allows)
}

/// All that can be asked of a chain, whatever it holds.
pub fn exercise(mut chain: Chain) {
    reloads(&chain);
    let hashes: Vec<_> = (0..16u8).map(|item| chain.hash(&[item])).collect();
    let found = chain.contains_block(&hashes);
    for (number, &hash) in hashes.iter().enumerate() {
        assert_eq!(chain.contains(hash), found >> number & 1 != 0);
    }
    let items: Vec<_> = (0..40u8).map(|item| [item / 2]).collect();
    if let Ok(mut one_by_one) = chain.try_clone() {
        let mut additions = Additions::new(items.iter().map(|item| &item[..]), &mut chain);
        for item in &items {
            assert_eq!(
                additions.add_next(&allows),
                Some(add(&mut one_by_one, item))
            );
        }
        assert_eq!(parts::header(&chain), parts::header(&one_by_one));
    }
    for item in 0..40u8 {
        if add(&mut chain, &[item]).is_ok() {
            assert!(chain.contains(chain.hash(&[item])));
        }
    }
    let _ = (chain.capacity(), chain.bit_bytes(), chain.is_scaling());
    for iterator in [i64::MIN, -1, 0, 1, 2, 1 << 31, 1 << 32, i64::MAX] {
        let _ = chain.chunk(iterator, 100);
        let _ = chain.load_chunk(iterator, b"xyz");
        let _ = chain.load_chunk(iterator, b"");
    }
    chain.digest(&mut |_| ());
    reloads(&chain);
}

fn saved(chain: &Chain) -> Values {
    let mut values = Values::default();
    parts::save(chain, &mut values);
    values
}

/// What can be in memory can be saved and loaded, as values and in chunks, and copied.
fn reloads(chain: &Chain) {
    let values = saved(chain);
    let again = parts::load(&mut values.clone(), ENCODING_VERSION).expect("saved by us");
    assert_eq!(saved(&again), values);
    assert_eq!(saved(&chain.try_clone().expect("little memory")), values);
    if parts::has_header(chain) {
        let mut copy = parts::load_header(&parts::header(chain), &|_| true).expect("our header");
        let mut iterator = 1;
        while let Some((next, chunk)) = chain.chunk(iterator, 1000) {
            copy.load_chunk(next, chunk).expect("our chunk");
            iterator = next;
        }
        assert_eq!(saved(&copy), values);
    }
}

/// Bytes for a sequence of operations. The model is the set of what was added.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let expansion = input.pick(&[0, 1, 2, 3, 16, 32768]);
    let parameters = Parameters {
        capacity: u64::from(input.byte()).max(1),
        error_rate: input.pick(&[0.25, 0.1, 0.01, 0.001, 1e-9, 1e-300, 0.9]),
        expansion,
        scaling: expansion > 0,
    };
    let Ok(mut chain) = Chain::new(&parameters, &allows) else {
        return;
    };
    let (mut model, mut items) = (HashSet::new(), 0);
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=199 => {
                let item = input.item();
                let before = chain.filters().len();
                match add(&mut chain, item) {
                    Ok(new) => {
                        assert!(!new || !model.contains(item), "new twice");
                        items += u64::from(new);
                        model.insert(item);
                    }
                    Err(_) => assert!(!model.contains(item) && before == chain.filters().len()),
                }
            }
            200..=229 => {
                let item = input.item();
                assert!(!model.contains(item) || chain.contains(chain.hash(item)));
            }
            230..=239 => chain = chain.try_clone().expect("little memory"),
            240..=247 => {
                chain = parts::load(&mut saved(&chain), ENCODING_VERSION).expect("saved by us");
            }
            _ => reloads(&chain),
        }
        assert_eq!(chain.items(), items);
    }
    for item in model {
        assert!(chain.contains(chain.hash(item)), "an item was lost");
    }
    reloads(&chain);
}

/// Seeds for [`stored`] of a payload of the peer.
pub fn seeds(values: &Values) -> Vec<Vec<u8>> {
    let chain = parts::load(&mut values.clone(), ENCODING_VERSION).expect("a golden payload");
    let mut stream = Output::values(4);
    parts::save(&chain, &mut stream);
    let mut chunked = Output::header(&parts::header(&chain));
    let mut iterator = 1;
    while let Some((next, chunk)) = chain.chunk(iterator, 1000) {
        chunked.chunk(next, chunk);
        iterator = next;
    }
    let mut seeds = vec![stream.bytes, chunked.bytes];
    // Older encodings: values of version 4 without those that came later.
    for version in 0..4u8 {
        let mut old = Output::values(version);
        parts::save(&chain, &mut old);
        // Version, items, number of filters; then options and growth factor.
        let dropped = match version {
            0..2 => 17..33,
            _ => 25..33,
        };
        old.bytes.drain(dropped);
        seeds.push(old.bytes);
    }
    seeds
}
