//! The types of a class, and what all classes have.

use crate::base::Base;
use crate::error::Error;
use crate::lock::Shared;
use crate::window::When;
use pyo3::prelude::*;
use roughly_dump::{Output, Reader};
use roughly_sketch::accuracy::{Field, Figure};
use roughly_sketch::blocks::{BlockVisitor, Blocks};
use roughly_sketch::bloom::Chain;
use roughly_sketch::count_min::{CountMin, CountMinWindow};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::format::FormatError;
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

    /// Bytes of the memory blocks, with those of the cache.
    pub fn block_bytes(&self) -> u64 {
        let mut bytes = BlockBytes::default();
        self.with_cache(|state, cache| {
            state.for_each_block(&mut bytes);
            cache.for_each_block(&mut bytes);
        });
        bytes.0
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

/// The types of a class: that without a window, that with one, and for Bloom filters that of valkey-bloom.
pub trait Variants: Sized + Send + Sync {
    /// Loads the values of a payload, if its type is one of these.
    fn load(reader: &mut Reader<'_>) -> Option<Result<Self, FormatError>>;

    /// The sketch that a header describes.
    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError>;

    /// Writes a DUMP payload.
    fn dump(&self, rdb_version: u16, output: &mut dyn Output);

    /// The header of the chunks.
    fn header(&self) -> Result<Vec<u8>, Error>;

    /// The chunk at an iterator, with the next iterator.
    fn chunk(&self, iterator: i64) -> Option<(i64, &[u8])>;

    /// Copies a chunk to its place.
    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), Error>;

    /// A copy.
    fn try_clone(&self) -> Result<Self, Error>;

    /// The panes, if the type has a window.
    fn timeline(&self) -> Option<&Timeline>;

    /// The key of the hash, if the type has a window and hashes items.
    fn seed(&self) -> Option<Seed>;

    /// The fields of SKETCH.ACCURACY.
    fn accuracy(&self, panes: Panes) -> Result<Vec<Field>, Error>;

    /// Bytes of the memory blocks, with those of the cache of reads.
    fn block_bytes(&self) -> u64;

    /// The field "fill" of a filter, now; 0 for other sketches.
    fn fill(&self) -> Result<f64, Error> {
        let fields = self.accuracy(self.panes(When::default())?)?;
        let fill = fields.into_iter().find_map(|field| match field {
            (name, Figure::Ratio(fill)) if name == c"fill" => Some(fill),
            _ => None,
        });
        Ok(fill.unwrap_or(0.0))
    }

    /// Whether both have the same type and state.
    fn is_equal(&self, other: &Self) -> Result<bool, Error>;

    /// The panes that count for a read; see [`When::panes`].
    fn panes(&self, when: When) -> Result<Panes, Error> {
        when.panes(self.timeline())
    }
}

/// A sketch that may have a seed.
pub trait Seeded {
    /// The seed of a sketch with a window.
    fn seed_of(&self) -> Option<Seed> {
        None
    }
}

impl Seeded for Chain {}
impl Seeded for ValkeyChain {}
impl Seeded for CuckooFilter {}
impl Seeded for CountMin {}
impl Seeded for TopK {}
impl Seeded for TDigest {}
impl Seeded for TDigestWindow {}

macro_rules! seeded {
    ($($type:ty),+) => {
        $(impl Seeded for $type {
            fn seed_of(&self) -> Option<Seed> {
                Some(self.seed())
            }
        })+
    };
}
seeded!(BloomWindow, CuckooWindow, CountMinWindow, TopKWindow);

/// Defines the enum of the types of a class.
macro_rules! variants {
    ($(#[$doc:meta])* $name:ident { $($variant:ident($type:ty)),+ $(,)? $(;)? }) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant)] // An object has one.
        pub enum $name {
            $($variant($crate::sketch::Sketch<$type>),)+
        }

        impl $crate::sketch::Variants for $name {
            fn load(
                reader: &mut roughly_dump::Reader<'_>,
            ) -> Option<Result<Self, roughly_sketch::format::FormatError>> {
                $(if let Some(loaded) = $crate::payload::sketch_of::<$type>(reader) {
                    return Some(loaded.map(|sketch| Self::$variant(sketch.into())));
                })+
                None
            }

            fn from_header(
                header: &[u8],
                budget: roughly_sketch::memory::Budget<'_>,
            ) -> Result<Self, roughly_sketch::format::FormatError> {
                use roughly_sketch::{format::FormatError, stored::Stored};
                $(match <$type as Stored>::from_header(header, budget) {
                    Ok(sketch) => return Ok(Self::$variant(sketch.into())),
                    Err(FormatError::OutOfMemory(refused)) => return Err(refused.into()),
                    Err(_) => {}
                })+
                Err(FormatError::Invalid("received bad data"))
            }

            fn dump(&self, rdb_version: u16, output: &mut dyn roughly_dump::Output) {
                match self {
                    $(Self::$variant(sketch) => {
                        $crate::payload::dump::<$type>(sketch, rdb_version, output);
                    })+
                }
            }

            fn header(&self) -> Result<Vec<u8>, $crate::error::Error> {
                match self {
                    $(Self::$variant(sketch) => $crate::payload::header::<$type>(sketch),)+
                }
            }

            fn chunk(&self, iterator: i64) -> Option<(i64, &[u8])> {
                use roughly_sketch::{format::chunks::CHUNK_BYTES, stored::Stored};
                match self {
                    $(Self::$variant(sketch) => sketch.chunk(iterator, CHUNK_BYTES),)+
                }
            }

            fn load_chunk(
                &mut self,
                iterator: i64,
                chunk: &[u8],
            ) -> Result<(), $crate::error::Error> {
                use roughly_sketch::stored::Stored;
                match self {
                    $(Self::$variant(sketch) => Ok(sketch.load_chunk(iterator, chunk)?),)+
                }
            }

            fn try_clone(&self) -> Result<Self, $crate::error::Error> {
                use roughly_sketch::stored::Stored;
                Ok(match self {
                    $(Self::$variant(sketch) => {
                        Self::$variant(<$type as Stored>::try_clone(sketch)?.into())
                    })+
                })
            }

            fn timeline(&self) -> Option<&roughly_sketch::window::Timeline> {
                use roughly_sketch::window::Timed;
                match self {
                    $(Self::$variant(sketch) => Timed::timeline(&**sketch),)+
                }
            }

            fn seed(&self) -> Option<roughly_sketch::seed::Seed> {
                match self {
                    $(Self::$variant(sketch) => $crate::sketch::Seeded::seed_of(&**sketch),)+
                }
            }

            fn accuracy(
                &self,
                panes: roughly_sketch::window::Panes,
            ) -> Result<Vec<roughly_sketch::accuracy::Field>, $crate::error::Error> {
                use roughly_sketch::accuracy::Accuracy;
                Ok(match self {
                    $(Self::$variant(sketch) => {
                        sketch.with_cache(|sketch, cache| sketch.accuracy(panes, cache))?
                    })+
                })
            }

            fn block_bytes(&self) -> u64 {
                match self {
                    $(Self::$variant(sketch) => sketch.block_bytes(),)+
                }
            }

            fn is_equal(&self, other: &Self) -> Result<bool, $crate::error::Error> {
                match (self, other) {
                    $((Self::$variant(one), Self::$variant(other)) => {
                        $crate::payload::is_equal::<$type>(one, other)
                    })+
                    _ => Ok(false),
                }
            }
        }
    };
}
pub(crate) use variants;

/// A Python class of sketches. The methods that all classes have are in [`Base`].
pub trait Class:
    pyo3::PyClass<Frozen = pyo3::pyclass::boolean_struct::True, BaseType = Base>
    + Into<PyClassInitializer<Self>>
    + Sync
{
    /// Its types.
    type Variants: Variants;

    /// The object of a sketch.
    fn of(sketch: Self::Variants) -> Self;

    /// The sketch of an object.
    ///
    /// # Errors
    /// If it is in a file. [`Class::in_memory`] returns an object for which there is none.
    fn sketch(&self) -> Result<&Shared<Self::Variants>, Error>;

    /// The object, or a copy in memory of one whose sketch is in a file.
    ///
    /// # Errors
    /// Those of [`payload::load`](crate::payload::load), `OSError` and `MemoryError`.
    fn in_memory<'py>(object: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Ok(object.clone())
    }

    /// Names and values of the parameters that the text of the object has.
    ///
    /// # Errors
    /// The clock is before the newest pane of a sketch with a window.
    fn parameters(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>>;

    /// Bytes of the memory blocks of the object.
    fn block_bytes(&self, py: Python<'_>) -> u64 {
        let bytes = |sketch: &Self::Variants| sketch.block_bytes();
        (self.sketch()).map_or(0, |sketch| py.detach(|| sketch.read(bytes)))
    }
}

/// Adds up the bytes of memory blocks.
#[derive(Debug, Default)]
pub struct BlockBytes(pub u64);

impl BlockVisitor for BlockBytes {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        self.0 += (vec.capacity() * size_of::<T>()) as u64;
    }
}

/// Makes a class one whose base is [`Base`].
macro_rules! subclass {
    ($class:ident) => {
        impl From<$class> for pyo3::PyClassInitializer<$class> {
            fn from(object: $class) -> Self {
                pyo3::PyClassInitializer::from($crate::base::Base).add_subclass(object)
            }
        }

        impl<'py> pyo3::IntoPyObject<'py> for $class {
            type Target = Self;
            type Output = pyo3::Bound<'py, Self>;
            type Error = pyo3::PyErr;

            fn into_pyobject(self, py: pyo3::Python<'py>) -> PyResult<Self::Output> {
                pyo3::Bound::new(py, self)
            }
        }
    };
}
pub(crate) use subclass;

/// Implements [`Class`] for a class whose sketches are in memory.
macro_rules! class {
    ($class:ident of $variants:ident) => {
        $crate::sketch::subclass!($class);

        impl $crate::sketch::Class for $class {
            type Variants = $variants;

            fn of(sketch: $variants) -> Self {
                Self {
                    sketch: $crate::lock::Shared::new(sketch),
                }
            }

            fn sketch(&self) -> Result<&$crate::lock::Shared<$variants>, $crate::error::Error> {
                Ok(&self.sketch)
            }

            fn parameters(&self, py: pyo3::Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
                // The method of the class.
                $class::parameters(self, py)
            }
        }
    };
}
pub(crate) use class;
