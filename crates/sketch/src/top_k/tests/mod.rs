//! Examples, properties against a model, recall, golden payloads, hostile bytes.

mod decay;
mod golden;
mod hostile;
mod memory;
mod model;
mod recall;

use super::TopK;
use crate::memory::Budget;
use crate::stored::Stored;
use roughly_dump::Values;

/// An empty sketch. Every allocation is allowed.
fn sketch(k: u64, width: u64, depth: u64, decay: f64) -> TopK {
    TopK::new(k, width, depth, decay, Budget::UNLIMITED).unwrap()
}

/// The RDB values of a sketch.
fn saved(sketch: &TopK) -> Values {
    let mut values = Values::default();
    sketch.save(&mut values);
    values
}

/// The reply of TOPK.LIST WITHCOUNT.
fn listed(sketch: &TopK) -> Vec<(Vec<u8>, u32)> {
    let items = sketch.list().unwrap();
    items.map(|(item, count)| (item.to_vec(), count)).collect()
}

/// The bytes that [`TopK::digest`] feeds.
fn digest(sketch: &TopK) -> Vec<u8> {
    let mut bytes = Vec::new();
    sketch.digest(&mut |chunk| bytes.extend_from_slice(chunk));
    bytes
}

/// The sketch restored from its header and chunks of ten bytes.
fn through_chunks(sketch: &TopK) -> TopK {
    let mut loaded = TopK::from_header(&sketch.header().unwrap(), Budget::UNLIMITED).unwrap();
    let mut iterator = 1;
    while let Some((next, chunk)) = sketch.chunk(iterator, 10) {
        loaded.load_chunk(next, chunk).unwrap();
        iterator = next;
    }
    loaded
}
