//! The types `MBbloom--`, `bf-window` (with a window) and `bloomfltr` (of valkey-bloom), and what the commands need of them.

use super::valkey;
use crate::server::callbacks;
use crate::server::data_type::{DataType, Registration};
use crate::server::key::{AnyMut, AnyRef, OneOf, OneOfMut};
use roughly_sketch::bloom::Chain;
use roughly_sketch::valkey_bloom::ValkeyChain;
use roughly_sketch::window_filter::WindowSet;
use std::ffi::CStr;

static CLASSIC: Registration = callbacks::registration::<Chain>("");
static WINDOWED: Registration = callbacks::registration::<WindowSet>("_window");

impl DataType for Chain {
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";
    /// A filter is always emitted in chunks, which RedisBloom loads.
    const MAX_RESTORE_BYTES: u64 = 0;

    fn registration() -> &'static Registration {
        &CLASSIC
    }

    fn defaults() {}
}

impl DataType for WindowSet {
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";
    const MAX_RESTORE_BYTES: u64 = Chain::MAX_RESTORE_BYTES;

    fn registration() -> &'static Registration {
        &WINDOWED
    }

    fn defaults() {}
}

/// A Bloom filter.
#[derive(Debug, Clone, Copy)]
pub enum Filter<'a> {
    /// RedisBloom's type.
    Classic(&'a Chain),
    /// The type with a window.
    Windowed(&'a WindowSet),
    /// valkey-bloom's type.
    Valkey(&'a ValkeyChain),
}

/// A Bloom filter that a command changes.
#[derive(Debug)]
pub enum FilterMut<'a> {
    /// RedisBloom's type.
    Classic(&'a mut Chain),
    /// The type with a window.
    Windowed(&'a mut WindowSet),
    /// valkey-bloom's type.
    Valkey(&'a mut ValkeyChain),
}

impl<'a> OneOf<'a> for Filter<'a> {
    const TYPES: &'static [&'static Registration] = &[&CLASSIC, &WINDOWED, &valkey::REGISTRATION];

    #[inline(always)]
    fn of(value: AnyRef<'a>) -> Result<Self, AnyRef<'a>> {
        let found = value.get().map(Self::Classic);
        let found = found.or_else(|value| value.get().map(Self::Windowed));
        found.or_else(|value| value.get().map(Self::Valkey))
    }
}

impl<'a> OneOfMut<'a> for FilterMut<'a> {
    #[inline(always)]
    fn of(value: AnyMut<'a>) -> Result<Self, AnyMut<'a>> {
        let found = value.get().map(Self::Classic);
        let found = found.or_else(|value| value.get().map(Self::Windowed));
        found.or_else(|value| value.get().map(Self::Valkey))
    }
}
