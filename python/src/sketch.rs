//! The types of a class, and the methods that all classes have.

use crate::error::Error;
use crate::lock::Shared;
use crate::window::When;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use roughly_dump::{Output, Reader};
use roughly_sketch::accuracy::{Field, Figure};
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
                $(if let Some(loaded) = $crate::payload::load_values::<$type>(reader) {
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

/// The fields of SKETCH.ACCURACY as a dictionary.
pub fn dictionary(py: Python<'_>, fields: Vec<Field>) -> PyResult<Bound<'_, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, figure) in fields {
        let name = name.to_string_lossy();
        match figure {
            Figure::Ratio(ratio) => dictionary.set_item(name, ratio)?,
            Figure::Count(count) => dictionary.set_item(name, count)?,
        }
    }
    Ok(dictionary)
}

/// A Python class of sketches.
pub trait Class:
    pyo3::PyClass<Frozen = pyo3::pyclass::boolean_struct::True>
    + Into<pyo3::PyClassInitializer<Self>>
    + Sync
{
    /// Its types.
    type Variants: Variants;

    /// The object of a sketch.
    fn of(sketch: Self::Variants) -> Self;

    /// The sketch of an object.
    fn sketch(&self) -> &Shared<Self::Variants>;
}

/// Implements [`Class`] and the methods that all classes have.
macro_rules! class {
    ($class:ident of $variants:ident) => {
        impl $crate::sketch::Class for $class {
            type Variants = $variants;

            fn of(sketch: $variants) -> Self {
                Self {
                    sketch: $crate::lock::Shared::new(sketch),
                }
            }

            fn sketch(&self) -> &$crate::lock::Shared<$variants> {
                &self.sketch
            }
        }

        #[pymethods]
        impl $class {
            /// The bytes of DUMP, for RESTORE. `rdb_version` is 9 to 65535: a server refuses one above its own, and all supported
            /// servers accept 9.
            #[pyo3(
                                        signature = (rdb_version = $crate::numbers::Integer(9)),
                                        text_signature = "($self, rdb_version=9)",
                                    )]
            fn dump<'py>(
                &self,
                py: pyo3::Python<'py>,
                rdb_version: $crate::numbers::Integer,
            ) -> PyResult<pyo3::Bound<'py, pyo3::types::PyBytes>> {
                $crate::payload::of(self, py, rdb_version.0)
            }

            /// How wrong the answers are now: the fields of SKETCH.ACCURACY (docs/commands/sketch.accuracy.md), for the window at `at`
            /// or the last `within` milliseconds before it.
            #[pyo3(signature = (*, at = None, within = None))]
            fn accuracy<'py>(
                &self,
                py: pyo3::Python<'py>,
                at: Option<$crate::window::At>,
                within: Option<$crate::window::Within>,
            ) -> PyResult<pyo3::Bound<'py, pyo3::types::PyDict>> {
                use $crate::sketch::Variants;
                let when = $crate::window::When::new(at, within);
                let fields = py.detach(|| {
                    self.sketch.read(|sketch| sketch.accuracy(sketch.panes(when)?))
                })?;
                $crate::sketch::dictionary(py, fields)
            }

            /// Writes `dump()` into a file. `OSError` if it cannot be written.
            fn save(&self, py: pyo3::Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
                $crate::payload::save(self, py, &path)
            }

            /// Iterates over the pairs (iterator, bytes) of SCANDUMP, for LOADCHUNK.
            fn to_chunks(this: pyo3::Py<Self>) -> $crate::payload::Chunks {
                $crate::payload::Chunks::of(this)
            }

            /// A copy.
            fn copy(&self, py: pyo3::Python<'_>) -> PyResult<Self> {
                use $crate::sketch::{Class, Variants};
                Ok(Self::of(
                    py.detach(|| self.sketch.read(Variants::try_clone))?,
                ))
            }

            /// The length of the window in milliseconds; `None` without a window.
            #[getter]
            fn window(&self, py: pyo3::Python<'_>) -> Option<u64> {
                use $crate::sketch::Variants;
                self.sketch
                    .peek(py, |sketch| Some(sketch.timeline()?.window().ms()))
            }

            /// The number of panes of the window; `None` without a window.
            #[getter]
            fn panes(&self, py: pyo3::Python<'_>) -> Option<u64> {
                use $crate::sketch::Variants;
                self.sketch
                    .peek(py, |sketch| Some(sketch.timeline()?.window().panes()))
            }

            /// The length of the newest pane in milliseconds; `None` without a window.
            #[getter]
            fn finest(&self, py: pyo3::Python<'_>) -> Option<u64> {
                use $crate::sketch::Variants;
                self.sketch
                    .peek(py, |sketch| Some(sketch.timeline()?.window().pane_ms()))
            }

            /// The key of the hash as 32 hexadecimal digits; `None` without a window. Keep it secret from those who choose items.
            #[getter]
            fn seed(&self, py: pyo3::Python<'_>) -> Option<String> {
                use $crate::sketch::Variants;
                let seed = self.sketch.peek(py, |sketch| sketch.seed());
                seed.map($crate::window::hex)
            }

            fn __eq__(
                &self,
                py: pyo3::Python<'_>,
                other: &pyo3::Bound<'_, Self>,
            ) -> PyResult<bool> {
                use $crate::sketch::Variants;
                let other = &other.get().sketch;
                Ok(py.detach(|| self.sketch.read_with(other, Variants::is_equal))?)
            }

            fn __repr__(&self, py: pyo3::Python<'_>) -> PyResult<String> {
                let mut parameters = self.parameters(py)?;
                for (name, value) in [
                    ("window", self.window(py)),
                    ("panes", self.panes(py)),
                    ("finest", self.finest(py)),
                ] {
                    parameters.extend(value.map(|value| (name, value.to_string())));
                }
                let parameters = parameters
                    .iter()
                    .map(|(name, value)| format!(" {name}={value}"));
                Ok(format!(
                    "<{}{}>",
                    stringify!($class),
                    parameters.collect::<String>()
                ))
            }

            fn __copy__(&self, py: pyo3::Python<'_>) -> PyResult<Self> {
                self.copy(py)
            }

            fn __deepcopy__(
                &self,
                py: pyo3::Python<'_>,
                _memo: &pyo3::Bound<'_, pyo3::PyAny>,
            ) -> PyResult<Self> {
                self.copy(py)
            }

            fn __reduce__<'py>(
                &self,
                py: pyo3::Python<'py>,
            ) -> PyResult<(
                pyo3::Bound<'py, pyo3::PyAny>,
                (pyo3::Bound<'py, pyo3::types::PyBytes>,),
            )> {
                let load = py.import("roughly")?.getattr("load")?;
                Ok((
                    load,
                    (self.dump(
                        py,
                        $crate::numbers::Integer(roughly_dump::RDB_VERSION.into()),
                    )?,),
                ))
            }
        }
    };
}
pub(crate) use class;
