//! Keys of the family's three types.

use crate::server::call::Call;
use crate::server::key::{Either, ReadKey, WriteKey};
use roughly_sketch::bloom::Chain;
use roughly_sketch::valkey_bloom::ValkeyChain;
use roughly_sketch::window_filter::WindowSet;

/// Something of one of the family's types.
#[derive(Debug)]
pub enum OneOf<C, W, V> {
    /// RedisBloom's type.
    Classic(C),
    /// The type with a window.
    Windowed(W),
    /// valkey-bloom's type.
    Valkey(V),
}

/// A key that is open for reading. A missing key and one of another type are [`OneOf::Classic`].
pub type FilterReadKey = OneOf<ReadKey<Chain>, ReadKey<WindowSet>, ReadKey<ValkeyChain>>;

/// A key that is open for writing. A missing key and one of another type are [`OneOf::Classic`].
pub type FilterWriteKey = OneOf<WriteKey<Chain>, WriteKey<WindowSet>, WriteKey<ValkeyChain>>;

/// Runs the same code for all variants of a [`OneOf`].
macro_rules! for_each_type {
    ($one_of:expr, $name:pat => $code:expr) => {
        match $one_of {
            $crate::family::bloom::key::OneOf::Classic($name) => $code,
            $crate::family::bloom::key::OneOf::Windowed($name) => $code,
            $crate::family::bloom::key::OneOf::Valkey($name) => $code,
        }
    };
}
pub(super) use for_each_type;

/// Opens the key in argument 1 for reading.
///
/// # Panics
/// As [`Call::read`].
#[inline(always)]
pub fn read(call: &Call<'_>) -> FilterReadKey {
    match call.read_either(1) {
        Either::Windowed(key) => OneOf::Windowed(key),
        Either::Plain(key) => match key.typed_if_found() {
            Ok(key) => OneOf::Valkey(key),
            Err(key) => OneOf::Classic(key),
        },
    }
}

/// Opens the key in argument 1 for writing.
///
/// # Panics
/// As [`Call::write`].
#[inline(always)]
pub fn write(call: &Call<'_>) -> FilterWriteKey {
    match call.write_either(1) {
        Either::Windowed(key) => OneOf::Windowed(key),
        Either::Plain(key) => match key.typed_if_found(call) {
            Ok(key) => OneOf::Valkey(key),
            Err(key) => OneOf::Classic(key),
        },
    }
}
