//! The types of a class.

use crate::error::Error;
use crate::sketch::payload;
use crate::sketch::window::When;
use roughly_dump::{Output, Reader};
use roughly_sketch::accuracy::{Accuracy, Field, Figure};
use roughly_sketch::blocks::{BlockVisitor, Blocks};
use roughly_sketch::bloom::Chain;
use roughly_sketch::count_min::{CountMin, CountMinWindow};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{TDigest, TDigestWindow};
use roughly_sketch::top_k::{TopK, TopKWindow};
use roughly_sketch::valkey_bloom::ValkeyChain;
use roughly_sketch::window::{Panes, Timeline};
use roughly_sketch::window_filter::{BloomWindow, CuckooWindow};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, TryLockError};

/// A sketch with the cache of its reads.
#[derive(Debug)]
pub struct Sketch<T: Stored> {
    state: T,
    cache: Mutex<T::Cache>,
}

impl<T: Stored> Sketch<T> {
    /// Calls `read` with the state and the cache. If another thread uses the cache, `read` gets an empty one.
    pub fn with_cache<R>(&self, read: impl FnOnce(&T, &mut T::Cache) -> R) -> R {
        match self.cache.try_lock() {
            Ok(mut cache) => read(&self.state, &mut cache),
            Err(TryLockError::Poisoned(error)) => read(&self.state, &mut error.into_inner()),
            Err(TryLockError::WouldBlock) => read(&self.state, &mut T::Cache::default()),
        }
    }
}

impl<T: Stored> From<T> for Sketch<T> {
    fn from(state: T) -> Self {
        Self {
            state,
            cache: Mutex::default(),
        }
    }
}

impl<T: Stored> Deref for Sketch<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T: Stored> DerefMut for Sketch<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state
    }
}

/// What a sketch of any type has.
pub trait AnySketch {
    /// Writes a DUMP payload.
    fn dump(&self, rdb_version: u16, output: &mut dyn Output);

    /// The header of the chunks.
    fn header(&self) -> Result<Vec<u8>, Error>;

    /// The chunk at an iterator, with the next iterator.
    fn chunk(&self, iterator: i64) -> Option<(i64, &[u8])>;

    /// The arrays, of which chunks are parts.
    fn arrays(&self) -> Vec<&[u8]>;

    /// Copies a chunk to its place.
    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), Error>;

    /// The key of the hash, if the type has a window and hashes items.
    fn seed(&self) -> Option<Seed>;

    /// The fields of SKETCH.ACCURACY.
    fn accuracy(&self, panes: Panes) -> Result<Vec<Field>, Error>;

    /// Bytes of the memory blocks, with those of the cache of reads.
    fn heap_bytes(&self) -> u64;
}

impl<T: Stored + Accuracy + Seeded> AnySketch for Sketch<T> {
    fn dump(&self, rdb_version: u16, output: &mut dyn Output) {
        payload::dump(&self.state, rdb_version, output);
    }

    fn header(&self) -> Result<Vec<u8>, Error> {
        payload::header(&self.state)
    }

    fn chunk(&self, iterator: i64) -> Option<(i64, &[u8])> {
        self.state.chunk(iterator, CHUNK_BYTES)
    }

    fn arrays(&self) -> Vec<&[u8]> {
        self.state.arrays().collect()
    }

    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), Error> {
        Ok(self.state.load_chunk(iterator, chunk)?)
    }

    fn seed(&self) -> Option<Seed> {
        self.state.seed_of()
    }

    fn accuracy(&self, panes: Panes) -> Result<Vec<Field>, Error> {
        Ok(self.with_cache(|state, cache| state.accuracy(panes, cache))?)
    }

    fn heap_bytes(&self) -> u64 {
        let mut bytes = BlockBytes::default();
        self.with_cache(|state, cache| {
            state.for_each_block(&mut bytes);
            cache.for_each_block(&mut bytes);
        });
        bytes.0
    }
}

/// The types of a class: that without a window, that with one, and for Bloom filters that of valkey-bloom.
pub trait Variants: DerefMut<Target = dyn AnySketch> + Sized + Send + Sync {
    /// Loads the values of a payload, if its type is one of these.
    fn load(reader: &mut Reader<'_>) -> Option<Result<Self, FormatError>>;

    /// The sketch that a header describes.
    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError>;

    /// A copy.
    fn try_clone(&self) -> Result<Self, Error>;

    /// The panes, if the type has a window.
    fn timeline(&self) -> Option<&Timeline>;

    /// Whether both have the same type and state.
    fn is_equal(&self, other: &Self) -> Result<bool, Error>;

    /// Bytes of the value and its memory blocks, with those of the cache of reads.
    fn block_bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.heap_bytes()
    }

    /// The field "fill" of a filter, now; 0 for other sketches.
    fn fill(&self) -> Result<f64, Error> {
        let fields = self.accuracy(self.panes(When::default())?)?;
        let fill = fields.into_iter().find_map(|field| match field {
            (name, Figure::Ratio(fill)) if name == c"fill" => Some(fill),
            _ => None,
        });
        Ok(fill.unwrap_or(0.0))
    }

    /// The panes that count for a read; see [`When::panes`].
    fn panes(&self, when: When) -> Result<Panes, Error> {
        when.panes(self.timeline())
    }
}

/// A sketch that may have a seed.
pub trait Seeded {
    /// The seed of a sketch with a window.
    fn seed_of(&self) -> Option<Seed>;
}

macro_rules! seeds {
    ($seed:expr; $($type:ty),+) => {
        $(impl Seeded for $type {
            fn seed_of(&self) -> Option<Seed> {
                let seed: fn(&Self) -> Option<Seed> = $seed;
                seed(self)
            }
        })+
    };
}
seeds!(|_| None; Chain, ValkeyChain, CuckooFilter, CountMin, TopK, TDigest, TDigestWindow);
seeds!(|sketch| Some(sketch.seed()); BloomWindow, CuckooWindow, CountMinWindow, TopKWindow);

/// Defines the enum of the types of a class.
macro_rules! variants {
    ($(#[$doc:meta])* $name:ident { $($variant:ident($type:ty)),+ $(,)? $(;)? }) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant)] // An object has one.
        pub enum $name {
            $($variant($crate::sketch::variants::Sketch<$type>),)+
        }

        const _: () = {
            use $crate::{error::Error, sketch::payload};
            use roughly_sketch::{format::FormatError, memory::Budget, stored::Stored, window::Timed};

            impl std::ops::Deref for $name {
                type Target = dyn $crate::sketch::variants::AnySketch;

                fn deref(&self) -> &Self::Target {
                    match self {
                        $(Self::$variant(sketch) => sketch,)+
                    }
                }
            }

            impl std::ops::DerefMut for $name {
                fn deref_mut(&mut self) -> &mut Self::Target {
                    match self {
                        $(Self::$variant(sketch) => sketch,)+
                    }
                }
            }

            impl $crate::sketch::variants::Variants for $name {
                fn load(
                    reader: &mut roughly_dump::Reader<'_>,
                ) -> Option<Result<Self, FormatError>> {
                    $(if let Some(loaded) = payload::sketch_of::<$type>(reader) {
                        return Some(loaded.map(|sketch| Self::$variant(sketch.into())));
                    })+
                    None
                }

                fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
                    $(match <$type as Stored>::from_header(header, budget) {
                        Ok(sketch) => return Ok(Self::$variant(sketch.into())),
                        Err(FormatError::OutOfMemory(refused)) => return Err(refused.into()),
                        Err(_) => {}
                    })+
                    Err(FormatError::Invalid("received bad data"))
                }

                #[inline(never)]
                fn try_clone(&self) -> Result<Self, Error> {
                    Ok(match self {
                        $(Self::$variant(sketch) => {
                            Self::$variant(<$type as Stored>::try_clone(sketch)?.into())
                        })+
                    })
                }

                fn timeline(&self) -> Option<&roughly_sketch::window::Timeline> {
                    match self {
                        $(Self::$variant(sketch) => Timed::timeline(&**sketch),)+
                    }
                }

                fn is_equal(&self, other: &Self) -> Result<bool, Error> {
                    match (self, other) {
                        $((Self::$variant(one), Self::$variant(other)) => {
                            payload::is_equal::<$type>(one, other)
                        })+
                        _ => Ok(false),
                    }
                }
            }
        };
    };
}
pub(crate) use variants;

/// What the type without a window and that with one have under the same name.
macro_rules! either {
    ($variants:ident, $value:expr, |$sketch:ident| $result:expr) => {
        match $value {
            $variants::Classic($sketch) => $result,
            $variants::Windowed($sketch) => $result,
        }
    };
}
pub(crate) use either;

/// Adds up the bytes of memory blocks.
#[derive(Debug, Default)]
pub struct BlockBytes(pub u64);

impl BlockVisitor for BlockBytes {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        self.0 += (vec.capacity() * size_of::<T>()) as u64;
    }
}
